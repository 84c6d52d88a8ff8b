//===- Derivation.h - how a cascade folds along some dims -------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_ALGEBRA_DERIVATION_H
#define REDFUSE_ALGEBRA_DERIVATION_H

#include "mlir/IR/PatternMatch.h"
#include "redfuse/Algebra/NormalForm.h"

namespace redfuse {

/// One component of the state of a fold: a reduction of a contribution that is
/// free of reduced values.
struct Component {
  Reducer reducer;
  mlir::Type type;
  mlir::TypedAttr identity;
  /// What one segment is reduced over, and the dims of the component.
  llvm::SmallVector<int64_t> over, into;

  /// The contribution: the sum of `terms` where that is not empty (a pivot),
  /// else the product of `data`, of powers of data less a pivot and
  /// of an exponential relative to its pivot, where the masks hold.
  Linear terms;
  llvm::SmallVector<Factor, 2> data;
  llvm::SmallVector<std::pair<unsigned, int>, 1> powers;
  std::optional<unsigned> exponential;
  llvm::SmallVector<std::pair<mlir::Value, bool>, 1> masks;

  /// A reducer of several operands or a declared one has as many components in
  /// a row: the reduction or scan that they are of, what it combines here, and
  /// which one this is.
  mlir::Operation *joint = nullptr;
  llvm::SmallVector<mlir::Value, 0> elements;
  unsigned member = 0;
  /// A kept pivot (an index into `Derivation::pivots`).
  std::optional<unsigned> kept;
  /// The pivot of an exponential that follows this component, a running maximum,
  /// at a distance.
  std::optional<unsigned> lazyOf;
  /// See kNarrowedAttr; null where there is no such factor.
  mlir::Type narrowed;
};

/// On a reduction of a fold's step: the type to which the source rounds one factor
/// of what is summed. The derivation dropped that rounding; where a narrower
/// multiplication is faster, a generator may round again.
inline constexpr llvm::StringLiteral kNarrowedAttr = "redfuse.narrowed";

/// An exponential that several components share, and its running maximum.
struct PivotedExponential {
  Linear data;
  bool isBase2;
  mlir::Type type;
  /// The component that holds the running maximum of `data`.
  unsigned pivot;
  /// Whether a component of the state is relative to it.
  bool isUsed = true;
};

/// What data is measured from in powers of differences.
struct DifferencePivot {
  Linear data;
  mlir::Type type;
  /// A running maximum that powers under an exponential share; else a value
  /// inside the range of the data, the mean of a segment, which is kept: of the
  /// first one, or of the heavier one of two that are merged.
  std::optional<unsigned> exponential;
  /// Beside it running maxima of other data that is part of this, by
  /// exponential, with coefficients: x - y is measured as (x - p) - (y - q).
  llvm::SmallVector<std::pair<unsigned, double>, 1> others;
  /// The component that holds the pivot and, of a kept one, that which weighs the
  /// elements: counts them, or adds up |weights|.
  unsigned component, weight = 0;
  /// What the elements of a mean with weights are multiplied by.
  llvm::SmallVector<Factor, 2> weights;
  /// With weights: the component that counts the elements, if sums without the
  /// weights are relative to the pivot too. A state may have elements and no
  /// weight.
  std::optional<unsigned> count;
  bool isUsed = true;
};

/// scale * done factors * exp(exponent) * a component, in the finalisation.
struct StageTerm {
  double scale = 1;
  llvm::SmallVector<Factor, 2> done;
  /// Transport of the component's exponential to the source's: exp(pivot +
  /// exponent).
  std::optional<Linear> exponent;
  bool isBase2 = false;
  /// The component; none for a term that is free of data and counted
  /// statically.
  std::optional<unsigned> component;
  /// The largest and smallest contribution, which tell the class of the result
  /// where a done factor is infinite or a divisor 0.
  std::optional<unsigned> high, low;
  /// Whether the masks leave anything: where they do not, the term is 0, whatever
  /// the rest of it is.
  std::optional<unsigned> some;
  /// Powers of shifts that multiply the component.
  llvm::SmallVector<std::pair<unsigned, int>, 1> shifts;
  /// Other dims that it is summed over, in the finalisation.
  llvm::SmallVector<int64_t, 1> inner;
  /// Part of the expansion of a difference from a value that is not the mean of
  /// its data and so can be infinite on its own: this shift. `high` and `low`
  /// are then those of the other factors.
  std::optional<unsigned> guardedShift;
};

/// The value of a stage from the state: a sum of terms, or a choice.
struct StageChoice {
  std::vector<StageTerm> terms;
  mlir::Value predicate;
  std::shared_ptr<const StageChoice> onTrue, onFalse;
};

/// How one reduction of the cascade is recovered from the state.
struct Stage {
  enum class Kind { Sum, Product, Endpoints, Joint, Selection };
  ReduceOp reduce;
  Kind kind = Kind::Sum;
  std::shared_ptr<const StageChoice> value;
  /// Endpoints: the contribution is a monotone function of `data`, whose
  /// extreme values these components hold. Product: the component. Joint: the
  /// first one. Selection: the selected value is a strictly monotone function of
  /// `data`; `first` and the next are the value and index selected there, `worst`
  /// the value of the pair at the other end, `lowest` the lowest index.
  mlir::Value data;
  unsigned first = 0;
  std::optional<unsigned> second, worst, lowest;
  /// The component that counts, where the result over nothing has to be told
  /// from a result over something.
  std::optional<unsigned> count;
};

/// pivot + done: what is left of a difference when its data is measured from
/// the pivot.
struct Shift {
  unsigned pivot;
  Linear done;
  /// Where the reduced value is the mean of the same data, the shift is
  /// -numerator/denominator of components: the rounded mean is never
  /// subtracted. The denominator is the constant `count` where it is no
  /// component.
  std::optional<unsigned> numerator, denominator;
  double count = 0;
  bool isUsed = true;
};

/// A scan along the folded dim: its prefixes within a segment, combined with the
/// state so far.
struct RunningStage {
  ScanOp scan;
  /// The first component of the state.
  unsigned first = 0;
};

/// How a cascade folds. Plain data; refers to values of the cascade's body.
struct Derivation {
  llvm::SmallVector<int64_t> over;
  std::vector<Component> components;
  std::vector<PivotedExponential> exponentials;
  std::vector<DifferencePivot> pivots;
  std::vector<Shift> shifts;
  /// In the order of the body; only those that results need.
  std::vector<Stage> stages;
  std::vector<RunningStage> scans;
  /// Results that are written segment by segment: they need scans, but no
  /// reduction over the folded dims.
  llvm::SmallVector<unsigned> outputs;
  /// How far running maxima get ahead of lazy pivots, in powers of 2.
  unsigned lazy = 0;
  /// The rules that were used.
  llvm::SmallVector<Rule> rules;
  /// Results that still depend on the folded dims: the finalisation reads the
  /// data again.
  llvm::SmallVector<unsigned> mappedResults;
};

struct DerivationOptions {
  /// Refuse everything that changes the order of floating-point operations.
  bool strict = false;
  /// Take rounding to nearest and saturation for the identity. Ops with
  /// `redfuse.approximate` are taken so in any case.
  bool approximate = false;
  /// The pivot of an exponential stays while the running maximum grows by less
  /// than this, in powers of 2; 0: it never stays. At most kMaxLazy.
  unsigned lazy = 0;
  /// Reductions over folded dims that are complete before the fold begins: their
  /// results are free.
  llvm::SmallVector<ReduceOp> complete;
};

/// Decides whether and how `cascade` can be folded along the dims `over`.
/// Changes no IR. On failure `why` has at least one reason.
mlir::FailureOr<Derivation> derive(CascadeOp cascade,
                                   llvm::ArrayRef<int64_t> over,
                                   llvm::SmallVectorImpl<RefusalReason> &why,
                                   const DerivationOptions &options = {});

/// The reductions over the folded dims that fold together, and those that have
/// to wait until these are complete.
struct PartialDerivation {
  llvm::SmallVector<ReduceOp> folded, waiting;
  /// Whether scans have to wait for `folded`.
  bool scansWait = false;
  /// Whether a result depends on the folded dims.
  bool isMapped = false;
};

/// Like `derive`, but splits the reductions where that refuses. `why` has a
/// reason for each of those that wait for no other one.
mlir::FailureOr<PartialDerivation>
deriveFirstPass(CascadeOp cascade, llvm::ArrayRef<int64_t> over,
                llvm::SmallVectorImpl<RefusalReason> &why,
                const DerivationOptions &options = {});

/// How a cascade is folded in passes over the data, one for each barrier and one
/// more.
struct PassPlan {
  /// The reductions of each pass.
  std::vector<llvm::SmallVector<ReduceOp>> passes;
  /// Why reductions wait for a later pass.
  llvm::SmallVector<RefusalReason> barriers;
  /// Whether a result depends on the folded dims: the last finalisation reads
  /// the data again.
  bool isMapped = false;
};

/// Finds the fewest passes in which all reductions over `over` fold. Changes no
/// IR. On failure `why` has at least one reason.
mlir::FailureOr<PassPlan> planPasses(CascadeOp cascade,
                                     llvm::ArrayRef<int64_t> over,
                                     llvm::SmallVectorImpl<RefusalReason> &why,
                                     const DerivationOptions &options = {});

/// Makes one cascade a pass of `cascade`, before it, with the same iteration
/// dims and schedule; `cascade` itself where there is one pass. The results of
/// reductions are inputs of the passes after theirs. The last one has the
/// results of `cascade`, which stays.
llvm::SmallVector<CascadeOp> cutAtBarriers(mlir::RewriterBase &rewriter,
                                           CascadeOp cascade,
                                           const PassPlan &plan);

/// What `rewrite` made; no finalisation where every result is an output.
struct FoldAndFinalize {
  FoldOp fold;
  FinalizeOp finalize;
};

/// Whether a stage adds up powers of differences around a kept pivot, which loses
/// fewer digits than the source's order.
bool hasKeptPowers(const Derivation &derivation);

/// Replaces `cascade` by one in which powers of differences are reduced around
/// pivots, in one piece: the fold's accuracy, where there is nothing to carry.
/// Other reductions stay. Expects no scans.
CascadeOp rewriteWhole(mlir::RewriterBase &rewriter, CascadeOp cascade,
                       const Derivation &derivation);

/// Replaces `cascade` by a fold and a finalisation with the same iteration
/// dims.
FoldAndFinalize rewrite(mlir::RewriterBase &rewriter, CascadeOp cascade,
                        const Derivation &derivation);

/// The certificate: formulas of the state, its merge and the results.
mlir::DictionaryAttr makeCertificate(CascadeOp cascade,
                                     const Derivation &derivation);

/// What each component of the state is, for people. Components that are reduced
/// together have the same text.
llvm::SmallVector<std::string>
describeComponents(mlir::DictionaryAttr certificate);

} // namespace redfuse

#endif // REDFUSE_ALGEBRA_DERIVATION_H
