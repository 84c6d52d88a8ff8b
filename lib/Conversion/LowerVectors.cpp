//===- LowerVectors.cpp - vectors of rank two and more to one dimension ---===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERVECTORS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

//===----------------------------------------------------------------------===//
// i1 in memory
//===----------------------------------------------------------------------===//

static bool isBooleanMemRef(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.getElementType().isInteger(1);
}

/// The same memory as bytes. Both types have the same descriptor, so the cast
/// disappears in the conversion to LLVM.
static Value asBytes(OpBuilder &b, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto bytes = MemRefType::Builder(type).setElementType(b.getI8Type());
  return UnrealizedConversionCastOp::create(b, loc, MemRefType(bytes), memref)
      .getResult(0);
}

static Value widen(OpBuilder &b, Location loc, Value boolean) {
  Type type = boolean.getType();
  if (!getElementTypeOrSelf(type).isInteger(1))
    return boolean;
  Type wide = isa<VectorType>(type)
                  ? Type(cast<VectorType>(type).clone(b.getI8Type()))
                  : b.getI8Type();
  return arith::ExtUIOp::create(b, loc, wide, boolean);
}

namespace {
/// An op that reads or writes a memref of i1: on bytes instead. `Data` is the
/// operand whose type follows (the value to store, the padding, the
/// pass-through); masks stay i1. Upstream asserts that scalars take bytes.
template <typename Op>
struct BooleanMemory : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    OpOperand &base = baseOperand(op);
    if (!isBooleanMemRef(base.get().getType()))
      return rewriter.notifyMatchFailure(op, "not a memref of i1");
    Location loc = op.getLoc();
    Value bytes = asBytes(rewriter, loc, base.get());
    OpOperand *data = dataOperand(op);
    Value wide = data ? widen(rewriter, loc, data->get()) : Value();
    if (op->getNumResults() == 0) {
      rewriter.modifyOpInPlace(op, [&] {
        base.set(bytes);
        data->set(wide);
      });
      return success();
    }
    Value result = op->getResult(0);
    auto vector = dyn_cast<VectorType>(result.getType());
    Type wider = rewriter.getI8Type();
    if (vector)
      wider = vector.clone(wider);
    rewriter.modifyOpInPlace(op, [&] {
      base.set(bytes);
      if (data)
        data->set(wide);
      result.setType(wider);
    });
    rewriter.setInsertionPointAfter(op);
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(result.getType()));
    auto truth = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                       result, zero);
    rewriter.replaceAllUsesExcept(result, truth, truth);
    return success();
  }

  static OpOperand &baseOperand(Op op) {
    if constexpr (std::is_same_v<Op, memref::LoadOp> ||
                  std::is_same_v<Op, memref::StoreOp>)
      return op.getMemrefMutable();
    else
      return op.getBaseMutable();
  }

  static OpOperand *dataOperand(Op op) {
    if constexpr (std::is_same_v<Op, vector::LoadOp> ||
                  std::is_same_v<Op, memref::LoadOp>)
      return nullptr;
    else if constexpr (std::is_same_v<Op, vector::MaskedLoadOp> ||
                       std::is_same_v<Op, vector::GatherOp>)
      return &op.getPassThruMutable();
    else if constexpr (std::is_same_v<Op, vector::TransferReadOp>)
      return &op.getPaddingMutable();
    else if constexpr (std::is_same_v<Op, memref::StoreOp>)
      return &op.getValueMutable();
    else
      return &op.getValueToStoreMutable();
  }
};

/// A horizontal minimum or maximum by halves: exact in any order, and LLVM
/// would do it lane by lane because of NaN.
struct ReduceByHalves : OpRewritePattern<vector::ReductionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::ReductionOp op,
                                PatternRewriter &rewriter) const override {
    using Kind = vector::CombiningKind;
    Kind kind = op.getKind();
    if (kind != Kind::MAXIMUMF && kind != Kind::MINIMUMF &&
        kind != Kind::MAXNUMF && kind != Kind::MINNUMF)
      return rewriter.notifyMatchFailure(op, "LLVM has a good form");
    VectorType type = op.getSourceVectorType();
    if (type.isScalable() || type.getRank() != 1 || op.isMasked())
      return rewriter.notifyMatchFailure(op, "expected a plain 1-D vector");
    Location loc = op.getLoc();
    auto combine = [&](Value x, Value y) {
      return vector::makeArithReduction(rewriter, loc, kind, x, y,
                                        op.getFastmathAttr());
    };
    Value value = op.getVector();
    int64_t lanes = type.getNumElements();
    while (lanes > 1 && lanes % 2 == 0) {
      lanes /= 2;
      auto half = [&](int64_t at) -> Value {
        return vector::ExtractStridedSliceOp::create(
            rewriter, loc, value, ArrayRef<int64_t>{at},
            ArrayRef<int64_t>{lanes}, ArrayRef<int64_t>{1});
      };
      value = combine(half(0), half(lanes));
    }
    Value result = vector::ExtractOp::create(rewriter, loc, value, 0);
    for (int64_t lane = 1; lane < lanes; ++lane)
      result = combine(result,
                       vector::ExtractOp::create(rewriter, loc, value, lane));
    if (op.getAcc())
      result = combine(op.getAcc(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct LowerVectors : redfuse::impl::LowerVectorsBase<LowerVectors> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    {
      RewritePatternSet patterns(context);
      patterns.add<
          BooleanMemory<memref::LoadOp>, BooleanMemory<memref::StoreOp>,
          BooleanMemory<vector::LoadOp>, BooleanMemory<vector::StoreOp>,
          BooleanMemory<vector::MaskedLoadOp>,
          BooleanMemory<vector::MaskedStoreOp>, BooleanMemory<vector::GatherOp>,
          BooleanMemory<vector::ScatterOp>,
          BooleanMemory<vector::TransferReadOp>,
          BooleanMemory<vector::TransferWriteOp>>(context);
      // Contractions and multi-reductions into forms that are element-wise in
      // the innermost dim; permutations of transfers into transposes.
      vector::populateVectorMaskLoweringPatternsForSideEffectingOps(patterns);
      vector::populateVectorTransferPermutationMapLoweringPatterns(patterns);
      vector::populateVectorContractLoweringPatterns(
          patterns, vector::VectorContractLowering::OuterProduct);
      vector::populateVectorMultiReductionLoweringPatterns(
          patterns, vector::VectorMultiReductionLowering::InnerParallel);
      vector::populateVectorGatherLoweringPatterns(patterns);
      arith::populateCeilFloorDivExpandOpsPatterns(patterns);
      if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
        return signalPassFailure();
    }
    RewritePatternSet patterns(context);
    patterns.add<ReduceByHalves>(context);
    vector::populateVectorOuterProductLoweringPatterns(patterns);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    vector::populateVectorTransposeLoweringPatterns(
        patterns, vector::VectorTransposeLowering::Shuffle16x16);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorInterleaveLoweringPatterns(patterns);
    vector::populateVectorBitCastLoweringPatterns(patterns);
    vector::populateVectorScanLoweringPatterns(patterns);
    vector::populateVectorStepLoweringPatterns(patterns);
    vector::populateVectorRankReducingFMAPattern(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
