//===- ThreadExchange.h - what threads combine with each other --*- C++ -*-===//
//
// Threads of a warp exchange by shuffles, those of a block through shared memory.
// In a cluster, threads that differ in the block exchange by storing to the
// shared memory of each block: all have read what was there before, as a barrier
// of the cluster stands between two exchanges in the same place, and none has
// ended, as one stands behind every exchange.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_THREADEXCHANGE_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_THREADEXCHANGE_H

#include "ThreadPositions.h"

#include "redfuse/Codegen/GPU/SharedMemory/SharedWords.h"

#include <functional>

namespace redfuse {

/// Combines what threads have, and makes the barriers that this takes.
class ThreadExchange {
public:
  using Parts = SharedWords::Parts;
  using Combine =
      llvm::function_ref<void(Parts &, llvm::ArrayRef<mlir::Value>)>;
  using CombineLanes = llvm::function_ref<void(Parts &, unsigned)>;

  ThreadExchange(mlir::OpBuilder &b, mlir::Location loc,
                 const RegisterLayout &layout, ThreadPositions &positions,
                 SharedWords &words, TileEmitter &emitter)
      : b(b), loc(loc), layout(layout), positions(positions), words(words),
        emitter(emitter) {}

  /// Combines `parts` of the threads that differ in `bits` alone; all of them have
  /// the result, or (`isForFirst`) the first one has. `combineLanes`: a way of its own
  /// for threads of a warp.
  void combineAcross(Parts &parts, unsigned bits, Combine combine,
                     CombineLanes combineLanes = {}, bool isForFirst = false);
  /// Makes of the parts of each of some threads, which differ in `bits` of their
  /// numbers in a warp alone, what all of them have combined in their order, and
  /// returns what those before this one have; of the first, anything.
  Parts combineInOrder(Parts &parts, unsigned bits, Combine combine);
  /// `count` parts of a warp, as many times that number behind `first` as `piece` says.
  using PartsOfWarp = std::function<Parts(mlir::Value warp, mlir::Value piece,
                                          size_t first, size_t count)>;
  /// Hands `parts` to all warps that differ in `bits`; the result reads those of each,
  /// in the order of their numbers, where it is called.
  PartsOfWarp gatherWarps(const Parts &parts, unsigned bits);
  /// The i32 that the first thread has.
  mlir::Value shareWord(mlir::Value word);
  /// What another lane (i32) has.
  mlir::Value takeFrom(mlir::Value part, mlir::Value lane);

  /// Of the block, or of the cluster: also where only threads of a block have
  /// exchanged, as the next ones to write there may be others.
  void barrier();
  /// Called once each, before and behind the next barrier.
  void aroundNextBarrier(std::function<void()> before,
                         std::function<void()> behind);
  /// In a cluster: says that this block runs, and waits until all do.
  void startCluster();
  void awaitCluster();

  /// Whether threads have exchanged something through shared memory since the
  /// last call; then nothing may be exchanged before a barrier.
  bool takeExchanged() { return std::exchange(hasExchanged, false); }
  /// Exchanges through shared memory so far, and the bytes that they take of it.
  unsigned getCount() const { return count; }
  int64_t getBytes() const { return bytes; }

private:
  class Round;
  void sendWords(mlir::ValueRange parts, mlir::Value place, int64_t places,
                 mlir::Value block);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const RegisterLayout &layout;
  ThreadPositions &positions;
  SharedWords &words;
  TileEmitter &emitter;
  std::function<void()> beforeBarrier, behindBarrier;
  unsigned count = 0;
  int64_t bytes = 0, used = 0;
  bool hasExchanged = false;
  /// Whether blocks of the cluster may still have to start.
  bool isStarting = false;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_THREADEXCHANGE_H
