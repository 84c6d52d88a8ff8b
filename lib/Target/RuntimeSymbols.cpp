//===- RuntimeSymbols.cpp - names that generated code may call ------------===//
//
// The runtime itself, and the conversions of half precision that LLVM calls by
// name on machines without instructions for them.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Target/Device.h"
#include "redfuse/Target/Runtime.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>

using namespace redfuse::runtime;

static uint32_t bitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static float floatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Rounds to odd: a second rounding to fewer bits is then as if it was the only
/// one.
static float roundToOdd(double value) {
  float nearest = float(value);
  if (std::isnan(value) || std::isinf(nearest) || double(nearest) == value)
    // An overflow of float is one of bf16 and f16 too.
    return nearest;
  uint32_t bits = bitsOf(nearest);
  if (std::fabs(double(nearest)) > std::fabs(value))
    --bits; // truncate
  return floatOf(bits | 1);
}

static uint16_t bf16Of(float value) {
  uint32_t bits = bitsOf(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16) | 0x40;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static uint16_t f16Of(float value) {
  uint32_t bits = bitsOf(value), sign = (bits >> 16) & 0x8000;
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return uint16_t(sign | 0x7e00 | ((bits >> 13) & 0x1ff));
  if (magnitude >= 65520.0f)
    return uint16_t(sign | 0x7c00);
  if (magnitude < 6.103515625e-05f) // subnormal: units of 2^-24
    return uint16_t(sign | uint32_t(std::nearbyint(magnitude * 16777216.0f)));
  uint32_t rest = bits & 0x7fffffff;
  rest += 0xfff + ((rest >> 13) & 1);
  return uint16_t(sign | ((rest - (112u << 23)) >> 13));
}

// The x86 convention passes and returns half types in the low half of a vector
// register, as it does for a float: bits of a float carry them.
static float truncsfbf2(float value) { return floatOf(bf16Of(value)); }
static float truncdfbf2(double value) {
  return floatOf(bf16Of(roundToOdd(value)));
}
static float truncsfhf2(float value) { return floatOf(f16Of(value)); }
static float truncdfhf2(double value) {
  return floatOf(f16Of(roundToOdd(value)));
}
static float extendhfsf2(float half) {
  uint32_t bits = bitsOf(half) & 0xffff;
  uint32_t sign = (bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00)
    return floatOf(sign | 0x7f800000 | ((rest & 0x3ff) << 13) |
                   (rest > 0x7c00 ? 0x400000 : 0));
  if (rest < 0x400)
    return floatOf(sign | bitsOf(float(rest) * 5.9604644775390625e-08f));
  return floatOf(sign | ((rest << 13) + (112u << 23)));
}

std::vector<std::pair<const char *, void *>>
redfuse::runtime::runtimeSymbols() {
  auto address = [](auto *function) {
    return reinterpret_cast<void *>(function);
  };
  return {
      {"redfuse_rt_parallel_for", address(&redfuse_rt_parallel_for)},
      {"redfuse_rt_scratch", address(&redfuse_rt_scratch)},
      {"redfuse_rt_alloc", address(&redfuse_rt_alloc)},
      {"redfuse_rt_device_counters", address(&redfuse_rt_device_counters)},
      {"redfuse_rt_device_constant", address(&redfuse_rt_device_constant)},
      {"redfuse_rt_free", address(&redfuse_rt_free)},
      {"redfuse_rt_fail", address(&redfuse_rt_fail)},
      {"redfuse_rt_failed", address(&redfuse_rt_failed)},
      {"redfuse_rt_device_launch", address(&redfuse_rt_device_launch)},
      {"redfuse_rt_tensor_map", address(&redfuse_rt_tensor_map)},
      {"redfuse_rt_window_map", address(&redfuse_rt_window_map)},
      {"redfuse_rt_memref_copy", address(&redfuse_rt_memref_copy)},
      {"__truncsfbf2", address(&truncsfbf2)},
      {"__truncdfbf2", address(&truncdfbf2)},
      {"__truncsfhf2", address(&truncsfhf2)},
      {"__truncdfhf2", address(&truncdfhf2)},
      {"__extendhfsf2", address(&extendhfsf2)},
      {"__gnu_h2f_ieee", address(&extendhfsf2)},
  };
}

bool redfuse::runtime::isDefined(const std::string &name) {
  for (auto [known, address] : runtimeSymbols())
    if (name == known)
      return true;
  return dlsym(RTLD_DEFAULT, name.c_str());
}
