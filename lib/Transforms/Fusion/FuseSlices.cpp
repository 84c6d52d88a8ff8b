//===- FuseSlices.cpp - reads of part of what a reduction makes -----------===//
//
// Where most of a computed tensor is reduced, and all of it elsewhere (weights
// that were normalised with one more element, say), the two reductions share
// neither a dim nor the work before them. Over the whole extent, with the
// identity at what is left out, the first one can share both. A top-k makes all
// its ranks at once: who needs one of them reads them all and chooses.
//
//===----------------------------------------------------------------------===//
#include "FusionBuilder.h"

#include "redfuse/Dialect/Redfuse/Utils/MovedBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace redfuse;

namespace {
/// A dim of a cascade that runs over part of a dim of an operand.
struct Window {
  unsigned dim;
  int64_t offset, extent, whole;
};
} // namespace

/// `expr` as dim + offset, or as dim mod `extent`, a slice from the start.
static std::optional<std::pair<unsigned, int64_t>>
matchSlice(AffineExpr expr, ArrayRef<int64_t> extents) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(binary.getLHS());
  auto number = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!dim || !number)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return std::pair(dim.getPosition(), number.getValue());
  if (expr.getKind() == AffineExprKind::Mod &&
      number.getValue() == extents[dim.getPosition()])
    return std::pair(dim.getPosition(), int64_t(0));
  return std::nullopt;
}

/// Whether somebody needs what a reduction makes: not the total of a running sum, say, of
/// which the prefixes alone are read.
static bool isNeeded(CascadeOp op, ReduceOp reduce) {
  return llvm::any_of(reduce->getUses(), [&](OpOperand &use) {
    return !isa<YieldOp>(use.getOwner()) ||
           !op->getResult(use.getOperandNumber()).use_empty();
  });
}

/// Whether something that `op` needs is reduced over a dim of `extent`.
static bool followsReduction(CascadeOp op, int64_t extent,
                             llvm::DenseSet<Operation *> &seen) {
  if (!seen.insert(op).second)
    return false;
  SmallVector<int64_t> extents = getStaticExtents(op);
  for (auto reduce : op.getBody().front().getOps<ReduceOp>())
    if (isNeeded(op, reduce) && llvm::any_of(reduce.getOver(), [&](int64_t d) {
          return extents[d] == extent;
        }))
      return true;
  return llvm::any_of(op.getInputs(), [&](Value input) {
    auto producer = input.getDefiningOp<CascadeOp>();
    return producer && followsReduction(producer, extent, seen);
  });
}

static std::optional<Window> findWindow(CascadeOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> extents = getStaticExtents(op);
  for (auto [input, map] : llvm::zip(op.getInputs(), maps)) {
    auto producer = input.getDefiningOp<CascadeOp>();
    if (!producer)
      continue;
    auto type = cast<RankedTensorType>(input.getType());
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      auto slice = matchSlice(expr, extents);
      int64_t whole = type.getDimSize(position);
      if (!slice || ShapedType::isDynamic(whole))
        continue;
      Window w{slice->first, slice->second, extents[slice->first], whole};
      // Most of it: the rest is computed for nothing.
      if (ShapedType::isDynamic(w.extent) || w.offset < 0 ||
          w.offset + w.extent > whole || w.extent >= whole ||
          4 * whole > 5 * w.extent)
        continue;
      llvm::DenseSet<Operation *> seen;
      if (followsReduction(producer, whole, seen))
        return w;
    }
  }
  return std::nullopt;
}

/// The index that reads in the whole what `expr` read in the window, and
/// anything within bounds beside it; nothing where that is not simple.
static AffineExpr widen(AffineExpr expr, const Window &w, int64_t extent,
                        ArrayRef<int64_t> extents) {
  AffineExpr dim = getAffineDimExpr(w.dim, expr.getContext());
  if (!expr.isFunctionOfDim(w.dim))
    return expr;
  int64_t offset = 0;
  if (expr != dim) {
    auto slice = matchSlice(expr, extents);
    if (!slice)
      return {};
    offset = slice->second;
  }
  if (extent == w.whole && offset == w.offset)
    return dim;
  if (offset != 0 || w.extent > extent)
    return {};
  int64_t shift = (w.extent - w.offset % w.extent) % w.extent;
  return (dim + shift) % w.extent;
}

/// Makes `maps` those with which the inputs are read in the whole; false where one
/// cannot be.
static bool widenInputs(CascadeOp op, const Window &w,
                        MutableArrayRef<AffineMap> maps) {
  SmallVector<int64_t> extents = getStaticExtents(op);
  for (auto [input, map] : llvm::zip(op.getInputs(), maps)) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<AffineExpr> exprs;
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      if (expr.isFunctionOfDim(w.dim) && type.isDynamicDim(position))
        return false;
      exprs.push_back(widen(expr, w, type.getDimSize(position), extents));
      if (!exprs.back())
        return false;
    }
    map = AffineMap::get(map.getNumDims(), 0, exprs, op.getContext());
  }
  return true;
}

/// Whether an op of a body may run at positions where the program has none.
static bool canRunAnywhere(Operation &inner) {
  return isMemoryEffectFree(&inner) &&
         (!isa_and_nonnull<arith::ArithDialect>(inner.getDialect()) ||
          isSpeculatable(&inner));
}

static bool widenWindow(RewriterBase &rewriter, CascadeOp op, const Window &w) {
  Block &body = op.getBody().front();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned numInputs = op.getInputs().size();
  for (AffineMap map : ArrayRef(maps).drop_front(numInputs))
    if (map.isFunctionOfDim(w.dim))
      return false;
  for (Operation &inner : body) {
    auto reduce = dyn_cast<ReduceOp>(inner);
    if (isa<ScanOp, MergeTopkOp>(inner) || !canRunAnywhere(inner) ||
        (reduce && (reduce.getReducer() == Reducer::TopK ||
                    llvm::is_contained(reduce.getInto(), w.dim))))
      return false;
  }
  if (!widenInputs(op, w, maps))
    return false;

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.startOpModification(op);
  op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  Location loc = op.getLoc();
  SmallVector<IndexOp> positions;
  for (auto index : body.getOps<IndexOp>())
    if (index.getDim() == uint64_t(w.dim))
      positions.push_back(index);
  rewriter.setInsertionPointToStart(&body);
  auto constant = [&](int64_t v) {
    return arith::ConstantIndexOp::create(rewriter, loc, v);
  };
  Value at = IndexOp::create(rewriter, loc, rewriter.getIndexType(),
                             rewriter.getI64IntegerAttr(w.dim));
  Value local = at, isInside;
  if (w.offset > 0) {
    local = arith::SubIOp::create(rewriter, loc, at, constant(w.offset));
    isInside = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sge,
                                     at, constant(w.offset));
  }
  if (w.offset + w.extent < w.whole) {
    Value before =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, at,
                              constant(w.offset + w.extent));
    isInside =
        isInside ? Value(arith::AndIOp::create(rewriter, loc, isInside, before))
                 : before;
  }
  for (IndexOp index : positions)
    rewriter.replaceOp(index, local);
  for (auto reduce : llvm::to_vector(body.getOps<ReduceOp>())) {
    if (!llvm::is_contained(reduce.getOver(), w.dim))
      continue;
    rewriter.setInsertionPoint(reduce);
    for (auto [i, operand] : llvm::enumerate(reduce->getOpOperands())) {
      Value nothing = arith::ConstantOp::create(
          rewriter, reduce.getLoc(),
          getIdentityOf(cast<CombiningOpInterface>(reduce.getOperation()), i));
      operand.set(arith::SelectOp::create(rewriter, reduce.getLoc(), isInside,
                                          operand.get(), nothing));
    }
  }
  rewriter.finalizeOpModification(op);
  return true;
}

/// Whether dim `d` is plain in another map than that of operand `except`.
static bool isToldElsewhere(ArrayRef<AffineMap> maps, unsigned except,
                            unsigned d) {
  for (auto [i, map] : llvm::enumerate(maps))
    if (i != except && llvm::any_of(map.getResults(), [&](AffineExpr e) {
          auto dim = dyn_cast<AffineDimExpr>(e);
          return dim && dim.getPosition() == d;
        }))
      return true;
  return false;
}

/// The maps of the readers of `result` once dim `position` of it is the whole that
/// the window is of; nothing where one of them reads otherwise than point by point.
static std::optional<SmallVector<std::pair<CascadeOp, SmallVector<AffineMap>>>>
readWindows(Value result, unsigned position, const Window &w) {
  SmallVector<std::pair<CascadeOp, SmallVector<AffineMap>>> readers;
  llvm::SmallSetVector<Operation *, 4> users(result.user_begin(),
                                             result.user_end());
  for (Operation *user : users) {
    auto reader = dyn_cast<CascadeOp>(user);
    if (!reader)
      return std::nullopt;
    SmallVector<AffineMap> maps = reader.getIndexingMapsArray();
    for (OpOperand &operand : user->getOpOperands()) {
      if (operand.get() != result)
        continue;
      unsigned n = operand.getOperandNumber();
      if (n >= reader.getInputs().size())
        return std::nullopt;
      SmallVector<AffineExpr> exprs(maps[n].getResults());
      auto dim = dyn_cast<AffineDimExpr>(exprs[position]);
      if (!dim || !isToldElsewhere(maps, n, dim.getPosition()))
        return std::nullopt;
      exprs[position] = w.offset == 0 ? dim % w.extent : dim + w.offset;
      maps[n] =
          AffineMap::get(maps[n].getNumDims(), 0, exprs, reader.getContext());
    }
    readers.push_back({reader, maps});
  }
  return readers;
}

/// A map of a window becomes one of the whole, and its readers have the window.
static bool widenMap(RewriterBase &rewriter, CascadeOp op, const Window &w) {
  Block &body = op.getBody().front();
  if (op->getNumResults() != 1 || llvm::any_of(body, [](Operation &inner) {
        return isa<CombiningOpInterface, MergeTopkOp, IndexOp>(inner) ||
               !canRunAnywhere(inner);
      }))
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap out = maps.back();
  auto position =
      out.getResultPosition(getAffineDimExpr(w.dim, op.getContext()));
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!position || !type.hasStaticShape())
    return false;
  if (!widenInputs(op, w, maps))
    return false;
  auto readers = readWindows(op->getResult(0), *position, w);
  if (!readers)
    return false;

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<int64_t> shape(type.getShape());
  shape[*position] = w.whole;
  Value init = tensor::EmptyOp::create(rewriter, op.getLoc(), shape,
                                       type.getElementType());
  CascadeOp wide = moveBody(rewriter, op, op.getInputs(), init, maps);
  for (auto &[reader, windows] : *readers) {
    rewriter.modifyOpInPlace(reader, [&, &reader = reader, &windows = windows] {
      reader->replaceUsesOfWith(op->getResult(0), wide->getResult(0));
      reader.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(windows));
    });
  }
  rewriter.eraseOp(op);
  return true;
}

void redfuse::widenSlicedReductions(RewriterBase &rewriter, Block &block) {
  for (auto op : llvm::to_vector(block.getOps<CascadeOp>()))
    if (std::optional<Window> window = findWindow(op))
      if (!widenWindow(rewriter, op, *window))
        widenMap(rewriter, op, *window);
}

/// The dim of a top-k's rank in the shape of `result`, if it is one.
static std::optional<unsigned> findRank(OpResult result) {
  auto op = dyn_cast<CascadeOp>(result.getOwner());
  if (!op)
    return std::nullopt;
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  auto topk =
      yield.getValues()[result.getResultNumber()].getDefiningOp<ReduceOp>();
  if (!topk || topk.getReducer() != Reducer::TopK)
    return std::nullopt;
  FailureOr<DimSets> sets = DimSets::compute(op);
  if (failed(sets))
    return std::nullopt;
  SmallBitVector rank = toDimSet(topk.getInto(), sets->getNumDims());
  for (Value operand : topk.getOperands())
    rank.reset((*sets)[operand]);
  AffineMap map = op.getIndexingMapsArray()[op.getInputs().size() +
                                            result.getResultNumber()];
  for (auto [i, e] : llvm::enumerate(map.getResults()))
    if (rank.test(cast<AffineDimExpr>(e).getPosition()))
      return i;
  return std::nullopt;
}

/// Makes input `i`, at a constant in dim `position`, the largest of what is
/// chosen along a new dim.
static CascadeOp readRank(RewriterBase &rewriter, CascadeOp op, unsigned i,
                          unsigned position) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned numDims = op.getNumIterationDims();
  auto constant = cast<AffineConstantExpr>(maps[i].getResult(position));
  SmallVector<int64_t> kept = toDims(getDimsOf(maps[i]));
  for (auto [n, map] : llvm::enumerate(maps)) {
    SmallVector<AffineExpr> exprs(map.getResults());
    if (n == i)
      exprs[position] = rewriter.getAffineDimExpr(numDims);
    map = AffineMap::get(numDims + 1, 0, exprs, op.getContext());
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  CascadeOp wider = moveBody(rewriter, op, op.getInputs(), op.getInits(), maps);
  Block &body = wider.getBody().front();
  rewriter.setInsertionPointToStart(&body);
  Location loc = op.getLoc();
  BlockArgument argument = body.getArgument(i);
  Type type = argument.getType();
  Reducer reducer = isa<FloatType>(type) ? Reducer::MaximumF : Reducer::MaxSI;
  Value at = IndexOp::create(rewriter, loc, rewriter.getIndexType(),
                             rewriter.getI64IntegerAttr(numDims));
  Value here = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::eq, at,
      arith::ConstantIndexOp::create(rewriter, loc, constant.getValue()));
  Value nothing = arith::ConstantOp::create(rewriter, loc,
                                            getReducerIdentity(reducer, type));
  auto chosen = arith::SelectOp::create(rewriter, loc, here, argument, nothing);
  Value one = ReduceOp::create(rewriter, loc, reducer, ValueRange{chosen},
                               {int64_t(numDims)}, kept)
                  .getResult(0);
  rewriter.replaceAllUsesExcept(argument, one, chosen);
  rewriter.replaceOp(op, wider);
  return wider;
}

void redfuse::readRanks(RewriterBase &rewriter, Block &block) {
  for (auto op : llvm::to_vector(block.getOps<CascadeOp>()))
    for (unsigned i = 0; i < op.getInputs().size(); ++i) {
      auto result = dyn_cast<OpResult>(op.getInputs()[i]);
      std::optional<unsigned> rank;
      if (result && result.getOwner() != op)
        rank = findRank(result);
      AffineMap map = op.getIndexingMapsArray()[i];
      if (rank && isa<AffineConstantExpr>(map.getResult(*rank)) &&
          !op.getBody().getArgument(i).use_empty() &&
          !op.getBody().getArgument(i).getType().isInteger(1))
        op = readRank(rewriter, op, i, *rank);
    }
}
