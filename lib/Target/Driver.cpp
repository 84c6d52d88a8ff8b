//===- Driver.cpp - drivers of GPUs, found at run time --------------------===//
#include "Driver.h"
#include "FindFunctions.h"

#include <cstdio>

using namespace redfuse::runtime;

namespace {
/// What functions in between call.
struct Cuda {
  int (*deviceGetAttribute)(int *, int, int);
  int (*functionSetAttribute)(void *, int, int);
  int (*functionGetAttribute)(int *, int, void *);
};
} // namespace
static Cuda cuda;

static int cudaChip(char *text, int size, int device) {
  int major = 0, minor = 0;
  int result = cuda.deviceGetAttribute(&major, 75, device);
  if (result == 0)
    result = cuda.deviceGetAttribute(&minor, 76, device);
  snprintf(text, size_t(size), "sm_%d", major * 10 + minor);
  return result;
}

static int cudaSetShared(void *function, int bytes) {
  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  return cuda.functionSetAttribute(function, 8, bytes);
}

static bool cudaHasClusters(void *function) {
  // CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH
  int width = 0;
  if (!cuda.functionGetAttribute ||
      cuda.functionGetAttribute(&width, 11, function) != 0 || width <= 1)
    return false;
  // More blocks than all GPUs have room for:
  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
  if (width > 8)
    cuda.functionSetAttribute(function, 14, 1);
  return true;
}

void Driver::findCuda() {
  FindFunctions find({"libcuda.so.1"}, "NVIDIA driver",
                     "expected one for CUDA 11.4 or later", error);
  find(init, "cuInit");
  find(getErrorString, "cuGetErrorString");
  find(getVersion, "cuDriverGetVersion");
  find(deviceGetCount, "cuDeviceGetCount");
  find(deviceGet, "cuDeviceGet");
  find(deviceGetName, "cuDeviceGetName");
  find(deviceGetAttribute, "cuDeviceGetAttribute");
  find(primaryContextRetain, "cuDevicePrimaryCtxRetain");
  find(contextGetCurrent, "cuCtxGetCurrent");
  find(contextSetCurrent, "cuCtxSetCurrent");
  find(moduleLoadDataEx, "cuModuleLoadDataEx");
  find(moduleUnload, "cuModuleUnload");
  find(moduleGetFunction, "cuModuleGetFunction");
  find(cuda.functionSetAttribute, "cuFuncSetAttribute");
  find(cuda.functionGetAttribute, "cuFuncGetAttribute", /*needed=*/false);
  find(launchKernel, "cuLaunchKernel");
  find(memoryAllocate, "cuMemAlloc_v2");
  find(memoryFree, "cuMemFree_v2");
  find(streamIsCapturing, "cuStreamIsCapturing");
  find(streamSynchronize, "cuStreamSynchronize");
  find(streamCreate, "cuStreamCreate");
  find(streamDestroy, "cuStreamDestroy_v2");
  find(memorySetAsync, "cuMemsetD8Async");
  find(memoryCopyAsync, "cuMemcpyHtoDAsync_v2");
  find(memoryCopyBackAsync, "cuMemcpyDtoHAsync_v2");
  find(hostMemoryAllocate, "cuMemHostAlloc");
  find(hostMemoryFree, "cuMemFreeHost");
  find(moduleGetGlobal, "cuModuleGetGlobal_v2");
  find(exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode");
  find(pointerGetAttribute, "cuPointerGetAttribute");
  find(eventCreate, "cuEventCreate");
  find(eventRecord, "cuEventRecord");
  find(eventDestroy, "cuEventDestroy_v2");
  find(streamWaitEvent, "cuStreamWaitEvent");
  find(eventSynchronize, "cuEventSynchronize", /*needed=*/false);
  find(eventElapsedTime, "cuEventElapsedTime", /*needed=*/false);
  find(streamGetId, "cuStreamGetId", /*needed=*/false);
  find(streamGetCaptureInfo, "cuStreamGetCaptureInfo_v2", /*needed=*/false);
  find(launchKernelEx, "cuLaunchKernelEx", /*needed=*/false);
  cuda.deviceGetAttribute = deviceGetAttribute;
  deviceGetChip = cudaChip;
  functionSetShared = cudaSetShared;
  functionHasClusters = cudaHasClusters;
  unitsAttribute = 16;
  sharedAttribute = 97; // with opting in
  loadOptions = 2;
  // Older ones do not take overlapping launches in graphs.
  int version = 0;
  if (error.empty() && (getVersion(&version) != 0 || version < 12030))
    launchKernelEx = nullptr;
}

Driver::Driver(Vendor vendor) : vendor(vendor) {
  if (vendor == Vendor::Cuda)
    findCuda();
  else
    findHip();
  if (error.empty())
    error =
        check(init(0), vendor == Vendor::Cuda ? "starting the NVIDIA driver"
                                              : "starting the AMD GPU runtime");
}

/// What a user can do about an error, by the driver's numbers.
static const char *remedy(int result, Vendor vendor) {
  bool cuda = vendor == Vendor::Cuda;
  switch (result) {
  case 2:
    return "free device memory (torch.cuda.empty_cache() gives back what "
           "PyTorch keeps) or use smaller inputs";
  case 100:
    return cuda ? "is there a GPU, and does CUDA_VISIBLE_DEVICES show it?"
                : "is there a GPU, does HIP_VISIBLE_DEVICES show it, and may "
                  "this user open /dev/kfd?";
  case 200:
  case 209:
  case 218:
    return cuda ? "the binary is not for this GPU or driver; compile for "
                  "target='cuda' on this machine"
                : "the binary is not for this GPU or runtime; compile for "
                  "target='rocm' on this machine";
  case 222:
    return "the driver is older than the program's PTX; update it, or install "
           "a ptxas that it knows (REDFUSE_PTXAS)";
  case 700:
  case 702:
  case 714:
  case 715:
  case 716:
  case 717:
  case 718:
  case 719:
    return cuda
               ? "an earlier kernel of this process failed, and its GPU "
                 "context is lost: start the process again; "
                 "CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer show which kernel"
               : "an earlier kernel of this process failed, and its GPU "
                 "context is lost: start the process again; "
                 "AMD_SERIALIZE_KERNEL=3 shows which kernel";
  case 701:
    return "the kernel needs more registers or shared memory than a block of "
           "this GPU has; compile with another schedule option";
  case 802:
  case 803:
  case 804:
    return "the driver's library and its kernel module do not match; restart "
           "or reinstall the driver";
  default:
    return nullptr;
  }
}

std::string Driver::check(Result result, const char *what) const {
  if (result == 0)
    return {};
  const char *text = nullptr;
  getErrorString(result, &text);
  std::string message = std::string(what) + " failed: " +
                        (text ? text : "error " + std::to_string(result));
  if (const char *help = remedy(result, vendor))
    message += std::string("; ") + help;
  return message;
}

std::string Driver::versionText(int version) const {
  bool cuda = vendor == Vendor::Cuda;
  int major = version / (cuda ? 1000 : 10000000);
  int minor = cuda ? version % 1000 / 10 : version / 100000 % 100;
  return (cuda ? "CUDA " : "HIP ") + std::to_string(major) + "." +
         std::to_string(minor);
}

const Driver &redfuse::runtime::driver(Vendor vendor) {
  if (vendor == Vendor::Rocm) {
    static Driver instance(Vendor::Rocm);
    return instance;
  }
  static Driver instance(Vendor::Cuda);
  return instance;
}

ContextScope::ContextScope(const Driver &d, int device, void *&context)
    : driver(d) {
  error = d.error;
  if (!error.empty())
    return;
  if (!context) {
    int handle;
    error = d.check(d.deviceGet(&handle, device), "cuDeviceGet");
    if (!error.empty()) {
      error = "no GPU " + std::to_string(device) + ": " + error;
      return;
    }
    error = d.check(d.primaryContextRetain(&context, handle),
                    "opening the GPU's context");
    if (!error.empty())
      return;
  }
  d.contextGetCurrent(&outer);
  if (outer == context)
    return;
  error = d.check(d.contextSetCurrent(context), "cuCtxSetCurrent");
  changed = error.empty();
}

ContextScope::~ContextScope() {
  // A thread that had no context keeps this one: so do the frameworks.
  if (changed && outer)
    driver.contextSetCurrent(outer);
}
