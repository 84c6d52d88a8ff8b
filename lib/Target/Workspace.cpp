//===- Workspace.cpp - device memory kept between calls -------------------===//
#include "Workspace.h"
#include "Driver.h"
#include "redfuse/Target/Device.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

using namespace redfuse::runtime;

namespace {
struct Pool {
  std::multimap<int64_t, uint64_t> free; // by size
  std::unordered_map<uint64_t, int64_t> sizes;
  int device = 0;
};

struct Counters {
  uint64_t pointer = 0;
  int64_t bytes = 0;
};

struct Workspaces {
  std::mutex mutex;
  std::map<WorkspaceKey, Pool> pools;
  std::map<WorkspaceKey, Counters> counters;
  /// What streams were called when their handles were last used.
  std::unordered_map<uint64_t, uint64_t> ids;
};
} // namespace

// Never destroyed: at the end of the process the driver may be gone first.
static Workspaces &workspaces() {
  static auto *instance = new Workspaces;
  return *instance;
}

WorkspaceKey redfuse::runtime::workspaceKey(const Driver &d, void *context,
                                            void *stream, std::string &error) {
  WorkspaceKey key{&d, context, reinterpret_cast<uint64_t>(stream), 0};
  int status = 0;
  error = d.check(d.streamIsCapturing(stream, &status),
                  "asking for the stream's state");
  if (!error.empty())
    return key;
  // The default streams' handles are no pointers and need no id. Asking for one
  // breaks a capture: then it is the one that the stream had before.
  if (d.streamGetId && key.stream > 2) {
    Workspaces &all = workspaces();
    std::lock_guard<std::mutex> lock(all.mutex);
    unsigned long long id;
    if (status == 0 && d.streamGetId(stream, &id) == 0)
      all.ids[key.stream] = id;
    if (auto it = all.ids.find(key.stream); it != all.ids.end())
      key.stream = it->second;
  }
  if (status == 0)
    return key;
  if (status != 1) {
    error = "the capture of the stream is broken by an earlier error";
    return key;
  }
  uint64_t capture = 0;
  if (d.streamGetCaptureInfo)
    d.streamGetCaptureInfo(stream, &status, &capture, nullptr, nullptr,
                           nullptr);
  key.capture = capture ? capture : UINT64_MAX;
  return key;
}

/// A free block that is not much larger than needed.
static uint64_t takeFree(Pool &pool, int64_t bytes) {
  auto it = pool.free.lower_bound(bytes);
  if (it == pool.free.end() || it->first > 2 * bytes + (1 << 20))
    return 0;
  uint64_t pointer = it->second;
  pool.free.erase(it);
  return pointer;
}

static void freeAll(const Driver &d, Pool &pool) {
  for (auto [size, pointer] : pool.free) {
    d.memoryFree(pointer);
    pool.sizes.erase(pointer);
  }
  pool.free.clear();
}

uint64_t redfuse::runtime::takeWorkspace(const WorkspaceKey &key, int device,
                                         int64_t bytes, std::string &error) {
  const Driver &d = *key.driver;
  Workspaces &all = workspaces();
  int64_t wanted = std::max<int64_t>(bytes, 1);
  if (__builtin_add_overflow(wanted, 255, &wanted)) {
    error = "an intermediate is larger than any memory";
    return 0;
  }
  wanted &= ~int64_t(255);
  std::lock_guard<std::mutex> lock(all.mutex);
  Pool &pool = all.pools[key];
  pool.device = device;
  if (uint64_t pointer = takeFree(pool, wanted))
    return pointer;
  if (key.capture) {
    // Warm blocks of the stream become the graph's.
    WorkspaceKey eager = key;
    eager.capture = 0;
    if (auto it = all.pools.find(eager); it != all.pools.end())
      if (uint64_t pointer = takeFree(it->second, wanted)) {
        pool.sizes[pointer] = it->second.sizes[pointer];
        it->second.sizes.erase(pointer);
        return pointer;
      }
  }
  // Allocating is not part of what is captured.
  int mode = 2; // relaxed
  if (key.capture)
    d.exchangeCaptureMode(&mode);
  uint64_t pointer = 0;
  int result = d.memoryAllocate(&pointer, size_t(wanted));
  if (result == 2 && !key.capture) {
    // Freeing waits for the GPU; better than failing.
    for (auto &[other, idle] : all.pools)
      if (other.driver == key.driver && other.context == key.context &&
          !other.capture)
        freeAll(d, idle);
    result = d.memoryAllocate(&pointer, size_t(wanted));
  }
  if (key.capture)
    d.exchangeCaptureMode(&mode);
  error = d.check(result, "allocating device memory");
  if (!error.empty()) {
    error += " (" + std::to_string(bytes) + " bytes for intermediates on GPU " +
             std::to_string(device) + ")";
    return 0;
  }
  pool.sizes[pointer] = wanted;
  return pointer;
}

void redfuse::runtime::giveWorkspace(const WorkspaceKey &key,
                                     uint64_t pointer) {
  Workspaces &all = workspaces();
  std::lock_guard<std::mutex> lock(all.mutex);
  Pool &pool = all.pools[key];
  auto it = pool.sizes.find(pointer);
  if (it != pool.sizes.end())
    pool.free.emplace(it->second, pointer);
}

/// Does something on a stream of its own and waits for it; not part of what is
/// captured.
template <typename Work>
static int doAside(const Driver &d, Work work) {
  int mode = 2; // relaxed
  d.exchangeCaptureMode(&mode);
  void *stream = nullptr;
  int result = d.streamCreate(&stream, /*non-blocking*/ 1);
  if (result == 0) {
    result = work(stream);
    if (result == 0)
      result = d.streamSynchronize(stream);
    d.streamDestroy(stream);
  }
  d.exchangeCaptureMode(&mode);
  return result;
}

/// Allocates memory that no stream knows yet, and fills it with `fill`.
template <typename Fill>
static int makeFilled(const Driver &d, uint64_t &pointer, int64_t bytes,
                      Fill fill) {
  return doAside(d, [&](void *stream) {
    int result = d.memoryAllocate(&pointer, size_t(bytes));
    if (result != 0)
      return result;
    result = fill(stream);
    if (result != 0)
      d.memoryFree(pointer);
    return result;
  });
}

int redfuse::runtime::readBack(const Driver &d, void *host, uint64_t from,
                               size_t bytes) {
  return doAside(d, [&](void *stream) {
    return d.memoryCopyBackAsync(host, from, bytes, stream);
  });
}

int redfuse::runtime::writeThere(const Driver &d, uint64_t to, const void *host,
                                 size_t bytes) {
  return doAside(d, [&](void *stream) {
    return d.memoryCopyAsync(to, host, bytes, stream);
  });
}

static std::string describe(const Driver &d, int result, const char *what,
                            int64_t bytes, int device) {
  std::string error = d.check(result, what);
  if (!error.empty())
    error += " (" + std::to_string(bytes) + " bytes on GPU " +
             std::to_string(device) + ")";
  return error;
}

uint64_t redfuse::runtime::countersOf(const WorkspaceKey &key, int device,
                                      int64_t bytes, std::string &error) {
  const Driver &d = *key.driver;
  Workspaces &all = workspaces();
  std::lock_guard<std::mutex> lock(all.mutex);
  Counters &known = all.counters[key];
  if (known.bytes >= bytes)
    return known.pointer;
  // Kernels under way may still count in what there is: that stays as it is.
  int64_t wanted = std::max<int64_t>(4096, 2 * bytes);
  uint64_t pointer = 0;
  int result = makeFilled(d, pointer, wanted, [&](void *stream) {
    return d.memorySetAsync(pointer, 0, size_t(wanted), stream);
  });
  error = describe(d, result, "making counters", wanted, device);
  if (!error.empty())
    return 0;
  known = {pointer, wanted};
  return pointer;
}

uint64_t redfuse::runtime::uploadConstant(const Driver &d, const void *host,
                                          int64_t bytes, int device,
                                          std::string &error) {
  uint64_t pointer = 0;
  int64_t wanted = std::max<int64_t>(bytes, 1);
  int result = makeFilled(d, pointer, wanted, [&](void *stream) {
    return d.memoryCopyAsync(pointer, host, size_t(bytes), stream);
  });
  error = describe(d, result, "copying a constant", wanted, device);
  return error.empty() ? pointer : 0;
}

std::vector<WorkspaceUse> redfuse::runtime::workspaceUse() {
  Workspaces &all = workspaces();
  std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<WorkspaceUse> uses;
  for (auto &[key, pool] : all.pools) {
    WorkspaceUse use{pool.device, key.stream, key.capture != 0, 0};
    for (auto [pointer, size] : pool.sizes)
      use.bytes += size;
    if (use.bytes)
      uses.push_back(use);
  }
  return uses;
}

DeviceError redfuse::runtime::trimWorkspace() {
  Workspaces &all = workspaces();
  std::lock_guard<std::mutex> lock(all.mutex);
  for (auto &[key, pool] : all.pools) {
    if (key.capture || pool.free.empty())
      continue;
    void *context = key.context;
    ContextScope scope(*key.driver, pool.device, context);
    if (!scope.error.empty())
      return scope.error;
    freeAll(*key.driver, pool); // freeing waits for kernels that use the memory
  }
  return {};
}
