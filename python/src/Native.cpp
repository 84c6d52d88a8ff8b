//===- Native.cpp - loaded code and its calls, for Python -----------------===//
//------------------===//
#include "Arguments.h"
#include "Ext.h"
#include "Jobs.h"

#include <memory>
#include <optional>
#include <pybind11/stl.h>
#include <vector>

namespace py = pybind11;
using namespace redfuse_ext;

namespace {
/// Loaded code; functions keep it alive. Its constants are read where `object` has them.
struct Library {
  Library(RedfuseLibrary *library, py::bytes object)
      : object(std::move(object)), library(library) {}
  Library(const Library &) = delete;
  ~Library() { redfuseLibraryDestroy(library); }
  const py::bytes object;
  RedfuseLibrary *library;

  /// Raises CacheError, with the reason, if there is none.
  void *find(const std::string &symbol) const {
    RedfuseBytes error{nullptr, 0};
    void *address = redfuseLibraryLookup(library, stringRef(symbol), &error);
    if (!address)
      raiseError("CacheError", "the machine code has no symbol '" + symbol +
                                   "': " + takeText(error));
    return address;
  }
};

/// Device code; functions keep it alive.
struct DeviceCode {
  DeviceCode(py::iterable images, RedfuseVendor vendor)
      : vendor(vendor), program(redfuseDeviceProgramCreate(vendor)) {
    const std::string family = vendor == REDFUSE_CUDA ? "sm_" : "gfx";
    for (py::handle pair : images) {
      auto chip = py::cast<std::string>(pair[py::int_(0)]);
      py::bytes image = py::object(pair[py::int_(1)]);
      char *data;
      Py_ssize_t size;
      if (chip.rfind(family, 0) != 0 ||
          PyBytes_AsStringAndSize(image.ptr(), &data, &size)) {
        redfuseDeviceProgramDestroy(program);
        raiseError("CacheError", "device code of '" + chip +
                                     "': expected an architecture as " +
                                     family + "90a");
      }
      redfuseDeviceProgramAdd(program, stringRef(chip), data, size);
    }
  }
  DeviceCode(const DeviceCode &) = delete;
  ~DeviceCode() { redfuseDeviceProgramDestroy(program); }
  const RedfuseVendor vendor;
  RedfuseDeviceProgram *program;
};

/// An entry of a library with the types of its arguments.
class NativeFunction {
public:
  /// Of kernels: the name of each, and nanoseconds.
  using Times = std::vector<std::pair<std::string, double>>;

  NativeFunction(std::shared_ptr<Library> library, std::string name,
                 std::vector<Spec> inputs, std::vector<Spec> outputs,
                 std::shared_ptr<DeviceCode> device);

  py::tuple call(py::handle inputs, py::handle outputs, py::handle stream) {
    return run(inputs, outputs, stream, nullptr);
  }
  /// The times of its kernels, in order.
  Times profile(py::handle inputs, py::handle outputs, py::handle stream);
  /// A builtin function (arguments, out, stream) -> result or tuple of them: the
  /// same without the dispatch of a method. `threads`: for the host's pool.
  static py::object bind(py::object self, int threads);
  std::string repr() const;

  const std::string name;
  /// Raises what an assertion of a kernel has reported.
  void check() const;
  /// More code for the same entry: that for the GPU of a call is chosen.
  void add(std::shared_ptr<Library> library,
           std::shared_ptr<DeviceCode> device);

private:
  struct Variant {
    std::shared_ptr<Library> library;
    /// Where the kernels are, for a program on a GPU.
    std::shared_ptr<DeviceCode> device;
    RedfusePackedEntry entry = nullptr, shapes = nullptr;
  };
  const Variant &choose(Place *place);
  /// `times`: of a profiled call; null of others.
  py::tuple run(py::handle inputs, py::handle outputs, py::handle stream,
                Times *times);
  void invoke(RedfusePackedEntry entry, void **args,
              DeviceCode *device = nullptr, Place *place = nullptr,
              Times *times = nullptr) const;
  bool invokeOnHost(RedfusePackedEntry entry, void **args,
                    RedfuseBytes &error) const;
  static PyObject *callBound(PyObject *self, PyObject *const *args,
                             Py_ssize_t count);
  /// Extents of the results for the inputs in args.
  void findShapes(RedfusePackedEntry shapes, void **args,
                  std::vector<int64_t> &extents) const;
  std::string signature() const;

  std::vector<Variant> variants;
  /// The number of the variant for each GPU, if there are several; -1: not
  /// chosen yet.
  int8_t chosen[16];
  bool isStatic = true;
  std::vector<Spec> inputs, outputs;
  int threads = 0;
  /// Words of all descriptors, and where that of each argument starts.
  size_t words = 0, outputRanks = 0;
  std::vector<size_t> starts;
};
} // namespace

NativeFunction::NativeFunction(std::shared_ptr<Library> library,
                               std::string name, std::vector<Spec> inputs,
                               std::vector<Spec> outputs,
                               std::shared_ptr<DeviceCode> device)
    : name(std::move(name)), inputs(std::move(inputs)),
      outputs(std::move(outputs)) {
  std::fill(std::begin(chosen), std::end(chosen), int8_t(-1));
  for (const Spec &spec : this->outputs) {
    if (spec.scalar)
      raiseError("ArgumentError",
                 "a result is an array; a scalar result has rank 0");
    isStatic = isStatic && spec.isStatic();
    outputRanks += spec.rank();
  }
  // It also runs the program's own checks of extents.
  for (const Spec &spec : this->inputs)
    isStatic = isStatic && spec.isStatic();
  add(std::move(library), std::move(device));
  for (const std::vector<Spec> *list : {&this->inputs, &this->outputs})
    for (const Spec &spec : *list) {
      starts.push_back(words);
      words += spec.words();
    }
}

void NativeFunction::add(std::shared_ptr<Library> library,
                         std::shared_ptr<DeviceCode> device) {
  auto find = [&](const std::string &symbol) {
    return reinterpret_cast<RedfusePackedEntry>(library->find(symbol));
  };
  if (!variants.empty() && (!device || !variants[0].device))
    raiseError("CacheError", "only programs for GPUs have several variants");
  Variant variant;
  variant.entry = find(name + "__packed");
  if (!isStatic)
    variant.shapes = find(name + "__shapes__packed");
  variant.library = std::move(library);
  variant.device = std::move(device);
  variants.push_back(std::move(variant));
}

void NativeFunction::check() const {
  for (const Variant &variant : variants) {
    RedfuseBytes error{nullptr, 0};
    if (variant.device &&
        !redfuseDeviceProgramCheck(variant.device->program, &error))
      raiseError("ExecutionError", name + ": " + takeText(error));
  }
}

const NativeFunction::Variant &NativeFunction::choose(Place *place) {
  if (variants.size() == 1)
    return variants[0];
  place->settle();
  int number = place->device;
  if (number < 16 && chosen[number] >= 0)
    return variants[chosen[number]];
  int best = 0;
  size_t at = 0;
  for (size_t i = 0; i < variants.size(); ++i) {
    RedfuseBytes error{nullptr, 0};
    int fitness = redfuseDeviceProgramFitness(variants[i].device->program,
                                              number, &error);
    if (error.data)
      raiseError("ExecutionError", name + ": " + takeText(error));
    if (fitness > best) {
      best = fitness;
      at = i;
    }
  }
  // None fits: loading any of them says so.
  if (number < 16 && best)
    chosen[number] = int8_t(at);
  return variants[at];
}

void NativeFunction::invoke(RedfusePackedEntry entry, void **args,
                            DeviceCode *device, Place *place,
                            Times *times) const {
  RedfuseBytes error{nullptr, 0};
  bool ok;
  if (place) {
    uintptr_t stream = place->stream();
    Unlocked unlocked;
    if (times)
      ok = redfuseProfileOnDevice(
          entry, args, device->program, place->device, stream,
          [](MlirStringRef kernel, double nanoseconds, void *data) {
            static_cast<Times *>(data)->emplace_back(
                std::string(kernel.data, kernel.length), nanoseconds);
          },
          times, &error);
    else
      ok = redfuseInvokeOnDevice(entry, args, device->program, place->device,
                                 stream, &error);
  } else {
    ok = invokeOnHost(entry, args, error);
  }
  if (!ok)
    raiseError("ExecutionError", name + ": " + takeText(error));
}

/// A signal ends the call, its handler raises or not: then the call starts again,
/// as nothing has changed but what it writes.
bool NativeFunction::invokeOnHost(RedfusePackedEntry entry, void **args,
                                  RedfuseBytes &error) const {
  bool canEnd = handlesSignals();
  for (;;) {
    if (canEnd && PyErr_CheckSignals())
      throw py::error_already_set();
    RedfuseOutcome outcome;
    {
      Unlocked unlocked;
      outcome = redfuseInvoke(entry, args, canEnd, &error);
    }
    if (outcome != REDFUSE_ENDED)
      return outcome == REDFUSE_DONE;
  }
}

void NativeFunction::findShapes(RedfusePackedEntry shapes, void **args,
                                std::vector<int64_t> &extents) const {
  extents.assign(outputRanks, 0);
  Descriptor<1> result;
  result.allocated = result.aligned = extents.data();
  result.offset = 0;
  result.sizes[0] = int64_t(outputRanks);
  result.strides[0] = 1;
  void *last = args[inputs.size()];
  args[inputs.size()] = &result;
  invoke(shapes, args);
  args[inputs.size()] = last;
  for (int64_t extent : extents)
    if (extent < 0)
      raiseError("ExecutionError", name +
                                       ": a result has the negative extent " +
                                       std::to_string(extent));
}

NativeFunction::Times NativeFunction::profile(py::handle inputList,
                                              py::handle outputList,
                                              py::handle stream) {
  if (!variants[0].device)
    raiseError("UnsupportedError",
               name + ": only kernels of programs for GPUs are timed");
  Times times;
  run(inputList, outputList, stream, &times);
  return times;
}

py::tuple NativeFunction::run(py::handle inputList, py::handle outputList,
                              py::handle stream, Times *times) {
  Sequence given(inputList, "arguments");
  if (given.size() != inputs.size())
    raiseError("ArgumentError", name + " takes " +
                                    std::to_string(inputs.size()) +
                                    " arguments (" + signature() + "), got " +
                                    std::to_string(given.size()));
  // Descriptors and the pointers to them; most functions fit on the stack.
  size_t count = inputs.size() + outputs.size();
  Stack<int64_t, 128> memory(words);
  Stack<void *, 24> args(count + 1);
  Stack<Region, 24> regions(count);
  for (size_t i = 0; i < count; ++i)
    args[i] = &memory[starts[i]];
  KeepAlive keep;
  bool onGpu = variants[0].device != nullptr;
  Place onDevice(onGpu ? variants[0].device->vendor : REDFUSE_CUDA, stream);
  Place *place = onGpu ? &onDevice : nullptr;
  if (!onGpu && !stream.is_none())
    raiseError("ArgumentError",
               "stream of " + name + ": the program is for the cpu");

  bool torch = false;
  for (size_t i = 0; i < inputs.size(); ++i)
    torch |=
        inputs[i].fill({name, "argument", i}, given[i], inputs[i].shape.data(),
                       &memory[starts[i]], regions[i], keep, place);

  const Variant &variant = choose(place);
  RedfusePackedEntry shapes = variant.shapes;
  std::vector<int64_t> extents;
  if (shapes)
    findShapes(shapes, args.data(), extents);
  const int64_t *next = extents.data();
  py::tuple results(outputs.size());
  bool allocate = outputList.is_none();
  std::optional<Sequence> destinations;
  if (!allocate)
    destinations.emplace(outputList, "out");
  if (destinations && destinations->size() != outputs.size())
    raiseError("ArgumentError", "out of " + name + ": expected " +
                                    std::to_string(outputs.size()) +
                                    " arrays, got " +
                                    std::to_string(destinations->size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Spec &spec = outputs[i];
    const int64_t *shape = shapes ? next : spec.shape.data();
    if (shapes)
      next += spec.rank();
    size_t at = inputs.size() + i;
    Argument what{name, "out", i};
    if (allocate && place) {
      place->settle();
      results[i] = spec.allocateOn(what, *place, shape, &memory[starts[at]]);
      continue;
    }
    if (allocate) {
      results[i] = spec.allocate(what, shape, torch, &memory[starts[at]]);
      continue;
    }
    py::handle destination = (*destinations)[i];
    results[i] = destination;
    spec.fill(what, destination, shape, &memory[starts[at]], regions[at], keep,
              place);
    // Writing over what is still to be read would give wrong numbers.
    for (size_t other = 0; other < at; ++other)
      if (regions[at].overlaps(regions[other])) {
        bool input = other < inputs.size();
        what.raise("shares memory with " +
                   std::string(input ? "argument " : "out ") +
                   std::to_string(input ? other : other - inputs.size()) +
                   "; pass an array of its own");
      }
  }
  if (place)
    place->settle();
  invoke(variant.entry, args.data(), variant.device.get(), place, times);
  if (place && place->toJax)
    for (size_t i = 0; i < outputs.size(); ++i)
      results[i] = place->finish(results[i]);
  return results;
}

PyObject *NativeFunction::callBound(PyObject *self, PyObject *const *args,
                                    Py_ssize_t count) {
  if (count != 3) {
    PyErr_SetString(PyExc_TypeError, "expected (arguments, out, stream)");
    return nullptr;
  }
  try {
    auto *function =
        static_cast<NativeFunction *>(PyCapsule_GetPointer(self, nullptr));
    if (!function->variants[0].device)
      redfuseSetNumThreads(function->threads);
    // One array is as good as a list of one.
    py::object out = py::reinterpret_borrow<py::object>(args[1]);
    if (!out.is_none() && !PyTuple_Check(out.ptr()) && !PyList_Check(out.ptr()))
      out = py::reinterpret_steal<py::object>(PyTuple_Pack(1, args[1]));
    py::tuple results = function->call(args[0], out, args[2]);
    if (function->outputs.size() == 1)
      return py::object(results[0]).release().ptr();
    return results.release().ptr();
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (const py::builtin_exception &error) {
    error.set_error();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

py::object NativeFunction::bind(py::object self, int threads) {
  static PyMethodDef definition = {
      "call",
      reinterpret_cast<PyCFunction>(
          reinterpret_cast<void (*)(void)>(&NativeFunction::callBound)),
      METH_FASTCALL, "(arguments, out, stream) -> result or tuple of results"};
  auto *function = py::cast<NativeFunction *>(self);
  function->threads = threads;
  auto capsule = py::reinterpret_steal<py::object>(
      PyCapsule_New(function, nullptr, [](PyObject *capsule) {
        Py_XDECREF(static_cast<PyObject *>(PyCapsule_GetContext(capsule)));
      }));
  if (!capsule)
    throw py::error_already_set();
  PyCapsule_SetContext(capsule.ptr(), self.inc_ref().ptr());
  auto bound = py::reinterpret_steal<py::object>(
      PyCFunction_New(&definition, capsule.ptr()));
  if (!bound)
    throw py::error_already_set();
  return bound;
}

std::string NativeFunction::signature() const {
  std::string text;
  for (const Spec &spec : inputs)
    text += (text.empty() ? "" : ", ") + spec.text();
  return text;
}

std::string NativeFunction::repr() const {
  std::string results;
  for (const Spec &spec : outputs)
    results += (results.empty() ? "" : ", ") + spec.text();
  return "<NativeFunction " + name + "(" + signature() + ") -> (" + results +
         ")>";
}

static std::shared_ptr<Library> load(py::bytes object) {
  char *data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(object.ptr(), &data, &size))
    throw py::error_already_set();
  RedfuseBytes error{nullptr, 0};
  RedfuseLibrary *library = redfuseLibraryLoad(data, size, &error);
  if (!library)
    raiseError("CacheError", "cannot load machine code: " + takeText(error));
  return std::make_shared<Library>(library, std::move(object));
}

static std::vector<Spec> readSpecs(py::iterable list) {
  std::vector<Spec> specs;
  for (py::handle item : list)
    specs.push_back(Spec::fromPython(item));
  return specs;
}

/// "cuda" or "rocm", as targets are named.
static RedfuseVendor vendorOf(const std::string &family) {
  if (family != "cuda" && family != "rocm")
    raiseError("TargetError",
               "GPUs of '" + family + "': expected 'cuda' or 'rocm'");
  return family == "cuda" ? REDFUSE_CUDA : REDFUSE_ROCM;
}

void defineNative(py::module_ &m) {
  py::class_<DeviceCode, std::shared_ptr<DeviceCode>>(
      m, "DeviceCode",
      "Kernels for GPUs: pairs of an architecture and a cubin, PTX or code "
      "object; family: 'cuda' or 'rocm'.")
      .def(py::init([](py::iterable images, const std::string &family) {
             return std::make_shared<DeviceCode>(images, vendorOf(family));
           }),
           py::arg("images"), py::arg("family") = "cuda");
  m.def(
      "chips",
      [](const std::string &family) {
        py::list list;
        for (size_t i = 0; i < redfuseChipCount(); ++i) {
          RedfuseChip chip = redfuseChipGet(i);
          if (std::string(chip.family.data, chip.family.length) == family)
            list.append(py::dict(py::arg("name") =
                                     py::str(chip.name.data, chip.name.length),
                                 py::arg("lanes") = chip.lanes,
                                 py::arg("elf_machine") = chip.elfMachine));
        }
        return list;
      },
      py::arg("family"),
      "The architectures of 'cuda' or 'rocm' that code is made for: name, "
      "lanes (of a warp or wave), elf_machine (AMD's: in a code object's "
      "header).");
  m.def(
      "reached",
      [](bool isGpu) {
        RedfuseReached reached = redfuseReachedGet(isGpu);
        return py::dict(py::arg("call_s") = reached.callSeconds,
                        py::arg("bytes_s") = reached.bytesPerSecond,
                        py::arg("flops_s") = reached.flopsPerSecond,
                        py::arg("f32_flops_s") = reached.f32FlopsPerSecond);
      },
      py::arg("is_gpu"),
      "What kernels reach in a model, of a core or of a GPU: call_s (of a "
      "call, "
      "beside its work), bytes_s (of memory), flops_s (of products), "
      "f32_flops_s (of those in f32 without matrix units).");
  m.def(
      "devices",
      [](const std::string &family) {
        RedfuseBytes error{nullptr, 0};
        RedfuseVendor vendor = vendorOf(family);
        int count = redfuseDeviceCount(vendor, &error);
        if (error.data)
          raiseError("TargetError", takeText(error));
        py::list list;
        for (int i = 0; i < count; ++i) {
          RedfuseDeviceInfo info;
          if (!redfuseDeviceDescribe(vendor, i, &info, &error))
            raiseError("TargetError", takeText(error));
          list.append(py::dict(py::arg("name") = takeText(info.name),
                               py::arg("chip") = takeText(info.chip),
                               py::arg("units") = info.units));
        }
        return list;
      },
      py::arg("family") = "cuda",
      "The GPUs of this machine, NVIDIA's or (\"rocm\") AMD's: name, chip "
      "(sm_90), units (multiprocessors). Raises TargetError with the reason if "
      "there is no driver.");
  m.def(
      "workspace",
      [] {
        py::list list;
        redfuseWorkspaceUse(
            [](int device, uint64_t stream, bool captured, int64_t bytes,
               void *data) {
              static_cast<py::list *>(data)->append(py::dict(
                  py::arg("device") = device, py::arg("stream") = stream,
                  py::arg("captured") = captured, py::arg("bytes") = bytes));
            },
            &list);
        return list;
      },
      "Device memory kept for intermediates: dicts of device, stream, captured "
      "(by a graph) and bytes.");
  m.def(
      "trim_workspace",
      [] {
        RedfuseBytes error{nullptr, 0};
        bool ok;
        {
          Unlocked unlocked;
          ok = redfuseWorkspaceTrim(&error);
        }
        if (!ok)
          raiseError("ExecutionError", takeText(error));
      },
      "Frees it, but for what captured graphs have; waits for the GPUs.");
  py::class_<NativeFunction>(m, "NativeFunction",
                             "An entry of loaded machine code.")
      .def(
          "__call__", &NativeFunction::call, py::arg("inputs"),
          py::arg("outputs") = py::none(), py::arg("stream") = py::none(),
          "Runs it on a sequence of arrays: NumPy, torch CPU tensors, or "
          "anything with __dlpack__ in host memory; scalars for scalar "
          "arguments. outputs: arrays to write into, or None to allocate them "
          "(torch tensors if an argument is one). Returns the outputs as a "
          "tuple. stream: what a program on a GPU is launched on; None is what "
          "the arrays' library works on. Raises ArgumentError (index: the "
          "argument's position) and "
          "ExecutionError. Other Python threads run meanwhile.")
      .def("profile", &NativeFunction::profile, py::arg("inputs"),
           py::arg("outputs") = py::none(), py::arg("stream") = py::none(),
           "A call of a program for a GPU that times its kernels: pairs of the "
           "name of each and nanoseconds, in the order of launches. None "
           "starts before the one before it has ended, and the call waits for "
           "the GPU. Raises what a call raises.")
      .def("bind", &NativeFunction::bind, py::arg("threads"),
           "A builtin function (arguments, out, stream): the quick way to call "
           "it. out may be one array; one result comes without a tuple. "
           "threads: of the host's pool.")
      .def("check", &NativeFunction::check,
           "Raises ExecutionError if an assertion of a kernel on a GPU has "
           "failed since this was asked, or the function called, last. Waits "
           "for nothing.")
      .def("add", &NativeFunction::add, py::arg("library"), py::arg("device"),
           "More code for the same entry, for other GPUs.")
      .def("__repr__", &NativeFunction::repr)
      .def_readonly("name", &NativeFunction::name);
  py::class_<Library, std::shared_ptr<Library>>(m, "Library",
                                                "Loaded machine code.")
      .def(
          "function",
          [](std::shared_ptr<Library> self, std::string name,
             py::iterable inputs, py::iterable outputs,
             std::shared_ptr<DeviceCode> device) {
            return NativeFunction(std::move(self), std::move(name),
                                  readSpecs(inputs), readSpecs(outputs),
                                  std::move(device));
          },
          py::arg("name"), py::arg("input_specs"), py::arg("output_specs"),
          py::arg("device") = py::none(),
          "The entry of that name. A spec is (element type, shape): 'f32', "
          "'bf16', 'f16', 'f64', 'i8', 'i16', 'i32', 'i64', 'i1' or 'index', "
          "and a tuple of extents with None for a dynamic one; the element "
          "type alone is a scalar. device: the DeviceCode of a program on a "
          "GPU, whose arrays are then torch tensors there. Raises CacheError "
          "if there is no such function.")
      .def(
          "address",
          [](const Library &self, const std::string &symbol) {
            return reinterpret_cast<uintptr_t>(self.find(symbol));
          },
          py::arg("symbol"), "The address of a symbol.");
  m.def("load", &load, py::arg("object"),
        "Loads object code; it stays as long as the Library or a function of "
        "it. Raises CacheError for what is no object code of this machine.");
}
