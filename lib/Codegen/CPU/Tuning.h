//===- Tuning.h - tuned numbers of kernels for the CPU ----------*- C++ -*-===//
//
// Each with its unit and its meaning; estimated from the hardware's registers and
// latencies, and held by docs/benchmarks/results-cpu.md.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_CPU_TUNING_H
#define REDFUSE_LIB_CODEGEN_CPU_TUNING_H

#include <cstdint>

namespace redfuse {

/// Independent accumulators of one reduction: hides the latency of its combiner,
/// and shortens the chain of roundings.
inline constexpr unsigned kCopies = 4;

/// Addends of one accumulator before it is added to another one, which keeps the
/// error of a sum near that of its last additions: at 512 a sum of 2^24 numbers in [0,
/// 1) is as near as PyTorch's (test/e2e/test_long_sums.py), and the addition is a
/// five-hundredth of the loop.
inline constexpr int64_t kAddends = 512;

/// Elements of f32 in a vector from which on a machine has 32 vector registers (512
/// bits), not 16.
inline constexpr unsigned kWideLanes = 16;
/// A contraction's tile of accumulators: how many vector registers it takes, and how
/// many rows share them; the rest is for operands. Without rows, registers of the one
/// row there is.
struct ContractionTile {
  unsigned registers, rows;
};
inline constexpr ContractionTile kWideTile = {24, 8}, kNarrowTile = {12, 4};
inline constexpr unsigned kRegistersOfOneRow = 8;
/// Tiles of columns up to which the tile is narrowed to divide them evenly.
inline constexpr int64_t kEvenTiles = 4;

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_CPU_TUNING_H
