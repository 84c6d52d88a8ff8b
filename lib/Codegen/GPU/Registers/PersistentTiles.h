//===- PersistentTiles.h - blocks that stay ---------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_PERSISTENTTILES_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_PERSISTENTTILES_H

#include "DynamicScheduler.h"
#include "InputLoads.h"

namespace redfuse {

/// Tile after tile of the grid, by a block that stays (a persistent kernel): what it has
/// of the next is under way while it computes this one.
class PersistentTiles {
public:
  /// How a tile is placed: the dims of the grid and all that is walked in it; and how
  /// its programs are emitted.
  struct Tile {
    llvm::function_ref<void(mlir::Value)> place;
    llvm::function_ref<mlir::LogicalResult(mlir::Value)> emit;
  };

  PersistentTiles(mlir::OpBuilder &b, mlir::Location loc,
                  const RegisterLayout &layout, RegisterEmitter &emitter,
                  InputLoads &loads, Tile tile)
      : b(b), loc(loc), layout(layout), emitter(emitter), loads(loads),
        tile(tile) {}

  /// The next tile is in registers: tiles `block`, and every so many as there are
  /// blocks from there on.
  mlir::LogicalResult emitHeld(mlir::Value block, mlir::Value tiles);
  /// It comes by way of shared memory, from a scheduler.
  mlir::LogicalResult emitStaged(mlir::Value block, mlir::Value tiles,
                                 DynamicScheduler &scheduler);

private:
  mlir::Value countTeams();
  mlir::Value lastOf(mlir::Value tiles);
  mlir::LogicalResult emitRound(mlir::Value block);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const RegisterLayout &layout;
  RegisterEmitter &emitter;
  InputLoads &loads;
  Tile tile;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_PERSISTENTTILES_H
