//===- Host.cpp - the machine that code is made for -----------------------===//
#include "redfuse/Support/Host.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

#include <fstream>
#include <unistd.h>

using namespace redfuse;

static void initialiseOnce() {
  static bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    return true;
  }();
  (void)once;
}

bool redfuse::resolveCpu(llvm::StringRef cpu, llvm::StringRef features,
                         CpuTarget &target, std::string &error) {
  initialiseOnce();
  target = CpuTarget();
  target.triple = llvm::sys::getProcessTriple();
  llvm::Triple triple(target.triple);
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return false;

  llvm::SubtargetFeatures all;
  if (cpu.empty() || cpu == "native") {
    target.cpu = llvm::sys::getHostCPUName().str();
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      all.AddFeature(feature.first(), feature.second);
  } else {
    target.cpu = cpu.str();
  }

  std::unique_ptr<llvm::MCSubtargetInfo> info(
      backend->createMCSubtargetInfo(triple, "", ""));
  if (!info->isCPUStringValid(target.cpu)) {
    error = "unknown processor '" + target.cpu + "' for " + target.triple +
            "; 'native' is this machine's";
    return false;
  }
  llvm::SmallVector<llvm::StringRef> added;
  features.split(added, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef feature : added) {
    feature = feature.trim();
    bool known =
        llvm::any_of(info->getAllProcessorFeatures(), [&](const auto &entry) {
          return feature.drop_front() == llvm::StringRef(entry.Key);
        });
    if ((!feature.starts_with("+") && !feature.starts_with("-")) || !known) {
      error = "unknown processor feature '" + feature.str() +
              "'; a feature is written +name or -name";
      return false;
    }
    all.AddFeature(feature);
  }
  target.features = all.getString();

  info.reset(
      backend->createMCSubtargetInfo(triple, target.cpu, target.features));
  if (triple.isX86()) {
    if (info->checkFeatures("+avx512f"))
      target.vectorBits = 512;
    else if (info->checkFeatures("+avx"))
      target.vectorBits = 256;
    target.scalef =
        info->checkFeatures("+avx512f") && info->checkFeatures("+avx512vl");
    target.fma = info->checkFeatures("+fma");
  } else {
    target.fma = true;
  }
  return true;
}

/// "48K", "1024K", "32M" as the kernel writes sizes.
static int64_t readSize(const std::string &path) {
  std::ifstream file(path);
  int64_t size = 0;
  char unit = 0;
  file >> size >> unit;
  if (unit == 'K')
    size <<= 10;
  else if (unit == 'M')
    size <<= 20;
  return size;
}

CacheSizes redfuse::hostCaches() {
  CacheSizes sizes;
  for (int index = 0; index < 8; ++index) {
    std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::ifstream levelFile(folder + "/level"), typeFile(folder + "/type");
    int level = 0;
    std::string type;
    if (!(levelFile >> level) || !(typeFile >> type) || type == "Instruction")
      continue;
    int64_t size = readSize(folder + "/size");
    if (level == 1)
      sizes.l1 = size;
    else if (level == 2)
      sizes.l2 = size;
    else if (level == 3)
      sizes.l3 = size;
  }
#ifdef _SC_LEVEL1_DCACHE_SIZE
  auto orElse = [](int64_t &size, int name) {
    if (!size)
      size = std::max<long>(0, sysconf(name));
  };
  orElse(sizes.l1, _SC_LEVEL1_DCACHE_SIZE);
  orElse(sizes.l2, _SC_LEVEL2_CACHE_SIZE);
  orElse(sizes.l3, _SC_LEVEL3_CACHE_SIZE);
#endif
  return sizes;
}
