//===- Exchange.h - arrays of other libraries by DLPack ---------*- C++ -*-===//
//
// What an array on a GPU is, in whatever way its library tells: DLPack's C
// functions (PyTorch 2.10 and later), __dlpack__, or __cuda_array_interface__.
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_PYTHON_EXCHANGE_H
#define REDFUSE_PYTHON_EXCHANGE_H

#include <cstdint>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>

namespace redfuse_ext {

// The structures of DLPack 1.x, as its specification lays them out in memory.
struct DlDevice {
  int32_t kind, number;
};
struct DlType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DlTensor {
  void *data;
  DlDevice device;
  int32_t rank;
  DlType type;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};
enum DlKind {
  kDlCpu = 1,
  kDlCuda = 2,
  kDlCudaHost = 3,
  kDlRocm = 10,
  kDlRocmHost = 11,
  kDlCudaManaged = 13
};
enum DlCode {
  kDlInt = 0,
  kDlUInt = 1,
  kDlFloat = 2,
  kDlBfloat = 4,
  kDlBool = 6,
  kDlFloat8E4M3FN = 10,
  kDlFloat8E4M3FNUZ = 11,
  kDlFloat8E5M2 = 12,
  kDlFloat8E5M2FNUZ = 13
};

/// An array of a GPU; it lives as long as the Python object, or `owner`.
struct View {
  DlTensor tensor;
  bool readOnly = false;
  bool torch = false;
  /// Work that makes the contents may be on this stream (interfaces that say).
  std::optional<uintptr_t> producer;
  int64_t dims[64]; // where the library hands out no memory of its own
  int64_t steps[64];
};

/// Whether memory is a GPU's of that kind.
inline bool isOn(DlDevice device, DlKind gpu) {
  return device.kind == gpu ||
         (gpu == kDlCuda && device.kind == kDlCudaManaged);
}

/// "float32", "bfloat16", "uint8"...
std::string typeText(DlType type);

/// DLPack's C functions of the type of an object, if it has them.
class FastExchange {
public:
  static const FastExchange *of(PyTypeObject *type);
  /// Fills the view without taking anything; throws what the library raised.
  void read(PyObject *object, View &view) const;
  uintptr_t stream(DlKind kind, int device) const;

private:
  struct Api;
  const Api *api = nullptr;
};

/// Reads an array by __dlpack__ or __cuda_array_interface__. `gpu`: the kind of
/// GPU that it should be on; `stream`: what the reader works on, for the library
/// to order its own work before; `owner`: to be kept while the view is used.
/// False if the object has neither.
bool readByProtocol(pybind11::handle object, DlKind gpu, uintptr_t stream,
                    View &view, pybind11::object &owner);

} // namespace redfuse_ext

#endif // REDFUSE_PYTHON_EXCHANGE_H
