//===- ScheduleChoice.cpp - how a cascade is walked on a machine ----------===//
#include "redfuse/Analysis/ScheduleChoice.h"

#include "ScheduleShape.h"

#include "redfuse/Algebra/Derivation.h"
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/MaskedReductions.h"
#include "redfuse/Analysis/RoundedSums.h"
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Analysis/Windows.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace redfuse;

/// Bytes of the tiles that a block keeps of values which depend on `dims`, when
/// `tiles` (by dim, 0: whole) is the size of a block.
static double keptBytes(CascadeOp cascade, const ScheduleShape &shape,
                        ArrayRef<int64_t> tiles, const SmallBitVector &dims) {
  double bytes = 0;
  for (Operation &op : cascade.getBody().front()) {
    bool keeps = isRootOp(&op) || isExpensive(&op);
    if (!keeps)
      continue;
    for (Value v : op.getResults()) {
      const SmallBitVector &set = shape.sets[v];
      if (!set.anyCommon(dims))
        continue;
      double size = v.getType().isIndex()
                        ? 8
                        : (v.getType().getIntOrFloatBitWidth() + 7) / 8;
      for (unsigned d : set.set_bits())
        size *= tiles[d] ? std::min<double>(tiles[d], shape.extents[d])
                         : shape.extents[d];
      bytes += size;
    }
  }
  return bytes;
}

static double countBlocks(const ScheduleShape &shape, ArrayRef<int64_t> grid,
                          ArrayRef<int64_t> tiles) {
  double n = 1;
  for (int64_t d : grid)
    n *= std::ceil(std::max(1.0, shape.extents[d]) / tiles[d]);
  return n;
}

/// On a GPU a block's threads hold tiles in registers, and the last block of a
/// split to finish merges: limits are those of memory, not of a cache.
static bool isGpu(TargetAttr target) { return target.getName() == "cuda"; }

/// Bytes of all tensors.
static double countBytes(CascadeOp cascade, const ScheduleShape &shape) {
  double bytes = 0;
  for (auto [i, map] : llvm::enumerate(cascade.getIndexingMapsArray())) {
    auto type = cast<RankedTensorType>(cascade->getOperand(i).getType());
    double width = type.getElementType().isIndex()
                       ? 64
                       : type.getElementType().getIntOrFloatBitWidth();
    bytes += product(shape, getDimsOf(map)) * std::max(1.0, width / 8);
  }
  return bytes;
}

/// Whether a block's part of some tensor is more than its threads hold, or of a
/// size that is not known.
static bool isTooLargeToHold(CascadeOp cascade, const ScheduleShape &shape,
                             ArrayRef<int64_t> tiles) {
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  double limit = kSingleElements;
  for (AffineMap map : ArrayRef(maps).drop_front(cascade.getInputs().size()))
    if (getDimsOf(map).anyCommon(shape.reduced))
      limit = kHeldElements;
  SmallVector<int64_t> extents = getStaticExtents(cascade);
  for (AffineMap map : maps) {
    double size = 1;
    SmallBitVector used = getDimsOf(map);
    used.reset(shape.taps);
    for (unsigned d : used.set_bits()) {
      if (!tiles[d] && ShapedType::isDynamic(extents[d]))
        return true;
      size *= tiles[d] ? std::min<double>(tiles[d], shape.extents[d])
                       : shape.extents[d];
    }
    if (size > limit)
      return true;
  }
  return false;
}

/// Whether a product has too few rows, or columns, to be one of matrices elsewhere, and matrix
/// units take it whole all the same: of 16-bit floats (4 rows by weights of 12544 x 5376 take 43
/// us on an H200 so, where eager PyTorch takes 47), or of packed weights (4 rows by 11008 x 4096
/// of 8 bits took threads 128 us).
static bool isProductOfFewRows(CascadeOp cascade, const ScheduleShape &shape) {
  const Chip *chip = getChipOf(cascade);
  if (!chip || !chip->has(Wgmma) || shape.reduces.size() != 1)
    return false;
  ReduceOp reduce = shape.reduces.front();
  Operation *mul = findProduct(reduce);
  SmallVector<int64_t> extents = getStaticExtents(cascade);
  Type sum = reduce.getOperand(0).getType();
  if (!mul || (!sum.isF32() && !sum.isInteger(32)) ||
      llvm::any_of(extents, ShapedType::isDynamic))
    return false;
  double products = 1;
  for (int64_t d : reduce.getOver())
    products *= double(extents[d]);
  unsigned integers = 0, floats = 0;
  bool isPacked = false;
  for (Value factor : mul->getOperands()) {
    Operation *widen = factor.getDefiningOp();
    if (!isa_and_nonnull<arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp,
                         arith::ExtSIOp, arith::ExtUIOp>(widen))
      return false;
    auto argument = dyn_cast<BlockArgument>(widen->getOperand(0));
    if (!argument) {
      if (!isOfPackedNumbers(widen->getOperand(0)))
        return false;
      isPacked = true;
      continue;
    }
    int64_t bits = argument.getType().getIntOrFloatBitWidth();
    if (bits != 8 && (bits != 16 || !isa<arith::ExtFOp>(widen)))
      return false;
    integers += argument.getType().isInteger(8);
    floats += bits == 8 && !argument.getType().isInteger(8);
    // Rows that begin at whole 16 bytes, as copies have them.
    unsigned i = argument.getArgNumber();
    AffineMap map =
        simplifyForExtents(cascade.getIndexingMapsArray()[i], extents);
    auto type = dyn_cast<RankedTensorType>(cascade->getOperand(i).getType());
    if (!type || map.getNumResults() == 0 ||
        !isa<AffineDimExpr>(map.getResults().back()) ||
        findRow(type, map, reduce) * bits % 128 != 0)
      return false;
  }
  // Numbers of 8 bits on both sides are multiplied as they are.
  if (integers + floats == 2 &&
      !(integers == 2 ? fitsI32(reduce, mul->getOperands(), products)
        : floats == 2 ? isRoundedBehind(reduce)
                      : false))
    return false;
  // One row by packed weights is as many, where bytes are neighbours along the sum.
  auto areAlongSum = [&] {
    for (auto [map, input] :
         llvm::zip(cascade.getIndexingMapsArray(), cascade.getInputs())) {
      if (!getElementTypeOrSelf(input.getType()).isInteger(8))
        continue;
      if (map.getNumResults() == 0)
        return false;
      auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
      if (!last || !llvm::is_contained(reduce.getOver(), last.getPosition()))
        return false;
    }
    return true;
  };
  if ((isPacked || integers == 1) && !reduce.getInto().empty() && areAlongSum())
    return true;
  return isMatrixProduct(reduce, shape.sets, [&](unsigned d) {
    return extents[d] > 1 ? std::max(double(extents[d]), kVectorExtent + 1)
                          : 1.0;
  });
}

/// Whether a row that is kept between reductions is longer than that: matrix units
/// can only walk it.
static bool hasLongRows(CascadeOp cascade, const ScheduleShape &shape) {
  SmallVector<int64_t> extents = getStaticExtents(cascade);
  for (ReduceOp reduce : shape.reduces)
    for (Value v : reduce.getResults())
      for (unsigned d : shape.sets[v].set_bits())
        if (shape.reduced.test(d) && !ShapedType::isDynamic(extents[d]) &&
            extents[d] > kMatrixColumns)
          return true;
  return false;
}

/// Splits that give every unit a block, and two to even out their lengths.
static int64_t countParts(TargetAttr target, double blocks, double bytes) {
  blocks = std::max(1.0, blocks);
  if (!isGpu(target))
    return std::clamp<int64_t>(
        std::ceil(kSplitsOfUnit * target.getUnits() / blocks), kLeastSplits,
        kMostSplits);
  double wanted = std::floor(kSplitsOfUnit * target.getUnits() / blocks);
  return std::clamp<int64_t>(
      std::min(wanted, std::ceil(bytes / blocks / kSplitBytes)), kLeastSplits,
      kMostGpuSplits);
}

/// Whether so few blocks are so much work that two more launches pay.
static bool isWorthSplitting(const ScheduleShape &shape, TargetAttr target,
                             double blocks, double bytes) {
  if (blocks >= target.getUnits())
    return false;
  if (isGpu(target)) {
    if (shape.hasContraction)
      return false;
    // A block alone has its share of the bandwidth.
    double all = bytes / double(target.getBandwidth());
    double ranking = kRankNs * shape.points * shape.ranks;
    double saved = (all * target.getUnits() + ranking) / std::max(1.0, blocks) -
                   all - ranking / target.getUnits();
    return saved > target.getLaunchNs();
  }
  double points = 1;
  for (double extent : shape.extents)
    points *= std::max(1.0, extent);
  // At the peak of the units that have a block.
  double perUnit = double(target.getFlops()) / target.getUnits();
  double nanoseconds =
      kPointOperations * points / (perUnit * std::max(1.0, blocks));
  double saved = nanoseconds * (1 - blocks / target.getUnits());
  return saved > kSplitLaunches * target.getLaunchNs();
}

/// Tiles of two dims along both of which memory is contiguous, for one tensor or
/// another: a line of the first by some lines of the second, as many as leave the
/// fewest threads without work.
static void tileCrossed(const ScheduleShape &shape,
                        MutableArrayRef<int64_t> tiles,
                        MutableArrayRef<int64_t> least) {
  auto [first, second] = std::tie(shape.crossed[0], shape.crossed[1]);
  auto extent = [&](ScheduleShape::Crossed of) {
    return int64_t(shape.extents[of.dim]);
  };
  int64_t best = 0, padded = 0;
  // Elements that are accessed one by one are fewer for a thread.
  int64_t most = shape.areCrossedRagged ? 1 : kCrossedLines;
  for (int64_t lines : {most, most * 3 / 4, most / 2, int64_t(1)}) {
    if (lines == 0)
      continue;
    int64_t tile = lines * second.line;
    int64_t all = (extent(second) + tile - 1) / tile * tile;
    if (best == 0 || all < padded) {
      best = lines;
      padded = all;
    }
  }
  // What is short along the one is longer along the other.
  int64_t lines = std::max<int64_t>(
      1,
      most * second.line /
          std::max<int64_t>(1, std::min(extent(second), best * second.line)));
  bool isShort =
      extent(second) * (kGpuLineBytes / kGpuSectorBytes) < second.line;
  // Of rectangles, a thread holds no more than of a tile that is as long as it is wide.
  lines = isShort ? int64_t(llvm::bit_floor(uint64_t(lines)))
                  : std::min(lines, most);
  tiles[first.dim] = std::min(extent(first), lines * first.line);
  if (extent(first) < 2 * tiles[first.dim])
    tiles[first.dim] = extent(first);
  tiles[second.dim] = std::min(extent(second), best * second.line);
  for (ScheduleShape::Crossed of : shape.crossed)
    least[of.dim] = std::min(extent(of), of.line);
}

/// Independent dims that are rows or columns of some product: threads of a GPU multiply
/// matrices of one number along the others. All of them where none is, or on a CPU.
static SmallVector<int64_t> findTiled(const ScheduleShape &shape,
                                      TargetAttr target,
                                      ArrayRef<int64_t> grid) {
  auto isTiled = [&](int64_t d) {
    return llvm::any_of(shape.reduces, [&](ReduceOp reduce) {
      Operation *mul = findProduct(reduce);
      return mul && shape.sets[mul->getOperand(0)].test(d) !=
                        shape.sets[mul->getOperand(1)].test(d);
    });
  };
  SmallVector<int64_t> tiled = llvm::filter_to_vector(grid, isTiled);
  return tiled.empty() || !isGpu(target) ? SmallVector<int64_t>(grid) : tiled;
}

/// Tiles of the independent dims: big enough to be worth a block, small enough
/// that there are blocks for all units.
static void chooseGrid(const ScheduleShape &shape, TargetAttr target,
                       SmallVectorImpl<int64_t> &grid,
                       SmallVectorImpl<int64_t> &tiles) {
  int64_t lanes = std::max<int64_t>(1, target.getVectorBits() / 32);
  grid.assign(shape.parallel.begin(), shape.parallel.end());
  for (int64_t d : grid)
    tiles[d] = 1;
  if (grid.empty())
    return;
  auto extent = [&](int64_t d) { return int64_t(shape.extents[d]); };
  SmallVector<int64_t> least(tiles.size(), 1);
  if (shape.hasContraction) {
    // The innermost dims feed register tiles. Two of them where a result has
    // rows and columns that both are independent.
    SmallVector<int64_t> tiled = findTiled(shape, target, grid);
    int64_t last = tiled.back();
    tiles[last] = std::min<int64_t>(extent(last), kTileVectors * lanes);
    // Beside other reductions threads of a GPU have no vectors along it: 32 rows of maxima
    // of 128 x 2500 elements and a product of these, as two blocks, took 0.38 ms on an H200.
    least[last] = isGpu(target) && shape.reduces.size() > 1 ? 1 : lanes;
    if (tiled.size() > 1 && extent(last) * 2 <= lanes) {
      int64_t row = tiled[tiled.size() - 2];
      tiles[row] = std::min<int64_t>(extent(row), kTileVectors * lanes);
    } else if (tiled.size() > 1) {
      // Columns in the grid too: a taller tile reuses them.
      int64_t row = tiled[tiled.size() - 2];
      bool isRow = llvm::any_of(shape.reduces, [&](ReduceOp reduce) {
        Operation *mul = findProduct(reduce);
        return mul && shape.sets[mul->getOperand(0)].test(row) !=
                          shape.sets[mul->getOperand(1)].test(row);
      });
      if (isRow) {
        tiles[row] = std::min<int64_t>(extent(row), kTileVectors * lanes);
        least[row] = kLeastTileRows;
      }
    }
  } else {
    double inner = 1;
    SmallBitVector parallel(shape.extents.size());
    for (int64_t d : grid)
      parallel.set(d);
    for (unsigned d = 0; d < shape.extents.size(); ++d)
      if (!parallel.test(d) && !shape.again.test(d))
        inner *= std::max(1.0, shape.extents[d]);
    // Blocks that read windows are as large as their threads hold.
    bool hasTaps = isGpu(target) && shape.taps.any();
    std::optional<unsigned> window;
    if (hasTaps)
      window = findWindowDim(shape.maps, shape.taps, shape.contiguous);
    if (window && !llvm::is_contained(grid, int64_t(*window)))
      window.reset();
    int64_t results = kTapResults;
    while (hasTaps && results > 1 &&
           (window ? countWindowElements(
                         shape.maps, shape.taps,
                         [&](unsigned d) { return shape.extents[d]; }, *window,
                         double(results))
                   : double(results) * product(shape, shape.taps)) >
               double(kTapElements))
      --results;
    if (hasTaps)
      inner /= product(shape, shape.taps);
    // Elements of a row, whose ranks are found beside them, by a warp.
    if (isGpu(target) && shape.ranks > 0)
      inner /= shape.ranks;
    bool writesLong = shape.writesRows && inner >= kLongRow;
    double wanted = !isGpu(target) ? kBlockPoints
                    : hasTaps      ? double(results * kTapThreads)
                    : writesLong   ? kGpuWritingBlockPoints
                                   : kGpuBlockPoints;
    wanted = std::max(wanted, shape.repeated);
    // Threads have all that a map reads of their points in registers at once.
    if (isGpu(target) && shape.reduced.none()) {
      double inputs = llvm::count_if(shape.maps, [&](AffineMap map) {
        return 2 * product(shape, getDimsOf(map)) > shape.points;
      });
      if (inputs > kFewMapInputs)
        wanted *= kFewMapInputs / (2 * inputs);
    }
    // Neighbours in memory first, then outwards.
    SmallVector<int64_t> order(llvm::reverse(grid));
    llvm::stable_sort(order, [&](int64_t a, int64_t b) {
      return (a == shape.contiguous) > (b == shape.contiguous);
    });
    if (window) // behind the contiguous dim
      llvm::stable_sort(order, [&](int64_t a, int64_t b) {
        auto rank = [&](int64_t d) {
          return d == shape.contiguous ? 0 : d == *window ? 1 : 2;
        };
        return rank(a) < rank(b);
      });
    if (isGpu(target) && !shape.crossed.empty()) {
      tileCrossed(shape, tiles, least);
      for (ScheduleShape::Crossed of : shape.crossed) {
        inner *= tiles[of.dim];
        llvm::erase(order, int64_t(of.dim));
      }
    }
    if (shape.shared) {
      tiles[*shape.shared] = std::min(extent(*shape.shared),
                                      extent(*shape.shared) <= int64_t(kFewRows)
                                          ? int64_t(kFewRows)
                                          : kSharedRows);
      least[*shape.shared] = tiles[*shape.shared];
      llvm::erase(order, int64_t(*shape.shared));
    }
    for (int64_t d : order) {
      double room = std::max(1.0, wanted / inner);
      if (d == window)
        room = double(results);
      int64_t tile = std::min<double>(extent(d), room);
      if (d == shape.contiguous) {
        // On a GPU whole lines of memory.
        int64_t line = isGpu(target) ? kGpuLine : lanes;
        int64_t wide =
            isGpu(target) && shape.sharesSectors && shape.reduced.any()
                ? kGpuUnalignedLine
                : line;
        tile = std::max<int64_t>(
            tile,
            std::min<int64_t>(extent(d), std::max(kTileVectors * lanes, wide)));
        tile = std::min(tile, (tile + line - 1) / line * line);
        least[d] = std::min<int64_t>(extent(d), line);
      }
      // Windows of tiles that are all whole share elements: positions need no bounds.
      for (int64_t even = tile; hasTaps && even * 2 > tile; --even)
        if (extent(d) % even == 0) {
          tile = even;
          break;
        }
      tiles[d] = std::max<int64_t>(1, tile);
      inner *= tiles[d];
    }
  }
  auto blocks = [&]() { return countBlocks(shape, grid, tiles); };
  // Enough blocks for every unit, with some to even out their lengths.
  for (int64_t d : grid)
    while (blocks() < kBlocksOfUnit * target.getUnits() &&
           tiles[d] / 2 >= least[d] && tiles[d] > 1)
      tiles[d] = (tiles[d] / 2 + least[d] - 1) / least[d] * least[d];
}

/// The dims along which sums of powers of differences from a mean can be folded.
/// As written they lose what the mean has lost by rounding: the larger the mean
/// beside the differences, the more. The fold measures from a value inside the
/// data instead.
static SmallVector<int64_t> findKeptPivot(CascadeOp cascade,
                                          const ScheduleShape &shape) {
  // What 16-bit floats differ by is large beside what their mean in f32 has
  // lost.
  auto isShort = [](Value v) {
    auto wide = v.getDefiningOp<arith::ExtFOp>();
    return wide && wide.getIn().getType().getIntOrFloatBitWidth() <= 16;
  };
  auto differences = cascade.getBody().front().getOps<arith::SubFOp>();
  if (shape.hasContraction || llvm::all_of(differences, [&](arith::SubFOp op) {
        return isShort(op.getLhs()) || isShort(op.getRhs());
      }))
    return {};
  for (const SmallVector<int64_t> &over : shape.folds) {
    SmallVector<RefusalReason> why;
    FailureOr<Derivation> derivation = derive(cascade, over, why);
    if (failed(derivation))
      continue;
    if (hasKeptPowers(*derivation))
      return over;
  }
  return {};
}

namespace {

/// Chooses how one cascade runs.
class ScheduleChooser {
public:
  ScheduleChooser(CascadeOp cascade, const ScheduleShape &shape,
                  TargetAttr target, const ScheduleRequest &request);

  ScheduleAttr choose();

private:
  ScheduleAttr make(ScheduleKind kind, const Twine &reason, int64_t splits = 0);
  /// A schedule that cuts no reduced dim; null where one must be cut.
  ScheduleAttr keepWhole();
  void narrowTile();
  double walkedShare(int64_t tile) const;
  /// Sets of reduced dims that can be cut, those that free most first.
  SmallVector<SmallVector<int64_t>> findCuts() const;
  /// A schedule that cuts these dims as planned.
  ScheduleAttr cut(ArrayRef<int64_t> over, const PassPlan &plan);
  /// Derives how these dims are cut; null where they cannot be.
  ScheduleAttr tryCut(ArrayRef<int64_t> over,
                      SmallVectorImpl<RefusalReason> &why);
  void record(ArrayRef<RefusalReason> reasons) const;
  std::string whyCut() const;

  CascadeOp cascade;
  const ScheduleShape &shape;
  TargetAttr target;
  const ScheduleRequest &request;
  unsigned numDims;
  SmallVector<int64_t> grid, tiles, stream;
  /// What a block keeps where no reduced dim is cut, and what it may keep.
  double resident = 0, budget = 0;
  double blocks = 0, bytesInAll = 0;
  /// What was asked for: to cut a dim, or none.
  bool isAsked, isResident;
  /// Whether splits of a dim go to several blocks.
  bool isSplit;
  /// Threads cannot hold the reduced dims; matrix units walk them.
  bool isTooLarge = false, isLong = false;
  /// Masks leave out many positions, which a CPU does not walk where it walks tiles.
  bool isMasked = false;
  /// The dims to fold for the result's accuracy.
  SmallVector<int64_t> around;
};

} // namespace

ScheduleChooser::ScheduleChooser(CascadeOp cascade, const ScheduleShape &shape,
                                 TargetAttr target,
                                 const ScheduleRequest &request)
    : cascade(cascade), shape(shape), target(target), request(request),
      numDims(cascade.getNumIterationDims()), tiles(numDims, 0),
      isAsked(request.kind == ScheduleKind::Split ||
              request.kind == ScheduleKind::Stream ||
              request.kind == ScheduleKind::MultiPass),
      isResident(request.kind && !isAsked),
      isSplit(request.kind == ScheduleKind::Split) {}

ScheduleAttr ScheduleChooser::make(ScheduleKind kind, const Twine &reason,
                                   int64_t splits) {
  for (auto [d, tile] : llvm::enumerate(request.tiles))
    if (tile > 0 && d < numDims &&
        (llvm::is_contained(grid, d) || llvm::is_contained(stream, d)))
      tiles[d] = tile;
  bool isFold = !stream.empty() && kind != ScheduleKind::Resident;
  MLIRContext *context = cascade.getContext();
  return ScheduleAttr::get(context, kind, grid, tiles, stream,
                           StringAttr::get(context, reason), splits,
                           isFold ? request.lazy : 0);
}

/// A core waits for the memory of several rows at a time. One that folds columns
/// walks rows: the longer its piece of a row, the fewer pages and lines it waits for.
static void widenTiles(CascadeOp cascade, const ScheduleShape &shape,
                       TargetAttr target, ArrayRef<int64_t> grid,
                       MutableArrayRef<int64_t> tiles) {
  if (target.getName() != "cpu" || shape.hasContraction || grid.empty() ||
      !shape.contiguous ||
      !cascade.getBody().front().getOps<ScanOp>().empty() ||
      keptBytes(cascade, shape, tiles, shape.reduced) > 0)
    return;
  bool areColumns = llvm::is_contained(grid, *shape.contiguous);
  int64_t d = areColumns ? *shape.contiguous : grid.back();
  int64_t least = tiles[d];
  int64_t &tile = tiles[d];
  tile = std::max<int64_t>(
      least,
      std::min<double>(shape.extents[d], areColumns ? kColumnTile : kRowTile));
  while (countBlocks(shape, grid, tiles) <
             kLeastBlocksOfUnit * double(target.getUnits()) &&
         tile / 2 >= least)
    tile /= 2;
}

ScheduleAttr ScheduleChooser::choose() {
  chooseGrid(shape, target, grid, tiles);
  if (shape.folds.empty())
    return make(ScheduleKind::Map, "no reduction");
  widenTiles(cascade, shape, target, grid, tiles);
  if (ScheduleAttr whole = keepWhole())
    return whole;
  SmallVector<RefusalReason> why;
  for (ArrayRef<int64_t> over : findCuts())
    if (ScheduleAttr schedule = tryCut(over, why))
      return schedule;
  return make(ScheduleKind::Resident,
              why.empty() ? Twine("no reduction can be cut")
                          : "not streamed: " + Twine(why.front().condition));
}

ScheduleAttr ScheduleChooser::keepWhole() {
  // Streaming a set of reduced dims bounds the tiles that depend on them.
  resident = keptBytes(cascade, shape, tiles, shape.reduced);
  budget = target.getL2() * kKeptShareOfL2;
  blocks = countBlocks(shape, grid, tiles);
  bytesInAll = countBytes(cascade, shape);
  isTooLarge = isGpu(target) && !shape.hasContraction &&
               isTooLargeToHold(cascade, shape, tiles) &&
               !isProductOfFewRows(cascade, shape);
  isLong = isGpu(target) && shape.hasContraction && hasLongRows(cascade, shape);
  if (!request.kind && isWorthSplitting(shape, target, blocks, bytesInAll))
    isSplit = true;
  // The prefixes of a scan are written in order.
  if (!cascade.getBody().front().getOps<ScanOp>().empty())
    isSplit = false;
  if (!isAsked && !isSplit && !request.strict)
    around = findKeptPivot(cascade, shape);
  if (isResident && around.empty())
    return make(ScheduleKind::Resident, "asked for");
  // What is folded for its accuracy alone stays whole.
  bool isDynamic = llvm::any_of(around, [&](int64_t d) {
    return ShapedType::isDynamic(getStaticExtents(cascade)[d]);
  });
  if (!around.empty() &&
      (isResident || (resident <= budget && !isDynamic && !isTooLarge))) {
    for (int64_t d : around)
      tiles[d] = 0;
    stream = around;
    narrowTile();
    return make(ScheduleKind::Resident,
                Twine(isResident ? "asked for; " : "") +
                    "differences from a mean are summed around a kept value, "
                    "which loses fewer digits");
  }
  isMasked = !isAsked && !isSplit && !request.strict && around.empty() &&
             shape.hasContraction && target.getName() == "cpu" &&
             walkedShare(kMaskedTile) <= kMostWalkedOfMasked;
  if (resident <= budget && !isAsked && !isSplit && !isTooLarge && !isLong &&
      around.empty() && !isMasked)
    return make(ScheduleKind::Resident,
                "what a block keeps (" + Twine(int64_t(resident)) +
                    " bytes) stays in the cache of a core");
  return {};
}

/// Of the pairs of positions that a mask compares, those in tiles along the reduced dim
/// of which some row of a block needs one; 1 where none compares any.
double ScheduleChooser::walkedShare(int64_t tile) const {
  double share = 1;
  Block &body = CascadeOp(cascade).getBody().front();
  for (const SmallVector<int64_t> &over : shape.folds) {
    for (int64_t row : grid) {
      if (over.size() != 1 || tiles[row] <= 0)
        continue;
      std::optional<DiagonalBand> band =
          findDiagonalBand(body, row, over.front());
      if (!band)
        continue;
      int64_t rows = shape.extents[row], columns = shape.extents[over.front()];
      int64_t walked = 0, all = 0;
      for (int64_t first = 0; first < rows; first += tiles[row]) {
        int64_t behind = std::min(rows, first + tiles[row]), begin = 0,
                end = columns;
        if (band->hasHigh())
          end = std::clamp<int64_t>(behind + band->high, 0, columns);
        if (band->hasLow())
          begin = std::clamp<int64_t>(first + band->low, 0, columns) / tile;
        walked +=
            std::max<int64_t>(0, int64_t(llvm::divideCeil(end, tile)) - begin);
        all += llvm::divideCeil(columns, tile);
      }
      share = std::min(share, double(walked) / std::max<int64_t>(1, all));
    }
  }
  return share;
}

/// Behind their mean rows are read once more: those of a tile out of a core's cache.
void ScheduleChooser::narrowTile() {
  if (isGpu(target) || grid.empty() || !shape.contiguous ||
      llvm::is_contained(grid, *shape.contiguous))
    return;
  int64_t &rows = tiles[grid.back()];
  while (rows > 1 && bytesInAll > budget * countBlocks(shape, grid, tiles))
    rows /= 2;
}

SmallVector<SmallVector<int64_t>> ScheduleChooser::findCuts() const {
  SmallVector<std::pair<double, SmallVector<int64_t>>> candidates;
  SmallVector<SmallVector<int64_t>> folds = shape.folds;
  if (!request.over.empty())
    folds.assign(1, request.over);
  for (const SmallVector<int64_t> &over : folds) {
    if (!around.empty() && over != around)
      continue;
    if (llvm::any_of(candidates, [&](auto &c) { return c.second == over; }))
      continue;
    double bytes = keptBytes(cascade, shape, tiles, toDimSet(over, numDims));
    if (bytes == 0 && !isAsked && !isSplit && !isTooLarge && around.empty())
      continue;
    candidates.push_back({bytes, over});
  }
  llvm::stable_sort(candidates,
                    [](auto &a, auto &b) { return a.first > b.first; });
  return llvm::map_to_vector(candidates, [](auto &c) { return c.second; });
}

void ScheduleChooser::record(ArrayRef<RefusalReason> reasons) const {
  for (const RefusalReason &reason : reasons)
    addRefusal(reason.op ? reason.op : CascadeOp(cascade).getOperation(),
               reason.condition, reason.detail, reason.remedy);
}

ScheduleAttr ScheduleChooser::tryCut(ArrayRef<int64_t> over,
                                     SmallVectorImpl<RefusalReason> &why) {
  why.clear();
  DerivationOptions options;
  options.strict = request.strict;
  options.approximate = request.approximate;
  FailureOr<PassPlan> plan = planPasses(cascade, over, why, options);
  if (failed(plan)) {
    record(why);
    return {};
  }
  size_t numPasses = plan->passes.size();
  if (numPasses > 1)
    isSplit = false;
  bool isKept = !isAsked && !isSplit && !isTooLarge && around.empty() &&
                resident <= target.getL2() * kRereadOfL2;
  if (isKept && numPasses > 1)
    return make(ScheduleKind::Resident,
                "kept rather than read in " + Twine(numPasses) + " passes");
  // A map after the reduction reads its input once more when streamed.
  if (isKept && plan->isMapped)
    return make(ScheduleKind::Resident,
                "a result needs the data after the reduction: kept rather "
                "than read twice");
  record(plan->barriers);
  return cut(over, *plan);
}

std::string ScheduleChooser::whyCut() const {
  if (isAsked)
    return "asked for";
  if (isSplit)
    return std::to_string(int64_t(blocks)) + " blocks are too few for " +
           std::to_string(target.getUnits()) + " units";
  if (isLong && resident <= budget)
    return "rows of more than " + std::to_string(int64_t(kMatrixColumns)) +
           " columns are walked by matrix units";
  if (isMasked && resident <= budget)
    return "tiles of which a mask leaves out all are not walked";
  if (isTooLarge)
    return "the reduced dims are more than the threads of a block hold";
  return "keeping the reduced dims whole takes " +
         std::to_string(int64_t(resident)) +
         " bytes a block, more than the cache of a core holds";
}

ScheduleAttr ScheduleChooser::cut(ArrayRef<int64_t> over,
                                  const PassPlan &plan) {
  // The longest of the dims is cut; the others are whole in a tile.
  int64_t longest = *llvm::max_element(over, [&](int64_t a, int64_t b) {
    return shape.extents[a] < shape.extents[b];
  });
  // It comes first: a split schedule cuts it into splits.
  stream.push_back(longest);
  for (int64_t d : over) {
    if (d != longest)
      stream.push_back(d);
    tiles[d] = d == longest ? 1 : std::max<int64_t>(1, shape.extents[d]);
  }
  double perPoint = keptBytes(cascade, shape, tiles, toDimSet(over, numDims));
  int64_t tile = shape.hasContraction ? kStreamedProducts : kStreamedElements;
  if (isMasked && resident <= budget)
    tile = std::min(tile, kMaskedTile);
  while (tile > kLeastStreamed && perPoint * tile > budget)
    tile /= 2;
  double length = std::max(1.0, shape.extents[longest]);
  int64_t splits = 0;
  if (isSplit) {
    splits = request.splits > 0 ? request.splits
                                : countParts(target, blocks, bytesInAll);
    // The lists of all splits are merged by one block.
    if (shape.ranks > 0 && request.splits <= 0)
      splits = std::clamp<int64_t>(std::sqrt(length / shape.ranks), 1, splits);
    splits = std::min<int64_t>(splits, length);
    length = std::ceil(length / splits);
  }
  tiles[longest] = std::min<int64_t>(tile, length);
  size_t numPasses = plan.passes.size();
  if (isSplit)
    return make(ScheduleKind::Split, whyCut(), splits);
  if (numPasses == 1)
    return make(ScheduleKind::Stream, whyCut());
  return make(ScheduleKind::MultiPass,
              Twine(numPasses) + " passes: " + whyCut());
}

ScheduleAttr redfuse::chooseSchedule(CascadeOp cascade, TargetAttr target,
                                     const ScheduleRequest &request) {
  FailureOr<ScheduleShape> shape = analyseShape(cascade, isGpu(target));
  if (succeeded(shape))
    return ScheduleChooser(cascade, *shape, target, request).choose();
  MLIRContext *context = cascade.getContext();
  return ScheduleAttr::get(
      context, ScheduleKind::Resident, /*grid=*/{},
      SmallVector<int64_t>(cascade.getNumIterationDims(), 0), /*stream=*/{},
      StringAttr::get(context, "the body is ill-formed"), /*splits=*/0,
      /*lazy=*/0);
}
