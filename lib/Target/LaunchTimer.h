//===- LaunchTimer.h - how long the kernels of a call take ------*- C++ -*-===//
//
// Two events of the driver around each launch of a profiled call.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_TARGET_LAUNCHTIMER_H
#define REDFUSE_LIB_TARGET_LAUNCHTIMER_H

#include "Driver.h"

#include <string>
#include <vector>

namespace redfuse::runtime {

class LaunchTimer {
public:
  LaunchTimer(const Driver &driver, void *stream,
              std::vector<LaunchTime> &times)
      : driver(driver), stream(stream), times(times) {}
  LaunchTimer(const LaunchTimer &) = delete;
  ~LaunchTimer();
  /// Why launches on the stream cannot be timed, if so.
  DeviceError check() const;
  /// Around a launch.
  DeviceError begin() { return record(); }
  DeviceError end(const char *kernel);
  /// Waits for the last launch, and adds all times.
  DeviceError read();

private:
  DeviceError record();

  const Driver &driver;
  void *const stream;
  std::vector<LaunchTime> &times;
  std::vector<std::string> kernels;
  std::vector<void *> events; // two of each kernel
};

} // namespace redfuse::runtime

#endif // REDFUSE_LIB_TARGET_LAUNCHTIMER_H
