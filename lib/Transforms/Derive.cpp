//===- Derive.cpp - cascades become folds with carried state --------------===//
#include "redfuse/Algebra/Derivation.h"
#include "redfuse/Analysis/Refusal.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace redfuse {
#define GEN_PASS_DEF_DERIVE
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// The dims that can be folded at once: those that every outermost reduction
/// runs over. A reduction whose result feeds another one through data alone (an
/// inner contraction) is not outermost.
static SmallVector<int64_t> getReducedDims(CascadeOp cascade) {
  FailureOr<DimSets> sets =
      DimSets::compute(cast<IndexProgramOpInterface>(*cascade));
  if (failed(sets))
    return {};
  SmallBitVector all(cascade.getNumIterationDims());
  SmallVector<SmallBitVector> candidates;
  for (auto reduce : cascade.getBody().front().getOps<ReduceOp>())
    candidates.push_back(toDimSet(reduce.getOver(), all.size()));
  for (auto scan : cascade.getBody().front().getOps<ScanOp>())
    candidates.push_back(toDimSet({int64_t(scan.getDim())}, all.size()));
  // The last reduction is outermost: take its dims.
  return candidates.empty() ? SmallVector<int64_t>{}
                            : toDims(candidates.back());
}

namespace {
struct DerivePass : redfuse::impl::DeriveBase<DerivePass> {
  using DeriveBase::DeriveBase;

  void runOnOperation() override {
    SmallVector<CascadeOp> cascades;
    getOperation()->walk([&](CascadeOp op) { cascades.push_back(op); });
    IRRewriter rewriter(&getContext());
    DerivationOptions options;
    options.strict = strict;
    for (CascadeOp cascade : cascades) {
      SmallVector<int64_t> over;
      if (ScheduleAttr schedule = cascade.getScheduleAttr()) {
        if (schedule.getKind() != ScheduleKind::Stream)
          continue;
        over.assign(schedule.getStream().begin(), schedule.getStream().end());
      } else if (!this->over.empty()) {
        llvm::append_range(over, this->over);
      } else if (all) {
        over = getReducedDims(cascade);
      }
      if (over.empty())
        continue;
      SmallVector<RefusalReason> why;
      FailureOr<Derivation> derivation = derive(cascade, over, why, options);
      if (succeeded(derivation)) {
        rewrite(rewriter, cascade, *derivation);
        continue;
      }
      for (const RefusalReason &reason : why)
        addRefusal(reason.op, reason.condition, reason.detail, reason.remedy);
    }
  }
};
} // namespace
