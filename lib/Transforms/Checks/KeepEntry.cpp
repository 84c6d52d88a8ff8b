//===- KeepEntry.cpp - the function that is compiled ----------------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace redfuse {
#define GEN_PASS_DEF_KEEPENTRY
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

static constexpr StringLiteral kEntryAttr = "redfuse.entry";

namespace {
struct KeepEntry : public redfuse::impl::KeepEntryBase<KeepEntry> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Attribute named = module->getAttr(kEntryAttr);
    if (!named)
      return markAllAnalysesPreserved();
    auto name = dyn_cast<FlatSymbolRefAttr>(named);
    auto entry = name ? module.lookupSymbol<func::FuncOp>(name.getAttr())
                      : func::FuncOp();
    if (!entry || entry.isExternal()) {
      module.emitError("'") << kEntryAttr << "' is " << named
                            << "; expected the name of a func.func with a body";
      return signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>())
      function.setVisibility(function == entry
                                 ? SymbolTable::Visibility::Public
                                 : SymbolTable::Visibility::Private);
    module->removeAttr(kEntryAttr);
  }
};
} // namespace
