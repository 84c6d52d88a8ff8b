//===- NarrowResults.cpp - redfuse-narrow-results -------------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/MovedBody.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace redfuse {
#define GEN_PASS_DEF_NARROWRESULTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// The op that makes what is yielded for a result of a shorter number, which memory can hold
/// as well. Of an element as it lies in memory, that would be a copy of an operand: such a
/// cascade is one of its own because its readers want what it makes.
static Operation *findExtension(CascadeOp op, unsigned result) {
  Value yielded = op.getBody().front().getTerminator()->getOperand(result);
  Operation *def = yielded.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp,
                       arith::SIToFPOp, arith::UIToFPOp>(def))
    return nullptr;
  Value narrow = def->getOperand(0);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (auto element = dyn_cast<BlockArgument>(narrow);
      element &&
      maps[element.getArgNumber()] == maps[op.getInputs().size() + result])
    return nullptr;
  unsigned from = narrow.getType().getIntOrFloatBitWidth(),
           to = yielded.getType().getIntOrFloatBitWidth();
  return from >= 8 && from < to ? def : nullptr;
}

/// Whether nobody but cascades reads a result, element by element.
static bool isReadByCascades(OpResult result) {
  return !result.use_empty() &&
         llvm::all_of(result.getUses(), [&](OpOperand &use) {
           auto reader = dyn_cast<CascadeOp>(use.getOwner());
           return reader && use.getOperandNumber() < reader.getInputs().size();
         });
}

/// Has the readers of a result extend its elements as `extension` does.
static void extendInReaders(RewriterBase &b, OpResult result,
                            Operation *extension) {
  for (OpOperand &use : result.getUses()) {
    auto reader = cast<CascadeOp>(use.getOwner());
    Block &body = reader.getBody().front();
    BlockArgument element = body.getArgument(use.getOperandNumber());
    b.setInsertionPointToStart(&body);
    IRMapping none;
    Operation *own = b.clone(*extension, none);
    b.replaceAllUsesExcept(element, own->getResult(0), own);
    element.setType(extension->getOperand(0).getType());
    own->setOperand(0, element);
  }
}

static void narrowResults(RewriterBase &b, CascadeOp op) {
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  SmallVector<Operation *> extensions(op->getNumResults());
  SmallVector<Value> inits(op.getInits());
  b.setInsertionPoint(op);
  for (OpResult result : op->getResults()) {
    unsigned i = result.getResultNumber();
    Operation *extension = findExtension(op, i);
    auto empty = inits[i].getDefiningOp<tensor::EmptyOp>();
    if (!extension || !empty || !isReadByCascades(result))
      continue;
    extensions[i] = extension;
    inits[i] = tensor::EmptyOp::create(b, empty.getLoc(), empty.getMixedSizes(),
                                       extension->getOperand(0).getType());
  }
  if (llvm::none_of(extensions, [](Operation *e) { return e != nullptr; }))
    return;
  for (auto [i, extension] : llvm::enumerate(extensions))
    if (extension)
      extendInReaders(b, op->getResult(i), extension);
  b.setInsertionPoint(op);
  CascadeOp made =
      moveBody(b, op, op.getInputs(), inits, op.getIndexingMapsArray());
  for (auto [i, extension] : llvm::enumerate(extensions))
    if (extension)
      b.modifyOpInPlace(
          yield, [&] { yield->setOperand(i, extension->getOperand(0)); });
  for (Operation *extension : extensions)
    if (extension && extension->use_empty())
      b.eraseOp(extension);
  b.replaceOp(op, made);
}

namespace {
struct NarrowResults : public redfuse::impl::NarrowResultsBase<NarrowResults> {
  void runOnOperation() override {
    SmallVector<CascadeOp> ops;
    getOperation()->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    for (CascadeOp op : ops)
      narrowResults(b, op);
  }
};
} // namespace
