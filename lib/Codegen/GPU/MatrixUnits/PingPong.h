//===- PingPong.h - two warpgroups in turns ---------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PINGPONG_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PINGPONG_H

#include "MatrixKernel.h"

namespace redfuse {

/// Two warpgroups take turns: one starts its products when those of the other are
/// made, and computes while the other multiplies. Without, they would as well do the
/// same at the same time. Both have the same steps, and every turn that is passed is
/// taken, the last one after all tiles.
class PingPong : KernelPart {
public:
  explicit PingPong(MatrixKernel &of) : KernelPart(of) {}

  bool isUsed() const;
  void takeTurn();
  void passTurn();
  /// The first turn is passed before all tiles, and the last one taken after them.
  void around(llvm::function_ref<void()> body);

private:
  /// The numbered barriers of turns; those before are gpu.barrier's and ours.
  static constexpr int64_t kFirstTurn = 2;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PINGPONG_H
