//===- KernelPlanner.h - what later passes plan for a kernel ----*- C++ -*-===//
//
// Fusion decides what becomes one kernel before the passes that plan how it runs.
// A price alone does not know what those can do: a chain that no matrix instruction
// takes, or a fold that registers have no room for, is many times slower than its parts.
// So fusion asks, through an interface of the dialect that is registered by whoever
// knows the later passes (lib/Pipelines/KernelTrial.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_ANALYSIS_KERNELPLANNER_H
#define REDFUSE_ANALYSIS_KERNELPLANNER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectInterface.h"

namespace redfuse {

/// How the kernels of a program will run on a GPU.
enum class KernelPlan {
  /// Each by a generator that holds its tiles in registers or feeds matrix units.
  Fast,
  /// Threads multiply the matrices of some sum of products.
  ScalarProducts,
  /// The tiles of some kernel live in memory.
  TilesInMemory,
  /// A few blocks go through all of it, several times: parts of it alone might be split.
  FewBlocks,
};

/// Tries what later passes would plan.
class KernelPlannerInterface
    : public mlir::DialectInterface::Base<KernelPlannerInterface> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelPlannerInterface)
  KernelPlannerInterface(mlir::Dialect *dialect) : Base(dialect) {}

  /// The worst plan of the kernels that become of `module`, a program with
  /// `redfuse.target`, which is rewritten on the way. Fast where it cannot tell.
  virtual KernelPlan tryPlans(mlir::ModuleOp module) const = 0;
};

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_KERNELPLANNER_H
