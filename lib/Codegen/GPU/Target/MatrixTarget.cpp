//===- MatrixTarget.cpp - what matrix units are like ----------------------===//
#include "redfuse/Codegen/GPU/Target/MatrixTarget.h"

using namespace redfuse;

/// What a block does not get of a multiprocessor's shared memory.
static constexpr int64_t kReserved = 1024;
/// What tiles do not get of a block's: with barriers, and where they are aligned to
/// the period of the swizzle.
static constexpr int64_t kBesidesTiles = 3 * 1024, kBesidesRows = 256;
/// Registers of 32 bits of a thread for fragments: 255 are the hardware's limit, the
/// rest is for addresses and temporaries.
static constexpr int64_t kFragmentRegisters = 200;

int64_t redfuse::getBlockSharedBytes(const Chip &chip) {
  return chip.sharedBytes ? chip.sharedBytes - kReserved : 0;
}

std::optional<MatrixTarget> redfuse::findMatrixTarget(const Chip *chip) {
  if (!chip || !chip->has(AsyncCopies))
    return std::nullopt;
  MatrixTarget target;
  target.hasWgmma = chip->has(Wgmma);
  int64_t besides = target.hasWgmma ? kBesidesTiles : kBesidesRows;
  target.halfBytes = chip->sharedBytes / 2 - kReserved - besides;
  // Machine code runs on later minor versions, too, some of which have less.
  target.sharedBytes = getLeastSharedBytes(*chip) - kReserved - besides;
  target.fragmentRegisters = kFragmentRegisters;
  target.productsOfCycle = chip->productsOfCycle;
  target.overlapsLaunches = chip->has(OverlappedLaunches);
  return target;
}
