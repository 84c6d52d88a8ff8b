// Runs code of GPU threads on the host: those of a block as fibers, in any order, until they meet.
// A wave meets at permutes and products, all of its lanes at the same one; a block at barriers.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MOST 1024
#define STACK (256 << 10)
enum state { READY, AT_PERMUTE, AT_PRODUCT, AT_BARRIER, DONE };
static const char *const names[] = {"runs", "is at a permute", "is at a product", "is at a barrier",
                                    "is done"};

struct product {
  int number; // of the instruction: what the caller knows of it
  const void *left, *right, *sum;
  void *result;
};
static struct thread {
  ucontext_t context;
  enum state state;
  uint32_t from, value, got;
  struct product product;
} threads[MOST];
static ucontext_t scheduler;
static char *stacks;
static unsigned current, group, wave;
static void (*kernel)(void **);
static void **arguments;
static char message[256];
// What follows a kernel's arguments: counts of blocks, then threads of a block.
static struct {
  uint32_t blocks[3];
  uint16_t threads[3];
} implicit;

// What a kernel may touch besides its stack: arrays by their starts, and shared memory, in which a
// byte says of each whether it was written.
static const uint64_t *starts, *ends;
static unsigned arrays;
static uint64_t shared_start, shared_bytes;
static unsigned char written[1 << 17];
static int fault_line;
void wave_arrays(const uint64_t *from, const uint64_t *to, unsigned count) {
  starts = from;
  ends = to;
  arrays = count;
}
static int in_array(uint64_t at, uint64_t size) {
  unsigned low = 0, high = arrays; // the first array that starts behind the address
  while (low < high) {
    unsigned middle = (low + high) / 2;
    if (starts[middle] <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && at + size <= ends[low - 1];
}
static int is_own(uint64_t at) {
  uint64_t stack = (uint64_t)stacks, other = (uint64_t)&implicit;
  return (at >= stack && at < stack + (uint64_t)MOST * STACK) ||
         (at >= other && at < other + sizeof implicit);
}
// Of `size` bytes at `at`, by the instruction in that line.
void wave_check(char *place, uint64_t size, int line, int is_store) {
  uint64_t at = (uint64_t)place;
  const char *wrong = NULL;
  if (at >= shared_start && at < shared_start + (1 << 16)) {
    at -= shared_start;
    if (at + size > shared_bytes)
      wrong = "is beyond shared memory";
    for (uint64_t i = 0; i < size && !wrong; ++i) {
      if (is_store)
        written[at + i] = 1;
      else if (!written[at + i])
        wrong = "of shared memory was never written";
    }
  } else if (!is_own(at) && !in_array(at, size)) {
    wrong = "is in no array";
  }
  if (!wrong || message[0])
    return;
  snprintf(message, sizeof message, "thread %u of block %u: address %#llx %s", current, group,
           (unsigned long long)at, wrong);
  fault_line = line;
  swapcontext(&threads[current].context, &scheduler); // and never goes on
}

static void meet(enum state state) {
  threads[current].state = state;
  swapcontext(&threads[current].context, &scheduler);
}
uint32_t wave_item(void) { return current; }
uint32_t wave_group(void) { return group; }
void *wave_implicit(void) { return &implicit; }
uint32_t wave_count_low(uint32_t mask, uint32_t base) {
  unsigned lane = current % wave;
  return base + __builtin_popcount(lane < 32 ? mask & ((1u << lane) - 1) : mask);
}
uint32_t wave_count_high(uint32_t mask, uint32_t base) {
  unsigned lane = current % wave;
  return base + (lane < 32 ? 0 : __builtin_popcount(mask & ((1u << (lane - 32)) - 1)));
}
void wave_barrier(void) { meet(AT_BARRIER); }
uint32_t wave_permute(uint32_t from, uint32_t value) {
  threads[current].from = from;
  threads[current].value = value;
  meet(AT_PERMUTE);
  return threads[current].got;
}
// Within 32 lanes: bits of the lane's number are kept, set and turned around.
uint32_t wave_swizzle(uint32_t value, uint32_t pattern) {
  unsigned lane = current % wave, from = lane & (pattern & 31);
  from = (from | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
  if (pattern >> 15) {
    snprintf(message, sizeof message, "ds_swizzle %#x: another mode", pattern);
    return 0;
  }
  return wave_permute(((lane & 32) | from) * 4, value);
}
void wave_product(int number, const void *left, const void *right, const void *sum, void *result) {
  threads[current].product = (struct product){number, left, right, sum, result};
  meet(AT_PRODUCT);
}

// What the compiler's own library may lack.
_Float16 __truncsfbf2(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  uint16_t half = x != x ? 0x7FC0 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  _Float16 result;
  memcpy(&result, &half, 2);
  return result;
}

static void enter(void) {
  kernel(arguments);
  threads[current].state = DONE;
}

// The lanes of a wave that have met go on; whether they have.
static int settle(struct thread *t, unsigned lanes,
                  void (*multiply)(int, const struct product *)) {
  enum state state = t[0].state;
  for (unsigned i = 1; i < lanes; ++i)
    if (t[i].state != state) {
      snprintf(message, sizeof message, "lane 0 of a wave %s, lane %u %s", names[state], i,
               names[t[i].state]);
      return 0;
    }
  if (state == AT_PERMUTE) {
    for (unsigned i = 0; i < lanes; ++i) {
      unsigned from = t[i].from / 4 % wave;
      t[i].got = from < lanes ? t[from].value : 0xFFFFFFFF;
    }
  } else if (state == AT_PRODUCT) {
    struct product all[64];
    for (unsigned i = 0; i < lanes; ++i) {
      all[i] = t[i].product;
      if (lanes != wave || all[i].number != all[0].number) {
        snprintf(message, sizeof message, "lanes of a wave are at two products, or too few");
        return 0;
      }
    }
    multiply(all[0].number, all);
  } else {
    return 0;
  }
  for (unsigned i = 0; i < lanes; ++i)
    t[i].state = READY;
  return 1;
}

static void run_block(unsigned count, unsigned seed, void (*multiply)(int, const struct product *)) {
  for (unsigned i = 0; i < count; ++i) {
    struct thread *t = &threads[i];
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
    t->context.uc_stack.ss_size = STACK;
    t->context.uc_link = &scheduler;
    t->state = READY;
    makecontext(&t->context, enter, 0);
  }
  unsigned waves = (count + wave - 1) / wave;
  for (;;) {
    // One wave after another goes as far as it can, its lanes from any one on.
    unsigned first = rand_r(&seed) % waves;
    for (unsigned w = 0; w < waves; ++w) {
      unsigned base = (w + first) % waves * wave;
      unsigned lanes = count - base < wave ? count - base : wave, lane = rand_r(&seed) % lanes;
      do {
        for (unsigned i = 0; i < lanes; ++i) {
          current = base + (i + lane) % lanes;
          if (threads[current].state == READY && !message[0])
            swapcontext(&scheduler, &threads[current].context);
        }
      } while (!message[0] && settle(&threads[base], lanes, multiply));
      if (message[0])
        return;
    }
    unsigned done = 0;
    for (unsigned i = 0; i < count; ++i)
      done += threads[i].state == DONE;
    if (done == count)
      return;
    if (done != 0) {
      snprintf(message, sizeof message, "%u threads of %u wait at a barrier for others that are done",
               count - done, count);
      return;
    }
    for (unsigned i = 0; i < count; ++i)
      threads[i].state = READY;
  }
}

// Runs the blocks in the order of `order`; what went wrong, or an empty text.
const char *wave_run(void (*code)(void **), void **values, unsigned blocks, const unsigned *order,
                     unsigned count, unsigned width, void *shared, unsigned bytes, unsigned seed,
                     void (*multiply)(int, const struct product *), int *line) {
  kernel = code;
  arguments = values;
  wave = width;
  message[0] = 0;
  fault_line = 0;
  shared_start = (uint64_t)shared;
  shared_bytes = bytes;
  if (count == 0 || count > MOST) {
    snprintf(message, sizeof message, "a block of %u threads", count);
    return message;
  }
  if (!stacks)
    stacks = mmap(NULL, (size_t)MOST * STACK, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  implicit.blocks[0] = blocks;
  implicit.blocks[1] = implicit.blocks[2] = 1;
  implicit.threads[0] = count;
  implicit.threads[1] = implicit.threads[2] = 1;
  for (unsigned i = 0; i < blocks && !message[0]; ++i) {
    group = order[i];
    memset(shared, 0xFF, bytes);
    memset(written, 0, sizeof written);
    run_block(count, seed + i, multiply);
  }
  *line = fault_line;
  return message;
}
