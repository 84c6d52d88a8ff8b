//===- NormalizeBroadcasts.cpp - reads at loop indices as operands --------===//
#include "NormalizeCommon.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"

#include "mlir/IR/Matchers.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEBROADCASTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using redfuse::Extent;

namespace {

/// One index of a tensor.extract in the body of a generic.
struct Access {
  /// `loop + offset`, or `offset` where loop is -1.
  int64_t loop = -1, offset = 0;
  /// The index is 0 where this extent is 1.
  std::optional<Extent> zeroIfOne;
};

/// `extent == 1`, in either order.
std::optional<Extent> matchIsOne(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return std::nullopt;
  if (matchPattern(compare.getRhs(), m_One()))
    return redfuse::getExtentOf(compare.getLhs());
  if (matchPattern(compare.getLhs(), m_One()))
    return redfuse::getExtentOf(compare.getRhs());
  return std::nullopt;
}

std::optional<Access> matchAccess(linalg::GenericOp op, Value index) {
  Access access;
  if (std::optional<int64_t> constant = getConstantIntValue(index)) {
    access.offset = *constant;
    return access;
  }
  if (auto select = index.getDefiningOp<arith::SelectOp>()) {
    std::optional<Extent> extent = matchIsOne(select.getCondition());
    if (!extent || !matchPattern(select.getTrueValue(), m_Zero()))
      return std::nullopt;
    std::optional<Access> inner = matchAccess(op, select.getFalseValue());
    if (!inner || inner->loop < 0 || inner->offset || inner->zeroIfOne)
      return std::nullopt;
    inner->zeroIfOne = extent;
    return inner;
  }
  if (auto add = index.getDefiningOp<arith::AddIOp>()) {
    for (auto [a, b] : {std::pair(add.getLhs(), add.getRhs()),
                        std::pair(add.getRhs(), add.getLhs())}) {
      std::optional<int64_t> offset = getConstantIntValue(b);
      std::optional<Access> inner = offset ? matchAccess(op, a) : std::nullopt;
      if (!inner || inner->zeroIfOne)
        continue;
      inner->offset += *offset;
      return inner;
    }
    return std::nullopt;
  }
  if (auto loop = index.getDefiningOp<linalg::IndexOp>();
      loop && loop->getParentOp() == op) {
    access.loop = loop.getDim();
    return access;
  }
  return std::nullopt;
}

/// `tensor` with dim `dim` as long as `wanted`: itself if it is that long
/// already, else a copy that repeats its only element along the dim.
Value repeatIfSingle(PatternRewriter &rewriter, Location loc, Value tensor,
                     int64_t dim, const Extent &wanted) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Value have = tensor::DimOp::create(rewriter, loc, tensor, dim);
  Value want = redfuse::materialize(rewriter, loc, wanted);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  using P = arith::CmpIPredicate;
  Value same = arith::CmpIOp::create(rewriter, loc, P::eq, have, want);
  Value single = arith::CmpIOp::create(rewriter, loc, P::eq, have, one);
  Value fits = arith::OrIOp::create(rewriter, loc, same, single);
  cf::AssertOp::create(rewriter, loc, fits,
                       "an extent is neither 1 nor that of the broadcast");
  auto choice = scf::IfOp::create(rewriter, loc, type, same,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(rewriter, loc, tensor);

  rewriter.setInsertionPointToStart(choice.elseBlock());
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, tensor);
  sizes[dim] = want;
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  AffineMap id = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineExpr> exprs(id.getResults());
  exprs[dim] = rewriter.getAffineConstantExpr(0);
  AffineMap map =
      AffineMap::get(type.getRank(), 0, exprs, rewriter.getContext());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto copy = linalg::GenericOp::create(
      rewriter, loc, empty.getType(), tensor, empty, ArrayRef{map, id},
      iterators, [](OpBuilder &b, Location loc, ValueRange arguments) {
        linalg::YieldOp::create(b, loc, arguments.front());
      });
  Value repeated = copy.getResult(0);
  if (repeated.getType() != type)
    repeated = tensor::CastOp::create(rewriter, loc, type, repeated);
  scf::YieldOp::create(rewriter, loc, repeated);
  return choice.getResult(0);
}

Value broadcastInFront(PatternRewriter &rewriter, Location loc, Value tensor,
                       int64_t dim, const Extent &wanted);

/// The generic that makes a tensor, where it makes it alone and dim `dim` of it is
/// one of its loops and of its operands': that loop.
std::optional<unsigned> findBroadcastLoop(linalg::GenericOp op, int64_t dim) {
  if (op->getNumResults() != 1 || !op.hasPureTensorSemantics())
    return std::nullopt;
  auto loop = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResult(dim));
  if (!loop)
    return std::nullopt;
  unsigned d = loop.getPosition();
  if (op.getIteratorTypesArray()[d] != utils::IteratorType::parallel)
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isFound = false;
    for (auto [i, e] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      if (!e.isFunctionOfDim(d))
        continue;
      auto type = cast<RankedTensorType>(operand.get().getType());
      if (isFound || e != loop || !type.isDynamicDim(i))
        return std::nullopt;
      isFound = true;
    }
  }
  // What differs along the dim though its operands do not.
  bool isCounted = false;
  op.getRegion().walk(
      [&](linalg::IndexOp index) { isCounted |= index.getDim() == d; });
  op.getRegion().walk([&](tensor::ExtractOp) { isCounted = true; });
  Value init = op.getDpsInits()[0];
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = fill.getOutputs().front();
  if (isCounted || !init.getDefiningOp<tensor::EmptyOp>())
    return std::nullopt;
  return d;
}

/// The same op, of operands with more elements along the dim; null where it is not
/// made of such.
Value broadcastOperands(PatternRewriter &rewriter, linalg::GenericOp op,
                        int64_t dim, const Extent &wanted) {
  std::optional<unsigned> loop = findBroadcastLoop(op, dim);
  if (!loop)
    return {};
  Location loc = op.getLoc();
  // One tensor may be read along the dim by some operands and not by others.
  SmallVector<Value> operands(op->getOperands());
  llvm::SmallDenseMap<std::pair<Value, unsigned>, Value> made;
  for (OpOperand *input : op.getDpsInputOperands()) {
    for (auto [d, e] :
         llvm::enumerate(op.getMatchingIndexingMap(input).getResults())) {
      if (!e.isFunctionOfDim(*loop))
        continue;
      Value &wide = made[{input->get(), unsigned(d)}];
      if (!wide)
        wide = broadcastInFront(rewriter, loc, input->get(), d, wanted);
      operands[input->getOperandNumber()] = wide;
    }
  }
  OpOperand *out = op.getDpsInitOperand(0);
  auto fill = out->get().getDefiningOp<linalg::FillOp>();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, out->get());
  sizes[dim] = redfuse::materialize(rewriter, loc, wanted);
  Value init = tensor::EmptyOp::create(
      rewriter, loc, sizes,
      cast<RankedTensorType>(out->get().getType()).getElementType());
  if (fill)
    init = linalg::FillOp::create(rewriter, loc, fill.getInputs().front(), init)
               .getResult(0);
  operands[out->getOperandNumber()] = init;
  Operation *wide = rewriter.clone(*op);
  wide->setOperands(operands);
  return wide->getResult(0);
}

/// Of the dims `group`, which a reshape makes from or of one, that which has all
/// elements; none where several may.
std::optional<int64_t> findOnlyDim(RankedTensorType type,
                                   ArrayRef<int64_t> group) {
  std::optional<int64_t> only;
  for (int64_t d : group) {
    if (type.getDimSize(d) == 1)
      continue;
    if (only)
      return std::nullopt;
    only = d;
  }
  return only;
}

/// The same for reshapes that leave the dim as it is.
Value broadcastOperand(PatternRewriter &rewriter, tensor::ExpandShapeOp op,
                       int64_t dim, const Extent &wanted) {
  Location loc = op.getLoc();
  for (auto [from, group] : llvm::enumerate(op.getReassociationIndices())) {
    if (!llvm::is_contained(group, dim))
      continue;
    if (findOnlyDim(op.getResultType(), group) != dim ||
        !op.getSrcType().isDynamicDim(from))
      return {};
    Value source = broadcastInFront(rewriter, loc, op.getSrc(), from, wanted);
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    sizes[dim] = redfuse::materialize(rewriter, loc, wanted);
    return tensor::ExpandShapeOp::create(rewriter, loc, op.getResultType(),
                                         source, op.getReassociationIndices(),
                                         sizes);
  }
  return {};
}

Value broadcastOperand(PatternRewriter &rewriter, tensor::CollapseShapeOp op,
                       int64_t dim, const Extent &wanted) {
  std::optional<int64_t> from =
      findOnlyDim(op.getSrcType(), op.getReassociationIndices()[dim]);
  if (!from || !op.getSrcType().isDynamicDim(*from))
    return {};
  Value source =
      broadcastInFront(rewriter, op.getLoc(), op.getSrc(), *from, wanted);
  return tensor::CollapseShapeOp::create(rewriter, op.getLoc(),
                                         op.getResultType(), source,
                                         op.getReassociationIndices());
}

/// As repeatIfSingle, in front of a generic, so that its body reads without a
/// condition; and in front of what makes the tensor for this alone, so that no
/// condition stands between it and its reader.
Value broadcastInFront(PatternRewriter &rewriter, Location loc, Value tensor,
                       int64_t dim, const Extent &wanted) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Operation *producer = tensor.getDefiningOp();
  Value made;
  if (producer && type.isDynamicDim(dim) &&
      (tensor.use_empty() || tensor.hasOneUse())) {
    if (auto op = dyn_cast<linalg::GenericOp>(producer))
      made = broadcastOperands(rewriter, op, dim, wanted);
    else if (auto op = dyn_cast<tensor::ExpandShapeOp>(producer))
      made = broadcastOperand(rewriter, op, dim, wanted);
    else if (auto op = dyn_cast<tensor::CollapseShapeOp>(producer))
      made = broadcastOperand(rewriter, op, dim, wanted);
  }
  return made ? made : repeatIfSingle(rewriter, loc, tensor, dim, wanted);
}

/// Makes `input`, read through `map`, an operand of `op` and its body argument
/// replace `element`.
void addInput(PatternRewriter &rewriter, linalg::GenericOp op, Value input,
              AffineMap map, Value element) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned position = op.getNumDpsInputs();
  maps.insert(maps.begin() + position, map);
  SmallVector<Value> inputs(op.getInputs());
  inputs.push_back(input);
  auto wider = linalg::GenericOp::create(
      rewriter, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray());
  for (NamedAttribute attr : op->getDiscardableAttrs())
    wider->setDiscardableAttr(attr.getName(), attr.getValue());
  rewriter.inlineRegionBefore(op.getRegion(), wider.getRegion(),
                              wider.getRegion().begin());
  BlockArgument argument = wider.getBody()->insertArgument(
      position, element.getType(), element.getLoc());
  rewriter.replaceAllUsesWith(element, argument);
  rewriter.replaceOp(op, wider.getResults());
}

/// Whether the body may stop in front of `op`.
bool isBehindAssertion(Operation *op) {
  while ((op = op->getPrevNode()))
    if (isa<cf::AssertOp>(op))
      return true;
  return false;
}

struct ExtractToOperand : OpRewritePattern<tensor::ExtractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractOp op,
                                PatternRewriter &rewriter) const override {
    auto generic = dyn_cast<linalg::GenericOp>(op->getParentOp());
    if (!generic || !generic.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not in the body of a generic");
    Value tensor = op.getTensor();
    auto type = cast<RankedTensorType>(tensor.getType());
    if (tensor.getParentRegion() == &generic.getRegion())
      return rewriter.notifyMatchFailure(op, "of a tensor made in the body");
    SmallVector<AffineExpr> exprs;
    SmallVector<std::pair<int64_t, Extent>> broadcasts;
    SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
    SmallVector<std::optional<Extent>> parts(type.getRank());
    for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
      std::optional<Access> access = matchAccess(generic, index);
      if (!access)
        return rewriter.notifyMatchFailure(op, "an index is computed");
      Extent have = redfuse::getExtentOf(tensor, dim);
      if (access->loop < 0) {
        bool inside = access->offset >= 0 && have.isConstant() &&
                      access->offset < have.constant;
        if (!inside)
          return rewriter.notifyMatchFailure(op, "may read out of range");
        exprs.push_back(rewriter.getAffineConstantExpr(access->offset));
        continue;
      }
      AffineExpr expr = rewriter.getAffineDimExpr(access->loop);
      std::optional<Extent> loop =
          redfuse::getLoopExtent(generic, access->loop);
      if (!loop)
        return rewriter.notifyMatchFailure(op, "unknown extent of a loop");
      if (access->zeroIfOne && *access->zeroIfOne != have)
        return rewriter.notifyMatchFailure(op, "another tensor's extent is 1");
      bool known = have.isConstant() && loop->isConstant();
      if (access->offset == 0 && have == *loop) {
        exprs.push_back(expr);
      } else if (access->zeroIfOne && known && have.constant == 1) {
        exprs.push_back(rewriter.getAffineConstantExpr(0));
      } else if (access->zeroIfOne && !known) {
        // Inside the body is no place to decide this.
        broadcasts.push_back({dim, *loop});
        exprs.push_back(expr);
      } else if (known && access->offset >= 0 && loop->constant > 0 &&
                 access->offset + loop->constant <= have.constant) {
        // A plain loop would claim the operand's extent (see
        // redfuse-normalize-views).
        exprs.push_back(access->offset ? expr + access->offset
                                       : expr % loop->constant);
      } else if (!known && access->offset >= 0 && !isBehindAssertion(op) &&
                 !(have.isConstant() && access->offset >= have.constant)) {
        // Every point is read, so the tensor is long enough: the part that is
        // read is a slice of it. (An assertion may be what shows that it is not, and
        // operands are read in front of it.)
        offsets[dim] = rewriter.getIndexAttr(access->offset);
        parts[dim] = *loop;
        exprs.push_back(expr);
      } else {
        return rewriter.notifyMatchFailure(op, "may read out of range");
      }
    }
    rewriter.setInsertionPoint(generic);
    for (auto [dim, wanted] : broadcasts) {
      tensor = broadcastInFront(rewriter, op.getLoc(), tensor, dim, wanted);
      rewriter.setInsertionPointAfterValue(tensor);
    }
    rewriter.setInsertionPoint(generic);
    if (llvm::any_of(parts, [](auto &part) { return part.has_value(); })) {
      Location loc = op.getLoc();
      SmallVector<OpFoldResult> sizes =
          tensor::getMixedSizes(rewriter, loc, tensor);
      SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
      for (auto [size, part] : llvm::zip_equal(sizes, parts))
        if (part)
          size = part->isConstant()
                     ? OpFoldResult(rewriter.getIndexAttr(part->constant))
                     : OpFoldResult(redfuse::materialize(rewriter, loc, *part));
      tensor = tensor::ExtractSliceOp::create(rewriter, loc, tensor, offsets,
                                              sizes, strides);
    }
    addInput(
        rewriter, generic, tensor,
        AffineMap::get(generic.getNumLoops(), 0, exprs, rewriter.getContext()),
        op.getResult());
    return success();
  }
};

struct NormalizeBroadcasts
    : redfuse::impl::NormalizeBroadcastsBase<NormalizeBroadcasts> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeBroadcastsPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeBroadcastsPatterns(RewritePatternSet &patterns) {
  patterns.add<ExtractToOperand>(patterns.getContext());
  populateExtractOfCopyPatterns(patterns, /*benefit=*/2);
}
