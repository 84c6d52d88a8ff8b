//===- MatrixTarget.cpp - what matrix units are like -----------------------===//
#include "MatrixTarget.h"

#include "redfuse/Dialect/Tile.h"

using namespace redfuse;

/// What a block does not get of a multiprocessor's shared memory.
static constexpr int64_t kReserved = 1024;
/// What tiles do not get of a block's: with barriers, and where they are aligned to
/// the period of the swizzle.
static constexpr int64_t kBesidesTiles = 3 * 1024, kBesidesRows = 256;

std::optional<MatrixTarget> redfuse::findMatrixTarget(llvm::StringRef chip) {
  llvm::StringRef digits = chip;
  int number = 0;
  if (!digits.consume_front("sm_") || digits.consumeInteger(10, number) ||
      number < 80)
    return std::nullopt;
  MatrixTarget target;
  target.hasWarpgroups = tile::hasWarpgroups(chip);
  switch (number) {
  case 80:
  case 87:
    target.unitBytes = 164 * 1024;
    break;
  case 86:
  case 89:
  case 120:
  case 121:
    target.unitBytes = 100 * 1024;
    break;
  default:
    target.unitBytes = 228 * 1024;
  }
  target.sharedBytes = target.unitBytes - kReserved -
                       (target.hasWarpgroups ? kBesidesTiles : kBesidesRows);
  target.fragmentRegisters = 200;
  target.overlapsLaunches = number >= 90;
  return target;
}
