//===- NormalizeConcats.cpp - concatenations as maps ----------------------===//
//
// A concatenation is the map that selects, by the position along one dim, the
// element of one of its parts. Each part is read within its bounds everywhere:
// at (d - offset) mod extent.
//
//===----------------------------------------------------------------------===//
#include "NormalizeCommon.h"

#include "redfuse/Analysis/CostConstants.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using redfuse::kMostParts;

namespace {
struct Part {
  Value tensor;
  int64_t offset, extent; // along the dim of the concatenation
};
} // namespace

/// The map that `parts`, in order and without gaps, make along `dim` of `empty`.
static Value buildSelection(PatternRewriter &rewriter, Location loc,
                            Value empty, int64_t dim, ArrayRef<Part> parts) {
  auto type = cast<RankedTensorType>(empty.getType());
  unsigned rank = type.getRank();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Part &part : parts) {
    SmallVector<AffineExpr> exprs;
    for (unsigned d = 0; d < rank; ++d)
      exprs.push_back(rewriter.getAffineDimExpr(d));
    int64_t n = part.extent;
    if (n == 1)
      exprs[dim] = rewriter.getAffineConstantExpr(0);
    else if (n != type.getDimSize(dim))
      exprs[dim] = (exprs[dim] + (n - part.offset % n) % n) % n;
    inputs.push_back(part.tensor);
    maps.push_back(AffineMap::get(rank, 0, exprs, rewriter.getContext()));
  }
  maps.push_back(rewriter.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
  auto select = [&](OpBuilder &b, Location loc, ValueRange elements) {
    Value result = elements[parts.size() - 1];
    if (parts.size() > 1) {
      Value at = linalg::IndexOp::create(b, loc, dim);
      for (unsigned i = parts.size() - 1; i-- > 0;) {
        Value end = arith::ConstantIndexOp::create(b, loc, parts[i + 1].offset);
        Value before =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, end);
        result = arith::SelectOp::create(b, loc, before, elements[i], result);
      }
    }
    linalg::YieldOp::create(b, loc, result);
  };
  return linalg::GenericOp::create(rewriter, loc, TypeRange{type}, inputs,
                                   ValueRange{empty}, maps, kinds, select)
      .getResult(0);
}

namespace {

struct ConcatToGeneric : OpRewritePattern<tensor::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    int64_t dim = op.getDim();
    SmallVector<Part> parts;
    int64_t offset = 0;
    for (Value input : op.getInputs()) {
      int64_t n = cast<RankedTensorType>(input.getType()).getDimSize(dim);
      if (ShapedType::isDynamic(n))
        return rewriter.notifyMatchFailure(op, "a part of dynamic extent");
      if (n > 0)
        parts.push_back({input, offset, n});
      offset += n;
    }
    if (parts.empty() || parts.size() > kMostParts)
      return rewriter.notifyMatchFailure(op, "no parts, or too many");
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type || type.getDimSize(dim) != offset)
      return rewriter.notifyMatchFailure(op, "the extents do not add up");
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, op.getLoc(), op.getInputs().front());
    sizes[dim] = rewriter.getIndexAttr(offset);
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (!type.isDynamicDim(d))
        sizes[d] = rewriter.getIndexAttr(type.getDimSize(d));
    Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), sizes,
                                          type.getElementType());
    rewriter.replaceOp(
        op, buildSelection(rewriter, op.getLoc(), empty, dim, parts));
    return success();
  }
};

/// What is joined and cut into the parts again (a stack) is joined along a dim
/// of extent 1 of the parts.
struct ConcatToStack : OpRewritePattern<tensor::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    auto expand = op->hasOneUse()
                      ? dyn_cast<tensor::ExpandShapeOp>(*op->user_begin())
                      : tensor::ExpandShapeOp();
    uint64_t dim = op.getDim();
    if (!expand || !expand.getResultType().hasStaticShape())
      return rewriter.notifyMatchFailure(op, "not cut again");
    SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
    SmallVector<int64_t> shape(expand.getResultType().getShape());
    if (groups[dim].size() < 2 ||
        shape[groups[dim][0]] != int64_t(op.getInputs().size()))
      return rewriter.notifyMatchFailure(op, "not cut into the parts");
    shape[groups[dim][0]] = 1;
    int64_t extent = 1;
    for (int64_t part : groups[dim])
      extent *= shape[part];
    for (Value input : op.getInputs()) {
      auto type = cast<RankedTensorType>(input.getType());
      if (!type.hasStaticShape() || type.getDimSize(dim) != extent)
        return rewriter.notifyMatchFailure(op, "parts of different extents");
    }
    auto type =
        RankedTensorType::get(shape, expand.getResultType().getElementType());
    SmallVector<Value> parts;
    for (Value input : op.getInputs())
      parts.push_back(tensor::ExpandShapeOp::create(rewriter, op.getLoc(), type,
                                                    input, groups));
    rewriter.setInsertionPoint(expand);
    rewriter.replaceOpWithNewOp<tensor::ConcatOp>(
        expand, expand.getResultType(), groups[dim][0], parts);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Slices inserted one after another into an empty tensor, which they fill.
struct InsertionsToGeneric : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType type = op.getType();
    if (!type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "of dynamic extents");
    SmallVector<tensor::InsertSliceOp> chain{op};
    while (auto before =
               chain.back().getDest().getDefiningOp<tensor::InsertSliceOp>()) {
      if (!before->hasOneUse() || chain.size() == kMostParts)
        return rewriter.notifyMatchFailure(op, "read between, or too long");
      chain.push_back(before);
    }
    Value empty = chain.back().getDest();
    if (!empty.getDefiningOp<tensor::EmptyOp>())
      return rewriter.notifyMatchFailure(op, "not into an empty tensor");
    std::optional<int64_t> dim;
    SmallVector<Part> parts;
    for (tensor::InsertSliceOp insert : chain) {
      if (ShapedType::isDynamicShape(insert.getStaticOffsets()) ||
          ShapedType::isDynamicShape(insert.getStaticSizes()) ||
          llvm::any_of(insert.getStaticStrides(),
                       [](int64_t s) { return s != 1; }) ||
          insert.getSourceType().getRank() != type.getRank())
        return rewriter.notifyMatchFailure(op, "a slice with steps");
      for (int64_t d = 0; d < type.getRank(); ++d) {
        if (insert.getStaticSize(d) == type.getDimSize(d))
          continue;
        if (dim.value_or(d) != d)
          return rewriter.notifyMatchFailure(op, "along several dims");
        dim = d;
      }
      if (!dim)
        return rewriter.notifyMatchFailure(op, "the whole is replaced");
      parts.push_back({insert.getSource(), insert.getStaticOffset(*dim),
                       insert.getStaticSize(*dim)});
    }
    llvm::sort(parts, [](const Part &a, const Part &b) {
      return a.offset < b.offset;
    });
    int64_t end = 0;
    for (const Part &part : parts) {
      if (part.offset != end || part.extent <= 0)
        return rewriter.notifyMatchFailure(op, "with gaps, or overlapping");
      end += part.extent;
    }
    if (end != type.getDimSize(*dim))
      return rewriter.notifyMatchFailure(op, "with a gap at the end");
    rewriter.replaceOp(
        op, buildSelection(rewriter, op.getLoc(), empty, *dim, parts));
    return success();
  }
};

} // namespace

void redfuse::populateConcatPatterns(RewritePatternSet &patterns) {
  patterns.add<ConcatToStack>(patterns.getContext(), /*benefit=*/2);
  patterns.add<ConcatToGeneric, InsertionsToGeneric>(patterns.getContext());
}
