//===- RaiseAffine.h - bodies affine in an accumulator ----------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_TRANSFORMS_RAISE_RAISEAFFINE_H
#define REDFUSE_TRANSFORMS_RAISE_RAISEAFFINE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace redfuse {

/// Whether `value` is a*accumulator + b, with a and b free of everything in
/// `dependent` (the accumulators and what is computed from them), however it is
/// written: sums, differences, products with and quotients by what is free,
/// negation, fma, and a choice by what is free.
bool isAffineIn(mlir::Value value, mlir::Value accumulator,
                const llvm::DenseSet<mlir::Value> &dependent);

/// a and b of a*accumulator + b; null for 1 and 0. `keeps`, where the program
/// chooses between values with and without the accumulator: 1 or 0, whether it
/// is there at all. 0*accumulator is no 0 where that is infinite.
struct AffineForm {
  mlir::Value scale, offset, keeps;
};

/// Builds them from a value for which `isAffineIn` holds; `mapping` has what is
/// free.
AffineForm buildAffineForm(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, mlir::Value accumulator,
                           const llvm::DenseSet<mlir::Value> &dependent,
                           mlir::IRMapping &mapping);

/// Fills a combining region with the composition of two maps (a, b), left first.
/// `isFinite`: a is known to be finite, so that nothing special happens at the
/// identity. `hasKeeps`: the maps are (a, b, keeps).
void buildAffineComposition(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Region &region, mlir::Type type,
                            bool isFinite, bool hasKeeps);

} // namespace redfuse

#endif // REDFUSE_TRANSFORMS_RAISE_RAISEAFFINE_H
