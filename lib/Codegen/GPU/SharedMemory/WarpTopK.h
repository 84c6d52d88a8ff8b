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
  /// One of the elements that are selected from: an unsigned integer in their order, and its
  /// number in the row (i32); -1: none.
  struct Candidate {
    mlir::Value key, number;
  };
  Candidate nothing(mlir::Type key);
  mlir::Value goesBefore(const Candidate &a, const Candidate &c);
  Candidate pick(mlir::Value condition, const Candidate &a, const Candidate &c);
  llvm::SmallVector<Candidate> loadCandidates(Env &row,
                                              llvm::ArrayRef<Axis> over,
                                              mlir::Value start, int64_t most,
                                              int64_t whole);
  Candidate findBest(mlir::ValueRange held);
  Candidate findBestOfWarp(Candidate best);
  void sort(llvm::MutableArrayRef<Candidate> held);
  llvm::SmallVector<mlir::Value> takeFirst(mlir::ValueRange held,
                                           const Candidate &best);
  llvm::SmallVector<mlir::Value> letGo(mlir::ValueRange held,
                                       const Candidate &best);
  Candidate insert(llvm::ArrayRef<Candidate> held, Candidate mine);
  Candidate mergeTeam(Candidate mine);
  int64_t chooseTeam(std::optional<int64_t> rows, std::optional<int64_t> length,
                     int64_t warps) const;
  mlir::Value getRanks();
  unsigned getRankDim() const;
  void store(Env &row, llvm::ArrayRef<Axis> over, mlir::Value rank,
             mlir::Value exists, const Candidate &candidate);
  void takeInTurn(Env &row, llvm::ArrayRef<Axis> over, mlir::Value exists,
                  llvm::ArrayRef<Candidate> held);
  void emitRow(Env &row, llvm::ArrayRef<Axis> over, mlir::Value exists);

  /// Warps that share a row; the thread's warp among them, and its number in that.
  int64_t team = 1;
  mlir::Value share, lane;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_WARPTOPK_H
