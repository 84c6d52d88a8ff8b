//===- BlockCounters.cpp - which block is the last of a tile ---------------===//
#include "BlockCounters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

Value redfuse::countBlock(OpBuilder &b, Location loc, Value counters,
                          Value tile, int64_t parts) {
  return countOne(
      b, loc, counters, tile,
      arith::ConstantIntOp::create(b, loc, b.getI32Type(), parts - 1));
}

Value redfuse::countOne(OpBuilder &b, Location loc, Value counters, Value at,
                        Value last) {
  Value start =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, counters);
  Value bytes = arith::MulIOp::create(
      b, loc, at, arith::ConstantIndexOp::create(b, loc, 4));
  Value address = arith::IndexCastOp::create(
      b, loc, b.getI64Type(),
      arith::AddIOp::create(b, loc, start, bytes).getResult());
  Value pointer = LLVM::IntToPtrOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 1), address);
  return LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::uinc_wrap,
                                   pointer, last, LLVM::AtomicOrdering::acq_rel,
                                   "device");
}
