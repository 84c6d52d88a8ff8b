//===- RegisterRounds.cpp - blocks that stay and walk tiles ---------------===//
#include "RegisterGenerator.h"

#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Common/InlinePtx.h"

using namespace mlir;
using namespace redfuse;

/// A tile of the grid, and all that is walked in it.
void RegisterKernelGenerator::placeTile(Value block) {
  placeBlock(block);
  for (unsigned d :
       space.schedule ? space.schedule.getStream() : ArrayRef<int64_t>()) {
    dims[d].offset = arith::ConstantIndexOp::create(b, loc, 0);
    dims[d].size =
        arith::ConstantIndexOp::create(b, loc, space.staticExtents[d]);
    dims[d].staticSize = space.staticExtents[d];
  }
}

LogicalResult RegisterKernelGenerator::emitRound(Value block) {
  unsigned exchanges = own->exchange.getCount();
  if (failed(emitBlock(block)))
    return failure();
  own->loaded.popScope();
  // Where threads exchange twice, all have read the first before the second: the
  // next round may write there.
  if (own->exchange.getCount() == exchanges + 1)
    own->exchange.barrier();
  return success();
}

/// Multiprocessors are not equally far from memory: blocks with as many tiles each
/// would end a quarter of the time apart. So the first three tiles of a block are
/// given, and the others come from a dynamic scheduler: one is in registers, one on its way to
/// shared memory, one to the second-level cache, and the first thread asks for
/// the number of a fourth. The counter is zero again at the end, as a launch asks as
/// often as it has tiles.
LogicalResult RegisterKernelGenerator::emitStagedRounds(Value block,
                                                        Value tiles, Value last,
                                                        Value step) {
  own->copies.fetchKept();
  own->copies.commit();
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
        own->loaded.pushScope();
        Value answer = askScheduler(last);
        own->copies.await();
        placeTile(state[0]);
        loadAhead(Whose::Own);
        own->copies.finishReads();
        Value hasNext = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                              state[1], tiles);
        auto branch = scf::IfOp::create(b, loc, hasNext, /*withElse=*/false);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(branch.thenYield());
          placeTile(state[1]);
          own->copies.fetchKept(Whose::Own);
          placeTile(arith::MinUIOp::create(b, loc, state[2], last));
          askFor(layout.following);
        }
        own->copies.commit();
        // All threads have it behind the first barrier that they meet anyway.
        Value shared;
        Block *round = b.getInsertionBlock();
        own->exchange.aroundNextBarrier([&] { storeAnswer(answer); },
                                        [&] { shared = readAnswer(); });
        result = emitRound(state[0]);
        if (!shared || shared.getParentBlock() != round) {
          own->exchange.aroundNextBarrier({}, {});
          storeAnswer(answer);
          own->exchange.barrier();
          shared = readAnswer();
          own->exchange.barrier();
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

/// i32, of the first thread alone.
Value RegisterKernelGenerator::askScheduler(Value last) {
  Value zero = arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0);
  auto ask =
      scf::IfOp::create(b, loc, TypeRange{b.getI32Type()},
                        own->positions.isFirstThread(), /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ask.thenBlock());
  // Nothing but the number itself: an order of memory would wait for stores.
  Value at = arith::IndexCastOp::create(
      b, loc, b.getI64Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, counters)
          .getResult());
  Value most = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), last);
  Value before =
      emitPtx(b, loc, "atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r",
              {at, most}, b.getI32Type())[0];
  scf::YieldOp::create(b, loc, before);
  b.setInsertionPointToStart(ask.elseBlock());
  scf::YieldOp::create(b, loc, zero);
  return ask.getResult(0);
}

Value RegisterKernelGenerator::readAnswer() {
  return memref::LoadOp::create(
      b, loc, mailbox, ValueRange{arith::ConstantIndexOp::create(b, loc, 0)});
}

void RegisterKernelGenerator::storeAnswer(Value answer) {
  auto branch = scf::IfOp::create(b, loc, own->positions.isFirstThread(),
                                  /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  memref::StoreOp::create(
      b, loc, answer, mailbox,
      ValueRange{arith::ConstantIndexOp::create(b, loc, 0)});
}

LogicalResult RegisterKernelGenerator::emitRounds(Value block, Value tiles) {
  placeTile(block);
  fetchAhead();
  if (limits.overlapsLaunches)
    emitLaunchWait(b, loc);
  own->exchange.startCluster();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value step = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
  if (layout.cluster > 1)
    step = arith::DivUIOp::create(
        b, loc, step, arith::ConstantIndexOp::create(b, loc, layout.cluster));
  Value last = arith::SubIOp::create(b, loc, tiles, one);
  if (!layout.kept.empty())
    return emitStagedRounds(block, tiles, last, step);
  own->pinsLoads = true;
  own->loaded.pushScope();
  loadAhead(Whose::Own);
  SmallVector<Value> first = own->loaded.take();
  own->loaded.popScope();
  if (own->whose == Whose::All)
    loadAhead(Whose::Shared);
  own->exchange.awaitCluster();
  auto loop = scf::ForOp::create(b, loc, block, tiles, step, first);
  OpBuilder::InsertionGuard guard(b);
  if (first.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  own->loaded.pushScope();
  Value next =
      arith::AddIOp::create(b, loc, loop.getInductionVar(), step).getResult();
  placeTile(arith::MinUIOp::create(b, loc, next, last));
  loadAhead(Whose::Own);
  own->pinsLoads = false;
  SmallVector<Value> following = own->loaded.take();
  own->loaded.set(SmallVector<Value>(loop.getRegionIterArgs()));
  if (failed(emitRound(loop.getInductionVar())))
    return failure();
  if (!first.empty())
    scf::YieldOp::create(b, loc, following);
  return success();
}
