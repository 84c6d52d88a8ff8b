//===- TileLowering.h - patterns of redfuse-lower-tiles ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_TILELOWERING_H
#define REDFUSE_LIB_CONVERSION_TILELOWERING_H

#include "redfuse/Codegen/GPU/Common/InlinePtx.h"
#include "redfuse/Support/Chips.h"

#include "mlir/Transforms/DialectConversion.h"
#include "redfuse/Dialect/Tile/IR/Tile.h"

namespace redfuse::tile {

/// Of a row of a panel of shared memory.
inline constexpr int64_t kRowBytes = 128;

/// 32-bit arithmetic on addresses, folded where it can be.
mlir::Value constantI32(mlir::OpBuilder &b, mlir::Location loc, int64_t value);
mlir::Value addI32(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                   mlir::Value y);
mlir::Value addI32(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                   int64_t y);
mlir::Value mulI32(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                   int64_t y);

/// One PTX text, its constraints, and the values that they are of.
struct PtxCall {
  std::string text, constraints;
  llvm::SmallVector<mlir::Value> operands;
};

/// An op that is one PTX text; `Write` is a PtxCall of an op, its adaptor and a
/// builder. What the text writes are the op's results.
template <typename OpTy, typename Write>
struct LowerToPtx : mlir::OpConversionPattern<OpTy> {
  LowerToPtx(const mlir::TypeConverter &types, mlir::MLIRContext *context,
             Write write)
      : mlir::OpConversionPattern<OpTy>(types, context), write(write) {}
  llvm::LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  mlir::ConversionPatternRewriter &b) const override {
    PtxCall call = write(op, adaptor, b);
    b.replaceOp(op, emitPtx(b, op.getLoc(), call.text, call.constraints,
                            call.operands, op->getResultTypes(),
                            /*hasEffects=*/!mlir::isPure(op)));
    return llvm::success();
  }
  Write write;
};

template <typename OpTy, typename Write>
void addPtxPattern(const mlir::TypeConverter &types,
                   mlir::RewritePatternSet &patterns, Write write) {
  patterns.add<LowerToPtx<OpTy, Write>>(types, patterns.getContext(), write);
}

/// Of an op whose text has no operands.
template <typename OpTy>
void addPtxPattern(const mlir::TypeConverter &types,
                   mlir::RewritePatternSet &patterns, const char *text) {
  addPtxPattern<OpTy>(
      types, patterns,
      [text](OpTy, typename OpTy::Adaptor, mlir::OpBuilder &) -> PtxCall {
        return {text, "", {}};
      });
}

/// Barriers and rings.
void populateBarrierPatterns(const mlir::TypeConverter &types,
                             mlir::RewritePatternSet &patterns);

/// Copies, and single words of shared memory.
void populateCopyPatterns(const mlir::TypeConverter &types,
                          mlir::RewritePatternSet &patterns);
/// Says if `chip` has no such instruction, or one of other registers.
llvm::LogicalResult checkInstruction(MmaOp op, const Chip &chip);
/// Products of a warp or wave, by the instructions of `chip`.
void populateInstructionPatterns(const mlir::TypeConverter &types,
                                 mlir::RewritePatternSet &patterns,
                                 const Chip &chip);
/// Operands and accumulators in registers.
void populateOperandPatterns(const mlir::TypeConverter &types,
                             mlir::RewritePatternSet &patterns);
/// Products of a warpgroup (sm_90a).
void populateProductPatterns(const mlir::TypeConverter &types,
                             mlir::RewritePatternSet &patterns);
/// Says what products of warps are not.
llvm::LogicalResult checkWarpProduct(MultiplyOp op);
/// Products of a warpgroup, each warp by itself.
void populateWarpProductPatterns(const mlir::TypeConverter &types,
                                 mlir::RewritePatternSet &patterns,
                                 const Chip &chip);
/// Copies of rows by many threads.
void populateRowPatterns(const mlir::TypeConverter &types,
                         mlir::RewritePatternSet &patterns);
/// Roles of warps, and barriers of whole warps.
void populateRolePatterns(const mlir::TypeConverter &types,
                          mlir::RewritePatternSet &patterns);

} // namespace redfuse::tile

#endif // REDFUSE_LIB_CONVERSION_TILELOWERING_H
