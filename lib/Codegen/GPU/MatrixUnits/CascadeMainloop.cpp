//===- CascadeMainloop.cpp - products that nothing folds ------------------===//
#include "CascadeMainloop.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace redfuse;

PipelineState CascadeMainloop::run(PipelineState ring) {
  emitter.values.clear();
  emitter.select(plan.step, *of.stepSets);
  for (auto [i, product] : llvm::enumerate(plan.products)) {
    SmallVector<Value> elements;
    if (product.tiledLeft) {
      SmallVector<Value> none;
      elements = products.multiplyTiled(i, ring, none);
    } else {
      Value left = emitter.packLeft(product);
      pipeline.consumerWait(ring);
      elements =
          ptx.waitProducts(0, products.start(i, ring.stage, {}, left), left);
      pipeline.consumerRelease(ring.stage);
      ring = pipeline.advance(ring);
    }
    emitter.values[product.reduce.getResult(0)] =
        products.asFragment(i, elements);
  }
  return ring;
}

/// A product of its own, of a sum cut into tiles or whole.
SmallVector<Value> CascadeMainloop::multiplyRows(unsigned i) {
  const MatrixProduct &product = plan.products[i];
  const ProductTiles &load = layout.products[i];
  // All warps are done with the product before.
  if (i > 0)
    gpu::BarrierOp::create(b, loc);
  if (!load.left) {
    copies.copyRows(load.right, pipeline.tileIn(ptx.i32(0), load.right),
                    Value());
    tile::CommitRowsOp::create(b, loc);
    Value left = emitter.packLeft(product);
    copies.synchronize(0);
    return ptx.waitProducts(0, products.start(i, ptx.i32(0), {}, left), left);
  }
  return multiplyTiledRows(i);
}

/// A sum cut into tiles.
SmallVector<Value> CascadeMainloop::multiplyTiledRows(unsigned i) {
  const MatrixProduct &product = plan.products[i];
  const ProductTiles &load = layout.products[i];
  Value count = sums.count(product);
  auto copy = [&](Value stage, Value sumTile) {
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         sumTile, count);
    {
      OpBuilder::InsertionGuard guard(b);
      auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
      b.setInsertionPoint(branch.thenYield());
      copies.copyRows(load.right, pipeline.tileIn(stage, load.right), sumTile);
      copies.copyRows(*load.left,
                      pipeline.tileIn(stage, *load.left, load.right.bytes()),
                      sumTile);
    }
    tile::CommitRowsOp::create(b, loc);
  };
  for (int64_t s = 0; s + 1 < layout.stages; ++s)
    copy(ptx.i32(s), index(s));
  int64_t width = plan.widths.lookup(product.n);
  SmallVector<Value> state(
      plan.elementsOf(width),
      arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)));
  state.append(2, ptx.i32(0));
  state = emitFor(
      b, loc, index(0), count, index(1), state,
      [&](Value tile, ValueRange carried) {
        PipelineState ring{carried[carried.size() - 2], carried.back()};
        copies.synchronize(layout.stages - 2);
        copy(copies.stageBefore(ring.stage),
             arith::AddIOp::create(b, loc, tile, index(layout.stages - 1)));
        Value sum = ptx.multiply(
            width, plan.sumTile(),
            ptx.accumulate(carried.drop_back(2), plan.consumerRows),
            {pipeline.tileIn(ring.stage, *load.left, load.right.bytes()),
             load.left->isByRows, of.ids.consumer},
            {pipeline.tileIn(ring.stage, load.right), load.right.isByRows},
            plan.consumerRows);
        SmallVector<Value> next = ptx.waitProducts(0, sum);
        ring = pipeline.advance(ring);
        next.append({ring.stage, ring.phase});
        return next;
      });
  state.pop_back_n(2);
  return state;
}

void CascadeMainloop::runWithMmaSync() {
  emitter.values.clear();
  emitter.select(plan.step, *of.stepSets);
  for (auto [i, product] : llvm::enumerate(plan.products))
    emitter.values[product.reduce.getResult(0)] =
        products.asFragment(i, multiplyRows(i));
}
