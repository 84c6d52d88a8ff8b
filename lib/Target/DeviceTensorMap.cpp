//===- DeviceTensorMap.cpp - descriptions of tensors for copies of boxes --===//
#include "redfuse/Target/Device.h"
#include "redfuse/Target/Runtime.h"

#include <algorithm>
#include <dlfcn.h>

using namespace redfuse::runtime;

namespace {
/// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, as the driver's ABI has them.
using EncodeTiled = int (*)(void *map, int type, uint32_t rank, void *base,
                            const uint64_t *sizes, const uint64_t *strides,
                            const uint32_t *box, const uint32_t *steps,
                            int interleave, int swizzle, int promotion,
                            int fill);
using EncodeWindow = int (*)(void *map, int type, uint32_t rank, void *base,
                             const uint64_t *sizes, const uint64_t *strides,
                             const int *lower, const int *upper,
                             uint32_t channels, uint32_t rows,
                             const uint32_t *steps, int interleave, int swizzle,
                             int promotion, int fill);

/// A tensor as both take it.
struct Description {
  void *base;
  int type;
  uint32_t rank;
  uint64_t sizes[5], strides[4];
};
} // namespace

// Numbers of the driver: element types, a swizzle of 128 bytes, promotion to 256
// bytes in L2, zeros outside.
static constexpr int kTypes[] = {/*f16=*/6, /*bf16=*/9, /*f32=*/7, /*u8=*/0};
static constexpr int64_t kBytes[] = {2, 2, 4, 1};
static constexpr int kSwizzle128 = 3, kPromote256 = 3;

/// A row of a box.
static constexpr int64_t kRowBytes = 128;

static void *find(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, name) : nullptr;
}

/// Whether a call can go on with a function of the driver.
static bool isReady(void *function, const char *name) {
  CallState *state = CallState::current();
  if (!function && !state->failed())
    state->fail((std::string("the NVIDIA driver is too old: it has no ") + name)
                    .c_str());
  return !state->failed();
}

/// Says if the driver refused.
static void check(int result) {
  if (result != 0)
    CallState::current()->fail(
        ("describing a tensor for the GPU failed: error " +
         std::to_string(result))
            .c_str());
}

/// The driver takes one element for the least of a dim; of an empty tensor it is a zero
/// that nobody uses.
static Description describe(int64_t base, int64_t element, int64_t rank,
                            const int64_t (&sizes)[5],
                            const int64_t (&strides)[4]) {
  Description of{
      reinterpret_cast<void *>(base), kTypes[element], uint32_t(rank), {}, {}};
  if (std::find(std::begin(sizes), std::end(sizes), 0) != std::end(sizes))
    of.base = redfuse_rt_device_counters(kRowBytes);
  for (int i = 0; i < 5; ++i)
    of.sizes[i] = uint64_t(std::max<int64_t>(sizes[i], 1));
  for (int i = 0; i < 4; ++i)
    of.strides[i] = uint64_t(std::max<int64_t>(strides[i], 16));
  return of;
}

void redfuse_rt_tensor_map(int64_t map, int64_t base, int64_t element,
                           int64_t rank, int64_t size0, int64_t size1,
                           int64_t size2, int64_t size3, int64_t size4,
                           int64_t stride1, int64_t stride2, int64_t stride3,
                           int64_t stride4, int64_t box0, int64_t box1,
                           int64_t box2, int64_t box3, int64_t box4) {
  constexpr const char *kName = "cuTensorMapEncodeTiled";
  static auto encode = reinterpret_cast<EncodeTiled>(find(kName));
  if (!isReady(reinterpret_cast<void *>(encode), kName))
    return;
  Description of =
      describe(base, element, rank, {size0, size1, size2, size3, size4},
               {stride1, stride2, stride3, stride4});
  if (CallState::current()->failed())
    return;
  uint32_t box[] = {uint32_t(box0), uint32_t(box1), uint32_t(box2),
                    uint32_t(box3), uint32_t(box4)};
  uint32_t steps[] = {1, 1, 1, 1, 1};
  check(encode(reinterpret_cast<void *>(map), of.type, of.rank, of.base,
               of.sizes, of.strides, box, steps, /*interleave=*/0, kSwizzle128,
               kPromote256, /*fill=*/0));
}

void redfuse_rt_window_map(int64_t map, int64_t base, int64_t element,
                           int64_t rank, int64_t size0, int64_t size1,
                           int64_t size2, int64_t size3, int64_t size4,
                           int64_t stride1, int64_t stride2, int64_t stride3,
                           int64_t stride4, int64_t lower0, int64_t lower1,
                           int64_t lower2, int64_t upper0, int64_t upper1,
                           int64_t upper2, int64_t step0, int64_t step1,
                           int64_t step2, int64_t rows) {
  constexpr const char *kName = "cuTensorMapEncodeIm2col";
  static auto encode = reinterpret_cast<EncodeWindow>(find(kName));
  if (!isReady(reinterpret_cast<void *>(encode), kName))
    return;
  Description of =
      describe(base, element, rank, {size0, size1, size2, size3, size4},
               {stride1, stride2, stride3, stride4});
  if (CallState::current()->failed())
    return;
  int lower[] = {int(lower0), int(lower1), int(lower2)},
      upper[] = {int(upper0), int(upper1), int(upper2)};
  uint32_t steps[] = {1, uint32_t(step0), uint32_t(step1), uint32_t(step2), 1};
  // The last one is of the images.
  steps[rank - 1] = 1;
  uint32_t channels = uint32_t(kRowBytes / kBytes[element]);
  check(encode(reinterpret_cast<void *>(map), of.type, of.rank, of.base,
               of.sizes, of.strides, lower, upper, channels, uint32_t(rows),
               steps, /*interleave=*/0, kSwizzle128, kPromote256, /*fill=*/0));
}
