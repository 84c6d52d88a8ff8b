//===- OrderedWords.h - elements as integers that are in order --*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_COMMON_ORDEREDWORDS_H
#define REDFUSE_CODEGEN_COMMON_ORDEREDWORDS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace redfuse {

/// An element of a row and its position as one unsigned integer, a word: the element
/// in the upper bits, the position in the lower ones. Words of a row are all
/// different, and their order is the stable order of the row's elements, so that any
/// way to sort them gives the same. -0 is 0, and every NaN larger than all numbers.
class OrderedWords {
public:
  /// `length`: how many elements a row has at most; unknown: up to 2^31.
  OrderedWords(mlir::Type element, bool descending, bool isUnsigned,
               std::optional<int64_t> length);

  mlir::IntegerType getType() const { return word; }
  int64_t getBytes() const { return word.getWidth() / 8; }
  /// Of the lowest bits, that are the position.
  unsigned getPositionBits() const { return word.getWidth() - keyBits; }
  /// Of the upper ones.
  unsigned getKeyBits() const { return keyBits; }

  /// `position`: an i32 without a sign.
  mlir::Value make(mlir::OpBuilder &b, mlir::Location loc, mlir::Value element,
                   mlir::Value position) const;
  /// The position of a word, as an i32.
  mlir::Value positionOf(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value word) const;
  /// An element that is equal, in the order, to the one of a word.
  mlir::Value elementOf(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value word) const;

  /// Of two elements the one that goes first, or last, in the order.
  mlir::Value pick(mlir::OpBuilder &b, mlir::Location loc, bool first,
                   mlir::Value x, mlir::Value y) const;
  /// An element that none goes behind.
  mlir::Value lastElement(mlir::OpBuilder &b, mlir::Location loc) const;
  /// True where `element` does not go behind `other`; it may be where it does.
  mlir::Value mayPass(mlir::OpBuilder &b, mlir::Location loc,
                      mlir::Value element, mlir::Value other) const;

  /// What goes behind all words.
  mlir::Value last(mlir::OpBuilder &b, mlir::Location loc) const;
  mlir::Value constant(mlir::OpBuilder &b, mlir::Location loc,
                       const llvm::APInt &value) const;

private:
  mlir::Value makeKey(mlir::OpBuilder &b, mlir::Location loc,
                      mlir::Value element) const;

  mlir::Type element;
  /// Of floats, what keys are made of: the element, or f32.
  mlir::FloatType keyFloat;
  bool descending, isUnsigned;
  unsigned keyBits;
  mlir::IntegerType word;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_COMMON_ORDEREDWORDS_H
