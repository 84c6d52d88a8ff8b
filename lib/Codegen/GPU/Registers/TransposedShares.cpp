//===- TransposedShares.cpp - shares of threads along two dims at once ----===//
#include "ThreadShares.h"
#include "Tuning.h"

#include "redfuse/Analysis/CostConstants.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Two dims, where some tensor that has both is contiguous along the one, and some
/// along the other: those of most bytes, first the one of more. One that is shorter
/// than a sector comes second.
std::optional<std::pair<unsigned, unsigned>> ThreadShares::findCrossed() const {
  auto bytesAlong = [&](unsigned d, unsigned other) {
    int64_t bytes = 0;
    for (const TensorAccess &access : demands.accesses)
      if (access.contiguous == d && access.dims.test(other) &&
          demands.capacity[d] > 1)
        bytes += access.bytes;
    return bytes;
  };
  std::optional<std::pair<unsigned, unsigned>> best;
  int64_t most = 0;
  for (const TensorAccess &first : demands.accesses)
    for (const TensorAccess &second : demands.accesses) {
      if (!first.contiguous || !second.contiguous ||
          first.contiguous == second.contiguous)
        continue;
      unsigned d = *first.contiguous, other = *second.contiguous;
      int64_t own = bytesAlong(d, other), its = bytesAlong(other, d);
      if (own == 0 || its == 0 || isShorterThanSector(d) ||
          (own < its && !isShorterThanSector(other)) || own + its <= most)
        continue;
      most = own + its;
      best = {d, other};
    }
  return best;
}

/// Whether what is contiguous along a dim is shorter than a sector.
bool ThreadShares::isShorterThanSector(unsigned d) const {
  return llvm::none_of(demands.accesses, [&](const TensorAccess &access) {
    return access.contiguous == d &&
           demands.capacity[d] * access.bytes >= kGpuSectorBytes;
  });
}

/// Neighbours along a dim that a thread has: 16 bytes of the largest tensor that is
/// contiguous along it, where tiles are of whole ones.
int64_t ThreadShares::choosePiece(unsigned d) const {
  for (const TensorAccess &access : demands.accesses) {
    if (access.contiguous != d)
      continue;
    int64_t piece = std::clamp<int64_t>(16 / access.bytes, 1, 8);
    while (!demands.isMultiple(d, piece))
      piece /= 2;
    return piece;
  }
  return 1;
}

/// Sectors that a warp moves of a tensor that is contiguous along one of two dims, for
/// all that its threads have of both, and lines that it asks for, which one after
/// another are looked up.
double ThreadShares::countTransactions(const TensorAccess &access,
                                       unsigned other) const {
  const DimShare &share = layout.dims[*access.contiguous];
  const DimShare &its = layout.dims[other];
  double bytes = double(share.threads * share.getPiece()) * access.bytes;
  double rows = access.dims.test(other) ? its.threads * its.getPiece() : 1;
  SmallVector<int64_t> strides;
  int64_t offset;
  bool isAligned =
      succeeded(access.type.getStridesAndOffset(strides, offset)) &&
      llvm::all_of(ArrayRef(strides).drop_back(), [&](int64_t stride) {
        return !ShapedType::isDynamic(stride) &&
               stride * access.bytes % kGpuSectorBytes == 0;
      });
  auto pieces = [&](int64_t size) {
    return std::ceil(bytes / double(size)) + (isAligned ? 0 : 1);
  };
  return rows * (pieces(kGpuSectorBytes) + pieces(kGpuLineBytes));
}

/// Whether threads have rectangles of two dims, as tensors are contiguous along
/// different ones: vectors along the first, runs of the second. The threads of a
/// warp are dealt to both so that it moves the fewest sectors and lines. Where the
/// second is shorter than a sector (three channels), neighbouring threads have
/// neighbouring rows of it, as these share sectors: the first has no vectors.
bool ThreadShares::dealTransposed() {
  std::optional<std::pair<unsigned, unsigned>> crossed = findCrossed();
  if (!crossed || demands.reduced.any() || demands.hints.cluster > 1)
    return false;
  auto [d, other] = *crossed;
  bool isShort = isShorterThanSector(other);
  layout.dims.assign(demands.space.numDims, DimShare());
  DimShare &share = layout.dims[d], &its = layout.dims[other];
  layout.lanes = share.lanes = isShort ? 1 : choosePiece(d);
  its.run = choosePiece(other);
  auto piecesOf = [&](unsigned dim) {
    return int64_t(llvm::PowerOf2Ceil(
        llvm::divideCeil(demands.capacity[dim], layout.dims[dim].getPiece())));
  };
  int64_t own = piecesOf(d), rows = piecesOf(other), best = 1;
  std::optional<double> least;
  for (int64_t threads = 1;
       threads <= std::min<int64_t>(own, demands.limits.warp); threads *= 2) {
    share.threads = threads;
    its.threads = std::min<int64_t>(demands.limits.warp / threads, rows);
    double all = 0;
    for (const TensorAccess &access : demands.accesses)
      if (access.contiguous == d || access.contiguous == other)
        all += countTransactions(access, access.contiguous == d ? other : d);
    all /= double(share.threads * its.threads);
    if (least && all > *least)
      continue;
    least = all;
    best = threads;
  }
  share.threads = its.threads = 1;
  layout.threads = std::max<int64_t>(
      demands.hints.threads.value_or(kTransposingThreads), demands.limits.warp);
  // No more threads than pieces: of 24, eight threads take three each.
  int64_t pieces = llvm::divideCeil(demands.capacity[other], its.run);
  int64_t threads = rows;
  while (threads > demands.limits.warp / best &&
         llvm::divideCeil(pieces, threads / 2) * (threads / 2) <
             llvm::divideCeil(pieces, threads) * threads)
    threads /= 2;
  if (isShort || threads * best <= demands.limits.warp) {
    // All that it takes, within a warp, and the rest of the block for the other.
    giveThreads(other, threads);
    giveThreads(d, own);
  } else {
    giveThreads(d, best);
    giveThreads(other, threads);
  }
  for (unsigned dim = demands.space.numDims; dim-- > 0;)
    if (dim != d && dim != other && demands.capacity[dim] > 1)
      giveThreads(dim, llvm::PowerOf2Ceil(demands.capacity[dim]));
  return true;
}
