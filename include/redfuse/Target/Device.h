//===- Device.h - programs on a GPU -----------------------------*- C++ -*-===//
//
// Loads device code and launches its kernels for one call of host code. Plain
// C++ without MLIR, and without headers of CUDA or HIP: the driver is found when
// the first program is loaded.
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_TARGET_DEVICE_H
#define REDFUSE_TARGET_DEVICE_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace redfuse::runtime {

struct WorkspaceKey;
struct Driver;
class LaunchTimer;

/// Whose GPUs, and so whose driver.
enum class Vendor { Cuda, Rocm };

/// What is wrong with the GPU, the driver or an image, in words; empty: nothing.
using DeviceError = std::string;

/// A cubin or PTX (a zero byte ends it), for an architecture as sm_90a; or an AMD
/// code object, for one as gfx942.
struct DeviceImage {
  std::string chip, bytes;
  bool isPtx() const { return bytes.compare(0, 4, "\177ELF") != 0; }
  /// How well it suits a GPU, higher is better; 0: it does not run there. What
  /// is made for "sm_90a" runs on sm_90 alone, machine code of sm_80 on sm_8x,
  /// PTX on all later ones, a code object on its own.
  int fitness(const std::string &device) const;
};

/// Images of one program, and what is loaded of it on each device.
class DeviceProgram {
public:
  explicit DeviceProgram(Vendor vendor) : vendor(vendor) {}
  void add(DeviceImage image) { images.push_back(std::move(image)); }
  ~DeviceProgram();
  /// Makes it ready on a device; thread-safe.
  DeviceError load(int device);
  /// The message of an assertion of a kernel that has failed on any device since
  /// this was asked last; waits for nothing.
  DeviceError takeReport();
  /// How well its best image suits a device; 0: it does not run there.
  int fitness(int device, DeviceError &error) const;

  const Vendor vendor;
  /// Of the target that it is made for.
  std::string vendorName() const {
    return vendor == Vendor::Cuda ? "cuda" : "rocm";
  }

private:
  friend class DeviceCall;
  const Driver &driver() const;
  struct Function {
    void *handle = nullptr;
    int64_t shared = 0; // bytes of dynamic shared memory that it may ask for
    bool hasClusters = false;
  };
  struct Loaded {
    void *context = nullptr, *module = nullptr;
    /// Kernels may start before the one before them has ended.
    bool overlaps = false;
    std::mutex mutex;
    std::unordered_map<std::string, Function> functions;
    /// Copies of the host's constants, by their addresses there.
    std::unordered_map<const void *, uint64_t> constants;
    /// Where kernels store the number of an assertion that fails; null if they
    /// have none. The host's memory.
    volatile int *report = nullptr;
  };
  DeviceError setUpReports(Loaded &entry) const;
  DeviceError takeReport(Loaded &entry) const;
  static constexpr int kFewDevices = 16;
  DeviceError loadSlowly(int device);
  Loaded *find(int device) const {
    return device >= 0 && device < kFewDevices
               ? loaded[device].load(std::memory_order_acquire)
               : nullptr;
  }

  DeviceError loadModule(int device, void *&module, bool &overlaps) const;
  bool canOverlap(const DeviceImage &image) const;

  std::vector<DeviceImage> images;
  std::mutex mutex; // for loading
  std::atomic<Loaded *> loaded[kFewDevices] = {};
};

/// How long a kernel of a profiled call took.
struct LaunchTime {
  std::string kernel;
  double nanoseconds;
};

/// A call of host code whose buffers are device memory, on one stream.
class DeviceCall {
public:
  DeviceCall(DeviceProgram &program, int device, uintptr_t stream);
  /// Gives back what the host code left.
  ~DeviceCall();
  /// Loads the program if need be, makes the device current, and runs `entry`.
  /// Nothing of it waits for the GPU.
  DeviceError run(void (*entry)(void **), void **args);
  /// The same, with the time of each launch, in order: none starts before the one
  /// before it has ended, and the GPU is waited for.
  DeviceError profile(void (*entry)(void **), void **args,
                      std::vector<LaunchTime> &times);

  DeviceError launch(const char *kernel, int64_t blocks, int64_t threads,
                     int64_t shared, void **arguments);
  void *allocate(int64_t bytes, DeviceError &error);
  void release(void *pointer);
  /// Memory that is zero, and that kernels leave so.
  void *counters(int64_t bytes, DeviceError &error);
  /// The GPU's copy of a constant; the first call that asks waits for it.
  void *constant(const void *host, int64_t bytes, DeviceError &error);

private:
  bool findKey(DeviceError &error);
  DeviceError findFunction(const char *kernel, int64_t shared,
                           DeviceProgram::Function &function);
  int start(const DeviceProgram::Function &function, int64_t blocks,
            int64_t threads, int64_t shared, void **arguments);

  DeviceProgram &program;
  const Driver &driver;
  DeviceProgram::Loaded *loaded = nullptr;
  int device;
  void *stream;
  std::unique_ptr<WorkspaceKey> key; // of the first allocation
  std::vector<uint64_t> live;
  LaunchTimer *timer = nullptr; // of a profiled call
};

/// The GPU that memory is on, or an error.
int deviceOfPointer(Vendor vendor, const void *pointer, DeviceError &error);
/// Work given to `stream` from now on comes after what `other` has so far.
DeviceError orderStreams(Vendor vendor, int device, uintptr_t stream,
                         uintptr_t other);

/// Device memory that is kept for the intermediates of calls on a stream.
struct WorkspaceUse {
  int device;
  uint64_t stream;
  bool captured; // by a graph: never given back
  int64_t bytes;
};
std::vector<WorkspaceUse> workspaceUse();
/// Frees what no graph has; waits for the GPU.
DeviceError trimWorkspace();

/// GPUs that the driver knows, or an error.
int countDevices(Vendor vendor, DeviceError &error);
/// The name of a GPU and its architecture, as sm_90 or gfx942.
DeviceError describeDevice(Vendor vendor, int device, std::string &name,
                           std::string &chip, int &units);

} // namespace redfuse::runtime

extern "C" void redfuse_rt_device_launch(const char *kernel, int64_t blocks,
                                         int64_t threads, int64_t shared,
                                         void **arguments);

/// Fills 128 bytes at `map` with a tensor map for boxes of floats (element
/// 0: f16, 1: bf16, 2: f32) in rows of 128 swizzled bytes. Sizes and boxes in elements,
/// strides of all dims but the first in bytes, innermost first.
extern "C" void redfuse_rt_tensor_map(
    int64_t map, int64_t base, int64_t element, int64_t rank, int64_t size0,
    int64_t size1, int64_t size2, int64_t size3, int64_t size4, int64_t stride1,
    int64_t stride2, int64_t stride3, int64_t stride4, int64_t box0,
    int64_t box1, int64_t box2, int64_t box3, int64_t box4);

/// The same for places of windows (im2col): `rows` neighbouring places, the first dim
/// behind the innermost fastest. Of each dim between the first and the last, the windows
/// begin at `lower`, then `step` after `step`, up to the last element plus `upper`.
extern "C" void redfuse_rt_window_map(
    int64_t map, int64_t base, int64_t element, int64_t rank, int64_t size0,
    int64_t size1, int64_t size2, int64_t size3, int64_t size4, int64_t stride1,
    int64_t stride2, int64_t stride3, int64_t stride4, int64_t lower0,
    int64_t lower1, int64_t lower2, int64_t upper0, int64_t upper1,
    int64_t upper2, int64_t step0, int64_t step1, int64_t step2, int64_t rows);

#endif // REDFUSE_TARGET_DEVICE_H
