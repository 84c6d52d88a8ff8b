//===- PackedWeights.h - few rows by weights of few bits --------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_PACKEDWEIGHTS_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_PACKEDWEIGHTS_H

#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"

namespace redfuse {

/// Whether lanes may compute what they multiply of an operand, where no other warp reads
/// it: numbers of few bits.
bool canBeDirect(const FoundContraction &found, bool isLeft);

/// The plan of a product of such weights and few columns, for so many multiprocessors;
/// nothing for others.
std::optional<ContractionPlanAttr>
planPackedWeights(const FoundContraction &found, double batch, double rows,
                  double columns, double sums, double units);

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_PACKEDWEIGHTS_H
