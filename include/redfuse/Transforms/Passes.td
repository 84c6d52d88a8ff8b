//===- Passes.td - from programs to kernels ----------------*- tablegen -*-===//
//
// A pass is declared in the Passes.td of its folder; these become one file of C++.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_TRANSFORMS_PASSES_TD
#define REDFUSE_TRANSFORMS_PASSES_TD

include "redfuse/Transforms/Checks/Passes.td"
include "redfuse/Transforms/Normalize/Passes.td"
include "redfuse/Transforms/Raise/Passes.td"
include "redfuse/Transforms/Precision/Passes.td"
include "redfuse/Transforms/Fusion/Passes.td"
include "redfuse/Transforms/Derivation/Passes.td"
include "redfuse/Transforms/Kernels/Passes.td"
include "redfuse/Transforms/Bufferize/Passes.td"

#endif // REDFUSE_TRANSFORMS_PASSES_TD
