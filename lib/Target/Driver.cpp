//===- Driver.cpp - the NVIDIA driver, found at run time -------------------===//
#include "Driver.h"

#include <dlfcn.h>
#include <type_traits>

using namespace redfuse::runtime;

Driver::Driver() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error = "no NVIDIA driver on this machine (libcuda.so.1 was not found)";
    return;
  }
  auto find = [&](auto &function, const char *name, bool needed = true) {
    void *address = dlsym(library, name);
    if (!address && needed && error.empty())
      error = std::string("the NVIDIA driver is too old: it has no ") + name +
              "; expected one for CUDA 11.4 or later";
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
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
  find(functionSetAttribute, "cuFuncSetAttribute");
  find(launchKernel, "cuLaunchKernel");
  find(memoryAllocate, "cuMemAlloc_v2");
  find(memoryFree, "cuMemFree_v2");
  find(streamIsCapturing, "cuStreamIsCapturing");
  find(streamSynchronize, "cuStreamSynchronize");
  find(streamCreate, "cuStreamCreate");
  find(streamDestroy, "cuStreamDestroy_v2");
  find(memorySetAsync, "cuMemsetD8Async");
  find(memoryCopyAsync, "cuMemcpyHtoDAsync_v2");
  find(exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode");
  find(pointerGetAttribute, "cuPointerGetAttribute");
  find(eventCreate, "cuEventCreate");
  find(eventRecord, "cuEventRecord");
  find(eventDestroy, "cuEventDestroy_v2");
  find(streamWaitEvent, "cuStreamWaitEvent");
  find(streamGetId, "cuStreamGetId", /*needed=*/false);
  find(streamGetCaptureInfo, "cuStreamGetCaptureInfo_v2", /*needed=*/false);
  find(launchKernelEx, "cuLaunchKernelEx", /*needed=*/false);
  // Older ones do not take overlapping launches in graphs.
  int version = 0;
  if (error.empty() && (getVersion(&version) != 0 || version < 12030))
    launchKernelEx = nullptr;
  if (error.empty())
    error = check(init(0), "starting the NVIDIA driver");
}

/// What a user can do about an error, by the driver's numbers.
static const char *remedy(int result) {
  switch (result) {
  case 2:
    return "free device memory (torch.cuda.empty_cache() gives back what "
           "PyTorch keeps) or use smaller inputs";
  case 100:
    return "is there a GPU, and does CUDA_VISIBLE_DEVICES show it?";
  case 200:
  case 209:
  case 218:
    return "the binary is not for this GPU or driver; compile for "
           "target='cuda' on this machine";
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
    return "an earlier kernel of this process failed, and its GPU context is "
           "lost: start the process again; CUDA_LAUNCH_BLOCKING=1 or "
           "compute-sanitizer show which kernel";
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
  if (const char *help = remedy(result))
    message += std::string("; ") + help;
  return message;
}

const Driver &redfuse::runtime::driver() {
  static Driver instance;
  return instance;
}

ContextScope::ContextScope(int device, void *&context) {
  const Driver &d = driver();
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
    driver().contextSetCurrent(outer);
}
