//===- LowerScatters.cpp - redfuse.scatter to loops -----------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Dialect/Redfuse/IR/Selection.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERSCATTERS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using redfuse::ScatterOp;

/// Writes element `column` of update `row`, if it has a place. `isAlone`: nobody writes
/// meanwhile.
static void emitUpdate(OpBuilder &b, ScatterOp op, Value row, Value column,
                       bool isAlone) {
  Location loc = op.getLoc();
  Value places = op.getPlaces(), destination = op.getDestination();
  Value place = memref::LoadOp::create(b, loc, places, row);
  if (!place.getType().isIndex())
    place = arith::IndexCastOp::create(b, loc, b.getIndexType(), place);
  Value extent = b.createOrFold<memref::DimOp>(loc, destination, 0);
  // A negative place is a large one.
  Value exists =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, place, extent);
  auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
  b.setInsertionPoint(branch.thenYield());
  Value update =
      memref::LoadOp::create(b, loc, op.getUpdates(), ValueRange{row, column});
  SmallVector<Value, 2> at{place, column};
  if (op.getReducer() && !isAlone) {
    memref::AtomicRMWOp::create(b, loc, update.getType(),
                                *ScatterOp::getAtomic(*op.getReducer()), update,
                                destination, at);
    return;
  }
  if (op.getReducer()) {
    Value old = memref::LoadOp::create(b, loc, destination, at);
    update = redfuse::createCombiner(b, loc, *op.getReducer(), old, update);
  }
  memref::StoreOp::create(b, loc, update, destination, at);
}

static void lower(ScatterOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<Value> lows{zero, zero}, steps{one, one}, extents;
  for (int64_t d = 0; d < 2; ++d)
    extents.push_back(b.createOrFold<memref::DimOp>(loc, op.getUpdates(), d));
  if (redfuse::getTargetOf(op).getName() == "cpu")
    scf::buildLoopNest(b, loc, lows, extents, steps,
                       [&](OpBuilder &inner, Location, ValueRange at) {
                         emitUpdate(inner, op, at[0], at[1], /*isAlone=*/true);
                       });
  else
    scf::ParallelOp::create(b, loc, lows, extents, steps,
                            [&](OpBuilder &inner, Location, ValueRange at) {
                              emitUpdate(inner, op, at[0], at[1],
                                         /*isAlone=*/false);
                            });
  op.erase();
}

namespace {
struct LowerScatters : redfuse::impl::LowerScattersBase<LowerScatters> {
  void runOnOperation() override {
    SmallVector<ScatterOp> ops;
    getOperation()->walk([&](ScatterOp op) { ops.push_back(op); });
    llvm::for_each(ops, lower);
  }
};
} // namespace
