//===- Raiser.h - one linalg.generic to a cascade ---------------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_RAISER_H
#define REDFUSE_LIB_TRANSFORMS_RAISER_H

#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseSet.h"

namespace redfuse {

/// Why a generic is not raised.
struct Reason {
  std::string condition, detail, remedy;
};

/// One contribution to an accumulation: `value`, `value * factor` where there is
/// a factor (a fused multiply-add), or minus `value`.
struct Contribution {
  mlir::Value value, factor;
  bool negate = false;
};

/// What NaN does to the index of an extremum: nothing, or the first one, or the last
/// one, is where it is.
enum class IndexOfNaN { Ignored, First, Last };

/// How one yielded value accumulates.
struct Accumulation {
  Reducer reducer = Reducer::Add;
  llvm::SmallVector<Contribution> terms;
  /// Written as compare and select: NaN is dropped, except in the initial value.
  bool bySelect = false;
  /// For argmax and argmin: the yielded value that holds the index, and the reducer
  /// of the value by itself.
  std::optional<unsigned> indexResult;
  Reducer valueReducer = Reducer::MaximumF;
  IndexOfNaN indexOfNaN = IndexOfNaN::Ignored;
  /// This is that yielded value; another one describes it.
  bool isIndex = false;
  /// a*old + b in the old value.
  bool isAffine = false;
  /// A part of the state of a declared reducer.
  CombineOp combine;
};

/// Over which elements an accumulation runs: all, or those up to the one at
/// hand, with or without it.
enum class Reach { All, Inclusive, Exclusive };

/// Raises one generic.
class Raiser {
public:
  Raiser(mlir::linalg::GenericOp generic, mlir::RewriterBase &rewriter)
      : op(generic), rewriter(rewriter), body(*generic.getBody()),
        yield(llvm::cast<mlir::linalg::YieldOp>(body.getTerminator())) {}

  /// The cascade, or the reason why there is none (then nothing has changed).
  mlir::FailureOr<CascadeOp> run(Reason &why) {
    if (failed(analyse(why)))
      return mlir::failure();
    return build();
  }

private:
  mlir::LogicalResult refuse(Reason &why, llvm::StringRef condition,
                             const llvm::Twine &detail,
                             llvm::StringRef remedy) {
    why = {condition.str(), detail.str(), remedy.str()};
    return mlir::failure();
  }
  mlir::LogicalResult analyse(Reason &why);
  mlir::LogicalResult analyseMaps(Reason &why);
  mlir::LogicalResult analyseResult(unsigned k, Reason &why);
  bool matchDeclared(CombineOp combine);
  bool matchArgument(unsigned k, Reason &why, bool &refused);
  bool isIncreasing(mlir::Value index);
  CascadeOp build();
  /// The cascade without its body's ops.
  CascadeOp buildFrame();
  mlir::Value buildInit(unsigned k);
  /// What no accumulator changes.
  void guardAssertions(CascadeOp cascade);
  void buildBody();
  llvm::SmallVector<mlir::Value> buildResults();
  mlir::Value buildArgument(unsigned k, mlir::OpBuilder &b,
                            llvm::SmallVectorImpl<mlir::Value> &values);
  /// The value of accumulator `k` over the elements in reach.
  mlir::Value buildAccumulated(unsigned k, Reach reach, mlir::OpBuilder &b);
  mlir::Value buildAffine(unsigned k, Reach reach, mlir::OpBuilder &b,
                          mlir::Location loc);
  void buildDeclared(unsigned k, Reach reach, mlir::OpBuilder &b,
                     mlir::Location loc);
  /// `operands` reduced or scanned by `reducer`; a declared one takes what it
  /// needs from `declaration`.
  llvm::SmallVector<mlir::Value>
  combineAlong(mlir::OpBuilder &b, mlir::Location loc, Reach reach,
               Reducer reducer, mlir::ValueRange operands,
               mlir::ArrayAttr identities = {}, bool isOrdered = false,
               llvm::function_ref<void(mlir::Region &)> declaration = {});
  /// A value of the body at each step, where accumulators are what they are so
  /// far.
  mlir::Value buildRunning(mlir::Value v, mlir::OpBuilder &b);
  mlir::Value buildTotal(unsigned k, mlir::OpBuilder &b, mlir::Location loc);
  mlir::Value isFirstElement(mlir::OpBuilder &b, mlir::Location loc);

  /// Which result of its redfuse.combine result `k` is.
  unsigned memberOf(unsigned k) {
    return llvm::cast<mlir::OpResult>(yielded(k)).getResultNumber();
  }
  mlir::BlockArgument outArgument(unsigned k) {
    return op.getMatchingBlockArgument(op.getDpsInitOperand(k));
  }
  mlir::Value yielded(unsigned k) { return yield.getOperand(k); }
  /// The scalar that init `k` was filled with, if it was.
  mlir::Value fillOf(unsigned k) {
    auto fill =
        op.getDpsInitOperand(k)->get().getDefiningOp<mlir::linalg::FillOp>();
    return fill ? fill.getInputs().front() : Value();
  }
  bool fillIsIdentity(unsigned k, Reducer reducer);
  bool fillIs(unsigned k, mlir::TypedAttr identity);
  /// Whether accumulator `k` starts from a constant that is no NaN.
  bool startsFromNumber(unsigned k);
  bool isPrefix(unsigned k) const { return prefixes.test(k); }
  bool needsInit(unsigned k) {
    if (!reductionDims.empty() && isPrefix(k))
      return false;
    if (!reductionDims.empty() && accumulations[k].isAffine)
      return !fillIsIdentity(k, Reducer::Add);
    if (!reductionDims.empty() && accumulations[k].combine)
      return !fillIs(
          k, llvm::cast<mlir::TypedAttr>(
                 accumulations[k].combine.getIdentities()[memberOf(k)]));
    if (!reductionDims.empty())
      return accumulations[k].isIndex || accumulations[k].indexResult ||
             !fillIsIdentity(k, accumulations[k].reducer);
    return !outArgument(k).use_empty();
  }

  mlir::linalg::GenericOp op;
  mlir::RewriterBase &rewriter;
  mlir::Block &body;
  mlir::linalg::YieldOp yield;
  llvm::SmallVector<int64_t> parallelDims, reductionDims;
  /// Results that are written at every step of the one reduction dim.
  llvm::SmallBitVector prefixes;
  llvm::DenseSet<mlir::Value> dependent;
  llvm::SmallVector<Accumulation> accumulations;

  // While the cascade is built: what initial values are, what stands for values
  // of the generic's body, and values so far.
  llvm::SmallVector<mlir::Value> initScalars;
  mlir::IRMapping mapping;
  llvm::DenseMap<std::pair<Value, int>, mlir::Value> accumulated;
  llvm::DenseMap<Value, mlir::Value> running;
};

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_RAISER_H
