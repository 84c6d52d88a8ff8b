//===- LowerLaunches.cpp - parallel calls to the thread pool --------------===//
#include "DeviceStub.h"
#include "redfuse/Conversion/Passes.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERLAUNCHES
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

static constexpr StringLiteral kParallelFor = "redfuse_rt_parallel_for";
static constexpr StringLiteral kDeviceLaunch = "redfuse_rt_device_launch";

namespace {
/// What launches share: a program may have thousands, most of a few kernels.
/// A launch returns when it has read its arguments, so the next one may write
/// where they were.
struct LaunchParts {
  explicit LaunchParts(ModuleOp module) : symbols(module) {}

  SymbolTable symbols;
  /// Bodies by kernel and fields.
  DenseMap<std::pair<StringAttr, Type>, LLVM::LLVMFuncOp> bodies;
  /// Memory of a host function for arguments of some types: the structure, or
  /// the list of addresses and what they lead to.
  DenseMap<std::pair<Operation *, Type>, Value> contexts;
  DenseMap<std::pair<Operation *, Type>, SmallVector<Value>> lists;
};
} // namespace

/// `void body(ptr context, i64 begin, i64 end)`: unpacks the structure and
/// calls the kernel. The first field is the first block of the launch, because
/// the pool counts from zero.
static LLVM::LLVMFuncOp makeBody(LaunchParts &shared, LLVM::CallOp call,
                                 LLVM::LLVMStructType packed) {
  MLIRContext *context = call.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto i64 = IntegerType::get(context, 64);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, i64, i64});
  ImplicitLocOpBuilder b(call.getLoc(), context);
  auto body = LLVM::LLVMFuncOp::create(b, (*call.getCallee() + "__body").str(),
                                       type, LLVM::Linkage::Internal);
  shared.symbols.insert(body);
  body.setArgAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  body.setArgAttr(0, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(body.addEntryBlock(b));

  auto load = [&](int64_t field) -> Value {
    Value address =
        LLVM::GEPOp::create(b, pointer, packed, body.getArgument(0),
                            ArrayRef<LLVM::GEPArg>{0, int32_t(field)});
    return LLVM::LoadOp::create(b, packed.getBody()[field], address);
  };
  Value first = load(0);
  SmallVector<Value> operands = {
      LLVM::AddOp::create(b, body.getArgument(1), first),
      LLVM::AddOp::create(b, body.getArgument(2), first)};
  for (size_t i = 1; i < packed.getBody().size(); ++i)
    operands.push_back(load(i));
  LLVM::CallOp::create(b, TypeRange(), call.getCalleeAttr(), operands);
  LLVM::ReturnOp::create(b, ValueRange());
  return body;
}

static LogicalResult lowerLaunch(LaunchParts &shared, LLVM::CallOp call) {
  MLIRContext *context = call.getContext();
  auto i64 = IntegerType::get(context, 64);
  if (!call.getCallee() || call.getNumResults() != 0 ||
      call.getNumOperands() < 2 || call.getOperand(0).getType() != i64 ||
      call.getOperand(1).getType() != i64)
    return call.emitError("a call with '")
           << redfuse::kParallelAttr
           << "' must be of the form @kernel(%begin : index, %end : index, "
              "...) without results";
  auto pointer = LLVM::LLVMPointerType::get(context);
  // begin, then all that comes after begin and end.
  SmallVector<Value> values = {call.getOperand(0)};
  llvm::append_range(values, call.getOperands().drop_front(2));
  auto packed = LLVM::LLVMStructType::getLiteral(
      context, llvm::to_vector(ValueRange(values).getTypes()));
  LLVM::LLVMFuncOp &body =
      shared.bodies[{call.getCalleeAttr().getAttr(), packed}];
  if (!body)
    body = makeBody(shared, call, packed);

  auto caller = call->getParentOfType<LLVM::LLVMFuncOp>();
  ImplicitLocOpBuilder b(call.getLoc(), context);
  Value &place = shared.contexts[{caller, packed}];
  if (!place) {
    // In the entry block: a launch in a loop must not eat the stack.
    b.setInsertionPointToStart(&caller.getBody().front());
    Value one = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(1));
    place = LLVM::AllocaOp::create(b, pointer, packed, one);
  }

  b.setInsertionPoint(call);
  for (auto [field, value] : llvm::enumerate(values)) {
    Value address = LLVM::GEPOp::create(
        b, pointer, packed, place, ArrayRef<LLVM::GEPArg>{0, int32_t(field)});
    LLVM::StoreOp::create(b, value, address);
  }
  Value blocks = LLVM::SubOp::create(b, call.getOperand(1), call.getOperand(0));
  Value address = LLVM::AddressOfOp::create(b, body);
  LLVM::CallOp::create(b, TypeRange(),
                       FlatSymbolRefAttr::get(context, kParallelFor),
                       ValueRange{address, place, blocks});
  call.erase();
  return success();
}

/// `call @k__launch(%blocks, %threads, %shared, args...) {redfuse.device = "k"}`
/// as `redfuse_rt_device_launch("k", blocks, threads, shared, &args)`.
static LogicalResult lowerDeviceLaunch(LaunchParts &shared, LLVM::CallOp call) {
  MLIRContext *context = call.getContext();
  auto i64 = IntegerType::get(context, 64);
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto name = call->getAttrOfType<StringAttr>(redfuse::kDeviceAttr);
  if (!name || call.getNumResults() != 0 || call.getNumOperands() < 3 ||
      llvm::any_of(call.getOperands().take_front(3),
                   [&](Value v) { return v.getType() != i64; }))
    return call.emitError("a call with '")
           << redfuse::kDeviceAttr
           << "' must be of the form @kernel(%blocks : index, %threads : "
              "index, %shared : index, ...) without results";
  auto caller = call->getParentOfType<LLVM::LLVMFuncOp>();
  ImplicitLocOpBuilder b(call.getLoc(), context);
  ValueRange arguments = call.getOperands().drop_front(3);
  auto list = LLVM::LLVMArrayType::get(pointer, arguments.size());
  // The list, then a place for each argument.
  auto types = LLVM::LLVMStructType::getLiteral(
      context, llvm::to_vector(arguments.getTypes()));
  SmallVector<Value> &places = shared.lists[{caller, types}];
  if (places.empty()) {
    b.setInsertionPointToStart(&caller.getBody().front());
    Value one = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(1));
    places.push_back(LLVM::AllocaOp::create(b, pointer, list, one));
    for (Type type : arguments.getTypes())
      places.push_back(LLVM::AllocaOp::create(b, pointer, type, one));
  }
  b.setInsertionPoint(call);
  for (auto [i, v] : llvm::enumerate(arguments)) {
    LLVM::StoreOp::create(b, v, places[i + 1]);
    Value slot = LLVM::GEPOp::create(b, pointer, list, places.front(),
                                     ArrayRef<LLVM::GEPArg>{0, int32_t(i)});
    LLVM::StoreOp::create(b, places[i + 1], slot);
  }
  std::string symbol = (name.getValue() + "__name").str();
  if (!shared.symbols.lookup(symbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(
        cast<ModuleOp>(shared.symbols.getOp()).getBody());
    std::string text = name.str() + '\0';
    shared.symbols.insert(LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI8Type(), text.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, symbol,
        b.getStringAttr(text)));
  }
  Value text = LLVM::AddressOfOp::create(b, pointer, symbol);
  LLVM::CallOp::create(b, TypeRange(),
                       FlatSymbolRefAttr::get(context, kDeviceLaunch),
                       ValueRange{text, call.getOperand(0), call.getOperand(1),
                                  call.getOperand(2), places.front()});
  call.erase();
  return success();
}

namespace {
struct LowerLaunches : redfuse::impl::LowerLaunchesBase<LowerLaunches> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<LLVM::CallOp> launches, deviceLaunches;
    module.walk([&](LLVM::CallOp call) {
      if (call->hasAttr(redfuse::kParallelAttr))
        launches.push_back(call);
      else if (call->hasAttr(redfuse::kDeviceAttr))
        deviceLaunches.push_back(call);
    });
    if (launches.empty() && deviceLaunches.empty())
      return markAllAnalysesPreserved();
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    auto i64 = IntegerType::get(&getContext(), 64);
    auto declare = [&](StringRef name, ArrayRef<Type> types) {
      if (module.lookupSymbol(name))
        return;
      auto b = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMFunctionType::get(
          LLVM::LLVMVoidType::get(&getContext()), types);
      LLVM::LLVMFuncOp::create(b, module.getLoc(), name, type);
    };
    if (!launches.empty())
      declare(kParallelFor, {pointer, pointer, i64});
    if (!deviceLaunches.empty())
      declare(kDeviceLaunch, {pointer, i64, i64, i64, pointer});
    LaunchParts shared(module);
    for (LLVM::CallOp call : launches)
      if (failed(lowerLaunch(shared, call)))
        return signalPassFailure();
    for (LLVM::CallOp call : deviceLaunches)
      if (failed(lowerDeviceLaunch(shared, call)))
        return signalPassFailure();
    // What is not called any more has no body either.
    for (auto func :
         llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
      if (func->hasAttr(redfuse::kDeviceAttr) && func.isExternal())
        func.erase();
  }
};
} // namespace
