//===- PackedKernel.cpp - the kernel of a packed product ------------------===//
#include "PackedKernel.h"

#include "CpuKernel.h"
#include "PackedEmitter.h"

using namespace mlir;
using namespace redfuse;

namespace {
class PackedGenerator : public CpuKernelGenerator {
public:
  PackedGenerator(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                  unsigned lanes, PackingPlanAttr plan,
                  const FoundContraction &found)
      : CpuKernelGenerator(kernel, launch, space, lanes), plan(plan),
        found(found) {}

private:
  LogicalResult analyse() override { return success(); }
  std::unique_ptr<CpuEmitter> makeEmitter() override {
    auto own =
        std::make_unique<PackedEmitter>(b, loc, lanes, dims, plan, found);
    packed = own.get();
    return own;
  }
  void makeBuffers() override {
    int64_t bytes = packed->layOut(space);
    packed->setScratch(
        reserveScratch(arith::ConstantIndexOp::create(b, loc, bytes)));
  }
  LogicalResult runBlock(Value block) override {
    placeBlock(block);
    packed->setProgram(found.op, *found.programs.find(found.op)->second,
                       llvm::DenseMap<Value, TileBuffer>());
    packed->emitTile();
    return success();
  }

  PackingPlanAttr plan;
  const FoundContraction &found;
  PackedEmitter *packed = nullptr;
};
} // namespace

FailureOr<func::FuncOp>
redfuse::generatePacked(KernelOp kernel, LaunchOp launch, KernelSpace &space,
                        Attribute attr, unsigned lanes) {
  auto refuse = [&](const Twine &why) {
    return launch.emitOpError("cannot run as '")
           << kPackingAttr << "' says: " << why;
  };
  auto plan = dyn_cast<PackingPlanAttr>(attr);
  if (!plan)
    return refuse("expected a #redfuse.packing_plan");
  std::string why;
  KernelSpace whole = withoutSchedule(space);
  std::optional<FoundContraction> found =
      findSoleContraction(kernel, launch, whole, /*chip=*/nullptr, why);
  if (!found || !canPack(*found, why))
    return refuse(why);
  std::optional<KernelSpace> cut =
      applyPacking(*found, whole, plan, lanes, why);
  if (!cut)
    return refuse(why);
  space = std::move(*cut);
  return PackedGenerator(kernel, launch, space, lanes, plan, *found).run();
}
