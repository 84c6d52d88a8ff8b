//===- StreamRanges.cpp - which tiles of the streamed dim are walked ------===//
#include "StreamRanges.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"
#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

using namespace mlir;
using namespace redfuse;

namespace {
/// Index arithmetic, folded where operands are known.
struct StepArithmetic {
  OpBuilder &b;
  Location loc;
  /// Where the streamed dim begins, and the extent of a tile there.
  Value begin, tile;

  Value index(int64_t value) const {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value least(Value x, Value y) const {
    return b.createOrFold<arith::MinSIOp>(loc, x, y);
  }
  Value most(Value x, Value y) const {
    return b.createOrFold<arith::MaxSIOp>(loc, x, y);
  }
  Value plus(Value x, Value y) const {
    return b.createOrFold<arith::AddIOp>(loc, x, y);
  }
  Value minus(Value x, Value y) const {
    return b.createOrFold<arith::SubIOp>(loc, x, y);
  }
  /// The tile that has a position, or the first one from it on (`up`). Not below the
  /// start, where division would round the wrong way.
  Value inTiles(Value at, bool up) const {
    Value from = most(minus(at, begin), index(0));
    if (up)
      return b.createOrFold<arith::CeilDivUIOp>(loc, from, tile);
    return b.createOrFold<arith::DivUIOp>(loc, from, tile);
  }
};
} // namespace

/// Elements of the narrowest type in the 16 bytes at whose multiples boxes may begin.
static constexpr int64_t kBoxStep = 16;

/// Where the streamed dim starts and ends for a block with a split of it.
void StreamRanges::placeSplit() {
  unsigned d = *plan.stream;
  begin = index(0);
  if (plan.splits > 1) {
    // Whole tiles of it.
    int64_t tile = plan.tileOf(d),
            steps = llvm::divideCeil(
                llvm::divideCeil(space.staticExtents[d], tile), plan.splits);
    begin = arith::MulIOp::create(b, loc, of.block.rank, index(steps * tile));
    end = arith::MinUIOp::create(
        b, loc, place.extents[d],
        arith::AddIOp::create(b, loc, begin, index(steps * tile)));
    return;
  }
  if (space.schedule.getKind() != ScheduleKind::Split)
    return;
  // The block's own split; the last ones may be short, or empty. All begin at whole 16 bytes of
  // rows that lie along the dim, where alone the hardware copies boxes from.
  unsigned part = space.schedule.getGrid().back();
  Value size =
      arith::CeilDivUIOp::create(b, loc, place.extents[d], place.extents[part]);
  size = arith::MulIOp::create(
      b, loc, arith::CeilDivUIOp::create(b, loc, size, index(kBoxStep)),
      index(kBoxStep));
  Value first = arith::MulIOp::create(b, loc, place.offsets[part], size);
  begin = arith::MinSIOp::create(b, loc, first, place.extents[d]);
  Value last = arith::AddIOp::create(b, loc, begin, size);
  place.ends[d] = arith::MinSIOp::create(b, loc, last, place.extents[d]);
}

void StreamRanges::clear() { begin = end = Value(); }

Value StreamRanges::getEnd() const {
  unsigned d = *plan.stream;
  return end ? end : place.ends[d] ? place.ends[d] : place.extents[d];
}

/// One tile at least, of which no element need exist.
StreamSteps StreamRanges::stepsOfBlock(Value first, Value last) {
  StreamSteps steps = stepsOfRows(first, last);
  Value ownMirror = mirror;
  // Where few tiles of rows exist, all are tried, walked as the kernel walks them (with
  // rows beyond the last one): a loop that is empty in each is not made.
  int64_t rows = space.staticExtents[plan.m], tile = plan.rows();
  if (ShapedType::isDynamic(rows) || rows > kMostTried * tile ||
      (steps.noneBefore && steps.noneBehind))
    return steps;
  bool noneBefore = true, noneBehind = true;
  for (int64_t row = 0; row < rows; row += tile) {
    StreamSteps one =
        stepsOfRows(arith::ConstantIndexOp::create(b, loc, row),
                    arith::ConstantIndexOp::create(b, loc, row + tile - 1),
                    /*isMirrored=*/bool(ownMirror));
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

/// Of a block with these rows. Sets `mirror`: as the predicates say, or as it is asked.
StreamSteps StreamRanges::stepsOfRows(Value first, Value last,
                                      std::optional<bool> isMirrored) {
  unsigned d = *plan.stream;
  StepArithmetic x{b, loc, this->begin,
                   arith::ConstantIndexOp::create(b, loc, plan.tileOf(d))};
  Value zero = x.index(0), one = x.index(1);
  emitter.select(plan.step, *of.stepSets);
  MatrixMasks ranges(b, loc, plan, *of.stepSets, of.masks, place, emitter);
  MatrixMasks::Range possible = ranges.possible(first, last);
  MatrixMasks::Range certain = ranges.certain(first, last);
  emitter.decided.clear();
  for (StreamMask mask : of.masks)
    emitter.decided[mask.select] = mask.kept();
  Value end = getEnd();
  Value all = x.most(x.inTiles(end, /*up=*/true), one);
  StreamSteps steps;
  steps.begin =
      x.least(x.inTiles(possible.begin, /*up=*/false), x.minus(all, one));
  steps.end = x.most(x.least(x.inTiles(possible.end, /*up=*/true), all),
                     x.plus(steps.begin, one));
  steps.wholeBegin = x.inTiles(certain.begin, /*up=*/true);
  steps.wholeEnd = x.inTiles(certain.end, /*up=*/false);
  // Of all rows at once, and those with which the last tile is filled, where that can be
  // said: a window as long as the rows.
  MatrixMasks::Range everywhere = certain;
  if (int64_t rows = space.staticExtents[plan.m]; !ShapedType::isDynamic(rows))
    everywhere =
        ranges.certain(zero, x.index(llvm::alignTo(rows, plan.rows()) - 1));
  auto begin = getConstantIntValue(getAsOpFoldResult(everywhere.begin));
  steps.noneBefore = isConstantIntValue(getAsOpFoldResult(certain.begin), 0) ||
                     (begin && *begin <= 0);
  steps.noneBehind = of.masks.empty() && !place.isRagged(d);
  steps.wholeBegin = x.least(x.most(steps.wholeBegin, steps.begin), steps.end);
  steps.wholeEnd = x.most(x.least(steps.wholeEnd, steps.end), steps.wholeBegin);
  // The first tile is walked apart from the others, with its predicates: the last
  // one, if only the last ones need them.
  mirror = Value();
  if (isMirrored.value_or(steps.noneBefore && !steps.noneBehind &&
                          !FoldOp(plan.fold).isOrdered())) {
    Value sum = x.plus(steps.begin, steps.end);
    mirror = x.minus(sum, one);
    Value before = x.minus(sum, steps.wholeEnd);
    steps.wholeEnd = x.minus(sum, steps.wholeBegin);
    steps.wholeBegin = before;
    std::swap(steps.noneBefore, steps.noneBehind);
  }
  Value second = x.plus(steps.begin, one);
  steps.wholeBegin = x.least(x.most(steps.wholeBegin, second), steps.end);
  steps.wholeEnd = x.most(steps.wholeEnd, steps.wholeBegin);
  return steps;
}

StreamSteps StreamRanges::stepsOfConsumer(const StreamSteps &all,
                                          Value firstRow) {
  StepArithmetic x{
      b, loc, this->begin,
      arith::ConstantIndexOp::create(b, loc, plan.tileOf(*plan.stream))};
  Value own = arith::IndexCastUIOp::create(b, loc, b.getIndexType(),
                                           ptx.mul(of.ids.consumer, 64));
  Value first = arith::AddIOp::create(b, loc, firstRow, own);
  Value last = arith::AddIOp::create(b, loc, first, x.index(63));
  MatrixMasks ranges(b, loc, plan, *of.stepSets, of.masks, place, emitter);
  MatrixMasks::Range possible = ranges.possible(first, last);
  MatrixMasks::Range certain = ranges.certain(first, last);
  Value one = x.index(1);
  // Of the block's tiles, from the first to the last.
  Value sum = x.plus(mirror, one);
  Value begin = x.minus(sum, all.end), end = x.minus(sum, all.begin);
  end = x.most(x.least(x.inTiles(possible.end, /*up=*/true), end),
               x.plus(begin, one));
  Value wholeEnd = x.least(x.inTiles(certain.end, /*up=*/false), end);
  Value wholeBegin = x.most(x.inTiles(certain.begin, /*up=*/true), begin);
  StreamSteps steps = all;
  steps.begin = x.minus(sum, end);
  Value second = x.plus(steps.begin, one);
  steps.wholeBegin = x.least(x.most(x.minus(sum, wholeEnd), second), steps.end);
  steps.wholeEnd =
      x.most(x.least(x.minus(sum, wholeBegin), steps.end), steps.wholeBegin);
  return steps;
}

void StreamRanges::setStep(Value step) {
  unsigned d = *plan.stream;
  if (mirror)
    step = arith::SubIOp::create(b, loc, mirror, step);
  Value at = arith::MulIOp::create(
      b, loc, step, arith::ConstantIndexOp::create(b, loc, plan.tileOf(d)));
  place.offsets[d] = arith::AddIOp::create(b, loc, begin, at);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value SumRanges::count(const MatrixProduct &product) {
  Value count = b.createOrFold<arith::CeilDivUIOp>(
      loc, place.extents[product.k],
      arith::ConstantIndexOp::create(b, loc, plan.sumTile()));
  for (unsigned d : product.outerSums)
    count = b.createOrFold<arith::MulIOp>(loc, count, place.extents[d]);
  if (plan.sumSplits == 1)
    return count;
  // The plan sees to it that every block of the cluster has one.
  return b.createOrFold<arith::CeilDivUIOp>(
      loc, b.createOrFold<arith::SubIOp>(loc, count, of.block.rank),
      arith::ConstantIndexOp::create(b, loc, plan.sumSplits));
}

Value SumRanges::at(Value i) {
  if (plan.sumSplits == 1)
    return i;
  // Neighbours in the cluster read neighbours in memory.
  Value by = arith::ConstantIndexOp::create(b, loc, plan.sumSplits);
  return arith::AddIOp::create(b, loc, of.block.rank,
                               arith::MulIOp::create(b, loc, i, by));
}
