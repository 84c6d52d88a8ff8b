//===- TeamSort.cpp - sorting words in the registers of threads -----------===//
//
// Phase p of the network makes sorted runs of 2^p words of those of 2^(p-1): first
// each word is compared with the one at the mirrored place of the pair of runs, then
// with those at half of the distance, and so on. Phases among the words of a thread
// are unrolled; those among threads are loops over masks of thread numbers.
//
//===----------------------------------------------------------------------===//
#include "TeamSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Value SelectionOps::i32(int64_t value) const {
  return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
}
Value SelectionOps::index(Value v) const {
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), v);
}
Value SelectionOps::add(Value x, Value y) const {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}
Value SelectionOps::sub(Value x, Value y) const {
  return b.createOrFold<arith::SubIOp>(loc, x, y);
}
Value SelectionOps::mul(Value x, int64_t y) const {
  return b.createOrFold<arith::MulIOp>(loc, x, i32(y));
}
Value SelectionOps::bitXor(Value x, Value y) const {
  return arith::XOrIOp::create(b, loc, x, y);
}
Value SelectionOps::bitAnd(Value x, Value y) const {
  return arith::AndIOp::create(b, loc, x, y);
}
Value SelectionOps::less(Value x, Value y) const {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
}
Value SelectionOps::select(Value c, Value x, Value y) const {
  return arith::SelectOp::create(b, loc, c, x, y);
}
Value SelectionOps::least(Value x, Value y) const {
  return arith::MinUIOp::create(b, loc, x, y);
}
Value SelectionOps::load(Value memory, Value at) const {
  return memref::LoadOp::create(b, loc, memory, index(at));
}
void SelectionOps::store(Value memory, Value at, Value v) const {
  memref::StoreOp::create(b, loc, v, memory, index(at));
}
void SelectionOps::barrier() const { gpu::BarrierOp::create(b, loc); }

void SelectionOps::when(Value condition, function_ref<void()> then) const {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  then();
}

SmallVector<Value> SelectionOps::loop(
    Value low, Value high, Value step, ValueRange carried,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) const {
  auto made = scf::ForOp::create(b, loc, low, high, step, carried);
  OpBuilder::InsertionGuard guard(b);
  Block *block = made.getBody();
  if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
    block->back().erase();
  b.setInsertionPointToEnd(block);
  SmallVector<Value> next =
      body(made.getInductionVar(), made.getRegionIterArgs());
  scf::YieldOp::create(b, loc, next);
  return llvm::to_vector_of<Value>(made.getResults());
}

//===----------------------------------------------------------------------===//
// The network
//===----------------------------------------------------------------------===//

/// What the thread has whose number differs in the bits of `mask`.
TeamSort::Words TeamSort::exchange(ValueRange words, Value mask,
                                   bool isFar) const {
  OpBuilder &b = ops.b;
  Location loc = ops.loc;
  Words others;
  if (isFar) {
    for (auto [i, word] : llvm::enumerate(words))
      ops.store(memory, ops.add(thread, ops.i32(i * threads)), word);
    ops.barrier();
    Value other = ops.bitXor(thread, mask);
    for (size_t i = 0; i < words.size(); ++i)
      others.push_back(ops.load(memory, ops.add(other, ops.i32(i * threads))));
    ops.barrier();
    return others;
  }
  Type i32 = b.getI32Type();
  Value width = ops.i32(warp);
  auto shuffle = [&](Value part) -> Value {
    return gpu::ShuffleOp::create(b, loc, part, mask, width,
                                  gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  for (Value word : words) {
    unsigned bits = word.getType().getIntOrFloatBitWidth();
    if (bits == 32) {
      others.push_back(shuffle(word));
      continue;
    }
    Value whole;
    for (unsigned shift = 0; shift < bits; shift += 32) {
      Value by = arith::ConstantIntOp::create(b, loc, word.getType(), shift);
      Value part = arith::TruncIOp::create(
          b, loc, i32, arith::ShRUIOp::create(b, loc, word, by));
      Value wide =
          arith::ExtUIOp::create(b, loc, word.getType(), shuffle(part));
      wide = arith::ShLIOp::create(b, loc, wide, by);
      whole =
          whole ? arith::OrIOp::create(b, loc, whole, wide).getResult() : wide;
    }
    others.push_back(whole);
  }
  return others;
}

/// The lower thread keeps the smaller word of each pair, the upper one the larger.
TeamSort::Words TeamSort::compareThreads(ValueRange words, Value mask,
                                         bool isMirrored, bool isFar) const {
  Words given = llvm::to_vector_of<Value>(words);
  if (isMirrored)
    std::reverse(given.begin(), given.end());
  Words others = exchange(given, mask, isFar), kept;
  Value isUpper = ops.less(ops.bitXor(thread, mask), thread);
  for (auto [own, other] : llvm::zip_equal(words, others)) {
    Value takes = ops.bitXor(ops.less(other, own), isUpper);
    kept.push_back(ops.select(takes, other, own));
  }
  return kept;
}

TeamSort::Words TeamSort::compareOwn(ValueRange words, int64_t distance,
                                     bool isMirrored) const {
  Words kept = llvm::to_vector_of<Value>(words);
  for (int64_t low = 0; low < int64_t(words.size()); ++low) {
    if (low & distance)
      continue;
    int64_t high = isMirrored ? low ^ (2 * distance - 1) : low ^ distance;
    Value swaps = ops.less(words[high], words[low]);
    kept[low] = ops.select(swaps, words[high], words[low]);
    kept[high] = ops.select(swaps, words[low], words[high]);
  }
  return kept;
}

/// Pairs of the given distance, and of its halves.
TeamSort::Words TeamSort::mergeOwn(ValueRange words, int64_t distance) const {
  Words merged = llvm::to_vector_of<Value>(words);
  for (; distance > 0; distance /= 2)
    merged = compareOwn(merged, distance, /*isMirrored=*/false);
  return merged;
}

/// Pairs of threads of the distances 2^from, of its halves, down to 1, or, where
/// `isFar`, to those that are in a warp.
TeamSort::Words TeamSort::mergeThreads(ValueRange words, Value from,
                                       bool isFar) const {
  int64_t least = isFar ? llvm::Log2_64(warp) : 0;
  Value count = ops.sub(ops.add(from, ops.i32(1)), ops.i32(least));
  return ops.loop(ops.i32(0), count, ops.i32(1), words,
                  [&](Value at, ValueRange carried) {
                    Value mask = arith::ShLIOp::create(
                        ops.b, ops.loc, ops.i32(1), ops.sub(from, at));
                    return compareThreads(carried, mask, false, isFar);
                  });
}

SmallVector<Value> TeamSort::sort(ValueRange words) const {
  Words sorted = llvm::to_vector_of<Value>(words);
  int64_t own = words.size();
  for (int64_t distance = 1; distance < own; distance *= 2) {
    sorted = compareOwn(sorted, distance, /*isMirrored=*/true);
    sorted = mergeOwn(sorted, distance / 2);
  }
  int64_t inWarp = llvm::Log2_64(std::min(team, warp)),
          inTeam = llvm::Log2_64(team);
  Value one = ops.i32(1);
  // Runs of 2^phase threads, of which each has its words.
  auto phases = [&](int64_t low, int64_t high, bool isFar) {
    if (low > high)
      return;
    sorted = ops.loop(
        ops.i32(low), ops.i32(high + 1), one, sorted,
        [&](Value phase, ValueRange carried) {
          Value mask =
              ops.sub(arith::ShLIOp::create(ops.b, ops.loc, one, phase), one);
          Words run = compareThreads(carried, mask, /*isMirrored=*/true, isFar);
          Value next = ops.sub(phase, ops.i32(2));
          if (isFar) {
            run = mergeThreads(run, next, /*isFar=*/true);
            run = mergeThreads(run, ops.i32(inWarp - 1), /*isFar=*/false);
          } else {
            run = mergeThreads(run, next, /*isFar=*/false);
          }
          return mergeOwn(run, own / 2);
        });
  };
  phases(1, inWarp, /*isFar=*/false);
  phases(inWarp + 1, inTeam, /*isFar=*/true);
  return sorted;
}
