//===- Redfuse.h - the C API of redfuse ----------------------------*- C -*-===//
//
// All that the Python module sees of the C++ core.
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_C_REDFUSE_H
#define REDFUSE_C_REDFUSE_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef REDFUSE_BUILDING
#define REDFUSE_API __attribute__((visibility("default")))
#else
#define REDFUSE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Adds the redfuse dialect to a registry: every context made from it knows it.
REDFUSE_API void redfuseRegisterDialects(MlirDialectRegistry registry);
/// Adds the redfuse dialect to one context that exists already, and loads it.
REDFUSE_API void redfuseLoadDialects(MlirContext context);
/// Registers redfuse's passes and pipelines; once a process, later calls do
/// nothing.
REDFUSE_API void redfuseRegisterPasses(void);
/// The main function of redfuse-opt.
REDFUSE_API int redfuseOptMain(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif // REDFUSE_C_REDFUSE_H
