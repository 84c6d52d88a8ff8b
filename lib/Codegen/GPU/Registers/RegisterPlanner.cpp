//===- RegisterPlanner.cpp - which layout a kernel gets -------------------===//
//
// Ways to lay a kernel out are tried one after another, the best first: a tile whole
// in registers (in rectangles, read again from the cache, walked by way of shared
// memory, shared by a cluster), then streamed in steps. The first that registers hold
// is taken.
//
//===----------------------------------------------------------------------===//
#include "InputPlaces.h"
#include "LoadTiming.h"
#include "ThreadShares.h"
#include "Tuning.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

namespace {
class RegisterPlanner {
public:
  explicit RegisterPlanner(const RegisterDemands &demands) : demands(demands) {}

  /// The first layout that registers hold.
  std::optional<RegisterLayout> run() const;

private:
  using Layout = std::optional<RegisterLayout>;

  /// Layouts that begin as `lanes`, of kernels that have a tile whole ...
  static Layout hold(const RegisterDemands &held, const RegisterLayout &lanes);
  static Layout stage(const RegisterDemands &held, RegisterLayout layout);
  /// ... and of those that walk it.
  Layout stream(const RegisterLayout &lanes) const;
  Layout keep(RegisterLayout layout) const;
  int64_t countStreamingThreads(const RegisterLayout &layout) const;
  int64_t countCachedBlocks() const;
  /// Whether nests of ops walk again what a fold has walked.
  bool readsTwice() const { return demands.isMapped && !demands.isSplit(); }

  const RegisterDemands &demands;
};
} // namespace

/// How many blocks share a tile; whether there is a way. `isHeld`: registers are
/// to hold all of a tile.
static bool chooseCluster(const RegisterDemands &demands,
                          RegisterLayout &layout, bool isHeld) {
  // Blocks with splits of their own are the other way.
  bool hasOtherWay = mergesInLaunch(demands.kernel) && !demands.isSplit();
  double bytes = 0, elements = 0, results = 0;
  for (const TensorAccess &access : demands.accesses) {
    (access.isInput ? bytes : results) += demands.bytesOfTile(access);
    elements = std::max(elements, demands.bytesOfTile(access) / access.bytes);
  }
  // Blocks wait for each other: where there are tiles for all multiprocessors, a
  // block that waits for nobody is faster.
  int64_t cluster = 1,
          asked = demands.isSplit() ? 0 : demands.hints.cluster.value_or(0);
  if (isHeld) {
    double most = demands.hints.loop ? 2 * kBlockElements : kBlockElements;
    while (elements > most && cluster * kClusterElements < elements)
      cluster *= 2;
    if (cluster > 1 && asked == 0)
      return false;
  } else if (hasOtherWay && demands.streamed.count() == 1 &&
             !demands.isMapped && results <= kLittleBytes) {
    double enough = 2 * demands.getUnits();
    while (cluster < demands.limits.cluster &&
           demands.countTiles() * cluster < enough &&
           bytes / (2 * cluster) >= kShareBytes)
      cluster *= 2;
  }
  if (asked != 0) {
    if (isHeld && asked < cluster)
      return false;
    cluster = asked;
  }
  if (cluster > demands.limits.cluster ||
      (cluster > 1 && demands.scanned.any()))
    return false;
  layout.cluster = cluster;
  return !hasOtherWay || (cluster > 1 && bytes / cluster <= kMostShareBytes);
}

/// Chooses the rest of a layout; whether registers hold it.
static bool complete(const RegisterDemands &demands, RegisterLayout &layout) {
  unsigned end = 0;
  for (const DimShare &share : layout.dims)
    end = std::max<unsigned>(end, share.bit + llvm::Log2_64(share.threads));
  layout.threads = std::max<int64_t>(demands.limits.warp * layout.cluster,
                                     int64_t(1) << end);
  ThreadShares(demands, layout).chooseRepeats();
  // What a multiprocessor has for each thread of one block.
  int64_t blocks = std::max<int64_t>(1, layout.leastBlocksPerUnit);
  // What is kept elsewhere can be read again.
  int64_t temporaries =
      layout.kept.empty() && !layout.readsAgain ? kTemporaries : 0;
  int64_t most = std::min<int64_t>(
      kMaxRegisters,
      kRegisters / (layout.getThreadsOfBlock() * blocks) - temporaries);
  RegisterPressure pressure(demands, layout);
  return pressure.countRegisters() <= most && pressure.countCode() <= kMaxCode;
}

static RegisterLayout finish(const RegisterDemands &demands,
                             RegisterLayout layout) {
  LoadTiming(demands, layout).choose();
  return layout;
}

/// Threads of a block that streams, unless a schedule asks for others. What few have
/// under way at once takes few: the less is to exchange. Of long tiles for a few
/// rounds of blocks, not all blocks should run at a time: they would end together.
int64_t
RegisterPlanner::countStreamingThreads(const RegisterLayout &layout) const {
  if (layout.cluster > 1)
    return kClusterThreads;
  double elements = 0;
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput && access.dims.anyCommon(demands.streamed))
      elements = std::max(elements, demands.bytesOfTile(access) / access.bytes);
  bool isLong = elements >= kLongElements &&
                demands.countBlocks() <= kLongRounds * demands.getUnits();
  return readsTwice() || isLong ? kMaxThreads : kStreamingThreads;
}

/// How many blocks of a multiprocessor can read their rows a second time from
/// the cache.
int64_t RegisterPlanner::countCachedBlocks() const {
  double bytes = 0;
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput && access.dims.anyCommon(demands.streamed)) {
      double own = access.bytes;
      for (unsigned d : access.dims.set_bits())
        own *= demands.capacity[d];
      bytes = std::max(bytes, own);
    }
  double units = demands.getUnits();
  return std::clamp<double>(kCachedBytes / units / std::max(1.0, bytes),
                            kLeastCachedBlocks, kMostCachedBlocks);
}

/// Blocks stay and walk tiles by way of shared memory, as many as have registers.
std::optional<RegisterLayout>
RegisterPlanner::stage(const RegisterDemands &held, RegisterLayout layout) {
  if (!InputPlaces(held, layout).chooseStages())
    return std::nullopt;
  for (RegisterLayout staged = layout; staged.leastBlocksPerUnit > 0;
       --staged.leastBlocksPerUnit) {
    layout = staged;
    ThreadShares(held, layout).dealResident();
    if (complete(held, layout))
      return finish(held, layout);
  }
  return std::nullopt;
}

std::optional<RegisterLayout>
RegisterPlanner::hold(const RegisterDemands &held,
                      const RegisterLayout &lanes) {
  RegisterLayout layout = lanes;
  if (ThreadShares(held, layout).dealTransposed() && complete(held, layout))
    return finish(held, layout);
  layout = lanes;
  if (held.taps.none() && InputPlaces(held, layout).chooseCache()) {
    ThreadShares(held, layout).dealResident();
    if (complete(held, layout))
      return finish(held, layout);
  }
  if (held.taps.none())
    if (Layout staged = stage(held, lanes))
      return staged;
  layout = lanes;
  if (!chooseCluster(held, layout, /*isHeld=*/true))
    return std::nullopt;
  ThreadShares(held, layout).dealResident();
  if (!complete(held, layout))
    return std::nullopt;
  return finish(held, layout);
}

/// Shared memory keeps what is walked twice.
std::optional<RegisterLayout>
RegisterPlanner::keep(RegisterLayout layout) const {
  if (!readsTwice() || demands.streamed.count() != 1 || layout.cluster != 1 ||
      demands.hints.keep == false || !InputPlaces(demands, layout).chooseKept())
    return std::nullopt;
  ThreadShares(demands, layout)
      .dealStreamed(kKeepingThreads, demands.limits.warp);
  if (!complete(demands, layout))
    return std::nullopt;
  return finish(demands, layout);
}

std::optional<RegisterLayout>
RegisterPlanner::stream(const RegisterLayout &lanes) const {
  if (Layout kept = keep(lanes))
    return kept;
  RegisterLayout layout;
  int64_t asked = demands.hints.threads.value_or(0),
          most = asked ? std::max<int64_t>(asked, 128)
                       : countStreamingThreads(lanes);
  auto tryStreaming = [&](bool isAhead, int64_t threads, int64_t sharing,
                          int64_t further) {
    layout = lanes;
    layout.loadsStepsAhead = isAhead;
    ThreadShares(demands, layout).dealStreamed(threads, sharing, further);
    return complete(demands, layout) &&
           (!isAhead || LoadTiming(demands, layout).chooseStepsAhead());
  };
  // What is whole in a step is shared by the lanes of a warp; where that is more than
  // their registers hold, by a block. States of scans that one thread cannot hold are
  // shared by some.
  for (auto [sharing, further] :
       {std::pair<int64_t, int64_t>{demands.limits.warp, 1},
        {kBlockThreads, 1},
        {demands.limits.warp, 4},
        {demands.limits.warp, 16}}) {
    if (further > 1 && demands.scanned.none())
      break;
    for (bool isAhead : {true, false})
      for (int64_t threads : {1024, 512, 256, 128}) {
        if (threads > most)
          continue;
        if (!tryStreaming(isAhead, threads, sharing, further)) {
          // One step at a time by all these threads is better than two by fewer.
          if (isAhead && asked == 0 && !demands.isSplit())
            break;
          continue;
        }
        // Shared memory that nobody uses keeps further blocks away.
        int64_t sharedBytes = demands.limits.sharedBytes,
                blocks = countCachedBlocks() + 1;
        if (readsTwice() && sharedBytes != 0 &&
            blocks <= demands.limits.countBlocks(layout.threads))
          layout.leastSharedBytes = sharedBytes / blocks + 1024;
        return finish(demands, layout);
      }
  }
  return std::nullopt;
}

std::optional<RegisterLayout> RegisterPlanner::run() const {
  RegisterLayout lanes;
  lanes.dims.resize(demands.space.numDims);
  lanes.warp = demands.limits.warp;
  // A window's elements have no place in vectors: they are read one by one.
  if (demands.taps.none())
    ThreadShares(demands, lanes).chooseLanes();
  // What is held is not streamed.
  if (demands.streamed.none() || demands.canHoldStream())
    if (Layout held = hold(demands.whereStreamIsHeld(), lanes))
      return held;
  // What reads many tensors has shorter vectors of each.
  for (RegisterLayout fewer = lanes;
       demands.streamed.none() && demands.reduced.none() &&
       demands.scanned.none() && fewer.lanes > 1;) {
    for (DimShare &share : fewer.dims)
      share.lanes = std::max<int64_t>(1, share.lanes / 2);
    fewer.lanes /= 2;
    if (Layout held = hold(demands.whereStreamIsHeld(), fewer))
      return held;
  }
  if (demands.streamed.none() ||
      !chooseCluster(demands, lanes, /*isHeld=*/false))
    return std::nullopt;
  return stream(lanes);
}

std::optional<RegisterLayout>
redfuse::planRegisters(KernelOp kernel, LaunchOp launch,
                       const KernelSpace &space, const KernelPrograms &programs,
                       const DeviceLimits &limits, std::string &why) {
  std::optional<RegisterDemands> demands =
      RegisterDemands::find(kernel, launch, space, programs, limits, why);
  if (!demands)
    return std::nullopt;
  std::optional<RegisterLayout> layout = RegisterPlanner(*demands).run();
  if (!layout)
    why = "a tile is more than the threads of a block hold";
  return layout;
}
