//===- NormalizeTransposes.cpp - redfuse-normalize-transposes --------------===//
#include "NormalizeCommon.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZETRANSPOSES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
struct NormalizeTransposes
    : redfuse::impl::NormalizeTransposesBase<NormalizeTransposes> {
  // Not by patterns: the driver folds what it visits.
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::PackOp> packs;
    getOperation()->walk([&](linalg::PackOp op) { packs.push_back(op); });
    for (linalg::PackOp op : packs) {
      rewriter.setInsertionPoint(op);
      if (op.hasPureTensorSemantics() && op.getPaddingValue() &&
          failed(linalg::lowerPack(rewriter, op,
                                   /*lowerPadLikeWithInsertSlice=*/false)))
        return signalPassFailure();
    }
    SmallVector<linalg::TransposeOp> ops;
    getOperation()->walk([&](linalg::TransposeOp op) { ops.push_back(op); });
    for (linalg::TransposeOp op : ops) {
      rewriter.setInsertionPoint(op);
      if (op.hasPureTensorSemantics() &&
          failed(linalg::generalizeNamedOp(rewriter, op)))
        return signalPassFailure();
    }
  }
};
} // namespace
