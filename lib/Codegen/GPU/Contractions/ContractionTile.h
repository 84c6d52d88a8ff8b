//===- ContractionTile.h - a block's tile of a sum --------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONTILE_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONTILE_H

#include "ContractionEmitter.h"
#include "WordMath.h"

namespace redfuse {

/// The tile of a block, and the place of a thread in it.
struct ContractionTile {
  OperandSide left, right;
  /// Where its batch is.
  Env origin;
  /// Shared memory as words, and the warp's number and lane (i32).
  mlir::Value words, warp, lane;
  /// Which slice of a stage the warp adds (i32), where there are several.
  mlir::Value slice;
  /// Where a lane reads of a warp's part for mma.sync: row number j of its own is 16 bytes
  /// there plus a constant of j, but for three bits that are xored with those of j.
  mlir::Value readPlace;
};

/// The part of the sum of a tile that a block adds.
struct SumShare {
  mlir::Value begin, end;
  /// It has whole stages.
  bool isWhole = false;
};

/// What the parts of a contraction's kernel have in common: what they emit for.
class ContractionPart : protected NestEmitter, protected WordMath {
protected:
  ContractionPart(ContractionEmitter &emitter, const ContractionTiling &tiling,
                  const ContractionTile &tile)
      : NestEmitter(emitter), WordMath(emitter), emitter(emitter),
        tiling(tiling), plan(tiling.plan), form(tiling.form), x(tiling.x),
        tile(tile), left(tile.left), right(tile.right), words(tile.words),
        warp(tile.warp), lane(tile.lane), thread(emitter.thread),
        threads(emitter.threads) {}

  mlir::Value constantIndex(int64_t value) {
    return emitter.constantIndex(value);
  }
  mlir::Value constant(mlir::TypedAttr value) {
    return emitter.constant(value);
  }

  ContractionEmitter &emitter;
  const ContractionTiling &tiling;
  const ContractionPlanAttr plan;
  const MatrixForm &form;
  const MatrixInstruction &x;
  const ContractionTile &tile;
  const OperandSide &left, &right;
  const mlir::Value words, warp, lane, thread;
  const unsigned threads;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONTILE_H
