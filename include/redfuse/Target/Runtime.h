//===- Runtime.h - what generated code calls --------------------*- C++ -*-===//
//-*-===//
//
// The functions with C linkage that generated host code calls, and the state of
// a call. Plain C++ without MLIR.
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_TARGET_RUNTIME_H
#define REDFUSE_TARGET_RUNTIME_H

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace redfuse::runtime {

struct BlockHeader;
class DeviceCall;

/// One call of an entry function: its first failure, and the blocks that it has
/// allocated and not yet freed (a failing call returns without freeing them).
class CallState {
public:
  CallState() = default;
  CallState(const CallState &) = delete;
  CallState &operator=(const CallState &) = delete;
  ~CallState();

  void fail(const char *message);
  bool failed() const { return __atomic_load_n(&hasFailed, __ATOMIC_ACQUIRE); }
  /// The message of the first failure; to be read when the call is over.
  const std::string &message() const { return text; }

  /// Forgets the failure, frees what is left, returns the message ("": none).
  std::string take();

  /// The call that this thread works for; without one, a state of the thread.
  static CallState *current();
  static void setCurrent(CallState *state);

  /// Set while the buffers of the call are a GPU's.
  DeviceCall *device = nullptr;

private:
  friend void trackBlock(CallState *, BlockHeader *);
  friend void untrackBlock(BlockHeader *);
  std::mutex mutex;
  std::string text;
  bool hasFailed = false;
  BlockHeader *blocks = nullptr;
};

/// Makes `state` the current call of this thread for a scope.
struct CallScope {
  explicit CallScope(CallState *state) : outer(CallState::current()) {
    CallState::setCurrent(state);
  }
  ~CallScope() { CallState::setCurrent(outer); }
  CallState *outer;
};

/// Calls an entry on behalf of `state`. `canEnd`: SIGINT, SIGTERM and SIGHUP end
/// it, where they have handlers: then false, and its results are undefined. For
/// one thread only, that which the handlers speak to.
bool runCall(void (*entry)(void **args), void **args, CallState &state,
             bool canEnd);

/// 64-byte aligned memory from the cache or the system; null if there is none.
/// `counted`: intermediates of generated code count for the peak, arrays that
/// are handed to the user do not.
void *allocate(int64_t bytes, bool counted, CallState *owner);
void release(void *pointer);

/// Bytes of counted memory in use at most since the last reset.
int64_t memoryPeak();
void resetMemoryPeak();
/// Gives all cached free blocks back to the system.
void trimMemory();
/// Adds to the counted memory in use (scratch), from any thread.
void countMemory(int64_t delta);

/// Threads that share the blocks of a launch, the caller's included.
int threadCount();
/// 0 or less: what the machine has (or REDFUSE_NUM_THREADS says).
void setThreadCount(int count);
/// Hardware threads that this process may use (affinity and cgroup quota).
int availableThreads();

/// Names and addresses of everything generated code may call.
std::vector<std::pair<const char *, void *>> runtimeSymbols();
/// Whether generated code may call it: one of these, or the process has it.
bool isDefined(const std::string &name);

} // namespace redfuse::runtime

extern "C" {
using RedfuseBody = void (*)(void *context, int64_t begin, int64_t end);
void redfuse_rt_parallel_for(RedfuseBody body, void *context, int64_t blocks);
void *redfuse_rt_scratch(int64_t bytes);
void *redfuse_rt_alloc(int64_t bytes);
/// During a call on a GPU: memory that is zero, and that its kernels leave so; not
/// to be freed.
void *redfuse_rt_device_counters(int64_t bytes);

/// During a call on a GPU, its copy of constant memory of the host; made when first
/// asked for, kept while the program lives.
void *redfuse_rt_device_constant(int64_t bytes, const void *host);
void redfuse_rt_free(void *pointer);
void redfuse_rt_fail(const char *message);
/// Whether the current call has failed.
bool redfuse_rt_failed(void);
/// Copies between memrefs of the same shape and any strides.
void redfuse_rt_memref_copy(int64_t elementBytes, void *source,
                            void *destination);
}

#endif // REDFUSE_TARGET_RUNTIME_H
