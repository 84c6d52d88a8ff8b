//===- Sanitizer.h - a build that reports wrong accesses --------*- C++ -*-===//
//
// With the CMake option REDFUSE_SANITIZE the library is instrumented by the C++
// compiler, and so is the code that it makes, by LLVM's AddressSanitizer. What
// both have to know of memory comes from the sanitizer's own malloc: nothing is
// cached or rounded up there.
//
//===----------------------------------------------------------------------===//
#ifndef LIB_TARGET_SANITIZER_H
#define LIB_TARGET_SANITIZER_H

#include <cstddef>

#ifdef REDFUSE_SANITIZED
// LLVM's headers have macros by the names of the sanitizer's functions.
void redfuseForbid(const volatile void *address,
                   size_t size) __asm__("__asan_poison_memory_region");
void redfusePermit(const volatile void *address,
                   size_t size) __asm__("__asan_unpoison_memory_region");
#endif

namespace redfuse {

#ifdef REDFUSE_SANITIZED
constexpr bool kSanitized = true;
/// No instrumented code may touch the bytes from here on.
inline void forbid(const void *address, size_t size) {
  redfuseForbid(address, size);
}
inline void permit(const void *address, size_t size) {
  redfusePermit(address, size);
}
#else
constexpr bool kSanitized = false;
inline void forbid(const void *, size_t) {}
inline void permit(const void *, size_t) {}
#endif

/// Instrumented code has these two functions if it has constants; the loader
/// calls them, as nothing runs constructors.
constexpr const char *kRegisterConstants = "asan.module_ctor";
constexpr const char *kForgetConstants = "asan.module_dtor";

} // namespace redfuse

#endif // LIB_TARGET_SANITIZER_H
