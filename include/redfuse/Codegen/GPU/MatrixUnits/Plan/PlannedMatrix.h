//===- PlannedMatrix.h - how a kernel runs on matrix units ------*- C++ -*-===//
//
// What a generator follows: a plan that is complete, and where that puts what is in
// shared memory. It is chosen, by the cost model and as hints ask for it, or read
// from the attribute that a launch has.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_PLANNEDMATRIX_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_PLANNEDMATRIX_H

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/SharedLayout.h"

namespace redfuse {

struct PlannedMatrix {
  MatrixPlan plan;
  SharedLayout layout;
};

/// Chooses a plan for a chip with so many multiprocessors; none, and why, where matrix
/// units cannot run the kernel.
std::optional<PlannedMatrix> planMatrix(KernelOp kernel, LaunchOp launch,
                                        const KernelSpace &space,
                                        const MatrixTarget &target,
                                        int64_t units, std::string &why);

/// The plan that `record` says, which chooses nothing; none, and why, where that does
/// not fit the kernel or the chip.
std::optional<PlannedMatrix> readPlan(KernelOp kernel, LaunchOp launch,
                                      const KernelSpace &space,
                                      const MatrixTarget &target,
                                      MatrixPlanAttr record, std::string &why);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_PLANNEDMATRIX_H
