//===- NormalizeScans.cpp - running combinations as generics --------------===//
#include "NormalizeCommon.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZESCANS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
namespace tm_tensor = redfuse::tm_tensor;
using redfuse::Reducer;

namespace {

/// The reducer of the region of a scan, if it is a known one.
std::optional<Reducer> getReducer(tm_tensor::ScanOp op) {
  Block &body = op.getRegion().front();
  Operation *combine = body.getTerminator()->getOperand(0).getDefiningOp();
  std::optional<Reducer> reducer =
      combine ? redfuse::getReducerOf(combine) : std::nullopt;
  if (!reducer || combine->getNumOperands() != 2)
    return std::nullopt;
  Value a = body.getArgument(0), b = body.getArgument(1);
  Value lhs = combine->getOperand(0), rhs = combine->getOperand(1);
  bool isPlain = (lhs == a && rhs == b) || (lhs == b && rhs == a);
  return isPlain ? reducer : std::nullopt;
}

/// The identity of a declared reducer whose state has one part.
TypedAttr getDeclaredIdentity(DictionaryAttr combiner) {
  auto identities = combiner.getAs<ArrayAttr>("identity");
  return identities && identities.size() == 1
             ? dyn_cast<TypedAttr>(identities[0])
             : TypedAttr();
}

struct ScanToGeneric : OpRewritePattern<tm_tensor::ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tm_tensor::ScanOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getInclusive())
      return rewriter.notifyMatchFailure(op, "exclusive");
    if (op.getInputs().size() != 1 || op.getOutputs().size() != 2)
      return rewriter.notifyMatchFailure(op, "not one input and two outputs");
    std::optional<Reducer> reducer = getReducer(op);
    auto declared = op->getAttrOfType<DictionaryAttr>(redfuse::kCombiner);
    // Without the attribute the scan stays.
    auto refuse = [&](const Twine &why) {
      rewriter.modifyOpInPlace(op, [&] { redfuse::refuseCombiner(op, why); });
      return success();
    };
    if (!reducer && !declared)
      return op->hasAttr(redfuse::kCombiner)
                 ? refuse("the attribute is no dictionary")
                 : rewriter.notifyMatchFailure(op, "not a known reducer");
    Value input = op.getInputs().front();
    auto type = cast<RankedTensorType>(input.getType());
    auto running = cast<RankedTensorType>(op.getOutputs()[0].getType());
    Type element = type.getElementType();
    int64_t rank = type.getRank(), along = op.getDimension();
    if (running.getElementType() != element)
      return rewriter.notifyMatchFailure(op, "accumulates in another type");
    TypedAttr identity = reducer
                             ? redfuse::getReducerIdentity(*reducer, element)
                             : getDeclaredIdentity(declared);
    if (!identity || identity.getType() != element)
      return declared ? refuse("no 'identity' of the elements' type")
                      : rewriter.notifyMatchFailure(op, "no identity");
    // A row of no elements leaves its destination as it is.
    if (!op->getResult(1).use_empty() &&
        (type.isDynamicDim(along) || type.getDimSize(along) == 0))
      return rewriter.notifyMatchFailure(op, "rows may be empty");
    Location loc = op.getLoc();
    SmallVector<AffineExpr> exprs;
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    iterators[along] = utils::IteratorType::reduction;
    for (int64_t d = 0; d < rank; ++d)
      if (d != along)
        exprs.push_back(rewriter.getAffineDimExpr(d));
    AffineMap all = rewriter.getMultiDimIdentityMap(rank);
    AffineMap last = AffineMap::get(rank, 0, exprs, rewriter.getContext());
    auto lastType = cast<RankedTensorType>(op.getOutputs()[1].getType());
    auto makeEmpty = [&](Value like, RankedTensorType as) -> Value {
      Value empty = tensor::EmptyOp::create(
          rewriter, loc, tensor::getMixedSizes(rewriter, loc, like), element);
      return empty.getType() == as
                 ? empty
                 : tensor::CastOp::create(rewriter, loc, as, empty).getResult();
    };
    Value start = arith::ConstantOp::create(rewriter, loc, identity);
    Value accumulator =
        linalg::FillOp::create(rewriter, loc, start,
                               makeEmpty(op.getOutputs()[1], lastType))
            .getResult(0);
    Value destination = makeEmpty(op.getOutputs()[0], running);
    auto generic = linalg::GenericOp::create(
        rewriter, loc, TypeRange{lastType, running}, ValueRange{input},
        ValueRange{accumulator, destination}, ArrayRef{all, last, all},
        iterators, [&](OpBuilder &b, Location at, ValueRange arguments) {
          Value sum = reducer
                          ? redfuse::createCombiner(b, at, *reducer,
                                                    arguments[1], arguments[0])
                          : redfuse::inlineRegion(b, op.getRegion(),
                                                  {arguments[1], arguments[0]});
          linalg::YieldOp::create(b, at, ValueRange{sum, sum});
        });
    if (!reducer) {
      generic->setAttr(redfuse::kCombiner, declared);
      if (std::optional<std::string> why = redfuse::declareCombiner(generic)) {
        rewriter.eraseOp(generic);
        return refuse(*why);
      }
      generic->removeAttr(redfuse::kCombiner);
    }
    rewriter.replaceOp(op, {generic.getResult(1), generic.getResult(0)});
    return success();
  }
};

/// Whether a value, or a view of it, is a result of the function.
bool isReturned(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user) ||
           (isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
                user) &&
            isReturned(user->getResult(0)));
  });
}

/// An op that yields one value as a total and for every prefix has made the total
/// with the last prefix. Added up twice, in other orders, they would differ: where
/// all prefixes are in memory anyway the total is read there.
struct TotalOfPrefixes : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<unsigned> reductions;
    op.getReductionDims(reductions);
    if (!op.hasPureTensorSemantics() || reductions.size() != 1)
      return rewriter.notifyMatchFailure(op, "not one reduction dim");
    for (OpResult total : op->getResults())
      for (OpResult prefixes : op->getResults())
        if (isTotalOf(op, total, prefixes, reductions.front())) {
          rewriter.setInsertionPointAfter(op);
          rewriter.replaceAllUsesWith(
              total, lastOf(rewriter, op, total, prefixes, reductions.front()));
          return success();
        }
    return rewriter.notifyMatchFailure(op, "no total with its prefixes");
  }

  static AffineMap mapOf(linalg::GenericOp op, OpResult result) {
    return op.getMatchingIndexingMap(op.getTiedOpOperand(result));
  }

  /// The map of a total has all dims but the reduced one, in the same order.
  static bool isTotalOf(linalg::GenericOp op, OpResult total, OpResult prefixes,
                        unsigned along) {
    auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
    AffineMap whole = mapOf(op, prefixes);
    if (total == prefixes || total.use_empty() || !whole.isPermutation() ||
        yield.getOperand(total.getResultNumber()) !=
            yield.getOperand(prefixes.getResultNumber()) ||
        !isa<FloatType>(getElementTypeOrSelf(total.getType())) ||
        !isReturned(prefixes))
      return false;
    AffineExpr dim = getAffineDimExpr(along, op.getContext());
    auto others = llvm::make_filter_range(
        whole.getResults(), [&](AffineExpr e) { return e != dim; });
    return llvm::equal(mapOf(op, total).getResults(), others);
  }

  static Value lastOf(OpBuilder &b, linalg::GenericOp op, OpResult total,
                      OpResult prefixes, unsigned along) {
    Location loc = op.getLoc();
    unsigned at =
        *mapOf(op, prefixes)
             .getResultPosition(getAffineDimExpr(along, op.getContext()));
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, prefixes);
    auto type = cast<RankedTensorType>(total.getType());
    auto slice = [&](OpBuilder &b, OpFoldResult last) -> Value {
      SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)),
          strides(sizes.size(), b.getIndexAttr(1)), extents(sizes);
      offsets[at] = last;
      extents[at] = b.getIndexAttr(1);
      return tensor::ExtractSliceOp::create(b, loc, type, prefixes, offsets,
                                            extents, strides);
    };
    if (auto known = getConstantIntValue(sizes[at]))
      return *known ? slice(b, b.getIndexAttr(*known - 1))
                    : op.getTiedOpOperand(total)->get();
    Value size = cast<Value>(sizes[at]);
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    Value any =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, size, one);
    auto branch = scf::IfOp::create(
        b, loc, any,
        [&](OpBuilder &inner, Location) {
          Value last = arith::SubIOp::create(inner, loc, size, one);
          scf::YieldOp::create(inner, loc, slice(inner, last));
        },
        [&](OpBuilder &inner, Location) {
          scf::YieldOp::create(inner, loc, op.getTiedOpOperand(total)->get());
        });
    return branch.getResult(0);
  }
};

struct NormalizeScans : redfuse::impl::NormalizeScansBase<NormalizeScans> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeScansPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeScansPatterns(RewritePatternSet &patterns) {
  patterns.add<ScanToGeneric, TotalOfPrefixes>(patterns.getContext());
}
