//===- SumMerge.cpp - partial sums of the blocks of a cluster -------------===//
#include "SumMerge.h"

using namespace mlir;
using namespace redfuse;

/// The bits of a word as another type of 32 bits.
Value SumMerge::asWordOf(Type type, Value word) {
  if (word.getType() == type)
    return word;
  return arith::BitcastOp::create(b, loc, type, word);
}

void SumMerge::store() {
  // All are done with the ring.
  ptx.synchronize(1, 128 * plan.consumers);
  Value t = arith::AndIOp::create(b, loc, place.lane, ptx.i32(3));
  Value row = ptx.add(placement.rowOfWarp(),
                      arith::ShRUIOp::create(b, loc, place.lane, ptx.i32(2)));
  for (auto [p, product] : llvm::enumerate(plan.products)) {
    const Fragment &sum = emitter.get(product.reduce.getResult(0));
    int64_t stride = sums.stride(p);
    Value at = ptx.add(ptx.add(storage.getTiles(), ptx.mul(row, stride)),
                       ptx.mul(t, 8));
    // Words travel as floats, whatever they are.
    for (size_t i = 0; i < sum.values.size(); i += 2)
      ptx.storePair(
          at, sums.offset(p) + sum.rowOf(i) * 8 * stride + int64_t(i) / 4 * 32,
          asWordOf(b.getF32Type(), sum.values[i]),
          asWordOf(b.getF32Type(), sum.values[i + 1]));
  }
}

void SumMerge::merge() {
  FragmentLayout rows{1, unsigned(2 * plan.sumSplits)};
  emitter.values.clear();
  emitter.select(plan.step, *of.stepSets);
  Value own = toWord(of.block.rank);
  Value row =
      placement.takeRows(rows, ptx.mul(own, plan.rows() / plan.sumSplits));
  Value t = arith::AndIOp::create(b, loc, place.lane, ptx.i32(rows.lanes - 1));
  SmallVector<Value> read;
  for (auto [p, product] : llvm::enumerate(plan.products)) {
    Fragment sum;
    sum.kind = Fragment::Kind::Matrix;
    sum.rows = rows.rows;
    sum.dim = product.n;
    Value at =
        ptx.add(ptx.add(storage.getTiles(), ptx.mul(row, sums.stride(p))),
                ptx.mul(t, 8));
    SmallVector<SmallVector<Value>> parts(plan.sumSplits);
    SmallVector<Value> there;
    for (int64_t s = 0; s < plan.sumSplits; ++s)
      there.push_back(ptx.addressIn(at, b.getI64IntegerAttr(s)));
    // Of all blocks in turn, so that they do not all wait for one.
    for (size_t i = 0, n = place.sizeOf(sum); i < n; i += 2) {
      int64_t offset = sums.offset(p) + int64_t(i) * rows.lanes * 4;
      for (int64_t s = 0; s < plan.sumSplits; ++s)
        llvm::append_range(parts[s], ptx.loadPair(there[s], offset));
    }
    // Always in the same order.
    ReduceOp reduce = product.reduce;
    Type type = reduce.getOperand(0).getType();
    for (SmallVector<Value> &part : parts)
      for (Value &v : part)
        v = asWordOf(type, v);
    sum.values = parts[0];
    for (ArrayRef<Value> part : ArrayRef(parts).drop_front())
      for (auto [x, y] : llvm::zip_equal(sum.values, part))
        x = type.isF32() ? Value(arith::AddFOp::create(b, loc, x, y))
                         : Value(arith::AddIOp::create(b, loc, x, y));
    llvm::append_range(read, sum.values);
    emitter.values[product.reduce.getResult(0)] = sum;
  }
  // Sums are there when all is read.
  ptx.finishReads(read);
  ptx.startLeaving();
  epilogue.storeResults();
}
