//===- ExpandSmallFloats.h - floats of 8 bits as integers -------*- C++ -*-===//
#ifndef REDFUSE_CONVERSION_MATHEXPANSION_EXPANDSMALLFLOATS_H
#define REDFUSE_CONVERSION_MATHEXPANSION_EXPANDSMALLFLOATS_H

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace redfuse {

/// Adds what makes arithmetic in floats of 8 bits arithmetic in f32, and their
/// conversions operations on integers: redfuse-expand-small-floats.
void addSmallFloats(mlir::OpPassManager &pm);

} // namespace redfuse

#endif // REDFUSE_CONVERSION_MATHEXPANSION_EXPANDSMALLFLOATS_H
