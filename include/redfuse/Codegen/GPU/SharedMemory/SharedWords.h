//===- SharedWords.h - values of threads as words ---------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_SHAREDMEMORY_SHAREDWORDS_H
#define REDFUSE_CODEGEN_GPU_SHAREDMEMORY_SHAREDWORDS_H

#include "redfuse/Codegen/Common/TileEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace redfuse {

/// Shared memory of a block that is laid out while its kernel is made.
mlir::MemRefType sharedMemoryOf(mlir::Type element);

/// The scalars that a value consists of: those of a vector, or itself.
llvm::SmallVector<mlir::Value> scalarsOf(mlir::OpBuilder &b, mlir::Location loc,
                                         mlir::Value v);

/// Values of any type as words of 32 bits, by which threads exchange them: by shuffles
/// in a warp, and through shared memory elsewhere.
class SharedWords {
public:
  using Parts = llvm::SmallVector<mlir::Value>;

  SharedWords(mlir::OpBuilder &b, mlir::Location loc, TileEmitter &emitter,
              unsigned warpSize)
      : b(b), loc(loc), emitter(emitter), warpSize(warpSize) {}

  static int64_t count(mlir::TypeRange types);
  llvm::SmallVector<mlir::Value> toWords(mlir::ValueRange parts);
  Parts fromWords(mlir::TypeRange types, llvm::ArrayRef<mlir::Value> words);
  /// What the threads have whose numbers differ in that bit.
  Parts shuffle(mlir::ValueRange parts, unsigned distance);
  /// What the thread of that number in the warp (index) has.
  Parts shuffleFrom(mlir::ValueRange parts, mlir::Value lane);
  /// Word w of place p is at w * places + p, so that neighbouring places are in
  /// different banks.
  void store(mlir::ValueRange parts, mlir::Value place, int64_t places);
  Parts load(mlir::TypeRange types, mlir::Value place, int64_t places);

  /// Shared memory as words, and the byte at which places start.
  mlir::Value memory;
  int64_t offset = 0;
  /// Bytes from there on that have been stored to.
  int64_t bytes = 0;

private:
  Parts exchange(mlir::ValueRange parts, mlir::Value with,
                 mlir::gpu::ShuffleMode mode);

  mlir::OpBuilder &b;
  mlir::Location loc;
  /// Makes constants.
  TileEmitter &emitter;
  /// Threads of a warp or wave: those that shuffles reach.
  unsigned warpSize;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_SHAREDMEMORY_SHAREDWORDS_H
