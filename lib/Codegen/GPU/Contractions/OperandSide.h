//===- OperandSide.h - an operand's tile ------------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_OPERANDSIDE_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_OPERANDSIDE_H

#include "ContractionTiling.h"

#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"

namespace redfuse {

/// The rows of an operand's tile: of the right operand the columns.
struct OperandSide {
  mlir::Value factor;
  MatrixElement element;
  bool isSigned = true;
  PointNumbering::Axes axes;
  /// Rows of the block's tile, and of a warp's.
  int64_t rows = 0, warpRows = 0;
  /// Parts of a warp's rows, and the neighbours that each has.
  int64_t parts = 8, count = 1;
  /// Where its slabs begin in a stage.
  int64_t start = 0;
  /// The first row, and the first row of this warp in the tile (i32).
  mlir::Value first, warp;
  /// All rows of all tiles exist.
  bool isWhole = false;
  /// How threads share it: elements of one access, along rows or sums, and their dim.
  int64_t width = 1;
  bool isAlongRows = false;
  unsigned accessDim = 0;
  /// What the factor is computed from, in body order, and the arguments alone.
  llvm::SmallVector<mlir::Value> cone, loaded;
  /// What says that an element is not padding, if it is copied, and its cone.
  CopiedOperand copied;
  llvm::SmallVector<mlir::Value> insideCone;
  /// All rows of a sum are together in shared memory.
  bool isBySums = false;
  /// Lanes compute what they multiply of it, which no other warp reads: it is not in
  /// shared memory.
  bool isDirect = false;
  /// Elements for the two codes of a byte are neighbours in memory: a thread loads both
  /// and sorts them.
  bool isPaired = false;

  /// Accesses of all threads that bring a stage's part of it: 16 bytes of `width` rows
  /// or of one.
  int64_t countUnits(int64_t slabs) const {
    return rows * 4 * slabs / (isAlongRows ? width : isPaired ? 2 : 1);
  }
};

class ContractionEmitter;

/// The tile of the left operand, or of the right one, but for what threads do.
OperandSide makeSide(ContractionEmitter &emitter,
                     const ContractionTiling &tiling, bool isLeft);
/// How threads share it, by the largest argument that it is computed from; `innerSum`
/// is the innermost dim of the sum.
void chooseAccess(OperandSide &side, ContractionEmitter &emitter,
                  const ContractionTiling &tiling, unsigned innerSum);
/// Whether it is what is in memory, where the elements for the two codes of a byte are
/// neighbours: dim `codes`, beside the innermost one.
bool isInPairs(const OperandSide &side, const ContractionEmitter &emitter,
               const ContractionTiling &tiling, unsigned codes,
               unsigned innerSum);

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_OPERANDSIDE_H
