//===- NormalizeInvariants.cpp - what does not vary leaves loops ----------===//
//
// Upstream's motion of loop-invariant code takes a read for an op that may be
// executed anywhere. One at a computed index is not: what checks the index stays
// in the loop, or speaks of loops that have a round at least.
//
//===----------------------------------------------------------------------===//
#include "NormalizeCommon.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEINVARIANTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Whether what `op` itself does with tensors is within them at any time: their
/// extents are known, and so is where it reads.
static bool staysInside(Operation *op) {
  auto isKnown = [](Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    return !tensor || tensor.hasStaticShape();
  };
  if (isa<tensor::DimOp>(op))
    return true;
  if (!llvm::all_of(op->getOperandTypes(), isKnown) ||
      !llvm::all_of(op->getResultTypes(), isKnown))
    return false;
  if (isa<linalg::LinalgOp, tensor::EmptyOp>(op))
    return true;
  bool hasTensors = llvm::any_of(
      op->getOperandTypes(), [](Type type) { return isa<TensorType>(type); });
  // What takes tensors of known extents, and numbers beside them, takes these for
  // indices.
  return !hasTensors || llvm::all_of(op->getOperands(), [](Value v) {
    APInt number;
    return isa<TensorType>(v.getType()) ||
           matchPattern(v, m_ConstantInt(&number)) || v.getType().isFloat();
  });
}

static bool mayLeave(Operation *op) {
  return isMemoryEffectFree(op) && isSpeculatable(op) &&
         !op->walk([](Operation *inner) {
              return staysInside(inner) ? WalkResult::advance()
                                        : WalkResult::interrupt();
            }).wasInterrupted();
}

namespace {
struct NormalizeInvariants
    : redfuse::impl::NormalizeInvariantsBase<NormalizeInvariants> {
  void runOnOperation() override {
    // Innermost loops first: what leaves one may leave the next.
    getOperation()->walk([](LoopLikeOpInterface loop) {
      moveLoopInvariantCode(
          loop.getLoopRegions(),
          [&](Value v, Region *) { return loop.isDefinedOutsideOfLoop(v); },
          [](Operation *op, Region *) { return mayLeave(op); },
          [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
    });
  }
};
} // namespace
