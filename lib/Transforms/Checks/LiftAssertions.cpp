//===- LiftAssertions.cpp - checks as soon as they can be made ------------===//
//
// What an assertion says holds behind it. Upstream's patterns use that in front of it
// as well: a tensor of unknown extent that is later taken for one of three elements
// gets that type where it is made, and whoever makes it reads three. So an assertion
// stands right behind the values that it needs, before all that is made of the
// same extents. The extents of what is padded, put together or collapsed are computed
// from what that is made of, so that an assertion about them is in front of it.
//
//===----------------------------------------------------------------------===//
#include "AccessChecks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace redfuse;

/// Whether an op only computes what an assertion needs, and may do so anywhere.
static bool isArithmetic(Operation *op) {
  if (isa<tensor::DimOp, affine::AffineApplyOp>(op))
    return true;
  return isa<arith::ArithDialect>(op->getDialect()) && isPure(op);
}

namespace {
/// Extents of tensors, from the values that they are made of.
class ExtentOrigins {
public:
  explicit ExtentOrigins(MLIRContext *context) : builder(context) {}

  /// The value of `dim`, in front of what makes its tensor where that can be said.
  Value trace(tensor::DimOp dim) {
    Extent extent = getExtentOf(dim.getResult());
    if (extent.dim < 0)
      return dim; // a scalar, which is no later than the tensor is
    Operation *def = extent.value.getDefiningOp();
    if (!isa_and_nonnull<tensor::PadOp, tensor::ConcatOp,
                         tensor::CollapseShapeOp>(def))
      return dim;
    auto [found, isNew] = shapes.try_emplace(def);
    if (isNew) {
      ReifiedRankedShapedTypeDims made;
      builder.setInsertionPoint(def);
      if (succeeded(reifyResultShapes(builder, def, made)))
        for (OpFoldResult size : made.front())
          found->second.push_back(
              getValueOrCreateConstantIndexOp(builder, def->getLoc(), size));
    }
    return found->second.empty() ? dim.getResult() : found->second[extent.dim];
  }

private:
  OpBuilder builder;
  DenseMap<Operation *, SmallVector<Value>> shapes;
};
} // namespace

/// Replaces extents that an assertion is about by what they are computed from.
static void trace(cf::AssertOp assertion, ExtentOrigins &origins) {
  SmallVector<OpOperand *> left{&assertion.getArgMutable()};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!left.empty()) {
    OpOperand *operand = left.pop_back_val();
    if (auto dim = operand->get().getDefiningOp<tensor::DimOp>())
      operand->set(origins.trace(dim));
    Operation *def = operand->get().getDefiningOp();
    if (def && isArithmetic(def) && seen.insert(def).second)
      for (OpOperand &next : def->getOpOperands())
        left.push_back(&next);
  }
}

static void lift(cf::AssertOp assertion) {
  Block *block = assertion->getBlock();
  llvm::SetVector<Operation *> needed;
  Operation *last = nullptr; // that it needs and that stays
  SmallVector<Value> values{assertion.getArg()};
  while (!values.empty()) {
    Operation *def = values.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != block)
      continue;
    if (!isArithmetic(def)) {
      if (!last || last->isBeforeInBlock(def))
        last = def;
    } else if (needed.insert(def)) {
      llvm::append_range(values, def->getOperands());
    }
  }
  Operation *place = last ? last->getNextNode() : &block->front();
  // In their order; what is in front of the place already may stay.
  SmallVector<Operation *> moved;
  for (Operation *op : needed)
    if (op != place && place->isBeforeInBlock(op))
      moved.push_back(op);
  llvm::sort(moved,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  // The place itself may be one of them.
  while (needed.contains(place))
    place = place->getNextNode();
  for (Operation *op : moved)
    if (op != place && place->isBeforeInBlock(op))
      op->moveBefore(place);
  if (assertion != place && place->isBeforeInBlock(assertion))
    assertion->moveBefore(place);
}

void redfuse::liftAssertions(func::FuncOp func) {
  SmallVector<cf::AssertOp> assertions;
  func->walk([&](cf::AssertOp op) {
    // Bodies of linalg ops are code of kernels.
    Operation *parent = op->getParentOp();
    if (parent == func || isa<scf::SCFDialect>(parent->getDialect()))
      assertions.push_back(op);
  });
  ExtentOrigins origins(func.getContext());
  for (cf::AssertOp op : assertions)
    trace(op, origins);
  // From the last on, so that they stay in their order.
  for (cf::AssertOp op : llvm::reverse(assertions))
    lift(op);
}
