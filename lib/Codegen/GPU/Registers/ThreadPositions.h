//===- ThreadPositions.h - the positions that a thread has ------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_THREADPOSITIONS_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_THREADPOSITIONS_H

#include "redfuse/Codegen/Common/TileEmitter.h"
#include "redfuse/Codegen/GPU/Registers/RegisterLayout.h"

namespace redfuse {

/// Which positions of each dim a thread has, by the bits of its number, and which of
/// them exist.
class ThreadPositions {
public:
  ThreadPositions(mlir::OpBuilder &b, mlir::Location loc,
                  const RegisterLayout &layout,
                  llvm::MutableArrayRef<SpaceDim> dims, TileEmitter &emitter)
      : b(b), loc(loc), layout(layout), dims(dims), emitter(emitter) {}

  /// The number of this thread among those of a tile.
  void setThread(mlir::Value number) { thread = number; }
  /// i32, the same, and in its warp.
  mlir::Value getThreadWord();
  mlir::Value getLane();
  mlir::Value isFirstThread() { return isFirstOf(layout.threads - 1); }
  /// Whether the thread is the first of those that differ in `bits`.
  mlir::Value isFirstOf(unsigned bits);
  mlir::Value word(int64_t value);
  /// The bits of a word that `mask` has, side by side; the reverse: the low bits of
  /// a word at the places of `mask`.
  mlir::Value compress(mlir::Value word, unsigned mask);
  mlir::Value deposit(mlir::Value word, unsigned mask);

  /// Every thread has a state of its own along these dims: reductions along them
  /// stay in a thread. Other dims may have the same bits of the thread's number.
  void setPrivate(llvm::ArrayRef<int64_t> ofDims);
  unsigned getPrivateBits() const { return privateBits; }
  /// The number of this thread among those with states of their own.
  mlir::Value getPrivateNumber();
  /// Of dims that are reduced, the bits of threads that combine.
  unsigned getCombinedBits(llvm::ArrayRef<unsigned> over) const;

  std::optional<unsigned> laneDimOf(llvm::ArrayRef<unsigned> ofDims) const;
  unsigned getBits(llvm::ArrayRef<unsigned> ofDims) const;
  /// The elements that a thread has of a value, and the number of one of them.
  int64_t countElements(llvm::ArrayRef<unsigned> ofDims) const;
  int64_t indexOf(llvm::ArrayRef<unsigned> ofDims,
                  llvm::ArrayRef<int64_t> local) const;
  /// Calls `body` with the number of each element of some dims, along all dims.
  void forElements(llvm::ArrayRef<unsigned> ofDims,
                   llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);

  /// A point of no dims.
  Env getOrigin() const;
  /// Runs `body` at all points of `ofDims` that this thread has.
  void forPoints(const Env &from, llvm::ArrayRef<unsigned> ofDims,
                 llvm::function_ref<void(Env &)> body);
  /// Whether the point exists, as far as it depends on `ofDims`; null if it does.
  mlir::Value maskOf(const Env &env, llvm::ArrayRef<unsigned> ofDims);
  /// Whether some thread has positions beyond the end of the tile.
  bool hasBeyond(unsigned dim) const;
  /// The first position of this thread along a dim; from here on another value that is
  /// the same.
  mlir::Value getStart(unsigned dim);
  void setStart(unsigned dim, mlir::Value start) { starts[dim] = start; }

  /// Moves to this thread's `repeat`-th vector along a dim.
  void bind(Env &env, unsigned dim, int64_t repeat);

private:
  int64_t getWhole(unsigned dim) const;
  int64_t startInRun(unsigned dim, int64_t repeat) const;
  mlir::Value startOfWhole(unsigned dim, int64_t repeat);
  bool isBeyond(unsigned dim, int64_t repeat) const;
  mlir::Value maskOf(unsigned dim, int64_t repeat);
  mlir::Value moveBits(mlir::Value word, unsigned mask, bool isCompressed);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const RegisterLayout &layout;
  llvm::MutableArrayRef<SpaceDim> dims;
  TileEmitter &emitter;
  mlir::Value thread, threadWord;
  llvm::DenseMap<unsigned, mlir::Value> starts, firsts;
  llvm::SmallVector<unsigned> privateDims;
  unsigned privateBits = 0;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_THREADPOSITIONS_H
