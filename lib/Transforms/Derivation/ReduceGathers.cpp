//===- ReduceGathers.cpp - redfuse-reduce-gathers -------------------------===//
//
// A row's element at a computed place is the sum over the row of what a comparison
// with the position leaves: then a part of the row can tell its part of it.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {
#define GEN_PASS_DEF_REDUCEGATHERS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// An element of each row of a tensor: `dims` has the iteration dim of the cascade for
/// each axis but one, which is at `axis`.
struct Gather {
  tensor::ExtractOp extract;
  SmallVector<unsigned> dims;
  unsigned axis = 0;
};
} // namespace

/// The gather that `extract` is, if the tensor has about as many elements as there are
/// to be compared: one row for each point of the cascade.
static std::optional<Gather> matchGather(CascadeOp cascade,
                                         tensor::ExtractOp extract) {
  Type type = getElementTypeOrSelf(extract.getTensor().getType());
  if (!type.isIntOrFloat() || type.isInteger(1))
    return std::nullopt;
  Gather found{extract, {}, 0};
  unsigned computed = 0;
  llvm::SmallDenseSet<unsigned> plain;
  for (auto [axis, index] : llvm::enumerate(extract.getIndices())) {
    auto place = index.getDefiningOp<IndexOp>();
    if (!place) {
      ++computed;
      found.axis = axis;
      found.dims.push_back(0);
      continue;
    }
    if (!plain.insert(place.getDim()).second)
      return std::nullopt;
    found.dims.push_back(place.getDim());
  }
  Block &body = cascade.getBody().front();
  bool isMap = llvm::none_of(body, [](Operation &op) { return isRootOp(&op); });
  if (computed != 1 || !isMap)
    return std::nullopt;
  // Every other dim is of extent 1.
  SmallVector<int64_t> extents =
      getStaticExtents(cast<IndexProgramOpInterface>(*cascade));
  for (unsigned d = 0; d < extents.size(); ++d)
    if (!plain.contains(d) && extents[d] != 1)
      return std::nullopt;
  return found;
}

/// Whether a factor is a 16-bit float, extended here or by the map that makes its tensor.
static bool isNarrow(CascadeOp cascade, Value factor) {
  if (auto extend = factor.getDefiningOp<arith::ExtFOp>())
    factor = extend.getIn();
  if (factor.getType().getIntOrFloatBitWidth() == 16)
    return isa<BlockArgument>(factor);
  auto argument = dyn_cast<BlockArgument>(factor);
  if (!argument || argument.getArgNumber() >= cascade.getInputs().size())
    return false;
  Value tensor = cascade.getInputs()[argument.getArgNumber()];
  auto maker = tensor.getDefiningOp<CascadeOp>();
  if (!maker)
    return false;
  Value made = maker.getBody().front().getTerminator()->getOperand(
      cast<OpResult>(tensor).getResultNumber());
  return made.getDefiningOp<arith::ExtFOp>() && isNarrow(maker, made);
}

/// Whether a tensor is a product of matrices of 16-bit floats, with many columns along `axis`,
/// and so many rows that storing it takes a part of its time.
static bool isProduct(Value tensor, unsigned axis) {
  auto cascade = tensor.getDefiningOp<CascadeOp>();
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!cascade || cascade->getNumResults() != 1 || !type.hasStaticShape() ||
      type.getDimSize(axis) <= kMatrixColumns ||
      type.getNumElements() / type.getDimSize(axis) <= kMatrixRows)
    return false;
  SmallVector<int64_t> extents = getStaticExtents(cascade);
  FailureOr<DimSets> sets =
      DimSets::compute(cast<IndexProgramOpInterface>(*cascade));
  auto reduces = cascade.getBody().getOps<ReduceOp>();
  if (failed(sets) || !llvm::hasSingleElement(reduces))
    return false;
  ReduceOp reduce = *reduces.begin();
  if (!isMatrixProduct(reduce, *sets, [&](unsigned d) {
        return getAssumedExtent(extents[d]);
      }))
    return false;
  return llvm::all_of(reduce.getOperand(0).getDefiningOp()->getOperands(),
                      [&](Value factor) { return isNarrow(cascade, factor); });
}

/// Whether all that else is made of a tensor is reduced along this axis of it.
static bool isReducedAlong(Value tensor, unsigned axis) {
  return llvm::all_of(tensor.getUses(), [&](OpOperand &use) {
    auto cascade = dyn_cast<CascadeOp>(use.getOwner());
    if (!cascade)
      return isa<tensor::ExtractOp>(use.getOwner());
    if (use.getOperandNumber() >= cascade.getInputs().size())
      return false;
    SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
    auto dim =
        dyn_cast<AffineDimExpr>(maps[use.getOperandNumber()].getResult(axis));
    if (!dim)
      return false;
    for (auto [result, map] :
         llvm::zip_equal(cascade->getResults(),
                         ArrayRef(maps).take_back(cascade->getNumResults())))
      for (auto [at, e] : llvm::enumerate(map.getResults()))
        if (e == dim && !isReducedAlong(result, unsigned(at)))
          return false;
    return true;
  });
}

/// The ops of the body that `v` is made of, in order; empty if one of them may not be
/// made twice.
static std::optional<SmallVector<Operation *>> findSlice(Block &body, Value v) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> work{v};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != &body || !slice.insert(op))
      continue;
    if (op->getNumRegions() != 0 || !isPure(op))
      return std::nullopt;
    llvm::append_range(work, op->getOperands());
  }
  SmallVector<Operation *> ordered = slice.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

/// The cascade that computes the gather for all points of `cascade`.
static Value makeReduction(RewriterBase &b, CascadeOp cascade,
                           const Gather &gather, ArrayRef<Operation *> slice) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(cascade);
  tensor::ExtractOp extract = gather.extract;
  Location loc = extract.getLoc();
  Value tensor = extract.getTensor();
  unsigned numDims = cascade.getNumIterationDims(), t = numDims;
  SmallVector<OpFoldResult> sizes(numDims, b.getIndexAttr(1));
  SmallVector<AffineExpr> read;
  for (auto [axis, dim] : llvm::enumerate(gather.dims)) {
    bool isGathered = axis == gather.axis;
    read.push_back(b.getAffineDimExpr(isGathered ? t : dim));
    if (!isGathered)
      sizes[dim] = tensor::getMixedSize(b, loc, tensor, axis);
  }
  MLIRContext *context = b.getContext();
  auto over = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(numDims + 1, 0, results, context);
  };
  Type type = extract.getType();
  SmallVector<Value> inputs{tensor};
  SmallVector<AffineMap> maps{over(read)};
  Value place = extract.getIndices()[gather.axis];
  SmallVector<BlockArgument> used;
  for (BlockArgument argument : cascade.getBody().getArguments()) {
    bool isRead = argument == place || llvm::any_of(slice, [&](Operation *op) {
                    return llvm::is_contained(op->getOperands(), argument);
                  });
    if (!isRead)
      continue;
    used.push_back(argument);
    unsigned i = argument.getArgNumber();
    inputs.push_back(cascade.getInputs()[i]);
    maps.push_back(over(cascade.getIndexingMapsArray()[i].getResults()));
  }
  SmallVector<AffineExpr> points;
  SmallVector<int64_t> into;
  for (unsigned d = 0; d < numDims; ++d) {
    points.push_back(b.getAffineDimExpr(d));
    into.push_back(d);
  }
  maps.push_back(over(points));
  Value init = tensor::EmptyOp::create(b, loc, sizes, type);
  auto made = CascadeOp::create(b, loc, TypeRange{init.getType()}, inputs,
                                ValueRange{init}, b.getAffineMapArrayAttr(maps),
                                /*schedule=*/nullptr);
  Block &body = made.getBody().emplaceBlock();
  for (Value v : inputs)
    body.addArgument(getElementTypeOrSelf(v.getType()), v.getLoc());
  b.setInsertionPointToStart(&body);
  IRMapping mapping;
  for (auto [from, to] :
       llvm::zip_equal(used, body.getArguments().drop_front()))
    mapping.map(from, to);
  for (Operation *op : slice)
    b.clone(*op, mapping);
  Value wanted = mapping.lookupOrDefault(place);
  Value here = IndexOp::create(b, loc, t);
  Value is =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, here, wanted);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  Value left = arith::SelectOp::create(b, loc, is, body.getArgument(0), zero);
  // Of all but one zero, exact; in a type that sums are made in.
  bool isShort = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  if (isShort)
    left = arith::ExtFOp::create(b, loc, b.getF32Type(), left);
  Value sum = ReduceOp::create(b, loc, Reducer::Add, ValueRange{left},
                               ArrayRef<int64_t>{int64_t(t)}, into)
                  ->getResult(0);
  if (isShort)
    sum = arith::TruncFOp::create(b, loc, type, sum);
  YieldOp::create(b, loc, sum);
  return made->getResult(0);
}

/// Reads `v`, which has an element for each point, in place of the extraction.
static void readInstead(RewriterBase &b, CascadeOp cascade,
                        tensor::ExtractOp extract, Value v) {
  unsigned at = cascade.getInputs().size();
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  maps.insert(maps.begin() + at,
              b.getMultiDimIdentityMap(cascade.getNumIterationDims()));
  b.modifyOpInPlace(cascade, [&] {
    cascade.getInputsMutable().append(v);
    cascade.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
    BlockArgument argument = cascade.getBody().front().insertArgument(
        at, extract.getType(), extract.getLoc());
    b.replaceOp(extract, argument);
  });
}

namespace {
struct ReduceGathers : public redfuse::impl::ReduceGathersBase<ReduceGathers> {
  using ReduceGathersBase::ReduceGathersBase;

  void runOnOperation() override {
    if (behindProducts) {
      const Chip *chip = getChipOf(getOperation());
      if (!chip || !chip->has(Wgmma))
        return;
    }
    IRRewriter b(&getContext());
    SmallVector<std::pair<CascadeOp, tensor::ExtractOp>> extracts;
    getOperation()->walk([&](CascadeOp cascade) {
      for (auto extract : cascade.getBody().getOps<tensor::ExtractOp>())
        extracts.push_back({cascade, extract});
    });
    for (auto [cascade, extract] : extracts) {
      std::optional<Gather> gather = matchGather(cascade, extract);
      if (!gather)
        continue;
      Value tensor = extract.getTensor();
      if (behindProducts && (!isProduct(tensor, gather->axis) ||
                             !isReducedAlong(tensor, gather->axis)))
        continue;
      auto slice = findSlice(cascade.getBody().front(),
                             extract.getIndices()[gather->axis]);
      if (slice)
        readInstead(b, cascade, extract,
                    makeReduction(b, cascade, *gather, *slice));
    }
  }
};
} // namespace
