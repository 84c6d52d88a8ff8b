//===- StreamMasks.h - predicates that decide about tiles -------*- C++ -*-===//
//
// Selects by comparisons of integers that depend on the streamed index (causal,
// windows, lengths, prefixes) decide about whole tiles: those in which nothing is left
// need not be walked, those in which all is left need no predicate.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_STREAMMASKS_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_STREAMMASKS_H

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"

namespace redfuse {

struct StreamMask {
  mlir::arith::SelectOp select;
  /// What the condition is where the element stays.
  bool keeps = true;
  /// Without the element every reduction of the step gets its identity.
  bool maySkip = false;

  /// What the select is where the element stays.
  mlir::Value kept() {
    return keeps ? select.getTrueValue() : select.getFalseValue();
  }
};

/// The masks of a plan's step. Where there are any, tiles differ in how long they take.
llvm::SmallVector<StreamMask> findStreamMasks(const MatrixPlan &plan,
                                              const DimSets &sets);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_STREAMMASKS_H
