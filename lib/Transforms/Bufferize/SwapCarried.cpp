//===- SwapCarried.cpp - what a loop carries in two buffers ---------------===//
//
// A round that needs the old state for all of the new one makes the new one in a
// buffer of its own, and copies it. With two buffers that change places there is
// nothing to copy. What a round needs for itself alone is allocated once.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace redfuse {
#define GEN_PASS_DEF_SWAPCARRIED
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// Two buffers of a loop: `state`, to which `copy` brings what a round made in `next`.
struct Carried {
  memref::AllocOp state, next;
  memref::CopyOp copy;
  memref::DeallocOp freed; // of `state`
};
} // namespace

/// The op of `block` that `op` is, or is in; null if none.
static Operation *getAncestor(Block *block, Operation *op) {
  return block->findAncestorOpInBlock(*op);
}

/// Whether what looks at `buffer` in front of `loop` has no views that are used later.
static bool isDoneBefore(Value buffer, scf::ForOp loop) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    Operation *at = getAncestor(loop->getBlock(), user);
    if (!at || at == loop || !at->isBeforeInBlock(loop))
      return false;
    return llvm::all_of(user->getResults(), [&](Value result) {
      return !isa<MemRefType>(result.getType()) || isDoneBefore(result, loop);
    });
  });
}

/// Whether `user`, in the body of a loop, and what it makes views for come before
/// `copy`.
static bool isDoneBefore(Operation *user, memref::CopyOp copy) {
  Operation *at = getAncestor(copy->getBlock(), user);
  if (!at || !at->isBeforeInBlock(copy))
    return false;
  return llvm::all_of(user->getResults(), [&](Value result) {
    return !isa<MemRefType>(result.getType()) ||
           llvm::all_of(result.getUsers(), [&](Operation *reader) {
             return isDoneBefore(reader, copy);
           });
  });
}

static std::optional<Carried> findCarried(memref::CopyOp copy,
                                          scf::ForOp loop) {
  Carried found{copy.getTarget().getDefiningOp<memref::AllocOp>(),
                copy.getSource().getDefiningOp<memref::AllocOp>(), copy,
                memref::DeallocOp()};
  if (!found.state || !found.next || found.state == found.next ||
      found.state.getType() != found.next.getType() ||
      found.state->getBlock() != loop->getBlock() ||
      found.next->getBlock() != loop.getBody())
    return std::nullopt;
  for (Operation *user : found.state->getUsers()) {
    if (user == copy)
      continue;
    Operation *at = getAncestor(loop->getBlock(), user);
    if (!at)
      return std::nullopt;
    if (at == loop) {
      if (!isDoneBefore(user, copy))
        return std::nullopt;
    } else if (auto free = dyn_cast<memref::DeallocOp>(user)) {
      if (found.freed || at->isBeforeInBlock(loop))
        return std::nullopt;
      found.freed = free;
    } else if (at->isBeforeInBlock(loop)) {
      for (Value result : user->getResults())
        if (isa<MemRefType>(result.getType()) && !isDoneBefore(result, loop))
          return std::nullopt;
    }
  }
  if (!found.freed || found.freed->getBlock() != loop->getBlock())
    return std::nullopt;
  for (Operation *user : found.next->getUsers()) {
    if (user == copy || isa<memref::DeallocOp>(user))
      continue;
    if (!isDoneBefore(user, copy))
      return std::nullopt;
  }
  return found;
}

/// The same loop, whose rounds read one buffer and write the other.
static scf::ForOp swap(IRRewriter &rewriter, scf::ForOp loop, Carried carried) {
  Value state = carried.state, next = carried.next;
  rewriter.setInsertionPointAfter(carried.state);
  Value other = rewriter.clone(*carried.state)->getResult(0);
  rewriter.setInsertionPointAfter(carried.freed);
  memref::DeallocOp::create(rewriter, carried.freed.getLoc(), other);
  for (Operation *user : llvm::make_early_inc_range(next.getUsers()))
    if (isa<memref::DeallocOp>(user))
      rewriter.eraseOp(user);
  rewriter.eraseOp(carried.copy);

  rewriter.setInsertionPoint(loop);
  unsigned before = loop.getNumResults();
  auto wider = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, {state, other}, /*replaceInitOperandUsesInLoop=*/false,
      [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
        return SmallVector<Value>{arguments[1], arguments[0]};
      }));
  Value now = wider.getRegionIterArg(before);
  rewriter.replaceUsesWithIf(state, now, [&](OpOperand &use) {
    return wider.getBody()->findAncestorOpInBlock(*use.getOwner()) != nullptr;
  });
  rewriter.replaceAllUsesWith(next, wider.getRegionIterArg(before + 1));
  rewriter.eraseOp(next.getDefiningOp());
  rewriter.replaceUsesWithIf(
      state, wider.getResult(before), [&](OpOperand &use) {
        Operation *at = getAncestor(wider->getBlock(), use.getOwner());
        return use.getOwner() != carried.freed && at &&
               wider->isBeforeInBlock(at);
      });
  return wider;
}

/// Whether an assertion may end the round before `op` is reached.
static bool mayStopBefore(Operation *op) {
  for (Operation &before :
       llvm::make_range(op->getBlock()->begin(), Block::iterator(op)))
    if (before.walk([](cf::AssertOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      return true;
  return false;
}

/// Gives a buffer in front of a loop no elements where the loop has no rounds.
static void allocateForRounds(memref::AllocOp buffer, scf::ForOp loop) {
  if (buffer.getDynamicSizes().empty())
    return;
  OpBuilder b(buffer);
  Location loc = buffer.getLoc();
  auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                    : arith::CmpIPredicate::slt;
  Value runs = arith::CmpIOp::create(b, loc, less, loop.getLowerBound(),
                                     loop.getUpperBound());
  Value none = arith::ConstantIndexOp::create(b, loc, 0);
  for (OpOperand &size : buffer.getDynamicSizesMutable())
    size.set(arith::SelectOp::create(b, loc, runs, size.get(), none));
}

/// Buffers that a round allocates and frees, of extents that are known in front of
/// the loop.
static void hoistBuffers(scf::ForOp loop) {
  for (auto buffer :
       llvm::to_vector(loop.getBody()->getOps<memref::AllocOp>())) {
    if (llvm::any_of(buffer->getOperands(), [&](Value operand) {
          return loop->isAncestor(operand.getParentBlock()->getParentOp());
        }))
      continue;
    SmallVector<Operation *> frees =
        llvm::filter_to_vector(buffer->getUsers(), [](Operation *user) {
          return isa<memref::DeallocOp>(user);
        });
    if (frees.size() != 1 || frees.front()->getBlock() != loop.getBody())
      continue;
    // A round may stop before it allocates, or no round be: then extents may be any.
    if (!buffer.getDynamicSizes().empty() && mayStopBefore(buffer))
      continue;
    buffer->moveBefore(loop);
    allocateForRounds(buffer, loop);
    frees.front()->moveAfter(loop);
  }
}

namespace {
struct SwapCarried : redfuse::impl::SwapCarriedBase<SwapCarried> {
  void runOnOperation() override {
    // Inner loops first.
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    IRRewriter rewriter(&getContext());
    for (scf::ForOp loop : loops) {
      auto copies = llvm::to_vector(loop.getBody()->getOps<memref::CopyOp>());
      for (memref::CopyOp copy : copies)
        if (std::optional<Carried> carried = findCarried(copy, loop))
          loop = swap(rewriter, loop, *carried);
      hoistBuffers(loop);
    }
  }
};
} // namespace
