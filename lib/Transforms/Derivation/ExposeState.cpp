//===- ExposeState.cpp - a program as init, update, merge and finalize ----===//
//
// Of `@f(unstreamed and streamed arguments) -> results` it makes
//
//   @f__init(unstreamed, extents) -> state
//   @f__update(unstreamed, chunk, state, offset) -> state
//   @f__merge(state, state) -> state
//   @f__finalize(unstreamed, [chunk,] state, extents, total, [offset]) -> results
//
// and where prefixes along the dim are results, finalize takes the state of what
// comes before the chunk last,
//
// or, of what stands at the ends of a chain of chunks,
//
//   @f__first(unstreamed, chunk, offset) -> state
//   @f__last(unstreamed, chunk, state, extents, total, offset) -> results
//
// by cloning slices of `@f`, with the streamed dim dynamic: what leads to the
// folds, and what leads from their states to the results.
//
//===----------------------------------------------------------------------===//
#include "ProgramSlices.h"
#include "redfuse/Algebra/Derivation.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/LaggingPivots.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/StreamedDim.h"
#include "redfuse/Dialect/Redfuse/IR/AttrFields.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"
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
class Exposer {
public:
  Exposer(func::FuncOp func, const DerivationOptions &options)
      : func(func), b(func.getContext()), loc(func.getLoc()), options(options) {
  }

  LogicalResult assumeOneLength();
  LogicalResult choose(ArrayRef<int64_t> along);
  LogicalResult derive(int64_t chunkLength);
  LogicalResult expose(StringRef only);

private:
  func::FuncOp makeFunction(StringRef name, ArrayRef<Type> arguments);
  void finish(func::FuncOp made, ValueRange results);
  LogicalResult makeInit();
  LogicalResult foldChunk(SliceCloner &cloner, ValueRange before,
                          SmallVectorImpl<Value> &results);
  LogicalResult makeUpdate(bool isFirst);
  void makeMerge();
  LogicalResult makeLast();
  LogicalResult continueFolds(SliceCloner &cloner, Block &block,
                              unsigned firstState, unsigned firstBefore);
  DictionaryAttr describeState(ArrayRef<int64_t> mapped);
  LogicalResult makeFinalize();
  void mapArguments(SliceCloner &cloner, Block &block, bool withChunk);
  bool isScalarCheck(cf::AssertOp op, bool withTotal);

  func::FuncOp func;
  OpBuilder b;
  Location loc;
  DerivationOptions options;
  std::optional<StreamedDim> dim;
  /// Extents of arguments that are the same if they are the streamed dim's.
  SmallVector<std::pair<ArgumentAxis, ArgumentAxis>> assumed;
  SmallVector<FoldOp> folds;
  /// Of each fold the states that are pivots alone.
  SmallVector<SmallVector<int64_t>> lagging;
  SmallVector<Type> unstreamed, chunk, state;
  SmallVector<ArgumentAxis> extentSources;
  bool isPositional = false, hasPrefixes = false;
};

} // namespace

/// Transfers of other chunks take multiprocessors of a GPU when the kernel begins: who
/// begins late asks for fewer tiles.
static ScheduleAttr withTilesAsked(ScheduleAttr schedule) {
  MLIRContext *context = schedule.getContext();
  auto scheduler = StringAttr::get(
      context, stringifyTileScheduling(TileScheduling::Dynamic));
  auto hints = cast<HintsAttr>(
      getAttrOfFields(HintsAttr::getMnemonic(),
                      DictionaryAttr::get(context, {{"scheduler", scheduler}}),
                      [&] { return emitError(UnknownLoc::get(context)); }));
  return ScheduleAttr::get(context, schedule.getKind(), schedule.getGrid(),
                           schedule.getTiles(), schedule.getStream(),
                           schedule.getReason(), schedule.getSplits(),
                           schedule.getLazy(), hints);
}

/// The states of a fold that are only pivots of what is made of it.
static SmallVector<int64_t> findLagging(FoldOp fold, FinalizeOp last) {
  SmallVector<int64_t> found;
  bool isAlone = last && llvm::all_of(fold->getUsers(), [&](Operation *user) {
                   return user == last.getOperation();
                 });
  for (unsigned s = 0; isAlone && s < fold.getNumStates(); ++s)
    if (findPivotPower(fold, last, s))
      found.push_back(s);
  return found;
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
    for (CascadeOp cascade : found->getReducing()) {
      unsigned t = *found->getDimOf(cascade);
      Block &body = cascade.getBody().front();
      for (auto reduce : body.getOps<ReduceOp>())
        stages += llvm::is_contained(reduce.getOver(), t);
      for (auto scan : body.getOps<ScanOp>())
        stages += int64_t(scan.getDim()) == int64_t(t);
    }
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
LogicalResult Exposer::derive(int64_t chunkLength) {
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
    if (candidates.front().empty())
      candidates.front().push_back(t);
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
    if (chunkLength > 0)
      schedule = withTilesAsked(schedule);
    cascade.setScheduleAttr(schedule);
    rewriter.setInsertionPoint(cascade);
    DictionaryAttr info = describeCascade(cascade);
    auto rewritten = rewrite(rewriter, cascade, *derivation);
    folds.push_back(rewritten.fold);
    lagging.push_back(findLagging(rewritten.fold, rewritten.finalize));
    folds.back()->setAttr(kInfoAttr, info);
    walked[folds.back()] = here;
    hasPrefixes |= folds.back().hasOutputs();
  }
  // The ops have changed; what has the dim has not, though nothing may be left
  // that walks two arguments together.
  StreamedDim::Obstacle why;
  FailureOr<StreamedDim> again =
      StreamedDim::follow(func, dim->getArguments(), why, walked);
  if (failed(again))
    return (why.op ? why.op : func.getOperation())->emitError() << why.reason;
  dim = *again;
  if (chunkLength > 0)
    dim->setPartLength(chunkLength);

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
    llvm::append_range(state, getStates(fold).getTypes());
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
void Exposer::mapArguments(SliceCloner &cloner, Block &block, bool withChunk) {
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
  SliceCloner cloner(b, *dim);
  mapArguments(cloner, block, /*withChunk=*/false);
  for (auto [i, source] : llvm::enumerate(extentSources))
    cloner.extents[source] = block.getArgument(unstreamed.size() + i);
  SmallVector<Value> results;
  for (FoldOp fold : folds)
    for (auto [identity, init] :
         llvm::zip_first(fold.getIdentities(), fold.getInits())) {
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

/// The states of a chunk, merged with those `before` it; without these, alone.
LogicalResult Exposer::foldChunk(SliceCloner &cloner, ValueRange before,
                                 SmallVectorImpl<Value> &results) {
  for (auto check : func.getBody().getOps<cf::AssertOp>())
    if (isScalarCheck(check, /*withTotal=*/false) &&
        (failed(cloner.cloneSlice({check.getArg()})) ||
         failed(cloner.clone(check))))
      return failure();
  for (auto [number, fold] : llvm::enumerate(folds)) {
    cloner.user = fold;
    SmallVector<Value> roots;
    forEachNeeded(fold, *dim, [&](Value v) { roots.push_back(v); });
    if (failed(cloner.cloneSlice(roots)))
      return failure();
    // The chunk from the identities, then merged with the state so far: the
    // first chunk's pivot counts, and the merge keeps it.
    Operation *segment = cloner.cloneProgram(fold);
    if (fold.hasOutputs()) {
      auto whole = cast<FoldOp>(segment);
      segment = cloneFold(b, whole, {});
      whole.erase();
    }
    unsigned n = fold.getNumStates();
    auto inits = cast<FoldOp>(segment).getInits().take_front(n);
    SmallVector<Value> shapes(before.empty() ? ValueRange(inits)
                                             : before.slice(results.size(), n));
    SmallVector<Value> inputs(before.empty() ? SmallVector<Value>() : shapes);
    llvm::append_range(inputs, segment->getResults());
    SmallVector<Value> empty = llvm::map_to_vector(shapes, [&](Value v) {
      return Value(tensor::EmptyOp::create(
          b, loc, tensor::getMixedSizes(b, loc, v),
          cast<RankedTensorType>(v.getType()).getElementType()));
    });
    SmallVector<AffineMap> stateMaps = getMapsOfStates(fold), maps;
    for (unsigned i = 0; i <= inputs.size() / n; ++i)
      llvm::append_range(maps, stateMaps);
    auto merged = FinalizeOp::create(b, loc, getStates(fold).getTypes(), inputs,
                                     empty, b.getAffineMapArrayAttr(maps));
    IRMapping inner;
    fold.getMerge().cloneInto(&merged.getBody(), inner);
    if (before.empty()) {
      // Of nothing, and the chunk.
      Block &body = merged.getBody().front();
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&body);
      for (auto [identity, argument] :
           llvm::zip_first(fold.getIdentities(), body.getArguments())) {
        Value v = arith::ConstantOp::create(b, loc, cast<TypedAttr>(identity));
        argument.replaceAllUsesWith(v);
      }
      body.eraseArguments(0, n);
    }
    if (!lagging[number].empty())
      merged->setAttr(kLaggingAttr, b.getDenseI64ArrayAttr(lagging[number]));
    llvm::append_range(results, merged->getResults());
    // No other fold may use what this one knows of the chunk alone.
    for (Value v : fold->getResults())
      cloner.mapping.erase(v);
  }
  isPositional |= cloner.usesOffset;
  return success();
}

LogicalResult Exposer::makeUpdate(bool isFirst) {
  SmallVector<Type> types(unstreamed);
  llvm::append_range(types, chunk);
  unsigned firstState = types.size();
  if (!isFirst)
    llvm::append_range(types, state);
  types.push_back(b.getIndexType());
  func::FuncOp made = makeFunction(isFirst ? "__first" : "__update", types);
  Block &block = made.getBody().front();
  SliceCloner cloner(b, *dim);
  cloner.offset = block.getArguments().back();
  mapArguments(cloner, block, /*withChunk=*/true);
  SmallVector<Value> results;
  ValueRange before = block.getArguments().drop_front(firstState).drop_back(1);
  if (failed(foldChunk(cloner, before, results)))
    return failure();
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
    unsigned first = results.size(), n = fold.getNumStates();
    SmallVector<AffineMap> stateMaps = getMapsOfStates(fold);
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

/// The folds whose states the arguments of `block` are, from `firstState` on: those that have
/// outputs go on from the states before the chunk, from `firstBefore` on.
LogicalResult Exposer::continueFolds(SliceCloner &cloner, Block &block,
                                     unsigned firstState,
                                     unsigned firstBefore) {
  unsigned next = firstState;
  for (FoldOp fold : folds) {
    unsigned first = next, n = fold.getNumStates();
    for (Value v : getStates(fold))
      cloner.mapping.map(v, block.getArgument(next++));
    if (!fold.hasOutputs())
      continue;
    SmallVector<Value> roots;
    forEachNeeded(fold, *dim, [&](Value v) { roots.push_back(v); });
    if (failed(cloner.cloneSlice(roots)))
      return failure();
    auto whole = cast<FoldOp>(cloner.cloneProgram(fold));
    ValueRange before =
        block.getArguments().slice(firstBefore + first - firstState, n);
    FoldOp continued = cloneFold(b, whole, before);
    whole.erase();
    for (unsigned i = n; i < fold->getNumResults(); ++i)
      cloner.mapping.map(fold->getResult(i), continued->getResult(i));
    for (unsigned i = 0; i < n; ++i)
      cloner.mapping.map(fold->getResult(i), block.getArgument(first + i));
  }
  return success();
}

/// Finalisations of no fold of the block become what they are alone: maps.
static void makeMaps(OpBuilder &b, Block &block) {
  for (auto op : llvm::make_early_inc_range(block.getOps<FinalizeOp>())) {
    if (llvm::any_of(op.getInputs(),
                     [](Value v) { return v.getDefiningOp<FoldOp>(); }))
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op);
    auto cascade =
        CascadeOp::create(b, op.getLoc(), op.getResultTypes(), op.getInputs(),
                          op.getInits(), op.getIndexingMaps(), nullptr);
    cascade.getBody().takeBody(op.getBody());
    op.replaceAllUsesWith(cascade.getResults());
    op.erase();
  }
}

/// What callers that hold a state have to know of it; `mapped`: the axis of each result
/// along the streamed dim, or -1.
DictionaryAttr Exposer::describeState(ArrayRef<int64_t> mapped) {
  SmallVector<Attribute> streamed, extents, components;
  for (auto [argument, axis] : dim->getArguments())
    streamed.push_back(b.getDenseI64ArrayAttr({argument, axis}));
  for (auto [argument, axis] : extentSources)
    extents.push_back(b.getDenseI64ArrayAttr({argument, axis}));
  bool isOrdered = false;
  for (FoldOp fold : folds) {
    isOrdered |= fold.isOrdered();
    SmallVector<std::string> basis;
    if (DictionaryAttr certificate = fold.getCertificateAttr())
      basis = describeComponents(certificate);
    for (unsigned i = 0; i < fold.getNumStates(); ++i)
      components.push_back(i < basis.size() ? b.getStringAttr(basis[i])
                                            : b.getStringAttr("t" + Twine(i)));
  }
  auto entry = [&](StringRef name, Attribute value) {
    return b.getNamedAttr(name, value);
  };
  return b.getDictionaryAttr(
      {entry("components", b.getArrayAttr(components)),
       entry("extents", b.getArrayAttr(extents)),
       entry("length", b.getI64IntegerAttr(dim->getLength())),
       entry("mapped", b.getDenseI64ArrayAttr(mapped)),
       entry("ordered", b.getBoolAttr(isOrdered)),
       entry("positional", b.getBoolAttr(isPositional)),
       entry("prefixes", b.getBoolAttr(hasPrefixes)),
       entry("streamed", b.getArrayAttr(streamed))});
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
  unsigned firstBefore = types.size();
  if (hasPrefixes)
    llvm::append_range(types, state);
  func::FuncOp made = makeFunction("__finalize", types);
  Block &block = made.getBody().front();
  SliceCloner cloner(b, *dim);
  cloner.user = ret;
  cloner.total = block.getArgument(firstBefore - 2);
  cloner.offset = block.getArgument(firstBefore - 1);
  mapArguments(cloner, block, withChunk);
  for (auto [i, source] : llvm::enumerate(extentSources))
    cloner.extents[source] = block.getArgument(firstExtent + i);
  if (failed(continueFolds(cloner, block, firstState, firstBefore)))
    return failure();
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
  makeMaps(b, block);
  isPositional |= cloner.usesOffset;
  made->setAttr("redfuse.state", describeState(mapped));
  return success();
}

/// The update with the last chunk, and what comes of it, as one.
LogicalResult Exposer::makeLast() {
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  bool isMapped =
      llvm::any_of(ret.getOperands(), [&](Value v) { return dim->find(v); });
  if (folds.size() != 1 || isMapped || hasPrefixes)
    return func.emitError("no state can be carried: its last chunk is not "
                          "folded by the function of the results");
  SmallVector<Type> types(unstreamed);
  llvm::append_range(types, chunk);
  unsigned firstState = types.size();
  llvm::append_range(types, state);
  unsigned firstExtent = types.size();
  types.append(extentSources.size() + 2, b.getIndexType());
  func::FuncOp made = makeFunction("__last", types);
  Block &block = made.getBody().front();
  SliceCloner update(b, *dim), last(b, *dim);
  update.offset = last.offset = block.getArguments().back();
  last.total = block.getArgument(types.size() - 2);
  mapArguments(update, block, /*withChunk=*/true);
  mapArguments(last, block, /*withChunk=*/false);
  SmallVector<Value> states;
  ValueRange before = block.getArguments().slice(firstState, state.size());
  if (failed(foldChunk(update, before, states)))
    return failure();
  for (auto [i, source] : llvm::enumerate(extentSources))
    last.extents[source] = block.getArgument(firstExtent + i);
  for (auto [from, to] : llvm::zip_equal(getStates(folds.front()), states))
    last.mapping.map(from, to);
  last.user = ret;
  for (auto check : func.getBody().getOps<cf::AssertOp>())
    if (isScalarCheck(check, /*withTotal=*/true) &&
        (failed(last.cloneSlice({check.getArg()})) ||
         failed(last.clone(check))))
      return failure();
  if (failed(last.cloneSlice(llvm::to_vector(ret.getOperands()))))
    return failure();
  SmallVector<Value> results;
  for (Value v : ret.getOperands())
    results.push_back(last.mapping.lookup(v));
  finish(made, results);
  auto merged = states.front().getDefiningOp<FinalizeOp>();
  for (auto op : llvm::make_early_inc_range(block.getOps<FinalizeOp>()))
    if (op != merged && op->getBlock() == merged->getBlock())
      joinFinalizes(b, merged, op);
  if (merged->use_empty())
    merged.erase();
  return success();
}

LogicalResult Exposer::expose(StringRef only) {
  if (only == "first" || only == "last") {
    if (failed(only == "first" ? makeUpdate(/*isFirst=*/true) : makeLast()))
      return failure();
    func.erase();
    return success();
  }
  if (failed(makeInit()) || failed(makeUpdate(/*isFirst=*/false)))
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
    if (!llvm::is_contained({"", "first", "last"}, only)) {
      getOperation()->emitError("only: expected first or last");
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
          failed(exposer.derive(chunk)) || failed(exposer.expose(only)))
        return signalPassFailure();
    }
  }
};
} // namespace
