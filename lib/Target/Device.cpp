//===- Device.cpp - programs on a GPU, through its driver -----------------===//
#include "redfuse/Target/Device.h"
#include "Driver.h"
#include "LaunchTimer.h"
#include "Workspace.h"
#include "redfuse/Target/Runtime.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

using namespace redfuse::runtime;

static constexpr int64_t kSharedByDefault = 48 * 1024;

int redfuse::runtime::countDevices(Vendor vendor, DeviceError &error) {
  const Driver &d = driver(vendor);
  int count = 0;
  error = d.error.empty()
              ? d.check(d.deviceGetCount(&count), "cuDeviceGetCount")
              : d.error;
  return error.empty() ? count : 0;
}

static DeviceError chipOf(const Driver &d, int device, std::string &chip) {
  int handle;
  char text[64] = {};
  if (DeviceError e = d.check(d.deviceGet(&handle, device), "cuDeviceGet");
      !e.empty())
    return e;
  DeviceError error = d.check(d.deviceGetChip(text, sizeof(text), handle),
                              "asking for the GPU's architecture");
  chip = text;
  return error;
}

DeviceError redfuse::runtime::describeDevice(Vendor vendor, int device,
                                             std::string &name,
                                             std::string &chip, int &units) {
  const Driver &d = driver(vendor);
  if (!d.error.empty())
    return d.error;
  if (DeviceError e = chipOf(d, device, chip); !e.empty())
    return e;
  int handle;
  char text[256] = {};
  d.deviceGet(&handle, device);
  d.deviceGetName(text, sizeof(text) - 1, handle);
  d.deviceGetAttribute(&units, d.unitsAttribute, handle);
  name = text;
  return {};
}

int redfuse::runtime::deviceOfPointer(Vendor vendor, const void *pointer,
                                      DeviceError &error) {
  const Driver &d = driver(vendor);
  error = d.error;
  if (!error.empty())
    return -1;
  int device = -1;
  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, HIP's has the same number.
  error = d.check(d.pointerGetAttribute(&device, 9, uint64_t(pointer)),
                  "asking for the GPU of an address");
  return device;
}

DeviceError redfuse::runtime::orderStreams(Vendor vendor, int device,
                                           uintptr_t stream, uintptr_t other) {
  const Driver &d = driver(vendor);
  void *context = nullptr, *event = nullptr;
  ContextScope scope(d, device, context);
  if (!scope.error.empty())
    return scope.error;
  int result = d.eventCreate(&event, /*without timing*/ 2);
  if (result == 0) {
    result = d.eventRecord(event, reinterpret_cast<void *>(other));
    if (result == 0)
      result = d.streamWaitEvent(reinterpret_cast<void *>(stream), event, 0);
    d.eventDestroy(event); // takes effect when the event has happened
  }
  return d.check(result, "ordering two streams");
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

const Driver &DeviceProgram::driver() const {
  return redfuse::runtime::driver(vendor);
}

DeviceProgram::~DeviceProgram() {
  for (int device = 0; device < kFewDevices; ++device) {
    Loaded *entry = loaded[device].load();
    if (!entry)
      continue;
    ContextScope scope(driver(), device, entry->context);
    if (scope.error.empty()) {
      driver().moduleUnload(entry->module);
      if (entry->report)
        driver().hostMemoryFree(const_cast<int *>(entry->report));
      for (auto [host, copy] : entry->constants)
        driver().memoryFree(copy);
    }
    delete entry;
  }
}

DeviceError DeviceProgram::load(int device) {
  return find(device) ? DeviceError() : loadSlowly(device);
}

int DeviceImage::fitness(const std::string &device) const {
  if (chip.rfind("sm_", 0) != 0 || device.rfind("sm_", 0) != 0)
    return chip == device;
  int have = atoi(device.c_str() + 3), want = atoi(chip.c_str() + 3);
  bool exact = !isdigit(static_cast<unsigned char>(chip.back()));
  if (want > have || (exact && want != have))
    return 0;
  if (isPtx())
    return want;
  return want / 10 == have / 10 ? 1000 + 2 * want + exact : 0;
}

int DeviceProgram::fitness(int device, DeviceError &error) const {
  std::string chip;
  error = driver().error;
  if (error.empty())
    error = chipOf(driver(), device, chip);
  int best = 0;
  if (error.empty())
    for (const DeviceImage &image : images)
      best = std::max(best, image.fitness(chip));
  return best;
}

/// Whether all kernels of an image wait for the kernel before themselves: the
/// PTX beside it says so.
bool DeviceProgram::canOverlap(const DeviceImage &image) const {
  return driver().launchKernelEx &&
         std::any_of(images.begin(), images.end(), [&](const DeviceImage &i) {
           return i.isPtx() && i.chip == image.chip &&
                  i.bytes.find("griddepcontrol.wait") != std::string::npos;
         });
}

DeviceError DeviceProgram::loadModule(int device, void *&module,
                                      bool &overlaps) const {
  const Driver &d = driver();
  std::string chip, chips;
  if (DeviceError e = chipOf(d, device, chip); !e.empty())
    return e;
  std::vector<const DeviceImage *> fitting;
  for (const DeviceImage &image : images) {
    if (chips.find(image.chip) == std::string::npos)
      chips += (chips.empty() ? "" : ", ") + image.chip;
    if (image.fitness(chip) > 0)
      fitting.push_back(&image);
  }
  std::stable_sort(fitting.begin(), fitting.end(), [&](auto *a, auto *b) {
    return a->fitness(chip) > b->fitness(chip);
  });
  if (fitting.empty())
    return "loading the program: the program is for " + chips + ", GPU " +
           std::to_string(device) + " is " + chip + "; compile for target='" +
           vendorName() + "' on this machine";
  DeviceError first;
  for (const DeviceImage *image : fitting) {
    // CU_JIT_ERROR_LOG_BUFFER and its size, for PTX.
    char log[4096] = {};
    int options[] = {5, 6};
    void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
    // A program may be called for the first time while its stream is captured.
    int mode = 2;
    d.exchangeCaptureMode(&mode);
    int result = d.moduleLoadDataEx(&module, image->bytes.data(), d.loadOptions,
                                    options, values);
    d.exchangeCaptureMode(&mode);
    if (result == 0) {
      overlaps = canOverlap(*image);
      return {};
    }
    // A driver that does not take the machine code may take the PTX.
    if (!first.empty())
      continue;
    int version = 0;
    d.getVersion(&version);
    first = d.check(result, "loading the program") + " (GPU " +
            std::to_string(device) + " is " + chip + ", its driver is for " +
            d.versionText(version) + ")" +
            (log[0] ? ": " + std::string(log) : "");
  }
  return first;
}

DeviceError DeviceProgram::loadSlowly(int device) {
  const Driver &d = driver();
  if (!d.error.empty())
    return d.error;
  if (device < 0 || device >= kFewDevices)
    return "no GPU " + std::to_string(device) + ": expected 0 to " +
           std::to_string(kFewDevices - 1);
  std::lock_guard<std::mutex> lock(mutex);
  if (find(device))
    return {};
  auto fresh = std::make_unique<Loaded>();
  ContextScope scope(d, device, fresh->context);
  if (!scope.error.empty())
    return scope.error;
  if (DeviceError e = loadModule(device, fresh->module, fresh->overlaps);
      !e.empty())
    return e;
  if (DeviceError e = setUpReports(*fresh); !e.empty())
    return e;
  loaded[device].store(fresh.release(), std::memory_order_release);
  return {};
}

//===----------------------------------------------------------------------===//
// Assertions of kernels
//===----------------------------------------------------------------------===//

/// Gives kernels with assertions a word of the host's memory to report to.
DeviceError DeviceProgram::setUpReports(Loaded &entry) const {
  const Driver &d = driver();
  uint64_t global = 0;
  size_t bytes = 0;
  if (d.moduleGetGlobal(&global, &bytes, entry.module, "redfuse_report") != 0 ||
      bytes != sizeof(void *))
    return {};
  int mode = 2; // relaxed: a program may be loaded while its stream is captured
  d.exchangeCaptureMode(&mode);
  void *word = nullptr;
  // CU_MEMHOSTALLOC_PORTABLE and _DEVICEMAP; HIP's have the same numbers.
  int result = d.hostMemoryAllocate(&word, sizeof(int64_t), 3);
  d.exchangeCaptureMode(&mode);
  if (result == 0) {
    *static_cast<int64_t *>(word) = 0;
    result = writeThere(d, global, &word, sizeof(word));
  }
  if (result == 0)
    entry.report = static_cast<int *>(word);
  else if (word)
    d.hostMemoryFree(word);
  return d.check(result, "preparing the reports of kernels");
}

DeviceError DeviceProgram::takeReport(Loaded &entry) const {
  int number = *entry.report;
  if (number == 0)
    return {};
  *entry.report = 0;
  const Driver &d = driver();
  uint64_t global = 0;
  size_t bytes = 0;
  std::string text;
  if (d.moduleGetGlobal(&global, &bytes, entry.module, "redfuse_messages") == 0)
    text.resize(bytes);
  std::string message = "assertion " + std::to_string(number);
  if (!text.empty() && readBack(d, text.data(), global, bytes) == 0) {
    size_t start = 0;
    for (int i = 1; i < number && start != std::string::npos; ++i)
      start = text.find('\0', start) == std::string::npos
                  ? std::string::npos
                  : text.find('\0', start) + 1;
    if (start != std::string::npos && start < text.size())
      message = text.c_str() + start;
  }
  return message + " (in a kernel of an earlier call, whose results are not "
                   "to be used)";
}

DeviceError DeviceProgram::takeReport() {
  for (int device = 0; device < kFewDevices; ++device) {
    Loaded *entry = find(device);
    if (!entry || !entry->report || *entry->report == 0)
      continue;
    ContextScope scope(driver(), device, entry->context);
    return scope.error.empty() ? takeReport(*entry) : scope.error;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

DeviceCall::DeviceCall(DeviceProgram &program, int device, uintptr_t stream)
    : program(program), driver(program.driver()), device(device),
      stream(reinterpret_cast<void *>(stream)) {}

DeviceCall::~DeviceCall() {
  for (uint64_t pointer : live)
    giveWorkspace(*key, pointer);
}

DeviceError DeviceCall::run(void (*entry)(void **), void **args) {
  if (DeviceError e = program.load(device); !e.empty())
    return e;
  loaded = program.find(device);
  ContextScope scope(driver, device, loaded->context);
  if (!scope.error.empty())
    return scope.error;
  if (loaded->report && *loaded->report != 0)
    return program.takeReport(*loaded);
  if (timer)
    if (DeviceError e = timer->check(); !e.empty())
      return e;
  CallState state;
  state.device = this;
  {
    CallScope current(&state);
    entry(args);
  }
  if (state.failed())
    return state.message();
  return timer ? timer->read() : DeviceError();
}

DeviceError DeviceCall::profile(void (*entry)(void **), void **args,
                                std::vector<LaunchTime> &times) {
  LaunchTimer own(driver, stream, times);
  timer = &own;
  DeviceError error = run(entry, args);
  timer = nullptr;
  return error;
}

DeviceError DeviceCall::findFunction(const char *kernel, int64_t shared,
                                     DeviceProgram::Function &function) {
  const Driver &d = driver;
  std::lock_guard<std::mutex> lock(loaded->mutex);
  DeviceProgram::Function &known = loaded->functions[kernel];
  if (!known.handle) {
    void *found = nullptr;
    if (DeviceError e =
            d.check(d.moduleGetFunction(&found, loaded->module, kernel),
                    "finding a kernel");
        !e.empty())
      return e + " (" + kernel + ")";
    known = {found, kSharedByDefault,
             d.functionHasClusters && d.functionHasClusters(found)};
  }
  if (shared > known.shared) {
    if (d.functionSetShared(known.handle, int(shared))) {
      int most = 0, number = 0;
      d.deviceGet(&number, device);
      d.deviceGetAttribute(&most, d.sharedAttribute, number);
      return std::string(kernel) + " needs " + std::to_string(shared) +
             " bytes of shared memory a block, GPU " + std::to_string(device) +
             " has " + std::to_string(most) + "; compile for target='" +
             program.vendorName() +
             "' on this machine, or with another schedule option";
    }
    known.shared = shared;
  }
  function = known;
  return {};
}

int DeviceCall::start(const DeviceProgram::Function &function, int64_t blocks,
                      int64_t threads, int64_t shared, void **arguments) {
  LaunchAttribute attributes[] = {kBalance, kOverlap};
  // A kernel that is timed has the GPU to itself.
  LaunchAttribute *from = attributes + !function.hasClusters,
                  *to = attributes + (timer ? 1 : 2);
  if (!loaded->overlaps || from == to)
    return driver.launchKernel(function.handle, unsigned(blocks), 1, 1,
                               unsigned(threads), 1, 1, unsigned(shared),
                               stream, arguments, nullptr);
  LaunchConfig config{{unsigned(blocks), 1, 1},
                      {unsigned(threads), 1, 1},
                      unsigned(shared),
                      stream,
                      from,
                      unsigned(to - from)};
  return driver.launchKernelEx(&config, function.handle, arguments, nullptr);
}

DeviceError DeviceCall::launch(const char *kernel, int64_t blocks,
                               int64_t threads, int64_t shared,
                               void **arguments) {
  if (blocks <= 0 || threads <= 0)
    return {};
  DeviceProgram::Function function;
  if (DeviceError e = findFunction(kernel, shared, function); !e.empty())
    return e;
  const Driver &d = driver;
  if (blocks > INT32_MAX || blocks > d.mostThreads / threads)
    return std::string(kernel) +
           " has more blocks than a GPU takes: " + std::to_string(blocks);
  if (timer)
    if (DeviceError e = timer->begin(); !e.empty())
      return e;
  int result = start(function, blocks, threads, shared, arguments);
  if (result == 0)
    return timer ? timer->end(kernel) : DeviceError();
  return d.check(result, "launching") + " (" + kernel + ", " +
         std::to_string(blocks) + " blocks of " + std::to_string(threads) +
         " threads)";
}

bool DeviceCall::findKey(DeviceError &error) {
  if (key)
    return true;
  key = std::make_unique<WorkspaceKey>(
      workspaceKey(driver, loaded->context, stream, error));
  if (!error.empty())
    key.reset();
  return key != nullptr;
}

void *DeviceCall::counters(int64_t bytes, DeviceError &error) {
  if (!findKey(error))
    return nullptr;
  return reinterpret_cast<void *>(countersOf(*key, device, bytes, error));
}

void *DeviceCall::constant(const void *host, int64_t bytes,
                           DeviceError &error) {
  std::lock_guard<std::mutex> lock(loaded->mutex);
  uint64_t &copy = loaded->constants[host];
  if (!copy)
    copy = uploadConstant(driver, host, bytes, device, error);
  return reinterpret_cast<void *>(copy);
}

void *DeviceCall::allocate(int64_t bytes, DeviceError &error) {
  if (!findKey(error))
    return nullptr;
  uint64_t pointer = takeWorkspace(*key, device, bytes, error);
  if (!pointer)
    return nullptr;
  live.push_back(pointer);
  return reinterpret_cast<void *>(pointer);
}

void DeviceCall::release(void *pointer) {
  auto it =
      std::find(live.begin(), live.end(), reinterpret_cast<uint64_t>(pointer));
  if (it == live.end())
    return;
  giveWorkspace(*key, *it);
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

/// Memory of the GPU that the call under way is on.
template <typename Find>
static void *findMemory(Find find) {
  CallState *state = CallState::current();
  if (!state->device) {
    state->fail("a program for a GPU was called without one");
    return nullptr;
  }
  DeviceError error;
  void *pointer = find(*state->device, error);
  if (!pointer)
    state->fail(error.c_str());
  return pointer;
}

void *redfuse_rt_device_counters(int64_t bytes) {
  return findMemory([&](DeviceCall &call, DeviceError &error) {
    return call.counters(bytes, error);
  });
}

void *redfuse_rt_device_constant(int64_t bytes, const void *host) {
  return findMemory([&](DeviceCall &call, DeviceError &error) {
    return call.constant(host, bytes, error);
  });
}
