//===- RegisterExchange.cpp - what threads combine with each other --------===//
#include "Tuning.h"

#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Common/Ptx.h"
#include "redfuse/Codegen/GPU/Registers/RegisterEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Parts of threads that differ in `bits` of their numbers alone, through shared
/// memory: those of a warp have been combined.
class RegisterEmitter::Exchange {
public:
  Exchange(RegisterEmitter &emitter, unsigned bits, const Parts &parts,
           Combine combine, CombineLanes combineLanes);

  void send(const Parts &parts);
  /// All threads have the result, or (`isForFirst`) the first one has.
  void receive(Parts &parts, bool isForFirst);
  void combineOverLanes(Parts &parts, unsigned differing);

private:
  Value number(int64_t v) { return emitter.word(v); }
  Value placeOf(Value ofWarp);
  Parts load(Value ofWarps);
  bool isDirect() const;
  void combineDirectly(Parts &parts);
  void combineByLanes(Parts &parts);
  void combineByHalves(Parts &parts);
  void combineInOrder(Parts &parts);
  Parts inBranch(Value condition, const Parts &otherwise,
                 function_ref<Parts()> body);

  RegisterEmitter &emitter;
  OpBuilder &b;
  Location loc;
  Combine combine;
  CombineLanes combineOfLanes;
  /// The bits within a warp, and those of the numbers of warps.
  unsigned inWarp, warps;
  /// Those of the threads of a warp that have something of their own.
  unsigned own;
  /// Whether blocks of the cluster exchange.
  bool isFar;
  /// Places of a warp, of all, and how many warps are combined.
  int64_t perWarp, places, count;
  SmallVector<Type> types;
  /// The thread's warp, and which of those places of it the thread has.
  Value warp, lane;
  /// The first of the warps that are combined with it.
  Value base;
};

RegisterEmitter::Exchange::Exchange(RegisterEmitter &emitter, unsigned bits,
                                    const Parts &parts, Combine combine,
                                    CombineLanes combineLanes)
    : emitter(emitter), b(emitter.b), loc(emitter.loc), combine(combine),
      combineOfLanes(combineLanes), inWarp(bits & (emitter.warpSize - 1)),
      warps(bits / emitter.warpSize), own((emitter.warpSize - 1) & ~inWarp),
      isFar(bits & ~(emitter.layout.getThreadsOfBlock() - 1)),
      perWarp(int64_t(1) << llvm::popcount(own)),
      places(emitter.layout.threads / emitter.warpSize * perWarp),
      count(int64_t(1) << llvm::popcount(warps)) {
  for (Value part : parts)
    types.push_back(part.getType());
}

void RegisterEmitter::Exchange::combineOverLanes(Parts &parts,
                                                 unsigned differing) {
  if (combineOfLanes && llvm::popcount(differing) > 1)
    return combineOfLanes(parts, differing);
  for (unsigned distance = 1; distance < emitter.warpSize; distance *= 2)
    if (differing & distance)
      combine(parts, emitter.shuffle(parts, distance));
}

/// Where a warp has what this thread combines.
Value RegisterEmitter::Exchange::placeOf(Value ofWarp) {
  Value place = ofWarp;
  if (perWarp != 1) {
    place = arith::MulIOp::create(b, loc, place, number(perWarp));
    place = arith::AddIOp::create(b, loc, place, lane);
  }
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), place);
}

/// What one of the warps that are combined has sent.
RegisterEmitter::Parts RegisterEmitter::Exchange::load(Value ofWarps) {
  Value from =
      arith::OrIOp::create(b, loc, base, emitter.deposit(ofWarps, warps));
  return emitter.loadWords(types, placeOf(from), places);
}

void RegisterEmitter::Exchange::send(const Parts &parts) {
  int64_t bytes = llvm::alignTo(countWords(types) * places * 4, 16);
  if (emitter.exchangeUsed != 0 &&
      emitter.exchangeUsed + bytes > kExchangeLimit) {
    emitter.barrier();
    emitter.exchangeUsed = 0;
  }
  if (isFar)
    emitter.awaitCluster();
  emitter.mergeOffset = emitter.exchangeUsed;
  emitter.exchangeUsed += bytes;
  emitter.exchangeBytes = std::max(emitter.exchangeBytes, emitter.exchangeUsed);
  emitter.hasExchanged = true;
  ++emitter.numExchanges;
  warp = arith::ShRUIOp::create(b, loc, emitter.getThreadWord(),
                                number(llvm::Log2_32(emitter.warpSize)));
  lane = emitter.compress(emitter.getThreadWord(), own);

  OpBuilder::InsertionGuard guard(b);
  unsigned cluster = emitter.layout.cluster;
  Value place = placeOf(warp);
  // Where all threads of a warp have the same, each sends it to one block.
  bool sendsByLane = isFar && own == 0;
  if (inWarp != 0) {
    Value stores = emitter.isFirstOf(inWarp);
    if (sendsByLane)
      stores = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                     emitter.getLane(), number(cluster));
    auto branch = scf::IfOp::create(b, loc, stores, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  }
  if (!isFar)
    emitter.storeWords(parts, place, places);
  else if (sendsByLane)
    emitter.sendWords(parts, place, places, emitter.getLane());
  else
    for (unsigned block = 0; block < cluster; ++block)
      emitter.sendWords(parts, place, places, number(block));
}

void RegisterEmitter::Exchange::receive(Parts &parts, bool isForFirst) {
  unsigned allWarps = emitter.layout.threads / emitter.warpSize - 1;
  base = arith::AndIOp::create(b, loc, warp, number(allWarps & ~warps));
  if (isDirect())
    return combineDirectly(parts);
  if (own != 0)
    return !isFar && count >= 4 ? combineByHalves(parts)
                                : combineInOrder(parts);
  if (!isForFirst)
    return combineByLanes(parts);
  // One warp is done sooner if the others do not do the same.
  Value isFirst = emitter.isFirstOf(warps * emitter.warpSize);
  parts = inBranch(isFirst, parts, [&] {
    Parts all = parts;
    combineByLanes(all);
    return all;
  });
}

/// The results of `body` where `condition` holds.
RegisterEmitter::Parts
RegisterEmitter::Exchange::inBranch(Value condition, const Parts &otherwise,
                                    function_ref<Parts()> body) {
  auto branch = scf::IfOp::create(b, loc, types, condition, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, body());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, otherwise);
  return Parts(branch.getResults());
}

bool RegisterEmitter::Exchange::isDirect() const {
  return own == 0 && !isFar && count == places && count <= kDirectWarps &&
         count >= 4 && countWords(types) * count <= kDirectWords;
}

/// Each thread reads what all warps have. Neighbours combine first, as lanes do: the
/// result is the same.
void RegisterEmitter::Exchange::combineDirectly(Parts &parts) {
  auto row = VectorType::get({4}, b.getI32Type());
  SmallVector<SmallVector<Value>> words(count);
  for (int64_t n = 0; n < countWords(types); ++n)
    for (int64_t first = 0; first < count; first += 4) {
      Value v = vector::LoadOp::create(
          b, loc, row, emitter.shared,
          emitter.constantIndex(emitter.mergeOffset / 4 + n * places + first),
          /*nontemporal=*/false, llvm::MaybeAlign(llvm::Align(16)));
      for (int64_t i = 0; i < 4; ++i)
        words[first + i].push_back(vector::ExtractOp::create(b, loc, v, i));
    }
  SmallVector<Parts> each;
  for (ArrayRef<Value> ofWarp : words)
    each.push_back(emitter.fromWords(types, ofWarp));
  for (int64_t distance = 1; distance < count; distance *= 2)
    for (int64_t i = 0; i < count; i += 2 * distance)
      combine(each[i], each[i + distance]);
  parts = each[0];
}

/// The lanes of a warp take what one warp has each, or several have.
void RegisterEmitter::Exchange::combineByLanes(Parts &parts) {
  int64_t taken = std::min<int64_t>(count, emitter.warpSize);
  Value mine =
      arith::AndIOp::create(b, loc, emitter.getThreadWord(), number(taken - 1));
  parts = load(mine);
  for (int64_t more = taken; more < count; more += taken)
    combine(parts, load(arith::AddIOp::create(b, loc, mine, number(more))));
  combineOverLanes(parts, taken - 1);
}

/// The lower half of the warps combines what the upper half has with its own, and
/// so on; then all take the result of the first: less work than if each combined
/// all. Who stores now does so where nobody reads before a barrier.
void RegisterEmitter::Exchange::combineByHalves(Parts &parts) {
  Value mine = emitter.compress(warp, warps),
        stores = emitter.isFirstOf(inWarp);
  for (int64_t half = count / 2; half >= 1; half /= 2) {
    Value isLower = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                          mine, number(half));
    parts = inBranch(isLower, parts, [&] {
      Parts both = parts;
      combine(both, load(arith::AddIOp::create(b, loc, mine, number(half))));
      return both;
    });
    Value isNext = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                         mine, number(half / 2));
    isNext = arith::AndIOp::create(
        b, loc, arith::AndIOp::create(b, loc, isNext, isLower), stores);
    auto branch = scf::IfOp::create(b, loc, isNext, /*withElse=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(branch.thenYield());
      emitter.storeWords(parts, placeOf(warp), places);
    }
    emitter.barrier();
  }
  parts = load(number(0));
}

/// Each thread combines what all warps have, one after another.
void RegisterEmitter::Exchange::combineInOrder(Parts &parts) {
  parts = load(number(0));
  if (count * parts.size() <= kUnrolledValues) {
    for (int64_t i = 1; i < count; ++i)
      combine(parts, load(number(i)));
    return;
  }
  auto index = [&](int64_t v) { return emitter.constantIndex(v); };
  parts = emitFor(b, loc, index(1), index(count), index(1), parts,
                  [&](Value i, ValueRange state) {
                    Parts next(state);
                    combine(next, load(arith::IndexCastUIOp::create(
                                      b, loc, b.getI32Type(), i)));
                    return next;
                  });
}

/// Combines `parts` of the threads that differ in `bits` alone; all of them have
/// the result, or (`isForFirst`) the first one has. `combineLanes`: a way of its own
/// for threads of a warp.
void RegisterEmitter::combineAcross(Parts &parts, unsigned bits,
                                    Combine combine, CombineLanes combineLanes,
                                    bool isForFirst) {
  bits &= layout.threads - 1;
  Exchange exchange(*this, bits, parts, combine, combineLanes);
  exchange.combineOverLanes(parts, bits & (warpSize - 1));
  if (bits / warpSize == 0)
    return;
  exchange.send(parts);
  barrier();
  exchange.receive(parts, isForFirst);
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
