//===- DriverHip.cpp - AMD's HIP runtime, found at run time ---------------===//
//
// HIP's module API has CUDA's shape, but for contexts (a device is current, not a
// context), names of architectures, and shared memory (nothing to opt in to).
//
//===----------------------------------------------------------------------===//
#include "Driver.h"
#include "FindFunctions.h"

#include <cctype>
#include <cstring>

using namespace redfuse::runtime;

namespace {
struct Hip {
  const char *(*getErrorString)(int);
  int (*getDevice)(int *);
  int (*setDevice)(int);
  int (*deviceGetAttribute)(int *, int, int);
  int (*getDeviceProperties)(void *, int);
};
} // namespace
static Hip hip;

static constexpr int kInvalidValue = 1, kSharedOfBlock = 74;

static int errorString(int code, const char **text) {
  *text = hip.getErrorString(code);
  // Of a number without words the number says more.
  if (*text && !strncmp(*text, "unknown", 7))
    *text = nullptr;
  return *text ? 0 : kInvalidValue;
}

/// The properties grow with HIP's versions; none is larger than this.
static constexpr size_t kPropertyBytes = 16384;

/// The architecture, without the features that follow it ("gfx942:sramecc+"). It
/// is the only text among the properties that starts so, after the name, and is
/// looked for because its place in the structure depends on HIP's version.
static int chipOfDevice(char *text, int size, int device) {
  std::string properties(kPropertyBytes, '\0');
  int result = hip.getDeviceProperties(properties.data(), device);
  if (result != 0)
    return result;
  size_t start = properties.find("gfx", strlen(properties.c_str()));
  if (start == std::string::npos)
    return kInvalidValue;
  size_t end = start;
  while (end < properties.size() &&
         isalnum(static_cast<unsigned char>(properties[end])))
    ++end;
  if (end - start >= size_t(size))
    return kInvalidValue;
  properties.copy(text, end - start, start);
  text[end - start] = '\0';
  return 0;
}

// A context is the number of a device, from 1 on.
static int retainContext(void **context, int device) {
  *context = reinterpret_cast<void *>(uintptr_t(device) + 1);
  return 0;
}

static int currentContext(void **context) {
  int device = 0, result = hip.getDevice(&device);
  *context =
      result == 0 ? reinterpret_cast<void *>(uintptr_t(device) + 1) : nullptr;
  return result;
}

static int makeCurrent(void *context) {
  return hip.setDevice(int(reinterpret_cast<uintptr_t>(context) - 1));
}

static int allowShared(void *, int bytes) {
  int device = 0, most = 0, result = hip.getDevice(&device);
  if (result == 0)
    result = hip.deviceGetAttribute(&most, kSharedOfBlock, device);
  return result == 0 && bytes > most ? kInvalidValue : result;
}

void Driver::findHip() {
  FindFunctions find({"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                      "libamdhip64.so.5"},
                     "AMD GPU runtime", "expected ROCm 5.3 or later", error);
  find(init, "hipInit");
  find(hip.getErrorString, "hipGetErrorString");
  find(getVersion, "hipDriverGetVersion");
  find(deviceGetCount, "hipGetDeviceCount");
  find(deviceGet, "hipDeviceGet");
  find(deviceGetName, "hipDeviceGetName");
  find(deviceGetAttribute, "hipDeviceGetAttribute");
  // The structure of HIP 6 has a name of its own; the old one lives on.
  if (!find(hip.getDeviceProperties, "hipGetDevicePropertiesR0600",
            /*needed=*/false))
    find(hip.getDeviceProperties, "hipGetDeviceProperties");
  find(hip.getDevice, "hipGetDevice");
  find(hip.setDevice, "hipSetDevice");
  find(moduleLoadDataEx, "hipModuleLoadDataEx");
  find(moduleUnload, "hipModuleUnload");
  find(moduleGetFunction, "hipModuleGetFunction");
  find(launchKernel, "hipModuleLaunchKernel");
  find(memoryAllocate, "hipMalloc");
  find(memoryFree, "hipFree");
  find(streamIsCapturing, "hipStreamIsCapturing");
  find(streamSynchronize, "hipStreamSynchronize");
  find(streamCreate, "hipStreamCreateWithFlags");
  find(streamDestroy, "hipStreamDestroy");
  find(memorySetAsync, "hipMemsetD8Async");
  find(memoryCopyAsync, "hipMemcpyHtoDAsync");
  find(memoryCopyBackAsync, "hipMemcpyDtoHAsync");
  find(hostMemoryAllocate, "hipHostMalloc");
  find(hostMemoryFree, "hipHostFree");
  find(moduleGetGlobal, "hipModuleGetGlobal");
  find(exchangeCaptureMode, "hipThreadExchangeStreamCaptureMode");
  find(pointerGetAttribute, "hipPointerGetAttribute");
  find(eventCreate, "hipEventCreateWithFlags");
  find(eventRecord, "hipEventRecord");
  find(eventDestroy, "hipEventDestroy");
  find(streamWaitEvent, "hipStreamWaitEvent");
  find(eventSynchronize, "hipEventSynchronize", /*needed=*/false);
  find(eventElapsedTime, "hipEventElapsedTime", /*needed=*/false);
  find(streamGetCaptureInfo, "hipStreamGetCaptureInfo_v2", /*needed=*/false);
  streamGetId = nullptr;
  launchKernelEx = nullptr;
  hip.deviceGetAttribute = deviceGetAttribute;
  getErrorString = errorString;
  deviceGetChip = chipOfDevice;
  primaryContextRetain = retainContext;
  contextGetCurrent = currentContext;
  contextSetCurrent = makeCurrent;
  functionSetShared = allowShared;
  unitsAttribute = 63;
  sharedAttribute = kSharedOfBlock;
  mostThreads = UINT32_MAX;
}
