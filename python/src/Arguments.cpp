//===- Arguments.cpp - arrays as memref descriptors -----------------------===//
//------------------------===//
#include "Arguments.h"
#include "Ext.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <pybind11/numpy.h>

namespace py = pybind11;
using namespace redfuse_ext;

namespace {
struct ElementInfo {
  const char *mlir;
  const char *numpy;
  int bytes;
};
} // namespace

// By Element; "index" is I64 too.
static constexpr ElementInfo kElements[] = {
    {"f64", "float64", 8},
    {"f32", "float32", 4},
    {"f16", "float16", 2},
    {"bf16", "bfloat16", 2},
    {"i64", "int64", 8},
    {"i32", "int32", 4},
    {"i16", "int16", 2},
    {"i8", "int8", 1},
    {"i1", "bool", 1},
    {"f8E4M3FN", "float8_e4m3fn", 1},
    {"f8E5M2", "float8_e5m2", 1},
    {"f8E4M3FNUZ", "float8_e4m3fnuz", 1},
    {"f8E5M2FNUZ", "float8_e5m2fnuz", 1}};
static constexpr int kElementCount = sizeof(kElements) / sizeof(*kElements);

static const ElementInfo &infoOf(Element element) {
  return kElements[int(element)];
}

Sequence::Sequence(py::handle object, const char *what) {
  // A tuple: another thread could change a list while the program runs.
  if (PyTuple_Check(object.ptr()))
    items = py::reinterpret_borrow<py::object>(object);
  else if (PyList_Check(object.ptr()))
    items = py::reinterpret_steal<py::object>(PyList_AsTuple(object.ptr()));
  else
    raiseError("ArgumentError",
               std::string(what) +
                   ": expected a list or tuple of arrays, got " +
                   Py_TYPE(object.ptr())->tp_name);
  if (!items)
    throw py::error_already_set();
}

void Argument::raise(const std::string &text) const {
  raiseError("ArgumentError",
             std::string(role) + " " + std::to_string(index) + " of " +
                 function + ": " + text,
             index);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::string redfuse_ext::shapeText(size_t rank, const int64_t *shape) {
  std::string text;
  for (size_t d = 0; d < rank; ++d)
    text += (d ? "x" : "") +
            (shape[d] < 0 ? std::string("?") : std::to_string(shape[d]));
  return rank ? text : "no dims";
}

Spec Spec::fromPython(py::handle object) {
  Spec spec;
  py::object type = py::reinterpret_borrow<py::object>(object);
  spec.scalar = py::isinstance<py::str>(object);
  if (!spec.scalar) {
    py::sequence pair = py::reinterpret_borrow<py::sequence>(object);
    type = pair[0];
    for (py::handle extent :
         py::reinterpret_borrow<py::sequence>(py::object(pair[1])))
      spec.shape.push_back(extent.is_none() ? -1 : py::cast<int64_t>(extent));
  }
  spec.typeName = py::cast<std::string>(type);
  std::string name = spec.typeName == "index" ? "i64" : spec.typeName;
  for (int i = 0; i < kElementCount; ++i)
    if (name == kElements[i].mlir) {
      spec.element = Element(i);
      return spec;
    }
  raiseError("ArgumentError", "unknown element type '" + spec.typeName + "'");
}

bool Spec::isStatic() const {
  for (int64_t extent : shape)
    if (extent < 0)
      return false;
  return true;
}

std::string Spec::text() const {
  if (scalar)
    return typeName;
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += (extent < 0 ? "?" : std::to_string(extent)) + "x";
  return text + typeName + ">";
}

/// Whether NumPy has the type from ml_dtypes.
static bool isFromMlDtypes(Element element) {
  return element == Element::BF16 || element > Element::I1;
}

/// The NumPy dtype; borrowed, lives for ever. Null where ml_dtypes is missing.
static PyObject *dtypeOf(Element element) {
  static PyObject *cache[kElementCount] = {};
  PyObject *&entry = cache[int(element)];
  if (entry)
    return entry;
  py::module_ numpy = py::module_::import("numpy");
  if (isFromMlDtypes(element)) {
    try {
      entry =
          py::object(
              numpy.attr("dtype")(
                  py::module_::import("ml_dtypes").attr(infoOf(element).numpy)))
              .release()
              .ptr();
    } catch (py::error_already_set &error) {
      if (!error.matches(PyExc_ImportError))
        throw;
    }
    return entry;
  }
  entry =
      py::object(numpy.attr("dtype")(infoOf(element).numpy)).release().ptr();
  return entry;
}

static PyObject *requireDtype(const Argument &what, Element element) {
  PyObject *dtype = dtypeOf(element);
  if (!dtype)
    what.raise(std::string(infoOf(element).mlir) +
               " arrays in NumPy need the package ml_dtypes: pip install "
               "ml_dtypes (or pass torch tensors)");
  return dtype;
}

PyTypeObject *redfuse_ext::torchTensor() {
  static PyTypeObject *type = nullptr;
  if (type)
    return type;
  PyObject *modules = PyImport_GetModuleDict();
  PyObject *torch = PyDict_GetItemString(modules, "torch"); // borrowed
  if (!torch || !py::hasattr(torch, "Tensor"))
    return nullptr;
  type = reinterpret_cast<PyTypeObject *>(
      py::object(py::handle(torch).attr("Tensor")).release().ptr());
  return type;
}

py::module_ redfuse_ext::torchModule() { return py::module_::import("torch"); }

const char *redfuse_ext::numpyName(Element element) {
  return infoOf(element).numpy;
}

int redfuse_ext::elementBytes(Element element) { return infoOf(element).bytes; }

PyObject *redfuse_ext::torchDtype(Element element) {
  static PyObject *cache[kElementCount] = {};
  PyObject *&entry = cache[int(element)];
  if (!entry)
    entry =
        py::object(torchModule().attr(infoOf(element).numpy)).release().ptr();
  return entry;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void Spec::describe(void *data, const int64_t *extents, int64_t *descriptor,
                    Region &region) const {
  descriptor[0] = descriptor[1] = reinterpret_cast<int64_t>(data);
  descriptor[2] = 0;
  int64_t *sizes = descriptor + 3, *strides = sizes + rank();
  int64_t stride = 1, count = 1;
  for (size_t d = rank(); d-- > 0;) {
    sizes[d] = extents[d];
    strides[d] = stride;
    stride *= extents[d] > 0 ? extents[d] : 1;
    count *= extents[d];
  }
  region.begin = reinterpret_cast<uintptr_t>(data);
  region.end = region.begin + count * infoOf(element).bytes;
}

void Spec::checkShape(const Argument &what, size_t gotRank, const ssize_t *got,
                      const int64_t *expected) const {
  bool same = gotRank == rank();
  for (size_t d = 0; same && d < gotRank; ++d)
    same = expected[d] < 0 || expected[d] == got[d];
  if (!same) {
    std::vector<int64_t> shape(got, got + gotRank);
    what.raise("expected shape " + shapeText(rank(), expected) + ", got " +
               shapeText(gotRank, shape.data()));
  }
  // Compiled code takes extents for numbers of what has an address: an array
  // without elements may have any others.
  int64_t left = (int64_t(1) << 47) / infoOf(element).bytes;
  for (size_t d = 0; d < gotRank; ++d)
    left /= std::max<int64_t>(got[d], 1);
  if (left == 0) {
    std::vector<int64_t> shape(got, got + gotRank);
    what.raise("expected extents that memory could have, got shape " +
               shapeText(gotRank, shape.data()));
  }
}

/// Raises for an array that may mean more than its numbers: a mask, units.
static void refuseSubclass(const Argument &what, py::handle array) {
  static PyObject *memmap =
      py::object(py::module_::import("numpy").attr("memmap")).release().ptr();
  PyTypeObject *type = Py_TYPE(array.ptr());
  if (type == reinterpret_cast<PyTypeObject *>(memmap))
    return;
  py::handle named(reinterpret_cast<PyObject *>(type));
  bool masked = py::hasattr(array, "mask");
  what.raise("expected a plain array, got " +
             py::cast<std::string>(py::str(named.attr("__module__"))) + "." +
             py::cast<std::string>(py::str(named.attr("__qualname__"))) +
             (masked ? ", whose mask a program does not know; use "
                       ".filled(value), or .data if the mask is not meant"
                     : "; use numpy.asarray if its numbers are all it means"));
}

void Spec::fillNumpy(const Argument &what, py::handle array,
                     const int64_t *expected, int64_t *descriptor,
                     Region &region, KeepAlive &keep) const {
  const auto *proxy = py::detail::array_proxy(array.ptr());
  PyObject *dtype = requireDtype(what, element);
  if (proxy->descr != dtype) {
    // Other spellings of the same type compare equal; byte-swapped ones do not.
    int equal = PyObject_RichCompareBool(proxy->descr, dtype, Py_EQ);
    if (equal < 0)
      throw py::error_already_set();
    if (!equal) {
      py::handle got(proxy->descr);
      bool native = py::cast<bool>(got.attr("isnative"));
      what.raise("expected dtype " + std::string(infoOf(element).numpy) +
                 ", got " + py::cast<std::string>(py::str(got)) +
                 (native ? "" : " (not in native byte order)") +
                 "; use .astype('" + infoOf(element).numpy + "')");
    }
  }
  checkShape(what, proxy->nd, proxy->dimensions, expected);
  using Api = py::detail::npy_api;
  if (!(proxy->flags & Api::NPY_ARRAY_C_CONTIGUOUS_))
    what.raise("expected contiguous row-major memory, got strides " +
               py::cast<std::string>(py::str(array.attr("strides"))) +
               "; use numpy.ascontiguousarray");
  if (what.isOutput() && !(proxy->flags & Api::NPY_ARRAY_WRITEABLE_))
    what.raise("expected a writable array, got a read-only one");
  py::object copy;
  if (!(proxy->flags & Api::NPY_ARRAY_ALIGNED_)) {
    if (what.isOutput())
      what.raise("expected memory aligned to its elements");
    copy = array.attr("copy")();
    proxy = py::detail::array_proxy(copy.ptr());
    keep.push_back(copy);
  }
  if (scalar) {
    memcpy(descriptor, proxy->data, infoOf(element).bytes);
    return;
  }
  int64_t extents[64];
  for (int d = 0; d < proxy->nd; ++d)
    extents[d] = proxy->dimensions[d];
  describe(proxy->data, extents, descriptor, region);
}

void redfuse_ext::refuseGradient(const Argument &what, py::handle tensor) {
  static PyObject *enabled =
      py::object(torchModule().attr("is_grad_enabled")).release().ptr();
  if (py::cast<bool>(tensor.attr("requires_grad")) &&
      py::cast<bool>(py::handle(enabled)()))
    what.raise("requires a gradient, which programs do not compute; use "
               ".detach(), or call under torch.no_grad()");
}

/// Where a tensor's elements are; raises for one that has none of its own.
static void *dataOf(const Argument &what, py::handle tensor) {
  try {
    py::object address = tensor.attr("data_ptr")();
    if (void *data = PyLong_AsVoidPtr(address.ptr()))
      return data;
    if (PyErr_Occurred())
      throw py::error_already_set();
  } catch (py::error_already_set &error) {
    if (!error.matches(PyExc_RuntimeError))
      throw;
  }
  if (py::cast<int64_t>(tensor.attr("numel")()) == 0)
    return nullptr;
  what.raise(std::string("expected a tensor with memory of its own, got a ") +
             Py_TYPE(tensor.ptr())->tp_name +
             " without (of a transformation, or of tracing)");
}

void Spec::fillTorch(const Argument &what, py::handle tensor,
                     const int64_t *expected, int64_t *descriptor,
                     Region &region, KeepAlive &keep) const {
  if (!py::cast<bool>(tensor.attr("is_cpu")))
    what.raise("expected a tensor on the cpu, got one on " +
               py::cast<std::string>(py::str(tensor.attr("device"))) +
               (py::cast<bool>(tensor.attr("is_meta"))
                    ? ", which has no elements"
                    : "; use .cpu()"));
  refuseGradient(what, tensor);
  py::object dtype = tensor.attr("dtype");
  if (dtype.ptr() != torchDtype(element)) {
    std::string wanted = infoOf(element).numpy;
    std::string got = py::cast<std::string>(py::str(dtype));
    if (got.rfind("torch.", 0) == 0)
      got = got.substr(6);
    what.raise("expected dtype " + wanted + ", got " + got +
               "; use .to(torch." + wanted + ")");
  }
  py::object layout = tensor.attr("layout");
  if (!layout.is(torchModule().attr("strided")))
    what.raise("expected a dense tensor, got layout " +
               py::cast<std::string>(py::str(layout)) + "; use .to_dense()");
  py::tuple shape = tensor.attr("shape");
  ssize_t got[64];
  size_t gotRank = std::min<size_t>(shape.size(), 64);
  for (size_t d = 0; d < gotRank; ++d)
    got[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape.ptr(), d));
  checkShape(what, gotRank, got, expected);
  if (!py::cast<bool>(tensor.attr("is_contiguous")()))
    what.raise("expected contiguous row-major memory, got strides " +
               py::cast<std::string>(py::str(tensor.attr("stride")())) +
               "; use .contiguous()");
  py::object resolved;
  if (py::cast<bool>(tensor.attr("is_neg")())) {
    if (what.isOutput())
      what.raise("expected plain memory, got a negated view; use "
                 ".resolve_neg()");
    resolved = tensor.attr("resolve_neg")();
    tensor = resolved;
    keep.push_back(resolved);
  }
  void *data = dataOf(what, tensor);
  if (scalar) {
    memcpy(descriptor, data, infoOf(element).bytes);
    return;
  }
  int64_t extents[64];
  std::copy(got, got + gotRank, extents);
  describe(data, extents, descriptor, region);
}

/// The value of a Python number for a scalar argument, for the common types.
bool Spec::fillNumber(py::handle value, int64_t *descriptor) const {
  if (element == Element::F64 || element == Element::F32) {
    if (!PyFloat_CheckExact(value.ptr()))
      return false;
    double number = PyFloat_AS_DOUBLE(value.ptr());
    if (element == Element::F64) {
      memcpy(descriptor, &number, sizeof(number));
    } else {
      float single = float(number);
      memcpy(descriptor, &single, sizeof(single));
    }
    return true;
  }
  if (element == Element::I64 && PyLong_CheckExact(value.ptr())) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow)
      return false;
    *descriptor = number;
    return true;
  }
  return false;
}

/// A NumPy array of what is neither a NumPy array nor a torch tensor.
py::object Spec::toNumpy(const Argument &what, py::handle value) const {
  py::module_ numpy = py::module_::import("numpy");
  auto text = [&] { return py::cast<std::string>(py::repr(value)); };
  bool number = PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr());
  if (!what.isOutput() && py::isinstance(value, numpy.attr("generic")))
    return numpy.attr("asarray")(value);
  if (!what.isOutput() && number && rank() == 0) {
    py::object array;
    try {
      array =
          numpy.attr("asarray")(value, py::handle(requireDtype(what, element)));
    } catch (py::error_already_set &error) {
      if (!error.matches(PyExc_OverflowError) &&
          !error.matches(PyExc_ValueError))
        throw;
      what.raise(text() + " does not fit " + typeName + ": " +
                 py::cast<std::string>(py::str(error.value())));
    }
    bool isFloat = element <= Element::BF16 || element > Element::I1;
    if (!isFloat && !py::object(array.attr("item")()).equal(value))
      what.raise("expected " + typeName + ", got " + text());
    return array;
  }
  if (py::hasattr(value, "__dlpack__") &&
      py::hasattr(value, "__dlpack_device__")) {
    int kind = 0;
    try {
      py::tuple device = value.attr("__dlpack_device__")();
      kind = py::cast<int>(py::int_(py::object(device[0])));
    } catch (py::error_already_set &error) {
      if (!error.matches(PyExc_Exception))
        throw;
      what.raise("DLPack exchange failed: " +
                 py::cast<std::string>(py::str(error.value())));
    }
    if (kind != 1 && kind != 3) // kDLCPU, kDLCUDAHost
      what.raise(
          "expected an array on the cpu, got one of DLPack device type " +
          std::to_string(kind) + "; copy it to the host");
    try {
      return numpy.attr("from_dlpack")(value);
    } catch (py::error_already_set &error) {
      if (!error.matches(PyExc_Exception))
        throw;
      what.raise("DLPack exchange failed: " +
                 py::cast<std::string>(py::str(error.value())));
    }
  }
  what.raise("expected an array (NumPy, torch, or any with __dlpack__), got " +
             std::string(Py_TYPE(value.ptr())->tp_name));
}

bool Spec::fill(const Argument &what, py::handle value, const int64_t *expected,
                int64_t *descriptor, Region &region, KeepAlive &keep,
                Place *place) const {
  if (place && !scalar) {
    fillDevice(what, value, expected, descriptor, region, keep, *place);
    return false;
  }
  const auto &numpy = py::detail::npy_api::get();
  if (numpy.PyArray_Check_(value.ptr())) {
    if (Py_TYPE(value.ptr()) != numpy.PyArray_Type_)
      refuseSubclass(what, value);
    fillNumpy(what, value, expected, descriptor, region, keep);
    return false;
  }
  PyTypeObject *tensor = torchTensor();
  if (tensor && PyObject_TypeCheck(value.ptr(), tensor)) {
    fillTorch(what, value, expected, descriptor, region, keep);
    return true;
  }
  if (scalar && fillNumber(value, descriptor))
    return false;
  py::object array = toNumpy(what, value);
  fillNumpy(what, array, expected, descriptor, region, keep);
  keep.push_back(std::move(array));
  return false;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// A new array; its memory is the runtime's, aligned and cached, unless it is
/// tiny.
static py::object newArray(const Argument &what, PyObject *dtype, int rank,
                           const int64_t *extents, int64_t bytes) {
  const auto &numpy = py::detail::npy_api::get();
  constexpr int64_t kTiny = 1024;
  void *memory = nullptr;
  py::object owner;
  if (bytes > kTiny) {
    memory = redfuseArrayAllocate(bytes);
    if (!memory)
      raiseError("ExecutionError", what.function +
                                       ": out of memory: a result "
                                       "takes " +
                                       std::to_string(bytes) + " bytes");
    owner = py::reinterpret_steal<py::object>(
        PyCapsule_New(memory, nullptr, [](PyObject *capsule) {
          redfuseArrayFree(PyCapsule_GetPointer(capsule, nullptr));
        }));
    if (!owner) {
      redfuseArrayFree(memory);
      throw py::error_already_set();
    }
  }
  static_assert(sizeof(int64_t) == sizeof(Py_intptr_t), "64-bit only");
  int flags = memory ? py::detail::npy_api::NPY_ARRAY_WRITEABLE_ : 0;
  Py_INCREF(dtype); // PyArray_NewFromDescr takes one
  auto array = py::reinterpret_steal<py::object>(numpy.PyArray_NewFromDescr_(
      numpy.PyArray_Type_, dtype, rank,
      reinterpret_cast<const Py_intptr_t *>(extents), nullptr, memory, flags,
      nullptr));
  if (!array)
    throw py::error_already_set();
  if (owner && numpy.PyArray_SetBaseObject_(array.ptr(), owner.release().ptr()))
    throw py::error_already_set();
  return array;
}

py::object Spec::allocate(const Argument &what, const int64_t *extents,
                          bool torch, int64_t *descriptor) const {
  int64_t bytes = infoOf(element).bytes;
  // NumPy takes no more beside an extent of 0 either.
  for (size_t d = 0; d < rank(); ++d)
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extents[d], 1), &bytes))
      raiseError("ExecutionError", what.function + ": a result of shape " +
                                       shapeText(rank(), extents) +
                                       " is larger than any memory");
  if (std::find(extents, extents + rank(), 0) != extents + rank())
    bytes = 0;
  // torch takes NumPy's own types: bits first, the type afterwards.
  bool asBits = torch && isFromMlDtypes(element);
  PyObject *dtype =
      asBits ? dtypeOf(element == Element::BF16 ? Element::I16 : Element::I8)
             : requireDtype(what, element);
  py::object array = newArray(what, dtype, int(rank()), extents, bytes);
  Region region;
  describe(py::detail::array_proxy(array.ptr())->data, extents, descriptor,
           region);
  if (!torch)
    return array;
  py::object tensor = torchModule().attr("from_numpy")(array);
  return asBits ? tensor.attr("view")(py::handle(torchDtype(element))) : tensor;
}
