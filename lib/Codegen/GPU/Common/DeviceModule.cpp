//===- DeviceModule.cpp - where a program's kernels are -------------------===//
#include "redfuse/Codegen/GPU/Common/DeviceModule.h"

using namespace mlir;

gpu::GPUModuleOp redfuse::getDeviceModule(ModuleOp module) {
  // The Python side looks for it by this name.
  constexpr StringLiteral name = "redfuse_gpu";
  auto b = OpBuilder::atBlockEnd(module.getBody());
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  b.getUnitAttr());
  if (auto device = module.lookupSymbol<gpu::GPUModuleOp>(name))
    return device;
  return gpu::GPUModuleOp::create(b, module.getLoc(), name);
}

std::string redfuse::makeKernelName(gpu::GPUModuleOp device, StringRef base) {
  auto module = device->getParentOfType<ModuleOp>();
  auto isTaken = [&](StringRef name) {
    return device.lookupSymbol(name) || module.lookupSymbol(name);
  };
  if (!isTaken(base))
    return base.str();
  unsigned first = 0;
  return SymbolTable::generateSymbolName<64>(base, isTaken, first).str().str();
}
