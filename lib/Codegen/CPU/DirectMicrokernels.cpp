//===- DirectMicrokernels.cpp - microkernels that read operands in place --===//
//
// Of few rows, to pack an operand takes as long as to multiply it. Where both lie as they
// do for nn.Linear, along the sum, so do the vectors:
//
//   for each vector of the sum
//     load a vector of each row, and of each column; multiply each by each
//   add the lanes of each sum
//
//===----------------------------------------------------------------------===//
#include "PackedEmitter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

Value PackedEmitter::plus(Value v, int64_t by) {
  return by == 0 ? v : arith::AddIOp::create(b, loc, v, constantIndex(by));
}

/// The first point of the tile.
Env PackedEmitter::getStart() const {
  Env env;
  env.position.assign(dims.size(), Value());
  return env;
}

/// The points of neighbouring numbers; beyond the last there is, that one again, whose sums
/// nobody reads.
SmallVector<Env> PackedEmitter::pointsOf(const Side &side, Value first,
                                         int64_t count) {
  Env env = getStart();
  for (ArrayRef<unsigned> of : {ArrayRef(form.batch), ArrayRef(sums.of)})
    for (unsigned d : of)
      env.position[d] = constantIndex(0);
  Value all = countOf(side.own);
  std::optional<int64_t> known = getConstantIntValue(all);
  // A microkernel that is there for what is left is never past the end.
  bool isInside = known && (*known % side.step == 0 || count != side.step ||
                            *known > side.step);
  SmallVector<Env> points;
  for (int64_t i = 0; i < count; ++i) {
    Value number = plus(first, i);
    if (!isInside)
      number = arith::MinUIOp::create(
          b, loc, number, arith::SubIOp::create(b, loc, all, constantIndex(1)));
    Env at = env;
    for (auto [d, stride] : llvm::zip_equal(side.own.of, side.own.strides)) {
      Value position = number;
      if (stride != 1)
        position = b.createOrFold<arith::DivUIOp>(loc, position,
                                                  constantIndex(stride));
      if (d != side.own.of.front())
        position = b.createOrFold<arith::RemUIOp>(
            loc, position,
            constantIndex(dims[d].tile != 0 ? dims[d].tile
                                            : dims[d].staticExtent));
      at.position[d] = position;
    }
    points.push_back(std::move(at));
  }
  return points;
}

/// The points of neighbouring vectors of columns; of the last one maybe only some lanes
/// exist.
SmallVector<Env> PackedEmitter::pointsOfVectors(Value column, int64_t vectors,
                                                bool isLast) {
  unsigned d = right.own.of.back();
  const SpaceDim &columns = dims[d];
  Env env = getStart();
  for (ArrayRef<unsigned> of :
       {ArrayRef(form.batch), ArrayRef(right.own.of), ArrayRef(sums.of)})
    for (unsigned one : of)
      env.position[one] = constantIndex(0);
  SmallVector<Env> points;
  for (int64_t v = 0; v < vectors; ++v) {
    Value at = plus(column, v * lanes);
    bool isWhole = !isLast || v + 1 < vectors ||
                   (columns.staticSize && *columns.staticSize % lanes == 0);
    if (isWhole) {
      points.push_back(env);
      points.back().position[d] = at;
      continue;
    }
    Value left = arith::SubIOp::create(b, loc, columns.size, at);
    points.push_back(inTail(env, d, at, left));
  }
  return points;
}

/// Vectors of rows times vectors of columns, both along the sum.
PackedEmitter::SumsOfTile PackedEmitter::multiplyAlongSum(Value row,
                                                          Value column,
                                                          int64_t rows,
                                                          int64_t columns) {
  unsigned d = sums.of.back();
  auto type = VectorType::get({lanes}, element);
  Value zero = constant(cast<TypedAttr>(b.getZeroAttr(type)));
  SmallVector<Env> ofRows = pointsOf(left, row, rows);
  SmallVector<Env> ofColumns = pointsOf(right, column, columns);
  // A step: at `at` the sum's vector begins, whose lanes may be behind the end.
  auto step = [&](const Env &at, ValueRange carried) {
    SmallVector<Value> next(carried), loaded;
    auto read = [&](const Side &side, const Env &point) {
      Env here = point;
      here.position[d] = at.position[d];
      here.mask = at.mask;
      here.lanesLeft = at.lanesLeft;
      return computeFactor(side, here, d);
    };
    for (const Env &point : ofRows)
      loaded.push_back(read(left, point));
    for (auto [c, point] : llvm::enumerate(ofColumns)) {
      Value factor = read(right, point);
      for (int64_t r = 0; r < rows; ++r) {
        Value &sum = next[r * columns + c];
        sum = multiplyAdd(loaded[r], factor, sum);
      }
    }
    return next;
  };
  const SpaceDim &dim = dims[d];
  SmallVector<Value> state(rows * columns, zero);
  Value length = constantIndex(lanes);
  Value whole = b.createOrFold<arith::MulIOp>(
      loc, b.createOrFold<arith::DivUIOp>(loc, dim.size, length), length);
  state = emitFor(b, loc, constantIndex(0), whole, length, state,
                  [&](Value at, ValueRange carried) {
                    Env env = getStart();
                    env.position[d] = at;
                    return step(env, carried);
                  });
  if (!dim.staticSize || *dim.staticSize % lanes != 0) {
    // Lanes behind the end are zeros; where there is no end, all are.
    Value left = arith::SubIOp::create(b, loc, dim.size, whole);
    state = step(inTail(getStart(), d, whole, left), state);
  }
  SumsOfTile result;
  for (int64_t r = 0; r < rows; ++r) {
    SmallVector<Value> &added = result.emplace_back();
    ArrayRef<Value> ofRow = ArrayRef(state).slice(r * columns, columns);
    for (; !ofRow.empty();
         ofRow = ofRow.drop_front(std::min<size_t>(lanes, ofRow.size())))
      added.push_back(
          addLanes(ofRow.take_front(std::min<size_t>(lanes, ofRow.size()))));
  }
  return result;
}

/// One vector of the sums of the lanes of each. A step brings the halves of what has been
/// kept apart together: of two vectors side by side, at last of one.
Value PackedEmitter::addLanes(ArrayRef<Value> vectors) {
  int64_t count = vectors.size();
  auto type = cast<VectorType>(vectors.front().getType());
  SmallVector<Value> open(vectors);
  open.resize(llvm::PowerOf2Ceil(count),
              constant(cast<TypedAttr>(b.getZeroAttr(type))));
  // Lanes of a part, and what is kept apart in a vector.
  int64_t part = lanes, parts = 1;
  while (open.size() > 1 || part > 1) {
    bool isPair = open.size() > 1;
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < (isPair ? 2 : 1) * parts; ++i)
      for (int64_t lane = 0; lane < part / 2; ++lane) {
        low.push_back(i * part + lane);
        high.push_back(i * part + part / 2 + lane);
      }
    SmallVector<Value> next;
    for (size_t i = 0; i < open.size(); i += 2) {
      Value x = open[i], y = isPair ? open[i + 1] : x;
      Value first = vector::ShuffleOp::create(b, loc, x, y, low);
      Value second = vector::ShuffleOp::create(b, loc, x, y, high);
      next.push_back(combine(Reducer::Add, first, second));
    }
    open = std::move(next);
    part /= 2;
    if (isPair)
      parts *= 2;
  }
  if (count == parts)
    return open.front();
  auto first = llvm::to_vector(llvm::seq(int64_t(0), count));
  return vector::ShuffleOp::create(b, loc, open.front(), open.front(), first);
}
