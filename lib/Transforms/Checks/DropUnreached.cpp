//===- DropUnreached.cpp - nothing behind a check that always fails -------===//
//
// What an assertion refuses is never computed, but passes would still fold its
// constants into types: extents that are negative, or whose product no integer has,
// end the compiler. So nothing stays behind an assertion that is known to fail, and
// tensors without elements stand for what the block hands on.
//
//===----------------------------------------------------------------------===//
#include "AccessChecks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace redfuse;

void redfuse::foldIntegers(func::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<arith::ArithDialect>(op->getDialect()) && isPure(op) &&
        !op->hasTrait<OpTrait::ConstantLike>() &&
        llvm::all_of(op->getResultTypes(),
                     [](Type type) { return type.isIntOrIndex(); }))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder b(op);
    SmallVector<Value> folded;
    if (failed(b.tryFold(op, folded)) || folded.empty())
      continue;
    op->replaceAllUsesWith(folded);
    op->erase();
  }
}

/// A value of the type where none is ever read, or null.
static Value makeUnread(OpBuilder &b, Location loc, Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    SmallVector<Value> none;
    if (tensor.getNumDynamicDims() > 0)
      none.assign(tensor.getNumDynamicDims(),
                  arith::ConstantIndexOp::create(b, loc, 0));
    return tensor::EmptyOp::create(b, loc, tensor, none);
  }
  if (type.isIntOrIndexOrFloat())
    return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return {};
}

static bool canBeUnread(Type type) {
  return isa<RankedTensorType>(type) || type.isIntOrIndexOrFloat();
}

/// What is executed behind `first` in its block, but for constants.
static SmallVector<Operation *> opsBehind(Operation *first) {
  SmallVector<Operation *> ops;
  Operation *end = first->getBlock()->getTerminator();
  for (Operation *op = first->getNextNode(); op != end; op = op->getNextNode())
    if (!op->hasTrait<OpTrait::ConstantLike>())
      ops.push_back(op);
  if (auto parallel = dyn_cast<scf::InParallelOp>(end))
    for (Operation &op : *parallel.getBody())
      ops.push_back(&op);
  return ops;
}

static void dropBehind(cf::AssertOp fails) {
  SmallVector<Operation *> ops = opsBehind(fails);
  for (Operation *op : ops)
    if (!llvm::all_of(op->getResultTypes(), canBeUnread))
      return;
  OpBuilder b(fails->getBlock()->getTerminator());
  for (Operation *op : llvm::reverse(ops)) {
    for (Value result : op->getResults())
      if (!result.use_empty())
        result.replaceAllUsesWith(
            makeUnread(b, op->getLoc(), result.getType()));
    op->erase();
  }
}

void redfuse::dropUnreached(func::FuncOp func) {
  SmallVector<cf::AssertOp> first;
  func.walk([&](Block *block) {
    // Bodies of other ops are code of kernels, where nothing stops.
    Operation *parent = block->getParentOp();
    if (parent != func && !isa<scf::SCFDialect>(parent->getDialect()))
      return;
    for (auto assertion : block->getOps<cf::AssertOp>())
      if (matchPattern(assertion.getArg(), m_Zero())) {
        first.push_back(assertion);
        return;
      }
  });
  // Blocks inside others come first.
  for (cf::AssertOp assertion : first)
    dropBehind(assertion);
}
