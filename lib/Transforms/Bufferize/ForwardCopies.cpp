//===- ForwardCopies.cpp - launches write where their results are copied --===//
//
// Bufferization gives a launch a new buffer where what it writes is a part of a
// buffer that it also reads. Of parts that do not overlap the launch may write to
// one and read another: a round of a loop that makes the next row of a tensor from
// the one before.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Bufferize/Bufferize.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace redfuse {
#define GEN_PASS_DEF_FORWARDCOPIES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// The buffer that `memref` is a view of.
static Value getBase(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

/// Whether a buffer is one that no other name is for, but for views: an allocation,
/// a constant, or the memory of a result or an argument, which the caller keeps
/// apart.
static bool isKnown(Value base) {
  auto argument = dyn_cast<BlockArgument>(base);
  if (argument)
    return isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
           argument.getOwner()->isEntryBlock();
  return isa_and_nonnull<memref::AllocOp, memref::GetGlobalOp>(
      base.getDefiningOp());
}

/// An offset as a value, or none, plus a number.
static std::pair<Value, int64_t> splitOffset(OpFoldResult offset) {
  int64_t number = 0;
  while (true) {
    if (std::optional<int64_t> known = getConstantIntValue(offset))
      return {Value(), number + *known};
    auto value = cast<Value>(offset);
    auto add = value.getDefiningOp<arith::AddIOp>();
    APInt plus;
    if (!add || !matchPattern(add.getRhs(), m_ConstantInt(&plus)))
      return {value, number};
    number += plus.getSExtValue();
    offset = add.getLhs();
  }
}

/// Whether two views of one buffer are boxes of it that have no element in common.
static bool areApart(Value a, Value b) {
  auto first = a.getDefiningOp<memref::SubViewOp>();
  auto second = b.getDefiningOp<memref::SubViewOp>();
  if (!first || !second || first.getSource() != second.getSource())
    return false;
  auto count = [](OpFoldResult size) {
    return getConstantIntValue(size).value_or(-1);
  };
  for (auto [d, pair] : llvm::enumerate(llvm::zip_equal(
           first.getMixedOffsets(), second.getMixedOffsets()))) {
    auto [base, from] = splitOffset(std::get<0>(pair));
    auto [otherBase, otherFrom] = splitOffset(std::get<1>(pair));
    int64_t size = count(first.getMixedSizes()[d]);
    int64_t otherSize = count(second.getMixedSizes()[d]);
    if (base != otherBase || size < 0 || otherSize < 0 ||
        getConstantIntValue(first.getMixedStrides()[d]) != 1 ||
        getConstantIntValue(second.getMixedStrides()[d]) != 1)
      continue;
    if (from + size <= otherFrom || otherFrom + otherSize <= from)
      return true;
  }
  return false;
}

/// Whether `op` leaves the buffer `base` alone.
static bool isElsewhere(Operation *op, Value base) {
  if (isMemoryEffectFree(op) || isa<memref::AllocOp>(op))
    return true;
  return op->getNumRegions() == 0 && hasSingleEffect<MemoryEffects::Free>(op)
             ? getBase(op->getOperand(0)) != base
             : isa<LaunchOp, memref::CopyOp>(op) &&
                   llvm::all_of(op->getOperands(), [&](Value operand) {
                     if (!isa<MemRefType>(operand.getType()))
                       return true;
                     Value other = getBase(operand);
                     return other != base && isKnown(other);
                   });
}

/// Whether `use` writes all of a buffer, and its op reads none of it.
static bool isAnew(OpOperand &use) {
  auto launch = dyn_cast<LaunchOp>(use.getOwner());
  return launch && launch.isDpsInit(&use) && !readsDestination(launch, use) &&
         llvm::count(launch->getOperands(), use.get()) == 1;
}

/// Whether `block`, where all uses of `buffer` within its op are, begins by writing all
/// of it.
static bool beginsAnew(Block &block, memref::AllocOp buffer) {
  OpOperand *first = nullptr;
  for (OpOperand &use : buffer.getResult().getUses()) {
    Operation *user = use.getOwner();
    if (!block.getParentOp()->isProperAncestor(user))
      continue;
    if (user->getBlock() != &block)
      return false;
    if (!first || user->isBeforeInBlock(first->getOwner()))
      first = &use;
  }
  return isAnew(*first);
}

/// Whether the uses of `buffer` beside its loops find nothing of what `rounds` wrote:
/// those behind a loop begin by writing all of it.
static bool keepsNothing(memref::AllocOp buffer,
                         const SetVector<Block *> &rounds) {
  SmallVector<std::pair<Operation *, OpOperand *>> inOrder;
  for (OpOperand &use : buffer.getResult().getUses()) {
    Operation *user = use.getOwner();
    Operation *at = buffer->getBlock()->findAncestorOpInBlock(*user);
    bool isInRound = rounds.contains(user->getBlock());
    if (!at || (at != user && !isInRound))
      return false;
    if (!isa<memref::DeallocOp>(user))
      inOrder.emplace_back(at, isInRound ? nullptr : &use);
  }
  llvm::sort(inOrder, [](const auto &a, const auto &b) {
    return a.first != b.first && a.first->isBeforeInBlock(b.first);
  });
  for (size_t i = 1; i < inOrder.size(); ++i)
    if (!inOrder[i - 1].second && inOrder[i].second &&
        !isAnew(*inOrder[i].second))
      return false;
  return true;
}

/// A buffer that keeps nothing from round to round of the loops that use it, and nothing
/// for what comes after them, is one of each round, so that loops do not share one.
static void moveIntoRounds(memref::AllocOp buffer) {
  SetVector<Block *> rounds;
  for (Operation *user : buffer->getUsers())
    if (isa<scf::ForOp>(user->getParentOp()) &&
        user->getBlock() != buffer->getBlock())
      rounds.insert(user->getBlock());
  if (!llvm::all_of(rounds,
                    [&](Block *block) { return beginsAnew(*block, buffer); }) ||
      !keepsNothing(buffer, rounds))
    return;
  for (Block *block : rounds) {
    OpBuilder b(buffer.getContext());
    b.setInsertionPointToStart(block);
    Value own = b.clone(*buffer)->getResult(0);
    buffer.getResult().replaceUsesWithIf(own, [&](OpOperand &use) {
      return use.getOwner()->getBlock() == block;
    });
    b.setInsertionPoint(block->getTerminator());
    memref::DeallocOp::create(b, buffer.getLoc(), own);
  }
  if (llvm::all_of(buffer->getUsers(), llvm::IsaPred<memref::DeallocOp>)) {
    for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
      user->erase();
    buffer.erase();
  }
}

namespace {
/// A launch that makes what is copied.
struct Made {
  LaunchOp launch;
  OpOperand *init;
};

struct ForwardCopies : redfuse::impl::ForwardCopiesBase<ForwardCopies> {
  void runOnOperation() override {
    SmallVector<memref::AllocOp> buffers;
    getOperation().walk([&](memref::AllocOp op) { buffers.push_back(op); });
    for (memref::AllocOp buffer : buffers)
      moveIntoRounds(buffer);
    SmallVector<memref::CopyOp> copies;
    getOperation().walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies)
      forward(copy);
  }

private:
  /// The only launch that writes to `buffer`, which nobody reads but `copy`.
  static std::optional<Made> findMade(memref::AllocOp buffer,
                                      memref::CopyOp copy) {
    std::optional<Made> made;
    for (OpOperand &use : buffer.getResult().getUses()) {
      Operation *user = use.getOwner();
      if (user == copy || isa<memref::DeallocOp>(user))
        continue;
      auto launch = dyn_cast<LaunchOp>(user);
      if (!launch || made || !launch.isDpsInit(&use) ||
          readsDestination(launch, use) ||
          launch->getBlock() != copy->getBlock() ||
          !launch->isBeforeInBlock(copy))
        return std::nullopt;
      made = Made{launch, &use};
    }
    return made;
  }

  static void forward(memref::CopyOp copy) {
    auto buffer = copy.getSource().getDefiningOp<memref::AllocOp>();
    Value target = copy.getTarget();
    if (!buffer || target == copy.getSource())
      return;
    std::optional<Made> made = findMade(buffer, copy);
    Value base = getBase(target);
    if (!made || !isKnown(base) || base.getDefiningOp<memref::GetGlobalOp>())
      return;
    LaunchOp launch = made->launch;
    auto type = cast<MemRefType>(target.getType());
    if (!type.areTrailingDimsContiguous(type.getRank()))
      return; // kernels take row-major tensors
    for (OpOperand &operand : launch->getOpOperands()) {
      Value other = operand.get();
      if (&operand == made->init || !isa<MemRefType>(other.getType()))
        continue;
      Value otherBase = getBase(other);
      if (otherBase == base ? !areApart(other, target) : !isKnown(otherBase))
        return;
    }
    for (Operation *op = launch->getNextNode(); op != copy;
         op = op->getNextNode())
      if (!isElsewhere(op, base))
        return;

    // What the view is made of comes first, in its order.
    SetVector<Operation *> needed;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) {
      return op->getBlock() == launch->getBlock() &&
             launch->isBeforeInBlock(op);
    };
    if (failed(getBackwardSlice(target, &needed, options)) ||
        !llvm::all_of(needed, isMemoryEffectFree))
      return;
    for (Operation *op : needed)
      op->moveBefore(launch);
    made->init->set(target);
    copy.erase();
    for (Operation *user : llvm::make_early_inc_range(buffer->getUsers()))
      user->erase();
    buffer.erase();
  }
};
} // namespace
