//===- ScheduleShape.cpp - what a schedule depends on ---------------------===//
#include "ScheduleShape.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace redfuse;

double redfuse::product(const ScheduleShape &shape, const SmallBitVector &set) {
  double p = 1;
  for (unsigned d : set.set_bits())
    p *= std::max(1.0, shape.extents[d]);
  return p;
}

/// The crossed dims of most bytes, first the one of more; one that is shorter than a
/// sector comes second.
static SmallVector<ScheduleShape::Crossed, 2>
findCrossed(CascadeOp cascade, const ScheduleShape &shape) {
  struct Access {
    unsigned along;
    int64_t bytes;
    SmallBitVector dims;
  };
  SmallVector<Access> accesses;
  for (auto [i, map] : llvm::enumerate(cascade.getIndexingMapsArray())) {
    auto type = cast<RankedTensorType>(cascade->getOperand(i).getType());
    if (map.getNumResults() == 0 || type.getElementType().isIndex())
      continue;
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    if (last && llvm::is_contained(shape.parallel, last.getPosition()) &&
        shape.extents[last.getPosition()] > 1)
      accesses.push_back({last.getPosition(), bytes, getDimsOf(map)});
  }
  auto isShort = [&](const Access &access) {
    return shape.extents[access.along] * access.bytes < kGpuSectorBytes;
  };
  SmallVector<ScheduleShape::Crossed, 2> best;
  int64_t most = 0;
  // A chain of maps has hundreds of accesses, along two or three dims.
  SmallVector<Access> kinds;
  for (const Access &access : accesses)
    if (llvm::none_of(kinds, [&](const Access &kind) {
          return kind.along == access.along && kind.bytes == access.bytes;
        }))
      kinds.push_back(access);
  for (const Access &first : kinds)
    for (const Access &second : kinds) {
      int64_t own = 0, its = 0, width = 0, itsWidth = 0;
      for (const Access &access : accesses) {
        if (access.along == first.along && access.dims.test(second.along)) {
          own += access.bytes;
          width = std::max(width, access.bytes);
        }
        if (access.along == second.along && access.dims.test(first.along)) {
          its += access.bytes;
          itsWidth = std::max(itsWidth, access.bytes);
        }
      }
      if (first.along == second.along || own == 0 || its == 0 ||
          isShort(first) || (own < its && !isShort(second)) ||
          own + its <= most)
        continue;
      most = own + its;
      best = {{first.along, kGpuLineBytes / width},
              {second.along, kGpuLineBytes / itsWidth}};
    }
  return best;
}

int64_t redfuse::findRow(RankedTensorType type, AffineMap map,
                         ReduceOp reduce) {
  int64_t row = 1;
  unsigned dims = 0;
  for (auto [expr, extent] : llvm::zip(llvm::reverse(map.getResults()),
                                       llvm::reverse(type.getShape()))) {
    auto d = dyn_cast<AffineDimExpr>(expr);
    if (dims++ > 0 &&
        (!d || !llvm::is_contained(reduce.getOver(), int64_t(d.getPosition()))))
      break;
    if (ShapedType::isDynamic(extent))
      return 0;
    row *= extent;
  }
  return row;
}

/// Whether a sum is one of windows that no thread holds.
static bool isOfLongWindows(CascadeOp cascade, const ScheduleShape &shape,
                            ReduceOp reduce) {
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  SmallBitVector over = toDimSet(reduce.getOver(), shape.sets.getNumDims());
  bool hasWindow = llvm::any_of(maps, [&](AffineMap map) {
    return llvm::any_of(map.getResults(), [&](AffineExpr e) {
      return !isa<AffineDimExpr>(e) &&
             llvm::any_of(over.set_bits(),
                          [&](unsigned d) { return e.isFunctionOfDim(d); });
    });
  });
  return hasWindow && findTaps(maps, over, [&](unsigned d) {
                        return shape.extents[d];
                      }).none();
}

/// Whether a product has so few rows or columns, of 16-bit floats whose rows in memory do
/// not begin at multiples of 16 bytes, of other types, or in windows, that no matrix unit
/// takes it.
static bool isLeftToThreads(CascadeOp cascade, const ScheduleShape &shape,
                            ReduceOp reduce) {
  Operation *mul = findProduct(reduce);
  double points[2] = {1, 1};
  for (int64_t d : reduce.getInto()) {
    bool isIn[2] = {shape.sets[mul->getOperand(0)].test(d),
                    shape.sets[mul->getOperand(1)].test(d)};
    if (isIn[0] != isIn[1])
      points[isIn[0] ? 0 : 1] *= shape.extents[d];
  }
  double rows = std::min(points[0], points[1]);
  bool isRagged = false, areShort = true, hasWindow = false;
  for (auto [input, map] :
       llvm::zip(cascade.getInputs(), cascade.getIndexingMapsArray())) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || !type.getElementType().isIntOrFloat() ||
        !getDimsOf(map).anyCommon(toDimSet(reduce.getOver(), map.getNumDims())))
      continue;
    for (AffineExpr e : map.getResults())
      hasWindow |=
          !isa<AffineDimExpr>(e) && llvm::any_of(reduce.getOver(), [&](auto d) {
            return e.isFunctionOfDim(unsigned(d));
          });
    int64_t bits = type.getElementTypeBitWidth();
    areShort &= bits <= 16;
    isRagged |= type.getRank() > 1 && findRow(type, map, reduce) * bits % 128;
  }
  if (areShort && !hasWindow)
    return isRagged && rows <= kFewRows;
  // Contractions have eight rows and more; of windows that no thread holds, fewer.
  return rows < (isOfLongWindows(cascade, shape, reduce) ? kFewRowsOfWindows
                                                         : kFewRows);
}

/// The outer of two dims of results that no input has both of, each of which some input
/// that is reduced has.
static std::optional<unsigned> findShared(const ScheduleShape &shape) {
  for (unsigned row : shape.parallel)
    for (unsigned column : shape.parallel) {
      if (row >= column)
        continue;
      bool isIn[2] = {false, false}, areBoth = false;
      for (AffineMap map : shape.maps) {
        SmallBitVector dims = getDimsOf(map);
        bool isReduced = dims.anyCommon(shape.reduced);
        areBoth |= dims.test(row) && dims.test(column);
        isIn[0] |= isReduced && dims.test(row);
        isIn[1] |= isReduced && dims.test(column);
      }
      if (isIn[0] && isIn[1] && !areBoth)
        return row;
    }
  return std::nullopt;
}

/// Where what is soon reduced stands beside much more that has none of its dims, every block
/// reduces that again: `common` gets the other dims of all results. To merge it first would
/// leave all of the rest to the block that merges.
static void reduceAgain(CascadeOp cascade, ScheduleShape &shape,
                        SmallBitVector &common) {
  unsigned numDims = cascade.getNumIterationDims();
  SmallBitVector wide(numDims, true), again(numDims);
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  for (AffineMap map : ArrayRef(maps).drop_front(cascade.getInputs().size()))
    wide &= getDimsOf(map);
  double repeated = 0;
  SmallVector<int64_t> extents = getStaticExtents(cascade);
  for (ReduceOp reduce : shape.reduces) {
    SmallBitVector into = toDimSet(reduce.getInto(), numDims), own = into;
    own |= toDimSet(reduce.getOver(), numDims);
    // Nobody knows how long an open extent is.
    bool isOpen = llvm::any_of(own.set_bits(), [&](unsigned d) {
      return ShapedType::isDynamic(extents[d]);
    });
    if (isOpen || product(shape, own) > kReducedByAll) {
      wide &= into;
    } else {
      repeated += product(shape, own);
      again |= own;
    }
  }
  wide.reset(shape.reduced);
  again.reset(wide);
  if (product(shape, wide) < kReducedByAll * product(shape, common))
    return;
  common = wide;
  shape.again = again;
  shape.repeated = repeated;
}

FailureOr<ScheduleShape> redfuse::analyseShape(CascadeOp cascade, bool isGpu) {
  FailureOr<DimSets> sets = DimSets::compute(cascade);
  if (failed(sets))
    return failure();
  unsigned numDims = cascade.getNumIterationDims();
  ScheduleShape shape{{},
                      *sets,
                      {},
                      {},
                      {},
                      SmallBitVector(numDims),
                      SmallBitVector(numDims),
                      /*again=*/SmallBitVector(numDims),
                      /*repeated=*/0,
                      /*maps=*/{},
                      /*points=*/0,
                      /*ranks=*/0,
                      std::nullopt};
  for (int64_t e : getStaticExtents(cascade))
    shape.extents.push_back(getAssumedExtent(e));
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  unsigned numInputs = cascade.getInputs().size();
  SmallBitVector common(numDims, true);
  for (unsigned i = numInputs; i < maps.size(); ++i)
    common &= getDimsOf(maps[i]);
  for (auto scan : cascade.getBody().front().getOps<ScanOp>()) {
    shape.folds.push_back({int64_t(scan.getDim())});
    shape.reduced.set(scan.getDim());
  }
  SmallVector<ReduceOp> products;
  // Lists are merged as wholes.
  auto merges = cascade.getBody().front().getOps<MergeTopkOp>();
  for (MergeTopkOp merge : merges)
    common.reset(merge.getDim());
  for (auto reduce : cascade.getBody().front().getOps<ReduceOp>()) {
    shape.reduces.push_back(reduce);
    shape.folds.push_back(llvm::to_vector(reduce.getOver()));
    llvm::sort(shape.folds.back());
    common &= toDimSet(reduce.getInto(), numDims);
    for (int64_t d : reduce.getOver())
      shape.reduced.set(d);
    // The rank of a top-k is made by the reduction.
    if (reduce.getReducer() == Reducer::TopK) {
      SmallBitVector operands(numDims);
      for (Value operand : reduce.getOperands())
        operands |= shape.sets[operand];
      common &= operands;
      SmallBitVector ranks = toDimSet(reduce.getInto(), numDims);
      ranks.reset(operands);
      shape.points = std::max(shape.points, product(shape, operands));
      shape.ranks = std::max(shape.ranks, product(shape, ranks));
    }
    bool isFew = isGpu && isOfLongWindows(cascade, shape, reduce);
    if (isMatrixProduct(
            reduce, shape.sets, [&](unsigned d) { return shape.extents[d]; },
            isFew ? kFewRowsOfWindows - 1 : kVectorExtent))
      products.push_back(reduce);
  }
  shape.hasContraction =
      !products.empty() && !(isGpu && shape.folds.size() == 1 &&
                             isLeftToThreads(cascade, shape, products.front()));
  for (AffineMap map : ArrayRef(maps).drop_front(numInputs))
    shape.writesRows |= getDimsOf(map).anyCommon(shape.reduced);
  shape.maps.assign(maps.begin(), maps.begin() + numInputs);
  if (!shape.hasContraction)
    shape.taps = findTaps(shape.maps, shape.reduced,
                          [&](unsigned d) { return shape.extents[d]; });
  common.reset(shape.reduced);
  if (!shape.hasContraction && shape.points == 0 && merges.empty() &&
      cascade.getBody().front().getOps<ScanOp>().empty())
    reduceAgain(cascade, shape, common);
  for (AffineExpr e : maps[numInputs].getResults()) {
    unsigned d = cast<AffineDimExpr>(e).getPosition();
    if (common.test(d))
      shape.parallel.push_back(d);
  }
  if (isGpu && !shape.hasContraction && shape.taps.none() &&
      shape.folds.size() == 1 && merges.empty())
    shape.shared = findShared(shape);
  double largest = 0;
  for (auto [i, map] : llvm::enumerate(maps)) {
    if (map.getNumResults() == 0)
      continue;
    double size = product(shape, getDimsOf(map));
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (last && size > largest) {
      largest = size;
      shape.contiguous = last.getPosition();
      auto type = cast<RankedTensorType>(cascade->getOperand(i).getType());
      shape.sharesSectors = i < numInputs && map.getNumResults() > 1 &&
                            !type.getElementType().isIndex() &&
                            !ShapedType::isDynamic(type.getShape().back()) &&
                            type.getShape().back() *
                                    type.getElementTypeBitWidth() %
                                    (8 * kGpuSectorBytes) !=
                                0;
    }
  }
  for (AffineMap map : maps) {
    auto last = map.getNumResults() == 0
                    ? AffineDimExpr(nullptr)
                    : dyn_cast<AffineDimExpr>(map.getResults().back());
    if (last && last.getPosition() == shape.contiguous)
      shape.inLines += product(shape, getDimsOf(map));
  }
  for (ReduceOp reduce : shape.reduces)
    shape.reducedPoints =
        std::max(shape.reducedPoints,
                 product(shape, toDimSet(reduce.getInto(), numDims) |=
                                toDimSet(reduce.getOver(), numDims)));
  if (shape.folds.empty() && merges.empty())
    shape.crossed = findCrossed(cascade, shape);
  for (auto [operand, map] : llvm::zip_equal(cascade->getOperands(), maps)) {
    auto type = cast<RankedTensorType>(operand.getType());
    auto last = map.getNumResults() == 0
                    ? AffineDimExpr(nullptr)
                    : dyn_cast<AffineDimExpr>(map.getResults().back());
    shape.areCrossedRagged |=
        last && type.getElementType().isIntOrFloat() &&
        !ShapedType::isDynamic(type.getShape().back()) &&
        llvm::any_of(shape.crossed, [&](ScheduleShape::Crossed of) {
          return of.dim == last.getPosition() &&
                 type.getShape().back() * type.getElementTypeBitWidth() % 128 !=
                     0;
        });
  }
  return shape;
}
