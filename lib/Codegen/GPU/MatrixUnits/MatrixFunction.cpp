//===- MatrixFunction.cpp - a kernel's function, its roles and its launch --===//
#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Common/InlinePtx.h"
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"
#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace redfuse;

/// Registers of a thread by the number of multiplying warpgroups: as compiled, and
/// of who layout.products and who multiplies. One warpgroup has enough as it is.
struct RegisterBudget {
  int64_t whole, loader, multiplier;
};
static constexpr RegisterBudget kBudgets[] = {
    {0, 0, 0}, {168, 40, 232}, {128, 32, 160}};
/// Of one multiplying warpgroup, where two blocks are on a multiprocessor.
static constexpr RegisterBudget kHalfBudget = {128, 40, 216};

static RegisterBudget budgetOf(const MatrixPlan &plan) {
  if (!plan.target.hasWarpgroups)
    return {};
  return plan.isHalf ? kHalfBudget : kBudgets[plan.consumers - 1];
}

//===----------------------------------------------------------------------===//
// The host's side
//===----------------------------------------------------------------------===//

MatrixGenerator::HostSide MatrixGenerator::makeArguments() {
  HostSide host;
  b.setInsertionPoint(launch);
  Value all =
      countBlocks(b, launch, space, [&](unsigned d) { return plan.tileOf(d); });
  host.grid = all;
  if (plan.target.hasWarpgroups)
    host.grid = arith::MinUIOp::create(b, loc, all, index(units));
  if (plan.shares() > 1)
    host.grid = arith::MulIOp::create(b, loc, all, index(plan.shares()));
  Value atLeastOne = arith::MaxUIOp::create(b, loc, host.grid, index(1));
  host.arguments = {all, arith::DivUIOp::create(b, loc, all, atLeastOne)};
  auto addMap = [&](const std::optional<MatrixTile> &tile) {
    if (tile)
      host.arguments.push_back(makeTensorMap(*tile));
  };
  if (plan.target.hasWarpgroups)
    for (const ProductTiles &load : layout.products) {
      addMap(load.right);
      addMap(load.left);
      addMap(load.kept);
    }
  if (layout.staged)
    addMap(layout.staged->tile);
  host.firstOperand = host.arguments.size();
  llvm::append_range(host.arguments, launch->getOperands());
  if (plan.groups() > 1 || plan.hasQueue)
    allocateStates(all, host.arguments, host.memory);
  return host;
}

void MatrixGenerator::emitLaunch(gpu::GPUFuncOp func, const HostSide &host) {
  b.setInsertionPoint(launch);
  Value one = index(1), width = index(plan.threads());
  Value bytes = arith::ConstantIntOp::create(b, loc, b.getI32Type(),
                                             layout.allBytes(plan.target));
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{host.grid, one, one},
                            gpu::KernelDim3{width, one, one}, bytes,
                            host.arguments);
  for (Value v : host.memory)
    memref::DeallocOp::create(b, loc, v);
  launch.erase();
}

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
  if (int64_t cluster = std::max(plan.split, plan.cluster); cluster > 1)
    func->setAttr("nvvm.cluster_dim",
                  b.getDenseI32ArrayAttr({int32_t(cluster), 1, 1}));
  if (int64_t registers = budgetOf(plan).whole)
    func->setAttr("nvvm.maxnreg", b.getI32IntegerAttr(registers));
  bool areTwo = !plan.target.hasWarpgroups && threads == 128;
  func->setAttr("nvvm.minctasm", b.getI32IntegerAttr(areTwo ? 2 : 1));
  // LLVM looks for vectors for as long as all of the rest takes, and finds none: what
  // is packed is packed already. This attribute tells it not to.
  func->setAttr("passthrough", b.getStrArrayAttr({"noimplicitfloat"}));
  entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  auto end = gpu::ReturnOp::create(b, loc);
  b.setInsertionPoint(end);
  return func;
}

void MatrixGenerator::bindArguments(const HostSide &host) {
  emitter->entry = entry;
  ValueRange operands =
      entry->getArguments().slice(host.firstOperand, launch->getNumOperands());
  if (plan.groups() > 1)
    workspace = entry->getArguments().drop_back().back();
  if (plan.groups() > 1 || plan.hasQueue)
    counters = entry->getArguments().back();
  blocks = entry->getArgument(0);
  rounds = entry->getArgument(1);
  maps = llvm::to_vector_of<Value>(
      entry->getArguments().slice(2, host.firstOperand - 2));
  bindKernel(b, kernel, operands, emitter->memrefs, emitter->captured);
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (ShapedType::isDynamic(space.staticExtents[d])) {
      ExtentSource source = *space.sources[d];
      emitter->extents[d] = memref::DimOp::create(
          b, loc, operands[source.first.getArgNumber()], source.second);
    } else {
      emitter->extents[d] = index(space.staticExtents[d]);
    }
  }
}

/// The ring, what stays beside it, results or states of others, barriers.
void MatrixGenerator::divideMemory() {
  auto space3 = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  Value shared = gpu::DynamicSharedMemoryOp::create(
      b, loc,
      MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                      MemRefLayoutAttrInterface(), space3));
  base = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, shared));
  // Where tensor maps and descriptors swizzle, they do so by the address.
  if (plan.target.hasWarpgroups)
    base = arith::AndIOp::create(b, loc, ptx.add(base, 1023), ptx.i32(-1024));
  received = stateLayout.isReceivedInRing()
                 ? base
                 : ptx.add(base, layout.ringBytes + layout.residentBytes);
  barriers = ptx.add(base, layout.tileBytes());
  receivedCount = ptx.add(barriers, layout.slots * 16 + 48);
  slotRing = tile::RingOp::create(
      b, loc,
      tile::RingType::get(b.getContext(), layout.slots, layout.slotBytes), base,
      barriers);
}

/// Which warp of the block it is, and which block of those that share a tile.
void MatrixGenerator::findNumbers() {
  auto word = [&](Value v) -> Value {
    return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), v);
  };
  thread = word(gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
  emitter->lane = arith::AndIOp::create(b, loc, thread, ptx.i32(31));
  warp = NVVM::ShflOp::create(
      b, loc, b.getI32Type(), ptx.i32(-1),
      arith::ShRUIOp::create(b, loc, thread, ptx.i32(5)), ptx.i32(0),
      ptx.i32(31), NVVM::ShflKind::idx, UnitAttr());
  group = ptx.add(arith::ShRUIOp::create(b, loc, warp, ptx.i32(2)),
                  -plan.target.loaderWarps() / 4);
  if (plan.shares() == 1)
    return;
  Value own = word(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  Value shares = ptx.i32(plan.shares());
  auto wide = [&](Value v) -> Value {
    return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), v);
  };
  rank = wide(arith::RemUIOp::create(b, loc, own, shares));
  tile = wide(arith::DivUIOp::create(b, loc, own, shares));
  Value cluster = index(plan.cluster);
  inCluster = b.createOrFold<arith::RemUIOp>(loc, rank, cluster);
  inGroups = b.createOrFold<arith::DivUIOp>(loc, rank, cluster);
}

void MatrixGenerator::byThread(int64_t number, function_ref<void()> body) {
  Value isIt = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, thread,
                                     ptx.i32(number));
  auto branch = scf::IfOp::create(b, loc, isIt, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  body();
}

void MatrixGenerator::prepareBarriers() {
  for (int64_t s = 0; s < layout.slots; ++s) {
    ptx.initBarrier(fullBarrier(ptx.i32(s)), 1);
    ptx.initBarrier(emptyBarrier(ptx.i32(s)), 4 * plan.consumers);
  }
  if (layout.residentBytes) {
    ptx.initBarrier(residentBarrier(/*isFull=*/true), 1);
    ptx.initBarrier(residentBarrier(/*isFull=*/false), 4 * plan.consumers);
  }
  if (plan.hasQueue) {
    // Who reads an answer: the loader, and every multiplying warp.
    ptx.initBarrier(queueBarrier(/*isFull=*/true), 1);
    ptx.initBarrier(queueBarrier(/*isFull=*/false), 1 + 4 * plan.consumers);
  }
  if (plan.cluster > 1)
    ptx.initBarrier(receivedBarrier(), 1);
  ptx.fenceBarriers();
  // Of every row of a state what is not padding.
  if (plan.cluster > 1)
    ptx.expect(receivedBarrier(), stateLayout.receivedBytes());
}

/// What takes nothing from the kernel before, and the wait for it: from there on
/// memory is read that it may have written.
void MatrixGenerator::emitStart(gpu::GPUFuncOp func) {
  bool hasWarpgroups = plan.target.hasWarpgroups;
  if (hasWarpgroups) {
    byThread(0, [&] { prepareBarriers(); });
    byThread(32, [&] { fetchAhead(); });
    if (plan.cluster > 1 && !stateLayout.isReceivedInRing())
      emitClusterArrive(b, loc);
  }
  if (plan.target.overlapsLaunches) {
    func->setAttr(kWaits, b.getUnitAttr());
    if (hasWarpgroups && plan.startsNextLate)
      func->setAttr(kStartsNext, b.getUnitAttr());
    emitPtx(b, loc, "griddepcontrol.wait;", "", {});
  }
  if (hasWarpgroups)
    gpu::BarrierOp::create(b, loc);
}

/// Where registers move a thread of the loader gives some to those that multiply.
void MatrixGenerator::takeRoles(bool movesRegisters,
                                function_ref<void()> loader,
                                function_ref<void()> multipliers) {
  RegisterBudget budget = budgetOf(plan);
  SmallVector<int64_t> budgets;
  if (movesRegisters)
    budgets = {budget.loader, budget.multiplier};
  auto roles = tile::RolesOp::create(
      b, loc, warp, {plan.target.loaderWarps(), 4 * plan.consumers},
      movesRegisters ? budget.whole : 0, budgets);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&roles.getBodies()[0].front());
  loader();
  b.setInsertionPointToEnd(&roles.getBodies()[1].front());
  multipliers();
}

void MatrixGenerator::emitRoles() {
  takeRoles(
      budgetOf(plan).whole && plan.split == 1,
      [&] {
        byThread(0, [&] { emitLoader(); });
        if (plan.hasQueue)
          byThread(32, [&] { emitQueue(); });
      },
      [&] { emitMultipliers(); });
}

/// Where blocks share sums: after all of them have stored theirs.
void MatrixGenerator::emitMerge() {
  ptx.synchronizeCluster();
  takeRoles(
      false, [&] { ptx.startLeaving(); },
      [&] {
        overTiles(/*isMultiplier=*/true, [&](Value block, Ring ring) {
          placeBlock(block, /*isMultiplier=*/false);
          mergePartials();
          return ring;
        });
      });
  ptx.leaveCluster();
}

LogicalResult MatrixGenerator::run(gpu::GPUModuleOp module, StringRef name) {
  if (failed(prepare()))
    return failure();
  if (plan.fold) {
    findPartialSums();
    findPivotMoves();
  }
  HostSide host = makeArguments();
  gpu::GPUFuncOp func = makeFunction(module, name, host.arguments);
  bindArguments(host);
  divideMemory();
  findNumbers();
  emitStart(func);
  if (plan.target.hasWarpgroups)
    emitRoles();
  else
    emitWarps();
  if (plan.split > 1)
    emitMerge();
  emitLaunch(func, host);
  return success();
}
