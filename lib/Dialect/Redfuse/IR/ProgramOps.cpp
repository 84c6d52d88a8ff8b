//===- ProgramOps.cpp - what all ops with a body in index notation share --===//
//---===//
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/LinearExpr.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace redfuse;

#define GET_OP_CLASSES
#include "redfuse/Dialect/Redfuse/IR/RedfuseOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

std::optional<std::pair<OpOperand *, unsigned>>
redfuse::findExtent(IndexProgramOpInterface op, unsigned dim) {
  std::optional<std::pair<OpOperand *, unsigned>> dynamic;
  unsigned i = 0;
  for (AffineMap map : op.getIndexingMapsArray()) {
    OpOperand &operand = op->getOpOperand(i++);
    auto type = cast<ShapedType>(operand.get().getType());
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      auto d = dyn_cast<AffineDimExpr>(expr);
      if (!d || d.getPosition() != dim)
        continue;
      // A static extent says more than a dynamic one.
      if (!type.isDynamicDim(position))
        return std::make_pair(&operand, unsigned(position));
      if (!dynamic)
        dynamic = std::make_pair(&operand, unsigned(position));
    }
  }
  return dynamic;
}

SmallVector<int64_t> redfuse::getStaticExtents(IndexProgramOpInterface op) {
  SmallVector<int64_t> extents;
  for (unsigned d = 0, e = op.getNumIterationDims(); d < e; ++d) {
    auto where = findExtent(op, d);
    extents.push_back(where ? cast<ShapedType>(where->first->get().getType())
                                  .getDimSize(where->second)
                            : 1);
  }
  return extents;
}

SmallVector<OpFoldResult> redfuse::getExtents(OpBuilder &b,
                                              IndexProgramOpInterface op) {
  SmallVector<OpFoldResult> extents;
  for (unsigned d = 0, e = op.getNumIterationDims(); d < e; ++d) {
    auto where = findExtent(op, d);
    extents.push_back(where ? tensor::getMixedSize(b, op.getLoc(),
                                                   where->first->get(),
                                                   where->second)
                            : OpFoldResult(b.getIndexAttr(1)));
  }
  return extents;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyMaps(IndexProgramOpInterface op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned numInputs = op.getProgramInputs().size();
  unsigned numInits = op.getProgramInits().size();
  if (maps.size() != numInputs + numInits)
    return op.emitOpError() << "expected " << numInputs + numInits
                            << " indexing maps, one for each input and init, "
                               "got "
                            << maps.size();
  if (numInits == 0)
    return op.emitOpError("expected at least one init");
  unsigned numDims = maps.front().getNumDims();
  SmallBitVector used(numDims);
  for (auto [i, map] : llvm::enumerate(maps)) {
    bool isInit = i >= numInputs;
    auto type = cast<RankedTensorType>(op->getOperand(i).getType());
    if (map.getNumDims() != numDims || map.getNumSymbols() != 0)
      return op.emitOpError()
             << "indexing map " << i << ": expected " << numDims
             << " dims and no symbols as in the first map, got "
             << map.getNumDims() << " and " << map.getNumSymbols();
    if (static_cast<int64_t>(map.getNumResults()) != type.getRank())
      return op.emitOpError()
             << "indexing map " << i << ": expected " << type.getRank()
             << " results, the rank of its operand, got "
             << map.getNumResults();
    if (isInit && !map.isProjectedPermutation())
      return op.emitOpError()
             << "the indexing map of init " << i - numInputs
             << " must be a projected permutation (each point written once)";
    used |= getDimsOf(map);
  }
  SmallVector<int64_t> extents = getStaticExtents(op);
  for (unsigned d : used.set_bits())
    if (!findExtent(op, d))
      return op.emitOpError() << "no operand gives the extent of dim " << d
                              << ": it occurs only inside expressions";
  for (auto [i, map] : llvm::enumerate(maps)) {
    auto type = cast<RankedTensorType>(op->getOperand(i).getType());
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      int64_t size = type.getDimSize(position);
      if (ShapedType::isDynamic(size))
        continue;
      if (auto d = dyn_cast<AffineDimExpr>(expr)) {
        int64_t extent = extents[d.getPosition()];
        if (!ShapedType::isDynamic(extent) && extent != size)
          return op.emitOpError()
                 << "operand " << i << " has size " << size << " where dim "
                 << d.getPosition() << " has extent " << extent;
        continue;
      }
      if (llvm::any_of(extents, [](int64_t extent) {
            return ShapedType::isDynamic(extent) || extent == 0;
          }))
        continue;
      auto linear = getLinearExpr(expr, numDims);
      if (!linear)
        continue;
      auto [first, last] = linear->getRange(extents);
      if (first < 0 || last >= size)
        return op.emitOpError()
               << "operand " << i << " is read at " << first << " to " << last
               << " of a dim of size " << size;
    }
  }
  return success();
}

static LogicalResult verifyProgram(IndexProgramOpInterface op) {
  if (failed(verifyMaps(op)))
    return failure();
  if (op->getNumResults() != op.getProgramInits().size())
    return op.emitOpError()
           << "expected as many results as inits ("
           << op.getProgramInits().size() << "), got " << op->getNumResults();
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (result.getType() != op.getProgramInits()[i].getType())
      return op.emitOpError()
             << "result " << i << " has type " << result.getType()
             << ", but its init has " << op.getProgramInits()[i].getType();
  return success();
}

LogicalResult redfuse::verifySchedule(Operation *op, ScheduleAttr schedule,
                                      unsigned numDims) {
  if (schedule.getTiles().size() == numDims)
    return success();
  return op->emitOpError() << "the schedule has " << schedule.getTiles().size()
                           << " tiles, expected one for each of the " << numDims
                           << " iteration dims";
}

LogicalResult redfuse::verifyScheduledDims(IndexProgramOpInterface op,
                                           ScheduleAttr schedule) {
  SmallBitVector reduced = getReducedDims(op);
  for (int64_t d : schedule.getGrid())
    if (reduced.test(d))
      return op->emitOpError() << "dim " << d
                               << " is in 'grid' of the schedule, but it is "
                                  "reduced: expected a parallel dim";
  return success();
}

SmallBitVector redfuse::getReducedDims(IndexProgramOpInterface op) {
  SmallBitVector dims(op.getNumIterationDims());
  for (auto reduce : op.getProgramBody()->getOps<ReduceOp>())
    dims |= toDimSet(reduce.getOver(), dims.size());
  if (auto fold = dyn_cast<FoldOp>(op.getOperation()))
    dims |= toDimSet(fold.getOver(), dims.size());
  return dims;
}

/// Checks the arguments and the yield of one body. `types` are the element
/// types of its arguments, `maps` the maps of what it yields.
static LogicalResult verifyBody(IndexProgramOpInterface op, Block &body,
                                StringRef name, TypeRange argumentTypes,
                                function_ref<AffineMap(unsigned)> mapOfArgument,
                                ArrayRef<AffineMap> yieldMaps,
                                TypeRange yieldTypes) {
  if (body.getNumArguments() != argumentTypes.size())
    return op.emitOpError() << name << ": expected " << argumentTypes.size()
                            << " arguments, got " << body.getNumArguments();
  for (auto [i, type] : llvm::enumerate(argumentTypes))
    if (body.getArgument(i).getType() != type)
      return op.emitOpError()
             << name << ": argument " << i << " has type "
             << body.getArgument(i).getType() << ", expected " << type;
  auto yield = dyn_cast_or_null<YieldOp>(
      body.mightHaveTerminator() ? body.getTerminator() : nullptr);
  if (!yield)
    return op.emitOpError() << name << ": expected to end with redfuse.yield";
  for (Operation &inner : body) {
    if (inner.getNumRegions() != 0 &&
        !isa<CombiningOpInterface, CombineOp>(inner))
      return inner.emitOpError()
             << "ops with regions cannot stand in the body of '"
             << op->getName() << "'";
    if (!isMemoryEffectFree(&inner) && !isa<cf::AssertOp>(inner))
      return inner.emitOpError()
             << "has side effects; the body of '" << op->getName()
             << "' takes pure ops and cf.assert";
    if (isa<YieldOp>(inner) || isa<cf::AssertOp>(inner))
      continue;
    for (Type type : inner.getResultTypes())
      if (!type.isIntOrIndexOrFloat() && !isa<ComplexType>(type))
        return inner.emitOpError()
               << "makes a value of type " << type << "; the body of '"
               << op->getName() << "' works on scalars";
  }
  if (yield.getValues().size() != yieldMaps.size())
    return yield.emitOpError()
           << "expected " << yieldMaps.size()
           << " values, one for each init, got " << yield.getValues().size();
  FailureOr<DimSets> sets =
      DimSets::compute(body, op.getNumIterationDims(), mapOfArgument);
  if (failed(sets))
    return failure();
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (value.getType() != yieldTypes[i])
      return yield.emitOpError()
             << "value " << i << " has type " << value.getType()
             << ", expected " << yieldTypes[i];
    SmallBitVector extra = (*sets)[value];
    extra.reset(getDimsOf(yieldMaps[i]));
    if (extra.any())
      return yield.emitOpError()
             << "value " << i << " depends on dim " << extra.find_first()
             << ", which the map of its init lacks: reduce it first";
  }
  return success();
}

static SmallVector<Type> elementTypes(ValueRange tensors) {
  return llvm::map_to_vector(tensors, [](Value v) {
    return cast<ShapedType>(v.getType()).getElementType();
  });
}

/// The body of an op that takes its inputs and yields its results.
static LogicalResult verifyPlainBody(IndexProgramOpInterface op,
                                     StringRef name = "body") {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<Type> types = elementTypes(op.getProgramInputs());
  return verifyBody(
      op, *op.getProgramBody(), name, types,
      [&](unsigned i) { return op.getMapOfBodyArgument(i); },
      ArrayRef<AffineMap>(maps).drop_front(op.getProgramInputs().size()),
      elementTypes(op.getProgramInits()));
}

LogicalResult CascadeOp::verify() {
  if (failed(verifyProgram(*this)))
    return failure();
  if (auto schedule = getScheduleAttr())
    return verifySchedule(*this, schedule, getNumIterationDims());
  return success();
}
LogicalResult CascadeOp::verifyRegions() {
  if (failed(verifyPlainBody(*this)))
    return failure();
  if (auto schedule = getScheduleAttr())
    return verifyScheduledDims(*this, schedule);
  return success();
}

LogicalResult FinalizeOp::verify() { return verifyProgram(*this); }
LogicalResult FinalizeOp::verifyRegions() {
  if (failed(verifyPlainBody(*this)))
    return failure();
  // The elements along folded dims are gone, all but those that a map reads
  // again, which are walked tile by tile. Only the fold whose state this takes
  // has the same dims; what another one writes out is a tensor like any other.
  for (Value input : getInputs()) {
    auto fold = input.getDefiningOp<FoldOp>();
    if (!fold || cast<OpResult>(input).getResultNumber() >= fold.getNumStates())
      continue;
    for (Operation &inner : getBody().front()) {
      SmallVector<int64_t> dims;
      if (auto reduce = dyn_cast<ReduceOp>(inner))
        dims.assign(reduce.getOver().begin(), reduce.getOver().end());
      if (auto scan = dyn_cast<ScanOp>(inner))
        dims.push_back(scan.getDim());
      for (int64_t d : dims)
        if (llvm::is_contained(fold.getOver(), d))
          return inner.emitOpError()
                 << "reduces dim " << d
                 << ", which was folded: redfuse.finalize reduces other dims "
                    "only";
    }
  }
  return success();
}

LogicalResult MergeOp::verify() {
  if (failed(verifyProgram(*this)))
    return failure();
  if (getInputs().getTypes() != getInits().getTypes())
    return emitOpError("expected the components of the right state (inputs) to "
                       "have the types of the left state's (inits)");
  SmallVector<AffineMap> maps = getIndexingMapsArray();
  unsigned n = getInits().size();
  for (unsigned i = 0; i < n; ++i)
    if (maps[i] != maps[n + i])
      return emitOpError() << "component " << i
                           << " has different indexing maps left and right";
  return success();
}
LogicalResult MergeOp::verifyRegions() {
  SmallVector<AffineMap> maps = getIndexingMapsArray();
  unsigned n = getInits().size();
  SmallVector<Type> types = elementTypes(getInits());
  SmallVector<Type> both(types);
  llvm::append_range(both, types);
  return verifyBody(
      *this, getBody().front(), "body", both,
      [&](unsigned i) { return getMapOfBodyArgument(i); },
      ArrayRef<AffineMap>(maps).drop_front(n), types);
}

LogicalResult FoldOp::verify() {
  if (failed(verifyProgram(*this)))
    return failure();
  unsigned numDims = getNumIterationDims();
  if (getOver().empty())
    return emitOpError("'over' must name at least one dim");
  SmallBitVector over(numDims);
  for (int64_t d : getOver()) {
    if (d < 0 || d >= numDims)
      return emitOpError() << "'over' names dim " << d << ", but there are "
                           << numDims << " iteration dims";
    if (over.test(d))
      return emitOpError() << "'over' names dim " << d << " twice";
    over.set(d);
  }
  SmallVector<AffineMap> maps = getIndexingMapsArray();
  unsigned numStates = getNumStates();
  if (numStates == 0 || numStates > getInits().size())
    return emitOpError() << "expected an identity for each component of the "
                            "state, at least 1 and at most "
                         << getInits().size() << ", got " << numStates;
  for (unsigned i = 0, e = getInits().size(); i < e; ++i) {
    SmallBitVector dims = getDimsOf(maps[getInputs().size() + i]);
    if (i < numStates && dims.anyCommon(over))
      return emitOpError() << "state component " << i
                           << " depends on a dim of 'over'; the results that "
                              "may are those without an identity, at the end";
    if (i >= numStates && !isSubset(over, dims))
      return emitOpError() << "result " << i
                           << " has no identity and is no component of the "
                              "state: its map must have every dim of 'over'";
  }
  for (auto [i, attr] : llvm::enumerate(getIdentities())) {
    Type element =
        cast<RankedTensorType>(getInits()[i].getType()).getElementType();
    auto typed = dyn_cast<TypedAttr>(attr);
    if (!typed || typed.getType() != element)
      return emitOpError() << "identity " << i << " must be a constant of type "
                           << element << ", got " << attr;
  }
  if (auto schedule = getScheduleAttr())
    return verifySchedule(*this, schedule, numDims);
  return success();
}

bool FoldOp::isOrdered() {
  DictionaryAttr certificate = getCertificateAttr();
  return certificate && certificate.contains("ordered");
}

LogicalResult FoldOp::verifyRegions() {
  SmallVector<AffineMap> maps = getIndexingMapsArray();
  ArrayRef<AffineMap> stateMaps =
      ArrayRef<AffineMap>(maps).drop_front(getInputs().size());
  SmallVector<Type> resultTypes = elementTypes(getInits());
  SmallVector<Type> stateTypes(
      ArrayRef<Type>(resultTypes).take_front(getNumStates()));
  SmallVector<Type> stepTypes = elementTypes(getInputs());
  llvm::append_range(stepTypes, stateTypes);
  if (failed(verifyBody(
          *this, getStep().front(), "step", stepTypes,
          [&](unsigned i) { return maps[i]; }, stateMaps, resultTypes)))
    return failure();
  stateMaps = stateMaps.take_front(getNumStates());
  SmallVector<Type> mergeTypes(stateTypes);
  llvm::append_range(mergeTypes, stateTypes);
  unsigned n = stateTypes.size();
  if (failed(verifyBody(
          *this, getMerge().front(), "merge", mergeTypes,
          [&](unsigned i) { return stateMaps[i % n]; }, stateMaps, stateTypes)))
    return failure();
  for (auto scan : getMerge().front().getOps<ScanOp>())
    return scan.emitOpError("is not allowed in 'merge', which combines states");
  for (auto reduce : getMerge().front().getOps<ReduceOp>())
    for (int64_t d : reduce.getOver())
      if (llvm::is_contained(getOver(), d))
        return reduce.emitOpError()
               << "reduces dim " << d
               << " in 'merge', but there are no elements along the dims of "
                  "'over' there";
  if (auto schedule = getScheduleAttr())
    return verifyScheduledDims(*this, schedule);
  return success();
}

//===----------------------------------------------------------------------===//
// Body-level ops
//===----------------------------------------------------------------------===//

LogicalResult IndexOp::verify() {
  if (!isa<IndexProgramOpInterface>((*this)->getParentOp()))
    return emitOpError("must stand in the body of a redfuse op");
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes of results
//===----------------------------------------------------------------------===//

static LogicalResult reifyFromInits(Operation *op, OpBuilder &b,
                                    ReifiedRankedShapedTypeDims &shapes) {
  auto dps = cast<DestinationStyleOpInterface>(op);
  for (Value init : dps.getDpsInits())
    if (isa<RankedTensorType>(init.getType()))
      shapes.push_back(tensor::getMixedSizes(b, op->getLoc(), init));
  return success();
}

#define REDFUSE_REIFY(Op)                                                      \
  LogicalResult Op::reifyResultShapes(OpBuilder &b,                            \
                                      ReifiedRankedShapedTypeDims &shapes) {   \
    return reifyFromInits(getOperation(), b, shapes);                          \
  }
REDFUSE_REIFY(CascadeOp)
REDFUSE_REIFY(FoldOp)
REDFUSE_REIFY(MergeOp)
REDFUSE_REIFY(FinalizeOp)
REDFUSE_REIFY(LaunchOp)
#undef REDFUSE_REIFY
