//===- Passes.h - from kernels to code of a processor -----------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_PASSES_H
#define REDFUSE_CODEGEN_PASSES_H

#include "mlir/Pass/Pass.h"

namespace redfuse {

#define GEN_PASS_DECL
#include "redfuse/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "redfuse/Codegen/Passes.h.inc"

} // namespace redfuse

#endif // REDFUSE_CODEGEN_PASSES_H
