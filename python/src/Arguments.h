//===- Arguments.h - arrays as memref descriptors ----------------*- C++
//-*-===//
#ifndef REDFUSE_PYTHON_ARGUMENTS_H
#define REDFUSE_PYTHON_ARGUMENTS_H

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

/// Where the arrays of a call are, if on a GPU: all on the same one.
struct Place {
  int device = -1; // of the first array
  pybind11::object torchDevice;
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

enum class Element { F64, F32, F16, BF16, I64, I32, I16, I8, I1 };

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
  pybind11::object allocateOn(const Place &place, const int64_t *extents,
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
                 KeepAlive &keep, Place *place) const;
  void checkPlace(const Argument &what, pybind11::handle tensor,
                  Place *place) const;
  bool fillNumber(pybind11::handle value, int64_t *descriptor) const;
  pybind11::object toNumpy(const Argument &what, pybind11::handle value) const;
};

} // namespace redfuse_ext

#endif // REDFUSE_PYTHON_ARGUMENTS_H
