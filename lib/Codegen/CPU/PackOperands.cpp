//===- PackOperands.cpp - operands on their way to the microkernel --------===//
//
// What is packed is computed on the way: conversions, scales and whatever else makes a
// factor. Vectors may reach beyond the last position of a dim into the numbers that
// come next: those are written later, and behind the last ones nobody reads results.
//
//===----------------------------------------------------------------------===//
#include "PackedEmitter.h"

using namespace mlir;
using namespace redfuse;

/// The factor at a point, or along a dim.
Value PackedEmitter::computeFactor(const Side &side, Env env,
                                   unsigned vectorDim) {
  LoopNest adapted = *nest;
  adapted.vectorDim = vectorDim;
  const LoopNest *whole = nest;
  SmallVector<Value> cone(side.cone);
  nest = &adapted;
  std::swap(cone, needed);
  emitAvailable(env);
  Value v = asVector(valueOf(side.factor, env));
  std::swap(cone, needed);
  nest = whole;
  return v;
}

void PackedEmitter::packVectors(const Side &side, Env &env) {
  unsigned last = side.own.of.back();
  emitVectorLoop(last, env, [&](Env &at) {
    Value v = computeFactor(side, at, last);
    vector::StoreOp::create(
        b, loc, v, side.buffer,
        ValueRange{numberOf(sums, at), numberOf(side.own, at)});
  });
}

/// Rows of a square as its columns: each step brings those together that are half of the
/// rows apart, as a perfect shuffle does.
SmallVector<Value> PackedEmitter::transpose(SmallVector<Value> rows) {
  int64_t n = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < n / 2; ++i) {
    llvm::append_values(low, i, n + i);
    llvm::append_values(high, n / 2 + i, n + n / 2 + i);
  }
  for (int64_t step = 1; step < n; step *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < n / 2; ++i)
      for (ArrayRef<int64_t> mask : {ArrayRef(low), ArrayRef(high)})
        next.push_back(vector::ShuffleOp::create(b, loc, rows[i],
                                                 rows[i + n / 2], mask));
    rows = std::move(next);
  }
  return rows;
}

void PackedEmitter::packTransposed(const Side &side, Env &env) {
  unsigned row = side.own.of.back(), sum = sums.of.back();
  const SpaceDim &rows = dims[row];
  bool isWhole = rows.staticSize && *rows.staticSize % lanes == 0;
  emitFor(
      b, loc, constantIndex(0), rows.size, constantIndex(lanes), {},
      [&](Value first, ValueRange) {
        Env square = env;
        square.position[row] = first;
        Value last;
        if (!isWhole)
          last = arith::SubIOp::create(b, loc, rows.size, constantIndex(1));
        emitVectorLoop(sum, square, [&](Env &at) {
          SmallVector<Value> lines;
          for (unsigned i = 0; i < lanes; ++i) {
            Env own = at;
            Value position =
                arith::AddIOp::create(b, loc, first, constantIndex(i));
            if (last)
              position = arith::MinSIOp::create(b, loc, position, last);
            own.position[row] = position;
            lines.push_back(computeFactor(side, own, sum));
          }
          Value line = numberOf(sums, at), column = numberOf(side.own, at);
          for (auto [i, v] : llvm::enumerate(transpose(std::move(lines)))) {
            Value to = arith::AddIOp::create(b, loc, line, constantIndex(i));
            vector::StoreOp::create(b, loc, v, side.buffer,
                                    ValueRange{to, column});
          }
        });
        return SmallVector<Value>();
      });
}

/// Zeros in what the last microkernels read beyond the numbers that there are: whatever
/// is found there takes time if it is subnormal.
void PackedEmitter::clearEnd(const Side &side) {
  bool isWhole = side.own.capacity % side.step == 0;
  for (unsigned d : side.own.of)
    isWhole &= dims[d].staticSize.has_value();
  if (isWhole)
    return;
  Value count = countOf(side.own), step = constantIndex(side.step);
  Value end = arith::MulIOp::create(
      b, loc, arith::CeilDivUIOp::create(b, loc, count, step), step);
  auto type = VectorType::get({lanes}, element);
  Value zero = constant(cast<TypedAttr>(b.getZeroAttr(type)));
  emitFor(b, loc, constantIndex(0), constantIndex(sums.capacity),
          constantIndex(1), {}, [&](Value line, ValueRange) {
            emitFor(b, loc, count, end, constantIndex(lanes), {},
                    [&](Value at, ValueRange) {
                      vector::StoreOp::create(b, loc, zero, side.buffer,
                                              ValueRange{line, at});
                      return SmallVector<Value>();
                    });
            return SmallVector<Value>();
          });
}

void PackedEmitter::pack(const Side &side) {
  Env env;
  env.position.assign(dims.size(), Value());
  for (unsigned d : form.batch)
    env.position[d] = constantIndex(0);
  clearEnd(side);
  ArrayRef<unsigned> own(side.own.of), sumDims(sums.of);
  if (side.access == PackAccess::Transposed) {
    // Sums innermost: they are adjacent.
    over(own.drop_back(), env, [&](Env &row) {
      over(sumDims.drop_back(), row,
           [&](Env &at) { packTransposed(side, at); });
    });
    return;
  }
  over(sumDims, env, [&](Env &sum) {
    over(own.drop_back(), sum, [&](Env &at) { packVectors(side, at); });
  });
}
