//===- TensorMapParameters.cpp - tensor maps as memory of the launch ------===//
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace redfuse {
#define GEN_PASS_DEF_TENSORMAPPARAMETERS
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Bytes of a tensor map, and what its address must be a multiple of.
static constexpr int64_t kMapBytes = 128, kMapAlignment = 64;

static bool isTensorMap(BlockArgument arg) {
  auto type = dyn_cast<VectorType>(arg.getType());
  return type && type.getRank() == 1 && type.getDimSize(0) * 8 == kMapBytes &&
         type.getElementType().isInteger(64) &&
         llvm::all_of(arg.getUsers(), [](Operation *user) {
           return isa<UnrealizedConversionCastOp>(user) &&
                  isa<LLVM::LLVMPointerType>(user->getResult(0).getType());
         });
}

static void lowerMaps(LLVM::LLVMFuncOp func) {
  if (func.isExternal())
    return;
  MLIRContext *context = func.getContext();
  Builder b(context);
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), kMapBytes);
  SmallVector<Type> inputs(func.getFunctionType().getParams());
  bool anyMap = false;
  for (BlockArgument arg : func.getArguments()) {
    if (!isTensorMap(arg))
      continue;
    anyMap = true;
    unsigned i = arg.getArgNumber();
    inputs[i] = pointer;
    arg.setType(pointer);
    for (Operation *user : llvm::make_early_inc_range(arg.getUsers())) {
      user->getResult(0).replaceAllUsesWith(arg);
      user->erase();
    }
    func.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                    TypeAttr::get(bytes));
    func.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                    b.getI64IntegerAttr(kMapAlignment));
    func.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(),
                    b.getUnitAttr());
  }
  if (anyMap)
    func.setFunctionType(LLVM::LLVMFunctionType::get(
        func.getFunctionType().getReturnType(), inputs));
}

namespace {
struct TensorMapParameters
    : redfuse::impl::TensorMapParametersBase<TensorMapParameters> {
  void runOnOperation() override {
    getOperation()->walk([](LLVM::LLVMFuncOp func) { lowerMaps(func); });
  }
};
} // namespace
