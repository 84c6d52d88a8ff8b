//===- Chips.h - the GPUs that code is made for -----------------*- C++ -*-===//
#ifndef REDFUSE_SUPPORT_CHIPS_H
#define REDFUSE_SUPPORT_CHIPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace redfuse {

/// What some architectures can do, as bits.
enum ChipFeature : unsigned {
  /// NVIDIA's from compute capability 8.0: copies to shared memory that run beside
  /// the threads (cp.async), matrices from there (ldmatrix), products of a warp
  /// (mma.sync) of 16-bit floats, 8-bit integers and doubles.
  AsyncCopies = 1 << 0,
  /// 8.9: mma.sync of 8-bit floats.
  Float8Products = 1 << 1,
  /// 9.0: copies of whole tiles by tensor maps, and barriers that count bytes.
  TensorMaps = 1 << 2,
  /// 9.0: blocks that see each other's shared memory.
  Clusters = 1 << 3,
  /// 9.0: a kernel gets ready while the one before still runs (griddepcontrol).
  OverlappedLaunches = 1 << 4,
  /// Products of four warps, which go on meanwhile (wgmma).
  Wgmma = 1 << 5,
  /// AMD's products of a wave of 64 lanes (MFMA).
  Mfma = 1 << 6,
  /// MFMA of 8-bit floats, and of 32 8-bit integers at a time.
  Mfma8 = 1 << 7,
  /// AMD's products of a wave of 32 lanes (WMMA).
  Wmma = 1 << 8,
  /// 9.0: one mma.sync of 16 x 8 x 8 doubles. Others do 8 x 8 x 4 at a time.
  LargeDoubleProducts = 1 << 9,
};

/// An architecture: a row of Chips.def, which says what the numbers are.
struct Chip {
  llvm::StringLiteral name;
  /// The word of targets and of `#redfuse.target` for whose it is: "cuda", "rocm".
  llvm::StringLiteral family;
  unsigned features;
  int64_t units;
  /// Threads that a multiprocessor, or compute unit, runs at a time.
  int64_t threadsOfUnit;
  /// Blocks that these are of at most.
  int64_t blocksOfUnit;
  int64_t bandwidth, flops;
  /// Nanoseconds that a launch takes.
  int64_t launchNs;
  /// Threads of a warp or wave.
  int64_t lanes;
  /// Of NVIDIA's: 80 for compute capability 8.0.
  int64_t capability;
  /// Bytes of shared memory of a multiprocessor; 0: not known.
  int64_t sharedBytes;
  double productsOfCycle, doubleProductsOfCycle;
  /// The PTX version that code for it is written in, as 80 for 8.0.
  unsigned ptx;
  /// Of AMD's: EF_AMDGPU_MACH.
  unsigned elfMachine;

  bool has(ChipFeature feature) const { return features & feature; }
};

/// All that are known, those of a family together, older ones first.
llvm::ArrayRef<Chip> getChips();
/// The one of this name; null if it is not known.
const Chip *findChip(llvm::StringRef name);
/// The names of a family's, with commas; of all families if it is empty.
std::string listChips(llvm::StringRef family = {});

/// Threads of a warp or wave; of most where `chip` is null.
inline int64_t getWarpLanes(const Chip *chip) {
  return chip ? chip->lanes : 32;
}

/// How inline assembly asks for a register in which each thread has a word of its
/// own. AMD's "r" is one that a wave has together.
inline llvm::StringLiteral getWordConstraint(const Chip *chip) {
  return chip && chip->family == "rocm" ? llvm::StringLiteral("v")
                                        : llvm::StringLiteral("r");
}

/// Blocks that a cluster may have wherever there are clusters.
inline constexpr int64_t kMostClusterBlocks = 8;

/// Bytes of shared memory of the smallest multiprocessor that machine code for
/// `chip` runs on: those of its major version, from its minor version on.
int64_t getLeastSharedBytes(const Chip &chip);

/// What a block does not get of a multiprocessor's shared memory, in bytes.
inline constexpr int64_t kReservedSharedBytes = 1024;
/// What a block of AMD's has (LDS), whichever of the table.
inline constexpr int64_t kSharedBytesOfAMD = 64 * 1024;
/// Bytes of shared memory that a block may have; 0 where that is not known.
int64_t getBlockSharedBytes(const Chip &chip);

} // namespace redfuse

#endif // REDFUSE_SUPPORT_CHIPS_H
