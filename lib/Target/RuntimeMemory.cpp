//===- RuntimeMemory.cpp - memory of generated code -----------------------===//
//
// Blocks are cached between calls by size class: a page fault costs more than
// most kernels do with the page, and calls ask for the same sizes again and
// again. Large blocks are aligned to huge pages and ask for them. Where wrong
// accesses are reported (Sanitizer.h), a block is no larger than was asked for,
// has forbidden bytes before it, and is used once.
//
//===----------------------------------------------------------------------===//
#include "RuntimeInterrupt.h"
#include "Sanitizer.h"
#include "redfuse/Target/Device.h"
#include "redfuse/Target/Runtime.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

using namespace redfuse;
using namespace redfuse::runtime;

namespace redfuse::runtime {
/// Right before every block; one cache line.
struct alignas(64) BlockHeader {
  uint64_t magic;
  int64_t bytes;     // of the size class, without the header
  int64_t counted;   // what it adds to the memory in use
  void *mapping;     // start of the system's block
  CallState *owner;  // the call that must not leak it, or null
  BlockHeader *next; // in the owner's list, or in the free list
  BlockHeader *prev; // in the owner's list
  int32_t sizeClass;
  bool mapped; // by mmap, not by malloc
#ifdef REDFUSE_SANITIZED
  alignas(64) char forbidden[64];
#endif
};
} // namespace redfuse::runtime

static_assert(sizeof(BlockHeader) == (kSanitized ? 128 : 64),
              "a block starts on its own line");

/// What a header of ours begins with.
static constexpr uint64_t kMagic = 0x7265646675736521ull;
/// A huge page of Linux on x86-64 and most others.
static constexpr int64_t kHugePage = int64_t(2) << 20;
/// Bytes from which on memory is mapped, to be in huge pages. Estimated.
static constexpr int64_t kMapFrom = int64_t(1) << 20;
/// Bytes that no machine has.
static constexpr int64_t kLargest = int64_t(1) << 46;

// Size classes: four steps from each power of two to the next.
static constexpr int kClasses = 4 * 64;

static int sizeClassOf(int64_t bytes, int64_t &rounded) {
  if (kSanitized) {
    rounded = bytes;
    return 0;
  }
  uint64_t size = std::max<int64_t>(bytes, 64);
  int log = 63 - __builtin_clzll(size);
  uint64_t step = (uint64_t(1) << log) / 4;
  uint64_t steps = (size - (uint64_t(1) << log) + step - 1) / step;
  rounded = (uint64_t(1) << log) + steps * step;
  return log * 4 + int(steps); // steps == 4 is the next power's class 0
}

namespace {
struct Cache {
  std::mutex mutex;
  std::array<BlockHeader *, kClasses + 8> lists{};
  int64_t bytes = 0;
  int64_t limit;
  Cache() {
    int64_t memory =
        int64_t(sysconf(_SC_PHYS_PAGES)) * int64_t(sysconf(_SC_PAGESIZE));
    limit = std::min<int64_t>(int64_t(2) << 30, memory / 8);
  }
};
} // namespace

// Never destroyed: arrays can outlive the static objects at exit.
static Cache &cache() {
  static Cache *instance = [] {
    auto *created = new Cache;
    static Cache *shared = created;
    // A fork while another thread holds the lock would leave it held for ever
    // in the child.
    pthread_atfork([] { shared->mutex.lock(); }, [] { shared->mutex.unlock(); },
                   [] { shared->mutex.unlock(); });
    return created;
  }();
  return *instance;
}

static std::atomic<int64_t> inUse{0}, peak{0};

void redfuse::runtime::countMemory(int64_t delta) {
  int64_t now = inUse.fetch_add(delta, std::memory_order_relaxed) + delta;
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now))
    ;
}

int64_t redfuse::runtime::memoryPeak() { return peak.load(); }
void redfuse::runtime::resetMemoryPeak() { peak.store(inUse.load()); }

/// The bytes right before a block, where it has some for that.
static void forbidHead([[maybe_unused]] BlockHeader *header,
                       [[maybe_unused]] bool forbidden) {
#ifdef REDFUSE_SANITIZED
  (forbidden ? forbid : permit)(header->forbidden, sizeof(header->forbidden));
#endif
}

/// What the machine could hold. Mappings are not reserved, so the system grants more
/// and ends the process once that is written.
static int64_t machineMemory() {
  static const int64_t bytes = [] {
    struct sysinfo info;
    if (sysinfo(&info))
      return kLargest;
    return int64_t(info.totalram + info.totalswap) * int64_t(info.mem_unit);
  }();
  return bytes;
}

static BlockHeader *systemBlock(int64_t rounded, int sizeClass) {
  BlockHeader *header;
  if (kSanitized || rounded < kMapFrom) {
    void *memory = nullptr;
    if (posix_memalign(&memory, 64, rounded + sizeof(BlockHeader)))
      return nullptr;
    header = static_cast<BlockHeader *>(memory);
    header->mapping = memory;
    header->mapped = false;
  } else {
    // One more huge page than needed, to align; what is too much goes back. The
    // header takes the end of the page before the block, so that blocks start
    // on a huge page.
    int64_t span = (rounded + kHugePage - 1) / kHugePage * kHugePage;
    int64_t reserve = span + 2 * kHugePage;
    void *memory = mmap(nullptr, reserve, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    int64_t page = sysconf(_SC_PAGESIZE);
    auto begin = reinterpret_cast<uintptr_t>(memory);
    uintptr_t block =
        (begin + page + kHugePage - 1) & ~uintptr_t(kHugePage - 1);
    uintptr_t first = block - page, end = block + span;
    if (first > begin)
      munmap(memory, first - begin);
    if (begin + reserve > end)
      munmap(reinterpret_cast<void *>(end), begin + reserve - end);
#ifdef MADV_HUGEPAGE
    madvise(reinterpret_cast<void *>(block), span, MADV_HUGEPAGE);
#endif
    header = reinterpret_cast<BlockHeader *>(block) - 1;
    header->mapping = reinterpret_cast<void *>(first);
    header->mapped = true;
  }
  header->magic = kMagic;
  header->bytes = rounded;
  header->sizeClass = sizeClass;
  forbidHead(header, true);
  return header;
}

static void returnToSystem(BlockHeader *header) {
  header->magic = 0;
  forbidHead(header, false);
  if (!header->mapped) {
    free(header->mapping);
    return;
  }
  int64_t span = (header->bytes + kHugePage - 1) / kHugePage * kHugePage;
  munmap(header->mapping, span + sysconf(_SC_PAGESIZE));
}

namespace redfuse::runtime {
void trackBlock(CallState *owner, BlockHeader *block) {
  std::lock_guard<std::mutex> lock(owner->mutex);
  block->prev = nullptr;
  block->next = owner->blocks;
  if (owner->blocks)
    owner->blocks->prev = block;
  owner->blocks = block;
}

void untrackBlock(BlockHeader *block) {
  CallState *owner = block->owner;
  std::lock_guard<std::mutex> lock(owner->mutex);
  (block->prev ? block->prev->next : owner->blocks) = block->next;
  if (block->next)
    block->next->prev = block->prev;
  block->owner = nullptr;
}
} // namespace redfuse::runtime

void *redfuse::runtime::allocate(int64_t bytes, bool counted,
                                 CallState *owner) {
  if (bytes < 0 || bytes > std::min(kLargest, machineMemory()))
    return nullptr;
  int64_t rounded;
  int sizeClass = sizeClassOf(bytes, rounded);
  BlockHeader *header = nullptr;
  if (!kSanitized) {
    Cache &c = cache();
    std::lock_guard<std::mutex> lock(c.mutex);
    if ((header = c.lists[sizeClass])) {
      c.lists[sizeClass] = header->next;
      c.bytes -= header->bytes;
    }
  }
  if (!header)
    header = systemBlock(rounded, sizeClass);
  if (!header)
    return nullptr;
  header->counted = counted ? bytes : 0;
  header->owner = owner;
  if (owner)
    trackBlock(owner, header);
  if (counted)
    countMemory(bytes);
  return header + 1;
}

void redfuse::runtime::release(void *pointer) {
  if (!pointer)
    return;
  BlockHeader *header = static_cast<BlockHeader *>(pointer) - 1;
  if (header->magic != kMagic)
    abort(); // not ours: anything else would corrupt memory
  if (header->owner)
    untrackBlock(header);
  if (header->counted)
    countMemory(-header->counted);
  if (!kSanitized) {
    Cache &c = cache();
    std::lock_guard<std::mutex> lock(c.mutex);
    if (c.bytes + header->bytes <= c.limit) {
      header->next = c.lists[header->sizeClass];
      c.lists[header->sizeClass] = header;
      c.bytes += header->bytes;
      return;
    }
  }
  returnToSystem(header);
}

void redfuse::runtime::trimMemory() {
  Cache &c = cache();
  std::lock_guard<std::mutex> lock(c.mutex);
  for (BlockHeader *&list : c.lists)
    while (list) {
      BlockHeader *next = list->next;
      returnToSystem(list);
      list = next;
    }
  c.bytes = 0;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

// Code that is called by its address alone reports to its thread.
static thread_local CallState ownCall;
static thread_local CallState *currentCall = nullptr;

CallState *CallState::current() { return currentCall ? currentCall : &ownCall; }
void CallState::setCurrent(CallState *state) { currentCall = state; }

CallState::~CallState() {
  while (blocks)
    release(blocks + 1);
}

std::string CallState::take() {
  while (blocks)
    release(blocks + 1);
  std::lock_guard<std::mutex> lock(mutex);
  __atomic_store_n(&hasFailed, false, __ATOMIC_RELEASE);
  return std::exchange(text, std::string());
}

void CallState::fail(const char *message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (hasFailed)
    return;
  text = message ? message : "";
  __atomic_store_n(&hasFailed, true, __ATOMIC_RELEASE);
}

void redfuse_rt_fail(const char *message) {
  enterRuntime();
  CallState::current()->fail(message);
  leaveRuntime();
}

bool redfuse_rt_failed() { return CallState::current()->failed(); }

static void *allocateForCall(int64_t bytes) {
  if (bytes < 0) {
    CallState::current()->fail(
        "out of memory: an intermediate is larger than any memory");
    return nullptr;
  }
  if (CallState *state = CallState::current(); state->device) {
    DeviceError error;
    void *pointer = state->device->allocate(bytes, error);
    if (!pointer)
      state->fail(error.c_str());
    return pointer;
  }
  void *pointer = allocate(bytes, /*counted=*/true, CallState::current());
  if (!pointer) {
    std::string message =
        "out of memory: cannot allocate " + std::to_string(bytes) + " bytes";
    CallState::current()->fail(message.c_str());
  }
  return pointer;
}

void *redfuse_rt_alloc(int64_t bytes) {
  enterRuntime();
  void *pointer = allocateForCall(bytes);
  leaveRuntime();
  return pointer;
}

void redfuse_rt_free(void *pointer) {
  enterRuntime();
  if (CallState *state = CallState::current(); state->device)
    state->device->release(pointer);
  else
    release(pointer);
  leaveRuntime();
}

//===----------------------------------------------------------------------===//
// Scratch
//===----------------------------------------------------------------------===//

namespace {
struct Scratch {
  void *memory = nullptr;
  int64_t capacity = 0;
  ~Scratch() {
    release(memory);
    countMemory(-capacity);
  }
};
} // namespace

static thread_local Scratch scratch;

static void *growScratch(int64_t bytes) {
  release(scratch.memory);
  countMemory(-scratch.capacity);
  scratch.capacity = 0;
  // Counted by hand: it belongs to the thread, not to a call.
  scratch.memory = allocate(bytes, /*counted=*/false, /*owner=*/nullptr);
  if (!scratch.memory) {
    std::string message = "out of memory: cannot allocate " +
                          std::to_string(bytes) + " bytes of scratch";
    CallState::current()->fail(message.c_str());
    return nullptr;
  }
  scratch.capacity = bytes;
  countMemory(bytes);
  return scratch.memory;
}

void *redfuse_rt_scratch(int64_t bytes) {
  if (!kSanitized && bytes <= scratch.capacity && scratch.memory)
    return scratch.memory;
  enterRuntime();
  void *memory = growScratch(bytes);
  leaveRuntime();
  return memory;
}
