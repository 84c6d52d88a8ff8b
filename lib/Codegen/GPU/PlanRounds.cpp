//===- PlanRounds.cpp - redfuse-plan-rounds -------------------------------===//
//
// A loop whose rounds launch one short kernel each takes as long as its launches: a recurrent
// layer has hundreds. What a round hands to the next one is small, so a cluster of blocks can
// hand it on by itself, and waits at a barrier where the host would launch again.
//
// Who needs what of whom is in the maps of the kernel. Along some dims (the rows of a batch) no
// result of a round depends on another one's position: parts of the work that never meet have a
// cluster each.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/Common/KernelGenerator.h"
#include "redfuse/Codegen/GPU/RegisterPlan.h"
#include "redfuse/Codegen/GPU/Rounds.h"
#include "redfuse/Codegen/Passes.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace redfuse {
#define GEN_PASS_DEF_PLANROUNDS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Rounds that pay for a kernel of their own, at least.
static constexpr int64_t kLeastRounds = 4;
/// Warps of a block that have registers enough, at most; and as many as have a multiprocessor's
/// attention.
static constexpr int64_t kMostRoundWarps = 16, kWarpsOfRound = 8;
/// Blocks of a cluster, at most: more than `kMostClusterBlocks`, which all GPUs with clusters
/// have room for, on those that have so many multiprocessors that it is sure.
static constexpr int64_t kMostRoundBlocks = 16, kUnitsOfLargeClusters = 128;
/// The share of multiprocessors that clusters of more than two blocks find room on at a time, as
/// not all groups of multiprocessors are of whole clusters: 7 of 16 blocks, 15 of 8, 30 of 4 on an
/// H200 (cuOccupancyMaxActiveClusters).
static constexpr double kRoomOfClusters = 0.93;
/// Positions of an independent dim that a warp has, one after another, at most.
static constexpr int64_t kMostPositions = 8;

LogicalResult redfuse::collectBuffers(Value v,
                                      llvm::SmallSetVector<Value, 4> &into) {
  llvm::SmallSetVector<Value, 8> open;
  open.insert(v);
  for (unsigned i = 0; i < open.size(); ++i) {
    Value at = open[i];
    if (auto view = at.getDefiningOp<ViewLikeOpInterface>()) {
      open.insert(view.getViewSource());
      continue;
    }
    auto loop = at.getDefiningOp<scf::ForOp>();
    auto argument = dyn_cast<BlockArgument>(at);
    if (argument && !loop)
      loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop) {
      unsigned number = argument ? argument.getArgNumber() - 1
                                 : cast<OpResult>(at).getResultNumber();
      open.insert(loop.getInitArgs()[number]);
      open.insert(loop.getYieldedValues()[number]);
      continue;
    }
    bool isBuffer = argument
                        ? isa<func::FuncOp>(argument.getOwner()->getParentOp())
                        : isa<memref::AllocOp>(at.getDefiningOp());
    if (!isBuffer)
      return failure();
    into.insert(at);
  }
  return success();
}

bool redfuse::isOfViews(Operation *op) {
  return op->getNumRegions() == 0 &&
         (isa<ViewLikeOpInterface>(op) || isMemoryEffectFree(op));
}

namespace {
/// A loop that launches one kernel of one cascade in each round.
struct Round {
  scf::ForOp loop;
  LaunchOp launch;
  KernelOp kernel;
  CascadeOp program;
  RegisterLayoutAttr layout;

  /// What an operand of the cascade is on the host.
  Value getBuffer(Value operand) const {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument ? Value(launch->getOperand(argument.getArgNumber()))
                    : Value();
  }
};
} // namespace

static std::optional<Round> findRound(scf::ForOp loop) {
  Round round{loop, {}, {}, {}, {}};
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto launch = dyn_cast<LaunchOp>(op);
    if (launch && !round.launch)
      round.launch = launch;
    else if (!isOfViews(&op))
      return std::nullopt;
  }
  if (!round.launch)
    return std::nullopt;
  round.layout =
      round.launch->getAttrOfType<RegisterLayoutAttr>(kRegistersAttr);
  round.kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
      round.launch, round.launch.getKernelAttr());
  if (!round.layout || !round.kernel)
    return std::nullopt;
  for (auto op :
       round.kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    auto cascade = dyn_cast<CascadeOp>(op.getOperation());
    if (!cascade || round.program)
      return std::nullopt;
    round.program = cascade;
  }
  if (!round.program ||
      llvm::any_of(round.program.getBody().front(), [](Operation &op) {
        return isRootOp(&op) && !isa<ReduceOp>(op);
      }))
    return std::nullopt;
  return round;
}

/// Whether two values have the same element at the same position, but for dims of one element,
/// along which a loop walks.
static bool isSamePlace(Value a, Value b) {
  if (a == b)
    return true;
  auto x = cast<MemRefType>(a.getType()), y = cast<MemRefType>(b.getType());
  if (x.getShape() != y.getShape())
    return false;
  auto v = a.getDefiningOp<memref::SubViewOp>(),
       w = b.getDefiningOp<memref::SubViewOp>();
  if (!v && !w)
    return x == y && !a.getDefiningOp<ViewLikeOpInterface>() &&
           !b.getDefiningOp<ViewLikeOpInterface>();
  if (!v || !w || v.getSource() != w.getSource() ||
      v.getDroppedDims() != w.getDroppedDims() ||
      v.getMixedStrides() != w.getMixedStrides() ||
      v.getMixedSizes() != w.getMixedSizes())
    return false;
  return llvm::all_of(
      llvm::zip(v.getMixedSizes(), v.getMixedOffsets(), w.getMixedOffsets()),
      [](auto of) {
        auto [size, from, other] = of;
        return isConstantIntValue(size, 1) ||
               isEqualConstantIntOrValue(from, other);
      });
}

/// The dims along which no position depends on what another position's round has written.
static FailureOr<SmallBitVector> findIndependent(const Round &round) {
  CascadeOp program = round.program;
  SmallVector<AffineMap> maps = program.getIndexingMapsArray();
  size_t numInputs = program.getInputs().size();
  SmallBitVector independent(maps.front().getNumDims(), true);
  auto keep = [&](AffineMap map, AffineMap other) {
    SmallBitVector same(independent.size());
    for (auto [e, f] : llvm::zip(map.getResults(), other.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(e); dim && e == f)
        same.set(dim.getPosition());
    independent &= same;
  };
  auto buffersOf = [&](Value operand, llvm::SmallSetVector<Value, 4> &into) {
    Value buffer = round.getBuffer(operand);
    return success(buffer && succeeded(collectBuffers(buffer, into)));
  };
  for (auto [i, init] : llvm::enumerate(program.getInits())) {
    AffineMap written = maps[numInputs + i];
    keep(written, written);
    llvm::SmallSetVector<Value, 4> own;
    if (failed(buffersOf(init, own)))
      return failure();
    auto meet = [&](Value operand, AffineMap map) -> LogicalResult {
      llvm::SmallSetVector<Value, 4> others;
      if (failed(buffersOf(operand, others)))
        return failure();
      if (llvm::none_of(others, [&](Value v) { return own.contains(v); }))
        return success();
      if (isSamePlace(round.getBuffer(init), round.getBuffer(operand)))
        keep(map, written);
      else
        independent.reset();
      return success();
    };
    for (auto [j, input] : llvm::enumerate(program.getInputs()))
      if (failed(meet(input, maps[j])))
        return failure();
    for (auto [j, other] : llvm::enumerate(program.getInits()))
      if (failed(meet(other, maps[numInputs + j])))
        return failure();
  }
  return independent;
}

namespace {
/// How the launch of a round is dealt out to clusters.
class RoundsPlanner {
public:
  RoundsPlanner(Round &round, int64_t units) : round(round), units(units) {}

  /// The plan; none where a launch a round is as well.
  RoundsPlanAttr plan();
  /// Gives each warp as few positions of an independent dim as clusters have room for, in all
  /// launches of the kernel. What a warp has of it, it does one after another.
  void spread(ArrayRef<LaunchOp> launches);

private:
  bool mayPersist();
  bool isOfWarps() const;
  bool analyse();
  bool fit();

  Round &round;
  int64_t units;
  SmallBitVector independent, reduced;
  SmallVector<int64_t> extents;
  int64_t parts = 1, work = 1, gridParts = 1, warpParts = 1, cluster = 1;
};
} // namespace

/// Whether warps share nothing, and take one tile each.
bool RoundsPlanner::isOfWarps() const {
  RegisterLayoutAttr layout = round.layout;
  ScheduleAttr schedule = round.kernel.getScheduleAttr();
  if (layout.getCluster() != 1 || layout.getSharedBytes() != 0 ||
      layout.getLoopingBlocks() != 0 || !layout.getKept().empty() ||
      !layout.getAhead().empty() || !layout.getFollowing().empty() ||
      !schedule || schedule.getKind() == ScheduleKind::Split)
    return false;
  for (auto [d, share] : llvm::enumerate(layout.getDims())) {
    bool isAcross = share.getThreads() << share.getBit() > kRoundWarp;
    if (share.getThreads() > 1 && isAcross &&
        ((int64_t(1) << share.getBit()) < kRoundWarp || reduced.test(d)))
      return false;
  }
  return true;
}

/// Which warps of which blocks never meet.
bool RoundsPlanner::analyse() {
  bool areParts = true;
  for (auto [d, share] : llvm::enumerate(round.layout.getDims()))
    areParts &= share.getThreads() == 1 ||
                share.getThreads() << share.getBit() <= kRoundWarp ||
                independent.test(d);
  int64_t blocks = 1, warps = round.layout.getThreads() / kRoundWarp;
  bool isLeading = true;
  gridParts = 1;
  ScheduleAttr schedule = round.kernel.getScheduleAttr();
  for (int64_t d : schedule.getGrid()) {
    int64_t tile = schedule.getTiles()[d];
    if (ShapedType::isDynamic(extents[d]))
      return false;
    int64_t count = tile == 0 ? 1 : llvm::divideCeil(extents[d], tile);
    blocks *= count;
    isLeading &= independent.test(d) || count == 1;
    if (isLeading)
      gridParts *= count;
  }
  warpParts = areParts ? warps : 1;
  parts = gridParts * warpParts;
  work = blocks / gridParts * (warps / warpParts);
  return true;
}

/// Whether there is room for all parts at a time: then each has the largest cluster.
bool RoundsPlanner::fit() {
  auto hasRoom = [&](int64_t blocks) {
    double room = blocks > 2 ? kRoomOfClusters * units : units;
    return parts <= int64_t(room / blocks);
  };
  cluster = std::min<int64_t>(
      units >= kUnitsOfLargeClusters ? kMostRoundBlocks : kMostClusterBlocks,
      llvm::PowerOf2Ceil(llvm::divideCeil(work, kWarpsOfRound)));
  while (cluster > 1 && !hasRoom(cluster))
    cluster /= 2;
  return hasRoom(cluster) &&
         int64_t(llvm::divideCeil(work, cluster)) <= kMostRoundWarps;
}

bool RoundsPlanner::mayPersist() {
  std::optional<llvm::APInt> trips = round.loop.getStaticTripCount();
  FailureOr<SmallBitVector> found = findIndependent(round);
  if (!trips || trips->slt(kLeastRounds) || failed(found))
    return false;
  independent = *found;
  extents = getStaticExtents(
      cast<IndexProgramOpInterface>(round.program.getOperation()));
  reduced.resize(independent.size());
  for (auto reduce : round.program.getBody().front().getOps<ReduceOp>())
    reduced |= toDimSet(reduce.getOver(), reduced.size());
  return isOfWarps();
}

RoundsPlanAttr RoundsPlanner::plan() {
  if (!mayPersist() || !analyse() || !fit())
    return {};
  return RoundsPlanAttr::get(round.loop.getContext(), cluster,
                             llvm::divideCeil(work, cluster), gridParts,
                             warpParts);
}

void RoundsPlanner::spread(ArrayRef<LaunchOp> launches) {
  if (!mayPersist())
    return;
  // Of all warps of a block, one is left: the others' positions are other blocks'.
  std::optional<unsigned> dim;
  SmallVector<DimShareAttr> shares(round.layout.getDims());
  ScheduleAttr schedule = round.kernel.getScheduleAttr();
  MLIRContext *context = schedule.getContext();
  for (auto [d, share] : llvm::enumerate(shares)) {
    bool isCut =
        independent.test(d) && schedule.getTiles()[d] != 1 &&
        share.getLanes() == 1 && share.getRun() == 1 &&
        llvm::is_contained(schedule.getGrid(), d) &&
        share.getThreads() * share.getRepeats() > 1 &&
        (share.getThreads() == 1 || int64_t(1) << share.getBit() >= kRoundWarp);
    if (isCut && !dim)
      dim = d;
    else if (share.getThreads() > 1 &&
             int64_t(1) << share.getBit() >= kRoundWarp)
      return; // warps of another dim
  }
  if (!dim)
    return;
  ScheduleAttr before = schedule;
  RegisterLayoutAttr old = round.layout;
  if (ShapedType::isDynamic(extents[*dim]))
    return;
  int64_t most = std::min(extents[*dim], kMostPositions);
  for (int64_t tile = 1; tile <= most; ++tile) {
    SmallVector<int64_t> tiles(before.getTiles());
    tiles[*dim] = tile;
    schedule = ScheduleAttr::get(context, before.getKind(), before.getGrid(),
                                 tiles, before.getStream(), before.getReason(),
                                 before.getSplits(), before.getLazy(),
                                 before.getHints());
    shares[*dim] = DimShareAttr::get(context, 1, tile, 1, 0, 1);
    auto layout = RegisterLayoutAttr::get(
        context, kRoundWarp, old.getCluster(), old.getLanes(), shares,
        old.getBlocks(), old.getSharedBytes(), old.getLoopingBlocks(),
        old.getKept(), old.getMovedOnce(), old.getAhead(), old.getAheadTiles(),
        old.getFollowing(), old.getChoices());
    round.kernel.setScheduleAttr(schedule);
    round.layout = layout;
    if (analyse() && fit()) {
      for (LaunchOp launch : launches)
        launch->setAttr(kRegistersAttr, layout);
      return;
    }
  }
  round.kernel.setScheduleAttr(before);
  round.layout = old;
}

namespace {
struct PlanRounds : public redfuse::impl::PlanRoundsBase<PlanRounds> {
  /// Plans the loops of all launches of one kernel.
  static void plan(ArrayRef<LaunchOp> launches, int64_t units) {
    SmallVector<Round> rounds;
    for (LaunchOp launch : launches) {
      auto loop = dyn_cast<scf::ForOp>(launch->getParentOp());
      if (std::optional<Round> round = loop ? findRound(loop) : std::nullopt)
        rounds.push_back(*round);
    }
    if (!rounds.empty() && rounds.size() == launches.size())
      RoundsPlanner(rounds.front(), units).spread(launches);
    for (Round &round : rounds) {
      round.layout =
          round.launch->getAttrOfType<RegisterLayoutAttr>(kRegistersAttr);
      if (RoundsPlanAttr plan = RoundsPlanner(round, units).plan())
        round.loop->setAttr(kPersistentAttr, plan);
    }
  }

  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip || !chip->has(Clusters))
      return;
    llvm::MapVector<KernelOp, SmallVector<LaunchOp>> launches;
    getOperation().walk([&](LaunchOp launch) {
      if (auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
              launch, launch.getKernelAttr()))
        launches[kernel].push_back(launch);
    });
    for (auto &[kernel, all] : launches)
      plan(all, chip->units);
  }
};
} // namespace
