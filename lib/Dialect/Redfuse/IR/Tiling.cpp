//===- Tiling.cpp - TilingInterface of all ops in index notation ----------===//
//
// One implementation for cascade, fold, merge and finalize. An operand's tile
// is the slice that its indexing map reaches (with a halo where the map adds
// dims), and `redfuse.index` is offset in the tile's body. What cannot be cut
// alone is refused with the reason.
//
//===----------------------------------------------------------------------===//
#include "TilingUtils.h"

#include "redfuse/Dialect/Redfuse/IR/LinearExpr.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace redfuse;
using utils::IteratorType;

//===----------------------------------------------------------------------===//
// Which dims may be cut
//===----------------------------------------------------------------------===//

/// Whether the destinations are read: a tile written twice would then be
/// continued twice.
static bool readsDestinations(IndexProgramOpInterface op) {
  return isa<FoldOp, MergeOp>(op.getOperation());
}

static SmallBitVector getFoldedDims(IndexProgramOpInterface op) {
  if (auto fold = dyn_cast<FoldOp>(op.getOperation()))
    return toDimSet(fold.getOver(), op.getNumIterationDims());
  return SmallBitVector(op.getNumIterationDims());
}

/// Why `dim` cannot be cut, or nothing where it can. `mayRecompute` allows two
/// tiles to compute the same part of a result.
static std::optional<std::string> whyNotCut(IndexProgramOpInterface op,
                                            unsigned dim, bool mayRecompute) {
  if (auto fold = dyn_cast<FoldOp>(op.getOperation()))
    if (llvm::is_contained(fold.getOver(), dim)) {
      if (fold.isOrdered() && fold.getOver().size() > 1)
        return std::string("the fold is ordered over several dims, whose "
                           "segments would not be contiguous");
      return std::nullopt;
    }
  FailureOr<DimSets> sets = DimSets::compute(op);
  if (failed(sets))
    return std::string("its body is ill-formed");
  for (Operation &inner : *op.getProgramBody()) {
    if (auto scan = dyn_cast<ScanOp>(inner); scan && scan.getDim() == dim)
      return std::string("it is scanned, and the parts need what came before "
                         "them; derive redfuse.fold first");
    if (auto merge = dyn_cast<MergeTopkOp>(inner);
        merge && merge.getDim() == dim)
      return std::string("it is the rank of a topk");
  }
  for (auto reduce : op.getProgramBody()->getOps<ReduceOp>()) {
    if (llvm::is_contained(reduce.getOver(), dim))
      return isa<FoldOp>(op.getOperation())
                 ? std::string("it is reduced within one step of the fold; "
                               "only dims in 'over' carry state")
                 : std::string("it is reduced, and combining the parts needs "
                               "a merge; derive redfuse.fold first");
    if (reduce.getReducer() == Reducer::TopK &&
        llvm::is_contained(reduce.getInto(), dim) &&
        llvm::none_of(reduce.getOperands(),
                      [&](Value v) { return (*sets)[v].test(dim); }))
      return std::string("it is the rank of a topk");
  }
  if (mayRecompute && !readsDestinations(op))
    return std::nullopt;
  for (auto [i, map] : llvm::enumerate(getInitMaps(op)))
    if (!getDimsOf(map).test(dim))
      return "result " + std::to_string(i) +
             " does not have it, so that its tiles would overlap";
  return std::nullopt;
}

/// The init of the loop that an iteration argument stands for, at the outermost
/// loop: all of them have the same shape.
static Value traceToLoopInit(Value value) {
  while (auto arg = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<LoopLikeOpInterface>(arg.getOwner()->getParentOp());
    OpOperand *init = loop ? loop.getTiedLoopInit(arg) : nullptr;
    if (!init)
      break;
    value = init->get();
  }
  return value;
}

static bool isSameSize(OpFoldResult a, OpFoldResult b) {
  if (isEqualConstantIntOrValue(a, b))
    return true;
  auto dimOf = [](OpFoldResult ofr) {
    auto value = dyn_cast<Value>(ofr);
    return value ? value.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
  };
  tensor::DimOp da = dimOf(a), db = dimOf(b);
  return da && db && da.getSource() == db.getSource() &&
         da.getConstantIndex() &&
         da.getConstantIndex() == db.getConstantIndex();
}

/// Whether the tile has all of `dim`.
static bool isWhole(OpBuilder &b, IndexProgramOpInterface op, unsigned dim,
                    OpFoldResult offset, OpFoldResult size) {
  if (!isZeroInteger(offset))
    return false;
  unsigned i = 0;
  bool isKnown = false;
  for (AffineMap map : op.getIndexingMapsArray()) {
    Value operand = traceToLoopInit(op->getOperand(i++));
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      auto d = dyn_cast<AffineDimExpr>(expr);
      if (!d || d.getPosition() != dim)
        continue;
      isKnown = true;
      OpFoldResult extent =
          tensor::getMixedSize(b, op.getLoc(), operand, position);
      bool same = isSameSize(extent, size);
      if (auto value = dyn_cast<Value>(extent))
        if (Operation *made = value.getDefiningOp();
            made && isa<tensor::DimOp>(made) && made->use_empty())
          made->erase();
      if (same)
        return true;
    }
  }
  return !isKnown && isConstantIntValue(size, 1);
}

SmallVector<AffineMap> redfuse::getInitMaps(IndexProgramOpInterface op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.erase(maps.begin(), maps.begin() + op.getProgramInputs().size());
  return maps;
}

SmallBitVector redfuse::getWholeDims(OpBuilder &b, IndexProgramOpInterface op,
                                     ArrayRef<OpFoldResult> offsets,
                                     ArrayRef<OpFoldResult> sizes) {
  SmallBitVector whole(op.getNumIterationDims());
  for (unsigned d = 0, e = whole.size(); d < e; ++d)
    if (isWhole(b, op, d, offsets[d], sizes[d]))
      whole.set(d);
  return whole;
}

LogicalResult redfuse::verifyCuts(IndexProgramOpInterface op,
                                  const SmallBitVector &whole,
                                  bool mayRecompute) {
  for (unsigned d = 0, e = whole.size(); d < e; ++d) {
    if (whole.test(d))
      continue;
    if (auto reason = whyNotCut(op, d, mayRecompute))
      return op->emitOpError() << "cannot tile dim " << d << ": " << *reason;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

static std::string toString(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

/// Start, length and local index of one map result in a tile.
static LogicalResult sliceExpr(OpBuilder &b, IndexProgramOpInterface op,
                               unsigned operandNumber, AffineExpr expr,
                               ArrayRef<OpFoldResult> offsets,
                               ArrayRef<OpFoldResult> sizes,
                               OpFoldResult &start, OpFoldResult &length,
                               AffineExpr &local) {
  if (auto d = dyn_cast<AffineDimExpr>(expr)) {
    start = offsets[d.getPosition()];
    length = sizes[d.getPosition()];
    local = expr;
    return success();
  }
  unsigned n = offsets.size();
  auto linear = getLinearExpr(expr, n);
  if (!linear)
    return op->emitOpError()
           << "cannot tile the dims of map result " << toString(expr)
           << " of operand " << operandNumber
           << ": expected a sum of dims and constants";
  // With offsets as symbols 0..n-1 and sizes as n..2n-1.
  MLIRContext *ctx = b.getContext();
  AffineExpr first = getAffineConstantExpr(linear->constant, ctx);
  AffineExpr count = getAffineConstantExpr(1, ctx);
  local = getAffineConstantExpr(0, ctx);
  for (auto [d, c] : llvm::enumerate(linear->coefficients)) {
    if (c == 0)
      continue;
    AffineExpr offset = getAffineSymbolExpr(d, ctx);
    AffineExpr last = getAffineSymbolExpr(n + d, ctx) - 1;
    count = count + last * std::abs(c);
    local = local + getAffineDimExpr(d, ctx) * c;
    if (c > 0) {
      first = first + offset * c;
      continue;
    }
    // Backwards: the slice starts where the last index of the tile reads.
    first = first + (offset + last) * c;
    std::optional<int64_t> size = getConstantIntValue(sizes[d]);
    if (!size)
      return op->emitOpError()
             << "cannot tile dim " << d << ", which map result "
             << toString(expr) << " of operand " << operandNumber
             << " runs through backwards: expected a tile of static extent";
    local = local - c * (*size - 1);
  }
  SmallVector<OpFoldResult> symbols(offsets);
  llvm::append_range(symbols, sizes);
  start = affine::makeComposedFoldedAffineApply(
      b, op.getLoc(), AffineMap::get(0, 2 * n, first), symbols);
  length = affine::makeComposedFoldedAffineApply(
      b, op.getLoc(), AffineMap::get(0, 2 * n, count), symbols);
  return success();
}

FailureOr<TileOfOperand> redfuse::sliceOperand(OpBuilder &b,
                                               IndexProgramOpInterface op,
                                               unsigned operandNumber,
                                               ArrayRef<OpFoldResult> offsets,
                                               ArrayRef<OpFoldResult> sizes,
                                               const SmallBitVector &whole) {
  AffineMap map = op.getIndexingMapsArray()[operandNumber];
  Value operand = op->getOperand(operandNumber);
  TileOfOperand tile{operand, map, nullptr};
  if (isSubset(getDimsOf(map), whole))
    return tile;
  SmallVector<OpFoldResult> starts, lengths;
  SmallVector<AffineExpr> locals;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    OpFoldResult start = b.getIndexAttr(0), length;
    AffineExpr local = expr;
    AffineMap alone = AffineMap::get(map.getNumDims(), 0, expr);
    if (isSubset(getDimsOf(alone), whole))
      length = tensor::getMixedSize(b, op.getLoc(), operand, position);
    else if (failed(sliceExpr(b, op, operandNumber, expr, offsets, sizes, start,
                              length, local)))
      return failure();
    starts.push_back(start);
    lengths.push_back(length);
    locals.push_back(local);
  }
  SmallVector<OpFoldResult> strides(starts.size(), b.getIndexAttr(1));
  auto slice = tensor::ExtractSliceOp::create(b, op.getLoc(), operand, starts,
                                              lengths, strides);
  tile.value = slice.getResult();
  tile.map = AffineMap::get(map.getNumDims(), 0, locals, b.getContext());
  tile.slice = slice;
  return tile;
}

void redfuse::offsetIndices(OpBuilder &b, Operation *tiled,
                            ArrayRef<OpFoldResult> offsets) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<IndexOp> indices;
  tiled->walk([&](IndexOp index) { indices.push_back(index); });
  for (IndexOp index : indices) {
    OpFoldResult offset = offsets[index.getDim()];
    if (isZeroInteger(offset))
      continue;
    b.setInsertionPoint(tiled);
    Value start = getValueOrCreateConstantIndexOp(b, index.getLoc(), offset);
    b.setInsertionPointAfter(index);
    Value sum = arith::AddIOp::create(b, index.getLoc(), index, start);
    index.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  }
}

Operation *redfuse::createTile(OpBuilder &b, IndexProgramOpInterface op,
                               ArrayRef<Value> operands,
                               ArrayRef<AffineMap> maps,
                               ArrayRef<OpFoldResult> offsets) {
  SmallVector<Type> types;
  for (Value init : operands.drop_front(op.getProgramInputs().size()))
    types.push_back(init.getType());
  Operation *tiled = mlir::clone(b, op.getOperation(), types, operands);
  tiled->setAttr("indexing_maps", b.getAffineMapArrayAttr(maps));
  // It describes the whole space, not a tile of it.
  tiled->removeAttr("schedule");
  offsetIndices(b, tiled, offsets);
  return tiled;
}

//===----------------------------------------------------------------------===//
// TilingInterface
//===----------------------------------------------------------------------===//

static SmallVector<IteratorType> getIterators(IndexProgramOpInterface op) {
  SmallVector<IteratorType> types;
  SmallBitVector folded = getFoldedDims(op);
  for (unsigned d = 0, e = op.getNumIterationDims(); d < e; ++d)
    types.push_back(folded.test(d) || whyNotCut(op, d, /*mayRecompute=*/false)
                        ? IteratorType::reduction
                        : IteratorType::parallel);
  return types;
}

static SmallVector<Range> getDomain(IndexProgramOpInterface op, OpBuilder &b) {
  return llvm::map_to_vector(getExtents(b, op), [&](OpFoldResult extent) {
    return Range{b.getIndexAttr(0), extent, b.getIndexAttr(1)};
  });
}

static FailureOr<TilingResult> tile(IndexProgramOpInterface op, OpBuilder &b,
                                    ArrayRef<OpFoldResult> offsets,
                                    ArrayRef<OpFoldResult> sizes,
                                    bool mayRecompute) {
  SmallBitVector whole = getWholeDims(b, op, offsets, sizes);
  if (failed(verifyCuts(op, whole, mayRecompute)))
    return failure();
  SmallBitVector cutFolded = getFoldedDims(op);
  cutFolded.reset(whole);
  if (cutFolded.any())
    for (Value init : op.getProgramInits())
      if (auto arg = dyn_cast<BlockArgument>(init))
        if (isa<scf::ForallOp>(arg.getOwner()->getParentOp()))
          return op->emitOpError()
                 << "cannot tile dim " << cutFolded.find_first()
                 << " by a parallel loop: it carries state from one tile to "
                    "the next; split it into partial states instead";
  unsigned numInputs = op.getProgramInputs().size();
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  TilingResult result;
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i) {
    FailureOr<TileOfOperand> part =
        sliceOperand(b, op, i, offsets, sizes, whole);
    if (failed(part))
      return failure();
    operands.push_back(part->value);
    maps.push_back(part->map);
    // Slices that are handed out invite the fusion of what made them. The state
    // that a loop carries must not be made anew in each of its tiles.
    if (part->slice && (i < numInputs || cutFolded.none()))
      result.generatedSlices.push_back(part->slice);
  }
  Operation *tiled = createTile(b, op, operands, maps, offsets);
  result.tiledOps.push_back(tiled);
  llvm::append_range(result.tiledValues, tiled->getResults());
  return result;
}

static LogicalResult getResultTile(IndexProgramOpInterface op,
                                   unsigned resultNumber,
                                   ArrayRef<OpFoldResult> offsets,
                                   ArrayRef<OpFoldResult> sizes,
                                   SmallVector<OpFoldResult> &resultOffsets,
                                   SmallVector<OpFoldResult> &resultSizes) {
  for (AffineExpr expr : getInitMaps(op)[resultNumber].getResults()) {
    unsigned d = cast<AffineDimExpr>(expr).getPosition();
    resultOffsets.push_back(offsets[d]);
    resultSizes.push_back(sizes[d]);
  }
  return success();
}

static LogicalResult
getDomainTileOfResult(IndexProgramOpInterface op, OpBuilder &b,
                      unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                      ArrayRef<OpFoldResult> sizes,
                      SmallVectorImpl<OpFoldResult> &domainOffsets,
                      SmallVectorImpl<OpFoldResult> &domainSizes) {
  for (Range range : getDomain(op, b)) {
    domainOffsets.push_back(range.offset);
    domainSizes.push_back(range.size);
  }
  AffineMap map = getInitMaps(op)[resultNumber];
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    unsigned d = cast<AffineDimExpr>(expr).getPosition();
    domainOffsets[d] = offsets[position];
    domainSizes[d] = sizes[position];
  }
  return success();
}

static FailureOr<TilingResult>
tileForResult(IndexProgramOpInterface op, OpBuilder &b, unsigned resultNumber,
              ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> domainOffsets, domainSizes;
  if (failed(getDomainTileOfResult(op, b, resultNumber, offsets, sizes,
                                   domainOffsets, domainSizes)))
    return failure();
  FailureOr<TilingResult> result =
      tile(op, b, domainOffsets, domainSizes, /*mayRecompute=*/true);
  if (failed(result))
    return failure();
  result->tiledValues = {result->tiledValues[resultNumber]};
  return result;
}

/// The tile of the iteration space that uses the given tiles of operands, where
/// their maps say so plainly.
static LogicalResult
getDomainTileOfOperands(IndexProgramOpInterface op, OpBuilder &b,
                        ArrayRef<unsigned> numbers,
                        ArrayRef<SmallVector<OpFoldResult>> allOffsets,
                        ArrayRef<SmallVector<OpFoldResult>> allSizes,
                        SmallVectorImpl<OpFoldResult> &domainOffsets,
                        SmallVectorImpl<OpFoldResult> &domainSizes) {
  for (Range range : getDomain(op, b)) {
    domainOffsets.push_back(range.offset);
    domainSizes.push_back(range.size);
  }
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallBitVector given(op.getNumIterationDims());
  for (auto [number, offsets, sizes] :
       llvm::zip_equal(numbers, allOffsets, allSizes)) {
    if (!maps[number].isProjectedPermutation())
      return failure();
    for (auto [position, expr] : llvm::enumerate(maps[number].getResults())) {
      unsigned d = cast<AffineDimExpr>(expr).getPosition();
      if (given.test(d) &&
          (!isEqualConstantIntOrValue(domainOffsets[d], offsets[position]) ||
           !isEqualConstantIntOrValue(domainSizes[d], sizes[position])))
        return failure();
      given.set(d);
      domainOffsets[d] = offsets[position];
      domainSizes[d] = sizes[position];
    }
  }
  return success();
}

/// Whether a tile of the dims of `map` may be asked for. Without diagnostics.
static bool areDimsFusable(IndexProgramOpInterface op, AffineMap map,
                           bool mayRecompute) {
  SmallBitVector folded = getFoldedDims(op);
  return map.isProjectedPermutation() &&
         llvm::all_of(toDims(getDimsOf(map)), [&](int64_t d) {
           return !folded.test(d) && !whyNotCut(op, d, mayRecompute);
         });
}

#define REDFUSE_TILING(Op)                                                     \
  SmallVector<IteratorType> Op::getLoopIteratorTypes() {                       \
    return getIterators(*this);                                                \
  }                                                                            \
  SmallVector<Range> Op::getIterationDomain(OpBuilder &b) {                    \
    return getDomain(*this, b);                                                \
  }                                                                            \
  FailureOr<TilingResult> Op::getTiledImplementation(                          \
      OpBuilder &b, ArrayRef<OpFoldResult> offsets,                            \
      ArrayRef<OpFoldResult> sizes) {                                          \
    return tile(*this, b, offsets, sizes, /*mayRecompute=*/false);             \
  }                                                                            \
  LogicalResult Op::getResultTilePosition(                                     \
      OpBuilder &, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,      \
      ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,  \
      SmallVector<OpFoldResult> &resultSizes) {                                \
    return getResultTile(*this, resultNumber, offsets, sizes, resultOffsets,   \
                         resultSizes);                                         \
  }                                                                            \
  FailureOr<TilingResult> Op::generateResultTileValue(                         \
      OpBuilder &b, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,     \
      ArrayRef<OpFoldResult> sizes) {                                          \
    return tileForResult(*this, b, resultNumber, offsets, sizes);              \
  }                                                                            \
  LogicalResult Op::getIterationDomainTileFromResultTile(                      \
      OpBuilder &b, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,     \
      ArrayRef<OpFoldResult> sizes,                                            \
      SmallVectorImpl<OpFoldResult> &domainOffsets,                            \
      SmallVectorImpl<OpFoldResult> &domainSizes) {                            \
    return getDomainTileOfResult(*this, b, resultNumber, offsets, sizes,       \
                                 domainOffsets, domainSizes);                  \
  }                                                                            \
  FailureOr<TilingResult> Op::getTiledImplementationFromOperandTiles(          \
      OpBuilder &b, ArrayRef<unsigned> numbers,                                \
      ArrayRef<SmallVector<OpFoldResult>> allOffsets,                          \
      ArrayRef<SmallVector<OpFoldResult>> allSizes) {                          \
    SmallVector<OpFoldResult> offsets, sizes;                                  \
    if (failed(getDomainTileOfOperands(*this, b, numbers, allOffsets,          \
                                       allSizes, offsets, sizes)))             \
      return failure();                                                        \
    return tile(*this, b, offsets, sizes, /*mayRecompute=*/false);             \
  }                                                                            \
  LogicalResult Op::getIterationDomainTileFromOperandTiles(                    \
      OpBuilder &b, ArrayRef<unsigned> numbers,                                \
      ArrayRef<SmallVector<OpFoldResult>> allOffsets,                          \
      ArrayRef<SmallVector<OpFoldResult>> allSizes,                            \
      SmallVectorImpl<OpFoldResult> &domainOffsets,                            \
      SmallVectorImpl<OpFoldResult> &domainSizes) {                            \
    return getDomainTileOfOperands(*this, b, numbers, allOffsets, allSizes,    \
                                   domainOffsets, domainSizes);                \
  }                                                                            \
  bool Op::isOpFusableWithConsumerSlice(                                       \
      unsigned resultNumber, ArrayRef<OpFoldResult>, ArrayRef<OpFoldResult>) { \
    return areDimsFusable(*this, getInitMaps(*this)[resultNumber],             \
                          /*mayRecompute=*/true);                              \
  }                                                                            \
  bool Op::isOpFusableWithProducerSlices(                                      \
      ArrayRef<unsigned> numbers, ArrayRef<SmallVector<OpFoldResult>>,         \
      ArrayRef<SmallVector<OpFoldResult>>) {                                   \
    return llvm::all_of(numbers, [&](unsigned number) {                        \
      return areDimsFusable(*this, getIndexingMapsArray()[number],             \
                            /*mayRecompute=*/false);                           \
    });                                                                        \
  }
REDFUSE_TILING(CascadeOp)
REDFUSE_TILING(FoldOp)
REDFUSE_TILING(MergeOp)
REDFUSE_TILING(FinalizeOp)
#undef REDFUSE_TILING
