//===- DimSets.cpp - which iteration dims a value depends on --------------===//
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"

using namespace mlir;
using namespace redfuse;

SmallBitVector redfuse::getDimsOf(AffineMap map) {
  SmallBitVector dims(map.getNumDims());
  for (AffineExpr result : map.getResults())
    result.walk([&](AffineExpr e) {
      if (auto d = dyn_cast<AffineDimExpr>(e))
        dims.set(d.getPosition());
    });
  return dims;
}

SmallBitVector redfuse::toDimSet(ArrayRef<int64_t> dims, unsigned size) {
  SmallBitVector set(size);
  for (int64_t d : dims)
    set.set(d);
  return set;
}

SmallVector<int64_t> redfuse::toDims(const SmallBitVector &set) {
  SmallVector<int64_t> dims;
  for (unsigned d : set.set_bits())
    dims.push_back(d);
  return dims;
}

bool redfuse::isSubset(const SmallBitVector &a, const SmallBitVector &b) {
  SmallBitVector rest = a;
  rest.reset(b);
  return rest.none();
}

const SmallBitVector &DimSets::operator[](Value value) const {
  auto it = sets.find(value);
  return it == sets.end() ? none : it->second;
}

FailureOr<DimSets> DimSets::compute(IndexProgramOpInterface op) {
  return compute(*op.getProgramBody(), op.getNumIterationDims(),
                 [&](unsigned i) { return op.getMapOfBodyArgument(i); });
}

/// The dim set of one reduction, checked.
static FailureOr<SmallBitVector> dimsOfReduce(ReduceOp reduce,
                                              const DimSets &sets) {
  int64_t n = sets.getNumDims();
  SmallBitVector over(n), into(n);
  auto fill = [&](ArrayRef<int64_t> dims, SmallBitVector &set,
                  StringRef name) -> LogicalResult {
    for (int64_t d : dims) {
      if (d < 0 || d >= n)
        return reduce.emitOpError()
               << "'" << name << "' names dim " << d << ", but there are " << n
               << " iteration dims";
      if (set.test(d))
        return reduce.emitOpError()
               << "'" << name << "' names dim " << d << " twice";
      set.set(d);
    }
    return success();
  };
  if (failed(fill(reduce.getOver(), over, "over")) ||
      failed(fill(reduce.getInto(), into, "into")))
    return failure();
  if (over.anyCommon(into))
    return reduce.emitOpError("a dim is both in 'over' and in 'into'");
  SmallBitVector covered = over;
  covered |= into;
  SmallBitVector all(n);
  for (Value operand : reduce.getOperands()) {
    if (!isSubset(sets[operand], covered)) {
      SmallBitVector missing = sets[operand];
      missing.reset(covered);
      return reduce.emitOpError()
             << "an operand depends on dim " << missing.find_first()
             << ", which is neither in 'over' nor in 'into'";
    }
    all |= sets[operand];
  }
  if (reduce.getReducer() == Reducer::TopK) {
    SmallBitVector extra = into;
    extra.reset(all);
    if (extra.count() != 1)
      return reduce.emitOpError()
             << "topk: 'into' must have one dim more than the operands depend "
                "on (the rank), got "
             << extra.count() << " more";
  }
  return into;
}

/// Adds the dim that an op along one dim has, whatever its operands have.
static LogicalResult addOwnDim(Operation &op, SmallBitVector &dims) {
  auto scan = dyn_cast<ScanOp>(op);
  auto merge = dyn_cast<MergeTopkOp>(op);
  if (!scan && !merge)
    return success();
  int64_t dim = scan ? scan.getDim() : merge.getDim();
  if (dim >= static_cast<int64_t>(dims.size()))
    return op.emitOpError() << "names dim " << dim << ", but there are "
                            << dims.size() << " iteration dims";
  if (merge && !dims.test(dim))
    return op.emitOpError()
           << "no operand depends on dim " << dim << ", the rank";
  dims.set(dim);
  return success();
}

FailureOr<DimSets>
DimSets::compute(Block &body, unsigned numDims,
                 function_ref<AffineMap(unsigned)> mapOfArgument) {
  DimSets result;
  result.none = SmallBitVector(numDims);
  for (BlockArgument arg : body.getArguments())
    result.sets[arg] = getDimsOf(mapOfArgument(arg.getArgNumber()));
  for (Operation &op : body) {
    SmallBitVector dims(numDims);
    if (auto index = dyn_cast<IndexOp>(op)) {
      if (index.getDim() >= numDims)
        return index.emitOpError()
               << "names dim " << index.getDim() << ", but there are "
               << numDims << " iteration dims";
      dims.set(index.getDim());
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      FailureOr<SmallBitVector> into = dimsOfReduce(reduce, result);
      if (failed(into))
        return failure();
      dims = *into;
    } else {
      for (Value operand : op.getOperands())
        dims |= result[operand];
      if (failed(addOwnDim(op, dims)))
        return failure();
    }
    for (Value v : op.getResults())
      result.sets[v] = dims;
  }
  return result;
}
