//===- Ext.h - the parts of the Python module -------------------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_PYTHON_EXT_H
#define REDFUSE_PYTHON_EXT_H

#include "mlir-c/IR.h"
#include "redfuse-c/Redfuse.h"
#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <string>
#include <unistd.h>

/// The capsule of an object of mlir.ir.
pybind11::object capsuleOf(pybind11::handle object);
MlirOperation operationOf(pybind11::handle object);

/// Raises `redfuse.errors.NAME(message, args...)`.
template <typename... Args>
[[noreturn]] void raiseError(const char *name, const std::string &message,
                             Args &&...args);
/// The class `redfuse.errors.NAME`.
pybind11::object errorClass(const char *name);
/// Raises an instance made by the caller.
[[noreturn]] void raiseInstance(pybind11::handle instance);

/// Text of the library, which is freed.
std::string takeText(RedfuseBytes bytes);

inline MlirStringRef stringRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

/// Gives Python's lock away for a scope. A thread that asks for it again while the
/// interpreter ends is ended by Python, which C++ does not survive: it waits for the
/// end of the process instead.
class Unlocked {
public:
  Unlocked() : state(PyEval_SaveThread()) {}
  Unlocked(const Unlocked &) = delete;
  ~Unlocked() {
    try {
      PyEval_RestoreThread(state);
    } catch (abi::__forced_unwind &) {
      for (;;)
        pause();
    }
  }

private:
  PyThreadState *state;
};

void definePrograms(pybind11::module_ &m);
void defineNative(pybind11::module_ &m);

template <typename... Args>
[[noreturn]] void raiseError(const char *name, const std::string &message,
                             Args &&...args) {
  raiseInstance(errorClass(name)(message, std::forward<Args>(args)...));
}

#endif // REDFUSE_PYTHON_EXT_H
