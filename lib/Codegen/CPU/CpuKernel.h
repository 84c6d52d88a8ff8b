//===- CpuKernel.h - the function of a kernel on a CPU ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_CPU_CPUKERNEL_H
#define REDFUSE_LIB_CODEGEN_CPU_CPUKERNEL_H

#include "CpuEmitter.h"
#include "redfuse/Codegen/Common/KernelGenerator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace redfuse {

/// Generates the function of one kernel: what it does for each block of a range.
class CpuKernelGenerator : public KernelGenerator {
public:
  using KernelGenerator::KernelGenerator;
  /// Elements of a row are combined one after the other where each prefix is a result,
  /// and what a mask leaves out is computed all the same.
  CpuKernelGenerator &keepOrder(bool isStrict) {
    keepsOrder = isStrict;
    leavesOutMasked = !isStrict;
    return *this;
  }
  mlir::FailureOr<mlir::func::FuncOp> run();

protected:
  virtual mlir::LogicalResult analyse();
  virtual std::unique_ptr<CpuEmitter> makeEmitter();
  /// Reserves scratch for every tile of the kernel and cuts it.
  virtual void makeBuffers();
  virtual mlir::LogicalResult runBlock(mlir::Value block) {
    return emitBlock(block);
  }
  /// So many bytes of this thread's scratch.
  mlir::Value reserveScratch(mlir::Value bytes);

private:
  bool keepsOrder = false;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_CPU_CPUKERNEL_H
