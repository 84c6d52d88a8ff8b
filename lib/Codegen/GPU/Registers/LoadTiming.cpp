//===- LoadTiming.cpp - when blocks load what -----------------------------===//
#include "LoadTiming.h"
#include "Tuning.h"

using namespace mlir;
using namespace redfuse;

/// Whether blocks walk tiles in a loop, and how many of them there are.
void LoadTiming::chooseRounds() {
  if (demands.isStaged(layout)) {
    layout.loopingBlocks = layout.leastBlocksPerUnit;
    layout.staysPacked = true;
    // Shared memory has room for the next tile alone, and it is free when that one
    // is in registers: the one behind it is asked for meanwhile.
    if (demands.limits.overlapsLaunches)
      for (const TensorAccess &access : demands.accesses)
        if (access.isInput && !demands.isSharedByBlocks(access) &&
            demands.isInOnePiece(access))
          layout.following.push_back({access.argument.getArgNumber(),
                                      access.map,
                                      int64_t(demands.bytesOfTile(access))});
    return;
  }
  if (demands.streamed.any() || !demands.hints.loop ||
      mergesInLaunch(demands.kernel))
    return;
  double next = 0;
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput && !demands.isSharedByBlocks(access))
      next += pressure.registersOf(access);
  double all = double(pressure.countRegisters()) + next + kTemporaries;
  int64_t threads = layout.getThreadsOfBlock();
  int64_t blocks = std::min<int64_t>(kRegisters / (all * threads),
                                     demands.limits.countBlocks(threads));
  if (demands.hints.blocks)
    blocks =
        std::min(*demands.hints.blocks, demands.limits.countBlocks(threads));
  if (blocks < 1)
    return;
  layout.loopingBlocks = layout.leastBlocksPerUnit = blocks;
  // Two tiles at a time: as short as they are.
  layout.staysPacked = true;
}

/// When a thread loads what all blocks read: where it is used, with the rest, or before
/// the last exchange of a reduction, which then takes the time that the loads take. It
/// takes registers: enough of the rest should be under way none the less.
SharedLoads LoadTiming::chooseEarly() const {
  if (demands.streamed.any() || layout.loopingBlocks != 0 || layout.readsAgain)
    return SharedLoads::AtUse;
  double registers = kTemporaries, own = 0;
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput) {
      registers += pressure.registersOf(access);
      own += demands.isSharedByBlocks(access) ? 0 : demands.bytesOfTile(access);
    }
  int64_t threads = layout.getThreadsOfBlock();
  int64_t blocks = std::min<int64_t>(kRegisters / (registers * threads),
                                     demands.limits.countBlocks(threads));
  if (double(blocks) * own < kUnderWayBytes)
    return SharedLoads::AtUse;
  bool isOfWarps = llvm::all_of(demands.reduced.set_bits(), [&](unsigned d) {
    const DimShare &share = layout.dims[d];
    return (share.threads << share.bit) <= demands.limits.warp;
  });
  return isOfWarps ? SharedLoads::BeforeExchange : SharedLoads::WithRest;
}

/// Where all blocks read the same, the first-level cache is for that.
void LoadTiming::chooseCaching() {
  if (layout.loopingBlocks == 0 &&
      llvm::none_of(demands.accesses, [&](const TensorAccess &access) {
        return demands.isSharedByBlocks(access) &&
               demands.bytesOfTile(access) >= kSharedInputBytes;
      }))
    return;
  SharedLoads early =
      demands.hints.early ? *demands.hints.early : chooseEarly();
  layout.loadsSharedLate = early != SharedLoads::WithRest;
  layout.loadsSharedBeforeExchange =
      early == SharedLoads::BeforeExchange && demands.streamed.none() &&
      layout.loopingBlocks == 0 && !layout.readsAgain;
  if (layout.loadsSharedBeforeExchange)
    layout.staysPacked = true;
  // What is loaded ahead in a loop is not moved behind other work so.
  Bypass past = demands.hints.bypass.value_or(
      layout.loopingBlocks != 0 ? Bypass::All : Bypass::None);
  for (const TensorAccess &access : demands.accesses) {
    if (past != Bypass::All &&
        past != (access.isInput ? Bypass::Inputs : Bypass::Results))
      continue;
    bool isOwn = true;
    for (unsigned d = 0; d < demands.space.numDims; ++d)
      if (demands.isGrid(d) &&
          demands.capacity[d] < demands.space.staticExtents[d])
        isOwn &= access.dims.test(d);
    // What shared memory keeps is not read by loads; what programs walk twice is
    // read twice.
    bool isOnce =
        llvm::count_if(demands.accesses, [&](const TensorAccess &other) {
          return other.argument == access.argument;
        }) == 1;
    isOnce &= access.readers == 1 || demands.streamed.none();
    if (isOwn && isOnce && access.contiguous)
      layout.movedOnce.push_back(access.argument.getArgNumber());
  }
}

/// As many blocks on a multiprocessor as have threads there, where what they await
/// leaves registers for that.
void LoadTiming::chooseOccupancy() {
  int64_t threads = layout.getThreadsOfBlock();
  int64_t most = demands.limits.countBlocks(threads);
  if (demands.hints.blocks) {
    layout.leastBlocksPerUnit = std::min(*demands.hints.blocks, most);
    return;
  }
  // While one block computes what it has loaded of large windows, another one loads.
  // Registers do for that where not all loads are to be under way before the next kernel
  // starts.
  double window = demands.taps.any() && demands.streamed.none();
  for (unsigned d : demands.taps.set_bits())
    window *= double(demands.capacity[d]);
  if (most > 1 && window >= kLargeWindow) {
    layout.leastBlocksPerUnit = 2;
    layout.startsNextLate = true;
    return;
  }
  // What all blocks read takes no registers while other data is awaited.
  if (demands.streamed.any() || !layout.loadsSharedLate ||
      layout.loadsSharedBeforeExchange)
    return;
  double own = kTemporaries;
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput && !demands.isSharedByBlocks(access))
      own += pressure.registersOf(access);
  if (own <= double(kRegisters) / demands.limits.threadsOfUnit)
    layout.leastBlocksPerUnit = most;
}

/// Before a kernel waits for the one before it, its first blocks can ask the
/// second-level cache for their data: as the blocks of the one before end, these
/// take their place.
void LoadTiming::chooseAhead() {
  if (!demands.limits.overlapsLaunches || demands.isSplit() ||
      demands.hints.prefetch == 0)
    return;
  double bytes = 0, tiles = demands.countTiles();
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput && !demands.isSharedByBlocks(access) &&
        demands.isInOnePiece(access)) {
      layout.ahead.push_back({access.argument.getArgNumber(), access.map,
                              int64_t(demands.bytesOfTile(access))});
      bytes += demands.bytesOfTile(access);
    }
  double most = demands.hints.prefetch ? double(*demands.hints.prefetch << 20)
                                       : kAheadBytes;
  // Without a cluster all of it pays where the blocks of two such kernels run at a
  // time; of others, some take the place of those that have ended while others go on.
  if (layout.cluster == 1 && !demands.hints.prefetch &&
      (bytes * tiles > kShortKernelBytes ||
       2 * tiles * layout.threads >
           double(demands.limits.threadsOfUnit) * demands.getUnits() ||
       2 * layout.threads * (double(pressure.countRegisters()) + kTemporaries) >
           kRegisters)) {
    // While the states of a long fold are merged memory has nothing to do.
    layout.startsNextLate |=
        layout.loadsStepsAhead && bytes * tiles > kAheadBytes;
    most = kLittleAheadBytes * (layout.startsNextLate ? 2 : 1);
    // Not where blocks begin with what all of them read, and not of many that fold.
    bool beginsShared =
        !layout.loadsSharedLate &&
        llvm::any_of(demands.accesses, [&](const TensorAccess &a) {
          return demands.isSharedByBlocks(a);
        });
    bool folds = demands.streamed.any() && !demands.isMapped;
    if (bytes * tiles < 2 * most || beginsShared ||
        (folds && !demands.hasFewBlocks()))
      layout.ahead.clear();
  }
  if (layout.ahead.empty())
    return;
  // Those that run at a time, and no more than the cache holds; where all run, the
  // same part of each tile.
  double running =
      std::max<double>(layout.leastBlocksPerUnit,
                       demands.limits.countBlocks(layout.getThreadsOfBlock())) *
      demands.getUnits() / layout.cluster;
  if (tiles > running) {
    layout.aheadTiles = std::clamp(most / bytes, 1.0, running);
    return;
  }
  for (KeptInput &input : layout.ahead)
    if (bytes * tiles > most)
      input.bytes = int64_t(input.bytes * (most / (bytes * tiles))) / 16 * 16;
}

/// Whether threads combine what they have in every step of a fold: what is loaded
/// for later waits behind it.
bool LoadTiming::exchangesInSteps() const {
  for (unsigned d : demands.reduced.set_bits())
    if (!demands.streamed.test(d) && layout.dims[d].threads > 1)
      return demands.streamed.any();
  return false;
}

/// Few blocks should have all of a step under way.
void LoadTiming::chooseAwaiting() {
  auto isWalked = [&](const TensorAccess &access) {
    return access.isInput && access.dims.anyCommon(demands.streamed);
  };
  if (demands.hints.await)
    layout.awaitsLoads =
        demands.limits.overlapsLaunches && *demands.hints.await;
  else
    layout.awaitsLoads = demands.limits.overlapsLaunches &&
                         layout.kept.empty() && demands.hasFewBlocks() &&
                         layout.getThreadsOfBlock() <= kAwaitingThreads &&
                         llvm::count_if(demands.accesses, isWalked) > 1 &&
                         exchangesInSteps();
  // All blocks run at a time none the less.
  if (layout.awaitsLoads && layout.leastBlocksPerUnit == 0) {
    int64_t wanted =
        llvm::divideCeil(int64_t(demands.countBlocks()), demands.getUnits());
    layout.leastBlocksPerUnit = std::min<int64_t>(
        wanted, demands.limits.countBlocks(layout.getThreadsOfBlock()));
  }
}

bool LoadTiming::chooseStepsAhead() {
  bool isAsked = demands.hints.loop.has_value();
  if (demands.streamed.count() != 1 || !layout.kept.empty() || demands.isMapped)
    return false;
  unsigned main = demands.streamed.find_first();
  double next = 0;
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput && access.dims.anyCommon(demands.streamed))
      next += pressure.registersOf(access);
  // With fewer registers, ptxas loads one step when the other is done.
  double own = double(pressure.countRegisters()) + next +
               double(demands.scanned.any() ? kTemporaries : 0);
  int64_t blocks = kRegisters / (own * layout.getThreadsOfBlock());
  // Of splits there are many blocks at a time, unless few threads have all registers.
  bool hasOthers =
      demands.isSplit() &&
      double(kRegisters) / (double(pressure.countRegisters()) + kTemporaries) >=
          kThreadsOfSplits;
  if (!isAsked &&
      (blocks == 0 || layout.cluster > 1 || hasOthers ||
       demands.capacity[main] < kStepsAhead * layout.dims[main].getSpan() ||
       demands.countTiles() > double(blocks) * demands.getUnits()))
    return false;
  // Narrow elements leave registers for more threads than there are, and more blocks
  // than there are tiles need none.
  int64_t most = std::min<int64_t>(
      demands.limits.countBlocks(layout.getThreadsOfBlock()),
      std::ceil(demands.countTiles() / double(demands.getUnits())));
  layout.leastBlocksPerUnit =
      std::clamp<int64_t>(demands.hints.blocks.value_or(blocks), 1, most);
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput && access.dims.anyCommon(demands.streamed) &&
        !demands.isSharedByBlocks(access) && access.contiguous)
      layout.movedOnce.push_back(access.argument.getArgNumber());
  return true;
}

void LoadTiming::choose() {
  // What memory leaves room for was found before threads were dealt.
  layout.leastBlocksPerUnit =
      std::min<int64_t>(layout.leastBlocksPerUnit,
                        demands.limits.countBlocks(layout.getThreadsOfBlock()));
  chooseRounds();
  chooseCaching();
  if (layout.leastBlocksPerUnit == 0)
    chooseOccupancy();
  if (layout.loopingBlocks == 0 || demands.isStaged(layout))
    chooseAhead();
  if (!layout.loadsStepsAhead)
    chooseAwaiting();
}
