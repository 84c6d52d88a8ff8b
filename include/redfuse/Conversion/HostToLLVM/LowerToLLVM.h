//===- LowerToLLVM.h - from memrefs to the LLVM dialect ---------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_CONVERSION_HOSTTOLLVM_LOWERTOLLVM_H
#define REDFUSE_CONVERSION_HOSTTOLLVM_LOWERTOLLVM_H

#include "redfuse/Support/Host.h"

namespace mlir {
class OpPassManager;
}

namespace redfuse {

/// Appends the passes of `redfuse-lower-to-llvm` for a processor.
void buildLowerToLLVM(mlir::OpPassManager &pm, const CpuTarget &target);
/// Makes `redfuse-lower-to-llvm{cpu=NAME features=LIST}` known.
void registerLowerToLLVMPipeline();

} // namespace redfuse

#endif // REDFUSE_CONVERSION_HOSTTOLLVM_LOWERTOLLVM_H
