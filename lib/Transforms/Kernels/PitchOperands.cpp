//===- PitchOperands.cpp - redfuse-pitch-operands -------------------------===//
#include "CopiedOperands.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Dialect/Redfuse/Utils/MovedBody.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace redfuse {
#define GEN_PASS_DEF_PITCHOPERANDS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// How rows of a matrix begin: all at multiples of a line of memory (or short ones of 16
/// bytes), of 16 bytes, or at any elements.
enum class Rows { Aligned, Skewed, Ragged };

/// A factor of products, as it lies in memory.
struct Matrix {
  unsigned input;
  RankedTensorType type;
  Rows rows;
  /// Whether rows lie along a sum.
  bool isAlongSum = false;

  int64_t bytes() const {
    return type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }
};

/// The matrices of a cascade's products, and how many multiply-adds these have.
struct Products {
  SmallVector<Matrix> matrices;
  double count = 0;
};
} // namespace

/// Elements that rows are multiples of: those of 16 bytes, or of a line where they are long.
static int64_t pitchOf(RankedTensorType type) {
  int64_t bits = type.getElementTypeBitWidth();
  return (type.getShape().back() >= kLeastOfLines ? 8 * kGpuLineBytes : 128) /
         bits;
}

static Rows rowsOf(RankedTensorType type) {
  int64_t last = type.getShape().back();
  if (last * type.getElementTypeBitWidth() % 128 != 0)
    return Rows::Ragged;
  return last % pitchOf(type) ? Rows::Skewed : Rows::Aligned;
}

/// Whether a factor is made of what another reduction of the cascade results in.
static bool isOfReduction(Value factor, Block *body) {
  SmallVector<Value> open{factor};
  SmallPtrSet<Operation *, 16> seen;
  while (!open.empty()) {
    Operation *def = open.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != body || !seen.insert(def).second)
      continue;
    if (isa<ReduceOp>(def))
      return true;
    llvm::append_range(open, def->getOperands());
  }
  return false;
}

/// The matrix that a factor is, an element of it for each point: 16-bit floats that are
/// added up in f32. None where it is read in another way, or computed.
static std::optional<Matrix> findMatrix(CascadeOp op, Value factor,
                                        ArrayRef<int64_t> extents) {
  auto extend = factor.getDefiningOp<arith::ExtFOp>();
  auto argument =
      extend ? dyn_cast<BlockArgument>(extend.getIn()) : BlockArgument();
  if (!argument || argument.getOwner() != &op.getBody().front())
    return std::nullopt;
  unsigned i = argument.getArgNumber();
  if (i >= op.getInputs().size())
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op.getInputs()[i].getType());
  AffineMap map = op.getIndexingMapsArray()[i];
  if (!type || !type.hasStaticShape() || type.getRank() < 2 ||
      !(type.getElementType().isBF16() || type.getElementType().isF16()) ||
      !map.isProjectedPermutation())
    return std::nullopt;
  if (type.getShape().back() !=
      extents[cast<AffineDimExpr>(map.getResults().back()).getPosition()])
    return std::nullopt;
  return Matrix{i, type, rowsOf(type)};
}

/// None where a product is no plain one of matrices in memory, or of what the cascade has
/// reduced before.
static std::optional<Products> findProducts(CascadeOp op) {
  SmallVector<int64_t> extents = getStaticExtents(op);
  if (llvm::any_of(extents, ShapedType::isDynamic))
    return std::nullopt;
  FailureOr<DimSets> sets =
      DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
  if (failed(sets))
    return std::nullopt;
  Products products;
  Block *body = &op.getBody().front();
  for (auto reduce : body->getOps<ReduceOp>()) {
    if (!isMatrixProduct(reduce, *sets,
                         [&](unsigned d) { return double(extents[d]); }))
      continue;
    Value product = reduce.getOperand(0);
    if (!product.getType().isF32())
      return std::nullopt;
    for (Value factor : product.getDefiningOp()->getOperands()) {
      if (isOfReduction(factor, body))
        continue;
      std::optional<Matrix> matrix = findMatrix(op, factor, extents);
      if (!matrix)
        return std::nullopt;
      AffineMap map = op.getIndexingMapsArray()[matrix->input];
      matrix->isAlongSum = llvm::any_of(reduce.getOver(), [&](int64_t d) {
        return map.getResults().back().isFunctionOfDim(unsigned(d));
      });
      if (llvm::none_of(products.matrices, [&](const Matrix &other) {
            return other.input == matrix->input;
          }))
        products.matrices.push_back(*matrix);
    }
    double points = 1;
    for (unsigned d = 0; d < extents.size(); ++d)
      if (llvm::is_contained(reduce.getOver(), int64_t(d)) ||
          llvm::is_contained(reduce.getInto(), int64_t(d)))
        points *= double(extents[d]);
    products.count += points;
  }
  return products;
}

/// Seconds that products take of rows of which the worst begin so. Ragged ones along the sum
/// are loaded element by element, or where rows of results are few, by threads along them.
static double secondsOf(const Products &products, Rows worst) {
  if (worst == Rows::Aligned)
    return products.count / kUnitPlain16;
  if (worst == Rows::Skewed) {
    double bytes = 0;
    for (const Matrix &matrix : products.matrices)
      bytes += double(matrix.bytes());
    return products.count /
           (bytes <= kBytesInCache ? kUnitSkewedInCache16 : kUnitSkewed16);
  }
  double seconds = products.count / kWarpRagged16;
  for (const Matrix &matrix : products.matrices) {
    auto elements = double(matrix.type.getNumElements());
    if (matrix.rows == Rows::Ragged && matrix.isAlongSum &&
        products.count > kFewUsesOfRagged * elements)
      seconds = std::max(seconds, elements / kRaggedElements);
  }
  return seconds;
}

/// The matrices whose copies save more time than they take: all whose rows begin so or
/// worse.
static SmallVector<Matrix> chooseCopies(const Products &products) {
  Rows worst = Rows::Aligned;
  for (const Matrix &matrix : products.matrices)
    worst = std::max(worst, matrix.rows);
  double best = secondsOf(products, worst);
  SmallVector<Matrix> chosen;
  for (Rows from : {Rows::Ragged, Rows::Skewed}) {
    SmallVector<Matrix> copied;
    double seconds = 0;
    Rows left = Rows::Aligned;
    for (const Matrix &matrix : products.matrices) {
      if (matrix.rows < from) {
        left = std::max(left, matrix.rows);
        continue;
      }
      copied.push_back(matrix);
      seconds +=
          2 * double(matrix.bytes()) / kCopiedBytesOfSecond + kLaunchOfCopy;
    }
    seconds += secondsOf(products, left);
    if (!copied.empty() && seconds < best) {
      best = seconds;
      chosen = copied;
    }
  }
  return chosen;
}

/// A cascade that copies rows to where as many are a multiple of the pitch apart. What lies
/// behind a row is never read: its first elements, for there must be some.
static Value copyRows(OpBuilder &b, Location loc, Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  auto rank = unsigned(type.getRank());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() =
      int64_t(llvm::alignTo(uint64_t(shape.back()), uint64_t(pitchOf(type))));
  SmallVector<AffineExpr> places;
  for (unsigned d = 0; d < rank; ++d)
    places.push_back(b.getAffineDimExpr(d));
  places.back() = places.back() % type.getShape().back();
  Value empty = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  auto copy = CascadeOp::create(
      b, loc, empty.getType(), matrix, empty,
      b.getAffineMapArrayAttr({AffineMap::get(rank, 0, places, b.getContext()),
                               b.getMultiDimIdentityMap(rank)}),
      nullptr);
  Block &block = copy.getBody().emplaceBlock();
  Value element = block.addArgument(type.getElementType(), loc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  YieldOp::create(b, loc, element);
  return copy.getResult(0);
}

/// Reads a matrix from its copy. It stays an input where no other tells how long its rows
/// are (canonicalisation drops it elsewhere).
static CascadeOp readCopies(RewriterBase &b, CascadeOp op,
                            ArrayRef<Matrix> matrices) {
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<AffineMap> ofMatrices;
  for (const Matrix &matrix : matrices) {
    AffineMap &map = maps[matrix.input];
    ofMatrices.push_back(map);
    SmallVector<AffineExpr> places(map.getResults());
    places.back() = places.back() % matrix.type.getShape().back();
    map = AffineMap::get(map.getNumDims(), 0, places, op.getContext());
    inputs[matrix.input] =
        copyRows(b, op.getLoc(), op.getInputs()[matrix.input]);
  }
  size_t count = inputs.size();
  maps.insert(maps.begin() + int64_t(count), ofMatrices.begin(),
              ofMatrices.end());
  for (const Matrix &matrix : matrices)
    inputs.push_back(op.getInputs()[matrix.input]);
  CascadeOp made = moveBody(b, op, inputs, op.getInits(), maps);
  for (auto [i, matrix] : llvm::enumerate(matrices))
    made.getBody().front().insertArgument(
        unsigned(count + i), matrix.type.getElementType(), op.getLoc());
  b.replaceOp(op, made);
  return made;
}

namespace {
struct PitchOperands : public redfuse::impl::PitchOperandsBase<PitchOperands> {
  void runOnOperation() override {
    Operation *root = getOperation();
    const Chip *chip = getChipOf(root);
    if (!chip || !chip->has(Wgmma))
      return;
    SmallVector<CascadeOp> ops;
    root->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    SmallVector<Operation *> made;
    for (CascadeOp op : ops) {
      std::optional<Products> products = findProducts(op);
      if (!products)
        continue;
      SmallVector<Matrix> copied = chooseCopies(*products);
      if (copied.empty())
        continue;
      b.setInsertionPoint(op);
      made.push_back(readCopies(b, op, copied));
    }
    if (!shareCopies(root, made))
      signalPassFailure();
  }
};
} // namespace
