//===- AssumeExtents.cpp - casts to extents that were checked -------------===//
//
// A cast of memref<?xf32> to memref<3xf32> stands behind an assertion. When the
// buffer turns out to have four elements, the assertion always fails, and upstream
// folds the casts on the way into one of memref<4xf32> to memref<3xf32>, which is no
// cast. A reinterpretation may be of any extents, and is the same instructions. So may a
// slice behind one be of a negative extent, which no type can have: it is taken as 0.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace redfuse {
#define GEN_PASS_DEF_ASSUMEEXTENTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Whether the result has an extent that the source's type does not have.
static bool assumesExtent(memref::CastOp op) {
  auto from = dyn_cast<MemRefType>(op.getSource().getType());
  auto to = dyn_cast<MemRefType>(op.getType());
  return from && to &&
         llvm::any_of(llvm::zip_equal(from.getShape(), to.getShape()),
                      [](auto extents) {
                        auto [before, after] = extents;
                        return ShapedType::isDynamic(before) &&
                               !ShapedType::isDynamic(after);
                      });
}

/// Extents that may be computed, at least 0.
static Value atLeastZero(OpBuilder &b, Location loc, Value extent) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  return arith::MaxSIOp::create(b, loc, extent, zero);
}

/// The numbers of a type, and in the places of those that are not known, `values`.
static SmallVector<OpFoldResult> numbers(OpBuilder &b, ArrayRef<int64_t> known,
                                         ValueRange values) {
  SmallVector<OpFoldResult> mixed;
  for (auto [number, value] : llvm::zip_equal(known, values))
    mixed.push_back(ShapedType::isDynamic(number)
                        ? OpFoldResult(value)
                        : OpFoldResult(b.getIndexAttr(number)));
  return mixed;
}

namespace {
struct AssumeExtents : public redfuse::impl::AssumeExtentsBase<AssumeExtents> {
  using AssumeExtentsBase::AssumeExtentsBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    AssumeExtentsBase::getDependentDialects(registry);
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](memref::SubViewOp op) {
      rewriter.setInsertionPoint(op);
      for (OpOperand &size : op.getSizesMutable())
        size.set(atLeastZero(rewriter, op.getLoc(), size.get()));
    });
    getOperation().walk([&](memref::CastOp op) {
      if (!assumesExtent(op))
        return;
      auto type = cast<MemRefType>(op.getType());
      auto [strides, offset] = type.getStridesAndOffset();
      rewriter.setInsertionPoint(op);
      auto parts = memref::ExtractStridedMetadataOp::create(
          rewriter, op.getLoc(), op.getSource());
      SmallVector<Value> sizes;
      for (Value size : parts.getSizes())
        sizes.push_back(atLeastZero(rewriter, op.getLoc(), size));
      rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(
          op, type, op.getSource(),
          numbers(rewriter, offset, parts.getOffset()).front(),
          numbers(rewriter, type.getShape(), sizes),
          numbers(rewriter, strides, parts.getStrides()));
    });
  }
};
} // namespace
