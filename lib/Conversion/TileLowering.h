//===- TileLowering.h - patterns of redfuse-lower-tiles ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_TILELOWERING_H
#define REDFUSE_LIB_CONVERSION_TILELOWERING_H

#include "mlir/Transforms/DialectConversion.h"
#include "redfuse/Dialect/Tile.h"

namespace redfuse {

/// Inline PTX: `$0` and on are results, then operands. `constraints` is LLVM's
/// (`=f,r,l`); results are those of its struct.
llvm::SmallVector<mlir::Value>
emitPtx(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef text,
        llvm::StringRef constraints, mlir::ValueRange operands,
        mlir::TypeRange results = {}, bool hasEffects = true);

namespace tile {

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

} // namespace tile
} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_TILELOWERING_H
