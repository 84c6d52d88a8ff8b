//===- LazyPivots.cpp - running maxima that may lag behind -----------------===//
#include "redfuse/Codegen/Common/KernelGenerator.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"

#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_LAZYPIVOTS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

static void preparePivots(KernelOp kernel, LaunchOp launch) {
  auto plan = launch->getAttrOfType<MatrixPlanAttr>(kPlanAttr);
  if (!plan)
    return;
  pullPivots(kernel);
  if (plan.getLag() > 0)
    markLazyPivots(kernel);
}

namespace {
struct LazyPivots : public redfuse::impl::LazyPivotsBase<LazyPivots> {
  using LazyPivotsBase::LazyPivotsBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](LaunchOp launch) {
      if (auto kernel = symbols.lookup<KernelOp>(launch.getKernel()))
        preparePivots(kernel, launch);
    });
  }
};
} // namespace
