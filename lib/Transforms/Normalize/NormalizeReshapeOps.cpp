//===- NormalizeReshapeOps.cpp - tensor.reshape as expand and collapse ----===//
#include "NormalizeCommon.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Support/DebugStringHelper.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZERESHAPEOPS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using redfuse::Extent;
using redfuse::ExtentProduct;

static constexpr llvm::StringLiteral kUnmatched =
    "the shapes of a reshape cannot be matched";

namespace {

/// Dims [sourceBegin, sourceEnd) hold as many elements as target dims
/// [targetBegin, targetEnd).
struct DimGroup {
  ReassociationIndices source, target;
};

void multiply(ExtentProduct &product, const Extent &extent) {
  ExtentProduct other = redfuse::getExtentProduct(extent);
  product.constant *= other.constant;
  llvm::append_range(product.factors, other.factors);
}

/// Is every factor of `other` that is no constant one of `product`?
bool hasFactorsOf(const ExtentProduct &product, ExtentProduct other) {
  other.constant = 1;
  return redfuse::divide(product, other).has_value();
}

/// Cuts both shapes into the shortest runs of equal products; nothing if they
/// do not match.
std::optional<SmallVector<DimGroup>> matchShapes(ArrayRef<Extent> source,
                                                 ArrayRef<Extent> target) {
  SmallVector<DimGroup> groups;
  size_t s = 0, t = 0;
  while (s < source.size() && t < target.size()) {
    DimGroup group;
    ExtentProduct sourceProduct, targetProduct;
    auto takeSource = [&] {
      group.source.push_back(s);
      multiply(sourceProduct, source[s++]);
    };
    auto takeTarget = [&] {
      group.target.push_back(t);
      multiply(targetProduct, target[t++]);
    };
    takeSource();
    takeTarget();
    while (!(sourceProduct == targetProduct)) {
      bool sourceLacks = !hasFactorsOf(sourceProduct, targetProduct);
      bool targetLacks = !hasFactorsOf(targetProduct, sourceProduct);
      bool growSource =
          sourceLacks ||
          (!targetLacks && sourceProduct.constant < targetProduct.constant);
      if (growSource && s < source.size())
        takeSource();
      else if (!growSource && t < target.size())
        takeTarget();
      else
        return std::nullopt;
    }
    groups.push_back(group);
  }
  if (groups.empty())
    return std::nullopt;
  // Dims of extent one may be left over on either side.
  for (; s < source.size(); ++s) {
    if (source[s].constant != 1)
      return std::nullopt;
    groups.back().source.push_back(s);
  }
  for (; t < target.size(); ++t) {
    if (target[t].constant != 1)
      return std::nullopt;
    groups.back().target.push_back(t);
  }
  return groups;
}

struct ReshapeToExpandCollapse : OpRewritePattern<tensor::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto sourceType = dyn_cast<RankedTensorType>(op.getSource().getType());
    auto resultType = dyn_cast<RankedTensorType>(op.getType());
    if (!sourceType || !resultType || sourceType.getEncoding())
      return rewriter.notifyMatchFailure(op, "not between ranked tensors");
    auto elements = op.getShape().getDefiningOp<tensor::FromElementsOp>();
    if (!elements && !resultType.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "the shape is not known");
    SmallVector<Extent> source, target;
    for (int64_t d = 0; d < sourceType.getRank(); ++d)
      source.push_back(redfuse::getExtentOf(op.getSource(), d));
    for (int64_t d = 0; d < resultType.getRank(); ++d)
      target.push_back(resultType.isDynamicDim(d)
                           ? redfuse::getExtentOf(elements.getElements()[d])
                           : Extent{resultType.getDimSize(d), Value(), -1});
    std::optional<SmallVector<DimGroup>> groups = matchShapes(source, target);
    if (!groups)
      return rewriter.notifyMatchFailure(op, kUnmatched);

    SmallVector<ReassociationIndices> collapse, expand;
    for (DimGroup &group : *groups) {
      collapse.push_back(group.source);
      expand.push_back(group.target);
    }
    Location loc = op.getLoc();
    Value result = op.getSource();
    if (collapse.size() != source.size())
      result = tensor::CollapseShapeOp::create(rewriter, loc, result, collapse);
    if (expand.size() != target.size()) {
      SmallVector<OpFoldResult> sizes;
      SmallVector<int64_t> shape;
      for (int64_t d = 0; d < resultType.getRank(); ++d) {
        if (target[d].isConstant()) {
          sizes.push_back(rewriter.getIndexAttr(target[d].constant));
          shape.push_back(target[d].constant);
          continue;
        }
        Value size = elements.getElements()[d];
        if (!size.getType().isIndex())
          size = arith::IndexCastOp::create(rewriter, loc,
                                            rewriter.getIndexType(), size);
        sizes.push_back(size);
        shape.push_back(ShapedType::kDynamic);
      }
      // A group must be static on both sides or on neither.
      auto from = cast<RankedTensorType>(result.getType());
      SmallVector<int64_t> groupShape;
      for (auto [g, dims] : llvm::enumerate(expand)) {
        bool dynamic = llvm::any_of(
            dims, [&](int64_t d) { return ShapedType::isDynamic(shape[d]); });
        int64_t product = 1;
        for (int64_t d : dims)
          product *= dynamic ? 1 : shape[d];
        groupShape.push_back(dynamic ? ShapedType::kDynamic : product);
      }
      result = castTo(rewriter, loc, result, from.clone(groupShape));
      result = tensor::ExpandShapeOp::create(
          rewriter, loc, resultType.clone(shape), result, expand, sizes);
    }
    rewriter.replaceOp(op, castTo(rewriter, loc, result, resultType));
    return success();
  }

private:
  static Value castTo(OpBuilder &b, Location loc, Value value, Type type) {
    if (value.getType() == type)
      return value;
    return tensor::CastOp::create(b, loc, type, value);
  }
};

struct NormalizeReshapeOps
    : redfuse::impl::NormalizeReshapeOpsBase<NormalizeReshapeOps> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeReshapeOpsPatterns))
      return signalPassFailure();
    getOperation()->walk([](tensor::ReshapeOp op) {
      redfuse::addRefusal(
          op, kUnmatched,
          "from " + llvm::Twine(debugString(op.getSource().getType())) +
              " to " + debugString(op.getType()),
          "take the new extents from tensor.dim of the same tensors, or use "
          "tensor.expand_shape and tensor.collapse_shape");
    });
  }
};

} // namespace

void redfuse::populateNormalizeReshapeOpsPatterns(RewritePatternSet &patterns) {
  patterns.add<ReshapeToExpandCollapse>(patterns.getContext());
}
