//===- LowerRuntime.cpp - what the runtime does for the host --------------===//
#include "GuardDivisions.h"
#include "redfuse/Codegen/GPU/Common/DeviceConstants.h"
#include "redfuse/Conversion/Passes.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/StringMap.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERRUNTIME
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

static constexpr StringLiteral kScratchView = "redfuse_rt_scratch_view";
static constexpr int64_t kHeapAlignment = 64;

namespace {
class Lowering {
public:
  explicit Lowering(ModuleOp module)
      : module(module), context(module.getContext()), converter(context),
        layout(module), pointer(LLVM::LLVMPointerType::get(context)),
        i64(IntegerType::get(context, 64)) {}

  LogicalResult run();

private:
  LogicalResult lowerFunction(func::FuncOp function);
  LogicalResult lowerAssert(cf::AssertOp op);
  LogicalResult lowerAlloc(memref::AllocOp op);
  void lowerDealloc(memref::DeallocOp op);
  LogicalResult lowerScratch(func::CallOp op);
  void checkCall(func::CallOp op);
  void hoistAlloca(memref::AllocaOp op);

  bool mayFail(Operation *op);
  void findFailingFunctions();
  bool isScratchView(Operation *op) {
    auto call = dyn_cast<func::CallOp>(op);
    return call && call.getCallee() == kScratchView;
  }

  /// The function of the runtime, declared once.
  FlatSymbolRefAttr runtime(StringRef name, TypeRange inputs,
                            TypeRange results);
  Value message(ImplicitLocOpBuilder &b, StringRef text);
  /// Continues after `op` only if `ok`; leaves the function otherwise, after
  /// reporting `text` if there is one.
  void leaveUnless(Operation *op, Value ok, StringRef text);
  Value bytesOf(ImplicitLocOpBuilder &b, MemRefType type,
                ArrayRef<Value> sizes);
  /// A memref value for `size[0] x size[1] x ...` elements at a pointer.
  Value describe(ImplicitLocOpBuilder &b, MemRefType type, Value memory,
                 ArrayRef<Value> sizes);

  ModuleOp module;
  MLIRContext *context;
  LLVMTypeConverter converter;
  DataLayout layout;
  Type pointer, i64;
  llvm::StringMap<LLVM::GlobalOp> messages;
  DenseSet<StringAttr> failing;
  int messageCount = 0;
};
} // namespace

FlatSymbolRefAttr Lowering::runtime(StringRef name, TypeRange inputs,
                                    TypeRange results) {
  if (!module.lookupSymbol(name)) {
    auto b = OpBuilder::atBlockBegin(module.getBody());
    auto function = func::FuncOp::create(
        b, module.getLoc(), name, FunctionType::get(context, inputs, results));
    function.setPrivate();
  }
  return FlatSymbolRefAttr::get(context, name);
}

Value Lowering::message(ImplicitLocOpBuilder &b, StringRef text) {
  LLVM::GlobalOp &global = messages[text];
  if (!global) {
    std::string bytes = text.str();
    bytes.push_back('\0');
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    std::string name;
    do
      name = "redfuse_message_" + std::to_string(messageCount++);
    while (module.lookupSymbol(name));
    auto top = OpBuilder::atBlockBegin(module.getBody());
    global =
        LLVM::GlobalOp::create(top, module.getLoc(), type,
                               /*isConstant=*/true, LLVM::Linkage::Internal,
                               name, b.getStringAttr(bytes));
  }
  return LLVM::AddressOfOp::create(b, global);
}

void Lowering::leaveUnless(Operation *op, Value ok, StringRef text) {
  Block *block = op->getBlock();
  Block *rest = block->splitBlock(op->getNextNode());
  auto function = op->getParentOfType<func::FuncOp>();
  auto *leave = new Block;
  function.getBody().push_back(leave);

  ImplicitLocOpBuilder b(op->getLoc(), OpBuilder::atBlockEnd(block));
  cf::CondBranchOp::create(b, ok, rest, ValueRange(), leave, ValueRange());

  b.setInsertionPointToEnd(leave);
  if (!text.empty())
    func::CallOp::create(b, runtime("redfuse_rt_fail", pointer, {}),
                         TypeRange(), ValueRange(message(b, text)));
  // The caller sees the failure before it could use a result.
  SmallVector<Value> results;
  for (Type type : function.getResultTypes())
    results.push_back(ub::PoisonOp::create(b, type));
  func::ReturnOp::create(b, results);
}

LogicalResult Lowering::lowerAssert(cf::AssertOp op) {
  leaveUnless(op, op.getArg(),
              op.getMsg().empty() ? "assertion failed" : op.getMsg());
  op.erase();
  return success();
}

/// More than there is where the product leaves 64 bits: no memory then, like for
/// anything that is too large. A negative extent is that of nothing.
Value Lowering::bytesOf(ImplicitLocOpBuilder &b, MemRefType type,
                        ArrayRef<Value> sizes) {
  int64_t element = layout.getTypeSize(type.getElementType());
  Value bytes = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(element));
  if (type.hasStaticShape()) {
    for (Value size : sizes)
      bytes = arith::MulIOp::create(b, bytes,
                                    arith::IndexCastOp::create(b, i64, size));
    return bytes;
  }
  auto pair = LLVM::LLVMStructType::getLiteral(context, {i64, b.getI1Type()});
  Value none = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(0));
  Value most = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(INT64_MAX));
  Value overflows;
  for (Value size : sizes) {
    Value count = arith::IndexCastOp::create(b, i64, size);
    count = arith::MaxSIOp::create(b, count, none);
    Value product = LLVM::SMulWithOverflowOp::create(b, pair, bytes, count);
    bytes = LLVM::ExtractValueOp::create(b, product, 0);
    Value flag = LLVM::ExtractValueOp::create(b, product, 1);
    overflows =
        overflows ? arith::OrIOp::create(b, overflows, flag).getResult() : flag;
  }
  return arith::SelectOp::create(b, overflows, most, bytes);
}

Value Lowering::describe(ImplicitLocOpBuilder &b, MemRefType type, Value memory,
                         ArrayRef<Value> sizes) {
  auto descriptor =
      MemRefDescriptor::poison(b, b.getLoc(), converter.convertType(type));
  descriptor.setAllocatedPtr(b, b.getLoc(), memory);
  descriptor.setAlignedPtr(b, b.getLoc(), memory);
  descriptor.setConstantOffset(b, b.getLoc(), 0);
  Value stride = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(1));
  for (int64_t d = int64_t(sizes.size()) - 1; d >= 0; --d) {
    Value size = arith::IndexCastOp::create(b, i64, sizes[d]);
    descriptor.setSize(b, b.getLoc(), d, size);
    descriptor.setStride(b, b.getLoc(), d, stride);
    if (d > 0)
      stride = arith::MulIOp::create(b, stride, size);
  }
  Value value = descriptor;
  return UnrealizedConversionCastOp::create(b, type, value).getResult(0);
}

LogicalResult Lowering::lowerAlloc(memref::AllocOp op) {
  MemRefType type = op.getType();
  if (!type.getLayout().isIdentity())
    return op.emitError("an allocation must be contiguous and row-major, got ")
           << type;
  if (op.getAlignment().value_or(1) > uint64_t(kHeapAlignment))
    return op.emitError("allocations are aligned to ")
           << kHeapAlignment << " bytes, got alignment " << *op.getAlignment();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<Value> sizes;
  auto dynamic = op.getDynamicSizes().begin();
  for (int64_t size : type.getShape())
    sizes.push_back(ShapedType::isDynamic(size)
                        ? Value(*dynamic++)
                        : arith::ConstantIndexOp::create(b, size));
  StringRef function = "redfuse_rt_alloc";
  SmallVector<Value> arguments{bytesOf(b, type, sizes)};
  if (op->hasAttr(redfuse::kCountersAttr)) {
    // Of kernels that count their blocks; never freed.
    function = "redfuse_rt_device_counters";
  } else if (auto global =
                 op->getAttrOfType<FlatSymbolRefAttr>(redfuse::kConstantAttr)) {
    // The runtime's copy of a constant; it is freed with the program.
    function = "redfuse_rt_device_constant";
    Value host = memref::GetGlobalOp::create(b, type, global);
    Value address = arith::IndexCastOp::create(
        b, i64, memref::ExtractAlignedPointerAsIndexOp::create(b, host));
    arguments.push_back(LLVM::IntToPtrOp::create(b, pointer, address));
  }
  auto call = func::CallOp::create(
      b, runtime(function, ValueRange(arguments).getTypes(), pointer),
      TypeRange(pointer), arguments);
  Value memory = call.getResult(0);
  op.replaceAllUsesWith(describe(b, type, memory, sizes));
  Value null = LLVM::ZeroOp::create(b, pointer);
  Value ok = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, memory, null);
  leaveUnless(op, ok, "");
  op.erase();
  return success();
}

void Lowering::lowerDealloc(memref::DeallocOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto type = cast<MemRefType>(op.getMemref().getType());
  Value descriptor = UnrealizedConversionCastOp::create(
                         b, converter.convertType(type), op.getMemref())
                         .getResult(0);
  Value memory = LLVM::ExtractValueOp::create(b, descriptor, 0);
  func::CallOp::create(b, runtime("redfuse_rt_free", pointer, {}), TypeRange(),
                       ValueRange(memory));
  op.erase();
}

LogicalResult Lowering::lowerScratch(func::CallOp op) {
  auto type = op.getNumResults() == 1
                  ? dyn_cast<MemRefType>(op.getResult(0).getType())
                  : MemRefType();
  if (op.getNumOperands() != 1 || !op.getOperand(0).getType().isIndex() ||
      !type || type.getRank() != 1 || !type.getLayout().isIdentity() ||
      !type.isDynamicDim(0) || !type.getElementType().isInteger(8))
    return op.emitError("expected (index) -> memref<?xi8>");
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value bytes = arith::IndexCastOp::create(b, i64, op.getOperand(0));
  auto call =
      func::CallOp::create(b, runtime("redfuse_rt_scratch", i64, pointer),
                           TypeRange(pointer), ValueRange(bytes));
  Value memory = call.getResult(0);
  op.getResult(0).replaceAllUsesWith(
      describe(b, type, memory, ArrayRef<Value>(op.getOperand(0))));
  Value null = LLVM::ZeroOp::create(b, pointer);
  Value ok = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, memory, null);
  leaveUnless(op, ok, "");
  op.erase();
  return success();
}

void Lowering::checkCall(func::CallOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  b.setInsertionPointAfter(op);
  auto call =
      func::CallOp::create(b, runtime("redfuse_rt_failed", {}, b.getI1Type()),
                           TypeRange(b.getI1Type()), ValueRange());
  Value yes = arith::ConstantIntOp::create(b, 1, 1);
  Value ok = arith::XOrIOp::create(b, call.getResult(0), yes);
  leaveUnless(ok.getDefiningOp(), ok, "");
}

void Lowering::hoistAlloca(memref::AllocaOp op) {
  auto function = op->getParentOfType<func::FuncOp>();
  Block &entry = function.getBody().front();
  if (op->getBlock() != &entry && op->getNumOperands() == 0)
    op->moveBefore(&entry, entry.begin());
}

bool Lowering::mayFail(Operation *op) {
  if (isa<cf::AssertOp, memref::AllocOp>(op) || isScratchView(op))
    return true;
  auto call = dyn_cast<func::CallOp>(op);
  return call && failing.contains(call.getCalleeAttr().getAttr());
}

void Lowering::findFailingFunctions() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (failing.contains(function.getSymNameAttr()))
        continue;
      WalkResult found = function.walk([&](Operation *op) {
        return mayFail(op) ? WalkResult::interrupt() : WalkResult::advance();
      });
      if (found.wasInterrupted()) {
        failing.insert(function.getSymNameAttr());
        changed = true;
      }
    }
  }
}

LogicalResult Lowering::lowerFunction(func::FuncOp function) {
  redfuse::guardDivisions(function);
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (mayFail(op) || isa<memref::DeallocOp, memref::AllocaOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (op->getParentOp() != function)
      return op->emitError("expected it directly in a block of the function; "
                           "run convert-scf-to-cf first");
    if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
      if (failed(lowerAssert(assertion)))
        return failure();
    } else if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      if (failed(lowerAlloc(alloc)))
        return failure();
    } else if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
      lowerDealloc(dealloc);
    } else if (auto alloca = dyn_cast<memref::AllocaOp>(op)) {
      hoistAlloca(alloca);
    } else if (isScratchView(op)) {
      if (failed(lowerScratch(cast<func::CallOp>(op))))
        return failure();
    } else {
      checkCall(cast<func::CallOp>(op));
    }
  }
  return success();
}

LogicalResult Lowering::run() {
  findFailingFunctions();
  // Functions of the runtime are declared on the way: take a list first.
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (!function.isExternal() && failed(lowerFunction(function)))
      return failure();
  if (Operation *view = module.lookupSymbol(kScratchView))
    if (SymbolTable::symbolKnownUseEmpty(view, module))
      view->erase();
  return success();
}

/// Memory of one element that is a resource (a weight, as importers have them) has its number
/// in the text: upstream's lowering takes no resource there.
static void inlineResource(memref::GlobalOp global) {
  auto resource =
      dyn_cast_or_null<DenseResourceElementsAttr>(global.getInitialValueAttr());
  if (!resource || resource.getType().getRank() != 0)
    return;
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  bool isSplat;
  if (blob && DenseElementsAttr::isValidRawBuffer(resource.getType(),
                                                  blob->getData(), isSplat))
    global.setInitialValueAttr(DenseElementsAttr::getFromRawBuffer(
        resource.getType(), blob->getData()));
}

namespace {
struct LowerRuntime : redfuse::impl::LowerRuntimeBase<LowerRuntime> {
  void runOnOperation() override {
    getOperation()->walk(inlineResource);
    if (failed(Lowering(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
