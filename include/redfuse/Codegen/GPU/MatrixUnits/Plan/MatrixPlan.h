//===- MatrixPlan.h - products of fragments ---------------------*- C++ -*-===//
//
// A kernel whose contractions can run on matrix units: a fold along one dim, or
// a cascade, in which every contraction has the same rows, and every other value
// is a scalar, a row, a column or a matrix of these rows and one other dim.
// Nothing is asked of what is computed between the contractions.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXPLAN_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXPLAN_H

#include "redfuse/Codegen/Common/KernelGenerator.h"
#include "redfuse/Codegen/GPU/Common/Ptx.h"
#include "redfuse/Codegen/GPU/Target/MatrixTarget.h"

namespace redfuse {

/// Elements of a sum that a tile has where it is cut.
constexpr int64_t kSumTile = 64;

/// A tensor of the kernel that matrix units read from shared memory.
struct MatrixSource {
  mlir::BlockArgument argument;
  mlir::AffineMap map;
  /// The position in the tensor's index of its rows or columns, and of the
  /// summed dim; one of them is the last.
  unsigned free = 0, sum = 0;
};

/// A contraction: the sum over `k` of left(m, k) times right(k, n).
struct MatrixProduct {
  ReduceOp reduce;
  /// The left operand in the body: 16-bit floats in memory, or any value that is
  /// rounded to `element`.
  mlir::Value left;
  MatrixSource right;
  /// Where the left operand is read from shared memory too: the sum is cut into
  /// tiles.
  std::optional<MatrixSource> tiledLeft;
  /// Where the left operand is the same in all steps, and comes to registers by
  /// shared memory, or stays there (`isResident`).
  std::optional<MatrixSource> keptLeft;
  bool isResident = false;
  unsigned n = 0, k = 0;
  mlir::Type element;
  /// Summed along the streamed dim: accumulates into a state of the fold.
  bool isBack = false;
  /// The state, and what it is before the products of the step are added.
  unsigned state = 0;
  mlir::Value carried;
};

struct MatrixPlan {
  MatrixTarget target;
  IndexProgramOpInterface step;
  FoldOp fold;
  FinalizeOp finalize;
  unsigned m = 0;
  std::optional<unsigned> stream;
  llvm::SmallVector<MatrixProduct> products;
  /// How many columns a block has of each column dim; padded.
  llvm::DenseMap<unsigned, int64_t> widths;
  /// Warpgroups (four warps) that multiply, and the rows of each.
  int64_t consumers = 2, groupRows = 64;
  /// Blocks, one cluster, that share the tiled sums of a tile of results.
  int64_t split = 1;
  /// Blocks that have a part of the streamed dim each, for a tile of results.
  int64_t segments = 1;
  /// As many of these, one after another, are a cluster, and merge their states
  /// before others do.
  int64_t cluster = 1;

  /// Two blocks fit a multiprocessor: the next launch is there when this one ends.
  bool isHalf = false;
  /// Slots of the ring; 0, until it is laid out: as many as there is room for.
  int64_t slots = 0;
  /// Results are stored from shared memory, by copies; not decided until then.
  std::optional<bool> isStaged;
  /// Tiles differ in how long they take: blocks take the next one when they are
  /// done with one.
  bool hasQueue = false;
  /// Bytes of tiles one behind the other that find what they read in the L2 cache.
  int64_t cachedBytes = 0;
  /// Steps, or tiles of a sum, whose data the L2 cache is asked for before the kernel
  /// waits for the one before it.
  int64_t ahead = 0;
  /// The next kernel's blocks come when all copies of this one's are under way, not
  /// as soon as there is room: what they ask for would be in the way.
  bool startsNextLate = false;
  /// How far pivots may be below what they belong to; `kLagByRows`, or half as many
  /// powers of 2; 0: they are maxima.
  int64_t lag = 0;

  bool isColumn(unsigned d) const { return widths.contains(d); }
  int64_t rows() const { return groupRows * consumers; }
  /// Threads of a block.
  int64_t threads() const {
    return 32 * target.loaderWarps() + 128 * consumers;
  }
  /// Elements of a product of so many columns, and words of a left operand, in
  /// each thread.
  int64_t elementsOf(int64_t columns) const {
    return columns * groupRows / 128;
  }
  int64_t wordsOf(int64_t columns) const { return columns * groupRows / 256; }
  /// Blocks that share a tile of results, by either.
  int64_t shares() const { return split * segments; }
  /// Blocks that merge what clusters have merged.
  int64_t groups() const { return segments / cluster; }
};

/// As far as the sums of rows allow.
inline constexpr int64_t kLagByRows = 1;

/// The plan of a kernel as far as it is made before shared memory is laid out, or
/// nothing and why not. What `record` says is not chosen, but checked.
std::optional<MatrixPlan> planMatrix(KernelOp kernel, LaunchOp launch,
                                     const KernelSpace &space,
                                     const MatrixTarget &target, int64_t units,
                                     MatrixPlanAttr record, std::string &why);

/// All that is decided, as an attribute of the launch; an error there, and none, where
/// numbers are absurd.
MatrixPlanAttr recordPlan(const MatrixPlan &plan, const KernelSpace &space,
                          LaunchOp launch);

// On launches: redfuse-plan-matrices makes it, redfuse-kernel-to-gpu uses it.

/// On a launch: its kernel's plan, or why it has none.
inline constexpr llvm::StringLiteral kPlanAttr = "redfuse.matrices";

/// The iteration space of a kernel as blocks on matrix units walk it: one that has a
/// tile whole folds all segments of it.
KernelSpace mergeSegmentsOf(KernelOp kernel, const KernelSpace &space);

/// Plans a launch on a chip with so many multiprocessors, and says so by `kPlanAttr`;
/// what already has it stays. Does nothing for a chip without matrix units.
mlir::LogicalResult planLaunch(KernelOp kernel, LaunchOp launch,
                               const KernelSpace &space, llvm::StringRef chip,
                               int64_t units);

/// Pulls the pivots of a planned launch's kernel, and marks those that may lag.
void preparePivots(KernelOp kernel, LaunchOp launch);

// Blocks that share sums or states: MatrixBlocks.cpp.

/// A fold along a streamed dim, as far as its price depends on it.
struct SharedFold {
  /// Elements of the right operands of a step; rows of a block, and blocks that a
  /// multiprocessor has room for.
  llvm::SmallVector<double> sizes;
  int64_t rows = 64, blocksOfUnit = 1;
  /// Of a tile of results.
  double stateBytes = 0;
  /// Whether blocks of a cluster can send each other the states.
  bool isForClusters = true;
  int64_t steps = 1, tiles = 1;
};
/// How many blocks have a segment each, and how many of these are a cluster.
struct Segments {
  int64_t count = 1, cluster = 1;
};
/// The fastest; or those that hints ask for, where they are not 0.
Segments chooseSegments(const SharedFold &fold, const MatrixTarget &target,
                        int64_t units, int64_t wantedCount,
                        int64_t wantedCluster);

/// The tiled sum of a product, and its columns.
struct SharedSum {
  int64_t length, columns;
};
/// Cycles for so many tiles of results, of 64 rows for each of `consumers`, where
/// clusters of `split` blocks share the sums of one.
double cyclesOfShared(llvm::ArrayRef<SharedSum> sums, int64_t tiles,
                      int64_t consumers, int64_t split, int64_t units);

// Where warps multiply by themselves: MatrixWarpPlan.cpp.

/// Where operands are; false, and why, if they cannot be there.
bool placeByWarps(MatrixPlan &plan, std::string &why);
/// Rows of a block and columns of a step; after the columns of all other dims.
bool chooseByWarps(MatrixPlan &plan, const KernelSpace &space, int64_t units,
                   std::string &why);

/// On an exponential of a difference, or of a constant's multiple of one: what is
/// subtracted is a running maximum (or 0 where that is infinite), and every use of
/// the exponential is relative to it.
inline constexpr llvm::StringLiteral kPivotAttr = "redfuse.pivot";

/// The pivot of an exponential that has kPivotAttr.
mlir::Value getPivotOfPower(mlir::Operation *power);

/// Where the running maximum of a fold is one of positive multiples, the state
/// becomes the maximum of what is multiplied: c * s - max(c * s) is
/// c * (s - max(s)), which is 0 at the maximum whatever is rounded. Marks the
/// exponentials of distances from running maxima.
void pullPivots(KernelOp kernel);

/// On a running maximum that is only a pivot, in the step of a fold: by what a
/// distance from it is multiplied to be a power of 2.
inline constexpr llvm::StringLiteral kLazyAttr = "redfuse.lazy";

/// How far, in powers of 2, values may be above a pivot that stays.
inline constexpr float kHeadroom = 8;

/// After pullPivots: marks running maxima that may lag behind, because step, merge
/// and finalisation give the same for any pivot.
void markLazyPivots(KernelOp kernel);

/// A constant's multiple of a value; a quotient by a constant is one, too.
struct ScaledValue {
  mlir::Value value;
  float by;
};
std::optional<ScaledValue> matchScaled(mlir::Value v);

/// Drops extensions of 16-bit floats to f32.
mlir::Value stripExtension(mlir::Value v);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXPLAN_H
