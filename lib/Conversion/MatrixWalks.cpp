//===- MatrixWalks.cpp - which tiles of the streamed dim a block walks -----===//
//
// Predicates bound the tiles, and say which of them need none.
//
//===----------------------------------------------------------------------===//
#include "MatrixGenerator.h"
#include "RegisterKernel.h"

using namespace mlir;
using namespace redfuse;

/// Tiles of rows that are tried when a kernel is compiled, at most.
static constexpr int64_t kMostTried = 4;

/// One tile at least, of which no element need exist.
MatrixGenerator::Steps MatrixGenerator::stepsOf() {
  Steps steps = stepsOfRows(firstRow, lastRow);
  Value ownMirror = mirror;
  // Where few tiles of rows exist, all are tried: a walk that is empty in each is
  // not made.
  int64_t rows = space.staticExtents[plan.m], tile = plan.rows();
  if (ShapedType::isDynamic(rows) || rows > kMostTried * tile ||
      (steps.noneBefore && steps.noneBehind))
    return steps;
  bool noneBefore = true, noneBehind = true;
  for (int64_t first = 0; first < rows; first += tile) {
    Steps one = stepsOfRows(arith::ConstantIndexOp::create(b, loc, first),
                            arith::ConstantIndexOp::create(
                                b, loc, std::min(first + tile, rows) - 1));
    auto at = [](Value v) { return getConstantIntValue(getAsOpFoldResult(v)); };
    std::optional<int64_t> begin = at(one.begin), end = at(one.end),
                           wholeBegin = at(one.wholeBegin),
                           wholeEnd = at(one.wholeEnd);
    noneBefore &= begin && wholeBegin && *begin + 1 == *wholeBegin;
    noneBehind &= end && wholeEnd && *end == *wholeEnd;
  }
  mirror = ownMirror;
  steps.noneBefore |= noneBefore;
  steps.noneBehind |= noneBehind;
  return steps;
}

/// Of a block with these rows.
MatrixGenerator::Steps MatrixGenerator::stepsOfRows(Value first, Value last) {
  unsigned d = *plan.stream;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto least = [&](Value x, Value y) {
    return b.createOrFold<arith::MinSIOp>(loc, x, y);
  };
  auto most = [&](Value x, Value y) {
    return b.createOrFold<arith::MaxSIOp>(loc, x, y);
  };
  Value tile = index(tileOf(d)), zero = index(0), one = index(1);
  auto inTiles = [&](Value at, bool up) -> Value {
    // Not below the start, where division would round the wrong way.
    Value from =
        most(b.createOrFold<arith::SubIOp>(loc, at, streamBegin), zero);
    if (up)
      return b.createOrFold<arith::CeilDivUIOp>(loc, from, tile);
    return b.createOrFold<arith::DivUIOp>(loc, from, tile);
  };
  emitter->select(plan.step, *stepSets);
  MatrixMasks masks(b, loc, plan, *stepSets, *emitter);
  MatrixMasks::Range possible = masks.possible(first, last);
  MatrixMasks::Range certain = masks.certain(first, last);
  emitter->decided = masks.getDecided();
  Value end = streamEnd          ? streamEnd
              : emitter->ends[d] ? emitter->ends[d]
                                 : emitter->extents[d];
  Value all = most(inTiles(end, /*up=*/true), one);
  Steps steps;
  steps.begin = least(inTiles(possible.begin, /*up=*/false),
                      b.createOrFold<arith::SubIOp>(loc, all, one));
  steps.end = most(least(inTiles(possible.end, /*up=*/true), all),
                   b.createOrFold<arith::AddIOp>(loc, steps.begin, one));
  steps.wholeBegin = inTiles(certain.begin, /*up=*/true);
  steps.wholeEnd = inTiles(certain.end, /*up=*/false);
  // Of all rows at once, where that can be said: a window as long as the rows.
  MatrixMasks::Range everywhere = certain;
  if (int64_t rows = space.staticExtents[plan.m]; !ShapedType::isDynamic(rows))
    everywhere = masks.certain(zero, index(rows - 1));
  auto begin = getConstantIntValue(getAsOpFoldResult(everywhere.begin));
  steps.noneBefore = isConstantIntValue(getAsOpFoldResult(certain.begin), 0) ||
                     (begin && *begin <= 0);
  steps.noneBehind = masks.getDecided().empty() && !emitter->isRagged(d);
  steps.wholeBegin = least(most(steps.wholeBegin, steps.begin), steps.end);
  steps.wholeEnd = most(least(steps.wholeEnd, steps.end), steps.wholeBegin);
  // The first tile is walked apart from the others, with its predicates: the last
  // one, if only the last ones need them.
  mirror = Value();
  if (steps.noneBefore && !steps.noneBehind && !isOrdered(plan.fold)) {
    Value sum = b.createOrFold<arith::AddIOp>(loc, steps.begin, steps.end);
    mirror = b.createOrFold<arith::SubIOp>(loc, sum, one);
    Value before = b.createOrFold<arith::SubIOp>(loc, sum, steps.wholeEnd);
    steps.wholeEnd = b.createOrFold<arith::SubIOp>(loc, sum, steps.wholeBegin);
    steps.wholeBegin = before;
    std::swap(steps.noneBefore, steps.noneBehind);
  }
  Value second = b.createOrFold<arith::AddIOp>(loc, steps.begin, one);
  steps.wholeBegin = least(most(steps.wholeBegin, second), steps.end);
  steps.wholeEnd = most(steps.wholeEnd, steps.wholeBegin);
  return steps;
}

/// The steps of a warpgroup's own rows, which may begin later than the block's where
/// tiles are walked from the last to the first.
MatrixGenerator::Steps MatrixGenerator::ownSteps(const Steps &all) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto least = [&](Value x, Value y) {
    return b.createOrFold<arith::MinSIOp>(loc, x, y);
  };
  auto most = [&](Value x, Value y) {
    return b.createOrFold<arith::MaxSIOp>(loc, x, y);
  };
  auto minus = [&](Value x, Value y) {
    return b.createOrFold<arith::SubIOp>(loc, x, y);
  };
  Value own = arith::IndexCastUIOp::create(b, loc, b.getIndexType(),
                                           ptx.mul(group, 64));
  Value first = arith::AddIOp::create(b, loc, firstRow, own);
  Value last = arith::AddIOp::create(b, loc, first, index(63));
  MatrixMasks masks(b, loc, plan, *stepSets, *emitter);
  MatrixMasks::Range possible = masks.possible(first, last);
  MatrixMasks::Range certain = masks.certain(first, last);
  Value zero = index(0), one = index(1), tile = index(tileOf(*plan.stream));
  auto inTiles = [&](Value at, bool up) -> Value {
    Value from = most(minus(at, streamBegin), zero);
    if (up)
      return b.createOrFold<arith::CeilDivUIOp>(loc, from, tile);
    return b.createOrFold<arith::DivUIOp>(loc, from, tile);
  };
  // Of the block's tiles, from the first to the last.
  Value sum = b.createOrFold<arith::AddIOp>(loc, mirror, one);
  Value begin = minus(sum, all.end), end = minus(sum, all.begin);
  end = most(least(inTiles(possible.end, /*up=*/true), end),
             b.createOrFold<arith::AddIOp>(loc, begin, one));
  Value wholeEnd = least(inTiles(certain.end, /*up=*/false), end);
  Value wholeBegin = most(inTiles(certain.begin, /*up=*/true), begin);
  Steps steps = all;
  steps.begin = minus(sum, end);
  Value second = b.createOrFold<arith::AddIOp>(loc, steps.begin, one);
  steps.wholeBegin = least(most(minus(sum, wholeEnd), second), steps.end);
  steps.wholeEnd =
      most(least(minus(sum, wholeBegin), steps.end), steps.wholeBegin);
  return steps;
}
