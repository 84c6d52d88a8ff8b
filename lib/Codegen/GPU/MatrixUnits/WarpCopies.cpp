//===- WarpCopies.cpp - copies by all warps of a block --------------------===//
#include "WarpCopies.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace redfuse;

/// Whether no element of such tiles lies outside of its tensor.
bool WarpCopies::hasAllRows(const MatrixTile &tile) const {
  auto isMultiple = [&](unsigned d, int64_t of) {
    int64_t extent = space.staticExtents[d];
    return !ShapedType::isDynamic(extent) && extent % of == 0 && !place.ends[d];
  };
  int64_t rows = tile.type.getRows(), columns = tile.type.getColumns();
  return isMultiple(tile.free, tile.isByRows ? columns : rows) &&
         isMultiple(tile.sum, tile.isByRows ? rows : columns);
}

void WarpCopies::copyRows(const MatrixTile &tile, Value into, Value sumTile) {
  SmallVector<Value> positions = placement.positionsOf(tile, sumTile);
  positions[plan.m] = placement.getFirstRow();
  SmallVector<Value> indices;
  for (AffineExpr e : tile.source.map.getResults())
    indices.push_back(affine::expandAffineExpr(b, loc, e, positions, {}));
  unsigned along = tile.isByRows ? tile.source.sum : tile.source.free;
  tile::CopyRowsOp::create(b, loc, emitter.memrefs.lookup(tile.source.argument),
                           indices, along, into, of.ids.thread, plan.threads(),
                           hasAllRows(tile));
}

void WarpCopies::synchronize(int64_t pending) {
  tile::WaitRowsOp::create(b, loc, pending);
  gpu::BarrierOp::create(b, loc);
}

Value WarpCopies::stageBefore(Value stage) {
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stage,
                                        ptx.i32(0));
  return arith::SelectOp::create(b, loc, isFirst, ptx.i32(layout.stages - 1),
                                 ptx.add(stage, -1));
}

/// Copies the tile that many positions behind the start of a step.
void WarpCopies::copyAhead(Value stage, size_t position, Value step,
                           Value end) {
  size_t count = of.firstProducts.size() + of.secondProducts.size(),
         at = position % count;
  unsigned product = at < of.firstProducts.size()
                         ? of.firstProducts[at]
                         : of.secondProducts[at - of.firstProducts.size()];
  const MatrixTile &tile = layout.products[product].right;
  Value before = place.offsets[*plan.stream];
  auto copy = [&](Value at) {
    stream.setStep(at);
    copyRows(tile, pipeline.tileIn(stage, tile), Value());
  };
  if (size_t later = position / count) {
    step = arith::AddIOp::create(b, loc, step, index(later));
    Value exists =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, step, end);
    when(exists, [&] { copy(step); });
  } else {
    copy(step);
  }
  place.offsets[*plan.stream] = before;
  tile::CommitRowsOp::create(b, loc);
}

void WarpCopies::startStream(const StreamSteps &steps) {
  for (const ProductTiles &load : layout.products)
    if (load.isResident)
      copyRows(*load.kept, storage.residentTile(load), Value());
  for (int64_t s = 0; s + 1 < layout.stages; ++s)
    copyAhead(ptx.i32(s), s, steps.begin, steps.end);
}

Value WarpCopies::takeTile(PipelineState &ring, size_t position, Value step,
                           Value end) {
  synchronize(layout.stages - 2);
  copyAhead(stageBefore(ring.stage), position + layout.stages - 1, step, end);
  Value stage = ring.stage;
  ring = pipeline.advance(ring);
  return stage;
}
