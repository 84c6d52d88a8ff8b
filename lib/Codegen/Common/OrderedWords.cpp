//===- OrderedWords.cpp - elements as integers that are in order ----------===//
#include "redfuse/Codegen/Common/OrderedWords.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Bits of a key: those of the element, or of a wider type that has all its values.
static unsigned findKeyBits(Type element) {
  if (element.isIndex())
    return 64;
  unsigned width = element.getIntOrFloatBitWidth();
  if (isa<FloatType>(element))
    return width == 16 || width == 64 ? width : 32;
  return std::max<unsigned>(8, llvm::PowerOf2Ceil(width));
}

OrderedWords::OrderedWords(Type element, bool descending, bool isUnsigned,
                           std::optional<int64_t> length)
    : element(element), descending(descending),
      isUnsigned(isUnsigned || element.isInteger(1)),
      keyBits(findKeyBits(element)) {
  unsigned needed =
      length ? llvm::Log2_64_Ceil(std::max<int64_t>(*length, 2)) : 31;
  unsigned width = 32;
  while (width < keyBits + needed)
    width *= 2;
  word = IntegerType::get(element.getContext(), width);
  if (auto type = dyn_cast<FloatType>(element))
    keyFloat = type.getWidth() == keyBits
                   ? type
                   : FloatType(Float32Type::get(element.getContext()));
}

Value OrderedWords::constant(OpBuilder &b, Location loc,
                             const APInt &value) const {
  return arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(b.getIntegerType(value.getBitWidth()), value));
}

Value OrderedWords::last(OpBuilder &b, Location loc) const {
  return constant(b, loc, APInt::getAllOnes(word.getWidth()));
}

/// An integer of keyBits whose order without a sign is the element's.
Value OrderedWords::makeKey(OpBuilder &b, Location loc, Value v) const {
  Type key = b.getIntegerType(keyBits);
  APInt sign = APInt::getSignMask(keyBits);
  if (!isa<FloatType>(element)) {
    if (element.isIndex())
      v = arith::IndexCastOp::create(b, loc, key, v);
    else if (v.getType() != key)
      v = isUnsigned ? Value(arith::ExtUIOp::create(b, loc, key, v))
                     : Value(arith::ExtSIOp::create(b, loc, key, v));
    return isUnsigned ? v
                      : arith::XOrIOp::create(b, loc, v, constant(b, loc, sign))
                            .getResult();
  }
  if (keyFloat != element)
    v = arith::ExtFOp::create(b, loc, keyFloat, v);
  Value bits = arith::BitcastOp::create(b, loc, key, v);
  Value magnitude =
      arith::AndIOp::create(b, loc, bits, constant(b, loc, ~sign));
  // Of a negative number all bits are turned round, of another one the sign.
  Value signs = arith::ShRSIOp::create(
      b, loc, bits, constant(b, loc, APInt(keyBits, keyBits - 1)));
  Value flips = arith::OrIOp::create(b, loc, signs, constant(b, loc, sign));
  Value ordered = arith::XOrIOp::create(b, loc, bits, flips);
  Value isZero =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, magnitude,
                            constant(b, loc, APInt(keyBits, 0)));
  ordered =
      arith::SelectOp::create(b, loc, isZero, constant(b, loc, sign), ordered);
  APInt infinity =
      APFloat::getInf(keyFloat.getFloatSemantics()).bitcastToAPInt();
  Value isNan = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt,
                                      magnitude, constant(b, loc, infinity));
  return arith::SelectOp::create(
      b, loc, isNan, constant(b, loc, APInt::getAllOnes(keyBits)), ordered);
}

Value OrderedWords::make(OpBuilder &b, Location loc, Value v,
                         Value position) const {
  Value key = makeKey(b, loc, v);
  if (descending)
    key = arith::XOrIOp::create(b, loc, key,
                                constant(b, loc, APInt::getAllOnes(keyBits)));
  if (keyBits < word.getWidth())
    key = arith::ExtUIOp::create(b, loc, word, key);
  if (word.getWidth() > 32)
    position = arith::ExtUIOp::create(b, loc, word, position);
  Value shift = constant(b, loc, APInt(word.getWidth(), getPositionBits()));
  return arith::OrIOp::create(b, loc, arith::ShLIOp::create(b, loc, key, shift),
                              position);
}

Value OrderedWords::positionOf(OpBuilder &b, Location loc, Value v) const {
  if (word.getWidth() > 32)
    v = arith::TruncIOp::create(b, loc, b.getI32Type(), v);
  if (getPositionBits() >= 32)
    return v;
  return arith::AndIOp::create(
      b, loc, v, constant(b, loc, APInt::getLowBitsSet(32, getPositionBits())));
}

Value OrderedWords::elementOf(OpBuilder &b, Location loc, Value v) const {
  Type keyType = b.getIntegerType(keyBits);
  Value key = v;
  if (keyBits < word.getWidth()) {
    Value shift = constant(b, loc, APInt(word.getWidth(), getPositionBits()));
    key = arith::TruncIOp::create(b, loc, keyType,
                                  arith::ShRUIOp::create(b, loc, v, shift));
  }
  Value ones = constant(b, loc, APInt::getAllOnes(keyBits));
  if (descending)
    key = arith::XOrIOp::create(b, loc, key, ones);
  Value sign = constant(b, loc, APInt::getSignMask(keyBits));
  if (keyFloat) {
    // A key with the upper bit is of a number without a sign.
    Value signs = arith::ShRSIOp::create(
        b, loc, key, constant(b, loc, APInt(keyBits, keyBits - 1)));
    Value flips = arith::OrIOp::create(
        b, loc, arith::XOrIOp::create(b, loc, signs, ones), sign);
    Value made = arith::BitcastOp::create(
        b, loc, keyFloat, arith::XOrIOp::create(b, loc, key, flips));
    return keyFloat == element
               ? made
               : arith::TruncFOp::create(b, loc, element, made).getResult();
  }
  if (!isUnsigned)
    key = arith::XOrIOp::create(b, loc, key, sign);
  if (element.isIndex())
    return arith::IndexCastOp::create(b, loc, element, key);
  return key.getType() == element
             ? key
             : arith::TruncIOp::create(b, loc, element, key).getResult();
}

Value OrderedWords::pick(OpBuilder &b, Location loc, bool first, Value x,
                         Value y) const {
  bool larger = first == descending;
  // These two have NaN for the largest number.
  if (isa<FloatType>(element))
    return larger ? Value(arith::MaximumFOp::create(b, loc, x, y))
                  : Value(arith::MinNumFOp::create(b, loc, x, y));
  if (isUnsigned)
    return larger ? Value(arith::MaxUIOp::create(b, loc, x, y))
                  : Value(arith::MinUIOp::create(b, loc, x, y));
  return larger ? Value(arith::MaxSIOp::create(b, loc, x, y))
                : Value(arith::MinSIOp::create(b, loc, x, y));
}

Value OrderedWords::lastElement(OpBuilder &b, Location loc) const {
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    // Of types without infinity the largest number with a sign.
    APFloat least = APFloat::semanticsHasInf(semantics)
                        ? APFloat::getInf(semantics, /*Negative=*/true)
                        : APFloat::getLargest(semantics, /*Negative=*/true);
    return arith::ConstantOp::create(
        b, loc,
        b.getFloatAttr(type, descending ? least : APFloat::getNaN(semantics)));
  }
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  APInt value = isUnsigned ? (descending ? APInt::getZero(width)
                                         : APInt::getAllOnes(width))
                           : (descending ? APInt::getSignedMinValue(width)
                                         : APInt::getSignedMaxValue(width));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, value));
}

Value OrderedWords::mayPass(OpBuilder &b, Location loc, Value v,
                            Value other) const {
  if (isa<FloatType>(element))
    return arith::CmpFOp::create(b, loc,
                                 descending ? arith::CmpFPredicate::UGE
                                            : arith::CmpFPredicate::ULE,
                                 v, other);
  using P = arith::CmpIPredicate;
  P most = isUnsigned ? P::uge : P::sge, least = isUnsigned ? P::ule : P::sle;
  return arith::CmpIOp::create(b, loc, descending ? most : least, v, other);
}
