//===- SplitTotals.cpp - redfuse-split-totals -----------------------------===//
//
// A total of what rows give together (an entropy, a divergence, summed over all rows)
// needs each row's own reductions first. A kernel of rows can add up its rows' parts of
// the total, and then nobody stores what is summed; a kernel of the total alone reads it
// back. So the total becomes two reductions: over what rows are reduced over, which fuses
// with them, and over the rest.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace redfuse {
#define GEN_PASS_DEF_SPLITTOTALS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// Which dims of tensors are those of rows: others of their values are reduced over these,
/// and were spread over them again.
class RowDims {
public:
  /// Of an op's iteration dims.
  SmallBitVector find(CascadeOp op);

private:
  SmallBitVector findOf(Value tensor);
  SmallVector<int64_t> findReduced(Value tensor);

  DenseMap<Value, SmallBitVector> known;
};
} // namespace

/// Extents that a tensor's elements were reduced over, in order of size: none, or those of
/// the nearest reductions.
SmallVector<int64_t> RowDims::findReduced(Value tensor) {
  for (unsigned depth = 0; depth < 8; ++depth) {
    auto op = tensor.getDefiningOp<CascadeOp>();
    if (!op)
      return {};
    SmallVector<int64_t> extents = getStaticExtents(op), reduced;
    for (auto reduce : op.getBody().getOps<ReduceOp>()) {
      for (int64_t d : reduce.getOver())
        reduced.push_back(extents[d]);
      llvm::sort(reduced);
      return reduced;
    }
    // What is made of a reduced value alone, element by element.
    if (op.getInputs().size() != 1)
      return {};
    tensor = op.getInputs().front();
  }
  return {};
}

SmallBitVector RowDims::find(CascadeOp op) {
  SmallVector<int64_t> extents = getStaticExtents(op);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallBitVector rows(extents.size()), all(extents.size());
  for (unsigned i = 0; i < op.getInputs().size(); ++i)
    if (maps[i].isProjectedPermutation())
      all |= getDimsOf(maps[i]);
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    AffineMap map = maps[i];
    if (!map.isProjectedPermutation())
      continue;
    SmallBitVector has = getDimsOf(map);
    if (auto type = dyn_cast<RankedTensorType>(input.getType())) {
      SmallBitVector own = findOf(input);
      for (unsigned place : own.set_bits())
        rows.set(map.getDimPosition(place));
    }
    SmallBitVector missing = all;
    missing.reset(has);
    SmallVector<int64_t> spread;
    for (unsigned d : missing.set_bits())
      spread.push_back(extents[d]);
    llvm::sort(spread);
    if (!spread.empty() && spread == findReduced(input))
      rows |= missing;
  }
  return rows;
}

SmallBitVector RowDims::findOf(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  SmallBitVector rows(type ? unsigned(type.getRank()) : 0);
  auto op = tensor.getDefiningOp<CascadeOp>();
  if (!type || !op)
    return rows;
  auto [it, isNew] = known.try_emplace(tensor, rows);
  if (!isNew)
    return it->second;
  unsigned result = cast<OpResult>(tensor).getResultNumber();
  AffineMap map = op.getIndexingMapsArray()[op.getInputs().size() + result];
  if (map.isProjectedPermutation()) {
    SmallBitVector own = find(op);
    for (unsigned place = 0; place < map.getNumResults(); ++place)
      if (own.test(map.getDimPosition(place)))
        rows.set(place);
  }
  return known[tensor] = rows;
}

/// The reduction of an op that is nothing else, but for what it reduces.
static ReduceOp findTotal(CascadeOp op) {
  auto reduces = llvm::to_vector(op.getBody().getOps<ReduceOp>());
  if (reduces.size() != 1 || op->getNumResults() != 1 ||
      !op.getBody().getOps<ScanOp>().empty() ||
      llvm::any_of(getStaticExtents(op), ShapedType::isDynamic))
    return nullptr;
  ReduceOp reduce = reduces.front();
  // One that combines by a region may take its elements in one order only.
  if (reduce.getNumOperands() != 1 || !reduce.getCombine().empty() ||
      reduce.getReducer() == Reducer::TopK || reduce.getOver().size() < 2)
    return nullptr;
  Operation *yield = op.getBody().front().getTerminator();
  return yield->getOperand(0) == reduce.getResult(0) ? reduce : nullptr;
}

/// First over the dims that are `inner`, then over the rest.
static void split(RewriterBase &b, CascadeOp op, ReduceOp reduce,
                  const SmallBitVector &inner) {
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  SmallVector<int64_t> extents = getStaticExtents(op), first, shape;
  SmallVector<int64_t> kept(reduce.getInto());
  for (int64_t d : reduce.getOver())
    (inner.test(d) ? first : kept).push_back(d);
  llvm::sort(kept);
  SmallVector<AffineExpr> places,
      renumbered(extents.size(), b.getAffineConstantExpr(0));
  SmallVector<int64_t> rest, into;
  for (auto [i, d] : llvm::enumerate(kept)) {
    shape.push_back(extents[d]);
    places.push_back(b.getAffineDimExpr(unsigned(d)));
    renumbered[d] = b.getAffineDimExpr(unsigned(i));
    (llvm::is_contained(reduce.getOver(), d) ? rest : into)
        .push_back(int64_t(i));
  }
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap results = maps.pop_back_val();
  maps.push_back(AffineMap::get(unsigned(extents.size()), 0, places, context));
  b.setInsertionPoint(op);
  Type element = reduce.getResult(0).getType();
  Value empty = tensor::EmptyOp::create(b, loc, shape, element);
  auto rows = CascadeOp::create(b, loc, empty.getType(), op.getInputs(), empty,
                                b.getAffineMapArrayAttr(maps), nullptr);
  rows->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  b.cloneRegionBefore(op.getBody(), rows.getBody(), rows.getBody().end());
  ReduceOp own = *rows.getBody().getOps<ReduceOp>().begin();
  b.setInsertionPoint(own);
  auto made = ReduceOp::create(b, own.getLoc(), own.getReducer(),
                               own.getOperands(), first, kept);
  made->setDiscardableAttrs(own->getDiscardableAttrDictionary());
  b.replaceOp(own, made);

  b.setInsertionPoint(op);
  auto count = unsigned(kept.size());
  SmallVector<AffineMap> ownMaps{
      b.getMultiDimIdentityMap(count),
      results.replaceDimsAndSymbols(renumbered, {}, count, 0)};
  auto total = CascadeOp::create(b, loc, op->getResultTypes(),
                                 rows->getResult(0), op.getInits(),
                                 b.getAffineMapArrayAttr(ownMaps), nullptr);
  total->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(b);
  Block &block = total.getBody().emplaceBlock();
  b.setInsertionPointToStart(&block);
  Value each = block.addArgument(element, loc);
  auto sum = ReduceOp::create(b, reduce.getLoc(), reduce.getReducer(), {each},
                              rest, into);
  YieldOp::create(b, loc, sum->getResults());
  b.replaceOp(op, total);
}

namespace {
struct SplitTotals : public redfuse::impl::SplitTotalsBase<SplitTotals> {
  void runOnOperation() override {
    IRRewriter b(&getContext());
    SmallVector<CascadeOp> ops;
    getOperation()->walk([&](CascadeOp op) { ops.push_back(op); });
    for (CascadeOp op : ops) {
      ReduceOp reduce = findTotal(op);
      if (!reduce)
        continue;
      // Products have tiles of their own.
      SmallVector<int64_t> extents = getStaticExtents(op);
      FailureOr<DimSets> sets =
          DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
      if (failed(sets) || findBlockScale(reduce) ||
          isMatrixProduct(reduce, *sets,
                          [&](unsigned d) { return double(extents[d]); }))
        continue;
      SmallBitVector inner = RowDims().find(op);
      inner &= toDimSet(reduce.getOver(), unsigned(extents.size()));
      if (inner.any() && inner.count() < reduce.getOver().size())
        split(b, op, reduce, inner);
    }
  }
};
} // namespace
