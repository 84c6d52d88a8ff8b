//===- Programs.cpp - passes, patterns and code of a module, for Python ---===//
//----===//
#include "Ext.h"
#include "Jobs.h"

#include "mlir-c/Bindings/Python/Interop.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/Pass.h"

#include <algorithm>
#include <mutex>
#include <pybind11/stl.h>
#include <vector>

namespace py = pybind11;
using namespace redfuse_ext;

namespace {
struct Diagnostic {
  const char *severity = "error";
  std::string message, file;
  intptr_t line = 0, column = 0; // 1-based; 0: unknown
  std::string operation; // that was worked on, by its name; empty: not said
  std::vector<Diagnostic> notes;

  std::string text() const {
    std::string result;
    if (line > 0)
      result = (file.empty() || file == "-" ? "<text>" : file) + ":" +
               std::to_string(line) + ":" + std::to_string(column) + ": ";
    return result + severity + ": " + message;
  }

  py::dict toPython() const {
    py::dict result;
    result["severity"] = severity;
    result["message"] = message;
    bool known = line > 0;
    result["file"] = known ? py::object(py::str(file)) : py::none();
    result["line"] = known ? py::object(py::int_(line)) : py::none();
    result["column"] = known ? py::object(py::int_(column)) : py::none();
    result["operation"] =
        operation.empty() ? py::object(py::none()) : py::str(operation);
    py::list list;
    for (const Diagnostic &note : notes)
      list.append(note.toPython());
    result["notes"] = list;
    return result;
  }
};
} // namespace

/// What MLIR puts before the operation that a diagnostic is about.
static const std::string currentOperation = "see current operation: ";

/// The first position in a file, through names, calls and fusions.
static bool findPosition(MlirLocation loc, Diagnostic &out) {
  if (mlirLocationIsNull(loc))
    return false;
  if (mlirLocationIsAFileLineColRange(loc)) {
    MlirStringRef name =
        mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(loc));
    out.file.assign(name.data, name.length);
    out.line = mlirLocationFileLineColRangeGetStartLine(loc);
    out.column = mlirLocationFileLineColRangeGetStartColumn(loc);
    return true;
  }
  if (mlirLocationIsAName(loc))
    return findPosition(mlirLocationNameGetChildLoc(loc), out);
  if (mlirLocationIsACallSite(loc))
    return findPosition(mlirLocationCallSiteGetCallee(loc), out);
  if (mlirLocationIsAFused(loc)) {
    std::vector<MlirLocation> parts(mlirLocationFusedGetNumLocations(loc));
    mlirLocationFusedGetLocations(loc, parts.data());
    for (MlirLocation part : parts)
      if (findPosition(part, out))
        return true;
  }
  return false;
}

static void append(MlirStringRef part, void *text) {
  static_cast<std::string *>(text)->append(part.data, part.length);
}

/// The name of an operation that was printed, such as `%0 = "arith.addf"(`.
static std::string nameOfPrinted(std::string text) {
  if (text.rfind('%', 0) == 0) // its results
    text.erase(0, text.find(" = ") + 3);
  if (text.rfind('"', 0) == 0)
    text.erase(0, 1);
  text.resize(std::min(text.size(), text.find_first_of("\"( \n")));
  return text.find('.') == std::string::npos ? "" : text;
}

static Diagnostic convert(MlirDiagnostic diagnostic) {
  Diagnostic result;
  switch (mlirDiagnosticGetSeverity(diagnostic)) {
  case MlirDiagnosticError:
    break;
  case MlirDiagnosticWarning:
    result.severity = "warning";
    break;
  case MlirDiagnosticNote:
    result.severity = "note";
    break;
  case MlirDiagnosticRemark:
    result.severity = "remark";
    break;
  }
  mlirDiagnosticPrint(diagnostic, append, &result.message);
  findPosition(mlirDiagnosticGetLocation(diagnostic), result);
  for (intptr_t i = 0, n = mlirDiagnosticGetNumNotes(diagnostic); i < n; ++i)
    result.notes.push_back(convert(mlirDiagnosticGetNote(diagnostic, i)));
  // A whole function as text helps nobody: its position and name say it shorter.
  auto isCurrent = [](const Diagnostic &note) {
    return note.message.rfind(currentOperation, 0) == 0;
  };
  auto current =
      std::find_if(result.notes.begin(), result.notes.end(), isCurrent);
  if (current != result.notes.end()) {
    result.operation =
        nameOfPrinted(current->message.substr(currentOperation.size()));
    result.notes.erase(current);
  }
  return result;
}

namespace {
/// Collects the diagnostics of a context for a scope. They come from any
/// thread, without Python's lock.
class Capture {
public:
  explicit Capture(MlirContext context) : context(context) {
    id = mlirContextAttachDiagnosticHandler(context, &handle, this, nullptr);
  }
  ~Capture() { mlirContextDetachDiagnosticHandler(context, id); }

  py::list toPython() const {
    py::list list;
    for (const Diagnostic &diagnostic : diagnostics)
      list.append(diagnostic.toPython());
    return list;
  }

  /// Raises an error with all that was said; its attribute `diagnostics` has the
  /// parts.
  [[noreturn]] void raise(const std::string &what,
                          const char *kind = "CompileError") const {
    std::string text = what;
    for (const Diagnostic &diagnostic : diagnostics) {
      text += "\n" + diagnostic.text();
      for (const Diagnostic &note : diagnostic.notes)
        text += "\n  " + note.text();
    }
    py::object error = errorClass(kind)(text);
    error.attr("diagnostics") = toPython();
    raiseInstance(error);
  }

private:
  static MlirLogicalResult handle(MlirDiagnostic diagnostic, void *self) {
    auto *capture = static_cast<Capture *>(self);
    std::lock_guard<std::mutex> lock(capture->mutex);
    capture->diagnostics.push_back(convert(diagnostic));
    return mlirLogicalResultSuccess();
  }

  MlirContext context;
  MlirDiagnosticHandlerID id;
  std::mutex mutex;
  std::vector<Diagnostic> diagnostics;
};
} // namespace

namespace {
/// Work on an operation, and what is said of it.
struct Work : Job {
  explicit Work(const py::object &op)
      : Job(op, mlirOperationGetContext(operationOf(op))),
        operation(operationOf(op)), capture(context) {}
  MlirOperation operation;
  Capture capture;
  MlirLogicalResult result = mlirLogicalResultFailure();
};

struct PassRun : Work {
  explicit PassRun(const py::object &op)
      : Work(op),
        pm(mlirPassManagerCreateOnOperation(
            context, mlirIdentifierStr(mlirOperationGetName(operation)))) {}
  ~PassRun() override { mlirPassManagerDestroy(pm); }
  void run() override { result = mlirPassManagerRunOnOp(pm, operation); }
  MlirPassManager pm;
};

struct Emission : Work {
  using Work::Work;
  void run() override {
    result = redfuseEmit(operation, stringRef(cpu), stringRef(features),
                         optLevel, form, &stop, &code);
  }
  ~Emission() override { redfuseCodeDestroy(code); }
  std::string cpu, features;
  int optLevel = 3;
  RedfuseEmitForm form = REDFUSE_EMIT_OBJECT;
  RedfuseCode *code = nullptr;
};

/// Copies code to where Python has it: with gigabytes of constants, that takes
/// seconds.
struct Writing : Job {
  Writing(std::shared_ptr<Emission> emission, py::bytes bytes)
      : Job(emission->object, emission->context), emission(std::move(emission)),
        bytes(std::move(bytes)), out(PyBytes_AS_STRING(this->bytes.ptr())) {}
  void run() override { redfuseCodeWrite(emission->code, out); }
  const std::shared_ptr<Emission> emission;
  const py::bytes bytes;
  char *const out;
};
} // namespace

/// A context of mlir.ir.
static MlirContext contextOf(const py::object &object) {
  MlirContext context = mlirPythonCapsuleToContext(capsuleOf(object).ptr());
  if (!context.ptr)
    throw py::error_already_set();
  return context;
}

/// The bytes of a str, as UTF-8, or of bytes.
static MlirStringRef bytesOf(const py::object &program) {
  Py_ssize_t size = 0;
  const char *data;
  if (PyBytes_Check(program.ptr())) {
    data = PyBytes_AS_STRING(program.ptr());
    size = PyBytes_GET_SIZE(program.ptr());
  } else {
    data = PyUnicode_AsUTF8AndSize(program.ptr(), &size);
  }
  if (!data)
    throw py::error_already_set();
  return mlirStringRefCreate(data, size);
}

namespace {
/// Looks whether a program can be read at all.
struct Trial : Job {
  explicit Trial(py::object program)
      : Job(std::move(program), MlirContext{nullptr}), bytes(bytesOf(object)) {}
  void run() override { why = redfuseTryToParse(bytes, &stop); }
  const MlirStringRef bytes;
  RedfuseBytes why{nullptr, 0};
};

/// Reads text or bytecode, whose large constants are read where `program` has them.
struct Parsing : Job {
  Parsing(const py::object &context, py::object program, std::string name)
      : Job(context, contextOf(context)), capture(this->context),
        program(std::move(program)), name(std::move(name)),
        bytes(bytesOf(this->program)) {
    if (PyBytes_Check(this->program.ptr())) // nothing is left in a text
      owner = this->program.inc_ref().ptr();
  }
  ~Parsing() override {
    if (!mlirModuleIsNull(read))
      mlirModuleDestroy(read);
  }
  void run() override {
    // MLIR frees its contexts wherever it is.
    auto release = [](void *owner) {
      PyGILState_STATE state = PyGILState_Ensure();
      Py_DECREF(static_cast<PyObject *>(owner));
      PyGILState_Release(state);
    };
    read = redfuseParse(context, bytes, stringRef(name),
                        owner ? +release : nullptr, owner);
  }
  Capture capture;
  const py::object program;
  const std::string name;
  const MlirStringRef bytes;
  PyObject *owner = nullptr;
  MlirModule read{nullptr};
};

/// Prints an operation: what is said of it, or its bytecode, is put where `out` is.
struct Printing : Work {
  using Work::Work;
  void run() override {
    size = 0;
    if (!generic) {
      mlirOperationWriteBytecode(operation, write, this);
      return;
    }
    MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
    mlirOpPrintingFlagsPrintGenericOpForm(flags);
    mlirOperationPrintWithFlags(operation, flags, append, &text);
    mlirOpPrintingFlagsDestroy(flags);
  }
  static void write(MlirStringRef part, void *self) {
    auto *printing = static_cast<Printing *>(self);
    if (printing->out)
      std::copy_n(part.data, part.length, printing->out + printing->size);
    printing->size += part.length;
  }
  bool generic = false;
  std::string text;
  py::object bytes;
  char *out = nullptr; // null: bytes are only counted
  size_t size = 0;
};
} // namespace

static std::string tryToParse(py::object program) {
  auto trial = std::make_shared<Trial>(std::move(program));
  runJob(trial, /*owns=*/true);
  return takeText(trial->why);
}

static py::object parse(const py::object &context, py::object program,
                        const std::string &name) {
  auto parsing = std::make_shared<Parsing>(context, std::move(program), name);
  runJob(parsing, /*owns=*/true);
  if (mlirModuleIsNull(parsing->read))
    return py::none();
  auto capsule = py::reinterpret_steal<py::object>(
      mlirPythonModuleToCapsule(parsing->read));
  parsing->read = {nullptr}; // it is Python's now
  return py::module_::import("mlir.ir").attr("Module").attr(
      MLIR_PYTHON_CAPI_FACTORY_ATTR)(capsule);
}

/// A module as bytecode, in memory of just its size: constants may be gigabytes.
static py::bytes bytecodeOf(py::object op) {
  auto printing = std::make_shared<Printing>(op);
  runJob(printing, /*owns=*/true); // counts
  auto bytes = py::reinterpret_steal<py::bytes>(
      PyBytes_FromStringAndSize(nullptr, printing->size));
  if (!bytes)
    throw py::error_already_set();
  printing->bytes = bytes;
  printing->out = PyBytes_AS_STRING(bytes.ptr());
  runJob(printing, /*owns=*/true);
  return bytes;
}

static py::str genericText(py::object op) {
  auto printing = std::make_shared<Printing>(op);
  printing->generic = true;
  runJob(printing, /*owns=*/true);
  return py::str(printing->text);
}

static MlirAttribute attributeOf(const py::object &object) {
  MlirAttribute attribute =
      mlirPythonCapsuleToAttribute(capsuleOf(object).ptr());
  if (!attribute.ptr)
    throw py::error_already_set();
  return attribute;
}

/// An attribute as one of mlir.ir.
static py::object toPython(MlirAttribute attribute) {
  auto capsule = py::reinterpret_steal<py::object>(
      mlirPythonAttributeToCapsule(attribute));
  return py::module_::import("mlir.ir")
      .attr("Attribute")
      .attr(MLIR_PYTHON_CAPI_FACTORY_ATTR)(capsule)
      .attr(MLIR_PYTHON_MAYBE_DOWNCAST_ATTR)();
}

static py::object attributeFields(py::object attribute,
                                  const std::string &mnemonic) {
  MlirAttribute fields =
      redfuseAttrFields(attributeOf(attribute), stringRef(mnemonic));
  return fields.ptr ? toPython(fields) : py::none();
}

static py::object attributeOfFields(const std::string &mnemonic,
                                    py::object fields) {
  MlirAttribute given = attributeOf(fields);
  MlirContext context = mlirAttributeGetContext(given);
  Capture capture(context);
  MlirAttribute made = redfuseAttrOfFields(stringRef(mnemonic), given,
                                           mlirLocationUnknownGet(context));
  if (!made.ptr)
    capture.raise("no #redfuse." + mnemonic, "ArgumentError");
  return toPython(made);
}

/// A node of a formula as (head, value, primes, dims, arguments).
static py::tuple formulaNode(MlirAttribute node) {
  auto text = [&](intptr_t i) {
    MlirStringRef s = mlirStringAttrGetValue(mlirArrayAttrGetElement(node, i));
    return py::str(s.data, s.length);
  };
  MlirAttribute dimsAttr = mlirArrayAttrGetElement(node, 3);
  py::tuple dims(mlirDenseArrayGetNumElements(dimsAttr));
  for (size_t i = 0; i < dims.size(); ++i)
    dims[i] = py::int_(mlirDenseI64ArrayGetElement(dimsAttr, i));
  py::tuple arguments(mlirArrayAttrGetNumElements(node) - 4);
  for (size_t i = 0; i < arguments.size(); ++i)
    arguments[i] = formulaNode(mlirArrayAttrGetElement(node, 4 + i));
  int64_t primes = mlirIntegerAttrGetValueInt(mlirArrayAttrGetElement(node, 2));
  return py::make_tuple(text(0), text(1), primes, dims, arguments);
}

static py::object formulaTree(py::object attribute) {
  MlirAttribute tree = redfuseFormulaTree(attributeOf(attribute));
  return tree.ptr ? py::object(formulaNode(tree)) : py::none();
}

static py::list runPasses(py::object op, const std::string &pipeline) {
  auto work = std::make_shared<PassRun>(op);
  Capture &capture = work->capture;
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(work->operation));

  // "builtin.module(a,b)" and "a,b" both mean a and b on this operation.
  std::string passes = pipeline, anchor(name.data, name.length);
  if (passes.rfind(anchor + "(", 0) == 0 && passes.back() == ')')
    passes =
        passes.substr(anchor.size() + 1, passes.size() - anchor.size() - 2);
  std::string problem;
  if (mlirLogicalResultIsFailure(mlirOpPassManagerAddPipeline(
          mlirPassManagerGetAsOpPassManager(work->pm), stringRef(passes),
          append, &problem)))
    capture.raise("cannot read the pipeline '" + pipeline + "': " + problem);
  runJob(work, /*owns=*/true);
  if (mlirLogicalResultIsFailure(work->result))
    capture.raise("the pipeline '" + pipeline + "' failed");
  return capture.toPython();
}

static py::bytes emit(py::object op, RedfuseEmitForm form,
                      const std::string &cpu, const std::string &features,
                      int optLevel) {
  auto work = std::make_shared<Emission>(op);
  work->cpu = cpu;
  work->features = features;
  work->optLevel = optLevel;
  work->form = form;
  runJob(work, /*owns=*/true);
  if (mlirLogicalResultIsFailure(work->result))
    work->capture.raise("no machine code could be made");
  auto bytes = py::reinterpret_steal<py::bytes>(
      PyBytes_FromStringAndSize(nullptr, redfuseCodeSize(work->code)));
  if (!bytes)
    throw py::error_already_set();
  runJob(std::make_shared<Writing>(work, bytes), /*owns=*/true);
  return bytes;
}

namespace {
struct Rewriting : Work {
  using Work::Work;
  void run() override;
  static void note(MlirStringRef pattern, MlirStringRef op, MlirLocation loc,
                   void *self);

  struct Fired {
    std::string pattern, op, location;
  };
  std::vector<std::string> names;
  int64_t maxIterations = 0;
  std::vector<Fired> trace;
};
} // namespace

void Rewriting::note(MlirStringRef pattern, MlirStringRef op, MlirLocation loc,
                     void *self) {
  Diagnostic where;
  std::string location;
  if (findPosition(loc, where))
    location = where.file + ":" + std::to_string(where.line) + ":" +
               std::to_string(where.column);
  static_cast<Rewriting *>(self)->trace.push_back(
      {std::string(pattern.data, pattern.length),
       std::string(op.data, op.length), location});
}

void Rewriting::run() {
  std::vector<MlirStringRef> refs;
  for (const std::string &name : names)
    refs.push_back(stringRef(name));
  result = redfuseApplyPatterns(operation, refs.size(), refs.data(),
                                maxIterations, &Rewriting::note, this);
}

static py::list applyPatterns(py::object op,
                              const std::vector<std::string> &names,
                              int64_t maxIterations) {
  auto work = std::make_shared<Rewriting>(op);
  work->names = names;
  work->maxIterations = maxIterations;
  runJob(work, /*owns=*/false);
  if (mlirLogicalResultIsFailure(work->result))
    work->capture.raise("the patterns could not be applied");
  py::list list;
  for (const Rewriting::Fired &fired : work->trace)
    list.append(py::make_tuple(fired.pattern, fired.op, fired.location));
  return list;
}

static py::dict patternSets() {
  py::dict sets;
  redfusePatternSets(
      [](MlirStringRef name, MlirStringRef summary, void *dict) {
        (*static_cast<py::dict *>(dict))[py::str(name.data, name.length)] =
            py::str(summary.data, summary.length);
      },
      &sets);
  return sets;
}

static py::list stages(const std::string &pipeline) {
  py::list list;
  redfuseStages(
      stringRef(pipeline),
      [](MlirStringRef name, void *list) {
        static_cast<py::list *>(list)->append(py::str(name.data, name.length));
      },
      &list);
  return list;
}

void definePrograms(py::module_ &m) {
  m.def("stages", &stages, py::arg("pipeline"),
        "Names of the stages of redfuse-cpu and the like, in order.");
  m.def("try_to_parse", &tryToParse, py::arg("program"),
        "What keeps MLIR's parser from surviving a program, text or bytecode, "
        "found out in a child process; empty if nothing does.");
  m.def("parse", &parse, py::arg("context"), py::arg("program"),
        py::arg("name"),
        "The module of text or bytecode, whose large constants are not copied; "
        "None if it cannot be read. Positions are in `name`.");
  m.def("bytecode", &bytecodeOf, py::arg("op"), "A module as bytecode.");
  m.def("generic_text", &genericText, py::arg("op"),
        "An operation in the generic form.");
  m.def("run_passes", &runPasses, py::arg("op"), py::arg("pipeline"),
        "Runs a textual pass pipeline on an operation, in place. Returns the "
        "diagnostics, each a dict of severity, message, file, line, column, "
        "operation (its name, where that is said) and notes. Raises "
        "CompileError, with all of them in `diagnostics`.");
  m.def("attribute_fields", &attributeFields, py::arg("attribute"),
        py::arg("mnemonic"),
        "The fields of an attribute of the dialect, a DictAttr; None for any "
        "other attribute.");
  m.def("formula_tree", &formulaTree, py::arg("attribute"),
        "The tree of a #redfuse.formula: a node is (head, value, primes, dims, "
        "arguments). None for any other attribute.");
  m.def("attribute_of_fields", &attributeOfFields, py::arg("mnemonic"),
        py::arg("fields"),
        "The attribute with these fields, checked. Raises ArgumentError.");
  m.def(
      "hints",
      [] {
        MlirStringRef table = redfuseHints();
        return py::str(table.data, table.length);
      },
      "The table of hints, as JSON.");
  auto emitText = [](RedfuseEmitForm form) {
    return [form](py::object op, const std::string &cpu,
                  const std::string &features, int optLevel) {
      return py::str(emit(op, form, cpu, features, optLevel));
    };
  };
  m.def(
      "emit_object",
      [](py::object op, const std::string &cpu, const std::string &features,
         int optLevel) {
        return emit(op, REDFUSE_EMIT_OBJECT, cpu, features, optLevel);
      },
      py::arg("op"), py::arg("cpu") = "", py::arg("features") = "",
      py::arg("opt_level") = 3,
      "Object code of a module in the LLVM dialect. cpu: '' is this machine's; "
      "features: '+name,-name' on top of the cpu's. Raises CompileError.");
  m.def("emit_asm", emitText(REDFUSE_EMIT_ASSEMBLY), py::arg("op"),
        py::arg("cpu") = "", py::arg("features") = "", py::arg("opt_level") = 3,
        "Like emit_object: assembly.");
  m.def("emit_llvm", emitText(REDFUSE_EMIT_LLVM), py::arg("op"),
        py::arg("cpu") = "", py::arg("features") = "", py::arg("opt_level") = 3,
        "Like emit_object: optimised LLVM IR.");
  m.def("apply_patterns", &applyPatterns, py::arg("op"), py::arg("names"),
        py::arg("max_iterations") = 0,
        "Applies sets of patterns greedily; returns (pattern, op, location) of "
        "everything that fired. 0 iterations: until nothing changes.");
  m.def("pattern_sets", &patternSets, "Names and summaries of the sets.");
  m.def("pattern_names", [] { return py::list(patternSets()); });
}
