//===- MatrixTarget.cpp - what matrix units are like -----------------------===//
#include "redfuse/Codegen/GPU/Target/MatrixTarget.h"

#include "redfuse/Dialect/Tile/IR/Tile.h"

using namespace redfuse;

/// What a block does not get of a multiprocessor's shared memory.
static constexpr int64_t kReserved = 1024;
/// What tiles do not get of a block's: with barriers, and where they are aligned to
/// the period of the swizzle.
static constexpr int64_t kBesidesTiles = 3 * 1024, kBesidesRows = 256;

/// 90 of sm_90a; 0 if it is none of NVIDIA's.
static int numberOf(llvm::StringRef chip) {
  int number = 0;
  if (!chip.consume_front("sm_") || chip.consumeInteger(10, number))
    return 0;
  return number;
}

/// Shared memory of a multiprocessor.
static int64_t bytesOfUnit(int number) {
  switch (number) {
  case 80:
  case 87:
    return 164 * 1024;
  case 86:
  case 89:
  case 120:
  case 121:
    return 100 * 1024;
  default:
    return 228 * 1024;
  }
}

int64_t redfuse::sharedBytesOf(llvm::StringRef chip) {
  int number = numberOf(chip);
  return number ? bytesOfUnit(number) - kReserved : 0;
}

std::optional<MatrixTarget> redfuse::findMatrixTarget(llvm::StringRef chip) {
  int number = numberOf(chip);
  if (number < 80)
    return std::nullopt;
  MatrixTarget target;
  target.hasWarpgroups = tile::hasWarpgroups(chip);
  int64_t besides = target.hasWarpgroups ? kBesidesTiles : kBesidesRows;
  target.halfBytes = bytesOfUnit(number) / 2 - kReserved - besides;
  // What is made for sm_80 runs on sm_86 and sm_89, too.
  target.sharedBytes = sharedBytesOf(number == 80 ? "sm_86" : chip) - besides;
  target.fragmentRegisters = 200;
  // By warps as measured on an H200, with what is computed between products.
  target.productsOfCycle = target.hasWarpgroups ? 2048 : 880;
  target.overlapsLaunches = number >= 90;
  return target;
}
