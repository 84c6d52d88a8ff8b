//===- SortRows.cpp - rows sorted by teams of threads ---------------------===//
//
// A team of threads loads a row, neighbouring threads neighbouring elements, and
// sorts its words in registers. A thread then has neighbouring ranks; through shared
// memory it gets every `team`-th, so that neighbouring threads store neighbours.
//
//===----------------------------------------------------------------------===//
#include "Tuning.h"
#include "Ways.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

SortShape redfuse::shapeSort(int64_t length, int64_t bytesOfWord,
                             int64_t warp) {
  SortShape shape;
  shape.words = std::max<int64_t>(2, llvm::PowerOf2Ceil(length));
  int64_t most = std::min<int64_t>(16, kSortRegisters * 4 / bytesOfWord);
  shape.perThread = std::clamp<int64_t>(shape.words / warp, 1, most);
  shape.team = shape.words / shape.perThread;
  shape.threads = std::max<int64_t>(shape.team, kLeastSelectionThreads);
  return shape;
}

SmallVector<Value> redfuse::loadRow(RowKernel &kernel, const SortShape &shape,
                                    ArrayRef<Value> row, Value start,
                                    Value lane,
                                    std::optional<int64_t> knownLength) {
  SelectionOps &ops = kernel.ops;
  Value first = ops.add(start, lane);
  Value last = ops.sub(kernel.length, ops.i32(1));
  Value none = kernel.words.last(kernel.b, kernel.loc);
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < shape.perThread; ++i) {
    Value at = ops.add(first, ops.i32(i * shape.team));
    if (knownLength && *knownLength >= (i + 1) * shape.team) {
      loaded.push_back(kernel.wordAt(row, at));
      continue;
    }
    Value word = kernel.wordAt(row, ops.least(at, last));
    loaded.push_back(ops.select(ops.less(at, kernel.length), word, none));
  }
  return loaded;
}

void redfuse::generateSortRows(SelectOp op, const OrderedWords &words,
                               const SelectionLimits &limits,
                               gpu::GPUModuleOp device, StringRef name) {
  auto type = cast<MemRefType>(op.getInput().getType());
  int64_t length = type.getShape().back();
  SortShape shape = shapeSort(length, words.getBytes(), limits.warp);
  RowKernel kernel(op, words, device, name, shape.threads);
  SelectionOps &ops = kernel.ops;
  Value memory = kernel.shareWords(0);
  int64_t bits = llvm::Log2_64(shape.team);
  Value team = arith::ShRUIOp::create(kernel.b, kernel.loc, kernel.thread,
                                      ops.i32(bits));
  Value lane = ops.bitAnd(kernel.thread, ops.i32(shape.team - 1));
  Value number = ops.add(ops.mul(kernel.block, shape.rowsOfBlock()), team);
  // Teams without a row go through the motions of the last one, and store nothing.
  Value exists = ops.less(number, kernel.rows);
  number = ops.least(number, ops.sub(kernel.rows, ops.i32(1)));
  SmallVector<Value> row = kernel.indicesOf(number);
  SmallVector<Value> sorted =
      TeamSort(ops, limits.warp, shape.team, shape.threads, kernel.thread,
               memory)
          .sort(loadRow(kernel, shape, row, ops.i32(0), lane, length));

  int64_t from = op.getFrom();
  int64_t stored = kernel.knownRanks.value_or(length);
  stored = std::max<int64_t>(0, std::min(stored, length - from));
  SmallVector<Value> ranks, found, conditions;
  if (shape.perThread == 1) {
    // Thread i has rank i.
    Value rank = ops.sub(lane, ops.i32(from));
    ranks = {rank};
    found = sorted;
  } else {
    // A place between the words of threads lets these go to different banks.
    Value base = ops.mul(team, shape.team * (shape.perThread + 1));
    Value own = ops.add(base, ops.mul(lane, shape.perThread + 1));
    for (auto [i, word] : llvm::enumerate(sorted))
      ops.store(memory, ops.add(own, ops.i32(i)), word);
    ops.barrier();
    int64_t shift = llvm::Log2_64(shape.perThread);
    for (int64_t i = 0; i < int64_t(llvm::divideCeil(stored, shape.team));
         ++i) {
      Value rank = ops.add(lane, ops.i32(i * shape.team));
      Value at =
          ops.least(ops.add(rank, ops.i32(from)), ops.i32(shape.words - 1));
      Value gaps =
          arith::ShRUIOp::create(kernel.b, kernel.loc, at, ops.i32(shift));
      ranks.push_back(rank);
      found.push_back(ops.load(memory, ops.add(base, ops.add(at, gaps))));
    }
  }
  Value most = ops.least(kernel.ranks, ops.i32(stored));
  for (Value rank : ranks)
    conditions.push_back(ops.bitAnd(exists, ops.less(rank, most)));
  kernel.storeRanks(row, ranks, found, conditions);

  OpBuilder host(op);
  Value blocks = RowKernel::countRows(host, op);
  blocks = arith::CeilDivUIOp::create(
      host, op.getLoc(), blocks,
      arith::ConstantIndexOp::create(host, op.getLoc(), shape.rowsOfBlock()));
  kernel.launch(blocks, shape.sharedBytes(words.getBytes()));
}
