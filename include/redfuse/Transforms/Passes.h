//===- Passes.h - the passes of redfuse -------------------------*- C++ -*-===//
#ifndef REDFUSE_TRANSFORMS_PASSES_H
#define REDFUSE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace redfuse {

#define GEN_PASS_DECL
#include "redfuse/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "redfuse/Transforms/Passes.h.inc"

} // namespace redfuse

#endif // REDFUSE_TRANSFORMS_PASSES_H
