//===- LiftAssertions.cpp - checks as soon as they can be made ------------===//
//
// What an assertion says holds behind it. Upstream's patterns use that in front of it
// as well: a tensor of unknown extent that is later taken for one of three elements
// gets that type where it is made, and whoever makes it reads three. So an assertion
// stands right behind the values that it needs, before all that is made of the
// same extents.
//
//===----------------------------------------------------------------------===//
#include "AccessChecks.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace redfuse;

/// Whether an op only computes what an assertion needs, and may do so anywhere.
static bool isArithmetic(Operation *op) {
  if (isa<tensor::DimOp>(op))
    return true;
  return isa<arith::ArithDialect>(op->getDialect()) && isPure(op);
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
  // From the last on, so that they stay in their order.
  for (cf::AssertOp op : llvm::reverse(assertions))
    lift(op);
}
