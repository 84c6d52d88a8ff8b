//===- LazyPivots.cpp - running maxima that may lag behind ----------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"

#include "redfuse/Codegen/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace redfuse {
#define GEN_PASS_DEF_LAZYPIVOTS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// What the plan of a launch asks of the body of its kernel.
enum class PivotForm { AsWritten, Pulled, Lazy };

struct LazyPivots : public redfuse::impl::LazyPivotsBase<LazyPivots> {
  using LazyPivotsBase::LazyPivotsBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    using Launches = llvm::MapVector<PivotForm, SmallVector<LaunchOp, 1>>;
    llvm::MapVector<KernelOp, Launches> launchesOf;
    getOperation().walk([&](LaunchOp launch) {
      if (auto kernel = symbols.lookup<KernelOp>(launch.getKernel()))
        launchesOf[kernel][formOf(launch)].push_back(launch);
    });
    for (auto &[kernel, forms] : launchesOf)
      divide(kernel, forms.takeVector(), symbols);
  }

private:
  static PivotForm formOf(LaunchOp launch) {
    auto plan = launch->getAttrOfType<MatrixPlanAttr>(kPlanAttr);
    if (!plan)
      return PivotForm::AsWritten;
    return plan.getThreshold() > 0 ? PivotForm::Lazy : PivotForm::Pulled;
  }

  static void apply(PivotForm form, KernelOp kernel) {
    if (form == PivotForm::AsWritten)
      return;
    pullPivots(kernel);
    if (form == PivotForm::Lazy)
      markLazyPivots(kernel);
  }

  /// Launches that ask for another form than the first one get a kernel of their own.
  static void
  divide(KernelOp kernel,
         ArrayRef<std::pair<PivotForm, SmallVector<LaunchOp, 1>>> forms,
         SymbolTable &symbols) {
    for (auto &[form, launches] : forms.drop_front()) {
      KernelOp own = kernel.clone();
      StringAttr name = symbols.insert(own, std::next(Block::iterator(kernel)));
      apply(form, own);
      for (LaunchOp launch : launches)
        launch.setKernel(name);
    }
    apply(forms.front().first, kernel);
  }
};
} // namespace
