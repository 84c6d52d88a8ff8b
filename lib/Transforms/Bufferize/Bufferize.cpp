//===- Bufferize.cpp - redfuse-bufferize: from tensors to buffers ---------===//
#include "redfuse/Transforms/Bufferize/Bufferize.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Canonicalize.h"
#include "redfuse/Transforms/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_BUFFERIZEHOST
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// A tensor that a loop carries keeps one buffer, where all rounds' are of the same
/// size: what a round makes elsewhere is copied there. So nobody has to ask at run
/// time whose buffer it is. For a GPU (`onGpu`) extents that are not known must be the
/// same in every round, too. Returns what is new to the analysis.
static SmallVector<bufferization::MaterializeInDestinationOp>
keepCarried(ModuleOp module, const bufferization::OneShotAnalysisState &state,
            bool onGpu) {
  SmallVector<std::pair<OpOperand *, Value>> moved;
  module.walk([&](scf::ForOp loop) {
    if (loop->getParentOfType<KernelOp>())
      return;
    for (auto [arg, yielded] :
         llvm::zip_equal(loop.getRegionIterArgs(),
                         loop.getYieldedValuesMutable().value())) {
      auto type = dyn_cast<RankedTensorType>(arg.getType());
      if (type && (onGpu || type.hasStaticShape()) &&
          !state.areEquivalentBufferizedValues(arg, yielded.get()))
        moved.emplace_back(&yielded, arg);
    }
  });
  SmallVector<bufferization::MaterializeInDestinationOp> copies;
  for (auto [yielded, arg] : moved) {
    OpBuilder b(yielded->getOwner());
    Location loc = yielded->getOwner()->getParentOp()->getLoc();
    auto type = cast<RankedTensorType>(arg.getType());
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d))
        continue;
      Value before = tensor::DimOp::create(b, loc, arg, d);
      Value after = tensor::DimOp::create(b, loc, yielded->get(), d);
      Value same = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         before, after);
      cf::AssertOp::create(b, loc, same,
                           "a loop on a GPU carries a tensor whose extents "
                           "change from round to round");
    }
    copies.push_back(bufferization::MaterializeInDestinationOp::create(
        b, yielded->getOwner()->getLoc(), arg.getType(), yielded->get(), arg));
    yielded->set(copies.back().getResult());
  }
  return copies;
}

using Analysis = std::unique_ptr<bufferization::OneShotAnalysisState>;

/// What is written in place and what is not; null where that cannot be.
static Analysis
analyse(ModuleOp module,
        const bufferization::OneShotBufferizationOptions &options) {
  auto state =
      std::make_unique<bufferization::OneShotAnalysisState>(module, options);
  if (failed(bufferization::analyzeModuleOp(module, *state)))
    return nullptr;
  return state;
}

/// The analysis after `keepCarried`, which is most of the work: once, if it stays
/// true. Where a carried tensor's buffer is still read when a round's result would be
/// copied there, the loop has new buffers, but on a GPU, where somebody else would
/// have to free them.
static Analysis
analyseLoops(ModuleOp module,
             const bufferization::OneShotBufferizationOptions &options,
             bool onGpu) {
  Analysis analysis = analyse(module, options);
  if (!analysis)
    return analysis;
  auto copies = keepCarried(module, *analysis, onGpu);
  if (copies.empty())
    return analysis;
  if (onGpu)
    return analyse(module, options);
  {
    ScopedDiagnosticHandler silent(module.getContext(),
                                   [](Diagnostic &) { return success(); });
    analysis = analyse(module, options);
  }
  if (analysis)
    return analysis;
  for (bufferization::MaterializeInDestinationOp copy : copies) {
    copy.getResult().replaceAllUsesWith(copy.getSource());
    copy.erase();
  }
  return analyse(module, options);
}

namespace {
/// A body that takes nothing and makes nothing, and asserts something, is what its
/// block does at that place.
struct InlinePoint : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumOperands() != 0 || op.getNumLoops() != 0)
      return rewriter.notifyMatchFailure(op, "it has operands or loops");
    rewriter.eraseOp(op.getBody()->getTerminator());
    rewriter.inlineBlockBefore(op.getBody(), op);
    rewriter.eraseOp(op);
    return success();
  }
};

struct PadInDestination : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::PadOp op,
                                PatternRewriter &rewriter) const override {
    return rewritePadInDestination(rewriter, op);
  }
};

/// What several ops would write into (loops that begin with one row, say) is made for
/// each, where it is a tensor without elements with a part put into it.
struct DivideBegun : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto empty = op.getDest().getDefiningOp<tensor::EmptyOp>();
    if (!empty || op->hasOneUse())
      return rewriter.notifyMatchFailure(op, "it begins nothing, or one");
    auto use = llvm::find_if(op->getUses(), [](OpOperand &use) {
      return isa<LoopLikeOpInterface>(use.getOwner());
    });
    if (use == op->getUses().end())
      return rewriter.notifyMatchFailure(op, "no loop carries it");
    auto own = cast<tensor::EmptyOp>(rewriter.clone(*empty));
    auto begun = cast<tensor::InsertSliceOp>(rewriter.clone(*op));
    begun.getDestMutable().set(own);
    rewriter.modifyOpInPlace(use->getOwner(),
                             [&] { use->set(begun.getResult()); });
    return success();
  }
};

struct BufferizeHost : public redfuse::impl::BufferizeHostBase<BufferizeHost> {
  using BufferizeHostBase::BufferizeHostBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // tensor.pad and the like: in destination style, which bufferizes.
    RewritePatternSet patterns(&getContext());
    linalg::populateConvertToDestinationStylePatterns(patterns);
    patterns.add<InlinePoint, DivideBegun>(&getContext());
    patterns.add<PadInDestination>(&getContext(), /*benefit=*/2);
    if (failed(applyPatternsGreedily(module, std::move(patterns))))
      return signalPassFailure();

    bufferization::OneShotBufferizationOptions options;
    options.allowReturnAllocsFromLoops = true;
    options.bufferizeFunctionBoundaries = true;
    options.setFunctionBoundaryTypeConversion(
        bufferization::LayoutMapOption::IdentityLayoutMap);
    // Kernels stay on tensors: their code is generated from index notation.
    options.opFilter.denyOperation([](Operation *op) {
      return isa<KernelOp>(op) || op->getParentOfType<KernelOp>();
    });
    bool onGpu = getTargetOf(module).getName() != "cpu";
    Analysis analysis = analyseLoops(module, options, onGpu);
    bufferization::BufferizationState state;
    if (!analysis ||
        failed(bufferization::insertTensorCopies(module, *analysis, state)) ||
        failed(bufferization::bufferizeModuleOp(module, options, state)))
      return signalPassFailure();
  }
};
} // namespace

LogicalResult redfuse::rewritePadInDestination(RewriterBase &rewriter,
                                               tensor::PadOp op) {
  ReifiedRankedShapedTypeDims shapes;
  if (failed(reifyResultShapes(rewriter, op, shapes)))
    return rewriter.notifyMatchFailure(op, "its extents are not known");
  RankedTensorType type = op.getResultType();
  SmallVector<int64_t> shape(type.getShape());
  for (auto [extent, size] : llvm::zip_equal(shape, shapes.front()))
    if (std::optional<int64_t> known = getConstantIntValue(size);
        known && ShapedType::isDynamic(extent))
      extent = std::max<int64_t>(*known, 0); // an assertion in front fails
  if (ArrayRef(shape) != type.getShape()) {
    Value made = op.getResult();
    rewriter.modifyOpInPlace(op, [&] { made.setType(type.clone(shape)); });
    rewriter.setInsertionPointAfter(op);
    Value cast = tensor::CastOp::create(rewriter, op.getLoc(), type, made);
    rewriter.replaceAllUsesExcept(made, cast, cast.getDefiningOp());
    rewriter.setInsertionPoint(op);
  }
  return linalg::rewriteInDestinationPassingStyle(rewriter, op);
}

void redfuse::buildBufferizePipeline(OpPassManager &pm, bool onGpu) {
  pm.addPass(createDestinations());
  pm.addPass(createTensorCanonicalizer());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createCutCarried());
  pm.addNestedPass<func::FuncOp>(createFullRankSlices());
  pm.addPass(createBufferizeHost());
  pm.addNestedPass<func::FuncOp>(createAssumeExtents());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Upstream's pipeline of deallocation, with one pass of our own.
  pm.addPass(memref::createExpandReallocPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  pm.addPass(createLowerDeallocs());
  pm.addPass(bufferization::createLowerDeallocationsPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createForwardCopies());
  pm.addPass(createSwapCarried());
  pm.addPass(createLowerScatters());
  pm.addNestedPass<func::FuncOp>(createForallToParallelLoopPass());
  // Iterations that are independent become threads of a GPU.
  if (onGpu)
    pm.addPass(createConvertLinalgToParallelLoopsPass());
  else
    pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createCanonicalizerPass());
}

void redfuse::registerBufferizePipeline() {
  PassPipelineRegistration<>(
      "redfuse-bufferize",
      "results become destination arguments, tensors of the host become "
      "buffers that are freed; what was not fused becomes loops",
      [](OpPassManager &pm) { buildBufferizePipeline(pm); });
}
