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

bool redfuse::canRead(Microkernel kind, const FoundContraction &found,
                      const KernelSpace &space, unsigned lanes) {
  if (kind == Microkernel::Packed)
    return true;
  const MatrixForm &form = found.form();
  auto isOne = [&](ArrayRef<unsigned> of) {
    return !of.empty() && llvm::all_of(of.drop_back(), [&](unsigned d) {
      return space.staticExtents[d] == 1;
    });
  };
  auto isArgument = [](Value factor) {
    while (isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(
        factor.getDefiningOp()))
      factor = factor.getDefiningOp()->getOperand(0);
    return isa<BlockArgument>(factor);
  };
  TileProgram &program = *found.programs.find(found.op)->second;
  auto isAlong = [&](Value factor, unsigned d) {
    BlockArgument main = program.findMainArgument(factor);
    return main && program.getContiguous(main) == d;
  };
  if (!isOne(form.sums) || !isOne(form.columns) || !isArgument(form.right))
    return false;
  bool isInner = kind == Microkernel::Inner;
  unsigned vectors = isInner ? form.sums.back() : form.columns.back();
  if (!isAlong(form.right, vectors))
    return false;
  return kind == Microkernel::PackedRows ||
         (isArgument(form.left) && (!isInner || isAlong(form.left, vectors)));
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
  if (!canRead(plan.getMicrokernel(), found, space, lanes)) {
    why = ("its operands do not lie as a microkernel '" +
           stringifyMicrokernel(plan.getMicrokernel()) + "' reads them")
              .str();
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
  Microkernel kind = Microkernel::Packed;

  bool readsRows() const {
    return kind == Microkernel::Outer || kind == Microkernel::Inner;
  }

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
  double stepOf(int64_t rows, int64_t vectors) const;
  double multiplied(int64_t rows, int64_t columns, int64_t depth,
                    SumsTile kernel) const;
  double cyclesOf(int64_t rows, int64_t columns, int64_t depth,
                  SumsTile kernel) const;
  std::optional<double> price(int64_t rows, int64_t columns, int64_t depth,
                              SumsTile kernel,
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

/// Cycles of a step of a microkernel, which multiplies rows by vectors once.
double PackingCost::stepOf(int64_t rows, int64_t vectors) const {
  double registers = double(vectors * perVector), all = double(rows);
  return std::max(all * registers / kProductsOfCycle, kProductLatency) +
         (all + registers) * kLoadCycles;
}

/// Cycles of all microkernels of a block.
double PackingCost::multiplied(int64_t rows, int64_t columns, int64_t depth,
                               SumsTile kernel) const {
  const MatrixForm &form = found.form();
  bool isInner = kind == Microkernel::Inner;
  double sums = pointsOf(form.sums);
  double chunks = std::ceil(sums / double(depth));
  double steps =
      isInner
          ? chunks * std::ceil(std::min(sums, double(depth)) / double(lanes))
          : sums;
  // What microkernels read again is to stay in the L1 cache: panels of both operands, or
  // all of the rows.
  double again =
      isInner ? double(rows)
              : double(kernel.rows) + (kind == Microkernel::Packed
                                           ? double(kernel.vectors * lanes)
                                           : 0);
  double missing = std::clamp(
      (double(depth * perVector) * 4 * again / double(target.getL1()) -
       kPanelsOfL1) /
          0.6,
      0.0, 1.0);
  auto multiply = [&](int64_t ofRows, int64_t of) {
    double step = stepOf(ofRows, of);
    if (kind == Microkernel::Packed)
      step += missing * double(of * perVector) * kMissCycles;
    if (isInner)
      step += missing * double(ofRows * perVector) * kMissCycles;
    double added = isInner ? kLanesCycles : kAddedCycles;
    return steps * step +
           chunks * (kMicrokernelCycles +
                     added * double(ofRows) * double(of * perVector));
  };
  int64_t unit = isInner ? 1 : lanes;
  int64_t ofColumns = llvm::divideCeil(columns, unit);
  auto ofRows = [&](int64_t r) {
    double cycles =
        double(ofColumns / kernel.vectors) * multiply(r, kernel.vectors);
    if (int64_t left = ofColumns % kernel.vectors)
      cycles += multiply(r, left);
    return cycles;
  };
  // Rows that are no whole microkernel have one of their own where they are not packed.
  if (!readsRows())
    return double(llvm::divideCeil(rows, kernel.rows)) * ofRows(kernel.rows);
  double cycles = double(rows / kernel.rows) * ofRows(kernel.rows);
  if (int64_t left = rows % kernel.rows)
    cycles += ofRows(left);
  return cycles;
}

/// Of a core for one block.
double PackingCost::cyclesOf(int64_t rows, int64_t columns, int64_t depth,
                             SumsTile kernel) const {
  const MatrixForm &form = found.form();
  double sums = pointsOf(form.sums);
  double moved =
      readsRows() ? 0 : sums * double(rows) * packed(form.rows, rowAccess);
  moved += kind == Microkernel::Packed
               ? sums * double(columns) * packed(form.columns, columnAccess)
               : sums * double(llvm::divideCeil(columns, lanes)) *
                     kDirectVectorCycles;
  double run = double(extentOf(form.columns.back()));
  double stored = double(rows) * double(columns) *
                  std::ceil(run / double(lanes)) / run * kStoredVectorCycles;
  return multiplied(rows, columns, depth, kernel) + moved + stored +
         kPackedBlockCycles;
}

std::optional<double> PackingCost::price(int64_t wantedRows,
                                         int64_t wantedColumns,
                                         int64_t wantedDepth, SumsTile kernel,
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
  return rounds * cyclesOf(rows, columns, depth, kernel);
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
  double sums = cost.pointsOf(form.sums);
  double products = sums * cost.pointsOf(form.batch) *
                    cost.pointsOf(form.rows) * cost.pointsOf(form.columns);
  std::optional<PackingPlanAttr> best;
  double least = 0;
  auto attempt = [&](SumsTile kernel, int64_t rows, int64_t columns,
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
                                {kernel.rows, kernel.vectors}, cost.kind);
  };
  auto attemptAll = [&](Microkernel kind, ArrayRef<SumsTile> kernels,
                        ArrayRef<int64_t> depths) {
    cost.kind = kind;
    for (SumsTile kernel : kernels)
      for (int64_t rows : kPackedRows)
        for (int64_t columns : kPackedColumns)
          for (int64_t depth : depths)
            attempt(kernel, rows, columns, depth);
  };
  bool areWide = lanes >= kWideLanes;
  SmallVector<SumsTile> ofPanels;
  for (SumsTile kernel :
       areWide ? ArrayRef(kWideMicrokernels) : ArrayRef(kNarrowMicrokernels))
    if (kernel.vectors % cost.perVector == 0)
      ofPanels.push_back({kernel.rows, kernel.vectors / cost.perVector});
  if (sums >= kLeastPackedSums && products >= kLeastPackedProducts)
    attemptAll(Microkernel::Packed, ofPanels, kPackedDepths);
  if (products < kLeastDirectProducts)
    return best;
  SmallVector<SumsTile> direct;
  for (int64_t rows = 1; rows <= kDirectRows; ++rows) {
    int64_t vectors = ((areWide ? 32 : 16) / cost.perVector - 1) / (rows + 1);
    if (vectors > 0 && double(rows) <= cost.pointsOf(form.rows))
      direct.push_back({rows, std::min(vectors, kDirectVectors)});
  }
  int64_t line = cost.extentOf(form.columns.back()) * 4 * cost.perVector;
  int64_t depth = std::min(
      kPagesAtHand * std::max<int64_t>(1, kPageBytes / line), kMostDirectDepth);
  for (Microkernel kind :
       {Microkernel::PackedRows, Microkernel::Outer, Microkernel::Inner})
    if (canRead(kind, found, space, lanes))
      attemptAll(kind, kind == Microkernel::PackedRows ? ofPanels : direct,
                 kind == Microkernel::Inner ? ArrayRef(kInnerDepths)
                                            : ArrayRef(depth));
  return best;
}
