//===- Target.cpp - machine code and patterns, for C ----------------------===//
#include "redfuse-c/Redfuse.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "redfuse/Pipelines/Pipelines.h"
#include "redfuse/Support/Chips.h"
#include "redfuse/Support/Host.h"
#include "redfuse/Support/Reached.h"
#include "redfuse/Target/Device.h"
#include "redfuse/Target/Native.h"
#include "redfuse/Target/Runtime.h"
#include "redfuse/Transforms/Normalize/PatternRegistry.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace redfuse;

static RedfuseBytes toBytes(StringRef text) {
  auto *data = static_cast<char *>(malloc(text.size() + 1));
  memcpy(data, text.data(), text.size());
  data[text.size()] = 0;
  return {data, text.size()};
}

void redfuseBytesFree(RedfuseBytes bytes) { free(bytes.data); }

struct RedfuseCode {
  NativeCode code;
};

MlirLogicalResult redfuseEmit(MlirOperation module, MlirStringRef cpu,
                              MlirStringRef features, int optLevel,
                              RedfuseEmitForm form, const int *stop,
                              RedfuseCode **out) {
  NativeOptions options;
  options.cpu = unwrap(cpu).str();
  options.features = unwrap(features).str();
  options.optLevel = optLevel;
  options.form = form == REDFUSE_EMIT_OBJECT     ? NativeForm::Object
                 : form == REDFUSE_EMIT_ASSEMBLY ? NativeForm::Assembly
                                                 : NativeForm::LLVM;
  options.stop = stop;
  auto made = std::make_unique<RedfuseCode>();
  if (failed(emitNative(unwrap(module), options, made->code)))
    return mlirLogicalResultFailure();
  *out = made.release();
  return mlirLogicalResultSuccess();
}

size_t redfuseCodeSize(const RedfuseCode *code) { return code->code.size(); }
void redfuseCodeWrite(const RedfuseCode *code, char *out) {
  code->code.writeTo(out);
}
void redfuseCodeDestroy(RedfuseCode *code) { delete code; }

void redfuseStages(MlirStringRef pipeline,
                   void (*callback)(MlirStringRef, void *), void *userData) {
  if (std::optional<PipelineKind> kind = findPipeline(unwrap(pipeline)))
    for (StringRef stage : getStages(*kind))
      callback(wrap(stage), userData);
}

void redfusePatternSets(void (*callback)(MlirStringRef, MlirStringRef, void *),
                        void *userData) {
  for (const PatternSetInfo *set : registeredPatternSets())
    callback(wrap(StringRef(set->name)), wrap(StringRef(set->summary)),
             userData);
}

MlirLogicalResult redfuseApplyPatterns(
    MlirOperation op, intptr_t count, const MlirStringRef *names,
    int64_t maxIterations,
    void (*fired)(MlirStringRef, MlirStringRef, MlirLocation, void *),
    void *userData) {
  SmallVector<StringRef> list;
  for (intptr_t i = 0; i < count; ++i)
    list.push_back(unwrap(names[i]));
  std::vector<FiredPattern> trace;
  LogicalResult result =
      applyPatternSets(unwrap(op), list, maxIterations, trace);
  for (const FiredPattern &entry : trace)
    fired(wrap(StringRef(entry.pattern)), wrap(StringRef(entry.op)),
          wrap(entry.loc), userData);
  return wrap(result);
}

struct RedfuseLibrary {
  std::unique_ptr<NativeLibrary> library;
};

RedfuseLibrary *redfuseLibraryLoad(const char *data, size_t size,
                                   RedfuseBytes *error) {
  std::string message;
  auto library = NativeLibrary::load(StringRef(data, size), message);
  if (!library) {
    *error = toBytes(message);
    return nullptr;
  }
  return new RedfuseLibrary{std::move(library)};
}

void *redfuseLibraryLookup(RedfuseLibrary *library, MlirStringRef name,
                           RedfuseBytes *error) {
  std::string why;
  void *address = library->library->lookup(unwrap(name), &why);
  if (!address)
    *error = toBytes(why);
  return address;
}

void redfuseLibraryDestroy(RedfuseLibrary *library) { delete library; }

RedfuseOutcome redfuseInvoke(RedfusePackedEntry entry, void **args, bool canEnd,
                             RedfuseBytes *error) {
  runtime::CallState state;
  if (!runtime::runCall(entry, args, state, canEnd))
    return REDFUSE_ENDED;
  if (!state.failed())
    return REDFUSE_DONE;
  *error = toBytes(state.message());
  return REDFUSE_FAILED;
}

/// True if there is no error, else hands it out.
static bool reported(const runtime::DeviceError &e, RedfuseBytes *error) {
  if (!e.empty())
    *error = toBytes(e);
  return e.empty();
}

struct RedfuseDeviceProgram : runtime::DeviceProgram {
  using runtime::DeviceProgram::DeviceProgram;
};

static runtime::Vendor unwrap(RedfuseVendor vendor) {
  return vendor == REDFUSE_CUDA ? runtime::Vendor::Cuda : runtime::Vendor::Rocm;
}

RedfuseDeviceProgram *redfuseDeviceProgramCreate(RedfuseVendor vendor) {
  return new RedfuseDeviceProgram(unwrap(vendor));
}

void redfuseDeviceProgramAdd(RedfuseDeviceProgram *program, MlirStringRef chip,
                             const char *data, size_t size) {
  // The driver reads PTX up to a zero byte, which a std::string has.
  program->add({unwrap(chip).str(), std::string(data, size)});
}

int redfuseDeviceProgramFitness(RedfuseDeviceProgram *program, int device,
                                RedfuseBytes *error) {
  runtime::DeviceError e;
  int fitness = program->fitness(device, e);
  return reported(e, error) ? fitness : 0;
}

bool redfuseDeviceProgramCheck(RedfuseDeviceProgram *program,
                               RedfuseBytes *error) {
  return reported(program->takeReport(), error);
}

void redfuseDeviceProgramDestroy(RedfuseDeviceProgram *program) {
  delete program;
}

bool redfuseInvokeOnDevice(RedfusePackedEntry entry, void **args,
                           RedfuseDeviceProgram *program, int device,
                           uintptr_t stream, RedfuseBytes *error) {
  runtime::DeviceCall call(*program, device, stream);
  return reported(call.run(entry, args), error);
}

bool redfuseProfileOnDevice(RedfusePackedEntry entry, void **args,
                            RedfuseDeviceProgram *program, int device,
                            uintptr_t stream,
                            void (*callback)(MlirStringRef, double, void *),
                            void *userData, RedfuseBytes *error) {
  runtime::DeviceCall call(*program, device, stream);
  std::vector<runtime::LaunchTime> times;
  if (!reported(call.profile(entry, args, times), error))
    return false;
  for (const runtime::LaunchTime &time : times)
    callback(wrap(StringRef(time.kernel)), time.nanoseconds, userData);
  return true;
}

int redfuseDeviceOfPointer(RedfuseVendor vendor, const void *pointer,
                           RedfuseBytes *error) {
  runtime::DeviceError e;
  int device = runtime::deviceOfPointer(unwrap(vendor), pointer, e);
  return reported(e, error) ? device : -1;
}

bool redfuseOrderStreams(RedfuseVendor vendor, int device, uintptr_t stream,
                         uintptr_t other, RedfuseBytes *error) {
  return reported(runtime::orderStreams(unwrap(vendor), device, stream, other),
                  error);
}

void redfuseWorkspaceUse(void (*callback)(int, uint64_t, bool, int64_t, void *),
                         void *userData) {
  for (const runtime::WorkspaceUse &use : runtime::workspaceUse())
    callback(use.device, use.stream, use.captured, use.bytes, userData);
}

bool redfuseWorkspaceTrim(RedfuseBytes *error) {
  return reported(runtime::trimWorkspace(), error);
}

size_t redfuseChipCount() { return redfuse::getChips().size(); }

RedfuseChip redfuseChipGet(size_t index) {
  const redfuse::Chip &chip = redfuse::getChips()[index];
  return {wrap(chip.name), wrap(chip.family), int(chip.lanes), chip.elfMachine};
}

RedfuseReached redfuseReachedGet(bool isGpu) {
  const redfuse::Reached *reached = redfuse::findReached(isGpu ? "gpu" : "cpu");
  return {reached->callNs / 1e9, reached->bandwidth * 1e9, reached->flops * 1e9,
          reached->f32Flops * 1e9};
}

int redfuseDeviceCount(RedfuseVendor vendor, RedfuseBytes *error) {
  runtime::DeviceError e;
  int count = runtime::countDevices(unwrap(vendor), e);
  if (!e.empty())
    *error = toBytes(e);
  return count;
}

bool redfuseDeviceDescribe(RedfuseVendor vendor, int device,
                           RedfuseDeviceInfo *info, RedfuseBytes *error) {
  std::string name, chip;
  info->units = 0;
  if (runtime::DeviceError e = runtime::describeDevice(unwrap(vendor), device,
                                                       name, chip, info->units);
      !e.empty()) {
    *error = toBytes(e);
    return false;
  }
  info->name = toBytes(name);
  info->chip = toBytes(chip);
  return true;
}

RedfuseBytes redfuseTakeFailure() {
  auto *state = runtime::CallState::current();
  return state->failed() ? toBytes(state->take()) : RedfuseBytes{nullptr, 0};
}

void *redfuseArrayAllocate(int64_t bytes) {
  return runtime::allocate(bytes, /*counted=*/false, /*owner=*/nullptr);
}

void redfuseArrayFree(void *pointer) { runtime::release(pointer); }

RedfuseHost redfuseHost() {
  CpuTarget target;
  std::string error;
  resolveCpu("", "", target, error);
  CacheSizes caches = hostCaches();
  return {toBytes(target.triple),
          toBytes(target.cpu),
          toBytes(target.features),
          target.vectorBits,
          runtime::threadCount(),
          caches.l1,
          caches.l2,
          caches.l3};
}

void redfuseSetNumThreads(int count) { runtime::setThreadCount(count); }
int redfuseNumThreads() { return runtime::threadCount(); }
int64_t redfuseMemoryPeak() { return runtime::memoryPeak(); }
void redfuseMemoryResetPeak() { runtime::resetMemoryPeak(); }
void redfuseMemoryTrim() { runtime::trimMemory(); }
