//===- RegisterExchange.cpp - what threads combine with each other --------===//
#include "Cluster.h"
#include "Ptx.h"
#include "RegisterEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

static constexpr int64_t kExchangeLimit = 40 * 1024;
/// Words that a thread reads of all warps rather than to ask other lanes for them,
/// which takes longer.
static constexpr int64_t kDirectWords = 32, kDirectWarps = 8;

/// Combines `parts` of the threads that differ in `bits` alone; all of them have
/// the result, or (`isForFirst`) the first one has. `combineLanes`: a way of its own
/// for threads of a warp.
void RegisterEmitter::combineAcross(Parts &parts, unsigned bits,
                                    Combine combine, CombineLanes combineLanes,
                                    bool isForFirst) {
  bits &= layout.threads - 1;
  unsigned inWarp = bits & (warpSize - 1), warps = bits / warpSize;
  auto overLanes = [&](unsigned differing) {
    if (combineLanes && llvm::popcount(differing) > 1)
      return combineLanes(parts, differing);
    for (unsigned distance = 1; distance < warpSize; distance *= 2)
      if (differing & distance)
        combine(parts, shuffle(parts, distance));
  };
  overLanes(inWarp);
  if (warps == 0)
    return;
  // One place for each of the threads of a warp that have something of their
  // own.
  unsigned own = (warpSize - 1) & ~inWarp,
           allWarps = layout.threads / warpSize - 1;
  int64_t perWarp = int64_t(1) << llvm::popcount(own);
  int64_t places = layout.threads / warpSize * perWarp;
  SmallVector<Type> types;
  for (Value part : parts)
    types.push_back(part.getType());
  int64_t bytes = llvm::alignTo(countWords(types) * places * 4, 16);
  if (exchangeUsed != 0 && exchangeUsed + bytes > kExchangeLimit) {
    barrier();
    exchangeUsed = 0;
  }
  // Whether blocks of the cluster exchange.
  unsigned inBlock = layout.getThreadsOfBlock() - 1;
  bool isFar = bits & ~inBlock;
  if (isFar)
    awaitCluster();
  mergeOffset = exchangeUsed;
  exchangeUsed += bytes;
  exchangeBytes = std::max(exchangeBytes, exchangeUsed);
  hasExchanged = true;
  ++numExchanges;
  Type index = b.getIndexType();
  Value warp = arith::ShRUIOp::create(b, loc, getThreadWord(),
                                      word(llvm::Log2_32(warpSize)));
  Value lane = compress(getThreadWord(), own);
  auto placeOf = [&](Value ofWarp) -> Value {
    Value place = ofWarp;
    if (perWarp != 1) {
      place = arith::MulIOp::create(b, loc, place, word(perWarp));
      place = arith::AddIOp::create(b, loc, place, lane);
    }
    return arith::IndexCastUIOp::create(b, loc, index, place);
  };
  {
    OpBuilder::InsertionGuard guard(b);
    Value place = placeOf(warp);
    // Where all threads of a warp have the same, each sends it to one block.
    bool sendsByLane = isFar && own == 0;
    if (inWarp != 0) {
      Value stores = isFirstOf(inWarp);
      if (sendsByLane)
        stores = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                       getLane(), word(layout.cluster));
      auto branch = scf::IfOp::create(b, loc, stores, /*withElse=*/false);
      b.setInsertionPoint(branch.thenYield());
    }
    if (!isFar)
      storeWords(parts, place, places);
    else if (sendsByLane)
      sendWords(parts, place, places, getLane());
    else
      for (unsigned block = 0; block < layout.cluster; ++block)
        sendWords(parts, place, places, word(block));
  }
  barrier();
  Value base = arith::AndIOp::create(b, loc, warp, word(allWarps & ~warps));
  int64_t count = int64_t(1) << llvm::popcount(warps);
  auto load = [&](Value number) {
    Value from =
        arith::OrIOp::create(b, loc, base, deposit(number, warps)).getResult();
    return loadWords(types, placeOf(from), places);
  };
  if (own == 0 && !isFar && count == places && count <= kDirectWarps &&
      count >= 4 && countWords(types) * count <= kDirectWords) {
    // Neighbours combine first, as lanes do: the result is the same.
    auto row = VectorType::get({4}, b.getI32Type());
    SmallVector<SmallVector<Value>> words(count);
    for (int64_t n = 0; n < countWords(types); ++n)
      for (int64_t first = 0; first < count; first += 4) {
        Value v = vector::LoadOp::create(
            b, loc, row, shared,
            constantIndex(mergeOffset / 4 + n * places + first),
            /*nontemporal=*/false, llvm::MaybeAlign(llvm::Align(16)));
        for (int64_t i = 0; i < 4; ++i)
          words[first + i].push_back(vector::ExtractOp::create(b, loc, v, i));
      }
    SmallVector<Parts> each;
    for (ArrayRef<Value> ofWarp : words)
      each.push_back(fromWords(types, ofWarp));
    for (int64_t distance = 1; distance < count; distance *= 2)
      for (int64_t i = 0; i < count; i += 2 * distance)
        combine(each[i], each[i + distance]);
    parts = each[0];
    return;
  }
  if (own == 0) {
    // The lanes of a warp take what one warp has each, or several have.
    auto combineWarps = [&] {
      int64_t taken = std::min<int64_t>(count, warpSize);
      Value number =
          arith::AndIOp::create(b, loc, getThreadWord(), word(taken - 1));
      parts = load(number);
      for (int64_t more = taken; more < count; more += taken)
        combine(parts, load(arith::AddIOp::create(b, loc, number, word(more))));
      overLanes(taken - 1);
    };
    if (!isForFirst)
      return combineWarps();
    // One warp is done sooner if the others do not do the same.
    auto branch =
        scf::IfOp::create(b, loc, types, isFirstOf(warps * warpSize), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, parts);
    b.setInsertionPointToStart(branch.thenBlock());
    combineWarps();
    scf::YieldOp::create(b, loc, parts);
    parts = Parts(branch.getResults());
    return;
  }
  if (!isFar && count >= 4) {
    // The lower half of the warps combines what the upper half has with its own,
    // and so on; then all take the result of the first: less work than if each
    // combined all. Who stores now does so where nobody reads before a barrier.
    Value number = compress(warp, warps), stores = isFirstOf(inWarp);
    auto inBranch = [&](Value condition, function_ref<Parts()> body) {
      auto branch = scf::IfOp::create(b, loc, types, condition, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc, body());
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc, parts);
      return Parts(branch.getResults());
    };
    for (int64_t half = count / 2; half >= 1; half /= 2) {
      Value isLower = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                            number, word(half));
      parts = inBranch(isLower, [&] {
        Parts both = parts;
        combine(both, load(arith::AddIOp::create(b, loc, number, word(half))));
        return both;
      });
      Value isNext = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                           number, word(half / 2));
      isNext = arith::AndIOp::create(
          b, loc, arith::AndIOp::create(b, loc, isNext, isLower), stores);
      auto branch = scf::IfOp::create(b, loc, isNext, /*withElse=*/false);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(branch.thenYield());
        storeWords(parts, placeOf(warp), places);
      }
      barrier();
    }
    parts = load(word(0));
    return;
  }
  parts = load(word(0));
  if (count * parts.size() <= 64) {
    for (int64_t i = 1; i < count; ++i)
      combine(parts, load(word(i)));
    return;
  }
  parts = emitFor(b, loc, constantIndex(1), constantIndex(count),
                  constantIndex(1), parts, [&](Value i, ValueRange state) {
                    Parts next(state);
                    combine(next, load(arith::IndexCastUIOp::create(
                                      b, loc, b.getI32Type(), i)));
                    return next;
                  });
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

Value RegisterEmitter::getLane() {
  return arith::AndIOp::create(b, loc, getThreadWord(), word(warpSize - 1));
}

void RegisterEmitter::startCluster() {
  if (layout.cluster == 1)
    return;
  emitClusterArrive(b, loc);
  isStarting = true;
}

void RegisterEmitter::awaitCluster() {
  if (!isStarting)
    return;
  emitClusterWait(b, loc);
  isStarting = false;
}

/// Also where only threads of a block have exchanged: the next ones to write
/// there may be others.
void RegisterEmitter::barrier() {
  if (auto before = std::exchange(beforeBarrier, nullptr))
    before();
  if (layout.cluster == 1) {
    GpuEmitter::barrier();
  } else {
    awaitCluster();
    Ptx(b, loc).synchronizeCluster();
  }
  if (auto behind = std::exchange(behindBarrier, nullptr))
    behind();
}

/// As storeWords, into the shared memory of a block of the cluster.
void RegisterEmitter::sendWords(ValueRange parts, Value place, int64_t places,
                                Value block) {
  Ptx ptx(b, loc);
  Value start = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, shared));
  Value at = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), place);
  at = ptx.add(start, ptx.mul(at, 4));
  int64_t number = 0;
  for (Value v : toWords(parts))
    emitStoreInCluster(b, loc, ptx.add(at, mergeOffset + number++ * places * 4),
                       block, v);
}
