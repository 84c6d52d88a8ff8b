//===- StagePlaces.cpp - where a stage has what ---------------------------===//
#include "StagePlaces.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

Value StagePlaces::stageOf(Value step) {
  Value number =
      arith::RemUIOp::create(b, loc, asWord(step), i32(plan.getStages()));
  return arith::MulIOp::create(b, loc, number, i32(tiling.stageBytes() / 4));
}

Value StagePlaces::address() {
  return arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, words));
}

Value StagePlaces::placeOf(const OperandSide &side, Value row, Value vector) {
  if (tiling.isByWarpgroups()) {
    // Rows of 128 bytes, of which 16 bytes are xored with the row's number.
    Value at = arith::XOrIOp::create(b, loc, vector, bits(row, 0, 7, 0));
    return add(add(arith::MulIOp::create(b, loc, row, i32(32)),
                   arith::MulIOp::create(b, loc, at, i32(4))),
               i32(side.start / 4));
  }
  auto log = [](int64_t n) { return int64_t(llvm::Log2_64(n)); };
  int64_t ofWarp = log(side.warpRows), ofPart = log(side.count);
  // The part, and the number in it.
  Value p = bits(row, ofPart, side.parts - 1, 0),
        j = bits(row, 0, side.count - 1, 0);
  Value slab = bits(vector, 2, plan.getSlabs() - 1, 0);
  auto exclusive = [&](Value v, Value w) -> Value {
    return arith::XOrIOp::create(b, loc, v, w);
  };
  Value half = bits(exclusive(exclusive(p, j), slab), 0, 1, 4);
  Value spread = bits(j, 1, 1, 0);
  spread = exclusive(
      spread, bits(exclusive(p, bits(j, 2, side.count - 1, 0)), 0, 1, 1));
  Value in = bits(exclusive(bits(vector, 0, 3, 0), spread), 0, 3, 2);
  // Lines of 32 words: two slots each, `parts` of them for each number in a part.
  Value line = add(bits(p, 1, side.parts - 1, 5),
                   arith::MulIOp::create(b, loc, j, i32(side.parts * 16)));
  Value ofWarps = bits(row, ofWarp, side.rows - 1, 0);
  line = add(line,
             arith::MulIOp::create(b, loc, ofWarps, i32(side.warpRows * 16)));
  Value start =
      arith::MulIOp::create(b, loc, slab, i32(side.rows * kSlabBytes / 4));
  return add(add(add(line, half), add(in, start)), i32(side.start / 4));
}

Value StagePlaces::placeOfSum(const OperandSide &side, Value row, Value vector,
                              int64_t sum) {
  if (!side.isBySums)
    return add(placeOf(side, row, vector), i32(sum * tiling.elementWords()));
  Value number =
      add(arith::MulIOp::create(b, loc, vector, i32(tiling.vectorSums())),
          i32(sum));
  Value in = arith::XOrIOp::create(b, loc, row, swizzleOf(side, vector));
  Value at = add(arith::MulIOp::create(b, loc, number, i32(side.rows)), in);
  if (tiling.elementWords() > 1)
    at = arith::MulIOp::create(b, loc, at, i32(tiling.elementWords()));
  return add(at, i32(side.start / 4));
}

Value StagePlaces::swizzleOf(const OperandSide &side, Value part) {
  // Two rows of f64 are 16 bytes, four of f32. Of the three bits above these, lanes that
  // read at once have one of their own: that of the number of rows of a part.
  if (tiling.elementWords() > 1) {
    if (side.count == 4)
      return add(bits(part, 0, 1, 1), bits(part, 1, 1, 3));
    return bits(part, 0, 3, side.count < 4 ? 2 : 1);
  }
  if (side.count < 8)
    return bits(part, 0, 3, 3);
  return add(bits(part, 0, 1, 2), bits(part, 1, 1, 4));
}
