//===- GuardDivisions.cpp - divisions that cannot trap --------------------===//
#include "GuardDivisions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

static Value splat(OpBuilder &b, Location loc, Type type, const APInt &value) {
  Attribute attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, attr);
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(attr));
}

static bool neverTraps(Value divisor) {
  APInt known;
  return matchPattern(divisor, m_ConstantInt(&known)) && !known.isZero() &&
         !known.isAllOnes();
}

void redfuse::guardDivisions(Operation *function) {
  function->walk([](Operation *op) {
    if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
            op))
      return;
    Type type = op->getResult(0).getType();
    Type element = getElementTypeOrSelf(type);
    Value dividend = op->getOperand(0), divisor = op->getOperand(1);
    if (neverTraps(divisor))
      return;
    OpBuilder b(op);
    Location loc = op->getLoc();
    unsigned width = element.isIndex() ? IndexType::kInternalStorageBitWidth
                                       : element.getIntOrFloatBitWidth();
    auto equals = [&](Value v, const APInt &number) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, v,
                                   splat(b, loc, type, number));
    };
    Value isBad = equals(divisor, APInt::getZero(width));
    if (isa<arith::DivSIOp, arith::RemSIOp>(op)) {
      Value negates = equals(divisor, APInt::getAllOnes(width));
      Value isLeast = equals(dividend, APInt::getSignedMinValue(width));
      Value overflows = arith::AndIOp::create(b, loc, negates, isLeast);
      isBad = arith::OrIOp::create(b, loc, isBad, overflows);
    }
    op->setOperand(
        1, arith::SelectOp::create(
               b, loc, isBad, splat(b, loc, type, APInt(width, 1)), divisor));
  });
}
