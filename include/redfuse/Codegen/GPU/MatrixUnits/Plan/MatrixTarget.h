//===- MatrixTarget.h - what matrix units are like --------------*- C++ -*-===//
//
// As far as the form of a kernel depends on it. What the fragments of products are
// does not: they are the same for all targets here.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXTARGET_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXTARGET_H

#include "redfuse/Support/Chips.h"

#include <optional>

namespace redfuse {

struct MatrixTarget {
  /// Four warps multiply together while they go on; one more warp copies tiles by
  /// tensor maps, barriers in shared memory say when. Otherwise all warps copy, and
  /// each multiplies by itself.
  bool hasWgmma = false;
  /// Shared memory of a block for tiles of matrices, and of one of two blocks on a
  /// multiprocessor.
  int64_t sharedBytes = 0, halfBytes = 0;
  /// 32-bit registers a thread may have for fragments.
  int64_t fragmentRegisters = 0;
  /// Multiply-adds of 16-bit floats that a multiprocessor does in a cycle.
  double productsOfCycle = 0;
  /// Kernels start while the one before still runs, and wait for it themselves.
  bool overlapsLaunches = false;

  /// Warps in front of those that multiply.
  int64_t loaderWarps() const { return hasWgmma ? 4 : 0; }
};

/// Of an architecture, if one is known and there is a generator for its matrix units.
std::optional<MatrixTarget> findMatrixTarget(const Chip *chip);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXTARGET_H
