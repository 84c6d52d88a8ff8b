//===- Tile.h - tiles in shared memory and registers ------------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_TILE_IR_TILE_H
#define REDFUSE_DIALECT_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "redfuse/Dialect/Tile/IR/TileDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "redfuse/Dialect/Tile/IR/TileTypes.h.inc"

namespace redfuse::tile {
/// What an op needs of its target (`ChipFeature`).
template <typename OpTy>
class NeedsAsyncCopies
    : public mlir::OpTrait::TraitBase<OpTy, NeedsAsyncCopies> {};
template <typename OpTy>
class NeedsTensorMaps : public mlir::OpTrait::TraitBase<OpTy, NeedsTensorMaps> {
};

/// Whether values of a type are tensor maps of 128 bytes.
inline bool isTensorMap(mlir::Type type) {
  auto vector = mlir::dyn_cast<mlir::VectorType>(type);
  return vector && vector.getRank() == 1 && vector.getDimSize(0) == 16 &&
         vector.getElementType().isInteger(64);
}

/// A tile, and a panel of one, start at multiples of this.
inline constexpr int64_t kTileAlignment = 1024;
/// Registers that a thread of a block may have.
inline constexpr int64_t kMinRegisters = 24, kMaxRegisters = 256;
} // namespace redfuse::tile

#define GET_OP_CLASSES
#include "redfuse/Dialect/Tile/IR/TileOps.h.inc"

#endif // REDFUSE_DIALECT_TILE_IR_TILE_H
