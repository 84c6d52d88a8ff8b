//===- Interfaces.cpp - redfuse-interfaces --------------------------------===//
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace redfuse {
#define GEN_PASS_DEF_INTERFACES
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
/// Not upstream's llvm-request-c-wrappers: that marks declarations, too, whose
/// calls would then go to wrappers that nobody has.
struct Interfaces : redfuse::impl::InterfacesBase<Interfaces> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal())
        function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                          UnitAttr::get(&getContext()));
  }
};
} // namespace
