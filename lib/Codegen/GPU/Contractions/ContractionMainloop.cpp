//===- ContractionMainloop.cpp - the loop over the sum --------------------===//
#include "ContractionMainloop.h"

#include "redfuse/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

ContractionMainloop::ContractionMainloop(ContractionEmitter &emitter,
                                         const ContractionTiling &tiling,
                                         const ContractionTile &tile,
                                         SumOrder &order, const SumShare &share)
    : ContractionPart(emitter, tiling, tile), order(order), share(share),
      places(emitter, tiling, tile), ofLeft(emitter, tiling, tile, left, order),
      ofRight(emitter, tiling, tile, right, order) {
  int64_t stageSums = tiling.stageSums();
  Value length = arith::SubIOp::create(b, loc, share.end, share.begin);
  steps = arith::CeilDivUIOp::create(b, loc, length, constantIndex(stageSums));
  if (isKnown())
    steps = constantIndex(
        llvm::divideCeil(*order.staticCount(), stageSums * plan.getSplits()));
}

/// The length of what a block adds is known.
bool ContractionMainloop::isKnown() const {
  return order.staticCount() && (plan.getSplits() == 1 || share.isWhole);
}

//===----------------------------------------------------------------------===//
// What comes in a step
//===----------------------------------------------------------------------===//

Value ContractionMainloop::sumOf(Value step) {
  return arith::AddIOp::create(
      b, loc, share.begin,
      arith::MulIOp::create(b, loc, step, constantIndex(tiling.stageSums())));
}

void ContractionMainloop::start(Value step, Value stage) {
  Value sum = sumOf(step);
  ofLeft.start(sum, share, stage);
  ofRight.start(sum, share, stage);
}

void ContractionMainloop::finish(Value step) {
  Value stage = places.stageOf(step);
  ofLeft.finish(stage);
  ofRight.finish(stage);
  gpu::BarrierOp::create(b, loc);
}

void ContractionMainloop::startIfAny(Value step, Value stage) {
  Value some =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, step, steps);
  auto branch = scf::IfOp::create(b, loc, some, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    start(step, stage ? stage : places.stageOf(step));
  }
  // A group of nothing where there is none: groups are counted.
  tile::CommitRowsOp::create(b, loc);
}

void ContractionMainloop::startAhead(Value step, int64_t ahead) {
  startIfAny(arith::AddIOp::create(b, loc, step, constantIndex(ahead)));
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

SmallVector<Value> ContractionMainloop::run(MmaSyncProducts &products) {
  SmallVector<Value> sums = products.makeZeros();
  if (tiling.operands.isCopied && !readsAhead())
    return runCopied(products, sums);
  auto runAny = [&] {
    if (readsAhead())
      return runReadAhead(products, sums);
    return left.isDirect || right.isDirect ? runDirect(products, sums)
                                           : runComputed(products, sums);
  };
  if (isKnown())
    return runAny();
  // There may be nothing to add.
  Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, steps,
                                     constantIndex(0));
  auto branch = scf::IfOp::create(b, loc, ValueRange(sums).getTypes(), some,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, runAny());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, sums);
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// The next stage is loaded while one is multiplied, then computed and stored.
SmallVector<Value> ContractionMainloop::runComputed(MmaSyncProducts &products,
                                                    ValueRange sums) {
  SmallVector<Value> state(sums);
  Value one = constantIndex(1), zero = constantIndex(0);
  start(zero, places.stageOf(zero));
  finish(zero);
  Value last = arith::SubIOp::create(b, loc, steps, one);
  state = emitFor(b, loc, zero, last, one, state,
                  [&](Value step, ValueRange carried) {
                    SmallVector<Value> current(carried);
                    Value next = arith::AddIOp::create(b, loc, step, one);
                    start(next, places.stageOf(next));
                    products.multiply(places.stageOf(step), current);
                    finish(next);
                    return current;
                  });
  products.multiply(places.stageOf(last), state);
  return state;
}

/// As runComputed, but of a direct operand what is loaded is carried to the next step,
/// where lanes compute what they multiply: loads have the time of a step.
SmallVector<Value> ContractionMainloop::runDirect(MmaSyncProducts &products,
                                                  ValueRange sums) {
  OperandLoads &direct = left.isDirect ? ofLeft : ofRight;
  Value one = constantIndex(1), zero = constantIndex(0);
  start(zero, places.stageOf(zero));
  finish(zero);
  SmallVector<Value> state(sums);
  size_t count = state.size();
  llvm::append_range(state, direct.getLoaded());
  Value last = arith::SubIOp::create(b, loc, steps, one);
  auto multiply = [&](Value step, ValueRange loaded,
                      SmallVectorImpl<Value> &current) {
    direct.resume(sumOf(step), share, loaded);
    products.multiply(places.stageOf(step), current,
                      [&](int64_t slab, int64_t number) {
                        return direct.wordsOf(slab, number);
                      });
  };
  state = emitFor(b, loc, zero, last, one, state,
                  [&](Value step, ValueRange carried) {
                    SmallVector<Value> current(carried.take_front(count));
                    Value next = arith::AddIOp::create(b, loc, step, one);
                    start(next, places.stageOf(next));
                    SmallVector<Value> loaded = direct.getLoaded();
                    multiply(step, carried.drop_front(count), current);
                    finish(next);
                    llvm::append_range(current, loaded);
                    return current;
                  });
  SmallVector<Value> loaded(llvm::drop_begin(state, count));
  state.resize(count);
  multiply(last, loaded, state);
  return state;
}

/// Copies of the next stages are on their way while one is multiplied. A step waits for
/// its stage, then for the other threads: all have read the stage before, to which the
/// next copies go.
SmallVector<Value> ContractionMainloop::runCopied(MmaSyncProducts &products,
                                                  ValueRange sums) {
  int64_t ahead = plan.getStages() - 1;
  for (int64_t i = 0; i < ahead; ++i)
    startIfAny(constantIndex(i));
  return emitFor(b, loc, constantIndex(0), steps, constantIndex(1), sums,
                 [&](Value step, ValueRange carried) {
                   tile::WaitRowsOp::create(b, loc, ahead - 1);
                   gpu::BarrierOp::create(b, loc);
                   startAhead(step, ahead);
                   SmallVector<Value> current(carried);
                   products.multiply(places.stageOf(step), current);
                   return current;
                 });
}

/// An instruction of f64 takes so long that a warp would wait for shared memory while it
/// has none to start.
bool ContractionMainloop::readsAhead() const {
  return tiling.operands.isCopied && tiling.elementWords() > 1;
}

/// As runCopied, but a warp reads rows before it multiplies those in front of them, and
/// the first of the next slab before the last of this one. For the next stage, and for the
/// other threads, it waits when it has read all of a stage: the unit has work meanwhile,
/// and the stage is free. So copies go to all stages but the next one.
SmallVector<Value> ContractionMainloop::runReadAhead(MmaSyncProducts &products,
                                                     ValueRange sums) {
  int64_t ahead = plan.getStages(), slabs = plan.getSlabs();
  auto await = [&](int64_t underWay) {
    tile::WaitRowsOp::create(b, loc, underWay);
    gpu::BarrierOp::create(b, loc);
  };
  for (int64_t i = 0; i < ahead; ++i)
    startIfAny(constantIndex(i));
  await(ahead - 1);
  Value one = constantIndex(1), zero = constantIndex(0);
  Value last = arith::SubIOp::create(b, loc, steps, one);
  SmallVector<Value> state(sums);
  size_t count = state.size();
  llvm::append_range(state, products.readFirst(places.stageOf(zero), 0));
  state.push_back(i32(0));
  int64_t words = tiling.stageBytes() / 4;
  state = emitFor(
      b, loc, zero, steps, one, state, [&](Value step, ValueRange carried) {
        SmallVector<Value> current(carried.take_front(count)),
            read(carried.drop_front(count).drop_back());
        Value stage = carried.back();
        Value next;
        auto getNext = [&] {
          await(ahead - 2);
          Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                               stage, i32((ahead - 1) * words));
          next = arith::SelectOp::create(b, loc, isLast, i32(0),
                                         add(stage, i32(words)));
          // At the end a stage is read once more, and not multiplied.
          Value isOver = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                               step, last);
          return Value(arith::SelectOp::create(b, loc, isOver, stage, next));
        };
        for (int64_t slab = 0; slab < slabs; ++slab)
          read = products.multiplyAndRead(read, current, stage, slab, [&] {
            return slab + 1 < slabs ? stage : getNext();
          });
        startIfAny(arith::AddIOp::create(b, loc, step, constantIndex(ahead)),
                   stage);
        llvm::append_range(current, read);
        current.push_back(next);
        return current;
      });
  state.resize(count);
  return state;
}

/// As runCopied, with the products of warpgroups, which run while a step goes on. Of
/// operands without parts those of the step before are over when a step has started its
/// own. So copies go to the stage of two steps before, which all threads are done with.
SmallVector<Value> ContractionMainloop::run(WgmmaProducts &products) {
  // The products of parts are over when a step is.
  int64_t ahead = plan.getStages() - (tiling.operands.haveParts() ? 1 : 2);
  for (int64_t i = 0; i < ahead; ++i)
    startIfAny(constantIndex(i));
  auto await = [&](Value step) {
    tile::WaitRowsOp::create(b, loc, ahead - 1);
    // What copies of threads have written is shown to the unit.
    tile::FenceCopiesOp::create(b, loc);
    gpu::BarrierOp::create(b, loc);
    return places.stageOf(step);
  };
  auto goOn = [&](Value step) { startAhead(step, ahead); };
  return products.addSteps(steps, {await, /*isStarted=*/goOn, /*isOver=*/{}});
}
