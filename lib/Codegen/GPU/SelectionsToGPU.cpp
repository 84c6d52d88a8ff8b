//===- SelectionsToGPU.cpp - redfuse.select to kernels --------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/GPU/Common/DeviceModule.h"
#include "redfuse/Codegen/GPU/Selection/Selection.h"
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace redfuse {
#define GEN_PASS_DEF_SELECTIONSTOGPU
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Whether there is nothing to select, or nothing to select from.
static bool isEmpty(SelectOp op) {
  return llvm::any_of(op->getOperands(), [](Value v) {
    return llvm::is_contained(cast<MemRefType>(v.getType()).getShape(), 0);
  });
}

namespace {
struct SelectionsToGPU
    : public redfuse::impl::SelectionsToGPUBase<SelectionsToGPU> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<SelectOp> ops;
    module.walk([&](SelectOp op) { ops.push_back(op); });
    if (ops.empty())
      return;
    SelectionLimits limits;
    if (const Chip *chip = getChipOf(module)) {
      limits.warp = getWarpLanes(chip);
      limits.boundsRegisters = chip->family == "cuda";
      limits.sharedBytes = chip->sharedBytes > 0 ? getLeastSharedBytes(*chip) -
                                                       kReservedSharedBytes
                                                 : kSharedBytesOfAMD;
    }
    gpu::GPUModuleOp device = getDeviceModule(module);
    for (auto [i, op] : llvm::enumerate(ops)) {
      if (failed(op.requireBuffers()))
        return signalPassFailure();
      if (isEmpty(op)) {
        op.erase();
        continue;
      }
      generateSelection(op, limits, device, i);
    }
  }
};
} // namespace
