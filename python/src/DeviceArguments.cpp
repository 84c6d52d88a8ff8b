//===- DeviceArguments.cpp - arrays on a GPU ------------------------------===//
#include "Arguments.h"
#include "Ext.h"

#include <cstring>
#include <pybind11/numpy.h>

namespace py = pybind11;
using namespace redfuse_ext;

static std::string textOf(py::handle object) {
  return py::cast<std::string>(py::str(object));
}

/// The library of an array: "torch", "cupy", "jax"...
static std::string libraryOf(py::handle array) {
  std::string module = textOf(py::type::handle_of(array).attr("__module__"));
  std::string name = module.substr(0, module.find('.'));
  return name == "jaxlib" ? "jax" : name;
}

//===----------------------------------------------------------------------===//
// Where the arrays are
//===----------------------------------------------------------------------===//

void Place::add(const Argument &what, py::handle array, int number,
                const FastExchange *fast, bool isTorch) {
  if (device < 0) {
    device = number;
    exchange = fast;
    torch = isTorch;
    first = py::reinterpret_borrow<py::object>(array);
  } else if (device != number) {
    what.raise("expected an array on GPU " + std::to_string(device) +
               " as the first one, got one on GPU " + std::to_string(number));
  }
}

/// A stream as a user names it: a number, or an object of torch, CuPy or
/// cuda.core.
static uintptr_t streamNumber(py::handle stream) {
  py::object number = py::reinterpret_borrow<py::object>(stream);
  if (py::hasattr(stream, "cuda_stream"))
    number = stream.attr("cuda_stream");
  else if (py::hasattr(stream, "__cuda_stream__"))
    number = py::tuple(py::object(stream.attr("__cuda_stream__")()))[1];
  else if (py::hasattr(stream, "ptr"))
    number = stream.attr("ptr");
  if (!PyLong_Check(number.ptr()))
    raiseError("ArgumentError",
               "stream: expected a number or a stream of torch or CuPy, got " +
                   std::string(Py_TYPE(stream.ptr())->tp_name));
  return py::cast<uintptr_t>(number);
}

uintptr_t Place::stream(py::handle array) {
  if (known)
    return value;
  py::handle of = first ? py::handle(first) : array;
  if (!asked.is_none()) {
    value = streamNumber(asked);
  } else if (exchange && !(torch && vendor == REDFUSE_ROCM)) {
    value = exchange->stream(kind(), device);
  } else if (torch && device >= 0) {
    // Also for AMD's GPUs, of which torch's C function says nothing certain.
    value = py::cast<uintptr_t>(
        torchModule().attr("_C").attr("_cuda_getCurrentRawStream")(device));
  } else if (of && libraryOf(of) == "cupy") {
    value = streamNumber(
        py::module_::import("cupy").attr("cuda").attr("get_current_stream")());
  } else {
    value = 0; // the default stream, which waits for the others
  }
  known = device >= 0;
  return value;
}

void Place::settle() {
  if (device >= 0)
    return;
  torch = true;
  device = py::cast<int>(torchModule().attr("cuda").attr("current_device")());
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// A tensor of a torch without DLPack's C functions.
static void readTorch(const Argument &what, DlKind gpu, py::handle tensor,
                      View &view) {
  py::object layout = tensor.attr("layout");
  if (!layout.is(torchModule().attr("strided")))
    what.raise("expected a dense tensor, got layout " + textOf(layout) +
               "; use .to_dense()");
  py::tuple shape = tensor.attr("shape"), strides = tensor.attr("stride")();
  DlTensor &t = view.tensor;
  t.rank = int32_t(std::min<size_t>(shape.size(), 64));
  for (int d = 0; d < t.rank; ++d) {
    view.dims[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), d));
    view.steps[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides.ptr(), d));
  }
  t.shape = view.dims;
  t.strides = view.steps;
  t.byteOffset = 0;
  t.data = PyLong_AsVoidPtr(py::object(tensor.attr("data_ptr")()).ptr());
  if (PyErr_Occurred())
    throw py::error_already_set();
  // A torch is made for one vendor; it calls either's GPUs cuda.
  bool cuda = py::cast<bool>(tensor.attr("is_cuda"));
  t.device = {cuda ? gpu : kDlCpu,
              cuda ? py::cast<int>(tensor.attr("get_device")()) : 0};
  std::string name = textOf(tensor.attr("dtype")).substr(strlen("torch."));
  int bits = 8 * py::cast<int>(tensor.attr("itemsize"));
  DlCode code = name == "bool"                ? kDlBool
                : name == "bfloat16"          ? kDlBfloat
                : name == "float8_e4m3fn"     ? kDlFloat8E4M3FN
                : name == "float8_e4m3fnuz"   ? kDlFloat8E4M3FNUZ
                : name == "float8_e5m2"       ? kDlFloat8E5M2
                : name == "float8_e5m2fnuz"   ? kDlFloat8E5M2FNUZ
                : name.rfind("float", 0) == 0 ? kDlFloat
                : name.rfind("int", 0) == 0   ? kDlInt
                                              : kDlUInt;
  t.type = {uint8_t(name.rfind("complex", 0) == 0 ? 5 : code), uint8_t(bits),
            1};
}

/// "; use .cuda()" and the like, as the library of the array spells it.
static const char *advice(bool torch, const char *forTorch,
                          const char *forOthers) {
  return torch ? forTorch : forOthers;
}

void Spec::fillDevice(const Argument &what, py::handle array,
                      const int64_t *expected, int64_t *descriptor,
                      Region &region, KeepAlive &keep, Place &place) const {
  View view;
  const auto &numpy = py::detail::npy_api::get();
  PyTypeObject *tensor = torchTensor();
  bool torch = tensor && PyObject_TypeCheck(array.ptr(), tensor);
  const FastExchange *fast = FastExchange::of(Py_TYPE(array.ptr()));
  py::object owner;
  try {
    if (torch) {
      refuseGradient(what, array);
      static PyObject *isNeg = PyUnicode_InternFromString("is_neg");
      auto negated = py::reinterpret_steal<py::object>(
          PyObject_CallMethodNoArgs(array.ptr(), isNeg));
      if (!negated)
        throw py::error_already_set();
      if (negated.ptr() != Py_False) {
        if (what.isOutput())
          what.raise("expected plain memory, got a negated view; use "
                     ".resolve_neg()");
        owner = array.attr("resolve_neg")();
        keep.push_back(owner);
        array = keep.back();
      }
    }
    if (fast)
      fast->read(array.ptr(), view);
    else if (torch)
      readTorch(what, place.kind(), array, view);
    else if (numpy.PyArray_Check_(array.ptr()) ||
             !readByProtocol(array, place.kind(), place.stream(array), view,
                             owner))
      what.raise("expected an array on a GPU (torch, or any with __dlpack__ or "
                 "__cuda_array_interface__), got " +
                 std::string(Py_TYPE(array.ptr())->tp_name) +
                 "; copy it there, or compile for the cpu");
  } catch (py::error_already_set &error) {
    if (error.matches(errorClass("ArgumentError")) ||
        !error.matches(PyExc_Exception))
      throw;
    what.raise("its library does not hand out its memory: " +
               textOf(error.value()));
  } catch (const py::builtin_exception &error) {
    what.raise(std::string("its library does not hand out its memory: ") +
               error.what());
  }
  view.torch = torch;
  if (owner)
    keep.push_back(std::move(owner));
  DlTensor &t = view.tensor;
  if (!isOn(t.device, place.kind())) {
    if (isOn(t.device, kDlCuda) || isOn(t.device, kDlRocm))
      what.raise(place.vendor == REDFUSE_CUDA
                     ? "expected an array on an NVIDIA GPU, got one on an AMD "
                       "GPU; compile for target='rocm'"
                     : "expected an array on an AMD GPU, got one on an NVIDIA "
                       "GPU; compile for target='cuda'");
    bool cpu = t.device.kind == kDlCpu || t.device.kind == kDlCudaHost ||
               t.device.kind == kDlRocmHost;
    what.raise(
        "expected an array on a GPU, got one " +
        (torch ? "on " + textOf(array.attr("device"))
         : cpu ? std::string("on the cpu")
               : "of DLPack device type " + std::to_string(t.device.kind)) +
        advice(torch, "; use .cuda()", "; copy it there"));
  }
  if (t.device.number < 0 && t.data) {
    RedfuseBytes error{nullptr, 0};
    t.device.number = redfuseDeviceOfPointer(place.vendor, t.data, &error);
    if (error.data)
      what.raise(takeText(error));
  }
  if (t.data || place.device < 0)
    place.add(what, array, std::max(t.device.number, 0), fast, torch);
  if (view.producer && *view.producer != place.stream()) {
    RedfuseBytes error{nullptr, 0};
    if (!redfuseOrderStreams(place.vendor, place.device, place.stream(),
                             *view.producer, &error))
      what.raise(takeText(error));
  }
  fillView(what, array, view, place.kind(), expected, descriptor, region, keep);
}

/// Whether memory of this type holds elements of a program's.
static bool isElement(DlType type, Element element) {
  static constexpr DlType kTypes[] = {
      {kDlFloat, 64, 1},        {kDlFloat, 32, 1},
      {kDlFloat, 16, 1},        {kDlBfloat, 16, 1},
      {kDlInt, 64, 1},          {kDlInt, 32, 1},
      {kDlInt, 16, 1},          {kDlInt, 8, 1},
      {kDlBool, 8, 1},          {kDlFloat8E4M3FN, 8, 1},
      {kDlFloat8E5M2, 8, 1},    {kDlFloat8E4M3FNUZ, 8, 1},
      {kDlFloat8E5M2FNUZ, 8, 1}};
  const DlType &want = kTypes[int(element)];
  return type.code == want.code && type.bits == want.bits && type.lanes == 1;
}

void Spec::fillView(const Argument &what, py::handle array, const View &view,
                    DlKind gpu, const int64_t *expected, int64_t *descriptor,
                    Region &region, KeepAlive &keep) const {
  const DlTensor &t = view.tensor;
  std::string wanted;
  if (!isElement(t.type, element)) {
    wanted = numpyName(element);
    what.raise("expected dtype " + wanted + ", got " +
               (view.torch ? textOf(array.attr("dtype")).substr(6)
                           : typeText(t.type)) +
               (view.torch ? "; use .to(torch." + wanted + ")"
                           : "; use .astype('" + wanted + "')"));
  }
  if (t.rank != int32_t(rank()) || t.rank > 64)
    checkShape(what, size_t(t.rank), t.shape, expected);
  int64_t next = 1;
  bool contiguous = true, empty = false;
  for (int d = t.rank - 1; d >= 0; --d) {
    int64_t extent = t.shape[d];
    if (expected[d] >= 0 && expected[d] != extent)
      checkShape(what, size_t(t.rank), t.shape, expected);
    if (t.strides && extent != 1 && t.strides[d] != next)
      contiguous = false;
    empty |= extent == 0;
    next *= extent;
  }
  if (!contiguous && !empty) {
    std::string strides;
    for (int d = 0; d < t.rank; ++d)
      strides += (d ? ", " : "") + std::to_string(t.strides[d]);
    what.raise(
        "expected contiguous row-major memory, got strides (" + strides + ")" +
        advice(view.torch, "; use .contiguous()", "; make a contiguous copy"));
  }
  if (what.isOutput() && view.readOnly)
    what.raise("expected a writable array, got a read-only one");
  char *data = static_cast<char *>(t.data) + t.byteOffset;
  // A GPU thread moves 16 bytes at a time.
  if (reinterpret_cast<uintptr_t>(data) % 16 != 0 && !empty) {
    if (what.isOutput())
      what.raise("expected memory that starts at a multiple of 16 bytes");
    const char *copier = view.torch ? "clone" : "copy";
    if (!py::hasattr(array, copier))
      what.raise("expected memory that starts at a multiple of 16 bytes; pass "
                 "a copy");
    py::object copy = array.attr(copier)();
    keep.push_back(copy);
    View fresh;
    py::object owner;
    const FastExchange *fast = FastExchange::of(Py_TYPE(copy.ptr()));
    if (fast)
      fast->read(copy.ptr(), fresh);
    else if (view.torch)
      readTorch(what, gpu, copy, fresh);
    else
      readByProtocol(copy, gpu, 0, fresh, owner);
    if (owner)
      keep.push_back(std::move(owner));
    data = static_cast<char *>(fresh.tensor.data) + fresh.tensor.byteOffset;
  }
  describe(data, t.shape, descriptor, region);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// An uninitialised array on the GPU of the arguments, of their library.
py::object Spec::allocateOn(const Argument &what, Place &place,
                            const int64_t *extents, int64_t *descriptor) const {
  py::tuple shape(rank());
  for (size_t d = 0; d < rank(); ++d)
    shape[d] = extents[d];
  std::string library = place.first ? libraryOf(place.first) : "torch";
  if (place.torch)
    library = "torch";
  py::object array;
  if (library == "cupy" && element != Element::BF16 && element <= Element::I1) {
    py::module_ cupy = py::module_::import("cupy");
    py::object on = cupy.attr("cuda").attr("Device")(place.device);
    on.attr("__enter__")();
    try {
      array = cupy.attr("empty")(shape, numpyName(element));
    } catch (...) {
      on.attr("__exit__")(py::none(), py::none(), py::none());
      throw;
    }
    on.attr("__exit__")(py::none(), py::none(), py::none());
  } else {
    static PyObject *empty = nullptr, *names = nullptr;
    try {
      if (!empty) {
        names = py::make_tuple("dtype", "device").release().ptr();
        empty = py::object(torchModule().attr("empty")).release().ptr();
      }
    } catch (py::error_already_set &error) {
      if (!error.matches(PyExc_ImportError))
        throw;
      what.raise("new arrays of " + library +
                 " cannot be made; pass out=, or install torch");
    }
    static PyObject *devices[16] = {};
    py::object made;
    PyObject *device = nullptr;
    if (place.device < 16)
      device = devices[place.device];
    if (!device) {
      made = torchModule().attr("device")("cuda", place.device);
      device = made.ptr();
      if (place.device < 16)
        devices[place.device] = made.inc_ref().ptr();
    }
    PyObject *words[] = {shape.ptr(), torchDtype(element), device};
    array = py::reinterpret_steal<py::object>(
        PyObject_Vectorcall(empty, words, 1, names));
    if (!array)
      throw py::error_already_set();
  }
  View view;
  py::object owner;
  if (const FastExchange *fast = FastExchange::of(Py_TYPE(array.ptr())))
    fast->read(array.ptr(), view);
  else if (library == "cupy")
    readByProtocol(array, place.kind(), place.stream(), view, owner);
  else
    readTorch(what, place.kind(), array, view);
  if (view.tensor.device.kind == kDlCpu)
    what.raise("torch has no GPU in this process");
  Region region;
  describe(static_cast<char *>(view.tensor.data) + view.tensor.byteOffset,
           extents, descriptor, region);
  place.toJax |= library == "jax";
  return array;
}

py::object Place::finish(py::object result) const {
  // JAX takes over arrays by DLPack, once their work is enqueued.
  if (!toJax)
    return result;
  return py::module_::import("jax").attr("dlpack").attr("from_dlpack")(result);
}
