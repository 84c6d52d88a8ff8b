//===- RuntimeInterrupt.cpp - ending a call of generated code -------------===//
//
// Ctrl-C ends a call wherever it is. Generated code holds no locks and owns no
// objects, so a thread may leave it at any instruction by a longjmp; its memory
// belongs to the call. The runtime's functions are not left: they are marked,
// and a thread that is to leave does so at their end. So generated code pays
// nothing for this.
//
// Only calls of Python's main thread can be ended: it is the one that handles
// signals. While it makes calls, a thread of ours (the watch) keeps handlers of
// the signals installed that note a signal and go on to Python's. Then it tells
// the threads of the call to leave, by a signal that nobody else hears.
//
//===----------------------------------------------------------------------===//
#include "RuntimeInterrupt.h"
#include "redfuse/Target/Runtime.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace redfuse::runtime;

//===----------------------------------------------------------------------===//
// Leaving
//===----------------------------------------------------------------------===//

namespace {
/// Where a thread goes on that leaves generated code.
struct Landing {
  void *place[5]; // the compiler's own setjmp, which is quick
  Landing *outer;
  int outerMarks;
};

/// Of a thread; volatile: a signal's handler reads it.
struct Leaving {
  Landing *volatile landing = nullptr;
  volatile int marks = 0; // functions of the runtime on top
};
} // namespace

/// The call that is to end.
static std::atomic<CallState *> abandoned{nullptr};
static thread_local Leaving ofThread;

/// Not inline: a function may not land in itself.
__attribute__((noinline)) static void leave(Leaving &self) {
  __builtin_longjmp(self.landing->place, 1);
}

static void leaveIfAsked(Leaving &self) {
  CallState *call = abandoned.load(std::memory_order_relaxed);
  if (call && self.landing && !self.marks && call == CallState::current())
    leave(self);
}

/// Makes the outer landing the thread's again, its marks first.
static void takeDown(Leaving &self) {
  Landing *landing = self.landing;
  self.marks = landing->outerMarks;
  self.landing = landing->outer;
}

__attribute__((noinline)) bool
redfuse::runtime::runGenerated(void (*work)(void *), void *context) {
  Leaving &self = ofThread;
  Landing here;
  here.outer = self.landing;
  here.outerMarks = self.marks;
  if (__builtin_setjmp(here.place)) {
    Leaving &again = ofThread; // nothing else is known to be what it was
    takeDown(again);
    return false;
  }
  // A signal between the two must not find the outer landing without its marks.
  self.landing = &here;
  self.marks = 0;
  leaveIfAsked(self);
  work(context);
  takeDown(self);
  return true;
}

void redfuse::runtime::enterRuntime() {
  Leaving &self = ofThread;
  self.marks = self.marks + 1;
}

void redfuse::runtime::leaveRuntime() {
  Leaving &self = ofThread;
  self.marks = self.marks - 1;
  leaveIfAsked(self);
}

//===----------------------------------------------------------------------===//
// The watch
//===----------------------------------------------------------------------===//

static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
static constexpr int kSignalCount = sizeof(kSignals) / sizeof(*kSignals);
/// Tells a thread to leave. By default it is ignored, so none comes too late.
static constexpr int kLeave = SIGURG;
static constexpr int kPeriod = 50;       // ms
static constexpr int kQuietPeriods = 20; // without a call: the watch gets tired

namespace {
class Watch {
public:
  Watch();
  void begin(CallState *call);
  void end();

private:
  static void onSignal(int number, siginfo_t *info, void *context);
  static void onLeave(int) { leaveIfAsked(ofThread); }
  static void *start(void *watch);
  void run();
  void wake();
  bool startThread();
  void install();
  void uninstall();
  bool endCall();
  void ring();
  void forget();

  // What the caller writes and the watch reads, and back, is not ordered: it would
  // cost every call. A period later it is seen.
  /// Odd during a call.
  std::atomic<uint64_t> count{0};
  std::atomic<bool> asleep{true}, signalled{false};
  std::atomic<CallState *> call{nullptr};
  pthread_t caller{};
  /// Handlers that ours go on to; never freed, one may be running.
  std::atomic<const struct sigaction *> held[kSignalCount] = {};
  /// Guards what follows, and who installs handlers.
  std::mutex mutex;
  bool started = false, leaving = false;
  struct sigaction heldLeave = {};
  int bell = -1; // wakes the watch
};
} // namespace

static Watch &watch() {
  static Watch *instance = new Watch; // never destroyed: its thread may run
  return *instance;
}

static Watch *forked;

Watch::Watch() {
  forked = this;
  pthread_atfork([] { forked->mutex.lock(); }, [] { forked->mutex.unlock(); },
                 [] {
                   forked->mutex.unlock();
                   forked->forget();
                 });
}

/// In the child of a fork, which has no thread of the watch.
void Watch::forget() {
  uninstall();
  count = 0;
  asleep = true;
  started = signalled = false;
  abandoned = nullptr;
  if (bell >= 0)
    close(bell);
  bell = -1;
}

void Watch::begin(CallState *state) {
  call.store(state, std::memory_order_relaxed);
  count.store(count.load(std::memory_order_relaxed) + 1,
              std::memory_order_release);
  if (asleep.load(std::memory_order_relaxed))
    wake();
}

void Watch::end() {
  count.store(count.load(std::memory_order_relaxed) + 1,
              std::memory_order_release);
  // Where this comes too early, the next call is ended, finds no signal, and
  // starts again.
  if (!abandoned.load(std::memory_order_relaxed))
    return;
  std::lock_guard<std::mutex> lock(mutex);
  abandoned = nullptr;
  if (leaving)
    sigaction(kLeave, &heldLeave, nullptr);
  leaving = false;
}

void Watch::wake() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!started && !startThread())
    return; // no memory for a thread: calls end by themselves
  caller = pthread_self();
  install();
  asleep = false;
  ring();
}

bool Watch::startThread() {
  if (bell < 0)
    bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  // Signals are for threads of others.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t id;
  started = bell >= 0 && !pthread_create(&id, nullptr, &Watch::start, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started)
    pthread_detach(id);
  return started;
}

void *Watch::start(void *watch) {
  static_cast<Watch *>(watch)->run();
  return nullptr;
}

void Watch::ring() {
  uint64_t one = 1;
  if (write(bell, &one, sizeof(one)) < 0)
    return; // it rings already
}

void Watch::run() {
  uint64_t last = 0;
  int tries = 0;
  for (int quiet = 0;;) {
    pollfd wait = {bell, POLLIN, 0};
    uint64_t rung;
    bool rest = quiet > kQuietPeriods && !tries;
    if (poll(&wait, 1, rest ? -1 : kPeriod) > 0 &&
        read(bell, &rung, sizeof(rung)) < 0)
      continue;
    std::lock_guard<std::mutex> lock(mutex);
    // Once more a period later: a call may just have looked for signals, and not
    // yet have begun.
    if (signalled.exchange(false))
      tries = 2;
    if (tries)
      tries = endCall() ? 0 : tries - 1;
    uint64_t now = count.load();
    bool active = now != last || now % 2;
    quiet = active ? 0 : quiet + 1;
    last = now;
    // It says so a period before it sleeps: a call that has not seen that is seen.
    asleep = quiet >= kQuietPeriods;
    if (quiet > kQuietPeriods)
      uninstall();
    else
      install(); // Python may have put its own in place again
  }
}

/// Tells all threads of the current call to leave; false if there is none.
bool Watch::endCall() {
  uint64_t now = count.load();
  if (now % 2 == 0)
    return false;
  if (!leaving) {
    struct sigaction action = {};
    action.sa_handler = &Watch::onLeave;
    action.sa_flags =
        SA_RESTART | SA_NODEFER; // its handler is not returned from
    sigaction(kLeave, &action, &heldLeave);
    leaving = true;
  }
  abandoned = call.load();
  if (count.load() != now) { // it has ended meanwhile, and may not have seen it
    abandoned = nullptr;
    return false;
  }
  pthread_kill(caller, kLeave);
  signalPool(kLeave);
  return true;
}

void Watch::onSignal(int number, siginfo_t *info, void *context) {
  int error = errno;
  Watch &self = *forked;
  for (int i = 0; i < kSignalCount; ++i) {
    const struct sigaction *next = self.held[i].load();
    if (kSignals[i] != number || !next)
      continue;
    // Python first, so that it knows when the call has ended.
    if (next->sa_flags & SA_SIGINFO)
      next->sa_sigaction(number, info, context);
    else
      next->sa_handler(number);
  }
  self.signalled = true;
  self.ring();
  errno = error;
}

static bool isOurs(const struct sigaction &action,
                   void (*handler)(int, siginfo_t *, void *)) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == handler;
}

void Watch::install() {
  for (int i = 0; i < kSignalCount; ++i) {
    struct sigaction now;
    if (sigaction(kSignals[i], nullptr, &now) || isOurs(now, &Watch::onSignal))
      continue;
    bool ends = !(now.sa_flags & SA_SIGINFO) &&
                (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
    if (ends) // the process, or nothing
      continue;
    held[i] = new struct sigaction(now);
    now.sa_sigaction = &Watch::onSignal;
    now.sa_flags |= SA_SIGINFO;
    // A thread that leaves from inside this handler would keep the signal blocked.
    sigaddset(&now.sa_mask, kLeave);
    sigaction(kSignals[i], &now, nullptr);
  }
}

void Watch::uninstall() {
  for (int i = 0; i < kSignalCount; ++i) {
    struct sigaction now;
    const struct sigaction *before = held[i].load();
    if (before && !sigaction(kSignals[i], nullptr, &now) &&
        isOurs(now, &Watch::onSignal))
      sigaction(kSignals[i], before, nullptr);
  }
}

bool redfuse::runtime::runCall(void (*entry)(void **), void **args,
                               CallState &state, bool canEnd) {
  CallScope scope(&state);
  if (!canEnd) {
    entry(args);
    return true;
  }
  struct Call {
    void (*entry)(void **);
    void **args;
  } call{entry, args};
  watch().begin(&state);
  bool finished = runGenerated(
      [](void *context) {
        auto *call = static_cast<Call *>(context);
        call->entry(call->args);
      },
      &call);
  watch().end();
  return finished;
}
