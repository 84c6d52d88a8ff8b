//===- Exchange.cpp - arrays of other libraries by DLPack -----------------===//
#include "Exchange.h"

#include <cstring>

namespace py = pybind11;
using namespace redfuse_ext;

namespace {
struct DlVersion {
  uint32_t major, minor;
};
struct DlManaged {
  DlTensor tensor;
  void *context;
  void (*deleter)(DlManaged *);
};
struct DlManagedVersioned {
  DlVersion version;
  void *context;
  void (*deleter)(DlManagedVersioned *);
  uint64_t flags;
  DlTensor tensor;
};
constexpr uint64_t kReadOnly = 1;
constexpr int kMaxRank = 64;
} // namespace

/// The table of functions that a type hands out (DLPack 1.2).
struct FastExchange::Api {
  DlVersion version;
  const Api *previous;
  void *allocate, *managedFromObject, *managedToObject;
  int (*read)(void *object, DlTensor *out);
  int (*stream)(int32_t kind, int32_t number, void **out);
};

std::string redfuse_ext::typeText(DlType type) {
  std::string bits = std::to_string(type.bits);
  std::string lanes = type.lanes == 1 ? "" : " x " + std::to_string(type.lanes);
  switch (type.code) {
  case kDlInt:
    return "int" + bits + lanes;
  case kDlUInt:
    return "uint" + bits + lanes;
  case kDlFloat:
    return "float" + bits + lanes;
  case kDlBfloat:
    return "bfloat" + bits + lanes;
  case kDlBool:
    return "bool" + lanes;
  case kDlFloat8E4M3FN:
    return "float8_e4m3fn" + lanes;
  case kDlFloat8E4M3FNUZ:
    return "float8_e4m3fnuz" + lanes;
  case kDlFloat8E5M2:
    return "float8_e5m2" + lanes;
  case kDlFloat8E5M2FNUZ:
    return "float8_e5m2fnuz" + lanes;
  default:
    return "DLPack type " + std::to_string(type.code) + " of " + bits +
           " bits" + lanes;
  }
}

//===----------------------------------------------------------------------===//
// C functions of a type
//===----------------------------------------------------------------------===//

const FastExchange *FastExchange::of(PyTypeObject *type) {
  // Few types are ever seen; they are kept alive.
  struct Entry {
    PyTypeObject *type;
    FastExchange exchange;
  };
  static Entry known[16];
  static int count = 0;
  for (int i = 0; i < count; ++i)
    if (known[i].type == type)
      return known[i].exchange.api ? &known[i].exchange : nullptr;
  FastExchange exchange;
  static PyObject *name =
      PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  if (PyObject *capsule =
          PyObject_GetAttr(reinterpret_cast<PyObject *>(type), name)) {
    auto *api = static_cast<const Api *>(
        PyCapsule_IsValid(capsule, "dlpack_exchange_api")
            ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
            : nullptr);
    while (api && api->version.major != 1)
      api = api->previous;
    if (api && api->read && api->stream)
      exchange.api = api;
    Py_DECREF(capsule);
  } else {
    PyErr_Clear();
  }
  if (count == 16) // more types than any program has: the slow way
    return nullptr;
  Py_INCREF(type);
  known[count] = {type, exchange};
  const FastExchange *found = &known[count++].exchange;
  return found->api ? found : nullptr;
}

void FastExchange::read(PyObject *object, View &view) const {
  if (api->read(object, &view.tensor) != 0) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_RuntimeError, "it is no array in memory");
    throw py::error_already_set();
  }
}

uintptr_t FastExchange::stream(DlKind kind, int device) const {
  void *stream = nullptr;
  if (api->stream(kind, device, &stream) != 0)
    throw py::error_already_set();
  return reinterpret_cast<uintptr_t>(stream);
}

//===----------------------------------------------------------------------===//
// __dlpack__
//===----------------------------------------------------------------------===//

template <typename Managed>
static void takeManaged(py::object capsule, const char *name, const char *used,
                        View &view, py::object &owner) {
  auto *managed =
      static_cast<Managed *>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (!managed)
    throw py::error_already_set();
  PyCapsule_SetName(capsule.ptr(), used);
  // From here on the structure is ours to delete.
  owner = py::reinterpret_steal<py::object>(
      PyCapsule_New(managed, nullptr, [](PyObject *self) {
        auto *mine =
            static_cast<Managed *>(PyCapsule_GetPointer(self, nullptr));
        if (mine && mine->deleter)
          mine->deleter(mine);
      }));
  view.tensor = managed->tensor;
  if constexpr (std::is_same_v<Managed, DlManagedVersioned>)
    view.readOnly = managed->flags & kReadOnly;
}

static void readDlpack(py::handle object, DlKind gpu, uintptr_t stream,
                       View &view, py::object &owner) {
  // The default stream, whose handle is 0: CUDA's is named 1, ROCm's 0.
  py::int_ number(stream || gpu == kDlRocm ? stream : 1);
  py::object make = object.attr("__dlpack__");
  py::object capsule;
  try {
    capsule = make(py::arg("stream") = number,
                   py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set &error) {
    if (!error.matches(PyExc_TypeError))
      throw;
    capsule = make(py::arg("stream") = number); // before DLPack 1.0
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned"))
    takeManaged<DlManagedVersioned>(capsule, "dltensor_versioned",
                                    "used_dltensor_versioned", view, owner);
  else
    takeManaged<DlManaged>(capsule, "dltensor", "used_dltensor", view, owner);
}

//===----------------------------------------------------------------------===//
// __cuda_array_interface__
//===----------------------------------------------------------------------===//

static DlType typeOf(const std::string &text) {
  if (text.size() < 3 || text[0] == '>')
    throw py::value_error("type '" + text + "' of its elements");
  int bytes = std::stoi(text.substr(2));
  auto make = [&](DlCode code) {
    return DlType{uint8_t(code), uint8_t(8 * bytes), 1};
  };
  switch (text[1]) {
  case 'f':
    return make(kDlFloat);
  case 'i':
    return make(kDlInt);
  case 'u':
    return make(kDlUInt);
  case 'b':
    return make(kDlBool);
  default:
    throw py::value_error("type '" + text + "' of its elements");
  }
}

static void readInterface(py::handle object, DlKind gpu, View &view,
                          py::object &owner) {
  py::dict facts = object.attr("__cuda_array_interface__");
  py::tuple data = facts["data"], shape = facts["shape"];
  if (shape.size() > kMaxRank)
    throw py::value_error("more than 64 dims");
  DlTensor &tensor = view.tensor;
  tensor.data = PyLong_AsVoidPtr(py::object(data[0]).ptr());
  view.readOnly = py::cast<bool>(data[1]);
  tensor.type = typeOf(py::cast<std::string>(facts["typestr"]));
  tensor.rank = int32_t(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    view.dims[d] = py::cast<int64_t>(shape[d]);
  tensor.shape = view.dims;
  tensor.strides = nullptr;
  tensor.byteOffset = 0;
  if (facts.contains("strides") && !facts["strides"].is_none()) {
    py::tuple strides = facts["strides"];
    int64_t bytes = tensor.type.bits / 8;
    for (size_t d = 0; d < strides.size() && d < shape.size(); ++d) {
      int64_t stride = py::cast<int64_t>(strides[d]);
      if (stride % bytes)
        throw py::value_error("strides that are no multiples of an element");
      view.steps[d] = stride / bytes;
    }
    tensor.strides = view.steps;
  }
  if (facts.contains("stream") && !facts["stream"].is_none()) {
    uintptr_t stream = py::cast<uintptr_t>(facts["stream"]);
    view.producer = stream == 1 ? 0 : stream;
  }
  // The interface does not say which GPU: the runtime asks the driver.
  tensor.device = {gpu, -1};
  owner = std::move(facts);
}

bool redfuse_ext::readByProtocol(py::handle object, DlKind gpu,
                                 uintptr_t stream, View &view,
                                 py::object &owner) {
  if (py::hasattr(object, "__dlpack__")) {
    if (py::hasattr(object, "__dlpack_device__")) {
      py::tuple device = object.attr("__dlpack_device__")();
      view.tensor.device = {py::cast<int32_t>(py::int_(py::object(device[0]))),
                            py::cast<int32_t>(py::int_(py::object(device[1])))};
      if (!isOn(view.tensor.device, gpu))
        return true; // the caller looks at the device first
    }
    readDlpack(object, gpu, stream, view, owner);
    return true;
  }
  if (!py::hasattr(object, "__cuda_array_interface__"))
    return false;
  readInterface(object, gpu, view, owner);
  return true;
}
