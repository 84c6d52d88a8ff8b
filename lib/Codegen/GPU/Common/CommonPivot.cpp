//===- CommonPivot.cpp - merges of many states at once --------------------===//
#include "redfuse/Codegen/GPU/Common/CommonPivot.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace redfuse;

/// Whether an op may combine many values in any order.
static bool combinesMany(Operation *op) {
  return isa_and_nonnull<arith::AddFOp, arith::AddIOp, arith::MaximumFOp,
                         arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                         arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
                         arith::MinUIOp, arith::AndIOp, arith::OrIOp>(op);
}

namespace {
/// What a value of a merge is computed from.
struct MergeSlice {
  llvm::SetVector<Operation *> ops;
  /// Numbers of arguments of the block: of the left state, then of the right one.
  llvm::SmallSetVector<unsigned, 16> arguments;
};
} // namespace

/// The slice of `value`; values in `known` are not looked behind.
static MergeSlice sliceOf(Value value, Block &merge,
                          const llvm::DenseSet<Value> &known) {
  MergeSlice slice;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Value v = open.pop_back_val();
    if (known.contains(v))
      continue;
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (argument.getOwner() == &merge)
        slice.arguments.insert(argument.getArgNumber());
      continue;
    }
    Operation *op = v.getDefiningOp();
    if (op->getBlock() == &merge && slice.ops.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  return slice;
}

std::optional<CommonPivot> redfuse::findCommonPivot(FoldOp fold) {
  Block &merge = fold.getMerge().front();
  auto yield = cast<YieldOp>(merge.getTerminator());
  unsigned n = yield.getNumOperands();
  if (merge.getNumArguments() != 2 * n)
    return std::nullopt;
  llvm::SmallSetVector<unsigned, 8> agreed;
  for (unsigned i = 0; i < n; ++i)
    if (!combinesMany(yield.getOperand(i).getDefiningOp()))
      agreed.insert(i);
  // What they agree on is known from there on, and needs nothing else.
  CommonPivot result;
  for (bool changed = true; changed;) {
    changed = false;
    llvm::DenseSet<Value> known;
    for (unsigned i : agreed)
      known.insert(yield.getOperand(i));
    for (unsigned i : SmallVector<unsigned>(agreed.getArrayRef()))
      for (unsigned argument :
           sliceOf(yield.getOperand(i), merge, {}).arguments)
        changed |= agreed.insert(argument % n);
    result.moved.clear();
    llvm::SetVector<Operation *> ops;
    for (unsigned i = 0; i < n && !changed; ++i) {
      if (agreed.contains(i))
        continue;
      Operation *combine = yield.getOperand(i).getDefiningOp();
      auto isOf = [&](const MergeSlice &slice, bool isRight) {
        return llvm::all_of(slice.arguments, [&](unsigned argument) {
          return (argument >= n) == isRight;
        });
      };
      MergeSlice left = sliceOf(combine->getOperand(0), merge, known);
      MergeSlice right = sliceOf(combine->getOperand(1), merge, known);
      unsigned own = 1;
      if (!isOf(left, false) || !isOf(right, true)) {
        std::swap(left, right);
        own = 0;
      }
      if (!isOf(left, false) || !isOf(right, true)) {
        // What the other side has to say is agreed on; or else all of this one is.
        if (left.arguments.contains(n + i))
          std::swap(left, right);
        unsigned before = agreed.size();
        for (unsigned argument : left.arguments)
          if (argument >= n && argument - n != i)
            agreed.insert(argument - n);
        for (unsigned argument : right.arguments)
          if (argument < n && argument != i)
            agreed.insert(argument);
        if (agreed.size() == before)
          agreed.insert(i);
        changed = true;
        break;
      }
      ops.insert(right.ops.begin(), right.ops.end());
      result.moved.push_back({i, combine, combine->getOperand(own)});
    }
    result.cost = llvm::count_if(ops, [](Operation *op) {
      return !op->hasTrait<OpTrait::ConstantLike>();
    });
  }
  if (agreed.empty() || result.moved.empty())
    return std::nullopt;
  result.agreed = llvm::to_vector(agreed);
  llvm::sort(result.agreed);
  for (unsigned i : result.agreed) {
    Value v = yield.getOperand(i);
    if (isa<BlockArgument>(v))
      return std::nullopt;
    Operation *op = v.getDefiningOp();
    result.isSymmetric &=
        combinesMany(op) &&
        op->getOperands() ==
            ValueRange{merge.getArgument(i), merge.getArgument(n + i)};
  }
  return result;
}
