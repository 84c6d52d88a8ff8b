//===- InputPlaces.cpp - where inputs stay that are read twice ------------===//
#include "InputPlaces.h"
#include "Tuning.h"

using namespace mlir;
using namespace redfuse;

std::optional<KeptInput> InputPlaces::find(const RegisterDemands &demands,
                                           const RegisterLayout &layout,
                                           const TensorAccess &access) {
  int64_t elements = 1;
  for (AffineExpr e : access.map.getResults()) {
    auto d = dyn_cast<AffineDimExpr>(e);
    if (!d ||
        (!demands.isGrid(d.getPosition()) &&
         ShapedType::isDynamic(demands.space.staticExtents[d.getPosition()])))
      return std::nullopt;
    elements *= demands.capacity[d.getPosition()];
    if (elements > demands.limits.sharedBytes)
      return std::nullopt;
  }
  // Copied as whole words of the last dim.
  int64_t vector = layout.lanes * access.bytes;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!access.contiguous || layout.dims[*access.contiguous].lanes == 1 ||
      access.type.getElementTypeBitWidth() < 8 ||
      (vector != 4 && vector != 8 && vector != 16) ||
      failed(access.type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) || offset % layout.lanes != 0 ||
      llvm::any_of(ArrayRef(strides).drop_back(), [&](int64_t stride) {
        return ShapedType::isDynamic(stride) || stride % layout.lanes != 0;
      }))
    return std::nullopt;
  return KeptInput{access.argument.getArgNumber(), access.map,
                   int64_t(llvm::alignTo(elements * access.bytes, 128))};
}

/// Whether nests of ops read their tile again instead of holding it: two blocks of
/// as many threads as there can be take turns, and the first-level cache has the
/// tiles of both beside what all blocks read.
bool InputPlaces::chooseCache() {
  bool isAsked = demands.hints.keep == false;
  int64_t blocks = std::max<int64_t>(
      1, demands.limits.countBlocks(
             demands.hints.threads.value_or(demands.getThreadsOfHalf())));
  double elements = 0, bytes = 0;
  for (const TensorAccess &access : demands.accesses) {
    elements = std::max(elements, demands.bytesOfTile(access) / access.bytes);
    if (access.isInput)
      bytes += demands.bytesOfTile(access) *
               (demands.isSharedByBlocks(access) ? 1 : blocks);
  }
  // Shared memory and the first-level cache are one memory.
  if (demands.limits.sharedBytes == 0 ||
      bytes > double(demands.limits.sharedBytes) || demands.hints.loop ||
      demands.hints.keep == true || demands.hints.cluster > 1 ||
      mergesInLaunch(demands.kernel) || demands.isSplit() ||
      elements > 2 * kBlockElements || (!isAsked && elements <= kBlockElements))
    return false;
  layout.leastBlocksPerUnit = blocks;
  layout.hasPolicies = demands.limits.overlapsLaunches;
  return layout.readsAgain = true;
}

/// Whether blocks stay and walk tiles: shared memory keeps what all of them read,
/// and has the next tile under way while registers hold this one. Where a tile is
/// more than the registers of one of several blocks, what all read would come from
/// the second-level cache for every tile.
bool InputPlaces::chooseStages() {
  double elements = 0;
  bool isShared = false;
  for (const TensorAccess &access : demands.accesses) {
    elements = std::max(elements, demands.bytesOfTile(access) / access.bytes);
    isShared |= demands.isSharedByBlocks(access);
  }
  if (demands.limits.sharedBytes == 0 ||
      demands.hints.loop == LoopLoads::Registers ||
      demands.hints.keep == false || demands.hints.cluster > 1 ||
      mergesInLaunch(demands.kernel) || elements > 2 * kBlockElements ||
      demands.isSplit() ||
      (demands.hints.loop != LoopLoads::Copies &&
       (!isShared || elements <= kBlockElements ||
        demands.countTiles() < kRounds * demands.getUnits())))
    return false;
  int64_t all = kExchangeBytes;
  bool hasOwn = false;
  for (const TensorAccess &access : demands.accesses) {
    if (!access.isInput)
      continue;
    std::optional<KeptInput> kept = find(demands, layout, access);
    if (!kept)
      continue;
    all += kept->bytes;
    hasOwn |= !demands.isSharedByBlocks(access);
    layout.kept.push_back(*kept);
  }
  int64_t blocks = demands.limits.sharedBytes / all;
  if (!hasOwn || blocks == 0) {
    layout.kept.clear();
    return false;
  }
  layout.leastBlocksPerUnit = std::min<int64_t>(
      blocks, demands.hints.blocks.value_or(
                  demands.limits.countBlocks(kStayingThreads)));
  return true;
}

/// Whether shared memory keeps all that is read twice, for two blocks of a
/// multiprocessor or more: one computes while others wait for their data.
bool InputPlaces::chooseKept() {
  int64_t all = 0;
  for (const TensorAccess &access : demands.accesses) {
    if (!access.isInput || access.readers < 2 ||
        !access.dims.anyCommon(demands.streamed))
      continue;
    std::optional<KeptInput> kept = find(demands, layout, access);
    if (!kept) {
      layout.kept.clear();
      return false;
    }
    all += kept->bytes;
    layout.kept.push_back(*kept);
  }
  // A block needs some shared memory beside, to exchange results.
  int64_t blocks =
      all == 0 ? 0 : demands.limits.sharedBytes / (all + kExchangeBytes);
  if (blocks < 2) {
    layout.kept.clear();
    return false;
  }
  layout.leastBlocksPerUnit = std::min<int64_t>(
      {blocks, 3, demands.limits.countBlocks(kKeepingThreads)});
  return true;
}
