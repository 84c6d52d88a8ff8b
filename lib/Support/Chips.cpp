//===- Chips.cpp - the GPUs that code is made for -------------------------===//
#include "redfuse/Support/Chips.h"
#include "redfuse/Support/Reached.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace redfuse;

/// What the generations of NVIDIA's can do.
static constexpr unsigned kAmpere = AsyncCopies;
static constexpr unsigned kAda = kAmpere | Float8Products;
static constexpr unsigned kHopper =
    kAda | TensorMaps | Clusters | OverlappedLaunches;

/// A launch takes 2.8 us in a graph on an H200 (docs/benchmarks/results-gpu.md).
/// AMD's is a guess: no AMD GPU has run any of this.
static constexpr int64_t kLaunchNs = 3000, kLaunchNsOfAMD = 5000;

static constexpr Chip kChips[] = {
#define NVIDIA_CHIP(NAME, CAPABILITY, FEATURES, UNITS, THREADS, BLOCKS,        \
                    BANDWIDTH, FLOPS, SHARED, PRODUCTS, DOUBLES, PTX)          \
  {#NAME,     "cuda",  (FEATURES), UNITS,           THREADS,    BLOCKS,        \
   BANDWIDTH, FLOPS,   kLaunchNs,  /*lanes=*/32,    CAPABILITY, SHARED * 1024, \
   PRODUCTS,  DOUBLES, PTX,        /*elfMachine=*/0},
#define AMD_CHIP(NAME, FEATURES, UNITS, THREADS, BLOCKS, BANDWIDTH, FLOPS,     \
                 WAVE, ELF)                                                    \
  {#NAME,                                                                      \
   "rocm",                                                                     \
   (FEATURES),                                                                 \
   UNITS,                                                                      \
   THREADS,                                                                    \
   BLOCKS,                                                                     \
   BANDWIDTH,                                                                  \
   FLOPS,                                                                      \
   kLaunchNsOfAMD,                                                             \
   WAVE,                                                                       \
   /*capability=*/0,                                                           \
   /*sharedBytes=*/0,                                                          \
   /*productsOfCycle=*/0,                                                      \
   /*doubleProductsOfCycle=*/0,                                                \
   /*ptx=*/0,                                                                  \
   ELF},
#include "redfuse/Support/Chips.def"
};

static constexpr Reached kReached[] = {
#define REACHED(PROCESSOR, ...) {#PROCESSOR, __VA_ARGS__},
#include "redfuse/Support/Chips.def"
};

const Reached *redfuse::findReached(llvm::StringRef processor) {
  const Reached *found = llvm::find_if(kReached, [&](const Reached &reached) {
    return reached.processor == processor;
  });
  return found == std::end(kReached) ? nullptr : found;
}

llvm::ArrayRef<Chip> redfuse::getChips() { return kChips; }

const Chip *redfuse::findChip(llvm::StringRef name) {
  const Chip *found = llvm::find_if(
      kChips, [&](const Chip &chip) { return chip.name == name; });
  return found == std::end(kChips) ? nullptr : found;
}

std::string redfuse::listChips(llvm::StringRef family) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Chip &chip : kChips)
    if (family.empty() || chip.family == family)
      names.push_back(chip.name);
  return llvm::join(names, ", ");
}

int64_t redfuse::getBlockSharedBytes(const Chip &chip) {
  return chip.sharedBytes ? chip.sharedBytes - kReservedSharedBytes : 0;
}

int64_t redfuse::getLeastSharedBytes(const Chip &chip) {
  int64_t least = chip.sharedBytes;
  for (const Chip &other : kChips)
    if (other.family == chip.family &&
        other.capability / 10 == chip.capability / 10 &&
        other.capability >= chip.capability)
      least = std::min(least, other.sharedBytes);
  return least;
}
