//===- Device.h - programs on a GPU ------------------------------*- C++ -*-===//
//
// Loads device code and launches its kernels for one call of host code. Plain
// C++ without MLIR, and without CUDA's headers: the driver is found when the
// first program is loaded.
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_TARGET_DEVICE_H
#define REDFUSE_TARGET_DEVICE_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace redfuse::runtime {

/// What is wrong with the GPU, the driver or an image, in words; empty: nothing.
using DeviceError = std::string;

/// One image (a cubin, or PTX with a zero byte at the end) and what is loaded of
/// it on each device.
class DeviceProgram {
public:
  explicit DeviceProgram(std::string image) : image(std::move(image)) {}
  ~DeviceProgram();
  /// Makes it ready on a device; thread-safe.
  DeviceError load(int device);

private:
  friend class DeviceCall;
  struct Loaded {
    void *context = nullptr, *module = nullptr;
    std::unordered_map<std::string, void *> functions;
  };
  std::string image;
  std::mutex mutex;
  std::map<int, std::unique_ptr<Loaded>> loaded;
};

/// A call of host code whose buffers are device memory, on one stream.
class DeviceCall {
public:
  DeviceCall(DeviceProgram &program, int device, uintptr_t stream);
  /// Frees what the host code left.
  ~DeviceCall();
  DeviceError begin();
  DeviceError launch(const char *kernel, int64_t blocks, int64_t threads,
                     int64_t shared, void **arguments);
  void *allocate(int64_t bytes, DeviceError &error);
  void release(void *pointer);

private:
  DeviceProgram &program;
  DeviceProgram::Loaded *loaded = nullptr;
  int device;
  void *stream;
  std::vector<uint64_t> live;
};

/// GPUs that the driver knows, or an error.
int countDevices(DeviceError &error);
/// The name of a GPU and its architecture, as sm_90.
DeviceError describeDevice(int device, std::string &name, std::string &chip,
                           int &units);

} // namespace redfuse::runtime

extern "C" void redfuse_rt_device_launch(const char *kernel, int64_t blocks,
                                         int64_t threads, int64_t shared,
                                         void **arguments);

#endif // REDFUSE_TARGET_DEVICE_H
