//===- DeviceTensorMap.cpp - descriptions of tensors for copies of boxes --===//
#include "redfuse/Target/Device.h"
#include "redfuse/Target/Runtime.h"

#include <algorithm>
#include <dlfcn.h>

using namespace redfuse::runtime;

namespace {
/// cuTensorMapEncodeTiled, as the driver's ABI has it.
using Encode = int (*)(void *map, int type, uint32_t rank, void *base,
                       const uint64_t *sizes, const uint64_t *strides,
                       const uint32_t *box, const uint32_t *steps,
                       int interleave, int swizzle, int promotion, int fill);
} // namespace

// Numbers of the driver: element types, a swizzle of 128 bytes, promotion to 256
// bytes in L2, zeros outside.
static constexpr int kFloat16 = 6, kBFloat16 = 9, kSwizzle128 = 3,
                     kPromote256 = 3;

/// A row of a box.
static constexpr int64_t kRowBytes = 128;

static Encode encoder() {
  static Encode function = [] {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? reinterpret_cast<Encode>(
                         dlsym(library, "cuTensorMapEncodeTiled"))
                   : nullptr;
  }();
  return function;
}

void redfuse_rt_tensor_map(int64_t map, int64_t base, int64_t element,
                           int64_t rank, int64_t size0, int64_t size1,
                           int64_t size2, int64_t size3, int64_t size4,
                           int64_t stride1, int64_t stride2, int64_t stride3,
                           int64_t stride4, int64_t box0, int64_t box1,
                           int64_t box2, int64_t box3, int64_t box4) {
  CallState *state = CallState::current();
  if (state->failed())
    return;
  Encode encode = encoder();
  if (!encode) {
    state->fail("the NVIDIA driver is too old: it has no "
                "cuTensorMapEncodeTiled");
    return;
  }
  // The driver takes one element for the least of a dim; of an empty tensor it
  // is a zero that nobody uses.
  if (size0 == 0 || size1 == 0 || size2 == 0 || size3 == 0 || size4 == 0) {
    base = reinterpret_cast<int64_t>(redfuse_rt_device_counters(kRowBytes));
    if (state->failed())
      return;
  }
  auto atLeastOne = [](int64_t size) {
    return uint64_t(std::max<int64_t>(size, 1));
  };
  uint64_t sizes[] = {atLeastOne(size0), atLeastOne(size1), atLeastOne(size2),
                      atLeastOne(size3), atLeastOne(size4)};
  uint64_t strides[] = {
      std::max<uint64_t>(stride1, 16), std::max<uint64_t>(stride2, 16),
      std::max<uint64_t>(stride3, 16), std::max<uint64_t>(stride4, 16)};
  uint32_t box[] = {uint32_t(box0), uint32_t(box1), uint32_t(box2),
                    uint32_t(box3), uint32_t(box4)};
  uint32_t steps[] = {1, 1, 1, 1, 1};
  int result =
      encode(reinterpret_cast<void *>(map), element == 0 ? kFloat16 : kBFloat16,
             uint32_t(rank), reinterpret_cast<void *>(base), sizes, strides,
             box, steps, /*interleave=*/0, kSwizzle128, kPromote256,
             /*fill=*/0);
  if (result != 0)
    state->fail(("describing a tensor for the GPU failed: error " +
                 std::to_string(result))
                    .c_str());
}
