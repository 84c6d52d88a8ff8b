//===- Workspace.h - device memory kept between calls -----------*- C++ -*-===//
//
// Intermediates of programs on a GPU. Blocks belong to a stream: what a call
// leaves is taken by the next one on the same stream, whose kernels run later,
// so nothing waits. Blocks that a captured graph uses are its own for ever: a
// replay may run at any time.
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_TARGET_WORKSPACE_H
#define REDFUSE_LIB_TARGET_WORKSPACE_H

#include <cstdint>
#include <string>

namespace redfuse::runtime {

struct Driver;

/// Where a call's blocks are from.
struct WorkspaceKey {
  const Driver *driver = nullptr;
  void *context = nullptr;
  uint64_t stream = 0;  // unique in the process, where the driver can tell
  uint64_t capture = 0; // of a capture under way; 0: none
  bool operator<(const WorkspaceKey &o) const {
    if (driver != o.driver)
      return driver < o.driver;
    if (context != o.context)
      return context < o.context;
    return stream != o.stream ? stream < o.stream : capture < o.capture;
  }
};

/// The key of a stream now; its context is current.
WorkspaceKey workspaceKey(const Driver &driver, void *context, void *stream,
                          std::string &error);

/// A block of at least that many bytes, on a boundary of 256; 0 with an error.
uint64_t takeWorkspace(const WorkspaceKey &key, int device, int64_t bytes,
                       std::string &error);
/// Gives a block back to its stream, or to its capture.
void giveWorkspace(const WorkspaceKey &key, uint64_t pointer);

/// The counters of a stream, or of a capture: at least that many bytes, which are
/// zero whenever no kernel runs, because kernels leave them so. They stay.
uint64_t countersOf(const WorkspaceKey &key, int device, int64_t bytes,
                    std::string &error);

/// A copy of the host's memory on the current device, complete on return.
uint64_t uploadConstant(const Driver &driver, const void *host, int64_t bytes,
                        int device, std::string &error);

/// The device's memory, copied to the host; waits for that copy alone.
int readBack(const Driver &driver, void *host, uint64_t from, size_t bytes);
/// The host's memory, copied to the device, likewise.
int writeThere(const Driver &driver, uint64_t to, const void *host,
               size_t bytes);

} // namespace redfuse::runtime

#endif // REDFUSE_LIB_TARGET_WORKSPACE_H
