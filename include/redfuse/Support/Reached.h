//===- Reached.h - rates that kernels reach ---------------------*- C++ -*-===//
#ifndef REDFUSE_SUPPORT_REACHED_H
#define REDFUSE_SUPPORT_REACHED_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace redfuse {

/// What kernels of a kind of processor reach ("cpu", of a core, or "gpu"): a row
/// of Chips.def.
struct Reached {
  llvm::StringLiteral processor;
  int64_t callNs, bandwidth, flops, f32Flops;
};

/// The one of this processor; null if it is not known.
const Reached *findReached(llvm::StringRef processor);

} // namespace redfuse

#endif // REDFUSE_SUPPORT_REACHED_H
