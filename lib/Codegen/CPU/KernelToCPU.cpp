//===- KernelToCPU.cpp - redfuse.kernel to a function over blocks ---------===//
//
// A kernel becomes `func @kernel(%begin, %end, operands...)`, which runs the
// blocks [begin, end) of its grid one after another; its launch becomes a call
// with `redfuse.parallel` over all blocks, which the runtime spreads over its
// threads. Within a block every tensor that the kernel makes for itself is a
// tile in the thread's scratch memory.
//
//===----------------------------------------------------------------------===//
#include "CpuKernel.h"
#include "PackedKernel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_KERNELTOCPU
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
struct KernelToCPU : public redfuse::impl::KernelToCPUBase<KernelToCPU> {
  using KernelToCPUBase::KernelToCPUBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t bits =
        vectorBits > 0 ? vectorBits : getTargetOf(module).getVectorBits();
    if (failed(generateLaunches(module, [&](KernelLaunch &from) {
          return generate(from, std::max<int64_t>(1, bits / 32));
        })))
      return signalPassFailure();
    eraseKernels(module);
  }

  LogicalResult generate(KernelLaunch &from, unsigned lanes) {
    LaunchOp launch = from.launch;
    KernelSpace space = from.space;
    FailureOr<func::FuncOp> func;
    if (Attribute plan = launch->getAttr(kPackingAttr))
      func = generatePacked(from.kernel, launch, space, plan, lanes);
    else
      func = CpuKernelGenerator(from.kernel, launch, space, lanes)
                 .keepOrder(strict)
                 .run();
    if (failed(func))
      return failure();
    func->setSymName(from.name);
    OpBuilder b(launch);
    Value zero = arith::ConstantIndexOp::create(b, launch.getLoc(), 0);
    SmallVector<Value> operands{zero, countBlocks(b, launch, space)};
    llvm::append_range(operands, launch->getOperands());
    auto call = func::CallOp::create(b, launch.getLoc(), *func, operands);
    call->setAttr(kParallelAttr, b.getUnitAttr());
    launch.erase();
    return success();
  }
};
} // namespace
