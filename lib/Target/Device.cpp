//===- Device.cpp - programs on an NVIDIA GPU, through its driver ----------===//
#include "redfuse/Target/Device.h"
#include "redfuse/Target/Runtime.h"

#include <algorithm>
#include <dlfcn.h>

using namespace redfuse::runtime;

namespace {
/// The part of the driver that is used, as the driver's ABI has it.
struct Driver {
  using Result = int;
  Result (*init)(unsigned);
  Result (*getErrorString)(Result, const char **);
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
  Result (*memoryAllocateAsync)(uint64_t *, size_t, void *);
  Result (*memoryFreeAsync)(uint64_t, void *);

  DeviceError error;

  Driver() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      error = "no NVIDIA driver on this machine (libcuda.so.1 was not found)";
      return;
    }
    auto find = [&](auto &function, const char *name) {
      void *address = dlsym(library, name);
      if (!address && error.empty())
        error = std::string("the NVIDIA driver is too old: it has no ") + name;
      function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
    };
    find(init, "cuInit");
    find(getErrorString, "cuGetErrorString");
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
    find(memoryAllocateAsync, "cuMemAllocAsync");
    find(memoryFreeAsync, "cuMemFreeAsync");
    if (error.empty())
      error = check(init(0), "cuInit");
  }

  DeviceError check(Result result, const char *what) const {
    if (result == 0)
      return {};
    const char *text = nullptr;
    getErrorString(result, &text);
    return std::string(what) +
           " failed: " + (text ? text : "error " + std::to_string(result));
  }
};
} // namespace

static const Driver &driver() {
  static Driver instance;
  return instance;
}

// Attributes of devices and functions, by the driver's numbers.
static constexpr int kUnits = 16, kMajor = 75, kMinor = 76;
static constexpr int kMaxDynamicShared = 8;
static constexpr int64_t kSharedByDefault = 48 * 1024;

/// Makes the primary context of a device current.
static DeviceError enter(int device, void *&context) {
  const Driver &d = driver();
  if (!context) {
    int handle;
    if (DeviceError e = d.check(d.deviceGet(&handle, device), "cuDeviceGet");
        !e.empty())
      return "no GPU " + std::to_string(device) + ": " + e;
    if (DeviceError e = d.check(d.primaryContextRetain(&context, handle),
                                "cuDevicePrimaryCtxRetain");
        !e.empty())
      return e;
  }
  void *current = nullptr;
  d.contextGetCurrent(&current);
  if (current == context)
    return {};
  return d.check(d.contextSetCurrent(context), "cuCtxSetCurrent");
}

int redfuse::runtime::countDevices(DeviceError &error) {
  const Driver &d = driver();
  int count = 0;
  error = d.error.empty()
              ? d.check(d.deviceGetCount(&count), "cuDeviceGetCount")
              : d.error;
  return error.empty() ? count : 0;
}

DeviceError redfuse::runtime::describeDevice(int device, std::string &name,
                                             std::string &chip, int &units) {
  const Driver &d = driver();
  if (!d.error.empty())
    return d.error;
  int handle, major = 0, minor = 0;
  if (DeviceError e = d.check(d.deviceGet(&handle, device), "cuDeviceGet");
      !e.empty())
    return e;
  char text[256] = {};
  d.deviceGetName(text, sizeof(text) - 1, handle);
  d.deviceGetAttribute(&major, kMajor, handle);
  d.deviceGetAttribute(&minor, kMinor, handle);
  d.deviceGetAttribute(&units, kUnits, handle);
  name = text;
  chip = "sm_" + std::to_string(major * 10 + minor);
  return {};
}

DeviceProgram::~DeviceProgram() {
  // A process that ends takes its contexts with it; the driver may be gone.
  for (auto &[device, entry] : loaded)
    if (entry->module && enter(device, entry->context).empty())
      driver().moduleUnload(entry->module);
}

DeviceError DeviceProgram::load(int device) {
  const Driver &d = driver();
  if (!d.error.empty())
    return d.error;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Loaded> &entry = loaded[device];
  if (entry)
    return enter(device, entry->context);
  auto fresh = std::make_unique<Loaded>();
  if (DeviceError e = enter(device, fresh->context); !e.empty())
    return e;
  // CU_JIT_ERROR_LOG_BUFFER and its size, for PTX.
  char log[4096] = {};
  int options[] = {5, 6};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  if (DeviceError e = d.check(
          d.moduleLoadDataEx(&fresh->module, image.data(), 2, options, values),
          "loading the program");
      !e.empty())
    return e + (log[0] ? ": " + std::string(log) : "");
  entry = std::move(fresh);
  return {};
}

DeviceCall::DeviceCall(DeviceProgram &program, int device, uintptr_t stream)
    : program(program), device(device),
      stream(reinterpret_cast<void *>(stream)) {}

DeviceCall::~DeviceCall() {
  for (uint64_t pointer : live)
    driver().memoryFreeAsync(pointer, stream);
}

DeviceError DeviceCall::begin() {
  if (DeviceError e = program.load(device); !e.empty())
    return e;
  std::lock_guard<std::mutex> lock(program.mutex);
  loaded = program.loaded[device].get();
  return {};
}

DeviceError DeviceCall::launch(const char *kernel, int64_t blocks,
                               int64_t threads, int64_t shared,
                               void **arguments) {
  if (blocks <= 0 || threads <= 0)
    return {};
  const Driver &d = driver();
  void *function = nullptr;
  {
    std::lock_guard<std::mutex> lock(program.mutex);
    void *&known = loaded->functions[kernel];
    if (!known) {
      if (DeviceError e =
              d.check(d.moduleGetFunction(&known, loaded->module, kernel),
                      "finding a kernel");
          !e.empty())
        return e + " (" + kernel + ")";
      if (shared > kSharedByDefault)
        if (DeviceError e = d.check(
                d.functionSetAttribute(known, kMaxDynamicShared, int(shared)),
                "asking for shared memory");
            !e.empty())
          return e + " (" + kernel + ", " + std::to_string(shared) + " bytes)";
    }
    function = known;
  }
  if (blocks > INT32_MAX)
    return std::string(kernel) +
           " has more blocks than a GPU takes: " + std::to_string(blocks);
  DeviceError e = d.check(
      d.launchKernel(function, unsigned(blocks), 1, 1, unsigned(threads), 1, 1,
                     unsigned(shared), stream, arguments, nullptr),
      "launching");
  return e.empty() ? e : e + " (" + kernel + ")";
}

void *DeviceCall::allocate(int64_t bytes, DeviceError &error) {
  const Driver &d = driver();
  uint64_t pointer = 0;
  error = d.check(
      d.memoryAllocateAsync(&pointer, std::max<int64_t>(bytes, 16), stream),
      "allocating device memory");
  if (!error.empty()) {
    error += " (" + std::to_string(bytes) + " bytes)";
    return nullptr;
  }
  live.push_back(pointer);
  return reinterpret_cast<void *>(pointer);
}

void DeviceCall::release(void *pointer) {
  auto it =
      std::find(live.begin(), live.end(), reinterpret_cast<uint64_t>(pointer));
  if (it == live.end())
    return;
  driver().memoryFreeAsync(*it, stream);
  live.erase(it);
}

void redfuse_rt_device_launch(const char *kernel, int64_t blocks,
                              int64_t threads, int64_t shared,
                              void **arguments) {
  CallState *state = CallState::current();
  if (state->failed())
    return;
  if (!state->device) {
    state->fail("a program for a GPU was called without one");
    return;
  }
  DeviceError error =
      state->device->launch(kernel, blocks, threads, shared, arguments);
  if (!error.empty())
    state->fail(error.c_str());
}
