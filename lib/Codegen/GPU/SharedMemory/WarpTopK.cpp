//===- WarpTopK.cpp - the largest elements of a row by a warp -------------===//
//
// A warp has a row, or several of them have parts of one. Its lanes hold a part at a time,
// every n-th element a lane of n, as keys: unsigned integers in the order of the elements,
// and numbers, of which the lower one goes first among equals, as when elements are
// inserted one after another. Rank r of the best so far is in lane r:
//
//     while the best of what the lanes hold goes before the last rank:
//         it is inserted at its rank, and its owner lets go of it
//
// so that most parts of a long row cost a comparison of each element. What several warps
// have found is a part again, which each of them goes through. What is stored is read again
// by its number.
//
//===----------------------------------------------------------------------===//
#include "WarpTopK.h"

#include "redfuse/Codegen/Common/OrderedRows.h"
#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

bool WarpTopK::canEmit() const {
  std::optional<int64_t> count =
      points.staticCountOf(emitter.axesOf(emitter.getNest().over));
  Type type = emitter.getReduces().front()->reduce.getOperand(0).getType();
  if (emitter.threads < emitter.getWarpSize() || (count && *count <= 1) ||
      !type.isIntOrFloat() || type.getIntOrFloatBitWidth() > 64)
    return false;
  if (count && *count <= kTopKCandidates * emitter.getWarpSize())
    return true;
  // A lane has a rank.
  const TileBuffer *values =
      emitter.findBuffer(emitter.getReduces().front()->reduce.getResult(0));
  unsigned rank = values->dims.back();
  return emitter.getDim(rank).staticSize &&
         *emitter.getDim(rank).staticSize <= emitter.getWarpSize();
}

void WarpTopK::emit() {
  Axes into = emitter.axesOf(emitter.getIntoDims()),
       over = emitter.axesOf(emitter.getNest().over);
  Value by = emitter.constantIndex(emitter.getWarpSize());
  Value warp = points.divide(emitter.thread, by, /*remainder=*/false);
  lane = points.divide(emitter.thread, by, /*remainder=*/true);
  int64_t warps = emitter.threads / emitter.getWarpSize();
  team =
      chooseTeam(points.staticCountOf(into), points.staticCountOf(over), warps);
  Value first = points.divide(warp, emitter.constantIndex(team), false);
  share = points.divide(warp, emitter.constantIndex(team), true);
  Value count = points.countOf(into);
  emitFor(b, loc, emitter.constantIndex(0), count,
          emitter.constantIndex(warps / team), {}, [&](Value base, ValueRange) {
            // Warps beyond the end go through the motions and store nothing.
            Value number = arith::AddIOp::create(b, loc, base, first);
            Value exists = arith::CmpIOp::create(
                b, loc, arith::CmpIPredicate::ult, number, count);
            Value last =
                arith::SubIOp::create(b, loc, count, emitter.constantIndex(1));
            number = arith::MinUIOp::create(b, loc, number, last);
            Env env = emitter.getOrigin();
            points.bind(env, into, number);
            emitter.emitAvailable(env);
            emitRow(env, over, exists);
            return SmallVector<Value>();
          });
}

/// How many warps share a row: all that have none of their own, as far as each has an element
/// a lane, and each lane a rank.
int64_t WarpTopK::chooseTeam(std::optional<int64_t> rows,
                             std::optional<int64_t> length,
                             int64_t warps) const {
  std::optional<int64_t> ranks = emitter.getDim(getRankDim()).staticSize;
  if (!rows || !ranks || *ranks > emitter.getWarpSize())
    return 1;
  int64_t team = 1;
  while (2 * team * *rows <= warps && warps % (2 * team) == 0 &&
         (!length || 2 * team * emitter.getWarpSize() <= *length))
    team *= 2;
  return team;
}

/// An unsigned integer in the order of top-k: NaN is the largest, and two of them are
/// equal, as the zeros of both signs are.
static Value makeKey(OpBuilder &b, Location loc, Value v) {
  bool isFloat = isa<FloatType>(v.getType());
  unsigned bits = v.getType().getIntOrFloatBitWidth() > 32 ? 64 : 32;
  Type word = b.getIntegerType(bits);
  auto number = [&](const APInt &n) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(word, n));
  };
  Value sign = number(APInt::getSignMask(bits));
  if (!isFloat) {
    if (v.getType() != word)
      v = arith::ExtSIOp::create(b, loc, word, v);
    return arith::XOrIOp::create(b, loc, v, sign);
  }
  Type wide = bits == 64 ? Type(b.getF64Type()) : Type(b.getF32Type());
  if (v.getType() != wide)
    v = arith::ExtFOp::create(b, loc, wide, v);
  auto is = [&](arith::CmpFPredicate kind, Value x, Value y) -> Value {
    return arith::CmpFOp::create(b, loc, kind, x, y);
  };
  Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(wide, 0));
  Value isZero = is(arith::CmpFPredicate::OEQ, v, zero);
  v = arith::SelectOp::create(b, loc, isZero, zero, v);
  Value key = arith::BitcastOp::create(b, loc, word, v);
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           key, number(APInt::getZero(bits)));
  Value all = number(APInt::getAllOnes(bits));
  Value flip = arith::SelectOp::create(b, loc, isNegative, all, sign);
  key = arith::XOrIOp::create(b, loc, key, flip);
  return arith::SelectOp::create(b, loc, is(arith::CmpFPredicate::UNO, v, v),
                                 all, key);
}

WarpTopK::Candidate WarpTopK::nothing(Type key) {
  return {emitter.constant(b.getIntegerAttr(key, 0)),
          emitter.constant(b.getI32IntegerAttr(-1))};
}

Value WarpTopK::goesBefore(const Candidate &a, const Candidate &c) {
  auto is = [&](arith::CmpIPredicate kind, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, kind, x, y);
  };
  Value first =
      arith::AndIOp::create(b, loc, is(arith::CmpIPredicate::eq, a.key, c.key),
                            is(arith::CmpIPredicate::ult, a.number, c.number));
  return arith::OrIOp::create(
      b, loc, is(arith::CmpIPredicate::ugt, a.key, c.key), first);
}

WarpTopK::Candidate WarpTopK::pick(Value condition, const Candidate &a,
                                   const Candidate &c) {
  return {arith::SelectOp::create(b, loc, condition, a.key, c.key),
          arith::SelectOp::create(b, loc, condition, a.number, c.number)};
}

/// The candidates of a lane, each as many elements behind the other from `start` on as the
/// team has lanes; the first `whole` of all lanes' exist.
SmallVector<WarpTopK::Candidate>
WarpTopK::loadCandidates(Env &row, ArrayRef<Axis> over, Value start,
                         int64_t most, int64_t whole) {
  ReduceOp reduce = emitter.getReduces().front()->reduce;
  Value count = points.countOf(over);
  Value last = arith::SubIOp::create(b, loc, count, emitter.constantIndex(1));
  SmallVector<Candidate> held;
  int64_t lanes = team * emitter.getWarpSize();
  for (int64_t i = 0; i < most; i += lanes) {
    Value point =
        b.createOrFold<arith::AddIOp>(loc, start, emitter.constantIndex(i));
    bool isWhole = i + lanes <= whole;
    Env env = row;
    points.bind(env, over,
                isWhole
                    ? point
                    : arith::MinUIOp::create(b, loc, point, last).getResult());
    emitter.emitAvailable(env);
    Candidate made{makeKey(b, loc, emitter.valueOf(reduce.getOperand(0), env)),
                   arith::IndexCastOp::create(b, loc, b.getI32Type(), point)};
    if (!isWhole)
      made = pick(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                        point, count),
                  made, nothing(made.key.getType()));
    held.push_back(made);
  }
  return held;
}

/// The best of what this lane holds, keys and numbers.
WarpTopK::Candidate WarpTopK::findBest(ValueRange held) {
  Candidate best{held[0], held[1]};
  for (size_t i = 2; i < held.size(); i += 2) {
    Candidate other{held[i], held[i + 1]};
    best = pick(goesBefore(other, best), other, best);
  }
  return best;
}

/// The best of what all lanes have: the largest key, and the lowest number with it.
WarpTopK::Candidate WarpTopK::findBestOfWarp(Candidate best) {
  if (emitter.reducesWords && best.key.getType().isInteger(32)) {
    // The conversion to NVVM knows signed ones only.
    Value sign = emitter.constant(
        b.getIntegerAttr(best.key.getType(), APInt::getSignMask(32)));
    auto reduce = [&](Value v, gpu::AllReduceOperation how) -> Value {
      v = gpu::SubgroupReduceOp::create(b, loc,
                                        arith::XOrIOp::create(b, loc, v, sign),
                                        how, /*uniform=*/true);
      return arith::XOrIOp::create(b, loc, v, sign);
    };
    Value key = reduce(best.key, gpu::AllReduceOperation::MAXSI);
    Value has =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, best.key, key);
    Value number = pick(has, best, nothing(best.key.getType())).number;
    return {key, reduce(number, gpu::AllReduceOperation::MINSI)};
  }
  for (unsigned distance = 1; distance < emitter.getWarpSize(); distance *= 2) {
    Parts parts = emitter.words.shuffle({best.key, best.number}, distance);
    Candidate other{parts[0], parts[1]};
    best = pick(goesBefore(other, best), other, best);
  }
  return best;
}

/// Its owner lets go of it.
SmallVector<Value> WarpTopK::letGo(ValueRange held, const Candidate &best) {
  SmallVector<Value> left;
  Candidate none = nothing(best.key.getType());
  for (size_t i = 0; i < held.size(); i += 2) {
    Value isTaken = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          held[i + 1], best.number);
    Candidate now = pick(isTaken, none, {held[i], held[i + 1]});
    left.append({now.key, now.number});
  }
  return left;
}

/// The best goes first, by Batcher's odd-even merges: 19 comparisons of 8, 63 of 16.
void WarpTopK::sort(MutableArrayRef<Candidate> held) {
  size_t count = held.size();
  for (size_t run = 1; run < count; run *= 2)
    for (size_t far = run; far >= 1; far /= 2)
      for (size_t from = far % run; from + far < count; from += 2 * far)
        for (size_t i = from; i < std::min(from + far, count - far); ++i) {
          if (i / (2 * run) != (i + far) / (2 * run))
            continue;
          Candidate &first = held[i], &second = held[i + far];
          Value swaps = goesBefore(second, first);
          Candidate best = pick(swaps, second, first);
          second = pick(swaps, first, second);
          first = best;
        }
}

/// The same as `letGo` of what is sorted, whose first one alone can be the best.
SmallVector<Value> WarpTopK::takeFirst(ValueRange held, const Candidate &best) {
  SmallVector<Value> left;
  Candidate none = nothing(best.key.getType());
  Value isTaken = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        held[1], best.number);
  for (size_t i = 0; i < held.size(); i += 2) {
    Candidate next =
        i + 2 < held.size() ? Candidate{held[i + 2], held[i + 3]} : none;
    Candidate now = pick(isTaken, next, {held[i], held[i + 1]});
    left.append({now.key, now.number});
  }
  return left;
}

/// What has the ranks, a lane each, with candidates among it.
WarpTopK::Candidate WarpTopK::insert(ArrayRef<Candidate> held, Candidate mine) {
  Value first = emitter.constantIndex(0), one = emitter.constantIndex(1);
  Value last = arith::SubIOp::create(b, loc, getRanks(), one);
  Value before = arith::SubIOp::create(
      b, loc, arith::MaxUIOp::create(b, loc, lane, one), one);
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, first);
  SmallVector<Value> state;
  for (const Candidate &candidate : held)
    state.append({candidate.key, candidate.number});
  Candidate best = findBestOfWarp(findBest(state));
  state.append({mine.key, mine.number, best.key, best.number});
  auto at = [](ValueRange values, size_t fromEnd) {
    return Candidate{values[values.size() - fromEnd],
                     values[values.size() - fromEnd + 1]};
  };
  auto other = [&](const Candidate &of, Value there) {
    Parts parts = emitter.words.shuffleFrom({of.key, of.number}, there);
    return Candidate{parts[0], parts[1]};
  };
  auto loop = scf::WhileOp::create(
      b, loc, ValueRange(state).getTypes(), state,
      [&](OpBuilder &, Location, ValueRange now) {
        Value isNew = goesBefore(at(now, 2), other(at(now, 4), last));
        scf::ConditionOp::create(b, loc, isNew, now);
      },
      [&](OpBuilder &, Location, ValueRange now) {
        Candidate mine = at(now, 4), best = at(now, 2);
        Candidate above = other(mine, before);
        // Ranks behind it move by one.
        Value isBehind = goesBefore(best, mine);
        Value isFar = arith::SelectOp::create(
            b, loc, isFirst, emitter.constant(b.getBoolAttr(false)),
            goesBefore(best, above));
        mine = pick(isFar, above, pick(isBehind, best, mine));
        SmallVector<Value> left = letGo(now.drop_back(4), best);
        best = findBestOfWarp(findBest(left));
        left.append({mine.key, mine.number, best.key, best.number});
        scf::YieldOp::create(b, loc, left);
      });
  return at(loop.getResults(), 4);
}

Value WarpTopK::getRanks() { return emitter.getDim(getRankDim()).size; }

unsigned WarpTopK::getRankDim() const {
  ReduceOp reduce = emitter.getReduces().front()->reduce;
  return emitter.findBuffer(reduce.getResult(0))->dims.back();
}

/// Stores a candidate at a rank where there is such a rank.
void WarpTopK::store(Env &row, ArrayRef<Axis> over, Value rank, Value exists,
                     const Candidate &candidate) {
  ReduceOp reduce = emitter.getReduces().front()->reduce;
  Value isRank = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, rank,
                                       getRanks());
  auto branch =
      scf::IfOp::create(b, loc, arith::AndIOp::create(b, loc, exists, isRank),
                        /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  // What is none is read at the first element.
  Value zero = emitter.constant(b.getI32IntegerAttr(0));
  Value isNone = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                       candidate.number, zero);
  Value number =
      arith::SelectOp::create(b, loc, isNone, zero, candidate.number);
  Env from = row;
  points.bind(from, over,
              arith::IndexCastOp::create(b, loc, b.getIndexType(), number));
  emitter.emitAvailable(from);
  Env to = row;
  to.position[getRankDim()] = rank;
  auto storeOr = [&](unsigned i, Value none) {
    Value found = emitter.valueOf(reduce.getOperand(i), from);
    emitter.storeTile(*emitter.findBuffer(reduce.getResult(i)),
                      arith::SelectOp::create(b, loc, isNone, none, found), to);
  };
  storeOr(0, emitter.constant(getReducerIdentity(
                 Reducer::TopK, reduce.getOperand(0).getType())));
  storeOr(1, emitter.constant(
                 b.getIntegerAttr(reduce.getOperand(1).getType(), -1)));
}

/// All of a row is held: the best goes to its rank, one after another, as many at a time
/// as there are lanes.
void WarpTopK::takeInTurn(Env &row, ArrayRef<Axis> over, Value exists,
                          ArrayRef<Candidate> loaded) {
  SmallVector<Candidate> held(loaded);
  std::optional<int64_t> ranks = emitter.getDim(getRankDim()).staticSize;
  bool isSorted = !ranks || *ranks >= kTopKSortedRanks;
  if (isSorted)
    sort(held);
  SmallVector<Value> state;
  for (const Candidate &candidate : held)
    state.append({candidate.key, candidate.number});
  Candidate none = nothing(held.front().key.getType());
  Value lanes = emitter.constantIndex(emitter.getWarpSize()),
        one = emitter.constantIndex(1);
  emitFor(b, loc, emitter.constantIndex(0), getRanks(), lanes, state,
          [&](Value first, ValueRange now) {
            SmallVector<Value> inner(now);
            inner.append({none.key, none.number});
            Value left = arith::SubIOp::create(b, loc, getRanks(), first);
            Value count = arith::MinUIOp::create(b, loc, left, lanes);
            inner = emitFor(
                b, loc, emitter.constantIndex(0), count, one, inner,
                [&](Value at, ValueRange now) {
                  ValueRange own = now.drop_back(2);
                  Candidate best = findBestOfWarp(
                      isSorted ? Candidate{own[0], own[1]} : findBest(own));
                  SmallVector<Value> left =
                      isSorted ? takeFirst(own, best) : letGo(own, best);
                  Value isMine = arith::CmpIOp::create(
                      b, loc, arith::CmpIPredicate::eq, lane, at);
                  Candidate mine = pick(
                      isMine, best, {now[now.size() - 2], now[now.size() - 1]});
                  left.append({mine.key, mine.number});
                  return left;
                });
            size_t size = inner.size();
            store(row, over, arith::AddIOp::create(b, loc, first, lane), exists,
                  {inner[size - 2], inner[size - 1]});
            return SmallVector<Value>(ArrayRef(inner).drop_back(2));
          });
}

/// What the warps of a team have found, each of which then has the best of all.
WarpTopK::Candidate WarpTopK::mergeTeam(Candidate mine) {
  int64_t places = emitter.threads;
  // Others may still read what was there.
  emitter.barrier();
  emitter.words.store({mine.key, mine.number}, emitter.thread, places);
  emitter.barrier();
  Value first = arith::SubIOp::create(
      b, loc, emitter.thread,
      arith::MulIOp::create(b, loc, share,
                            emitter.constantIndex(emitter.getWarpSize())));
  SmallVector<Type> types{mine.key.getType(), mine.number.getType()};
  SmallVector<Candidate> held;
  for (int64_t i = 0; i < team; ++i) {
    Parts parts = emitter.words.load(
        types,
        arith::AddIOp::create(b, loc, first,
                              emitter.constantIndex(i * emitter.getWarpSize())),
        places);
    held.push_back({parts[0], parts[1]});
  }
  return insert(held, nothing(mine.key.getType()));
}

void WarpTopK::emitRow(Env &row, ArrayRef<Axis> over, Value exists) {
  int64_t lanes = team * emitter.getWarpSize(), part = kTopKCandidates * lanes;
  std::optional<int64_t> known = points.staticCountOf(over);
  if (team == 1 && known && *known <= part) {
    takeInTurn(
        row, over, exists,
        loadCandidates(row, over, lane, llvm::alignTo(*known, lanes), *known));
    return;
  }
  if (known && *known < part)
    part = llvm::alignTo(*known, lanes);
  Type value = emitter.getReduces().front()->reduce.getOperand(0).getType();
  Candidate none =
      nothing(b.getIntegerType(value.getIntOrFloatBitWidth() > 32 ? 64 : 32));
  Value own = arith::AddIOp::create(
      b, loc, lane,
      arith::MulIOp::create(b, loc, share,
                            emitter.constantIndex(emitter.getWarpSize())));
  SmallVector<Value> ranks =
      emitFor(b, loc, emitter.constantIndex(0), points.countOf(over),
              emitter.constantIndex(part), {none.key, none.number},
              [&](Value start, ValueRange before) {
                Value first = arith::AddIOp::create(b, loc, start, own);
                Candidate mine = insert(
                    loadCandidates(row, over, first, part,
                                   known && *known % part == 0 ? part : 0),
                    {before[0], before[1]});
                return SmallVector<Value>{mine.key, mine.number};
              });
  Candidate found{ranks[0], ranks[1]};
  if (team > 1) {
    found = mergeTeam(found);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          share, emitter.constantIndex(0));
    exists = arith::AndIOp::create(b, loc, exists, isFirst);
  }
  store(row, over, lane, exists, found);
}
