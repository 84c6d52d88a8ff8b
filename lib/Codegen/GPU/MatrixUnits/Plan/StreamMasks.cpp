//===- StreamMasks.cpp - predicates that decide about tiles ---------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/StreamMasks.h"

#include "redfuse/Analysis/MaskedReductions.h"

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

SmallVector<StreamMask> redfuse::findStreamMasks(const MatrixPlan &plan,
                                                 const DimSets &sets) {
  SmallVector<StreamMask> masks;
  if (!plan.stream)
    return masks;
  IndexProgramOpInterface step = plan.step;
  for (auto select : step.getProgramBody()->getOps<arith::SelectOp>()) {
    Value condition = select.getCondition();
    if (sets[condition].test(*plan.stream) && isAnalysable(condition))
      masks.push_back(
          {select, !isConstantValue(select.getTrueValue()),
           isIdentityWithout(*step.getProgramBody(), *plan.stream, select)});
  }
  return masks;
}
