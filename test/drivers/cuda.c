// A driver that runs nothing: what tests load as libcuda.so.1 on machines without a GPU (hip.c makes
// AMD's of it). Memory is
// the host's; calls are counted; errors are injected by name, from the environment
// (FAKE_CUDA="devices=2 version=12040 chip=90 shared=232448 fail=cuInit:100") or by fake_fail().
// arch= may list several architectures, of one device after another.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What hip.c has in other ways.
#ifndef SETTINGS
#define SETTINGS "FAKE_CUDA"
#define VERSION 13000
#define FIRST_CONTEXT 0
#define DEVICE_KIND 2
#define UNITS 16
#define SHARED 97
#endif

#define MOST 64
static struct {
  char name[64];
  long calls;
  int code, after; // fails with `code` from call number `after` on
} entries[MOST];
static int count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char arch[64] = "gfx942";
// That of a device: the last one of the list for those beyond it.
static void arch_of(int device, char *out, size_t size) {
  const char *from = arch, *comma;
  while (device-- > 0 && (comma = strchr(from, ',')))
    from = comma + 1;
  comma = strchr(from, ',');
  snprintf(out, size, "%.*s", comma ? (int)(comma - from) : 64, from);
}
static int devices = 1, version = VERSION, chip = 90, shared_of_block = 232448;
static int started;
static uint64_t capturing_stream, capture_id;
static int capture_lost;
static __thread int capture_mode; // 0 global, 2 relaxed
static __thread void *current = (void *)FIRST_CONTEXT;
static int64_t bytes_in_use;
static int quiet; // no counting: for timing

struct launch {
  char kernel[128];
  uint64_t stream;
  void *context;
  unsigned blocks, threads, shared;
} launches[4096];
static int launch_count;

static int find(const char *name) {
  for (int i = 0; i < count; ++i)
    if (!strcmp(entries[i].name, name))
      return i;
  strncpy(entries[count].name, name, 63);
  entries[count].after = -1;
  return count++;
}

void fake_fail(const char *name, int code, int after) {
  pthread_mutex_lock(&mutex);
  int i = find(name);
  entries[i].code = code;
  entries[i].after = code ? (int)entries[i].calls + after : -1;
  pthread_mutex_unlock(&mutex);
}
long fake_calls(const char *name) { return entries[find(name)].calls; }
int64_t fake_bytes(void) { return bytes_in_use; }
int fake_launches(void) { return launch_count; }
struct launch *fake_launch(int i) { return &launches[i & 4095]; }
void fake_capture(uint64_t stream, uint64_t id) {
  capturing_stream = stream;
  capture_id = id;
}
void fake_quiet(int on) { quiet = on; }
void *fake_current(void) { return current; }

// Before the first call: what is in the environment for other processes.
static const char *settings;
void fake_settings(const char *text) { settings = strdup(text); }

static void start(void) {
  if (started)
    return;
  started = 1;
  const char *text = settings ? settings : getenv(SETTINGS);
  char copy[512] = {0}, *rest = copy, *word;
  strncpy(copy, text ? text : "", 511);
  while ((word = strtok_r(rest, " ", &rest))) {
    char name[64];
    int code;
    if (sscanf(word, "fail=%63[^:]:%d", name, &code) == 2)
      fake_fail(name, code, 0);
    sscanf(word, "devices=%d", &devices);
    sscanf(word, "version=%d", &version);
    sscanf(word, "chip=%d", &chip);
    sscanf(word, "arch=%63s", arch);
    sscanf(word, "shared=%d", &shared_of_block);
  }
}

static int called(const char *name) {
  if (quiet)
    return 0;
  start();
  pthread_mutex_lock(&mutex);
  int i = find(name);
  long number = entries[i].calls++;
  int code = entries[i].after >= 0 && number >= entries[i].after ? entries[i].code : 0;
  pthread_mutex_unlock(&mutex);
  return code;
}
#define CALLED                                                                                     \
  do {                                                                                             \
    int code_ = called(__func__);                                                                  \
    if (code_)                                                                                     \
      return code_;                                                                                \
  } while (0)

int cuInit(unsigned flags) { CALLED; return 0; }
int cuGetErrorString(int code, const char **text) {
  *text = code == 2     ? "out of memory"
          : code == 100 ? "no CUDA-capable device is detected"
          : code == 222 ? "the provided PTX was compiled with an unsupported toolchain."
          : code == 209 ? "no kernel image is available for execution on the device"
          : code == 700 ? "an illegal memory access was encountered"
          : code == 701 ? "too many resources requested for launch"
                        : NULL;
  return *text ? 0 : 1;
}
int cuDriverGetVersion(int *out) { CALLED; *out = version; return 0; }
int cuDeviceGetCount(int *out) { CALLED; *out = devices; return 0; }
int cuDeviceGet(int *out, int number) {
  CALLED;
  *out = number;
  return number < devices ? 0 : 101;
}
int cuDeviceGetName(char *out, int size, int device) {
  CALLED;
  snprintf(out, size, "Fake %d", device);
  return 0;
}
int cuDeviceGetAttribute(int *out, int attribute, int device) {
  CALLED;
  *out = attribute == UNITS    ? 132
         : attribute == SHARED ? shared_of_block
         : attribute == 75     ? chip / 10
         : attribute == 76     ? chip % 10
                               : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **out, int device) {
  CALLED;
  *out = (void *)(uintptr_t)(0x1000 + device);
  return 0;
}
int cuCtxGetCurrent(void **out) { CALLED; *out = current; return 0; }
int cuCtxSetCurrent(void *context) { CALLED; current = context; return 0; }
int cuModuleLoadDataEx(void **out, const void *image, unsigned n, int *options, void **values) {
  CALLED;
  if (capture_id && capture_mode != 2)
    return 900;
  *out = malloc(1);
  return 0;
}
int cuModuleUnload(void *module) { CALLED; free(module); return 0; }
int cuModuleGetFunction(void **out, void *module, const char *name) {
  CALLED;
  *out = strdup(name);
  return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  CALLED;
  return attribute == 8 && value > shared_of_block ? 1 : 0;
}
// How many blocks a cluster of a kernel has.
static int cluster;
void fake_cluster(int blocks) { cluster = blocks; }
int cuFuncGetAttribute(int *out, int attribute, void *function) {
  CALLED;
  *out = attribute == 11 ? cluster : 0;
  return 0;
}
// What runs kernels, if anything does.
static void (*machine)(const char *, unsigned, unsigned, unsigned, void **);
void fake_machine(void (*run)(const char *, unsigned, unsigned, unsigned, void **)) {
  machine = run;
}
// Nanoseconds since the start: a block of a kernel takes one microsecond, nothing else takes any.
static uint64_t now;
int cuLaunchKernel(char *function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty,
                   unsigned tz, unsigned shared, void *stream, void **arguments, void **extra) {
  if (quiet)
    return 0;
  CALLED;
  if (!current)
    return 201;
  pthread_mutex_lock(&mutex);
  struct launch *l = &launches[launch_count++ & 4095];
  strncpy(l->kernel, function, 127);
  l->stream = (uint64_t)stream;
  l->context = current;
  l->blocks = x;
  l->threads = tx;
  l->shared = shared;
  now += 1000 * (uint64_t)x;
  pthread_mutex_unlock(&mutex);
  if (machine)
    machine(function, x, tx, shared, arguments);
  return 0;
}
struct attribute {
  int id, unused, value[16];
};
struct config {
  unsigned x, y, z, tx, ty, tz, shared;
  void *stream;
  struct attribute *attributes;
  unsigned attribute_count;
};
// Launches that may start before the one before them has ended.
static int overlapping;
int fake_overlapping(void) { return overlapping; }
int cuLaunchKernelEx(const struct config *c, char *function, void **arguments, void **extra) {
  const struct attribute *a = c->attributes, *end = a + c->attribute_count;
  // Blocks of clusters go where there is most room.
  if (cluster > 1 && (a == end || a->id != 5 || a++->value[0] != 2))
    return 1;
  if (a != end && (a->id != 6 || a++->value[0] != 1))
    return 1;
  if (a != end || !c->attribute_count)
    return 1;
  overlapping += a[-1].id == 6;
  return cuLaunchKernel(function, c->x, c->y, c->z, c->tx, c->ty, c->tz, c->shared, c->stream,
                        arguments, extra);
}
// What is allocated, for those who run kernels.
static struct block {
  uint64_t start, bytes;
} blocks[4096];
static void note(uint64_t start, uint64_t bytes, uint64_t was) {
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < 4096; ++i)
    if (blocks[i].start == was) {
      blocks[i] = (struct block){start, bytes};
      break;
    }
  pthread_mutex_unlock(&mutex);
}
int fake_block(int i, uint64_t *start, uint64_t *bytes) {
  *start = i < 4096 ? blocks[i].start : 0;
  *bytes = i < 4096 ? blocks[i].bytes : 0;
  return i < 4096;
}
int cuMemAlloc_v2(uint64_t *out, size_t bytes) {
  CALLED;
  if (capture_id && capture_mode != 2)
    return 900;
  uint64_t *block = aligned_alloc(256, (bytes + 256 + 255) & ~255ull);
  block[0] = bytes;
  *out = (uint64_t)block + 256;
  note(*out, bytes, 0);
  __sync_fetch_and_add(&bytes_in_use, (int64_t)bytes);
  return 0;
}
int cuMemFree_v2(uint64_t pointer) {
  CALLED;
  note(0, 0, pointer);
  __sync_fetch_and_sub(&bytes_in_use, *(int64_t *)(pointer - 256));
  free((void *)(pointer - 256));
  return 0;
}
int cuStreamIsCapturing(void *stream, int *out) {
  CALLED;
  *out = capture_id && (uint64_t)stream == capturing_stream;
  if (*out && capture_lost)
    *out = 2;
  return 0;
}
int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void *a, void *b, void *c) {
  CALLED;
  *status = capture_id && (uint64_t)stream == capturing_stream;
  *id = capture_id;
  return 0;
}
int cuStreamGetId(void *stream, unsigned long long *id) {
  CALLED;
  // As the real one does: a capture that is asked this is lost.
  if (capture_id && (uint64_t)stream == capturing_stream) {
    capture_lost = 1;
    return 900;
  }
  *id = (uint64_t)stream;
  return 0;
}
int cuStreamSynchronize(void *stream) { CALLED; return 0; }
int cuStreamCreate(void **out, unsigned flags) { CALLED; *out = &capture_id; return 0; }
int cuStreamDestroy_v2(void *stream) { CALLED; return 0; }
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
  CALLED;
  memset((void *)to, value, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  CALLED;
  memcpy(to, (void *)from, bytes);
  return 0;
}
int cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  CALLED;
  *out = aligned_alloc(64, (bytes + 63) & ~63ull);
  note((uint64_t)*out, bytes, 0);
  return flags == 3 ? 0 : 1;
}
int cuMemFreeHost(void *pointer) { CALLED; note(0, 0, (uint64_t)pointer); free(pointer); return 0; }
// Globals of modules, of which a test says the contents; all modules have the same.
static struct global {
  char name[64];
  uint64_t bytes;
  _Alignas(8) char contents[1024];
} globals[8];
static int global_count;
void *fake_global(const char *name, const char *contents, uint64_t bytes) {
  struct global *g = &globals[global_count++ & 7];
  strncpy(g->name, name, 63);
  g->bytes = bytes;
  memcpy(g->contents, contents, bytes);
  return g->contents;
}
void fake_no_globals(void) { global_count = 0; }
int cuModuleGetGlobal_v2(uint64_t *out, size_t *bytes, void *module, const char *name) {
  CALLED;
  for (int i = 0; i < global_count; ++i)
    if (!strcmp(globals[i].name, name)) {
      *out = (uint64_t)globals[i].contents;
      *bytes = globals[i].bytes;
      return 0;
    }
  return 500;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  CALLED;
  memcpy((void *)to, from, bytes);
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
  CALLED;
  int old = capture_mode;
  capture_mode = *mode;
  *mode = old;
  return 0;
}
// What the simulator reads (TensorMap): base, rank, sizes[5], strides[4], box[5], bytes of an
// element; of windows the channels and rows as box, 1, lower[3], upper[3], steps[3].
static int bytes_of(int type) { return type == 7 ? 4 : type == 0 ? 1 : 2; }
static void write_map(void *map, int type, unsigned rank, void *base, const void *sizes,
                      const void *strides) {
  memset(map, 0, 128);
  *(uint64_t *)map = (uint64_t)base;
  ((uint64_t *)map)[1] = rank;
  memcpy((char *)map + 16, sizes, rank * 8);
  memcpy((char *)map + 56, strides, (rank - 1) * 8);
  ((uint8_t *)map)[108] = bytes_of(type);
}
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const void *sizes,
                           const void *strides, const void *box, const void *steps, int interleave,
                           int swizzle, int promotion, int fill) {
  CALLED;
  write_map(map, type, rank, base, sizes, strides);
  memcpy((char *)map + 88, box, rank * 4);
  return 0;
}
int cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *base, const void *sizes,
                            const void *strides, const int *lower, const int *upper,
                            unsigned channels, unsigned rows, const unsigned *steps, int interleave,
                            int swizzle, int promotion, int fill) {
  CALLED;
  // Bits of the corners: all dims of a window have 16 together, twice.
  int bits = 16 / (rank - 2), bytes = bytes_of(type);
  if (rank < 3 || rank > 5 || channels * bytes != 128 || rows > 1024) return 1;
  for (unsigned i = 0; i + 2 < rank; ++i)
    if (lower[i] < -(1 << (bits - 1)) || lower[i] >= 1 << (bits - 1) ||
        upper[i] < -(1 << (bits - 1)) || upper[i] >= 1 << (bits - 1) || steps[i + 1] > 8)
      return 1;
  write_map(map, type, rank, base, sizes, strides);
  ((uint32_t *)((char *)map + 88))[0] = channels;
  ((uint32_t *)((char *)map + 88))[1] = rows;
  ((uint8_t *)map)[109] = 1;
  for (unsigned i = 0; i + 2 < rank; ++i) {
    ((int16_t *)((char *)map + 110))[i] = (int16_t)lower[i];
    ((int16_t *)((char *)map + 116))[i] = (int16_t)upper[i];
    ((uint8_t *)map)[122 + i] = (uint8_t)steps[i + 1];
  }
  return 0;
}
int cuPointerGetAttribute(int *out, int attribute, uint64_t pointer) {
  CALLED;
  *out = 0;
  return 0;
}
struct event {
  uint64_t time;
  unsigned flags;
  int recorded;
};
int cuEventCreate(struct event **out, unsigned flags) {
  CALLED;
  *out = calloc(1, sizeof **out);
  (*out)->flags = flags;
  return 0;
}
int cuEventRecord(struct event *event, void *stream) {
  CALLED;
  event->time = now;
  event->recorded = 1;
  return 0;
}
int cuEventSynchronize(struct event *event) { CALLED; return 0; }
int cuEventElapsedTime(float *out, struct event *start, struct event *end) {
  CALLED;
  // CU_EVENT_DISABLE_TIMING
  if (!start->recorded || !end->recorded || (start->flags | end->flags) & 2)
    return 400;
  *out = (float)(end->time - start->time) / 1e6f;
  return 0;
}
int cuEventDestroy_v2(void *event) { CALLED; free(event); return 0; }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { CALLED; return 0; }

// DLPack's C functions for arrays that a test says are on a GPU: those of a real library, with the
// device replaced.
typedef struct { int32_t kind, number; } device;
typedef struct {
  void *data;
  device place;
  int32_t rank;
  uint32_t type;
  int64_t *shape, *strides;
  uint64_t offset;
} tensor;
typedef struct {
  uint32_t major, minor;
  void *previous, *allocate, *from, *to;
  int (*read)(void *, tensor *);
  int (*stream)(int32_t, int32_t, void **);
} exchange;
static exchange real_api, fake_api;
static uint64_t work_stream;
static int fake_read(void *object, tensor *out) {
  int code = real_api.read(object, out);
  out->place.kind = DEVICE_KIND;
  return code;
}
static int fake_stream(int32_t kind, int32_t number, void **out) {
  *out = (void *)work_stream;
  return 0;
}
void *fake_exchange(exchange *real) {
  real_api = fake_api = *real;
  fake_api.previous = NULL;
  fake_api.read = fake_read;
  fake_api.stream = fake_stream;
  return &fake_api;
}
void fake_work_stream(uint64_t stream) { work_stream = stream; }
