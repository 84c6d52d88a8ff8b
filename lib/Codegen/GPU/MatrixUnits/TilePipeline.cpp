//===- TilePipeline.cpp - the ring through which tiles pass ---------------===//
#include "TilePipeline.h"

using namespace mlir;
using namespace redfuse;

void TilePipeline::create(Value tiles, Value barriers) {
  ring = tile::RingOp::create(
      b, loc,
      tile::RingType::get(b.getContext(), layout.slots, layout.slotBytes),
      tiles, barriers);
}

void TilePipeline::initBarriers() {
  for (int64_t s = 0; s < layout.slots; ++s) {
    ptx.initBarrier(full(ptx.i32(s)), 1);
    ptx.initBarrier(empty(ptx.i32(s)), 4 * plan.consumers);
  }
}

Value TilePipeline::full(Value slot) {
  return tile::FullOp::create(b, loc, ring, slot);
}

Value TilePipeline::empty(Value slot) {
  return tile::EmptyOp::create(b, loc, ring, slot);
}

PipelineState TilePipeline::start() { return {ptx.i32(0), ptx.i32(0)}; }

PipelineState TilePipeline::advance(PipelineState state) {
  auto next = tile::AdvanceOp::create(b, loc, ring, state.slot, state.phase);
  return {next.getNextSlot(), next.getNextPhase()};
}

Value TilePipeline::tileIn(Value slot, const MatrixTile &tile, int64_t offset) {
  return tile::SlotOp::create(b, loc, tile.type, ring, slot, offset);
}

Value TilePipeline::producerAcquire(PipelineState state, int64_t bytes) {
  Value free = arith::XOrIOp::create(b, loc, state.phase, ptx.i32(1));
  ptx.wait(empty(state.slot), free);
  Value barrier = full(state.slot);
  ptx.expect(barrier, bytes);
  return barrier;
}

void TilePipeline::consumerWait(PipelineState state) {
  ptx.wait(full(state.slot), state.phase);
}

void TilePipeline::consumerRelease(Value slot) {
  ptx.arrive(empty(slot), emitter.lane);
}
