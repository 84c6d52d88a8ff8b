//===- SplitMaps.cpp - redfuse-split-maps ---------------------------------===//
//
// An element-wise kernel on both sides of a seam (a concatenation) reads for every element
// what is on either side of it and drops one of the two. Large ones are a kernel for
// each side instead, which reads and writes its part. So are the last elements of what has no
// rows and is no whole number of vectors: all others are loaded and stored by vectors then.
//
//===----------------------------------------------------------------------===//
#include "Canonicalized.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/TensorPart.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace redfuse {
#define GEN_PASS_DEF_SPLITMAPS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// Where a cascade reads other tensors: from `at` on along `dim`.
struct Seam {
  unsigned dim;
  int64_t at;
};
} // namespace

/// The seam that a condition tells: it is true in front of it.
static std::optional<Seam> findSeam(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  APInt at;
  if (!compare ||
      (compare.getPredicate() != arith::CmpIPredicate::slt &&
       compare.getPredicate() != arith::CmpIPredicate::ult) ||
      !matchPattern(compare.getRhs(), m_ConstantInt(&at)))
    return std::nullopt;
  Value place = compare.getLhs();
  APInt offset(64, 0);
  // In a part the place is counted from where that begins.
  if (auto add = place.getDefiningOp<arith::AddIOp>();
      add && matchPattern(add.getRhs(), m_ConstantInt(&offset)))
    place = add.getLhs();
  auto index = place.getDefiningOp<IndexOp>();
  if (!index)
    return std::nullopt;
  return Seam{unsigned(index.getDim()),
              at.getSExtValue() - offset.getSExtValue()};
}

/// Bytes of tensors that elements of a value are loaded from, each with all dims.
static int64_t countLoaded(Value v, Block &body, DenseSet<Value> &seen) {
  if (!seen.insert(v).second || v.getParentBlock() != &body)
    return 0;
  if (isa<BlockArgument>(v))
    return v.getType().isIntOrFloat()
               ? int64_t(
                     llvm::divideCeil(v.getType().getIntOrFloatBitWidth(), 8))
               : 0;
  int64_t bytes = 0;
  for (Value of : v.getDefiningOp()->getOperands())
    bytes += countLoaded(of, body, seen);
  return bytes;
}

/// In front of the last elements of one dim, which all tensors have as it is, where it is no whole
/// number of vectors, if what single elements take longer is worth a launch.
static std::optional<Seam> findTail(CascadeOp op, const Chip &chip) {
  SmallVector<int64_t> extents = getStaticExtents(op);
  if (extents.size() != 1)
    return std::nullopt;
  double bytes = 0, narrowest = kVectorBytes;
  for (auto [operand, map] :
       llvm::zip_equal(op->getOperands(), op.getIndexingMapsArray())) {
    if (map.getNumResults() == 0)
      continue;
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !map.isIdentity() || !type.getElementType().isIntOrFloat())
      return std::nullopt;
    double size = std::max(1.0, double(type.getElementTypeBitWidth()) / 8);
    narrowest = std::min(narrowest, size);
    bytes += size * double(extents.front());
  }
  int64_t rest = extents.front() % int64_t(kVectorBytes / narrowest);
  if (rest == 0 || rest == extents.front() ||
      bytes * kLossOfElements <= double(chip.bandwidth) * double(chip.launchNs))
    return std::nullopt;
  return Seam{0, extents.front() - rest};
}

/// The seam at which the most is read for nothing, if that takes longer than a launch.
static std::optional<Seam> chooseSeam(CascadeOp op, const Chip &chip) {
  Block &body = op.getBody().front();
  SmallVector<int64_t> extents = getStaticExtents(op);
  if (op.getScheduleAttr() || llvm::any_of(extents, ShapedType::isDynamic) ||
      llvm::any_of(body, [](Operation &inner) {
        return !isa<YieldOp>(inner) &&
               (isRootOp(&inner) || inner.getNumRegions() != 0 ||
                !isPure(&inner));
      }))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  double points = 1;
  for (int64_t extent : extents)
    points *= double(extent);
  std::optional<Seam> best;
  double most = double(chip.bandwidth) * double(chip.launchNs);
  for (auto select : body.getOps<arith::SelectOp>()) {
    std::optional<Seam> seam = findSeam(select.getCondition());
    if (!seam || seam->at <= 0 || seam->at >= extents[seam->dim])
      continue;
    // Every result has the dim, once.
    if (!llvm::all_of(ArrayRef(maps).drop_front(op.getInputs().size()),
                      [&](AffineMap map) {
                        return map.isProjectedPermutation() &&
                               map.isFunctionOfDim(seam->dim);
                      }))
      continue;
    DenseSet<Value> front, behind;
    double ofFront = double(countLoaded(select.getTrueValue(), body, front)),
           ofRest = double(countLoaded(select.getFalseValue(), body, behind));
    double share = double(seam->at) / double(extents[seam->dim]);
    double saved = points * (share * ofRest + (1 - share) * ofFront);
    if (ofFront == 0 || ofRest == 0 || saved <= most)
      continue;
    most = saved;
    best = seam;
  }
  return best ? best : findTail(op, chip);
}

/// From where on a dim that begins at `begin` is read as it is: the place of its first
/// element, if all `extent` of them follow each other in a tensor of `size`.
static std::optional<int64_t> findPlace(AffineExpr e, unsigned dim,
                                        int64_t begin, int64_t extent,
                                        int64_t size) {
  AffineExpr first = simplifyAffineExpr(
      e.replace(getAffineDimExpr(dim, e.getContext()),
                getAffineConstantExpr(begin, e.getContext())),
      0, 0);
  auto place = dyn_cast<AffineConstantExpr>(first);
  AffineExpr inner = e;
  if (auto mod = dyn_cast<AffineBinaryOpExpr>(e);
      mod && mod.getKind() == AffineExprKind::Mod)
    inner = mod.getLHS();
  AffineExpr rest = simplifyAffineExpr(
      inner - getAffineDimExpr(dim, e.getContext()), dim + 1, 0);
  if (!place || !isa<AffineConstantExpr>(rest) || place.getValue() < 0 ||
      place.getValue() + extent > size)
    return std::nullopt;
  return place.getValue();
}

/// One side of a seam, written to its part of `inits`, which become what they are then.
static CascadeOp makeSide(RewriterBase &b, CascadeOp op, Seam seam,
                          int64_t begin, int64_t extent,
                          SmallVector<Value> &inits) {
  Location loc = op.getLoc();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  size_t numInputs = op.getInputs().size();
  AffineExpr dim = b.getAffineDimExpr(seam.dim);
  SmallVector<Value> inputs, outs;
  for (auto [input, map] : llvm::zip(op.getInputs(), maps)) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    SmallVector<AffineExpr> places(map.getResults());
    inputs.push_back(input);
    for (auto [along, place] : llvm::enumerate(places)) {
      if (!place.isFunctionOfDim(seam.dim))
        continue;
      std::optional<int64_t> first;
      if (type && type.hasStaticShape())
        first =
            findPlace(place, seam.dim, begin, extent, type.getDimSize(along));
      if (first) {
        inputs.back() =
            extractPart(b, loc, inputs.back(), along, *first, extent);
        place = dim;
      } else {
        place = simplifyAffineExpr(place.replace(dim, dim + begin),
                                   map.getNumDims(), 0);
      }
    }
    map = AffineMap::get(map.getNumDims(), 0, places, op.getContext());
  }
  SmallVector<unsigned> along;
  for (auto [init, map] :
       llvm::zip_equal(inits, ArrayRef(maps).drop_front(numInputs))) {
    along.push_back(*map.getResultPosition(dim));
    outs.push_back(extractPart(b, loc, init, along.back(), begin, extent));
  }
  auto made = CascadeOp::create(b, loc, ValueRange(outs).getTypes(), inputs,
                                outs, b.getAffineMapArrayAttr(maps), nullptr);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping mapping;
  op.getBody().cloneInto(&made.getBody(), mapping);
  Block &body = made.getBody().front();
  OpBuilder::InsertionGuard guard(b);
  for (auto select : llvm::to_vector(body.getOps<arith::SelectOp>())) {
    std::optional<Seam> own = findSeam(select.getCondition());
    if (!own || own->dim != seam.dim)
      continue;
    if (own->at >= begin + extent)
      b.replaceOp(select, select.getTrueValue());
    else if (own->at <= begin)
      b.replaceOp(select, select.getFalseValue());
  }
  for (auto index : llvm::to_vector(body.getOps<IndexOp>())) {
    if (index.getDim() != seam.dim || begin == 0)
      continue;
    b.setInsertionPointAfter(index);
    Value offset = arith::ConstantIndexOp::create(b, loc, begin);
    auto place = arith::AddIOp::create(b, loc, index, offset);
    b.replaceAllUsesExcept(index, place, place);
  }
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&inner))
      b.eraseOp(&inner);
  b.setInsertionPointAfter(made);
  for (auto [init, result, at] :
       llvm::zip_equal(inits, made->getResults(), along)) {
    TensorPart part(b, cast<RankedTensorType>(init.getType()), at, begin,
                    extent);
    init = tensor::InsertSliceOp::create(b, loc, result, init, part.offsets,
                                         part.sizes, part.strides);
  }
  return made;
}

namespace {
struct SplitMaps : public redfuse::impl::SplitMapsBase<SplitMaps> {
  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip)
      return;
    SmallVector<CascadeOp> ops;
    getOperation()->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    SmallVector<Operation *> made;
    while (!ops.empty()) {
      CascadeOp op = ops.pop_back_val();
      std::optional<Seam> seam = chooseSeam(op, *chip);
      if (!seam)
        continue;
      int64_t extent = getStaticExtents(op)[seam->dim];
      b.setInsertionPoint(op);
      SmallVector<Value> results(op.getInits());
      for (auto [begin, length] :
           {std::pair<int64_t, int64_t>(0, seam->at),
            std::pair<int64_t, int64_t>(seam->at, extent - seam->at)}) {
        b.setInsertionPoint(op);
        CascadeOp side = makeSide(b, op, *seam, begin, length, results);
        ops.push_back(side);
        made.push_back(side);
      }
      llvm::erase(made, op.getOperation());
      b.replaceOp(op, results);
    }
    if (!canonicalizeCascades(&getContext(), made))
      signalPassFailure();
  }
};
} // namespace
