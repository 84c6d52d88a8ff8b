//===- Producer.cpp - the warp that loads tiles ---------------------------===//
#include "Producer.h"

#include "redfuse/Codegen/GPU/Common/InlinePtx.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace redfuse;

void Producer::loadTile(const MatrixTile &tile, Value into, Value barrier,
                        Value sumTile) {
  TilePart part = placement.partOf(tile, sumTile);
  tile::CopyOp::create(b, loc, of.arguments.maps[tile.map], part.coordinates,
                       /*offsets=*/ValueRange(), into, barrier, part.row,
                       part.blocks);
}

PipelineState Producer::loadTiles(ArrayRef<const MatrixTile *> tiles,
                                  PipelineState ring, Value sumTile) {
  int64_t bytes = 0;
  for (const MatrixTile *tile : tiles)
    bytes += tile->copiedBytes();
  Value barrier = pipeline.producerAcquire(ring, bytes);
  int64_t offset = 0;
  for (const MatrixTile *tile : tiles) {
    loadTile(*tile, pipeline.tileIn(ring.stage, *tile, offset), barrier,
             sumTile);
    offset += tile->bytes();
  }
  return pipeline.advance(ring);
}

PipelineState Producer::loadProduct(unsigned product, PipelineState ring) {
  const ProductTiles &load = layout.products[product];
  if (!load.left)
    return loadTiles(&load.right, ring, Value());
  SmallVector<Value> next =
      emitFor(b, loc, arith::ConstantIndexOp::create(b, loc, 0),
              sums.count(plan.products[product]),
              arith::ConstantIndexOp::create(b, loc, 1),
              {ring.stage, ring.phase}, [&](Value tile, ValueRange state) {
                PipelineState ring =
                    loadTiles({&load.right, &*load.left}, {state[0], state[1]},
                              sums.at(tile));
                return SmallVector<Value>{ring.stage, ring.phase};
              });
  return {next[0], next[1]};
}

/// Behind the first tiles of the stream: these have a place already while the last
/// products of the tile before still read what stays.
void Producer::loadResidents() {
  Value free =
      arith::XOrIOp::create(b, loc, scheduler.getTilePhase(), ptx.i32(1));
  ptx.wait(storage.residentBarrier(/*isFull=*/false), free);
  Value barrier = storage.residentBarrier(/*isFull=*/true);
  int64_t bytes = 0;
  for (const ProductTiles &load : layout.products)
    if (load.isResident)
      bytes += load.kept->copiedBytes();
  ptx.expect(barrier, bytes);
  for (const ProductTiles &load : layout.products)
    if (load.isResident)
      loadTile(*load.kept, storage.residentTile(load), barrier, Value());
}

PipelineState Producer::loadBlock(PipelineState ring) {
  if (!plan.stream) {
    for (size_t i = 0; i < plan.products.size(); ++i)
      ring = loadProduct(i, ring);
    return ring;
  }
  // The order of a step: what is added to the states runs a step behind.
  bool tiled = plan.hasTiledSums();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  emitter.values.clear();
  StreamSteps steps =
      stream.stepsOfRows(placement.getFirstRow(), placement.getLastRow());
  for (const ProductTiles &tiles : layout.products)
    if (tiles.kept && !tiles.isResident)
      ring = loadTiles(&*tiles.kept, ring, Value());
  stream.setStep(steps.begin);
  ring = loadProducts(of.firstProducts, ring);
  if (layout.residentBytes)
    loadResidents();
  SmallVector<Value> next = emitFor(
      b, loc, arith::AddIOp::create(b, loc, steps.begin, one), steps.end, one,
      {ring.stage, ring.phase}, [&](Value step, ValueRange state) {
        ring = {state[0], state[1]};
        Value before = arith::SubIOp::create(b, loc, step, one);
        if (tiled) {
          stream.setStep(before);
          ring = loadProducts(of.secondProducts, ring);
        }
        stream.setStep(step);
        ring = loadProducts(of.firstProducts, ring);
        if (!tiled) {
          stream.setStep(before);
          ring = loadProducts(of.secondProducts, ring);
        }
        return SmallVector<Value>{ring.stage, ring.phase};
      });
  stream.setStep(arith::SubIOp::create(b, loc, steps.end, one));
  return loadProducts(of.secondProducts, {next[0], next[1]});
}

PipelineState Producer::loadProducts(ArrayRef<unsigned> products,
                                     PipelineState ring) {
  for (unsigned i : products)
    ring = loadProduct(i, ring);
  return ring;
}

//===----------------------------------------------------------------------===//
// Ahead of the first tiles
//===----------------------------------------------------------------------===//

void Producer::fetchAhead() {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  for (Value map : of.arguments.maps)
    emitPtx(
        b, loc, "prefetch.tensormap [$0];", "l",
        UnrealizedConversionCastOp::create(b, loc, pointer, map).getResult(0));
  if (plan.ahead == 0)
    return;
  SmallVector<Value> offsets = place.offsets, ends = place.ends;
  placement.enter(scheduler.firstTile(), /*isConsumer=*/false);
  if (plan.stream)
    fetchSteps();
  else
    fetchSums();
  place.offsets = std::move(offsets);
  place.ends = std::move(ends);
  stream.clear();
}

void Producer::fetch(const MatrixTile &tile, Value sumTile) {
  tile::PrefetchOp::create(b, loc, of.arguments.maps[tile.map],
                           placement.partOf(tile, sumTile).coordinates,
                           tile.type);
}

void Producer::fetchSums() {
  for (auto [tiles, product] :
       llvm::zip_equal(layout.products, plan.products)) {
    if (!tiles.left) {
      fetch(tiles.right, Value());
      continue;
    }
    Value count = b.createOrFold<arith::MinUIOp>(loc, sums.count(product),
                                                 index(plan.ahead));
    emitFor(b, loc, index(0), count, index(1), {}, [&](Value i, ValueRange) {
      Value at = sums.at(i);
      fetch(tiles.right, at);
      fetch(*tiles.left, at);
      return SmallVector<Value>();
    });
  }
}

void Producer::fetchSteps() {
  unsigned d = *plan.stream;
  Value end = stream.getEnd();
  Value width = index(plan.tileOf(d)),
        most = index(plan.ahead * plan.tileOf(d));
  Value first = stream.getBegin();
  end = arith::MinUIOp::create(b, loc, end,
                               arith::AddIOp::create(b, loc, first, most));
  for (const ProductTiles &tiles : layout.products)
    if (tiles.kept)
      fetch(*tiles.kept, Value());
  emitFor(b, loc, first, end, width, {}, [&](Value at, ValueRange) {
    place.offsets[d] = at;
    for (const ProductTiles &tiles : layout.products)
      fetch(tiles.right, Value());
    return SmallVector<Value>();
  });
}

void Producer::emit() {
  PipelineState ring = scheduler.forEachTile(
      /*isConsumer=*/false, [&](Value tile, PipelineState ring) {
        placement.enter(tile, /*isConsumer=*/false);
        return loadBlock(ring);
      });
  if (plan.startsNextLate)
    emitPtx(b, loc, "griddepcontrol.launch_dependents;", "", {});
  if (plan.multicast() > 1)
    pipeline.producerTail(ring);
}
