//===- StreamMasks.cpp - predicates that decide about tiles ---------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/StreamMasks.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace redfuse;

static bool isConstantValue(Value v) {
  Operation *def = v.getDefiningOp();
  return def && def->hasTrait<OpTrait::ConstantLike>();
}

/// Built of comparisons of integers by and, or, not.
static bool isAnalysable(Value condition) {
  Operation *def = condition.getDefiningOp();
  if (!def || isConstantValue(condition))
    return isConstantValue(condition);
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(def))
    return isAnalysable(def->getOperand(0)) && isAnalysable(def->getOperand(1));
  return isa<arith::CmpIOp>(def);
}

/// Whether every reduction along the streamed dim gets its identity where the
/// select leaves its element out: minus infinity stays that when scaled or
/// shifted, and its exponential is 0, which makes every product 0.
static bool isIdentityWithout(const MatrixPlan &plan, arith::SelectOp select) {
  enum Class { Unknown, Lowest, Zero };
  DenseMap<Value, Class> classes;
  bool keeps = !isConstantValue(select.getTrueValue());
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
  IndexProgramOpInterface step = plan.step;
  for (Operation &op : step.getProgramBody()->without_terminator()) {
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
      if (!llvm::is_contained(reduce.getOver(), *plan.stream))
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

SmallVector<StreamMask> redfuse::findStreamMasks(const MatrixPlan &plan,
                                                 const DimSets &sets) {
  SmallVector<StreamMask> masks;
  if (!plan.stream)
    return masks;
  IndexProgramOpInterface step = plan.step;
  for (auto select : step.getProgramBody()->getOps<arith::SelectOp>()) {
    Value condition = select.getCondition();
    if (sets[condition].test(*plan.stream) && isAnalysable(condition))
      masks.push_back({select, !isConstantValue(select.getTrueValue()),
                       isIdentityWithout(plan, select)});
  }
  return masks;
}
