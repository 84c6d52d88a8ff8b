//===- Deriver.h - the parts of the derivation ------------------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_LIB_ALGEBRA_DERIVER_H
#define REDFUSE_LIB_ALGEBRA_DERIVER_H

#include "redfuse/Algebra/Derivation.h"

namespace redfuse {

/// The type that sums of `type` are accumulated in: f32 for narrower floats.
mlir::Type getAccumulatorType(mlir::Type type);
/// The value under widening casts between floats.
mlir::Value stripExtensions(mlir::Value v);

/// Whether multiplying by factor (dividing, where the exponent is negative) can
/// turn a finite value into an infinite one or NaN, other than by overflow.
bool isRisky(const Roles &roles, Factor factor);

/// Whether another order of the elements gives another rounding.
bool changesWithOrder(CombiningOpInterface combining);

/// Whether `stage` adds up powers of differences from a mean around a kept pivot:
/// squares, or products of several.
bool isAroundPivot(const Derivation &derivation, const Stage &stage);

/// The component like `index` with another power of (data - pivot): the count
/// for power 0 of nothing else.
std::optional<unsigned> findLowerPower(const Derivation &derivation,
                                       unsigned index, unsigned pivot,
                                       int power);

/// Builds a derivation stage by stage.
class Deriver {
public:
  Deriver(const Roles &roles, mlir::MLIRContext *context,
          llvm::SmallVectorImpl<RefusalReason> &why,
          const DerivationOptions &options)
      : roles(roles), options(options), form(roles, options.approximate),
        context(context), why(why) {}

  /// Derives the reductions that results need, all or as many as fold together.
  bool run(CascadeOp cascade, bool isPartial = false);

  Derivation result;
  /// Those that were derived, and the others.
  llvm::SmallVector<ReduceOp> folded, waiting;
  /// Whether scans have to wait for reductions that were derived.
  bool scansWait = false;

private:
  bool addStage(ReduceOp reduce);
  bool addSum(ReduceOp reduce);
  bool addProduct(ReduceOp reduce);
  bool addIntegerProduct(ReduceOp reduce);
  bool addJoint(ReduceOp reduce);
  bool addScan(ScanOp scan);
  /// The first component of the joint reduction `combining`.
  unsigned addJointComponents(CombiningOpInterface combining,
                              llvm::ArrayRef<int64_t> over);
  /// The same for other elements and another reducer (as argmin for argmax).
  unsigned addJointComponents(CombiningOpInterface combining, Reducer reducer,
                              llvm::ArrayRef<mlir::Value> elements,
                              llvm::ArrayRef<int64_t> over);
  /// The best of a strictly monotone function of data.
  bool addSelection(ReduceOp reduce);
  /// Sorts out the results that are written segment by segment.
  bool addOutputs(CascadeOp cascade);
  bool addExtreme(ReduceOp reduce);

  bool addChoice(ReduceOp reduce, const ChoiceRef &choice, StageChoice &value);
  bool addNothing(mlir::Value predicate, const Choice &choice,
                  const StageChoice &other, StageChoice &value);
  bool addTerm(ReduceOp reduce, const Term &term, bool isOnly,
               StageChoice &value);
  /// Whether the product of the data can leave a range that the source's, with its
  /// reduced factors, stays in: (x/d)^2 is not x^2/d^2.
  bool isWider(const Term &term, llvm::ArrayRef<Factor> done,
               llvm::ArrayRef<Factor> data) const;
  /// Adds one component and its part of the finalisation.
  void addPart(ReduceOp reduce, Component c, StageTerm out, StageChoice &value);
  /// The same for all terms of the product of `differences`, expanded about
  /// their pivots.
  bool addPowers(ReduceOp reduce, llvm::ArrayRef<Difference> differences,
                 const Component &c, const StageTerm &out, StageChoice &value);
  /// Whether the pivot's data is that of an exponential, and of others with
  /// running maxima: notes those.
  bool findMaxima(DifferencePivot &pivot, unsigned exponential) const;
  /// The mean of some data: the sum of its product with weights (with 1, where
  /// there are none) divided by their sum, which is a constant for `count`
  /// elements of weight 1.
  struct Mean {
    llvm::SmallVector<Factor, 2> weights;
    std::optional<double> count;
  };
  /// Recognises the mean of the data of `difference` in what is subtracted.
  std::optional<Mean> findMean(const Difference &difference,
                               const Component &c) const;
  unsigned addPivot(const Difference &difference, mlir::Type type,
                    const Component &c, const std::optional<Mean> &mean);
  unsigned addShift(const Difference &difference, unsigned pivot,
                    const Component &c, const std::optional<Mean> &mean);
  /// Gives every exponential a pivot that follows its running maximum.
  void addLazyPivots();
  /// Drops stages and components that no result needs.
  void dropUnused(CascadeOp cascade);

  unsigned addComponent(Component component);
  unsigned addCount(llvm::ArrayRef<int64_t> over);
  unsigned addExponential(const Exponential &exponential, mlir::Type type,
                          llvm::ArrayRef<int64_t> over,
                          llvm::ArrayRef<std::pair<mlir::Value, bool>> masks);
  Component makeComponent(Reducer reducer, mlir::Type type,
                          llvm::ArrayRef<int64_t> over,
                          SmallBitVector dims) const;

  SmallBitVector dimsOf(llvm::ArrayRef<Factor> factors) const;
  SmallBitVector dimsOf(const Linear &linear) const;
  bool refuse(mlir::Operation *op, llvm::StringRef condition,
              std::string detail, llvm::StringRef remedy);
  void note(llvm::StringRef text, Rule::Kind kind = Rule::Kind::Real) {
    note(Rule{text, kind});
  }
  void note(const Rule &rule) {
    if (!llvm::is_contained(result.rules, rule))
      result.rules.push_back(rule);
  }

  const Roles &roles;
  const DerivationOptions &options;
  mutable NormalForm form;
  mlir::MLIRContext *context;
  llvm::SmallVectorImpl<RefusalReason> &why;
};

} // namespace redfuse

#endif // REDFUSE_LIB_ALGEBRA_DERIVER_H
