//===- BooleanMemory.cpp - i1 in memory is bytes --------------------------===//
#include "redfuse/Codegen/Common/BooleanMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

static bool isBooleanMemRef(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.getElementType().isInteger(1);
}

/// The same memory as bytes. Both types have the same descriptor, so the cast
/// disappears in the conversion to LLVM.
static Value viewAsBytes(OpBuilder &b, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto bytes = MemRefType::Builder(type).setElementType(b.getI8Type());
  return UnrealizedConversionCastOp::create(b, loc, MemRefType(bytes), memref)
      .getResult(0);
}

static Value widen(OpBuilder &b, Location loc, Value boolean) {
  Type type = boolean.getType();
  if (!getElementTypeOrSelf(type).isInteger(1))
    return boolean;
  Type wide = isa<VectorType>(type)
                  ? Type(cast<VectorType>(type).clone(b.getI8Type()))
                  : b.getI8Type();
  return arith::ExtUIOp::create(b, loc, wide, boolean);
}

namespace {
/// An op that reads or writes a memref of i1: on bytes instead. `Data` is the
/// operand whose type follows (the value to store, the padding, the
/// pass-through); masks stay i1. Upstream asserts that scalars take bytes.
template <typename Op>
struct BooleanMemory : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    OpOperand &base = baseOperand(op);
    if (!isBooleanMemRef(base.get().getType()))
      return rewriter.notifyMatchFailure(op, "not a memref of i1");
    Location loc = op.getLoc();
    Value bytes = viewAsBytes(rewriter, loc, base.get());
    OpOperand *data = dataOperand(op);
    Value wide = data ? widen(rewriter, loc, data->get()) : Value();
    if (op->getNumResults() == 0) {
      rewriter.modifyOpInPlace(op, [&] {
        base.set(bytes);
        data->set(wide);
      });
      return success();
    }
    Value result = op->getResult(0);
    auto vector = dyn_cast<VectorType>(result.getType());
    Type wider = rewriter.getI8Type();
    if (vector)
      wider = vector.clone(wider);
    rewriter.modifyOpInPlace(op, [&] {
      base.set(bytes);
      if (data)
        data->set(wide);
      result.setType(wider);
    });
    rewriter.setInsertionPointAfter(op);
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(result.getType()));
    auto truth = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                       result, zero);
    rewriter.replaceAllUsesExcept(result, truth, truth);
    return success();
  }

  static OpOperand &baseOperand(Op op) {
    if constexpr (std::is_same_v<Op, memref::LoadOp> ||
                  std::is_same_v<Op, memref::StoreOp>)
      return op.getMemrefMutable();
    else
      return op.getBaseMutable();
  }

  static OpOperand *dataOperand(Op op) {
    if constexpr (std::is_same_v<Op, vector::LoadOp> ||
                  std::is_same_v<Op, memref::LoadOp>)
      return nullptr;
    else if constexpr (std::is_same_v<Op, vector::MaskedLoadOp> ||
                       std::is_same_v<Op, vector::GatherOp>)
      return &op.getPassThruMutable();
    else if constexpr (std::is_same_v<Op, vector::TransferReadOp>)
      return &op.getPaddingMutable();
    else if constexpr (std::is_same_v<Op, memref::StoreOp>)
      return &op.getValueMutable();
    else
      return &op.getValueToStoreMutable();
  }
};
} // namespace

void redfuse::populateBooleanMemoryPatterns(RewritePatternSet &patterns) {
  patterns.add<
      BooleanMemory<memref::LoadOp>, BooleanMemory<memref::StoreOp>,
      BooleanMemory<vector::LoadOp>, BooleanMemory<vector::StoreOp>,
      BooleanMemory<vector::MaskedLoadOp>, BooleanMemory<vector::MaskedStoreOp>,
      BooleanMemory<vector::GatherOp>, BooleanMemory<vector::ScatterOp>,
      BooleanMemory<vector::TransferReadOp>,
      BooleanMemory<vector::TransferWriteOp>>(patterns.getContext());
}
