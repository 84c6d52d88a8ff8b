//===- RuntimeCopy.cpp - copies between strided memrefs -------------------===//
#include "redfuse/Target/Runtime.h"

#include <cstring>

namespace {
/// An unranked memref, as MLIR passes it.
struct Unranked {
  int64_t rank;
  struct Descriptor {
    char *allocated;
    char *aligned;
    int64_t offset;
    int64_t sizesAndStrides[];
  } *descriptor;
};
} // namespace

static void copyDims(int64_t rank, int64_t bytes, const int64_t *sizes,
                     const char *source, const int64_t *sourceStrides,
                     char *target, const int64_t *targetStrides) {
  if (rank == 0) {
    memcpy(target, source, bytes);
    return;
  }
  if (rank == 1 && *sourceStrides == 1 && *targetStrides == 1) {
    memcpy(target, source, *sizes * bytes);
    return;
  }
  for (int64_t i = 0; i < *sizes; ++i)
    copyDims(rank - 1, bytes, sizes + 1, source + i * *sourceStrides * bytes,
             sourceStrides + 1, target + i * *targetStrides * bytes,
             targetStrides + 1);
}

void redfuse_rt_memref_copy(int64_t elementBytes, void *source,
                            void *destination) {
  auto *from = static_cast<Unranked *>(source);
  auto *to = static_cast<Unranked *>(destination);
  int64_t rank = from->rank;
  const int64_t *sizes = from->descriptor->sizesAndStrides;
  for (int64_t d = 0; d < rank; ++d)
    if (sizes[d] == 0)
      return;
  copyDims(rank, elementBytes, sizes,
           from->descriptor->aligned + from->descriptor->offset * elementBytes,
           sizes + rank,
           to->descriptor->aligned + to->descriptor->offset * elementBytes,
           to->descriptor->sizesAndStrides + rank);
}
