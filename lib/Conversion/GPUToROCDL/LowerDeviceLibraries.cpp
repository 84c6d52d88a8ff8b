//===- LowerDeviceLibraries.cpp - ROCDL without ROCm's libraries ----------===//
#include "DeviceLibraries.h"

#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERDEVICELIBRARIES
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
/// Where a count is among the words that the runtime puts behind a kernel's
/// arguments (code objects of version 5).
struct HiddenWord {
  int64_t offset;
  unsigned bits;
};
} // namespace

/// Three counts of blocks, 4 bytes each, then three sizes of blocks, 2 bytes each.
static std::optional<HiddenWord> findHiddenWord(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<HiddenWord>>(op)
      .Case([](ROCDL::GridDimXOp) { return HiddenWord{0, 32}; })
      .Case([](ROCDL::GridDimYOp) { return HiddenWord{4, 32}; })
      .Case([](ROCDL::GridDimZOp) { return HiddenWord{8, 32}; })
      .Case([](ROCDL::BlockDimXOp) { return HiddenWord{12, 16}; })
      .Case([](ROCDL::BlockDimYOp) { return HiddenWord{14, 16}; })
      .Case([](ROCDL::BlockDimZOp) { return HiddenWord{16, 16}; })
      .Default(std::nullopt);
}

static void readHiddenWord(Operation *op, HiddenWord word) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  auto constant = LLVM::LLVMPointerType::get(b.getContext(), 4);
  Value words =
      LLVM::CallIntrinsicOp::create(
          b, loc, constant, b.getStringAttr("llvm.amdgcn.implicitarg.ptr"),
          ValueRange{})
          .getResult(0);
  Value at = LLVM::GEPOp::create(b, loc, constant, b.getI8Type(), words,
                                 LLVM::GEPArg(word.offset));
  Value count = LLVM::LoadOp::create(b, loc, b.getIntegerType(word.bits), at);
  Type wanted = op->getResult(0).getType();
  if (count.getType() != wanted)
    count = LLVM::ZExtOp::create(b, loc, wanted, count);
  op->getResult(0).replaceAllUsesWith(count);
  op->erase();
}

/// Whether LLVM's back end makes code of an intrinsic by itself.
static bool hasCode(Operation *op) {
  if (isa<LLVM::PowOp, LLVM::PowIOp, LLVM::TanhOp, LLVM::SinhOp, LLVM::CoshOp,
          LLVM::TanOp, LLVM::ASinOp, LLVM::ACosOp, LLVM::ATanOp, LLVM::ATan2Op,
          LLVM::SinOp, LLVM::CosOp>(op))
    return false;
  return !isa<LLVM::ExpOp, LLVM::Exp2Op, LLVM::LogOp, LLVM::Log2Op,
              LLVM::Log10Op>(op) ||
         !getElementTypeOrSelf(op->getResult(0).getType()).isF64();
}

static LogicalResult check(Operation *op) {
  auto call = dyn_cast<LLVM::CallOp>(op);
  StringRef callee = call ? call.getCallee().value_or("") : "";
  if (callee.starts_with("__ocml_") || callee.starts_with("__ockl_"))
    return reportMissingFunction(op, callee, op->getResult(0).getType());
  if (!hasCode(op))
    return reportMissingFunction(op, op->getName().getStringRef(),
                                 op->getResult(0).getType());
  return success();
}

namespace {
struct LowerDeviceLibraries
    : redfuse::impl::LowerDeviceLibrariesBase<LowerDeviceLibraries> {
  void runOnOperation() override {
    bool isLowered = true;
    getOperation()->walk([&](Operation *op) {
      if (auto scope = op->getAttrOfType<StringAttr>("syncscope"))
        if (scope == "device")
          op->setAttr("syncscope", StringAttr::get(op->getContext(), "agent"));
      if (std::optional<HiddenWord> word = findHiddenWord(op))
        readHiddenWord(op, *word);
      else if (failed(check(op)))
        isLowered = false;
    });
    if (!isLowered)
      signalPassFailure();
  }
};
} // namespace
