//===- Driver.h - the NVIDIA driver, found at run time -----------*- C++ -*-===//
//
// The part of the driver's API that the runtime calls. Nothing links to CUDA.
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_TARGET_DRIVER_H
#define REDFUSE_LIB_TARGET_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace redfuse::runtime {

/// Entry points, as the driver's ABI has them.
/// CUlaunchAttribute: here whether a kernel may start before the one before it
/// has ended.
struct alignas(8) LaunchAttribute {
  int id = 6; // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
  int unused = 0;
  int value[16] = {1};
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned blocks[3], threads[3], shared;
  void *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

struct Driver {
  using Result = int;
  Result (*init)(unsigned);
  Result (*getErrorString)(Result, const char **);
  Result (*getVersion)(int *);
  Result (*deviceGetCount)(int *);
  Result (*deviceGet)(int *, int);
  Result (*deviceGetName)(char *, int, int);
  Result (*deviceGetAttribute)(int *, int, int);
  Result (*primaryContextRetain)(void **, int);
  Result (*contextGetCurrent)(void **);
  Result (*contextSetCurrent)(void *);
  Result (*moduleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  Result (*moduleUnload)(void *);
  Result (*moduleGetFunction)(void **, void *, const char *);
  Result (*functionSetAttribute)(void *, int, int);
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

  /// Why there is no driver to use; empty if there is.
  std::string error;

  /// "", or "WHAT failed: ", the driver's words and what may help.
  std::string check(Result result, const char *what) const;

  Driver();
};

/// The driver of this process; loaded when first asked for.
const Driver &driver();

/// Makes the primary context of a device current for a scope, and the caller's
/// again afterwards.
class ContextScope {
public:
  /// `context` is retained and kept there if it is null.
  ContextScope(int device, void *&context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  std::string error;

private:
  void *outer = nullptr;
  bool changed = false;
};

} // namespace redfuse::runtime

#endif // REDFUSE_LIB_TARGET_DRIVER_H
