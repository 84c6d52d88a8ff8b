//===- RegisterSharing.cpp - what blocks share, and how many run ----------===//
#include "RegisterPlanner.h"

using namespace mlir;
using namespace redfuse;

/// How many blocks share a tile; whether there is a way. `isHeld`: registers are
/// to hold all of a tile.
bool RegisterPlanner::chooseCluster(bool isHeld) {
  bool isSplit =
      space.schedule && space.schedule.getKind() == ScheduleKind::Split;
  // Blocks with splits of their own are the other way.
  bool hasOtherWay = mergesInLaunch(kernel) && !isSplit;
  double bytes = 0, elements = 0, results = 0;
  for (const TensorAccess &access : accesses) {
    (access.isInput ? bytes : results) += bytesOfTile(access);
    elements = std::max(elements, bytesOfTile(access) / access.bytes);
  }
  // Blocks wait for each other: where there are tiles for all multiprocessors, a
  // block that waits for nobody is faster.
  int64_t cluster = 1, asked = isSplit ? 0 : hints.cluster.value_or(0);
  if (isHeld) {
    double most = hints.loop ? 2 * kBlockElements : kBlockElements;
    while (elements > most && cluster * kClusterElements < elements)
      cluster *= 2;
    if (cluster > 1 && asked == 0)
      return false;
  } else if (hasOtherWay && streamed.count() == 1 && !isMapped &&
             results <= kLittleBytes) {
    double enough = 2 * getTargetOf(kernel).getUnits();
    while (cluster < limits.cluster && countTiles() * cluster < enough &&
           bytes / (2 * cluster) >= kShareBytes)
      cluster *= 2;
  }
  if (asked != 0) {
    if (isHeld && asked < cluster)
      return false;
    cluster = asked;
  }
  if (cluster > limits.cluster || (cluster > 1 && scanned.any()))
    return false;
  layout.cluster = cluster;
  return !hasOtherWay || (cluster > 1 && bytes / cluster <= kMostShareBytes);
}

/// As many blocks on a multiprocessor as have threads there, where what they await
/// leaves registers for that.
void RegisterPlanner::chooseOccupancy() {
  int64_t threads = layout.getThreadsOfBlock();
  int64_t most = kThreadsOfUnit / threads;
  if (hints.blocks) {
    layout.leastBlocksPerUnit = std::min(*hints.blocks, most);
    return;
  }
  // What all blocks read takes no registers while other data is awaited.
  if (streamed.any() || !layout.loadsSharedLate ||
      layout.loadsSharedBeforeExchange)
    return;
  double own = kTemporaries;
  for (const TensorAccess &access : accesses)
    if (access.isInput && !isSharedByBlocks(access))
      own += double(access.bytes) / 4 * localOf(access.dims);
  if (own <= double(kRegisters) / kThreadsOfUnit)
    layout.leastBlocksPerUnit = most;
}

/// Whether blocks walk tiles in a loop, and how many of them there are.
void RegisterPlanner::chooseRounds() {
  if (isStaged) {
    layout.loopingBlocks = layout.leastBlocksPerUnit;
    layout.staysPacked = true;
    // Shared memory has room for the next tile alone, and it is free when that one
    // is in registers: the one behind it is asked for meanwhile.
    if (limits.overlapsLaunches)
      for (const TensorAccess &access : accesses)
        if (access.isInput && !isSharedByBlocks(access) && isInOnePiece(access))
          layout.following.push_back({access.argument.getArgNumber(),
                                      access.map,
                                      int64_t(bytesOfTile(access))});
    return;
  }
  if (streamed.any() || !hints.loop || mergesInLaunch(kernel))
    return;
  double next = 0;
  for (const TensorAccess &access : accesses)
    if (access.isInput && !isSharedByBlocks(access))
      next += double(access.bytes) / 4 * localOf(access.dims);
  double all = double(countRegisters()) + next + kTemporaries;
  int64_t threads = layout.getThreadsOfBlock();
  int64_t blocks =
      std::min<int64_t>(kRegisters / (all * threads), kThreadsOfUnit / threads);
  if (hints.blocks)
    blocks = std::min(*hints.blocks, kThreadsOfUnit / threads);
  if (blocks < 1)
    return;
  layout.loopingBlocks = layout.leastBlocksPerUnit = blocks;
  // Two tiles at a time: as short as they are.
  layout.staysPacked = true;
}

/// When a thread loads what all blocks read: where it is used, with the rest, or before
/// the last exchange of a reduction, which then takes the time that the loads take. It
/// takes registers: enough of the rest should be under way none the less.
SharedLoads RegisterPlanner::chooseEarly() const {
  if (streamed.any() || layout.loopingBlocks != 0 || layout.readsAgain)
    return SharedLoads::AtUse;
  double registers = kTemporaries, own = 0;
  for (const TensorAccess &access : accesses)
    if (access.isInput) {
      registers += double(access.bytes) / 4 * localOf(access.dims);
      own += isSharedByBlocks(access) ? 0 : bytesOfTile(access);
    }
  int64_t threads = layout.getThreadsOfBlock();
  int64_t blocks = std::min<int64_t>(kRegisters / (registers * threads),
                                     kThreadsOfUnit / threads);
  if (double(blocks) * own < kUnderWayBytes)
    return SharedLoads::AtUse;
  bool isOfWarps = llvm::all_of(reduced.set_bits(), [&](unsigned d) {
    const DimShare &share = layout.dims[d];
    return (share.threads << share.bit) <= limits.warp;
  });
  return isOfWarps ? SharedLoads::BeforeExchange : SharedLoads::WithRest;
}

/// Where all blocks read the same, the first-level cache is for that.
void RegisterPlanner::chooseCaching() {
  if (layout.loopingBlocks == 0 &&
      llvm::none_of(accesses, [&](const TensorAccess &access) {
        return isSharedByBlocks(access) &&
               bytesOfTile(access) >= kSharedInputBytes;
      }))
    return;
  SharedLoads early = hints.early ? *hints.early : chooseEarly();
  layout.loadsSharedLate = early != SharedLoads::WithRest;
  layout.loadsSharedBeforeExchange =
      early == SharedLoads::BeforeExchange && streamed.none() &&
      layout.loopingBlocks == 0 && !layout.readsAgain;
  if (layout.loadsSharedBeforeExchange)
    layout.staysPacked = true;
  // What is loaded ahead in a loop is not moved behind other work so.
  Bypass past = hints.bypass.value_or(layout.loopingBlocks != 0 ? Bypass::All
                                                                : Bypass::None);
  for (const TensorAccess &access : accesses) {
    if (past != Bypass::All &&
        past != (access.isInput ? Bypass::Inputs : Bypass::Results))
      continue;
    bool isOwn = true;
    for (unsigned d = 0; d < space.numDims; ++d)
      if (isGrid(d) && capacity[d] < space.staticExtents[d])
        isOwn &= access.dims.test(d);
    // What shared memory keeps is not read by loads; what programs walk twice is
    // read twice.
    bool isOnce = llvm::count_if(accesses, [&](const TensorAccess &other) {
                    return other.argument == access.argument;
                  }) == 1;
    isOnce &= access.readers == 1 || streamed.none();
    if (isOwn && isOnce && access.contiguous)
      layout.movedOnce.push_back(access.argument.getArgNumber());
  }
}

/// Before a kernel waits for the one before it, its first blocks can ask the
/// second-level cache for their data: as the blocks of the one before end, these
/// take their place.
void RegisterPlanner::chooseAhead() {
  bool isSplit =
      space.schedule && space.schedule.getKind() == ScheduleKind::Split;
  if (!limits.overlapsLaunches || isSplit || hints.prefetch == 0)
    return;
  double bytes = 0, tiles = countTiles();
  for (const TensorAccess &access : accesses)
    if (access.isInput && !isSharedByBlocks(access) && isInOnePiece(access)) {
      layout.ahead.push_back({access.argument.getArgNumber(), access.map,
                              int64_t(bytesOfTile(access))});
      bytes += bytesOfTile(access);
    }
  double most = hints.prefetch ? double(*hints.prefetch) * 1e6 : kAheadBytes;
  // Without a cluster all of it pays where the blocks of two such kernels run at a
  // time; of others, some take the place of those that have ended while others go on.
  if (layout.cluster == 1 && !hints.prefetch &&
      (bytes * tiles > kShortBytes ||
       2 * tiles * layout.threads >
           double(kThreadsOfUnit) * getTargetOf(kernel).getUnits() ||
       2 * layout.threads * (double(countRegisters()) + kTemporaries) >
           kRegisters)) {
    // While the states of a long fold are merged memory has nothing to do.
    layout.startsNextLate =
        layout.loadsStepsAhead && bytes * tiles > kAheadBytes;
    most = kLittleAheadBytes * (layout.startsNextLate ? 2 : 1);
    // Not where blocks begin with what all of them read, and not of many that fold.
    bool beginsShared = !layout.loadsSharedLate &&
                        llvm::any_of(accesses, [&](const TensorAccess &a) {
                          return isSharedByBlocks(a);
                        });
    bool folds = streamed.any() && !isMapped;
    if (bytes * tiles < 2 * most || beginsShared || (folds && !hasFewBlocks()))
      layout.ahead.clear();
  }
  if (layout.ahead.empty())
    return;
  // Those that run at a time, and no more than the cache holds; where all run, the
  // same part of each tile.
  double running =
      std::max<double>(layout.leastBlocksPerUnit,
                       kThreadsOfUnit / layout.getThreadsOfBlock()) *
      getTargetOf(kernel).getUnits() / layout.cluster;
  if (tiles > running) {
    layout.aheadTiles = std::clamp(most / bytes, 1.0, running);
    return;
  }
  for (KeptInput &input : layout.ahead)
    if (bytes * tiles > most)
      input.bytes = int64_t(input.bytes * (most / (bytes * tiles))) / 16 * 16;
}

/// Whether a tile of a tensor lies in one piece of memory, from a multiple of 16
/// bytes on.
bool RegisterPlanner::isInOnePiece(const TensorAccess &access) const {
  int64_t bytes = access.bytes;
  bool isWhole = true;
  for (unsigned i = access.map.getNumResults(); i-- > 0;) {
    auto d = dyn_cast<AffineDimExpr>(access.map.getResult(i));
    int64_t extent = access.type.getDimSize(i);
    if (!d || ShapedType::isDynamic(extent))
      return false;
    int64_t own = capacity[d.getPosition()];
    if ((!isWhole && own != 1) || extent % own != 0)
      return false;
    isWhole &= own == extent;
    bytes *= own;
  }
  return access.type.getLayout().isIdentity() && bytes % 16 == 0 &&
         bytes >= kAskedBytes && access.type.getElementTypeBitWidth() >= 8;
}

/// Whether threads combine what they have in every step of a fold: what is loaded
/// for later waits behind it.
bool RegisterPlanner::exchangesInSteps() const {
  for (unsigned d : reduced.set_bits())
    if (!streamed.test(d) && layout.dims[d].threads > 1)
      return streamed.any();
  return false;
}

/// Few blocks should have all of a step under way.
void RegisterPlanner::chooseAwaiting() {
  auto isWalked = [&](const TensorAccess &access) {
    return access.isInput && access.dims.anyCommon(streamed);
  };
  if (hints.await)
    layout.awaitsLoads = limits.overlapsLaunches && *hints.await;
  else
    layout.awaitsLoads =
        limits.overlapsLaunches && layout.kept.empty() && hasFewBlocks() &&
        layout.getThreadsOfBlock() <= kAwaitingThreads &&
        llvm::count_if(accesses, isWalked) > 1 && exchangesInSteps();
  // All blocks run at a time none the less.
  if (layout.awaitsLoads && layout.leastBlocksPerUnit == 0) {
    int64_t wanted = llvm::divideCeil(int64_t(countBlocks()),
                                      getTargetOf(kernel).getUnits());
    layout.leastBlocksPerUnit =
        std::min<int64_t>(wanted, kThreadsOfUnit / layout.getThreadsOfBlock());
  }
}

/// Whether one step is loaded while the other is computed: where all blocks run at
/// a time with the registers for both, and have some steps each.
bool RegisterPlanner::chooseStepsAhead() {
  bool isAsked = hints.loop.has_value();
  bool isSplit =
      space.schedule && space.schedule.getKind() == ScheduleKind::Split;
  if (streamed.count() != 1 || !layout.kept.empty() || isMapped)
    return false;
  unsigned main = streamed.find_first();
  double next = 0;
  for (const TensorAccess &access : accesses)
    if (access.isInput && access.dims.anyCommon(streamed))
      next += double(access.bytes) / 4 * localOf(access.dims);
  // With fewer registers, ptxas loads one step when the other is done.
  double own = double(countRegisters()) + next +
               double(scanned.any() ? kTemporaries : 0);
  int64_t blocks = kRegisters / (own * layout.getThreadsOfBlock());
  if (!isAsked &&
      (blocks == 0 || layout.cluster > 1 || isSplit ||
       capacity[main] < kStepsAhead * layout.dims[main].getSpan() ||
       countTiles() > double(blocks) * getTargetOf(kernel).getUnits()))
    return false;
  // Narrow elements leave registers for more threads than there are, and more blocks
  // than there are tiles need none.
  int64_t most = std::min<int64_t>(
      kThreadsOfUnit / layout.getThreadsOfBlock(),
      std::ceil(countTiles() / double(getTargetOf(kernel).getUnits())));
  layout.leastBlocksPerUnit =
      std::clamp<int64_t>(hints.blocks.value_or(blocks), 1, most);
  for (const TensorAccess &access : accesses)
    if (access.isInput && access.dims.anyCommon(streamed) &&
        !isSharedByBlocks(access) && access.contiguous)
      layout.movedOnce.push_back(access.argument.getArgNumber());
  return true;
}

/// What follows from where the elements are.
std::optional<RegisterLayout> RegisterPlanner::finish() {
  chooseRounds();
  chooseCaching();
  if (layout.leastBlocksPerUnit == 0)
    chooseOccupancy();
  if (layout.loopingBlocks == 0 || isStaged)
    chooseAhead();
  if (!layout.loadsStepsAhead)
    chooseAwaiting();
  return layout;
}
