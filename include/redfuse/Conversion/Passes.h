//===- Passes.h - to the dialects of LLVM -----------------------*- C++ -*-===//
#ifndef REDFUSE_CONVERSION_PASSES_H
#define REDFUSE_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace redfuse {

#define GEN_PASS_DECL
#include "redfuse/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "redfuse/Conversion/Passes.h.inc"

} // namespace redfuse

#endif // REDFUSE_CONVERSION_PASSES_H
