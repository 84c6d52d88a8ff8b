//===- TeamSort.h - sorting words in the registers of threads ---*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_SELECTION_TEAMSORT_H
#define REDFUSE_LIB_CODEGEN_GPU_SELECTION_TEAMSORT_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace redfuse {

/// The operations of a kernel that selects, by short names. Numbers of threads,
/// positions and ranks are i32.
struct SelectionOps {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value i32(int64_t value) const;
  mlir::Value index(mlir::Value v) const;
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value sub(mlir::Value x, mlir::Value y) const;
  mlir::Value mul(mlir::Value x, int64_t y) const;
  mlir::Value bitXor(mlir::Value x, mlir::Value y) const;
  mlir::Value bitAnd(mlir::Value x, mlir::Value y) const;
  mlir::Value less(mlir::Value x, mlir::Value y) const;
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) const;
  mlir::Value least(mlir::Value x, mlir::Value y) const;
  mlir::Value load(mlir::Value memory, mlir::Value at) const;
  void store(mlir::Value memory, mlir::Value at, mlir::Value v) const;
  void barrier() const;
  void when(mlir::Value condition, llvm::function_ref<void()> then) const;
  /// From `low` to `high` by `step`, all i32.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value low, mlir::Value high, mlir::Value step,
       mlir::ValueRange carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body) const;
};

/// A bitonic network in which every comparison puts the smaller word at the lower
/// place. A team of threads has `perThread` words each, those of a thread being
/// neighbours in the order. Threads of a warp exchange words by shuffles, others
/// through shared memory. All numbers are powers of 2.
class TeamSort {
public:
  /// `memory`: shared memory for `perThread` words of each of the block's `threads`,
  /// where a team is more than a warp.
  TeamSort(SelectionOps ops, int64_t warp, int64_t team, int64_t threads,
           mlir::Value thread, mlir::Value memory)
      : ops(ops), warp(warp), team(team), threads(threads), thread(thread),
        memory(memory) {}

  /// The words of all threads of a team in order.
  llvm::SmallVector<mlir::Value> sort(mlir::ValueRange words) const;

private:
  using Words = llvm::SmallVector<mlir::Value>;
  Words exchange(mlir::ValueRange words, mlir::Value mask, bool isFar) const;
  Words compareThreads(mlir::ValueRange words, mlir::Value mask,
                       bool isMirrored, bool isFar) const;
  Words compareOwn(mlir::ValueRange words, int64_t distance,
                   bool isMirrored) const;
  Words mergeOwn(mlir::ValueRange words, int64_t distance) const;
  Words mergeThreads(mlir::ValueRange words, mlir::Value from,
                     bool isFar) const;

  SelectionOps ops;
  int64_t warp, team, threads;
  mlir::Value thread, memory;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_SELECTION_TEAMSORT_H
