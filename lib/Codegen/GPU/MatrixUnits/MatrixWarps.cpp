//===- MatrixWarps.cpp - warps that copy and multiply ----------------------===//
//
// All warps of a block copy every tile together (cp.async), some tiles ahead, and
// multiply each its own rows. What one block waits for, another one of the
// multiprocessor has time for; so a step computes in the program's order, and one
// tile of the grid is all that a block does.
//
// Rules:
// 1. Tiles are used in one order, that of the steps and of the products in a step
//    (first those of inputs, then those onto states). Each has a slot, in turn, and
//    a group of copies, which is empty where there is no such tile any more: so how
//    many groups may run is a constant.
// 2. Before a tile is used, every thread waits for its own copies of it, then for
//    all threads. From then on it is there, and all warps are done with the tile
//    before it, as products are over at once: the next copies go to that one's slot.
// 3. All threads of the block come to each use: nothing that differs between them
//    decides about one.
// 4. What stays in shared memory for all steps is copied with the first tile.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"
#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Whether no element of such tiles lies outside of its tensor.
bool MatrixGenerator::hasAllRows(const MatrixTile &tile) const {
  auto isMultiple = [&](unsigned d, int64_t of) {
    int64_t extent = space.staticExtents[d];
    return !ShapedType::isDynamic(extent) && extent % of == 0 &&
           !emitter->ends[d];
  };
  int64_t rows = tile.type.getRows(), columns = tile.type.getColumns();
  return isMultiple(tile.free, tile.isByRows ? columns : rows) &&
         isMultiple(tile.sum, tile.isByRows ? rows : columns);
}

/// Starts this thread's copies of the tile at the emitter's position.
void MatrixGenerator::copyRows(const MatrixTile &tile, Value into,
                               Value sumTile) {
  SmallVector<Value> positions = positionsOf(tile, sumTile);
  positions[plan.m] = firstRow;
  SmallVector<Value> indices;
  for (AffineExpr e : tile.source.map.getResults())
    indices.push_back(affine::expandAffineExpr(b, loc, e, positions, {}));
  unsigned along = tile.isByRows ? tile.source.sum : tile.source.free;
  tile::CopyRowsOp::create(
      b, loc, emitter->memrefs.lookup(tile.source.argument), indices, along,
      into, thread, plan.threads(), hasAllRows(tile));
}

void MatrixGenerator::synchronizeRows(int64_t pending) {
  tile::WaitRowsOp::create(b, loc, pending);
  gpu::BarrierOp::create(b, loc);
}

Value MatrixGenerator::slotBefore(Value slot) {
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, slot, ptx.i32(0));
  return arith::SelectOp::create(b, loc, isFirst, ptx.i32(layout.slots - 1),
                                 ptx.add(slot, -1));
}

/// Copies the tile that many positions behind the start of a step.
void MatrixGenerator::copyAhead(Value slot, size_t position, Value step,
                                Value end) {
  size_t count = fronts.size() + backs.size(), at = position % count;
  unsigned product =
      at < fronts.size() ? fronts[at] : backs[at - fronts.size()];
  const MatrixTile &tile = layout.products[product].right;
  Value before = emitter->offsets[*plan.stream];
  if (size_t later = position / count) {
    OpBuilder::InsertionGuard guard(b);
    step = arith::AddIOp::create(b, loc, step,
                                 arith::ConstantIndexOp::create(b, loc, later));
    Value exists =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, step, end);
    auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
    setStep(step);
    copyRows(tile, tileIn(slot, tile), Value());
  } else {
    setStep(step);
    copyRows(tile, tileIn(slot, tile), Value());
  }
  emitter->offsets[*plan.stream] = before;
  tile::CommitRowsOp::create(b, loc);
}

/// Rule 4, and the tiles that are under way before the first one is used.
void MatrixGenerator::startStream(Steps steps) {
  for (const ProductTiles &load : layout.products)
    if (load.isResident)
      copyRows(*load.kept, residentTile(load), Value());
  for (int64_t s = 0; s + 1 < layout.slots; ++s)
    copyAhead(ptx.i32(s), s, steps.begin, steps.end);
}

/// Rule 2. The slot of the tile at that position of a step.
Value MatrixGenerator::takeTile(Ring &ring, size_t position, Value step,
                                Value end) {
  synchronizeRows(layout.slots - 2);
  copyAhead(slotBefore(ring.slot), position + layout.slots - 1, step, end);
  Value slot = ring.slot;
  ring = advance(ring);
  return slot;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

MatrixGenerator::Carried MatrixGenerator::emitStepInOrder(Carried before,
                                                          bool isFirst,
                                                          Value step,
                                                          Value end) {
  Block *body = plan.step.getProgramBody();
  auto states = body->getArguments().drop_front(plan.fold.getInputs().size());
  DenseMap<Value, Fragment> invariants = emitter->values;
  Carried after;
  Ring ring = before.ring;
  for (auto [at, i] : llvm::enumerate(fronts)) {
    Value slot = takeTile(ring, at, step, end);
    Value product = start(i, slot, {}, leftOperands.lookup(i));
    emitter->values[plan.products[i].reduce.getResult(0)] =
        asFragment(i, ptx.waitProducts(0, product));
  }
  for (auto [s, arg] : llvm::enumerate(states))
    emitter->values[arg] = before.states[s];
  bool mayStay = !isFirst && !lazyPivots.empty() && emitter->isWholeTile;
  setPivots(mayStay ? findMove(findLimits(before.states)) : Value(), before,
            after, movedStates);
  SmallVector<Value> packed;
  for (unsigned i : backs)
    packed.push_back(emitter->packLeft(plan.products[i]));
  // What is computed of a step's matrices comes before the next products.
  for (unsigned i : backs) {
    unsigned s = plan.products[i].state;
    // Transport takes the identity to itself.
    after.states[s] =
        isFirst ? before.states[s] : carryState(i, before.states[s]);
  }
  yieldOthers(before, after);
  for (auto [at, i] : llvm::enumerate(backs)) {
    Fragment &state = after.states[plan.products[i].state];
    Value slot = takeTile(ring, fronts.size() + at, step, end);
    Value sum = start(i, slot, state.values, packed[at]);
    state.values = ptx.waitProducts(0, sum, packed[at]);
  }
  after.ring = ring;
  emitter->values = std::move(invariants);
  emitter->powers.clear();
  return after;
}

/// A product of its own, of a sum cut into tiles or whole.
SmallVector<Value> MatrixGenerator::multiplyRows(unsigned i) {
  const MatrixProduct &product = plan.products[i];
  const ProductTiles &load = layout.products[i];
  // All warps are done with the product before.
  if (i > 0)
    gpu::BarrierOp::create(b, loc);
  if (!load.left) {
    copyRows(load.right, tileIn(ptx.i32(0), load.right), Value());
    tile::CommitRowsOp::create(b, loc);
    Value left = emitter->packLeft(product);
    synchronizeRows(0);
    return ptx.waitProducts(0, start(i, ptx.i32(0), {}, left), left);
  }
  Value count = tilesOfSum(product.k);
  auto copy = [&](Value slot, Value sumTile) {
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         sumTile, count);
    {
      OpBuilder::InsertionGuard guard(b);
      auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
      b.setInsertionPoint(branch.thenYield());
      copyRows(load.right, tileIn(slot, load.right), sumTile);
      copyRows(*load.left, tileIn(slot, *load.left, load.right.bytes()),
               sumTile);
    }
    tile::CommitRowsOp::create(b, loc);
  };
  for (int64_t s = 0; s + 1 < layout.slots; ++s)
    copy(ptx.i32(s), index(s));
  int64_t width = plan.widths.lookup(product.n);
  SmallVector<Value> state(
      plan.elementsOf(width),
      arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)));
  state.append(2, ptx.i32(0));
  state = emitFor(
      b, loc, index(0), count, index(1), state,
      [&](Value tile, ValueRange carried) {
        Ring ring{carried[carried.size() - 2], carried.back()};
        synchronizeRows(layout.slots - 2);
        copy(slotBefore(ring.slot),
             arith::AddIOp::create(b, loc, tile, index(layout.slots - 1)));
        Value sum =
            ptx.multiply(width, kSumTile,
                         ptx.accumulate(carried.drop_back(2), plan.groupRows),
                         {tileIn(ring.slot, *load.left, load.right.bytes()),
                          load.left->isByRows, group},
                         {tileIn(ring.slot, load.right), load.right.isByRows},
                         plan.groupRows);
        SmallVector<Value> next = ptx.waitProducts(0, sum);
        ring = advance(ring);
        next.append({ring.slot, ring.phase});
        return next;
      });
  state.pop_back_n(2);
  return state;
}

void MatrixGenerator::multiplyCascadeByWarps() {
  emitter->values.clear();
  emitter->select(plan.step, *stepSets);
  for (auto [i, product] : llvm::enumerate(plan.products))
    emitter->values[product.reduce.getResult(0)] =
        asFragment(i, multiplyRows(i));
  storeResults();
}

void MatrixGenerator::emitWarps() {
  turn = ptx.i32(0);
  placeBlock(plan.shares() > 1
                 ? tile
                 : gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
             /*isMultiplier=*/true);
  if (plan.stream)
    multiplyBlock({ptx.i32(0), ptx.i32(0)});
  else
    multiplyCascadeByWarps();
}
