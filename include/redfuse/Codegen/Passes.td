//===- Passes.td - from kernels to code of a processor -----*- tablegen -*-===//
//
// A pass is declared in the Passes.td of its folder; these become one file of C++.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_PASSES_TD
#define REDFUSE_CODEGEN_PASSES_TD

include "redfuse/Codegen/CPU/Passes.td"
include "redfuse/Codegen/GPU/MatrixUnits/Plan/Passes.td"
include "redfuse/Codegen/GPU/Passes.td"
include "redfuse/Codegen/GPU/Transforms/Passes.td"

#endif // REDFUSE_CODEGEN_PASSES_TD
