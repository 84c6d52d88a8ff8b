//===- RegisterLayout.h - how tiles are dealt out to threads ----*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_REGISTERS_REGISTERLAYOUT_H
#define REDFUSE_CODEGEN_GPU_REGISTERS_REGISTERLAYOUT_H

#include "mlir/IR/AffineMap.h"

#include "llvm/ADT/SmallVector.h"

namespace redfuse {

/// How the positions of one dim of a tile are dealt out: position
/// (r * threads + t) * lanes + l belongs to thread t, as lane l of its r-th
/// vector. The number of the thread along the dim is a field of the bits of its
/// number in the block; dims that no value has together may share bits. `run` vectors
/// of a thread are neighbours: its r-th is ((r / run) * threads + t) * run + r % run.
struct DimShare {
  int64_t lanes = 1, repeats = 1, threads = 1;
  unsigned bit = 0;
  int64_t run = 1;

  int64_t getSpan() const { return lanes * repeats * threads; }
  /// Neighbouring positions that a thread has; whole pieces of a tile are of so many.
  int64_t getPiece() const { return lanes * run; }
  unsigned getBits() const { return unsigned(threads - 1) << bit; }
};

/// An input of which a block's part is copied into shared memory, by the threads
/// that read it: one that several programs walk; or, where blocks walk tiles of the
/// grid in a loop, what all tiles read, and the next tile's part.
/// Also one of which the cache is asked for a part.
struct KeptInput {
  /// The number of the argument, and where the programs read it.
  unsigned argument;
  mlir::AffineMap map;
  int64_t bytes;
};

/// One layout for all values of a kernel: a value has the positions of its dims,
/// and every thread along another dim has a copy of it.
struct RegisterLayout {
  llvm::SmallVector<DimShare> dims;
  unsigned threads = 32, lanes = 1;
  /// Threads of a warp or wave; a block has whole ones.
  unsigned warp = 32;
  /// Blocks that share a tile of the grid: `threads` are theirs together, numbered
  /// block after block.
  unsigned cluster = 1;
  unsigned getThreadsOfBlock() const { return threads / cluster; }
  /// Blocks that a multiprocessor should run at a time at least; 0: any number.
  unsigned leastBlocksPerUnit = 0;
  /// Shared memory that a launch asks for at least.
  int64_t leastSharedBytes = 0;
  llvm::SmallVector<KeptInput> kept;
  /// Arguments that go past the first-level cache, as others are to stay there.
  llvm::SmallVector<unsigned> movedOnce;
  /// What all blocks read is loaded where it is used: it is near.
  bool loadsSharedLate = false;
  /// ... but before threads exchange what they have reduced for the last time: it
  /// is under way meanwhile.
  bool loadsSharedBeforeExchange = false;
  /// Blocks walk tiles of the grid in a loop, that many of them on a
  /// multiprocessor: the next tile is loaded before this one is computed.
  unsigned loopingBlocks = 0;
  /// Inputs of whose tiles a block asks the second-level cache for that many bytes
  /// before it waits for the kernel before it.
  llvm::SmallVector<KeptInput> ahead;
  /// The first so many tiles alone; 0: all.
  int64_t aheadTiles = 0;
  /// The next kernel starts when this one has read all: what it asked that cache for
  /// before would be gone when it needs it. Without a fold, when this one ends.
  bool startsNextLate = false;
  /// Of what a block that walks tiles by way of shared memory asks that cache for the
  /// tile after the next.
  llvm::SmallVector<KeptInput> following;
  /// Short floats stay as they were loaded from one nest of ops to the next, and
  /// are extended again for each.
  bool staysPacked = false;
  /// What a step reads is all under way before anything is computed: the assembler
  /// would load what is needed last when it is needed, to save registers.
  bool awaitsLoads = false;
  /// Nests of ops read again what those before them have read: it is in the
  /// first-level cache.
  bool readsAgain = false;
  /// Loads can tell the caches what to keep.
  bool hasPolicies = false;
  /// What a step of a loop reads is loaded before the one before it is computed.
  bool loadsStepsAhead = false;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_REGISTERS_REGISTERLAYOUT_H
