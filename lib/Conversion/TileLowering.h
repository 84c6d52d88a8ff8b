//===- TileLowering.h - patterns of redfuse-lower-tiles ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_TILELOWERING_H
#define REDFUSE_LIB_CONVERSION_TILELOWERING_H

#include "InlinePtx.h"

#include "mlir/Transforms/DialectConversion.h"
#include "redfuse/Dialect/Tile.h"

namespace redfuse::tile {

/// 32-bit arithmetic on addresses, folded where it can be.
mlir::Value constantI32(mlir::OpBuilder &b, mlir::Location loc, int64_t value);
mlir::Value addI32(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                   mlir::Value y);
mlir::Value addI32(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                   int64_t y);
mlir::Value mulI32(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                   int64_t y);

/// Barriers and rings.
void populateBarrierPatterns(const mlir::TypeConverter &types,
                             mlir::RewritePatternSet &patterns);

/// Copies, and single words of shared memory.
void populateCopyPatterns(const mlir::TypeConverter &types,
                          mlir::RewritePatternSet &patterns);
/// Says if `chip` has no such instruction, or one of other registers.
llvm::LogicalResult checkInstruction(MmaOp op, llvm::StringRef chip);
/// Products of a warp or wave, by the instructions of `chip`.
void populateInstructionPatterns(const mlir::TypeConverter &types,
                                 mlir::RewritePatternSet &patterns,
                                 llvm::StringRef chip);
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
                                 llvm::StringRef chip);
/// Copies of rows by many threads.
void populateRowPatterns(const mlir::TypeConverter &types,
                         mlir::RewritePatternSet &patterns);
/// Roles of warps, and barriers of whole warps.
void populateRolePatterns(const mlir::TypeConverter &types,
                          mlir::RewritePatternSet &patterns);

} // namespace redfuse::tile

#endif // REDFUSE_LIB_CONVERSION_TILELOWERING_H
