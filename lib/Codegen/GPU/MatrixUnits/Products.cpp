//===- Products.cpp - products of tiles on matrix units -------------------===//
#include "Products.h"

using namespace mlir;
using namespace redfuse;

Value Products::start(unsigned i, Value stage, ValueRange elements,
                      Value left) {
  const MatrixProduct &product = plan.products[i];
  const ProductTiles &load = layout.products[i];
  Value accumulators =
      elements.empty() ? Value() : ptx.accumulate(elements, plan.consumerRows);
  Ptx::Factor factor{left};
  if (load.isResident)
    factor = {storage.residentTile(load), load.kept->isByRows, of.ids.consumer};
  return ptx.multiply(plan.widths.lookup(product.n),
                      plan.widths.lookup(product.k), accumulators, factor,
                      {pipeline.tileIn(stage, load.right), load.right.isByRows},
                      plan.consumerRows);
}

Fragment Products::asFragment(unsigned product, ValueRange elements) {
  Fragment fragment;
  fragment.kind = Fragment::Kind::Matrix;
  fragment.dim = plan.products[product].n;
  fragment.rows = place.layout.rows;
  fragment.values.assign(elements.begin(), elements.end());
  if (plan.hasLowerRowsOnly(space)) {
    Value none = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    for (auto [i, v] : llvm::enumerate(fragment.values))
      if (fragment.rowOf(i) == 1)
        v = none;
  }
  return fragment;
}

SmallVector<Value> Products::multiplyTiled(unsigned i, PipelineState &ring,
                                           SmallVectorImpl<Value> &running) {
  const MatrixProduct &product = plan.products[i];
  const MatrixTile &left = *layout.products[i].left,
                   &right = layout.products[i].right;
  auto step = [&](PipelineState at, Value accumulators) {
    pipeline.consumerWait(at);
    Value rows = pipeline.tileIn(at.stage, left, right.bytes());
    return ptx.multiply(plan.widths.lookup(product.n), kSumTile, accumulators,
                        {rows, left.isByRows, of.ids.consumer},
                        {pipeline.tileIn(at.stage, right), right.isByRows});
  };
  Value sum = step(ring, {});
  // What ran before is over before the loader comes to its stage again.
  if (!running.empty())
    ptx.waitProducts(1, {});
  for (Value stage : running)
    pipeline.consumerRelease(stage);
  running.clear();
  SmallVector<Value> state{sum, ring.stage};
  ring = pipeline.advance(ring);
  state.append({ring.stage, ring.phase});
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  state = emitFor(b, loc, one, sums.count(product), one, state,
                  [&](Value, ValueRange carried) {
                    PipelineState at{carried[2], carried[3]};
                    Value next = step(at, carried[0]);
                    ptx.waitProducts(1, {});
                    pipeline.consumerRelease(carried[1]);
                    PipelineState then = pipeline.advance(at);
                    return SmallVector<Value>{next, at.stage, then.stage,
                                              then.phase};
                  });
  ring = {state[2], state[3]};
  SmallVector<Value> result = ptx.waitProducts(0, state[0]);
  pipeline.consumerRelease(state[1]);
  return result;
}

Value Products::readKept(const MatrixTile &tile, Value stage, int64_t columns) {
  auto type = tile::OperandType::get(b.getContext(), 64, columns,
                                     tile.type.getElement());
  return tile::ReadOperandOp::create(b, loc, type, pipeline.tileIn(stage, tile),
                                     placement.rowOfWarp());
}
