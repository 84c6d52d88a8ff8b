//===- AttachTarget.cpp - which GPU to compile for ------------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace redfuse {
#define GEN_PASS_DEF_ATTACHTARGET
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// A GPU as the cost model sees it. A unit is a multiprocessor: `l1` its shared
/// memory, `l2` so large that an eighth of it, what a block may keep, is a block's
/// shared memory. `vector_bits` is what a block's register tiles are sized by.
static TargetAttr makeTarget(MLIRContext *context, const Chip &chip) {
  return TargetAttr::get(
      context, StringAttr::get(context, chip.family), chip.units,
      /*vector_bits=*/512, /*l1=*/64 << 10, /*l2=*/512 << 10, chip.flops,
      chip.bandwidth, chip.launchNs, StringAttr::get(context, chip.name));
}

static TargetAttr withChip(TargetAttr target, StringAttr chip) {
  return TargetAttr::get(target.getContext(), target.getName(),
                         target.getUnits(), target.getVectorBits(),
                         target.getL1(), target.getL2(), target.getFlops(),
                         target.getBandwidth(), target.getLaunchNs(), chip);
}

namespace {
struct AttachTarget : public redfuse::impl::AttachTargetBase<AttachTarget> {
  using AttachTargetBase::AttachTargetBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Chip *found = findChip(chip);
    if (!found) {
      module.emitError() << "unknown chip '" << chip << "'; expected one of "
                         << listChips();
      return signalPassFailure();
    }
    TargetAttr made = makeTarget(&getContext(), *found);
    if (auto target = module->getAttrOfType<TargetAttr>(kTargetAttr)) {
      bool isOther = target.getName() != made.getName() ||
                     (target.getChip() && target.getChip() != made.getChip());
      if (isOther) {
        module.emitError() << "is for " << target << ", not for '" << chip
                           << "'";
        return signalPassFailure();
      }
      made = withChip(target, made.getChip());
    }
    module->setAttr(kTargetAttr, made);
  }
};
} // namespace
