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
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace redfuse {
#define GEN_PASS_DEF_EXPANDMATH
#include "redfuse/Transforms/Passes.h.inc"
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
  Value addi(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value subi(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value shl(Value x, int n) { return arith::ShLIOp::create(b, x, i(n)); }
  Value ashr(Value x, int n) { return arith::ShRSIOp::create(b, x, i(n)); }
  Value bits(Value x) { return arith::BitcastOp::create(b, intType, x); }
  Value real(Value x) { return arith::BitcastOp::create(b, type, x); }

  /// x if it is in [low, high], else the nearer of them; NaN stays.
  Value clamp(Value x, float low, float high) {
    auto pick = [&](arith::CmpFPredicate outside, Value bound, Value x) {
      Value is = arith::CmpFOp::create(b, outside, x, bound);
      return arith::SelectOp::create(b, is, bound, x).getResult();
    };
    x = pick(arith::CmpFPredicate::OLT, f(low), x);
    return pick(arith::CmpFPredicate::OGT, f(high), x);
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
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(vector, element));
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
  operands.push_back(
      arith::ConstantOp::create(b, b.getIntegerAttr(mask, -1)));
  if (lanes == 16) // the rounding mode: the current one
    operands.push_back(
        arith::ConstantOp::create(b, b.getI32IntegerAttr(4)));
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

static Value expandExp(Emitter &e, Value x) {
  // exp(-110) rounds to 0 and exp(90) to infinity.
  x = e.clamp(x, -110.0f, 90.0f);
  Value shifted = e.fma(x, e.f(0x1.715476p+0f), e.f(Emitter::kRound));
  Value n = e.sub(shifted, e.f(Emitter::kRound));
  Value r = e.fma(n, e.f(-0x1.62e43p-1f), x);
  r = e.fma(n, e.f(0x1.05c61p-29f), r);
  Value p = e.polynomial(r, {1.0f, 0x1.fffff6p-1f, 0x1.fffdc4p-2f,
                             0x1.555a6ep-3f, 0x1.573ad8p-5f, 0x1.0fa7e4p-7f});
  return e.scale(p, n, shifted);
}

static Value expandExp2(Emitter &e, Value x) {
  x = e.clamp(x, -160.0f, 130.0f);
  Value shifted = e.add(x, e.f(Emitter::kRound));
  Value n = e.sub(shifted, e.f(Emitter::kRound));
  Value r = e.sub(x, n); // exact
  Value p =
      e.polynomial(r, {1.0f, 0.6931470036506653f, 0.24022240936756134f,
                       0.055507343262434006f, 0.009671569801867008f,
                       0.0013264669105410576f});
  return e.scale(p, n, shifted);
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

struct ExpandMath : redfuse::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<Expand<math::ExpOp>>(context, &expandExp, scalef);
    patterns.add<Expand<math::Exp2Op>>(context, &expandExp2, scalef);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
