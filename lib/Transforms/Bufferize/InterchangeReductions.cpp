//===- InterchangeReductions.cpp - contractions walk along rows -----------===//
//
// Upstream's loops follow the order of an op's dims, which for a matmul ends with the
// reduction: strides through one operand, and a serial sum. With the result's last
// dim innermost LLVM can vectorise, and every element of the result still sees its
// terms in the same order, so that the numbers are the same.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"

namespace redfuse {
#define GEN_PASS_DEF_INTERCHANGEREDUCTIONS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// The dim that neighbours in the last result's memory differ in, if it is one.
static std::optional<unsigned> findInnermost(linalg::GenericOp op) {
  ArrayRef<AffineExpr> results = op.getIndexingMapsArray().back().getResults();
  if (results.empty() || !isa<AffineDimExpr>(results.back()))
    return std::nullopt;
  return cast<AffineDimExpr>(results.back()).getPosition();
}

/// Whether a walk along `dim` stays in a row of an operand's memory.
static bool isAlongRows(AffineMap map, unsigned dim) {
  ArrayRef<AffineExpr> results = map.getResults();
  if (results.empty())
    return true;
  return !results.back().isSymbolicOrConstant() &&
         llvm::none_of(results.drop_back(), [&](AffineExpr position) {
           return position.isFunctionOfDim(dim);
         });
}

/// Puts the result's last dim innermost, where all operands are read along rows then.
static void interchange(linalg::GenericOp op, IRRewriter &rewriter) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  std::optional<unsigned> innermost = findInnermost(op);
  if (reductions.empty() || op.getNumLoops() < 3 || !innermost ||
      *innermost >= reductions.back() || op.hasIndexSemantics())
    return;
  if (llvm::is_contained(reductions, *innermost) ||
      llvm::any_of(maps, [](AffineMap map) { return map.getNumSymbols(); }) ||
      !llvm::all_of(ArrayRef(maps).drop_back(), [&](AffineMap map) {
        return isAlongRows(map, *innermost);
      }))
    return;
  SmallVector<unsigned> order;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    if (dim != *innermost && !llvm::is_contained(reductions, dim))
      order.push_back(dim);
  llvm::append_range(order, reductions);
  order.push_back(*innermost);
  rewriter.setInsertionPoint(op);
  (void)linalg::interchangeGenericOp(rewriter, op, order);
}

namespace {
struct InterchangeReductions
    : redfuse::impl::InterchangeReductionsBase<InterchangeReductions> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk(
        [&](linalg::GenericOp op) { interchange(op, rewriter); });
  }
};
} // namespace
