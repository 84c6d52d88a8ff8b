//===- MatrixGenerator.cpp - the function, roles and launch ---------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"

#include "CascadeMainloop.h"
#include "FoldMainloop.h"
#include "HostLaunch.h"
#include "MmaSyncStep.h"
#include "PingPong.h"
#include "Producer.h"
#include "SplitMerge.h"
#include "SumMerge.h"
#include "WgmmaStep.h"

#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Common/InlinePtx.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"
#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace redfuse;

static RegisterBudget budgetOf(const MatrixPlan &plan) {
  if (!plan.target.hasWgmma)
    return {};
  return plan.isHalf ? kHalfBudget : kBudgets[plan.consumers - 1];
}

namespace {
class MatrixGenerator : KernelPart {
public:
  explicit MatrixGenerator(MatrixKernel &of) : KernelPart(of) {}

  void run(gpu::GPUModuleOp module, StringRef name);

private:
  gpu::GPUFuncOp makeFunction(gpu::GPUModuleOp module, StringRef name,
                              ArrayRef<Value> arguments);
  void findSplit(Value number);
  void findNumbers();
  void emitStart(gpu::GPUFuncOp func);
  void takeRoles(bool movesRegisters, function_ref<void()> producer,
                 function_ref<void()> consumers);
  void emitRoles();
  void emitConsumers();
  PipelineState consumeFold(PipelineState ring);
  PipelineState consumeCascade(PipelineState ring);
  void emitWarps();
  void emitMerge();

  HostLaunch host{of};
  TilePipeline pipeline{of};
  SharedStorage storage{of, pipeline};
  StreamRanges stream{of};
  SumRanges sums{of};
  TilePlacement placement{of, stream};
  TileScheduler scheduler{of, storage, pipeline};
  Producer producer{of, storage, pipeline, scheduler, placement, stream, sums};
  // Consumers.
  Products products{of, storage, pipeline, placement, sums};
  StreamPosition position;
  RowSums rowSums{of};
  PivotUpdates pivots{of, position};
  PingPong pingPong{of};
  WarpCopies copies{of, storage, pipeline, placement, stream};
  WgmmaStep wgmmaStep{of, pipeline, products, pivots, position, pingPong};
  MmaSyncStep mmaSyncStep{of, pipeline, products, pivots, position, copies};
  FoldMainloop fold{of,
                    storage,
                    pipeline,
                    scheduler,
                    placement,
                    stream,
                    products,
                    position,
                    plan.target.hasWgmma ? static_cast<FoldStep &>(wgmmaStep)
                                         : mmaSyncStep,
                    rowSums};
  CascadeMainloop cascade{of, pipeline, products, sums, copies};
  Epilogue epilogue{of, storage, placement};
  SumMerge sumMerge{of, storage, placement, epilogue};
  SplitMerge splitMerge{of, storage, placement, epilogue};
};
} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Leaves the insertion point at its end.
gpu::GPUFuncOp MatrixGenerator::makeFunction(gpu::GPUModuleOp module,
                                             StringRef name,
                                             ArrayRef<Value> arguments) {
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types = llvm::to_vector(ValueRange(arguments).getTypes());
  auto func =
      gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  int64_t threads = plan.threads();
  func.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  if (int64_t cluster =
          std::max({plan.sumSplits, plan.cluster, plan.multicast()});
      cluster > 1)
    func->setAttr("nvvm.cluster_dim",
                  b.getDenseI32ArrayAttr({int32_t(cluster), 1, 1}));
  if (int64_t registers = budgetOf(plan).whole)
    func->setAttr("nvvm.maxnreg", b.getI32IntegerAttr(registers));
  bool areTwo = !plan.target.hasWgmma && threads == 128;
  func->setAttr("nvvm.minctasm", b.getI32IntegerAttr(areTwo ? 2 : 1));
  // LLVM looks for vectors for as long as all of the rest takes, and finds none: what
  // is packed is packed already (pairs by redfuse-pair-loads). This attribute tells it
  // not to.
  func->setAttr("passthrough", b.getStrArrayAttr({"noimplicitfloat"}));
  Block *entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  auto end = gpu::ReturnOp::create(b, loc);
  b.setInsertionPoint(end);
  return func;
}

/// Some tiles of rows, whose operands the L2 cache has room for, with all splits of the columns,
/// one split after another; then the next tiles.
void MatrixGenerator::findSplit(Value number) {
  int64_t elements = space.staticExtents[plan.products.front().k];
  int64_t most = plan.rowTilesInCache(elements);
  Value tiles = toWord(of.arguments.tiles), all = ptx.i32(most);
  Value band = ptx.i32(most * plan.splits);
  Value first =
      ptx.mul(arith::DivUIOp::create(b, loc, number, band).getResult(), most);
  Value inBand = arith::RemUIOp::create(b, loc, number, band);
  // The last band may have fewer.
  Value rows = arith::MinUIOp::create(
      b, loc, all, arith::SubIOp::create(b, loc, tiles, first));
  of.block.rank = toIndex(arith::DivUIOp::create(b, loc, inBand, rows));
  of.block.tile = toIndex(
      ptx.add(first, arith::RemUIOp::create(b, loc, inBand, rows).getResult()));
}

/// Which warp of the block it is, and which block of those that share a tile.
void MatrixGenerator::findNumbers() {
  of.ids.thread = toWord(gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
  place.lane = arith::AndIOp::create(b, loc, of.ids.thread, ptx.i32(31));
  of.ids.warp = NVVM::ShflOp::create(
      b, loc, b.getI32Type(), ptx.i32(-1),
      arith::ShRUIOp::create(b, loc, of.ids.thread, ptx.i32(5)), ptx.i32(0),
      ptx.i32(31), NVVM::ShflKind::idx, UnitAttr());
  of.ids.consumer =
      ptx.add(arith::ShRUIOp::create(b, loc, of.ids.warp, ptx.i32(2)),
              -plan.target.loaderWarps() / 4);
  if (plan.shares() == 1 && plan.multicast() == 1)
    return;
  Value own = toWord(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  if (plan.multicast() > 1) {
    // Rows run fastest.
    of.block.rankInCluster =
        arith::AndIOp::create(b, loc, own, ptx.i32(plan.multicast() - 1));
    Value rank = toIndex(of.block.rankInCluster);
    of.block.clusterRow =
        b.createOrFold<arith::RemUIOp>(loc, rank, index(plan.clusterRows));
    of.block.clusterColumn =
        b.createOrFold<arith::DivUIOp>(loc, rank, index(plan.clusterRows));
    if (plan.shares() == 1)
      return;
    own = arith::DivUIOp::create(b, loc, own, ptx.i32(plan.multicast()));
  }
  if (plan.foldsTiledSums() && plan.cluster == 1) {
    findSplit(own);
  } else {
    Value shares = ptx.i32(plan.shares());
    of.block.rank = toIndex(arith::RemUIOp::create(b, loc, own, shares));
    of.block.tile = toIndex(arith::DivUIOp::create(b, loc, own, shares));
  }
  Value cluster = index(plan.cluster);
  of.block.inCluster =
      b.createOrFold<arith::RemUIOp>(loc, of.block.rank, cluster);
  of.block.inGroups =
      b.createOrFold<arith::DivUIOp>(loc, of.block.rank, cluster);
}

/// What takes nothing from the kernel before, and the wait for it: from there on
/// memory is read that it may have written.
void MatrixGenerator::emitStart(gpu::GPUFuncOp func) {
  bool hasWgmma = plan.target.hasWgmma;
  if (hasWgmma) {
    byThread(0, [&] { storage.initBarriers(); });
    storage.clearAbsentRows();
    byThread(32, [&] { producer.fetchAhead(); });
    if (plan.multicast() > 1 ||
        (plan.cluster > 1 && !StateLayout(plan, space).isReceivedInRing()))
      emitClusterArrive(b, loc);
  }
  if (plan.target.overlapsLaunches) {
    func->setAttr(kWaits, b.getUnitAttr());
    if (hasWgmma && plan.startsNextLate)
      func->setAttr(kStartsNext, b.getUnitAttr());
    emitPtx(b, loc, "griddepcontrol.wait;", "", {});
  }
  // Others copy to this block when its barriers are there.
  if (plan.multicast() > 1)
    emitClusterWait(b, loc);
  if (hasWgmma)
    gpu::BarrierOp::create(b, loc);
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Where registers move a thread of the producer gives some to those that multiply.
void MatrixGenerator::takeRoles(bool movesRegisters,
                                function_ref<void()> producer,
                                function_ref<void()> consumers) {
  RegisterBudget budget = budgetOf(plan);
  SmallVector<int64_t> budgets;
  if (movesRegisters)
    budgets = {budget.producer, budget.consumer};
  auto roles = tile::RolesOp::create(
      b, loc, of.ids.warp, {plan.target.loaderWarps(), 4 * plan.consumers},
      movesRegisters ? budget.whole : 0, budgets);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&roles.getBodies()[0].front());
  producer();
  b.setInsertionPointToEnd(&roles.getBodies()[1].front());
  consumers();
}

void MatrixGenerator::emitRoles() {
  takeRoles(
      budgetOf(plan).whole && plan.sumSplits == 1,
      [&] {
        byThread(0, [&] { producer.emit(); });
        if (plan.hasDynamicScheduler)
          byThread(32, [&] { scheduler.answerRequests(); });
      },
      [&] { emitConsumers(); });
}

void MatrixGenerator::emitConsumers() {
  pingPong.around([&] {
    scheduler.forEachTile(
        /*isConsumer=*/true, [&](Value tile, PipelineState ring) {
          placement.enter(tile, /*isConsumer=*/true);
          return plan.stream ? consumeFold(ring) : consumeCascade(ring);
        });
  });
  epilogue.finish();
}

PipelineState MatrixGenerator::consumeFold(PipelineState ring) {
  DenseMap<unsigned, Fragment> states = fold.run(ring);
  if (plan.splits > 1) {
    splitMerge.run(states);
    return ring;
  }
  placement.placeThread();
  epilogue.finalize(states);
  return ring;
}

PipelineState MatrixGenerator::consumeCascade(PipelineState ring) {
  ring = cascade.run(ring);
  if (plan.sumSplits > 1)
    sumMerge.store();
  else
    epilogue.storeResults();
  return ring;
}

/// One tile, for which all warps copy and multiply.
void MatrixGenerator::emitWarps() {
  placement.enter(scheduler.firstTile(), /*isConsumer=*/true);
  if (plan.stream) {
    consumeFold(pipeline.start());
    return;
  }
  cascade.runWithMmaSync();
  epilogue.storeResults();
}

/// Where blocks share sums: after all of them have stored theirs.
void MatrixGenerator::emitMerge() {
  ptx.synchronizeCluster();
  takeRoles(
      false, [&] { ptx.startLeaving(); },
      [&] {
        scheduler.forEachTile(
            /*isConsumer=*/true, [&](Value tile, PipelineState ring) {
              placement.enter(tile, /*isConsumer=*/false);
              sumMerge.merge();
              return ring;
            });
      });
  ptx.leaveCluster();
}

void MatrixGenerator::run(gpu::GPUModuleOp module, StringRef name) {
  if (plan.fold) {
    rowSums.find();
    pivots.find(rowSums.getSums());
  }
  gpu::GPUFuncOp func = makeFunction(module, name, host.makeArguments());
  host.bindArguments(&func.getBody().front());
  storage.divide();
  findNumbers();
  emitStart(func);
  if (plan.target.hasWgmma)
    emitRoles();
  else
    emitWarps();
  if (plan.sumSplits > 1)
    emitMerge();
  host.emit(func);
}

LogicalResult redfuse::generateOnMatrixUnits(KernelOp kernel, LaunchOp launch,
                                             const KernelSpace &space,
                                             PlannedMatrix planned,
                                             int64_t units,
                                             gpu::GPUModuleOp module,
                                             StringRef name) {
  MatrixKernel of(kernel, launch, space, std::move(planned), units);
  if (failed(of.analyse()))
    return failure();
  MatrixGenerator(of).run(module, name);
  return success();
}
