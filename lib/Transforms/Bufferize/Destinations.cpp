//===- Destinations.cpp - redfuse-destinations: results as arguments ------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Dialect/Redfuse/IR/Selection.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace redfuse {
#define GEN_PASS_DEF_DESTINATIONS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// The value that `value` was made of by ops that write elements and leave the
/// shape: an argument of the block around them, or made by another op. Loops of a
/// GPU's host (`onGpu`) keep the shapes of what they carry: redfuse-bufferize
/// checks it.
static Value shapedBy(Value value, bool onGpu) {
  auto isCarried = [&](Value from, Value argument) {
    return shapedBy(from, onGpu) == argument;
  };
  while (auto result = dyn_cast<OpResult>(value)) {
    unsigned number = result.getResultNumber();
    Operation *op = result.getOwner();
    Value before;
    if (auto written = dyn_cast<DestinationStyleOpInterface>(op)) {
      if (OpOperand *init = written.getTiedOpOperand(result))
        before = init->get();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (onGpu || isCarried(loop.getYieldedValues()[number],
                             loop.getRegionIterArgs()[number]))
        before = loop.getInitArgs()[number];
    } else if (auto loop = dyn_cast<scf::ForallOp>(op)) {
      before = loop.getOutputs()[number];
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      if (number < loop.getInits().size() &&
          isCarried(loop.getConditionOp().getArgs()[number],
                    loop.getBeforeArguments()[number]) &&
          isCarried(loop.getYieldedValues()[number],
                    loop.getAfterArguments()[number]))
        before = loop.getInits()[number];
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Value first = shapedBy(branch.thenYield().getOperand(number), onGpu);
      if (first == shapedBy(branch.elseYield().getOperand(number), onGpu) &&
          !branch->isAncestor(first.getParentBlock()->getParentOp()))
        before = first;
    } else if (isa<tensor::InsertOp>(op)) {
      before = cast<tensor::InsertOp>(op).getDest();
    }
    if (!before || before.getType() != value.getType())
      break;
    value = before;
  }
  return value;
}

namespace {
/// Extents of what loops and branches hand on are those of what they began with.
struct DimOfCarried : OpRewritePattern<tensor::DimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::DimOp op,
                                PatternRewriter &rewriter) const override {
    Value source = shapedBy(op.getSource(), getTargetOf(op).getName() != "cpu");
    if (source == op.getSource())
      return rewriter.notifyMatchFailure(op, "not of a value that is carried");
    rewriter.modifyOpInPlace(op, [&] { op.getSourceMutable().set(source); });
    return success();
  }
};

/// A branch yields the extents of its tensors beside them, each of its own.
struct DimOfBranch : OpRewritePattern<tensor::DimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::DimOp op,
                                PatternRewriter &rewriter) const override {
    auto result = dyn_cast<OpResult>(op.getSource());
    auto branch = result ? dyn_cast<scf::IfOp>(result.getOwner()) : scf::IfOp();
    std::optional<int64_t> dim = op.getConstantIndex();
    if (!branch || !dim ||
        shapedBy(result, getTargetOf(op).getName() != "cpu") != result)
      return rewriter.notifyMatchFailure(op, "not of a branch's own value");
    Location loc = op.getLoc();
    SmallVector<Type> types = llvm::to_vector(branch.getResultTypes());
    types.push_back(rewriter.getIndexType());
    rewriter.setInsertionPoint(branch);
    auto wider = scf::IfOp::create(rewriter, loc, types, branch.getCondition(),
                                   /*addThenBlock=*/false,
                                   /*addElseBlock=*/false);
    for (auto [from, to] :
         llvm::zip_equal(branch->getRegions(), wider->getRegions())) {
      rewriter.inlineRegionBefore(from, to, to.end());
      auto yield = cast<scf::YieldOp>(to.front().getTerminator());
      rewriter.setInsertionPoint(yield);
      Value extent = tensor::DimOp::create(
          rewriter, loc, yield.getOperand(result.getResultNumber()), *dim);
      rewriter.modifyOpInPlace(
          yield, [&] { yield.getResultsMutable().append(extent); });
    }
    rewriter.replaceOp(op, wider->getResults().back());
    rewriter.replaceOp(branch, wider->getResults().drop_back());
    return success();
  }
};
} // namespace

/// Whether elements are read or computed in `func`.
static bool touchesElements(func::FuncOp func) {
  return func
      .walk([](Operation *op) {
        return isa<LaunchOp, SelectOp, ScatterOp, linalg::LinalgOp,
                   LoopLikeOpInterface, tensor::ExtractOp, tensor::InsertOp,
                   tensor::InsertSliceOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// `name__shapes`: writes the extents of all results, one after another, and
/// asserts what `func` does if it `asserts`.
static FailureOr<func::FuncOp> makeShapes(func::FuncOp func, bool asserts) {
  OpBuilder b(func);
  auto shapes = cast<func::FuncOp>(b.clone(*func));
  shapes.setSymName((func.getSymName() + "__shapes").str());
  shapes->removeAttr(kRefusedAttr);
  Location loc = func.getLoc();
  auto indices = MemRefType::get({ShapedType::kDynamic}, b.getIndexType());
  if (failed(shapes.insertArgument(shapes.getNumArguments(), indices, {}, loc)))
    return failure();
  Value out = shapes.getArguments().back();
  if (!asserts) {
    shapes.walk([](cf::AssertOp assertion) { assertion.erase(); });
    // Kernels that assert are not for the extents either.
    shapes.walk([](LaunchOp launch) { launch->removeAttr(kAssertsAttr); });
  }
  shapes.walk([&](func::ReturnOp ret) {
    b.setInsertionPoint(ret);
    int64_t position = 0;
    for (Value v : ret.getOperands()) {
      auto type = dyn_cast<RankedTensorType>(v.getType());
      if (!type)
        continue;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        Value extent = b.createOrFold<tensor::DimOp>(loc, v, d);
        Value at = arith::ConstantIndexOp::create(b, loc, position++);
        memref::StoreOp::create(b, loc, extent, out, at);
      }
    }
    func::ReturnOp::create(b, loc);
    ret.erase();
  });
  shapes.setType(
      FunctionType::get(func.getContext(), shapes.getArgumentTypes(), {}));
  shapes.setResAttrsAttr(nullptr);
  // Extents follow from extents; what computes elements is then dead.
  RewritePatternSet patterns(func.getContext());
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  memref::populateResolveShapedTypeResultDimsPatterns(patterns);
  tensor::DimOp::getCanonicalizationPatterns(patterns, func.getContext());
  arith::SelectOp::getCanonicalizationPatterns(patterns, func.getContext());
  patterns.add<DimOfCarried, DimOfBranch>(func.getContext());
  scf::IfOp::getCanonicalizationPatterns(patterns, func.getContext());
  if (failed(applyPatternsGreedily(shapes, std::move(patterns))))
    return failure();
  return shapes;
}

/// What the extents of arguments alone decide needs no assertions: the function
/// itself has them. Where elements are read for extents, it would be too late.
static LogicalResult makeShapesFunction(func::FuncOp func) {
  std::string name = (func.getSymName() + "__shapes").str();
  if (Operation *taken = SymbolTable::lookupSymbolIn(func->getParentOp(), name))
    return taken->emitError() << "'" << name << "' is what the extents of the "
                              << "results of '" << func.getSymName()
                              << "' are called; expected another name";
  FailureOr<func::FuncOp> shapes = makeShapes(func, /*asserts=*/false);
  if (failed(shapes) || !touchesElements(*shapes))
    return success(succeeded(shapes));
  shapes->erase();
  return success(succeeded(makeShapes(func, /*asserts=*/true)));
}

/// Whether nothing may write into the memory of `value`, seen through views.
static bool isOnlyRead(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
            tensor::ExtractSliceOp>(user))
      return isOnlyRead(user->getResult(0));
    if (auto written = dyn_cast<DestinationStyleOpInterface>(user))
      return !written.isDpsInit(&use);
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(user))
      return &use == &insert.getSourceMutable();
    return isa<func::ReturnOp, tensor::DimOp, tensor::ExtractOp>(user);
  });
}

/// The extents of what `collapse` takes, as values that are there before `launch`,
/// into whose result (made of `empty`) it looks; nothing if there are none.
static SmallVector<OpFoldResult>
extentsBefore(Operation *launch, tensor::EmptyOp empty,
              tensor::CollapseShapeOp collapse) {
  RankedTensorType type = collapse.getSrcType();
  if (type.hasStaticShape())
    return getAsIndexOpFoldResult(launch->getContext(), type.getShape());
  if (collapse.getSrc().getDefiningOp() == launch)
    return empty.getMixedSizes();
  auto expand = collapse.getSrc().getDefiningOp<tensor::ExpandShapeOp>();
  DominanceInfo dominance;
  if (!expand || !llvm::all_of(expand.getOutputShape(), [&](Value extent) {
        return dominance.properlyDominates(extent, launch);
      }))
    return {};
  return expand.getMixedOutputShape();
}

/// Whether a slice is only where a launch writes to.
static bool isOnlyWritten(tensor::ExtractSliceOp slice) {
  return llvm::all_of(slice->getUses(), [](OpOperand &use) {
    auto launch = dyn_cast<LaunchOp>(use.getOwner());
    return launch && cast<DestinationStyleOpInterface>(launch.getOperation())
                         .isDpsInit(&use);
  });
}

/// Whether what is inserted into is read by nobody else.
static bool isOnlyPassedOn(tensor::InsertSliceOp insert) {
  return llvm::all_of(insert.getDest().getUsers(), [&](Operation *user) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    return user == insert || (slice && isOnlyWritten(slice));
  });
}

/// Insertions that begin with the same tensor.empty, as CSE leaves them, begin with one each, and
/// launches write what is inserted into a slice of that one: what is written to one of them would be
/// copied for the other, though neither reads what is there.
static void separateEmpties(func::FuncOp func) {
  func.walk([](tensor::InsertSliceOp insert) {
    auto empty = insert.getDest().getDefiningOp<tensor::EmptyOp>();
    if (!empty || isOnlyPassedOn(insert))
      return;
    OpBuilder b(empty);
    auto own = cast<tensor::EmptyOp>(b.clone(*empty));
    insert.getDestMutable().assign(own);
    auto launch = insert.getSource().getDefiningOp<LaunchOp>();
    if (!launch)
      return;
    auto written = cast<DestinationStyleOpInterface>(launch.getOperation());
    OpOperand *init =
        written.getTiedOpOperand(cast<OpResult>(insert.getSource()));
    auto slice = init->get().getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || slice.getSource() != empty ||
        slice.getMixedOffsets() != insert.getMixedOffsets() ||
        slice.getMixedSizes() != insert.getMixedSizes() ||
        slice.getMixedStrides() != insert.getMixedStrides())
      return;
    b.setInsertionPoint(slice);
    auto ownSlice = cast<tensor::ExtractSliceOp>(b.clone(*slice));
    ownSlice.getSourceMutable().assign(own);
    init->set(ownSlice);
  });
}

/// Lets an op write to `destination` instead of `written`, one of its operands, of which
/// that begins with a copy: it is read, not written to, as others may read it, too.
static void beginWithCopy(OpBuilder &b, OpOperand &written, Value destination) {
  Operation *op = written.getOwner();
  b.setInsertionPoint(op);
  auto copy = bufferization::MaterializeInDestinationOp::create(
      b, op->getLoc(), destination.getType(), written.get(), destination);
  written.set(copy->getResult(0));
}

/// If `last` is the end of a chain of insertions that nobody else reads, lets all of them
/// write to `destination`, beginning with a copy of what the first one inserts into, if
/// that is anything.
static void insertInPlace(OpBuilder &b, tensor::InsertSliceOp last,
                          Value destination) {
  if (!last.getDestType().hasStaticShape() || !isOnlyRead(last.getResult()))
    return;
  tensor::InsertSliceOp first = last;
  while (auto before = first.getDest().getDefiningOp<tensor::InsertSliceOp>()) {
    if (before->getBlock() != last->getBlock())
      break;
    if (!isOnlyPassedOn(first))
      return;
    first = before;
  }
  Value root = first.getDest();
  if (root.getDefiningOp<tensor::EmptyOp>()) {
    if (isOnlyPassedOn(first))
      root.replaceAllUsesWith(destination);
    return;
  }
  beginWithCopy(b, first.getDestMutable(), destination);
}

/// `destination` as what `reshapes` begin with, the last of them first; null where extents are
/// not known.
static Value viewAs(OpBuilder &b, Value destination,
                    ArrayRef<Operation *> reshapes) {
  b.setInsertionPointAfterValue(destination);
  Location loc = destination.getLoc();
  for (Operation *op : reshapes) {
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    if (!type.hasStaticShape())
      return {};
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      destination = tensor::CollapseShapeOp::create(
          b, loc, type, destination, expand.getReassociationIndices());
    else
      destination = tensor::ExpandShapeOp::create(
          b, loc, type, destination,
          cast<tensor::CollapseShapeOp>(op).getReassociationIndices());
  }
  return destination;
}

/// If `value` is a launch's or a selection's result (seen through reshapes), lets the launch write
/// to `destination` directly, if nothing is written there afterwards: that would be
/// read for another result when this one has been copied there, which bufferization
/// does not know.
static void writeInPlace(OpBuilder &b, Value value, Value destination) {
  // The reshapes from the launch to the result, last first.
  SmallVector<Operation *> reshapes;
  Value source = value;
  while (Operation *def = source.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(def) ||
        !isOnlyRead(source))
      break;
    reshapes.push_back(def);
    source = def->getOperand(0);
  }
  if (auto insert = source.getDefiningOp<tensor::InsertSliceOp>()) {
    if (Value view = viewAs(b, destination, reshapes))
      insertInPlace(b, insert, view);
    return;
  }
  if (auto scatter = source.getDefiningOp<ScatterOp>()) {
    if (!isOnlyRead(source))
      return;
    if (Value view = viewAs(b, destination, reshapes)) {
      auto fill = scatter.getDestination().getDefiningOp<linalg::FillOp>();
      if (fill && fill->hasOneUse() &&
          fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>())
        fill.getOutputsMutable().assign(view);
      else
        beginWithCopy(b, scatter.getDestinationMutable(), view);
    }
    return;
  }
  auto launch = source.getDefiningOp<DestinationStyleOpInterface>();
  if (!isa_and_present<LaunchOp, SelectOp>(launch.getOperation()) ||
      !isOnlyRead(source))
    return;
  OpOperand &init = *launch.getTiedOpOperand(cast<OpResult>(source));
  auto empty = init.get().getDefiningOp<tensor::EmptyOp>();
  if (!empty)
    return;
  // A launch that already writes to a destination keeps it; the other result is
  // copied.
  b.setInsertionPoint(launch);
  Location loc = launch->getLoc();
  Value view = destination;
  for (Operation *op : reshapes) {
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      view = tensor::CollapseShapeOp::create(b, loc, expand.getSrcType(), view,
                                             expand.getReassociationIndices());
      continue;
    }
    auto collapse = cast<tensor::CollapseShapeOp>(op);
    SmallVector<OpFoldResult> sizes = extentsBefore(launch, empty, collapse);
    if (sizes.empty())
      return;
    view = tensor::ExpandShapeOp::create(b, loc, collapse.getSrcType(), view,
                                         collapse.getReassociationIndices(),
                                         sizes);
  }
  init.set(view);
}

/// An argument behind the others for each result, which returns write to.
static LogicalResult moveResults(func::FuncOp func) {
  Location loc = func.getLoc();
  OpBuilder b(func.getContext());
  unsigned numInputs = func.getNumArguments();
  for (Type result : func.getResultTypes()) {
    auto type = dyn_cast<RankedTensorType>(result);
    auto memref = MemRefType::get(type ? type.getShape() : ArrayRef<int64_t>(),
                                  type ? type.getElementType() : result);
    if (failed(func.insertArgument(func.getNumArguments(), memref, {}, loc)))
      return failure();
  }
  ValueRange destinations = func.getArguments().drop_front(numInputs);
  SmallVector<func::ReturnOp> returns(func.getOps<func::ReturnOp>());
  bool isOneBlock = llvm::hasSingleElement(func.getBody());
  for (func::ReturnOp ret : returns) {
    for (auto [value, out] : llvm::zip_equal(ret.getOperands(), destinations)) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type) {
        b.setInsertionPoint(ret);
        memref::StoreOp::create(b, loc, value, out);
        continue;
      }
      if (isOneBlock) {
        b.setInsertionPointToStart(&func.getBody().front());
        Value tensor = bufferization::ToTensorOp::create(
            b, loc, type, out, /*restrict=*/true, /*writable=*/true);
        // A result that is read again after it has been written must not be
        // another name of the caller's memory: bufferization sees to that.
        writeInPlace(b, value, tensor);
      }
      b.setInsertionPoint(ret);
      auto materialize =
          bufferization::MaterializeInDestinationOp::create(b, loc, value, out);
      materialize.setRestrict(true);
      materialize.setWritable(true);
    }
    b.setInsertionPoint(ret);
    func::ReturnOp::create(b, loc);
    ret.erase();
  }
  func.setType(
      FunctionType::get(func.getContext(), func.getArgumentTypes(), {}));
  func.setResAttrsAttr(nullptr);
  return success();
}

namespace {
struct Destinations : public redfuse::impl::DestinationsBase<Destinations> {
  using DestinationsBase::DestinationsBase;

  void runOnOperation() override {
    if (failed(checkFitsInMemory(getOperation())))
      return signalPassFailure();
    for (auto func : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (!func.isPublic() || func.isExternal())
        continue;
      // Inputs are the caller's: nothing may be computed in them.
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        if (isa<TensorType>(func.getArgument(i).getType()))
          func.setArgAttr(
              i, bufferization::BufferizationDialect::kWritableAttrName,
              BoolAttr::get(&getContext(), false));
      separateEmpties(func);
      if (failed(makeShapesFunction(func)) || failed(moveResults(func)))
        return signalPassFailure();
    }
  }
};
} // namespace
