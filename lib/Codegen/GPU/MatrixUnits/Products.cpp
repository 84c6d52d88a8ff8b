//===- Products.cpp - products of tiles on matrix units -------------------===//
#include "Products.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace redfuse;

/// Columns of a product of floats of 8 bits that run at a time. Beside 128 sums of a thread
/// there is room for 64 more. Of 4096 to 8192 cubed on an H200 those of 64 and 96 columns took
/// 1.05 of the time.
static constexpr int64_t kColumnsOfPart = 128;

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
    Value none = arith::ConstantOp::create(
        b, loc, b.getZeroAttr(fragment.values.front().getType()));
    for (auto [i, v] : llvm::enumerate(fragment.values))
      if (fragment.rowOf(i) == 1)
        v = none;
  }
  return fragment;
}

/// Starts the product of a tile of the sum.
Value Products::multiplyTile(unsigned i, PipelineState at, Value accumulators) {
  const MatrixTile &left = *layout.products[i].left,
                   &right = layout.products[i].right;
  pipeline.consumerWait(at);
  Value rows = pipeline.tileIn(at.stage, left, right.bytes());
  return ptx.multiply(plan.widths.lookup(plan.products[i].n), plan.sumTile(),
                      accumulators, {rows, left.isByRows, of.ids.consumer},
                      {pipeline.tileIn(at.stage, right), right.isByRows});
}

/// Starts the product of a tile of the sum and of some columns, from `first` on.
Value Products::multiplyPart(unsigned i, Value stage, int64_t first) {
  const MatrixTile &left = *layout.products[i].left;
  MatrixTile part = layout.products[i].right;
  Value rows = pipeline.tileIn(stage, left, part.bytes());
  int64_t count = std::min(part.type.getRows() - first, kColumnsOfPart);
  part.type = tile::SharedType::get(
      b.getContext(), count, part.type.getColumns(), part.type.getElement());
  Value tile = pipeline.tileIn(stage, part, first * kSumBytes);
  return ptx.multiply(count, plan.sumTile(), /*accumulators=*/Value(),
                      {rows, /*isByRows=*/false, of.ids.consumer},
                      {tile, /*isByRows=*/false});
}

/// What the sum of a tile is multiplied by.
Fragment Products::scaleOf(const MatrixProduct &product, Value sumTile) {
  SmallVector<Value> offsets = place.offsets;
  DenseMap<Value, Fragment> known = emitter.values;
  for (auto [d, at] :
       placement.inOuterSums(product.outerSums, product.k, sumTile))
    place.offsets[d] = at;
  Fragment scale = emitter.get(product.scale);
  place.offsets = std::move(offsets);
  emitter.values = std::move(known);
  return scale;
}

/// A product whose tiles of the sum threads add up: that of some columns while the next
/// ones' runs. None runs from one tile of the sum to the next: it would be moved to other
/// registers meanwhile, and ptxas would wait for it.
SmallVector<Value> Products::multiplyInParts(unsigned i, PipelineState &ring) {
  const MatrixProduct &product = plan.products[i];
  auto add = [&](Value sum, Value more, Value scale) -> Value {
    if (plan.isOfIntegers)
      more = arith::SIToFPOp::create(b, loc, b.getF32Type(), more);
    if (scale)
      return math::FmaOp::create(b, loc, more, scale, sum);
    return arith::AddFOp::create(b, loc, sum, more);
  };
  int64_t columns = plan.widths.lookup(product.n);
  size_t size = size_t(plan.elementsOf(columns));
  SmallVector<Value> state(
      size, arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)));
  state.append({ring.stage, ring.phase});
  state = emitFor(
      b, loc, index(0), sums.count(product), index(1), state,
      [&](Value number, ValueRange carried) {
        PipelineState at{carried[size], carried[size + 1]};
        Fragment scale;
        if (product.scale)
          scale = scaleOf(product, sums.at(number));
        pipeline.consumerWait(at);
        SmallVector<Value> next;
        Value running = multiplyPart(i, at.stage, 0);
        for (int64_t first = 0; first < columns; first += kColumnsOfPart) {
          SmallVector<Value> made = ptx.waitProducts(0, running);
          if (first + kColumnsOfPart < columns)
            running = multiplyPart(i, at.stage, first + kColumnsOfPart);
          else
            pipeline.consumerRelease(at.stage);
          for (Value more : made)
            next.push_back(
                add(carried[next.size()], more,
                    scale.values.empty() ? Value() : scale.at(next.size())));
        }
        at = pipeline.advance(at);
        next.append({at.stage, at.phase});
        return next;
      });
  ring = {state[size], state[size + 1]};
  state.truncate(size);
  return state;
}

SmallVector<Value> Products::multiplyTiled(unsigned i, PipelineState &ring,
                                           SmallVectorImpl<Value> &running) {
  const MatrixProduct &product = plan.products[i];
  if (plan.addsTilesInRegisters())
    return multiplyInParts(i, ring);
  Value sum = multiplyTile(i, ring, {});
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
                    Value next = multiplyTile(i, at, carried[0]);
                    ptx.waitProducts(1, {});
                    pipeline.consumerRelease(carried[1]);
                    PipelineState then = pipeline.advance(at);
                    return SmallVector<Value>{next, at.stage, then.stage,
                                              then.phase};
                  });
  ring = {state[2], state[3]};
  SmallVector<Value> result = ptx.waitProducts(0, state[0]);
  pipeline.consumerRelease(state[1]);
  // Sums of floats that are integers are made exactly, and rounded once.
  ReduceOp reduce = product.reduce;
  Type type = reduce.getOperand(0).getType();
  if (plan.isOfIntegers && isa<FloatType>(type))
    for (Value &v : result)
      v = arith::SIToFPOp::create(b, loc, type, v);
  return result;
}

Value Products::readKept(const MatrixTile &tile, Value stage, int64_t columns) {
  auto type = tile::OperandType::get(b.getContext(), 64, columns,
                                     tile.type.getElement());
  return tile::ReadOperandOp::create(b, loc, type, pipeline.tileIn(stage, tile),
                                     placement.rowOfWarp());
}
