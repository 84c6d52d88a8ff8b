//===- MatrixPivots.cpp - multiples leave the running maxima of folds -----===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"

#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace redfuse;

/// Leaves out the roundings that nothing asks for, so that multiples are seen through
/// them. The emitter leaves them out as well.
static void dropFreeRoundings(Block &body) {
  for (auto extend : body.getOps<arith::ExtFOp>())
    if (Value wide = matchFreeRounding(extend); wide && !isFactorOfSum(extend))
      extend.getResult().replaceAllUsesWith(wide);
}

namespace {
/// Moves positive multiples outwards in one body.
class Puller {
public:
  explicit Puller(Block &body) : body(body), b(body.getParentOp()) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(body)) {
      b.setInsertionPointAfter(&op);
      Value pulled;
      if (auto select = dyn_cast<arith::SelectOp>(op))
        pulled = pull(select);
      else if (auto max = dyn_cast<arith::MaximumFOp>(op))
        pulled = pull(max);
      else if (auto reduce = dyn_cast<ReduceOp>(op))
        pulled = pull(reduce);
      if (pulled)
        op.getResult(0).replaceAllUsesWith(pulled);
    }
  }

private:
  Value times(Location loc, Value v, float by) {
    return arith::MulFOp::create(
        b, loc, v, arith::ConstantOp::create(b, loc, b.getF32FloatAttr(by)));
  }

  static std::optional<ScaledValue> positive(Value v) {
    std::optional<ScaledValue> scaled = matchScaled(v);
    return scaled && scaled->by > 0 ? scaled : std::nullopt;
  }

  /// A constant that is the same multiple of itself: 0 or an infinity.
  static bool isFixed(Value v) {
    auto constant = v.getDefiningOp<arith::ConstantOp>();
    auto attr =
        constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return attr && (attr.getValue().isZero() || attr.getValue().isInfinity());
  }

  Value pull(arith::SelectOp op) {
    Value t = op.getTrueValue(), f = op.getFalseValue();
    Value result;
    if (auto scaled = positive(t); scaled && isFixed(f))
      result = times(op.getLoc(),
                     arith::SelectOp::create(b, op.getLoc(), op.getCondition(),
                                             scaled->value, f),
                     scaled->by);
    else if (auto scaled = positive(f); scaled && isFixed(t))
      result = times(op.getLoc(),
                     arith::SelectOp::create(b, op.getLoc(), op.getCondition(),
                                             t, scaled->value),
                     scaled->by);
    return result;
  }

  /// Rounding is monotone: the largest multiple is the multiple of the largest.
  Value pull(arith::MaximumFOp op) {
    auto lhs = positive(op.getLhs()), rhs = positive(op.getRhs());
    if (!lhs || !rhs || lhs->by != rhs->by)
      return {};
    return times(
        op.getLoc(),
        arith::MaximumFOp::create(b, op.getLoc(), lhs->value, rhs->value),
        lhs->by);
  }

  Value pull(ReduceOp op) {
    if (op.getReducer() != Reducer::MaximumF)
      return {};
    auto scaled = positive(op.getOperand(0));
    if (!scaled)
      return {};
    auto inner = ReduceOp::create(b, op.getLoc(), Reducer::MaximumF,
                                  scaled->value, op.getOver(), op.getInto());
    return times(op.getLoc(), inner.getResult(0), scaled->by);
  }

  Block &body;
  OpBuilder b;
};
} // namespace

/// Marks exponentials of the distance from `pivot`, a maximum (or 0 where that is
/// infinite); a multiple of both leaves the difference.
static void markExponentials(Block &body, Value pivot) {
  auto isPivot = [&](Value v) {
    if (auto select = v.getDefiningOp<arith::SelectOp>())
      return select.getTrueValue() == pivot || select.getFalseValue() == pivot;
    return v == pivot;
  };
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto sub = op.getNumOperands() == 1
                   ? op.getOperand(0).getDefiningOp<arith::SubFOp>()
                   : arith::SubFOp();
    if (!isa<math::ExpOp, math::Exp2Op>(op) || !sub || !sub.getType().isF32())
      continue;
    if (isPivot(sub.getRhs())) {
      op.setAttr(kPivotAttr, UnitAttr::get(op.getContext()));
      continue;
    }
    auto lhs = matchScaled(sub.getLhs()), rhs = matchScaled(sub.getRhs());
    if (!lhs || !rhs || lhs->by != rhs->by || !(lhs->by > 0) ||
        !isPivot(rhs->value))
      continue;
    OpBuilder b(&op);
    Value less = arith::SubFOp::create(b, op.getLoc(), lhs->value, rhs->value);
    Value by =
        arith::ConstantOp::create(b, op.getLoc(), b.getF32FloatAttr(lhs->by));
    op.setOperand(0, arith::MulFOp::create(b, op.getLoc(), less, by));
    op.setAttr(kPivotAttr, UnitAttr::get(op.getContext()));
  }
}

/// The maximum that state `s` becomes, of itself and `other`; null if it is none.
static arith::MaximumFOp nextMaximum(Block &body, unsigned s, Value state) {
  auto yield = cast<YieldOp>(body.getTerminator());
  auto max = yield.getValues()[s].getDefiningOp<arith::MaximumFOp>();
  if (!max || (max.getLhs() != state && max.getRhs() != state))
    return {};
  return max;
}

void redfuse::pullPivots(KernelOp kernel) {
  auto folds = kernel.getBody().front().getOps<FoldOp>();
  auto finals = kernel.getBody().front().getOps<FinalizeOp>();
  if (!llvm::hasSingleElement(folds) || !llvm::hasSingleElement(finals))
    return;
  FoldOp fold = *folds.begin();
  FinalizeOp last = *finals.begin();
  Block &step = *fold.getProgramBody(), &merge = fold.getMerge().front();
  unsigned count = fold.getNumStates();
  auto states = step.getArguments().take_back(count);
  dropFreeRoundings(step);
  Puller(step).run();
  for (unsigned s = 0; s < count; ++s) {
    auto identity = dyn_cast<FloatAttr>(fold.getIdentities()[s]);
    arith::MaximumFOp max = nextMaximum(step, s, states[s]);
    arith::MaximumFOp merged = nextMaximum(merge, s, merge.getArgument(s));
    Value later = merge.getArgument(count + s);
    if (!identity || !identity.getType().isF32() ||
        !identity.getValue().isInfinity() ||
        !identity.getValue().isNegative() || !max || !merged ||
        (merged.getLhs() != later && merged.getRhs() != later))
      continue;
    Value other = max.getLhs() == states[s] ? max.getRhs() : max.getLhs();
    auto scaled = matchScaled(other);
    if (scaled && scaled->by > 0) {
      // The state becomes the maximum of what is multiplied.
      auto rescale = [&](BlockArgument arg) {
        auto b = OpBuilder::atBlockBegin(arg.getOwner());
        Location loc = arg.getLoc();
        Value by =
            arith::ConstantOp::create(b, loc, b.getF32FloatAttr(scaled->by));
        auto mul = arith::MulFOp::create(b, loc, arg, by);
        arg.replaceAllUsesExcept(mul, mul);
      };
      rescale(states[s]);
      rescale(merge.getArgument(s));
      rescale(merge.getArgument(count + s));
      for (auto [i, input] : llvm::enumerate(last.getInputs()))
        if (input == fold.getResult(s))
          rescale(last.getProgramBody()->getArgument(i));
      for (Block *body : {&step, &merge}) {
        Puller(*body).run();
        auto yield = cast<YieldOp>(body->getTerminator());
        yield.setOperand(s, matchScaled(yield.getValues()[s])->value);
      }
    }
    for (Block *body : {&step, &merge})
      markExponentials(*body,
                       cast<YieldOp>(body->getTerminator()).getValues()[s]);
  }
  for (Block *body : {&step, &merge})
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&op))
        op.erase();
}
