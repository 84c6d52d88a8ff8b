//===- RegisterWindows.cpp - layouts of kernels that read windows ---------===//
//
// A pooling, a depthwise convolution: what neighbouring results read overlaps. A
// thread has the elements of windows to itself, so that nothing is exchanged, and
// several results one below the other: elements that their windows share are loaded
// once. Neighbours in memory are read by neighbouring threads, and what blocks read
// of the same rows is in the first-level cache.
//
//===----------------------------------------------------------------------===//
#include "RegisterPlanner.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/ScheduleChoice.h"

using namespace mlir;
using namespace redfuse;

void RegisterPlanner::findWindows() {
  if (streamed.any() || scanned.any())
    return;
  SmallVector<AffineMap> maps;
  for (const TensorAccess &access : accesses)
    if (access.isInput)
      maps.push_back(access.map);
  taps = findTaps(maps, reduced, [&](unsigned d) {
    int64_t extent = space.staticExtents[d];
    return ShapedType::isDynamic(extent) ? 1e9 : double(extent);
  });
}

/// Threads for a row of results first, then for others, innermost first.
void RegisterPlanner::dealWindows(unsigned row) {
  layout.threads =
      std::max<int64_t>(hints.threads.value_or(kTapThreads), limits.warp);
  giveThreads(row, llvm::PowerOf2Ceil(vectorsOf(row)));
  for (unsigned d = space.numDims; d-- > 0;)
    if (!taps.test(d))
      giveThreads(d, llvm::PowerOf2Ceil(vectorsOf(d)));
}
