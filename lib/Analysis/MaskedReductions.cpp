//===- MaskedReductions.cpp - what positions leave out --------------------===//
#include "redfuse/Analysis/MaskedReductions.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace redfuse;

static bool isConstantOf(Value v) {
  Operation *def = v.getDefiningOp();
  return def && def->hasTrait<OpTrait::ConstantLike>();
}

bool redfuse::isIdentityWithout(Block &body, unsigned dim,
                                arith::SelectOp select) {
  enum Class { Unknown, Lowest, Zero };
  DenseMap<Value, Class> classes;
  bool keeps = !isConstantOf(select.getTrueValue());
  auto out = (keeps ? select.getFalseValue() : select.getTrueValue())
                 .getDefiningOp<arith::ConstantOp>();
  auto value = out ? dyn_cast<FloatAttr>(out.getValue()) : FloatAttr();
  if (!value || !value.getValue().isInfinity() ||
      !value.getValue().isNegative())
    return false;
  auto isPositive = [](Value v) {
    auto constant = v.getDefiningOp<arith::ConstantOp>();
    auto attr =
        constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return attr && !attr.getValue().isNegative() && !attr.getValue().isZero();
  };
  classes[select.getResult()] = Lowest;
  for (Operation &op : body.without_terminator()) {
    if (&op == select)
      continue;
    auto classOf = [&](unsigned i) { return classes.lookup(op.getOperand(i)); };
    Class made = Unknown;
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      made = classOf(0);
    else if (isa<arith::MulFOp>(op) &&
             (classOf(0) == Zero || classOf(1) == Zero))
      made = Zero;
    else if (isa<arith::MulFOp>(op) &&
             ((classOf(0) == Lowest && isPositive(op.getOperand(1))) ||
              (classOf(1) == Lowest && isPositive(op.getOperand(0)))))
      made = Lowest;
    else if (isa<arith::DivFOp>(op) && classOf(0) == Zero)
      made = Zero;
    else if (isa<arith::DivFOp>(op) && classOf(0) == Lowest &&
             isPositive(op.getOperand(1)))
      made = Lowest;
    else if (isa<arith::SubFOp>(op) && classOf(0) == Lowest)
      made = Lowest;
    else if (isa<arith::AddFOp>(op) &&
             (classOf(0) == Lowest || classOf(1) == Lowest))
      made = Lowest;
    else if (isa<math::ExpOp, math::Exp2Op>(op) && classOf(0) == Lowest)
      made = Zero;
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (!llvm::is_contained(reduce.getOver(), dim))
        continue;
      Reducer reducer = reduce.getReducer();
      bool isIdentity = (reducer == Reducer::Add && classOf(0) == Zero) ||
                        (reducer == Reducer::MaximumF && classOf(0) == Lowest);
      if (!isIdentity)
        return false;
      continue;
    }
    if (made != Unknown && op.getNumResults() == 1)
      classes[op.getResult(0)] = made;
  }
  return true;
}

namespace {
/// A sum of positions, each times a number, and a constant.
struct PositionSum {
  llvm::SmallDenseMap<unsigned, int64_t> factors;
  int64_t constant = 0;
};
} // namespace

static std::optional<PositionSum> readPositions(Value v) {
  PositionSum sum;
  APInt number;
  if (matchPattern(v, m_ConstantInt(&number))) {
    sum.constant = number.getSExtValue();
    return sum;
  }
  Operation *def = v.getDefiningOp();
  if (auto index = dyn_cast_or_null<IndexOp>(def)) {
    sum.factors[unsigned(index.getDim())] = 1;
    return sum;
  }
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(def))
    return readPositions(def->getOperand(0));
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(def))
    return std::nullopt;
  auto left = readPositions(def->getOperand(0));
  auto right = readPositions(def->getOperand(1));
  if (!left || !right)
    return std::nullopt;
  int64_t sign = isa<arith::AddIOp>(def) ? 1 : -1;
  for (auto [dim, factor] : right->factors)
    left->factors[dim] += sign * factor;
  left->constant += sign * right->constant;
  return left;
}

/// Narrows `band` by what holds where `condition` does, or does not. What cannot be
/// read narrows nothing, which is right: more elements count then. True if all could be:
/// then the band is where it holds.
static bool narrowBand(Value condition, bool holds, unsigned row,
                       unsigned column, DiagonalBand &band) {
  Operation *def = condition.getDefiningOp();
  if (auto flip = dyn_cast_or_null<arith::XOrIOp>(def)) {
    for (unsigned i : {0u, 1u})
      if (matchPattern(flip->getOperand(i), m_One()))
        return narrowBand(flip->getOperand(1 - i), !holds, row, column, band);
    return false;
  }
  if ((holds && isa_and_nonnull<arith::AndIOp>(def)) ||
      (!holds && isa_and_nonnull<arith::OrIOp>(def))) {
    bool left = narrowBand(def->getOperand(0), holds, row, column, band);
    bool right = narrowBand(def->getOperand(1), holds, row, column, band);
    return left && right;
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(def);
  if (!compare)
    return false;
  auto left = readPositions(compare.getLhs());
  auto right = readPositions(compare.getRhs());
  if (!left || !right)
    return false;
  arith::CmpIPredicate predicate =
      holds ? compare.getPredicate()
            : arith::invertPredicate(compare.getPredicate());
  // Positions are not negative; differences of them may be.
  auto isNatural = [](const PositionSum &sum) {
    return sum.constant >= 0 &&
           llvm::all_of(sum.factors, [](auto one) { return one.second >= 0; });
  };
  using P = arith::CmpIPredicate;
  bool isUnsigned =
      llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate);
  if (isUnsigned && (!isNatural(*left) || !isNatural(*right)))
    return false;
  // left - right = factor * (column - row) + constant
  for (auto [dim, factor] : right->factors)
    left->factors[dim] -= factor;
  int64_t constant = left->constant - right->constant;
  int64_t factor = left->factors.lookup(column);
  for (auto [dim, f] : left->factors)
    if (f != 0 && dim != column && dim != row)
      return false;
  if ((factor != 1 && factor != -1) || left->factors.lookup(row) != -factor)
    return false;
  auto atMost = [&](int64_t n) { band.high = std::min(band.high, n); };
  auto atLeast = [&](int64_t n) { band.low = std::max(band.low, n); };
  bool isLess = llvm::is_contained({P::slt, P::sle, P::ult, P::ule}, predicate);
  bool isMore = llvm::is_contained({P::sgt, P::sge, P::ugt, P::uge}, predicate);
  int64_t strict =
      llvm::is_contained({P::slt, P::ult, P::sgt, P::ugt}, predicate);
  if (predicate == P::eq) {
    atMost(-factor * constant);
    atLeast(-factor * constant);
    return true;
  }
  if (!isLess && !isMore)
    return false;
  // factor * difference + constant < 0, or > 0
  bool bounds = (factor > 0) == isLess;
  int64_t at = -factor * constant;
  bounds ? atMost(at - strict) : atLeast(at + strict);
  return true;
}

SmallVector<std::pair<arith::SelectOp, DiagonalBand>>
redfuse::findDiagonalMasks(Block &body, unsigned row, unsigned column) {
  SmallVector<std::pair<arith::SelectOp, DiagonalBand>> masks;
  for (auto select : body.getOps<arith::SelectOp>()) {
    DiagonalBand band;
    if (isIdentityWithout(body, column, select) &&
        narrowBand(select.getCondition(), !isConstantOf(select.getTrueValue()),
                   row, column, band))
      masks.push_back({select, band});
  }
  return masks;
}

std::optional<DiagonalBand> redfuse::findDiagonalBand(Block &body, unsigned row,
                                                      unsigned column) {
  DiagonalBand band;
  for (auto select : body.getOps<arith::SelectOp>())
    if (isIdentityWithout(body, column, select))
      narrowBand(select.getCondition(), !isConstantOf(select.getTrueValue()),
                 row, column, band);
  DiagonalBand all;
  if (band.low == all.low && band.high == all.high)
    return std::nullopt;
  return band;
}
