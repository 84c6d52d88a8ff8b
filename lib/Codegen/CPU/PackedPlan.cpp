//===- PackedPlan.cpp - how operands of a product are packed --------------===//
#include "PackedPlan.h"

#include "Tuning.h"

#include "redfuse/Analysis/CostConstants.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace redfuse;

bool redfuse::isFlat(const FoundContraction &found, BlockArgument main,
                     Value factor) {
  // Nothing but the argument says where the element is.
  SmallVector<Value> open{factor};
  Block *body = main.getOwner();
  while (!open.empty()) {
    Value v = open.pop_back_val();
    if (v == main || v.getParentBlock() != body)
      continue;
    Operation *def = v.getDefiningOp();
    if (!def || isa<IndexOp>(def) || def->getNumRegions() > 0 ||
        llvm::any_of(def->getOperandTypes(), llvm::IsaPred<TensorType>))
      return false;
    llvm::append_range(open, def->getOperands());
  }
  IndexProgramOpInterface op = found.op;
  AffineMap map = op.getMapOfBodyArgument(main.getArgNumber());
  ArrayRef<unsigned> sums = found.form().sums;
  if (map.getNumResults() < sums.size())
    return false;
  for (auto [expr, d] :
       llvm::zip_equal(map.getResults().take_back(sums.size()), sums))
    if (expr != getAffineDimExpr(d, map.getContext()))
      return false;
  return llvm::none_of(
      map.getResults().drop_back(sums.size()), [&](AffineExpr e) {
        return llvm::any_of(sums,
                            [&](unsigned d) { return e.isFunctionOfDim(d); });
      });
}

PackAccess redfuse::chooseAccess(const FoundContraction &found,
                                 const KernelSpace &space, Value factor,
                                 ArrayRef<unsigned> ofDims, unsigned lanes) {
  TileProgram &program = *found.programs.find(found.op)->second;
  BlockArgument main = program.findMainArgument(factor);
  std::optional<unsigned> contiguous;
  if (main)
    contiguous = program.getContiguous(main);
  if (!contiguous)
    return PackAccess::Elements;
  if (*contiguous == ofDims.back())
    return PackAccess::Vectors;
  if (isFlat(found, main, factor))
    return PackAccess::Transposed;
  int64_t extent = space.staticExtents[*contiguous];
  bool isLong = ShapedType::isDynamic(extent) || extent >= lanes / 2;
  return *contiguous == found.form().sums.back() && isLong
             ? PackAccess::Transposed
             : PackAccess::Elements;
}

bool redfuse::canBeDirect(const FoundContraction &found,
                          const KernelSpace &space, unsigned lanes) {
  const MatrixForm &form = found.form();
  auto isOne = [&](ArrayRef<unsigned> of) {
    return !of.empty() && llvm::all_of(of.drop_back(), [&](unsigned d) {
      return space.staticExtents[d] == 1;
    });
  };
  Value factor = form.right;
  while (isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(
      factor.getDefiningOp()))
    factor = factor.getDefiningOp()->getOperand(0);
  return isa<BlockArgument>(factor) && isOne(form.columns) &&
         isOne(form.sums) &&
         chooseAccess(found, space, form.right, form.columns, lanes) ==
             PackAccess::Vectors;
}

bool redfuse::canPack(const FoundContraction &found, std::string &why) {
  ReduceOp reduce = found.nest().contraction->root->reduce;
  Type sum = reduce.getOperand(0).getType();
  if (!sum.isF32() && !sum.isF64() && !sum.isInteger(32))
    why = "no microkernel for its type";
  return why.empty();
}

std::optional<KernelSpace>
redfuse::applyPacking(const FoundContraction &found, const KernelSpace &space,
                      PackingPlanAttr plan, unsigned lanes, std::string &why) {
  if (plan.getDirect() && !canBeDirect(found, space, lanes)) {
    why = "its columns cannot be read where they lie, as 'direct' has it";
    return std::nullopt;
  }
  if (plan.getTiles().size() != space.numDims) {
    why =
        ("'tiles' has " + Twine(plan.getTiles().size()) +
         " numbers; expected one for each of " + Twine(space.numDims) + " dims")
            .str();
    return std::nullopt;
  }
  const MatrixForm &form = found.form();
  SmallVector<int64_t> tiles(plan.getTiles()), grid, stream;
  // What is whole or short is numbered as it is in memory of the block's own.
  for (ArrayRef<unsigned> of :
       {ArrayRef(form.rows), ArrayRef(form.columns), ArrayRef(form.sums)}) {
    bool isCut = false;
    for (unsigned d : llvm::reverse(of)) {
      int64_t extent = space.staticExtents[d];
      if (isCut && tiles[d] != 1 && extent != 1) {
        why = ("dim " + Twine(d) +
               " is cut although a dim inside of it is: its tile is to be 1")
                  .str();
        return std::nullopt;
      }
      if (tiles[d] == 0 && ShapedType::isDynamic(extent)) {
        why =
            ("dim " + Twine(d) + " has no known extent: it needs a tile").str();
        return std::nullopt;
      }
      isCut |= tiles[d] != 0;
    }
  }
  for (unsigned d : form.batch)
    tiles[d] = 1;
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (tiles[d] == 0)
      continue;
    bool isSum = llvm::is_contained(form.sums, d);
    (isSum ? stream : grid).push_back(d);
  }
  KernelSpace result = space;
  result.schedule = ScheduleAttr::get(
      plan.getContext(),
      stream.empty() ? ScheduleKind::Resident : ScheduleKind::Stream, grid,
      tiles, stream, StringAttr(), /*splits=*/0, /*lazy=*/0, HintsAttr());
  return result;
}

//===----------------------------------------------------------------------===//
// Predicted times
//===----------------------------------------------------------------------===//

namespace {
/// What of a contraction the time depends on.
struct PackingCost {
  const FoundContraction &found;
  const KernelSpace &space;
  TargetAttr target;
  /// Elements of f32 in a vector, and registers of a vector of sums.
  int64_t lanes, perVector;
  PackAccess rowAccess, columnAccess;
  /// Whether columns are read where they lie.
  bool isDirect = false;

  int64_t extentOf(unsigned d) const {
    int64_t extent = space.staticExtents[d];
    return ShapedType::isDynamic(extent) ? kOpenExtent : extent;
  }
  double pointsOf(ArrayRef<unsigned> of) const {
    double points = 1;
    for (unsigned d : of)
      points *= double(extentOf(d));
    return points;
  }
  int64_t cut(ArrayRef<unsigned> of, int64_t wanted,
              MutableArrayRef<int64_t> tiles) const;
  double blocksOf(ArrayRef<int64_t> tiles) const;
  double packed(ArrayRef<unsigned> of, PackAccess access) const;
  double cyclesOf(int64_t rows, int64_t columns, int64_t depth,
                  Microkernel kernel, ArrayRef<int64_t> tiles) const;
  std::optional<double> price(int64_t rows, int64_t columns, int64_t depth,
                              Microkernel kernel,
                              MutableArrayRef<int64_t> tiles) const;
};
} // namespace

/// Tiles of at most `wanted` points: inner dims whole, one in parts of equal length,
/// one position of those outside of it. Returns their points.
int64_t PackingCost::cut(ArrayRef<unsigned> of, int64_t wanted,
                         MutableArrayRef<int64_t> tiles) const {
  int64_t points = 1;
  bool isCut = false;
  for (unsigned d : llvm::reverse(of)) {
    int64_t extent = space.staticExtents[d];
    bool isOpen = ShapedType::isDynamic(extent);
    if (isCut) {
      tiles[d] = 1;
      continue;
    }
    if (!isOpen && points * extent <= wanted) {
      points *= extent;
      tiles[d] = 0;
      continue;
    }
    int64_t tile = std::max<int64_t>(1, wanted / points);
    if (!isOpen)
      tile = llvm::divideCeil(extent, llvm::divideCeil(extent, tile));
    tiles[d] = tile;
    points *= tile;
    isCut = true;
  }
  return points;
}

double PackingCost::blocksOf(ArrayRef<int64_t> tiles) const {
  const MatrixForm &form = found.form();
  double blocks = pointsOf(form.batch);
  for (ArrayRef<unsigned> of : {ArrayRef(form.rows), ArrayRef(form.columns)})
    for (unsigned d : of)
      if (tiles[d] != 0)
        blocks *= double(llvm::divideCeil(extentOf(d), tiles[d]));
  return blocks;
}

/// Cycles of packing an element.
double PackingCost::packed(ArrayRef<unsigned> of, PackAccess access) const {
  int64_t run = extentOf(of.back());
  switch (access) {
  case PackAccess::Vectors:
    return kPackedVectorCycles * double(llvm::divideCeil(run, lanes)) /
           double(run);
  case PackAccess::Transposed:
    return kTransposedCycles * std::max(1.0, double(lanes) / double(run));
  case PackAccess::Elements:
    return kPackedElementCycles;
  }
  llvm_unreachable("all kinds are handled");
}

/// Of a core for one block.
double PackingCost::cyclesOf(int64_t rows, int64_t columns, int64_t depth,
                             Microkernel kernel,
                             ArrayRef<int64_t> tiles) const {
  const MatrixForm &form = found.form();
  double sums = pointsOf(form.sums);
  double chunks = std::ceil(sums / double(depth));
  // Both panels are to stay in the L1 cache.
  double panels = double(depth * perVector) * 4 *
                  double(kernel.rows + kernel.vectors * lanes);
  double missing = std::clamp(
      (panels / double(target.getL1()) - kPanelsOfL1) / 0.6, 0.0, 1.0);
  /// Of one microkernel that has so many vectors.
  auto multiply = [&](int64_t of) {
    double vectors = double(of * perVector), rows = double(kernel.rows);
    double step = std::max(rows * vectors / kProductsOfCycle, kProductLatency) +
                  (rows + vectors) * kLoadCycles +
                  (isDirect ? 0 : missing * vectors * kMissCycles);
    return sums * step +
           chunks * (kMicrokernelCycles + kAddedCycles * rows * vectors);
  };
  int64_t ofColumns = llvm::divideCeil(columns, lanes);
  double multiplied =
      double(ofColumns / kernel.vectors) * multiply(kernel.vectors);
  if (int64_t left = ofColumns % kernel.vectors)
    multiplied += multiply(left);
  multiplied *= double(llvm::divideCeil(rows, kernel.rows));
  double moved = sums * double(rows) * packed(form.rows, rowAccess);
  moved += isDirect
               ? sums * double(ofColumns) * kDirectVectorCycles
               : sums * double(columns) * packed(form.columns, columnAccess);
  double run = double(extentOf(form.columns.back()));
  double stored = double(rows) * double(columns) *
                  std::ceil(run / double(lanes)) / run * kStoredVectorCycles;
  return multiplied + moved + stored + kPackedBlockCycles;
}

std::optional<double> PackingCost::price(int64_t wantedRows,
                                         int64_t wantedColumns,
                                         int64_t wantedDepth,
                                         Microkernel kernel,
                                         MutableArrayRef<int64_t> tiles) const {
  const MatrixForm &form = found.form();
  int64_t rows = cut(form.rows, wantedRows, tiles),
          columns = cut(form.columns, wantedColumns, tiles),
          depth = cut(form.sums, wantedDepth, tiles);
  int64_t bytes = (depth * (rows + columns) + rows * columns) * 4 * perVector;
  if (double(bytes) > kPackedShareOfL2 * double(target.getL2()))
    return std::nullopt;
  // Cores are never equally fast: the last block of one is waited for.
  double rounds = std::ceil(blocksOf(tiles) /
                            double(std::max<int64_t>(1, target.getUnits()))) +
                  kWaitedBlocks;
  return rounds * cyclesOf(rows, columns, depth, kernel, tiles);
}

std::optional<PackingPlanAttr>
redfuse::planPacking(const FoundContraction &found, const KernelSpace &space,
                     TargetAttr target) {
  const MatrixForm &form = found.form();
  int64_t lanes = std::max<int64_t>(1, target.getVectorBits() / 32);
  Type sum = found.nest().contraction->root->reduce.getOperand(0).getType();
  PackingCost cost{found,
                   space,
                   target,
                   lanes,
                   sum.getIntOrFloatBitWidth() / 32,
                   chooseAccess(found, space, form.left, form.rows, lanes),
                   chooseAccess(found, space, form.right, form.columns, lanes)};
  if (cost.pointsOf(form.sums) < kLeastPackedSums ||
      cost.pointsOf(form.batch) * cost.pointsOf(form.rows) *
              cost.pointsOf(form.columns) * cost.pointsOf(form.sums) <
          kLeastPackedProducts)
    return std::nullopt;
  ArrayRef<Microkernel> kernels = lanes >= kWideLanes
                                      ? ArrayRef(kWideMicrokernels)
                                      : ArrayRef(kNarrowMicrokernels);
  std::optional<PackingPlanAttr> best;
  double least = 0;
  bool mayBeDirect = canBeDirect(found, space, lanes);
  auto attempt = [&](Microkernel kernel, int64_t rows, int64_t columns,
                     int64_t depth) {
    SmallVector<int64_t> tiles(space.numDims, 0);
    std::optional<double> cycles =
        cost.price(rows, columns, depth, kernel, tiles);
    if (!cycles || (best && *cycles >= least))
      return;
    for (unsigned d : form.batch)
      tiles[d] = 1;
    least = *cycles;
    best = PackingPlanAttr::get(found.op->getContext(), tiles,
                                {kernel.rows, kernel.vectors}, cost.isDirect);
  };
  for (Microkernel kernel : kernels) {
    if (kernel.vectors % cost.perVector != 0)
      continue;
    kernel.vectors /= cost.perVector;
    for (int64_t rows : kPackedRows)
      for (int64_t columns : kPackedColumns) {
        cost.isDirect = false;
        for (int64_t depth : kPackedDepths)
          attempt(kernel, rows, columns, depth);
        cost.isDirect = true;
        if (mayBeDirect)
          attempt(kernel, rows, columns, kDirectDepth);
      }
  }
  return best;
}
