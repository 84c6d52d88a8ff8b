//===- LowerDeviceLaunches.cpp - gpu.launch_func to the runtime's calls ---===//
#include "DeviceStub.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERDEVICELAUNCHES
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

static void lowerLaunch(ModuleOp module, gpu::LaunchFuncOp launch) {
  OpBuilder b(launch);
  Location loc = launch.getLoc();
  StringAttr kernel = launch.getKernelName();
  Value shared = launch.getDynamicSharedMemorySize();
  shared = shared
               ? arith::IndexCastUIOp::create(b, loc, b.getIndexType(), shared)
                     .getResult()
               : arith::ConstantIndexOp::create(b, loc, 0).getResult();
  SmallVector<Value> operands{launch.getGridSizeX(), launch.getBlockSizeX(),
                              shared};
  llvm::append_range(operands, launch.getKernelOperands());
  std::string name = (kernel.getValue() + "__launch").str();
  auto stub = module.lookupSymbol<func::FuncOp>(name);
  if (!stub) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    stub = func::FuncOp::create(
        b, loc, name,
        b.getFunctionType(llvm::to_vector(ValueRange(operands).getTypes()),
                          {}));
    stub.setPrivate();
    stub->setAttr(redfuse::kDeviceAttr, kernel);
  }
  auto call = func::CallOp::create(b, loc, stub, operands);
  call->setAttr(redfuse::kDeviceAttr, kernel);
  launch.erase();
}

namespace {
struct LowerDeviceLaunches
    : redfuse::impl::LowerDeviceLaunchesBase<LowerDeviceLaunches> {
  using LowerDeviceLaunchesBase::LowerDeviceLaunchesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<gpu::LaunchFuncOp> launches;
    module.walk([&](gpu::LaunchFuncOp launch) { launches.push_back(launch); });
    for (gpu::LaunchFuncOp launch : launches) {
      auto isOne = [](Value v) { return matchPattern(v, m_One()); };
      if (!isOne(launch.getGridSizeY()) || !isOne(launch.getGridSizeZ()) ||
          !isOne(launch.getBlockSizeY()) || !isOne(launch.getBlockSizeZ())) {
        launch.emitOpError("is launched by the runtime with one dimension of "
                           "blocks and threads; expected 1 for y and z");
        return signalPassFailure();
      }
      lowerLaunch(module, launch);
    }
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<gpu::GPUModuleOp>(op) || (hostAlone && isa<gpu::BinaryOp>(op)))
        op.erase();
    module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
  }
};
} // namespace
