//===- ConvertSmallFloats.cpp - redfuse-convert-small-floats --------------===//
//
// GPUs from compute capability 8.9 on convert two floats of 8 bits by one instruction. It
// makes what is too large the largest number; arith.truncf makes that infinity or NaN,
// which are the next codes after it.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace redfuse {
#define GEN_PASS_DEF_CONVERTSMALLFLOATS
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// The largest magnitude that is rounded to a finite number; nothing for a type that the
/// instructions do not know. Half way above it the even code is 448 of f8E4M3FN, and
/// infinity of f8E5M2.
static std::optional<float> getLargestRounded(Type element) {
  if (isa<Float8E4M3FNType>(element))
    return 464.0f;
  if (isa<Float8E5M2Type>(element))
    return 61439.996f; // the f32 before 61440
  return std::nullopt;
}

/// Whether a conversion is of numbers or of vectors along one dim.
static bool isConvertible(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return !vector || (vector.getRank() == 1 && !vector.isScalable());
}

/// The number that `v` is, or all elements of it are.
static std::optional<APFloat> getConstant(Value v) {
  APFloat number(0.0);
  if (matchPattern(v, m_ConstantFloat(&number)))
    return number;
  return std::nullopt;
}

/// Whether an extreme of a value and a constant within +-limit is one of the ends of `v`.
template <typename... Ops>
static Value withoutBound(Value v, float limit) {
  Operation *def = v.getDefiningOp();
  if (!isa_and_nonnull<Ops...>(def))
    return {};
  for (unsigned i : {0, 1})
    if (std::optional<APFloat> bound = getConstant(def->getOperand(i));
        bound && std::abs(bound->convertToDouble()) <= limit)
      return def->getOperand(1 - i);
  return {};
}

/// Whether `v` is NaN or within +-limit: clamped on both sides.
static bool isClamped(Value v, float limit) {
  if (Value inner = withoutBound<arith::MinimumFOp, arith::MinNumFOp>(v, limit))
    return bool(
        withoutBound<arith::MaximumFOp, arith::MaxNumFOp>(inner, limit));
  if (Value inner = withoutBound<arith::MaximumFOp, arith::MaxNumFOp>(v, limit))
    return bool(
        withoutBound<arith::MinimumFOp, arith::MinNumFOp>(inner, limit));
  return false;
}

namespace {
/// f32, or 16-bit floats, which are f32 exactly, to 8 bits.
struct ConvertTruncation : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type to = getElementTypeOrSelf(op.getType());
    std::optional<float> largest = getLargestRounded(to);
    Value in = op.getIn();
    if (!largest || !isConvertible(op.getType()) ||
        getElementTypeOrSelf(in.getType()).getIntOrFloatBitWidth() > 32)
      return rewriter.notifyMatchFailure(op, "not from f32 to 8 bits");
    Location loc = op.getLoc();
    bool isClampedIn = isClamped(in, *largest);
    auto vector = dyn_cast<VectorType>(in.getType());
    int64_t count = vector ? vector.getNumElements() : 1;
    Type f32 = rewriter.getF32Type(), i16 = rewriter.getI16Type();
    auto elementAt = [&](int64_t i) -> Value {
      if (i >= count)
        return arith::ConstantOp::create(rewriter, loc,
                                         rewriter.getF32FloatAttr(0));
      Value x =
          vector ? Value(vector::ExtractOp::create(rewriter, loc, in, i)) : in;
      if (x.getType() != f32)
        x = arith::ExtFOp::create(rewriter, loc, f32, x);
      return x;
    };
    auto carryOf = [&](Value x, int64_t carry) -> Value {
      Value magnitude = math::AbsFOp::create(rewriter, loc, x);
      Value bound = arith::ConstantOp::create(
          rewriter, loc, rewriter.getF32FloatAttr(*largest));
      Value isOver = arith::CmpFOp::create(
          rewriter, loc, arith::CmpFPredicate::OGT, magnitude, bound);
      Value one = arith::ConstantOp::create(
                rewriter, loc, rewriter.getI16IntegerAttr(int16_t(carry))),
            none = arith::ConstantOp::create(rewriter, loc,
                                             rewriter.getI16IntegerAttr(0));
      return arith::SelectOp::create(rewriter, loc, isOver, one, none);
    };
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < count; i += 2) {
      Value low = elementAt(i), high = elementAt(i + 1);
      Value pair = NVVM::ConvertF32x2ToF8x2Op::create(
          rewriter, loc, i16, high, low, NVVM::FPRoundingMode::RN,
          NVVM::SaturationMode::SATFINITE, /*relu=*/false, to);
      if (!isClampedIn) {
        pair = arith::AddIOp::create(rewriter, loc, pair, carryOf(low, 1));
        if (i + 1 < count)
          pair = arith::AddIOp::create(rewriter, loc, pair, carryOf(high, 256));
      }
      pairs.push_back(pair);
    }
    Type i8 = rewriter.getI8Type();
    Value bytes;
    if (!vector) {
      bytes = arith::TruncIOp::create(rewriter, loc, i8, pairs[0]);
    } else {
      auto words = VectorType::get({int64_t(pairs.size())}, i16);
      Value all = vector::FromElementsOp::create(rewriter, loc, words, pairs);
      bytes = vector::BitCastOp::create(
          rewriter, loc, VectorType::get({2 * int64_t(pairs.size())}, i8), all);
      if (count % 2 != 0)
        bytes = vector::ExtractStridedSliceOp::create(
            rewriter, loc, bytes, ArrayRef<int64_t>{0}, {count}, {1});
    }
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), bytes);
    return success();
  }
};

/// 8 bits to f16, which has all of these numbers, and from there to other types.
struct ConvertExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Value in = op.getIn();
    Type from = getElementTypeOrSelf(in.getType()),
         to = getElementTypeOrSelf(op.getType());
    if (!getLargestRounded(from) || !isConvertible(in.getType()))
      return rewriter.notifyMatchFailure(op, "not from 8 bits");
    Location loc = op.getLoc();
    auto vector = dyn_cast<VectorType>(in.getType());
    int64_t count = vector ? vector.getNumElements() : 1;
    Type i8 = rewriter.getI8Type(), f16 = rewriter.getF16Type();
    auto bytesType = VectorType::get({2}, i8),
         halvesType = VectorType::get({2}, f16);
    Value bytes = arith::BitcastOp::create(
        rewriter, loc, vector ? Type(VectorType::get({count}, i8)) : i8, in);
    Value none =
        arith::ConstantOp::create(rewriter, loc, rewriter.getI8IntegerAttr(0));
    auto byteAt = [&](int64_t i) -> Value {
      if (i >= count)
        return none;
      return vector ? Value(vector::ExtractOp::create(rewriter, loc, bytes, i))
                    : bytes;
    };
    auto widen = [&](Value half) -> Value {
      if (to == f16)
        return half;
      bool isBfloat = to.isBF16();
      Type wide = isBfloat ? rewriter.getF32Type() : to;
      Value x = arith::ExtFOp::create(rewriter, loc, wide, half);
      return isBfloat ? Value(arith::TruncFOp::create(rewriter, loc, to, x))
                      : x;
    };
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < count; i += 2) {
      Value pair = vector::FromElementsOp::create(
          rewriter, loc, bytesType, ValueRange{byteAt(i), byteAt(i + 1)});
      Value halves = NVVM::ConvertF8x2ToF16x2Op::create(
          rewriter, loc, halvesType, pair, /*relu=*/false, from);
      for (int64_t j = 0; j < 2 && i + j < count; ++j)
        numbers.push_back(
            widen(vector::ExtractOp::create(rewriter, loc, halves, j)));
    }
    if (!vector)
      rewriter.replaceOp(op, numbers[0]);
    else
      rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
          op, cast<VectorType>(op.getType()), numbers);
    return success();
  }
};

struct ConvertSmallFloats
    : redfuse::impl::ConvertSmallFloatsBase<ConvertSmallFloats> {
  using ConvertSmallFloatsBase::ConvertSmallFloatsBase;

  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip || !chip->has(Float8Products))
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<ConvertTruncation, ConvertExtension>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
