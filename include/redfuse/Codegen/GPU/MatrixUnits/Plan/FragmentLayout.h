//===- FragmentLayout.h - which elements a thread has -----------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_FRAGMENTLAYOUT_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_FRAGMENTLAYOUT_H

namespace redfuse {

/// Which elements of a matrix a thread has: one row, two or four (32 / lanes apart),
/// and of every 2 * lanes columns two neighbours.
struct FragmentLayout {
  unsigned rows = 2, lanes = 4;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_FRAGMENTLAYOUT_H
