//===- BodyBuilder.h - builds bodies from those of a cascade ----*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_LIB_ALGEBRA_BODYBUILDER_H
#define REDFUSE_LIB_ALGEBRA_BODYBUILDER_H

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/IRMapping.h"
#include "redfuse/Algebra/Derivation.h"

namespace redfuse {

/// Builds a new body out of values of a cascade's body and of a state. Values
/// that are not mapped are computed again by cloning.
class BodyBuilder {
public:
  /// `source` is the cascade's body; appends to `target`.
  BodyBuilder(mlir::Block &source, mlir::Block &target, const Roles &roles,
              mlir::Location loc)
      : b(source.getParent()->getContext()), source(source), roles(roles),
        loc(loc) {
    b.setInsertionPointToEnd(&target);
  }

  void map(mlir::Value from, mlir::Value to) { mapping.map(from, to); }
  /// `value` of the cascade's body in the new one.
  mlir::Value get(mlir::Value value);
  /// `value` where `from` is `to`; nothing is mapped for good.
  mlir::Value getWith(mlir::Value value, mlir::Value from, mlir::Value to);

  /// Checks what `assertion` of the cascade's body checks.
  void assertThat(mlir::cf::AssertOp assertion);

  mlir::Value cast(mlir::Value value, mlir::Type type);
  mlir::Value constant(double value, mlir::Type type);
  mlir::Value constant(mlir::TypedAttr attr);

  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value div(mlir::Value lhs, mlir::Value rhs);
  mlir::Value neg(mlir::Value v);
  mlir::Value exp(mlir::Value v, bool isBase2);
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue,
                     mlir::Value onFalse);
  /// Ordered equality with a constant, of floats or integers.
  mlir::Value isEqual(mlir::Value v, double constant);
  mlir::Value isFinite(mlir::Value v);
  /// Ordered comparison of two floats or signed integers.
  mlir::Value isAbove(mlir::Value lhs, mlir::Value rhs);
  mlir::Value isNan(mlir::Value v);
  mlir::Value isNumber(mlir::Value v);
  /// Ordered equality of two floats or integers.
  mlir::Value isSame(mlir::Value lhs, mlir::Value rhs);
  /// Whether all masks, predicates with the side on which they hold, do.
  mlir::Value holds(llvm::ArrayRef<std::pair<mlir::Value, bool>> masks);
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);
  /// |v| is infinite.
  mlir::Value isInfinite(mlir::Value v);
  mlir::Value combine(Reducer reducer, mlir::Value lhs, mlir::Value rhs);
  /// Combines two states of a reducer with several components, or declared.
  llvm::SmallVector<mlir::Value> combineJoint(const Component &first,
                                              mlir::ValueRange lhs,
                                              mlir::ValueRange rhs);
  /// The state so far with a segment. What combines in order stays one op:
  /// code that walks the elements in order continues from the state, by just
  /// the operations of the source.
  llvm::SmallVector<mlir::Value> continueJoint(const Component &first,
                                               mlir::ValueRange state,
                                               mlir::ValueRange segment);
  /// The value and index that argmax (argmin) keeps of two pairs.
  std::pair<mlir::Value, mlir::Value>
  combinePair(Reducer reducer, std::pair<mlir::Value, mlir::Value> lhs,
              std::pair<mlir::Value, mlir::Value> rhs);

  /// What `factor` is a power of, in `type`.
  mlir::Value base(Factor factor, mlir::Type type);
  /// `start` (may be null) times the factors times `scale`, in `type`; 1 where
  /// there is nothing.
  mlir::Value product(mlir::Value start, llvm::ArrayRef<Factor> factors,
                      double scale, mlir::Type type);
  /// `start` (may be null) plus the monomials, in `type`; 0 where there is
  /// nothing.
  mlir::Value sum(mlir::Value start, const Linear &linear, mlir::Type type);

  mlir::OpBuilder b;

private:
  mlir::Value clone(mlir::Value value, mlir::IRMapping &into);

  mlir::Block &source;
  const Roles &roles;
  mlir::Location loc;
  mlir::IRMapping mapping;
};

} // namespace redfuse

#endif // REDFUSE_LIB_ALGEBRA_BODYBUILDER_H
