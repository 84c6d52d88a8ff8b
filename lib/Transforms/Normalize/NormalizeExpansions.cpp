//===- NormalizeExpansions.cpp - reshapes that upstream leaves between ----===//
//
// Upstream moves an expansion through a generic whose maps are projected
// permutations, and folds reshapes of which one refines the other. These are
// the others: dims that are grouped anew, maps with sums and remainders in
// other dims, slices.
//
//===----------------------------------------------------------------------===//
#include "NormalizeCommon.h"

using namespace mlir;

/// The extents into which both lists of factors of one number can be cut, in
/// order; none where there are no such extents, or a factor is 0 or 1.
static FailureOr<SmallVector<int64_t>> getCommonFactors(ArrayRef<int64_t> a,
                                                        ArrayRef<int64_t> b) {
  SmallVector<int64_t> cuts;
  for (ArrayRef<int64_t> extents : {a, b}) {
    int64_t product = 1;
    for (int64_t extent : extents) {
      if (ShapedType::isDynamic(extent) || extent < 2)
        return failure();
      cuts.push_back(product *= extent);
    }
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  SmallVector<int64_t> factors;
  int64_t before = 1;
  for (int64_t cut : cuts) {
    if (cut % before)
      return failure();
    factors.push_back(cut / before);
    before = cut;
  }
  return factors;
}

/// For each of `extents` the next positions of `factors` that make it up.
static void groupFactors(ArrayRef<int64_t> extents, ArrayRef<int64_t> factors,
                         int64_t first,
                         SmallVectorImpl<ReassociationIndices> &into) {
  size_t next = 0;
  for (int64_t extent : extents) {
    ReassociationIndices positions;
    for (int64_t product = 1; product < extent; ++next) {
      product *= factors[next];
      positions.push_back(first + next);
    }
    into.push_back(positions);
  }
}

namespace {

/// Dims that are collapsed and cut elsewhere are cut first: [12, 7, 9] as
/// [3, 252] is [3, 4, 7, 9], of which the last three are collapsed.
struct RegroupDims : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto collapse = op.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse)
      return rewriter.notifyMatchFailure(op, "not of a collapse");
    Location loc = op.getLoc();
    ArrayRef<int64_t> had = collapse.getSrcType().getShape();
    ArrayRef<int64_t> has = op.getResultType().getShape();
    SmallVector<OpFoldResult> sizes;
    SmallVector<ReassociationIndices> cut, joined;
    bool isFiner = false;
    // Extents that are no constants are asked for when all is known to fit.
    SmallVector<std::pair<size_t, int64_t>> asked;
    SmallVector<OpFoldResult> given = op.getMixedOutputShape();
    for (auto [from, to] : llvm::zip_equal(collapse.getReassociationIndices(),
                                           op.getReassociationIndices())) {
      int64_t first = sizes.size();
      if (from.size() == 1 || to.size() == 1) {
        bool keeps = to.size() == 1;
        ReassociationIndices all;
        for (int64_t dim : keeps ? from : to) {
          all.push_back(sizes.size());
          if (!keeps) {
            sizes.push_back(given[dim]);
          } else {
            if (ShapedType::isDynamic(had[dim]))
              asked.push_back({sizes.size(), dim});
            sizes.push_back(rewriter.getIndexAttr(had[dim]));
          }
        }
        (keeps ? joined : cut).push_back(all);
        for (int64_t position : all)
          (keeps ? cut : joined).push_back({position});
        continue;
      }
      SmallVector<int64_t> before, after;
      for (int64_t dim : from)
        before.push_back(had[dim]);
      for (int64_t dim : to)
        after.push_back(has[dim]);
      FailureOr<SmallVector<int64_t>> factors = getCommonFactors(before, after);
      if (failed(factors))
        return rewriter.notifyMatchFailure(op, "cut across what was collapsed");
      isFiner |= *factors != before && *factors != after;
      groupFactors(before, *factors, first, cut);
      groupFactors(after, *factors, first, joined);
      for (int64_t factor : *factors)
        sizes.push_back(rewriter.getIndexAttr(factor));
    }
    if (!isFiner)
      return rewriter.notifyMatchFailure(op, "one reshape refines the other");
    for (auto [position, dim] : asked)
      sizes[position] =
          tensor::getMixedSize(rewriter, loc, collapse.getSrc(), dim);
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(sizes, dynamic, shape);
    Value fine = tensor::ExpandShapeOp::create(
        rewriter, loc,
        RankedTensorType::get(shape, op.getResultType().getElementType()),
        collapse.getSrc(), cut, sizes);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getType(), fine,
                                                         joined);
    return success();
  }
};

/// Dims that a slice takes whole, or whole pieces of, are cut in front of it.
struct ExpandBeforeSlice : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto slice = op.getSrc().getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || !slice->hasOneUse())
      return rewriter.notifyMatchFailure(op, "not the one reader of a slice");
    RankedTensorType type = slice.getSourceType();
    if (slice.getDroppedDims().any() || !type.hasStaticShape() ||
        !op.getResultType().hasStaticShape() ||
        ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
        ShapedType::isDynamicShape(slice.getStaticStrides()))
      return rewriter.notifyMatchFailure(op, "of dims that are not known");
    SmallVector<int64_t> shape, offsets, sizes, strides;
    bool adds = false;
    for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
      bool isWhole = slice.getStaticSize(dim) == type.getDimSize(dim);
      // A part of a dim that begins and ends between two of what it is cut into is a
      // part of the first of those: [2304] as 36 x 64, of which 12 are taken.
      int64_t inner = 1;
      for (int64_t part : ArrayRef(group).drop_front())
        inner *= op.getResultType().getDimSize(part);
      if (group.size() > 1 && !isWhole &&
          (inner == 0 || slice.getStaticStride(dim) != 1 ||
           slice.getStaticOffset(dim) % inner != 0 ||
           type.getDimSize(dim) % inner != 0))
        return rewriter.notifyMatchFailure(op, "cuts what the slice cuts");
      adds |= group.size() > 1;
      for (int64_t part : group) {
        int64_t extent = op.getResultType().getDimSize(part);
        bool isCut = !isWhole && part == group.front();
        shape.push_back(isCut ? type.getDimSize(dim) / inner : extent);
        offsets.push_back(isCut ? slice.getStaticOffset(dim) / inner : 0);
        sizes.push_back(extent);
        strides.push_back(isCut ? slice.getStaticStride(dim) : 1);
      }
    }
    if (!adds)
      return rewriter.notifyMatchFailure(op, "expands nothing");
    Value whole = tensor::ExpandShapeOp::create(
        rewriter, op.getLoc(),
        RankedTensorType::get(shape, type.getElementType()), slice.getSource(),
        op.getReassociationIndices());
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        op, op.getResultType(), whole, ValueRange(), ValueRange(), ValueRange(),
        offsets, sizes, strides);
    return success();
  }
};

/// A copy of a part that is expanded is a slice again: the expansion is no
/// loop's business, and nothing is copied.
struct ExpandedCopyToSlice : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto copy = op.getSrc().getDefiningOp<linalg::GenericOp>();
    if (!copy || !copy.hasPureTensorSemantics() || !copy->hasOneUse() ||
        copy.getNumDpsInputs() != 1 || copy.getNumResults() != 1 ||
        !copy.getBody()->without_terminator().empty() ||
        copy.getBody()->getTerminator()->getOperand(0) !=
            copy.getBody()->getArgument(0) ||
        !copy.getMatchingIndexingMap(copy.getDpsInitOperand(0)).isIdentity())
      return rewriter.notifyMatchFailure(op, "not the one reader of a copy");
    Value source = copy.getDpsInputOperand(0)->get();
    auto type = dyn_cast<RankedTensorType>(source.getType());
    auto part = cast<RankedTensorType>(copy.getResult(0).getType());
    AffineMap map = copy.getMatchingIndexingMap(copy.getDpsInputOperand(0));
    if (!type || !type.hasStaticShape() || !part.hasStaticShape() ||
        type.getRank() != part.getRank() || type == part)
      return rewriter.notifyMatchFailure(op, "not of a part of known extents");
    SmallVector<int64_t> offsets(part.getRank(), 0);
    SmallVector<int64_t> strides(part.getRank(), 1);
    for (auto [d, expr] : llvm::enumerate(map.getResults())) {
      AffineExpr loop = rewriter.getAffineDimExpr(d);
      auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
      if (expr == loop || expr == loop % part.getDimSize(d))
        continue;
      auto number = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                           : AffineConstantExpr();
      if (!number || binary.getKind() != AffineExprKind::Add ||
          binary.getLHS() != loop || number.getValue() < 0 ||
          number.getValue() + part.getDimSize(d) > type.getDimSize(d))
        return rewriter.notifyMatchFailure(op, "not a part as it lies");
      offsets[d] = number.getValue();
    }
    rewriter.setInsertionPoint(op);
    Value slice = tensor::ExtractSliceOp::create(
        rewriter, copy.getLoc(), part, source, ValueRange(), ValueRange(),
        ValueRange(), offsets, part.getShape(), strides);
    rewriter.modifyOpInPlace(op, [&] { op.getSrcMutable().assign(slice); });
    return success();
  }
};

/// A generic with sums or remainders in its maps that reads a collapsed tensor
/// has a loop for each dim there was, where its maps use those dims plainly.
class ExpandLoops : public OpRewritePattern<linalg::GenericOp> {
public:
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    if (!op.hasPureTensorSemantics() || llvm::all_of(maps, [](AffineMap map) {
          return map.isProjectedPermutation();
        }))
      return rewriter.notifyMatchFailure(op, "upstream's patterns take it");
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
      if (!collapse || !collapse.getSrcType().hasStaticShape())
        continue;
      SmallVector<SmallVector<int64_t>> parts(op.getNumLoops());
      if (succeeded(getParts(collapse, op.getMatchingIndexingMap(operand), maps,
                             parts))) {
        expand(op, parts, rewriter);
        return success();
      }
    }
    return rewriter.notifyMatchFailure(op, "reads no collapsed dims plainly");
  }

  using Parts = SmallVector<SmallVector<int64_t>>;

private:
  /// The extents into which each loop is cut, none for those that stay.
  static LogicalResult getParts(tensor::CollapseShapeOp collapse, AffineMap map,
                                ArrayRef<AffineMap> maps, Parts &parts) {
    bool cuts = false;
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    for (auto [position, group] :
         llvm::enumerate(collapse.getReassociationIndices())) {
      int64_t longer =
          llvm::count_if(group, [&](int64_t dim) { return shape[dim] != 1; });
      if (group.size() == 1 || longer < 2)
        continue;
      auto loop = dyn_cast<AffineDimExpr>(map.getResult(position));
      if (!loop || !parts[loop.getPosition()].empty())
        return failure();
      for (AffineMap other : maps)
        for (AffineExpr expr : other.getResults())
          if (expr != loop && expr.isFunctionOfDim(loop.getPosition()))
            return failure();
      for (int64_t dim : group)
        parts[loop.getPosition()].push_back(shape[dim]);
      cuts = true;
    }
    return success(cuts);
  }

public:
  /// Cuts loops into `parts`; what uses a loop not plainly gets the sum of its parts.
  static void expand(linalg::GenericOp op, const Parts &parts,
                     PatternRewriter &rewriter) {
    Location loc = op.getLoc();
    // Where each loop's own loops begin.
    SmallVector<unsigned> first;
    SmallVector<AffineExpr> replaced;
    SmallVector<utils::IteratorType> kinds;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      first.push_back(kinds.size());
      AffineExpr whole = rewriter.getAffineDimExpr(kinds.size());
      for (size_t k = 1; k < parts[loop].size(); ++k)
        whole = whole * parts[loop][k] +
                rewriter.getAffineDimExpr(kinds.size() + k);
      replaced.push_back(whole);
      kinds.append(std::max<size_t>(1, parts[loop].size()), kind);
    }
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    SmallVector<SmallVector<ReassociationIndices>> groups;
    for (OpOperand &operand : op->getOpOperands()) {
      SmallVector<AffineExpr> exprs;
      SmallVector<ReassociationIndices> grouped;
      SmallVector<int64_t> shape;
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [position, expr] : llvm::enumerate(map.getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expr);
        ReassociationIndices group;
        if (loop && !parts[loop.getPosition()].empty()) {
          for (auto [k, extent] : llvm::enumerate(parts[loop.getPosition()])) {
            group.push_back(exprs.size());
            exprs.push_back(
                rewriter.getAffineDimExpr(first[loop.getPosition()] + k));
            shape.push_back(extent);
          }
        } else {
          group.push_back(exprs.size());
          exprs.push_back(expr.replaceDims(replaced));
          shape.push_back(type.getDimSize(position));
        }
        grouped.push_back(group);
      }
      maps.push_back(
          AffineMap::get(kinds.size(), 0, exprs, rewriter.getContext()));
      Value value = operand.get();
      if (type && exprs.size() != map.getNumResults()) {
        auto fine = RankedTensorType::get(shape, type.getElementType());
        auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
        if (collapse && collapse.getSrcType() == fine &&
            collapse.getReassociationIndices() == grouped)
          value = collapse.getSrc();
        else
          value = tensor::ExpandShapeOp::create(rewriter, loc, fine, value,
                                                grouped);
      }
      (op.isDpsInput(&operand) ? inputs : outputs).push_back(value);
      if (op.isDpsInit(&operand))
        groups.push_back(grouped);
    }
    SmallVector<Type> types = llvm::to_vector(ValueRange(outputs).getTypes());
    auto wider = linalg::GenericOp::create(rewriter, loc, types, inputs,
                                           outputs, maps, kinds);
    for (NamedAttribute attr : op->getDiscardableAttrs())
      wider->setDiscardableAttr(attr.getName(), attr.getValue());
    rewriter.inlineRegionBefore(op.getRegion(), wider.getRegion(),
                                wider.getRegion().begin());
    renumber(wider, parts, first, rewriter);
    SmallVector<Value> results;
    for (auto [result, old, group] :
         llvm::zip_equal(wider.getResults(), op.getResults(), groups)) {
      Value value = result;
      if (value.getType() != old.getType())
        value = tensor::CollapseShapeOp::create(rewriter, loc, old.getType(),
                                                value, group);
      results.push_back(value);
    }
    rewriter.replaceOp(op, results);
  }

private:
  /// Indices of loops that were cut are those of their parts together.
  static void renumber(linalg::GenericOp op, const Parts &parts,
                       ArrayRef<unsigned> first, PatternRewriter &rewriter) {
    OpBuilder::InsertionGuard guard(rewriter);
    for (auto index :
         llvm::to_vector(op.getBody()->getOps<linalg::IndexOp>())) {
      unsigned loop = index.getDim();
      rewriter.setInsertionPoint(index);
      Value at = linalg::IndexOp::create(rewriter, index.getLoc(), first[loop]);
      for (size_t k = 1; k < parts[loop].size(); ++k) {
        Value extent = arith::ConstantIndexOp::create(rewriter, index.getLoc(),
                                                      parts[loop][k]);
        Value next =
            linalg::IndexOp::create(rewriter, index.getLoc(), first[loop] + k);
        at = arith::MulIOp::create(rewriter, index.getLoc(), at, extent);
        at = arith::AddIOp::create(rewriter, index.getLoc(), at, next);
      }
      rewriter.replaceOp(index, at);
    }
  }
};

/// A map with sums or remainders in what it reads (rows that are rolled) computes the
/// expanded tensor at once where that is read: between two loops a reshape is in the way.
struct ExpandProducer : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto map = op.getSrc().getDefiningOp<linalg::GenericOp>();
    if (!map || !map.hasPureTensorSemantics() || map.getNumResults() != 1 ||
        !map->hasOneUse() || map.getNumParallelLoops() != map.getNumLoops() ||
        !op.getResultType().hasStaticShape())
      return rewriter.notifyMatchFailure(op, "not the one reader of a map");
    AffineMap written = map.getMatchingIndexingMap(map.getDpsInitOperand(0));
    if (!written.isPermutation() ||
        llvm::all_of(map.getIndexingMapsArray(), [](AffineMap each) {
          return each.isProjectedPermutation();
        }))
      return rewriter.notifyMatchFailure(op, "upstream's patterns take it");
    if (llvm::none_of(op->getUsers(), llvm::IsaPred<linalg::LinalgOp>))
      return rewriter.notifyMatchFailure(op, "no loops read it");
    ExpandLoops::Parts parts(map.getNumLoops());
    bool cuts = false;
    for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
      int64_t longer = llvm::count_if(group, [&](int64_t part) {
        return op.getResultType().getDimSize(part) != 1;
      });
      if (group.size() == 1)
        continue;
      cuts |= longer > 1;
      for (int64_t part : group)
        parts[written.getDimPosition(dim)].push_back(
            op.getResultType().getDimSize(part));
    }
    if (!cuts)
      return rewriter.notifyMatchFailure(op, "cuts no dim");
    rewriter.setInsertionPoint(map);
    ExpandLoops::expand(map, parts, rewriter);
    return success();
  }
};

} // namespace

void redfuse::populateExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add<RegroupDims, ExpandBeforeSlice, ExpandedCopyToSlice, ExpandLoops,
               ExpandProducer>(patterns.getContext());
}
