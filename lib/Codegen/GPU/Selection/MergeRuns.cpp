//===- MergeRuns.cpp - rows that no block holds, sorted by merging --------===//
//
// Blocks sort pieces of rows, runs, into a workspace. Each further launch makes runs of
// twice the length of pairs of runs: every block finds, by binary searches, where in
// both its words begin and end, and merges them in shared memory, where every thread does
// the same for a few. The last launch stores what is asked for.
//
//===----------------------------------------------------------------------===//
#include "Tuning.h"
#include "Ways.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

namespace {
/// Rows of words in the workspace: each as long as its runs, from a place on.
struct WorkRows {
  RowKernel &kernel;
  Value workspace, start;

  /// The words of a row with those that fill up its last run.
  Value paddedLength() const {
    Value runs = arith::CeilDivUIOp::create(kernel.b, kernel.loc, kernel.length,
                                            kernel.ops.i32(kRunWords));
    return kernel.ops.mul(runs, kRunWords);
  }
  /// The place of a row's word.
  Value placeOf(Value row, Value at) const {
    OpBuilder &b = kernel.b;
    Value length = kernel.ops.index(paddedLength());
    Value place =
        arith::MulIOp::create(b, kernel.loc, kernel.ops.index(row), length);
    place = arith::AddIOp::create(b, kernel.loc, place, kernel.ops.index(at));
    return arith::AddIOp::create(b, kernel.loc, place, start);
  }
  Value load(Value place) const {
    return memref::LoadOp::create(kernel.b, kernel.loc, workspace, place);
  }
  void store(Value place, Value word) const {
    memref::StoreOp::create(kernel.b, kernel.loc, word, workspace, place);
  }
};
} // namespace

/// Which part of which row a block has, where each row has `parts`.
static std::pair<Value, Value> divideBlock(RowKernel &kernel, Value parts) {
  return {arith::DivUIOp::create(kernel.b, kernel.loc, kernel.block, parts),
          arith::RemUIOp::create(kernel.b, kernel.loc, kernel.block, parts)};
}

static void emitRuns(RowKernel &kernel, const SortShape &shape, int64_t warp) {
  SelectionOps &ops = kernel.ops;
  WorkRows work{kernel, kernel.more[0], kernel.more[1]};
  Value runs = arith::DivUIOp::create(kernel.b, kernel.loc, work.paddedLength(),
                                      ops.i32(kRunWords));
  auto [row, run] = divideBlock(kernel, runs);
  Value start = ops.mul(run, kRunWords);
  Value memory = kernel.shareWords(0);
  SmallVector<Value> sorted =
      TeamSort(ops, warp, shape.team, shape.threads, kernel.thread, memory)
          .sort(loadRow(kernel, shape, kernel.indicesOf(row), start,
                        kernel.thread, std::nullopt));
  Value own = ops.mul(kernel.thread, shape.perThread + 1);
  for (auto [i, word] : llvm::enumerate(sorted))
    ops.store(memory, ops.add(own, ops.i32(i)), word);
  ops.barrier();
  int64_t shift = llvm::Log2_64(shape.perThread);
  for (int64_t i = 0; i < shape.perThread; ++i) {
    Value at = ops.add(kernel.thread, ops.i32(i * shape.team));
    Value gaps =
        arith::ShRUIOp::create(kernel.b, kernel.loc, at, ops.i32(shift));
    work.store(work.placeOf(row, ops.add(start, at)),
               ops.load(memory, ops.add(at, gaps)));
  }
}

/// How many of the first `count` words of two runs are the first run's.
static Value emitSearch(RowKernel &kernel, Value count, Value firstLength,
                        Value secondLength,
                        function_ref<Value(Value)> loadFirst,
                        function_ref<Value(Value)> loadSecond) {
  OpBuilder &b = kernel.b;
  Location loc = kernel.loc;
  SelectionOps &ops = kernel.ops;
  Value zero = ops.i32(0);
  Value low = ops.select(ops.less(secondLength, count),
                         ops.sub(count, secondLength), zero);
  Value high = ops.least(count, firstLength);
  Type i32 = b.getI32Type();
  auto loop =
      scf::WhileOp::create(b, loc, TypeRange{i32, i32}, ValueRange{low, high});
  OpBuilder::InsertionGuard guard(b);
  Block *test = b.createBlock(&loop.getBefore(), {}, {i32, i32}, {loc, loc});
  scf::ConditionOp::create(b, loc,
                           ops.less(test->getArgument(0), test->getArgument(1)),
                           test->getArguments());
  Block *halve = b.createBlock(&loop.getAfter(), {}, {i32, i32}, {loc, loc});
  Value from = halve->getArgument(0), to = halve->getArgument(1);
  Value middle = arith::ShRUIOp::create(b, loc, ops.add(from, to), ops.i32(1));
  Value mine = loadFirst(middle);
  Value other = loadSecond(ops.sub(ops.sub(count, ops.i32(1)), middle));
  // Words that fill up rows are equal: of them the first run's go first.
  Value isBefore =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, mine, other);
  scf::YieldOp::create(
      b, loc,
      ValueRange{ops.select(isBefore, ops.add(middle, ops.i32(1)), from),
                 ops.select(isBefore, to, middle)});
  return loop.getResult(0);
}

namespace {
/// A block's part of a pair of runs, merged in shared memory: threads search and pick words
/// in any order, and global memory is read and written a row of neighbours at a time.
/// `more`: the workspace, where the runs are, where those of twice their length go, and
/// their length.
class BlockMerge {
public:
  explicit BlockMerge(RowKernel &kernel)
      : kernel(kernel), b(kernel.b), loc(kernel.loc), ops(kernel.ops),
        source{kernel, kernel.more[0], kernel.more[1]},
        target{kernel, kernel.more[0], kernel.more[2]},
        words(kernel.shareWords(0)),
        bounds(kernel.shareCounter((kBlockWords + kMergeThreads) *
                                   kernel.words.getBytes())) {}

  static constexpr int64_t kBlockWords = kMergedWords * kMergeThreads;
  static int64_t sharedBytes(int64_t wordBytes) {
    return (kBlockWords + kMergeThreads) * wordBytes + 8;
  }
  void emit();

private:
  /// Where words are read and written by neighbouring threads, each thread's own have a
  /// gap behind them: else lanes would meet in the banks.
  Value gapped(Value at) {
    return ops.add(at, arith::ShRUIOp::create(
                           b, loc, at, ops.i32(llvm::Log2_64(kMergedWords))));
  }
  void findPart(Value row, Value part);
  void load();
  SmallVector<Value> merge();
  void store(ArrayRef<Value> merged);

  RowKernel &kernel;
  OpBuilder &b;
  Location loc;
  SelectionOps &ops;
  WorkRows source, target;
  Value words, bounds;
  /// Where the block's words of the first run and of the second begin, how many of the
  /// block's are the first's, and where the result goes.
  Value first, second, firstWords, place;
};
} // namespace

/// Where the block's part of both runs begins and ends.
void BlockMerge::findPart(Value row, Value part) {
  Value width =
      arith::IndexCastUIOp::create(b, loc, b.getI32Type(), kernel.more[3]);
  Value length = source.paddedLength();
  Value at = ops.mul(part, kBlockWords);
  // The pair of runs from `pair` on, of which runs are whole parts.
  Value both = arith::ShLIOp::create(b, loc, width, ops.i32(1));
  Value begin = arith::RemUIOp::create(b, loc, at, both);
  Value pair = ops.sub(at, begin);
  Value left = ops.sub(length, pair);
  Value firstLength = ops.least(width, left);
  Value secondLength = ops.least(width, ops.sub(left, firstLength));
  Value start = source.placeOf(row, pair);
  Value startOfSecond =
      arith::AddIOp::create(b, loc, start, ops.index(firstLength));
  auto loadAt = [&](Value from, Value i) {
    return source.load(arith::AddIOp::create(b, loc, from, ops.index(i)));
  };
  // A thread for either end.
  Value isEnd = ops.less(ops.i32(0), kernel.thread);
  Value count =
      ops.add(begin, ops.select(isEnd, ops.i32(kBlockWords), ops.i32(0)));
  ops.when(ops.less(kernel.thread, ops.i32(2)), [&] {
    Value ofFirst = emitSearch(
        kernel, count, firstLength, secondLength,
        [&](Value i) { return loadAt(start, i); },
        [&](Value i) { return loadAt(startOfSecond, i); });
    ops.store(bounds, kernel.thread, ofFirst);
  });
  ops.barrier();
  Value from = ops.load(bounds, ops.i32(0)), to = ops.load(bounds, ops.i32(1));
  firstWords = ops.sub(to, from);
  first = arith::AddIOp::create(b, loc, start, ops.index(from));
  second = arith::AddIOp::create(b, loc, startOfSecond,
                                 ops.index(ops.sub(begin, from)));
  place = target.placeOf(row, at);
}

/// The first run's words, then the second's.
void BlockMerge::load() {
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < kMergedWords; ++i) {
    Value at = ops.add(kernel.thread, ops.i32(i * kMergeThreads));
    Value isFirst = ops.less(at, firstWords);
    Value from = ops.select(isFirst, first, second);
    Value offset = ops.select(isFirst, at, ops.sub(at, firstWords));
    loaded.push_back(source.load(
        arith::AddIOp::create(b, loc, from, ops.index(offset)).getResult()));
  }
  for (auto [i, word] : llvm::enumerate(loaded))
    ops.store(words, ops.add(kernel.thread, ops.i32(i * kMergeThreads)), word);
  ops.barrier();
}

SmallVector<Value> BlockMerge::merge() {
  Value secondWords = ops.sub(ops.i32(kBlockWords), firstWords);
  Value at = ops.mul(kernel.thread, kMergedWords);
  auto loadAt = [&](Value i) { return ops.load(words, i); };
  Value i = emitSearch(kernel, at, firstWords, secondWords, loadAt,
                       [&](Value k) { return loadAt(ops.add(firstWords, k)); });
  Value j = ops.add(firstWords, ops.sub(at, i));
  // Beyond the end of a run there is the other one, or the last word.
  Value last = ops.i32(kBlockWords - 1);
  Value mine = loadAt(ops.least(i, last)), other = loadAt(ops.least(j, last));
  SmallVector<Value> merged;
  for (int64_t step = 0; step < kMergedWords; ++step) {
    Value isBefore =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, mine, other);
    Value isOver = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, j,
                                         ops.i32(kBlockWords));
    Value takes =
        ops.bitAnd(ops.less(i, firstWords),
                   arith::OrIOp::create(b, loc, isBefore, isOver).getResult());
    merged.push_back(ops.select(takes, mine, other));
    if (step + 1 == kMergedWords)
      break;
    i = ops.select(takes, ops.add(i, ops.i32(1)), i);
    j = ops.select(takes, j, ops.add(j, ops.i32(1)));
    // One of both runs has another first word now.
    Value next = loadAt(ops.least(ops.select(takes, i, j), last));
    mine = ops.select(takes, next, mine);
    other = ops.select(takes, other, next);
  }
  return merged;
}

void BlockMerge::store(ArrayRef<Value> merged) {
  // All have read what they merge.
  ops.barrier();
  Value own = ops.mul(kernel.thread, kMergedWords + 1);
  for (auto [i, word] : llvm::enumerate(merged))
    ops.store(words, ops.add(own, ops.i32(i)), word);
  ops.barrier();
  for (int64_t i = 0; i < kMergedWords; ++i) {
    Value at = ops.add(kernel.thread, ops.i32(i * kMergeThreads));
    target.store(arith::AddIOp::create(b, loc, place, ops.index(at)),
                 ops.load(words, gapped(at)));
  }
}

void BlockMerge::emit() {
  Value parts = arith::DivUIOp::create(b, loc, source.paddedLength(),
                                       ops.i32(kBlockWords));
  auto [row, part] = divideBlock(kernel, parts);
  findPart(row, part);
  load();
  store(merge());
}

static void emitRanks(RowKernel &kernel, int64_t from) {
  SelectionOps &ops = kernel.ops;
  WorkRows work{kernel, kernel.more[0], kernel.more[1]};
  Value parts = arith::CeilDivUIOp::create(kernel.b, kernel.loc, kernel.ranks,
                                           ops.i32(kMergeThreads));
  auto [row, part] = divideBlock(kernel, parts);
  Value rank = ops.add(ops.mul(part, kMergeThreads), kernel.thread);
  Value at = ops.add(rank, ops.i32(from));
  Value exists =
      ops.bitAnd(ops.less(rank, kernel.ranks), ops.less(at, kernel.length));
  Value word = work.load(work.placeOf(row, ops.select(exists, at, ops.i32(0))));
  kernel.storeRanks(kernel.indicesOf(row), rank, word, exists);
}

void redfuse::generateMergeRuns(SelectOp op, const OrderedWords &words,
                                const SelectionLimits &limits,
                                gpu::GPUModuleOp device, StringRef name) {
  OpBuilder host(op);
  Location loc = op.getLoc();
  auto index = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(host, loc, v);
  };
  auto multiply = [&](Value x, Value y) {
    return host.createOrFold<arith::MulIOp>(loc, x, y);
  };
  auto divide = [&](Value x, int64_t y) {
    return host.createOrFold<arith::CeilDivUIOp>(loc, x, index(y));
  };
  int64_t last = cast<MemRefType>(op.getInput().getType()).getRank() - 1;
  Value rows = RowKernel::countRows(host, op);
  Value length = host.createOrFold<memref::DimOp>(loc, op.getInput(), last);
  Value ranks =
      host.createOrFold<memref::DimOp>(loc, op.getDpsInits()[0], last);
  Value runs = divide(length, kRunWords);
  Value total = multiply(multiply(rows, runs), index(kRunWords));
  auto workspace = memref::AllocOp::create(
      host, loc, MemRefType::get({ShapedType::kDynamic}, words.getType()),
      multiply(total, index(2)), host.getI64IntegerAttr(64));

  SortShape shape = shapeSort(kRunWords, words.getBytes(), limits.warp);
  Value zero = index(0);
  {
    RowKernel kernel(op, words, device, (name + "_runs").str(), shape.threads,
                     {workspace, zero});
    emitRuns(kernel, shape, limits.warp);
    kernel.launch(multiply(rows, runs), shape.sharedBytes(words.getBytes()));
  }

  // The length of runs, and where they are.
  host.setInsertionPoint(op);
  Type type = host.getIndexType();
  auto loop = scf::WhileOp::create(host, loc, TypeRange{type, type},
                                   ValueRange{index(kRunWords), zero});
  Block *test =
      host.createBlock(&loop.getBefore(), {}, {type, type}, {loc, loc});
  Value isShort = arith::CmpIOp::create(host, loc, arith::CmpIPredicate::ult,
                                        test->getArgument(0), length);
  scf::ConditionOp::create(host, loc, isShort, test->getArguments());
  Block *merge =
      host.createBlock(&loop.getAfter(), {}, {type, type}, {loc, loc});
  Value width = merge->getArgument(0), source = merge->getArgument(1);
  Value target = arith::SubIOp::create(host, loc, total, source);
  Value blocks = multiply(multiply(rows, runs),
                          index(kRunWords / BlockMerge::kBlockWords));
  Value twice = multiply(width, index(2));
  auto yield = scf::YieldOp::create(host, loc, ValueRange{twice, target});
  {
    RowKernel kernel(op, words, device, (name + "_merge").str(), kMergeThreads,
                     {workspace, source, target, width});
    BlockMerge(kernel).emit();
    kernel.launch(blocks, BlockMerge::sharedBytes(words.getBytes()), yield);
  }
  {
    RowKernel kernel(op, words, device, (name + "_ranks").str(), kMergeThreads,
                     {workspace, loop.getResult(1)});
    emitRanks(kernel, op.getFrom());
    host.setInsertionPoint(op);
    kernel.launch(multiply(rows, divide(ranks, kMergeThreads)), 0);
  }
  host.setInsertionPoint(op);
  memref::DeallocOp::create(host, loc, workspace);
}
