//===- ConvertToROCDL.cpp - the gpu dialect for a target's chip -----------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"

namespace redfuse {
#define GEN_PASS_DEF_CONVERTTOROCDL
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
struct ConvertToROCDL
    : public redfuse::impl::ConvertToROCDLBase<ConvertToROCDL> {
  using ConvertToROCDLBase::ConvertToROCDLBase;

  // Those of the pass that it runs.
  void getDependentDialects(DialectRegistry &registry) const override {
    createConvertGpuOpsToROCDLOps()->getDependentDialects(registry);
  }

  void runOnOperation() override {
    FailureOr<const Chip *> chip = requireChip(getOperation());
    if (failed(chip))
      return signalPassFailure();
    // Upstream's conversion leaves these to ROCm's libraries, and only says that it failed.
    bool isLowered = true;
    getOperation()->walk([&](Operation *op) {
      if (!isa<LLVM::SinOp, LLVM::CosOp, math::SinOp, math::CosOp>(op))
        return;
      op->emitError() << op->getName() << " of " << op->getResult(0).getType()
                      << " has no lowering without ROCm's device libraries; "
                         "compute it for another target";
      isLowered = false;
    });
    if (!isLowered)
      return signalPassFailure();
    ConvertGpuOpsToROCDLOpsOptions options;
    options.chipset = (*chip)->name.str();
    options.runtime = gpu::amd::Runtime::HIP;
    OpPassManager pm(gpu::GPUModuleOp::getOperationName());
    pm.addPass(createConvertGpuOpsToROCDLOps(options));
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }
};
} // namespace
