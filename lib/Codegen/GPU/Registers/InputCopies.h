//===- InputCopies.h - inputs that come ahead of their use ------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_INPUTCOPIES_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_INPUTCOPIES_H

#include "ThreadExchange.h"

namespace redfuse {

/// Whose part of the inputs: what blocks have for themselves, what all have, or both.
enum class Whose { Own, Shared, All };

/// A pointer to an element.
mlir::Value addressOf(mlir::OpBuilder &b, mlir::Location loc,
                      TileEmitter &emitter, mlir::Value memref,
                      mlir::ValueRange indices, unsigned space);

/// Inputs that threads copy into shared memory beside what they compute, or that the
/// second-level cache is asked for.
class InputCopies {
public:
  InputCopies(mlir::OpBuilder &b, mlir::Location loc,
              const RegisterLayout &layout,
              llvm::MutableArrayRef<SpaceDim> dims, ThreadPositions &positions,
              ThreadExchange &exchange, TileEmitter &emitter)
      : b(b), loc(loc), layout(layout), dims(dims), positions(positions),
        exchange(exchange), emitter(emitter) {}

  /// Reads `tile` (shared memory) where `memref` is read by `map`.
  void keep(mlir::Value memref, mlir::AffineMap map, mlir::Value tile);
  /// That tile, and where a point is in it; null where the input is not kept.
  mlir::Value findKept(mlir::Value memref, mlir::AffineMap map, Env &env);
  /// Starts to copy what this thread reads of kept inputs in the current step.
  void fetchKept(Whose which = Whose::All);
  /// Ends a group of copies; waits for all copies of this thread.
  void commit();
  void await();
  /// Before tiles are copied over others.
  void finishReads();
  /// Asks the second-level cache for the first bytes of the block's tile of an
  /// input, which lie one after another.
  void fetchAhead(mlir::Value memref, mlir::AffineMap map, int64_t bytes);

private:
  struct KeptTile {
    mlir::Value memref;
    mlir::AffineMap map;
    mlir::Value tile;
    /// All blocks have the same.
    bool isShared;
  };
  llvm::SmallVector<mlir::Value> positionsInKept(const KeptTile &kept,
                                                 const Env &env);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const RegisterLayout &layout;
  llvm::MutableArrayRef<SpaceDim> dims;
  ThreadPositions &positions;
  ThreadExchange &exchange;
  TileEmitter &emitter;
  llvm::SmallVector<KeptTile> keptTiles;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_INPUTCOPIES_H
