//===- MatrixTarget.cpp - what matrix units are like ----------------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixTarget.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

using namespace redfuse;

std::optional<MatrixTarget> redfuse::findMatrixTarget(const Chip *chip) {
  if (!chip || !chip->has(AsyncCopies))
    return std::nullopt;
  MatrixTarget target;
  target.hasWgmma = chip->has(Wgmma);
  int64_t besides = target.hasWgmma ? kBesidesTiles : kBesidesRows;
  target.halfBytes = chip->sharedBytes / 2 - kReservedSharedBytes - besides;
  // Machine code runs on later minor versions, too, some of which have less.
  target.sharedBytes =
      getLeastSharedBytes(*chip) - kReservedSharedBytes - besides;
  target.fragmentRegisters = kFragmentRegisters;
  target.productsOfCycle = chip->productsOfCycle;
  target.overlapsLaunches = chip->has(OverlappedLaunches);
  return target;
}
