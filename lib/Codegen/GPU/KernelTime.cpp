//===- KernelTime.cpp - how long a planned kernel takes -------------------===//
//
// What a kernel moves and computes is counted from its body and extents, as many times as its
// plan has it done, and divided by rates that kernels were measured to reach. What moves and what
// computes overlap; what is left of the shorter ones is a part of their time.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/GPU/KernelTime.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/ProductPlan.h"
#include "redfuse/Codegen/GPU/RegisterPlan.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Rates: fitted to 502 kernels on an H200 (docs/benchmarks/programs.md, "Predicted times")
//===----------------------------------------------------------------------===//

/// Nanoseconds of a launch that does next to nothing, between two events.
static constexpr int64_t kLaunchNs = 4400;
/// Nanoseconds of a round beside its work: a barrier of a cluster, and what is handed on through
/// the second-level cache. Rounds of layers take 0.8 to 2 us in all.
static constexpr int64_t kRoundNs = 1100;
/// What kernels reach of the bandwidth in Chips.def, which is an H100's.
static constexpr double kReachedMemory = 1.25;
/// What threads reach of a lane's addition in a cycle.
static constexpr double kReachedVector = 0.98;
/// What matrix units reach of their peak, where other parts are added: of a plan for matrix
/// units, and of tiles of contractions by warpgroups and by warps.
static constexpr double kReachedPlan = 1.09, kReachedWgmma = 0.46,
                        kReachedMmaSync = 0.19;
/// The part of the shorter times that is added to the longest: beside matrix units, and else.
static constexpr double kAddedToProducts = 1.15, kAdded = 0.2;
/// Cycles a nanosecond.
static constexpr double kGHz = 1.7;
/// Lanes of a multiprocessor's floating point units.
static constexpr double kLanes = 128;
/// How much more than its share of the bandwidth a multiprocessor draws where others are idle.
static constexpr double kShareOfOne = 2;
/// How much slower what has its tiles in memory is.
static constexpr double kTilesInMemory = 2;
/// Additions' time of reading an element, and of reading it by way of a window.
static constexpr double kReadCost = 0.5, kWindowCost = 4;
/// The same of a division or a root, and of a read at a computed place; and of exchanging a
/// value with half of the threads that share a reduction. Fitted to 631 kernels of programs that
/// others wrote.
static constexpr double kDivisionTime = 12, kExtractTime = 16,
                        kExchangeTime = 4;
/// How much longer numbers of 64 bits take, for which units have 32.
static constexpr double kLongIntegers = 2;
/// Threads of a multiprocessor that keep its units busy: fewer wait for what they have begun.
static constexpr double kBusyThreads = 512;
/// Rounds of blocks from which on the last one, which is not full, makes no difference.
static constexpr double kManyRounds = 8;

namespace {
/// A planned kernel as one counts it.
class KernelTime {
public:
  KernelTime(LaunchOp launch, KernelOp kernel, const Chip &chip,
             RatesAttr rates)
      : launch(launch), kernel(kernel), chip(chip), rates(rates) {}
  PredictedTimeAttr predict();

private:
  void add(IndexProgramOpInterface program);
  void addProduct(ReduceOp reduce, const DimSets &sets);
  double points(const SmallBitVector &dims) const;
  void place(IndexProgramOpInterface program);
  double evaluations(const SmallBitVector &dims) const;
  double exchanges(ReduceOp reduce) const;
  double countBlocks(IndexProgramOpInterface program) const;
  double getBytes(Value operand, double most) const;
  double productsOfCycle(ReduceOp reduce) const;
  double getReachedProducts() const;

  LaunchOp launch;
  KernelOp kernel;
  const Chip &chip;
  RatesAttr rates;
  SmallVector<double> extents;
  bool onMatrixUnits = false;
  /// Bytes of memory, additions of threads, and cycles of one multiprocessor's matrix units.
  double bytes = 0, additions = 0, cycles = 0;
  double blocks = 1;
  /// Of each dim its tile, what of it a thread holds, and the threads along it; and the dims
  /// whose tiles are blocks. None where tiles are not in registers.
  SmallVector<double> tiles, held, sharers;
  SmallBitVector isGrid;
  double threads = 0;
};
} // namespace

double KernelTime::points(const SmallBitVector &dims) const {
  double count = 1;
  for (unsigned d : dims.set_bits())
    count *= extents[d];
  return count;
}

/// Finds out which threads hold what.
void KernelTime::place(IndexProgramOpInterface program) {
  tiles.clear();
  held.clear();
  sharers.clear();
  auto layout = launch->getAttrOfType<RegisterLayoutAttr>(kRegistersAttr);
  auto schedule = program->getAttrOfType<ScheduleAttr>("schedule");
  if (!schedule)
    schedule = kernel->getAttrOfType<ScheduleAttr>("schedule");
  if (!layout || !schedule || layout.getDims().size() != extents.size() ||
      schedule.getTiles().size() != extents.size())
    return;
  isGrid = toDimSet(schedule.getGrid(), extents.size());
  threads = double(layout.getThreads());
  for (auto [d, share] : llvm::enumerate(layout.getDims())) {
    int64_t tile = schedule.getTiles()[d];
    held.push_back(double(share.getLanes() * share.getRepeats()));
    sharers.push_back(double(share.getThreads()));
    // A step over what is streamed is as long as threads hold.
    double step = isGrid.test(unsigned(d)) ? 0 : held[d] * sharers[d];
    tiles.push_back(tile > 0 ? std::max(double(tile), step) : extents[d]);
  }
}

/// How often threads evaluate what has these dims: each for all that it holds, whether or not
/// others hold the same, and it is more than there is.
double KernelTime::evaluations(const SmallBitVector &dims) const {
  if (tiles.empty())
    return points(dims);
  double count = threads;
  for (unsigned d = 0; d < extents.size(); ++d) {
    if (isGrid.test(d) || dims.test(d))
      count *= std::ceil(extents[d] / tiles[d]);
    if (dims.test(d))
      count *= held[d];
  }
  return count;
}

/// How often threads exchange values to combine what they have of a reduction.
double KernelTime::exchanges(ReduceOp reduce) const {
  if (tiles.empty())
    return 0;
  double among = 1;
  for (int64_t d : reduce.getOver())
    among *= sharers[size_t(d)];
  return evaluations(toDimSet(reduce.getInto(), extents.size())) *
         std::log2(among) * double(reduce->getNumResults());
}

/// Additions' time of an op of threads, for each element of a tile in registers or (`isHoisted`)
/// for what several have in common.
static double getTime(Operation *op, bool isHoisted) {
  double time = getOpCost(op);
  if (isa<tensor::ExtractOp>(op) && !isHoisted)
    time = kExtractTime;
  else if (time == kDivisionCost)
    time = kDivisionTime;
  return op->getResult(0).getType().isInteger(64) ? kLongIntegers * time : time;
}

/// Multiply-adds of matrix units that a multiprocessor makes in a cycle, of these types.
double KernelTime::productsOfCycle(ReduceOp reduce) const {
  Type sum = reduce.getOperand(0).getType();
  if (sum.isF64())
    return chip.doubleProductsOfCycle;
  bool isWgmma = true;
  if (auto plan = launch->getAttrOfType<ContractionPlanAttr>(kContractionAttr))
    isWgmma = plan.getKind() == MmaKind::Wgmma;
  else if (auto plan = launch->getAttrOfType<MatrixPlanAttr>(kPlanAttr))
    isWgmma = plan.getKind() == MmaKind::Wgmma;
  double rate =
      isWgmma ? chip.productsOfCycle : std::min(chip.productsOfCycle, 880.0);
  unsigned most = 8;
  bool isInParts = false;
  for (Value factor : findProduct(reduce)->getOperands()) {
    Value v = factor;
    isInParts |= v.getDefiningOp() && v.getDefiningOp()->hasAttr(kPartsAttr);
    unsigned bits = v.getType().getIntOrFloatBitWidth();
    while (isa_and_present<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
                           arith::ExtUIOp, arith::SIToFPOp, arith::UIToFPOp>(
        v.getDefiningOp())) {
      bool isTF32 =
          isa<FloatTF32Type>(v.getDefiningOp()->getOperand(0).getType());
      v = v.getDefiningOp()->getOperand(0);
      bits = isTF32 ? 32 : v.getType().getIntOrFloatBitWidth();
      if (isTF32)
        break;
    }
    most = std::max(most, bits);
  }
  if (isInParts)
    return rate / 6;
  return most <= 8 ? 2 * rate : most <= 16 ? rate : rate / 2;
}

/// A sum of products by matrix units: of whole tiles.
void KernelTime::addProduct(ReduceOp reduce, const DimSets &sets) {
  SmallBitVector into = toDimSet(reduce.getInto(), extents.size());
  SmallBitVector over = toDimSet(reduce.getOver(), extents.size());
  double products = points(into) * points(over);
  if (auto plan =
          launch->getAttrOfType<ContractionPlanAttr>(kContractionAttr)) {
    Operation *mul = findProduct(reduce);
    double sides[2];
    for (unsigned i : {0, 1}) {
      SmallBitVector own = into;
      own &= sets[mul->getOperand(i)];
      own.reset(sets[mul->getOperand(1 - i)]);
      sides[i] = points(own);
    }
    ArrayRef<int64_t> warps = plan.getWarps(), tiles = plan.getInstructions();
    double rows = double(warps[0] * tiles[0] * 16),
           columns = double(warps[1] * tiles[1] * 8);
    // Which side is the rows is the generator's choice: that which fills tiles better.
    auto filled = [&](double r, double c) {
      return std::ceil(r / rows) * rows * std::ceil(c / columns) * columns;
    };
    double batch = points(into) / (sides[0] * sides[1]);
    double tile =
        std::min(filled(sides[0], sides[1]), filled(sides[1], sides[0]));
    blocks = batch * tile / (rows * columns) * double(plan.getSplits());
    products = batch * tile * points(over);
  }
  cycles += products / productsOfCycle(reduce);
}

/// What of a body is done for each of its points.
void KernelTime::add(IndexProgramOpInterface program) {
  FailureOr<DimSets> sets = DimSets::compute(program);
  if (failed(sets))
    return;
  extents = llvm::map_to_vector(getStaticExtents(program), [](int64_t extent) {
    return std::max(1.0, getAssumedExtent(extent));
  });
  blocks = std::max(blocks, countBlocks(program));
  place(program);
  auto extentOf = [&](unsigned d) { return extents[d]; };
  // What matrix units multiply, and what only brings it there.
  llvm::DenseSet<Operation *> multiplied;
  for (Operation &inner : *program.getProgramBody()) {
    auto reduce = dyn_cast<ReduceOp>(inner);
    if (!reduce || !onMatrixUnits || !findProduct(reduce) ||
        !isMatrixProduct(reduce, *sets, extentOf))
      continue;
    addProduct(reduce, *sets);
    multiplied.insert(reduce);
    multiplied.insert(findProduct(reduce));
    for (Value factor : findProduct(reduce)->getOperands())
      while (Operation *def = factor.getDefiningOp()) {
        if (!isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
                 arith::SIToFPOp, arith::SelectOp, arith::UIToFPOp,
                 arith::ExtUIOp>(def))
          break;
        multiplied.insert(def);
        factor =
            isa<arith::SelectOp>(def) ? def->getOperand(1) : def->getOperand(0);
      }
  }
  for (BlockArgument read : program.getProgramBody()->getArguments()) {
    AffineMap map = program.getMapOfBodyArgument(read.getArgNumber());
    bool isMultiplied = llvm::all_of(read.getUsers(), [&](Operation *user) {
      return multiplied.contains(user);
    });
    if (map && !isMultiplied)
      additions += evaluations(getDimsOf(map)) *
                   (map.isProjectedPermutation() ? kReadCost : kWindowCost);
  }
  for (Operation &inner : *program.getProgramBody()) {
    if (multiplied.contains(&inner) || isa<YieldOp>(inner))
      continue;
    SmallBitVector dims(extents.size());
    for (Value v : inner.getOperands())
      dims |= (*sets)[v];
    if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      dims |= toDimSet(reduce.getOver(), extents.size());
      dims |= toDimSet(reduce.getInto(), extents.size());
    }
    // Places are computed for many elements at once.
    if (inner.getNumResults() > 0 &&
        !isa<IndexType>(inner.getResult(0).getType()))
      additions +=
          getTime(&inner, /*isHoisted=*/tiles.empty()) * evaluations(dims);
    if (auto reduce = dyn_cast<ReduceOp>(inner))
      additions += kExchangeTime * exchanges(reduce);
  }
}

double KernelTime::countBlocks(IndexProgramOpInterface program) const {
  auto tiled = [&](ArrayRef<int64_t> dims, ArrayRef<int64_t> tiles) {
    double count = 1;
    for (int64_t d : dims)
      if (size_t(d) < extents.size())
        count *= tiles[size_t(d)] > 0
                     ? std::ceil(extents[size_t(d)] / double(tiles[size_t(d)]))
                     : extents[size_t(d)];
    return count;
  };
  if (auto plan = launch->getAttrOfType<MatrixPlanAttr>(kPlanAttr)) {
    SmallVector<int64_t> dims;
    SmallVector<AffineMap> maps = program.getIndexingMapsArray();
    SmallBitVector kept(extents.size());
    for (AffineMap map :
         ArrayRef(maps).drop_front(program.getProgramInputs().size()))
      kept |= getDimsOf(map);
    return tiled(toDims(kept), plan.getTiles()) *
           double(plan.getSplits() * plan.getSumSplits());
  }
  auto schedule = program->getAttrOfType<ScheduleAttr>("schedule");
  if (!schedule)
    schedule = kernel->getAttrOfType<ScheduleAttr>("schedule");
  if (!schedule || schedule.getTiles().size() < extents.size())
    return 1;
  return tiled(schedule.getGrid(), schedule.getTiles()) *
         double(std::max<int64_t>(1, schedule.getSplits()));
}

/// Of an operand, once: no more than `most` elements of it.
double KernelTime::getBytes(Value operand, double most) const {
  auto type = dyn_cast<ShapedType>(operand.getType());
  if (!type || !type.hasRank())
    return 0;
  double elements = 1;
  for (int64_t extent : type.getShape())
    elements *= getAssumedExtent(extent);
  Type element = type.getElementType();
  double size =
      element.isIndex() ? 8 : std::max(1u, element.getIntOrFloatBitWidth() / 8);
  return std::min(elements, most) * size;
}

double KernelTime::getReachedProducts() const {
  if (launch->hasAttr(kPlanAttr))
    return kReachedPlan;
  auto plan = launch->getAttrOfType<ContractionPlanAttr>(kContractionAttr);
  return plan && plan.getKind() == MmaKind::Wgmma ? kReachedWgmma
                                                  : kReachedMmaSync;
}

PredictedTimeAttr KernelTime::predict() {
  onMatrixUnits = launch->hasAttr(kPlanAttr) ||
                  launch->hasAttr(kContractionAttr) ||
                  launch->hasAttr(kProductTilesAttr);
  bool isAny = false;
  double most = 0;
  for (auto program :
       kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    isAny = true;
    add(program);
    double points = 1;
    for (double extent : extents)
      points *= extent;
    most = std::max(most, points);
  }
  if (!isAny)
    return {};
  for (Value operand : launch->getOperands())
    bytes += getBytes(operand, most);
  double units = double(chip.units);
  double busy = std::min(1.0, blocks / units * kShareOfOne);
  double memory = bytes / (double(rates.getMemory()) * busy);
  double waves = std::max(blocks, 1.0) / units;
  double tail = waves > kManyRounds ? 1 : std::ceil(waves) / waves;
  // A plan's instruction does `productsOfCycle` of what the rate counts.
  double matrix = cycles * double(chip.productsOfCycle) /
                  double(rates.getMatrix()) *
                  (kReachedPlan / getReachedProducts()) * tail;
  double used =
      tiles.empty() ? blocks / units : blocks * threads / units / kBusyThreads;
  double vector = additions / double(rates.getVector()) / std::min(1.0, used);
  bool isFast = onMatrixUnits || launch->hasAttr(kRegistersAttr);
  if (!isFast) {
    memory *= kTilesInMemory;
    vector *= kTilesInMemory;
  }
  double longest = std::max({memory, matrix, vector});
  double added = onMatrixUnits ? kAddedToProducts : kAdded;
  double total = double(rates.getLaunch()) + longest +
                 added * (memory + matrix + vector - longest);
  auto ns = [](double time) { return int64_t(std::min(time, 1e15)); };
  return PredictedTimeAttr::get(launch.getContext(), ns(total),
                                rates.getLaunch(), ns(memory), ns(matrix),
                                ns(vector), ns(blocks));
}

RatesAttr redfuse::getRates(Operation *module, const Chip &chip) {
  if (auto measured = module->getAttrOfType<RatesAttr>(kRatesAttr))
    return measured;
  double lanes = double(chip.units) * kGHz;
  return RatesAttr::get(
      module->getContext(), kLaunchNs, kRoundNs,
      int64_t(double(chip.bandwidth) * kReachedMemory),
      int64_t(lanes * kLanes * kReachedVector),
      int64_t(lanes * double(chip.productsOfCycle) * kReachedPlan));
}

PredictedTimeAttr redfuse::predictTime(LaunchOp launch, const Chip &chip,
                                       RatesAttr rates) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
      launch, launch.getKernelAttr());
  return kernel ? KernelTime(launch, kernel, chip, rates).predict()
                : PredictedTimeAttr();
}
