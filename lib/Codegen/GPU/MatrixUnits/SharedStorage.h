//===- SharedStorage.h - the block's shared memory --------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_SHAREDSTORAGE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_SHAREDSTORAGE_H

#include "TilePipeline.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/ExchangeLayout.h"

namespace redfuse {

/// The parts of a block's shared memory, as the layout says, and the barriers that are
/// none of the ring's.
class SharedStorage : KernelPart {
public:
  SharedStorage(MatrixKernel &of, TilePipeline &pipeline)
      : KernelPart(of), pipeline(pipeline), states(of.plan, of.space) {}

  /// Finds where all of it is.
  void divide();
  void initBarriers();
  /// Fills rows of the ring's tiles that copies leave out with zeros; all threads do.
  void clearAbsentRows();

  /// The ring's memory, when all are done with it.
  mlir::Value getTiles() const { return tiles; }
  /// A left operand that stays.
  mlir::Value residentTile(const ProductTiles &product);
  /// Where the warp's part is of what results are stored from.
  mlir::Value stagedAddress(tile::SharedType type);
  /// Where states of other blocks come to, and the address of what counts them.
  mlir::Value getReceived() const { return received; }
  mlir::Value getReceivedCount() const { return receivedCount; }

  /// A word that one thread tells the others.
  mlir::Value controlWord();
  mlir::Value schedulerBarrier(bool isFull);
  mlir::Value residentBarrier(bool isFull);
  mlir::Value receivedBarrier();

private:
  TilePipeline &pipeline;
  StateLayout states;
  mlir::Value tiles, barriers, received, receivedCount;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_SHAREDSTORAGE_H
