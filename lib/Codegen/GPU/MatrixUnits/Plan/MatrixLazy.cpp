//===- MatrixLazy.cpp - marks running maxima that may lag behind ----------===//
#include "redfuse/Analysis/LaggingPivots.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"

#include <cmath>

using namespace mlir;
using namespace redfuse;

void redfuse::markLazyPivots(KernelOp kernel) {
  auto folds = kernel.getBody().front().getOps<FoldOp>();
  auto finals = kernel.getBody().front().getOps<FinalizeOp>();
  if (!llvm::hasSingleElement(folds) || !llvm::hasSingleElement(finals))
    return;
  FoldOp fold = *folds.begin();
  for (unsigned s = 0; s < fold.getNumStates(); ++s)
    if (auto power = findPivotPower(fold, *finals.begin(), s)) {
      Operation *max = getRunningMaximum(fold, s);
      max->setAttr(kLazyAttr, OpBuilder(max).getF32FloatAttr(
                                  float(*power / std::log(2.0))));
    }
}
