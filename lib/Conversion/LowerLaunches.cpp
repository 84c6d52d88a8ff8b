//===- LowerLaunches.cpp - parallel calls to the thread pool --------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERLAUNCHES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

static constexpr StringLiteral kParallel = "redfuse.parallel";
static constexpr StringLiteral kParallelFor = "redfuse_rt_parallel_for";

/// `void body(ptr context, i64 begin, i64 end)`: unpacks the structure and
/// calls the kernel. The first field is the first block of the launch, because
/// the pool counts from zero.
static LLVM::LLVMFuncOp makeBody(ModuleOp module, LLVM::CallOp call,
                                 LLVM::LLVMStructType packed) {
  std::string name;
  int count = 0;
  do
    name = (*call.getCallee() + "__body" +
            (count ? "_" + std::to_string(count) : std::string()))
               .str();
  while (++count, module.lookupSymbol(name));

  MLIRContext *context = module.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto i64 = IntegerType::get(context, 64);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, i64, i64});
  ImplicitLocOpBuilder b(call.getLoc(), context);
  b.setInsertionPointToEnd(module.getBody());
  auto body = LLVM::LLVMFuncOp::create(b, name, type, LLVM::Linkage::Internal);
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

static LogicalResult lowerLaunch(ModuleOp module, LLVM::CallOp call) {
  auto i64 = IntegerType::get(module.getContext(), 64);
  if (!call.getCallee() || call.getNumResults() != 0 ||
      call.getNumOperands() < 2 || call.getOperand(0).getType() != i64 ||
      call.getOperand(1).getType() != i64)
    return call.emitError("a call with '")
           << kParallel
           << "' must be of the form @kernel(%begin : index, %end : index, "
              "...) without results";
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  // begin, then all that comes after begin and end.
  SmallVector<Value> values = {call.getOperand(0)};
  llvm::append_range(values, call.getOperands().drop_front(2));
  SmallVector<Type> types;
  for (Value value : values)
    types.push_back(value.getType());
  auto packed = LLVM::LLVMStructType::getLiteral(module.getContext(), types);
  LLVM::LLVMFuncOp body = makeBody(module, call, packed);

  auto caller = call->getParentOfType<LLVM::LLVMFuncOp>();
  ImplicitLocOpBuilder b(call.getLoc(), module.getContext());
  // In the entry block: a launch in a loop must not eat the stack.
  b.setInsertionPointToStart(&caller.getBody().front());
  Value one = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(1));
  Value context = LLVM::AllocaOp::create(b, pointer, packed, one);

  b.setInsertionPoint(call);
  for (auto [field, value] : llvm::enumerate(values)) {
    Value address = LLVM::GEPOp::create(
        b, pointer, packed, context, ArrayRef<LLVM::GEPArg>{0, int32_t(field)});
    LLVM::StoreOp::create(b, value, address);
  }
  Value blocks = LLVM::SubOp::create(b, call.getOperand(1), call.getOperand(0));
  Value address = LLVM::AddressOfOp::create(b, body);
  LLVM::CallOp::create(b, TypeRange(),
                       FlatSymbolRefAttr::get(b.getContext(), kParallelFor),
                       ValueRange{address, context, blocks});
  call.erase();
  return success();
}

namespace {
struct LowerLaunches : redfuse::impl::LowerLaunchesBase<LowerLaunches> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<LLVM::CallOp> launches;
    module.walk([&](LLVM::CallOp call) {
      if (call->hasAttr(kParallel))
        launches.push_back(call);
    });
    if (launches.empty())
      return markAllAnalysesPreserved();
    if (!module.lookupSymbol(kParallelFor)) {
      auto b = OpBuilder::atBlockBegin(module.getBody());
      auto pointer = LLVM::LLVMPointerType::get(&getContext());
      auto type =
          LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                      {pointer, pointer, b.getI64Type()});
      LLVM::LLVMFuncOp::create(b, module.getLoc(), kParallelFor, type);
    }
    for (LLVM::CallOp call : launches)
      if (failed(lowerLaunch(module, call)))
        return signalPassFailure();
  }
};
} // namespace
