//===- Canonicalize.cpp - canonical forms of the redfuse ops --------------===//
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace redfuse;

namespace {

/// Which operands of an op stay, and whether the rest may go: an operand also
/// says how long its dims are.
bool keepsExtents(IndexProgramOpInterface op, const SmallBitVector &keep) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> before = getStaticExtents(op);
  for (unsigned d = 0, e = before.size(); d < e; ++d) {
    if (!findExtent(op, d))
      continue;
    bool found = false;
    for (unsigned i : keep.set_bits())
      for (auto [position, expr] : llvm::enumerate(maps[i].getResults())) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        found |= dim && dim.getPosition() == d &&
                 cast<ShapedType>(op->getOperand(i).getType())
                         .getDimSize(position) == before[d];
      }
    if (!found)
      return false;
  }
  return true;
}

/// Makes `op` anew with the operands in `keep`, whose body arguments stay, and
/// the results that belong to kept inits. The body moves.
template <typename OpTy>
OpTy rebuild(PatternRewriter &rewriter, OpTy op, const SmallBitVector &keep) {
  auto program = cast<IndexProgramOpInterface>(op.getOperation());
  unsigned numInputs = op.getInputs().size();
  SmallVector<AffineMap> maps;
  SmallVector<Value> operands;
  SmallVector<Type> types;
  int32_t keptInputs = 0, keptInits = 0;
  for (unsigned i : keep.set_bits()) {
    maps.push_back(program.getIndexingMapsArray()[i]);
    operands.push_back(op->getOperand(i));
    ++(i < numInputs ? keptInputs : keptInits);
    if (i >= numInputs)
      types.push_back(op->getResult(i - numInputs).getType());
  }
  Operation *made =
      mlir::cloneWithoutRegions(rewriter, op.getOperation(), types, operands);
  auto fresh = cast<OpTy>(made);
  fresh.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  fresh.getProperties().setOperandSegmentSizes({keptInputs, keptInits});
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), made->getRegions()))
    rewriter.inlineRegionBefore(from, to, to.end());
  SmallVector<Value> replacements;
  unsigned next = 0;
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
    replacements.push_back(keep.test(numInputs + i)
                               ? Value(made->getResult(next++))
                               : op->getOperand(numInputs + i));
  rewriter.replaceOp(op, replacements);
  return fresh;
}

/// An input that the body does not use.
template <typename OpTy>
struct DropUnusedInputs : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Block *body = op.getProgramBody();
    SmallBitVector keep(op->getNumOperands(), true);
    llvm::BitVector unused(body->getNumArguments());
    for (unsigned i = 0, e = op.getInputs().size(); i < e; ++i) {
      if (!body->getArgument(i).use_empty())
        continue;
      keep.reset(i);
      if (keepsExtents(op, keep))
        unused.set(i);
      else
        keep.set(i);
    }
    if (unused.none())
      return rewriter.notifyMatchFailure(op, "every input is used");
    OpTy made = rebuild(rewriter, op, keep);
    rewriter.modifyOpInPlace(
        made, [&] { made.getProgramBody()->eraseArguments(unused); });
    return success();
  }
};

/// One value read twice through the same map.
template <typename OpTy>
struct MergeEqualInputs : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    Block *body = op.getProgramBody();
    bool changed = false;
    for (unsigned i = 0, e = op.getInputs().size(); i < e; ++i)
      for (unsigned j = 0; j < i; ++j) {
        if (op.getInputs()[i] != op.getInputs()[j] || maps[i] != maps[j] ||
            body->getArgument(i).use_empty())
          continue;
        // DropUnusedInputs removes the operand.
        rewriter.replaceAllUsesWith(body->getArgument(i), body->getArgument(j));
        changed = true;
        break;
      }
    return changed ? success()
                   : rewriter.notifyMatchFailure(op, "no equal inputs");
  }
};

/// A result that nothing uses, where destinations are not read.
template <typename OpTy>
struct DropUnusedResults : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    unsigned numInputs = op.getInputs().size();
    SmallBitVector keep(op->getNumOperands(), true);
    llvm::BitVector unused(op->getNumResults());
    for (OpResult result : op->getResults()) {
      unsigned i = result.getResultNumber();
      // One result stays: with none used the whole op is dead, if it may be.
      if (!result.use_empty() || unused.count() + 1 == op->getNumResults())
        continue;
      keep.reset(numInputs + i);
      if (keepsExtents(op, keep))
        unused.set(i);
      else
        keep.set(numInputs + i);
    }
    if (unused.none())
      return rewriter.notifyMatchFailure(op, "every result is used");
    OpTy made = rebuild(rewriter, op, keep);
    Operation *yield = made.getProgramBody()->getTerminator();
    rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperands(unused); });
    return success();
  }
};

/// `tensor.cast` to a less static type says less than its source.
template <typename OpTy>
struct FoldTensorCasts : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    unsigned numInputs = op.getInputs().size();
    SmallVector<Value> operands(op->getOperands());
    bool changed = false;
    for (auto [i, operand] : llvm::enumerate(operands)) {
      auto cast = operand.template getDefiningOp<tensor::CastOp>();
      if (!cast || !tensor::canFoldIntoConsumerOp(cast))
        continue;
      operand = cast.getSource();
      changed = true;
    }
    if (!changed)
      return rewriter.notifyMatchFailure(op, "no cast to fold");
    SmallVector<Type> types;
    for (Value init : ArrayRef<Value>(operands).drop_front(numInputs))
      types.push_back(init.getType());
    Operation *made =
        mlir::cloneWithoutRegions(rewriter, op.getOperation(), types, operands);
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), made->getRegions()))
      rewriter.inlineRegionBefore(from, to, to.end());
    SmallVector<Value> replacements;
    for (auto [old, now] :
         llvm::zip_equal(op->getResults(), made->getResults()))
      replacements.push_back(old.getType() == now.getType()
                                 ? Value(now)
                                 : tensor::CastOp::create(rewriter, op.getLoc(),
                                                          old.getType(), now));
    rewriter.replaceOp(op, replacements);
    return success();
  }
};

/// A dim of static extent 1 that is reduced: its index is 0, and operands need
/// not depend on it.
struct DropReducedUnitDims : OpRewritePattern<CascadeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CascadeOp op,
                                PatternRewriter &rewriter) const override {
    unsigned n = op.getNumIterationDims(), numInputs = op.getInputs().size();
    SmallVector<int64_t> extents = getStaticExtents(op);
    SmallBitVector unit(n);
    for (auto reduce : op.getBody().front().getOps<ReduceOp>())
      for (int64_t d : reduce.getOver())
        if (extents[d] == 1)
          unit.set(d);
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    // Results keep their dims.
    for (AffineMap map : ArrayRef<AffineMap>(maps).drop_front(numInputs))
      unit.reset(getDimsOf(map));
    SmallVector<AffineExpr> replacements;
    for (unsigned d = 0; d < n; ++d)
      replacements.push_back(unit.test(d)
                                 ? getAffineConstantExpr(0, op.getContext())
                                 : getAffineDimExpr(d, op.getContext()));
    bool changed = false;
    for (AffineMap &map : maps) {
      AffineMap without = map.replaceDimsAndSymbols(replacements, {}, n, 0);
      changed |= without != map;
      map = without;
    }
    SmallVector<IndexOp> indices;
    for (auto index : op.getBody().front().getOps<IndexOp>())
      if (unit.test(index.getDim()))
        indices.push_back(index);
    if (!changed && indices.empty())
      return rewriter.notifyMatchFailure(op, "no reduced dim of extent 1");
    for (IndexOp index : indices) {
      rewriter.setInsertionPoint(index);
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(index, 0);
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
    return success();
  }
};

/// A reduction over a dim of extent 1, on which its operands do not depend.
struct DropUnitReductions : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto parent = dyn_cast<IndexProgramOpInterface>(op->getParentOp());
    if (!parent || op->getBlock() != parent.getProgramBody() ||
        op.getReducer() == Reducer::TopK)
      return rewriter.notifyMatchFailure(op, "not a plain reduction");
    SmallVector<int64_t> extents = getStaticExtents(parent);
    if (llvm::none_of(op.getOver(), [&](int64_t d) { return extents[d] == 1; }))
      return rewriter.notifyMatchFailure(op, "no dim of extent 1");
    FailureOr<DimSets> sets = DimSets::compute(parent);
    if (failed(sets))
      return failure();
    SmallVector<int64_t> over;
    for (int64_t d : op.getOver())
      if (extents[d] != 1 || llvm::any_of(op.getOperands(), [&](Value v) {
            return (*sets)[v].test(d);
          }))
        over.push_back(d);
    if (over.size() == op.getOver().size())
      return rewriter.notifyMatchFailure(op, "an operand depends on the dim");
    if (over.empty())
      rewriter.replaceOp(op, op.getOperands());
    else
      rewriter.modifyOpInPlace(op, [&] { op.setOver(over); });
    return success();
  }
};

/// A reduction of a reduction by the same reducer is one over all their dims.
struct CombineNestedReductions : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand(0).getDefiningOp<ReduceOp>();
    if (op.getNumOperands() != 1 || !inner || op.isDeclared() ||
        inner.getReducer() != op.getReducer() || !inner->hasOneUse() ||
        inner->getBlock() != op->getBlock())
      return rewriter.notifyMatchFailure(op, "not a reduction of a reduction");
    for (int64_t d : inner.getOver())
      if (llvm::is_contained(op.getOver(), d) ||
          llvm::is_contained(op.getInto(), d))
        return rewriter.notifyMatchFailure(op, "the dims overlap");
    SmallVector<int64_t> over(inner.getOver());
    llvm::append_range(over, op.getOver());
    llvm::sort(over);
    rewriter.modifyOpInPlace(op, [&] {
      op.setOperand(0, inner.getOperand(0));
      op.setOver(over);
    });
    rewriter.eraseOp(inner);
    return success();
  }
};

} // namespace

void CascadeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<DropUnusedInputs<CascadeOp>, MergeEqualInputs<CascadeOp>,
               DropUnusedResults<CascadeOp>, FoldTensorCasts<CascadeOp>,
               DropReducedUnitDims>(context);
}

void FoldOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<DropUnusedInputs<FoldOp>, MergeEqualInputs<FoldOp>,
               FoldTensorCasts<FoldOp>>(context);
}

void FinalizeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<DropUnusedInputs<FinalizeOp>, MergeEqualInputs<FinalizeOp>,
               DropUnusedResults<FinalizeOp>, FoldTensorCasts<FinalizeOp>>(
      context);
}

void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<DropUnitReductions, CombineNestedReductions>(context);
}
