//===- RegisterStates.cpp - states of folds in registers and memory --------===//
#include "RegisterEmitter.h"

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
  for (Operation &inner : block.without_terminator()) {
    if (inner.hasTrait<OpTrait::ConstantLike>())
      continue;
    SmallVector<unsigned> over;
    for (Value v : inner.getOperands())
      for (unsigned d : Array(arrayOf(v)).dims)
        if (!llvm::is_contained(over, d))
          over.push_back(d);
    llvm::sort(over);
    SmallVector<Array> results(inner.getNumResults(), Array{over, {}});
    SmallVector<int64_t> local(dims.size(), 0);
    for (int64_t i = 0, n = countElements(over); i < n; ++i) {
      int64_t rest = i;
      for (unsigned d : llvm::reverse(over)) {
        local[d] = rest % layout.dims[d].repeats;
        rest /= layout.dims[d].repeats;
      }
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
    }
    for (auto [v, array] : llvm::zip_equal(inner.getResults(), results))
      known[v] = std::move(array);
  }
  SmallVector<Value> result;
  for (auto [v, to] :
       llvm::zip_equal(cast<YieldOp>(block.getTerminator()).getValues(),
                       fold.getResults())) {
    Array from = arrayOf(v);
    const TileBuffer &tile = tiles.find(to)->second;
    SmallVector<int64_t> local(dims.size(), 0);
    for (int64_t i = 0, n = countElements(tile.dims); i < n; ++i) {
      int64_t rest = i;
      for (unsigned d : llvm::reverse(tile.dims)) {
        local[d] = rest % layout.dims[d].repeats;
        rest /= layout.dims[d].repeats;
      }
      Value element = elementOf(from, local);
      result.push_back(laneDimOf(tile.dims) ? asVector(element) : element);
    }
  }
  return result;
}

void RegisterEmitter::mergeStates(FoldOp fold) {
  Parts states = takeStates(fold);
  combineAcross(states, privateBits, [&](Parts &mine, ArrayRef<Value> other) {
    mine = evaluateMerge(fold, mine, other);
  });
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
