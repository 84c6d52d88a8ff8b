//===- FullRankSlices.cpp - slices with steps keep their dims -------------===//
//
// Which dims a view of a buffer has dropped, upstream tells by the strides of the
// buffer and of the view (SubViewOp::getDroppedDims). Steps make other strides, and
// it stops the process where it finds no answer. A view that drops none is not asked.
//
// Nor does upstream take a view that begins at the end of a dim, where there is
// nothing to see: what has no elements is no view.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Transforms/Bufferize/Bufferize.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Transforms/Passes.h"

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

/// Whether upstream's canonicalizer may take other dims than a slice has dropped: when
/// an operand is folded, it takes the first dims of 1. So it is where these are not
/// those that are dropped, and where a dim is kept whose extent may become 1.
template <typename Op>
static bool dropsAmongOpen(Op op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  if (dropped.none())
    return false;
  SmallVector<OpFoldResult> kept, keptByUpstream;
  size_t spare = dropped.count();
  for (auto [d, size] : llvm::enumerate(op.getMixedSizes())) {
    if (spare && isOneInteger(size))
      --spare;
    else
      keptByUpstream.push_back(size);
    if (dropped[d])
      continue;
    kept.push_back(size);
    if (isa<Attribute>(size))
      continue;
    Value value = redfuse::getExtentOf(size).value;
    auto argument = dyn_cast_or_null<BlockArgument>(value);
    if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
      return true;
  }
  return kept != keptByUpstream;
}

/// Whether a slice has no elements, as far as the types tell.
template <typename Op>
static bool isEmpty(Op op, RankedTensorType whole) {
  return llvm::is_contained(whole.getShape(), 0) ||
         llvm::any_of(op.getMixedSizes(),
                      [](OpFoldResult size) { return isZeroInteger(size); });
}

static bool isEmpty(Value tensor) {
  return llvm::is_contained(cast<RankedTensorType>(tensor.getType()).getShape(),
                            0);
}

/// What has no elements is new, and of the extents `sizes`.
static void replaceByEmpty(Operation *op, ArrayRef<OpFoldResult> sizes,
                           IRRewriter &rewriter) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value empty = tensor::EmptyOp::create(rewriter, op->getLoc(), sizes,
                                        type.getElementType());
  if (empty.getType() != type)
    empty = tensor::CastOp::create(rewriter, op->getLoc(), type, empty);
  rewriter.replaceOp(op, empty);
}

static void dropEmpty(tensor::ExtractSliceOp op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  SmallVector<OpFoldResult> sizes;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [d, size] : llvm::enumerate(op.getMixedSizes()))
    if (!dropped[d])
      sizes.push_back(size);
  replaceByEmpty(op, sizes, rewriter);
}

/// Other operations that become views: what they make is new where it is empty, and
/// those that put something empty beside other tensors insert these.
static LogicalResult dropEmpty(Operation *op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  ReifiedRankedShapedTypeDims shapes;
  bool isReshape = isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op);
  if ((isReshape && isEmpty(op->getOperand(0))) || isEmpty(op->getResult(0))) {
    if (succeeded(reifyResultShapes(rewriter, op, shapes)))
      replaceByEmpty(op, shapes.front(), rewriter);
    return success();
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op); pad && isEmpty(pad.getSource()))
    return redfuse::rewritePadInDestination(rewriter, pad);
  auto concat = dyn_cast<tensor::ConcatOp>(op);
  if (!concat || llvm::none_of(concat.getInputs(),
                               [](Value input) { return isEmpty(input); }))
    return success();
  FailureOr<SmallVector<Value>> parts = concat.decomposeOperation(rewriter);
  if (failed(parts))
    return failure();
  rewriter.replaceOp(op, *parts);
  return success();
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

  void keepAmongOpen(IRRewriter &rewriter) {
    getOperation().walk([&](Operation *op) {
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
        if (dropsAmongOpen(slice))
          keepRank(slice, rewriter);
      } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
        if (dropsAmongOpen(insert))
          keepRank(insert, insert, rewriter);
      } else if (auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op)) {
        if (dropsAmongOpen(insert))
          keepRank(insert, insert->getParentOp(), rewriter);
      }
    });
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    if (isOpen)
      return keepAmongOpen(rewriter);
    SmallVector<Operation *> views;
    getOperation().walk([&](Operation *op) {
      if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::PadOp,
              tensor::ConcatOp>(op))
        views.push_back(op);
    });
    for (Operation *op : views)
      if (failed(dropEmpty(op, rewriter)))
        return signalPassFailure();
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
