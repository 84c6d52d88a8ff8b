//===- ScheduleTiles.cpp - what of a cascade a block has ------------------===//
#include "ScheduleTiles.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Analysis/Windows.h"

using namespace mlir;
using namespace redfuse;

bool redfuse::isGpu(TargetAttr target) { return target.getName() == "cuda"; }

double redfuse::keptBytes(CascadeOp cascade, const ScheduleShape &shape,
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

double redfuse::countBlocks(const ScheduleShape &shape, ArrayRef<int64_t> grid,
                            ArrayRef<int64_t> tiles) {
  double n = 1;
  for (int64_t d : grid)
    n *= std::ceil(std::max(1.0, shape.extents[d]) / tiles[d]);
  return n;
}

bool redfuse::isTooLargeToHold(CascadeOp cascade, const ScheduleShape &shape,
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

/// Whether so little is read and written along the dim of neighbours in memory, beside all that is computed,
/// that units without work cost more than parts of lines: each of 3 x 1003 boxes beside all others,
/// as 48 blocks, took 55 us on an H200.
static bool hasFewInLines(const ScheduleShape &shape) {
  return shape.contiguous && !shape.hasContraction && shape.taps.none() &&
         kFewOfPoints * shape.inLines <= shape.reducedPoints;
}

void redfuse::chooseGrid(const ScheduleShape &shape, TargetAttr target,
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
  if (isGpu(target) && hasFewInLines(shape))
    least[*shape.contiguous] = 1;
  // Enough blocks for every unit, with some to even out their lengths.
  for (int64_t d : grid)
    while (blocks() < kBlocksOfUnit * target.getUnits() &&
           tiles[d] / 2 >= least[d] && tiles[d] > 1)
      tiles[d] = (tiles[d] / 2 + least[d] - 1) / least[d] * least[d];
}

void redfuse::widenTiles(CascadeOp cascade, const ScheduleShape &shape,
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

/// Whether some result has all elements of a fold: these are read before it, and again.
static bool writesFolded(CascadeOp cascade, const ScheduleShape &shape) {
  return llvm::any_of(
      ArrayRef(cascade.getIndexingMapsArray())
          .drop_front(cascade.getInputs().size()),
      [&](AffineMap map) { return getDimsOf(map).anyCommon(shape.reduced); });
}

void redfuse::holdFewerColumns(CascadeOp cascade, const ScheduleShape &shape,
                               TargetAttr target, ArrayRef<int64_t> grid,
                               MutableArrayRef<int64_t> tiles) {
  if (!isGpu(target) || shape.hasContraction || !shape.contiguous ||
      !llvm::is_contained(grid, int64_t(*shape.contiguous)) ||
      !writesFolded(cascade, shape) ||
      !cascade.getBody().front().getOps<ScanOp>().empty())
    return;
  int64_t bytes = 8;
  for (Type type : cascade->getOperandTypes()) {
    Type element = cast<RankedTensorType>(type).getElementType();
    if (element.isIntOrFloat())
      bytes = std::min<int64_t>(
          bytes, llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
  }
  SmallVector<int64_t> fewer(tiles);
  int64_t &columns = fewer[*shape.contiguous];
  columns = int64_t(llvm::bit_floor(uint64_t(columns)));
  while (isTooLargeToHold(cascade, shape, fewer)) {
    columns /= 2;
    if (columns * bytes < 2 * kGpuSectorBytes)
      return;
  }
  if (columns < tiles[*shape.contiguous])
    tiles[*shape.contiguous] = columns;
}
