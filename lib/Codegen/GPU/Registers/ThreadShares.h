//===- ThreadShares.h - which thread has what of a tile ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_THREADSHARES_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_THREADSHARES_H

#include "RegisterDemands.h"

namespace redfuse {

/// Deals the positions of a tile out to the vectors and threads of a layout.
class ThreadShares {
public:
  ThreadShares(const RegisterDemands &demands, RegisterLayout &layout)
      : demands(demands), layout(layout) {}

  /// Vectors, along dims of which memory has neighbours side by side.
  void chooseLanes();
  /// Everything at once: rows over warps, a row over neighbouring threads.
  void dealResident();
  /// Dims that are whole in a tile first, as far as neighbours in memory ask for
  /// it, and up to `most` threads each; then up to `further` threads for others, where
  /// one thread cannot hold them; the streamed ones take the rest.
  void dealStreamed(int64_t threads, int64_t most, int64_t further = 1);
  /// Rectangles of two dims, as tensors are contiguous along different ones; false
  /// where none are.
  bool dealTransposed();
  /// How often a thread repeats its vectors: in a tile, or in a step of what is
  /// streamed.
  void chooseRepeats();

private:
  void lengthenSteps();
  /// Whether what a thread has of a dim are neighbours, as it scans them.
  bool hasScannedRuns(unsigned d) const;
  /// Two dims, and which one tensors of more bytes are contiguous along: the first.
  std::optional<std::pair<unsigned, unsigned>> findCrossed() const;
  bool isShorterThanSector(unsigned d) const;
  int64_t choosePiece(unsigned d) const;
  double countTransactions(const TensorAccess &access, unsigned other) const;
  int64_t countScanning(unsigned d, unsigned bit) const;
  bool shouldOverlap(unsigned d, int64_t lanes) const;
  void giveThreads(unsigned d, int64_t threads);
  void dealWindows(unsigned row);
  int64_t vectorsOf(unsigned d) const {
    return llvm::divideCeil(demands.capacity[d], layout.dims[d].lanes);
  }

  const RegisterDemands &demands;
  RegisterLayout &layout;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_THREADSHARES_H
