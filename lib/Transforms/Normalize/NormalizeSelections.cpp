//===- NormalizeSelections.cpp - sorts, and top-k of many ranks -----------===//
//
// A reduction that keeps a sorted list of k elements inserts each element in it,
// which takes O(n k) of a row. That fuses with what is around it and is right for a
// few ranks. Sorts, and selections of many ranks or from long rows, become
// `redfuse.select`, whose kernels take O(n) or O(n log n).
//
//===----------------------------------------------------------------------===//
#include "NormalizeCommon.h"
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Dialect/Redfuse/IR/Selection.h"

#include "llvm/ADT/SmallVectorExtras.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZESELECTIONS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;
using tm_tensor::SortOp;
using tm_tensor::TopkOp;

namespace {

/// An order of numbers in which equal ones stay as they are.
struct Order {
  bool descending, isUnsigned;
};

/// `x` compared with `y`: whether that is true where x is larger than y (true), or
/// smaller (false), and whether where they are equal.
struct Comparison {
  bool larger, equal, isUnsigned;
};

std::optional<Comparison> readComparison(Operation *op, Value x, Value y) {
  if (!op || op->getNumOperands() != 2)
    return std::nullopt;
  bool isFlipped = op->getOperand(0) == y && op->getOperand(1) == x;
  if (!isFlipped && (op->getOperand(0) != x || op->getOperand(1) != y))
    return std::nullopt;
  std::optional<Comparison> read;
  if (auto f = dyn_cast<arith::CmpFOp>(op)) {
    using P = arith::CmpFPredicate;
    P p = f.getPredicate();
    bool greater = p == P::OGT || p == P::UGT,
         less = p == P::OLT || p == P::ULT;
    bool most = p == P::OGE || p == P::UGE, least = p == P::OLE || p == P::ULE;
    if (greater || less || most || least)
      read = Comparison{greater || most, most || least, false};
  } else if (auto i = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    switch (i.getPredicate()) {
    case P::sgt:
    case P::sge:
    case P::slt:
    case P::sle:
    case P::ugt:
    case P::uge:
    case P::ult:
    case P::ule: {
      P p = i.getPredicate();
      bool isUnsigned = llvm::is_contained({P::ugt, P::uge, P::ult, P::ule}, p);
      read = Comparison{llvm::is_contained({P::sgt, P::sge, P::ugt, P::uge}, p),
                        llvm::is_contained({P::sge, P::sle, P::uge, P::ule}, p),
                        isUnsigned};
      break;
    }
    default:
      break;
    }
  }
  if (read && isFlipped)
    read->larger = !read->larger;
  return read;
}

/// Whether `v` says that x or y is NaN.
bool isNanTest(Value v, Value x, Value y) {
  auto compare = v.getDefiningOp<arith::CmpFOp>();
  return compare && compare.getPredicate() == arith::CmpFPredicate::UNO &&
         llvm::all_of(compare->getOperands(),
                      [&](Value of) { return of == x || of == y; });
}

/// What is the contrary of `v`, where it is written as such.
Value withoutNot(Value v) {
  auto flip = v.getDefiningOp<arith::XOrIOp>();
  if (!flip || !matchPattern(flip.getRhs(), m_One()))
    return {};
  return flip.getLhs();
}

/// The order in which `first` stays before `second` where `stays` is true.
std::optional<Order> readStays(Value stays, Value first, Value second) {
  if (auto either = stays.getDefiningOp<arith::OrIOp>()) {
    if (isNanTest(either.getRhs(), first, second))
      stays = either.getLhs();
    else if (isNanTest(either.getLhs(), first, second))
      stays = either.getRhs();
  }
  std::optional<Comparison> read =
      readComparison(stays.getDefiningOp(), first, second);
  if (!read || !read->equal)
    return std::nullopt;
  return Order{read->larger, read->isUnsigned};
}

std::optional<Order> readOrder(SortOp op) {
  Block &body = op.getRegion().front();
  for (BlockArgument argument : body.getArguments().drop_front(2))
    if (!argument.use_empty())
      return std::nullopt;
  return readStays(body.getTerminator()->getOperand(0), body.getArgument(0),
                   body.getArgument(1));
}

std::optional<Order> readOrder(TopkOp op) {
  Block &body = op.getRegion().front();
  Value before = body.getTerminator()->getOperand(0);
  Value fresh = body.getArgument(0), placed = body.getArgument(1);
  if (Value stays = withoutNot(before))
    return readStays(stays, placed, fresh);
  std::optional<Comparison> read =
      readComparison(before.getDefiningOp(), fresh, placed);
  if (!read || read->equal)
    return std::nullopt;
  return Order{read->larger, read->isUnsigned};
}

/// Ranks of rows: from `from` on.
struct Ranks {
  int64_t from = 0;
  OpFoldResult count;
};

/// Rewrites one selection.
class Selection {
public:
  Selection(RewriterBase &b, Location loc, Value input, int64_t dimension,
            Order order)
      : b(b), loc(loc), input(input), dimension(dimension), order(order) {}

  /// Values and positions along the dimension, with the dims where they were; null
  /// where not wanted.
  std::pair<Value, Value> build(Ranks ranks, bool wantsValues, Type positions);
  /// What `source` has at `positions` along the dimension.
  Value gather(Value source, Value positions);

private:
  Value swapLast(Value tensor);
  SelectOp select(Value rows, Ranks ranks, bool wantsValues, Type positions);
  std::pair<Value, Value> selectOfPieces(Value rows, int64_t pieces,
                                         int64_t count, bool wantsValues,
                                         Type positions);

  RewriterBase &b;
  Location loc;
  Value input;
  int64_t dimension;
  Order order;
};

/// The dim of the selection and the last one change places.
Value Selection::swapLast(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rank = type.getRank();
  if (dimension == rank - 1)
    return tensor;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tensor);
  std::swap(sizes[dimension], sizes[rank - 1]);
  Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
  AffineMap to = AffineMap::getMultiDimIdentityMap(rank, b.getContext());
  SmallVector<AffineExpr> exprs(to.getResults());
  std::swap(exprs[dimension], exprs[rank - 1]);
  AffineMap from = AffineMap::get(rank, 0, exprs, b.getContext());
  return linalg::GenericOp::create(
             b, loc, empty.getType(), tensor, empty, ArrayRef{from, to},
             SmallVector(rank, utils::IteratorType::parallel),
             [](OpBuilder &inner, Location at, ValueRange arguments) {
               linalg::YieldOp::create(inner, at, arguments[0]);
             })
      .getResult(0);
}

SelectOp Selection::select(Value rows, Ranks ranks, bool wantsValues,
                           Type positions) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, rows);
  sizes.back() = ranks.count;
  Value values, places;
  SmallVector<Type> types;
  if (wantsValues) {
    values = tensor::EmptyOp::create(b, loc, sizes,
                                     getElementTypeOrSelf(input.getType()));
    types.push_back(values.getType());
  }
  if (positions) {
    places = tensor::EmptyOp::create(b, loc, sizes, positions);
    types.push_back(places.getType());
  }
  return SelectOp::create(b, loc, types, rows, values, places, ranks.from,
                          order.descending, order.isUnsigned);
}

/// In how many pieces rows are selected from, so that all units of a GPU have work: a
/// divisor of their length; 1: whole.
int64_t countPieces(Operation *op, RankedTensorType rows, const Ranks &ranks) {
  const Chip *chip = getChipOf(op);
  std::optional<int64_t> count = getConstantIntValue(ranks.count);
  if (!chip || !rows.hasStaticShape() || !count || ranks.from != 0)
    return 1;
  int64_t length = rows.getShape().back(), number = 1;
  for (int64_t extent : rows.getShape().drop_back())
    number *= extent;
  if (number == 0 || length == 0)
    return 1;
  // Each piece has all ranks, and of pieces together there are far fewer.
  int64_t most =
      std::min(chip->units / number,
               length / std::max(kPieceOfRank * *count, kLeastSelectedPiece));
  for (int64_t pieces = most; pieces >= kLeastSelectedPieces; --pieces)
    if (length % pieces == 0)
      return pieces;
  return 1;
}

/// The first ranks of each piece, and of these the first ones. Those of a piece are in
/// order and pieces follow each other, so that equal ones stay in theirs.
std::pair<Value, Value> Selection::selectOfPieces(Value rows, int64_t pieces,
                                                  int64_t count,
                                                  bool wantsValues,
                                                  Type positions) {
  auto type = cast<RankedTensorType>(rows.getType());
  int64_t rank = type.getRank(), length = type.getShape().back() / pieces;
  SmallVector<int64_t> cut(type.getShape());
  cut.back() = pieces;
  cut.push_back(length);
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < rank; ++d)
    groups.push_back({d});
  groups.back().push_back(rank);
  Value parts = tensor::ExpandShapeOp::create(
      b, loc, RankedTensorType::get(cut, type.getElementType()), rows, groups);
  OpFoldResult ranks = b.getIndexAttr(count);
  SelectOp first = select(parts, {0, ranks}, /*wantsValues=*/true,
                          positions ? Type(b.getIndexType()) : Type());
  Value candidates =
      tensor::CollapseShapeOp::create(b, loc, first.getResult(0), groups);
  SelectOp best = select(candidates, {0, ranks}, wantsValues,
                         positions ? Type(b.getIndexType()) : Type());
  Value values = wantsValues ? best.getResult(0) : Value();
  if (!positions)
    return {values, Value()};
  Value places =
      tensor::CollapseShapeOp::create(b, loc, first.getResult(1), groups);
  Value chosen = best.getResults().back();
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, chosen), positions);
  AffineMap map = AffineMap::getMultiDimIdentityMap(rank, b.getContext());
  Value found =
      linalg::GenericOp::create(
          b, loc, empty.getType(), chosen, empty, ArrayRef{map, map},
          SmallVector(rank, utils::IteratorType::parallel),
          [&](OpBuilder &inner, Location at, ValueRange arguments) {
            SmallVector<Value> indices;
            for (int64_t d = 0; d + 1 < rank; ++d)
              indices.push_back(linalg::IndexOp::create(inner, at, d));
            indices.push_back(arguments[0]);
            Value inPiece =
                tensor::ExtractOp::create(inner, at, places, indices);
            Value piece = arith::DivUIOp::create(
                inner, at, arguments[0],
                arith::ConstantIndexOp::create(inner, at, count));
            Value start = arith::MulIOp::create(
                inner, at, piece,
                arith::ConstantIndexOp::create(inner, at, length));
            Value place = arith::AddIOp::create(inner, at, start, inPiece);
            if (!positions.isIndex())
              place = arith::IndexCastOp::create(inner, at, positions, place);
            linalg::YieldOp::create(inner, at, place);
          })
          .getResult(0);
  return {values, found};
}

std::pair<Value, Value> Selection::build(Ranks ranks, bool wantsValues,
                                         Type positions) {
  Value rows = swapLast(input);
  auto type = cast<RankedTensorType>(rows.getType());
  Value values, places;
  int64_t pieces =
      countPieces(rows.getParentBlock()->getParentOp(), type, ranks);
  if (pieces > 1) {
    std::tie(values, places) =
        selectOfPieces(rows, pieces, *getConstantIntValue(ranks.count),
                       wantsValues, positions);
  } else {
    SelectOp whole = select(rows, ranks, wantsValues, positions);
    values = wantsValues ? whole.getResult(0) : Value();
    places = positions ? whole.getResults().back() : Value();
  }
  return {values ? swapLast(values) : Value(),
          places ? swapLast(places) : Value()};
}

Value Selection::gather(Value source, Value positions) {
  auto type = cast<RankedTensorType>(positions.getType());
  int64_t rank = type.getRank();
  Value empty =
      tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, positions),
                              getElementTypeOrSelf(source.getType()));
  AffineMap map = AffineMap::getMultiDimIdentityMap(rank, b.getContext());
  return linalg::GenericOp::create(
             b, loc, empty.getType(), positions, empty, ArrayRef{map, map},
             SmallVector(rank, utils::IteratorType::parallel),
             [&](OpBuilder &inner, Location at, ValueRange arguments) {
               SmallVector<Value> indices;
               for (int64_t d = 0; d < rank; ++d)
                 indices.push_back(linalg::IndexOp::create(inner, at, d));
               Value place = arguments[0];
               if (!place.getType().isIndex())
                 place = arith::IndexCastOp::create(
                     inner, at, inner.getIndexType(), place);
               indices[dimension] = place;
               linalg::YieldOp::create(
                   inner, at,
                   tensor::ExtractOp::create(inner, at, source, indices)
                       .getResult());
             })
      .getResult(0);
}

/// The slices of a sort's results, if these are read by them alone and all are of
/// the same ranks.
std::optional<Ranks>
findRanks(SortOp sort, SmallVectorImpl<tensor::ExtractSliceOp> &slices) {
  std::optional<Ranks> ranks;
  int64_t dimension = sort.getDimension();
  for (OpResult result : sort->getResults())
    for (Operation *user : result.getUsers()) {
      auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
      auto type = cast<RankedTensorType>(result.getType());
      if (!slice || !slice.hasUnitStride() ||
          slice.getType().getRank() != type.getRank())
        return std::nullopt;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        int64_t offset = slice.getStaticOffsets()[d],
                size = slice.getStaticSizes()[d];
        if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size))
          return std::nullopt;
        if (d != dimension && (offset != 0 || size != type.getDimSize(d)))
          return std::nullopt;
      }
      int64_t from = slice.getStaticOffsets()[dimension];
      OpFoldResult count = slice.getMixedSizes()[dimension];
      if (ranks && (ranks->from != from || ranks->count != count))
        return std::nullopt;
      ranks = {from, count};
      slices.push_back(slice);
    }
  return ranks;
}

LogicalResult rewriteSort(SortOp sort, RewriterBase &b) {
  std::optional<Order> order = readOrder(sort);
  if (!order || !sort.getInputs().empty())
    return failure();
  int64_t dimension = sort.getDimension();
  Value input = sort.getOutputs()[0];
  b.setInsertionPoint(sort);
  SmallVector<tensor::ExtractSliceOp> slices;
  std::optional<Ranks> ranks = findRanks(sort, slices);
  if (!ranks)
    ranks = {0, tensor::getMixedSize(b, sort.getLoc(), input, dimension)};

  // Positions are those that a program sorts along, or lead to what it does.
  Type positions;
  for (auto [result, source] :
       llvm::zip_equal(sort->getResults(), sort.getOutputs()))
    if (result.getResultNumber() > 0 && !result.use_empty()) {
      bool isOwn = redfuse::holdsPositions(source, dimension);
      Type type = isOwn ? getElementTypeOrSelf(source.getType())
                        : Type(b.getIndexType());
      if (positions && positions != type)
        return failure();
      positions = type;
    }
  Selection selection(b, sort.getLoc(), input, dimension, *order);
  auto [values, places] =
      selection.build(*ranks, !sort->getResult(0).use_empty(), positions);
  SmallVector<Value> results;
  for (auto [result, source] :
       llvm::zip_equal(sort->getResults(), sort.getOutputs())) {
    Value made = result.getResultNumber() == 0 ? values : places;
    if (!result.use_empty() && result.getResultNumber() > 0 &&
        !redfuse::holdsPositions(source, dimension))
      made = selection.gather(source, places);
    results.push_back(made);
  }
  for (auto [result, made] : llvm::zip_equal(sort->getResults(), results))
    for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
      auto slice = dyn_cast<tensor::ExtractSliceOp>(use.getOwner());
      bool isCut = slice && llvm::is_contained(slices, slice);
      Type type = isCut ? slice.getType() : result.getType();
      b.setInsertionPoint(use.getOwner());
      Value v = made.getType() == type
                    ? made
                    : tensor::CastOp::create(b, sort.getLoc(), type, made)
                          .getResult();
      if (isCut)
        b.replaceOp(slice, v);
      else
        b.modifyOpInPlace(use.getOwner(), [&] { use.set(v); });
    }
  b.eraseOp(sort);
  return success();
}

/// Whether to select the first k of n takes longer by insertion than by kernels of
/// its own.
bool isBetterSelected(TopkOp op) {
  auto rows = cast<RankedTensorType>(op.getInputs()[0].getType());
  auto best = cast<RankedTensorType>(op.getOutputs()[0].getType());
  int64_t k = best.getDimSize(op.getDimension()),
          n = rows.getDimSize(op.getDimension());
  // Fewer elements than ranks leave destinations as they are.
  if (ShapedType::isDynamic(k) || (!ShapedType::isDynamic(n) && n < k))
    return false;
  bool onGpu = getChipOf(op);
  if (k > (onGpu ? kMostWarpRanks : kMostInsertedRanks))
    return true;
  if (ShapedType::isDynamic(n) || !onGpu)
    return false;
  double inserted =
      std::ceil(double(n) / kInsertedElements) * double(k) * kInsertedRankNs;
  return inserted > kSelectionNs + kSelectedElementNs * double(n);
}

LogicalResult rewriteTopk(TopkOp op, RewriterBase &b) {
  std::optional<Order> order = readOrder(op);
  auto rows = cast<RankedTensorType>(op.getInputs()[0].getType());
  auto indices = cast<RankedTensorType>(op.getOutputs()[1].getType());
  if (!order || !isBetterSelected(op) ||
      getElementTypeOrSelf(op.getOutputs()[0].getType()) !=
          rows.getElementType() ||
      !indices.getElementType().isIntOrIndex())
    return failure();
  // What may run out of elements keeps the rest of its destination.
  if (rows.isDynamicDim(op.getDimension()) &&
      llvm::any_of(op.getOutputs(), [](Value out) {
        return !out.getDefiningOp<tensor::EmptyOp>();
      }))
    return failure();
  b.setInsertionPoint(op);
  Selection selection(b, op.getLoc(), op.getInputs()[0], op.getDimension(),
                      *order);
  bool hasOwn = op.getInputs().size() > 1;
  Type positions;
  if (!op->getResult(1).use_empty())
    positions = hasOwn ? Type(b.getIndexType()) : indices.getElementType();
  Ranks ranks{0, tensor::getMixedSize(b, op.getLoc(), op.getOutputs()[0],
                                      op.getDimension())};
  auto [values, places] =
      selection.build(ranks, !op->getResult(0).use_empty(), positions);
  if (positions && hasOwn)
    places = selection.gather(op.getInputs()[1], places);
  Value made[] = {values, places};
  for (OpResult result : op->getResults()) {
    if (result.use_empty())
      continue;
    Value v = made[result.getResultNumber()];
    if (v.getType() != result.getType())
      v = tensor::CastOp::create(b, op.getLoc(), result.getType(), v);
    b.replaceAllUsesWith(result, v);
  }
  b.eraseOp(op);
  return success();
}

struct NormalizeSelections
    : redfuse::impl::NormalizeSelectionsBase<NormalizeSelections> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<SortOp, TopkOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (op->use_empty())
        continue;
      if (auto sort = dyn_cast<SortOp>(op))
        (void)rewriteSort(sort, rewriter);
      else
        (void)rewriteTopk(cast<TopkOp>(op), rewriter);
    }
  }
};

} // namespace
