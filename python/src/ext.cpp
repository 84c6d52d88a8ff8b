//===- ext.cpp - the Python module: a thin face of the C API ---------------===//
#include "mlir-c/Bindings/Python/Interop.h"
#include "redfuse-c/Redfuse.h"
#include <pybind11/pybind11.h>

namespace py = pybind11;

// Upstream's bindings hand out capsules; this is all the interop there is.
static py::object capsuleOf(py::handle object) {
  if (PyCapsule_CheckExact(object.ptr()))
    return py::reinterpret_borrow<py::object>(object);
  if (!py::hasattr(object, MLIR_PYTHON_CAPI_PTR_ATTR))
    throw py::type_error("expected an object of mlir.ir");
  return object.attr(MLIR_PYTHON_CAPI_PTR_ATTR);
}

PYBIND11_MODULE(_ext, m) {
  m.def("register_dialects", [](py::object registry) {
    MlirDialectRegistry r =
        mlirPythonCapsuleToDialectRegistry(capsuleOf(registry).ptr());
    if (!r.ptr)
      throw py::error_already_set();
    redfuseRegisterDialects(r);
  });
  m.def("load_dialects", [](py::object context) {
    MlirContext c = mlirPythonCapsuleToContext(capsuleOf(context).ptr());
    if (!c.ptr)
      throw py::error_already_set();
    redfuseLoadDialects(c);
  });
  m.def("register_passes", &redfuseRegisterPasses);
}
