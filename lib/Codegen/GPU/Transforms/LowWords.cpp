//===- LowWords.cpp - low words of f64, by a move of their own ------------===//
//
// LLVM stores the low 32 bits of a register of 64 bits by `st.b32` of that register.
// Where a `selp.f64` or the like has made it, ptxas (12.8 and 13.0) takes it for an
// f64 that is to be stored as an integer, and converts it: F2I.U32.F64.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWWORDS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
struct LowWords : redfuse::impl::LowWordsBase<LowWords> {
  using LowWordsBase::LowWordsBase;

  void runOnOperation() override {
    getOperation()->walk([](LLVM::TruncOp trunc) {
      auto bits = trunc.getArg().getDefiningOp<LLVM::BitcastOp>();
      if (!bits || !bits.getArg().getType().isF64() ||
          !trunc.getType().isInteger(32))
        return;
      OpBuilder b(trunc);
      auto move = LLVM::InlineAsmOp::create(
          b, trunc.getLoc(), trunc.getType(), bits.getArg(),
          "mov.b64 {$0, _}, $1;", "=r,d",
          /*has_side_effects=*/false, /*is_align_stack=*/false,
          LLVM::TailCallKind::None,
          LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
          ArrayAttr());
      trunc.getResult().replaceAllUsesWith(move.getResult(0));
      trunc.erase();
    });
  }
};
} // namespace
