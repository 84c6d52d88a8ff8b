//===- FindFunctions.h - functions of a shared library ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_TARGET_FINDFUNCTIONS_H
#define REDFUSE_LIB_TARGET_FINDFUNCTIONS_H

#include <dlfcn.h>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace redfuse::runtime {

/// Fills pointers by name. What is missing is told in `error`, once.
class FindFunctions {
public:
  /// The first of the libraries that there is; `expected` follows what is said of
  /// one without a function that is needed.
  FindFunctions(std::initializer_list<const char *> libraries, const char *what,
                const char *expected, std::string &error)
      : what(what), expected(expected), error(error) {
    for (const char *name : libraries)
      if (!library)
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      error = std::string("no ") + what + " on this machine (" +
              *libraries.begin() + " was not found)";
  }

  template <typename Function>
  bool operator()(Function &function, const char *name, bool needed = true) {
    void *address = library ? dlsym(library, name) : nullptr;
    if (!address && needed && error.empty())
      error = std::string("the ") + what + " is too old: it has no " + name +
              "; " + expected;
    function = reinterpret_cast<std::decay_t<Function>>(address);
    return address;
  }

private:
  const char *what, *expected;
  std::string &error;
  void *library = nullptr;
};

} // namespace redfuse::runtime

#endif // REDFUSE_LIB_TARGET_FINDFUNCTIONS_H
