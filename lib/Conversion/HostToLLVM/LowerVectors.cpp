//===- LowerVectors.cpp - vectors of rank two and more to one dimension ---===//
#include "redfuse/Codegen/Common/BooleanMemory.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERVECTORS
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
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
      redfuse::populateBooleanMemoryPatterns(patterns);
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
