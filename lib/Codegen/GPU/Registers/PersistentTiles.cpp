//===- PersistentTiles.cpp - blocks that stay and walk tiles --------------===//
#include "PersistentTiles.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace redfuse;

/// The blocks of a launch, or its clusters, which have a tile together.
Value PersistentTiles::countTeams() {
  Value step = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
  if (layout.cluster > 1)
    step = arith::DivUIOp::create(
        b, loc, step, arith::ConstantIndexOp::create(b, loc, layout.cluster));
  return step;
}

Value PersistentTiles::lastOf(Value tiles) {
  return arith::SubIOp::create(b, loc, tiles,
                               arith::ConstantIndexOp::create(b, loc, 1));
}

LogicalResult PersistentTiles::emitRound(Value block) {
  unsigned exchanges = emitter.exchange.getCount();
  if (failed(tile.emit(block)))
    return failure();
  emitter.loaded.popScope();
  // Where threads exchange twice, all have read the first before the second: the
  // next round may write there.
  if (emitter.exchange.getCount() == exchanges + 1)
    emitter.exchange.barrier();
  return success();
}

/// Multiprocessors are not equally far from memory: blocks with as many tiles each
/// would end a quarter of the time apart. So the first three tiles of a block are
/// given, and the others come from a dynamic scheduler: one is in registers, one on its
/// way to shared memory, one to the second-level cache, and the first thread asks for
/// the number of a fourth. The counter is zero again at the end, as a launch asks as
/// often as it has tiles.
LogicalResult PersistentTiles::emitStaged(Value block, Value tiles,
                                          DynamicScheduler &scheduler) {
  Value step = countTeams(), last = lastOf(tiles);
  emitter.copies.fetchKept();
  emitter.copies.commit();
  Value second = arith::AddIOp::create(b, loc, block, step);
  Value third = arith::AddIOp::create(b, loc, second, step);
  SmallVector<Value> first{block, second, third};
  LogicalResult result = success();
  scf::WhileOp::create(
      b, loc, ValueRange(first).getTypes(), first,
      [&](OpBuilder &, Location, ValueRange state) {
        Value isTile = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             state[0], tiles);
        scf::ConditionOp::create(b, loc, isTile, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        emitter.loaded.pushScope();
        Value answer = scheduler.ask(last);
        emitter.copies.await();
        tile.place(state[0]);
        loads.loadTile(Whose::Own, /*isPinned=*/false);
        emitter.copies.finishReads();
        Value hasNext = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                              state[1], tiles);
        auto branch = scf::IfOp::create(b, loc, hasNext, /*withElse=*/false);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(branch.thenYield());
          tile.place(state[1]);
          emitter.copies.fetchKept(Whose::Own);
          tile.place(arith::MinUIOp::create(b, loc, state[2], last));
          loads.askFor(layout.following);
        }
        emitter.copies.commit();
        // All threads have it behind the first barrier that they meet anyway.
        Value shared;
        Block *round = b.getInsertionBlock();
        emitter.exchange.aroundNextBarrier([&] { scheduler.store(answer); },
                                           [&] { shared = scheduler.read(); });
        result = emitRound(state[0]);
        if (!shared || shared.getParentBlock() != round) {
          emitter.exchange.aroundNextBarrier({}, {});
          scheduler.store(answer);
          emitter.exchange.barrier();
          shared = scheduler.read();
          emitter.exchange.barrier();
        }
        Value given = arith::MulIOp::create(
            b, loc, step, arith::ConstantIndexOp::create(b, loc, 3));
        Value number =
            arith::IndexCastUIOp::create(b, loc, b.getIndexType(), shared);
        number = arith::AddIOp::create(b, loc, given, number);
        scf::YieldOp::create(b, loc, ValueRange{state[1], state[2], number});
      });
  return result;
}

LogicalResult PersistentTiles::emitHeld(Value block, Value tiles) {
  Value step = countTeams(), last = lastOf(tiles);
  emitter.loaded.pushScope();
  loads.loadTile(Whose::Own, /*isPinned=*/true);
  SmallVector<Value> first = emitter.loaded.take();
  emitter.loaded.popScope();
  if (!layout.loadsSharedLate)
    loads.loadTile(Whose::Shared, /*isPinned=*/true);
  emitter.exchange.awaitCluster();
  auto loop = scf::ForOp::create(b, loc, block, tiles, step, first);
  OpBuilder::InsertionGuard guard(b);
  if (first.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  emitter.loaded.pushScope();
  Value next =
      arith::AddIOp::create(b, loc, loop.getInductionVar(), step).getResult();
  tile.place(arith::MinUIOp::create(b, loc, next, last));
  loads.loadTile(Whose::Own, /*isPinned=*/true);
  SmallVector<Value> following = emitter.loaded.take();
  emitter.loaded.set(SmallVector<Value>(loop.getRegionIterArgs()));
  if (failed(emitRound(loop.getInductionVar())))
    return failure();
  if (!first.empty())
    scf::YieldOp::create(b, loc, following);
  return success();
}
