//===- ConvertToROCDL.cpp - the gpu dialect for a target's chip -----------===//
#include "DeviceLibraries.h"

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

/// A call that upstream's conversion does not take for one of a library's function.
static void callIntrinsic(Operation *op, StringRef name) {
  OpBuilder b(op);
  auto call =
      LLVM::CallIntrinsicOp::create(b, op->getLoc(), op->getResult(0).getType(),
                                    b.getStringAttr(name), op->getOperands());
  op->replaceAllUsesWith(call->getResults());
  op->erase();
}

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
    // Upstream's conversion leaves these to ROCm's libraries, and only says that it
    // failed. Roundings to integers are instructions.
    bool isLowered = true;
    getOperation()->walk([&](Operation *op) {
      // LLVM has code for these.
      if (isa<LLVM::ExpOp, LLVM::LogOp>(op) &&
          op->getResult(0).getType().isF32())
        return;
      if (isa<LLVM::FFloorOp>(op))
        callIntrinsic(op, "llvm.floor");
      else if (isa<LLVM::FCeilOp>(op))
        callIntrinsic(op, "llvm.ceil");
      else if (isa<LLVM::SinOp, LLVM::CosOp, LLVM::ExpOp, LLVM::Exp2Op,
                   LLVM::LogOp, LLVM::Log2Op, LLVM::Log10Op, LLVM::PowOp,
                   LLVM::FRemOp, math::SinOp, math::CosOp>(op))
        isLowered &= succeeded(reportMissingFunction(
            op, op->getName().getStringRef(), op->getResult(0).getType()));
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
