//===- ThreadShares.cpp - which thread has what of a tile -----------------===//
#include "ThreadShares.h"
#include "RegisterPressure.h"
#include "Tuning.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/Windows.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Whether vectors along a dim of odd extent are worth it: stores of them are of single
/// elements, and few where little is stored.
bool ThreadShares::shouldOverlap(unsigned d, int64_t lanes) const {
  if (!demands.canOverlap(d, lanes))
    return false;
  double inputs = 0, results = 0;
  for (const TensorAccess &access : demands.accesses)
    (access.isInput ? inputs : results) += access.size;
  return demands.capacity[d] >= kOverlappedVectors * lanes &&
         results * kOverlappedVectors <= inputs;
}

void ThreadShares::chooseLanes() {
  int64_t lanes = 1;
  for (const TensorAccess &access : demands.accesses) {
    if (!access.contiguous)
      continue;
    unsigned d = *access.contiguous;
    // Elements in parts cost more to exchange: a thread has as many as there are of the
    // narrowest tensor.
    int64_t bytes = access.bytes;
    if (demands.scannedInParts.test(d))
      for (const TensorAccess &other : demands.accesses)
        if (other.contiguous == d)
          bytes = std::min<int64_t>(bytes, other.bytes);
    int64_t most = std::clamp<int64_t>(16 / bytes, 1, 8);
    if (demands.capacity[d] < most)
      continue;
    if (lanes == 1) {
      // The largest tensor decides how many: 16 bytes of it.
      while (most > 1 && !demands.isMultiple(d, most) &&
             !shouldOverlap(d, most))
        most /= 2;
      lanes = most;
      if (lanes == 1)
        return;
    }
    if (layout.dims[d].lanes != 1 ||
        (!demands.isMultiple(d, lanes) && !shouldOverlap(d, lanes)))
      continue;
    bool isAlone = true;
    for (unsigned other : demands.together[d].set_bits())
      isAlone &= layout.dims[other].lanes == 1;
    if (isAlone)
      layout.dims[d].lanes = lanes;
  }
  layout.lanes = lanes;
}

/// Threads up to which a dim of scans, whose share begins at `bit`, has some. A warp
/// needs no shared memory; where few have rows, or registers hold all of one, there are
/// more.
int64_t ThreadShares::countScanning(unsigned d, unsigned bit) const {
  double warps = demands.countTiles() / demands.getUnits();
  if (demands.hints.threads)
    return std::max<int64_t>(demands.limits.warp, *demands.hints.threads);
  if (!demands.streamed.test(d)) {
    int64_t vectors = llvm::divideCeil(kScanElements, layout.lanes);
    int64_t threads = llvm::PowerOf2Ceil(vectorsOf(d) / vectors);
    return std::max<int64_t>(demands.limits.warp, threads << bit);
  }
  return warps >= kScanningWarps ? demands.limits.warp : kScanThreads;
}

/// Gives a dim the bits behind those of the dims that occur with it.
void ThreadShares::giveThreads(unsigned d, int64_t threads) {
  if (threads <= 1 || layout.dims[d].threads != 1)
    return;
  unsigned bit = 0;
  for (unsigned other : demands.together[d].set_bits())
    if (other != d && layout.dims[other].threads > 1)
      bit = std::max<unsigned>(bit,
                               layout.dims[other].bit +
                                   llvm::Log2_64(layout.dims[other].threads));
  int64_t most = layout.threads;
  if (demands.scanned.test(d))
    most = std::min(most, countScanning(d, bit));
  while (threads > 1 && (threads << bit) > most)
    threads /= 2;
  if (threads > 1) {
    layout.dims[d].threads = threads;
    layout.dims[d].bit = bit;
  }
}

/// Threads for a row of results first, then for others, innermost first, but not where a
/// thread has neighbours to itself, whose windows share elements.
void ThreadShares::dealWindows(unsigned row) {
  SmallVector<AffineMap> maps;
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput)
      maps.push_back(access.map);
  std::optional<unsigned> window = findWindowDim(maps, demands.taps, row);
  layout.threads = std::max<int64_t>(
      demands.hints.threads.value_or(kTapThreads), demands.limits.warp);
  giveThreads(row, llvm::PowerOf2Ceil(vectorsOf(row)));
  for (unsigned d = demands.space.numDims; d-- > 0;)
    if (!demands.taps.test(d) && d != window)
      giveThreads(d, llvm::PowerOf2Ceil(vectorsOf(d)));
}

void ThreadShares::dealResident() {
  std::optional<unsigned> row;
  for (const TensorAccess &access : demands.accesses)
    if (access.contiguous && demands.capacity[*access.contiguous] > 1) {
      row = access.contiguous;
      break;
    }
  if (row && demands.taps.any())
    return dealWindows(*row);
  SmallBitVector all(demands.space.numDims);
  for (const TensorAccess &access : demands.accesses)
    all |= access.dims;
  int64_t most = 1;
  for (const TensorAccess &access : demands.accesses) {
    int64_t n = 1;
    for (unsigned d : access.dims.set_bits())
      n = std::min<int64_t>(n * vectorsOf(d), 1 << 24);
    most = std::max(most, n);
  }
  // Of many tensors that a map reads, it has fewer elements each.
  int64_t elements = kThreadElements;
  if (demands.reduced.none() && demands.scanned.none()) {
    int64_t inputs =
        llvm::count_if(demands.accesses, [&](const TensorAccess &access) {
          return access.isInput && access.dims == all;
        });
    elements = elements * kMapInputs / std::max(kMapInputs, inputs);
  }
  int64_t each = std::max<int64_t>(1, elements / layout.lanes);
  int64_t threads = std::clamp<int64_t>(
      llvm::PowerOf2Ceil(llvm::divideCeil(most, each)),
      demands.limits.warp * layout.cluster, kMaxThreads * layout.cluster);
  if (most > threads * each * kCrowded)
    threads = std::min<int64_t>(threads * 2, kBlockThreads * layout.cluster);
  if (layout.readsAgain)
    threads =
        std::min<int64_t>(demands.getThreadsOfHalf(), llvm::PowerOf2Ceil(most));
  if (demands.hints.threads)
    threads = std::max<int64_t>(*demands.hints.threads, demands.limits.warp) *
              layout.cluster;
  layout.threads = threads;
  SmallVector<unsigned> order;
  if (row) {
    int64_t others = 1;
    // Coordinates of a point are one thread's, where a row is for all threads.
    bool isForAll = vectorsOf(*row) >= threads;
    for (unsigned d : demands.together[*row].set_bits())
      if (d != *row && !(isForAll && demands.reduced.test(d) &&
                         demands.capacity[d] <= kFewReduced))
        others *= demands.capacity[d];
    int64_t own = llvm::PowerOf2Ceil(vectorsOf(*row));
    // A warp has a short row to itself: nothing goes through shared memory.
    if (own * layout.lanes <= 32 * demands.limits.warp && others > 1 &&
        elements == kThreadElements) {
      own = std::min<int64_t>(own, demands.limits.warp);
      layout.threads = threads = std::clamp<int64_t>(
          own * llvm::PowerOf2Ceil(others), demands.limits.warp, threads);
    }
    int64_t wanted = std::max<int64_t>(
        std::min<int64_t>(own, demands.limits.warp),
        threads / std::max<int64_t>(1, llvm::bit_floor(uint64_t(others))));
    giveThreads(*row, std::min(own, wanted));
    order.push_back(*row);
  }
  // Lanes elsewhere, then what is kept, then what is reduced.
  for (int pass = 0; pass < 3; ++pass)
    for (unsigned d = demands.space.numDims; d-- > 0;) {
      int mine = layout.dims[d].lanes > 1 ? 0 : demands.reduced.test(d) ? 2 : 1;
      if (mine == pass && all.test(d) && demands.capacity[d] > 1)
        giveThreads(d, llvm::PowerOf2Ceil(vectorsOf(d)));
    }
}

void ThreadShares::dealStreamed(int64_t threads, int64_t most,
                                int64_t further) {
  layout.threads = threads * layout.cluster;
  // Where no vectors fit its extent, neighbours in memory have a thread each; but a thread
  // has all of what is shorter than the vectors of other dims, which lie behind each other.
  std::optional<unsigned> row;
  if (!demands.accesses.empty())
    row = demands.accesses.front().contiguous;
  for (unsigned d = 0; d < demands.space.numDims; ++d) {
    if (demands.streamed.test(d) ||
        (layout.dims[d].lanes == 1 &&
         (d != row || demands.capacity[d] < layout.lanes)))
      continue;
    int64_t vectors = vectorsOf(d);
    int64_t threads = vectors & -vectors;
    if (threads < 4)
      threads = llvm::PowerOf2Ceil(vectors);
    giveThreads(d, std::min(threads, most));
  }
  for (unsigned d = 0; further > 1 && d < demands.space.numDims; ++d) {
    if (demands.streamed.test(d) || demands.capacity[d] == 1 ||
        layout.dims[d].lanes > 1 || layout.dims[d].threads > 1)
      continue;
    giveThreads(d,
                std::min<int64_t>(further, llvm::PowerOf2Ceil(vectorsOf(d))));
    // What a thread has of it lies side by side, where memory has it so.
    int64_t own = demands.capacity[d] / layout.dims[d].threads,
            run = own & -own;
    if (own != 0 && demands.isMultiple(d, layout.dims[d].threads * run) &&
        llvm::any_of(demands.accesses, [&](const TensorAccess &access) {
          return access.isInput && access.contiguous == d;
        }))
      layout.dims[d].run = std::min<int64_t>(run, kMostRun);
  }
  // The one along which memory is contiguous, else the longest.
  std::optional<unsigned> main;
  for (const TensorAccess &access : demands.accesses)
    if (!main && access.contiguous && demands.streamed.test(*access.contiguous))
      main = access.contiguous;
  for (unsigned d : demands.streamed.set_bits())
    if (!main || (demands.capacity[d] > demands.capacity[*main] &&
                  layout.dims[*main].lanes == 1 &&
                  !llvm::any_of(demands.accesses, [&](const TensorAccess &a) {
                    return a.contiguous == *main;
                  })))
      main = d;
  if (!main)
    return;
  giveThreads(*main, llvm::PowerOf2Ceil(vectorsOf(*main)));
  for (unsigned d : demands.streamed.set_bits())
    giveThreads(d, llvm::PowerOf2Ceil(vectorsOf(d)));
}

void ThreadShares::chooseRepeats() {
  for (unsigned d = 0; d < demands.space.numDims; ++d) {
    DimShare &share = layout.dims[d];
    share.repeats = 1;
    if (hasScannedRuns(d))
      share.run = 1;
    if (!demands.streamed.test(d))
      share.repeats =
          share.run * llvm::divideCeil(demands.capacity[d],
                                       share.getPiece() * share.threads);
  }
  lengthenSteps();
  // A thread scans neighbours by itself: what others have is combined once.
  for (unsigned d = 0; d < demands.space.numDims; ++d)
    if (hasScannedRuns(d))
      layout.dims[d].run = layout.dims[d].repeats;
}

bool ThreadShares::hasScannedRuns(unsigned d) const {
  return demands.scanned.test(d) && layout.dims[d].lanes == 1 &&
         demands.canEndInRun(d);
}

/// More vectors of dims that are walked, for each step.
void ThreadShares::lengthenSteps() {
  if (demands.streamed.none())
    return;
  // Elements that a thread has under way: what a step costs beside them is
  // shared by them.
  double elements = 0;
  RegisterPressure pressure(demands, layout);
  std::optional<unsigned> main;
  for (unsigned d : demands.streamed.set_bits())
    if (!main || layout.dims[d].getSpan() > layout.dims[*main].getSpan())
      main = d;
  for (const TensorAccess &access : demands.accesses)
    if (access.isInput && access.dims.test(*main))
      elements += pressure.localOf(access.dims);
  // A scan has its prefixes under way, too, of more dims than what it reads.
  for (auto &[op, program] : demands.programs)
    for (const LoopNest &nest : program->getNests())
      if (nest.dims.test(*main) && llvm::any_of(nest.roots, [](Root *root) {
            return root->kind == Root::Kind::Scan;
          }))
        elements = std::max(elements, pressure.localOf(nest.dims));
  double most = !layout.kept.empty()     ? kKeptStep
                : demands.hasFewBlocks() ? kLongStep
                                         : kStep;
  if (layout.loadsStepsAhead)
    most /= 2;
  if (demands.hints.step)
    most = *demands.hints.step;
  // Along one dim, and where that is no longer, along the others too.
  int64_t repeats = 1;
  auto lengthen = [&](unsigned d) {
    DimShare &share = layout.dims[d];
    for (; elements > 0 && elements * repeats * 2 <= most &&
           repeats < kMostRepeats && share.getSpan() * 2 <= demands.capacity[d];
         repeats *= 2)
      share.repeats *= 2;
  };
  lengthen(*main);
  for (unsigned d : demands.streamed.set_bits())
    lengthen(d);
}
