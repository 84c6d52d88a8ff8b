//===- RegisterTile.h - contractions by vectors -----------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_COMMON_REGISTERTILE_H
#define REDFUSE_CODEGEN_COMMON_REGISTERTILE_H

#include "redfuse/Codegen/Common/TileEmitter.h"

namespace redfuse {

/// Emits a tile of a contraction's result that one thread holds in registers, some
/// rows of some vectors.
class RegisterTile {
public:
  explicit RegisterTile(TileEmitter &emitter)
      : emitter(emitter), b(emitter.getBuilder()), loc(emitter.getLoc()) {}

  /// `env` is bound to the first row and the first vector of the tile.
  void emit(Env env, unsigned rows, unsigned vectors);

private:
  TileEmitter &emitter;
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_COMMON_REGISTERTILE_H
