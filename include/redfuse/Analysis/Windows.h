//===- Windows.h - reads along several dims at once -------------*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_WINDOWS_H
#define REDFUSE_ANALYSIS_WINDOWS_H

#include "redfuse/Dialect/Redfuse/IR/DimSets.h"

#include "mlir/IR/AffineMap.h"

#include <optional>

namespace redfuse {

/// An index without the constant at which a slice begins, as `d` of `d + 3`.
mlir::AffineExpr withoutOffset(mlir::AffineExpr index);

/// The reduced dims, where they are the taps of a window, and few channels at most: some of
/// `inputs` is read along each tap together with another dim, and a thread can hold what a
/// few results need. Else none.
SmallBitVector findTaps(llvm::ArrayRef<mlir::AffineMap> inputs,
                        const SmallBitVector &reduced,
                        llvm::function_ref<double(unsigned)> extentOf);

/// The dim along which a thread has neighbouring results whose windows share elements: one
/// that some input is read along together with a tap, beside the contiguous dim
/// (`contiguous`), the innermost of several.
std::optional<unsigned> findWindowDim(llvm::ArrayRef<mlir::AffineMap> inputs,
                                      const SmallBitVector &taps,
                                      std::optional<unsigned> contiguous);

/// The different values that `expr` has where each dim `d` has `counts(d)` neighbouring
/// positions: those of windows that overlap count once.
double countValues(mlir::AffineExpr expr, unsigned numDims,
                   llvm::function_ref<double(unsigned)> counts);
/// Elements of the input that has most of them that the windows of so many neighbouring
/// results along `dim` have between them.
double countWindowElements(llvm::ArrayRef<mlir::AffineMap> inputs,
                           const SmallBitVector &taps,
                           llvm::function_ref<double(unsigned)> extentOf,
                           unsigned dim, double results);

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_WINDOWS_H
