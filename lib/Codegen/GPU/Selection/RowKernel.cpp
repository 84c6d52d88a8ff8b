//===- RowKernel.cpp - what all kernels that select have ------------------===//
#include "RowKernel.h"

#include "redfuse/Codegen/GPU/SharedMemory/SharedWords.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace redfuse;

/// An extent of a memref as an i32.
static Value extentOf(SelectionOps ops, Value memory, int64_t dim) {
  auto type = cast<MemRefType>(memory.getType());
  if (!type.isDynamicDim(dim))
    return ops.i32(type.getDimSize(dim));
  Value size = memref::DimOp::create(ops.b, ops.loc, memory, dim);
  return arith::IndexCastUIOp::create(ops.b, ops.loc, ops.b.getI32Type(), size);
}

RowKernel::RowKernel(SelectOp op, const OrderedWords &words,
                     gpu::GPUModuleOp device, StringRef name, int64_t threads,
                     ValueRange more)
    : b(op), loc(op.getLoc()), ops{b, loc}, words(words), threads(threads),
      op(op) {
  operands = llvm::to_vector(more);
  llvm::append_range(operands, op->getOperands());
  b.setInsertionPointToEnd(device.getBody());
  SmallVector<Type> types = llvm::to_vector(ValueRange(operands).getTypes());
  func = gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  Block *entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  ValueRange given = entry->getArguments();
  this->more = llvm::to_vector_of<Value>(given.take_front(more.size()));
  given = given.drop_front(more.size());
  input = given.front();
  if (op.getValues())
    values = given[1];
  if (op.getPositions())
    positions = given.back();
  auto end = gpu::ReturnOp::create(b, loc);
  b.setInsertionPoint(end);

  auto number = [&](Value v) -> Value {
    return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), v);
  };
  thread = number(gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
  block = number(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  int64_t last = cast<MemRefType>(input.getType()).getRank() - 1;
  length = extentOf(ops, input, last);
  rows = ops.i32(1);
  for (int64_t d = 0; d < last; ++d)
    rows = b.createOrFold<arith::MulIOp>(loc, rows, extentOf(ops, input, d));
  auto stored = cast<MemRefType>(given[1].getType());
  ranks = extentOf(ops, given[1], last);
  if (!stored.isDynamicDim(last))
    knownRanks = stored.getDimSize(last);
  shared =
      gpu::DynamicSharedMemoryOp::create(b, loc, sharedMemoryOf(b.getI8Type()));
}

Value RowKernel::countRows(OpBuilder &b, SelectOp op) {
  Location loc = op.getLoc();
  Value rows = arith::ConstantIndexOp::create(b, loc, 1);
  int64_t last = cast<MemRefType>(op.getInput().getType()).getRank() - 1;
  for (int64_t d = 0; d < last; ++d)
    rows = b.createOrFold<arith::MulIOp>(
        loc, rows, b.createOrFold<memref::DimOp>(loc, op.getInput(), d));
  return rows;
}

void RowKernel::launch(Value blocks, int64_t sharedBytes, Operation *at) {
  OpBuilder host(at ? at : op.getOperation());
  Value one = arith::ConstantIndexOp::create(host, loc, 1);
  Value width = arith::ConstantIndexOp::create(host, loc, threads);
  Value bytes =
      arith::ConstantIntOp::create(host, loc, host.getI32Type(), sharedBytes);
  auto launch = gpu::LaunchFuncOp::create(
      host, loc, func, gpu::KernelDim3{blocks, one, one},
      gpu::KernelDim3{width, one, one}, bytes, operands);
  // What explain says of it.
  if (Attribute way = op->getAttr(kSelectionAttr))
    launch->setAttr(kSelectionAttr, way);
}

static Value viewShared(OpBuilder &b, Location loc, Value shared, Type element,
                        int64_t byte) {
  // As many as the block has is known at the launch alone.
  Value most = arith::ConstantIndexOp::create(b, loc, 1 << 20);
  return memref::ViewOp::create(b, loc, sharedMemoryOf(element), shared,
                                arith::ConstantIndexOp::create(b, loc, byte),
                                most);
}

Value RowKernel::shareWords(int64_t byte) {
  return viewShared(b, loc, shared, words.getType(), byte);
}

Value RowKernel::shareCounter(int64_t byte) {
  return viewShared(b, loc, shared, b.getI32Type(), byte);
}

Value RowKernel::count(Value counter) {
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, counter);
  Value pointer = LLVM::IntToPtrOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 3),
      arith::IndexCastOp::create(b, loc, b.getI64Type(), address).getResult());
  // Barriers put it in order with all else.
  return LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::add, pointer,
                                   ops.i32(1), LLVM::AtomicOrdering::monotonic);
}

SmallVector<Value> RowKernel::indicesOf(Value row) {
  int64_t last = cast<MemRefType>(input.getType()).getRank() - 1;
  SmallVector<Value> indices(last);
  for (int64_t d = last - 1; d >= 0; --d) {
    Value at = row;
    if (d > 0) {
      Value extent = extentOf(ops, input, d);
      at = arith::RemUIOp::create(b, loc, row, extent);
      row = arith::DivUIOp::create(b, loc, row, extent);
    }
    indices[d] = ops.index(at);
  }
  return indices;
}

static SmallVector<Value> withLast(ArrayRef<Value> row, Value at) {
  SmallVector<Value> indices(row);
  indices.push_back(at);
  return indices;
}

Value RowKernel::elementAt(ArrayRef<Value> row, Value position) {
  return memref::LoadOp::create(b, loc, input,
                                withLast(row, ops.index(position)));
}

Value RowKernel::wordAt(ArrayRef<Value> row, Value position) {
  return words.make(b, loc, elementAt(row, position), position);
}

void RowKernel::storeRanks(ArrayRef<Value> row, ArrayRef<Value> at,
                           ArrayRef<Value> found, ArrayRef<Value> conditions) {
  // All elements are on their way before the first is stored.
  SmallVector<Value> places, elements;
  Value last = ops.sub(length, ops.i32(1));
  for (Value word : found)
    places.push_back(ops.least(words.positionOf(b, loc, word), last));
  if (values)
    for (Value place : places)
      elements.push_back(memref::LoadOp::create(
          b, loc, input, withLast(row, ops.index(place))));
  for (auto [i, place] : llvm::enumerate(places))
    ops.when(conditions[i], [&, i = i, place = place] {
      SmallVector<Value> to = withLast(row, ops.index(at[i]));
      if (values)
        memref::StoreOp::create(b, loc, elements[i], values, to);
      if (!positions)
        return;
      Type type = cast<MemRefType>(positions.getType()).getElementType();
      Value index = ops.index(place);
      if (!type.isIndex())
        index = arith::IndexCastUIOp::create(b, loc, type, index);
      memref::StoreOp::create(b, loc, index, positions, to);
    });
}
