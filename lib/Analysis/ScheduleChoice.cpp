//===- ScheduleChoice.cpp - how a cascade is walked on a machine ----------===//
#include "redfuse/Analysis/ScheduleChoice.h"

#include "ScheduleShape.h"
#include "ScheduleTiles.h"

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

/// Bytes that a block writes side by side, at least, of results of all elements.
static double countPieces(CascadeOp cascade, const ScheduleShape &shape,
                          ArrayRef<int64_t> tiles) {
  double least = std::numeric_limits<double>::infinity();
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  for (auto [init, map] :
       llvm::zip(cascade.getInits(),
                 ArrayRef(maps).drop_front(cascade.getInputs().size()))) {
    Type element = cast<RankedTensorType>(init.getType()).getElementType();
    if (!getDimsOf(map).anyCommon(shape.reduced) || !element.isIntOrFloat())
      continue;
    double bytes = double(element.getIntOrFloatBitWidth()) / 8;
    // What a block writes across rows, others do no better.
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    SmallBitVector all(shape.extents.size(), true);
    bool isOfAll = 2 * product(shape, getDimsOf(map)) > product(shape, all);
    if (!last || tiles[last.getPosition()] != 0 || !isOfAll)
      continue;
    for (AffineExpr e : llvm::reverse(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      double extent = dim ? shape.extents[dim.getPosition()] : 1;
      int64_t tile = dim ? tiles[dim.getPosition()] : 1;
      bytes *= tile ? std::min(double(tile), extent) : extent;
      if (!dim || (tile && double(tile) < extent))
        break;
    }
    least = std::min(least, bytes);
  }
  return least;
}

/// Whether a block would write parts of sectors, of so much that two more launches pay: what
/// follows the fold is a kernel of its own, whose blocks write whole ones. A group norm of 16 x
/// 64 x 64 x 256 bfloats, channels last, of which a group has 8, took 82 us on an H200, and 42 so.
static bool writesPartsOfSectors(CascadeOp cascade, const ScheduleShape &shape,
                                 TargetAttr target, ArrayRef<int64_t> tiles,
                                 double bytes) {
  return isGpu(target) && !shape.hasContraction &&
         bytes / double(target.getBandwidth()) > double(target.getLaunchNs()) &&
         countPieces(cascade, shape, tiles) < kGpuSectorBytes;
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
  /// Whether splits of a dim go to several blocks, and whether that is for the sake of what
  /// is written behind the fold.
  bool isSplit, writesParts = false;
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

ScheduleAttr ScheduleChooser::choose() {
  chooseGrid(shape, target, grid, tiles);
  if (shape.folds.empty())
    return make(ScheduleKind::Map, "no reduction");
  widenTiles(cascade, shape, target, grid, tiles);
  holdFewerColumns(cascade, shape, target, grid, tiles);
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
  writesParts = !request.kind &&
                !isWorthSplitting(shape, target, blocks, bytesInAll) &&
                writesPartsOfSectors(cascade, shape, target, tiles, bytesInAll);
  if (!request.kind &&
      (writesParts || isWorthSplitting(shape, target, blocks, bytesInAll)))
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
  if (isSplit && writesParts)
    return "a block would write parts of sectors of memory";
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
