//===- TileScheduler.cpp - which tiles a block takes, one after another ---===//
#include "TileScheduler.h"

#include "redfuse/Codegen/GPU/Common/BlockCounters.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace redfuse;

std::pair<Value, Value> TileScheduler::findNumbers() {
  Value own = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
        width = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
  Value blocks = index(plan.multicast());
  return {b.createOrFold<arith::DivUIOp>(loc, own, blocks),
          b.createOrFold<arith::DivUIOp>(loc, width, blocks)};
}

PipelineState TileScheduler::forEachTile(bool isConsumer, TileBody body) {
  if (plan.hasDynamicScheduler)
    return forEachAnswer(isConsumer, body);
  // Round after round, every other one in reverse: who had a long tile gets a
  // short one.
  if (plan.shares() > 1) {
    // One tile, and no more.
    tilePhase = ptx.i32(0);
    return body(of.block.tile, pipeline.start());
  }
  std::pair<Value, Value> numbers = findNumbers();
  Value own = numbers.first, width = numbers.second;
  auto placeIn = [&](Value round) -> Value {
    Value isOdd = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, loc, round, index(1)), index(0));
    Value last = arith::SubIOp::create(b, loc, width, index(1));
    return arith::SelectOp::create(
        b, loc, isOdd, arith::SubIOp::create(b, loc, last, own), own);
  };
  Value full = of.arguments.rounds;
  Value done = arith::MulIOp::create(b, loc, full, width);
  Value left = arith::SubIOp::create(b, loc, of.arguments.tiles, done);
  Value hasOneMore = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                           placeIn(full), left);
  Value end = arith::AddIOp::create(
      b, loc, full,
      arith::IndexCastUIOp::create(b, loc, b.getIndexType(), hasOneMore));
  SmallVector<Value> last = emitFor(
      b, loc, index(0), end, index(1), {ptx.i32(0), ptx.i32(0)},
      [&](Value round, ValueRange state) {
        Value first = arith::MulIOp::create(b, loc, round, width);
        Value at = arith::AddIOp::create(b, loc, first, placeIn(round));
        tilePhase = arith::AndIOp::create(
            b, loc, arith::IndexCastUIOp::create(b, loc, b.getI32Type(), round),
            ptx.i32(1));
        PipelineState ring = body(at, {state[0], state[1]});
        return SmallVector<Value>{ring.stage, ring.phase};
      });
  return {last[0], last[1]};
}

/// The block's own number is its first tile; the others are answers of the scheduler.
PipelineState TileScheduler::forEachAnswer(bool isConsumer, TileBody body) {
  Value own = toWord(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  Value count = toWord(of.arguments.tiles), zero = ptx.i32(0);
  SmallVector<Value> initial{own, zero, zero, zero};
  auto types = ValueRange(initial).getTypes();
  auto loop = scf::WhileOp::create(
      b, loc, types, initial,
      [&](OpBuilder &, Location, ValueRange state) {
        Value isTile = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             state[0], count);
        scf::ConditionOp::create(b, loc, isTile, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Value at =
            arith::IndexCastUIOp::create(b, loc, b.getIndexType(), state[0]);
        tilePhase = state[3];
        PipelineState ring = body(at, {state[1], state[2]});
        // Every answer is read once, before it is overwritten.
        ptx.wait(storage.schedulerBarrier(/*isFull=*/true), state[3]);
        Value next = ptx.loadWord(storage.controlWord());
        if (isConsumer)
          next = ptx.first(ptx.settle(next)[0]);
        ptx.arrive(storage.schedulerBarrier(/*isFull=*/false),
                   isConsumer ? place.lane : zero);
        Value phase = arith::XOrIOp::create(b, loc, state[3], ptx.i32(1));
        scf::YieldOp::create(b, loc,
                             ValueRange{next, ring.stage, ring.phase, phase});
      });
  return {loop.getResult(1), loop.getResult(2)};
}

void TileScheduler::answerRequests() {
  Value count = toWord(of.arguments.tiles);
  Value width = toWord(gpu::GridDimOp::create(b, loc, gpu::Dimension::x));
  SmallVector<Value> initial{ptx.i32(0), ptx.i32(1)};
  auto types = ValueRange(initial).getTypes();
  scf::WhileOp::create(
      b, loc, types, initial,
      [&](OpBuilder &, Location, ValueRange state) {
        Value answer = countOne(b, loc, of.arguments.counters,
                                arith::ConstantIndexOp::create(b, loc, 0),
                                ptx.add(count, -1));
        Value tile = ptx.add(answer, width);
        ptx.wait(storage.schedulerBarrier(/*isFull=*/false), state[1]);
        ptx.storeWord(storage.controlWord(), tile);
        ptx.arrive(storage.schedulerBarrier(/*isFull=*/true), ptx.i32(0));
        Value isTile = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             tile, count);
        Value phase = arith::XOrIOp::create(b, loc, state[1], ptx.i32(1));
        scf::ConditionOp::create(b, loc, isTile, ValueRange{tile, phase});
      },
      [&](OpBuilder &, Location, ValueRange state) {
        scf::YieldOp::create(b, loc, state);
      });
}

Value TileScheduler::firstTile() {
  if (plan.shares() > 1)
    return of.block.tile;
  return findNumbers().first;
}
