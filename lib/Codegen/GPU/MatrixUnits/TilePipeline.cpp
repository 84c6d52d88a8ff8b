//===- TilePipeline.cpp - the ring through which tiles pass ---------------===//
#include "TilePipeline.h"

using namespace mlir;
using namespace redfuse;

void TilePipeline::create(Value tiles, Value barriers) {
  ring = tile::RingOp::create(
      b, loc,
      tile::RingType::get(b.getContext(), layout.stages, layout.stageBytes),
      tiles, barriers);
}

void TilePipeline::initBarriers() {
  for (int64_t s = 0; s < layout.stages; ++s) {
    ptx.initBarrier(full(ptx.i32(s)), 1);
    ptx.initBarrier(empty(ptx.i32(s)), 4 * plan.consumers * plan.readers());
  }
}

Value TilePipeline::full(Value stage) {
  return tile::FullOp::create(b, loc, ring, stage);
}

Value TilePipeline::empty(Value stage) {
  return tile::EmptyOp::create(b, loc, ring, stage);
}

PipelineState TilePipeline::start() { return {ptx.i32(0), ptx.i32(0)}; }

PipelineState TilePipeline::advance(PipelineState state) {
  auto next = tile::AdvanceOp::create(b, loc, ring, state.stage, state.phase);
  return {next.getNextStage(), next.getNextPhase()};
}

Value TilePipeline::tileIn(Value stage, const MatrixTile &tile,
                           int64_t offset) {
  return tile::StageOp::create(b, loc, tile.type, ring, stage, offset);
}

Value TilePipeline::producerAcquire(PipelineState state, int64_t bytes) {
  Value free = arith::XOrIOp::create(b, loc, state.phase, ptx.i32(1));
  ptx.wait(empty(state.stage), free);
  Value barrier = full(state.stage);
  ptx.expect(barrier, bytes);
  return barrier;
}

void TilePipeline::producerTail(PipelineState state) {
  for (int64_t s = 0; s < layout.stages; ++s) {
    Value free = arith::XOrIOp::create(b, loc, state.phase, ptx.i32(1));
    ptx.wait(empty(state.stage), free);
    state = advance(state);
  }
}

void TilePipeline::consumerWait(PipelineState state) {
  ptx.wait(full(state.stage), state.phase);
}

void TilePipeline::consumerRelease(Value stage) {
  if (plan.multicast() > 1)
    ptx.arriveInCluster(empty(stage), place.lane, of.block.rankInCluster,
                        plan.readers());
  else
    ptx.arrive(empty(stage), place.lane);
}
