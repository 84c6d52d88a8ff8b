//===- RegisterLayout.cpp - which thread holds what -----------------------===//
#include "RegisterPlanner.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

bool RegisterPlanner::findCapacities() {
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
      return refuse("how much of a dim a block has is known at run time only");
  }
  return true;
}

/// Whether registers can hold what the programs do; on the way, which dims occur
/// together.
bool RegisterPlanner::checkPrograms() {
  auto add = [&](const SmallBitVector &set) {
    for (unsigned d : set.set_bits())
      together[d] |= set;
  };
  DenseMap<Value, BlockArgument> destinations = findDestinations(kernel);
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    const TileProgram &program = *programs.find(op)->second;
    if (auto fold = dyn_cast<FoldOp>(op.getOperation())) {
      // States of interleaved parts, merged in any order.
      if (fold.isOrdered())
        return refuse("a fold combines its elements in their order");
      // Outputs are stored step by step.
      for (Value output : fold.getResults().drop_front(fold.getNumStates()))
        if (!destinations.contains(output))
          return refuse("the kernel itself reads what a fold writes in order");
      for (int64_t d : fold.getOver())
        if (!streamed.test(d))
          return refuse("a fold walks a dim that is not streamed");
      for (Operation &inner : fold.getMerge().front().without_terminator())
        if (isRootOp(&inner) || isa<IndexOp>(inner) ||
            (inner.getNumRegions() != 0 && !isa<CombineOp>(inner)))
          return refuse("a merge of states does more than arithmetic");
    }
    for (const LoopNest &nest : program.getNests()) {
      isMapped |=
          !isa<FoldOp>(op.getOperation()) && nest.dims.anyCommon(streamed);
      if (nest.isOrdered)
        return refuse("a reduction combines its elements in their order");
      add(nest.dims);
      for (Root *root : nest.roots) {
        if (root->kind == Root::Kind::MergeTopk)
          return refuse("it merges lists of a top-k");
        if (root->kind == Root::Kind::Scan) {
          auto scan = cast<ScanOp>(root->op);
          if (scan.getOrdered())
            return refuse("a scan combines its elements in their order");
          scanned.set(scan.getDim());
        }
        if (root->kind == Root::Kind::Reduce &&
            root->reduce.getReducer() == Reducer::TopK)
          return refuse("it has a top-k");
        for (unsigned d : nest.over) {
          reduced.set(d);
          // Only a fold reduces what is streamed.
          if (streamed.test(d) && !isa<FoldOp>(op.getOperation()))
            return refuse(
                "something else than a fold reduces what is streamed");
        }
        for (Value v : root->cone)
          add(program.getDimSets()[v]);
      }
    }
    for (AffineMap map : op.getIndexingMapsArray())
      add(getDimsOf(map));
  }
  return true;
}

void RegisterPlanner::findAccesses() {
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
      auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
      if (last && succeeded(type.getStridesAndOffset(strides, offset)) &&
          strides.back() == 1 &&
          llvm::none_of(map.getResults().drop_back(), [&](AffineExpr e) {
            return e.isFunctionOfDim(last.getPosition());
          }))
        access.contiguous = last.getPosition();
      for (int64_t extent : type.getShape())
        access.size *= ShapedType::isDynamic(extent) ? 1024.0 : double(extent);
      access.size *= access.bytes;
      accesses.push_back(std::move(access));
    }
  }
  llvm::stable_sort(accesses, [](const TensorAccess &a, const TensorAccess &c) {
    return a.size > c.size;
  });
}

/// Whether all tiles of a dim hold a multiple of `by` and start at one.
bool RegisterPlanner::isMultiple(unsigned d, int64_t by) const {
  int64_t extent = space.staticExtents[d];
  if (by == 1)
    return true;
  if (ShapedType::isDynamic(extent) || extent % by != 0)
    return false;
  return streamed.test(d) || capacity[d] % by == 0;
}

void RegisterPlanner::chooseLanes() {
  int64_t lanes = 1;
  for (const TensorAccess &access : accesses) {
    if (!access.contiguous)
      continue;
    unsigned d = *access.contiguous;
    int64_t most = std::clamp<int64_t>(16 / access.bytes, 1, 8);
    if (capacity[d] < most)
      continue;
    if (lanes == 1) {
      // The largest tensor decides how many: 16 bytes of it.
      while (most > 1 && !isMultiple(d, most))
        most /= 2;
      lanes = most;
      if (lanes == 1)
        return;
    }
    if (layout.dims[d].lanes != 1 || !isMultiple(d, lanes))
      continue;
    bool isAlone = true;
    for (unsigned other : together[d].set_bits())
      isAlone &= layout.dims[other].lanes == 1;
    if (isAlone)
      layout.dims[d].lanes = lanes;
  }
  layout.lanes = lanes;
}

/// Threads up to which a dim of scans, whose share begins at `bit`, has some. A warp needs no shared memory; where few
/// have rows, or registers hold all of one, there are more.
int64_t RegisterPlanner::countScanning(unsigned d, unsigned bit) const {
  double warps = countTiles() / getTargetOf(kernel).getUnits();
  if (hints.threads)
    return std::max<int64_t>(limits.warp, *hints.threads);
  if (!streamed.test(d)) {
    int64_t vectors = llvm::divideCeil(kScanElements, layout.lanes);
    int64_t threads = llvm::PowerOf2Ceil(vectorsOf(d) / vectors);
    return std::max<int64_t>(limits.warp, threads << bit);
  }
  return warps >= kScanningWarps ? limits.warp : kScanThreads;
}

/// Gives a dim the bits behind those of the dims that occur with it.
void RegisterPlanner::giveThreads(unsigned d, int64_t threads) {
  if (threads <= 1 || layout.dims[d].threads != 1)
    return;
  unsigned bit = 0;
  for (unsigned other : together[d].set_bits())
    if (other != d && layout.dims[other].threads > 1)
      bit = std::max<unsigned>(bit,
                               layout.dims[other].bit +
                                   llvm::Log2_64(layout.dims[other].threads));
  int64_t most = layout.threads;
  if (scanned.test(d))
    most = std::min(most, countScanning(d, bit));
  while (threads > 1 && (threads << bit) > most)
    threads /= 2;
  if (threads > 1) {
    layout.dims[d].threads = threads;
    layout.dims[d].bit = bit;
  }
}

/// Everything at once: rows over warps, a row over neighbouring threads.
void RegisterPlanner::dealResident() {
  std::optional<unsigned> row;
  for (const TensorAccess &access : accesses)
    if (access.contiguous && capacity[*access.contiguous] > 1) {
      row = access.contiguous;
      break;
    }
  if (row && taps.any())
    return dealWindows(*row);
  SmallBitVector all(space.numDims);
  for (const TensorAccess &access : accesses)
    all |= access.dims;
  int64_t most = 1;
  for (const TensorAccess &access : accesses) {
    int64_t n = 1;
    for (unsigned d : access.dims.set_bits())
      n = std::min<int64_t>(n * vectorsOf(d), 1 << 24);
    most = std::max(most, n);
  }
  int64_t each = std::max<int64_t>(1, kThreadElements / layout.lanes);
  int64_t threads = std::clamp<int64_t>(
      llvm::PowerOf2Ceil(llvm::divideCeil(most, each)),
      limits.warp * layout.cluster, kMaxThreads * layout.cluster);
  if (most > threads * each * kCrowded)
    threads = std::min<int64_t>(threads * 2, kBlockThreads * layout.cluster);
  if (layout.readsAgain)
    threads = std::min<int64_t>(kThreadsOfUnit / 2, llvm::PowerOf2Ceil(most));
  if (hints.threads)
    threads = std::max<int64_t>(*hints.threads, limits.warp) * layout.cluster;
  layout.threads = threads;
  SmallVector<unsigned> order;
  if (row) {
    int64_t others = 1;
    for (unsigned d : together[*row].set_bits())
      if (d != *row)
        others *= capacity[d];
    int64_t own = llvm::PowerOf2Ceil(vectorsOf(*row));
    // A warp has a short row to itself: nothing goes through shared memory.
    if (own * layout.lanes <= 32 * limits.warp && others > 1) {
      own = std::min<int64_t>(own, limits.warp);
      layout.threads = threads = std::clamp<int64_t>(
          own * llvm::PowerOf2Ceil(others), limits.warp, threads);
    }
    int64_t wanted = std::max<int64_t>(
        std::min<int64_t>(own, limits.warp),
        threads / std::max<int64_t>(1, llvm::bit_floor(uint64_t(others))));
    giveThreads(*row, std::min(own, wanted));
    order.push_back(*row);
  }
  // Lanes elsewhere, then what is kept, then what is reduced.
  for (int pass = 0; pass < 3; ++pass)
    for (unsigned d = space.numDims; d-- > 0;) {
      int mine = layout.dims[d].lanes > 1 ? 0 : reduced.test(d) ? 2 : 1;
      if (mine == pass && all.test(d) && capacity[d] > 1)
        giveThreads(d, llvm::PowerOf2Ceil(vectorsOf(d)));
    }
}

/// Tiles of the grid.
double RegisterPlanner::countTiles() const {
  double tiles = 1;
  for (unsigned d = 0; d < space.numDims; ++d)
    if (isGrid(d))
      tiles *= ShapedType::isDynamic(space.staticExtents[d])
                   ? 1024.0
                   : std::ceil(double(space.staticExtents[d]) / capacity[d]);
  return tiles;
}

double RegisterPlanner::countBlocks() const {
  double blocks = countTiles();
  if (mergesInLaunch(kernel, space))
    blocks *= space.schedule.getSplits();
  return blocks;
}

/// Whether the blocks are so few that each needs more bytes under way.
bool RegisterPlanner::hasFewBlocks() const {
  return countBlocks() < kFewBlocks * getTargetOf(kernel).getUnits();
}

/// Threads of a block that streams, unless a schedule asks for others. What few have
/// under way at once takes few: the less is to exchange. Of long tiles for a few
/// rounds of blocks, not all blocks should run at a time: they would end together.
int64_t RegisterPlanner::countStreamingThreads(bool readsTwice) const {
  if (layout.cluster > 1)
    return kClusterThreads;
  double elements = 0;
  for (const TensorAccess &access : accesses)
    if (access.isInput && access.dims.anyCommon(streamed))
      elements = std::max(elements, bytesOfTile(access) / access.bytes);
  bool isLong = elements >= kLongElements &&
                countBlocks() <= kLongRounds * getTargetOf(kernel).getUnits();
  return readsTwice || isLong ? kMaxThreads : kStreamingThreads;
}

/// Of a tile of the grid.
double RegisterPlanner::bytesOfTile(const TensorAccess &access) const {
  double bytes = access.bytes;
  for (unsigned d : access.dims.set_bits())
    bytes *= taps.test(d) ? 1 : capacity[d];
  return bytes;
}

/// Whether all blocks read the same.
bool RegisterPlanner::isSharedByBlocks(const TensorAccess &access) const {
  return access.isInput && countTiles() > 1 &&
         llvm::none_of(access.dims.set_bits(),
                       [&](unsigned d) { return isGrid(d); });
}

/// Dims that are whole in a tile first, as far as neighbours in memory ask for
/// it, and up to `most` threads each; the streamed ones take the rest.
void RegisterPlanner::dealStreamed(int64_t threads, int64_t most) {
  layout.threads = threads * layout.cluster;
  // Where no vectors fit its extent, neighbours in memory have a thread each.
  std::optional<unsigned> row;
  if (!accesses.empty())
    row = accesses.front().contiguous;
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (streamed.test(d) || (layout.dims[d].lanes == 1 && d != row))
      continue;
    int64_t vectors = vectorsOf(d);
    int64_t threads = vectors & -vectors;
    if (threads < 4)
      threads = llvm::PowerOf2Ceil(vectors);
    giveThreads(d, std::min(threads, most));
  }
  // The one along which memory is contiguous, else the longest.
  std::optional<unsigned> main;
  for (const TensorAccess &access : accesses)
    if (!main && access.contiguous && streamed.test(*access.contiguous))
      main = access.contiguous;
  for (unsigned d : streamed.set_bits())
    if (!main ||
        (capacity[d] > capacity[*main] && layout.dims[*main].lanes == 1 &&
         !llvm::any_of(accesses, [&](const TensorAccess &a) {
           return a.contiguous == *main;
         })))
      main = d;
  if (!main)
    return;
  giveThreads(*main, llvm::PowerOf2Ceil(vectorsOf(*main)));
  for (unsigned d : streamed.set_bits())
    giveThreads(d, llvm::PowerOf2Ceil(vectorsOf(d)));
}

/// Whether data that is read again after the fold fits in registers whole.
bool RegisterPlanner::canHoldStream() const {
  if (!isMapped || (space.schedule.getKind() == ScheduleKind::Split))
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

void RegisterPlanner::chooseRepeats() {
  for (unsigned d = 0; d < space.numDims; ++d) {
    DimShare &share = layout.dims[d];
    share.repeats = 1;
    if (!streamed.test(d))
      share.repeats =
          share.run *
          llvm::divideCeil(capacity[d], share.getPiece() * share.threads);
  }
  if (streamed.none())
    return;
  // Elements that a thread has under way: what a step costs beside them is
  // shared by them.
  double elements = 0;
  std::optional<unsigned> main;
  for (unsigned d : streamed.set_bits())
    if (!main || layout.dims[d].getSpan() > layout.dims[*main].getSpan())
      main = d;
  for (const TensorAccess &access : accesses)
    if (access.isInput && access.dims.test(*main))
      elements += localOf(access.dims);
  double most = !layout.kept.empty() ? kKeptStep
                : hasFewBlocks()     ? kLongStep
                                     : kStep;
  if (layout.loadsStepsAhead)
    most /= 2;
  if (hints.step)
    most = *hints.step;
  // Along one dim, and where that is no longer, along the others too.
  int64_t repeats = 1;
  auto lengthen = [&](unsigned d) {
    DimShare &share = layout.dims[d];
    for (; elements > 0 && elements * repeats * 2 <= most &&
           repeats < kMostRepeats && share.getSpan() * 2 <= capacity[d];
         repeats *= 2)
      share.repeats *= 2;
  };
  lengthen(*main);
  for (unsigned d : streamed.set_bits())
    lengthen(d);
}

int64_t RegisterPlanner::countRegisters() {
  auto words = [](Type type) {
    return double(std::max<int64_t>(bytesOf(type), 1)) / 4;
  };
  DenseMap<Value, BlockArgument> destinations = findDestinations(kernel);
  double kept = 0, most = 0;
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    TileProgram &program = *programs.find(op)->second;
    for (auto &[value, of] : program.getBuffers())
      kept += std::max(1.0, words(value.getType())) *
              localOf(program.getDimSets()[value]);
    for (auto [i, arg] : llvm::enumerate(program.getBody().getArguments())) {
      auto fold = dyn_cast<FoldOp>(op.getOperation());
      if (fold && i >= fold.getInputs().size())
        kept += std::max(1.0, words(arg.getType())) *
                localOf(program.getDimSets()[arg]);
      else if (auto it = destinations.find(op->getOperand(i));
               it != destinations.end() && !layout.readsAgain &&
               (isStaged || !isKept(it->second)) && !isLoadedLate(it->second))
        kept += words(arg.getType()) *
                localOf(getDimsOf(op.getMapOfBodyArgument(i)));
    }
    for (const LoopNest &nest : program.getNests()) {
      double own = 0;
      SmallBitVector into = nest.dims;
      for (unsigned d : nest.over)
        if (layout.dims[d].lanes == 1)
          into.reset(d);
      SmallBitVector lanes = into;
      for (unsigned d : nest.over)
        if (layout.dims[d].lanes > 1)
          lanes.reset(d);
      double points = localOf(lanes);
      if (lanes != into)
        points *= layout.lanes;
      for (Root *root : nest.roots)
        if (root->kind == Root::Kind::Reduce || root->kind == Root::Kind::Scan)
          own += points * root->op->getNumOperands();
      most = std::max(most, own);
    }
  }
  return kept + most;
}

int64_t RegisterPlanner::countCode() const {
  double code = 0;
  for (auto &[op, program] : programs)
    for (const LoopNest &nest : program->getNests()) {
      double points = 1, ops = 1;
      for (unsigned d : nest.dims.set_bits())
        points *= layout.dims[d].repeats;
      for (Root *root : nest.roots)
        ops += root->cone.size();
      code += points * ops;
    }
  return std::min(code, 1e9);
}

/// Chooses the rest of a layout; whether registers hold it.
bool RegisterPlanner::complete() {
  unsigned end = 0;
  for (const DimShare &share : layout.dims)
    end = std::max<unsigned>(end, share.bit + llvm::Log2_64(share.threads));
  layout.threads =
      std::max<int64_t>(limits.warp * layout.cluster, int64_t(1) << end);
  chooseRepeats();
  // What a multiprocessor has for each thread of one block.
  int64_t blocks = std::max<int64_t>(1, layout.leastBlocksPerUnit);
  // What is kept elsewhere can be read again.
  int64_t temporaries =
      layout.kept.empty() && !layout.readsAgain ? kTemporaries : 0;
  int64_t most = std::min<int64_t>(
      kMaxRegisters,
      kRegisters / (layout.getThreadsOfBlock() * blocks) - temporaries);
  return countRegisters() <= most && countCode() <= kMaxCode;
}

/// How many blocks of a multiprocessor can read their rows a second time from
/// the cache.
int64_t RegisterPlanner::countCachedBlocks() const {
  double bytes = 0;
  for (const TensorAccess &access : accesses)
    if (access.isInput && access.dims.anyCommon(streamed)) {
      double own = access.bytes;
      for (unsigned d : access.dims.set_bits())
        own *= capacity[d];
      bytes = std::max(bytes, own);
    }
  double units = getTargetOf(kernel).getUnits();
  return std::clamp<double>(kCachedBytes / units / std::max(1.0, bytes),
                            kLeastCachedBlocks, kMostCachedBlocks);
}

/// A block's part of an input, if it can be copied into shared memory.
std::optional<KeptInput>
RegisterPlanner::keptInputOf(const TensorAccess &access) const {
  int64_t elements = 1;
  for (AffineExpr e : access.map.getResults()) {
    auto d = dyn_cast<AffineDimExpr>(e);
    if (!d || (!isGrid(d.getPosition()) &&
               ShapedType::isDynamic(space.staticExtents[d.getPosition()])))
      return std::nullopt;
    elements *= capacity[d.getPosition()];
    if (elements > sharedBytes)
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
bool RegisterPlanner::chooseAgain() {
  bool isAsked = hints.keep == false;
  int64_t threads = hints.threads.value_or(kThreadsOfUnit / 2);
  int64_t blocks = std::max<int64_t>(1, kThreadsOfUnit / threads);
  double elements = 0, bytes = 0;
  for (const TensorAccess &access : accesses) {
    elements = std::max(elements, bytesOfTile(access) / access.bytes);
    if (access.isInput)
      bytes += bytesOfTile(access) * (isSharedByBlocks(access) ? 1 : blocks);
  }
  // Shared memory and the first-level cache are one memory.
  if (sharedBytes == 0 || bytes > double(sharedBytes) || hints.loop ||
      hints.keep == true || hints.cluster > 1 || mergesInLaunch(kernel) ||
      (space.schedule && space.schedule.getKind() == ScheduleKind::Split) ||
      elements > 2 * kBlockElements || (!isAsked && elements <= kBlockElements))
    return false;
  layout.leastBlocksPerUnit = blocks;
  layout.hasPolicies = limits.overlapsLaunches;
  return layout.readsAgain = true;
}

/// Whether blocks stay and walk tiles: shared memory keeps what all of them read,
/// and has the next tile under way while registers hold this one. Where a tile is
/// more than the registers of one of several blocks, what all read would come from
/// the second-level cache for every tile.
bool RegisterPlanner::chooseStaged() {
  double elements = 0;
  bool isShared = false;
  for (const TensorAccess &access : accesses) {
    elements = std::max(elements, bytesOfTile(access) / access.bytes);
    isShared |= isSharedByBlocks(access);
  }
  if (sharedBytes == 0 || hints.loop == LoopLoads::Registers ||
      hints.keep == false || hints.cluster > 1 || mergesInLaunch(kernel) ||
      elements > 2 * kBlockElements ||
      (space.schedule && space.schedule.getKind() == ScheduleKind::Split) ||
      (hints.loop != LoopLoads::Copies &&
       (!isShared || elements <= kBlockElements ||
        countTiles() < kRounds * getTargetOf(kernel).getUnits())))
    return false;
  int64_t all = kExchangeBytes;
  bool hasOwn = false;
  for (const TensorAccess &access : accesses) {
    if (!access.isInput)
      continue;
    std::optional<KeptInput> kept = keptInputOf(access);
    if (!kept)
      continue;
    all += kept->bytes;
    hasOwn |= !isSharedByBlocks(access);
    layout.kept.push_back(*kept);
  }
  int64_t blocks = sharedBytes / all;
  if (!hasOwn || blocks == 0) {
    layout.kept.clear();
    return false;
  }
  layout.leastBlocksPerUnit = std::min<int64_t>(
      blocks, hints.blocks.value_or(kThreadsOfUnit / kStayingThreads));
  return isStaged = true;
}

/// Whether shared memory keeps all that is read twice, for two blocks of a
/// multiprocessor or more: one computes while others wait for their data.
bool RegisterPlanner::chooseKept() {
  int64_t all = 0;
  for (const TensorAccess &access : accesses) {
    if (!access.isInput || access.readers < 2 ||
        !access.dims.anyCommon(streamed))
      continue;
    std::optional<KeptInput> kept = keptInputOf(access);
    if (!kept)
      return false;
    all += kept->bytes;
    layout.kept.push_back(*kept);
  }
  // A block needs some shared memory beside, to exchange results.
  int64_t blocks = all == 0 ? 0 : sharedBytes / (all + kExchangeBytes);
  if (blocks < 2) {
    layout.kept.clear();
    return false;
  }
  layout.leastBlocksPerUnit =
      std::min<int64_t>({blocks, 3, kThreadsOfUnit / kKeepingThreads});
  return true;
}

bool RegisterPlanner::analyse() {
  if (!findCapacities() || !checkPrograms())
    return false;
  findAccesses();
  findWindows();
  // An index has no bits of its own to be moved as words.
  if (llvm::any_of(accesses, [](const TensorAccess &access) {
        return access.type.getElementType().isIndex();
      }))
    return refuse("it moves numbers of type index");
  return true;
}

std::optional<RegisterLayout> RegisterPlanner::run() {
  if (!analyse())
    return std::nullopt;
  layout.dims.resize(space.numDims);
  layout.warp = limits.warp;
  // A window's elements have no place in vectors: they are read one by one.
  if (taps.any())
    layout.lanes = 1;
  else
    chooseLanes();
  RegisterLayout lanes = layout;
  // What is held is not streamed.
  SmallBitVector walked = streamed;
  if (canHoldStream())
    streamed.reset();
  if (streamed.none()) {
    if (chooseTransposed()) {
      if (complete())
        return finish();
      layout = lanes;
    }
    if (taps.none() && chooseAgain()) {
      dealResident();
      if (complete())
        return finish();
      layout = lanes;
    }
    if (taps.none() && chooseStaged()) {
      RegisterLayout staged = layout;
      for (; staged.leastBlocksPerUnit > 0; --staged.leastBlocksPerUnit) {
        layout = staged;
        dealResident();
        if (complete())
          return finish();
      }
      isStaged = false;
      layout = lanes;
    }
    if (chooseCluster(/*isHeld=*/true)) {
      dealResident();
      if (complete())
        return finish();
    }
    if (walked.none())
      return std::nullopt;
    streamed = walked;
    layout = lanes;
  }
  if (!chooseCluster(/*isHeld=*/false))
    return std::nullopt;
  lanes = layout;
  bool readsTwice = isMapped && space.schedule.getKind() != ScheduleKind::Split;
  if (readsTwice && streamed.count() == 1 && layout.cluster == 1 &&
      hints.keep != false && chooseKept()) {
    dealStreamed(kKeepingThreads, limits.warp);
    if (complete())
      return finish();
    layout = lanes;
  }
  int64_t asked = hints.threads.value_or(0),
          most = asked ? std::max<int64_t>(asked, 128)
                       : countStreamingThreads(readsTwice);
  auto tryStreaming = [&](bool isAhead, int64_t threads, int64_t sharing) {
    layout = lanes;
    layout.loadsStepsAhead = isAhead;
    dealStreamed(threads, sharing);
    return complete() && (!isAhead || chooseStepsAhead());
  };
  // What is whole in a step is shared by the lanes of a warp; where that is more than
  // their registers hold, by a block.
  for (int64_t sharing : {limits.warp, kBlockThreads})
    for (bool isAhead : {true, false})
      for (int64_t threads : {1024, 512, 256, 128}) {
        if (threads > most)
          continue;
        if (!tryStreaming(isAhead, threads, sharing)) {
          // One step at a time by all these threads is better than two by fewer.
          if (isAhead && asked == 0)
            break;
          continue;
        }
        // Shared memory that nobody uses keeps further blocks away.
        int64_t blocks = countCachedBlocks() + 1;
        if (readsTwice && sharedBytes != 0 &&
            blocks * layout.threads <= kThreadsOfUnit)
          layout.leastSharedBytes = sharedBytes / blocks + 1024;
        return finish();
      }
  return std::nullopt;
}

std::optional<RegisterLayout>
redfuse::planRegisters(KernelOp kernel, LaunchOp launch,
                       const KernelSpace &space, const KernelPrograms &programs,
                       const DeviceLimits &limits, std::string &why) {
  RegisterPlanner planner(kernel, launch, space, programs, limits);
  std::optional<RegisterLayout> layout = planner.run();
  if (!layout)
    why = planner.getRefusal();
  return layout;
}
