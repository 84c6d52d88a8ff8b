//===- ExpandMathGPU.cpp - math functions as instructions of a GPU --------===//
//
// exp(x) = 2^(x log2 e) by the one instruction that GPUs have for powers of two.
// The product is rounded, so that the result's relative error is |x| 2^-24, at
// most 5e-6 where it is not zero; subnormal results are zero. That is far below
// the rounding of the 16-bit types, and it is done only in kernels that read or
// write one; others call libdevice's function. So is exp(x) - 1.
//
// x / y with a y that many x share (it is broadcast, or a constant) is a product
// with the reciprocal: two roundings instead of one (PyTorch divides by constants
// so); a quotient by another number that is quantised is rounded once, by what is left
// over. y is scaled by a power of two where its reciprocal would overflow or be
// subnormal, and x with it, which is exact.
//
// Pairs of bf16 are extended in their words: the upper one by a mask instead of a
// move and a shift.
//
//===----------------------------------------------------------------------===//
#include "ExpandMath.h"

#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

/// Whether the kernel reads or writes floats of 16 bits or fewer.
static bool isNarrow(Operation *op) {
  auto func = op->getParentOfType<gpu::GPUFuncOp>();
  return func && llvm::any_of(func.getArgumentTypes(), [](Type type) {
           auto memref = dyn_cast<MemRefType>(type);
           auto element =
               memref ? dyn_cast<FloatType>(memref.getElementType()) : nullptr;
           return element && element.getWidth() <= 16;
         });
}

static Value splat(ImplicitLocOpBuilder &b, Type type, float value) {
  FloatAttr element = b.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vector, TypedAttr(element)));
  return arith::ConstantOp::create(b, element);
}

namespace {
template <typename Op>
struct PowerOfTwo : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    if (!isNarrow(op))
      return rewriter.notifyMatchFailure(
          op, "no tensor of the kernel is of 16 bits");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand();
    if (std::is_same_v<Op, math::ExpOp>)
      x = arith::MulFOp::create(b, x, splat(b, type, 1.44269504f));
    auto power = [&](Value element) -> Value {
      return LLVM::CallIntrinsicOp::create(
                 b, b.getF32Type(), b.getStringAttr("llvm.nvvm.ex2.approx.ftz"),
                 ValueRange{element})
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(type);
    if (!vector) {
      rewriter.replaceOp(op, power(x));
      return success();
    }
    if (vector.getRank() != 1 || vector.isScalable())
      return rewriter.notifyMatchFailure(op, "not of rank 1");
    SmallVector<Value> elements;
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      elements.push_back(power(vector::ExtractOp::create(b, x, i)));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, elements);
    return success();
  }
};

/// exp(x) - 1 by that power, where what it loses beside 1 is far below the rounding of the 16-bit
/// types: a relative error of 2^-19 from |x| = 1/8 on; below, that of x (1 + x/2 + x^2/6 + x^3/24)
/// is as small, and 0 keeps its sign.
struct NarrowExpM1 : OpRewritePattern<math::ExpM1Op> {
  NarrowExpM1(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::ExpM1Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32() || !isNarrow(op))
      return rewriter.notifyMatchFailure(
          op, "not f32, or no tensor of the kernel is of 16 bits");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand(), one = splat(b, type, 1.0f);
    auto fma = [&](Value y, Value z) -> Value {
      return math::FmaOp::create(b, x, y, z);
    };
    Value large = arith::SubFOp::create(b, math::ExpOp::create(b, x), one);
    Value q = fma(splat(b, type, 1.0f / 24), splat(b, type, 1.0f / 6));
    q = fma(fma(q, splat(b, type, 0.5f)), one);
    Value small = arith::MulFOp::create(b, x, q);
    Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                          math::AbsFOp::create(b, x),
                                          splat(b, type, 0.125f));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isSmall, small, large);
    return success();
  }
};

struct SharedDivisor : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FloatAttr known;
    DenseElementsAttr elements;
    if (matchPattern(op.getRhs(), m_Constant(&elements)) && elements.isSplat())
      known = b.getF32FloatAttr(elements.getSplatValue<float>());
    else
      matchPattern(op.getRhs(), m_Constant(&known));
    if (known) {
      float y = std::abs(known.getValue().convertToFloat());
      if (!(y > 0x1p-64f && y < 0x1p64f))
        return rewriter.notifyMatchFailure(op, "the reciprocal is not normal");
      APFloat one(1.0f);
      one.divide(known.getValue(), APFloat::rmNearestTiesToEven);
      rewriter.replaceOpWithNewOp<arith::MulFOp>(
          op, op.getLhs(), splat(b, type, one.convertToFloat()));
      return success();
    }
    Value y = op.getRhs();
    auto broadcast = y.getDefiningOp<vector::BroadcastOp>();
    if (broadcast && !isa<VectorType>(broadcast.getSource().getType()))
      y = broadcast.getSource();
    else if (llvm::count_if(y.getUses(), [](OpOperand &use) {
               return isa<arith::DivFOp>(use.getOwner()) &&
                      use.getOperandNumber() == 1;
             }) < 4)
      return rewriter.notifyMatchFailure(op, "few share the divisor");
    if (op.getLhs().getDefiningOp<arith::ConstantOp>())
      return rewriter.notifyMatchFailure(op, "is a reciprocal itself");
    // Where the divisor is computed, so that all that share it share this.
    OpBuilder::InsertionGuard guard(rewriter);
    b.setInsertionPointAfterValue(y);
    Type own = y.getType();
    Value size = math::AbsFOp::create(b, y);
    Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, size,
                                          splat(b, own, 0x1p-64f));
    Value isLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, size,
                                          splat(b, own, 0x1p64f));
    Value scale = arith::SelectOp::create(b, isLarge, splat(b, own, 0x1p-64f),
                                          splat(b, own, 1.0f));
    scale = arith::SelectOp::create(b, isSmall, splat(b, own, 0x1p64f), scale);
    Value scaled = arith::MulFOp::create(b, y, scale);
    Value reciprocal = arith::DivFOp::create(b, splat(b, own, 1.0f), scaled);
    // All of them at once: equal elements stay equal.
    SmallVector<arith::DivFOp> divisions{op};
    if (own == type)
      for (Operation *user : y.getUsers())
        if (auto other = dyn_cast<arith::DivFOp>(user);
            other && other.getRhs() == y &&
            !llvm::is_contained(divisions, other) &&
            !other.getLhs().getDefiningOp<arith::ConstantOp>())
          divisions.push_back(other);
    for (arith::DivFOp division : divisions) {
      b.setInsertionPoint(division);
      auto spread = [&](Value v) -> Value {
        return own == type
                   ? v
                   : vector::BroadcastOp::create(b, type, v).getResult();
      };
      Value inverse = spread(reciprocal);
      Value x = arith::MulFOp::create(b, division.getLhs(), spread(scale));
      Value quotient = arith::MulFOp::create(b, x, inverse);
      if (division->hasAttr(kRoundsAttr))
        quotient = roundQuotient(b, x, spread(scaled), inverse, quotient);
      rewriter.replaceOp(division, quotient);
    }
    return success();
  }

private:
  /// The quotient x / y rounded once, of one that is nearly so: a step leaves it within a
  /// unit of the last place, another (Markstein's) rounds it. Where what is left over is no
  /// number, as behind infinities, the quotient stays.
  static Value roundQuotient(ImplicitLocOpBuilder &b, Value x, Value y,
                             Value inverse, Value quotient) {
    Value minus = arith::NegFOp::create(b, y), isNumber;
    Value first = quotient;
    for (int step = 0; step < 2; ++step) {
      Value rest = math::FmaOp::create(b, minus, first, x);
      isNumber =
          arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, rest, rest);
      first = math::FmaOp::create(b, rest, inverse, first);
    }
    return arith::SelectOp::create(b, isNumber, first, quotient);
  }
};

struct ExtendPairs : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    auto from = dyn_cast<VectorType>(op.getIn().getType());
    if (!from || !from.getElementType().isBF16() ||
        !getElementTypeOrSelf(op.getType()).isF32() || from.getRank() != 1 ||
        from.isScalable() || from.getNumElements() % 2 != 0)
      return rewriter.notifyMatchFailure(op, "no pairs of bf16");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = VectorType::get({from.getNumElements() / 2}, b.getI32Type());
    auto same = [&](uint32_t word) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(
                 type, TypedAttr(b.getI32IntegerAttr(int32_t(word)))));
    };
    Value words = vector::BitCastOp::create(b, type, op.getIn());
    Value low = arith::ShLIOp::create(b, words, same(16));
    Value high = arith::AndIOp::create(b, words, same(0xffff0000));
    Value all = vector::InterleaveOp::create(b, low, high);
    rewriter.replaceOpWithNewOp<vector::BitCastOp>(op, op.getType(), all);
    return success();
  }
};
} // namespace

void redfuse::populateExpandMathGPU(RewritePatternSet &patterns) {
  patterns.add<PowerOfTwo<math::ExpOp>, PowerOfTwo<math::Exp2Op>, NarrowExpM1,
               SharedDivisor, ExtendPairs>(patterns.getContext());
}
