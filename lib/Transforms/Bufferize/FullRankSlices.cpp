//===- FullRankSlices.cpp - slices with steps keep their dims -------------===//
//
// Which dims a view of a buffer has dropped, upstream tells by the strides of the
// buffer and of the view (SubViewOp::getDroppedDims). Steps make other strides, and
// it stops the process where it finds no answer. A view that drops none is not asked.
//
// Nor does upstream take a view that begins at the end of a dim, where there is
// nothing to see: slices without elements are no views.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"

namespace redfuse {
#define GEN_PASS_DEF_FULLRANKSLICES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Each kept dim with the dropped ones in front of it; those behind the last kept
/// dim are with it. None where all are dropped.
static SmallVector<ReassociationIndices>
groupDims(const llvm::SmallBitVector &dropped) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  for (int64_t d = 0, rank = dropped.size(); d < rank; ++d) {
    group.push_back(d);
    if (!dropped[d])
      groups.push_back(std::exchange(group, {}));
  }
  if (!groups.empty())
    llvm::append_range(groups.back(), group);
  return groups;
}

/// Whether a slice has steps and fewer dims than what it is a slice of.
template <typename Op>
static bool dropsWithSteps(Op op) {
  return !llvm::all_of(op.getMixedStrides(), isOneInteger) &&
         op.getDroppedDims().any();
}

/// Whether a slice has no elements, as far as the types tell.
template <typename Op>
static bool isEmpty(Op op, RankedTensorType whole) {
  return llvm::is_contained(whole.getShape(), 0) ||
         llvm::any_of(op.getMixedSizes(),
                      [](OpFoldResult size) { return isZeroInteger(size); });
}

static void dropEmpty(tensor::ExtractSliceOp op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  SmallVector<OpFoldResult> sizes;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [d, size] : llvm::enumerate(op.getMixedSizes()))
    if (!dropped[d])
      sizes.push_back(size);
  Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), sizes,
                                        op.getType().getElementType());
  if (empty.getType() != op.getType())
    empty = tensor::CastOp::create(rewriter, op.getLoc(), op.getType(), empty);
  rewriter.replaceOp(op, empty);
}

static void keepRank(tensor::ExtractSliceOp op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  Value slice = tensor::ExtractSliceOp::create(
      rewriter, op.getLoc(), op.getSource(), op.getMixedOffsets(),
      op.getMixedSizes(), op.getMixedStrides());
  rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
      op, op.getType(), slice, groupDims(op.getDroppedDims()));
}

/// Inserts and parallel inserts; what these put is made at `where`.
template <typename Op>
static void keepRank(Op op, Operation *where, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(where);
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  auto type = tensor::ExtractSliceOp::inferResultType(op.getDestType(), sizes);
  Value source =
      tensor::ExpandShapeOp::create(rewriter, op.getLoc(), type, op.getSource(),
                                    groupDims(op.getDroppedDims()), sizes);
  rewriter.modifyOpInPlace(op, [&] { op.getSourceMutable().assign(source); });
}

namespace {
struct FullRankSlices
    : public redfuse::impl::FullRankSlicesBase<FullRankSlices> {
  using FullRankSlicesBase::FullRankSlicesBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](Operation *op) {
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
        if (isEmpty(slice, slice.getSourceType()))
          dropEmpty(slice, rewriter);
        else if (dropsWithSteps(slice))
          keepRank(slice, rewriter);
      } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
        if (isEmpty(insert, insert.getDestType()))
          rewriter.replaceOp(insert, insert.getDest());
        else if (dropsWithSteps(insert))
          keepRank(insert, insert, rewriter);
      } else if (auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op)) {
        if (dropsWithSteps(insert))
          keepRank(insert, insert->getParentOp(), rewriter);
      }
    });
  }
};
} // namespace
