//===- MatrixOrder.cpp - which tiles a block takes, and where they are -----===//
#include "redfuse/Codegen/GPU/Common/BlockCounters.h"
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"
#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// So many blocks at least stream the same data at a time.
static constexpr int64_t kSharers = 4;
/// The share of the rows, the first ones, whose tiles are the last of all where tiles
/// are unequal: one in so many.
static constexpr int64_t kLateRows = 4;

//===----------------------------------------------------------------------===//
// Where a tile is
//===----------------------------------------------------------------------===//

Value MatrixGenerator::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value MatrixGenerator::countTiles(unsigned d) {
  return b.createOrFold<arith::CeilDivUIOp>(loc, emitter->extents[d],
                                            index(plan.tileOf(d)));
}

void MatrixGenerator::placeTile(unsigned d, Value position) {
  emitter->offsets[d] =
      b.createOrFold<arith::MulIOp>(loc, position, index(plan.tileOf(d)));
}

/// The remainder; `x` becomes the quotient. Numbers of tiles fit 32 bits, whose
/// division is short.
Value MatrixGenerator::divide(Value &x, Value by) {
  auto narrow = [&](Value v) {
    return b.createOrFold<arith::IndexCastUIOp>(loc, b.getI32Type(), v);
  };
  auto wide = [&](Value v) {
    return b.createOrFold<arith::IndexCastUIOp>(loc, b.getIndexType(), v);
  };
  Value quotient =
      wide(b.createOrFold<arith::DivUIOp>(loc, narrow(x), narrow(by)));
  Value taken = b.createOrFold<arith::MulIOp>(loc, quotient, by);
  Value rest = b.createOrFold<arith::SubIOp>(loc, x, taken);
  x = quotient;
  return rest;
}

/// How many tiles of the other dims, of so many, find what they stream in the L2
/// cache.
MatrixGenerator::TileGroup MatrixGenerator::groupTiles(Value others) {
  Value bytes = index(0);
  for (const MatrixProduct &product : plan.products) {
    Value size = index(2);
    for (unsigned d : {product.n, product.k})
      size = b.createOrFold<arith::MulIOp>(loc, size, emitter->extents[d]);
    bytes = b.createOrFold<arith::AddIOp>(loc, bytes, size);
  }
  Value some = b.createOrFold<arith::DivUIOp>(
      loc, index(plan.cachedBytes),
      b.createOrFold<arith::MaxUIOp>(loc, bytes, index(1)));
  Value size = b.createOrFold<arith::MinUIOp>(
      loc, b.createOrFold<arith::MaxUIOp>(loc, some, index(1)), others);
  std::optional<int64_t> count = getConstantIntValue(getAsOpFoldResult(others));
  std::optional<int64_t> most = getConstantIntValue(getAsOpFoldResult(size));
  if (!count || !most)
    return {size, /*isEven=*/false};
  // Division by a constant stays uniform in the eyes of ptxas.
  int64_t divisor = std::max<int64_t>(*most, 1);
  if (!masks.empty())
    divisor = std::clamp<int64_t>(units / kSharers, 1, divisor);
  while (*count % divisor != 0)
    --divisor;
  return {index(divisor), /*isEven=*/true};
}

/// Places the rows of the tile of that number; the number of it among the tiles of
/// the other dims. Neighbours share what is streamed while it stays in the L2 cache:
/// as many tiles of the other dims as fit are a group; inside of it the rows run from
/// the last to the first, because predicates leave most to the last ones, and long
/// tiles should not be started at the end.
Value MatrixGenerator::placeRows(Value block, ArrayRef<int64_t> grid) {
  Value rows = countTiles(plan.m), others = index(1);
  for (int64_t d : grid)
    others = b.createOrFold<arith::MulIOp>(loc, others, countTiles(d));
  TileGroup group = groupTiles(others);
  // Where tiles are unequal, the first rows of all, which should be short, come
  // last: blocks then end at about the same time.
  std::optional<int64_t> rowTiles =
      getConstantIntValue(getAsOpFoldResult(rows));
  int64_t late =
      group.isEven && plan.hasQueue && rowTiles ? *rowTiles / kLateRows : 0;
  Value earlyRows = b.createOrFold<arith::SubIOp>(loc, rows, index(late));
  Value number = block;
  Value row =
      divide(number, b.createOrFold<arith::MulIOp>(loc, group.size, earlyRows));
  Value first = b.createOrFold<arith::MulIOp>(loc, number, group.size);
  // The last group may be smaller.
  Value size = group.size;
  if (!group.isEven)
    size = b.createOrFold<arith::MinUIOp>(
        loc, size, b.createOrFold<arith::SubIOp>(loc, others, first));
  Value other = divide(row, size);
  other = b.createOrFold<arith::AddIOp>(loc, first, other);
  if (late > 0) {
    Value early = b.createOrFold<arith::MulIOp>(loc, earlyRows, others);
    Value isLate =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, block, early);
    Value lateRow = arith::SubIOp::create(b, loc, block, early);
    Value lateOther = divide(lateRow, others);
    lateRow = arith::AddIOp::create(b, loc, lateRow, earlyRows);
    row = arith::SelectOp::create(b, loc, isLate, lateRow, row);
    other = arith::SelectOp::create(b, loc, isLate, lateOther, other);
  }
  Value last = b.createOrFold<arith::SubIOp>(loc, rows, index(1));
  placeTile(plan.m, b.createOrFold<arith::SubIOp>(loc, last, row));
  return other;
}

/// Where the streamed dim starts and ends for a block with a segment of it.
void MatrixGenerator::placeSegment() {
  unsigned d = *plan.stream;
  streamBegin = index(0);
  if (plan.segments > 1) {
    // Whole tiles of it.
    int64_t tile = plan.tileOf(d),
            steps = llvm::divideCeil(
                llvm::divideCeil(space.staticExtents[d], tile), plan.segments);
    streamBegin = arith::MulIOp::create(b, loc, rank, index(steps * tile));
    streamEnd = arith::MinUIOp::create(
        b, loc, emitter->extents[d],
        arith::AddIOp::create(b, loc, streamBegin, index(steps * tile)));
    return;
  }
  if (space.schedule.getKind() != ScheduleKind::Split)
    return;
  // The block's own segment; the last ones may be short, or empty.
  unsigned part = space.schedule.getGrid().back();
  Value size = arith::CeilDivUIOp::create(b, loc, emitter->extents[d],
                                          emitter->extents[part]);
  Value first = arith::MulIOp::create(b, loc, emitter->offsets[part], size);
  streamBegin = arith::MinSIOp::create(b, loc, first, emitter->extents[d]);
  Value end = arith::AddIOp::create(b, loc, streamBegin, size);
  emitter->ends[d] = arith::MinSIOp::create(b, loc, end, emitter->extents[d]);
}

/// Tells the emitter where the tile of that number is in every dim.
void MatrixGenerator::placeBlock(Value block, bool isMultiplier) {
  SmallVector<int64_t> grid(space.schedule.getGrid());
  bool hasRows = llvm::is_contained(grid, int64_t(plan.m));
  llvm::erase(grid, int64_t(plan.m));
  Value rest = hasRows ? placeRows(block, grid) : block;
  for (auto [i, d] : llvm::enumerate(llvm::reverse(grid))) {
    Value position = rest;
    if (i + 1 < grid.size())
      position = divide(rest, countTiles(d));
    placeTile(d, position);
  }
  if (!emitter->offsets[plan.m])
    emitter->offsets[plan.m] = index(0);
  firstRow = emitter->offsets[plan.m];
  lastRow = arith::AddIOp::create(b, loc, firstRow, index(plan.rows() - 1));
  if (isMultiplier)
    placeThread();
  streamBegin = Value();
  if (plan.stream)
    placeSegment();
}

//===----------------------------------------------------------------------===//
// Tiles one after another
//===----------------------------------------------------------------------===//

void MatrixGenerator::overTiles(bool isMultiplier,
                                function_ref<Ring(Value, Ring)> body) {
  if (plan.hasQueue)
    return overQueue(isMultiplier, body);
  // Round after round, every other one in reverse: who had a long tile gets a
  // short one.
  Value own = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  if (plan.shares() > 1) {
    // One tile, and no more.
    turn = ptx.i32(0);
    body(tile, {ptx.i32(0), ptx.i32(0)});
    return;
  }
  Value width = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
  auto placeIn = [&](Value round) -> Value {
    Value isOdd = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, loc, round, index(1)), index(0));
    Value last = arith::SubIOp::create(b, loc, width, index(1));
    return arith::SelectOp::create(
        b, loc, isOdd, arith::SubIOp::create(b, loc, last, own), own);
  };
  Value full = rounds;
  Value done = arith::MulIOp::create(b, loc, full, width);
  Value left = arith::SubIOp::create(b, loc, blocks, done);
  Value hasOneMore = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                           placeIn(full), left);
  Value end = arith::AddIOp::create(
      b, loc, full,
      arith::IndexCastUIOp::create(b, loc, b.getIndexType(), hasOneMore));
  emitFor(b, loc, index(0), end, index(1), {ptx.i32(0), ptx.i32(0)},
          [&](Value round, ValueRange state) {
            Value first = arith::MulIOp::create(b, loc, round, width);
            Value at = arith::AddIOp::create(b, loc, first, placeIn(round));
            turn = arith::AndIOp::create(
                b, loc,
                arith::IndexCastUIOp::create(b, loc, b.getI32Type(), round),
                ptx.i32(1));
            Ring ring = body(at, {state[0], state[1]});
            return SmallVector<Value>{ring.slot, ring.phase};
          });
}

/// The block's own number is its first tile; the others are answers of the queue.
void MatrixGenerator::overQueue(bool isMultiplier,
                                function_ref<Ring(Value, Ring)> body) {
  auto cast = [&](Value v) -> Value {
    return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), v);
  };
  Value own = cast(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  Value count = cast(blocks), zero = ptx.i32(0);
  SmallVector<Value> initial{own, zero, zero, zero};
  auto types = ValueRange(initial).getTypes();
  scf::WhileOp::create(
      b, loc, types, initial,
      [&](OpBuilder &, Location, ValueRange state) {
        Value isTile = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             state[0], count);
        scf::ConditionOp::create(b, loc, isTile, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Value at =
            arith::IndexCastUIOp::create(b, loc, b.getIndexType(), state[0]);
        turn = state[3];
        Ring ring = body(at, {state[1], state[2]});
        // Rule 10.
        ptx.wait(queueBarrier(/*isFull=*/true), state[3]);
        Value next = ptx.loadWord(controlWord());
        if (isMultiplier)
          next = ptx.first(ptx.settle(next)[0]);
        ptx.arrive(queueBarrier(/*isFull=*/false),
                   isMultiplier ? emitter->lane : zero);
        Value phase = arith::XOrIOp::create(b, loc, state[3], ptx.i32(1));
        scf::YieldOp::create(b, loc,
                             ValueRange{next, ring.slot, ring.phase, phase});
      });
}

/// Asks for tiles, a thread of its own, until there are none.
void MatrixGenerator::emitQueue() {
  auto cast = [&](Value v) -> Value {
    return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), v);
  };
  Value count = cast(blocks);
  Value width = cast(gpu::GridDimOp::create(b, loc, gpu::Dimension::x));
  SmallVector<Value> initial{ptx.i32(0), ptx.i32(1)};
  auto types = ValueRange(initial).getTypes();
  scf::WhileOp::create(
      b, loc, types, initial,
      [&](OpBuilder &, Location, ValueRange state) {
        Value answer = countOne(b, loc, counters,
                                arith::ConstantIndexOp::create(b, loc, 0),
                                ptx.add(count, -1));
        Value tile = ptx.add(answer, width);
        ptx.wait(queueBarrier(/*isFull=*/false), state[1]);
        ptx.storeWord(controlWord(), tile);
        ptx.arrive(queueBarrier(/*isFull=*/true), ptx.i32(0));
        Value isTile = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             tile, count);
        Value phase = arith::XOrIOp::create(b, loc, state[1], ptx.i32(1));
        scf::ConditionOp::create(b, loc, isTile, ValueRange{tile, phase});
      },
      [&](OpBuilder &, Location, ValueRange state) {
        scf::YieldOp::create(b, loc, state);
      });
}
