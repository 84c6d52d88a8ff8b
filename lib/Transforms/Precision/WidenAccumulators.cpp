//===- WidenAccumulators.cpp - redfuse-widen-accumulators -----------------===//
//
// A sum in a 16-bit float stagnates after some hundred terms. The result of the
// source is not worth keeping there: accumulate in f32 and round once.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace redfuse {
#define GEN_PASS_DEF_WIDENACCUMULATORS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// `v` in f32; a product is taken there too, instead of rounded first.
static Value widen(OpBuilder &b, Location loc, Value v) {
  if (auto product = v.getDefiningOp<arith::MulFOp>())
    return arith::MulFOp::create(b, loc, widen(b, loc, product.getLhs()),
                                 widen(b, loc, product.getRhs()));
  if (auto narrow = v.getDefiningOp<arith::TruncFOp>())
    if (narrow.getIn().getType().isF32())
      return narrow.getIn();
  return arith::ExtFOp::create(b, loc, b.getF32Type(), v);
}

namespace {
struct WidenAccumulators
    : public redfuse::impl::WidenAccumulatorsBase<WidenAccumulators> {
  using WidenAccumulatorsBase::WidenAccumulatorsBase;

  void runOnOperation() override {
    getOperation()->walk([&](ScanOp scan) {
      auto type = dyn_cast<FloatType>(scan.getOperand(0).getType());
      if (!type || type.getWidth() >= 32 ||
          !isa<CascadeOp>(scan->getParentOp()) ||
          !llvm::is_contained({Reducer::Add, Reducer::Mul}, scan.getReducer()))
        return;
      OpBuilder b(scan);
      Location loc = scan.getLoc();
      Value wide = widen(b, loc, scan.getOperand(0));
      IRMapping mapping;
      mapping.map(scan.getOperand(0), wide);
      Operation *sum = b.clone(*scan.getOperation(), mapping);
      sum->getResult(0).setType(wide.getType());
      Value narrow = arith::TruncFOp::create(b, loc, type, sum->getResult(0));
      scan.getResult(0).replaceAllUsesWith(narrow);
      scan.erase();
    });
    getOperation()->walk([&](ReduceOp reduce) {
      Reducer reducer = reduce.getReducer();
      if (reducer != Reducer::Add && reducer != Reducer::Mul)
        return;
      auto type = dyn_cast<FloatType>(reduce.getOperand(0).getType());
      if (!type || type.getWidth() >= 32 ||
          !isa<CascadeOp>(reduce->getParentOp()))
        return;
      OpBuilder b(reduce);
      Location loc = reduce.getLoc();
      Value wide = widen(b, loc, reduce.getOperand(0));
      auto sum = ReduceOp::create(b, loc, reducer, ValueRange{wide},
                                  reduce.getOver(), reduce.getInto());
      Value narrow = arith::TruncFOp::create(b, loc, type, sum.getResult(0));
      reduce.getResult(0).replaceAllUsesWith(narrow);
      reduce.erase();
    });
  }
};
} // namespace
