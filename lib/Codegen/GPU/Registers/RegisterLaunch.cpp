//===- RegisterLaunch.cpp - how the host starts a kernel ------------------===//
#include "RegisterLaunch.h"

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/GPU/Common/Cluster.h"

using namespace mlir;
using namespace redfuse;

Operation *RegisterLaunch::allocate(Value size) {
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI32Type());
  auto made =
      memref::AllocOp::create(b, loc, type, size, b.getI64IntegerAttr(64));
  arguments.push_back(made);
  return made;
}

void RegisterLaunch::prepare() {
  arguments.assign(launch->operand_begin(), launch->operand_end());
  b.setInsertionPoint(launch);
  Value tiles = countBlocks(b, launch, space);
  blocks = tiles;
  if (mergesInLaunch(kernel, space)) {
    blocks = arith::MulIOp::create(b, loc, tiles,
                                   constant(space.schedule.getSplits()));
    // As many words as it turns out to take.
    words = constant(0);
    states =
        allocate(arith::MulIOp::create(b, loc, blocks, words))->getResult(0);
    allocate(tiles)->setAttr(kCountersAttr, b.getUnitAttr());
  }
  if (layout.loopingBlocks == 0)
    return;
  // No more than run at a time; with a static scheduler all with as many tiles, or one
  // less.
  int64_t units = getTargetOf(kernel).getUnits();
  Value most = constant(
      std::max<int64_t>(1, units * layout.loopingBlocks / layout.cluster));
  if (hasDynamicScheduler(layout)) {
    allocate(constant(1))->setAttr(kCountersAttr, b.getUnitAttr());
    blocks = arith::MinUIOp::create(b, loc, tiles, most);
  } else {
    Value rounds = arith::CeilDivUIOp::create(b, loc, tiles, most);
    blocks = arith::CeilDivUIOp::create(b, loc, tiles, rounds);
  }
  arguments.push_back(tiles);
}

gpu::GPUFuncOp RegisterLaunch::makeFunction(gpu::GPUModuleOp module,
                                            StringRef name,
                                            const DeviceLimits &limits,
                                            bool startsNext) {
  b.setInsertionPointToEnd(module.getBody());
  auto func = gpu::GPUFuncOp::create(
      b, loc, name, b.getFunctionType(ValueRange(arguments).getTypes(), {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  if (!sharesMemory(launch) && !layout.readsAgain)
    func->setAttr(kReuseAttr, b.getUnitAttr());
  if (limits.overlapsLaunches) {
    func->setAttr(kWaits, b.getUnitAttr());
    if (startsNext)
      func->setAttr(kStartsNext, b.getUnitAttr());
  }
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(layout.getThreadsOfBlock()), 1, 1}));
  if (layout.cluster > 1)
    func->setAttr("nvvm.cluster_dim",
                  b.getDenseI32ArrayAttr({int32_t(layout.cluster), 1, 1}));
  if (layout.leastBlocksPerUnit != 0)
    func->setAttr("nvvm.minctasm",
                  b.getI32IntegerAttr(layout.leastBlocksPerUnit));
  return func;
}

RegisterLaunch::Given RegisterLaunch::getGiven(gpu::GPUFuncOp func) const {
  Block &entry = func.getBody().front();
  unsigned next = launch->getNumOperands();
  Given given;
  if (states)
    given.workspace = entry.getArgument(next++);
  if (states || hasDynamicScheduler(layout))
    given.counters = entry.getArgument(next++);
  if (layout.loopingBlocks != 0)
    given.tiles = entry.getArgument(next);
  return given;
}

void RegisterLaunch::finish(gpu::GPUFuncOp func, int64_t sharedBytes,
                            int64_t stateWords) {
  if (states)
    cast<arith::ConstantIndexOp>(words.getDefiningOp())
        ->setAttr("value", b.getIndexAttr(stateWords));
  b.setInsertionPoint(launch);
  Value one = constant(1), width = constant(layout.getThreadsOfBlock());
  if (layout.cluster > 1)
    blocks = arith::MulIOp::create(b, loc, blocks, constant(layout.cluster));
  Value bytes = arith::ConstantIntOp::create(
      b, loc, b.getI32Type(), std::max(sharedBytes, layout.leastSharedBytes));
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{blocks, one, one},
                            gpu::KernelDim3{width, one, one}, bytes, arguments);
  if (states)
    memref::DeallocOp::create(b, loc, states);
  launch.erase();
}
