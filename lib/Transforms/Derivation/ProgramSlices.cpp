//===- ProgramSlices.cpp - parts of a program for functions of a state ----===//
//
// What some values need of a program is cloned into another function, where the
// streamed dim is as long as a chunk. Sizes along it are the chunk's, or what is
// said to be their total; positions along it count from the chunk's first element.
//
//===----------------------------------------------------------------------===//
#include "ProgramSlices.h"

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Dialect/Redfuse/Utils/TensorPart.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace redfuse;

void redfuse::forEachNeeded(Operation *op, const StreamedDim &dim,
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

ResultRange redfuse::getStates(FoldOp fold) {
  return fold->getResults().take_front(fold.getNumStates());
}

SmallVector<AffineMap> redfuse::getMapsOfStates(FoldOp fold) {
  SmallVector<AffineMap> all = fold.getIndexingMapsArray();
  auto first = all.begin() + fold.getInputs().size();
  return SmallVector<AffineMap>(first, first + fold.getNumStates());
}

/// Clones what is in a block but for its terminator, whose operands are returned.
static SmallVector<Value> cloneStatements(OpBuilder &b, Block &block,
                                          ValueRange arguments) {
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    b.clone(op, mapping);
  return llvm::map_to_vector(
      block.getTerminator()->getOperands(),
      [&](Value v) { return mapping.lookupOrDefault(v); });
}

FoldOp redfuse::cloneFold(OpBuilder &b, FoldOp fold, ValueRange before) {
  unsigned n = fold.getNumStates(), numInputs = fold.getInputs().size();
  unsigned kept = before.empty() ? n : fold->getNumResults();
  SmallVector<Value> inputs(fold.getInputs());
  llvm::append_range(inputs, before);
  SmallVector<AffineMap> all = fold.getIndexingMapsArray();
  SmallVector<AffineMap> maps(all.begin(), all.begin() + numInputs);
  if (!before.empty())
    llvm::append_range(maps, getMapsOfStates(fold));
  maps.append(all.begin() + numInputs, all.begin() + numInputs + kept);
  auto made = FoldOp::create(
      b, fold.getLoc(), fold->getResults().take_front(kept).getTypes(), inputs,
      fold.getInits().take_front(kept), b.getAffineMapArrayAttr(maps),
      fold.getOverAttr(), fold.getIdentitiesAttr(), fold.getCertificateAttr(),
      fold.getScheduleAttr());
  if (Attribute info = fold->getAttr(kInfoAttr))
    made->setAttr(kInfoAttr, info);
  IRMapping mapping;
  fold.getMerge().cloneInto(&made.getMerge(), mapping);
  OpBuilder::InsertionGuard guard(b);
  Block &from = fold.getStep().front();
  Block &step = made.getStep().emplaceBlock();
  auto addArguments = [&](unsigned first, unsigned count) {
    SmallVector<Value> added;
    for (BlockArgument arg : from.getArguments().slice(first, count))
      added.push_back(step.addArgument(arg.getType(), arg.getLoc()));
    return added;
  };
  SmallVector<Value> data = addArguments(0, numInputs), earlier;
  if (!before.empty())
    earlier = addArguments(numInputs, n);
  SmallVector<Value> carried = addArguments(numInputs, n);
  b.setInsertionPointToStart(&step);
  SmallVector<Value> arguments(data);
  llvm::append_range(arguments, carried);
  SmallVector<Value> yielded = cloneStatements(b, from, arguments);
  yielded.truncate(n);
  if (!before.empty()) {
    SmallVector<Value> both(earlier);
    llvm::append_range(both, carried);
    SmallVector<Value> so = cloneStatements(b, fold.getMerge().front(), both);
    arguments = data;
    llvm::append_range(arguments, so);
    SmallVector<Value> outputs = cloneStatements(b, from, arguments);
    yielded.append(outputs.begin() + n, outputs.end());
  }
  YieldOp::create(b, fold.getLoc(), yielded);
  return made;
}

void redfuse::joinFinalizes(OpBuilder &b, FinalizeOp first, FinalizeOp last) {
  SmallVector<AffineMap> made = first.getIndexingMapsArray();
  SmallVector<AffineMap> read = last.getIndexingMapsArray();
  unsigned before = first.getInputs().size();
  SmallVector<Value> inputs(first.getInputs());
  SmallVector<AffineMap> maps(made.begin(), made.begin() + before);
  // For each input of `last`: a result of `first`, or one of the new op's inputs.
  SmallVector<std::pair<bool, unsigned>> sources;
  for (auto [i, v] : llvm::enumerate(last.getInputs())) {
    if (v.getDefiningOp() != first) {
      sources.push_back({false, inputs.size()});
      inputs.push_back(v);
      maps.push_back(read[i]);
      continue;
    }
    unsigned result = cast<OpResult>(v).getResultNumber();
    if (made[before + result] != read[i])
      return;
    sources.push_back({true, result});
  }
  if (llvm::none_of(sources, [](auto source) { return source.first; }))
    return;
  maps.append(read.begin() + last.getInputs().size(), read.end());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(last);
  auto joined =
      FinalizeOp::create(b, last.getLoc(), last.getResultTypes(), inputs,
                         last.getInits(), b.getAffineMapArrayAttr(maps));
  joined->setDiscardableAttrs(first->getDiscardableAttrDictionary());
  Block &body = joined.getBody().emplaceBlock();
  for (Value v : inputs)
    body.addArgument(getElementTypeOrSelf(v.getType()), v.getLoc());
  b.setInsertionPointToStart(&body);
  IRMapping inner;
  for (auto [from, to] :
       llvm::zip_first(first.getBody().getArguments(), body.getArguments()))
    inner.map(from, to);
  Block &states = first.getBody().front(), &results = last.getBody().front();
  for (Operation &op : states.without_terminator())
    b.clone(op, inner);
  for (auto [argument, source] :
       llvm::zip_equal(results.getArguments(), sources)) {
    auto [isMade, number] = source;
    Value state = isMade ? states.getTerminator()->getOperand(number) : Value();
    inner.map(argument, isMade ? inner.lookupOrDefault(state)
                               : Value(body.getArgument(number)));
  }
  for (Operation &op : results)
    b.clone(op, inner);
  last.replaceAllUsesWith(joined.getResults());
  last.erase();
}

LogicalResult SliceCloner::cloneSlice(ArrayRef<Value> roots) {
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

LogicalResult SliceCloner::cloneDim(tensor::DimOp op) {
  std::optional<int64_t> position = op.getConstantIndex();
  Value source = op.getSource();
  if (!position)
    return op.emitError() << failing
                          << "asks for an extent at a computed position";
  auto give = [&](Value v) {
    mapping.map(op.getResult(), v);
    return success();
  };
  if (auto axis = dim.find(source); axis && axis->position == *position) {
    if (!total)
      return op.emitError() << failing
                            << "uses the length of the streamed dim before all "
                               "of it is known; "
                               "only what follows the reductions may";
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
    return op.emitError() << failing
                          << "uses an extent that only the chunk has";
  return give(b.createOrFold<tensor::DimOp>(op.getLoc(), tensor, *position));
}

/// How long a tensor is along the dim.
OpFoldResult SliceCloner::lengthAt(StreamedAxis axis) {
  int64_t n = dim.getPartLength();
  if (ShapedType::isDynamic(n))
    return scaled(length, axis.scale);
  return b.getIndexAttr(n * axis.scale);
}

SmallVector<OpFoldResult> SliceCloner::sizesOf(Value tensor,
                                               ArrayRef<OpFoldResult> sizes) {
  std::optional<StreamedAxis> axis = dim.find(tensor);
  SmallVector<OpFoldResult> result;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (axis && axis->position == i)
      result.push_back(lengthAt(*axis));
    else if (auto v = dyn_cast<Value>(size))
      result.push_back(mapping.lookup(v));
    else
      result.push_back(size);
  }
  return result;
}

/// Clones an op with a body: `redfuse.index` of the streamed dim counts from the
/// chunk's first element.
Operation *SliceCloner::cloneProgram(Operation *op) {
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

LogicalResult SliceCloner::clone(Operation *op) {
  if (llvm::any_of(op->getResults(),
                   [&](Value v) { return mapping.contains(v); }))
    return success();
  if (isa<FoldOp>(op))
    return user->emitError()
           << failing
           << "a reduction over the streamed dim needs the finished result of "
              "another one that was not fused with it";
  if (auto dimOp = dyn_cast<tensor::DimOp>(op))
    return cloneDim(dimOp);
  bool isStreamed =
      dim.getDimOf(op) ||
      llvm::any_of(op->getResults(), [&](Value v) { return dim.find(v); });
  if (isStreamed && !length)
    return op->emitError() << failing
                           << "has the streamed dim, and what needs it has not";
  if (isa<IndexProgramOpInterface>(op)) {
    if (Operation *walk = dim.findWalk(op))
      return walk->emitError()
             << failing
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
    OpFoldResult begin = scaled(offset, axis.scale);
    TensorPart part(b, type, axis.position, begin, lengthAt(axis));
    usesOffset = true;
    made = tensor::ExtractSliceOp::create(b, loc, type, whole, part.offsets,
                                          part.sizes, part.strides);
  } else {
    Operation *copy = b.clone(*op, mapping);
    copy->getResult(0).setType(type);
    return success();
  }
  mapping.map(result, made);
  return success();
}
