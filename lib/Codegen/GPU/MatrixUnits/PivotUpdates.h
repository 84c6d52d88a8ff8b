//===- PivotUpdates.h - pivots that lag, and their moves --------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PIVOTUPDATES_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PIVOTUPDATES_H

#include "StreamRanges.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"

namespace redfuse {

using StateFragments = llvm::DenseMap<unsigned, Fragment>;

/// The state of that number as a step finds it, and what it becomes.
std::pair<mlir::Value, mlir::Value> getState(FoldOp fold, unsigned s);

/// Where the mainloop is along the streamed dim.
struct StreamPosition {
  StreamSteps steps;
  /// The step that is made.
  mlir::Value at;
  /// All steps but the first are walked by one loop.
  bool hasOneLoop = false;
};

/// A state that goes with a pivot, and what it is then.
struct MovedState {
  unsigned state;
  mlir::Value value;
};

/// Running maxima that lag behind (redfuse.lazy): while values are not far above them,
/// they stay; where they move, all that is relative to them goes along.
class PivotUpdates : KernelPart {
public:
  PivotUpdates(MatrixKernel &of, const StreamPosition &position)
      : KernelPart(of), position(position) {}

  /// `sums` are those of rows, of which one may be the sum of the weights.
  void find(llvm::ArrayRef<std::pair<unsigned, ReduceOp>> sums);
  bool areLazy() const { return !pivots.empty(); }
  /// States that go along.
  llvm::ArrayRef<MovedState> getMovedStates() const { return movedStates; }

  /// What values may be while a pivot stays.
  llvm::SmallVector<Fragment> findLimits(const StateFragments &states);
  /// Whether a pivot moves in this step.
  mlir::Value findMove(llvm::ArrayRef<Fragment> limits);
  /// What exponentials are made with in this step, and carried to the next. `moves` is null
  /// in the first step.
  llvm::SmallVector<ExponentialScale>
  update(mlir::Value moves, const StateFragments &states,
         llvm::ArrayRef<ExponentialScale> scales,
         llvm::ArrayRef<MovedState> along);
  /// Where pivots have moved: states that were not there yet go along.
  void moveStates(mlir::Value moves, llvm::ArrayRef<MovedState> along);

  /// What the mainloop carries of exponentials, of that shape.
  size_t countExponentials() const { return exponentials.size(); }
  /// Whether anybody asks for an element of a state: not of rows that do not exist.
  /// Between several loops ptxas would copy the others, and serialise products.
  bool isAsked(const Fragment &state, size_t element) const;

private:
  /// A pivot that may stay: the maximum of its state and of `other`, which is `top`,
  /// where that is a reduction of its own.
  struct LazyPivot {
    mlir::arith::MaximumFOp max;
    unsigned state;
    mlir::Value other;
    ReduceOp top;
    /// How far values may be above it, in powers of 2; how much one of these is.
    float headroom, power;
    /// Where a state is the sum of the weights: by that, instead.
    std::optional<unsigned> sum;
    /// How many of them a thread adds to a row's sum in a step.
    float weightsInStep;
  };
  void findPivots(llvm::ArrayRef<std::pair<unsigned, ReduceOp>> sums);
  void findMovedStates();
  mlir::Value findShare(const LazyPivot &lazy);
  llvm::SmallVector<ExponentialScale> scaleExponentials();
  llvm::SmallVector<ExponentialScale>
  move(mlir::Value moves, const StateFragments &states,
       llvm::ArrayRef<ExponentialScale> scales,
       llvm::ArrayRef<MovedState> along);
  llvm::SmallVector<Fragment> statesBefore(llvm::ArrayRef<MovedState> along);
  llvm::SmallVector<Fragment> statesAfter(llvm::ArrayRef<MovedState> along);
  void inBranch(mlir::Value condition,
                llvm::MutableArrayRef<Fragment> fragments,
                llvm::function_ref<llvm::SmallVector<Fragment>()> then);

  const StreamPosition &position;
  llvm::SmallVector<LazyPivot> pivots;
  /// Exponentials of matrices whose pivots are lazy.
  llvm::SmallVector<mlir::Operation *> exponentials;
  llvm::SmallVector<MovedState> movedStates;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PIVOTUPDATES_H
