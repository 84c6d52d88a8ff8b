//===- GroupUpdates.cpp - updates in the order of their places ------------===//
//
// Updates of one place have to be combined in their order, and their places are data. A
// stable sort of the updates' numbers by their places brings those of one place
// together; where each place's begin is found by a binary search. A place of many
// updates would keep one thread for long: the sorted updates are cut into chunks, and
//
//     heads[j]  what is at the front of chunk j and belongs to a place that began before
//     out[t]    what it held, its updates in the chunk where it begins, and the heads of
//               the chunks behind it
//
// so that each update is read once, and a thread has a chunk of them at most.
//
// Integers are the same in any order: they are combined in memory, all at once. Where an
// update replaces what was there, the last of a place counts: its number is the largest,
// which is such a combination, and all others are left out.
//
//===----------------------------------------------------------------------===//
#include "GroupUpdates.h"

#include "NormalizeCommon.h"
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/IR/Selection.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using redfuse::kComparedUpdates;
using redfuse::kLeastGroupedUpdates;
using redfuse::kMostUpdatesOfPlace;
using redfuse::kUpdateChunk;
using redfuse::kUpdatesInTurn;
using redfuse::kUpdatesReadAhead;
using redfuse::Reducer;
using redfuse::tm_tensor::ScatterOp;

namespace {

/// What the region of a scatter combines by.
struct Combination {
  /// None where the new element replaces the old one.
  std::optional<redfuse::Reducer> reducer;
  /// What is combined, wider than the elements where the region rounds to these.
  Type type;

  static FailureOr<Combination> of(Region &region);
  Value widen(OpBuilder &b, Location loc, Value v) const {
    return v.getType() == type
               ? v
               : arith::ExtFOp::create(b, loc, type, v).getResult();
  }
  Value narrow(OpBuilder &b, Location loc, Value v, Type to) const {
    return v.getType() == to
               ? v
               : arith::TruncFOp::create(b, loc, to, v).getResult();
  }
  Value combine(OpBuilder &b, Location loc, Value older, Value newer) const {
    return reducer ? redfuse::createCombiner(b, loc, *reducer, older, newer)
                   : newer;
  }
};

FailureOr<Combination> Combination::of(Region &region) {
  Block &body = region.front();
  Value made = body.getTerminator()->getOperand(0);
  Value fresh = body.getArgument(0), old = body.getArgument(1);
  if (made == fresh)
    return Combination{std::nullopt, fresh.getType()};
  bool isRounded = false;
  if (auto round = made.getDefiningOp<arith::TruncFOp>()) {
    made = round.getIn();
    isRounded = true;
  }
  Operation *op = made.getDefiningOp();
  std::optional<redfuse::Reducer> reducer =
      op ? redfuse::getReducerOf(op) : std::nullopt;
  if (!reducer || op->getNumOperands() != 2 || op->getBlock() != &body)
    return failure();
  SmallVector<Value, 2> sources;
  for (Value operand : op->getOperands()) {
    if (auto extend = operand.getDefiningOp<arith::ExtFOp>();
        extend && isRounded)
      operand = extend.getIn();
    sources.push_back(operand);
  }
  if (!llvm::is_contained(sources, fresh) || !llvm::is_contained(sources, old))
    return failure();
  return Combination{reducer, made.getType()};
}

/// Builds the loops of one scatter.
class Grouping {
public:
  Grouping(ScatterOp op, OpBuilder &b, Combination combination)
      : op(op), b(b), loc(op.getLoc()), combination(combination) {
    auto type = cast<RankedTensorType>(op.getOutputs()[0].getType());
    element = type.getElementType();
    int64_t first = op.getFirstSliceDim();
    for (auto [d, extent] : llvm::enumerate(type.getShape()))
      (int64_t(d) < first ? places : width) *= extent;
    count = cast<RankedTensorType>(op.getInputs()[0].getType()).getDimSize(0);
  }
  /// The last update of each place.
  Value buildReplaced();
  /// All updates at once, of integers.
  Value buildCombined();
  /// In the order of their places.
  Value buildGrouped();
  /// Whether no order shows in the result, and few updates meet at a place.
  bool canCombineAtOnce() const;
  bool isReplaced() const { return !combination.reducer; }

private:
  /// A tensor of `shape`, each element made by `body` of its indices.
  Value fill(ArrayRef<int64_t> shape, Type type,
             function_ref<Value(ValueRange)> body);
  Value number(int64_t n) { return arith::ConstantIndexOp::create(b, loc, n); }
  Value read(Value tensor, ValueRange at) {
    return tensor::ExtractOp::create(b, loc, tensor, at);
  }
  Value readIndex(Value tensor, ValueRange at) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                      read(tensor, at));
  }
  Value compare(arith::CmpIPredicate kind, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, kind, x, y);
  }
  /// `tensor` with its leading dims as one, and the others as one.
  Value flatten(Value tensor, int64_t leading);
  Value makeKeys();
  std::pair<Value, Value> sort(Value keys);
  Value findStarts(Value keys);
  Value readUpdate(Value at, Value column);
  /// `older` with the updates from `low` to `high` of the sorted order.
  Value fold(Value older, Value low, Value high, Value column);
  Value makeHeads(Value keys, Value starts);
  Value scatter(std::optional<Reducer> reducer, Value rows, Value keys,
                Value into);
  Value keepLast(Value keys);
  /// A tensor of rows as the output is.
  Value restore(Value flat);

  ScatterOp op;
  OpBuilder &b;
  Location loc;
  Combination combination;
  Type element;
  int64_t places = 1, width = 1, count = 0;
  Value updates, order; // n x width; numbers of updates, sorted
};

Value Grouping::fill(ArrayRef<int64_t> shape, Type type,
                     function_ref<Value(ValueRange)> body) {
  Value empty = tensor::EmptyOp::create(b, loc, shape, type);
  SmallVector<utils::IteratorType> kinds(shape.size(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, loc, TypeRange{empty.getType()}, ValueRange(), ValueRange(empty),
      {b.getMultiDimIdentityMap(shape.size())}, kinds,
      [&](OpBuilder &inner, Location, ValueRange) {
        OpBuilder::InsertionGuard guard(b);
        b.restoreInsertionPoint(inner.saveInsertionPoint());
        SmallVector<Value> at;
        for (size_t d = 0; d < shape.size(); ++d)
          at.push_back(linalg::IndexOp::create(b, loc, d));
        Value made = body(at);
        linalg::YieldOp::create(b, loc, made);
      });
  return generic.getResult(0);
}

Value Grouping::flatten(Value tensor, int64_t leading) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rows = 1, columns = 1;
  ReassociationIndices front, back;
  for (auto [d, extent] : llvm::enumerate(type.getShape())) {
    bool isRow = int64_t(d) < leading;
    (isRow ? rows : columns) *= extent;
    (isRow ? front : back).push_back(d);
  }
  if (back.empty()) {
    // A column of its own.
    Value flat = type.getRank() == 1
                     ? tensor
                     : tensor::CollapseShapeOp::create(b, loc, tensor, {front})
                           .getResult();
    return tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get({rows, 1}, type.getElementType()), flat,
        SmallVector<ReassociationIndices>{{0, 1}});
  }
  if (type.getRank() == 2)
    return tensor;
  return tensor::CollapseShapeOp::create(
      b, loc, tensor, SmallVector<ReassociationIndices>{front, back});
}

/// The place of each update as one number; behind all places if it is outside.
Value Grouping::makeKeys() {
  Value positions = op.getInputs()[1];
  auto type = cast<RankedTensorType>(op.getOutputs()[0].getType());
  return fill({count}, b.getI32Type(), [&](ValueRange at) -> Value {
    Value key = number(0), inside;
    for (auto [k, d] : llvm::enumerate(op.getDimensionMap())) {
      Value start = read(positions, {at[0], number(k)});
      if (!start.getType().isIndex())
        start = arith::IndexCastOp::create(b, loc, b.getIndexType(), start);
      Value extent = number(type.getDimSize(d));
      Value fits = compare(arith::CmpIPredicate::ult, start, extent);
      inside = inside ? arith::AndIOp::create(b, loc, inside, fits) : fits;
      key = arith::AddIOp::create(
          b, loc, arith::MulIOp::create(b, loc, key, extent), start);
    }
    cf::AssertOp::create(
        b, loc, inside,
        redfuse::describeFailure(op, "a position outside the output"));
    // A GPU's threads go on where an assertion fails.
    key = arith::SelectOp::create(b, loc, inside, key, number(places));
    return arith::IndexCastOp::create(b, loc, b.getI32Type(), key);
  });
}

/// The keys from small to large, and whose they are.
std::pair<Value, Value> Grouping::sort(Value keys) {
  Value sorted =
      tensor::EmptyOp::create(b, loc, ArrayRef(count), b.getI32Type());
  Value numbers =
      tensor::EmptyOp::create(b, loc, ArrayRef(count), b.getI32Type());
  auto select = redfuse::SelectOp::create(
      b, loc, TypeRange{sorted.getType(), numbers.getType()}, keys, sorted,
      numbers, /*from=*/0, /*descending=*/false, /*is_unsigned=*/false);
  return {select.getResult(0), select.getResult(1)};
}

/// For each place, and behind the last, where its updates begin among `keys`.
Value Grouping::findStarts(Value keys) {
  return fill({places + 1}, b.getI32Type(), [&](ValueRange at) -> Value {
    int64_t steps = int64_t(llvm::Log2_64_Ceil(uint64_t(count) + 1));
    auto search = scf::ForOp::create(
        b, loc, number(0), number(steps), number(1),
        ValueRange{number(0), number(count)},
        [&](OpBuilder &inner, Location, Value, ValueRange range) {
          OpBuilder::InsertionGuard guard(b);
          b.restoreInsertionPoint(inner.saveInsertionPoint());
          Value sum = arith::AddIOp::create(b, loc, range[0], range[1]);
          Value middle = arith::ShRUIOp::create(b, loc, sum, number(1));
          Value isOpen = compare(arith::CmpIPredicate::ult, range[0], range[1]);
          Value last = number(count - 1);
          Value key = readIndex(
              keys, arith::MinUIOp::create(b, loc, middle, last).getResult());
          Value isBefore = arith::AndIOp::create(
              b, loc, isOpen, compare(arith::CmpIPredicate::ult, key, at[0]));
          Value isBehind = arith::AndIOp::create(
              b, loc, isOpen, compare(arith::CmpIPredicate::uge, key, at[0]));
          Value next = arith::AddIOp::create(b, loc, middle, number(1));
          Value low = arith::SelectOp::create(b, loc, isBefore, next, range[0]);
          Value high =
              arith::SelectOp::create(b, loc, isBehind, middle, range[1]);
          scf::YieldOp::create(b, loc, ValueRange{low, high});
        });
    return arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                      search.getResult(0));
  });
}

Value Grouping::readUpdate(Value at, Value column) {
  return combination.widen(b, loc,
                           read(updates, {readIndex(order, at), column}));
}

/// Several updates are read before the first is combined: each waits for its number, and
/// both for memory.
Value Grouping::fold(Value older, Value low, Value high, Value column) {
  auto loopOver = [&](Value from, Value to, int64_t step, Value start) {
    auto loop = scf::ForOp::create(
        b, loc, from, to, number(step), ValueRange(start),
        [&](OpBuilder &inner, Location, Value at, ValueRange carried) {
          OpBuilder::InsertionGuard guard(b);
          b.restoreInsertionPoint(inner.saveInsertionPoint());
          SmallVector<Value> read;
          for (int64_t i = 0; i < step; ++i)
            read.push_back(readUpdate(
                b.createOrFold<arith::AddIOp>(loc, at, number(i)), column));
          Value made = carried[0];
          for (Value update : read)
            made = combination.combine(b, loc, made, update);
          scf::YieldOp::create(b, loc, made);
        });
    return loop.getResult(0);
  };
  Value length = arith::SubIOp::create(
      b, loc, arith::MaxUIOp::create(b, loc, low, high), low);
  Value rest =
      arith::RemUIOp::create(b, loc, length, number(kUpdatesReadAhead));
  Value middle = arith::AddIOp::create(
      b, loc, low, arith::SubIOp::create(b, loc, length, rest));
  return loopOver(middle, high, 1,
                  loopOver(low, middle, kUpdatesReadAhead, older));
}

/// What each chunk begins with, if that is of a place that began before.
Value Grouping::makeHeads(Value keys, Value starts) {
  int64_t chunks = llvm::divideCeil(count, kUpdateChunk);
  return fill({chunks, width}, combination.type, [&](ValueRange at) -> Value {
    Value low = arith::MulIOp::create(b, loc, at[0], number(kUpdateChunk));
    Value key = readIndex(keys, low);
    // What is outside of the output is of no place.
    Value place = arith::MinUIOp::create(b, loc, key, number(places - 1));
    Value start = readIndex(starts, place);
    Value next = arith::AddIOp::create(b, loc, place, number(1));
    Value end = arith::MinUIOp::create(
        b, loc, readIndex(starts, next),
        arith::AddIOp::create(b, loc, low, number(kUpdateChunk)));
    Value isHead = compare(arith::CmpIPredicate::ult, start, low);
    end = arith::SelectOp::create(b, loc, isHead, end, low);
    Value first = readUpdate(low, at[1]);
    return fold(first, arith::AddIOp::create(b, loc, low, number(1)), end,
                at[1]);
  });
}

Value Grouping::restore(Value flat) {
  auto type = cast<RankedTensorType>(op.getOutputs()[0].getType());
  if (flat.getType() == type)
    return flat;
  int64_t first = op.getFirstSliceDim();
  if (type.getRank() == first)
    flat = tensor::CollapseShapeOp::create(
        b, loc, flat, SmallVector<ReassociationIndices>{{0, 1}});
  if (flat.getType() == type)
    return flat;
  ReassociationIndices front, back;
  for (int64_t d = 0; d < type.getRank(); ++d)
    (d < first ? front : back).push_back(d);
  SmallVector<ReassociationIndices> groups{front};
  if (!back.empty())
    groups.push_back(back);
  return tensor::ExpandShapeOp::create(b, loc, type, flat, groups);
}

Value Grouping::scatter(std::optional<Reducer> reducer, Value rows, Value keys,
                        Value into) {
  redfuse::ReducerAttr how;
  if (reducer)
    how = redfuse::ReducerAttr::get(b.getContext(), *reducer);
  return redfuse::ScatterOp::create(b, loc, into.getType(), how, rows, keys,
                                    into)
      .getResult();
}

/// The place of each update that is the last of its place; of others no place.
Value Grouping::keepLast(Value keys) {
  Value none = number(places);
  auto asWord = [&](Value v) {
    return arith::IndexCastOp::create(b, loc, b.getI32Type(), v).getResult();
  };
  // Few are compared with those behind them.
  if (count <= kComparedUpdates)
    return fill({count}, b.getI32Type(), [&](ValueRange at) -> Value {
      Value key = read(keys, at);
      auto loop = scf::ForOp::create(
          b, loc, arith::AddIOp::create(b, loc, at[0], number(1)),
          number(count), number(1), ValueRange(key),
          [&](OpBuilder &inner, Location, Value j, ValueRange carried) {
            OpBuilder::InsertionGuard guard(b);
            b.restoreInsertionPoint(inner.saveInsertionPoint());
            Value isSame =
                compare(arith::CmpIPredicate::eq, read(keys, j), key);
            Value left = arith::SelectOp::create(b, loc, isSame, asWord(none),
                                                 carried[0]);
            scf::YieldOp::create(b, loc, left);
          });
      return loop.getResult(0);
    });
  Value numbers = fill({count, 1}, b.getI32Type(),
                       [&](ValueRange at) { return asWord(at[0]); });
  Value empty = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{places, 1},
                                        b.getI32Type());
  Value nobody = arith::ConstantIntOp::create(b, loc, b.getI32Type(), -1);
  Value start = linalg::FillOp::create(b, loc, nobody, empty).getResult(0);
  Value last = scatter(Reducer::MaxSI, numbers, keys, start);
  return fill({count}, b.getI32Type(), [&](ValueRange at) -> Value {
    Value key = read(keys, at);
    Value place = arith::MinUIOp::create(
        b, loc, arith::IndexCastOp::create(b, loc, b.getIndexType(), key),
        number(places - 1));
    Value winner = read(last, {place, number(0)});
    Value isLast = compare(arith::CmpIPredicate::eq, winner, asWord(at[0]));
    return arith::SelectOp::create(b, loc, isLast, key, asWord(none));
  });
}

Value Grouping::buildReplaced() {
  Value output = flatten(op.getOutputs()[0], op.getFirstSliceDim());
  updates = flatten(op.getInputs()[0], 1);
  return restore(scatter(std::nullopt, updates, keepLast(makeKeys()), output));
}

bool Grouping::canCombineAtOnce() const {
  return combination.reducer && combination.type == element &&
         (element.isInteger(32) || element.isInteger(64)) &&
         redfuse::ScatterOp::getAtomic(*combination.reducer) &&
         count <= places * kMostUpdatesOfPlace;
}

Value Grouping::buildCombined() {
  Value output = flatten(op.getOutputs()[0], op.getFirstSliceDim());
  updates = flatten(op.getInputs()[0], 1);
  return restore(scatter(combination.reducer, updates, makeKeys(), output));
}

Value Grouping::buildGrouped() {
  Value output = flatten(op.getOutputs()[0], op.getFirstSliceDim());
  updates = flatten(op.getInputs()[0], 1);
  auto [keys, numbers] = sort(makeKeys());
  order = numbers;
  Value starts = findStarts(keys);
  Value heads = makeHeads(keys, starts);
  Value flat = fill({places, width}, element, [&](ValueRange at) -> Value {
    Value next = arith::AddIOp::create(b, loc, at[0], number(1));
    Value low = readIndex(starts, at[0]), high = readIndex(starts, next);
    Value old = read(output, at);
    Value isAny = compare(arith::CmpIPredicate::ult, low, high);
    auto found =
        scf::IfOp::create(b, loc, element, isAny, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(found.thenBlock());
    Value chunk = arith::DivUIOp::create(b, loc, low, number(kUpdateChunk));
    Value after = arith::AddIOp::create(b, loc, chunk, number(1));
    Value end = arith::MinUIOp::create(
        b, loc, high,
        arith::MulIOp::create(b, loc, after, number(kUpdateChunk)));
    Value made = combination.combine(b, loc, combination.widen(b, loc, old),
                                     readUpdate(low, at[1]));
    made =
        fold(made, arith::AddIOp::create(b, loc, low, number(1)), end, at[1]);
    Value chunks =
        arith::CeilDivUIOp::create(b, loc, high, number(kUpdateChunk));
    auto rest = scf::ForOp::create(
        b, loc, after, chunks, number(1), ValueRange(made),
        [&](OpBuilder &inner, Location, Value j, ValueRange carried) {
          OpBuilder::InsertionGuard guard(b);
          b.restoreInsertionPoint(inner.saveInsertionPoint());
          Value head = read(heads, {j, at[1]});
          Value made = combination.combine(b, loc, carried[0], head);
          scf::YieldOp::create(b, loc, made);
        });
    Value whole = combination.narrow(b, loc, rest.getResult(0), element);
    scf::YieldOp::create(b, loc, whole);
    b.setInsertionPointToStart(found.elseBlock());
    scf::YieldOp::create(b, loc, old);
    return found.getResult(0);
  });
  return restore(flat);
}

} // namespace

FailureOr<Value> redfuse::groupUpdates(tm_tensor::ScatterOp op,
                                       PatternRewriter &rewriter) {
  auto output = cast<RankedTensorType>(op.getOutputs()[0].getType());
  auto updates = cast<RankedTensorType>(op.getInputs()[0].getType());
  int64_t first = op.getFirstSliceDim();
  if (!output.hasStaticShape() || !updates.hasStaticShape() ||
      output.getNumElements() == 0 || updates.getDimSize(0) <= kUpdatesInTurn)
    return rewriter.notifyMatchFailure(op, "few updates, or unknown extents");
  if (output.getShape().drop_front(first) != updates.getShape().drop_front() ||
      int64_t(op.getDimensionMap().size()) != first || first == 0)
    return rewriter.notifyMatchFailure(op, "slices have places of their own");
  for (auto [k, d] : llvm::enumerate(op.getDimensionMap()))
    if (int64_t(k) != d)
      return rewriter.notifyMatchFailure(op, "places are of other dims");
  int64_t places = 1;
  for (int64_t extent : output.getShape().take_front(first))
    places *= extent;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
  if (places > kMost || updates.getDimSize(0) > kMost)
    return rewriter.notifyMatchFailure(op, "more than 32 bits number");
  FailureOr<Combination> combination = Combination::of(op.getRegion());
  if (failed(combination))
    return rewriter.notifyMatchFailure(op, "combined by nothing that is known");
  Grouping grouping(op, rewriter, *combination);
  if (grouping.isReplaced())
    return grouping.buildReplaced();
  if (grouping.canCombineAtOnce())
    return grouping.buildCombined();
  if (updates.getDimSize(0) < kLeastGroupedUpdates)
    return rewriter.notifyMatchFailure(op, "few updates");
  return grouping.buildGrouped();
}
