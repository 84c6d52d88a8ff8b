//===- ShareKernels.cpp - redfuse-share-kernels: equal kernels are one ----===//
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"

namespace redfuse {
#define GEN_PASS_DEF_SHAREKERNELS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

static bool doTheSame(KernelOp a, KernelOp b) {
  return describeKernel(a) == describeKernel(b) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

namespace {
struct ShareKernels : public redfuse::impl::ShareKernelsBase<ShareKernels> {
  using ShareKernelsBase::ShareKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::DenseMap<StringAttr, SmallVector<LaunchOp>> launches;
    module.walk([&](LaunchOp launch) {
      launches[launch.getKernelAttr().getAttr()].push_back(launch);
    });
    // Kernels that are left, by what they do.
    llvm::DenseMap<size_t, SmallVector<KernelOp>> left;
    for (auto kernel : llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      ArrayRef<LaunchOp> own = launches[kernel.getSymNameAttr()];
      if (own.size() != 1)
        continue;
      SmallVector<KernelOp> &others = left[hashKernel(kernel)];
      auto it = llvm::find_if(others, [&](KernelOp other) {
        LaunchOp first = launches[other.getSymNameAttr()].front();
        return takeAlike(first, own.front()) && doTheSame(other, kernel);
      });
      if (it == others.end()) {
        others.push_back(kernel);
        continue;
      }
      LaunchOp launch = own.front();
      launch->setAttr(kInsteadOfAttr, kernel.getSymNameAttr());
      launch.setKernelAttr(FlatSymbolRefAttr::get(it->getSymNameAttr()));
      kernel.erase();
    }
  }
};
} // namespace
