//===- TileProgram.h - a body as statements over tiles ----------*- C++ -*-===//
//
// A body in index notation becomes a short list of *loop nests* over a
// tile of the iteration space. A nest computes *roots*: reductions, values that
// are kept in a tile buffer because several nests need them (or a contraction
// wants them as an operand), and values that the body yields. Everything else is
// recomputed where it is used, at the outermost loop that binds its dims.
//
// Nothing here knows a target; the emitter of a target decides how a nest runs.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_ANALYSIS_TILEPROGRAM_H
#define REDFUSE_ANALYSIS_TILEPROGRAM_H

#include "redfuse/Analysis/MatrixInstruction.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {

/// What the analysis knows of one dim of the tile.
struct TileDim {
  /// The largest size of a tile of this dim; kDynamic where it is not known.
  int64_t capacity = mlir::ShapedType::kDynamic;
  /// Walked by the loop of a fold: what depends on it changes between steps.
  bool isStream = false;
};

/// Where a body argument is read from.
struct SourceLayout {
  /// The kernel dim along which neighbouring elements are adjacent in memory, or
  /// none (a strided view, an expression that is no plain dim plus others).
  std::optional<unsigned> contiguous;
  /// The kernel dim along which neighbours are a few elements apart, and how many.
  std::optional<std::pair<unsigned, int64_t>> strided;
  /// Lives in a tile buffer of the kernel (a state, an intermediate).
  bool isInternal = false;
};

/// How many elements neighbours along `dim` are apart where the last index of `map`
/// alone says so: 1 to `most`.
std::optional<int64_t> strideAlong(mlir::AffineMap map, unsigned dim,
                                   int64_t most);

/// Something that a nest computes.
struct Root {
  enum class Kind { Reduce, Scan, MergeTopk, Keep, Yield, Assert };
  Kind kind;
  /// Its place in the list of roots.
  unsigned number = 0;
  /// Reduce: the op. Others: null.
  ReduceOp reduce;
  /// Reduce, Scan, MergeTopk: the op. Others: null.
  mlir::Operation *op = nullptr;
  /// Reduce, Scan, in order: combines a state with all results, so that the
  /// accumulators start there, and the results are those of this.
  CombineOp continued;
  /// Scan, in order: the reduction of the same elements, whose results are the last
  /// prefixes; null where there is none. What it is `continued` by, if it is.
  ReduceOp total;
  CombineOp totalContinued;
  /// What it makes.
  mlir::ResultRange getResults() const {
    return continued ? CombineOp(continued)->getResults() : op->getResults();
  }
  /// What `total` makes.
  mlir::ValueRange getTotals() const {
    if (!total)
      return {};
    return totalContinued ? CombineOp(totalContinued)->getResults()
                          : ReduceOp(total)->getResults();
  }
  /// The value that is kept, yielded or asserted.
  mlir::Value value;
  /// Yield: which.
  unsigned yieldIndex = 0;
  /// The dims of the nest.
  SmallBitVector dims;
  mlir::Operation *assertion = nullptr;
  /// Runs after all roots of lower levels.
  int level = 0;
  /// Does not change between the steps of a fold: may run before its loop.
  bool isInvariant = false;
  /// Yield, Keep: computed from the finished accumulator of this reduction, or from the
  /// prefixes of this scan, while these are in registers.
  Root *epilogueOf = nullptr;
  /// The values between this root and kept values, reductions and arguments, in
  /// body order; arguments included.
  llvm::SmallSetVector<mlir::Value, 8> cone;
};

/// A contraction as products of small matrices: its rows are the dims of the result
/// that the left operand alone has, its columns those of the right one; the last of each
/// runs fastest.
struct MatrixForm {
  /// By this, if the target has a chip with matrix instructions.
  MatrixInstruction instruction;
  /// What is loaded: arguments and kept values, whose elements the instruction has
  /// as they are or after a conversion. Without an instruction the factors themselves.
  mlir::Value left, right;
  /// Whether integers of operands that become floats have a sign.
  bool leftIsSigned = true, rightIsSigned = true;
  /// Whether an operand of f32 is rounded to TF32: it is no sum of two such.
  bool leftIsRounded = false, rightIsRounded = false;
  llvm::SmallVector<unsigned> batch, rows, columns, sums;
};

/// A contraction: reduce add of a product of two plain operands.
struct Contraction {
  Root *root = nullptr;
  /// The operand that is loaded as vectors along `n`, and the one whose elements
  /// are broadcast.
  mlir::Value vectorOperand, scalarOperand;
  unsigned n = 0;
  /// The dim that is blocked in registers beside n; none for matrix times vector.
  std::optional<unsigned> m;
  /// The reduced dims, outermost first.
  llvm::SmallVector<unsigned> k;
  /// The other dims of the result: outer loops.
  llvm::SmallVector<unsigned> outer;
  /// Set where a matrix instruction does it; else the above is register tiles.
  std::optional<MatrixForm> matrix;
};

/// Roots that share one loop nest.
struct LoopNest {
  llvm::SmallVector<Root *> roots;
  SmallBitVector dims;
  llvm::SmallVector<unsigned> over;
  int level = 0;
  bool isInvariant = false;
  /// A root that shares its nest with none (an assertion, a top-k, a scan).
  bool isAlone = false;
  /// A reduction whose elements are combined one after another in their order.
  bool isOrdered = false;
  std::optional<Contraction> contraction;
  /// The dim whose elements share a vector register; none: scalar code.
  std::optional<unsigned> vectorDim;
};

/// The tile program of one body.
class TileProgram {
public:
  struct Options {
    unsigned lanes = 16;
    /// Whether sums of products are nests of their own, over packed operands.
    bool hasContractions = true;
    /// Whether products of a vector and a matrix are such, too.
    bool hasVectorProducts = true;
    /// How far apart in memory the lanes of a vector are at most that is loaded as
    /// fast as neighbours.
    int64_t mostStride = 1;
    /// Whether the lanes of a vector may be neighbours of one row that is scanned: they
    /// are combined in another order then.
    bool scansLanes = false;
    /// Whether what is made of the prefixes of a scan, element by element, is made while
    /// they are in registers.
    bool hasScanEpilogues = false;
    /// The architecture whose matrix instructions may be used; null: none.
    const Chip *chip = nullptr;
    /// Whether who generates contractions computes their operands on the way: nothing
    /// is kept for them. Only sums of products that an instruction makes, or that
    /// are split for one, are contractions; without a chip those with rows and columns.
    bool isStaged = false;
  };

  static mlir::FailureOr<std::unique_ptr<TileProgram>>
  create(IndexProgramOpInterface op, llvm::ArrayRef<TileDim> dims,
         llvm::function_ref<SourceLayout(unsigned argument)> sourceOf,
         Options options);

  /// The nests in the order in which they run.
  llvm::ArrayRef<LoopNest> getNests() const { return nests; }
  const DimSets &getDimSets() const { return dimSets; }
  mlir::Block &getBody() { return *body; }

  /// The values that live in a tile buffer (reductions that no epilogue takes
  /// over, kept values) with the dims of the buffer, outermost first.
  const llvm::MapVector<mlir::Value, llvm::SmallVector<unsigned>> &
  getBuffers() const {
    return buffers;
  }

  /// Sums of products of which matrix instructions make none, and why.
  llvm::ArrayRef<std::pair<ReduceOp, std::string>> getScalarProducts() const {
    return scalarProducts;
  }
  /// The dim along which neighbouring elements of a value that is loaded are
  /// adjacent.
  std::optional<unsigned> getContiguous(mlir::Value v) const;
  /// The argument with most dims of those that `v` is computed from, if any.
  mlir::BlockArgument findMainArgument(mlir::Value v) const;

  /// What TileNests.cpp moves as one.
  struct Unit;

private:
  TileProgram(IndexProgramOpInterface op, DimSets sets)
      : op(op), body(op.getProgramBody()), dimSets(std::move(sets)) {}

  void findRoots();
  void findReduceRoots();
  void findOtherRoots();
  CombineOp findContinued(mlir::Operation *op, SmallBitVector dims) const;
  ReduceOp findTotal(ScanOp scan) const;
  Root &addRoot(Root::Kind kind, mlir::Value value);
  /// `producerOf` finds the root from now on.
  void addProducer(Root &root);
  void computeCone(Root &root);
  void computeCones();
  using Readers = llvm::DenseMap<mlir::Value, llvm::SmallVector<Root *>>;
  void keepIfShared(mlir::Operation &inner, const Readers &readers);
  void findContractions();
  void keepSharedValues();
  void keepNewStates();
  void addKeepRoots();
  void formEpilogues();
  mlir::LogicalResult formNests();
  llvm::SmallVector<Unit, 0> makeUnits() const;
  /// Whether `root` reads no state and nothing that is streamed.
  bool isInvariant(const Root &root,
                   llvm::DenseMap<const Root *, bool> &known) const;
  /// The nest that a root is, alone.
  LoopNest nestOf(Root &root) const;
  void place(Unit &unit, LoopNest own, llvm::ArrayRef<Unit> units);
  void chooseVectorDims();
  void layOutBuffers();

  std::optional<Contraction> matchContraction(Root &root);
  /// TileMatrices.cpp.
  std::optional<MatrixForm> matchMatrix(ReduceOp reduce, std::string &why);
  MatrixForm makePlainForm(ReduceOp reduce, mlir::Value lhs, mlir::Value rhs,
                           const SmallBitVector &left,
                           const SmallBitVector &right);
  unsigned findResultDim(ReduceOp reduce);
  void findStagedContractions();
  std::optional<unsigned> chooseVectorDim(const LoopNest &nest) const;
  double capacityOf(const SmallBitVector &set) const;
  bool isStateArgument(mlir::Value v) const;
  /// The argument that holds the old value of what `root` yields as state.
  mlir::Value getStateOf(const Root &root) const;
  /// The root that makes a kept value or the result of a reduction.
  Root *producerOf(mlir::Value v) const;
  /// The roots whose results `root` needs, directly or not, by their numbers.
  const llvm::BitVector &getNeeds(const Root &root);
  /// Whether `root` needs the result of `other`, directly or not.
  bool reaches(const Root &other, const Root &root) {
    return getNeeds(root).test(other.number);
  }
  /// Whether two users of a value cannot share it in registers.
  bool areApart(const Root &a, const Root &b);

  mutable IndexProgramOpInterface op;
  mlir::Block *body;
  DimSets dimSets;
  llvm::SmallVector<TileDim> dims;
  llvm::SmallVector<SourceLayout> sources;
  Options options;
  llvm::SmallVector<std::unique_ptr<Root>> roots;
  llvm::DenseMap<mlir::Value, Root *> producers;
  /// Answers of getNeeds; empty where nobody asked since the cones changed.
  llvm::SmallVector<std::optional<llvm::BitVector>, 0> needs;
  llvm::DenseMap<const Root *, Contraction> contractions;
  /// Values that have (or will have) a buffer.
  llvm::SetVector<mlir::Value> kept;
  /// The dim that must be innermost in a kept value's buffer.
  llvm::DenseMap<mlir::Value, unsigned> innermost;
  llvm::SmallVector<LoopNest, 0> nests;
  llvm::MapVector<mlir::Value, llvm::SmallVector<unsigned>> buffers;
  llvm::SmallVector<std::pair<ReduceOp, std::string>> scalarProducts;
};

/// Whether an op makes its results by a nest of its own.
bool isRootOp(mlir::Operation *op);

/// Whether recomputing `op` at each use costs more than storing and loading its
/// result.
bool isExpensive(mlir::Operation *op);

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_TILEPROGRAM_H
