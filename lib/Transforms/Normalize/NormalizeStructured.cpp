//===- NormalizeStructured.cpp - packs, gathers, tables -------------------===//
#include "NormalizeStructured.h"
#include "NormalizeCommon.h"

#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

using namespace mlir;

/// Whether a tensor has no elements, by its type.
static bool isEmpty(Value tensor) {
  return llvm::is_contained(cast<ShapedType>(tensor.getType()).getShape(), 0);
}

namespace {

struct LowerPack : OpRewritePattern<linalg::PackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::PackOp op,
                                PatternRewriter &rewriter) const override {
    // Upstream would slice it, from a place that it does not have.
    if (op.hasPureTensorSemantics() && isEmpty(op.getDest())) {
      rewriter.replaceOp(op, op.getDest());
      return success();
    }
    return linalg::lowerPack(rewriter, op,
                             /*lowerPadLikeWithInsertSlice=*/false);
  }
};

struct LowerUnPack : OpRewritePattern<linalg::UnPackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::UnPackOp op,
                                PatternRewriter &rewriter) const override {
    if (op.hasPureTensorSemantics() && isEmpty(op.getDest())) {
      rewriter.replaceOp(op, op.getDest());
      return success();
    }
    return linalg::lowerUnPack(rewriter, op,
                               /*lowerUnpadLikeWithExtractSlice=*/false);
  }
};

/// Each element of the result reads the source where the indices say.
struct LowerGather : OpRewritePattern<tensor::GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::GatherOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getResultType();
    Value source = op.getSource(), indices = op.getIndices();
    ArrayRef<int64_t> dims = op.getGatherDims();
    int64_t batch = op.getIndicesType().getRank() - 1;
    int64_t slice = type.getRank() - batch;
    // Gathered dims may stay, with an extent of 1.
    bool keepsRank = slice == op.getSourceType().getRank();
    SmallVector<Value> sizes;
    SmallVector<AffineMap> maps;
    SmallVector<AffineExpr> lead;
    for (int64_t d = 0; d < batch; ++d)
      lead.push_back(rewriter.getAffineDimExpr(d));
    for (int64_t k = 0; k < int64_t(dims.size()); ++k) {
      SmallVector<AffineExpr> at(lead);
      at.push_back(rewriter.getAffineConstantExpr(k));
      maps.push_back(
          AffineMap::get(type.getRank(), 0, at, rewriter.getContext()));
    }
    maps.push_back(rewriter.getMultiDimIdentityMap(type.getRank()));
    int64_t from = 0;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      while (d >= batch && !keepsRank && llvm::is_contained(dims, from))
        ++from;
      if (type.isDynamicDim(d))
        sizes.push_back(
            d < batch ? tensor::DimOp::create(rewriter, loc, indices, d)
                      : tensor::DimOp::create(rewriter, loc, source, from));
      from += d >= batch;
    }
    Value empty = tensor::EmptyOp::create(rewriter, loc, type, sizes);
    SmallVector<Value> inputs(dims.size(), indices);
    SmallVector<utils::IteratorType> kinds(type.getRank(),
                                           utils::IteratorType::parallel);
    auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
      SmallVector<Value> at;
      int64_t next = batch;
      for (int64_t d = 0; d < op.getSourceType().getRank(); ++d) {
        const auto *gathered = llvm::find(dims, d);
        if (gathered == dims.end()) {
          at.push_back(linalg::IndexOp::create(b, loc, next++));
          continue;
        }
        next += keepsRank;
        Value index = args[gathered - dims.begin()];
        if (!index.getType().isIndex())
          index = arith::IndexCastOp::create(b, loc, b.getIndexType(), index);
        Value extent = tensor::DimOp::create(b, loc, source, d);
        Value isInside = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::ult, index, extent);
        cf::AssertOp::create(
            b, loc, isInside,
            redfuse::describeFailure(op, "an index outside the source"));
        at.push_back(index);
      }
      Value element = tensor::ExtractOp::create(b, loc, source, at);
      linalg::YieldOp::create(b, loc, element);
    };
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(op, type, inputs, empty,
                                                   maps, kinds, body);
    return success();
  }
};

/// Along a dim of one element there is no step. (Buffers of the slice would have a
/// stride there that upstream cannot tell from those of other dims.)
struct DropUnitStrides : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<OpFoldResult> strides = op.getMixedStrides();
    bool changed = false;
    for (auto [size, stride] : llvm::zip_equal(op.getMixedSizes(), strides))
      if (isOneInteger(size) && !isOneInteger(stride)) {
        stride = rewriter.getIndexAttr(1);
        changed = true;
      }
    if (!changed)
      return rewriter.notifyMatchFailure(op, "all of its strides matter");
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        op, op.getType(), op.getSource(), op.getMixedOffsets(),
        op.getMixedSizes(), strides);
    return success();
  }
};

/// A table that never changes is a constant.
struct LoadTable : OpRewritePattern<ml_program::GlobalLoadConstOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ml_program::GlobalLoadConstOp op,
                                PatternRewriter &rewriter) const override {
    auto global = SymbolTable::lookupNearestSymbolFrom<ml_program::GlobalOp>(
        op, op.getGlobalAttr());
    auto value = global ? dyn_cast_or_null<TypedAttr>(global.getValueAttr())
                        : TypedAttr();
    if (!value || global.getIsMutable() ||
        value.getType() != op.getResult().getType())
      return rewriter.notifyMatchFailure(op, "the value is not known");
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, value);
    return success();
  }
};

/// An extent that a body asks for is asked for once, outside.
struct HoistExtent : OpRewritePattern<tensor::DimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::DimOp op,
                                PatternRewriter &rewriter) const override {
    auto around = dyn_cast<linalg::GenericOp>(op->getParentOp());
    std::optional<int64_t> dim = op.getConstantIndex();
    if (!around || !dim ||
        around->isAncestor(op.getSource().getParentBlock()->getParentOp()))
      return rewriter.notifyMatchFailure(op, "not of a tensor around a body");
    rewriter.setInsertionPoint(around);
    rewriter.replaceOpWithNewOp<tensor::DimOp>(op, op.getSource(), *dim);
    return success();
  }
};

/// A class of floats is a range of magnitudes, in the type as it is written: what is
/// subnormal in it may be normal in a wider one.
template <typename Op>
struct CompareClass : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(op.getOperand().getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "not of a scalar");
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    bool hasInfinity = APFloat::semanticsHasInf(semantics);
    Location loc = op.getLoc();
    if (std::is_same_v<Op, math::IsInfOp> && !hasInfinity) {
      rewriter.replaceOpWithNewOp<arith::ConstantOp>(
          op, rewriter.getBoolAttr(false));
      return success();
    }
    Value size = math::AbsFOp::create(rewriter, loc, op.getOperand());
    auto is = [&](arith::CmpFPredicate how, const APFloat &limit) -> Value {
      Value value = arith::ConstantOp::create(
          rewriter, loc, rewriter.getFloatAttr(type, limit));
      return arith::CmpFOp::create(rewriter, loc, how, size, value);
    };
    Value result;
    if constexpr (std::is_same_v<Op, math::IsNormalOp>)
      result = is(arith::CmpFPredicate::OGE,
                  APFloat::getSmallestNormalized(semantics));
    if (hasInfinity) {
      auto how = result ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OEQ;
      Value other = is(how, APFloat::getInf(semantics));
      result =
          result
              ? arith::AndIOp::create(rewriter, loc, result, other).getResult()
              : other;
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void redfuse::populateStructuredPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerPack, LowerUnPack, LowerGather, DropUnitStrides, LoadTable,
               HoistExtent, CompareClass<math::IsInfOp>,
               CompareClass<math::IsNormalOp>>(patterns.getContext());
  linalg::populateDecomposeWinogradOpsPatterns(patterns);
}
