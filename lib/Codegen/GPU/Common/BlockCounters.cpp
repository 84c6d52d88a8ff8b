//===- BlockCounters.cpp - which block is the last of a tile --------------===//
#include "redfuse/Codegen/GPU/Common/BlockCounters.h"

#include "redfuse/Codegen/GPU/Common/InlinePtx.h"

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

static Value addressOf(OpBuilder &b, Location loc, Value counters, Value at) {
  Value start =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, counters);
  Value bytes = arith::MulIOp::create(
      b, loc, at, arith::ConstantIndexOp::create(b, loc, 4));
  return arith::IndexCastOp::create(
      b, loc, b.getI64Type(),
      arith::AddIOp::create(b, loc, start, bytes).getResult());
}

Value redfuse::countInOrder(OpBuilder &b, Location loc, Value counters,
                            Value tile, int64_t parts) {
  Value last = arith::ConstantIntOp::create(b, loc, b.getI32Type(), parts - 1);
  return emitPtx(b, loc, "atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;",
                 "=r,l,r,~{memory}", {addressOf(b, loc, counters, tile), last},
                 b.getI32Type())[0];
}

Value redfuse::countOne(OpBuilder &b, Location loc, Value counters, Value at,
                        Value last) {
  Value address = addressOf(b, loc, counters, at);
  Value pointer = LLVM::IntToPtrOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 1), address);
  return LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::uinc_wrap,
                                   pointer, last, LLVM::AtomicOrdering::acq_rel,
                                   "device");
}
