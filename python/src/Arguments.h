//===- Arguments.h - arrays as memref descriptors ---------------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_PYTHON_ARGUMENTS_H
#define REDFUSE_PYTHON_ARGUMENTS_H

#include "Exchange.h"
#include "redfuse-c/Redfuse.h"

#include <cstdint>
#include <memory>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

namespace redfuse_ext {

/// A memref descriptor of fixed rank.
template <int Rank>
struct Descriptor {
  void *allocated, *aligned;
  int64_t offset;
  int64_t sizes[Rank], strides[Rank];
};

/// An array on the stack, or on the heap if it is large.
template <typename T, size_t N>
class Stack {
public:
  explicit Stack(size_t size) {
    if (size > N) {
      heap.reset(new T[size]);
      pointer = heap.get();
    }
  }
  T &operator[](size_t i) { return pointer[i]; }
  T *data() { return pointer; }

private:
  T local[N];
  std::unique_ptr<T[]> heap;
  T *pointer = local;
};

/// Memory of an argument.
struct Region {
  uintptr_t begin = 0, end = 0;
  bool overlaps(const Region &other) const {
    return begin < end && other.begin < other.end && begin < other.end &&
           other.begin < end;
  }
};

/// Objects that must live until a call is over; most calls have none.
using KeepAlive = std::vector<pybind11::object>;

/// A list or tuple of arguments.
class Sequence {
public:
  Sequence(pybind11::handle object, const char *what);
  size_t size() const { return PyTuple_GET_SIZE(items.ptr()); }
  pybind11::handle operator[](size_t i) const {
    return PyTuple_GET_ITEM(items.ptr(), Py_ssize_t(i));
  }

private:
  pybind11::object items;
};

/// Which argument an error is about.
struct Argument {
  const std::string &function;
  const char *role; // "argument" or "out"
  size_t index;
  bool isOutput() const { return role[0] == 'o'; }
  /// Raises ArgumentError("argument 0 of f: TEXT", index).
  [[noreturn]] void raise(const std::string &text) const;
};

/// Where the arrays of a call on a GPU are, and whose: all on the same one.
class Place {
public:
  /// `stream`: None for that which the arrays' library works on now.
  Place(RedfuseVendor vendor, pybind11::handle stream)
      : vendor(vendor), asked(stream) {}
  /// Notes where an array is; raises if an earlier one is elsewhere.
  void add(const Argument &what, pybind11::handle array, int device,
           const FastExchange *exchange, bool torch);
  /// The stream to launch on.
  uintptr_t stream(pybind11::handle array = {});
  /// For calls without arrays: the current device of torch.
  void settle();
  /// A result as the caller's library has it, after the launch.
  pybind11::object finish(pybind11::object result) const;

  /// The kind of GPU that arrays are to be on.
  DlKind kind() const { return vendor == REDFUSE_CUDA ? kDlCuda : kDlRocm; }

  const RedfuseVendor vendor;
  int device = -1;        // of the first array
  bool torch = false;     // the first array is torch's
  bool toJax = false;     // results are made by another library
  pybind11::object first; // keeps nothing else alive
  const FastExchange *exchange = nullptr;

private:
  pybind11::handle asked;
  bool known = false;
  uintptr_t value = 0;
};

enum class Element {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  I1,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ
};

/// The type of an argument.
struct Spec {
  Element element;
  bool scalar = false;
  std::vector<int64_t> shape; // -1: dynamic
  std::string typeName;       // as MLIR spells the element type

  static Spec fromPython(pybind11::handle object);

  size_t rank() const { return shape.size(); }
  /// Words of the descriptor, or of the scalar's value.
  size_t words() const { return scalar ? 1 : 3 + 2 * rank(); }
  bool isStatic() const;
  std::string text() const;

  /// Checks `value` and writes its descriptor (or value); `expected` are the
  /// extents, -1 for any; `place`: for arrays on a GPU. Returns whether it is a
  /// torch tensor.
  bool fill(const Argument &what, pybind11::handle value,
            const int64_t *expected, int64_t *descriptor, Region &region,
            KeepAlive &keep, Place *place = nullptr) const;

  /// A new array of these extents, and its descriptor.
  pybind11::object allocate(const Argument &what, const int64_t *extents,
                            bool torch, int64_t *descriptor) const;
  pybind11::object allocateOn(const Argument &what, Place &place,
                              const int64_t *extents,
                              int64_t *descriptor) const;

private:
  void describe(void *data, const int64_t *extents, int64_t *descriptor,
                Region &region) const;
  void checkShape(const Argument &what, size_t rank, const ssize_t *got,
                  const int64_t *expected) const;
  void fillNumpy(const Argument &what, pybind11::handle array,
                 const int64_t *expected, int64_t *descriptor, Region &region,
                 KeepAlive &keep) const;
  void fillTorch(const Argument &what, pybind11::handle tensor,
                 const int64_t *expected, int64_t *descriptor, Region &region,
                 KeepAlive &keep) const;
  void fillDevice(const Argument &what, pybind11::handle array,
                  const int64_t *expected, int64_t *descriptor, Region &region,
                  KeepAlive &keep, Place &place) const;
  void fillView(const Argument &what, pybind11::handle array, const View &view,
                DlKind gpu, const int64_t *expected, int64_t *descriptor,
                Region &region, KeepAlive &keep) const;
  bool fillNumber(pybind11::handle value, int64_t *descriptor) const;
  pybind11::object toNumpy(const Argument &what, pybind11::handle value) const;
};

/// "4x?x8".
std::string shapeText(size_t rank, const int64_t *shape);
const char *numpyName(Element element);
int elementBytes(Element element);
/// Raises for a tensor whose gradient would be lost without a word.
void refuseGradient(const Argument &what, pybind11::handle tensor);
/// torch.Tensor once somebody has imported torch, or null.
PyTypeObject *torchTensor();
pybind11::module_ torchModule();
/// torch.float32 and so on; borrowed, lives for ever.
PyObject *torchDtype(Element element);

} // namespace redfuse_ext

#endif // REDFUSE_PYTHON_ARGUMENTS_H
