//===- PointNumbering.cpp - points of a nest by numbers -------------------===//
#include "redfuse/Codegen/GPU/SharedMemory/PointNumbering.h"

using namespace mlir;
using namespace redfuse;

Value PointNumbering::stepsOf(Axis axis) {
  const SpaceDim &dim = dims[axis.dim];
  if (dim.staticSize)
    return emitter.constantIndex(*dim.staticSize / axis.step);
  if (axis.step == 1)
    return dim.size;
  return arith::DivUIOp::create(b, loc, dim.size,
                                emitter.constantIndex(axis.step));
}

std::optional<int64_t>
PointNumbering::staticCountOf(ArrayRef<Axis> axes) const {
  int64_t count = 1;
  for (const Axis &axis : axes) {
    if (!dims[axis.dim].staticSize)
      return std::nullopt;
    count *= *dims[axis.dim].staticSize / axis.step;
  }
  return count;
}

Value PointNumbering::countOf(ArrayRef<Axis> axes) {
  if (std::optional<int64_t> known = staticCountOf(axes))
    return emitter.constantIndex(*known);
  Value count;
  for (const Axis &axis : axes) {
    Value steps = stepsOf(axis);
    count = count ? Value(arith::MulIOp::create(b, loc, count, steps)) : steps;
  }
  return count;
}

Value PointNumbering::divide(Value number, Value by, bool remainder) {
  Type i32 = b.getI32Type(), index = b.getIndexType();
  Value n = arith::IndexCastUIOp::create(b, loc, i32, number);
  Value d = arith::IndexCastUIOp::create(b, loc, i32, by);
  Value q = remainder ? Value(arith::RemUIOp::create(b, loc, n, d))
                      : Value(arith::DivUIOp::create(b, loc, n, d));
  return arith::IndexCastUIOp::create(b, loc, index, q);
}

void PointNumbering::bind(Env &env, ArrayRef<Axis> axes, Value number) {
  Value rest = number;
  unsigned left = axes.size();
  for (const Axis &axis : llvm::reverse(axes)) {
    --left;
    Value at = rest;
    const SpaceDim &dim = dims[axis.dim];
    if (dim.staticSize && *dim.staticSize == axis.step) {
      env.position[axis.dim] = emitter.constantIndex(0);
      continue;
    }
    bool isLast = true;
    for (const Axis &outer : axes.take_front(left))
      isLast &= dims[outer.dim].staticSize &&
                *dims[outer.dim].staticSize == outer.step;
    if (!isLast) {
      Value steps = stepsOf(axis);
      at = divide(rest, steps, /*remainder=*/true);
      rest = divide(rest, steps, /*remainder=*/false);
    }
    if (axis.step != 1)
      at = arith::MulIOp::create(b, loc, at, emitter.constantIndex(axis.step));
    env.position[axis.dim] = at;
  }
}

SmallVector<Value> PointNumbering::emitStridedLoop(
    Value first, Value limit, std::optional<int64_t> count, int64_t step,
    int64_t unrolled, ValueRange state,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  if (!count || *count % step != 0 || *count / step > unrolled)
    return emitFor(b, loc, first, limit, emitter.constantIndex(step), state,
                   body);
  SmallVector<Value> current(state);
  for (int64_t start = 0; start < *count; start += step) {
    Value point = first;
    if (start != 0)
      point =
          arith::AddIOp::create(b, loc, first, emitter.constantIndex(start));
    current = body(point, current);
  }
  return current;
}

bool PointNumbering::hasWholeTiles(ArrayRef<Axis> axes, int64_t by) const {
  std::optional<int64_t> count = staticCountOf(axes);
  return count && *count % by == 0;
}
