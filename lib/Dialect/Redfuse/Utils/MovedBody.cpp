//===- MovedBody.cpp - cascades with other operands -----------------------===//
#include "redfuse/Dialect/Redfuse/Utils/MovedBody.h"

using namespace mlir;
using namespace redfuse;

CascadeOp redfuse::moveBody(OpBuilder &b, CascadeOp op, ValueRange inputs,
                            ValueRange inits, ArrayRef<AffineMap> maps) {
  auto made =
      CascadeOp::create(b, op.getLoc(), inits.getTypes(), inputs, inits,
                        b.getAffineMapArrayAttr(maps), op.getScheduleAttr());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  made.getBody().takeBody(op.getBody());
  return made;
}
