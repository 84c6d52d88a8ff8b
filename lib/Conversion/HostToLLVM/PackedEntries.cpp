//===- PackedEntries.cpp - void f__packed(void **args) --------------------===//
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/RegionGraphTraits.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SCCIterator.h"

namespace redfuse {
#define GEN_PASS_DEF_PACKEDENTRIES
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

static constexpr StringLiteral kInterface = "_mlir_ciface_";
/// Where an argument of a function is found: in an argument of its C interface, a
/// field of the descriptor that this one points to, or itself.
namespace {
struct Place {
  unsigned argument;
  LLVM::LLVMStructType descriptor;
  SmallVector<LLVM::GEPArg> field;
};
} // namespace

/// The places of all arguments, as the C interface has them; nothing where it does
/// more than to load them.
static std::optional<SmallVector<Place>>
placesOfArguments(LLVM::LLVMFuncOp interface, LLVM::LLVMFuncOp function) {
  LLVM::CallOp call;
  for (Operation &op : interface.getBody().front()) {
    if (auto found = dyn_cast<LLVM::CallOp>(op); found && !call)
      call = found;
    else if (!isa<LLVM::LoadOp, LLVM::ExtractValueOp, LLVM::ReturnOp>(op))
      return std::nullopt;
  }
  if (!call || call.getCallee() != function.getName())
    return std::nullopt;
  SmallVector<Place> places;
  for (Value value : call.getArgOperands()) {
    Place place{0, {}, {}};
    if (auto extract = value.getDefiningOp<LLVM::ExtractValueOp>()) {
      auto load = extract.getContainer().getDefiningOp<LLVM::LoadOp>();
      if (!load)
        return std::nullopt;
      place.descriptor = dyn_cast<LLVM::LLVMStructType>(load.getType());
      place.field.push_back(0);
      for (int64_t step : extract.getPosition())
        place.field.push_back(int32_t(step));
      value = load.getAddr();
      if (!place.descriptor)
        return std::nullopt;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return std::nullopt;
    place.argument = argument.getArgNumber();
    places.push_back(std::move(place));
  }
  return places;
}

/// Whether nothing but its C interface, which nothing calls, calls a function.
static bool isCalledBy(LLVM::LLVMFuncOp interface, LLVM::LLVMFuncOp function,
                       ModuleOp module) {
  auto uses = SymbolTable::getSymbolUses(function, module);
  return uses && SymbolTable::symbolKnownUseEmpty(interface, module) &&
         llvm::all_of(*uses, [&](SymbolTable::SymbolUse use) {
           return interface->isAncestor(use.getUser());
         });
}

/// The blocks that may run more than once.
static DenseSet<Block *> blocksOfLoops(Region &region) {
  DenseSet<Block *> found;
  for (auto scc = llvm::scc_begin(&region); !scc.isAtEnd(); ++scc)
    if (scc.hasCycle())
      found.insert(scc->begin(), scc->end());
  return found;
}

/// Moves the body of `function` into `entry`, whose argument is the list. Every block
/// loads what it uses of the arguments, which nothing changes during a call, and the
/// first block what is used in loops: so little of it lives for long.
static void moveBody(LLVM::LLVMFuncOp function, LLVM::LLVMFuncOp entry,
                     ArrayRef<Place> places) {
  entry.getBody().takeBody(function.getBody());
  Block &first = entry.getBody().front();
  DenseSet<Block *> loops = blocksOfLoops(entry.getBody());
  ImplicitLocOpBuilder b(entry.getLoc(), entry.getContext());
  auto pointer = LLVM::LLVMPointerType::get(entry.getContext());
  Value list = first.insertArgument(0u, pointer, entry.getLoc());
  for (auto [index, place] : llvm::enumerate(places)) {
    BlockArgument argument = first.getArgument(index + 1);
    llvm::MapVector<Block *, SmallVector<OpOperand *>> uses;
    for (OpOperand &use : argument.getUses()) {
      Block *block = use.getOwner()->getBlock();
      uses[loops.contains(block) ? &first : block].push_back(&use);
    }
    for (auto &[block, found] : uses) {
      Operation *before = &block->front();
      bool isOfLoops = llvm::any_of(found, [&](OpOperand *use) {
        return use->getOwner()->getBlock() != block;
      });
      if (!isOfLoops) {
        before = found.front()->getOwner();
        for (OpOperand *use : found)
          if (use->getOwner()->isBeforeInBlock(before))
            before = use->getOwner();
      }
      b.setInsertionPoint(before);
      Value slot =
          LLVM::GEPOp::create(b, pointer, pointer, list,
                              ArrayRef<LLVM::GEPArg>{int32_t(place.argument)});
      Value address = LLVM::LoadOp::create(b, pointer, slot);
      if (place.descriptor)
        address = LLVM::GEPOp::create(b, pointer, place.descriptor, address,
                                      place.field);
      else if (isa<LLVM::LLVMPointerType>(argument.getType()))
        address = slot; // the argument is the pointer itself
      Value value = LLVM::LoadOp::create(b, argument.getType(), address);
      for (OpOperand *use : found)
        use->set(value);
    }
  }
  first.eraseArguments(1, places.size());
}

/// The C interface of a function takes a pointer for every memref; all other
/// arguments are scalars.
static LogicalResult addEntry(ModuleOp module, LLVM::LLVMFuncOp function,
                              unsigned maxValues) {
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
  if (function.getNumArguments() > maxValues &&
      isCalledBy(interface, function, module))
    if (auto places = placesOfArguments(interface, function)) {
      moveBody(function, entry, *places);
      interface.erase();
      function.erase();
      return success();
    }
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
  using PackedEntriesBase::PackedEntriesBase;

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
    // Only the packed entries are seen from outside: the rest may be inlined
    // and dropped.
    for (LLVM::LLVMFuncOp function : defined)
      function.setLinkage(LLVM::Linkage::Internal);
    for (LLVM::LLVMFuncOp function : entries)
      if (failed(addEntry(module, function, maxValues)))
        return signalPassFailure();
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
