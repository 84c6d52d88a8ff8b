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
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixTarget.h"

namespace redfuse {

/// Bytes of a sum that each row of a tile has where it is cut.
constexpr int64_t kSumBytes = 128;

/// A tensor of the kernel that matrix units read from shared memory.
struct MatrixSource {
  mlir::BlockArgument argument;
  mlir::AffineMap map;
  /// The position in the tensor's index of its rows or columns, and of the
  /// summed dim; one of them is the last.
  unsigned free = 0, sum = 0;
  /// What the unit takes its elements for, where memory does not say so: of integers whether
  /// they have a sign.
  mlir::Type element = {};
};

/// A contraction: the sum over `k` of left(m, k) times right(k, n). More dims of rows
/// and of columns are dims of the grid.
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
  /// More dims of the sum, whose tiles lie along `k` alone: all of its tiles are added
  /// for each index of these, the last of which runs fastest.
  llvm::SmallVector<unsigned, 2> outerSums;
  mlir::Type element;
  /// What sums along `k` are multiplied by before they are added up, where that is not the
  /// same for all of them: scales of blocks of numbers of 8 bits.
  mlir::Value scale;
  /// A second product, which is summed along the streamed dim: it accumulates into a
  /// state of the fold. First products are of the inputs of a step alone.
  bool isSecond = false;
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
  /// Bytes of an operand's element in memory: two, or one of 8 bits.
  int64_t elementBytes = 2;
  /// Operands are integers, and sums of i32.
  bool isOfIntegers = false;
  /// Warpgroups (four warps) that multiply, and the rows of each.
  int64_t consumers = 2, consumerRows = 64;
  /// Blocks, one cluster, that share the tiled sums of a tile of results.
  int64_t sumSplits = 1;
  /// Blocks that have a part of the streamed dim each, for a tile of results.
  int64_t splits = 1;
  /// As many of these, one after another, are a cluster, and merge their states
  /// before others do.
  int64_t cluster = 1;
  /// So many neighbouring tiles along the rows and along the columns are those of a
  /// cluster. Blocks that read the same operand copy a part of it each, for all of them.
  int64_t clusterRows = 1, clusterColumns = 1;

  /// Two blocks fit a multiprocessor: where blocks share tiles, the next launch is there when
  /// this one ends, else one computes while the other waits.
  bool isHalf = false;
  /// Stages of the ring; 0, until it is laid out: as many as there is room for.
  int64_t stages = 0;
  /// Results are stored from shared memory, by copies; not decided until then.
  std::optional<bool> isStaged;
  /// Tiles differ in how long they take: blocks take the next one when they are
  /// done with one.
  bool hasDynamicScheduler = false;
  /// Bytes of tiles one behind the other that find what they read in the L2 cache.
  int64_t cachedBytes = 0;
  /// Steps, or tiles of a sum, whose data the L2 cache is asked for before the kernel
  /// waits for the one before it.
  int64_t ahead = 0;
  /// The next kernel's blocks come when all copies of this one's are under way, not
  /// as soon as there is room: what they ask for would be in the way.
  bool startsNextLate = false;
  /// How far pivots may be below what they belong to; `kThresholdByRows`, or half as many
  /// powers of 2; 0: they are maxima.
  int64_t threshold = 0;

  bool isColumn(unsigned d) const { return widths.contains(d); }
  int64_t rows() const { return consumerRows * consumers; }
  /// Elements of a sum that a tile has where it is cut.
  int64_t sumTile() const { return kSumBytes / elementBytes; }
  /// The unit has few digits for sums of floats of 8 bits, and knows no scales of blocks: it
  /// adds up one tile of the sum at a time, which threads add to sums of f32.
  bool addsTilesInRegisters() const {
    return elementBytes == 1 &&
           (!isOfIntegers || llvm::any_of(products, [](const auto &product) {
             return bool(product.scale);
           }));
  }
  /// Threads of a block.
  int64_t threads() const {
    return 32 * target.loaderWarps() + 128 * consumers;
  }
  /// Elements of a product of so many columns, and words of a left operand, in
  /// each thread.
  int64_t elementsOf(int64_t columns) const {
    return columns * consumerRows / 128;
  }
  int64_t wordsOf(int64_t columns) const {
    return columns * consumerRows / 256;
  }
  /// What makes the results.
  IndexProgramOpInterface last() const {
    FinalizeOp op = finalize;
    return op ? llvm::cast<IndexProgramOpInterface>(op.getOperation()) : step;
  }
  /// Blocks of a cluster that copy for each other; and those that read an operand of one of
  /// them: the block itself, and its neighbours along the rows and along the columns.
  int64_t multicast() const { return clusterRows * clusterColumns; }
  int64_t readers() const { return clusterRows + clusterColumns - 1; }
  /// How many neighbouring tiles of a dim a cluster has.
  int64_t clusterOf(unsigned d) const {
    return d == m ? clusterRows : d == products.front().n ? clusterColumns : 1;
  }
  /// Blocks that share a tile of results, by either.
  int64_t shares() const { return sumSplits * splits; }
  /// Blocks that merge what clusters have merged.
  int64_t clusters() const { return splits / cluster; }
  /// How many elements of a dim a block has at a time.
  int64_t tileOf(unsigned d) const {
    auto it = widths.find(d);
    return d == m ? rows() : it == widths.end() ? 1 : it->second;
  }
  /// The products that accumulate into states of the fold, or the others.
  llvm::SmallVector<unsigned> productsOf(bool isSecond) const {
    llvm::SmallVector<unsigned> numbers;
    for (auto [i, product] : llvm::enumerate(products))
      if (product.isSecond == isSecond)
        numbers.push_back(i);
    return numbers;
  }
  /// A left operand is loaded in tiles of the sum.
  bool hasTiledSums() const {
    return llvm::any_of(products, [](const MatrixProduct &product) {
      return product.tiledLeft.has_value();
    });
  }
  /// A fold of products that it makes in each step anew, of tiles of their sums.
  bool foldsTiledSums() const {
    return stream && llvm::all_of(products, [](const MatrixProduct &product) {
             return product.tiledLeft && !product.isSecond;
           });
  }
  /// Tiles of rows, of so many elements a row, that find their operands in the L2 cache where
  /// blocks fold splits of the same columns.
  int64_t rowTilesInCache(int64_t elements) const {
    return std::max<int64_t>(
        1, cachedBytes / (rows() * clusterRows * elements * elementBytes));
  }
  /// Of every sixteen rows of a warp the upper eight do not exist.
  bool hasLowerRowsOnly(const KernelSpace &space) const {
    int64_t extent = space.staticExtents[m];
    return target.hasWgmma && !mlir::ShapedType::isDynamic(extent) &&
           extent <= 8;
  }
};

/// As far as the sums of rows allow.
inline constexpr int64_t kThresholdByRows = 1;

/// All that is decided, as an attribute of the launch; an error there, and none, where
/// numbers are absurd.
MatrixPlanAttr recordPlan(const MatrixPlan &plan, const KernelSpace &space,
                          LaunchOp launch);

/// On a launch, by redfuse-plan-matrices: its kernel's plan (#redfuse.matrix_plan),
/// which redfuse-kernel-to-gpu follows.
inline constexpr llvm::StringLiteral kPlanAttr = "redfuse.matrices";
/// Or why it has none (a string).
inline constexpr llvm::StringLiteral kNoPlanAttr = "redfuse.no_matrices";

// With mma.sync: MmaSyncPlan.cpp.

/// Where operands are; false, and why, if they cannot be there.
bool placeForMmaSync(MatrixPlan &plan, std::string &why);
/// Rows of a block and columns of a step; after the columns of all other dims.
bool chooseForMmaSync(MatrixPlan &plan, const KernelSpace &space, int64_t units,
                      std::string &why);

/// Drops extensions of shorter floats to f32.
mlir::Value stripExtension(mlir::Value v);
/// What a factor of a product is in memory: that, or an integer of 8 bits that is widened or
/// made a float.
mlir::Value factorOf(mlir::Value v);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXPLAN_H
