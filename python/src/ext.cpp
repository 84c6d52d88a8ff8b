//===- ext.cpp - the Python module: a thin face of the C API --------------===//
//---------------===//
#include "Ext.h"
#include "Jobs.h"

#include "mlir-c/Bindings/Python/Interop.h"

namespace py = pybind11;

// Upstream's bindings hand out capsules; this is all the interop there is.
py::object capsuleOf(py::handle object) {
  if (PyCapsule_CheckExact(object.ptr()))
    return py::reinterpret_borrow<py::object>(object);
  if (!py::hasattr(object, MLIR_PYTHON_CAPI_PTR_ATTR))
    throw py::type_error(
        "expected an object of mlir.ir, got " +
        py::cast<std::string>(py::type::of(object).attr("__qualname__")));
  return object.attr(MLIR_PYTHON_CAPI_PTR_ATTR);
}

MlirOperation operationOf(py::handle object) {
  // A Module's capsule is that of a module: its operation is wanted.
  py::object op = py::hasattr(object, "operation")
                      ? py::object(object.attr("operation"))
                      : py::reinterpret_borrow<py::object>(object);
  MlirOperation operation = mlirPythonCapsuleToOperation(capsuleOf(op).ptr());
  if (!operation.ptr)
    throw py::error_already_set();
  return operation;
}

py::object errorClass(const char *name) {
  return py::module_::import("redfuse.errors").attr(name);
}

void raiseInstance(py::handle instance) {
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(instance.ptr())),
                  instance.ptr());
  throw py::error_already_set();
}

std::string takeText(RedfuseBytes bytes) {
  std::string text(bytes.data ? bytes.data : "", bytes.size);
  redfuseBytesFree(bytes);
  return text;
}

static py::dict host() {
  RedfuseHost host = redfuseHost();
  py::dict result;
  result["triple"] = takeText(host.triple);
  result["cpu"] = takeText(host.cpu);
  result["features"] = takeText(host.features);
  result["vector_bits"] = host.vectorBits;
  result["threads"] = host.threads;
  result["l1"] = host.l1;
  result["l2"] = host.l2;
  result["l3"] = host.l3;
  return result;
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
  m.def("host", &host,
        "This machine: triple, cpu, features (text), vector_bits, threads that "
        "a launch uses, and l1, l2, l3 in bytes (0: unknown).");
  m.def("set_num_threads", &redfuseSetNumThreads, py::arg("count") = 0,
        "Threads that share a launch, the caller's included. 0: all of the "
        "machine, or what REDFUSE_NUM_THREADS says.");
  m.def("num_threads", &redfuseNumThreads);
  m.def("memory_peak", &redfuseMemoryPeak,
        "The most bytes that intermediates (scratch included, arguments and "
        "results not) took at a time since reset_memory_peak().");
  m.def("reset_memory_peak", &redfuseMemoryResetPeak);
  m.def("trim_memory", &redfuseMemoryTrim,
        "Gives cached memory back to the system.");
  m.def(
      "clear_failure", [] { takeText(redfuseTakeFailure()); },
      "Forgets a failure of code called by its address.");
  m.def(
      "take_failure", [] { return takeText(redfuseTakeFailure()); },
      "The message of the first failure of code that this thread called by its "
      "address, or an empty text.");
  definePrograms(m);
  defineNative(m);
  m.def("begin_end", &redfuse_ext::beginEnd,
        "The interpreter ends: no job of another thread comes back.");
  m.def("jobs_elsewhere", &redfuse_ext::jobsElsewhere,
        "Jobs that other threads than the main thread are in.");
  redfuse_ext::watchTheEnd();
}
