//===- Driver.h - drivers of GPUs, found at run time ------------*- C++ -*-===//
//
// What the runtime calls of CUDA's driver, or of HIP's runtime, as one table.
// Nothing links to either.
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_TARGET_DRIVER_H
#define REDFUSE_LIB_TARGET_DRIVER_H

#include "redfuse/Target/Device.h"

#include <cstddef>

namespace redfuse::runtime {

/// CUlaunchAttribute.
struct alignas(8) LaunchAttribute {
  int id, unused, value[16];
};
/// A kernel may start before the one before it has ended:
/// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
inline constexpr LaunchAttribute kOverlap{6, 0, {1}};
/// Blocks of clusters go where there is most room, one on a multiprocessor while
/// there are others: CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE. By
/// default two of a cluster share one where they fit, and others stay idle.
inline constexpr LaunchAttribute kBalance{5, 0, {2}};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned blocks[3], threads[3], shared;
  void *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

/// Entry points, as CUDA's ABI has them; HIP's differ in a few, for which there
/// are functions in between. Numbers of results, capture modes and flags agree.
struct Driver {
  using Result = int;
  Result (*init)(unsigned);
  Result (*getErrorString)(Result, const char **);
  Result (*getVersion)(int *);
  Result (*deviceGetCount)(int *);
  Result (*deviceGet)(int *, int);
  Result (*deviceGetName)(char *, int, int);
  Result (*deviceGetAttribute)(int *, int, int);
  /// The architecture of a device: sm_90, gfx942.
  Result (*deviceGetChip)(char *, int, int);
  Result (*primaryContextRetain)(void **, int);
  Result (*contextGetCurrent)(void **);
  Result (*contextSetCurrent)(void *);
  Result (*moduleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  Result (*moduleUnload)(void *);
  Result (*moduleGetFunction)(void **, void *, const char *);
  /// Lets a function ask for that much dynamic shared memory.
  Result (*functionSetShared)(void *, int);
  /// Whether its blocks run in clusters; null where that is not known.
  bool (*functionHasClusters)(void *) = nullptr;
  Result (*launchKernel)(void *, unsigned, unsigned, unsigned, unsigned,
                         unsigned, unsigned, unsigned, void *, void **,
                         void **);
  Result (*memoryAllocate)(uint64_t *, size_t);
  Result (*memoryFree)(uint64_t);
  Result (*streamIsCapturing)(void *, int *);
  Result (*streamSynchronize)(void *);
  Result (*streamCreate)(void **, unsigned);
  Result (*streamDestroy)(void *);
  Result (*memorySetAsync)(uint64_t, unsigned char, size_t, void *);
  /// From the host to the GPU.
  Result (*memoryCopyAsync)(uint64_t, const void *, size_t, void *);
  Result (*memoryCopyBackAsync)(void *, uint64_t, size_t, void *);
  /// The host's memory that kernels can write, at the same address.
  Result (*hostMemoryAllocate)(void **, size_t, unsigned);
  Result (*hostMemoryFree)(void *);
  Result (*moduleGetGlobal)(uint64_t *, size_t *, void *, const char *);
  Result (*exchangeCaptureMode)(int *);
  Result (*pointerGetAttribute)(void *, int, uint64_t);
  Result (*eventCreate)(void **, unsigned);
  Result (*eventRecord)(void *, void *);
  Result (*eventDestroy)(void *);
  Result (*streamWaitEvent)(void *, void *, unsigned);
  /// Of newer drivers; may be null.
  Result (*streamGetId)(void *, unsigned long long *);
  Result (*launchKernelEx)(const LaunchConfig *, void *, void **, void **);
  Result (*streamGetCaptureInfo)(void *, int *, uint64_t *, void *, void *,
                                 void *);
  /// For profiles; may be null. Milliseconds from the first event to the second.
  Result (*eventSynchronize)(void *);
  Result (*eventElapsedTime)(float *, void *, void *);

  const Vendor vendor;
  /// Numbers of attributes of devices: units, bytes of shared memory a block.
  int unitsAttribute = 0, sharedAttribute = 0;
  /// Options of moduleLoadDataEx that it understands: a log and its size, or none.
  unsigned loadOptions = 0;
  /// The most threads of a launch.
  int64_t mostThreads = INT64_MAX;
  /// Why there is no driver to use; empty if there is.
  std::string error;

  /// "", or "WHAT failed: ", the driver's words and what may help.
  std::string check(Result result, const char *what) const;

  /// "CUDA 13.0", "HIP 6.2".
  std::string versionText(int version) const;

  explicit Driver(Vendor vendor);

private:
  void findCuda();
  void findHip();
};

/// The driver of this process; loaded when first asked for.
const Driver &driver(Vendor vendor);

/// Makes the primary context of a device current for a scope, and the caller's
/// again afterwards.
class ContextScope {
public:
  /// `context` is retained and kept there if it is null.
  ContextScope(const Driver &driver, int device, void *&context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  std::string error;

private:
  const Driver &driver;
  void *outer = nullptr;
  bool changed = false;
};

} // namespace redfuse::runtime

#endif // REDFUSE_LIB_TARGET_DRIVER_H
