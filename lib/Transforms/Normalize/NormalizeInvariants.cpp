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
  // An element at a place that is known.
  auto isInside = [](Type tensor, ValueRange indices) {
    for (auto [index, extent] :
         llvm::zip_equal(indices, cast<ShapedType>(tensor).getShape())) {
      std::optional<int64_t> at = getConstantIntValue(index);
      if (!at || *at < 0 || *at >= extent)
        return false;
    }
    return true;
  };
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return isInside(extract.getTensor().getType(), extract.getIndices());
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return isInside(insert.getDest().getType(), insert.getIndices());
  // Whatever else takes tensors, and integers beside them, takes these for places.
  bool hasTensors = llvm::any_of(
      op->getOperandTypes(), [](Type type) { return isa<TensorType>(type); });
  return !hasTensors || llvm::none_of(op->getOperandTypes(), [](Type type) {
    return type.isIntOrIndex();
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
