//===- Host.h - the machine that code is made for ---------------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_SUPPORT_HOST_H
#define REDFUSE_SUPPORT_HOST_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace redfuse {

/// A processor as LLVM names it.
struct CpuTarget {
  std::string triple;
  std::string cpu;
  /// All features, "+avx2,-avx512f,...".
  std::string features;
  /// Bits of a float vector register: 512, 256 or 128.
  int vectorBits = 128;
  /// Has vscalefps on all vector lengths.
  bool scalef = false;
  bool fma = false;
};

/// The host for an empty name ("native" too); `features` are added to those of
/// the processor. Fails with a message for what LLVM does not know.
bool resolveCpu(llvm::StringRef cpu, llvm::StringRef features,
                CpuTarget &target, std::string &error);

struct CacheSizes {
  int64_t l1 = 0, l2 = 0, l3 = 0; // bytes of one instance; 0: unknown
};
CacheSizes hostCaches();

} // namespace redfuse

#endif // REDFUSE_SUPPORT_HOST_H
