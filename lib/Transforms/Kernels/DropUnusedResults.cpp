//===- DropUnusedResults.cpp - cascades without what nobody reads ---------===//
#include "Canonicalized.h"
#include "KeptResults.h"

#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace redfuse {
#define GEN_PASS_DEF_DROPUNUSEDRESULTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

CascadeOp redfuse::keepResults(RewriterBase &b, CascadeOp op,
                               ArrayRef<unsigned> results) {
  size_t numInputs = op.getInputs().size();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray(),
                         kept(maps.begin(), maps.begin() + numInputs);
  SmallVector<Value> inits, values;
  Operation *end = op.getBody().front().getTerminator();
  for (unsigned i : results) {
    inits.push_back(op.getInits()[i]);
    kept.push_back(maps[numInputs + i]);
    values.push_back(end->getOperand(i));
  }
  b.setInsertionPoint(op);
  auto made = CascadeOp::create(b, op.getLoc(), ValueRange(inits).getTypes(),
                                op.getInputs(), inits,
                                b.getAffineMapArrayAttr(kept), nullptr);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping mapping;
  op.getBody().cloneInto(&made.getBody(), mapping);
  Block &block = made.getBody().front();
  block.getTerminator()->setOperands(
      llvm::map_to_vector(values, [&](Value v) { return mapping.lookup(v); }));
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&inner))
      b.eraseOp(&inner);
  return made;
}

/// The results that somebody reads; none where all are, or where without the others
/// nothing would tell how long some dim is.
static SmallVector<unsigned> findUsed(CascadeOp op) {
  SmallVector<unsigned> used;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  size_t numInputs = op.getInputs().size();
  SmallBitVector known(maps.front().getNumDims());
  for (AffineMap map : ArrayRef(maps).take_front(numInputs))
    known |= getDimsOf(map);
  for (OpResult result : op->getResults()) {
    unsigned i = result.getResultNumber();
    if (result.use_empty())
      continue;
    used.push_back(i);
    known |= getDimsOf(maps[numInputs + i]);
  }
  if (used.size() == op->getNumResults() || !known.all())
    return {};
  return used;
}

namespace {
struct DropUnusedResults
    : public redfuse::impl::DropUnusedResultsBase<DropUnusedResults> {
  void runOnOperation() override {
    SmallVector<CascadeOp> ops;
    getOperation()->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    SmallVector<Operation *> all;
    for (CascadeOp op : ops) {
      SmallVector<unsigned> used = findUsed(op);
      if (used.empty())
        continue;
      CascadeOp made = keepResults(b, op, used);
      for (auto [n, i] : llvm::enumerate(used))
        b.replaceAllUsesWith(op->getResult(i), made->getResult(n));
      b.eraseOp(op);
      all.push_back(made);
    }
    if (!canonicalizeCascades(&getContext(), all))
      signalPassFailure();
  }
};
} // namespace
