//===- ExpandSmallFloats.cpp - redfuse-expand-small-floats ----------------===//
//
// Floats of 8 bits (f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ) are stored and
// converted; no processor is asked to know them. `arith.extf` and `arith.truncf`
// become operations on their bits, and constants become integers. Rounding is to
// nearest even; what is too large becomes infinite, or NaN where there is no
// infinity, as arith.truncf has it: nothing is clamped. TF32, the upper 19 bits of an
// f32, is made and extended again in registers, for what matrix units multiply.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Conversion/MathExpansion/ExpandSmallFloats.h"

#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/bit.h"

#include <cmath>

namespace redfuse {
#define GEN_PASS_DEF_EXPANDSMALLFLOATS
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// How a type of 8 bits lays out a number.
struct SmallFloat {
  int mantissa = 0, bias = 0;
  /// Magnitudes: the largest finite one, infinity (none: 0) and the NaN that is made.
  int largest = 0, infinity = 0, nan = 0;
  /// The one NaN is what would be -0.
  bool isUnsignedZero = false;
};
} // namespace

static std::optional<SmallFloat> describe(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<Float8E4M3FNType>(element))
    return SmallFloat{3, 7, 0x7E, 0, 0x7F, false};
  if (isa<Float8E5M2Type>(element))
    return SmallFloat{2, 15, 0x7B, 0x7C, 0x7E, false};
  if (isa<Float8E4M3FNUZType>(element))
    return SmallFloat{3, 8, 0x7F, 0, 0x80, true};
  if (isa<Float8E5M2FNUZType>(element))
    return SmallFloat{2, 16, 0x7F, 0, 0x80, true};
  return std::nullopt;
}

static bool isTF32(Type type) {
  return isa<FloatTF32Type>(getElementTypeOrSelf(type));
}
/// Of f32 that TF32 lacks.
static constexpr int64_t kLowBits = 13;

namespace {
/// Writes arithmetic on scalars or vectors of the shape of `like`.
struct Writer {
  OpBuilder &b;
  Location loc;
  Type like;

  Type typeOf(Type element) const {
    if (auto vector = dyn_cast<VectorType>(like))
      return VectorType::get(vector.getShape(), element,
                             vector.getScalableDims());
    return element;
  }
  Type i32() const { return typeOf(b.getI32Type()); }
  Type f32() const { return typeOf(b.getF32Type()); }
  Value number(int64_t value) const {
    return splat(b.getI32IntegerAttr(int32_t(value)), i32());
  }
  Value number(float value) const {
    return splat(b.getF32FloatAttr(value), f32());
  }
  Value splat(TypedAttr attr, Type type) const {
    if (auto shaped = dyn_cast<ShapedType>(type))
      attr = DenseElementsAttr::get(shaped, Attribute(attr));
    return arith::ConstantOp::create(b, loc, attr);
  }
  template <typename Op>
  Value make(Value x, Value y) const {
    return Op::create(b, loc, x, y);
  }
  Value bits(Value x, Type type) const {
    return arith::BitcastOp::create(b, loc, type, x);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, int64_t y) const {
    return arith::CmpIOp::create(b, loc, predicate, x, number(y));
  }
  Value select(Value condition, Value x, Value y) const {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
};

/// 8 bits to f32, exactly; from there to other types.
struct ExpandExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<SmallFloat> small = describe(op.getIn().getType());
    if (!small)
      return rewriter.notifyMatchFailure(op, "not from a float of 8 bits");
    Writer w{rewriter, op.getLoc(), op.getIn().getType()};
    using Predicate = arith::CmpIPredicate;
    int m = small->mantissa;
    Value byte = w.bits(op.getIn(), w.typeOf(rewriter.getI8Type()));
    Value word = arith::ExtUIOp::create(rewriter, op.getLoc(), w.i32(), byte);
    Value magnitude = w.make<arith::AndIOp>(word, w.number(int64_t(0x7F)));
    // Normal numbers: the exponent moves; others are multiples of the least one.
    Value normal = w.make<arith::AddIOp>(
        w.make<arith::ShLIOp>(magnitude, w.number(int64_t(23 - m))),
        w.number(int64_t(127 - small->bias) << 23));
    Value tiny =
        arith::UIToFPOp::create(rewriter, op.getLoc(), w.f32(), magnitude);
    tiny = w.make<arith::MulFOp>(
        tiny, w.number(std::ldexp(1.0f, 1 - small->bias - m)));
    Value isTiny = w.compare(Predicate::ult, magnitude, int64_t(1) << m);
    Value result = w.select(isTiny, w.bits(tiny, w.i32()), normal);
    Value nan = w.number(int64_t(0x7FC00000));
    if (small->isUnsignedZero) {
      result =
          w.select(w.compare(Predicate::eq, word, small->nan), nan, result);
    } else {
      if (small->infinity != 0)
        result = w.select(w.compare(Predicate::eq, magnitude, small->infinity),
                          w.number(int64_t(0x7F800000)), result);
      int64_t last = std::max(small->largest, small->infinity);
      result =
          w.select(w.compare(Predicate::ugt, magnitude, last), nan, result);
    }
    Value sign = w.make<arith::ShLIOp>(
        w.make<arith::AndIOp>(word, w.number(int64_t(0x80))),
        w.number(int64_t(24)));
    Value wide = w.bits(w.make<arith::OrIOp>(result, sign), w.f32());
    unsigned width = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
    if (width < 32)
      wide = arith::TruncFOp::create(rewriter, op.getLoc(), op.getType(), wide);
    else if (width > 32)
      wide = arith::ExtFOp::create(rewriter, op.getLoc(), op.getType(), wide);
    rewriter.replaceOp(op, wide);
    return success();
  }
};

struct ExtendTF32 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isTF32(op.getIn().getType()))
      return rewriter.notifyMatchFailure(op, "not from TF32");
    Writer w{rewriter, op.getLoc(), op.getIn().getType()};
    Value bits = w.bits(op.getIn(), w.typeOf(rewriter.getIntegerType(19)));
    Value word = arith::ExtUIOp::create(rewriter, op.getLoc(), w.i32(), bits);
    word = w.make<arith::ShLIOp>(word, w.number(kLowBits));
    Value wide = w.bits(word, w.f32());
    if (wide.getType() != op.getType())
      wide = arith::ExtFOp::create(rewriter, op.getLoc(), op.getType(), wide);
    rewriter.replaceOp(op, wide);
    return success();
  }
};

/// The bits of a TF32 that was made of bits.
struct FoldBitcasts : OpRewritePattern<arith::BitcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::BitcastOp op,
                                PatternRewriter &rewriter) const override {
    auto made = op.getIn().getDefiningOp<arith::BitcastOp>();
    if (!made || !isTF32(made.getType()) ||
        made.getIn().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not the bits of a TF32");
    rewriter.replaceOp(op, made.getIn());
    return success();
  }
};

/// f32 to 8 bits, or to TF32. f64 is made f32 by rounding to odd, which keeps what the second
/// rounding asks for.
struct ExpandTruncation : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<SmallFloat> small = describe(op.getType());
    if (!small && !isTF32(op.getType()))
      return rewriter.notifyMatchFailure(op,
                                         "not to a float of 8 bits or TF32");
    Writer w{rewriter, op.getLoc(), op.getIn().getType()};
    using Predicate = arith::CmpIPredicate;
    Location loc = op.getLoc();
    Value in = op.getIn();
    unsigned width = getElementTypeOrSelf(in.getType()).getIntOrFloatBitWidth();
    Value word;
    if (width < 32) {
      word = w.bits(arith::ExtFOp::create(rewriter, loc, w.f32(), in), w.i32());
    } else if (width == 32) {
      word = w.bits(in, w.i32());
    } else {
      Value rounded = arith::TruncFOp::create(rewriter, loc, w.f32(), in);
      Value back = arith::ExtFOp::create(rewriter, loc, in.getType(), rounded);
      word = w.bits(rounded, w.i32());
      Type i64 = w.typeOf(rewriter.getI64Type());
      auto magnitudeOf = [&](Value v) -> Value {
        Value mask = w.splat(rewriter.getI64IntegerAttr(INT64_MAX), i64);
        return w.make<arith::AndIOp>(w.bits(v, i64), mask);
      };
      Value one = w.number(int64_t(1));
      Value isAway = arith::CmpIOp::create(rewriter, loc, Predicate::ugt,
                                           magnitudeOf(back), magnitudeOf(in));
      Value isExact = arith::CmpIOp::create(rewriter, loc, Predicate::eq,
                                            magnitudeOf(back), magnitudeOf(in));
      Value toZero = w.select(isAway, w.make<arith::SubIOp>(word, one), word);
      Value odd = w.make<arith::OrIOp>(toZero, one);
      Value isNan = arith::CmpFOp::create(
          rewriter, loc, arith::CmpFPredicate::UNO, rounded, rounded);
      word = w.select(arith::OrIOp::create(rewriter, loc, isExact, isNan), word,
                      odd);
    }
    Value magnitude =
        w.make<arith::AndIOp>(word, w.number(int64_t(0x7FFFFFFF)));
    if (!small) {
      rewriter.replaceOp(op, roundToTF32(w, word, magnitude, op.getType()));
      return success();
    }
    int m = small->mantissa;
    // Normal: round away what the mantissa lacks, to even.
    int shift = 23 - m;
    Value isOdd = w.make<arith::AndIOp>(
        w.make<arith::ShRUIOp>(magnitude, w.number(int64_t(shift))),
        w.number(int64_t(1)));
    Value normal = w.make<arith::AddIOp>(
        w.make<arith::AddIOp>(magnitude,
                              w.number((int64_t(1) << (shift - 1)) - 1)),
        isOdd);
    normal = w.make<arith::SubIOp>(
        w.make<arith::ShRUIOp>(normal, w.number(int64_t(shift))),
        w.number(int64_t(127 - small->bias) << m));
    // Below: the addition rounds to a multiple of the least number.
    float magic = std::ldexp(1.0f, 23 + 1 - small->bias - m);
    Value tiny =
        w.make<arith::AddFOp>(w.bits(magnitude, w.f32()), w.number(magic));
    int32_t magicBits = llvm::bit_cast<int32_t>(magic);
    tiny = w.make<arith::SubIOp>(w.bits(tiny, w.i32()),
                                 w.number(int64_t(magicBits)));
    Value isTiny = w.compare(Predicate::ult, magnitude,
                             int64_t(127 + 1 - small->bias) << 23);
    Value result = w.select(isTiny, tiny, normal);
    // Too large, infinite, NaN.
    int64_t over = small->infinity != 0 ? small->infinity : small->nan;
    Value isOver = w.compare(Predicate::sgt, result, small->largest);
    Value isInfinite = w.compare(Predicate::uge, magnitude, 0x7F800000);
    isOver = arith::OrIOp::create(rewriter, loc, isOver, isInfinite);
    result = w.select(isOver, w.number(over), result);
    result = w.select(w.compare(Predicate::ugt, magnitude, 0x7F800000),
                      w.number(int64_t(small->nan)), result);
    Value sign = w.make<arith::AndIOp>(
        w.make<arith::ShRUIOp>(word, w.number(int64_t(24))),
        w.number(int64_t(0x80)));
    if (small->isUnsignedZero) // and the NaN has the sign already
      sign = w.select(w.compare(Predicate::eq, result, 0), result, sign);
    result = w.make<arith::OrIOp>(result, sign);
    Value byte = arith::TruncIOp::create(
        rewriter, loc, w.typeOf(rewriter.getI8Type()), result);
    rewriter.replaceOp(op, w.bits(byte, op.getType()));
    return success();
  }

  /// To even; the exponent is the same. What is too large carries into the exponent of
  /// infinity; a NaN stays one, whatever its low bits are.
  static Value roundToTF32(const Writer &w, Value word, Value magnitude,
                           Type type) {
    Value isOdd = w.make<arith::AndIOp>(
        w.make<arith::ShRUIOp>(word, w.number(kLowBits)), w.number(int64_t(1)));
    Value half = w.number((int64_t(1) << (kLowBits - 1)) - 1);
    Value rounded =
        w.make<arith::AddIOp>(w.make<arith::AddIOp>(word, half), isOdd);
    Value isNan = w.compare(arith::CmpIPredicate::ugt, magnitude, 0x7F800000);
    Value quiet = w.make<arith::OrIOp>(word, w.number(int64_t(0x400000)));
    Value bits = w.make<arith::ShRUIOp>(w.select(isNan, quiet, rounded),
                                        w.number(kLowBits));
    bits = arith::TruncIOp::create(w.b, w.loc, w.typeOf(w.b.getIntegerType(19)),
                                   bits);
    return w.bits(bits, type);
  }
};

struct ExpandConstant : OpRewritePattern<arith::ConstantOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ConstantOp op,
                                PatternRewriter &rewriter) const override {
    if (!describe(op.getType()) || isa<TensorType, MemRefType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "not a float of 8 bits");
    Type i8 = rewriter.getI8Type();
    TypedAttr bits;
    if (auto number = dyn_cast<FloatAttr>(op.getValue())) {
      bits = rewriter.getIntegerAttr(i8, number.getValue().bitcastToAPInt());
    } else if (auto dense = dyn_cast<DenseFPElementsAttr>(op.getValue())) {
      bits = cast<TypedAttr>(Attribute(dense.mapValues(
          i8, [](const APFloat &x) { return x.bitcastToAPInt(); })));
    } else {
      return rewriter.notifyMatchFailure(op, "an attribute of another kind");
    }
    Value constant = arith::ConstantOp::create(rewriter, op.getLoc(), bits);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), constant);
    return success();
  }
};

/// Upstream leaves these, as many processors have them in short types. In f64 the sum
/// of a product and another number of 8 bits is exact but for the longest.
struct ExtendFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    if (!describe(op.getType()))
      return rewriter.notifyMatchFailure(op, "not of a float of 8 bits");
    Writer w{rewriter, op.getLoc(), op.getType()};
    Type wide = w.typeOf(rewriter.getF64Type());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          arith::ExtFOp::create(rewriter, op.getLoc(), wide, operand));
    Value result = math::FmaOp::create(rewriter, op.getLoc(), wide, operands);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), result);
    return success();
  }
};

struct ExpandSmallFloats
    : redfuse::impl::ExpandSmallFloatsBase<ExpandSmallFloats> {
  using ExpandSmallFloatsBase::ExpandSmallFloatsBase;

  void runOnOperation() override {
    bool hasAny = false;
    getOperation()->walk([&](Operation *op) {
      hasAny |=
          isa<arith::ExtFOp, arith::TruncFOp, arith::ConstantOp, math::FmaOp>(
              op) &&
          (describe(op->getResult(0).getType()) ||
           isTF32(op->getResult(0).getType()) ||
           (op->getNumOperands() == 1 &&
            describe(op->getOperand(0).getType())));
    });
    if (!hasAny)
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExtension, ExpandTruncation, ExpandConstant, ExtendTF32,
                 FoldBitcasts, ExtendFma>(&getContext());
    // The folder would make the constants floats again.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace

void redfuse::addSmallFloats(OpPassManager &pm) {
  arith::ArithEmulateUnsupportedFloatsOptions emulated;
  for (StringRef name : {"f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"})
    emulated.sourceTypeStrs.push_back(name.str());
  emulated.targetTypeStr = "f32";
  // Functions first, as that makes conversions. Whoever has f16 and bf16 as f32 says so
  // for itself.
  math::MathExtendToSupportedTypesOptions extended;
  extended.extraTypeStrs.assign({"f16", "bf16"});
  pm.addPass(math::createMathExtendToSupportedTypes(extended));
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulated));
  pm.addPass(createExpandSmallFloats());
}
