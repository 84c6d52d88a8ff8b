//===- ExposeState.cpp - a program as init, update, merge and finalize -----===//
//
// Of `@f(unstreamed and streamed arguments) -> results` it makes
//
//   @f__init(unstreamed, extents) -> state
//   @f__update(unstreamed, chunk, state, offset) -> state
//   @f__merge(state, state) -> state
//   @f__finalize(unstreamed, [chunk,] state, extents, total, [offset]) -> results
//
// by cloning slices of `@f`, with the streamed dim dynamic: what leads to the
// folds, and what leads from their states to the results.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Algebra/Derivation.h"
#include "redfuse/Analysis/DimSets.h"
#include "redfuse/Analysis/Extents.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/KernelInfo.h"
#include "redfuse/Analysis/Refusal.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/StreamedDim.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {
#define GEN_PASS_DEF_EXPOSESTATE
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {

/// (argument, axis) of the function.
using ArgumentAxis = std::pair<unsigned, unsigned>;

/// Clones ops of the source function into one of the new ones.
struct Cloner {
  Cloner(OpBuilder &b, const StreamedDim &dim) : b(b), dim(dim) {}

  OpBuilder &b;
  const StreamedDim &dim;
  IRMapping mapping;
  /// The length of the chunk, the index of its first element, and the number of
  /// elements in all; null where the function has none.
  Value length, offset, total;
  /// Extents of streamed arguments along other axes, where there is no chunk.
  DenseMap<ArgumentAxis, Value> extents;
  bool usesOffset = false;
  /// What the slice is for, in messages.
  Operation *user = nullptr;

  /// Clones what `roots` need, in order; stops at values that are mapped.
  LogicalResult cloneSlice(ArrayRef<Value> roots);
  LogicalResult clone(Operation *op);
  Operation *cloneProgram(Operation *op);

private:
  LogicalResult cloneDim(tensor::DimOp op);
  SmallVector<OpFoldResult> sizesOf(Value tensor, ArrayRef<OpFoldResult> sizes);
  Value scaled(Value v, int64_t scale) {
    if (scale == 1)
      return v;
    Value n = arith::ConstantIndexOp::create(b, v.getLoc(), scale);
    return arith::MulIOp::create(b, v.getLoc(), v, n);
  }
};

class Exposer {
public:
  Exposer(func::FuncOp func, const DerivationOptions &options)
      : func(func), b(func.getContext()), loc(func.getLoc()), options(options) {
  }

  LogicalResult assumeOneLength();
  LogicalResult choose(ArrayRef<int64_t> along);
  LogicalResult derive();
  LogicalResult expose();

private:
  func::FuncOp makeFunction(StringRef name, ArrayRef<Type> arguments);
  void finish(func::FuncOp made, ValueRange results);
  LogicalResult makeInit();
  LogicalResult makeUpdate();
  void makeMerge();
  LogicalResult makeFinalize();
  void mapArguments(Cloner &cloner, Block &block, bool withChunk);
  bool isScalarCheck(cf::AssertOp op, bool withTotal);

  func::FuncOp func;
  OpBuilder b;
  Location loc;
  DerivationOptions options;
  std::optional<StreamedDim> dim;
  /// Extents of arguments that are the same if they are the streamed dim's.
  SmallVector<std::pair<ArgumentAxis, ArgumentAxis>> assumed;
  SmallVector<FoldOp> folds;
  SmallVector<Type> unstreamed, chunk, state;
  SmallVector<ArgumentAxis> extentSources;
  bool isPositional = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The values from outside that `op` needs; not the sizes along the streamed dim,
/// which its clone takes from the chunk.
static void forEachNeeded(Operation *op, const StreamedDim &dim,
                          function_ref<void(Value)> visit) {
  if (isa<tensor::EmptyOp, tensor::ExpandShapeOp>(op)) {
    std::optional<StreamedAxis> axis = dim.find(op->getResult(0));
    SmallVector<OpFoldResult> sizes;
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      sizes = empty.getMixedSizes();
    else {
      sizes = cast<tensor::ExpandShapeOp>(op).getMixedOutputShape();
      visit(op->getOperand(0));
    }
    for (auto [i, size] : llvm::enumerate(sizes))
      if (auto v = dyn_cast<Value>(size); v && !(axis && axis->position == i))
        visit(v);
    return;
  }
  op->walk([&](Operation *inner) {
    for (Value v : inner->getOperands())
      if (!op->isAncestor(v.getParentBlock()->getParentOp()))
        visit(v);
  });
}

LogicalResult Cloner::cloneSlice(ArrayRef<Value> roots) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> work(roots);
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!op || mapping.contains(v) || !slice.insert(op))
      continue;
    if (!isa<tensor::DimOp>(op))
      forEachNeeded(op, dim, [&](Value needed) { work.push_back(needed); });
  }
  SmallVector<Operation *> ordered = slice.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered)
    if (failed(clone(op)))
      return failure();
  return success();
}

LogicalResult Cloner::cloneDim(tensor::DimOp op) {
  std::optional<int64_t> position = op.getConstantIndex();
  Value source = op.getSource();
  if (!position)
    return op.emitError(
        "no state can be carried: asks for an extent at a computed position");
  auto give = [&](Value v) {
    mapping.map(op.getResult(), v);
    return success();
  };
  if (auto axis = dim.find(source); axis && axis->position == *position) {
    if (!total)
      return op.emitError(
          "no state can be carried: uses the length of the streamed dim before "
          "all of it is known; only what follows the reductions may");
    return give(scaled(total, axis->scale));
  }
  auto arg = dyn_cast<BlockArgument>(source);
  if (arg)
    if (Value v = extents.lookup({arg.getArgNumber(), unsigned(*position)}))
      return give(v);
  if (!arg && failed(cloneSlice({source})))
    return failure();
  Value tensor = mapping.lookupOrNull(source);
  if (!tensor)
    return op.emitError(
        "no state can be carried: uses an extent that only the chunk has");
  return give(b.createOrFold<tensor::DimOp>(op.getLoc(), tensor, *position));
}

SmallVector<OpFoldResult> Cloner::sizesOf(Value tensor,
                                          ArrayRef<OpFoldResult> sizes) {
  std::optional<StreamedAxis> axis = dim.find(tensor);
  SmallVector<OpFoldResult> result;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (axis && axis->position == i)
      result.push_back(scaled(length, axis->scale));
    else if (auto v = dyn_cast<Value>(size))
      result.push_back(mapping.lookup(v));
    else
      result.push_back(size);
  }
  return result;
}

/// Clones an op with a body: `redfuse.index` of the streamed dim counts from the
/// chunk's first element.
Operation *Cloner::cloneProgram(Operation *op) {
  Operation *copy = b.clone(*op, mapping);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
    if (isa<RankedTensorType>(from.getType()))
      to.setType(dim.getOpenType(from));
  std::optional<unsigned> t = dim.getDimOf(op);
  if (!t)
    return copy;
  SmallVector<IndexOp> indices;
  copy->walk([&](IndexOp index) {
    if (index.getDim() == *t)
      indices.push_back(index);
  });
  if (indices.empty())
    return copy;
  usesOffset = true;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(copy);
  Value start = scaled(offset, dim.getScaleIn(op));
  for (IndexOp index : indices) {
    b.setInsertionPointAfter(index);
    auto moved = arith::AddIOp::create(b, index.getLoc(), index, start);
    index.getResult().replaceAllUsesExcept(moved, moved);
  }
  return copy;
}

LogicalResult Cloner::clone(Operation *op) {
  if (llvm::any_of(op->getResults(),
                   [&](Value v) { return mapping.contains(v); }))
    return success();
  if (isa<FoldOp>(op))
    return user->emitError("no state can be carried: a reduction over the "
                           "streamed dim needs the finished result of another "
                           "one that was not fused with it");
  if (auto dimOp = dyn_cast<tensor::DimOp>(op))
    return cloneDim(dimOp);
  bool isStreamed =
      dim.getDimOf(op) ||
      llvm::any_of(op->getResults(), [&](Value v) { return dim.find(v); });
  if (isStreamed && !length)
    return op->emitError("no state can be carried: has the streamed dim, and "
                         "what needs it has not");
  if (isa<IndexProgramOpInterface>(op)) {
    if (Operation *walk = dim.findWalk(op))
      return walk->emitError("no state can be carried: ")
             << (isa<ScanOp>(walk)
                     ? "every prefix along the streamed dim is wanted"
                     : "a reduction over the streamed dim was not folded")
             << ", which takes more than a state and a chunk";
    cloneProgram(op);
    return success();
  }
  if (!isStreamed) {
    b.clone(*op, mapping);
    return success();
  }
  Value result = op->getResult(0);
  Location loc = op->getLoc();
  RankedTensorType type = dim.getOpenType(result);
  Value made;
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    made = tensor::EmptyOp::create(
        b, loc, sizesOf(result, empty.getMixedSizes()), type.getElementType());
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    made = tensor::ExpandShapeOp::create(
        b, loc, type, mapping.lookup(expand.getSrc()),
        expand.getReassociationIndices(),
        sizesOf(result, expand.getMixedOutputShape()));
  } else if (op->hasTrait<OpTrait::ConstantLike>()) {
    // The part of a constant that belongs to the chunk.
    StreamedAxis axis = *dim.find(result);
    Value whole = b.clone(*op)->getResult(0);
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
        strides(type.getRank(), b.getIndexAttr(1)), sizes;
    for (int64_t size : type.getShape())
      sizes.push_back(b.getIndexAttr(size));
    offsets[axis.position] = scaled(offset, axis.scale);
    sizes[axis.position] = scaled(length, axis.scale);
    usesOffset = true;
    made = tensor::ExtractSliceOp::create(b, loc, type, whole, offsets, sizes,
                                          strides);
  } else {
    Operation *copy = b.clone(*op, mapping);
    copy->getResult(0).setType(type);
    return success();
  }
  mapping.map(result, made);
  return success();
}

//===----------------------------------------------------------------------===//
// What is streamed
//===----------------------------------------------------------------------===//

/// Where a program asks whether two arguments are equally long, to broadcast one
/// if not, assumes they are: `choose` checks that both are the streamed dim.
LogicalResult Exposer::assumeOneLength() {
  func.walk([&](scf::IfOp branch) {
    auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
      return;
    SmallVector<ArgumentAxis> sides;
    for (Value side : compare->getOperands()) {
      Extent extent = getExtentOf(side);
      auto arg = dyn_cast_or_null<BlockArgument>(extent.value);
      if (arg && extent.dim >= 0 && arg.getOwner() == &func.getBody().front())
        sides.push_back({arg.getArgNumber(), unsigned(extent.dim)});
    }
    if (sides.size() != 2)
      return;
    assumed.push_back({sides[0], sides[1]});
    b.setInsertionPoint(branch);
    branch.getConditionMutable().assign(
        arith::ConstantOp::create(b, branch.getLoc(), b.getBoolAttr(true)));
  });
  if (assumed.empty())
    return success();
  RewritePatternSet patterns(func.getContext());
  scf::IfOp::getCanonicalizationPatterns(patterns, func.getContext());
  return applyPatternsGreedily(func, std::move(patterns));
}

/// Takes the dim that is asked for, or the one along which most is reduced.
LogicalResult Exposer::choose(ArrayRef<int64_t> along) {
  if (!llvm::hasSingleElement(func.getBody()))
    return func.emitError("no state can be carried: the program has branches");
  SmallVector<ArgumentAxis> candidates;
  for (BlockArgument arg : func.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    for (int64_t axis = 0; type && axis < type.getRank(); ++axis)
      if (along.empty() ||
          (along[0] == int64_t(arg.getArgNumber()) && along[1] == axis))
        candidates.push_back({arg.getArgNumber(), unsigned(axis)});
  }
  if (candidates.empty())
    return func.emitOpError(along.empty()
                                ? "has no tensor argument to stream"
                                : "has no such axis of an argument to stream");
  size_t most = 0;
  StreamedDim::Obstacle first;
  for (auto [argument, axis] : candidates) {
    StreamedDim::Obstacle why;
    FailureOr<StreamedDim> found =
        StreamedDim::follow(func, ArgumentAxis(argument, axis), why);
    if (failed(found)) {
      if (!first.op)
        first = why;
      continue;
    }
    size_t stages = 0;
    for (CascadeOp cascade : found->getReducing())
      for (auto reduce : cascade.getBody().front().getOps<ReduceOp>())
        stages +=
            llvm::is_contained(reduce.getOver(), *found->getDimOf(cascade));
    if (stages > most) {
      most = stages;
      dim = *found;
    }
  }
  if (dim) {
    auto isStreamed = [&](ArgumentAxis side) {
      return llvm::is_contained(dim->getArguments(), side);
    };
    for (auto [left, right] : assumed)
      if (!isStreamed(left) || !isStreamed(right))
        return func.emitError(
            "no state can be carried: the program asks whether two extents are "
            "equal, and does something else if not");
    return success();
  }
  if (first.op)
    return first.op->emitError() << "no state can be carried: " << first.reason;
  return func.emitOpError(
      "no state can be carried: no reduction runs over a dim of the arguments");
}

/// Makes folds of the cascades that reduce over the dim.
LogicalResult Exposer::derive() {
  IRRewriter rewriter(func.getContext());
  DenseMap<Operation *, StreamedAxis> walked;
  for (CascadeOp cascade : llvm::to_vector(dim->getReducing())) {
    unsigned t = *dim->getDimOf(cascade);
    StreamedAxis here{t, dim->getScaleIn(cascade)};
    // What the last reduction ranges over, or all that is reduced.
    SmallVector<SmallVector<int64_t>> candidates(1);
    for (auto reduce : cascade.getBody().front().getOps<ReduceOp>())
      if (llvm::is_contained(reduce.getOver(), t))
        candidates.front() = llvm::to_vector(reduce.getOver());
    llvm::sort(candidates.front());
    candidates.push_back(
        toDims(getReducedDims(cast<IndexProgramOpInterface>(*cascade))));
    ScheduleRequest request;
    request.kind = ScheduleKind::Stream;
    request.strict = options.strict;
    request.approximate = options.approximate;
    SmallVector<RefusalReason> why;
    FailureOr<Derivation> derivation = failure();
    for (ArrayRef<int64_t> over : candidates) {
      SmallVector<RefusalReason> reasons;
      derivation = redfuse::derive(cascade, over, reasons, options);
      request.over.assign(over.begin(), over.end());
      if (succeeded(derivation))
        break;
      if (why.empty())
        why = reasons;
    }
    if (failed(derivation)) {
      const RefusalReason &reason = why.front();
      InFlightDiagnostic error =
          (reason.op ? reason.op : cascade.getOperation())->emitError()
          << "no state can be carried: " << reason.condition << ": "
          << reason.detail;
      if (!reason.remedy.empty())
        error << "; " << reason.remedy;
      return error;
    }
    ScheduleAttr schedule =
        chooseSchedule(cascade, getTargetOf(cascade), request);
    if (schedule.getKind() != ScheduleKind::Stream)
      return cascade.emitError("no state can be carried: not streamed");
    cascade.setScheduleAttr(schedule);
    rewriter.setInsertionPoint(cascade);
    DictionaryAttr info = describeCascade(cascade);
    folds.push_back(rewrite(rewriter, cascade, *derivation).fold);
    folds.back()->setAttr(kInfoAttr, info);
    walked[folds.back()] = here;
    if (folds.back().hasOutputs())
      return folds.back().emitError(
          "no state can be carried: every prefix along the streamed dim is a "
          "result, so there is nothing to finish from a state alone");
  }
  // The ops have changed; what has the dim has not, though nothing may be left
  // that walks two arguments together.
  StreamedDim::Obstacle why;
  FailureOr<StreamedDim> again =
      StreamedDim::follow(func, dim->getArguments(), why, walked);
  if (failed(again))
    return (why.op ? why.op : func.getOperation())->emitError() << why.reason;
  dim = *again;

  SmallVector<ArgumentAxis> streamed = dim->getArguments();
  for (BlockArgument arg : func.getArguments()) {
    if (!dim->find(arg)) {
      unstreamed.push_back(arg.getType());
      continue;
    }
    chunk.push_back(dim->getOpenType(arg));
    auto type = cast<RankedTensorType>(arg.getType());
    for (unsigned axis = 0; axis < type.getRank(); ++axis)
      if (type.isDynamicDim(axis) && axis != dim->find(arg)->position)
        extentSources.push_back({arg.getArgNumber(), axis});
  }
  for (FoldOp fold : folds)
    llvm::append_range(state, fold->getResultTypes());
  return success();
}

//===----------------------------------------------------------------------===//
// The four functions
//===----------------------------------------------------------------------===//

func::FuncOp Exposer::makeFunction(StringRef name, ArrayRef<Type> arguments) {
  b.setInsertionPoint(func);
  auto made = func::FuncOp::create(b, loc, (func.getSymName() + name).str(),
                                   b.getFunctionType(arguments, {}));
  b.setInsertionPointToStart(made.addEntryBlock());
  return made;
}

void Exposer::finish(func::FuncOp made, ValueRange results) {
  func::ReturnOp::create(b, loc, results);
  made.setType(b.getFunctionType(made.getArgumentTypes(), results.getTypes()));
}

/// Maps the arguments of the source, which come first in `block`: the unstreamed,
/// then those of the chunk.
void Exposer::mapArguments(Cloner &cloner, Block &block, bool withChunk) {
  unsigned plain = 0, streamed = unstreamed.size();
  for (BlockArgument arg : func.getArguments()) {
    if (!dim->find(arg))
      cloner.mapping.map(arg, block.getArgument(plain++));
    else if (withChunk)
      cloner.mapping.map(arg, block.getArgument(streamed++));
  }
  if (!withChunk)
    return;
  auto [argument, axis] = dim->getArguments().front();
  cloner.length = b.createOrFold<tensor::DimOp>(
      loc, cloner.mapping.lookup(func.getArgument(argument)), axis);
}

LogicalResult Exposer::makeInit() {
  SmallVector<Type> types(unstreamed);
  types.append(extentSources.size(), b.getIndexType());
  func::FuncOp made = makeFunction("__init", types);
  Block &block = made.getBody().front();
  Cloner cloner(b, *dim);
  mapArguments(cloner, block, /*withChunk=*/false);
  for (auto [i, source] : llvm::enumerate(extentSources))
    cloner.extents[source] = block.getArgument(unstreamed.size() + i);
  SmallVector<Value> results;
  for (FoldOp fold : folds)
    for (auto [init, identity] :
         llvm::zip_equal(fold.getInits(), fold.getIdentities())) {
      // The identity, in an empty tensor of the state's shape.
      auto fill = init.getDefiningOp<linalg::FillOp>();
      Value shape = fill ? fill.getOutputs().front() : init;
      cloner.user = fold;
      if (failed(cloner.cloneSlice({shape})))
        return failure();
      auto type = cast<RankedTensorType>(init.getType());
      auto map = b.getMultiDimIdentityMap(type.getRank());
      auto cascade = CascadeOp::create(b, loc, TypeRange{type}, ValueRange(),
                                       ValueRange{cloner.mapping.lookup(shape)},
                                       b.getAffineMapArrayAttr({map}),
                                       /*schedule=*/nullptr);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&cascade.getBody().emplaceBlock());
      Value v = arith::ConstantOp::create(b, loc, cast<TypedAttr>(identity));
      YieldOp::create(b, loc, v);
      results.push_back(cascade->getResult(0));
    }
  finish(made, results);
  return success();
}

LogicalResult Exposer::makeUpdate() {
  SmallVector<Type> types(unstreamed);
  llvm::append_range(types, chunk);
  unsigned firstState = types.size();
  llvm::append_range(types, state);
  types.push_back(b.getIndexType());
  func::FuncOp made = makeFunction("__update", types);
  Block &block = made.getBody().front();
  Cloner cloner(b, *dim);
  cloner.offset = block.getArguments().back();
  mapArguments(cloner, block, /*withChunk=*/true);
  for (auto check : func.getBody().getOps<cf::AssertOp>())
    if (isScalarCheck(check, /*withTotal=*/false) &&
        (failed(cloner.cloneSlice({check.getArg()})) ||
         failed(cloner.clone(check))))
      return failure();
  SmallVector<Value> results;
  for (FoldOp fold : folds) {
    cloner.user = fold;
    SmallVector<Value> roots;
    forEachNeeded(fold, *dim, [&](Value v) { roots.push_back(v); });
    if (failed(cloner.cloneSlice(roots)))
      return failure();
    // The chunk from the identities, then merged with the state so far: the
    // first chunk's pivot counts, and the merge keeps it.
    Operation *segment = cloner.cloneProgram(fold);
    SmallVector<Value> inputs, inits;
    for (Value v : fold->getResults()) {
      inputs.push_back(
          block.getArgument(firstState + results.size() + inputs.size()));
      SmallVector<OpFoldResult> sizes =
          tensor::getMixedSizes(b, loc, inputs.back());
      inits.push_back(tensor::EmptyOp::create(
          b, loc, sizes, cast<RankedTensorType>(v.getType()).getElementType()));
    }
    llvm::append_range(inputs, segment->getResults());
    SmallVector<AffineMap> stateMaps(
        llvm::drop_begin(fold.getIndexingMapsArray(), fold.getInputs().size())),
        maps;
    for (int i = 0; i < 3; ++i)
      llvm::append_range(maps, stateMaps);
    auto merged = FinalizeOp::create(b, loc, fold->getResultTypes(), inputs,
                                     inits, b.getAffineMapArrayAttr(maps));
    IRMapping inner;
    fold.getMerge().cloneInto(&merged.getBody(), inner);
    llvm::append_range(results, merged->getResults());
    // No other fold may use what this one knows of the chunk alone.
    for (Value v : fold->getResults())
      cloner.mapping.erase(v);
  }
  isPositional |= cloner.usesOffset;
  finish(made, results);
  return success();
}

void Exposer::makeMerge() {
  SmallVector<Type> types(state);
  llvm::append_range(types, state);
  func::FuncOp made = makeFunction("__merge", types);
  Block &block = made.getBody().front();
  SmallVector<Value> results;
  for (FoldOp fold : folds) {
    unsigned first = results.size(), n = fold->getNumResults();
    SmallVector<AffineMap> stateMaps(
        llvm::drop_begin(fold.getIndexingMapsArray(), fold.getInputs().size()));
    SmallVector<AffineMap> maps(stateMaps);
    llvm::append_range(maps, stateMaps);
    SmallVector<Value> inputs;
    for (unsigned side : {0u, 1u})
      for (unsigned i = 0; i < n; ++i)
        inputs.push_back(block.getArgument(side * state.size() + first + i));
    // One cascade for each shape of components: each has a grid of its own.
    SmallVector<Value> merged(n);
    for (unsigned i = 0; i < n; ++i) {
      if (merged[i])
        continue;
      SmallVector<unsigned> members;
      SmallVector<Value> inits;
      SmallVector<Type> resultTypes;
      SmallVector<AffineMap> all(maps);
      for (unsigned k = i; k < n; ++k) {
        if (stateMaps[k] != stateMaps[i])
          continue;
        members.push_back(k);
        auto type = cast<RankedTensorType>(inputs[k].getType());
        resultTypes.push_back(type);
        inits.push_back(tensor::EmptyOp::create(
            b, loc, tensor::getMixedSizes(b, loc, inputs[k]),
            type.getElementType()));
        all.push_back(stateMaps[k]);
      }
      auto cascade =
          CascadeOp::create(b, loc, resultTypes, inputs, inits,
                            b.getAffineMapArrayAttr(all), /*schedule=*/nullptr);
      IRMapping inner;
      fold.getMerge().cloneInto(&cascade.getBody(), inner);
      auto yield = cast<YieldOp>(cascade.getBody().front().getTerminator());
      SmallVector<Value> yielded;
      for (unsigned k : members)
        yielded.push_back(yield.getValues()[k]);
      yield.getValuesMutable().assign(yielded);
      for (auto [k, v] : llvm::zip_equal(members, cascade->getResults()))
        merged[k] = v;
    }
    llvm::append_range(results, merged);
  }
  finish(made, results);
}

/// Whether a check is of scalars and extents alone.
bool Exposer::isScalarCheck(cf::AssertOp check, bool withTotal) {
  SmallVector<Value> work{check.getArg()};
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!op) {
      if (isa<ShapedType>(v.getType()))
        return false;
      continue;
    }
    if (auto dimOp = dyn_cast<tensor::DimOp>(op)) {
      auto position = dimOp.getConstantIndex();
      auto axis = dim->find(dimOp.getSource());
      if (!isa<BlockArgument>(dimOp.getSource()) || !position ||
          (!withTotal && axis && axis->position == *position))
        return false;
      continue;
    }
    if (op->getNumRegions() != 0 || !isPure(op))
      return false;
    llvm::append_range(work, op->getOperands());
  }
  return true;
}

LogicalResult Exposer::makeFinalize() {
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  SmallVector<int64_t> mapped;
  for (Value v : ret.getOperands()) {
    auto axis = dim->find(v);
    mapped.push_back(axis ? int64_t(axis->position) : -1);
    if (axis && axis->scale != 1)
      return ret.emitError("no state can be carried: a result joins the "
                           "streamed dim with others");
  }
  bool withChunk = llvm::any_of(mapped, [](int64_t a) { return a >= 0; });
  SmallVector<Type> types(unstreamed);
  if (withChunk)
    llvm::append_range(types, chunk);
  unsigned firstState = types.size();
  llvm::append_range(types, state);
  unsigned firstExtent = types.size();
  types.append(extentSources.size() + 2, b.getIndexType());
  func::FuncOp made = makeFunction("__finalize", types);
  Block &block = made.getBody().front();
  Cloner cloner(b, *dim);
  cloner.user = ret;
  cloner.total = block.getArgument(types.size() - 2);
  cloner.offset = block.getArgument(types.size() - 1);
  mapArguments(cloner, block, withChunk);
  for (auto [i, source] : llvm::enumerate(extentSources))
    cloner.extents[source] = block.getArgument(firstExtent + i);
  unsigned next = firstState;
  for (FoldOp fold : folds)
    for (Value v : fold->getResults())
      cloner.mapping.map(v, block.getArgument(next++));
  for (auto check : func.getBody().getOps<cf::AssertOp>())
    if (isScalarCheck(check, /*withTotal=*/true) &&
        (failed(cloner.cloneSlice({check.getArg()})) ||
         failed(cloner.clone(check))))
      return failure();
  if (failed(cloner.cloneSlice(llvm::to_vector(ret.getOperands()))))
    return failure();
  SmallVector<Value> results;
  for (Value v : ret.getOperands())
    results.push_back(cloner.mapping.lookup(v));
  finish(made, results);
  // Alone, a finalisation is a map.
  for (auto op : llvm::make_early_inc_range(block.getOps<FinalizeOp>())) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op);
    auto cascade =
        CascadeOp::create(b, op.getLoc(), op.getResultTypes(), op.getInputs(),
                          op.getInits(), op.getIndexingMaps(), nullptr);
    cascade.getBody().takeBody(op.getBody());
    op.replaceAllUsesWith(cascade.getResults());
    op.erase();
  }
  isPositional |= cloner.usesOffset;

  SmallVector<Attribute> streamed, extents, components;
  for (auto [argument, axis] : dim->getArguments())
    streamed.push_back(b.getDenseI64ArrayAttr({argument, axis}));
  for (auto [argument, axis] : extentSources)
    extents.push_back(b.getDenseI64ArrayAttr({argument, axis}));
  bool isOrdered = false;
  for (FoldOp fold : folds) {
    isOrdered |= fold.isOrdered();
    // A line is of one component, or of as many as it names ("t0, t1 = ...").
    SmallVector<Attribute> basis;
    if (DictionaryAttr certificate = fold.getCertificateAttr())
      for (auto line :
           certificate.getAs<ArrayAttr>("basis").getAsRange<StringAttr>())
        basis.append(1 + line.getValue().split(" = ").first.count(','), line);
    for (unsigned i = 0; i < fold->getNumResults(); ++i)
      components.push_back(i < basis.size() ? basis[i]
                                            : b.getStringAttr("t" + Twine(i)));
  }
  auto entry = [&](StringRef name, Attribute value) {
    return b.getNamedAttr(name, value);
  };
  made->setAttr("redfuse.state",
                b.getDictionaryAttr(
                    {entry("components", b.getArrayAttr(components)),
                     entry("extents", b.getArrayAttr(extents)),
                     entry("length", b.getI64IntegerAttr(dim->getLength())),
                     entry("mapped", b.getDenseI64ArrayAttr(mapped)),
                     entry("ordered", b.getBoolAttr(isOrdered)),
                     entry("positional", b.getBoolAttr(isPositional)),
                     entry("streamed", b.getArrayAttr(streamed))}));
  return success();
}

LogicalResult Exposer::expose() {
  if (failed(makeInit()) || failed(makeUpdate()))
    return failure();
  makeMerge();
  if (failed(makeFinalize()))
    return failure();
  func.erase();
  return success();
}

namespace {
struct ExposeState : public redfuse::impl::ExposeStateBase<ExposeState> {
  using ExposeStateBase::ExposeStateBase;

  void runOnOperation() override {
    if (!along.empty() && along.size() != 2) {
      getOperation()->emitError("along: expected an argument and an axis");
      return signalPassFailure();
    }
    for (auto func : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (!func.isPublic() || func.isExternal())
        continue;
      DerivationOptions options;
      options.strict = strict;
      options.approximate = approximate;
      Exposer exposer(func, options);
      if (failed(exposer.assumeOneLength()) || failed(exposer.choose(along)) ||
          failed(exposer.derive()) || failed(exposer.expose()))
        return signalPassFailure();
    }
  }
};
} // namespace
