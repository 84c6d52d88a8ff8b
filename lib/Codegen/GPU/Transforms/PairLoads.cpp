//===- PairLoads.cpp - two neighbours by one load -------------------------===//
//
// LLVM loads the elements of a vector one by one where each is used by itself. In
// kernels in which it is not to look for vectors they stay apart: twice the loads,
// and a register for each number of 16 bits. A word stays whole.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

namespace redfuse {
#define GEN_PASS_DEF_PAIRLOADS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Which of the two elements an op takes, if that is all it does.
static std::optional<int64_t> elementTakenBy(Operation *op) {
  auto extract = dyn_cast<LLVM::ExtractElementOp>(op);
  APInt position;
  if (!extract ||
      !matchPattern(extract.getPosition(), m_ConstantInt(&position)) ||
      position.uge(2))
    return std::nullopt;
  return position.getZExtValue();
}

static void splitWord(LLVM::LoadOp load) {
  auto type = dyn_cast<VectorType>(load.getType());
  if (!type || type.getRank() != 1 || type.getNumElements() != 2 ||
      !type.getElementType().isIntOrFloat() || load.getVolatile_() ||
      load.getOrdering() != LLVM::AtomicOrdering::not_atomic)
    return;
  unsigned bits = type.getElementTypeBitWidth();
  if ((bits != 16 && bits != 32) ||
      load.getAlignment().value_or(1) * 8 < 2 * bits || load->use_empty() ||
      !llvm::all_of(load->getUsers(), elementTakenBy))
    return;
  OpBuilder b(load);
  Location loc = load.getLoc();
  Type word = b.getIntegerType(2 * bits), half = b.getIntegerType(bits);
  auto whole = cast<LLVM::LoadOp>(b.clone(*load));
  whole.getResult().setType(word);
  Value shift = LLVM::ConstantOp::create(b, loc, word,
                                         b.getIntegerAttr(word, int64_t(bits)));
  Value words[2] = {whole, LLVM::LShrOp::create(b, loc, whole, shift)};
  for (Value &element : words) {
    element = LLVM::TruncOp::create(b, loc, half, element);
    if (half != type.getElementType())
      element = LLVM::BitcastOp::create(b, loc, type.getElementType(), element);
  }
  for (Operation *user : llvm::make_early_inc_range(load->getUsers())) {
    user->getResult(0).replaceAllUsesWith(words[*elementTakenBy(user)]);
    user->erase();
  }
  load.erase();
}

namespace {
struct PairLoads : redfuse::impl::PairLoadsBase<PairLoads> {
  void runOnOperation() override {
    SmallVector<LLVM::LoadOp> loads;
    getOperation()->walk([&](LLVM::LoadOp load) { loads.push_back(load); });
    llvm::for_each(loads, splitWord);
  }
};
} // namespace
