//===- CollapseDims.cpp - redfuse-collapse-dims ---------------------------===//
//
// linalg::collapseOpIterationDims does this to linalg ops; after fusion there are
// cascades.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

namespace redfuse {
#define GEN_PASS_DEF_COLLAPSEDIMS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Where `dim` is a result of a map as it is; nothing where it does not occur, or
/// occurs otherwise (`isOther`).
static std::optional<unsigned> findPlain(AffineMap map, unsigned dim,
                                         bool &isOther) {
  std::optional<unsigned> place;
  for (auto [i, e] : llvm::enumerate(map.getResults())) {
    auto plain = dyn_cast<AffineDimExpr>(e);
    if (plain && plain.getPosition() == dim && !place)
      place = i;
    else if (e.isFunctionOfDim(dim))
      isOther = true;
  }
  return place;
}

/// Whether all tensors have both dims side by side, or neither.
static bool areNeighbours(ArrayRef<AffineMap> maps, unsigned dim,
                          unsigned next) {
  return llvm::all_of(maps, [&](AffineMap map) {
    bool isOther = false;
    std::optional<unsigned> first = findPlain(map, dim, isOther),
                            second = findPlain(map, next, isOther);
    return !isOther && first.has_value() == second.has_value() &&
           (!first || *first + 1 == *second);
  });
}

/// Whether every reduction folds both dims, or keeps both, or has neither.
static bool areFoldedAlike(CascadeOp op, unsigned dim, unsigned next) {
  return llvm::all_of(op.getBody().front().getOps<ReduceOp>(),
                      [&](ReduceOp reduce) {
                        return llvm::is_contained(reduce.getOver(), dim) ==
                                   llvm::is_contained(reduce.getOver(), next) &&
                               llvm::is_contained(reduce.getInto(), dim) ==
                                   llvm::is_contained(reduce.getInto(), next);
                      });
}

/// Whether nobody wants the tensor to be a part of another.
static bool staysWhole(Value tensor) {
  return llvm::all_of(tensor.getUsers(), [](Operation *user) {
    return isa<CascadeOp, func::ReturnOp, tensor::CollapseShapeOp,
               tensor::ExpandShapeOp>(user);
  });
}

/// Whether a tensor is a buffer of its own as far as can be seen, whose dims are as
/// close as its shape says: not a part of another.
static bool isWhole(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp());
  Operation *def = tensor.getDefiningOp();
  return isa<tensor::EmptyOp, arith::ConstantOp>(def) ||
         (isa<CascadeOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(def) &&
          staysWhole(tensor));
}

/// Dims of which each alone would fill little of the rows of a matrix instruction: those of
/// one factor of every sum of products, and of few.
static SmallBitVector findFewRows(CascadeOp op) {
  SmallVector<int64_t> extents = getStaticExtents(op);
  FailureOr<DimSets> sets = DimSets::compute(op);
  SmallBitVector rows(extents.size());
  if (failed(sets))
    return rows;
  for (auto reduce : op.getBody().front().getOps<ReduceOp>()) {
    auto mul = reduce.getOperand(0).getDefiningOp<arith::MulFOp>();
    if (!mul || reduce.getReducer() != Reducer::Add)
      continue;
    const SmallBitVector &left = (*sets)[mul.getLhs()],
                         &right = (*sets)[mul.getRhs()];
    SmallBitVector own = left;
    own ^= right;
    for (unsigned d = 0; d < extents.size(); ++d)
      if (!ShapedType::isDynamic(extents[d]) &&
          double(extents[d]) < kMatrixRows && own.test(d) &&
          llvm::is_contained(reduce.getInto(), d))
        rows.set(d);
  }
  return rows;
}

/// The dims of one factor of a cascade's only reduction, a sum of products whose positions
/// nothing asks for, where one of them leaves much of its tiles empty.
static SmallBitVector findPartlyFilledRows(CascadeOp op) {
  SmallVector<int64_t> extents = getStaticExtents(op);
  SmallBitVector rows(extents.size());
  FailureOr<DimSets> sets = DimSets::compute(op);
  Block &body = op.getBody().front();
  auto reduces = llvm::to_vector(body.getOps<ReduceOp>());
  if (failed(sets) || reduces.size() != 1 || !body.getOps<IndexOp>().empty())
    return rows;
  auto mul = reduces[0].getOperand(0).getDefiningOp<arith::MulFOp>();
  if (!mul || reduces[0].getReducer() != Reducer::Add)
    return rows;
  SmallBitVector own = (*sets)[mul.getLhs()];
  own ^= (*sets)[mul.getRhs()];
  bool isPartlyFilled = false;
  for (int64_t d : reduces[0].getInto()) {
    if (!own.test(unsigned(d)) || ShapedType::isDynamic(extents[d]))
      continue;
    rows.set(unsigned(d));
    auto tiles = double(llvm::alignTo(uint64_t(extents[d]), kTileRows));
    isPartlyFilled |=
        extents[d] > 1 && double(extents[d]) < kLeastFilled * tiles;
  }
  if (!isPartlyFilled)
    rows.reset();
  return rows;
}

/// Dims that can be taken as one: runs of them, each in the order of the tensors. All
/// dims are in one run, most of them alone. Positions along dims of `known` can be told.
static SmallVector<SmallVector<unsigned>>
findRuns(CascadeOp op, const SmallBitVector *known = nullptr) {
  SmallVector<int64_t> extents = getStaticExtents(op);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned numDims = extents.size();
  SmallBitVector isFixed(numDims), isTaken(numDims);
  if (known)
    isFixed = ~*known;
  for (Operation &inner : op.getBody().front()) {
    if (auto index = dyn_cast<IndexOp>(inner); index && !known)
      isFixed.set(index.getDim());
    // Prefixes begin anew where one of its neighbours goes on.
    if (auto scan = dyn_cast<ScanOp>(inner))
      isFixed.set(scan.getDim());
  }
  for (unsigned d = 0; d < numDims; ++d) {
    // A dim that no tensor has lies beside none.
    bool isHeld = llvm::any_of(
        maps, [&](AffineMap map) { return map.isFunctionOfDim(d); });
    if (ShapedType::isDynamic(extents[d]) || !isHeld)
      isFixed.set(d);
  }
  SmallVector<std::optional<unsigned>> following(numDims);
  for (unsigned d = 0; d < numDims; ++d)
    for (unsigned next = 0; next < numDims; ++next)
      if (d != next && !isFixed.test(d) && !isFixed.test(next) &&
          areNeighbours(maps, d, next) && areFoldedAlike(op, d, next)) {
        following[d] = next;
        isTaken.set(next);
        break;
      }
  SmallVector<SmallVector<unsigned>> runs;
  for (unsigned d = 0; d < numDims; ++d) {
    if (isTaken.test(d))
      continue;
    runs.emplace_back();
    for (std::optional<unsigned> at = d; at; at = following[*at])
      runs.back().push_back(*at);
  }
  return runs;
}

static bool isElementwise(CascadeOp op) {
  return llvm::none_of(op.getBody().front(), [](Operation &inner) {
    return isRootOp(&inner) || inner.getNumRegions() != 0;
  });
}

/// Whether all of its roots are reductions: the dims of others, as of scans, have an order.
static bool foldsOnly(CascadeOp op) {
  return llvm::all_of(op.getBody().front(), [](Operation &inner) {
    return isa<ReduceOp, YieldOp>(inner) ||
           (!isRootOp(&inner) && inner.getNumRegions() == 0);
  });
}

/// Whether it folds elements of a tensor that has all dims, of which there are many: what
/// has few is laid out well as it is.
static bool isReductionOfMany(CascadeOp op) {
  return op.getNumIterationDims() >= kManyDims &&
         llvm::any_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isPermutation(); }) &&
         foldsOnly(op);
}

/// Whether it folds what a tensor has in more dims than engines copy boxes of.
static bool isReductionOfManyDims(CascadeOp op) {
  return foldsOnly(op) && !op.getBody().front().getOps<ReduceOp>().empty() &&
         llvm::any_of(op->getOperandTypes(), [](Type type) {
           return cast<RankedTensorType>(type).getRank() > kMostBoxDims;
         });
}

/// Whether it is a sum of products of matrices over several dims that are neighbours in all
/// tensors: generators take one sum, where several need tensor maps of more dims.
static bool isProductOfSums(CascadeOp op,
                            ArrayRef<SmallVector<unsigned>> runs) {
  auto reduces = llvm::to_vector(op.getBody().front().getOps<ReduceOp>());
  if (reduces.size() != 1 || !foldsOnly(op) ||
      !hasMatrixProduct(cast<IndexProgramOpInterface>(op.getOperation())))
    return false;
  return llvm::any_of(runs, [&](ArrayRef<unsigned> run) {
    return run.size() > 1 && llvm::all_of(run, [&](unsigned d) {
             return llvm::is_contained(reduces[0].getOver(), int64_t(d));
           });
  });
}

/// Threads of a block along one dim: what is longer is walked in steps. And bytes of a row from
/// which on a warp reads nothing but it.
static constexpr uint64_t kThreadsOfRow = 256;
static constexpr double kBytesOfWarp = 256;

/// How well threads are used along so many neighbours of an element: vectors that divide
/// them, of 8 bytes at best, for a power of two of threads, and, if a warp has more than rows
/// of them, of rows as long as that.
static double getUseOfThreads(int64_t extent, int64_t bytes, bool isOfWarps) {
  int64_t vector = 1;
  while (vector * 2 * bytes <= 16 && extent % (vector * 2) == 0)
    vector *= 2;
  auto threads = uint64_t(extent / vector);
  uint64_t taken = threads > kThreadsOfRow
                       ? llvm::alignTo(threads, kThreadsOfRow)
                       : llvm::PowerOf2Ceil(threads);
  double use = double(threads) / double(taken) *
               std::min(1.0, double(vector * bytes) / 8);
  if (isOfWarps)
    use *= std::min(1.0, double(extent * bytes) / kBytesOfWarp);
  return use;
}

/// Whether it folds whole rows of a tensor that are short and of an odd length, and better
/// used with the dim beside them: planes of 10 x 10.
static bool isReductionOfShortRows(CascadeOp op,
                                   ArrayRef<SmallVector<unsigned>> runs) {
  SmallVector<int64_t> extents = getStaticExtents(op);
  bool areBetter = false;
  for (auto [operand, map] :
       llvm::zip_equal(op->getOperands(), op.getIndexingMapsArray())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (!map.isPermutation() || !type.getElementType().isIntOrFloat())
      continue;
    auto last = cast<AffineDimExpr>(map.getResults().back()).getPosition();
    for (ArrayRef<unsigned> run : runs) {
      if (run.size() < 2 || run.back() != last)
        continue;
      int64_t all = 1,
              bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
      for (unsigned d : run)
        all *= extents[d];
      bool areWarps = double(all * bytes) >= kBytesOfWarp;
      areBetter |= getUseOfThreads(extents[last], bytes, areWarps) <
                   kLeastBetter * getUseOfThreads(all, bytes, areWarps);
    }
  }
  return areBetter && foldsOnly(op);
}

namespace {
/// A cascade whose runs of dims become one dim each.
class Collapsed {
public:
  Collapsed(CascadeOp op, ArrayRef<SmallVector<unsigned>> runs)
      : op(op), runs(runs), places(op.getNumIterationDims()) {
    for (auto [i, run] : llvm::enumerate(runs))
      for (unsigned d : run)
        places[d] = i;
  }

  void rewrite(RewriterBase &b);

private:
  SmallVector<ReassociationIndices> groupsOf(AffineMap map) const;
  AffineMap collapse(AffineMap map) const;
  void replaceIndex(RewriterBase &b, IndexOp index);

  CascadeOp op;
  ArrayRef<SmallVector<unsigned>> runs;
  /// By dim: which run it is in.
  SmallVector<unsigned> places;
};
} // namespace

/// The places of a map's results that are of one run.
SmallVector<ReassociationIndices> Collapsed::groupsOf(AffineMap map) const {
  SmallVector<ReassociationIndices> groups;
  for (auto [i, e] : llvm::enumerate(map.getResults())) {
    auto plain = dyn_cast<AffineDimExpr>(e);
    bool isLater = plain && !groups.empty() &&
                   llvm::is_contained(
                       ArrayRef(runs[places[plain.getPosition()]]).drop_front(),
                       plain.getPosition());
    if (!isLater)
      groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

AffineMap Collapsed::collapse(AffineMap map) const {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> dims = llvm::map_to_vector(
      places, [&](unsigned place) { return getAffineDimExpr(place, context); });
  SmallVector<AffineExpr> results;
  for (const ReassociationIndices &group : groupsOf(map))
    results.push_back(map.getResult(group.front()).replaceDims(dims));
  return AffineMap::get(runs.size(), 0, results, context);
}

/// The tensor with dims of each group as one; a destination is made as such.
static Value collapseTensor(RewriterBase &b, Value tensor,
                            ArrayRef<ReassociationIndices> groups) {
  Location loc = tensor.getLoc();
  auto empty = tensor.getDefiningOp<tensor::EmptyOp>();
  if (!empty)
    return b.createOrFold<tensor::CollapseShapeOp>(loc, tensor, groups);
  SmallVector<OpFoldResult> all = empty.getMixedSizes(), sizes;
  for (const ReassociationIndices &group : groups) {
    int64_t product = 1;
    for (int64_t d : group)
      if (group.size() > 1)
        product *= empty.getType().getDimSize(d);
    sizes.push_back(group.size() == 1 ? all[group.front()]
                                      : b.getIndexAttr(product));
  }
  return tensor::EmptyOp::create(b, loc, sizes,
                                 empty.getType().getElementType());
}

/// The position along a dim of that along its run.
void Collapsed::replaceIndex(RewriterBase &b, IndexOp index) {
  SmallVector<int64_t> extents = getStaticExtents(op);
  unsigned dim = index.getDim();
  ArrayRef<unsigned> run = runs[places[dim]];
  unsigned at = llvm::find(run, dim) - run.begin();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(index);
  index.setDim(places[dim]);
  int64_t behind = 1;
  for (unsigned d : run.drop_front(at + 1))
    behind *= extents[d];
  Location loc = index.getLoc();
  Value position = index;
  SmallPtrSet<Operation *, 4> own{index};
  auto apply = [&](auto make, int64_t number) {
    Value by = arith::ConstantIndexOp::create(b, loc, number);
    position = make(position, by);
    own.insert(position.getDefiningOp());
  };
  if (behind != 1)
    apply(
        [&](Value v, Value by) {
          return arith::DivUIOp::create(b, loc, v, by).getResult();
        },
        behind);
  if (at != 0)
    apply(
        [&](Value v, Value by) {
          return arith::RemUIOp::create(b, loc, v, by).getResult();
        },
        extents[dim]);
  b.replaceUsesWithIf(index, position, [&](OpOperand &use) {
    return !own.contains(use.getOwner());
  });
}

void Collapsed::rewrite(RewriterBase &b) {
  b.setInsertionPoint(op);
  Location loc = op.getLoc();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray(), collapsed;
  SmallVector<Value> operands;
  for (auto [operand, map] : llvm::zip_equal(op->getOperands(), maps)) {
    SmallVector<ReassociationIndices> groups = groupsOf(map);
    collapsed.push_back(collapse(map));
    operands.push_back(groups.size() == map.getNumResults()
                           ? operand
                           : collapseTensor(b, operand, groups));
  }
  size_t numInputs = op.getInputs().size();
  ValueRange inits = ValueRange(operands).drop_front(numInputs);
  auto made = CascadeOp::create(
      b, loc, TypeRange(inits), ValueRange(operands).take_front(numInputs),
      inits, b.getAffineMapArrayAttr(collapsed), nullptr);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  made.getBody().takeBody(op.getBody());
  for (auto index : llvm::to_vector(made.getBody().front().getOps<IndexOp>()))
    replaceIndex(b, index);
  for (auto reduce : made.getBody().front().getOps<ReduceOp>()) {
    auto collapsedDims = [&](ArrayRef<int64_t> dims) {
      SmallVector<int64_t> now;
      for (int64_t d : dims)
        if (!llvm::is_contained(now, int64_t(places[d])))
          now.push_back(places[d]);
      return now;
    };
    reduce.setOver(collapsedDims(reduce.getOver()));
    reduce.setInto(collapsedDims(reduce.getInto()));
  }
  for (auto scan : made.getBody().front().getOps<ScanOp>())
    scan.setDim(places[scan.getDim()]);
  SmallVector<Value> results;
  for (auto [result, now, map] :
       llvm::zip_equal(op->getResults(), made->getResults(),
                       ArrayRef(maps).drop_front(numInputs))) {
    SmallVector<ReassociationIndices> groups = groupsOf(map);
    Value whole = now;
    if (groups.size() != map.getNumResults())
      whole =
          tensor::ExpandShapeOp::create(b, loc, result.getType(), now, groups);
    results.push_back(whole);
  }
  b.replaceOp(op, results);
}

namespace {
struct CollapseDims : public redfuse::impl::CollapseDimsBase<CollapseDims> {
  void runOnOperation() override {
    // What has its rows as one may have several sums that are one, too.
    while (collapseEach())
      ;
  }

  /// Whether some cascade has fewer dims now.
  bool collapseEach() {
    SmallVector<CascadeOp> ops;
    getOperation()->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    bool changed = false;
    for (CascadeOp op : ops) {
      SmallBitVector rows = findPartlyFilledRows(op);
      if (rows.count() < 2)
        rows = findFewRows(op);
      bool isOfManyDims = isReductionOfManyDims(op);
      bool isOfFewRows = rows.count() > 1 && !isOfManyDims;
      if (op.getScheduleAttr() || !llvm::all_of(op->getOperands(), isWhole) ||
          !llvm::all_of(op->getResults(), staysWhole))
        continue;
      SmallVector<SmallVector<unsigned>> runs;
      if (isOfFewRows)
        runs = findRuns(op, &rows);
      isOfFewRows &= runs.size() < op.getNumIterationDims();
      if (!isOfFewRows)
        runs = findRuns(op);
      // Where a whole tensor is folded, its rows and their lengths mean nothing.
      bool isOfAll = runs.size() == 1 && foldsOnly(op);
      if (runs.size() < op.getNumIterationDims() &&
          (isOfAll || isElementwise(op) || isReductionOfMany(op) ||
           isOfManyDims || isOfFewRows || isProductOfSums(op, runs) ||
           isReductionOfShortRows(op, runs))) {
        Collapsed(op, runs).rewrite(b);
        changed = true;
      }
    }
    return changed;
  }
};
} // namespace
