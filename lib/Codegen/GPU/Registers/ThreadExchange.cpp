//===- ThreadExchange.cpp - what threads combine with each other ----------===//
#include "ThreadExchange.h"
#include "Tuning.h"

#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Common/Ptx.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Parts of threads that differ in `bits` of their numbers alone, through shared
/// memory: those of a warp have been combined.
class ThreadExchange::Round {
public:
  Round(ThreadExchange &of, unsigned bits, const Parts &parts, Combine combine,
        CombineLanes combineLanes);

  void send(const Parts &parts);
  /// All threads have the result, or (`isForFirst`) the first one has.
  void receive(Parts &parts, bool isForFirst);
  void combineOverLanes(Parts &parts, unsigned differing);
  /// Some of what one of the warps has sent, after a barrier.
  Parts receiveSome(Value ofWarps, Value piece, size_t first, size_t count);

private:
  Value number(int64_t v) { return positions.word(v); }
  Value placeOf(Value ofWarp);
  Parts load(Value ofWarps);
  bool isDirect() const;
  void combineDirectly(Parts &parts);
  void combineByLanes(Parts &parts);
  void combineByHalves(Parts &parts);
  void combineInOrder(Parts &parts);
  Parts inBranch(Value condition, const Parts &otherwise,
                 function_ref<Parts()> body);

  ThreadExchange &of;
  ThreadPositions &positions;
  SharedWords &shared;
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
  /// Of the first byte that it sends.
  int64_t offset = 0;
  SmallVector<Type> types;
  /// The thread's warp, and which of those places of it the thread has.
  Value warp, lane;
  /// The first of the warps that are combined with it.
  Value base;
};

ThreadExchange::Round::Round(ThreadExchange &of, unsigned bits,
                             const Parts &parts, Combine combine,
                             CombineLanes combineLanes)
    : of(of), positions(of.positions), shared(of.words), b(of.b), loc(of.loc),
      combine(combine), combineOfLanes(combineLanes),
      inWarp(bits & (of.layout.warp - 1)), warps(bits / of.layout.warp),
      own((of.layout.warp - 1) & ~inWarp),
      isFar(bits & ~(of.layout.getThreadsOfBlock() - 1)),
      perWarp(int64_t(1) << llvm::popcount(own)),
      places(of.layout.threads / of.layout.warp * perWarp),
      count(int64_t(1) << llvm::popcount(warps)) {
  for (Value part : parts)
    types.push_back(part.getType());
}

void ThreadExchange::Round::combineOverLanes(Parts &parts, unsigned differing) {
  if (combineOfLanes && llvm::popcount(differing) > 1)
    return combineOfLanes(parts, differing);
  for (unsigned distance = 1; distance < of.layout.warp; distance *= 2)
    if (differing & distance)
      combine(parts, shared.shuffle(parts, distance));
}

/// Where a warp has what this thread combines.
Value ThreadExchange::Round::placeOf(Value ofWarp) {
  Value place = ofWarp;
  if (perWarp != 1) {
    place = arith::MulIOp::create(b, loc, place, number(perWarp));
    place = arith::AddIOp::create(b, loc, place, lane);
  }
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), place);
}

/// What one of the warps that are combined has sent.
ThreadExchange::Parts ThreadExchange::Round::load(Value ofWarps) {
  Value from =
      arith::OrIOp::create(b, loc, base, positions.deposit(ofWarps, warps));
  return shared.load(types, placeOf(from), places);
}

void ThreadExchange::Round::send(const Parts &parts) {
  int64_t bytes = llvm::alignTo(SharedWords::count(types) * places * 4, 16);
  if (of.used != 0 && of.used + bytes > kExchangeLimit) {
    of.barrier();
    of.used = 0;
  }
  if (isFar)
    of.awaitCluster();
  shared.offset = offset = of.used;
  of.used += bytes;
  of.bytes = std::max(of.bytes, of.used);
  of.hasExchanged = true;
  ++of.count;
  warp = arith::ShRUIOp::create(b, loc, positions.getThreadWord(),
                                number(llvm::Log2_32(of.layout.warp)));
  lane = positions.compress(positions.getThreadWord(), own);

  OpBuilder::InsertionGuard guard(b);
  unsigned cluster = of.layout.cluster;
  Value place = placeOf(warp);
  // Where all threads of a warp have the same, each sends it to one block.
  bool sendsByLane = isFar && own == 0;
  if (inWarp != 0) {
    Value stores = positions.isFirstOf(inWarp);
    if (sendsByLane)
      stores = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                     positions.getLane(), number(cluster));
    auto branch = scf::IfOp::create(b, loc, stores, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  }
  if (!isFar)
    shared.store(parts, place, places);
  else if (sendsByLane)
    of.sendWords(parts, place, places, positions.getLane());
  else
    for (unsigned block = 0; block < cluster; ++block)
      of.sendWords(parts, place, places, number(block));
}

void ThreadExchange::Round::receive(Parts &parts, bool isForFirst) {
  unsigned allWarps = of.layout.threads / of.layout.warp - 1;
  base = arith::AndIOp::create(b, loc, warp, number(allWarps & ~warps));
  if (isDirect())
    return combineDirectly(parts);
  if (own != 0)
    return !isFar && count >= 4 ? combineByHalves(parts)
                                : combineInOrder(parts);
  if (!isForFirst)
    return combineByLanes(parts);
  // One warp is done sooner if the others do not do the same.
  Value isFirst = positions.isFirstOf(warps * of.layout.warp);
  parts = inBranch(isFirst, parts, [&] {
    Parts all = parts;
    combineByLanes(all);
    return all;
  });
}

ThreadExchange::Parts ThreadExchange::Round::receiveSome(Value ofWarps,
                                                         Value piece,
                                                         size_t first,
                                                         size_t count) {
  unsigned allWarps = of.layout.threads / of.layout.warp - 1;
  base = arith::AndIOp::create(b, loc, warp, number(allWarps & ~warps));
  Value from =
      arith::OrIOp::create(b, loc, base, positions.deposit(ofWarps, warps));
  ArrayRef<Type> all(types);
  shared.offset =
      offset + SharedWords::count(all.take_front(first)) * places * 4;
  int64_t step = SharedWords::count(all.slice(first, count)) * places;
  Value behind = arith::IndexCastUIOp::create(
      b, loc, b.getIndexType(),
      arith::MulIOp::create(b, loc, piece, number(step)).getResult());
  return shared.load(all.slice(first, count),
                     arith::AddIOp::create(b, loc, placeOf(from), behind),
                     places);
}

/// The results of `body` where `condition` holds.
ThreadExchange::Parts
ThreadExchange::Round::inBranch(Value condition, const Parts &otherwise,
                                function_ref<Parts()> body) {
  auto branch = scf::IfOp::create(b, loc, types, condition, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, body());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, otherwise);
  return Parts(branch.getResults());
}

bool ThreadExchange::Round::isDirect() const {
  return own == 0 && !isFar && count == places && count <= kDirectWarps &&
         count >= 4 && SharedWords::count(types) * count <= kDirectWords;
}

/// Each thread reads what all warps have. Neighbours combine first, as lanes do: the
/// result is the same.
void ThreadExchange::Round::combineDirectly(Parts &parts) {
  auto row = VectorType::get({4}, b.getI32Type());
  SmallVector<SmallVector<Value>> words(count);
  for (int64_t n = 0; n < SharedWords::count(types); ++n)
    for (int64_t first = 0; first < count; first += 4) {
      Value v = vector::LoadOp::create(
          b, loc, row, shared.memory,
          of.emitter.constantIndex(shared.offset / 4 + n * places + first),
          /*nontemporal=*/false, llvm::MaybeAlign(llvm::Align(16)));
      for (int64_t i = 0; i < 4; ++i)
        words[first + i].push_back(vector::ExtractOp::create(b, loc, v, i));
    }
  SmallVector<Parts> each;
  for (ArrayRef<Value> ofWarp : words)
    each.push_back(shared.fromWords(types, ofWarp));
  for (int64_t distance = 1; distance < count; distance *= 2)
    for (int64_t i = 0; i < count; i += 2 * distance)
      combine(each[i], each[i + distance]);
  parts = each[0];
}

/// The lanes of a warp take what one warp has each, or several have.
void ThreadExchange::Round::combineByLanes(Parts &parts) {
  int64_t taken = std::min<int64_t>(count, of.layout.warp);
  Value mine = arith::AndIOp::create(b, loc, positions.getThreadWord(),
                                     number(taken - 1));
  parts = load(mine);
  for (int64_t more = taken; more < count; more += taken)
    combine(parts, load(arith::AddIOp::create(b, loc, mine, number(more))));
  combineOverLanes(parts, taken - 1);
}

/// The lower half of the warps combines what the upper half has with its own, and
/// so on; then all take the result of the first: less work than if each combined
/// all. Who stores now does so where nobody reads before a barrier.
void ThreadExchange::Round::combineByHalves(Parts &parts) {
  Value mine = positions.compress(warp, warps),
        stores = positions.isFirstOf(inWarp);
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
      shared.store(parts, placeOf(warp), places);
    }
    of.barrier();
  }
  parts = load(number(0));
}

/// Each thread combines what all warps have, one after another.
void ThreadExchange::Round::combineInOrder(Parts &parts) {
  parts = load(number(0));
  if (count * parts.size() <= kUnrolledValues) {
    for (int64_t i = 1; i < count; ++i)
      combine(parts, load(number(i)));
    return;
  }
  auto index = [&](int64_t v) { return of.emitter.constantIndex(v); };
  parts = emitFor(b, loc, index(1), index(count), index(1), parts,
                  [&](Value i, ValueRange state) {
                    Parts next(state);
                    combine(next, load(arith::IndexCastUIOp::create(
                                      b, loc, b.getI32Type(), i)));
                    return next;
                  });
}

void ThreadExchange::combineAcross(Parts &parts, unsigned bits, Combine combine,
                                   CombineLanes combineLanes, bool isForFirst) {
  bits &= layout.threads - 1;
  Round round(*this, bits, parts, combine, combineLanes);
  round.combineOverLanes(parts, bits & (layout.warp - 1));
  if (bits / layout.warp == 0)
    return;
  round.send(parts);
  barrier();
  round.receive(parts, isForFirst);
}

/// By steps of 1, 2, 4 ... lanes: each has what twice as many before it have.
ThreadExchange::Parts
ThreadExchange::combineInOrder(Parts &parts, unsigned bits, Combine combine) {
  unsigned first = bits & -bits;
  Value lane = positions.getLane(),
        number = positions.compress(positions.getThreadWord(), bits);
  auto takeBefore = [&](unsigned distance) {
    Value from = arith::SubIOp::create(b, loc, lane, positions.word(distance));
    from = arith::AndIOp::create(b, loc, from, positions.word(layout.warp - 1));
    return llvm::map_to_vector(parts,
                               [&](Value v) { return takeFrom(v, from); });
  };
  for (unsigned distance = 1; distance * first <= bits; distance *= 2) {
    Parts both(takeBefore(distance * first));
    combine(both, parts);
    Value isBehind = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                           number, positions.word(distance));
    for (auto [part, v] : llvm::zip_equal(parts, both))
      part = arith::SelectOp::create(b, loc, isBehind, v, part);
  }
  Parts before(takeBefore(first));
  Value last = arith::OrIOp::create(b, loc, lane, positions.word(bits));
  for (Value &part : parts)
    part = takeFrom(part, last);
  return before;
}

ThreadExchange::PartsOfWarp ThreadExchange::gatherWarps(const Parts &parts,
                                                        unsigned bits) {
  auto round = std::make_shared<Round>(*this, bits, parts, Combine(), nullptr);
  round->send(parts);
  barrier();
  return [round](Value warp, Value piece, size_t first, size_t count) {
    return round->receiveSome(warp, piece, first, count);
  };
}

Value ThreadExchange::shareWord(Value v) {
  // One word, written by the first thread.
  barrier();
  auto branch = scf::IfOp::create(b, loc, positions.isFirstThread(),
                                  /*withElse=*/false);
  Value at = emitter.constantIndex(0);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    memref::StoreOp::create(b, loc, v, words.memory, at);
  }
  barrier();
  Value all = memref::LoadOp::create(b, loc, words.memory, at);
  barrier();
  used = 0;
  bytes = std::max<int64_t>(bytes, 16);
  return all;
}

Value ThreadExchange::takeFrom(Value part, Value lane) {
  SmallVector<Type> types{part.getType()};
  SmallVector<Value> taken = words.toWords({part});
  for (Value &v : taken)
    v = gpu::ShuffleOp::create(b, loc, v.getType(), b.getI1Type(), v, lane,
                               positions.word(layout.warp),
                               gpu::ShuffleMode::IDX)
            .getShuffleResult();
  return words.fromWords(types, taken).front();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void ThreadExchange::startCluster() {
  if (layout.cluster == 1)
    return;
  emitClusterArrive(b, loc);
  isStarting = true;
}

void ThreadExchange::awaitCluster() {
  if (!isStarting)
    return;
  emitClusterWait(b, loc);
  isStarting = false;
}

/// Also where only threads of a block have exchanged: the next ones to write
/// there may be others.
void ThreadExchange::barrier() {
  if (auto before = std::exchange(beforeBarrier, nullptr))
    before();
  if (layout.cluster == 1) {
    gpu::BarrierOp::create(b, loc);
  } else {
    awaitCluster();
    Ptx(b, loc).synchronizeCluster();
  }
  if (auto behind = std::exchange(behindBarrier, nullptr))
    behind();
}

void ThreadExchange::aroundNextBarrier(std::function<void()> before,
                                       std::function<void()> behind) {
  beforeBarrier = std::move(before);
  behindBarrier = std::move(behind);
}

/// As storeWords, into the shared memory of a block of the cluster.
void ThreadExchange::sendWords(ValueRange parts, Value place, int64_t places,
                               Value block) {
  Ptx ptx(b, loc);
  Value start = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, words.memory));
  Value at = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), place);
  at = ptx.add(start, ptx.mul(at, 4));
  int64_t number = 0;
  for (Value v : words.toWords(parts))
    emitStoreInCluster(
        b, loc, ptx.add(at, words.offset + number++ * places * 4), block, v);
}
