//===- TileRegisters.h - tiles as values of a thread ------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_TILEREGISTERS_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_TILEREGISTERS_H

#include "ThreadPositions.h"

namespace redfuse {

/// The elements of a value that a thread has, by the repeats of its dims, the
/// last fastest; a vector each where one of the dims has lanes.
struct RegisterArray {
  llvm::SmallVector<unsigned> dims;
  llvm::SmallVector<mlir::Value> elements;
};

/// The tiles of a kernel: each thread has its elements of them.
class TileRegisters {
public:
  TileRegisters(ThreadPositions &positions, TileEmitter &emitter)
      : positions(positions), emitter(emitter) {}

  mlir::Value load(const TileBuffer &buffer, const Env &env);
  void store(const TileBuffer &buffer, mlir::Value value, const Env &env);
  void fill(const TileBuffer &buffer, mlir::TypedAttr value);
  /// All elements of a tile, to be carried through loops.
  llvm::SmallVector<mlir::Value> take(const TileBuffer &buffer);
  void set(const TileBuffer &buffer, llvm::ArrayRef<mlir::Value> elements);
  mlir::Value elementOf(const RegisterArray &array,
                        llvm::ArrayRef<int64_t> local) const;

private:
  ThreadPositions &positions;
  TileEmitter &emitter;
  llvm::DenseMap<unsigned, RegisterArray> arrays;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_TILEREGISTERS_H
