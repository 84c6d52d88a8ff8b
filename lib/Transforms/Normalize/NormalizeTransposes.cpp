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
  // Not by a pattern: the driver folds what it visits.
  void runOnOperation() override {
    SmallVector<linalg::TransposeOp> ops;
    getOperation()->walk([&](linalg::TransposeOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::TransposeOp op : ops) {
      rewriter.setInsertionPoint(op);
      if (op.hasPureTensorSemantics() &&
          failed(linalg::generalizeNamedOp(rewriter, op)))
        return signalPassFailure();
    }
  }
};
} // namespace
