//===- Ways.h - the ways to select, each with its kernels -------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_SELECTION_WAYS_H
#define REDFUSE_LIB_CODEGEN_GPU_SELECTION_WAYS_H

#include "RowKernel.h"

namespace redfuse {

/// How the threads of a block share rows that they sort: numbers are powers of 2.
struct SortShape {
  /// Words of a row with those that fill it up, those of a thread, threads of a row.
  int64_t words, perThread, team;
  /// Threads of a block.
  int64_t threads;

  int64_t rowsOfBlock() const { return threads / team; }
  /// Bytes of shared memory.
  int64_t sharedBytes(int64_t bytesOfWord) const {
    return perThread == 1 && team <= 32
               ? 0
               : threads * (perThread + 1) * bytesOfWord;
  }
};

/// For rows of up to `length` elements.
SortShape shapeSort(int64_t length, int64_t bytesOfWord, int64_t warp);

/// Which threshold a block finds, and with what.
struct FindShape {
  /// Ranks that must be found.
  int64_t ranks;
  int64_t threads;
  /// Words that each thread keeps, and that the block has room for.
  int64_t kept, room;

  int64_t sharedBytes(int64_t bytesOfWord) const {
    return room * bytesOfWord + 32;
  }
};

FindShape shapeFind(int64_t ranks, std::optional<int64_t> length);

void generateSortRows(SelectOp op, const OrderedWords &words,
                      const SelectionLimits &limits,
                      mlir::gpu::GPUModuleOp device, llvm::StringRef name);
void generateFindBest(SelectOp op, const OrderedWords &words,
                      const SelectionLimits &limits,
                      mlir::gpu::GPUModuleOp device, llvm::StringRef name);
void generateMergeRuns(SelectOp op, const OrderedWords &words,
                       const SelectionLimits &limits,
                       mlir::gpu::GPUModuleOp device, llvm::StringRef name);

/// A team's words of a row: element `start` + its thread's number, and every `team`-th
/// behind it; what goes behind all words where the row has no more.
llvm::SmallVector<mlir::Value> loadRow(RowKernel &kernel,
                                       const SortShape &shape,
                                       llvm::ArrayRef<mlir::Value> row,
                                       mlir::Value start, mlir::Value lane,
                                       std::optional<int64_t> knownLength);

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_SELECTION_WAYS_H
