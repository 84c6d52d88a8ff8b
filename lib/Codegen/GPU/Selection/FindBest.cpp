//===- FindBest.cpp - the first ranks of long rows, by a threshold --------===//
//
// A block has a row. Each thread walks its share of it and keeps the one or two elements
// that come first. Of these, sorted, the one of the last rank that is wanted is a
// threshold: that many elements of the row do not go behind it, and, as shares are
// spread over the row, few more. The block walks the row again and puts the words of
// what the threshold lets through into shared memory, wherever there is room: the order
// in which they come does not matter, as they are all different and sorted in the end.
//
// Where there is not room for all, the words that had some are sorted, and the one of
// the last rank is the next threshold, which lets fewer through.
//
//===----------------------------------------------------------------------===//
#include "Tuning.h"
#include "Ways.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

FindShape redfuse::shapeFind(int64_t ranks, std::optional<int64_t> length) {
  FindShape shape;
  shape.ranks = ranks;
  shape.threads = ranks > kFewRanks || !length || *length > kFewElements
                      ? kSelectionThreads
                      : kFewThreads;
  shape.kept = ranks * 8 > shape.threads * kOneKeptEighths ? 2 : 1;
  shape.room = std::max<int64_t>(2 * shape.threads,
                                 llvm::PowerOf2Ceil(kRoomOfRank * ranks));
  return shape;
}

namespace {
/// The kernel of one op.
class BestOfRow {
public:
  BestOfRow(SelectOp op, RowKernel &kernel, const FindShape &shape,
            const SelectionLimits &limits)
      : op(op), kernel(kernel), ops(kernel.ops), b(kernel.b), loc(kernel.loc),
        shape(shape), memory(kernel.shareWords(0)),
        chosen(kernel.shareWords(shape.room * kernel.words.getBytes())),
        counter(kernel.shareCounter(shape.room * kernel.words.getBytes() + 16)),
        sort(ops, limits.warp, shape.threads, shape.threads, kernel.thread,
             memory),
        row(kernel.indicesOf(kernel.block)) {}

  void emit();

private:
  using Words = SmallVector<Value>;
  Words walk(ValueRange carried,
             function_ref<Words(Value, Value, ValueRange)> step);
  Value wordOfRank(ValueRange sorted);
  Value collect(Value threshold);
  Words collected(Value count);

  SelectOp op;
  RowKernel &kernel;
  SelectionOps &ops;
  OpBuilder &b;
  Location loc;
  const FindShape &shape;
  Value memory, chosen, counter;
  TeamSort sort;
  SmallVector<Value> row;
};
} // namespace

/// Calls `step` for each element of the thread's share of the row, with its position.
BestOfRow::Words
BestOfRow::walk(ValueRange carried,
                function_ref<Words(Value, Value, ValueRange)> step) {
  int64_t ahead = kLoadsAhead * shape.threads;
  // Of all but the last part of the row several at a time are loaded.
  Value whole = ops.mul(
      arith::DivUIOp::create(b, loc, kernel.length, ops.i32(ahead)), ahead);
  Words state =
      ops.loop(ops.i32(0), whole, ops.i32(ahead), carried,
               [&](Value start, ValueRange before) {
                 Words places, loaded, next = llvm::to_vector_of<Value>(before);
                 Value first = ops.add(start, kernel.thread);
                 for (int64_t i = 0; i < kLoadsAhead; ++i) {
                   places.push_back(ops.add(first, ops.i32(i * shape.threads)));
                   loaded.push_back(kernel.elementAt(row, places.back()));
                 }
                 for (auto [element, place] : llvm::zip_equal(loaded, places))
                   next = step(element, place, next);
                 return next;
               });
  return ops.loop(ops.add(whole, kernel.thread), kernel.length,
                  ops.i32(shape.threads), state,
                  [&](Value at, ValueRange before) {
                    return step(kernel.elementAt(row, at), at, before);
                  });
}

/// What the block's thread has that has the last of the ranks.
Value BestOfRow::wordOfRank(ValueRange sorted) {
  int64_t rank = shape.ranks - 1, own = sorted.size();
  Value isMine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       kernel.thread, ops.i32(rank / own));
  ops.when(isMine, [&] { ops.store(chosen, ops.i32(0), sorted[rank % own]); });
  ops.barrier();
  return ops.load(chosen, ops.i32(0));
}

/// Puts what does not go behind the threshold into memory, as far as there is room;
/// how many words that are.
Value BestOfRow::collect(Value threshold) {
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        kernel.thread, ops.i32(0));
  ops.when(isFirst, [&] { ops.store(counter, ops.i32(0), ops.i32(0)); });
  ops.barrier();
  const OrderedWords &words = kernel.words;
  // Most elements are compared as they are, and make no word.
  Value limit = words.elementOf(b, loc, threshold);
  walk({}, [&](Value element, Value place, ValueRange) {
    ops.when(words.mayPass(b, loc, element, limit), [&] {
      Value word = words.make(b, loc, element, place);
      Value passes = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule,
                                           word, threshold);
      ops.when(passes, [&] {
        Value slot = kernel.count(counter);
        ops.when(ops.less(slot, ops.i32(shape.room)),
                 [&] { ops.store(memory, slot, word); });
      });
    });
    return Words();
  });
  ops.barrier();
  return ops.load(counter, ops.i32(0));
}

/// The words in memory, sorted.
BestOfRow::Words BestOfRow::collected(Value count) {
  Words own;
  Value none = kernel.words.last(b, loc);
  for (int64_t i = 0; i < shape.room; i += shape.threads) {
    Value at = ops.add(kernel.thread, ops.i32(i));
    Value isThere = ops.less(at, count);
    // What nothing was stored to is not read.
    Value word = ops.load(memory, ops.select(isThere, at, ops.i32(0)));
    own.push_back(ops.select(isThere, word, none));
  }
  ops.barrier();
  return sort.sort(own);
}

void BestOfRow::emit() {
  const OrderedWords &words = kernel.words;
  Words nothing(shape.kept, words.lastElement(b, loc));
  Words kept = walk(nothing, [&](Value element, Value, ValueRange before) {
    Words next;
    for (Value best : before) {
      next.push_back(words.pick(b, loc, /*first=*/true, best, element));
      element = words.pick(b, loc, /*first=*/false, best, element);
    }
    return next;
  });
  // Whatever equals the threshold passes: its position is behind all.
  Value behind = words.constant(
      b, loc, APInt::getLowBitsSet(32, std::min(32u, words.getPositionBits())));
  for (Value &element : kept)
    element = words.make(b, loc, element, behind);
  Value threshold = wordOfRank(sort.sort(kept));

  Type word = words.getType(), i32 = b.getI32Type();
  SmallVector<Type> types{i32};
  auto loop = scf::WhileOp::create(b, loc, types, threshold);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *find = b.createBlock(&loop.getBefore(), {}, word, loc);
    Value count = collect(find->getArgument(0));
    Value overflows = ops.less(ops.i32(shape.room), count);
    scf::ConditionOp::create(b, loc, overflows, ValueRange{count});
    Block *again = b.createBlock(&loop.getAfter(), {}, i32, loc);
    (void)again;
    Value next = wordOfRank(collected(ops.i32(shape.room)));
    scf::YieldOp::create(b, loc, next);
  }
  Words sorted = collected(loop.getResult(0));
  for (auto [i, found] : llvm::enumerate(sorted))
    ops.store(memory,
              ops.add(ops.mul(kernel.thread, sorted.size()), ops.i32(i)),
              found);
  ops.barrier();
  int64_t from = op.getFrom(), stored = shape.ranks - from;
  SmallVector<Value> ranks, found, conditions;
  Value rest = ops.sub(ops.select(ops.less(ops.i32(from), kernel.length),
                                  kernel.length, ops.i32(from)),
                       ops.i32(from));
  Value most = ops.least(ops.i32(stored), rest);
  for (int64_t i = 0; i < stored; i += shape.threads) {
    Value rank = ops.add(kernel.thread, ops.i32(i));
    ranks.push_back(rank);
    found.push_back(ops.load(memory, ops.add(rank, ops.i32(from))));
    conditions.push_back(ops.less(rank, most));
  }
  kernel.storeRanks(row, ranks, found, conditions);
}

void redfuse::generateFindBest(SelectOp op, const OrderedWords &words,
                               const SelectionLimits &limits,
                               gpu::GPUModuleOp device, StringRef name) {
  auto type = cast<MemRefType>(op.getInput().getType());
  auto stored = cast<MemRefType>(op.getDpsInits()[0].getType());
  std::optional<int64_t> length;
  if (!type.isDynamicDim(type.getRank() - 1))
    length = type.getShape().back();
  FindShape shape = shapeFind(op.getFrom() + stored.getShape().back(), length);
  RowKernel kernel(op, words, device, name, shape.threads);
  // ptxas would spill to let one more block run.
  if (limits.boundsRegisters && shape.threads == kFewThreads)
    kernel.limitRegisters(kSelectingBlocks);
  BestOfRow(op, kernel, shape, limits).emit();
  OpBuilder host(op);
  kernel.launch(RowKernel::countRows(host, op),
                shape.sharedBytes(words.getBytes()));
}
