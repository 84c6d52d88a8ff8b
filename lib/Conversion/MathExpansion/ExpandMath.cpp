//===- ExpandMath.cpp - math functions as vectorisable arithmetic ---------===//
//
// exp(x) = 2^n * exp(r) with n = round(x / ln 2), r = x - n ln 2 in
// [-ln 2 / 2, ln 2 / 2]: the difference by two fused multiply-adds (exact to
// the last bit, because n ln 2 is not rounded), exp(r) by a polynomial fitted
// for the least relative error, 2^n by AVX-512's vscalef or by two factors (one
// would overflow or underflow before the product does). x is clamped first to
// where the result is zero or infinite anyway, so that n stays small and
// infinities take part in no difference; both clamps let NaN through.
//
//===----------------------------------------------------------------------===//
#include "ExpandMath.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>
#include <limits>
#include <optional>

namespace redfuse {
#define GEN_PASS_DEF_EXPANDMATH
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
/// Arithmetic on f32 scalars or 1-D vectors of one type.
class Emitter {
public:
  Emitter(ImplicitLocOpBuilder &b, Type type, bool scalef)
      : b(b), type(type), scalef(scalef) {
    Type i32 = b.getI32Type();
    auto vector = dyn_cast<VectorType>(type);
    intType = vector ? Type(vector.clone(i32)) : i32;
  }

  Value f(float value) { return constant(type, b.getF32FloatAttr(value)); }
  Value i(int32_t value) {
    return constant(intType, b.getI32IntegerAttr(value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value copySign(Value magnitude, Value sign) {
    return math::CopySignOp::create(b, magnitude, sign);
  }
  /// `result`, which has the sign of x but where both are zeros, with that sign.
  Value signedAs(Value result, Value x) {
    Value sign = arith::AndIOp::create(b, bits(x),
                                       i(std::numeric_limits<int32_t>::min()));
    return real(arith::OrIOp::create(b, bits(result), sign));
  }
  /// `x is y ? yes : no`.
  Value select(arith::CmpFPredicate is, Value x, Value y, Value yes, Value no) {
    Value condition = arith::CmpFOp::create(b, is, x, y);
    return arith::SelectOp::create(b, condition, yes, no);
  }
  Value toFloat(Value x) { return arith::SIToFPOp::create(b, type, x); }
  Value andi(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value addi(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value subi(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value shl(Value x, int n) { return arith::ShLIOp::create(b, x, i(n)); }
  Value ashr(Value x, int n) { return arith::ShRSIOp::create(b, x, i(n)); }
  Value bits(Value x) { return arith::BitcastOp::create(b, intType, x); }
  Value real(Value x) { return arith::BitcastOp::create(b, type, x); }

  /// x if it is in [low, high], else the nearer of them; NaN stays.
  Value clamp(Value x, float low, float high) {
    Value least = f(low), most = f(high);
    x = select(arith::CmpFPredicate::OLT, x, least, least, x);
    return select(arith::CmpFPredicate::OGT, x, most, most, x);
  }

  /// c[0] + x (c[1] + x (c[2] + ...)).
  Value polynomial(Value x, ArrayRef<float> c) {
    Value p = f(c.back());
    for (float coefficient : llvm::reverse(c.drop_back()))
      p = fma(p, x, f(coefficient));
    return p;
  }

  /// p * 2^n; n is an integer in [-256, 256] as a float, or NaN, and `shifted`
  /// is n + kRound (its low bits are those of n).
  Value scale(Value p, Value n, Value shifted);

  /// 1.5 * 2^23: added to a small float, it rounds it to an integer.
  static constexpr float kRound = 12582912.0f;

private:
  Value constant(Type type, TypedAttr element) {
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(b,
                                       DenseElementsAttr::get(vector, element));
    return arith::ConstantOp::create(b, element);
  }
  /// AVX-512's vscalefps on 4, 8 or 16 lanes.
  Value scalefCall(Value p, Value n);

  ImplicitLocOpBuilder &b;
  Type type, intType;
  bool scalef;
};
} // namespace

Value Emitter::scalefCall(Value p, Value n) {
  int64_t lanes = cast<VectorType>(p.getType()).getNumElements();
  SmallVector<Value> operands = {p, n, p};
  Type mask = b.getIntegerType(lanes == 16 ? 16 : 8);
  operands.push_back(arith::ConstantOp::create(b, b.getIntegerAttr(mask, -1)));
  if (lanes == 16) // the rounding mode: the current one
    operands.push_back(arith::ConstantOp::create(b, b.getI32IntegerAttr(4)));
  std::string name =
      "llvm.x86.avx512.mask.scalef.ps." + std::to_string(lanes * 32);
  return LLVM::CallIntrinsicOp::create(b, p.getType(), b.getStringAttr(name),
                                       operands)
      .getResult(0);
}

Value Emitter::scale(Value p, Value n, Value shifted) {
  auto vector = dyn_cast<VectorType>(type);
  int64_t lanes = vector ? vector.getNumElements() : 1;
  if (scalef && (lanes == 4 || lanes == 8 || lanes == 16))
    return scalefCall(p, n);
  if (scalef && lanes > 16 && lanes % 16 == 0) {
    Value result = p;
    for (int64_t at = 0; at < lanes; at += 16) {
      auto slice = [&](Value v) {
        return vector::ExtractStridedSliceOp::create(
            b, v, ArrayRef<int64_t>{at}, ArrayRef<int64_t>{16},
            ArrayRef<int64_t>{1});
      };
      result = vector::InsertStridedSliceOp::create(
          b, scalefCall(slice(p), slice(n)), result, ArrayRef<int64_t>{at},
          ArrayRef<int64_t>{1});
    }
    return result;
  }
  // 2^n = 2^(n/2) 2^(n - n/2), each by its exponent bits.
  Value whole = subi(bits(shifted), i(0x4b400000)); // the bits of kRound
  Value half = ashr(whole, 1);
  auto power = [&](Value exponent) {
    return real(shl(addi(exponent, i(127)), 23));
  };
  return mul(mul(p, power(half)), power(subi(whole, half)));
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

namespace {
using Is = arith::CmpFPredicate;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLog2E = 0x1.715476p+0f;
// ln 2 in two parts.
constexpr float kLn2High = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f;
constexpr float kLog10Of2 = 0x1.344136p-2f, kLog10E = 0x1.bcb7b2p-2f;

/// x = n ln 2 + r.
struct Reduced {
  Value shifted, n, r;
};
} // namespace

static Reduced reduceByLn2(Emitter &e, Value x) {
  Value shifted = e.fma(x, e.f(kLog2E), e.f(Emitter::kRound));
  Value n = e.sub(shifted, e.f(Emitter::kRound));
  Value r = e.fma(n, e.f(-kLn2High), x);
  return {shifted, n, e.fma(n, e.f(-kLn2Low), r)};
}

/// p where x >= least; else 0, to which 2^n p would be rounded: cores take some hundred cycles
/// for a product that underflows, and scores that are masked are minus infinity.
static Value zeroBelow(Emitter &e, Value x, float least, Value p) {
  return e.select(Is::OLT, x, e.f(least), e.f(0.0f), p);
}

static Value expandExp(Emitter &e, Value x) {
  // Below -104 exp(x) rounds to 0, and exp(90) to infinity.
  Reduced x2 = reduceByLn2(e, e.clamp(x, -104.0f, 90.0f));
  Value p =
      e.polynomial(x2.r, {1.0f, 0x1.fffff6p-1f, 0x1.fffdc4p-2f, 0x1.555a6ep-3f,
                          0x1.573ad8p-5f, 0x1.0fa7e4p-7f});
  return e.scale(zeroBelow(e, x, -104.0f, p), x2.n, x2.shifted);
}

static Value expandExp2(Emitter &e, Value given) {
  Value x = e.clamp(given, -150.0f, 130.0f);
  Value shifted = e.add(x, e.f(Emitter::kRound));
  Value n = e.sub(shifted, e.f(Emitter::kRound));
  Value r = e.sub(x, n); // exact
  Value p = e.polynomial(r, {1.0f, 0.6931470036506653f, 0.24022240936756134f,
                             0.055507343262434006f, 0.009671569801867008f,
                             0.0013264669105410576f});
  return e.scale(zeroBelow(e, given, -150.0f, p), n, shifted);
}

/// 2^n (exp(r) - 1) + (2^n - 1), in halves, because 2^128 has no float. The sign is
/// that of x, also of a zero.
static Value expandExpM1(Emitter &e, Value x) {
  Reduced x2 = reduceByLn2(e, e.clamp(x, -20.0f, 88.8f));
  Value q = e.polynomial(x2.r, {0x1.fffffep-2f, 0x1.5554bp-3f, 0x1.555674p-5f,
                                0x1.1227fep-7f, 0x1.6bebfep-10f});
  Value p = e.fma(e.mul(x2.r, x2.r), q, x2.r);
  // The bits of kRound are shifted out.
  Value half = e.real(e.addi(e.shl(e.bits(x2.shifted), 23), e.i(126 << 23)));
  Value result = e.fma(p, half, e.sub(half, e.f(0.5f)));
  return e.signedAs(e.add(result, result), x);
}

namespace {
/// u + d = 2^exponent (1 + f), |f| <= 1/3; `r` is log(1 + f).
struct Logarithm {
  Value exponent, r;
};
} // namespace

/// For finite u > 0, not subnormal; `rest` is small beside u, or null.
static Logarithm logarithm(Emitter &e, Value u, Value rest) {
  // The multiple of 2^23 that brings u to [2/3, 4/3).
  Value power =
      e.andi(e.subi(e.bits(u), e.i(0x3f2aaaab)), e.i(int32_t(0xff800000)));
  Value f = e.sub(e.real(e.subi(e.bits(u), power)), e.f(1.0f));
  if (rest) {
    Value inverse = e.real(e.subi(e.i(0x3f800000), power)); // 2^-exponent
    // 2^-128 has no normal float; nor does the rest matter there.
    f = e.select(Is::OLT, u, e.f(0x1p+60f), e.fma(rest, inverse, f), f);
  }
  Value p = e.polynomial(f, {-0.5f, 0x1.555506p-2f, -0x1.fffefp-3f,
                             0x1.99d02ap-3f, -0x1.559dccp-3f, 0x1.1ed6fcp-3f,
                             -0x1.f3110ep-4f, 0x1.1e675p-3f, -0x1.0806p-3f});
  return {e.mul(e.toFloat(power), e.f(0x1p-23f)), e.fma(e.mul(f, f), p, f)};
}

/// What a logarithm is for no positive finite number.
static Value specialLog(Emitter &e, Value u, Value result) {
  Value zero = e.f(0.0f), infinity = e.f(kInfinity);
  result = e.select(Is::OEQ, u, infinity, infinity, result);
  result = e.select(Is::OEQ, u, zero, e.f(-kInfinity), result);
  return e.select(Is::ULT, u, zero, e.f(kNaN), result);
}

/// `finish` combines the exponent and log(1 + f).
static Value expandAnyLog(Emitter &e, Value x,
                          function_ref<Value(Value, Value)> finish) {
  Value least = e.f(0x1p-126f);
  Value u = e.select(Is::OLT, x, least, e.mul(x, e.f(0x1p23f)), x);
  Value offset = e.select(Is::OLT, x, least, e.f(-23.0f), e.f(0.0f));
  Logarithm log = logarithm(e, u, Value());
  return specialLog(e, x, finish(e.add(log.exponent, offset), log.r));
}

static Value expandLog(Emitter &e, Value x) {
  return expandAnyLog(e, x, [&](Value exponent, Value r) {
    return e.fma(exponent, e.f(kLn2High), r);
  });
}

static Value expandLog2(Emitter &e, Value x) {
  return expandAnyLog(e, x, [&](Value exponent, Value r) {
    return e.fma(r, e.f(kLog2E), exponent);
  });
}

static Value expandLog10(Emitter &e, Value x) {
  return expandAnyLog(e, x, [&](Value exponent, Value r) {
    return e.fma(exponent, e.f(kLog10Of2), e.mul(r, e.f(kLog10E)));
  });
}

/// log(u + rest) with u = 1 + x rounded and what the rounding lost. The sign is that
/// of x, also of a zero (below -1 it is that of a NaN).
static Value expandLog1P(Emitter &e, Value x) {
  Value one = e.f(1.0f);
  Value u = e.add(one, x);
  Value rest = e.sub(x, e.sub(u, one));
  Logarithm log = logarithm(e, u, rest);
  Value result = specialLog(e, u, e.fma(log.exponent, e.f(kLn2High), log.r));
  return e.signedAs(result, x);
}

/// An odd polynomial near 0, 1 - 2 / (exp(2 |x|) + 1) elsewhere. The polynomial has
/// the sign of x but at a zero.
static Value expandTanh(Emitter &e, Value x) {
  Value t = e.abs(x), square = e.mul(x, x);
  Value p =
      e.polynomial(square, {-0x1.555532p-2f, 0x1.110726p-3f, -0x1.b83c52p-5f,
                            0x1.52266ap-6f, -0x1.75e0e8p-8f});
  Value small = e.fma(e.mul(x, square), p, x);
  Value one = e.f(1.0f);
  Value exp = expandExp(e, e.add(t, t));
  Value large = e.sub(one, e.div(e.f(2.0f), e.add(exp, one)));
  return e.copySign(e.select(Is::OLT, t, e.f(0.625f), small, large), x);
}

/// An odd polynomial near 0, 1 - exp(-g(|x|)) with a polynomial g elsewhere.
static Value expandErf(Emitter &e, Value x) {
  Value t = e.abs(x), square = e.mul(x, x);
  Value p =
      e.polynomial(square, {0x1.20dd74p+0f, -0x1.8126fap-2f, 0x1.ce1dd2p-4f,
                            -0x1.b6bedcp-6f, 0x1.48769ep-8f, -0x1.3f4ebap-11f});
  Value four = e.f(4.0f); // erf rounds to 1 from here
  Value bounded = e.select(Is::OGT, t, four, four, t);
  Value g =
      e.polynomial(bounded, {-0x1.5d0628p-13f, -0x1.20b754p+0f, -0x1.4621b6p-1f,
                             -0x1.aa733cp-4f, 0x1.6d9d0cp-6f, -0x1.91cd5p-9f,
                             0x1.9fb33cp-13f});
  Value large = e.sub(e.f(1.0f), expandExp(e, g));
  return e.select(Is::OLT, t, e.f(0.9f), e.mul(x, p), e.copySign(large, x));
}

/// `compute` on the value of a scalar or 1-D vector, or on each row of a vector
/// of more dims.
static Value onRows(ImplicitLocOpBuilder &b, Value x, bool scalef,
                    function_ref<Value(Emitter &, Value)> compute) {
  auto vector = dyn_cast<VectorType>(x.getType());
  if (!vector || vector.getRank() == 1) {
    Emitter e(b, x.getType(), scalef);
    return compute(e, x);
  }
  if (vector.getRank() == 0) {
    Value scalar = vector::ExtractOp::create(b, x);
    return vector::BroadcastOp::create(b, vector,
                                       onRows(b, scalar, scalef, compute));
  }
  Value result = arith::ConstantOp::create(b, b.getZeroAttr(vector));
  for (int64_t row = 0; row < vector.getDimSize(0); ++row) {
    Value part = vector::ExtractOp::create(b, x, row);
    result = vector::InsertOp::create(b, onRows(b, part, scalef, compute),
                                      result, row);
  }
  return result;
}

namespace {
template <typename Op>
struct Expand : OpRewritePattern<Op> {
  using Function = Value (*)(Emitter &, Value);
  Expand(MLIRContext *context, Function function, bool scalef)
      : OpRewritePattern<Op>(context, /*benefit=*/10), function(function),
        scalef(scalef) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "only f32 has an expansion");
    if (auto vector = dyn_cast<VectorType>(type); vector && vector.isScalable())
      return rewriter.notifyMatchFailure(op, "scalable vectors have no shape");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, onRows(b, op.getOperand(), scalef, function));
    return success();
  }

  Function function;
  bool scalef;
};

/// expm1 of f64, which upstream makes a plain exp(x) - 1: the error of u =
/// exp(x) cancels in (u - 1) x / log(u).
struct ExpandExpM1F64 : OpRewritePattern<math::ExpM1Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpM1Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF64())
      return rewriter.notifyMatchFailure(op, "not f64");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto constant = [&](double value) -> Value {
      auto element = b.getF64FloatAttr(value);
      if (auto vector = dyn_cast<VectorType>(type))
        return arith::ConstantOp::create(
            b, DenseElementsAttr::get(vector, TypedAttr(element)));
      return arith::ConstantOp::create(b, element);
    };
    auto select = [&](Is is, Value x, Value y, Value yes, Value no) -> Value {
      Value condition = arith::CmpFOp::create(b, is, x, y);
      return arith::SelectOp::create(b, condition, yes, no);
    };
    Value x = op.getOperand(), one = constant(1.0);
    Value infinity = constant(std::numeric_limits<double>::infinity());
    Value u = math::ExpOp::create(b, x);
    Value less = arith::SubFOp::create(b, u, one);
    Value log = math::LogOp::create(b, u);
    Value ratio = arith::DivFOp::create(b, x, log);
    Value result = arith::MulFOp::create(b, less, ratio);
    result = select(Is::OEQ, u, one, x, result);
    result = select(Is::OEQ, u, infinity, infinity, result);
    // exp(x) is lost beside 1: log(u) may be minus infinity.
    result = select(Is::OEQ, less, constant(-1.0), less, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// x^n for a constant n: products by squaring where n is an integer and
/// |n| <= 8, a square root where it is 1/2 or -1/2.
template <typename Op>
struct ExpandPower : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  /// The exponent, if it is one constant number.
  static std::optional<double> exponentOf(Op op) {
    Attribute constant;
    if (!matchPattern(op.getRhs(), m_Constant(&constant)))
      return std::nullopt;
    if (auto splat = dyn_cast<SplatElementsAttr>(constant))
      constant = splat.getSplatValue<Attribute>();
    if (auto integer = dyn_cast<IntegerAttr>(constant))
      return integer.getValue().signedRoundToDouble();
    if (auto real = dyn_cast<FloatAttr>(constant))
      return real.getValueAsDouble();
    return std::nullopt;
  }

  static Value constant(ImplicitLocOpBuilder &b, Type type, double value) {
    TypedAttr element = b.getFloatAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      element = DenseElementsAttr::get(vector, element);
    return arith::ConstantOp::create(b, element);
  }

  /// x^n by squaring; nothing for n = 0.
  static Value product(ImplicitLocOpBuilder &b, Value x, int n) {
    Value result, square = x;
    for (; n; n >>= 1) {
      if (n & 1)
        result = result ? arith::MulFOp::create(b, result, square) : square;
      if (n > 1)
        square = arith::MulFOp::create(b, square, square);
    }
    return result;
  }

  /// x^(1/2) as C's pow has it: of -0.0 it is 0.0, of minus infinity infinity,
  /// where the square root is -0.0 and NaN.
  static Value root(ImplicitLocOpBuilder &b, Value x) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Value zero = constant(b, x.getType(), 0.0);
    Value result = math::SqrtOp::create(b, arith::AddFOp::create(b, x, zero));
    Value isLeast = arith::CmpFOp::create(b, Is::OEQ, x,
                                          constant(b, x.getType(), -kInfinity));
    return arith::SelectOp::create(b, isLeast,
                                   constant(b, x.getType(), kInfinity), result);
  }

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> exponent = exponentOf(op);
    double n = exponent ? std::abs(*exponent) : 9;
    if (n != 0.5 && (n > 8 || n != std::trunc(n)))
      return rewriter.notifyMatchFailure(
          op, "the exponent is no small constant integer and no half");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value one = constant(b, op.getType(), 1.0);
    Value result =
        n == 0.5 ? root(b, op.getLhs()) : product(b, op.getLhs(), int(n));
    if (!result)
      result = one;
    if (*exponent < 0)
      result = arith::DivFOp::create(b, one, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ExpandMath : redfuse::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    // The module of an NVIDIA GPU; functions of others become arithmetic.
    if (isa<gpu::GPUModuleOp>(getOperation())) {
      redfuse::populateExpandMathGPU(patterns);
      if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
        signalPassFailure();
      return;
    }
    patterns.add<Expand<math::ExpOp>>(context, &expandExp, scalef);
    patterns.add<Expand<math::Exp2Op>>(context, &expandExp2, scalef);
    patterns.add<Expand<math::ExpM1Op>>(context, &expandExpM1, scalef);
    patterns.add<Expand<math::LogOp>>(context, &expandLog, scalef);
    patterns.add<Expand<math::Log2Op>>(context, &expandLog2, scalef);
    patterns.add<Expand<math::Log10Op>>(context, &expandLog10, scalef);
    patterns.add<Expand<math::Log1pOp>>(context, &expandLog1P, scalef);
    patterns.add<Expand<math::TanhOp>>(context, &expandTanh, scalef);
    patterns.add<Expand<math::ErfOp>>(context, &expandErf, scalef);
    patterns.add<ExpandExpM1F64>(context);
    // Powers with small constant exponents are products.
    patterns.add<ExpandPower<math::FPowIOp>, ExpandPower<math::PowFOp>>(
        context);
    math::populateExpansionPatterns(patterns, {"clampf"});
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
