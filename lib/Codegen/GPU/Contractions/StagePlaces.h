//===- StagePlaces.h - where a stage has what -------------------*- C++ -*-===//
//
// A stage is swizzled, so that accesses have no bank conflicts. What it has of a row is
// a slab of 64 bytes, or several; two slabs make a line of 128 bytes, all banks once. The
// half of a line, and which 16 bytes of it, are xored with bits of the row's number, so
// the eight lanes that are served at once use different banks, whichever rows they have.
// What is copied of neighbouring rows is stored by sums instead: all rows of one sum, then
// those of the next, the number of a row xored with bits of the sum's number.
//
// Units of warpgroups read rows of 128 bytes as they want them.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_STAGEPLACES_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_STAGEPLACES_H

#include "ContractionTile.h"

namespace redfuse {

/// Where threads store what they bring to a stage, and lanes read it (words, i32).
class StagePlaces : ContractionPart {
public:
  StagePlaces(ContractionEmitter &emitter, const ContractionTiling &tiling,
              const ContractionTile &tile)
      : ContractionPart(emitter, tiling, tile) {}

  /// The first word of a step's stage.
  mlir::Value stageOf(mlir::Value step);
  /// The word in a stage where 16 bytes of a row of the tile are.
  mlir::Value placeOf(const OperandSide &side, mlir::Value row,
                      mlir::Value vector);
  /// The word where it has one sum of a row: of 16 bytes, the one of that number.
  mlir::Value placeOfSum(const OperandSide &side, mlir::Value row,
                         mlir::Value vector, int64_t sum);
  /// What the numbers of rows are xored with where all rows of a sum are together: lanes
  /// that read at once, 16 bytes each, have different `part`s (of four) of a slab's sums.
  mlir::Value swizzleOf(const OperandSide &side, mlir::Value part);
  /// The address of shared memory.
  mlir::Value address();
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_STAGEPLACES_H
