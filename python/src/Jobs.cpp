//===- Jobs.cpp - long work that Ctrl-C ends ------------------------------===//
//-------------------------------===//
//
// A compilation cannot be left at any instruction, as a call can: it has locks
// and objects. So it runs in another thread while the main thread waits for
// signals. It asks now and then whether it is still wanted; where it does not for
// long, it is left alone with all that it uses.
//
//===-----------------------------------------------------------------------===//
#include "Jobs.h"
#include "Ext.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace py = pybind11;
using namespace redfuse_ext;

static constexpr auto kPeriod = std::chrono::milliseconds(30);
static constexpr auto kPatience = std::chrono::milliseconds(300);
static constexpr size_t kStack = size_t(64) << 20; // only what is used is taken

namespace {
/// A job and its thread. The thread touches nothing of it after `done`.
struct Running {
  std::shared_ptr<Job> job;
  pthread_t thread{};
  struct Status {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  std::shared_ptr<Status> status = std::make_shared<Status>();

  bool waitFor(std::chrono::milliseconds time) const {
    std::unique_lock<std::mutex> lock(status->mutex);
    return status->changed.wait_for(lock, time, [&] { return status->done; });
  }
  /// Once it has ended: a fork must not find a thread on its way out, which holds
  /// locks of the libraries that it used.
  void join() const { pthread_join(thread, nullptr); }
};
} // namespace

/// Jobs that nobody waits for; under Python's lock. Never destroyed: Python's
/// objects in them could not be, at exit.
static std::vector<Running> &leftAlone() {
  static auto *list = new std::vector<Running>;
  return *list;
}

/// Frees those that have ended.
static void reap() {
  std::vector<Running> &list = leftAlone();
  for (size_t i = list.size(); i-- > 0;)
    if (list[i].waitFor(std::chrono::milliseconds(0))) {
      list[i].join();
      list.erase(list.begin() + i);
    }
}

/// Jobs that threads other than Python's main thread do themselves.
static std::atomic<int> elsewhere{0};
/// Whether the interpreter ends, so that these threads stay where they are.
static std::atomic<bool> isEnding{false};

/// For longer than the rest of an interpreter's end takes; not for ever, in case a
/// handler of the end waits for this thread.
static void stayAtTheEnd() {
  constexpr auto period = std::chrono::milliseconds(10);
  for (auto left = std::chrono::milliseconds(5000);
       isEnding && left.count() > 0; left -= period)
    std::this_thread::sleep_for(period);
}

void redfuse_ext::beginEnd() { isEnding = true; }

int redfuse_ext::jobsElsewhere() { return elsewhere; }

/// At the end of the process: a thread that still runs would lose the libraries'
/// static objects under its feet.
static void leaveQuickly(int status, void *) {
  bool areRunning = elsewhere > 0;
  for (const Running &running : leftAlone())
    areRunning |= !running.waitFor(std::chrono::milliseconds(0));
  if (!areRunning)
    return;
  fflush(nullptr);
  _exit(status);
}

void redfuse_ext::watchTheEnd() {
  // What is asked for last is done first, before static objects go that were made
  // meanwhile: so it is asked for when Python begins to end.
  py::module_::import("atexit").attr("register")(
      py::cpp_function([] { on_exit(&leaveQuickly, nullptr); }));
}

static void *startJob(void *argument) {
  std::unique_ptr<Running> running(static_cast<Running *>(argument));
  Job *job = running->job.get();
  std::shared_ptr<Running::Status> status = running->status;
  running->job.reset(); // whoever waits has it, too
  job->run();
  std::lock_guard<std::mutex> lock(status->mutex);
  status->done = true;
  status->changed.notify_all();
  return nullptr;
}

static bool startThread(Running &running) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  auto *argument = new Running(running);
  bool started =
      !pthread_create(&running.thread, &attributes, &startJob, argument);
  pthread_attr_destroy(&attributes);
  if (!started)
    delete argument;
  return started;
}

/// Waits without Python's lock, and for signals with it. Returns whether the job
/// has ended; otherwise Python's error is set.
static bool waitForSignals(const Running &running) {
  for (;;) {
    {
      Unlocked unlocked;
      if (running.waitFor(kPeriod))
        return true;
    }
    if (PyErr_CheckSignals())
      return false;
  }
}

void redfuse_ext::runJob(std::shared_ptr<Job> job, bool owns) {
  reap();
  bool asked = !mlirContextIsNull(job->context) &&
               redfuseSetStop(job->context, &job->stop);
  Running running{job};
  bool ended = true, threaded = handlesSignals() && startThread(running);
  if (threaded) {
    ended = waitForSignals(running);
  } else {
    Unlocked unlocked;
    ++elsewhere;
    stayAtTheEnd();
    job->run();
    stayAtTheEnd();
    --elsewhere;
  }
  if (ended) {
    if (threaded)
      running.join();
    if (asked)
      redfuseSetStop(job->context, nullptr);
    return;
  }
  py::error_already_set error; // takes what Python has set
  __atomic_store_n(&job->stop, 1, __ATOMIC_RELAXED);
  {
    Unlocked unlocked;
    ended = running.waitFor(kPatience);
    while (!ended && !owns)
      ended = running.waitFor(kPeriod);
  }
  if (ended && asked)
    redfuseSetStop(job->context, nullptr);
  if (ended)
    running.join();
  else
    leftAlone().push_back(running);
  throw error;
}

/// As Python numbers threads.
static unsigned long mainThread() {
  return py::cast<unsigned long>(
      py::module_::import("threading").attr("main_thread")().attr("ident"));
}

static std::atomic<unsigned long> mainIdent{0};

bool redfuse_ext::handlesSignals() {
  unsigned long ident = mainIdent.load(std::memory_order_relaxed);
  if (!ident) {
    // The thread that forks is the child's main thread.
    static bool once = !pthread_atfork(nullptr, nullptr, [] {
      mainIdent = 0;
      elsewhere = 0;
    });
    (void)once;
    mainIdent = ident = mainThread();
  }
  return PyThread_get_thread_ident() == ident;
}
