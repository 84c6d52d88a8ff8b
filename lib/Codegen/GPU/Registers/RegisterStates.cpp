//===- RegisterStates.cpp - states of folds in registers and memory --------===//
#include "Tuning.h"

#include "redfuse/Codegen/GPU/Registers/RegisterEmitter.h"

#include "redfuse/Codegen/GPU/Common/CommonPivot.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

SmallVector<Value> RegisterEmitter::takeStates(FoldOp fold) {
  SmallVector<Value> all;
  for (Value v : fold.getResults())
    llvm::append_range(all, takeTile(tiles.find(v)->second));
  return all;
}

void RegisterEmitter::setStates(FoldOp fold, ArrayRef<Value> elements) {
  for (Value v : fold.getResults()) {
    const TileBuffer &tile = tiles.find(v)->second;
    int64_t n = countElements(tile.dims);
    setTile(tile, elements.take_front(n));
    elements = elements.drop_front(n);
  }
}

SmallVector<RegisterEmitter::Array>
RegisterEmitter::unflatten(FoldOp fold, ArrayRef<Value> elements) {
  SmallVector<Array> result;
  for (Value v : fold.getResults()) {
    const TileBuffer &tile = tiles.find(v)->second;
    int64_t n = countElements(tile.dims);
    result.push_back({tile.dims, SmallVector<Value>(elements.take_front(n))});
    elements = elements.drop_front(n);
  }
  return result;
}

/// All elements of some values of a merge, from those that are known, its arguments
/// or others.
SmallVector<RegisterEmitter::Array>
RegisterEmitter::evaluateIn(Block &block, DenseMap<Value, Array> known,
                            ArrayRef<Value> wanted) {
  auto arrayOf = [&](Value v) -> const Array & {
    auto it = known.find(v);
    if (it == known.end()) {
      // A constant or a scalar from outside.
      Operation *def = v.getDefiningOp();
      Value own = def && def->hasTrait<OpTrait::ConstantLike>()
                      ? constant(cast<TypedAttr>(def->getAttr("value")))
                      : captured.lookup(v);
      it = known.try_emplace(v, Array{{}, {own}}).first;
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
      for (unsigned d : Array(arrayOf(v)).dims)
        if (!llvm::is_contained(over, d))
          over.push_back(d);
    llvm::sort(over);
    SmallVector<Array> results(inner.getNumResults(), Array{over, {}});
    forElements(over, [&](ArrayRef<int64_t> local) {
      auto at = [&](ValueRange range) {
        return llvm::map_to_vector(
            range, [&](Value v) { return elementOf(arrayOf(v), local); });
      };
      SmallVector<Value> made;
      if (auto combine = dyn_cast<CombineOp>(inner))
        made = emitCombine(combine.getCombine(), at(combine.getLeft()),
                           at(combine.getRight()));
      else
        made = emitOpOn(&inner, at(inner.getOperands()));
      for (auto [array, v] : llvm::zip_equal(results, made))
        array.elements.push_back(v);
    });
    for (auto [v, array] : llvm::zip_equal(inner.getResults(), results))
      known[v] = std::move(array);
  }
  return llvm::map_to_vector(wanted, [&](Value v) { return arrayOf(v); });
}

/// Calls `body` with the number of each element of some dims, along all dims.
void RegisterEmitter::forElements(ArrayRef<unsigned> ofDims,
                                  function_ref<void(ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> local(dims.size(), 0);
  for (int64_t i = 0, n = countElements(ofDims); i < n; ++i) {
    int64_t rest = i;
    for (unsigned d : llvm::reverse(ofDims)) {
      local[d] = rest % layout.dims[d].repeats;
      rest /= layout.dims[d].repeats;
    }
    body(local);
  }
}

/// The elements of `from` as the state `to` has them.
SmallVector<Value> RegisterEmitter::elementsLike(const Array &from, Value to) {
  const TileBuffer &tile = tiles.find(to)->second;
  SmallVector<Value> result;
  forElements(tile.dims, [&](ArrayRef<int64_t> local) {
    Value element = elementOf(from, local);
    result.push_back(laneDimOf(tile.dims) ? asVector(element) : element);
  });
  return result;
}

/// The merge of a fold on all elements of two states.
SmallVector<Value> RegisterEmitter::evaluateMerge(FoldOp fold,
                                                  ArrayRef<Value> left,
                                                  ArrayRef<Value> right) {
  Block &block = fold.getMerge().front();
  DenseMap<Value, Array> known;
  SmallVector<Array> states = unflatten(fold, left);
  for (Array &state : unflatten(fold, right))
    states.push_back(std::move(state));
  for (auto [arg, state] : llvm::zip_equal(block.getArguments(), states))
    known[arg] = std::move(state);
  SmallVector<Value> merged(cast<YieldOp>(block.getTerminator()).getValues());
  SmallVector<Value> result;
  for (auto [array, to] : llvm::zip_equal(
           evaluateIn(block, std::move(known), merged), fold.getResults()))
    llvm::append_range(result, elementsLike(array, to));
  return result;
}

/// What the threads of a warp that differ in `bits` have merged: all agree on what
/// the others are moved to, each moves its own, and the rest is combined.
void RegisterEmitter::mergeLanes(FoldOp fold, const CommonPivot &how,
                                 Parts &states, unsigned bits) {
  Block &block = fold.getMerge().front();
  auto merged = cast<YieldOp>(block.getTerminator()).getValues();
  unsigned n = merged.size();
  SmallVector<Array> own = unflatten(fold, states), next = own;
  auto overBits = [&](Parts &parts, Combine combine) {
    for (unsigned distance = 1; distance < warpSize; distance *= 2)
      if (bits & distance)
        combine(parts, shuffle(parts, distance));
  };
  Parts agreed;
  for (unsigned i : how.agreed)
    llvm::append_range(agreed, own[i].elements);
  auto share = [&](ArrayRef<Value> parts) {
    SmallVector<Array> arrays;
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
    DenseMap<Value, Array> known;
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
    Value first =
        arith::AndIOp::create(b, loc, getLane(), word(~bits & (warpSize - 1)));
    for (Value &v : agreed)
      v = takeFrom(v, first);
  }
  DenseMap<Value, Array> known;
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
        v = emitOpOn(combine, {v, w}).front();
    });
  ArrayRef<Value> left(rest);
  for (const CommonPivot::Moved &moved : how.moved) {
    size_t count = own[moved.number].elements.size();
    next[moved.number].elements = llvm::to_vector(left.take_front(count));
    left = left.drop_front(count);
  }
  states.clear();
  for (const Array &array : next)
    llvm::append_range(states, array.elements);
}

/// What another lane (i32) has.
Value RegisterEmitter::takeFrom(Value part, Value lane) {
  SmallVector<Type> types{part.getType()};
  SmallVector<Value> words = toWords({part});
  for (Value &v : words)
    v = gpu::ShuffleOp::create(b, loc, v.getType(), b.getI1Type(), v, lane,
                               word(warpSize), gpu::ShuffleMode::IDX)
            .getShuffleResult();
  return fromWords(types, words).front();
}

/// Combines many parts by the same op: half of the lanes combine one half of them, the
/// others the other half, and so on, until every lane has one; then all take them from
/// each other. Less than half of the shuffles.
bool RegisterEmitter::combineByShares(Parts &parts,
                                      ArrayRef<Operation *> combines,
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
  for (unsigned distance = warpSize / 2; distance > 0; distance /= 2) {
    if (!(bits & distance))
      continue;
    unsigned half = llvm::divideCeil(shares.size(), 2);
    if (shares.size() == 1) {
      Value other = shuffle(shares, distance).front();
      shares[0] = emitOpOn(combines[0], {shares[0], other}).front();
      continue;
    }
    Value isUpper = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, loc, getLane(), word(distance)), word(0));
    SmallVector<Value> next;
    for (unsigned i = 0; i < half; ++i) {
      Value low = shares[i],
            high = i + half < shares.size() ? shares[i + half] : shares[i];
      Value given = arith::SelectOp::create(b, loc, isUpper, low, high);
      Value kept = arith::SelectOp::create(b, loc, isUpper, high, low);
      Value other = shuffle({given}, distance).front();
      next.push_back(emitOpOn(combines[0], {kept, other}).front());
    }
    shares = std::move(next);
    for (auto [place, number] : llvm::zip_equal(places, numbers))
      if (number >= half) {
        place |= distance;
        number -= half;
      }
  }
  Value first =
      arith::AndIOp::create(b, loc, getLane(), word(~bits & (warpSize - 1)));
  for (auto [part, place, number] : llvm::zip_equal(parts, places, numbers))
    part = takeFrom(shares[number],
                    arith::OrIOp::create(b, loc, first, word(place)));
  return true;
}

void RegisterEmitter::mergeStates(FoldOp fold, bool isForFirst) {
  Parts states = takeStates(fold);
  auto merge = [&](Parts &mine, ArrayRef<Value> other) {
    mine = evaluateMerge(fold, mine, other);
  };
  std::optional<CommonPivot> pivot = findCommonPivot(fold);
  auto overLanes = [&](Parts &mine, unsigned bits) {
    mergeLanes(fold, *pivot, mine, bits);
  };
  if (pivot && pivot->cost >= kCostlyMove)
    combineAcross(states, privateBits, merge, overLanes, isForFirst);
  else
    combineAcross(states, privateBits, merge, {}, isForFirst);
  setStates(fold, states);
}

void RegisterEmitter::mergeWith(FoldOp fold, ArrayRef<Value> other) {
  setStates(fold, evaluateMerge(fold, takeStates(fold), other));
}

//===----------------------------------------------------------------------===//
// States in memory
//===----------------------------------------------------------------------===//

/// Calls `body` with each element of the states, the bits of the threads that
/// have it, and the number of its first word.
template <typename Body>
void RegisterEmitter::forStateElements(FoldOp fold, Body body) {
  int64_t word = 0;
  for (Value v : fold.getResults()) {
    const TileBuffer &tile = tiles.find(v)->second;
    Type type = cast<RankedTensorType>(v.getType()).getElementType();
    if (laneDimOf(tile.dims))
      type = VectorType::get({lanes}, type);
    unsigned bits = getBits(tile.dims);
    for (int64_t i = 0, n = countElements(tile.dims); i < n; ++i) {
      body(type, bits, word);
      word += countWords(type) << llvm::popcount(bits);
    }
  }
}

int64_t RegisterEmitter::countStateWords(FoldOp fold) {
  int64_t words = 0;
  forStateElements(fold, [&](Type type, unsigned bits, int64_t first) {
    words = first + (countWords(type) << llvm::popcount(bits));
  });
  return words;
}

/// Where this thread's words of a state element start.
Value RegisterEmitter::placeOf(Type type, unsigned bits, int64_t first,
                               Value place) {
  Value own = arith::MulIOp::create(b, loc, compress(getThreadWord(), bits),
                                    word(countWords(type)));
  own = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), own);
  own = arith::AddIOp::create(b, loc, own, place);
  return b.createOrFold<arith::AddIOp>(loc, own, constantIndex(first));
}

void RegisterEmitter::storeStates(FoldOp fold, Value words, Value place) {
  SmallVector<Value> states = takeStates(fold);
  unsigned next = 0;
  forStateElements(fold, [&](Type type, unsigned bits, int64_t first) {
    OpBuilder::InsertionGuard guard(b);
    if (unsigned copies = (layout.threads - 1) & ~bits) {
      auto branch =
          scf::IfOp::create(b, loc, isFirstOf(copies), /*withElse=*/false);
      b.setInsertionPoint(branch.thenYield());
    }
    Value at = placeOf(type, bits, first, place);
    for (auto [i, v] : llvm::enumerate(toWords({states[next++]})))
      memref::StoreOp::create(
          b, loc, v, words,
          ValueRange{b.createOrFold<arith::AddIOp>(loc, at, constantIndex(i))});
  });
}

SmallVector<Value> RegisterEmitter::loadStates(FoldOp fold, Value words,
                                               Value place) {
  SmallVector<Value> states;
  forStateElements(fold, [&](Type type, unsigned bits, int64_t first) {
    Value at = placeOf(type, bits, first, place);
    SmallVector<Value> own;
    for (int64_t i = 0, n = countWords(type); i < n; ++i)
      own.push_back(
          memref::LoadOp::create(b, loc, words,
                                 ValueRange{b.createOrFold<arith::AddIOp>(
                                     loc, at, constantIndex(i))}));
    states.push_back(fromWords({type}, own).front());
  });
  return states;
}

Value RegisterEmitter::getPrivateNumber() {
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(),
                                      compress(getThreadWord(), privateBits));
}

Value RegisterEmitter::shareWord(Value v) {
  // One word, written by the first thread.
  barrier();
  auto branch = scf::IfOp::create(b, loc, isFirstOf(layout.threads - 1),
                                  /*withElse=*/false);
  Value at = constantIndex(0);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    memref::StoreOp::create(b, loc, v, shared, at);
  }
  barrier();
  Value all = memref::LoadOp::create(b, loc, shared, at);
  barrier();
  exchangeUsed = 0;
  exchangeBytes = std::max<int64_t>(exchangeBytes, 16);
  return all;
}
