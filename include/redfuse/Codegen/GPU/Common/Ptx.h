//===- Ptx.h - builders for kernels on matrix units -------------*- C++ -*-===//
//
// Short names for the ops of the tile dialect, and for a few instructions on
// single elements that no dialect has.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_COMMON_PTX_H
#define REDFUSE_CODEGEN_GPU_COMMON_PTX_H

#include "redfuse/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace redfuse {

class Ptx {
public:
  Ptx(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y);
  mlir::Value mul(mlir::Value x, int64_t y);

  // Barriers ------------------------------------------------------------------
  mlir::Value barrierAt(mlir::Value address);
  void initBarrier(mlir::Value barrier, int64_t count);
  void fenceBarriers();
  /// Waits until the phase of that parity is over.
  void wait(mlir::Value barrier, mlir::Value parity);
  /// One arrival of a warp, by its lane 0.
  void arrive(mlir::Value barrier, mlir::Value lane);
  /// One arrival of a warp at the same barrier of each of that many blocks: of the one of
  /// this rank in the cluster, and of those whose ranks differ from it by less.
  void arriveInCluster(mlir::Value barrier, mlir::Value lane, mlir::Value rank,
                       int64_t blocks);
  /// One arrival of this thread that announces bytes.
  void expect(mlir::Value barrier, int64_t bytes);

  /// All threads of that many of the block, by a barrier of that number.
  void synchronize(int64_t barrier, int64_t threads);
  /// All threads of all blocks of the cluster; what they stored can be read.
  void synchronizeCluster();
  /// Waits until what was read of other blocks is in registers.
  void finishReads(mlir::ValueRange words);
  /// The last synchronisation of a cluster's blocks: none ends while others read its
  /// memory. By all threads: first where they have read, behind finishReads, then at
  /// the end. It orders nothing, so that it does not wait for what was stored.
  void startLeaving();
  void leaveCluster();

  // Shared memory -------------------------------------------------------------
  void storePair(mlir::Value address, int64_t offset, mlir::Value x,
                 mlir::Value y);
  void storeWord(mlir::Value address, mlir::Value word);
  mlir::Value loadWord(mlir::Value address);
  /// The address of the same place in a block of the cluster.
  mlir::Value addressIn(mlir::Value address, mlir::OpFoldResult block);
  /// Two or four f32 to an address of any block of the cluster, whose `barrier` counts
  /// the bytes; goes on meanwhile.
  void send(mlir::Value address, int64_t offset, mlir::Value barrier,
            llvm::ArrayRef<mlir::Value> words);
  /// Two f32 at an address of any block of the cluster, or of the block's own memory.
  llvm::SmallVector<mlir::Value> loadPair(mlir::Value address, int64_t offset,
                                          bool isOwn = false);

  // Products ------------------------------------------------------------------
  /// Starts a product (tile.multiply) of as many columns over `sum` elements,
  /// added to `accumulators` if there are any.
  struct Factor {
    /// A tile in shared memory, or a left operand in registers.
    mlir::Value value;
    bool isByRows = false;
    /// Which of the left one's rows: this many times those of the result on.
    mlir::Value part = {};
  };
  mlir::Value multiply(int64_t columns, int64_t sum, mlir::Value accumulators,
                       Factor left, Factor right, int64_t rows = 64);
  /// Elements as accumulators.
  mlir::Value accumulate(mlir::ValueRange elements, int64_t rows = 64);
  /// Waits until at most `pending` products run; `alive` are operands that those
  /// read whose accumulators become elements.
  llvm::SmallVector<mlir::Value> waitProducts(int64_t pending,
                                              mlir::ValueRange accumulators,
                                              mlir::ValueRange alive = {});
  /// What all lanes of the warp have loaded into registers (words, or operands) is
  /// there.
  llvm::SmallVector<mlir::Value> settle(mlir::ValueRange values);

  // Scalars -------------------------------------------------------------------
  mlir::Value exp2(mlir::Value x);
  /// (log2(x) + kCoarseLog2Bias) / kCoarseLog2Unit, 0.09 less at most, of x >= 0: its
  /// bits as a number. Leaves the unit alone that makes exponentials.
  static constexpr float kCoarseLog2Unit = 0x1p-15, kCoarseLog2Bias = 127 + 256;
  mlir::Value coarseLog2(mlir::Value x);
  /// x * by + from, but 0 at least (also of what is no number) and 1 at most.
  mlir::Value saturatedFma(mlir::Value x, mlir::Value by, mlir::Value from);
  /// An i32 from 0 to 2^23 as f32, without the unit that converts, which makes exponentials.
  mlir::Value toFloat(mlir::Value count);
  /// x / y with an error of at most two units in the last place.
  mlir::Value divide(mlir::Value x, mlir::Value y);
  /// Two f32 as one register of two 16-bit floats.
  mlir::Value pack(mlir::Type element, mlir::Value low, mlir::Value high);
  /// The thread's number in its warp, read here and now: what is made of it is not
  /// kept in registers from before.
  mlir::Value readLane();
  mlir::Value shuffleXor(mlir::Value value, int64_t mask);
  /// Whether it is true for any thread of the warp.
  mlir::Value isAny(mlir::Value condition);
  /// The value of the warp's first thread.
  mlir::Value first(mlir::Value value);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_COMMON_PTX_H
