// cuda.c as AMD's runtime: what tests load as libamdhip64.so. The functions that differ are here.
#define SETTINGS "FAKE_HIP"
#define VERSION 60200000
#define FIRST_CONTEXT 0x1000
#define DEVICE_KIND 10
#define UNITS 63
#define SHARED 74
#define cuInit hipInit
#define cuDriverGetVersion hipDriverGetVersion
#define cuDeviceGetCount hipGetDeviceCount
#define cuDeviceGet hipDeviceGet
#define cuDeviceGetName hipDeviceGetName
#define cuDeviceGetAttribute hipDeviceGetAttribute
#define cuModuleLoadDataEx hipModuleLoadDataEx
#define cuModuleUnload hipModuleUnload
#define cuModuleGetFunction hipModuleGetFunction
#define cuLaunchKernel hipModuleLaunchKernel
#define cuMemAlloc_v2 hipMalloc
#define cuMemFree_v2 hipFree
#define cuStreamIsCapturing hipStreamIsCapturing
#define cuStreamGetCaptureInfo_v2 hipStreamGetCaptureInfo_v2
#define cuStreamSynchronize hipStreamSynchronize
#define cuStreamCreate hipStreamCreateWithFlags
#define cuStreamDestroy_v2 hipStreamDestroy
#define cuMemsetD8Async hipMemsetD8Async
#define cuMemcpyDtoHAsync_v2 hipMemcpyDtoHAsync
#define cuMemHostAlloc hipHostMalloc
#define cuMemFreeHost hipHostFree
#define cuModuleGetGlobal_v2 hipModuleGetGlobal
#define cuMemcpyHtoDAsync_v2 hipMemcpyHtoDAsync
#define cuThreadExchangeStreamCaptureMode hipThreadExchangeStreamCaptureMode
#define cuPointerGetAttribute hipPointerGetAttribute
#define cuEventCreate hipEventCreateWithFlags
#define cuEventRecord hipEventRecord
#define cuEventSynchronize hipEventSynchronize
#define cuEventElapsedTime hipEventElapsedTime
#define cuEventDestroy_v2 hipEventDestroy
#define cuStreamWaitEvent hipStreamWaitEvent
#include "cuda.c"

const char *hipGetErrorString(int code) {
  const char *text = NULL;
  cuGetErrorString(code, &text);
  return text ? text : "unknown error";
}
int hipGetDevice(int *out) { CALLED; *out = (int)((uintptr_t)current - 0x1000); return 0; }
int hipSetDevice(int device) {
  CALLED;
  if (device >= devices)
    return 101;
  current = (void *)(uintptr_t)(0x1000 + device);
  return 0;
}
// The name, many numbers, the architecture with its features, more numbers.
int hipGetDevicePropertiesR0600(char *out, int device) {
  CALLED;
  memset(out, 1, 1472);
  snprintf(out, 256, "Fake gfx card %d", device);
  char name[64];
  arch_of(device, name, sizeof name);
  snprintf(out + 1160, 256, "%s:sramecc+:xnack-", name);
  return 0;
}
