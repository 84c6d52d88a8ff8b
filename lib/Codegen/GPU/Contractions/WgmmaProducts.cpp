//===- WgmmaProducts.cpp - products of a stage by warpgroups --------------===//
#include "WgmmaProducts.h"

using namespace mlir;
using namespace redfuse;

Value WgmmaProducts::sharedTile(const OperandSide &side, int64_t rows,
                                Value row, Value stage, bool isRest) {
  Value shared = places.address();
  Value bytes = add(arith::MulIOp::create(b, loc, stage, i32(4)),
                    arith::MulIOp::create(b, loc, row, i32(128)));
  auto type = tile::SharedType::get(b.getContext(), rows, tiling.stageSums(),
                                    typeOf(x.left, b.getContext()));
  int64_t start = side.start + (isRest ? side.rows * 128 : 0);
  return tile::ViewOp::create(b, loc, type,
                              add(add(shared, bytes), i32(start)));
}

/// Of an instruction a lane has two columns of one row, then of the one eight behind.
std::pair<Value, Value> WgmmaProducts::placeOf(Value number) {
  Value row = add(bits(lane, 2, 7, 0), bits(number, 1, 1, 3));
  Value column =
      add(add(bits(lane, 0, 3, 1), bits(number, 0, 1, 0)),
          arith::MulIOp::create(b, loc, bits(number, 2, -1, 0), i32(8)));
  return {add(left.warp, row), add(right.warp, column)};
}

void WgmmaProducts::leaveSums(ArrayRef<Value> sums, int64_t pitch) {
  auto [row, column] = placeOf(i32(0));
  Value start = add(arith::MulIOp::create(b, loc, row, i32(pitch)), column);
  for (int64_t i = 0; i < int64_t(sums.size()); i += 2)
    storeFloats(words, add(start, i32(i / 4 * 8 + (i / 2 % 2) * 8 * pitch)),
                sums.slice(size_t(i), 2));
}

/// Starts the products of what a stage has, added to `sum` if there is one: of a
/// warpgroup, 64 rows and its columns.
Value WgmmaProducts::multiplyStage(Value stage, Value sum, bool isRestLeft,
                                   bool isRestRight) {
  int64_t columns = right.warpRows;
  auto tileOf = [&](const OperandSide &side, int64_t rows, bool isRest) {
    Value first = arith::AndIOp::create(b, loc, side.warp, i32(-rows));
    return sharedTile(side, rows, first, stage, isRest);
  };
  Value a = tileOf(left, 64, isRestLeft),
        c = tileOf(right, columns, isRestRight);
  return ptx.multiply(columns, tiling.stageSums(), sum, {a}, {c});
}

/// small * big + big * small + big * big of a step, to be added to the sums behind it: the
/// unit adds with fewer digits than f32 has, so that it may add a few products only, and
/// the small ones first.
Value WgmmaProducts::multiplyParts(Value stage) {
  Value sum;
  for (auto [isSmallLeft, isSmallRight] :
       {std::pair(true, false), {false, true}, {false, false}})
    sum = multiplyStage(stage, sum, isSmallLeft, isSmallRight);
  return sum;
}

SmallVector<Value> WgmmaProducts::addSteps(Value steps, const Step &step) {
  Value begin = constantIndex(0), one = constantIndex(1);
  SmallVector<Value> none(size_t(right.warpRows / 2),
                          constant(b.getF32FloatAttr(0)));
  auto call = [](function_ref<void(Value)> hook, Value number) {
    if (hook)
      hook(number);
  };
  if (tiling.operands.haveParts())
    return emitFor(b, loc, begin, steps, one, none,
                   [&](Value number, ValueRange carried) {
                     Value part = multiplyParts(step.await(number));
                     call(step.isStarted, number);
                     SmallVector<Value> next;
                     for (auto [sum, more] :
                          llvm::zip_equal(carried, ptx.waitProducts(0, part)))
                       next.push_back(arith::AddFOp::create(b, loc, sum, more));
                     call(step.isOver, number);
                     return next;
                   });
  SmallVector<Value> state =
      emitFor(b, loc, begin, steps, one, ptx.accumulate(none),
              [&](Value number, ValueRange carried) {
                Value sum = multiplyStage(step.await(number), carried.front());
                call(step.isStarted, number);
                ptx.waitProducts(1, {});
                call(step.isOver, number);
                return SmallVector<Value>{sum};
              });
  return ptx.waitProducts(0, state.front());
}
