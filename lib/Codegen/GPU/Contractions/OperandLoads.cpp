//===- OperandLoads.cpp - operands on their way to shared memory ----------===//
#include "OperandLoads.h"

using namespace mlir;
using namespace redfuse;

OperandLoads::OperandLoads(ContractionEmitter &emitter,
                           const ContractionTiling &tiling,
                           const ContractionTile &tile, const OperandSide &side,
                           SumOrder &order)
    : ContractionPart(emitter, tiling, tile), side(side), order(order),
      places(emitter, tiling, tile) {
  if (side.isDirect)
    makeDirectUnits();
  else
    makeUnits();
}

/// A lane's rows, as the instruction has them, in each slab.
void OperandLoads::makeDirectUnits() {
  Value part = bits(lane, 2, 7, 0), vector = asIndex(bits(lane, 0, 3, 0));
  Value row =
      add(side.warp, arith::MulIOp::create(b, loc, part, i32(side.count)));
  int64_t neighbours = side.isAlongRows ? side.width : 1;
  for (int64_t slab = 0; slab < tiling.sliceSlabs(); ++slab)
    for (int64_t number = 0; number < side.count; number += neighbours) {
      Unit unit;
      unit.row = asIndex(add(row, i32(number)));
      unit.vector = vector;
      unit.slab = slab;
      bindRow(unit, neighbours);
      units.push_back(std::move(unit));
    }
}

/// Rows beyond the end are the last ones.
void OperandLoads::bindRow(Unit &unit, int64_t neighbours) {
  Value at = arith::AddIOp::create(b, loc, side.first, unit.row);
  if (!side.isWhole)
    at = arith::MinUIOp::create(
        b, loc, at,
        arith::SubIOp::create(b, loc, points.countOf(side.axes),
                              constantIndex(neighbours)));
  unit.at = tile.origin;
  points.bind(unit.at, side.axes, at);
}

void OperandLoads::makeUnits() {
  int64_t vectors = 4 * plan.getSlabs(), of = threads, all = countUnits();
  auto part = [&](Value v, int64_t by, bool isRest) -> Value {
    if (by == 1)
      return isRest ? constantIndex(0) : v;
    return points.divide(v, constantIndex(by), isRest);
  };
  auto plus = [&](Value v, int64_t more) -> Value {
    if (more == 0)
      return v;
    return arith::AddIOp::create(b, loc, v, constantIndex(more));
  };
  for (int64_t i = 0; i < std::max<int64_t>(1, all / of); ++i) {
    Unit unit;
    if (side.isAlongRows) {
      // All of a thread's units have the same sums, as far as that leaves whole
      // warps neighbouring rows: where these are is found once.
      int64_t accesses = side.rows / side.width;
      int64_t lanes = std::min(accesses, std::max<int64_t>(32, of / vectors));
      int64_t rounds = accesses / lanes;
      unit.row = plus(part(thread, lanes, /*isRest=*/true), i % rounds * lanes);
      unit.vector = part(thread, lanes, /*isRest=*/false);
      if (all < of)
        unit.vector = part(unit.vector, vectors, /*isRest=*/true);
      unit.vector = plus(unit.vector, i / rounds * (of / lanes));
      if (side.width > 1)
        unit.row =
            arith::MulIOp::create(b, loc, unit.row, constantIndex(side.width));
    } else {
      if (side.isPaired)
        vectors = 2 * plan.getSlabs();
      unit.vector = part(thread, vectors, /*isRest=*/true);
      unit.row = part(thread, vectors, /*isRest=*/false);
      if (all < of)
        unit.row = part(unit.row, side.rows, /*isRest=*/true);
      unit.row = plus(unit.row, i * (of / vectors));
      if (side.isPaired)
        unit.vector = firstOfPair(unit.vector);
    }
    bindRow(unit, side.isAlongRows ? side.width : 1);
    units.push_back(std::move(unit));
  }
}

/// Of a stage's vectors for first codes the one of that number: those of a chunk, behind
/// which are the ones for second codes.
Value OperandLoads::firstOfPair(Value number) {
  Value ofChunk = constantIndex(order.getChunk() / tiling.vectorSums());
  Value chunks = points.divide(number, ofChunk, /*remainder=*/false);
  return arith::AddIOp::create(b, loc, number,
                               arith::MulIOp::create(b, loc, chunks, ofChunk));
}

/// Both vectors of a pair.
void OperandLoads::loadPair(const Unit &unit, Value sum) {
  int64_t ofVector = tiling.vectorSums();
  auto argument = cast<BlockArgument>(side.factor);
  Env env = unit.at;
  order.bind(
      env, sum,
      arith::MulIOp::create(b, loc, unit.vector, constantIndex(ofVector)));
  Value first = emitter.loadNeighbours(argument, env, ofVector, 0),
        second = emitter.loadNeighbours(argument, env, ofVector, ofVector);
  for (int64_t code : {0, 1}) {
    SmallVector<int64_t> mask;
    for (int64_t i = 0; i < ofVector; ++i)
      mask.push_back(2 * i + code);
    Env own = env;
    own.values[argument] =
        vector::ShuffleOp::create(b, loc, first, second, mask);
    arriving.emplace_back();
    arriving.back().accesses.push_back(std::move(own));
    arriving.back().exists.push_back(Value());
  }
}

/// What follows is for threads that have units.
void OperandLoads::skipWithoutUnits() {
  if (countUnits() >= int64_t(threads))
    return;
  Value has = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, thread,
                                    constantIndex(countUnits()));
  auto branch = scf::IfOp::create(b, loc, has, /*withElse=*/false);
  b.setInsertionPoint(branch.thenYield());
}

/// Finds where the elements of all units are, an access after the other, and whether they
/// are there; `then` takes what is bound for the access of a unit at a sum.
void OperandLoads::place(
    Value sum, const SumShare &share,
    function_ref<void(const Unit &, int64_t, Env &, Value)> then) {
  int64_t ofVector = tiling.vectorSums(), chunk = order.getChunk();
  int64_t width = side.isAlongRows ? 1 : side.width;
  if (side.isDirect && tile.slice)
    sum = arith::AddIOp::create(
        b, loc, sum,
        arith::MulIOp::create(b, loc, asIndex(tile.slice),
                              constantIndex(tiling.sliceSums())));
  for (const Unit &unit : units) {
    Value offset =
        arith::MulIOp::create(b, loc, unit.vector, constantIndex(ofVector));
    Value inStage = offset;
    if (unit.slab)
      inStage = arith::AddIOp::create(
          b, loc, offset, constantIndex(*unit.slab * tiling.slabSums()));
    Value start = arith::AddIOp::create(b, loc, sum, inStage);
    // Elements of a chunk exist or not together.
    int64_t together = chunk != 0 ? ofVector : width;
    Value exists;
    Env first = unit.at;
    for (int64_t s = 0; s < ofVector; s += width) {
      if (s % together == 0) {
        Value at = start;
        if (s != 0)
          at = arith::AddIOp::create(b, loc, at, constantIndex(s));
        if (!share.isWhole) {
          exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                         share.end);
          at = arith::MinUIOp::create(
              b, loc, at,
              arith::SubIOp::create(b, loc, share.end,
                                    constantIndex(together)));
        }
        first = unit.at;
        if (chunk == 0 || !share.isWhole)
          order.bind(first, at);
        else if (unit.slab)
          order.bindInSlab(first, sum, *unit.slab, unit.vector);
        else
          order.bind(first, sum, offset);
      }
      Env env = first;
      if (s % together != 0) {
        Value &inner = env.position[order.getInner()];
        inner =
            arith::AddIOp::create(b, loc, inner, constantIndex(s % together));
      }
      then(unit, s, env, exists);
    }
  }
}

void OperandLoads::start(Value sum, const SumShare &share, Value stage) {
  OpBuilder::InsertionGuard guard(b);
  if (tiling.operands.isCopied) {
    skipWithoutUnits();
    place(sum, share, [&](const Unit &unit, int64_t s, Env &env, Value exists) {
      startCopy(unit, s, env, exists, stage);
    });
    return;
  }
  arriving.clear();
  if (side.isPaired) {
    for (const Unit &unit : units)
      loadPair(unit, sum);
    return;
  }
  place(sum, share, [&](const Unit &, int64_t s, Env &env, Value exists) {
    if (s == 0)
      arriving.emplace_back();
    emitter.compute(side, env, side.loaded);
    arriving.back().accesses.push_back(std::move(env));
    arriving.back().exists.push_back(exists);
  });
}

SmallVector<Value> OperandLoads::getLoaded() const {
  SmallVector<Value> all;
  for (const Arriving &unit : arriving)
    for (const Env &env : unit.accesses)
      for (Value v : side.loaded)
        all.push_back(env.values.lookup(v));
  return all;
}

void OperandLoads::resume(Value sum, const SumShare &share, ValueRange loaded) {
  arriving.clear();
  place(sum, share, [&](const Unit &, int64_t s, Env &env, Value exists) {
    if (s == 0)
      arriving.emplace_back();
    for (Value v : side.loaded) {
      env.values[v] = loaded.front();
      loaded = loaded.drop_front();
    }
    arriving.back().accesses.push_back(std::move(env));
    arriving.back().exists.push_back(exists);
  });
}

void OperandLoads::startCopy(const Unit &unit, int64_t sum, Env &env,
                             Value exists, Value stage) {
  Value there = exists;
  if (side.copied.inside) {
    emitter.compute(side, env, side.insideCone);
    Value inside = emitter.valueOf(side.copied.inside, env);
    there =
        there ? Value(arith::AndIOp::create(b, loc, there, inside)) : inside;
  }
  Value bytes;
  if (there)
    bytes = arith::SelectOp::create(
        b, loc, there, i32(tiling.elementBytes() * side.width), i32(0));
  Value row = asWord(unit.row), vector = asWord(unit.vector);
  Value word = add(stage, places.placeOfSum(side, row, vector, sum));
  Value shared = places.address();
  Value to = add(shared, arith::MulIOp::create(b, loc, word, i32(4)));
  emitter.copy(side, env, side.copied.source, to, bytes);
  if (side.copied.rest)
    emitter.copy(side, env, side.copied.rest,
                 add(to, i32(side.rows * kSlabBytes * plan.getSlabs())), bytes);
}

/// 16 bytes of a row as words.
Value OperandLoads::wordsOfVector(ArrayRef<Value> elements) {
  auto type = VectorType::get({4}, b.getI32Type());
  Value all = elements.front();
  if (elements.size() > 1) {
    auto own = VectorType::get({int64_t(elements.size())}, all.getType());
    all = vector::FromElementsOp::create(b, loc, own, elements);
  }
  return vector::BitCastOp::create(b, loc, type, all);
}

/// The elements of the factor, as they were accessed.
SmallVector<Value> OperandLoads::makeElements(const Arriving &arrived) {
  Type element = typeOf(side.element, b.getContext());
  int64_t width = side.width;
  SmallVector<Value> made;
  if (side.isPaired)
    return {arrived.accesses.front().values.lookup(side.factor)};
  for (auto [loaded, exists] :
       llvm::zip_equal(arrived.accesses, arrived.exists)) {
    Env env = loaded;
    emitter.compute(side, env, side.cone);
    Value v = emitter.valueOf(side.factor, env);
    v = convertElement(b, loc, v, element, side.isSigned);
    if (width > 1 && !isa<VectorType>(v.getType()))
      v = vector::BroadcastOp::create(b, loc,
                                      VectorType::get({width}, v.getType()), v);
    if (exists)
      v = arith::SelectOp::create(
          b, loc, exists, v,
          constant(cast<TypedAttr>(b.getZeroAttr(v.getType()))));
    made.push_back(v);
  }
  return made;
}

/// The row of that number of what is accessed together, as it is stored: the elements of
/// its vectors, or one of each where neighbours are rows.
SmallVector<Value> OperandLoads::elementsOf(ArrayRef<Value> made, int64_t row) {
  if (made.size() == 1 && !side.isAlongRows)
    return SmallVector<Value>(made);
  SmallVector<Value> elements;
  for (Value v : made)
    for (int64_t i = 0; i < (side.isAlongRows ? 1 : side.width); ++i)
      elements.push_back(side.width == 1 ? v
                                         : Value(vector::ExtractOp::create(
                                               b, loc, v, i + row)));
  return elements;
}

SmallVector<Value> OperandLoads::wordsOf(int64_t slab, int64_t number) {
  int64_t neighbours = side.isAlongRows ? side.width : 1;
  int64_t unit = (slab * side.count + number) / neighbours;
  SmallVector<Value> made = makeElements(arriving[size_t(unit)]);
  Value all = wordsOfVector(elementsOf(made, number % neighbours));
  SmallVector<Value> words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(vector::ExtractOp::create(b, loc, all, i));
  return words;
}

void OperandLoads::finish(Value stage) {
  if (side.isDirect)
    return;
  OpBuilder::InsertionGuard guard(b);
  skipWithoutUnits();
  for (auto [i, own] : llvm::enumerate(arriving)) {
    const Unit &unit = units[side.isPaired ? i / 2 : i];
    Value vector = unit.vector;
    if (side.isPaired && i % 2 == 1)
      vector = arith::AddIOp::create(
          b, loc, vector,
          constantIndex(order.getChunk() / tiling.vectorSums()));
    SmallVector<Value> made = makeElements(own);
    int64_t rows = side.isAlongRows ? side.width : 1;
    for (int64_t row = 0; row < rows; ++row) {
      SmallVector<Value> elements = elementsOf(made, row);
      Value at = unit.row;
      if (row != 0)
        at = arith::AddIOp::create(b, loc, at, constantIndex(row));
      Value place =
          add(stage, places.placeOf(side, asWord(at), asWord(vector)));
      vector::StoreOp::create(b, loc, wordsOfVector(elements), words,
                              ValueRange(asIndex(place)),
                              /*nontemporal=*/false, llvm::Align(16));
    }
  }
}
