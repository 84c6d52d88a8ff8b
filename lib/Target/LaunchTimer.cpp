//===- LaunchTimer.cpp - how long the kernels of a call take --------------===//
#include "LaunchTimer.h"

using namespace redfuse::runtime;

LaunchTimer::~LaunchTimer() {
  for (void *event : events)
    driver.eventDestroy(event);
}

DeviceError LaunchTimer::check() const {
  if (!driver.eventSynchronize || !driver.eventElapsedTime) {
    bool cuda = driver.vendor == Vendor::Cuda;
    return std::string(cuda ? "the NVIDIA driver" : "the AMD GPU runtime") +
           " cannot time kernels: it has no " + (cuda ? "cu" : "hip") +
           (driver.eventSynchronize ? "EventElapsedTime" : "EventSynchronize");
  }
  int capturing = 0;
  int result = driver.streamIsCapturing(stream, &capturing);
  if (result == 0 && capturing)
    return "kernels cannot be timed while their stream is captured: profile a "
           "call outside of the graph";
  return driver.check(result, "asking whether the stream is captured");
}

DeviceError LaunchTimer::record() {
  void *event = nullptr;
  int result = driver.eventCreate(&event, /*with timing*/ 0);
  if (result == 0) {
    events.push_back(event);
    result = driver.eventRecord(event, stream);
  }
  return driver.check(result, "timing a kernel");
}

DeviceError LaunchTimer::end(const char *kernel) {
  kernels.push_back(kernel);
  return record();
}

DeviceError LaunchTimer::read() {
  if (events.empty())
    return {};
  if (DeviceError e = driver.check(driver.eventSynchronize(events.back()),
                                   "waiting for the kernels");
      !e.empty())
    return e;
  for (size_t i = 0; i < kernels.size(); ++i) {
    float milliseconds = 0;
    if (DeviceError e =
            driver.check(driver.eventElapsedTime(&milliseconds, events[2 * i],
                                                 events[2 * i + 1]),
                         "timing a kernel");
        !e.empty())
      return e + " (" + kernels[i] + ")";
    times.push_back({kernels[i], double(milliseconds) * 1e6});
  }
  return {};
}
