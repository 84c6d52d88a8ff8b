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
  makeUnits();
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
      unit.vector = part(thread, vectors, /*isRest=*/true);
      unit.row = part(thread, vectors, /*isRest=*/false);
      if (all < of)
        unit.row = part(unit.row, side.rows, /*isRest=*/true);
      unit.row = plus(unit.row, i * (of / vectors));
    }
    Value at = arith::AddIOp::create(b, loc, side.first, unit.row);
    int64_t neighbours = side.isAlongRows ? side.width : 1;
    if (!side.isWhole)
      at = arith::MinUIOp::create(
          b, loc, at,
          arith::SubIOp::create(b, loc, points.countOf(side.axes),
                                constantIndex(neighbours)));
    unit.at = tile.origin;
    points.bind(unit.at, side.axes, at);
    units.push_back(std::move(unit));
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

void OperandLoads::start(Value sum, const SumShare &share, Value stage) {
  bool isCopied = tiling.operands.isCopied;
  int64_t ofVector = tiling.vectorSums(), chunk = order.getChunk();
  arriving.clear();
  int64_t width = side.isAlongRows ? 1 : side.width;
  OpBuilder::InsertionGuard guard(b);
  if (isCopied)
    skipWithoutUnits();
  for (const Unit &unit : units) {
    Arriving own;
    Value offset =
        arith::MulIOp::create(b, loc, unit.vector, constantIndex(ofVector));
    Value start = arith::AddIOp::create(b, loc, sum, offset);
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
        if (chunk != 0 && share.isWhole)
          order.bind(first, sum, offset);
        else
          order.bind(first, at);
      }
      Env env = first;
      if (s % together != 0) {
        Value &inner = env.position[order.getInner()];
        inner =
            arith::AddIOp::create(b, loc, inner, constantIndex(s % together));
      }
      if (isCopied) {
        startCopy(unit, s, env, exists, stage);
        continue;
      }
      emitter.compute(side, env, side.loaded);
      own.accesses.push_back(std::move(env));
      own.exists.push_back(exists);
    }
    arriving.push_back(std::move(own));
  }
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

void OperandLoads::finish(Value stage) {
  OpBuilder::InsertionGuard guard(b);
  skipWithoutUnits();
  Type element = typeOf(side.element, b.getContext());
  int64_t width = side.width;
  for (auto [unit, own] : llvm::zip_equal(units, arriving)) {
    SmallVector<Value> made;
    for (auto [loaded, exists] : llvm::zip_equal(own.accesses, own.exists)) {
      Env env = loaded;
      emitter.compute(side, env, side.cone);
      Value v = emitter.valueOf(side.factor, env);
      v = convertElement(b, loc, v, element, side.isSigned);
      if (width > 1 && !isa<VectorType>(v.getType()))
        v = vector::BroadcastOp::create(
            b, loc, VectorType::get({width}, v.getType()), v);
      if (exists)
        v = arith::SelectOp::create(
            b, loc, exists, v,
            constant(cast<TypedAttr>(b.getZeroAttr(v.getType()))));
      made.push_back(v);
    }
    int64_t rows = side.isAlongRows ? width : 1;
    for (int64_t row = 0; row < rows; ++row) {
      SmallVector<Value> elements;
      if (made.size() == 1 && rows == 1)
        elements = made;
      else
        for (Value v : made)
          for (int64_t i = 0; i < (side.isAlongRows ? 1 : width); ++i)
            elements.push_back(width == 1 ? v
                                          : Value(vector::ExtractOp::create(
                                                b, loc, v, i + row)));
      Value at = unit.row;
      if (row != 0)
        at = arith::AddIOp::create(b, loc, at, constantIndex(row));
      Value place =
          add(stage, places.placeOf(side, asWord(at), asWord(unit.vector)));
      vector::StoreOp::create(b, loc, wordsOfVector(elements), words,
                              ValueRange(asIndex(place)),
                              /*nontemporal=*/false, llvm::Align(16));
    }
  }
}
