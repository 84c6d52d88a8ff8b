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
                                   std::optional<unsigned> vectorDim) {
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

/// Asks the caches for what the factor is mostly made of at a point, which may lie
/// beyond the end.
void PackedEmitter::prefetch(const Side &side, Env &env) {
  Value memref = memrefs.lookup(op->getOperand(side.main.getArgNumber()));
  if (cast<MemRefType>(memref.getType()).getElementType().isInteger(1))
    return;
  AffineMap map = op.getMapOfBodyArgument(side.main.getArgNumber());
  memref::PrefetchOp::create(b, loc, memref,
                             indicesOf(map, globalPositions(env)),
                             /*isWrite=*/false, /*localityHint=*/3,
                             /*isDataCache=*/true);
}

/// A vector of neighbouring numbers.
void PackedEmitter::store(const Side &side, Value v, Value line, Value number) {
  Value panel = constantIndex(0), at = number;
  auto storeTo = [&](Value part, Value of, Value element) {
    vector::StoreOp::create(b, loc, part, side.buffer,
                            ValueRange{of, line, element});
  };
  if (side.panels == 1)
    return storeTo(v, panel, number);
  Value step = constantIndex(side.step);
  panel = arith::DivUIOp::create(b, loc, number, step);
  if (side.step >= lanes) {
    at = arith::RemUIOp::create(b, loc, number, step);
    return storeTo(v, panel, at);
  }
  for (int64_t i = 0; i < lanes / side.step; ++i) {
    Value part = vector::ExtractStridedSliceOp::create(
        b, loc, v, ArrayRef<int64_t>{i * side.step},
        ArrayRef<int64_t>{side.step}, ArrayRef<int64_t>{1});
    storeTo(part, arith::AddIOp::create(b, loc, panel, constantIndex(i)),
            constantIndex(0));
  }
}

void PackedEmitter::packVectors(const Side &side, Env &env) {
  unsigned last = side.own.of.back();
  emitVectorLoop(last, env, [&](Env &at) {
    Value v = computeFactor(side, at, last);
    store(side, v, numberOf(sums, at), numberOf(side.own, at));
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
        next.push_back(
            vector::ShuffleOp::create(b, loc, rows[i], rows[i + n / 2], mask));
    rows = std::move(next);
  }
  return rows;
}

/// Whether the sum's numbers are adjacent in the memory of the main argument.
bool PackedEmitter::isAdjacent(const Side &side) {
  Value memref = memrefs.lookup(op->getOperand(side.main.getArgNumber()));
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset, next = 1;
  if (!type.hasStaticShape() || type.getElementType().isInteger(1) ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return false;
  for (size_t i = 0; i < sums.of.size(); ++i) {
    size_t at = strides.size() - 1 - i;
    if (strides[at] != next)
      return false;
    next *= type.getDimSize(at);
  }
  return true;
}

/// The factor at neighbouring numbers of the sum from `number` on.
Value PackedEmitter::computeFlat(const Side &side, Env env, Value number,
                                 Value mask) {
  Value memref = memrefs.lookup(op->getOperand(side.main.getArgNumber()));
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset, last = 0;
  (void)type.getStridesAndOffset(strides, offset);
  for (unsigned d : sums.of)
    env.position[d] = constantIndex(0);
  Value at = number;
  AffineMap map = op.getMapOfBodyArgument(side.main.getArgNumber());
  for (auto [index, stride, extent] : llvm::zip_equal(
           indicesOf(map, globalPositions(env)), strides, type.getShape())) {
    last += std::max<int64_t>(0, extent - 1) * stride;
    Value term =
        b.createOrFold<arith::MulIOp>(loc, index, constantIndex(stride));
    at = b.createOrFold<arith::AddIOp>(loc, at, term);
  }
  Value flat = flatView(b, loc, memref, last + 1);
  auto own = VectorType::get({lanes}, type.getElementType());
  Value loaded;
  if (mask)
    loaded = vector::MaskedLoadOp::create(b, loc, own, flat, ValueRange(at),
                                          mask, constant(b.getZeroAttr(own)));
  else
    loaded = vector::LoadOp::create(b, loc, own, flat, ValueRange(at));
  env.values[side.main] = loaded;
  return computeFactor(side, env, sums.of.back());
}

/// Squares of rows and neighbouring numbers of the sum.
void PackedEmitter::packSquares(const Side &side, Env &env) {
  unsigned row = side.own.of.back(), sum = sums.of.back();
  const SpaceDim &rows = dims[row];
  bool isWhole = rows.staticSize && *rows.staticSize % lanes == 0;
  auto square = [&](const Env &at, Value line, Value mask) {
    Value last;
    if (!isWhole)
      last = arith::SubIOp::create(b, loc, rows.size, constantIndex(1));
    SmallVector<Value> lines;
    for (unsigned i = 0; i < lanes; ++i) {
      Env own = at;
      Value first = at.position[row];
      Value position = arith::AddIOp::create(b, loc, first, constantIndex(i));
      if (last)
        position = arith::MinSIOp::create(b, loc, position, last);
      own.position[row] = position;
      if (side.isFlat) {
        lines.push_back(computeFlat(side, own, line, mask));
        continue;
      }
      lines.push_back(computeFactor(side, own, sum));
      // A row is too short for the processor to see where it leads.
      own.position[row] =
          arith::AddIOp::create(b, loc, first, constantIndex(i + lanes));
      prefetch(side, own);
    }
    Value column = numberOf(side.own, at);
    for (auto [i, v] : llvm::enumerate(transpose(std::move(lines)))) {
      Value to = arith::AddIOp::create(b, loc, line, constantIndex(i));
      store(side, v, to, column);
    }
  };
  emitFor(b, loc, constantIndex(0), rows.size, constantIndex(lanes), {},
          [&](Value first, ValueRange) {
            Env at = env;
            at.position[row] = first;
            if (side.isFlat)
              overNumbers(
                  [&](Value line, Value mask) { square(at, line, mask); });
            else
              emitVectorLoop(sum, at, [&](Env &inner) {
                square(inner, numberOf(sums, inner), Value());
              });
            return SmallVector<Value>();
          });
}

/// The sum's numbers, a vector at a time; of the last one only some lanes exist.
void PackedEmitter::overNumbers(function_ref<void(Value, Value)> body) {
  Value count = countOf(sums), step = constantIndex(lanes);
  Value whole = arith::MulIOp::create(
      b, loc, arith::DivUIOp::create(b, loc, count, step), step);
  emitFor(b, loc, constantIndex(0), whole, step, {},
          [&](Value line, ValueRange) {
            body(line, Value());
            return SmallVector<Value>();
          });
  Value left = arith::SubIOp::create(b, loc, count, whole);
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, left,
                                    constantIndex(0));
  auto branch = scf::IfOp::create(b, loc, any, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  Value mask = vector::CreateMaskOp::create(
      b, loc, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
  body(whole, mask);
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
  // Panels are cleared from a vector's beginning on, before what is packed comes.
  if (side.panels > 1)
    count = arith::MulIOp::create(
        b, loc, arith::DivUIOp::create(b, loc, count, constantIndex(lanes)),
        constantIndex(lanes));
  auto type = VectorType::get({lanes}, element);
  Value zero = constant(cast<TypedAttr>(b.getZeroAttr(type)));
  emitFor(b, loc, constantIndex(0), constantIndex(sums.capacity),
          constantIndex(1), {}, [&](Value line, ValueRange) {
            emitFor(b, loc, count, end, constantIndex(lanes), {},
                    [&](Value at, ValueRange) {
                      store(side, zero, line, at);
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
    ArrayRef<unsigned> outer = sumDims.drop_back();
    if (side.isFlat)
      outer = {};
    over(own.drop_back(), env, [&](Env &row) {
      over(outer, row, [&](Env &at) { packSquares(side, at); });
    });
    return;
  }
  over(sumDims, env, [&](Env &sum) {
    over(own.drop_back(), sum, [&](Env &at) { packVectors(side, at); });
  });
}
