//===- AttachNVVMTarget.cpp - what a gpu.module is compiled for ------------===//
#include "redfuse/Codegen/GPU/Common/DeviceModule.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace redfuse {
#define GEN_PASS_DEF_ATTACHNVVMTARGET
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
struct AttachNVVMTarget
    : public redfuse::impl::AttachNVVMTargetBase<AttachNVVMTarget> {
  using AttachNVVMTargetBase::AttachNVVMTargetBase;

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    unsigned most = level;
    if (auto limit = dyn_cast_if_present<IntegerAttr>(
            module->removeAttr(redfuse::kMostOptLevelAttr)))
      most = std::min<unsigned>(most, limit.getInt());
    Builder b(&getContext());
    module.setTargetsAttr(b.getArrayAttr(b.getAttr<NVVM::NVVMTargetAttr>(
        most, "nvptx64-nvidia-cuda", chip, features)));
  }
};
} // namespace
