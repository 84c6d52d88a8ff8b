//===- FoldStates.cpp - states of folds in registers and memory -----------===//
#include "FoldStates.h"
#include "Tuning.h"

#include "redfuse/Codegen/GPU/Common/CommonPivot.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// The results that are states: outputs are stored as they are made.
static ValueRange statesOf(FoldOp fold) {
  return fold.getResults().take_front(fold.getNumStates());
}

SmallVector<Value> FoldStates::take(FoldOp fold) {
  SmallVector<Value> all;
  for (Value v : statesOf(fold))
    llvm::append_range(all, registers.take(emitter.tiles.find(v)->second));
  return all;
}

void FoldStates::set(FoldOp fold, ArrayRef<Value> elements) {
  for (Value v : statesOf(fold)) {
    const TileBuffer &tile = emitter.tiles.find(v)->second;
    int64_t n = positions.countElements(tile.dims);
    registers.set(tile, elements.take_front(n));
    elements = elements.drop_front(n);
  }
}

void FoldStates::fill(FoldOp fold) {
  for (auto [identity, result] :
       llvm::zip_equal(fold.getIdentities(), statesOf(fold)))
    registers.fill(emitter.tiles.find(result)->second,
                   cast<TypedAttr>(identity));
}

SmallVector<RegisterArray> FoldStates::unflatten(FoldOp fold,
                                                 ArrayRef<Value> elements) {
  SmallVector<RegisterArray> result;
  for (Value v : statesOf(fold)) {
    const TileBuffer &tile = emitter.tiles.find(v)->second;
    int64_t n = positions.countElements(tile.dims);
    result.push_back({tile.dims, SmallVector<Value>(elements.take_front(n))});
    elements = elements.drop_front(n);
  }
  return result;
}

/// All elements of some values of a merge, from those that are known, its arguments
/// or others.
SmallVector<RegisterArray>
FoldStates::evaluateIn(Block &block, DenseMap<Value, RegisterArray> known,
                       ArrayRef<Value> wanted) {
  auto arrayOf = [&](Value v) -> const RegisterArray & {
    auto it = known.find(v);
    if (it == known.end()) {
      // A constant or a scalar from outside.
      Operation *def = v.getDefiningOp();
      Value own = def && def->hasTrait<OpTrait::ConstantLike>()
                      ? emitter.constant(cast<TypedAttr>(def->getAttr("value")))
                      : emitter.captured.lookup(v);
      it = known.try_emplace(v, RegisterArray{{}, {own}}).first;
    }
    return it->second;
  };
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> open(wanted);
  while (!open.empty()) {
    Value v = open.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!known.contains(v) && op && op->getBlock() == &block &&
        needed.insert(op).second)
      llvm::append_range(open, op->getOperands());
  }
  for (Operation &inner : block.without_terminator()) {
    if (inner.hasTrait<OpTrait::ConstantLike>() || !needed.contains(&inner))
      continue;
    SmallVector<unsigned> over;
    for (Value v : inner.getOperands())
      for (unsigned d : RegisterArray(arrayOf(v)).dims)
        if (!llvm::is_contained(over, d))
          over.push_back(d);
    llvm::sort(over);
    SmallVector<RegisterArray> results(inner.getNumResults(),
                                       RegisterArray{over, {}});
    positions.forElements(over, [&](ArrayRef<int64_t> local) {
      auto at = [&](ValueRange range) {
        return llvm::map_to_vector(range, [&](Value v) {
          return registers.elementOf(arrayOf(v), local);
        });
      };
      SmallVector<Value> made;
      if (auto combine = dyn_cast<CombineOp>(inner))
        made = emitter.emitCombine(combine.getCombine(), at(combine.getLeft()),
                                   at(combine.getRight()));
      else
        made = emitter.emitOpOn(&inner, at(inner.getOperands()));
      for (auto [array, v] : llvm::zip_equal(results, made))
        array.elements.push_back(v);
    });
    for (auto [v, array] : llvm::zip_equal(inner.getResults(), results))
      known[v] = std::move(array);
  }
  return llvm::map_to_vector(wanted, [&](Value v) { return arrayOf(v); });
}

/// The elements of `from` as the state `to` has them.
SmallVector<Value> FoldStates::elementsLike(const RegisterArray &from,
                                            Value to) {
  const TileBuffer &tile = emitter.tiles.find(to)->second;
  SmallVector<Value> result;
  positions.forElements(tile.dims, [&](ArrayRef<int64_t> local) {
    Value element = registers.elementOf(from, local);
    result.push_back(positions.laneDimOf(tile.dims) ? emitter.asVector(element)
                                                    : element);
  });
  return result;
}

/// The merge of a fold on all elements of two states.
SmallVector<Value> FoldStates::evaluateMerge(FoldOp fold, ArrayRef<Value> left,
                                             ArrayRef<Value> right) {
  Block &block = fold.getMerge().front();
  DenseMap<Value, RegisterArray> known;
  SmallVector<RegisterArray> states = unflatten(fold, left);
  for (RegisterArray &state : unflatten(fold, right))
    states.push_back(std::move(state));
  for (auto [arg, state] : llvm::zip_equal(block.getArguments(), states))
    known[arg] = std::move(state);
  SmallVector<Value> merged(cast<YieldOp>(block.getTerminator()).getValues());
  SmallVector<Value> result;
  for (auto [array, to] : llvm::zip_equal(
           evaluateIn(block, std::move(known), merged), statesOf(fold)))
    llvm::append_range(result, elementsLike(array, to));
  return result;
}

/// What the threads of a warp that differ in `bits` have merged: all agree on what
/// the others are moved to, each moves its own, and the rest is combined.
void FoldStates::mergeLanes(FoldOp fold, const CommonPivot &how, Parts &states,
                            unsigned bits) {
  Block &block = fold.getMerge().front();
  auto merged = cast<YieldOp>(block.getTerminator()).getValues();
  unsigned n = merged.size();
  SmallVector<RegisterArray> own = unflatten(fold, states), next = own;
  auto overBits = [&](Parts &parts, ThreadExchange::Combine combine) {
    for (unsigned distance = 1; distance < layout.warp; distance *= 2)
      if (bits & distance)
        combine(parts, words.shuffle(parts, distance));
  };
  Parts agreed;
  for (unsigned i : how.agreed)
    llvm::append_range(agreed, own[i].elements);
  auto share = [&](ArrayRef<Value> parts) {
    SmallVector<RegisterArray> arrays;
    for (unsigned i : how.agreed) {
      size_t count = own[i].elements.size();
      arrays.push_back({own[i].dims, llvm::to_vector(parts.take_front(count))});
      parts = parts.drop_front(count);
    }
    return arrays;
  };
  SmallVector<Value> wanted = llvm::map_to_vector(
      how.agreed, [&](unsigned i) -> Value { return merged[i]; });
  overBits(agreed, [&](Parts &mine, ArrayRef<Value> other) {
    DenseMap<Value, RegisterArray> known;
    for (auto [i, left, right] :
         llvm::zip_equal(how.agreed, share(mine), share(other))) {
      known[block.getArgument(i)] = left;
      known[block.getArgument(n + i)] = right;
    }
    mine.clear();
    for (auto [i, array] : llvm::zip_equal(
             how.agreed, evaluateIn(block, std::move(known), wanted)))
      llvm::append_range(mine, elementsLike(array, fold.getResult(i)));
  });
  // Of equals each took its own: now all have that of the first.
  if (!how.isSymmetric) {
    Value first = arith::AndIOp::create(
        b, loc, positions.getLane(), positions.word(~bits & (layout.warp - 1)));
    for (Value &v : agreed)
      v = exchange.takeFrom(v, first);
  }
  DenseMap<Value, RegisterArray> known;
  for (unsigned i = 0; i < n; ++i)
    known[block.getArgument(n + i)] = own[i];
  for (auto [i, array] : llvm::zip_equal(how.agreed, share(agreed)))
    known[merged[i]] = next[i] = array;
  wanted.clear();
  for (const CommonPivot::Moved &moved : how.moved)
    wanted.push_back(moved.contribution);
  Parts rest;
  SmallVector<Operation *> combines;
  for (auto [moved, array] :
       llvm::zip_equal(how.moved, evaluateIn(block, std::move(known), wanted)))
    for (Value v : elementsLike(array, fold.getResult(moved.number))) {
      rest.push_back(v);
      combines.push_back(moved.combine);
    }
  if (!combineByShares(rest, combines, bits))
    overBits(rest, [&](Parts &mine, ArrayRef<Value> other) {
      for (auto [v, w, combine] : llvm::zip_equal(mine, other, combines))
        v = emitter.emitOpOn(combine, {v, w}).front();
    });
  ArrayRef<Value> left(rest);
  for (const CommonPivot::Moved &moved : how.moved) {
    size_t count = own[moved.number].elements.size();
    next[moved.number].elements = llvm::to_vector(left.take_front(count));
    left = left.drop_front(count);
  }
  states.clear();
  for (const RegisterArray &array : next)
    llvm::append_range(states, array.elements);
}

/// Combines many parts by the same op: half of the lanes combine one half of them, the
/// others the other half, and so on, until every lane has one; then all take them from
/// each other. Less than half of the shuffles.
bool FoldStates::combineByShares(Parts &parts, ArrayRef<Operation *> combines,
                                 unsigned bits) {
  if (parts.size() < 4 || llvm::popcount(bits) < 3 ||
      llvm::any_of(
          parts, [&](Value v) { return v.getType() != parts[0].getType(); }) ||
      llvm::any_of(combines, [&](Operation *op) {
        return op->getName() != combines[0]->getName();
      }))
    return false;
  SmallVector<Value> shares(parts);
  // Which lanes have a part, by the bits of their numbers.
  SmallVector<unsigned> places(parts.size(), 0), numbers(parts.size());
  for (auto [i, number] : llvm::enumerate(numbers))
    number = i;
  for (unsigned distance = layout.warp / 2; distance > 0; distance /= 2) {
    if (!(bits & distance))
      continue;
    unsigned half = llvm::divideCeil(shares.size(), 2);
    if (shares.size() == 1) {
      Value other = words.shuffle(shares, distance).front();
      shares[0] = emitter.emitOpOn(combines[0], {shares[0], other}).front();
      continue;
    }
    Value isUpper =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                              arith::AndIOp::create(b, loc, positions.getLane(),
                                                    positions.word(distance)),
                              positions.word(0));
    SmallVector<Value> next;
    for (unsigned i = 0; i < half; ++i) {
      Value low = shares[i],
            high = i + half < shares.size() ? shares[i + half] : shares[i];
      Value given = arith::SelectOp::create(b, loc, isUpper, low, high);
      Value kept = arith::SelectOp::create(b, loc, isUpper, high, low);
      Value other = words.shuffle({given}, distance).front();
      next.push_back(emitter.emitOpOn(combines[0], {kept, other}).front());
    }
    shares = std::move(next);
    for (auto [place, number] : llvm::zip_equal(places, numbers))
      if (number >= half) {
        place |= distance;
        number -= half;
      }
  }
  Value first = arith::AndIOp::create(
      b, loc, positions.getLane(), positions.word(~bits & (layout.warp - 1)));
  for (auto [part, place, number] : llvm::zip_equal(parts, places, numbers))
    part = exchange.takeFrom(
        shares[number],
        arith::OrIOp::create(b, loc, first, positions.word(place)));
  return true;
}

void FoldStates::merge(FoldOp fold, bool isForFirst) {
  Parts states = take(fold);
  auto merge = [&](Parts &mine, ArrayRef<Value> other) {
    mine = evaluateMerge(fold, mine, other);
  };
  std::optional<CommonPivot> pivot = findCommonPivot(fold);
  auto overLanes = [&](Parts &mine, unsigned bits) {
    mergeLanes(fold, *pivot, mine, bits);
  };
  if (pivot && pivot->cost >= kCostlyMove)
    exchange.combineAcross(states, positions.getPrivateBits(), merge, overLanes,
                           isForFirst);
  else
    exchange.combineAcross(states, positions.getPrivateBits(), merge, {},
                           isForFirst);
  set(fold, states);
}

void FoldStates::mergeWith(FoldOp fold, ArrayRef<Value> other) {
  set(fold, evaluateMerge(fold, take(fold), other));
}

//===----------------------------------------------------------------------===//
// States in memory
//===----------------------------------------------------------------------===//

/// Calls `body` with each element of the states, the bits of the threads that
/// have it, and the number of its first word.
template <typename Body>
void FoldStates::forStateElements(FoldOp fold, Body body) {
  int64_t word = 0;
  for (Value v : statesOf(fold)) {
    const TileBuffer &tile = emitter.tiles.find(v)->second;
    Type type = cast<RankedTensorType>(v.getType()).getElementType();
    if (positions.laneDimOf(tile.dims))
      type = VectorType::get({layout.lanes}, type);
    unsigned bits = positions.getBits(tile.dims);
    for (int64_t i = 0, n = positions.countElements(tile.dims); i < n; ++i) {
      body(type, bits, word);
      word += SharedWords::count(type) << llvm::popcount(bits);
    }
  }
}

int64_t FoldStates::countWords(FoldOp fold) {
  int64_t words = 0;
  forStateElements(fold, [&](Type type, unsigned bits, int64_t first) {
    words = first + (SharedWords::count(type) << llvm::popcount(bits));
  });
  return words;
}

/// Where this thread's words of a state element start.
Value FoldStates::placeOf(Type type, unsigned bits, int64_t first,
                          Value place) {
  Value own = arith::MulIOp::create(
      b, loc, positions.compress(positions.getThreadWord(), bits),
      positions.word(SharedWords::count(type)));
  own = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), own);
  own = arith::AddIOp::create(b, loc, own, place);
  return b.createOrFold<arith::AddIOp>(loc, own, emitter.constantIndex(first));
}

void FoldStates::store(FoldOp fold, Value memory, Value place) {
  SmallVector<Value> states = take(fold);
  unsigned next = 0;
  forStateElements(fold, [&](Type type, unsigned bits, int64_t first) {
    OpBuilder::InsertionGuard guard(b);
    if (unsigned copies = (layout.threads - 1) & ~bits) {
      auto branch = scf::IfOp::create(b, loc, positions.isFirstOf(copies),
                                      /*withElse=*/false);
      b.setInsertionPoint(branch.thenYield());
    }
    Value at = placeOf(type, bits, first, place);
    for (auto [i, v] : llvm::enumerate(words.toWords({states[next++]})))
      memref::StoreOp::create(b, loc, v, memory,
                              ValueRange{b.createOrFold<arith::AddIOp>(
                                  loc, at, emitter.constantIndex(i))});
  });
}

SmallVector<Value> FoldStates::load(FoldOp fold, Value memory, Value place) {
  SmallVector<Value> states;
  forStateElements(fold, [&](Type type, unsigned bits, int64_t first) {
    Value at = placeOf(type, bits, first, place);
    SmallVector<Value> own;
    for (int64_t i = 0, n = SharedWords::count(type); i < n; ++i)
      own.push_back(
          memref::LoadOp::create(b, loc, memory,
                                 ValueRange{b.createOrFold<arith::AddIOp>(
                                     loc, at, emitter.constantIndex(i))}));
    states.push_back(words.fromWords({type}, own).front());
  });
  return states;
}
