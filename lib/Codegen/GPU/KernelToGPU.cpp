//===- KernelToGPU.cpp - redfuse.kernel to gpu.func -----------------------===//
//
// A kernel becomes a `gpu.func` of the module's one `gpu.module`, a block of
// threads for each block of its grid; its launch becomes a `gpu.launch_func`.
// Tiles live in shared memory, the small ones first, while they fit; the others
// in a workspace in global memory, of which every block has a part. A kernel
// with a workspace is launched with a bounded number of blocks, which take one
// tile of the grid after another.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/Common/KernelGenerator.h"
#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Common/DeviceModule.h"
#include "redfuse/Codegen/GPU/Contractions/ContractionKernel.h"
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"
#include "redfuse/Codegen/GPU/ProductPlan.h"
#include "redfuse/Codegen/GPU/RegisterPlan.h"
#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"
#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"
#include "redfuse/Codegen/GPU/Transforms/SharedCopies.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace redfuse {
#define GEN_PASS_DEF_KERNELTOGPU
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
class GpuKernelGenerator : public KernelGenerator {
public:
  GpuKernelGenerator(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                     unsigned lanes, int64_t units, const Chip *chip)
      : KernelGenerator(kernel, launch, space, lanes), units(units),
        chip(chip) {}

  LogicalResult run(gpu::GPUModuleOp module, StringRef name);

private:
  void divideTiles();
  void placeTiles(GpuEmitter &gpuEmitter);
  unsigned chooseThreads(const GpuEmitter &emitter) const;
  void synchronize() override { gpu::BarrierOp::create(b, loc); }

  int64_t units;
  const Chip *chip;
  SmallVector<TileRequest, 0> inShared, inWorkspace;
  int64_t sharedBytes = 0;
};
} // namespace

/// Which tiles go to shared memory: smallest first.
void GpuKernelGenerator::divideTiles() {
  SmallVector<TileRequest, 0> requests = requestTiles();
  auto bytesOfTile = [&](const TileRequest &request) -> std::optional<int64_t> {
    int64_t bytes = bytesOf(request.element);
    for (unsigned d : request.of) {
      std::optional<int64_t> size = getConstantIntValue(dims[d].capacity);
      if (!size || *size > kSharedBytes)
        return std::nullopt;
      bytes *= *size;
      if (bytes > kSharedBytes)
        return std::nullopt;
    }
    return llvm::alignTo(bytes, 64);
  };
  llvm::stable_sort(requests, [&](const TileRequest &a, const TileRequest &c) {
    return bytesOfTile(a).value_or(kSharedBytes + 1) <
           bytesOfTile(c).value_or(kSharedBytes + 1);
  });
  int64_t used = 0;
  for (TileRequest &request : requests) {
    std::optional<int64_t> bytes = bytesOfTile(request);
    if (bytes && used + *bytes <= kSharedBytes) {
      used += *bytes;
      inShared.push_back(std::move(request));
    } else {
      inWorkspace.push_back(std::move(request));
    }
  }
  sharedBytes = used;
}

/// As many threads as the largest nest has points, in whole warps.
unsigned GpuKernelGenerator::chooseThreads(const GpuEmitter &gpuEmitter) const {
  int64_t most = getWarpLanes(chip);
  for (auto &[op, program] : programs)
    for (const LoopNest &nest : program->getNests()) {
      int64_t points = 1;
      for (unsigned d : nest.dims.set_bits()) {
        int64_t size =
            getConstantIntValue(dims[d].capacity).value_or(kMostThreads);
        points =
            std::min<int64_t>(points * std::max<int64_t>(size, 1), 1 << 24);
      }
      if (nest.contraction && nest.contraction->matrix)
        points = gpuEmitter.threadsOf(nest);
      else if (nest.vectorDim)
        points /= lanes;
      most = std::max(most, points);
    }
  return std::min<int64_t>(kMostThreads, llvm::PowerOf2Ceil(most));
}

/// Whether the launch may write to memory that it also reads under another name.
bool redfuse::sharesMemory(LaunchOp launch) {
  auto baseOf = [](Value v) {
    while (auto view = v.getDefiningOp<ViewLikeOpInterface>())
      v = view.getViewSource();
    return v;
  };
  for (Value init : launch.getInits())
    for (OpOperand &operand : launch->getOpOperands())
      if (operand.get() != init && isa<MemRefType>(operand.get().getType()) &&
          baseOf(operand.get()) == baseOf(init))
        return true;
  for (Value init : launch.getInits())
    if (llvm::count(launch->getOperands(), init) > 1)
      return true;
  return false;
}

/// Tiles in shared memory, and behind them the memory in which teams merge.
void GpuKernelGenerator::placeTiles(GpuEmitter &gpuEmitter) {
  Value memory =
      gpu::DynamicSharedMemoryOp::create(b, loc, sharedMemoryOf(b.getI8Type()));
  SmallVector<Value> offsets;
  layOutTiles(inShared, offsets);
  cutTiles(inShared, offsets, memory);
  gpuEmitter.words.offset = sharedBytes;
  Value words =
      arith::ConstantIndexOp::create(b, loc, (kSharedBytes + sharedBytes) / 4);
  gpuEmitter.words.memory =
      memref::ViewOp::create(b, loc, sharedMemoryOf(b.getI32Type()), memory,
                             arith::ConstantIndexOp::create(b, loc, 0), words);
}

LogicalResult GpuKernelGenerator::run(gpu::GPUModuleOp module, StringRef name) {
  TileProgram::Options options;
  options.chip = chip;
  if (failed(makePrograms(options)))
    return failure();
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>())
    for (auto [reduce, why] : programs[op]->getScalarProducts())
      mlir::emitRemark(reduce.getLoc())
          << "no matrix instructions for this sum of products: " << why;
  // On the host: the grid, and the workspace.
  b.setInsertionPoint(launch);
  Value blocks = countBlocks(b, launch, space), grid = blocks;
  makeSpace(launch->getOperands());
  divideTiles();
  SmallVector<Value> arguments;
  Value workspace;
  if (!inWorkspace.empty()) {
    SmallVector<Value> offsets;
    Value bytes = layOutTiles(inWorkspace, offsets);
    grid = arith::MinUIOp::create(
        b, loc, blocks,
        arith::ConstantIndexOp::create(b, loc, units * kBlocksPerUnit));
    Value total = arith::MulIOp::create(b, loc, grid, bytes);
    workspace = memref::AllocOp::create(
        b, loc, MemRefType::get({ShapedType::kDynamic}, b.getI8Type()), total,
        b.getI64IntegerAttr(64));
    arguments = {blocks, workspace};
  }
  unsigned first = arguments.size();
  llvm::append_range(arguments, launch->getOperands());

  // In the kernel.
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types = llvm::to_vector(ValueRange(arguments).getTypes());
  auto func =
      gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  if (!sharesMemory(launch))
    func->setAttr(kReuseAttr, b.getUnitAttr());
  Block *entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  ValueRange operands = entry->getArguments().drop_front(first);
  makeSpace(operands);
  auto gpuEmitter =
      std::make_unique<GpuEmitter>(b, loc, lanes, dims, getWarpLanes(chip));
  GpuEmitter *own = gpuEmitter.get();
  // On AMD's GPUs it would be shuffles again.
  own->reducesWords = chip && chip->family == "cuda";
  emitter = std::move(gpuEmitter);
  unsigned threads = own->threads = chooseThreads(*own);
  func.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  emitter->entry = entry;
  own->isSplit =
      space.schedule && space.schedule.getKind() == ScheduleKind::Split;
  own->thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  bindOperands(operands);
  placeTiles(*own);
  if (!inWorkspace.empty()) {
    SmallVector<Value> offsets;
    Value bytes = layOutTiles(inWorkspace, offsets);
    Value start = arith::MulIOp::create(b, loc, block, bytes);
    for (Value &offset : offsets)
      offset = arith::AddIOp::create(b, loc, offset, start);
    cutTiles(inWorkspace, offsets, entry->getArgument(1));
    Value step = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
    auto loop = scf::ForOp::create(b, loc, block, entry->getArgument(0), step);
    gpu::ReturnOp::create(b, loc);
    b.setInsertionPointToStart(loop.getBody());
    block = loop.getInductionVar();
  } else {
    auto end = gpu::ReturnOp::create(b, loc);
    b.setInsertionPoint(end);
  }
  if (failed(emitBlock(block)))
    return failure();

  // The launch, now that it is known how much shared memory it takes.
  b.setInsertionPoint(launch);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value width = arith::ConstantIndexOp::create(b, loc, threads);
  Value bytes = arith::ConstantIntOp::create(b, loc, b.getI32Type(),
                                             sharedBytes + own->words.bytes);
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{grid, one, one},
                            gpu::KernelDim3{width, one, one}, bytes, arguments);
  if (workspace)
    memref::DeallocOp::create(b, loc, workspace);
  launch.erase();
  return success();
}

/// Lets the next kernel of the stream get ready while this one runs, and waits for
/// the one before, whose results are read below, at once where the kernel does not
/// do so itself. Launches ask for that where all kernels of a module wait.
static void overlapLaunches(gpu::GPUModuleOp device) {
  for (auto func : device.getOps<gpu::GPUFuncOp>()) {
    OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
    if (!func->hasAttr(kStartsNext))
      emitLaunchStart(b, func.getLoc());
    if (!func->hasAttr(kWaits))
      emitLaunchWait(b, func.getLoc());
  }
}

namespace {
struct KernelToGPU : public redfuse::impl::KernelToGPUBase<KernelToGPU> {
  using KernelToGPUBase::KernelToGPUBase;

  // Fences and counters; tiles.
  void getDependentDialects(DialectRegistry &registry) const override {
    KernelToGPUBase::getDependentDialects(registry);
    registry.insert<LLVM::LLVMDialect, tile::TileDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.walk([](LaunchOp) { return WalkResult::interrupt(); })
            .wasInterrupted() == false)
      return;
    units = getTargetOf(module).getUnits();
    chip = strict ? nullptr : getChipOf(module);
    limits = limitsOf(chip);
    device = getDeviceModule(module);
    hasMatrices = false;
    if (failed(generateLaunches(
            module, [&](KernelLaunch &from) { return generate(from); })))
      return signalPassFailure();
    if (limits.overlapsLaunches)
      overlapLaunches(device);
    if (hasMatrices)
      device->setAttr(kMostOptLevelAttr,
                      OpBuilder(module).getI64IntegerAttr(kMatrixOptLevel));
    eraseKernels(module);
  }

private:
  /// As the launch's plan says; without one, with tiles in memory.
  LogicalResult generate(KernelLaunch &from) {
    KernelSpace whole = mergeSplitsOf(from.kernel, from.space);
    for (auto way :
         {&KernelToGPU::generateOnUnits, &KernelToGPU::generateContractions,
          &KernelToGPU::generateProducts, &KernelToGPU::generateRows}) {
      FailureOr<bool> done = (this->*way)(from, whole);
      if (failed(done) || *done)
        return done;
    }
    return generateTiles(from, whole);
  }

  /// As the launch's plan says, if it has one.
  FailureOr<bool> generateOnUnits(KernelLaunch &from,
                                  const KernelSpace &whole) {
    Attribute attr = from.launch->getAttr(kPlanAttr);
    if (!attr)
      return false;
    auto refuse = [&](const Twine &why) {
      return from.launch.emitOpError("cannot run as '")
             << kPlanAttr << "' says: " << why;
    };
    auto record = dyn_cast<MatrixPlanAttr>(attr);
    if (!record)
      return refuse("expected a #redfuse.matrix_plan");
    std::optional<MatrixTarget> target = findMatrixTarget(chip);
    if (!target)
      return refuse("the target has no matrix units that are known");
    std::string why;
    std::optional<PlannedMatrix> planned =
        readPlan(from.kernel, from.launch, whole, *target, record, why);
    if (!planned)
      return refuse(why);
    hasMatrices = true;
    return asDone(generateOnMatrixUnits(from.kernel, from.launch, whole,
                                        std::move(*planned), units, device,
                                        from.name));
  }

  /// Computes the indices of a kernel in 32 bits where these are known to be enough:
  /// a thread has no instructions for more.
  LogicalResult narrowIndices(StringRef name) {
    auto func = device.lookupSymbol<gpu::GPUFuncOp>(name);
    OpPassManager pm(gpu::GPUFuncOp::getOperationName());
    arith::ArithIntRangeNarrowingOptions options;
    options.bitwidthsSupported = {32};
    pm.addPass(createCSEPass());
    pm.addPass(arith::createArithIntRangeNarrowing(options));
    pm.addPass(createCanonicalizerPass());
    return runPipeline(pm, func);
  }

  /// As one sum of products, in the tiles that the launch says, if it does.
  FailureOr<bool> generateContractions(KernelLaunch &from,
                                       const KernelSpace &whole) {
    Attribute attr = from.launch->getAttr(kContractionAttr);
    if (!attr)
      return false;
    auto refuse = [&](const Twine &why) {
      return from.launch.emitOpError("cannot run as '")
             << kContractionAttr << "' says: " << why;
    };
    auto plan = dyn_cast<ContractionPlanAttr>(attr);
    if (!plan)
      return refuse("expected a #redfuse.contraction_plan");
    if (!chip || !chip->has(AsyncCopies))
      return refuse("the target has no matrix instructions of warps that are "
                    "known");
    if (failed(generateContraction(from.kernel, from.launch, from.space, plan,
                                   *chip, device, from.name)))
      return failure();
    return asDone(narrowIndices(from.name));
  }

  /// By matrix instructions, in the tiles that the launch says, if it does.
  FailureOr<bool> generateProducts(KernelLaunch &from,
                                   const KernelSpace &whole) {
    if (!from.launch->hasAttr(kProductTilesAttr))
      return false;
    FailureOr<KernelSpace> space = takeProductTiles(from.launch, from.space);
    if (failed(space))
      return failure();
    return asDone(generateTiles(from, *space));
  }

  /// In registers, in the layout that the launch says, if it does.
  FailureOr<bool> generateRows(KernelLaunch &from, const KernelSpace &whole) {
    Attribute attr = from.launch->getAttr(kRegistersAttr);
    if (!attr)
      return false;
    auto record = dyn_cast<RegisterLayoutAttr>(attr);
    if (!record)
      return from.launch.emitOpError("cannot run as '")
             << kRegistersAttr << "' says: expected a #redfuse.register_layout";
    // A cluster does what the splits of several blocks are for.
    const KernelSpace &space = record.getCluster() > 1 ? whole : from.space;
    if (failed(generateInRegisters(from.kernel, from.launch, space,
                                   chooseLanes(from.launch), limits, record,
                                   device, from.name)))
      return failure();
    shareCopies(device.lookupSymbol<gpu::GPUFuncOp>(from.name), limits.warp);
    return true;
  }

  /// With tiles in memory, which takes every kernel.
  LogicalResult generateTiles(KernelLaunch &from, const KernelSpace &space) {
    return GpuKernelGenerator(from.kernel, from.launch, space,
                              chooseLanes(from.launch), units, chip)
        .run(device, from.name);
  }

  static FailureOr<bool> asDone(LogicalResult result) {
    if (failed(result))
      return failure();
    return true;
  }

  int64_t units = 0;
  /// Null where nothing of it may be relied on.
  const Chip *chip = nullptr;
  DeviceLimits limits;
  gpu::GPUModuleOp device;
  bool hasMatrices = false;
};
} // namespace
