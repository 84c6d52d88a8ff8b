//===- NormalizeTransposes.cpp - redfuse-normalize-transposes -------------===//
#include "NormalizeCommon.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZETRANSPOSES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Whether a tensor has no elements, as far as its type tells, or what makes it.
static bool hasNoElements(Value tensor) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  return llvm::any_of(llvm::seq<int64_t>(0, rank), [&](int64_t d) {
    return redfuse::getExtentOf(tensor, d).constant == 0;
  });
}

/// The type of a tensor whose extents are all known, from its type or from what makes
/// it; null otherwise.
static RankedTensorType knownTypeOf(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape(type.getShape());
  auto empty = tensor.getDefiningOp<tensor::EmptyOp>();
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!type.isDynamicDim(d))
      continue;
    std::optional<int64_t> extent =
        empty ? getConstantIntValue(empty.getDynamicSize(d)) : std::nullopt;
    if (!extent || *extent < 0)
      return RankedTensorType();
    shape[d] = *extent;
  }
  return RankedTensorType::get(shape, type.getElementType());
}

/// The source is padded to whole tiles, as many as the destination has: with more
/// of them than the source fills, a pack with a padding is no pack any more once its
/// extents are known.
static void padSource(IRRewriter &rewriter, linalg::PackOp op) {
  Location loc = op.getLoc();
  RankedTensorType type = op.getSourceType(), packed = op.getDestType();
  SmallVector<OpFoldResult> low(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> high = low, tiles = op.getMixedTiles();
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<int64_t> place = llvm::to_vector(
      llvm::seq<int64_t>(0, type.getRank())); // of a dim among the outer ones
  for (auto [to, from] : llvm::enumerate(op.getOuterDimsPerm()))
    place[from] = to;
  for (auto [d, mixed] : llvm::zip_equal(op.getInnerDimsPos(), tiles)) {
    auto count =
        rewriter.createOrFold<tensor::DimOp>(loc, op.getDest(), place[d]);
    auto length = rewriter.createOrFold<tensor::DimOp>(loc, op.getSource(), d);
    Value tile = getValueOrCreateConstantIndexOp(rewriter, loc, mixed);
    Value whole = rewriter.createOrFold<arith::MulIOp>(loc, count, tile);
    high[d] = getAsOpFoldResult(
        rewriter.createOrFold<arith::SubIOp>(loc, whole, length));
    std::optional<int64_t> known = getConstantIntValue(mixed);
    shape[d] = known && !packed.isDynamicDim(place[d])
                   ? packed.getDimSize(place[d]) * *known
                   : ShapedType::kDynamic;
  }
  auto padded = tensor::PadOp::create(
      rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
      op.getSource(), low, high, op.getPaddingValue());
  rewriter.replaceOpWithNewOp<linalg::PackOp>(
      op, padded, op.getDest(), op.getInnerDimsPos(), tiles,
      /*paddingValue=*/std::nullopt, op.getOuterDimsPerm());
}

/// Only the tiles that the destination is filled from are unpacked: with more of them,
/// behind an assertion that fails, an unpack is none any more once its extents are
/// known.
static void sliceSource(IRRewriter &rewriter, linalg::UnPackOp op) {
  if (op.getSourceType().hasStaticShape() && op.getDestType().hasStaticShape())
    return;
  if (hasNoElements(op.getSource()) || hasNoElements(op.getDest()))
    return rewriter.replaceOp(op, op.getDest()); // of nothing there is no slice
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, op.getSource());
  SmallVector<int64_t> place = llvm::to_vector(llvm::seq<int64_t>(
      0, op.getDestType().getRank())); // of a dim among the outer ones
  for (auto [to, from] : llvm::enumerate(op.getOuterDimsPerm()))
    place[from] = to;
  for (auto [d, mixed] :
       llvm::zip_equal(op.getInnerDimsPos(), op.getMixedTiles())) {
    auto length = rewriter.createOrFold<tensor::DimOp>(loc, op.getDest(), d);
    Value tile = getValueOrCreateConstantIndexOp(rewriter, loc, mixed);
    sizes[place[d]] = getAsOpFoldResult(
        rewriter.createOrFold<arith::CeilDivUIOp>(loc, length, tile));
  }
  SmallVector<OpFoldResult> zeros(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(sizes.size(), rewriter.getIndexAttr(1));
  Value slice = tensor::ExtractSliceOp::create(rewriter, loc, op.getSource(),
                                               zeros, sizes, ones);
  rewriter.replaceOpWithNewOp<linalg::UnPackOp>(
      op, slice, op.getDest(), op.getInnerDimsPos(), op.getMixedTiles(),
      op.getOuterDimsPerm());
}

/// Upstream's folding of a constant with known extents drops the padding, so such a
/// pack is lowered here.
static LogicalResult lowerPadded(IRRewriter &rewriter, linalg::PackOp op) {
  RankedTensorType type = knownTypeOf(op.getDest());
  if (!type || !op.getSourceType().hasStaticShape()) {
    padSource(rewriter, op);
    return success();
  }
  Location loc = op.getLoc();
  Value dest = op.getDest();
  if (type != dest.getType())
    dest = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                   type.getElementType());
  auto pack = linalg::PackOp::create(
      rewriter, loc, op.getSource(), dest, op.getInnerDimsPos(),
      op.getMixedTiles(), op.getPaddingValue(), op.getOuterDimsPerm());
  Value result = pack.getResult();
  if (result.getType() != op.getResult().getType())
    result =
        tensor::CastOp::create(rewriter, loc, op.getResult().getType(), result);
  rewriter.replaceOp(op, result);
  return linalg::lowerPack(rewriter, pack,
                           /*lowerPadLikeWithInsertSlice=*/false);
}

namespace {
struct NormalizeTransposes
    : redfuse::impl::NormalizeTransposesBase<NormalizeTransposes> {
  // Not by patterns: the driver folds what it visits.
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::PackOp> packs;
    getOperation()->walk([&](linalg::PackOp op) { packs.push_back(op); });
    for (linalg::PackOp op : packs) {
      rewriter.setInsertionPoint(op);
      if (!op.hasPureTensorSemantics())
        continue;
      if (hasNoElements(op.getDest()))
        rewriter.replaceOp(op, op.getDest());
      else if (op.getPaddingValue() && failed(lowerPadded(rewriter, op)))
        return signalPassFailure();
    }
    SmallVector<linalg::UnPackOp> unpacks;
    getOperation()->walk([&](linalg::UnPackOp op) { unpacks.push_back(op); });
    for (linalg::UnPackOp op : unpacks) {
      rewriter.setInsertionPoint(op);
      if (op.hasPureTensorSemantics())
        sliceSource(rewriter, op);
    }
    SmallVector<linalg::TransposeOp> ops;
    getOperation()->walk([&](linalg::TransposeOp op) { ops.push_back(op); });
    for (linalg::TransposeOp op : ops) {
      rewriter.setInsertionPoint(op);
      if (op.hasPureTensorSemantics() &&
          failed(linalg::generalizeNamedOp(rewriter, op)))
        return signalPassFailure();
    }
  }
};
} // namespace
