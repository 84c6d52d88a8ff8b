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
