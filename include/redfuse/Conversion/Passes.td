//===- Passes.td - to the dialects of LLVM -----------------*- tablegen -*-===//
//
// A pass is declared in the Passes.td of its folder; these become one file of C++.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CONVERSION_PASSES_TD
#define REDFUSE_CONVERSION_PASSES_TD

include "redfuse/Conversion/MathExpansion/Passes.td"
include "redfuse/Conversion/TileToNVVM/Passes.td"
include "redfuse/Conversion/GPUToROCDL/Passes.td"
include "redfuse/Conversion/GPUToNVVM/Passes.td"
include "redfuse/Conversion/HostToLLVM/Passes.td"

#endif // REDFUSE_CONVERSION_PASSES_TD
