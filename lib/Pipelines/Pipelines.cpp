//===- Pipelines.cpp - the compiler as pipelines of passes ----------------===//
//
// A pipeline is a list of stages, which docs/design/architecture.md describes:
// what goes in and what comes out. Python runs them one by one, to keep the IR
// between them, and redfuse-opt all at once.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Pipelines/Pipelines.h"

#include "redfuse/Codegen/Passes.h"
#include "redfuse/Conversion/GPUToNVVM/LowerToNVVM.h"
#include "redfuse/Conversion/GPUToROCDL/LowerToROCDL.h"
#include "redfuse/Conversion/HostToLLVM/LowerToLLVM.h"
#include "redfuse/Conversion/Passes.h"
#include "redfuse/Transforms/Bufferize/Bufferize.h"
#include "redfuse/Transforms/Canonicalize.h"
#include "redfuse/Transforms/Normalize/Normalize.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace redfuse;

namespace {
/// Adds the passes of a stage.
using AddStage = LogicalResult (*)(OpPassManager &, const CompileOptions &,
                                   function_ref<LogicalResult(const Twine &)>);
struct Stage {
  StringLiteral name;
  AddStage add;
};
using Fail = function_ref<LogicalResult(const Twine &)>;
} // namespace

//===----------------------------------------------------------------------===//
// Stages of programs that are fused
//===----------------------------------------------------------------------===//

/// The checks that all stages rely on: nothing may simplify what is not checked, so
/// functions are inlined as they are.
static LogicalResult addCheck(OpPassManager &pm, const CompileOptions &, Fail) {
  pm.addPass(createKeepEntry());
  pm.addPass(createCheckSource());
  pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createCheckAccesses());
  pm.addNestedPass<func::FuncOp>(createFullRankSlices({/*isOpen=*/true}));
  return success();
}

static LogicalResult addNormalize(OpPassManager &pm,
                                  const CompileOptions &options, Fail) {
  if (!options.strict)
    pm.addPass(createSplitConcats());
  buildNormalizePipeline(pm);
  return success();
}

/// Padding is computed where it is read: a thread may well compute an index, while
/// vectors of a CPU are loaded from where elements lie side by side.
static LogicalResult addNormalizeForGPU(OpPassManager &pm,
                                        const CompileOptions &options, Fail) {
  if (!options.strict)
    pm.addPass(createSplitConcats());
  buildNormalizePipeline(pm, /*padsAreMaps=*/true);
  return success();
}

static LogicalResult addRaise(OpPassManager &pm, const CompileOptions &, Fail) {
  pm.addPass(createRaise());
  pm.addPass(createWidenAccumulators());
  return success();
}

/// What strict programs may not use, and schedules that the user chose, say nothing
/// about a group.
static FuseOptions getFuse(const CompileOptions &options) {
  FuseOptions fuse;
  fuse.plans = options.plans && !options.strict && options.schedule.empty();
  fuse.prices = options.prices;
  fuse.along.assign(options.along.begin(), options.along.end());
  fuse.cuts.assign(options.cuts.begin(), options.cuts.end());
  fuse.joins.assign(options.joins.begin(), options.joins.end());
  fuse.record = options.record;
  return fuse;
}

static void addFusion(OpPassManager &pm, const CompileOptions &options,
                      const FuseOptions &fuse) {
  // A part of a dim has no element at a computed place.
  if (!fuse.prices || !options.shard.empty())
    pm.addPass(createReduceGathers());
  else if (!options.strict)
    pm.addPass(createReduceGathers({/*behindProducts=*/true}));
  if (!options.strict)
    pm.addPass(createFactorSums());
  // What is streamed, or shared out, is an axis as it was written.
  if (!options.strict && fuse.prices && options.along.empty() &&
      options.shard.empty())
    pm.addPass(createSplitTotals());
  pm.addPass(createFuse(fuse));
  pm.addPass(createEvaluatePositions());
  pm.addPass(createTensorCanonicalizer());
  pm.addPass(createCSEPass());
  // A state has what is needed to go on, whether or not a result says it.
  if (options.along.empty())
    pm.addPass(createDropUnusedResults());
  if (!options.strict)
    pm.addPass(createNestReductions());
  pm.addPass(createKeepRoundings());
  // What is stored between two kernels is as narrow as what was rounded for it.
  pm.addPass(createNarrowResults());
  if (!options.strict)
    pm.addPass(createDropRoundings());
  if (!options.shard.empty()) {
    pm.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
    pm.addPass(createTensorCanonicalizer());
    pm.addPass(createCSEPass());
    ShardDimsOptions shard;
    shard.dims.assign(options.shard.begin(), options.shard.end());
    shard.sizes.assign(options.shardSizes.begin(), options.shardSizes.end());
    pm.addPass(createShardDims(shard));
    pm.addPass(createTensorCanonicalizer());
    pm.addPass(createCSEPass());
  }
  // What is streamed is an axis as it was written.
  if (!options.along.empty())
    return;
  // Tiles that are asked for are of cascades and dims as they were written.
  if (options.tiles.empty())
    pm.addPass(createAlignRows());
  if (!options.strict)
    pm.addPass(createSplitScans());
  if (options.tiles.empty())
    pm.addPass(createCollapseDims());
  pm.addPass(createSplitMaps());
}

static LogicalResult addFuse(OpPassManager &pm, const CompileOptions &options,
                             Fail) {
  addFusion(pm, options, getFuse(options));
  return success();
}

/// A state is of one pass over what is streamed, whatever that costs.
static LogicalResult addFuseOfState(OpPassManager &pm,
                                    const CompileOptions &options, Fail) {
  FuseOptions fuse = getFuse(options);
  fuse.prices = false;
  addFusion(pm, options, fuse);
  return success();
}

static LogicalResult addState(OpPassManager &pm, const CompileOptions &options,
                              Fail) {
  pm.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  pm.addPass(createTensorCanonicalizer());
  pm.addPass(createCSEPass());
  ExposeStateOptions expose;
  expose.along.assign(options.along.begin(), options.along.end());
  expose.strict = options.strict;
  expose.approximate = options.approximate;
  expose.chunk = options.chunk;
  expose.only = options.only;
  pm.addPass(createExposeState(expose));
  pm.addPass(createTensorCanonicalizer());
  pm.addPass(createCSEPass());
  return success();
}

static LogicalResult addSchedule(OpPassManager &pm,
                                 const CompileOptions &options, Fail) {
  if (!options.strict) {
    pm.addPass(createNarrowDoubles());
    pm.addPass(createCSEPass());
  }
  if (!options.strict)
    pm.addPass(createFactorSums());
  pm.addPass(createPitchOperands());
  // Tiles that are asked for are of dims as they were written.
  if (!options.strict && options.tiles.empty() && options.splits == 0)
    pm.addPass(createSplitSums());
  pm.addPass(createPrepackOperands());
  // Tiles that are asked for are of dims as they were written.
  if (options.tiles.empty())
    pm.addPass(createPropagateLayouts());
  pm.addPass(createFoldCopies());
  ScheduleOptions schedule;
  schedule.kind = options.schedule;
  schedule.tiles.assign(options.tiles.begin(), options.tiles.end());
  schedule.splits = options.splits;
  schedule.lazy = options.lazy;
  schedule.strict = options.strict;
  schedule.approximate = options.approximate;
  pm.addPass(createSchedule(schedule));
  return success();
}

static LogicalResult addDerive(OpPassManager &pm, const CompileOptions &options,
                               Fail) {
  DeriveOptions derive;
  derive.strict = options.strict;
  derive.approximate = options.approximate;
  pm.addPass(createDerive(derive));
  return success();
}

static LogicalResult addOutline(OpPassManager &pm, const CompileOptions &,
                                Fail) {
  pm.addPass(createOutline());
  pm.addPass(createSplit());
  return success();
}

static LogicalResult addBufferize(OpPassManager &pm, const CompileOptions &,
                                  Fail) {
  pm.addPass(createLowerTMTensor());
  buildBufferizePipeline(pm);
  return success();
}

static LogicalResult addBufferizeOfGPU(OpPassManager &pm,
                                       const CompileOptions &, Fail) {
  pm.addPass(createLowerTMTensor());
  buildBufferizePipeline(pm, /*onGpu=*/true);
  return success();
}

static LogicalResult addShare(OpPassManager &pm, const CompileOptions &, Fail) {
  pm.addPass(createSliceOperands());
  pm.addPass(createShareKernels());
  return success();
}

//===----------------------------------------------------------------------===//
// Stages of a processor
//===----------------------------------------------------------------------===//

static LogicalResult addCPU(OpPassManager &pm, const CompileOptions &options,
                            Fail) {
  pm.addPass(createSelectionsToCPU());
  KernelToCPUOptions kernels;
  kernels.strict = options.strict;
  pm.addPass(createKernelToCPU(kernels));
  return success();
}

/// Sums of packed operands are added up in parts.
static LogicalResult addPlanOfCPU(OpPassManager &pm,
                                  const CompileOptions &options, Fail) {
  if (!options.strict)
    pm.addPass(createPlanPacking());
  return success();
}

static LogicalResult addHost(OpPassManager &pm, const CompileOptions &,
                             Fail fail) {
  CpuTarget target;
  std::string error;
  if (!resolveCpu("", "", target, error))
    return fail(error);
  buildLowerToLLVM(pm, target);
  return success();
}

/// Matrix units add up in an order and with roundings of their own: not where the
/// source's are asked for.
static LogicalResult addPlan(OpPassManager &pm, const CompileOptions &options,
                             Fail) {
  pm.addPass(createSelectionsToGPU());
  pm.addPass(createHostToGPU());
  if (!options.strict) {
    pm.addPass(createPlanMatrices());
    pm.addPass(createLazyPivots());
    pm.addPass(createPlanContractions());
    pm.addPass(createPlanProducts());
  }
  pm.addPass(createPlanRegisters({options.strict}));
  // Splits that registers cannot merge in one launch become kernels of their own.
  pm.addPass(createSplit());
  pm.addPass(createPlanRegisters({options.strict}));
  pm.addPass(createPlanRounds());
  pm.addPass(createPredictTimes());
  return success();
}

static LogicalResult addGPU(OpPassManager &pm, const CompileOptions &options,
                            Fail) {
  pm.addPass(createKernelToGPU({options.strict}));
  pm.addPass(createPersistRounds());
  return success();
}

/// Without plans for matrix units.
static LogicalResult addPlanOfAMD(OpPassManager &pm,
                                  const CompileOptions &options, Fail) {
  pm.addPass(createSelectionsToGPU());
  pm.addPass(createHostToGPU());
  if (!options.strict)
    pm.addPass(createPlanProducts());
  pm.addPass(createPlanRegisters({options.strict}));
  return success();
}

/// ptxas optimises all it can, also where LLVM must not (`redfuse.most_opt_level`).
static LogicalResult addNVVM(OpPassManager &pm, const CompileOptions &options,
                             Fail fail) {
  constexpr StringLiteral formats[] = {"isa", "bin", "fatbin"};
  if (!llvm::is_contained(formats, options.format.getValue()))
    return fail("option 'format': expected " +
                llvm::join(ArrayRef<StringLiteral>(formats), ", ") + "; got '" +
                options.format + "'");
  buildLowerToNVVM(pm, options.level, options.strict);
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = options.format;
  if (options.format != "isa")
    binary.cmdOptions = "--opt-level=3";
  pm.addPass(createGpuModuleToBinaryPass(binary));
  return success();
}

static LogicalResult addROCDL(OpPassManager &pm, const CompileOptions &, Fail) {
  buildLowerToROCDL(pm);
  return success();
}

static LogicalResult addBinaryOfAMD(OpPassManager &pm,
                                    const CompileOptions &options, Fail fail) {
  constexpr StringLiteral formats[] = {"isa", "bin", "llvm"};
  if (!llvm::is_contained(formats, options.format.getValue()))
    return fail("option 'format': expected " +
                llvm::join(ArrayRef<StringLiteral>(formats), ", ") + "; got '" +
                options.format + "'");
  RocdlToBinaryOptions binary;
  binary.format = options.format;
  binary.optLevel = options.level;
  pm.addPass(createRocdlToBinary(binary));
  return success();
}

static LogicalResult addHostOfGPU(OpPassManager &pm,
                                  const CompileOptions &options, Fail fail) {
  pm.addPass(createLowerDeviceLaunches({options.hostAlone}));
  return addHost(pm, options, fail);
}

//===----------------------------------------------------------------------===//
// Stages of programs that are compiled op by op
//===----------------------------------------------------------------------===//

/// int-range-optimizations removes divisions by extents that torch-mlir guards with a select, and that trap
/// when an extent is zero. Results are copied to their destinations: upstream's
/// eliminate-empty-tensors puts two results that start from one fill into the same
/// destination.
static LogicalResult addPlain(OpPassManager &pm, StringRef text) {
  return parsePassPipeline(text, pm);
}

static LogicalResult addPrepare(OpPassManager &pm, const CompileOptions &,
                                Fail) {
  if (failed(addPlain(
          pm, "redfuse-destinations,"
              "redfuse-normalize-transposes,redfuse-normalize-generalize,"
              "redfuse-lower-tm-tensor,"
              "convert-elementwise-to-linalg,redfuse-widen-integers")))
    return failure();
  pm.addPass(createTensorCanonicalizer());
  if (failed(addPlain(pm, "cse,resolve-ranked-shaped-type-result-dims,"
                          "func.func(int-range-optimizations)")))
    return failure();
  pm.addPass(createTensorCanonicalizer());
  return addPlain(pm, "cse,redfuse-normalize-generalize");
}

static LogicalResult addBufferizePlain(OpPassManager &pm,
                                       const CompileOptions &, Fail) {
  return addPlain(pm, "func.func(redfuse-full-rank-slices),"
                      "one-shot-bufferize{bufferize-function-boundaries=1 "
                      "allow-return-allocs-from-loops=1 "
                      "function-boundary-type-conversion=identity-layout-map},"
                      "func.func(redfuse-assume-extents),canonicalize,cse,"
                      "buffer-deallocation-pipeline,"
                      "linalg-generalize-named-ops");
}

static LogicalResult addLoops(OpPassManager &pm, const CompileOptions &, Fail) {
  return addPlain(pm, "redfuse-interchange-reductions,"
                      "convert-linalg-to-loops,canonicalize,cse");
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

static SmallVector<Stage> listStages(PipelineKind kind) {
  if (kind == PipelineKind::Unfused)
    return {{"check", addCheck},
            {"prepare", addPrepare},
            {"bufferize", addBufferizePlain},
            {"loops", addLoops},
            {"llvm", addHost}};
  bool onCuda = kind == PipelineKind::CUDA || kind == PipelineKind::StateCUDA;
  bool onGpu = onCuda || kind == PipelineKind::ROCM;
  bool isState = kind == PipelineKind::State || kind == PipelineKind::StateCUDA;
  SmallVector<Stage> stages = {
      {"check", addCheck},
      {"normalize", onGpu ? addNormalizeForGPU : addNormalize},
      {"raise", addRaise},
      {"fuse", isState ? addFuseOfState : addFuse}};
  if (isState)
    stages.push_back({"state", addState});
  stages.append({{"schedule", addSchedule},
                 {"derive", addDerive},
                 {"outline", addOutline},
                 {"bufferize", onGpu ? addBufferizeOfGPU : addBufferize},
                 {"share", addShare}});
  if (onCuda)
    stages.append({{"plan", addPlan},
                   {"generate", addGPU},
                   {"nvvm", addNVVM},
                   {"llvm", addHostOfGPU}});
  else if (kind == PipelineKind::ROCM)
    stages.append({{"plan", addPlanOfAMD},
                   {"generate", addGPU},
                   {"rocdl", addROCDL},
                   {"binary", addBinaryOfAMD},
                   {"llvm", addHostOfGPU}});
  else
    stages.append(
        {{"plan", addPlanOfCPU}, {"generate", addCPU}, {"llvm", addHost}});
  return stages;
}

static constexpr std::pair<PipelineKind, StringLiteral> kPipelines[] = {
    {PipelineKind::CPU, "redfuse-cpu"},
    {PipelineKind::CUDA, "redfuse-cuda"},
    {PipelineKind::ROCM, "redfuse-rocm"},
    {PipelineKind::State, "redfuse-state"},
    {PipelineKind::StateCUDA, "redfuse-state-cuda"},
    {PipelineKind::Unfused, "redfuse-unfused"},
};

StringRef redfuse::getPipelineName(PipelineKind kind) {
  for (auto [other, name] : kPipelines)
    if (other == kind)
      return name;
  llvm_unreachable("not a pipeline");
}

std::optional<PipelineKind> redfuse::findPipeline(StringRef name) {
  for (auto [kind, other] : kPipelines)
    if (other == name)
      return kind;
  return std::nullopt;
}

SmallVector<StringRef> redfuse::getStages(PipelineKind kind) {
  return llvm::map_to_vector(listStages(kind), [](const Stage &stage) {
    return StringRef(stage.name);
  });
}

LogicalResult redfuse::buildPipeline(OpPassManager &pm, PipelineKind kind,
                                     const CompileOptions &options, Fail fail) {
  SmallVector<Stage> stages = listStages(kind);
  for (const std::string &name : options.stages)
    if (llvm::none_of(stages,
                      [&](const Stage &stage) { return stage.name == name; }))
      return fail("'" + getPipelineName(kind) + "' has no stage '" + name +
                  "'; expected one of " + llvm::join(getStages(kind), ", "));
  for (const Stage &stage : stages)
    if (options.stages.empty() ||
        llvm::is_contained(options.stages, stage.name))
      if (failed(stage.add(pm, options, fail)))
        return failure();
  return success();
}

void redfuse::registerPipelines() {
  static constexpr StringLiteral kWhat[] = {
      "a program for the CPU, from tensors to the LLVM dialect",
      "a program for an NVIDIA GPU: PTX, and the host in the LLVM dialect",
      "a program for an AMD GPU: machine code, and the host in the LLVM "
      "dialect",
      "init, update, merge and finalize of a program, for the CPU",
      "init, update, merge and finalize of a program, for an NVIDIA GPU",
      "a program for the CPU op by op, by upstream's passes",
  };
  for (auto [pipeline, what] : llvm::zip_equal(kPipelines, kWhat)) {
    PipelineKind kind = pipeline.first;
    registerPassPipeline(
        pipeline.second, what,
        [kind](OpPassManager &pm, StringRef text, Fail fail) -> LogicalResult {
          CompileOptions options;
          if (failed(options.parseFromString(text)))
            return failure();
          return buildPipeline(pm, kind, options, fail);
        },
        [](function_ref<void(const mlir::detail::PassOptions &)> handle) {
          handle(CompileOptions());
        });
  }
}
