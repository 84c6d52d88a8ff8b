//===- NormalizeWeightedSums.cpp - softmax-weighted sums spelled out ------===//
#include "NormalizeCommon.h"
#include "NormalizeStructured.h"

#include <cmath>

using namespace mlir;
using redfuse::tm_tensor::WeightedSumOp;

namespace {

/// The two products around a softmax, as generics in at least f32: whatever
/// fuses them finds a cascade like any other.
struct SpellWeightedSum : OpRewritePattern<WeightedSumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WeightedSumOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value rows = op.getInputs()[0], keys = op.getInputs()[1];
    Value values = op.getInputs()[2];
    int64_t batch = getType(rows).getRank() - 2;
    Type narrow = getType(values).getElementType();
    Type wide =
        narrow.getIntOrFloatBitWidth() < 32 ? rewriter.getF32Type() : narrow;
    requireExtents(rewriter, op);

    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, rows);
    SmallVector<OpFoldResult> outSizes(sizes);
    sizes.back() = tensor::getMixedSize(rewriter, loc, keys, batch);
    outSizes.back() = tensor::getMixedSize(rewriter, loc, values, batch + 1);
    Value scores = buildProduct(rewriter, loc, rows, keys, sizes, wide,
                                /*isTransposed=*/true);
    scores = buildScores(rewriter, op, scores);
    Value empty = tensor::EmptyOp::create(rewriter, loc, sizes, wide);
    Operation *normalized =
        linalg::SoftmaxOp::create(rewriter, loc, empty.getType(), scores, empty,
                                  /*dimension=*/batch + 1);
    // Weights of at most 1 lose no more in the type of the values than those.
    Value weights = buildCast(rewriter, loc, normalized->getResult(0), narrow);
    Value result = buildProduct(rewriter, loc, weights, values, outSizes, wide,
                                /*isTransposed=*/false);
    RankedTensorType type = getType(op.getOutputs()[0]);
    result = buildCast(rewriter, loc, result, type.getElementType());
    if (result.getType() != type)
      result = tensor::CastOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static RankedTensorType getType(Value value) {
    return cast<RankedTensorType>(value.getType());
  }

  static Value convert(OpBuilder &b, Location loc, Value value, Type type) {
    unsigned has = value.getType().getIntOrFloatBitWidth();
    unsigned wanted = type.getIntOrFloatBitWidth();
    if (value.getType() == type)
      return value;
    if (has < wanted)
      return arith::ExtFOp::create(b, loc, type, value);
    if (has > wanted)
      return arith::TruncFOp::create(b, loc, type, value);
    // Two of one width (f16, bf16) have no cast of their own.
    Value wide = arith::ExtFOp::create(b, loc, b.getF32Type(), value);
    return arith::TruncFOp::create(b, loc, type, wide);
  }

  /// The tensor with its elements in `type`.
  static Value buildCast(OpBuilder &b, Location loc, Value tensor, Type type) {
    if (getType(tensor).getElementType() == type)
      return tensor;
    return buildMap(b, loc, {tensor}, type,
                    [&](OpBuilder &b, Location loc, ValueRange elements) {
                      return convert(b, loc, elements[0], type);
                    });
  }

  /// A map over tensors of one shape.
  static Value
  buildMap(OpBuilder &b, Location loc, ValueRange tensors, Type type,
           function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
    Value empty = tensor::EmptyOp::create(
        b, loc, tensor::getMixedSizes(b, loc, tensors[0]), type);
    unsigned rank = getType(tensors[0]).getRank();
    SmallVector<AffineMap> maps(tensors.size() + 1,
                                b.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               b, loc, empty.getType(), tensors, empty, maps, kinds,
               [&](OpBuilder &b, Location loc, ValueRange elements) {
                 linalg::YieldOp::create(b, loc, body(b, loc, elements));
               })
        .getResult(0);
  }

  /// left right, or left right^T, of each batch, added up in `type`.
  static Value buildProduct(OpBuilder &b, Location loc, Value left, Value right,
                            ArrayRef<OpFoldResult> sizes, Type type,
                            bool isTransposed) {
    unsigned batch = sizes.size() - 2, loops = batch + 3;
    SmallVector<AffineExpr> dims;
    for (unsigned d = 0; d < loops; ++d)
      dims.push_back(b.getAffineDimExpr(d));
    AffineExpr row = dims[batch], column = dims[batch + 1], sum = dims.back();
    auto map = [&](AffineExpr one, AffineExpr other) {
      SmallVector<AffineExpr> exprs(dims.begin(), dims.begin() + batch);
      exprs.append({one, other});
      return AffineMap::get(loops, 0, exprs, b.getContext());
    };
    AffineMap maps[] = {map(row, sum),
                        isTransposed ? map(column, sum) : map(sum, column),
                        map(row, column)};
    SmallVector<utils::IteratorType> kinds(loops,
                                           utils::IteratorType::parallel);
    kinds.back() = utils::IteratorType::reduction;
    Value empty = tensor::EmptyOp::create(b, loc, sizes, type);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    Value start = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
    return linalg::GenericOp::create(
               b, loc, start.getType(), ValueRange{left, right}, start, maps,
               kinds,
               [&](OpBuilder &b, Location loc, ValueRange elements) {
                 Value product = arith::MulFOp::create(
                     b, loc, convert(b, loc, elements[0], type),
                     convert(b, loc, elements[1], type));
                 Value total =
                     arith::AddFOp::create(b, loc, elements[2], product);
                 linalg::YieldOp::create(b, loc, total);
               })
        .getResult(0);
  }

  /// The products over the root of the width, and masked.
  static Value buildScores(OpBuilder &b, WeightedSumOp op, Value products) {
    Location loc = op.getLoc();
    Type type = getType(products).getElementType();
    Value rows = op.getInputs()[0];
    int64_t last = getType(rows).getRank() - 1;
    int64_t width = getType(rows).getDimSize(last);
    Value scale;
    if (ShapedType::isDynamic(width)) {
      Value extent = tensor::DimOp::create(b, loc, rows, last);
      Value number = arith::IndexCastOp::create(b, loc, b.getI64Type(), extent);
      number = arith::SIToFPOp::create(b, loc, type, number);
      scale = math::RsqrtOp::create(b, loc, number);
    } else {
      // Of no terms the products are 0 and stay it.
      double factor = width ? 1 / std::sqrt(double(width)) : 1;
      scale = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, factor));
    }
    SmallVector<Value> tensors{products};
    tensors.append(op.getInputs().begin() + 3, op.getInputs().end());
    return buildMap(
        b, loc, tensors, type,
        [&](OpBuilder &b, Location loc, ValueRange elements) -> Value {
          Value score = arith::MulFOp::create(b, loc, elements[0], scale);
          if (tensors.size() == 1)
            return score;
          if (isa<FloatType>(elements[1].getType()))
            return arith::AddFOp::create(b, loc, score,
                                         convert(b, loc, elements[1], type));
          Value none = arith::ConstantOp::create(
              b, loc, b.getFloatAttr(type, -INFINITY));
          return arith::SelectOp::create(b, loc, elements[1], score, none);
        });
  }

  /// Extents that the types leave open agree when the program runs.
  static void requireExtents(OpBuilder &b, WeightedSumOp op) {
    ValueRange inputs = op.getInputs();
    int64_t batch = getType(inputs[0]).getRank() - 2;
    auto require = [&](Value one, int64_t dim, Value other, int64_t with) {
      if (!getType(one).isDynamicDim(dim) && !getType(other).isDynamicDim(with))
        return;
      Location loc = op.getLoc();
      Value same =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                tensor::DimOp::create(b, loc, one, dim),
                                tensor::DimOp::create(b, loc, other, with));
      cf::AssertOp::create(b, loc, same,
                           "the extents of rows, keys, values and mask differ");
    };
    for (Value input : inputs.drop_front())
      for (int64_t d = 0; d < batch; ++d)
        require(inputs[0], d, input, d);
    require(inputs[0], batch + 1, inputs[1], batch + 1);
    require(inputs[1], batch, inputs[2], batch);
    if (inputs.size() == 3)
      return;
    require(inputs[0], batch, inputs[3], batch);
    require(inputs[1], batch, inputs[3], batch + 1);
  }
};

} // namespace

void redfuse::populateWeightedSumPatterns(RewritePatternSet &patterns) {
  patterns.add<SpellWeightedSum>(patterns.getContext());
}
