//===- WordMath.h - places in shared memory ---------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_WORDMATH_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_WORDMATH_H

#include "redfuse/Codegen/Common/TileEmitter.h"

namespace redfuse {

/// Emits whole numbers of 32 bits, which places in shared memory and in tiles are.
class WordMath {
public:
  explicit WordMath(TileEmitter &emitter) : constants(emitter) {}

  mlir::Value i32(int64_t value);
  mlir::Value asWord(mlir::Value v);
  mlir::Value asIndex(mlir::Value v);
  mlir::Value add(mlir::Value v, mlir::Value w);
  /// (v >> shift & mask) << left.
  mlir::Value bits(mlir::Value v, int64_t shift, int64_t mask, int64_t left);
  /// Stores one f32, or two neighbours, `at` a word of shared memory (even for two).
  void storeFloats(mlir::Value words, mlir::Value at,
                   llvm::ArrayRef<mlir::Value> floats);

private:
  TileEmitter &constants;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_WORDMATH_H
