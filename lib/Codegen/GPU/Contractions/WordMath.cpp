//===- WordMath.cpp - places in shared memory -----------------------------===//
#include "WordMath.h"

using namespace mlir;
using namespace redfuse;

Value WordMath::i32(int64_t value) {
  return constants.constant(
      constants.getBuilder().getI32IntegerAttr(int32_t(value)));
}

Value WordMath::asWord(Value v) {
  OpBuilder &b = constants.getBuilder();
  return arith::IndexCastUIOp::create(b, constants.getLoc(), b.getI32Type(), v);
}

Value WordMath::asIndex(Value v) {
  OpBuilder &b = constants.getBuilder();
  return arith::IndexCastUIOp::create(b, constants.getLoc(), b.getIndexType(),
                                      v);
}

Value WordMath::add(Value v, Value w) {
  return constants.getBuilder().createOrFold<arith::AddIOp>(constants.getLoc(),
                                                            v, w);
}

Value WordMath::bits(Value v, int64_t shift, int64_t mask, int64_t left) {
  OpBuilder &b = constants.getBuilder();
  Location loc = constants.getLoc();
  if (shift != 0)
    v = arith::ShRUIOp::create(b, loc, v, i32(shift));
  v = arith::AndIOp::create(b, loc, v, i32(mask));
  if (left != 0)
    v = arith::ShLIOp::create(b, loc, v, i32(left));
  return v;
}

void WordMath::storeFloats(Value words, Value at, ArrayRef<Value> floats) {
  OpBuilder &b = constants.getBuilder();
  Location loc = constants.getLoc();
  int64_t count = int64_t(floats.size());
  Value v = vector::FromElementsOp::create(
      b, loc, VectorType::get({count}, b.getF32Type()), floats);
  v = vector::BitCastOp::create(b, loc,
                                VectorType::get({count}, b.getI32Type()), v);
  vector::StoreOp::create(b, loc, v, words, ValueRange(asIndex(at)),
                          /*nontemporal=*/false,
                          llvm::Align(uint64_t(4 * count)));
}
