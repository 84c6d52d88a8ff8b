//===- Passes.td - the passes of redfuse, by layer ---------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_PASSES_TD
#define REDFUSE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// Layer 1: normalise ----------------------------------------------------------

// Layer 2: raise --------------------------------------------------------------

// Layers 3 to 5: fuse, schedule, derive -----------------------------------------

// Layers 6 and 7: tile and generate code -----------------------------------------

// Layer 8: binary ------------------------------------------------------------------

#endif // REDFUSE_TRANSFORMS_PASSES_TD
