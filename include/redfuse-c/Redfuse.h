//===- Redfuse.h - the C API of redfuse -------------------------*- C++ -*-===//
//-*-===//
//
// All that the Python module sees of the C++ core.
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_C_REDFUSE_H
#define REDFUSE_C_REDFUSE_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef REDFUSE_BUILDING
#define REDFUSE_API __attribute__((visibility("default")))
#else
#define REDFUSE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Adds the redfuse dialect to a registry: every context made from it knows it.
REDFUSE_API void redfuseRegisterDialects(MlirDialectRegistry registry);
/// Adds the redfuse dialect to one context that exists already, and loads it.
REDFUSE_API void redfuseLoadDialects(MlirContext context);
/// Registers redfuse's passes and pipelines; once a process, later calls do
/// nothing.
REDFUSE_API void redfuseRegisterPasses(void);
/// The main function of redfuse-opt.
REDFUSE_API int redfuseOptMain(int argc, char **argv);

/// The fields of the dialect's attribute `#redfuse.MNEMONIC` by name, as a
/// DictionaryAttr; null for any other attribute.
REDFUSE_API MlirAttribute redfuseAttrFields(MlirAttribute attribute,
                                            MlirStringRef mnemonic);
/// The attribute with these fields. Null where its verifier refuses them, after a
/// diagnostic at `location`.
REDFUSE_API MlirAttribute redfuseAttrOfFields(MlirStringRef mnemonic,
                                              MlirAttribute fields,
                                              MlirLocation location);

/// The tree of a `#redfuse.formula`: a node is an ArrayAttr [head, value, primes, dims,
/// arguments...]. Null for any other attribute.
REDFUSE_API MlirAttribute redfuseFormulaTree(MlirAttribute formula);

/// The table of hints, as JSON: names, meanings, what each takes, and values worth
/// trying of each kind of kernel.
REDFUSE_API MlirStringRef redfuseHints(void);

/// Bytes or text that the library hands out, to be freed by redfuseBytesFree.
typedef struct {
  char *data; // with a zero byte after the last; null if there is nothing
  size_t size;
} RedfuseBytes;
REDFUSE_API void redfuseBytesFree(RedfuseBytes bytes);

/// What stops MLIR from reading a program, text or bytecode: its parser asserts
/// things of what it reads. So a child of this process reads it first. Empty where
/// nothing does, or where `stop`, unless it is null, is not 0 meanwhile; the errors of a
/// parser that ends are no such thing.
REDFUSE_API RedfuseBytes redfuseTryToParse(MlirStringRef program,
                                           const int *stop);

/// The module of `program`, text or bytecode. Large constants of bytecode are used where
/// they are: `release`, unless it is null, is called with `owner` when nothing reads the
/// bytes any more. Null, with diagnostics, where it cannot be read. Positions are in the
/// file `name`.
REDFUSE_API MlirModule redfuseParse(MlirContext context, MlirStringRef program,
                                    MlirStringRef name,
                                    void (*release)(void *owner), void *owner);

//===-- programs
//------------------------------------------------------------===//

typedef enum {
  REDFUSE_EMIT_OBJECT = 0,
  REDFUSE_EMIT_ASSEMBLY = 1,
  REDFUSE_EMIT_LLVM = 2,
} RedfuseEmitForm;

/// Code of a module, or its text.
typedef struct RedfuseCode RedfuseCode;
/// Makes code of a module in the LLVM dialect. An empty `cpu` is this
/// machine's; `features` ("+name,-name") are added to those of the processor;
/// `optLevel` is 0 to 3. `stop`: null, or what another thread sets to something
/// else than 0 when the code is no longer wanted. On failure there is a
/// diagnostic on the module.
REDFUSE_API MlirLogicalResult redfuseEmit(MlirOperation module,
                                          MlirStringRef cpu,
                                          MlirStringRef features, int optLevel,
                                          RedfuseEmitForm form, const int *stop,
                                          RedfuseCode **out);
REDFUSE_API size_t redfuseCodeSize(const RedfuseCode *code);
/// Writes so many bytes; the module must still be there.
REDFUSE_API void redfuseCodeWrite(const RedfuseCode *code, char *out);
REDFUSE_API void redfuseCodeDestroy(RedfuseCode *code);
/// What runs on the context's operations from now on is passed over once another
/// thread has set `stop` to something else than 0: passes, and patterns. Null: all
/// is run again. False where the context's actions go to somebody else's handler.
REDFUSE_API bool redfuseSetStop(MlirContext context, const int *stop);

/// Calls `callback` for every stage of a pipeline ("redfuse-cpu" and the like), in
/// order; nothing for another name.
REDFUSE_API void redfuseStages(MlirStringRef pipeline,
                               void (*callback)(MlirStringRef name,
                                                void *userData),
                               void *userData);

/// Calls `callback` for every registered set of patterns, sorted by name.
REDFUSE_API void redfusePatternSets(void (*callback)(MlirStringRef name,
                                                     MlirStringRef summary,
                                                     void *userData),
                                    void *userData);

/// Applies sets of patterns greedily until nothing changes or `maxIterations`
/// are done (0: no limit) and calls `fired` for every application, in order.
REDFUSE_API MlirLogicalResult
redfuseApplyPatterns(MlirOperation op, intptr_t count,
                     const MlirStringRef *names, int64_t maxIterations,
                     void (*fired)(MlirStringRef pattern, MlirStringRef op,
                                   MlirLocation loc, void *userData),
                     void *userData);

//===-- machine code
//--------------------------------------------------------===//

typedef struct RedfuseLibrary RedfuseLibrary;
/// Loads object code, which must outlive the library. On failure returns null and a
/// message in `error`.
REDFUSE_API RedfuseLibrary *redfuseLibraryLoad(const char *data, size_t size,
                                               RedfuseBytes *error);
/// The address of a symbol, or null and the reason in `error`.
REDFUSE_API void *redfuseLibraryLookup(RedfuseLibrary *library,
                                       MlirStringRef name, RedfuseBytes *error);
REDFUSE_API void redfuseLibraryDestroy(RedfuseLibrary *library);

typedef void (*RedfusePackedEntry)(void **args);
typedef enum { REDFUSE_DONE, REDFUSE_FAILED, REDFUSE_ENDED } RedfuseOutcome;
/// Calls a packed entry. If the program fails (a false assertion, no memory) its
/// message is in `error`. `canEnd`: SIGINT, SIGTERM and SIGHUP end the call, where
/// they have handlers; its results are then undefined. For one thread only, that
/// which the handlers speak to.
REDFUSE_API RedfuseOutcome redfuseInvoke(RedfusePackedEntry entry, void **args,
                                         bool canEnd, RedfuseBytes *error);

/// Whose GPUs: NVIDIA's by CUDA's driver, AMD's by HIP.
typedef enum { REDFUSE_CUDA, REDFUSE_ROCM } RedfuseVendor;
/// An architecture that code is made for (redfuse/Support/Chips.def).
typedef struct {
  MlirStringRef name, family; // the family as "cuda" or "rocm"
  int lanes;                  // of a warp or wave
  unsigned elfMachine;        // EF_AMDGPU_MACH of AMD's
} RedfuseChip;
REDFUSE_API size_t redfuseChipCount(void);
REDFUSE_API RedfuseChip redfuseChipGet(size_t index);
/// What kernels reach in a model, from the same table: of a core, or of a GPU.
typedef struct {
  double callSeconds;       // of a call, beside its work
  double bytesPerSecond;    // of memory
  double flopsPerSecond;    // of products
  double f32FlopsPerSecond; // of those in f32 without matrix units
} RedfuseReached;
REDFUSE_API RedfuseReached redfuseReachedGet(bool isGpu);

/// Device code: cubins and PTX, or AMD code objects, of one program, for any
/// number of architectures.
typedef struct RedfuseDeviceProgram RedfuseDeviceProgram;
REDFUSE_API RedfuseDeviceProgram *
redfuseDeviceProgramCreate(RedfuseVendor vendor);
/// Adds an image; `chip` as sm_90a or gfx942. Before the first call.
REDFUSE_API void redfuseDeviceProgramAdd(RedfuseDeviceProgram *program,
                                         MlirStringRef chip, const char *data,
                                         size_t size);
/// How well it suits GPU `device`, higher is better; 0: it does not run there,
/// or with the reason in `error`.
REDFUSE_API int redfuseDeviceProgramFitness(RedfuseDeviceProgram *program,
                                            int device, RedfuseBytes *error);
/// False with the message in `error` if an assertion of a kernel has failed since
/// this was asked, or the program called, last. Waits for nothing.
REDFUSE_API bool redfuseDeviceProgramCheck(RedfuseDeviceProgram *program,
                                           RedfuseBytes *error);
REDFUSE_API void redfuseDeviceProgramDestroy(RedfuseDeviceProgram *program);
/// Calls a packed entry whose buffers are memory of GPU `device`; its kernels
/// are launched on `stream` and may still run when this returns.
REDFUSE_API bool redfuseInvokeOnDevice(RedfusePackedEntry entry, void **args,
                                       RedfuseDeviceProgram *program,
                                       int device, uintptr_t stream,
                                       RedfuseBytes *error);
/// The same, kernel by kernel: none starts before the one before it has ended, and
/// once the GPU is done `callback` gets the name of each, in order, and how long it
/// took.
REDFUSE_API bool redfuseProfileOnDevice(
    RedfusePackedEntry entry, void **args, RedfuseDeviceProgram *program,
    int device, uintptr_t stream,
    void (*callback)(MlirStringRef kernel, double nanoseconds, void *userData),
    void *userData, RedfuseBytes *error);
/// The number of GPUs; 0 with the reason in `error`.
REDFUSE_API int redfuseDeviceCount(RedfuseVendor vendor, RedfuseBytes *error);
typedef struct {
  RedfuseBytes name, chip; // the chip as sm_90 or gfx942
  int units;               // multiprocessors, compute units
} RedfuseDeviceInfo;
REDFUSE_API bool redfuseDeviceDescribe(RedfuseVendor vendor, int device,
                                       RedfuseDeviceInfo *info,
                                       RedfuseBytes *error);

/// The GPU that memory is on; -1 with the reason in `error`.
REDFUSE_API int redfuseDeviceOfPointer(RedfuseVendor vendor,
                                       const void *pointer,
                                       RedfuseBytes *error);
/// Work given to `stream` from now on comes after what `other` has so far.
REDFUSE_API bool redfuseOrderStreams(RedfuseVendor vendor, int device,
                                     uintptr_t stream, uintptr_t other,
                                     RedfuseBytes *error);
/// Device memory kept for intermediates: calls back with GPU, stream (a number
/// of the driver's), whether a captured graph has it, and bytes.
REDFUSE_API void redfuseWorkspaceUse(void (*callback)(int, uint64_t, bool,
                                                      int64_t, void *),
                                     void *userData);
/// Frees what no graph has; waits for the GPUs.
REDFUSE_API bool redfuseWorkspaceTrim(RedfuseBytes *error);

/// Memory for arrays that the caller hands out: 64-byte aligned, cached, large
/// blocks on huge pages. Null if there is none.
REDFUSE_API void *redfuseArrayAllocate(int64_t bytes);
REDFUSE_API void redfuseArrayFree(void *pointer);

/// Forgets a failure of code that this thread called without redfuseInvoke, and
/// hands it out: for callers that have only the address of an entry.
REDFUSE_API RedfuseBytes redfuseTakeFailure(void);

//===-- the machine
//---------------------------------------------------------===//

typedef struct {
  RedfuseBytes triple, cpu, features;
  int vectorBits;
  int threads;        // used by launches
  int64_t l1, l2, l3; // bytes; 0 if unknown
} RedfuseHost;
REDFUSE_API RedfuseHost redfuseHost(void);

/// Threads that share a launch, the caller's included; 0: as many as the
/// machine has, or REDFUSE_NUM_THREADS says.
REDFUSE_API void redfuseSetNumThreads(int count);
REDFUSE_API int redfuseNumThreads(void);

/// The most bytes that intermediates (not arguments or results) took at a time
/// since the last reset.
REDFUSE_API int64_t redfuseMemoryPeak(void);
REDFUSE_API void redfuseMemoryResetPeak(void);
/// Gives cached memory back to the system.
REDFUSE_API void redfuseMemoryTrim(void);

#ifdef __cplusplus
}
#endif
#endif // REDFUSE_C_REDFUSE_H
