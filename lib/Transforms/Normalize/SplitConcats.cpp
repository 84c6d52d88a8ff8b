//===- SplitConcats.cpp - redfuse-split-concats ---------------------------===//
//
// What is reduced over a concatenation of a long tensor and a few elements (weights that
// are normalised with one element more, say) is reduced over the long tensor, and the few
// elements are added to the result: the long tensor keeps its extent, which others share,
// and nothing is put together in memory.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Dialect/Redfuse/Utils/TensorPart.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace redfuse {
#define GEN_PASS_DEF_SPLITCONCATS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// A tensor that is put together along `axis`, and, once it is split, its parts.
struct Split {
  int64_t axis;
  SmallVector<Value> parts;
};

/// A concatenation, and what is made of it up to reductions and slices.
class ConcatSplit {
public:
  explicit ConcatSplit(tensor::ConcatOp concat) : concat(concat) {}

  /// Whether everything that reads it can read its parts.
  bool find();
  void rewrite(RewriterBase &b);

private:
  bool visit(Operation *op);
  bool visitGeneric(linalg::GenericOp op);
  bool visitSlice(tensor::ExtractSliceOp op);
  template <typename Op>
  bool visitReshape(Op op);
  std::optional<unsigned> findLoop(linalg::GenericOp op);
  unsigned partOf(int64_t offset, int64_t size) const;

  Value sliceAlong(RewriterBase &b, Value v, int64_t axis, int64_t offset,
                   int64_t size, bool isDropped);
  Value makePart(RewriterBase &b, OpOperand &operand, AffineMap map,
                 unsigned loop, unsigned part);
  SmallVector<Value> runPart(RewriterBase &b, linalg::GenericOp op,
                             unsigned loop, unsigned part, ValueRange sums);
  SmallVector<Value> runElement(RewriterBase &b, linalg::GenericOp op,
                                unsigned loop, unsigned part, int64_t element,
                                ValueRange sums);
  void rewriteGeneric(RewriterBase &b, linalg::GenericOp op);
  void rewriteSlice(RewriterBase &b, tensor::ExtractSliceOp op);
  template <typename Op>
  void rewriteReshape(RewriterBase &b, Op op);

  tensor::ConcatOp concat;
  /// Where each part begins, and how long it is.
  SmallVector<int64_t> offsets, sizes;
  unsigned longest = 0;
  DenseMap<Value, Split> splits;
  /// What reads a split tensor, in block order.
  SmallVector<Operation *> readers;
  bool isReduced = false, isSliced = false;
  /// Whether slices of the longest part have all of it.
  bool areWhole = true;
};
} // namespace

/// The place of a map's result that is `loop` as it is; nothing where there is none, and
/// where the map is otherwise one of it (`isOther`).
static std::optional<int64_t> findPlace(AffineMap map, unsigned loop,
                                        bool &isOther) {
  std::optional<int64_t> place;
  for (auto [i, e] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(e);
    if (dim && dim.getPosition() == loop && !place)
      place = int64_t(i);
    else if (e.isFunctionOfDim(loop))
      isOther = true;
  }
  return place;
}

static bool isStatic(Value v) {
  return cast<RankedTensorType>(v.getType()).hasStaticShape();
}

bool ConcatSplit::find() {
  int64_t axis = int64_t(concat.getDim()), all = 0;
  for (Value input : concat.getInputs()) {
    if (!isStatic(input))
      return false;
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(axis);
    offsets.push_back(all);
    sizes.push_back(size);
    all += size;
    if (size > sizes[longest])
      longest = unsigned(sizes.size()) - 1;
  }
  int64_t others = all - sizes[longest];
  if (others == 0 || others > kMostElementsBeside ||
      sizes[longest] <= kMostElementsBeside)
    return false;
  splits[concat.getResult()] = {axis, {}};
  for (Operation *op = concat->getNextNode(); op; op = op->getNextNode())
    if (llvm::any_of(op->getOperands(),
                     [&](Value v) { return splits.contains(v); }) &&
        !visit(op))
      return false;
  // Not in regions, which the walk does not see.
  for (auto &[value, split] : splits)
    for (Operation *user : value.getUsers())
      if (user->getBlock() != concat->getBlock())
        return false;
  return isReduced || (isSliced && areWhole);
}

bool ConcatSplit::visit(Operation *op) {
  readers.push_back(op);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return visitGeneric(generic);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return visitSlice(slice);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return visitReshape(expand);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return visitReshape(collapse);
  return false;
}

/// The loop along which all split tensors are walked that an op reads.
std::optional<unsigned> ConcatSplit::findLoop(linalg::GenericOp op) {
  std::optional<unsigned> loop;
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = splits.find(operand.get());
    if (it == splits.end())
      continue;
    auto dim = dyn_cast<AffineDimExpr>(
        op.getMatchingIndexingMap(&operand).getResult(it->second.axis));
    if (!dim || (loop && *loop != dim.getPosition()) || op.isDpsInit(&operand))
      return std::nullopt;
    loop = dim.getPosition();
  }
  return loop;
}

bool ConcatSplit::visitGeneric(linalg::GenericOp op) {
  std::optional<unsigned> loop = findLoop(op);
  if (!loop)
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isOther = false;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    std::optional<int64_t> place = findPlace(map, *loop, isOther);
    auto it = splits.find(operand.get());
    bool isWhole = it == splits.end();
    if (isOther || !isa<RankedTensorType>(operand.get().getType()) ||
        (place && !isStatic(operand.get())) ||
        (!isWhole && place != it->second.axis))
      return false;
  }
  if (op.getIteratorTypesArray()[*loop] == utils::IteratorType::reduction) {
    isReduced = true;
    return true;
  }
  for (OpResult result : op->getResults()) {
    bool isOther = false;
    AffineMap map = op.getMatchingIndexingMap(
        op.getDpsInitOperand(result.getResultNumber()));
    std::optional<int64_t> place = findPlace(map, *loop, isOther);
    if (!place)
      return false;
    splits[result] = {*place, {}};
  }
  return true;
}

/// The part that has all of a range; as many as there are if none has.
unsigned ConcatSplit::partOf(int64_t offset, int64_t size) const {
  for (unsigned p = 0; p < sizes.size(); ++p)
    if (offset >= offsets[p] && offset + size <= offsets[p] + sizes[p])
      return p;
  return unsigned(sizes.size());
}

bool ConcatSplit::visitSlice(tensor::ExtractSliceOp op) {
  int64_t axis = splits.find(op.getSource())->second.axis;
  if (llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic) ||
      llvm::any_of(op.getStaticSizes(), ShapedType::isDynamic) ||
      !op.hasUnitStride())
    return false;
  int64_t size = op.getStaticSize(axis);
  unsigned part = partOf(op.getStaticOffset(axis), size);
  if (part == sizes.size())
    return false;
  isSliced = true;
  areWhole &= part != longest || size == sizes[part];
  return true;
}

/// The group of dims of the longer side that `axis` of one side is in, which has that one
/// dim alone: where the axis is on the other side.
static std::optional<int64_t> followAxis(ArrayRef<ReassociationIndices> groups,
                                         int64_t axis, bool isExpanded) {
  for (auto [g, group] : llvm::enumerate(groups)) {
    int64_t from = isExpanded ? int64_t(g) : group.front(),
            to = isExpanded ? group.front() : int64_t(g);
    if (group.size() == 1 && from == axis)
      return to;
  }
  return std::nullopt;
}

template <typename Op>
bool ConcatSplit::visitReshape(Op op) {
  std::optional<int64_t> axis = followAxis(
      op.getReassociationIndices(), splits.find(op.getSrc())->second.axis,
      std::is_same_v<Op, tensor::ExpandShapeOp>);
  if (!axis || !isStatic(op.getResult()))
    return false;
  splits[op.getResult()] = {*axis, {}};
  return true;
}

/// Part of a tensor along one axis, without that axis if `isDropped`.
Value ConcatSplit::sliceAlong(RewriterBase &b, Value v, int64_t axis,
                              int64_t offset, int64_t size, bool isDropped) {
  if (!isDropped)
    return extractPart(b, v.getLoc(), v, axis, offset, size);
  auto type = cast<RankedTensorType>(v.getType());
  SmallVector<int64_t> left(type.getShape());
  left.erase(left.begin() + axis);
  TensorPart part(b, type, axis, offset, size);
  return tensor::ExtractSliceOp::create(
      b, v.getLoc(), RankedTensorType::get(left, type.getElementType()), v,
      part.offsets, part.sizes, part.strides);
}

/// What an operand of an op is for one part.
Value ConcatSplit::makePart(RewriterBase &b, OpOperand &operand, AffineMap map,
                            unsigned loop, unsigned part) {
  auto it = splits.find(operand.get());
  if (it != splits.end())
    return it->second.parts[part];
  bool isOther = false;
  std::optional<int64_t> place = findPlace(map, loop, isOther);
  if (!place)
    return operand.get();
  if (operand.get().getDefiningOp<tensor::EmptyOp>()) {
    auto type = cast<RankedTensorType>(operand.get().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[*place] = sizes[part];
    return tensor::EmptyOp::create(b, operand.get().getLoc(), shape,
                                   type.getElementType());
  }
  return sliceAlong(b, operand.get(), *place, offsets[part], sizes[part],
                    /*isDropped=*/false);
}

/// The op on one part; where it reduces along the loop, behind `sums`.
SmallVector<Value> ConcatSplit::runPart(RewriterBase &b, linalg::GenericOp op,
                                        unsigned loop, unsigned part,
                                        ValueRange sums) {
  SmallVector<Value> inputs, inits(sums);
  for (OpOperand *operand : op.getDpsInputOperands())
    inputs.push_back(
        makePart(b, *operand, op.getMatchingIndexingMap(operand), loop, part));
  if (sums.empty())
    for (OpOperand &init : op.getDpsInitsMutable())
      inits.push_back(
          makePart(b, init, op.getMatchingIndexingMap(&init), loop, part));
  auto made = linalg::GenericOp::create(
      b, op.getLoc(), ValueRange(inits).getTypes(), inputs, inits,
      op.getIndexingMapsArray(), op.getIteratorTypesArray());
  b.cloneRegionBefore(op.getRegion(), made.getRegion(),
                      made.getRegion().begin());
  for (auto index :
       llvm::to_vector(made.getBody()->getOps<linalg::IndexOp>())) {
    if (index.getDim() != loop || offsets[part] == 0)
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(index);
    Value start =
        arith::ConstantIndexOp::create(b, index.getLoc(), offsets[part]);
    Value at = arith::AddIOp::create(b, index.getLoc(), index, start);
    b.replaceAllUsesExcept(index, at, at.getDefiningOp());
  }
  return SmallVector<Value>(made->getResults());
}

/// A reduction's op on one element of a part, behind `sums`: the loop is gone.
SmallVector<Value> ConcatSplit::runElement(RewriterBase &b,
                                           linalg::GenericOp op, unsigned loop,
                                           unsigned part, int64_t element,
                                           ValueRange sums) {
  SmallVector<Value> inputs, inits(sums);
  SmallVector<AffineMap> maps;
  SmallVector<AffineExpr> loops;
  for (unsigned d = 0, n = op.getNumLoops(); d < n; ++d)
    loops.push_back(d == loop ? b.getAffineConstantExpr(0)
                              : b.getAffineDimExpr(d - (d > loop)));
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool isOther = false;
    std::optional<int64_t> place = findPlace(map, loop, isOther);
    SmallVector<AffineExpr> results(map.getResults());
    if (place)
      results.erase(results.begin() + *place);
    maps.push_back(AffineMap::get(map.getNumDims(), 0, results, b.getContext())
                       .replaceDimsAndSymbols(loops, {}, loops.size() - 1, 0));
    if (op.isDpsInit(&operand))
      continue;
    Value v = operand.get();
    if (place) {
      auto it = splits.find(v);
      bool isSplit = it != splits.end();
      v = sliceAlong(b, isSplit ? it->second.parts[part] : v, *place,
                     isSplit ? element : offsets[part] + element, 1,
                     /*isDropped=*/true);
    }
    inputs.push_back(v);
  }
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  kinds.erase(kinds.begin() + loop);
  auto made = linalg::GenericOp::create(
      b, op.getLoc(), ValueRange(inits).getTypes(), inputs, inits, maps, kinds);
  b.cloneRegionBefore(op.getRegion(), made.getRegion(),
                      made.getRegion().begin());
  for (auto index :
       llvm::to_vector(made.getBody()->getOps<linalg::IndexOp>())) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(index);
    if (index.getDim() == loop)
      b.replaceOp(index, arith::ConstantIndexOp::create(
                             b, index.getLoc(), offsets[part] + element));
    else if (index.getDim() > loop)
      index.setDim(index.getDim() - 1);
  }
  return SmallVector<Value>(made->getResults());
}

void ConcatSplit::rewriteGeneric(RewriterBase &b, linalg::GenericOp op) {
  unsigned loop = *findLoop(op);
  if (op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel) {
    for (unsigned p = 0; p < sizes.size(); ++p)
      for (auto [result, part] :
           llvm::zip(op->getResults(), runPart(b, op, loop, p, {})))
        splits[result].parts.push_back(part);
    return;
  }
  // In order: of equal elements the first may be the one that is found.
  SmallVector<Value> sums(op.getDpsInits());
  for (unsigned p = 0; p < sizes.size(); ++p) {
    if (p == longest)
      sums = runPart(b, op, loop, p, sums);
    else
      for (int64_t i = 0; i < sizes[p]; ++i)
        sums = runElement(b, op, loop, p, i, sums);
  }
  b.replaceAllUsesWith(op->getResults(), sums);
}

void ConcatSplit::rewriteSlice(RewriterBase &b, tensor::ExtractSliceOp op) {
  Split &split = splits[op.getSource()];
  unsigned part =
      partOf(op.getStaticOffset(split.axis), op.getStaticSize(split.axis));
  SmallVector<OpFoldResult> starts = op.getMixedOffsets();
  starts[split.axis] =
      b.getIndexAttr(op.getStaticOffset(split.axis) - offsets[part]);
  b.replaceAllUsesWith(op.getResult(),
                       tensor::ExtractSliceOp::create(
                           b, op.getLoc(), op.getType(), split.parts[part],
                           starts, op.getMixedSizes(), op.getMixedStrides())
                           .getResult());
}

template <typename Op>
void ConcatSplit::rewriteReshape(RewriterBase &b, Op op) {
  Split &made = splits[op.getResult()];
  auto type = cast<RankedTensorType>(op.getResult().getType());
  for (auto [part, size] : llvm::zip(splits[op.getSrc()].parts, sizes)) {
    SmallVector<int64_t> shape(type.getShape());
    shape[made.axis] = size;
    made.parts.push_back(Op::create(
        b, op.getLoc(), RankedTensorType::get(shape, type.getElementType()),
        part, op.getReassociationIndices()));
  }
}

void ConcatSplit::rewrite(RewriterBase &b) {
  splits[concat.getResult()].parts.assign(concat.getInputs().begin(),
                                          concat.getInputs().end());
  for (Operation *op : readers) {
    b.setInsertionPoint(op);
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      rewriteGeneric(b, generic);
    else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      rewriteSlice(b, slice);
    else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      rewriteReshape(b, expand);
    else
      rewriteReshape(b, cast<tensor::CollapseShapeOp>(op));
  }
  for (Operation *op : llvm::reverse(readers))
    if (op->use_empty())
      b.eraseOp(op);
  b.eraseOp(concat);
}

namespace {
struct SplitConcats : public redfuse::impl::SplitConcatsBase<SplitConcats> {
  void runOnOperation() override {
    SmallVector<tensor::ConcatOp> concats;
    getOperation()->walk([&](tensor::ConcatOp op) { concats.push_back(op); });
    IRRewriter b(&getContext());
    for (tensor::ConcatOp concat : concats) {
      ConcatSplit split(concat);
      if (split.find())
        split.rewrite(b);
    }
  }
};
} // namespace
