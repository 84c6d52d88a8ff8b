//===- PackedEntries.cpp - void f__packed(void **args) --------------------===//
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace redfuse {
#define GEN_PASS_DEF_PACKEDENTRIES
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

static constexpr StringLiteral kInterface = "_mlir_ciface_";

/// The C interface of a function takes a pointer for every memref; all other
/// arguments are scalars.
static LogicalResult addEntry(ModuleOp module, LLVM::LLVMFuncOp function) {
  auto interface = module.lookupSymbol<LLVM::LLVMFuncOp>(
      (kInterface + function.getName()).str());
  if (!interface)
    return function.emitError("has no C interface (llvm.emit_c_interface)");
  auto type = interface.getFunctionType();
  MLIRContext *context = module.getContext();
  if (!isa<LLVM::LLVMVoidType>(type.getReturnType()))
    return function.emitError("an entry returns nothing: its outputs are "
                              "arguments that the caller allocates");
  std::string name = (function.getName() + "__packed").str();
  if (module.lookupSymbol(name))
    return function.emitError("the name '") << name << "' is taken";

  auto pointer = LLVM::LLVMPointerType::get(context);
  ImplicitLocOpBuilder b(function.getLoc(), context);
  b.setInsertionPointToEnd(module.getBody());
  auto entry = LLVM::LLVMFuncOp::create(
      b, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), pointer));
  b.setInsertionPointToStart(entry.addEntryBlock(b));
  SmallVector<Value> operands;
  for (auto [index, argument] : llvm::enumerate(type.getParams())) {
    Value slot = LLVM::GEPOp::create(b, pointer, pointer, entry.getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(index)});
    Value address = LLVM::LoadOp::create(b, pointer, slot);
    if (isa<LLVM::LLVMPointerType>(argument))
      operands.push_back(address);
    else
      operands.push_back(LLVM::LoadOp::create(b, argument, address));
  }
  LLVM::CallOp::create(b, interface, operands);
  LLVM::ReturnOp::create(b, ValueRange());
  return success();
}

namespace {
struct PackedEntries : redfuse::impl::PackedEntriesBase<PackedEntries> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<LLVM::LLVMFuncOp> entries, defined;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal())
        continue;
      defined.push_back(function);
      if (function.isPublic() && !function.getName().starts_with(kInterface) &&
          function.getLinkage() == LLVM::Linkage::External)
        entries.push_back(function);
    }
    for (LLVM::LLVMFuncOp function : entries)
      if (failed(addEntry(module, function)))
        return signalPassFailure();
    // Only the packed entries are seen from outside: the rest may be inlined
    // and dropped.
    for (LLVM::LLVMFuncOp function : defined)
      function.setLinkage(LLVM::Linkage::Internal);
    // Upstream's name for copies between strided memrefs; ours is one of the
    // runtime's.
    if (Operation *copy = module.lookupSymbol("memrefCopy")) {
      auto name = StringAttr::get(&getContext(), "redfuse_rt_memref_copy");
      if (failed(SymbolTable::replaceAllSymbolUses(copy, name, module)))
        return signalPassFailure();
      SymbolTable::setSymbolName(copy, name);
    }
  }
};
} // namespace
