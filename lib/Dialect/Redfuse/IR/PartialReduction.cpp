//===- PartialReduction.cpp - splitting a fold into partial states --------===//
//
// Two ways to split the `over` dims, as upstream names them. Outer reduction: a
// loop over tiles, in which every lane of the tile keeps a state of its own.
// Outer parallel: every tile folds into a state of its own. Either way the
// partial states have the split dims last and are combined by the fold's merge,
// in the order of their indices, starting from the given state.
//
//===----------------------------------------------------------------------===//
#include "TilingUtils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace redfuse;

static LogicalResult verifySplit(FoldOp fold, const SetVector<unsigned> &dims) {
  if (dims.empty())
    return fold.emitOpError("expected at least one dim to split");
  if (fold.hasOutputs())
    return fold.emitOpError(
        "cannot split a fold with outputs: each needs the state of all "
        "segments before its own");
  for (unsigned d : dims)
    if (!llvm::is_contained(fold.getOver(), d))
      return fold.emitOpError()
             << "cannot split dim " << d << ": it is not in 'over'";
  return success();
}

FailureOr<SmallVector<Value>> FoldOp::generateInitialTensorForPartialReduction(
    OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes,
    const SetVector<unsigned> &dims) {
  if (failed(verifySplit(*this, dims)))
    return failure();
  SmallVector<Value> tensors;
  for (auto [map, identity] :
       llvm::zip_equal(getInitMaps(*this), getIdentities())) {
    SmallVector<OpFoldResult> shape;
    for (AffineExpr expr : map.getResults())
      shape.push_back(sizes[cast<AffineDimExpr>(expr).getPosition()]);
    for (unsigned d : dims)
      shape.push_back(sizes[d]);
    auto constant =
        arith::ConstantOp::create(b, loc, cast<TypedAttr>(identity));
    auto empty = tensor::EmptyOp::create(b, loc, shape, constant.getType());
    tensors.push_back(
        linalg::FillOp::create(b, loc, ValueRange{constant}, ValueRange{empty})
            .getResult(0));
  }
  return tensors;
}

/// Turns the step of `fold` into that of one element of the dims `lanes`, which
/// have become parallel: a reduction over them ranges over the unit dim
/// instead.
static void makeLanesParallel(FoldOp fold, const SetVector<unsigned> &lanes,
                              unsigned unitDim) {
  Builder b(fold.getContext());
  unsigned numDims = unitDim + 1;
  SmallBitVector lane(numDims);
  for (unsigned d : lanes)
    lane.set(d);
  auto replaceLanes = [&](ArrayRef<int64_t> dims) {
    SmallVector<int64_t> kept;
    for (int64_t d : dims)
      if (!lane.test(d))
        kept.push_back(d);
    if (kept.size() < dims.size())
      kept.push_back(unitDim);
    return kept;
  };
  fold.setOver(replaceLanes(fold.getOver()));
  // Forward: what a value depends on may now include lanes, by the state.
  DenseMap<Value, SmallBitVector> sets;
  SmallVector<AffineMap> maps = fold.getIndexingMapsArray();
  Block &body = fold.getStep().front();
  for (auto [arg, map] : llvm::zip_equal(body.getArguments(), maps))
    sets[arg] = getDimsOf(map);
  for (Operation &op : body) {
    SmallBitVector dims(numDims);
    for (Value operand : op.getOperands())
      if (auto it = sets.find(operand); it != sets.end())
        dims |= it->second;
    if (auto index = dyn_cast<IndexOp>(op))
      dims.set(index.getDim());
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      SmallBitVector into = dims;
      into &= lane;
      into |= toDimSet(reduce.getInto(), numDims);
      reduce.setOver(replaceLanes(reduce.getOver()));
      reduce.setInto(toDims(into));
      dims = into;
    }
    for (Value result : op.getResults())
      sets[result] = dims;
  }
}

FailureOr<TilingResult> FoldOp::tileToPartialReduction(
    OpBuilder &b, Location loc, ReductionTilingStrategy strategy,
    ValueRange partials, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, const SetVector<unsigned> &dims,
    ArrayRef<OpFoldResult> splitIvs) {
  if (failed(verifySplit(*this, dims)))
    return failure();
  bool perLane =
      strategy == ReductionTilingStrategy::PartialReductionOuterReduction;
  if (isOrdered() && (perLane || getOver().size() > 1))
    return emitOpError()
           << "cannot split an ordered fold "
           << (perLane ? "into lanes: their elements are not contiguous"
                       : "over several dims: the parts are not contiguous");
  SmallBitVector whole = getWholeDims(b, *this, offsets, sizes);
  if (failed(verifyCuts(*this, whole, /*mayRecompute=*/false)))
    return failure();

  TilingResult result;
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  // The unit dim that a lane's reduction ranges over comes last.
  unsigned numDims = getNumIterationDims();
  unsigned numTileDims = perLane ? numDims + 1 : numDims;
  auto addMap = [&](AffineMap map) {
    maps.push_back(
        AffineMap::get(numTileDims, 0, map.getResults(), b.getContext()));
  };
  for (unsigned i = 0, e = getInputs().size(); i < e; ++i) {
    FailureOr<TileOfOperand> part =
        sliceOperand(b, *this, i, offsets, sizes, whole);
    if (failed(part))
      return failure();
    operands.push_back(part->value);
    addMap(part->map);
    if (part->slice)
      result.generatedSlices.push_back(part->slice);
  }
  for (auto [i, map] : llvm::enumerate(getInitMaps(*this))) {
    SmallVector<OpFoldResult> starts, lengths, shape;
    for (AffineExpr expr : map.getResults()) {
      unsigned d = cast<AffineDimExpr>(expr).getPosition();
      starts.push_back(offsets[d]);
      lengths.push_back(sizes[d]);
    }
    shape = lengths;
    AffineMap tileMap = map;
    for (auto [k, d] : llvm::enumerate(dims)) {
      starts.push_back(perLane ? b.getIndexAttr(0) : splitIvs[k]);
      lengths.push_back(perLane ? sizes[d] : b.getIndexAttr(1));
      if (!perLane)
        continue;
      shape.push_back(sizes[d]);
      tileMap = tileMap.insertResult(getAffineDimExpr(d, b.getContext()),
                                     tileMap.getNumResults());
    }
    SmallVector<OpFoldResult> strides(starts.size(), b.getIndexAttr(1));
    SmallVector<int64_t> staticShape;
    for (OpFoldResult length : shape)
      staticShape.push_back(
          getConstantIntValue(length).value_or(ShapedType::kDynamic));
    auto type = RankedTensorType::get(
        staticShape,
        cast<RankedTensorType>(partials[i].getType()).getElementType());
    operands.push_back(tensor::ExtractSliceOp::create(
        b, loc, type, partials[i], starts, lengths, strides));
    addMap(tileMap);
  }
  Operation *tiled = createTile(b, *this, operands, maps, offsets);
  if (perLane)
    makeLanesParallel(cast<FoldOp>(tiled), dims, numDims);
  result.tiledOps.push_back(tiled);
  llvm::append_range(result.tiledValues, tiled->getResults());
  return result;
}

LogicalResult FoldOp::getPartialResultTilePosition(
    OpBuilder &b, unsigned resultNumber, ReductionTilingStrategy strategy,
    ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
    const SetVector<unsigned> &dims, ArrayRef<OpFoldResult> splitIvs,
    SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  if (failed(getResultTilePosition(b, resultNumber, offsets, sizes,
                                   resultOffsets, resultSizes)))
    return failure();
  bool perLane =
      strategy == ReductionTilingStrategy::PartialReductionOuterReduction;
  for (auto [k, d] : llvm::enumerate(dims)) {
    resultOffsets.push_back(perLane ? b.getIndexAttr(0) : splitIvs[k]);
    resultSizes.push_back(perLane ? sizes[d] : b.getIndexAttr(1));
  }
  return success();
}

FailureOr<MergeResult>
FoldOp::mergeReductions(OpBuilder &b, Location loc, ValueRange partials,
                        const SetVector<unsigned> &dims) {
  if (failed(verifySplit(*this, dims)))
    return failure();
  OpBuilder::InsertionGuard guard(b);
  SmallVector<AffineMap> stateMaps = getInitMaps(*this);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<scf::ForOp> loops;
  SmallVector<OpFoldResult> ivs;
  SmallVector<Value> state(getInits());
  unsigned rank = stateMaps.front().getNumResults();
  for (unsigned k = 0, e = dims.size(); k < e; ++k) {
    Value count = getValueOrCreateConstantIndexOp(
        b, loc, tensor::getMixedSize(b, loc, partials.front(), rank + k));
    auto loop = scf::ForOp::create(b, loc, zero, count, one, state);
    loops.push_back(loop);
    ivs.push_back(loop.getInductionVar());
    state = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
    b.setInsertionPointToStart(loop.getBody());
  }
  // The left state is that of the earlier segments.
  SmallVector<Value> right;
  for (auto [partial, left] : llvm::zip_equal(partials, state)) {
    SmallVector<OpFoldResult> lengths = tensor::getMixedSizes(b, loc, left);
    SmallVector<OpFoldResult> starts(lengths.size(), b.getIndexAttr(0));
    llvm::append_range(starts, ivs);
    lengths.append(ivs.size(), b.getIndexAttr(1));
    SmallVector<OpFoldResult> strides(starts.size(), b.getIndexAttr(1));
    right.push_back(tensor::ExtractSliceOp::create(
        b, loc, cast<RankedTensorType>(left.getType()), partial, starts,
        lengths, strides));
  }
  SmallVector<AffineMap> maps(stateMaps);
  llvm::append_range(maps, stateMaps);
  auto merge = MergeOp::create(b, loc, ValueRange(state).getTypes(), right,
                               state, b.getAffineMapArrayAttr(maps));
  IRMapping mapping;
  getMerge().cloneInto(&merge.getBody(), mapping);
  ValueRange results = merge.getResults();
  for (scf::ForOp loop : llvm::reverse(loops)) {
    b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b, loc, results);
    results = loop.getResults();
  }
  return MergeResult{{merge}, llvm::to_vector_of<Value>(results)};
}
