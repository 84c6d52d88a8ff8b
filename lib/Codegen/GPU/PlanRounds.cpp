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
/// Blocks of a cluster, at most: more than `kMostClusterBlocks`, which all launches may have.
static constexpr int64_t kMostRoundBlocks = 16;

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
  for (auto op : round.kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
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

/// The plan of a loop; none where a launch a round is as well.
static RoundsPlanAttr planRounds(scf::ForOp loop, int64_t units) {
  std::optional<Round> round = findRound(loop);
  std::optional<llvm::APInt> trips = loop.getStaticTripCount();
  if (!round || !trips || trips->slt(kLeastRounds))
    return {};
  RegisterLayoutAttr layout = round->layout;
  ScheduleAttr schedule = round->kernel.getScheduleAttr();
  if (layout.getCluster() != 1 || layout.getSharedBytes() != 0 ||
      layout.getLoopingBlocks() != 0 || !layout.getKept().empty() ||
      !layout.getAhead().empty() || !layout.getFollowing().empty() ||
      !schedule || schedule.getKind() == ScheduleKind::Split)
    return {};
  FailureOr<SmallBitVector> independent = findIndependent(*round);
  if (failed(independent))
    return {};
  SmallBitVector reduced(independent->size());
  for (auto reduce : round->program.getBody().front().getOps<ReduceOp>())
    reduced |= toDimSet(reduce.getOver(), reduced.size());
  // Warps of a block, which are as independent as blocks are.
  constexpr int64_t kWarp = 32;
  int64_t warps = layout.getThreads() / kWarp;
  bool areParts = true;
  for (auto [d, share] : llvm::enumerate(layout.getDims())) {
    int64_t end = share.getThreads() << share.getBit();
    if (share.getThreads() == 1 || end <= kWarp)
      continue;
    if ((int64_t(1) << share.getBit()) < kWarp || reduced.test(d))
      return {};
    areParts &= independent->test(d);
  }
  int64_t blocks = 1, gridParts = 1;
  bool isLeading = true;
  SmallVector<int64_t> extents = getStaticExtents(
      cast<IndexProgramOpInterface>(round->program.getOperation()));
  for (int64_t d : schedule.getGrid()) {
    int64_t tile = schedule.getTiles()[d];
    if (ShapedType::isDynamic(extents[d]))
      return {};
    int64_t count = tile == 0 ? 1 : llvm::divideCeil(extents[d], tile);
    blocks *= count;
    isLeading &= independent->test(d) || count == 1;
    if (isLeading)
      gridParts *= count;
  }
  int64_t warpParts = areParts ? warps : 1;
  int64_t parts = gridParts * warpParts;
  int64_t work = blocks / gridParts * (warps / warpParts);
  int64_t cluster = std::min<int64_t>(
      kMostRoundBlocks, llvm::PowerOf2Ceil(llvm::divideCeil(work, kWarpsOfRound)));
  while (cluster > 1 && cluster * parts > units)
    cluster /= 2;
  int64_t ofBlock = llvm::divideCeil(work, cluster);
  if (cluster * parts > units || ofBlock > kMostRoundWarps)
    return {};
  return RoundsPlanAttr::get(loop.getContext(), cluster, ofBlock, gridParts,
                             warpParts);
}

namespace {
struct PlanRounds : public redfuse::impl::PlanRoundsBase<PlanRounds> {
  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip || !chip->has(Clusters))
      return;
    getOperation().walk([&](scf::ForOp loop) {
      if (RoundsPlanAttr plan = planRounds(loop, chip->units))
        loop->setAttr(kPersistentAttr, plan);
    });
  }
};
} // namespace
