//===- RegisterDemands.cpp - what a kernel asks of a layout ---------------===//
#include "RegisterDemands.h"
#include "Tuning.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/Windows.h"

using namespace mlir;
using namespace redfuse;

std::string RegisterDemands::findCapacities() {
  for (unsigned d = 0; d < space.numDims; ++d) {
    int64_t extent = space.staticExtents[d], tile = space.tileOf(d);
    bool isGrid =
        space.schedule && llvm::is_contained(space.schedule.getGrid(), d);
    bool isStream =
        space.schedule && llvm::is_contained(space.schedule.getStream(), d);
    capacity[d] = extent;
    if (isStream) {
      streamed.set(d);
      if (ShapedType::isDynamic(extent))
        capacity[d] = 1 << 20;
      // A block's split.
      if (space.schedule.getKind() == ScheduleKind::Split &&
          d == space.schedule.getStream().front())
        capacity[d] = llvm::divideCeil(
            capacity[d], std::max<int64_t>(1, space.schedule.getSplits()));
    } else if (isGrid && tile != 0) {
      capacity[d] =
          ShapedType::isDynamic(extent) ? tile : std::min(tile, extent);
    }
    if (ShapedType::isDynamic(capacity[d]) || capacity[d] <= 0)
      return "how much of a dim a block has is known at run time only";
  }
  return "";
}

/// On the way, which dims occur together.
std::string RegisterDemands::findDims() {
  auto add = [&](const SmallBitVector &set) {
    for (unsigned d : set.set_bits())
      together[d] |= set;
  };
  DenseMap<Value, BlockArgument> destinations = findDestinations(kernel);
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    const TileProgram &program = *programs.find(op)->second;
    if (auto fold = dyn_cast<FoldOp>(op.getOperation())) {
      // States of interleaved parts, merged in any order; but a fold that stores
      // prefixes has one state, which is scanned on.
      if (fold.isOrdered() && (limits.keepsOrder || !fold.hasOutputs()))
        return "a fold combines its elements in their order";
      // Outputs are stored step by step.
      for (Value output : fold.getResults().drop_front(fold.getNumStates()))
        if (!destinations.contains(output))
          return "the kernel itself reads what a fold writes in order";
      for (int64_t d : fold.getOver())
        if (!streamed.test(d))
          return "a fold walks a dim that is not streamed";
      for (Operation &inner : fold.getMerge().front().without_terminator())
        if (isRootOp(&inner) || isa<IndexOp>(inner) ||
            (inner.getNumRegions() != 0 && !isa<CombineOp>(inner)))
          return "a merge of states does more than arithmetic";
    }
    for (const LoopNest &nest : program.getNests()) {
      isMapped |=
          !isa<FoldOp>(op.getOperation()) && nest.dims.anyCommon(streamed);
      if (nest.isOrdered)
        return "a reduction combines its elements in their order";
      add(nest.dims);
      for (Root *root : nest.roots) {
        if (root->kind == Root::Kind::MergeTopk)
          return "it merges lists of a top-k";
        if (root->kind == Root::Kind::Scan) {
          auto scan = cast<ScanOp>(root->op);
          if (scan.getOrdered() && limits.keepsOrder)
            return "a scan combines its elements in their order";
          scanned.set(scan.getDim());
          if (scan.getNumOperands() > 1)
            scannedInParts.set(scan.getDim());
        }
        if (root->kind == Root::Kind::Reduce &&
            root->reduce.getReducer() == Reducer::TopK)
          return "it has a top-k";
        for (unsigned d : nest.over) {
          reduced.set(d);
          // Only a fold reduces what is streamed.
          if (streamed.test(d) && !isa<FoldOp>(op.getOperation()))
            return "something else than a fold reduces what is streamed";
        }
        for (Value v : root->cone)
          add(program.getDimSets()[v]);
      }
    }
    for (AffineMap map : op.getIndexingMapsArray())
      add(getDimsOf(map));
  }
  return "";
}

std::string RegisterDemands::findAccesses(LaunchOp launch) {
  DenseMap<Value, BlockArgument> destinations = findDestinations(kernel);
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    unsigned numInputs = maps.size() - op.getProgramInits().size();
    for (auto [i, map] : llvm::enumerate(maps)) {
      auto it = destinations.find(i < numInputs ? op->getOperand(i)
                                                : op->getResult(i - numInputs));
      if (it == destinations.end())
        continue;
      auto type = dyn_cast<MemRefType>(
          launch->getOperand(it->second.getArgNumber()).getType());
      if (!type || map.getNumResults() == 0)
        continue;
      map = simplifyForExtents(map, space.staticExtents);
      // What several programs read is read once for each.
      auto other = llvm::find_if(accesses, [&](const TensorAccess &access) {
        return access.argument == it->second && access.map == map;
      });
      if (other != accesses.end()) {
        ++other->readers;
        continue;
      }
      TensorAccess access{std::nullopt,
                          getDimsOf(map),
                          bytesOf(type.getElementType()),
                          1,
                          type,
                          i < numInputs,
                          it->second,
                          map};
      SmallVector<int64_t> strides;
      int64_t offset;
      // Neighbours in memory may begin anywhere.
      auto last =
          dyn_cast<AffineDimExpr>(withoutOffset(map.getResults().back()));
      if (last && succeeded(type.getStridesAndOffset(strides, offset)) &&
          strides.back() == 1 &&
          llvm::none_of(map.getResults().drop_back(), [&](AffineExpr e) {
            return e.isFunctionOfDim(last.getPosition());
          }))
        access.contiguous = last.getPosition();
      for (int64_t extent : type.getShape())
        access.size *= getAssumedExtent(extent);
      access.size *= access.bytes;
      accesses.push_back(std::move(access));
    }
  }
  llvm::stable_sort(accesses, [](const TensorAccess &a, const TensorAccess &c) {
    return a.size > c.size;
  });
  // An index has no bits of its own to be moved as words.
  if (llvm::any_of(accesses, [](const TensorAccess &access) {
        return access.type.getElementType().isIndex();
      }))
    return "it moves numbers of type index";
  return "";
}

/// In a pooling or a depthwise convolution, what neighbouring results read overlaps. A
/// thread has the elements of windows to itself, so that nothing is exchanged, and
/// several results one below the other: elements that their windows share are loaded
/// once. Neighbours in memory are read by neighbouring threads, and what blocks read
/// of the same rows is in the first-level cache.
void RegisterDemands::findWindows() {
  if (streamed.any() || scanned.any())
    return;
  SmallVector<AffineMap> maps;
  for (const TensorAccess &access : accesses)
    if (access.isInput)
      maps.push_back(access.map);
  taps = findTaps(maps, reduced, [&](unsigned d) {
    // An open one is no window, whatever it is.
    int64_t extent = space.staticExtents[d];
    return ShapedType::isDynamic(extent) ? 1e9 : double(extent);
  });
}

std::optional<RegisterDemands>
RegisterDemands::find(KernelOp kernel, LaunchOp launch,
                      const KernelSpace &space, const KernelPrograms &programs,
                      const DeviceLimits &limits, std::string &why) {
  RegisterDemands demands(kernel, space, programs, limits);
  why = demands.findCapacities();
  if (why.empty())
    why = demands.findDims();
  if (why.empty())
    why = demands.findAccesses(launch);
  if (!why.empty())
    return std::nullopt;
  demands.findWindows();
  return demands;
}

RegisterDemands RegisterDemands::whereStreamIsHeld() const {
  RegisterDemands held = *this;
  held.streamed.reset();
  return held;
}

bool RegisterDemands::canHoldStream() const {
  if (!isMapped || isSplit())
    return false;
  for (unsigned d : streamed.set_bits())
    if (ShapedType::isDynamic(space.staticExtents[d]))
      return false;
  return llvm::all_of(accesses, [&](const TensorAccess &access) {
    double n = 1;
    for (unsigned d : access.dims.set_bits())
      n *= capacity[d];
    return n <= std::max(kBlockElements, kClusterElements * limits.cluster);
  });
}

bool RegisterDemands::isMultiple(unsigned d, int64_t by) const {
  int64_t extent = space.staticExtents[d];
  if (by == 1)
    return true;
  if (ShapedType::isDynamic(extent) || extent % by != 0)
    return false;
  return streamed.test(d) || capacity[d] % by == 0;
}

bool RegisterDemands::canOverlap(unsigned d, int64_t lanes) const {
  return streamed.any() && !streamed.test(d) && !reduced.test(d) &&
         !scanned.test(d) && !ShapedType::isDynamic(space.staticExtents[d]) &&
         space.staticExtents[d] >= lanes;
}

bool RegisterDemands::canEndInRun(unsigned d) const {
  return llvm::none_of(accesses, [&](const TensorAccess &access) {
    return access.map.getNumResults() != 0 &&
           access.map.getResults().back().isFunctionOfDim(d);
  });
}

double RegisterDemands::countTiles() const {
  double tiles = 1;
  for (unsigned d = 0; d < space.numDims; ++d)
    if (isGrid(d))
      tiles *= ShapedType::isDynamic(space.staticExtents[d])
                   ? double(kDynamicExtent)
                   : std::ceil(double(space.staticExtents[d]) / capacity[d]);
  return tiles;
}

double RegisterDemands::countBlocks() const {
  double blocks = countTiles();
  if (mergesInLaunch(kernel, space))
    blocks *= space.schedule.getSplits();
  return blocks;
}

bool RegisterDemands::hasFewBlocks() const {
  return countBlocks() < kFewBlocks * getUnits();
}

double RegisterDemands::bytesOfTile(const TensorAccess &access) const {
  double bytes = access.bytes;
  for (unsigned d : access.dims.set_bits())
    bytes *= taps.test(d) ? 1 : capacity[d];
  return bytes;
}

bool RegisterDemands::isSharedByBlocks(const TensorAccess &access) const {
  return access.isInput && countTiles() > 1 &&
         llvm::none_of(access.dims.set_bits(),
                       [&](unsigned d) { return isGrid(d); });
}

bool RegisterDemands::isInOnePiece(const TensorAccess &access) const {
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
