//===- TensorMap.cpp - tensor maps that the host makes --------------------===//
#include "redfuse/Codegen/GPU/Common/TensorMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

/// How the runtime calls a type of elements.
static int64_t numberOf(Type element) {
  if (element.isF16())
    return 0;
  if (element.getIntOrFloatBitWidth() == 8)
    return 3;
  return element.isBF16() ? 1 : 2;
}

Value redfuse::makeTensorMap(OpBuilder &b, Location loc, StringRef function,
                             Value memref, int64_t offset, int64_t rank,
                             ValueRange description) {
  auto index = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, loc, n);
  };
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  auto storage = MemRefType::get({16}, b.getI64Type());
  Value map =
      memref::AllocaOp::create(b, loc, storage, b.getI64IntegerAttr(64));
  auto addressOf = [&](Value v) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(b, loc, v);
  };
  Value base = addressOf(memref);
  if (offset != 0)
    base = arith::AddIOp::create(
        b, loc, base, index(offset * element.getIntOrFloatBitWidth() / 8));
  SmallVector<Value> operands{addressOf(map), base, index(numberOf(element)),
                              index(rank)};
  llvm::append_range(operands, description);
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(function)) {
    auto top = OpBuilder::atBlockBegin(module.getBody());
    auto declared = func::FuncOp::create(
        top, loc, function,
        b.getFunctionType(SmallVector<Type>(operands.size(), b.getIndexType()),
                          {}));
    declared.setPrivate();
  }
  func::CallOp::create(b, loc, function, TypeRange(), operands);
  return vector::LoadOp::create(b, loc, VectorType::get({16}, b.getI64Type()),
                                map, ValueRange(index(0)));
}
