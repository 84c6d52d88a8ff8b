//===- RuntimePool.cpp - the thread pool of generated code ----------------===//
//
// One launch at a time: the calling thread publishes a job, takes part in it
// and returns when no worker is inside any more. Workers take ranges of blocks
// from a shared counter, large ones first, so that uneven blocks even out.
// After a job they spin for some microseconds, because launches come in series,
// and then sleep.
//
//===----------------------------------------------------------------------===//
#include "RuntimeInterrupt.h"
#include "redfuse/Target/Runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <pthread.h>
#include <sched.h>
#include <thread>

using namespace redfuse::runtime;

static inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The part of the machine that a cgroup's CPU quota leaves, or `count`.
static int limitByQuota(int count) {
  double quota = 0, period = 0;
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  if (!(v2 >> quota >> period)) { // "max 100000" fails here too
    std::ifstream q("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
        p("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (!(q >> quota) || !(p >> period))
      return count;
  }
  if (quota <= 0 || period <= 0)
    return count;
  return std::max(1, std::min(count, int((quota + period - 1) / period)));
}

int redfuse::runtime::availableThreads() {
  int count = int(std::thread::hardware_concurrency());
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    count = CPU_COUNT(&set);
  return limitByQuota(std::max(1, count));
}

static int findDefaultThreads() {
  if (const char *text = std::getenv("REDFUSE_NUM_THREADS")) {
    char *end = nullptr;
    long value = std::strtol(text, &end, 10);
    if (end != text && !*end && value > 0)
      return int(std::min(value, 1024l));
  }
  return availableThreads();
}

static int defaultThreads() {
  static int count = findDefaultThreads();
  return count;
}

static thread_local bool insideLaunch = false;

namespace {
class ThreadPool {
public:
  explicit ThreadPool(int threads) : threads(threads) {
    // A worker that cannot be started is one fewer, not an error: the calling
    // thread alone can do all the work. (No exceptions here: pthreads.)
    for (int i = 1; i < threads; ++i) {
      pthread_t id;
      if (pthread_create(&id, nullptr, &ThreadPool::start, this))
        break;
      workers.push_back(id);
    }
  }

  ~ThreadPool() {
    stopping.store(true);
    {
      std::lock_guard<std::mutex> lock(sleepMutex);
      wake.notify_all();
    }
    for (pthread_t id : workers)
      pthread_join(id, nullptr);
  }

  /// False if another thread's launch is running.
  bool tryRun(RedfuseBody body, void *context, int64_t blocks) {
    if (!launch.try_lock())
      return false;
    job.body = body;
    job.context = context;
    job.blocks = blocks;
    job.call = CallState::current();
    job.next.store(0, std::memory_order_relaxed);
    uint64_t epoch = (state.load() >> kEpochShift) + 1;
    state.store((epoch << kEpochShift) | kOpen);
    if (sleepers.load() > 0) {
      std::lock_guard<std::mutex> lock(sleepMutex);
      wake.notify_all();
    }
    insideLaunch = true;
    runGenerated(&ThreadPool::takeBlocks, this);
    insideLaunch = false;
    // Nobody new may enter; those inside finish their last range.
    state.fetch_and(~kOpen);
    for (int spin = 0; state.load(std::memory_order_acquire) & kCount; ++spin) {
      relax();
      if (spin > 4000)
        sched_yield();
    }
    launch.unlock();
    return true;
  }

  void signal(int number) {
    for (pthread_t id : workers)
      pthread_kill(id, number);
  }

  const int threads;

private:
  // state: the number of workers inside, whether more may enter, the launch.
  static constexpr uint64_t kCount = 0xffff, kOpen = 0x10000;
  static constexpr int kEpochShift = 17;
  /// How long workers look for another launch before they sleep. Estimated: to be woken
  /// takes about as long.
  static constexpr auto kSpin = std::chrono::microseconds(40);

  struct Job {
    RedfuseBody body = nullptr;
    void *context = nullptr;
    int64_t blocks = 0;
    CallState *call = nullptr;
    alignas(64) std::atomic<int64_t> next{0};
  };

  static void *start(void *pool) {
    static_cast<ThreadPool *>(pool)->work();
    return nullptr;
  }

  static void takeBlocks(void *pool) {
    static_cast<ThreadPool *>(pool)->takeBlocks();
  }

  void takeBlocks() {
    int64_t total = job.blocks, begin = job.next.load();
    while (begin < total) {
      int64_t size = std::max<int64_t>(1, (total - begin) / (2 * threads));
      if (!job.next.compare_exchange_weak(begin, begin + size))
        continue;
      job.body(job.context, begin, begin + size);
      begin = job.next.load();
    }
  }

  /// Enters the open job unless it is the last one this worker was in.
  bool enter(uint64_t &lastEpoch) {
    uint64_t now = state.load(std::memory_order_acquire);
    while ((now & kOpen) && (now >> kEpochShift) != lastEpoch)
      if (state.compare_exchange_weak(now, now + 1)) {
        lastEpoch = now >> kEpochShift;
        return true;
      }
    return false;
  }

  void work() {
    insideLaunch = true; // launches from inside a block run in place
    uint64_t lastEpoch = 0;
    while (!stopping.load(std::memory_order_relaxed)) {
      auto until = std::chrono::steady_clock::now() + kSpin;
      bool entered = enter(lastEpoch);
      while (!entered && std::chrono::steady_clock::now() < until) {
        for (int i = 0; i < 32 && !entered; ++i) {
          relax();
          entered = enter(lastEpoch);
        }
      }
      if (!entered) {
        std::unique_lock<std::mutex> lock(sleepMutex);
        sleepers.fetch_add(1);
        wake.wait(lock, [&] {
          return stopping.load() || (entered = enter(lastEpoch));
        });
        sleepers.fetch_sub(1);
      }
      if (!entered)
        continue;
      CallState::setCurrent(job.call);
      runGenerated(&ThreadPool::takeBlocks, this);
      CallState::setCurrent(nullptr);
      state.fetch_sub(1, std::memory_order_release);
    }
  }

  std::vector<pthread_t> workers;
  std::mutex launch;
  Job job;
  alignas(64) std::atomic<uint64_t> state{0};
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<bool> stopping{false};
  std::mutex sleepMutex;
  std::condition_variable wake;
};

/// The pool of the process, and who is using it.
struct PoolSlot {
  std::mutex mutex;
  ThreadPool *pool = nullptr;
  int users = 0;
  int requested = 0;
};
} // namespace

// Never destroyed: workers may outlive static objects at exit.
static PoolSlot &slot() {
  static PoolSlot *instance = [] {
    auto *created = new PoolSlot;
    static PoolSlot **shared = new PoolSlot *(created);
    // The child of a fork has no workers, and maybe a locked pool: it forgets
    // the pool, and makes a new one at its first launch.
    pthread_atfork([] { (*shared)->mutex.lock(); },
                   [] { (*shared)->mutex.unlock(); },
                   [] {
                     (*shared)->pool = nullptr;
                     (*shared)->users = 0;
                     (*shared)->mutex.unlock();
                     insideLaunch = false;
                   });
    return created;
  }();
  return *instance;
}

static ThreadPool *acquirePool() {
  PoolSlot &s = slot();
  std::lock_guard<std::mutex> lock(s.mutex);
  int wanted = s.requested > 0 ? s.requested : defaultThreads();
  if (s.pool && s.pool->threads != wanted && s.users == 0) {
    delete s.pool;
    s.pool = nullptr;
  }
  if (!s.pool)
    s.pool = new ThreadPool(wanted);
  ++s.users;
  return s.pool;
}

static void releasePool() {
  PoolSlot &s = slot();
  std::lock_guard<std::mutex> lock(s.mutex);
  --s.users;
}

int redfuse::runtime::threadCount() {
  PoolSlot &s = slot();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.requested > 0 ? s.requested : defaultThreads();
}

void redfuse::runtime::setThreadCount(int count) {
  PoolSlot &s = slot();
  std::lock_guard<std::mutex> lock(s.mutex);
  // Takes effect with the next launch that finds the pool unused.
  s.requested = std::min(std::max(count, 0), 1024);
}

void redfuse::runtime::signalPool(int number) {
  PoolSlot &s = slot();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.pool)
    s.pool->signal(number);
}

/// False where there is one thread only, or another thread's launch has the pool.
static bool runOnPool(RedfuseBody body, void *context, int64_t blocks) {
  ThreadPool *pool = acquirePool();
  bool done = pool->threads > 1 && pool->tryRun(body, context, blocks);
  releasePool();
  return done;
}

void redfuse_rt_parallel_for(RedfuseBody body, void *context, int64_t blocks) {
  if (blocks <= 0)
    return;
  if (blocks > 1 && !insideLaunch) {
    enterRuntime();
    bool done = runOnPool(body, context, blocks);
    leaveRuntime();
    if (done)
      return;
  }
  body(context, 0, blocks);
}
