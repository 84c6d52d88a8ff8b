//===- WarpTopK.h - the largest elements of a row by a warp -----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_WARPTOPK_H
#define REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_WARPTOPK_H

#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"

namespace redfuse {

/// Emits a nest that keeps the largest elements of rows: each row is a warp's.
class WarpTopK : NestEmitter {
public:
  using NestEmitter::NestEmitter;

  /// Whether the lanes of a warp can hold a row, or as many elements as are kept.
  bool canEmit() const;
  void emit();

private:
  /// One of the elements that are selected from; number -1: none.
  struct Candidate {
    mlir::Value value, index, number;
  };
  llvm::SmallVector<Candidate> loadCandidates(Env &row,
                                              llvm::ArrayRef<Axis> over,
                                              mlir::Value start, int64_t most,
                                              int64_t whole);
  Candidate takeBest(llvm::ArrayRef<Candidate> held,
                     llvm::SmallVectorImpl<mlir::Value> &left);
  void emitRow(Env &row, llvm::ArrayRef<Axis> over, mlir::Value lane,
               mlir::Value exists);
  mlir::Value goesBefore(const Candidate &a, const Candidate &c);
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_WARPTOPK_H
