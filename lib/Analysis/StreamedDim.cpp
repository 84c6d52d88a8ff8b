//===- StreamedDim.cpp - one dim of the arguments, through a program ------===//
#include "redfuse/Analysis/StreamedDim.h"

#include "redfuse/Dialect/Redfuse/IR/DimSets.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace redfuse;

std::optional<StreamedAxis> StreamedDim::find(Value tensor) const {
  auto it = axes.find(tensor);
  if (it == axes.end())
    return std::nullopt;
  return it->second;
}

std::optional<unsigned> StreamedDim::getDimOf(Operation *op) const {
  auto it = dims.find(op);
  if (it == dims.end())
    return std::nullopt;
  return it->second.position;
}

Operation *StreamedDim::findWalk(Operation *op) const {
  std::optional<unsigned> t = getDimOf(op);
  Operation *found = nullptr;
  if (t)
    op->walk([&](Operation *inner) {
      auto reduce = dyn_cast<ReduceOp>(inner);
      auto scan = dyn_cast<ScanOp>(inner);
      if ((reduce && llvm::is_contained(reduce.getOver(), *t)) ||
          (scan && scan.getDim() == *t))
        found = inner;
    });
  return found;
}

int64_t StreamedDim::getScaleIn(Operation *op) const {
  auto it = dims.find(op);
  return it == dims.end() ? 1 : it->second.scale;
}

SmallVector<std::pair<unsigned, unsigned>> StreamedDim::getArguments() const {
  SmallVector<std::pair<unsigned, unsigned>> result;
  for (BlockArgument arg : func->getRegion(0).getArguments())
    if (auto axis = find(arg))
      result.push_back({arg.getArgNumber(), axis->position});
  return result;
}

int64_t StreamedDim::getLength() const {
  for (auto [argument, position] : getArguments()) {
    auto type = cast<RankedTensorType>(
        func->getRegion(0).getArgument(argument).getType());
    if (!type.isDynamicDim(position))
      return type.getDimSize(position);
  }
  return ShapedType::kDynamic;
}

RankedTensorType StreamedDim::getOpenType(Value tensor) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto axis = find(tensor);
  if (!axis)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[axis->position] = ShapedType::isDynamic(partLength)
                              ? ShapedType::kDynamic
                              : partLength * axis->scale;
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding());
}

bool StreamedDim::fail(Operation *op, const Twine &reason) {
  if (!obstacle.op)
    obstacle = {op, reason.str()};
  return false;
}

bool StreamedDim::mark(Value tensor, StreamedAxis axis) {
  auto [it, isNew] = axes.insert({tensor, axis});
  changed |= isNew;
  if (isNew || it->second == axis)
    return true;
  Operation *op = tensor.getDefiningOp();
  return fail(op ? op : func.getOperation(),
              "a tensor has the streamed dim twice, as axis " +
                  Twine(it->second.position) + " and as axis " +
                  Twine(axis.position));
}

bool StreamedDim::spread(IndexProgramOpInterface op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned numInputs = op.getProgramInputs().size();
  auto tensorsOf = [&](unsigned i) {
    SmallVector<Value> tensors{op->getOperand(i)};
    if (i >= numInputs)
      tensors.push_back(op->getResult(i - numInputs));
    return tensors;
  };
  // Which iteration dim it is ...
  for (auto [i, map] : llvm::enumerate(maps))
    for (Value tensor : tensorsOf(i)) {
      auto axis = find(tensor);
      if (!axis)
        continue;
      auto dim = dyn_cast<AffineDimExpr>(map.getResult(axis->position));
      if (!dim)
        return fail(op, "the streamed dim is read through an expression (a "
                        "window, a stride or an offset)");
      StreamedAxis here{dim.getPosition(), axis->scale};
      auto [it, isNew] = dims.insert({op, here});
      changed |= isNew;
      if (!(it->second == here))
        return fail(op,
                    "an argument has the streamed dim in two roles: as dim " +
                        Twine(it->second.position) + " and as dim " +
                        Twine(here.position) + " of one cascade");
    }
  auto known = dims.find(op);
  if (known == dims.end())
    return true;
  // ... and which other operands have it.
  StreamedAxis dim = known->second;
  for (auto [i, map] : llvm::enumerate(maps)) {
    if (!map.isFunctionOfDim(dim.position))
      continue;
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      if (!expr.isFunctionOfDim(dim.position))
        continue;
      if (!isa<AffineDimExpr>(expr))
        return fail(op, "the streamed dim is read through an expression (a "
                        "window, a stride or an offset)");
      for (Value tensor : tensorsOf(i))
        if (!mark(tensor, {unsigned(position), dim.scale}))
          return false;
    }
  }
  return true;
}

/// `wide` is the tensor of more dims: group g of them is dim g of `narrow`.
bool StreamedDim::spreadReshape(Operation *op, Value wide, Value narrow,
                                ArrayRef<ReassociationIndices> groups) {
  auto type = cast<RankedTensorType>(wide.getType());
  // Elements of the group for each element of its dim `i`.
  auto inner = [&](const ReassociationIndices &group,
                   unsigned i) -> std::optional<int64_t> {
    int64_t n = 1;
    for (int64_t d : ArrayRef(group).drop_front(i + 1)) {
      if (type.isDynamicDim(d))
        return std::nullopt;
      n *= type.getDimSize(d);
    }
    return n;
  };
  const char *reason = "the streamed dim is not the outermost of the dims that "
                       "a reshape joins or splits";
  if (auto axis = find(wide))
    for (auto [g, group] : llvm::enumerate(groups))
      for (auto [i, d] : llvm::enumerate(group)) {
        if (d != axis->position)
          continue;
        auto below = inner(group, i);
        bool isOutermost =
            llvm::all_of(ArrayRef(group).take_front(i),
                         [&](int64_t o) { return type.getDimSize(o) == 1; });
        if (!below || !isOutermost)
          return fail(op, reason);
        if (!mark(narrow, {unsigned(g), axis->scale * *below}))
          return false;
      }
  auto axis = find(narrow);
  if (!axis)
    return true;
  const ReassociationIndices &group = groups[axis->position];
  unsigned i = 0;
  while (i + 1 < group.size() && type.getDimSize(group[i]) == 1)
    ++i;
  auto below = inner(group, i);
  if (!below || *below == 0 || axis->scale % *below != 0)
    return fail(op, reason);
  return mark(wide, {unsigned(group[i]), axis->scale / *below});
}

bool StreamedDim::spread(Operation *op) {
  if (auto program = dyn_cast<IndexProgramOpInterface>(op))
    return spread(program);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return spreadReshape(op, collapse.getSrc(), collapse.getResult(),
                         collapse.getReassociationIndices());
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return spreadReshape(op, expand.getResult(), expand.getSrc(),
                         expand.getReassociationIndices());
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (auto axis = find(cast.getSource()))
      return mark(cast.getResult(), *axis);
    if (auto axis = find(cast.getResult()))
      return mark(cast.getSource(), *axis);
    return true;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    if (auto axis = find(fill.getResult(0)))
      return mark(fill.getOutputs().front(), *axis);
    if (auto axis = find(fill.getOutputs().front()))
      return mark(fill.getResult(0), *axis);
    return true;
  }
  return true;
}

/// Ops that may have a tensor with the dim, though nothing spreads through them.
static bool isHarmless(Operation *op) {
  return isa<IndexProgramOpInterface, tensor::CollapseShapeOp,
             tensor::ExpandShapeOp, tensor::CastOp, linalg::FillOp,
             tensor::EmptyOp, tensor::DimOp, func::ReturnOp, func::FuncOp>(
             op) ||
         (op->hasTrait<OpTrait::ConstantLike>() && op->getNumOperands() == 0);
}

DenseMap<Operation *, StreamedAxis>
StreamedDim::trace(func::FuncOp func, std::pair<unsigned, unsigned> argument) {
  StreamedDim dim(func);
  Block &body = func.getBody().front();
  dim.mark(body.getArgument(argument.first), {argument.second, 1});
  do {
    dim.changed = false;
    for (Operation &op : body)
      dim.spread(&op);
  } while (dim.changed);
  return std::move(dim.dims);
}

FailureOr<StreamedDim> StreamedDim::follow(
    func::FuncOp func, ArrayRef<std::pair<unsigned, unsigned>> arguments,
    Obstacle &why, const DenseMap<Operation *, StreamedAxis> &ops) {
  StreamedDim dim(func);
  dim.dims = ops;
  Block &body = func.getBody().front();
  bool ok = true;
  for (auto [argument, position] : arguments)
    ok = ok && dim.mark(body.getArgument(argument), {position, 1});
  do {
    dim.changed = false;
    for (Operation &op : body)
      ok = ok && dim.spread(&op);
  } while (ok && dim.changed);
  for (Operation &op : body) {
    if (!ok)
      break;
    for (auto &[value, axis] : dim.axes)
      if (value.getDefiningOp() == &op && !isHarmless(&op))
        ok = dim.fail(&op, "'" + op.getName().getStringRef() +
                               "' makes a tensor with the streamed dim");
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (ok && dim.find(operand) && (inner != &op || !isHarmless(&op)))
          ok = dim.fail(inner, "'" + inner->getName().getStringRef() +
                                   "' uses a tensor with the streamed dim");
    });
    auto cascade = dyn_cast<CascadeOp>(op);
    auto t = dim.getDimOf(&op);
    if (!ok || !cascade || !t)
      continue;
    SmallVector<ReduceOp> reduces(cascade.getBody().front().getOps<ReduceOp>());
    bool any = llvm::any_of(reduces, [&](ReduceOp reduce) {
      return llvm::is_contained(reduce.getOver(), *t);
    });
    bool scans = llvm::any_of(
        cascade.getBody().front().getOps<ScanOp>(),
        [&](ScanOp scan) { return int64_t(scan.getDim()) == int64_t(*t); });
    if (!any && !scans)
      continue;
    if (any && !llvm::is_contained(reduces.back().getOver(), *t))
      ok = dim.fail(&op, "a reduction over the streamed dim is inside another "
                         "reduction");
    dim.reducing.push_back(cascade);
  }
  if (ok)
    return dim;
  why = dim.obstacle;
  return failure();
}
