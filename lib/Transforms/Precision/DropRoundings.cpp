//===- DropRoundings.cpp - redfuse-drop-roundings -------------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace redfuse {
#define GEN_PASS_DEF_DROPROUNDINGS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
struct DropRoundings : public redfuse::impl::DropRoundingsBase<DropRoundings> {
  using DropRoundingsBase::DropRoundingsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](CascadeOp cascade) {
      Block &body = cascade.getBody().front();
      for (auto extend :
           llvm::make_early_inc_range(body.getOps<arith::ExtFOp>())) {
        Value wide = matchFreeRounding(extend);
        if (!wide || isFactorOfSum(extend))
          continue;
        Operation *narrow = extend.getIn().getDefiningOp();
        rewriter.replaceOp(extend, wide);
        if (narrow->use_empty())
          rewriter.eraseOp(narrow);
      }
    });
  }
};
} // namespace
