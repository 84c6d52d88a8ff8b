//===- Split.cpp - redfuse-split: one fold over several blocks ------------===//
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {
#define GEN_PASS_DEF_SPLIT
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {

/// Splits one kernel, for one launch of it: on tensors, or on buffers where splits that
/// would merge in one launch are taken apart.
class Splitter {
public:
  Splitter(KernelOp kernel, LaunchOp launch, SymbolTable &symbols)
      : kernel(kernel), launch(launch), symbols(symbols), b(launch),
        loc(kernel.getLoc()), schedule(kernel.getScheduleAttr()),
        isOnBuffers(launch->getNumResults() == 0) {}

  LogicalResult run();

private:
  /// A kernel that is being made: its body, and what it is launched on.
  struct Made {
    KernelOp kernel;
    IRMapping mapping;
    SmallVector<Value> inputs, inits;
  };
  Made begin(StringRef suffix, ArrayRef<Value> inputs, ArrayRef<Value> inits,
             ArrayRef<Value> sources);
  SmallVector<Value> end(Made &made, ValueRange yielded);
  Value makeEmpty(ArrayRef<OpFoldResult> sizes, Value like);
  SmallVector<OpFoldResult> sizesOf(Value v);
  SmallVector<Value> fromOutside(ArrayRef<Operation *> ops);
  LogicalResult makePartials(bool isWhole);
  LogicalResult makeFolding(bool isWhole);
  void finaliseMerged(ArrayRef<Value> state, Block &block, unsigned next,
                      IRMapping mapping);
  void mergeNeighbours();
  CascadeOp makeMergingCascade(Made &made, size_t firstState);
  void makeMerging();
  void makeMap();
  bool isMap() const;
  bool mergesInLaunch();
  /// That of a kernel which follows the folding one: it is not derived or split
  /// once more.
  ScheduleAttr scheduleOf(CascadeOp cascade);
  AffineMap withSplit(AffineMap map);
  SmallVector<Value> mergeSplits(ArrayRef<SmallVector<Value>> splits,
                                 const IRMapping &outside);

  KernelOp kernel;
  LaunchOp launch;
  SymbolTable &symbols;
  OpBuilder b;
  Location loc;
  ScheduleAttr schedule;
  bool isOnBuffers;
  /// Buffers that are needed no more behind the launch.
  SmallVector<Value> allocated;
  FoldOp fold;
  FinalizeOp finalize;
  SmallVector<AffineMap> stateMaps;
  /// Destinations for the states of all splits; then those states, or those of several
  /// neighbours each.
  SmallVector<Value> partials;
  int64_t numSplits = 0;
  /// The merged states, where the finalisation is a kernel of its own.
  SmallVector<Value> merged;
};

} // namespace

ScheduleAttr Splitter::scheduleOf(CascadeOp cascade) {
  ScheduleRequest request;
  request.kind = ScheduleKind::Resident;
  request.strict = true;
  return chooseSchedule(cascade, getTargetOf(kernel), request);
}

/// A map over the dims and the number of the split, which comes last.
AffineMap Splitter::withSplit(AffineMap map) {
  return AffineMap::get(map.getNumDims() + 1, 0, map.getResults(),
                        b.getContext());
}

/// Starts a kernel. `sources` are what the old kernel calls the new inputs and
/// inits; null for those that it has not.
Splitter::Made Splitter::begin(StringRef suffix, ArrayRef<Value> inputs,
                               ArrayRef<Value> inits, ArrayRef<Value> sources) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(kernel);
  Made made;
  made.inputs.assign(inputs.begin(), inputs.end());
  made.inits.assign(inits.begin(), inits.end());
  std::string name = (kernel.getSymName() + suffix).str();
  made.kernel = KernelOp::create(b, loc, name, inputs.size(),
                                 /*schedule=*/nullptr, kernel.getInfoAttr());
  symbols.insert(made.kernel);
  Block &body = made.kernel.getBody().emplaceBlock();
  for (auto [i, v] :
       llvm::enumerate(llvm::concat<const Value>(inputs, inits))) {
    Type type = v.getType();
    if (isa<MemRefType>(type))
      type = memref::getTensorTypeFromMemRefType(type);
    BlockArgument arg = body.addArgument(type, loc);
    if (i < sources.size() && sources[i])
      made.mapping.map(sources[i], arg);
  }
  // Scalars and the destinations of folds are computed in each.
  b.setInsertionPointToStart(&body);
  for (Operation &op : kernel.getBody().front())
    if (!isa<IndexProgramOpInterface, YieldOp>(op) &&
        llvm::all_of(op.getOperands(),
                     [&](Value v) { return made.mapping.contains(v); }))
      b.clone(op, made.mapping);
  return made;
}

/// What the new kernel makes.
SmallVector<Value> Splitter::end(Made &made, ValueRange yielded) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&made.kernel.getBody().front());
  YieldOp::create(b, loc, yielded);
  b.setInsertionPoint(launch);
  auto launched = LaunchOp::create(
      b, loc, isOnBuffers ? TypeRange() : TypeRange(ValueRange(made.inits)),
      FlatSymbolRefAttr::get(b.getContext(), made.kernel.getSymName()),
      made.inputs, made.inits);
  if (Attribute why = launch->getAttr(kNoRegistersAttr))
    launched->setAttr(kTakenApartAttr, why);
  return isOnBuffers ? made.inits
                     : llvm::to_vector_of<Value>(launched.getResults());
}

/// A tensor of these sizes, or a buffer, with elements as those of `like`.
Value Splitter::makeEmpty(ArrayRef<OpFoldResult> sizes, Value like) {
  Type element = cast<ShapedType>(like.getType()).getElementType();
  if (!isOnBuffers)
    return tensor::EmptyOp::create(b, loc, sizes, element);
  auto [shape, dynamic] = decomposeMixedValues(llvm::to_vector(sizes));
  allocated.push_back(
      memref::AllocOp::create(b, loc, MemRefType::get(shape, element), dynamic,
                              b.getI64IntegerAttr(64)));
  return allocated.back();
}

SmallVector<OpFoldResult> Splitter::sizesOf(Value v) {
  return isOnBuffers ? memref::getMixedSizes(b, loc, v)
                     : tensor::getMixedSizes(b, loc, v);
}

/// The arguments of the kernel that are inputs and that `ops` use, directly or
/// by scalars.
SmallVector<Value> Splitter::fromOutside(ArrayRef<Operation *> ops) {
  Block &body = kernel.getBody().front();
  llvm::SetVector<Value> used;
  SmallVector<Operation *> work(ops);
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    op->walk([&](Operation *inner) {
      for (Value v : inner->getOperands()) {
        if (auto arg = dyn_cast<BlockArgument>(v);
            arg && arg.getOwner() == &body) {
          if (arg.getArgNumber() < kernel.getNumInputs())
            used.insert(v);
        } else if (Operation *def = v.getDefiningOp();
                   def && def->getBlock() == &body &&
                   !isa<IndexProgramOpInterface>(def)) {
          work.push_back(def);
        }
      }
    });
  }
  // In the order of the arguments.
  SmallVector<Value> result;
  for (Value arg : body.getArguments())
    if (used.contains(arg))
      result.push_back(arg);
  return result;
}

static SmallVector<Value> launched(LaunchOp launch, ArrayRef<Value> arguments) {
  SmallVector<Value> result;
  for (Value v : arguments)
    result.push_back(launch->getOperand(cast<BlockArgument>(v).getArgNumber()));
  return result;
}

/// Host memory for the states of all splits, the split's number first; or
/// for the merged one.
LogicalResult Splitter::makePartials(bool isWhole) {
  b.setInsertionPoint(launch);
  // Extents of the state's dims, from operands of the launch.
  auto program = cast<IndexProgramOpInterface>(*fold);
  SmallVector<int64_t> extents = getStaticExtents(program);
  auto extentOf = [&](unsigned d) -> OpFoldResult {
    if (!ShapedType::isDynamic(extents[d]))
      return b.getIndexAttr(extents[d]);
    for (Operation *op : {fold.getOperation(), finalize.getOperation()}) {
      auto program = cast<IndexProgramOpInterface>(op);
      for (auto [i, map] : llvm::enumerate(program.getIndexingMapsArray())) {
        auto arg = dyn_cast<BlockArgument>(op->getOperand(i));
        auto position =
            map.getResultPosition(getAffineDimExpr(d, b.getContext()));
        if (arg && position)
          return sizesOf(launch->getOperand(arg.getArgNumber()))[*position];
      }
    }
    return {};
  };
  for (auto [map, v] : llvm::zip_equal(stateMaps, fold->getResults())) {
    SmallVector<OpFoldResult> sizes;
    if (!isWhole)
      sizes.push_back(b.getIndexAttr(schedule.getSplits()));
    for (AffineExpr e : map.getResults()) {
      unsigned d = cast<AffineDimExpr>(e).getPosition();
      sizes.push_back(extentOf(d));
      if (!sizes.back())
        return fold.emitOpError() << "cannot be split: no argument of the "
                                     "kernel has dim "
                                  << d << " of its state";
    }
    partials.push_back(makeEmpty(sizes, v));
  }
  return success();
}

/// The kernel whose blocks fold a split each, and, as a whole, merge them.
LogicalResult Splitter::makeFolding(bool isWhole) {
  SmallVector<Value> used = fromOutside({fold});
  Made made = begin(isWhole ? "_states" : "_splits", launched(launch, used),
                    partials, used);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&made.kernel.getBody().front());
  for (Value init : fold.getInits())
    if (!made.mapping.contains(init))
      return fold.emitOpError(
          "cannot be split: its state starts from values of "
          "another op");
  auto folded = cast<FoldOp>(b.clone(*fold, made.mapping));
  SmallVector<AffineMap> maps;
  for (AffineMap map : folded.getIndexingMapsArray())
    maps.push_back(isWhole ? map : withSplit(map));
  folded.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));

  unsigned split = fold.getNumIterationDims();
  maps.clear();
  for (AffineMap map : stateMaps)
    maps.push_back(isWhole ? map : withSplit(map));
  for (AffineMap map : stateMaps)
    maps.push_back(
        isWhole ? map
                : withSplit(map).insertResult(b.getAffineDimExpr(split), 0));
  ValueRange inits =
      made.kernel.getBody().getArguments().take_back(partials.size());
  auto store =
      FinalizeOp::create(b, loc, inits.getTypes(), folded->getResults(), inits,
                         b.getAffineMapArrayAttr(maps));
  {
    OpBuilder::InsertionGuard inner(b);
    Block &block = store.getBody().emplaceBlock();
    b.setInsertionPointToStart(&block);
    for (Value v : folded->getResults())
      block.addArgument(cast<RankedTensorType>(v.getType()).getElementType(),
                        loc);
    YieldOp::create(b, loc, block.getArguments());
  }
  SmallVector<int64_t> grid(schedule.getGrid()), tiles(schedule.getTiles());
  if (!isWhole) {
    grid.push_back(split);
    tiles.push_back(1);
  }
  made.kernel.setScheduleAttr(ScheduleAttr::get(
      b.getContext(), ScheduleKind::Split, grid, tiles, schedule.getStream(),
      schedule.getReason(), schedule.getSplits(), schedule.getLazy(),
      schedule.getHints()));
  if (isWhole)
    made.kernel->setAttr(kMergesInLaunch, b.getUnitAttr());
  SmallVector<Value> results = end(made, store->getResults());
  (isWhole ? merged : partials) = results;
  numSplits = schedule.getSplits();
  return success();
}

/// Merges neighbours, and what they became, until one state is left.
SmallVector<Value> Splitter::mergeSplits(ArrayRef<SmallVector<Value>> splits,
                                         const IRMapping &outside) {
  if (splits.size() == 1)
    return splits.front();
  size_t half = (splits.size() + 1) / 2;
  SmallVector<Value> left = mergeSplits(splits.take_front(half), outside);
  SmallVector<Value> right = mergeSplits(splits.drop_front(half), outside);
  IRMapping mapping(outside);
  Block &merge = fold.getMerge().front();
  mapping.map(merge.getArguments().take_front(left.size()), left);
  mapping.map(merge.getArguments().drop_front(left.size()), right);
  for (Operation &op : merge.without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> result;
  for (Value v : merge.getTerminator()->getOperands())
    result.push_back(mapping.lookupOrDefault(v));
  return result;
}

/// Whether results are a map of their own over merged states: they have the folded dims, or
/// so many elements beside what the states have that each of them would merge too often.
bool Splitter::isMap() const {
  SmallBitVector over =
      toDimSet(FoldOp(fold).getOver(), FoldOp(fold).getNumIterationDims());
  SmallVector<AffineMap> maps = FinalizeOp(finalize).getIndexingMapsArray();
  if (llvm::any_of(
          maps, [&](AffineMap map) { return getDimsOf(map).anyCommon(over); }))
    return true;
  SmallBitVector ofStates(over.size()), ofResults(over.size());
  for (AffineMap map : stateMaps)
    ofStates |= getDimsOf(map);
  for (AffineMap map : maps)
    ofResults |= getDimsOf(map);
  SmallVector<int64_t> extents = getStaticExtents(finalize);
  double elements = 1;
  for (unsigned d : ofResults.set_bits())
    elements *= getAssumedExtent(extents[d]);
  ofResults.reset(ofStates);
  return ofResults.any() &&
         elements * double(stateMaps.size()) * double(schedule.getSplits()) >
             kMostRepeatedMerges;
}

/// The finalisation of merged states, in the block that merged them; what else it
/// reads are the block's arguments from `next` on.
void Splitter::finaliseMerged(ArrayRef<Value> state, Block &block,
                              unsigned next, IRMapping mapping) {
  Block &last = *finalize.getProgramBody();
  for (auto [i, input] : llvm::enumerate(finalize.getInputs())) {
    auto result = dyn_cast<OpResult>(input);
    mapping.map(last.getArgument(i), result && result.getOwner() == fold
                                         ? state[result.getResultNumber()]
                                         : Value(block.getArgument(next++)));
  }
  for (Operation &op : last)
    b.clone(op, mapping);
}

/// Merges the states of neighbours, as many at a time, in kernels of their own, until one
/// kernel can merge what is left: states of many splits have a long merge.
void Splitter::mergeNeighbours() {
  Block &merge = fold.getMerge().front();
  int64_t numOps = llvm::range_size(merge.without_terminator());
  while ((numSplits - 1) * numOps > kMaxMergeOps) {
    int64_t together = 1;
    for (int64_t n = 2; n * n <= numSplits; ++n)
      if (numSplits % n == 0)
        together = n;
    if (together == 1)
      return; // a prime number of them
    numSplits /= together;
    SmallVector<Value> used = fromOutside(llvm::map_to_vector(
        merge, [](Operation &op) -> Operation * { return &op; }));
    SmallVector<Value> inputs = launched(launch, used), sources(used), inits;
    llvm::append_range(inputs, partials);
    sources.append(partials.size(), Value());
    b.setInsertionPoint(launch);
    for (Value v : partials) {
      SmallVector<OpFoldResult> sizes = sizesOf(v);
      sizes.front() = b.getIndexAttr(numSplits);
      inits.push_back(makeEmpty(sizes, v));
    }
    Made made = begin("_neighbours", inputs, inits, sources);
    OpBuilder::InsertionGuard guard(b);
    Block &body = made.kernel.getBody().front();
    b.setInsertionPointToEnd(&body);
    SmallVector<Value> operands;
    SmallVector<AffineMap> maps;
    AffineExpr number = b.getAffineDimExpr(fold.getNumIterationDims());
    auto addMaps = [&](AffineExpr split) {
      for (AffineMap map : stateMaps)
        maps.push_back(withSplit(map).insertResult(split, 0));
    };
    for (int64_t n = 0; n < together; ++n) {
      llvm::append_range(
          operands, body.getArguments().slice(used.size(), partials.size()));
      addMaps(number * together + n);
    }
    addMaps(number);
    ValueRange results = body.getArguments().take_back(partials.size());
    auto cascade =
        CascadeOp::create(b, loc, results.getTypes(), operands, results,
                          b.getAffineMapArrayAttr(maps), nullptr);
    Block &block = cascade.getBody().emplaceBlock();
    SmallVector<SmallVector<Value>> splits(together);
    for (auto [i, v] : llvm::enumerate(operands))
      splits[i / partials.size()].push_back(block.addArgument(
          cast<RankedTensorType>(v.getType()).getElementType(), loc));
    b.setInsertionPointToStart(&block);
    YieldOp::create(b, loc, mergeSplits(splits, made.mapping));
    made.kernel.setScheduleAttr(scheduleOf(cascade));
    partials = end(made, cascade.getResults());
  }
}

/// What merges the states, in the kernel of which they follow `firstState` other
/// arguments.
CascadeOp Splitter::makeMergingCascade(Made &made, size_t firstState) {
  Block &body = made.kernel.getBody().front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&body);
  // Every state of every split is an operand: the split's number is fixed.
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (int64_t p = 0; p < numSplits; ++p)
    for (auto [i, map] : llvm::enumerate(stateMaps)) {
      operands.push_back(body.getArgument(firstState + i));
      maps.push_back(map.insertResult(b.getAffineConstantExpr(p), 0));
    }
  size_t numStates = operands.size();
  SmallVector<AffineMap> lastMaps = finalize.getIndexingMapsArray();
  size_t numLast = finalize.getInputs().size();
  if (isMap()) {
    llvm::append_range(maps, stateMaps);
  } else {
    for (auto [input, map] : llvm::zip(finalize.getInputs(), lastMaps))
      if (input.getDefiningOp() != fold) {
        operands.push_back(made.mapping.lookup(input));
        maps.push_back(map);
      }
    llvm::append_range(maps, ArrayRef(lastMaps).drop_front(numLast));
  }
  SmallVector<Value> inits(body.getArguments().take_back(made.inits.size()));
  auto cascade =
      CascadeOp::create(b, loc, ValueRange(inits).getTypes(), operands, inits,
                        b.getAffineMapArrayAttr(maps), nullptr);
  Block &block = cascade.getBody().emplaceBlock();
  for (Value v : operands)
    block.addArgument(cast<RankedTensorType>(v.getType()).getElementType(),
                      loc);
  b.setInsertionPointToStart(&block);
  unsigned k = stateMaps.size();
  SmallVector<SmallVector<Value>> splits;
  for (int64_t p = 0; p < numSplits; ++p)
    splits.emplace_back(block.getArguments().slice(p * k, k));
  SmallVector<Value> state = mergeSplits(splits, made.mapping);
  if (isMap())
    YieldOp::create(b, loc, state);
  else
    finaliseMerged(state, block, numStates, made.mapping);
  return cascade;
}

/// The kernel that merges the states; it finalises too, unless that is a map over
/// the folded dims.
void Splitter::makeMerging() {
  SmallVector<Operation *> ops = llvm::map_to_vector(
      fold.getMerge().front(), [](Operation &op) { return &op; });
  if (!isMap())
    ops.push_back(finalize);
  SmallVector<Value> used = fromOutside(ops);
  SmallVector<Value> inputs = launched(launch, used), sources(used), inits;
  llvm::append_range(inputs, partials);
  sources.append(partials.size(), Value());
  b.setInsertionPoint(launch);
  if (isMap()) {
    for (Value v : partials) {
      inits.push_back(makeEmpty(ArrayRef(sizesOf(v)).drop_front(), v));
    }
  } else {
    for (Value init : finalize.getInits()) {
      inits.push_back(
          launch->getOperand(cast<BlockArgument>(init).getArgNumber()));
      sources.push_back(init);
    }
  }
  Made made = begin("_merge", inputs, inits, sources);
  CascadeOp cascade = makeMergingCascade(made, used.size());
  made.kernel.setScheduleAttr(scheduleOf(cascade));
  SmallVector<Value> results = end(made, cascade.getResults());
  if (isMap())
    merged = results;
  else if (!isOnBuffers)
    launch->replaceAllUsesWith(results);
}

/// The kernel that maps data and merged state to results.
void Splitter::makeMap() {
  SmallVector<Value> used = fromOutside({finalize});
  SmallVector<Value> inputs = launched(launch, used), sources(used), inits;
  llvm::append_range(inputs, merged);
  llvm::append_range(sources, fold->getResults());
  for (Value init : finalize.getInits()) {
    inits.push_back(
        launch->getOperand(cast<BlockArgument>(init).getArgNumber()));
    sources.push_back(init);
  }
  Made made = begin("_map", inputs, inits, sources);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&made.kernel.getBody().front());
  auto copy = cast<FinalizeOp>(b.clone(*finalize, made.mapping));
  auto cascade =
      CascadeOp::create(b, loc, copy.getResultTypes(), copy.getInputs(),
                        copy.getInits(), copy.getIndexingMaps(), nullptr);
  cascade.getBody().takeBody(copy.getBody());
  copy.erase();
  made.kernel.setScheduleAttr(scheduleOf(cascade));
  SmallVector<Value> results = end(made, cascade.getResults());
  if (!isOnBuffers)
    launch->replaceAllUsesWith(results);
}

/// Whether the last block of a tile to finish merges: where blocks can count
/// what others have done, and no dim but the cut one has an unknown extent.
bool Splitter::mergesInLaunch() {
  if (getTargetOf(kernel).getName() != "cuda")
    return false;
  if (fold.isOrdered())
    return false;
  auto program = cast<IndexProgramOpInterface>(fold.getOperation());
  // More than registers hold, and work for matrix units.
  if (hasMatrixProduct(program))
    return false;
  SmallVector<int64_t> extents = getStaticExtents(program);
  for (auto [d, extent] : llvm::enumerate(extents))
    if (ShapedType::isDynamic(extent) &&
        !llvm::is_contained(schedule.getStream(), d) &&
        !llvm::is_contained(schedule.getGrid(), d))
      return false;
  for (Region *region : {&fold.getStep(), &fold.getMerge()})
    for (Operation &op : region->front())
      if (isa<MergeTopkOp, ScanOp>(op) ||
          (isa<ReduceOp>(op) &&
           cast<ReduceOp>(op).getReducer() == Reducer::TopK))
        return false;
  return true;
}

LogicalResult Splitter::run() {
  Block &body = kernel.getBody().front();
  for (Operation &op : body) {
    if (auto f = dyn_cast<FoldOp>(op); f && !fold)
      fold = f;
    else if (auto f = dyn_cast<FinalizeOp>(op); f && !finalize)
      finalize = f;
    else if (isa<IndexProgramOpInterface>(op))
      return op.emitOpError("cannot be split: expected a fold and what "
                            "finalises it, and no other op");
  }
  if (!fold || !finalize)
    return kernel.emitOpError("has a split schedule, but no fold that is "
                              "finalised");
  if (fold.hasOutputs())
    return fold.emitOpError(
        "cannot be split: its outputs are written in order");
  stateMaps.assign(llvm::map_to_vector(
      llvm::drop_begin(fold.getIndexingMapsArray(), fold.getInputs().size()),
      [](AffineMap map) { return map; }));
  bool isWhole = !isOnBuffers && mergesInLaunch();
  if (isWhole && !isMap()) {
    kernel->setAttr(kMergesInLaunch, b.getUnitAttr());
    return success();
  }
  if (failed(makePartials(isWhole)) || failed(makeFolding(isWhole)))
    return failure();
  if (!isWhole) {
    mergeNeighbours();
    makeMerging();
  }
  if (!merged.empty())
    makeMap();
  b.setInsertionPointAfter(launch);
  for (Value v : allocated)
    memref::DeallocOp::create(b, loc, v);
  launch.erase();
  return success();
}

namespace {
struct Split : public redfuse::impl::SplitBase<Split> {
  using SplitBase::SplitBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<LaunchOp> launches;
    module.walk([&](LaunchOp launch) { launches.push_back(launch); });
    llvm::SetVector<KernelOp> done;
    for (LaunchOp launch : launches) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      if (!kernel || !kernel.getScheduleAttr() ||
          kernel.getScheduleAttr().getKind() != ScheduleKind::Split)
        continue;
      bool isUntaken =
          kernel->hasAttr(kMergesInLaunch) && launch->hasAttr(kNoRegistersAttr);
      if (kernel->hasAttr(kMergesInLaunch) && !isUntaken)
        continue;
      // Behind the plans: what has no such mark folds the splits of one that was taken
      // apart before.
      if (launch->getNumResults() == 0 && !isUntaken)
        continue;
      if (failed(Splitter(kernel, launch, symbols).run()))
        return signalPassFailure();
      if (isUntaken || !kernel->hasAttr(kMergesInLaunch))
        done.insert(kernel);
    }
    for (KernelOp kernel : done)
      if (SymbolTable::symbolKnownUseEmpty(kernel, module))
        symbols.erase(kernel);
  }
};
} // namespace
