//===- AttachNVVMTarget.cpp - what LLVM makes PTX for ---------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/GPU/Common/DeviceModule.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace redfuse {
#define GEN_PASS_DEF_ATTACHNVVMTARGET
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// How NVIDIA's GPUs align what has no alignment of its own. Without it, code is made for
/// LLVM's default, where integers of 64 bits are at multiples of 4 bytes: they would be
/// moved by halves.
static constexpr StringLiteral kDataLayout =
    "e-i64:64-i128:128-v16:16-v32:32-n16:32:64";

/// The first PTX version with products of 8-bit floats, and of integers of which some have
/// signs (CUDA 12.4).
static constexpr unsigned kBytesPtx = 84;

/// Whether anything in a module is of 8-bit floats, or of integers as units of warpgroups
/// multiply them: signed or not.
static bool hasBytes(gpu::GPUModuleOp module) {
  auto isOfBytes = [](Type type) {
    return type
        .walk([](Type part) {
          bool isByte =
              part.isInteger(8)
                  ? !part.isSignlessInteger()
                  : isa<FloatType>(part) && part.getIntOrFloatBitWidth() == 8;
          return isByte ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  auto hasBytesOf = [&](Operation *op) {
    if (llvm::any_of(op->getOperandTypes(), isOfBytes) ||
        llvm::any_of(op->getResultTypes(), isOfBytes) ||
        llvm::any_of(op->getAttrs(), [&](NamedAttribute named) {
          auto type = dyn_cast<TypeAttr>(named.getValue());
          return type && isOfBytes(type.getValue());
        }))
      return WalkResult::interrupt();
    return WalkResult::advance();
  };
  return module->walk(hasBytesOf).wasInterrupted();
}

namespace {
struct AttachNVVMTarget
    : public redfuse::impl::AttachNVVMTargetBase<AttachNVVMTarget> {
  using AttachNVVMTargetBase::AttachNVVMTargetBase;

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    FailureOr<const Chip *> chip = requireChip(module);
    if (failed(chip))
      return signalPassFailure();
    unsigned ptx = (*chip)->ptx;
    if ((*chip)->has(Float8Products) && hasBytes(module))
      ptx = std::max(ptx, kBytesPtx);
    unsigned most = level;
    if (auto limit = dyn_cast_if_present<IntegerAttr>(
            module->removeAttr(kMostOptLevelAttr)))
      most = std::min<unsigned>(most, limit.getInt());
    Builder b(&getContext());
    module.setTargetsAttr(b.getArrayAttr(b.getAttr<NVVM::NVVMTargetAttr>(
        most, "nvptx64-nvidia-cuda", (*chip)->name,
        "+ptx" + std::to_string(ptx))));
    module->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                    b.getStringAttr(kDataLayout));
  }
};
} // namespace
