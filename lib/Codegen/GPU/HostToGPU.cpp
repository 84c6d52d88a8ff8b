//===- HostToGPU.cpp - what the host does to memory, on the GPU -----------===//
#include "RowCopies.h"

#include "redfuse/Codegen/Common/BooleanMemory.h"
#include "redfuse/Codegen/GPU/Common/DeviceConstants.h"
#include "redfuse/Codegen/GPU/Common/DeviceModule.h"
#include "redfuse/Codegen/GPU/Common/GpuAssertions.h"
#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"
#include "redfuse/Codegen/Passes.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"

namespace redfuse {
#define GEN_PASS_DEF_HOSTTOGPU
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Whether `op` itself reads or writes elements.
static bool touchesMemory(Operation *op) {
  return isa<memref::LoadOp, memref::StoreOp, memref::CopyOp, linalg::LinalgOp>(
      op);
}

/// Whether device work stands in `op`: launches and allocations stay with the
/// host, and so do loops around them.
static bool hasHostWork(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<LaunchOp, gpu::LaunchFuncOp, memref::AllocOp,
                   memref::DeallocOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether `op` is a branch of the host: its condition is the host's, and so can be
/// what it does, an op at a time, if nothing in it depends on elements.
static bool isHostBranch(Operation *op) {
  return isa<scf::IfOp>(op) &&
         !op->walk([](memref::LoadOp load) {
              return llvm::all_of(load->getUsers(),
                                  llvm::IsaPred<memref::StoreOp>)
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
}

static bool touchesMemoryInside(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return touchesMemory(inner) ? WalkResult::interrupt()
                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct HostToGPU : redfuse::impl::HostToGPUBase<HostToGPU> {
  void getDependentDialects(DialectRegistry &registry) const override {
    HostToGPUBase::getDependentDialects(registry);
    registry.insert<LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    count = 0;
    copies = {};
    for (auto func : module.getOps<func::FuncOp>()) {
      // Shapes functions write extents to memory of the host.
      if (func.isExternal() || func.getSymName().ends_with("__shapes"))
        continue;
      moveConstants(func);
      for (Block &block : func.getBody())
        if (failed(outline(block)))
          return signalPassFailure();
    }
    for (auto device : module.getOps<gpu::GPUModuleOp>()) {
      if (failed(expandCopies(device)))
        return signalPassFailure();
      RewritePatternSet patterns(&getContext());
      redfuse::populateBooleanMemoryPatterns(patterns);
      if (failed(applyPatternsGreedily(device, std::move(patterns))))
        return signalPassFailure();
      if (failed(reportAssertions(device)))
        return signalPassFailure();
    }
  }

  /// A copy inside of what one thread does is a loop.
  static LogicalResult expandCopies(gpu::GPUModuleOp device) {
    IRRewriter rewriter(device.getContext());
    SmallVector<memref::CopyOp> copies;
    device.walk([&](memref::CopyOp op) { copies.push_back(op); });
    for (memref::CopyOp op : copies) {
      rewriter.setInsertionPoint(op);
      auto generic = cast<linalg::LinalgOp>(
          linalg::makeMemRefCopyOp(rewriter, op.getLoc(), op.getSource(),
                                   op.getTarget())
              .getOperation());
      rewriter.eraseOp(op);
      if (failed(linalg::linalgOpToLoops(rewriter, generic)))
        return failure();
      rewriter.eraseOp(generic);
    }
    return success();
  }

  /// A thread that stopped would take the GPU's context with it: where an
  /// assertion fails it is told, and what follows in the block is left out. What
  /// that would have yielded is 0.
  static LogicalResult reportAssertions(gpu::GPUModuleOp device) {
    SmallVector<cf::AssertOp> assertions;
    device.walk([&](cf::AssertOp op) { assertions.push_back(op); });
    // The last of a block first: what it guards is part of what others do.
    for (cf::AssertOp op : llvm::reverse(assertions)) {
      OpBuilder b(op);
      Location loc = op.getLoc();
      Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
      Value failed = arith::XOrIOp::create(b, loc, op.getArg(), yes);
      reportFailure(b, loc, failed, op.getMsg());
      if (mlir::failed(guardRest(op)))
        return failure();
      op.erase();
    }
    return success();
  }

  /// Moves what follows `op` in its block into a branch that it must hold for.
  static LogicalResult guardRest(cf::AssertOp op) {
    Block *block = op->getBlock();
    Operation *end = block->getTerminator();
    SmallVector<Value> used;
    for (Operation &rest :
         llvm::make_range(std::next(op->getIterator()), end->getIterator()))
      for (Value v : rest.getResults())
        if (llvm::is_contained(end->getOperands(), v)) {
          if (!v.getType().isIntOrIndexOrFloat())
            return op.emitError("an assertion about memory that a loop on the "
                                "GPU carries; expected one of numbers");
          used.push_back(v);
        }
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Location loc = op.getLoc();
    auto branch = scf::IfOp::create(b, loc, ValueRange(used).getTypes(),
                                    op.getArg(), /*addThenBlock=*/true,
                                    /*addElseBlock=*/!used.empty());
    Block *then = branch.thenBlock();
    then->getOperations().splice(then->begin(), block->getOperations(),
                                 std::next(branch->getIterator()),
                                 end->getIterator());
    b.setInsertionPointToEnd(then);
    scf::YieldOp::create(b, loc, used);
    if (used.empty())
      return success();
    b.setInsertionPointToEnd(branch.elseBlock());
    SmallVector<Value> zeros;
    for (Value v : used)
      zeros.push_back(
          arith::ConstantOp::create(b, loc, b.getZeroAttr(v.getType())));
    scf::YieldOp::create(b, loc, zeros);
    for (auto [v, result] : llvm::zip_equal(used, branch.getResults()))
      end->replaceUsesOfWith(v, result);
    return success();
  }

  /// Constant tensors are copied to the GPU, once a program and GPU.
  static void moveConstants(func::FuncOp func) {
    func.walk([&](memref::GetGlobalOp global) {
      auto b = OpBuilder::atBlockBegin(&func.getBody().front());
      auto copy = memref::AllocOp::create(b, global.getLoc(), global.getType());
      copy->setAttr(kConstantAttr, global.getNameAttr());
      global.replaceAllUsesWith(copy.getResult());
      global.erase();
    });
  }

  /// Outlines the largest pieces of `block` that touch memory.
  LogicalResult outline(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!touchesMemoryInside(&op))
        continue;
      if (hasHostWork(&op) || isHostBranch(&op)) {
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            if (failed(outline(inner)))
              return failure();
        continue;
      }
      if (failed(outline(&op)))
        return failure();
    }
    return success();
  }

  /// Whether nothing is written between `load` and `store`, which is in its block.
  static bool isUnchangedAt(memref::LoadOp load, Operation *store) {
    if (store->getBlock() != load->getBlock())
      return false;
    for (Operation *op = load->getNextNode(); op != store;
         op = op->getNextNode())
      if (!isMemoryEffectFree(op) &&
          !isa<memref::LoadOp, memref::AllocOp, cf::AssertOp>(op))
        return false;
    return true;
  }

  /// The loads right in front of `store` that are for it alone.
  static SmallVector<Operation *> loadsOf(memref::StoreOp store) {
    SmallVector<Operation *> loads;
    for (Operation *op = store->getPrevNode();
         isa_and_present<memref::LoadOp>(op) && op->hasOneUse() &&
         *op->user_begin() == store.getOperation();
         op = op->getPrevNode())
      loads.push_back(op);
    std::reverse(loads.begin(), loads.end());
    return loads;
  }

  /// A value on its way from one buffer to others never comes to the host: each
  /// store has a load of its own in front, which goes into its kernel. Where the
  /// buffer may have changed by then, the value has been put into one of its own.
  LogicalResult bringToStores(memref::LoadOp load) {
    Location loc = load.getLoc();
    auto first = cast<memref::StoreOp>(*load->user_begin());
    if (llvm::is_contained(loadsOf(first), load.getOperation()))
      return success();
    Operation *last = nullptr; // the last in this block that has a store
    bool isUnchanged = true;
    for (Operation *user : load->getUsers()) {
      isUnchanged &= isUnchangedAt(load, user);
      Operation *around = load->getBlock()->findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(around))
        last = around;
    }
    OpBuilder b(load);
    Value kept;
    if (!isUnchanged)
      kept =
          memref::AllocOp::create(b, loc, MemRefType::get({}, load.getType()));
    for (OpOperand &use : llvm::make_early_inc_range(load->getUses())) {
      b.setInsertionPoint(use.getOwner());
      Operation *again = kept ? memref::LoadOp::create(b, loc, kept)
                              : b.clone(*load.getOperation());
      use.set(again->getResult(0));
    }
    if (!kept) {
      load.erase();
      return success();
    }
    b.setInsertionPointAfter(last);
    memref::DeallocOp::create(b, loc, kept);
    b.setInsertionPointAfter(load);
    auto keep = memref::StoreOp::create(b, loc, load, kept);
    return launch({load, keep});
  }

  LogicalResult outline(Operation *op) {
    if (op->getNumResults() != 0) {
      if (op->use_empty()) {
        op->erase();
        return success();
      }
      if (auto load = dyn_cast<memref::LoadOp>(op);
          load &&
          llvm::all_of(load->getUsers(), llvm::IsaPred<memref::StoreOp>))
        return bringToStores(load);
      return op->emitError(
          "a value in the GPU's memory decides what the host does next; "
          "expected conditions, counts and extents made of arguments: take it "
          "as an argument, select between results (arith.select), or compile "
          "for the CPU");
    }
    SmallVector<Operation *> ops;
    if (auto store = dyn_cast<memref::StoreOp>(op))
      ops = loadsOf(store);
    ops.push_back(asParallelLoop(op));
    return launch(ops);
  }

  /// The loop that does what a structured op on buffers does (the filling of what is
  /// padded, say), if it has parallel dims: these are one loop; else the op itself.
  static Operation *asParallelLoop(Operation *op) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured || !structured.hasPureBufferSemantics() ||
        structured.getNumParallelLoops() == 0)
      return op;
    IRRewriter rewriter(op);
    FailureOr<linalg::LinalgLoops> loops =
        linalg::linalgOpToParallelLoops(rewriter, structured);
    if (failed(loops))
      return op;
    rewriter.eraseOp(op);
    return loops->front();
  }

  /// What the host has and `ops` use: constants, which are made again in the kernel,
  /// and its arguments.
  static void findUsed(ArrayRef<Operation *> ops, SmallVector<Value> &arguments,
                       SmallVector<Value> &constants) {
    llvm::SetVector<Value> used;
    llvm::SmallPtrSet<Operation *, 4> moved(ops.begin(), ops.end());
    for (Operation *op : ops) {
      for (Value v : op->getOperands())
        if (!v.getDefiningOp() || !moved.contains(v.getDefiningOp()))
          used.insert(v);
      getUsedValuesDefinedAbove(op->getRegions(), used);
    }
    for (Value v : used) {
      Operation *def = v.getDefiningOp();
      bool isConstant = def && def->hasTrait<OpTrait::ConstantLike>() &&
                        !isa<ShapedType>(v.getType());
      (isConstant ? constants : arguments).push_back(v);
    }
  }

  /// Whether the iterations of an op are independent: a copy, or a parallel loop.
  static bool canSpread(Operation *op) {
    auto nest = dyn_cast<scf::ParallelOp>(op);
    return isa<memref::CopyOp>(op) || (nest && nest.getNumReductions() == 0);
  }

  /// How many iterations such an op has along each of its dims.
  static SmallVector<Value> extentsOf(OpBuilder &b, Operation *op) {
    Location loc = op->getLoc();
    SmallVector<Value> extents;
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      for (int64_t d = 0; d < copy.getSource().getType().getRank(); ++d)
        extents.push_back(
            b.createOrFold<memref::DimOp>(loc, copy.getSource(), d));
      return extents;
    }
    auto nest = cast<scf::ParallelOp>(op);
    for (auto [lower, upper, step] : llvm::zip_equal(
             nest.getLowerBound(), nest.getUpperBound(), nest.getStep()))
      extents.push_back(b.createOrFold<arith::CeilDivUIOp>(
          loc, b.createOrFold<arith::SubIOp>(loc, upper, lower), step));
    return extents;
  }

  /// Iterations, if that is known; else the largest number.
  static int64_t countPoints(ValueRange extents) {
    int64_t count = 1;
    for (Value extent : extents) {
      std::optional<int64_t> known = getConstantIntValue(extent);
      count = known && count <= INT32_MAX ? count * *known : INT64_MAX;
    }
    return count;
  }

  /// Of a thread, one block of threads behind the other: blocks of one each would start
  /// and end most of the time.
  static int64_t pointsOfThread(int64_t points) {
    return points >= kManyMapPoints && points != INT64_MAX ? kPointsOfMapThread
                                                           : 1;
  }

  /// Iterations of such an op, those of the thread's number, if there are any.
  static void spread(OpBuilder &k, Operation *op, ValueRange extents,
                     IRMapping &mapping) {
    Location loc = op->getLoc();
    // Numbers of 32 bits where that is known to be enough.
    int64_t most = countPoints(extents);
    Type word = k.getIndexType();
    if (most <= INT32_MAX - kMapThreads * kPointsOfMapThread)
      word = k.getI32Type();
    auto asWord = [&](Value v) {
      return word.isIndex()
                 ? v
                 : k.createOrFold<arith::IndexCastUIOp>(loc, word, v);
    };
    auto asIndex = [&](Value v) {
      return word.isIndex() ? v
                            : k.createOrFold<arith::IndexCastUIOp>(
                                  loc, k.getIndexType(), v);
    };
    int64_t ofThread = pointsOfThread(most);
    Value number = arith::AddIOp::create(
        k, loc,
        arith::MulIOp::create(
            k, loc, asWord(gpu::BlockIdOp::create(k, loc, gpu::Dimension::x)),
            asWord(arith::ConstantIndexOp::create(k, loc,
                                                  kMapThreads * ofThread))),
        asWord(gpu::ThreadIdOp::create(k, loc, gpu::Dimension::x)));
    if (ofThread > 1) {
      auto loop = scf::ForOp::create(
          k, loc, arith::ConstantIndexOp::create(k, loc, 0),
          arith::ConstantIndexOp::create(k, loc, kMapThreads * ofThread),
          arith::ConstantIndexOp::create(k, loc, kMapThreads));
      k.setInsertionPoint(loop.getBody()->getTerminator());
      number =
          arith::AddIOp::create(k, loc, number, asWord(loop.getInductionVar()));
    }
    Value points = asWord(arith::ConstantIndexOp::create(k, loc, 1));
    for (Value extent : extents)
      points = k.createOrFold<arith::MulIOp>(loc, points, asWord(extent));
    Value exists = arith::CmpIOp::create(k, loc, arith::CmpIPredicate::ult,
                                         number, points);
    auto branch = scf::IfOp::create(k, loc, exists, /*withElse=*/false);
    k.setInsertionPoint(branch.thenYield());
    SmallVector<Value> at(extents.size());
    for (size_t i = extents.size(); i-- > 0;) {
      Value extent = asWord(extents[i]);
      at[i] = asIndex(arith::RemUIOp::create(k, loc, number, extent));
      number = arith::DivUIOp::create(k, loc, number, extent);
    }
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      Value v =
          memref::LoadOp::create(k, loc, mapping.lookup(copy.getSource()), at);
      memref::StoreOp::create(k, loc, v, mapping.lookup(copy.getTarget()), at);
      return;
    }
    auto nest = cast<scf::ParallelOp>(op);
    for (size_t i = 0; i < at.size(); ++i) {
      Value step = mapping.lookup(nest.getStep()[i]);
      Value lower = mapping.lookup(nest.getLowerBound()[i]);
      Value scaled = arith::MulIOp::create(k, loc, at[i], step);
      mapping.map(nest.getInductionVars()[i],
                  arith::AddIOp::create(k, loc, scaled, lower).getResult());
    }
    for (Operation &inner : nest.getBody()->without_terminator())
      k.clone(inner, mapping);
  }

  /// Moves `ops` into a kernel of one thread, or of a thread an iteration if it
  /// is one parallel loop.
  LogicalResult launch(ArrayRef<Operation *> ops) {
    Operation *last = ops.back();
    gpu::GPUModuleOp device = getDeviceModule(getOperation());
    auto makeName = [&] {
      return makeKernelName(device, "host_" + std::to_string(count++));
    };
    if (auto copy = dyn_cast<memref::CopyOp>(last);
        copy && ops.size() == 1 && copies.launch(copy, device, makeName))
      return success();
    OpBuilder b(last);
    Location loc = last->getLoc();
    SmallVector<Value> arguments, constants;
    findUsed(ops, arguments, constants);
    Value threads = arith::ConstantIndexOp::create(b, loc, kMapThreads);
    Value one = arith::ConstantIndexOp::create(b, loc, 1), blocks = one;
    Value shared = arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0);
    bool isSpread = ops.size() == 1 && canSpread(last);
    SmallVector<Value> extents;
    if (isSpread) {
      extents = extentsOf(b, last);
      Value points = one;
      for (Value extent : extents)
        points = b.createOrFold<arith::MulIOp>(loc, points, extent);
      Value ofBlock = arith::ConstantIndexOp::create(
          b, loc, kMapThreads * pointsOfThread(countPoints(extents)));
      blocks = b.createOrFold<arith::CeilDivUIOp>(loc, points, ofBlock);
    } else {
      threads = one;
    }
    // Extents that are known are constants of the kernel.
    size_t firstExtent = arguments.size();
    for (Value extent : extents)
      if (!getConstantIntValue(extent))
        arguments.push_back(extent);

    OpBuilder k = OpBuilder::atBlockEnd(device.getBody());
    auto func = gpu::GPUFuncOp::create(
        k, loc, makeName(),
        b.getFunctionType(llvm::to_vector(ValueRange(arguments).getTypes()),
                          {}));
    func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    Block *entry = &func.getBody().front();
    k.setInsertionPointToStart(entry);
    IRMapping mapping;
    mapping.map(ArrayRef(arguments).take_front(firstExtent),
                entry->getArguments().take_front(firstExtent));
    for (Value v : constants)
      mapping.map(v, k.clone(*v.getDefiningOp())->getResult(0));
    auto end = gpu::ReturnOp::create(k, loc);
    k.setInsertionPoint(end);
    if (isSpread) {
      ValueRange given = entry->getArguments().drop_front(firstExtent);
      SmallVector<Value> inKernel;
      for (Value extent : extents) {
        if (std::optional<int64_t> known = getConstantIntValue(extent)) {
          inKernel.push_back(arith::ConstantIndexOp::create(k, loc, *known));
          continue;
        }
        inKernel.push_back(given.front());
        given = given.drop_front();
      }
      spread(k, last, inKernel, mapping);
    } else
      for (Operation *op : ops)
        k.clone(*op, mapping);
    gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{blocks, one, one},
                              gpu::KernelDim3{threads, one, one}, shared,
                              arguments);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    return success();
  }

  unsigned count = 0;
  RowCopies copies;
};
} // namespace
