//===- Rewriter.h - builds fold and finalize of a derivation ----*- C++ -*-===//
#ifndef REDFUSE_LIB_ALGEBRA_REWRITER_H
#define REDFUSE_LIB_ALGEBRA_REWRITER_H

#include "BodyBuilder.h"
#include "Deriver.h"

namespace redfuse {

/// The pivot as it is subtracted: 0 where it is infinite. All data so far is
/// -inf, and exp(-inf - -inf) would be NaN; or some is +inf, from which the
/// source need not subtract infinity.
inline mlir::Value safePivot(BodyBuilder &bb, mlir::Value pivot) {
  return bb.select(bb.isInfinite(pivot), bb.constant(0, pivot.getType()),
                   pivot);
}

/// One side of a merge: the values of all components.
using State = llvm::SmallVector<mlir::Value>;

class Rewriter {
public:
  Rewriter(mlir::RewriterBase &rewriter, CascadeOp cascade, const Derivation &d,
           const Roles &roles)
      : rewriter(rewriter), cascade(cascade), d(d), roles(roles),
        loc(cascade.getLoc()), body(cascade.getBody().front()),
        numDims(cascade.getNumIterationDims()) {}

  FoldAndFinalize run();
  /// One cascade that reduces to the state in one piece and finalises it.
  CascadeOp runWhole();

private:
  std::unique_ptr<mlir::Block> makeBlock(mlir::TypeRange first,
                                         mlir::TypeRange second);
  FoldOp makeFold(llvm::SmallVectorImpl<unsigned> &read);
  FinalizeOp makeFinalize(FoldOp fold, llvm::SmallVectorImpl<unsigned> &read);
  void recordReads(FoldOp fold, llvm::ArrayRef<unsigned> inStep,
                   llvm::ArrayRef<unsigned> inFinalize);
  mlir::AffineMap stateMap(const Component &c) const;
  llvm::SmallVector<mlir::Value> makeInits();
  /// Lets the body's inputs be the first arguments of `block`: the others.
  State mapArguments(BodyBuilder &bb, mlir::Block &block);
  void buildStep(mlir::Block &step);
  /// The state `before` with one more segment; the state of this segment alone
  /// where the fold is in one piece.
  State afterSegment(BodyBuilder &bb, const State &before);
  void buildMerge(mlir::Block &merge);
  void buildFinalize(mlir::Block &block);
  /// The results that are no outputs, from the state.
  llvm::SmallVector<mlir::Value> finalised(BodyBuilder &bb, const State &state);

  /// The data of exponentials and powers, relative to the pivots in `state`.
  struct Relative {
    llvm::SmallVector<mlir::Value> exponentials, differences;
  };
  Relative relativeTo(BodyBuilder &bb, const State &state);
  mlir::Value contribution(BodyBuilder &bb, const Component &c,
                           const Relative &relative);
  ReduceOp reduceSegment(BodyBuilder &bb, const Component &c,
                         mlir::ValueRange values);
  /// One segment's own component, or components of a joint reduction.
  llvm::SmallVector<mlir::Value> segmentOf(BodyBuilder &bb, const Component &c,
                                           const Relative &relative);
  /// The components of the joint reduction that begins at `first`, in `state`.
  llvm::ArrayRef<mlir::Value> jointOf(unsigned first,
                                      llvm::ArrayRef<mlir::Value> state) const;
  /// Maps the results of scans to prefixes of all elements so far.
  void mapScans(BodyBuilder &bb, const State &before);
  /// The mean of the segment's elements, with their weights.
  mlir::Value segmentMean(BodyBuilder &bb, const Component &c);
  mlir::Value keptPivot(BodyBuilder &bb, const Component &c, mlir::Value before,
                        mlir::Value countBefore);
  /// The pivot of exponentials that may lag behind the running maximum.
  mlir::Value lazyPivot(BodyBuilder &bb, unsigned index, mlir::Value before,
                        mlir::Value maximum);

  /// What moves a state to other pivots: exp(before - after) for each
  /// exponential, before - after for each pivot of differences (null where the
  /// pivot does not move).
  struct Transport {
    llvm::SmallVector<mlir::Value> scales, moves;
  };
  /// In a step, kept pivots without weights stay.
  Transport transport(BodyBuilder &bb, const State &from, const State &to,
                      bool isMerge);
  mlir::Value transported(BodyBuilder &bb, unsigned component,
                          const State &from, const Transport &transport);
  mlir::Value expanded(BodyBuilder &bb, unsigned component, unsigned position,
                       const State &from, const Transport &transport);
  static bool isCount(const Component &c) {
    return c.type.isInteger() && c.reducer == Reducer::Add && c.data.empty() &&
           c.masks.empty() && c.terms.empty() && !c.joint;
  }
  /// Whether a component changes with a pivot.
  static bool isRelative(const Component &c) {
    return c.exponential || !c.powers.empty();
  }
  mlir::Value stageValue(BodyBuilder &bb, const Stage &stage,
                         const State &state);
  mlir::Value selectedIndex(BodyBuilder &bb, const Stage &stage,
                            const State &state);
  mlir::Value choiceValue(BodyBuilder &bb, ReduceOp reduce,
                          const StageChoice &choice, mlir::Type type,
                          const State &state);
  /// `sum`, or the terms of the highest order where powers of differences from
  /// means leave the range of the type: the others would be the same infinity
  /// with the other sign.
  mlir::Value overflowed(BodyBuilder &bb, const StageChoice &choice,
                         mlir::Type type, const State &state, mlir::Value sum);
  /// The index that an argmax or argmin gives, 0 over nothing.
  mlir::Value indexOrZero(BodyBuilder &bb, const Stage &stage,
                          mlir::Value value, const State &state);
  mlir::Value termValue(BodyBuilder &bb, const StageTerm &term, mlir::Type type,
                        const State &state);
  mlir::Value shiftValue(BodyBuilder &bb, const Shift &shift, mlir::Type type,
                         const State &state);

  /// Which inputs of the cascade `block` uses; erases the arguments of the
  /// others. Inputs that alone give the extent of a dim in `dims` stay.
  llvm::SmallVector<unsigned>
  pruneInputs(mlir::Block &block, llvm::SmallBitVector dims,
              llvm::ArrayRef<mlir::AffineMap> otherMaps);

  mlir::RewriterBase &rewriter;
  CascadeOp cascade;
  const Derivation &d;
  const Roles &roles;
  mlir::Location loc;
  mlir::Block &body;
  unsigned numDims;
  /// Whether there is one segment and nothing before it.
  bool isWhole = false;
};

} // namespace redfuse

#endif // REDFUSE_LIB_ALGEBRA_REWRITER_H
