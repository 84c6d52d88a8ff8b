//===- RelaxAtomics.cpp - atomics that order nothing ----------------------===//
//
// Upstream's lowering of memref.atomic_rmw asks that all of memory be seen in order, by
// the host too. Where nobody reads what was there before, the sum (or what else) is
// all that counts, and is there when the kernel has ended.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace redfuse {
#define GEN_PASS_DEF_RELAXATOMICS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
struct RelaxAtomics : redfuse::impl::RelaxAtomicsBase<RelaxAtomics> {
  void runOnOperation() override {
    getOperation()->walk([](LLVM::AtomicRMWOp op) {
      if (!op->use_empty() || op.getSyncscope())
        return;
      op.setOrdering(LLVM::AtomicOrdering::monotonic);
      op.setSyncscope("device");
    });
  }
};
} // namespace
