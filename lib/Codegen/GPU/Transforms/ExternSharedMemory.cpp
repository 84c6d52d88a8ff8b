//===- ExternSharedMemory.cpp - shared memory that the launch sizes -------===//
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace redfuse {
#define GEN_PASS_DEF_EXTERNSHAREDMEMORY
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
/// Dynamic shared memory as MLIR makes it is an internal array of no elements;
/// LLVM concludes that two accesses to it never meet. The size is the launch's.
struct ExternSharedMemory
    : redfuse::impl::ExternSharedMemoryBase<ExternSharedMemory> {
  void runOnOperation() override {
    getOperation()->walk([](LLVM::GlobalOp global) {
      auto array = dyn_cast<LLVM::LLVMArrayType>(global.getType());
      if (global.getAddrSpace() != 3 || !array || array.getNumElements() != 0)
        return;
      global.setLinkage(LLVM::Linkage::External);
      // Rows of tiles that are swizzled start at multiples of their bytes.
      global.setAlignment(128);
    });
  }
};
} // namespace
