//===- NestReductions.cpp - redfuse-nest-reductions -----------------------===//
//
// A sum over rows and columns of what needs a sum of every row can start where the
// row's ends: both are over the same dim then, and a row is one step of what is left.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {
#define GEN_PASS_DEF_NESTREDUCTIONS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// What others that a reduction needs are over, of the dims that it is over.
static SmallBitVector findReducedBefore(ReduceOp reduce, unsigned numDims) {
  SmallBitVector over = toDimSet(reduce.getOver(), numDims), before(numDims);
  llvm::SetVector<Operation *> needed;
  auto add = [&](Operation *op) {
    for (Value v : op->getOperands())
      if (Operation *def = v.getDefiningOp())
        needed.insert(def);
  };
  add(reduce);
  for (size_t i = 0; i < needed.size(); ++i) {
    add(needed[i]);
    if (auto other = dyn_cast<ReduceOp>(needed[i]))
      before |= toDimSet(other.getOver(), numDims);
  }
  before &= over;
  return before;
}

/// First over the dims that are `inner`, then over the rest.
static void nest(RewriterBase &b, ReduceOp reduce,
                 const SmallBitVector &inner) {
  SmallVector<int64_t> first, rest, into(reduce.getInto());
  for (int64_t d : reduce.getOver())
    (inner.test(d) ? first : rest).push_back(d);
  llvm::append_range(into, rest);
  llvm::sort(into);
  b.setInsertionPoint(reduce);
  auto rows = ReduceOp::create(b, reduce.getLoc(), reduce.getReducer(),
                               reduce.getOperands(), first, into);
  rows->setDiscardableAttrs(reduce->getDiscardableAttrDictionary());
  b.replaceOpWithNewOp<ReduceOp>(reduce, reduce.getReducer(),
                                 rows->getResults(), rest, reduce.getInto());
}

namespace {
struct NestReductions
    : public redfuse::impl::NestReductionsBase<NestReductions> {
  void runOnOperation() override {
    IRRewriter b(&getContext());
    getOperation()->walk([&](CascadeOp op) {
      for (auto reduce : llvm::to_vector(op.getBody().getOps<ReduceOp>())) {
        // One that combines by a region may take its elements in one order only.
        if (reduce.getNumOperands() != 1 || !reduce.getCombine().empty() ||
            reduce.getReducer() == Reducer::TopK)
          continue;
        // Units of warpgroups take blocks of a sum with their scales.
        if (findBlockScale(reduce))
          continue;
        SmallBitVector inner =
            findReducedBefore(reduce, op.getNumIterationDims());
        if (inner.any() && inner.count() < reduce.getOver().size())
          nest(b, reduce, inner);
      }
    });
  }
};
} // namespace
