//===- MmaSyncProducts.cpp - products of a stage by warps -----------------===//
#include "MmaSyncProducts.h"

#include "redfuse/Codegen/GPU/Common/InlinePtx.h"
#include "redfuse/Codegen/GPU/SharedMemory/MatrixNest.h"

using namespace mlir;
using namespace redfuse;

SmallVector<Value> MmaSyncProducts::makeZeros() {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < plan.getInstructions()[0] * plan.getInstructions()[1];
       ++i)
    llvm::append_range(sums, x.makeZero(b, loc));
  return sums;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// So many elements from a word on, of which they have one or more, as the instruction
/// takes them; or as many words.
SmallVector<Value> MmaSyncProducts::loadElements(Value at, int64_t count) {
  int64_t size = tiling.elementWords();
  auto type = VectorType::get({count * size}, b.getI32Type());
  Value all = vector::LoadOp::create(
      b, loc, type, words, ValueRange(asIndex(at)),
      /*nontemporal=*/false, llvm::Align(uint64_t(4 * size * count)));
  if (size > 1)
    all = vector::BitCastOp::create(
        b, loc, VectorType::get({count}, typeOf(x.left, b.getContext())), all);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(vector::ExtractOp::create(b, loc, all, i));
  return elements;
}

/// As readFragment, where all rows of a sum are together: neighbouring rows by one
/// access.
MmaSyncProducts::Rows MmaSyncProducts::readBySums(const OperandSide &side,
                                                  Value stage, int64_t slab,
                                                  int64_t begin, int64_t end) {
  int64_t size = tiling.elementWords(), ofVector = 4 / size;
  int64_t width = std::min<int64_t>(side.count, ofVector);
  Value part = bits(lane, 0, 3, 0), p = bits(lane, 2, 7, 0);
  Value row = add(side.warp, arith::MulIOp::create(b, loc, p, i32(side.count)));
  row = arith::XOrIOp::create(b, loc, row, places.swizzleOf(side, part));
  Value sums = arith::MulIOp::create(b, loc, part, i32(4 * side.rows));
  Rows rows(end - begin, SmallVector<Value>(ofVector));
  for (int64_t first = begin; first < end; first += width)
    for (int64_t i = 0; i < ofVector; ++i) {
      Value at = row;
      if (first != 0)
        at = arith::XOrIOp::create(b, loc, at, i32(first));
      if (size > 1)
        at = arith::MulIOp::create(b, loc, at, i32(size));
      int64_t offset =
          side.start / 4 + (slab * 4 * ofVector + i) * side.rows * size;
      at = add(add(add(stage, sums), at), i32(offset));
      for (auto [j, v] : llvm::enumerate(loadElements(at, width)))
        rows[first - begin + int64_t(j)][i] = v;
    }
  return rows;
}

/// A word of f32 rounded to TF32, which the unit reads the upper bits of.
Value MmaSyncProducts::roundWord(Value word) {
  if (tiling.operands.roundsByInstruction)
    return emitPtx(b, loc, "cvt.rn.tf32.f32 $0, $1;", "=r,r", {word},
                   b.getI32Type(), /*hasEffects=*/false)
        .front();
  Type f32 = b.getF32Type();
  Value v = arith::BitcastOp::create(b, loc, f32, word);
  v = arith::TruncFOp::create(b, loc, FloatTF32Type::get(b.getContext()), v);
  v = arith::ExtFOp::create(b, loc, f32, v);
  return arith::BitcastOp::create(b, loc, b.getI32Type(), v);
}

/// The words (elements, where they are longer) that a lane has of each of these of its
/// rows.
MmaSyncProducts::Rows MmaSyncProducts::readFragment(const OperandSide &side,
                                                    Value stage, int64_t slab,
                                                    int64_t begin,
                                                    int64_t end) {
  if (side.isBySums)
    return readBySums(side, stage, slab, begin, end);
  Value start = add(stage, arith::MulIOp::create(b, loc, side.warp, i32(16)));
  if (tile.slice)
    start = add(start, arith::MulIOp::create(b, loc, tile.slice,
                                             i32(tiling.sliceSlabs() *
                                                 side.rows * kSlabBytes / 4)));
  Rows rows;
  for (int64_t j = begin; j < end; ++j) {
    int64_t flipped =
        ((j ^ slab) & 1) * 16 + (j >> 1 & 1) * 4 + (j >> 2 & 1) * 8;
    Value at = tile.readPlace;
    if (flipped != 0)
      at = arith::XOrIOp::create(b, loc, at, i32(flipped));
    int64_t offset = side.start / 4 + slab * side.rows * kSlabBytes / 4 +
                     j * side.parts * 16;
    at = add(add(start, at), i32(offset));
    rows.push_back(loadElements(at, 4 / tiling.elementWords()));
  }
  return rows;
}

namespace {
/// The words of an f32 in two parts of TF32: rounded, and what is left.
struct SplitWords {
  SmallVector<Value> big, small;
};
} // namespace

static SplitWords splitWords(OpBuilder &b, Location loc,
                             ArrayRef<Value> numbers, bool isRounded,
                             Value round, Value mask) {
  SplitWords split;
  if (isRounded) {
    split.big.assign(numbers.begin(), numbers.end());
    return split;
  }
  Type f32 = b.getF32Type(), word = b.getI32Type();
  for (Value v : numbers) {
    Value big = arith::AndIOp::create(
        b, loc, arith::AddIOp::create(b, loc, v, round), mask);
    Value rest =
        arith::SubFOp::create(b, loc, arith::BitcastOp::create(b, loc, f32, v),
                              arith::BitcastOp::create(b, loc, f32, big));
    split.big.push_back(big);
    split.small.push_back(arith::BitcastOp::create(b, loc, word, rest));
  }
  return split;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void MmaSyncProducts::multiply(Value stage, SmallVectorImpl<Value> &sums,
                               Fragments direct) {
  for (int64_t slab = 0; slab < tiling.sliceSlabs(); ++slab)
    multiplySlab(stage, slab, sums, direct);
}

void MmaSyncProducts::multiplySlab(Value stage, int64_t slab,
                                   MutableArrayRef<Value> sums,
                                   Fragments direct) {
  auto get = [&](const OperandSide &side) {
    if (!side.isDirect)
      return readFragment(side, stage, slab, 0, side.count);
    Rows rows;
    for (int64_t i = 0; i < side.count; ++i)
      rows.push_back(direct(slab, i));
    return rows;
  };
  Rows a = get(left), c = get(right);
  for (auto [side, fragment] : {std::pair(&left, &a), {&right, &c}})
    if (tiling.operands.isCopied && side->copied.isRounded)
      for (SmallVector<Value> &row : *fragment)
        for (Value &word : row)
          word = roundWord(word);
  if (x.isSplit && !isAddedByUnit)
    multiplyParts(a, c, sums);
  else
    multiplyOnce(a, c, sums);
}

SmallVector<Value> MmaSyncProducts::readFirst(Value stage, int64_t slab) {
  SmallVector<Value> all;
  for (auto [side, count] :
       {std::pair(&right, right.count), std::pair(&left, rowsTogether())})
    for (ArrayRef<Value> row : readFragment(*side, stage, slab, 0, count))
      llvm::append_range(all, row);
  return all;
}

SmallVector<Value>
MmaSyncProducts::multiplyAndRead(ArrayRef<Value> first,
                                 MutableArrayRef<Value> sums, Value stage,
                                 int64_t slab, function_ref<Value()> getNext) {
  size_t ofRow = 4 / tiling.elementWords();
  Rows c, a;
  for (; !first.empty(); first = first.drop_front(ofRow))
    (int64_t(c.size()) < right.count ? c : a)
        .push_back(SmallVector<Value>(first.take_front(ofRow)));
  SmallVector<Value> next;
  int64_t together = rowsTogether();
  for (int64_t begin = 0; begin < left.count; begin += together) {
    Rows rows;
    if (int64_t end = begin + together; end < left.count)
      rows = readFragment(left, stage, slab, end, end + together);
    else
      next = readFirst(getNext(), (slab + 1) % plan.getSlabs());
    for (int64_t row = 0; row < together; row += x.rowsPerLane)
      for (int64_t step = 0; step < stepsOfSlab(); ++step)
        for (int64_t ct = 0; ct < plan.getInstructions()[1]; ++ct)
          multiplyTile(ArrayRef(a).slice(row, x.rowsPerLane), c,
                       (begin + row) / x.rowsPerLane, ct, step, sums);
    a = std::move(rows);
  }
  return next;
}

/// Steps of the instruction in what a lane has of a slab.
int64_t MmaSyncProducts::stepsOfSlab() const {
  return 4 / tiling.elementWords() / x.wordsPerRow();
}

/// What a lane has of a row for one step of the instruction.
ArrayRef<Value> MmaSyncProducts::wordsOf(ArrayRef<Value> row,
                                         int64_t step) const {
  return row.slice(step * x.wordsPerRow(), x.wordsPerRow());
}

MutableArrayRef<Value> MmaSyncProducts::sumsOf(MutableArrayRef<Value> sums,
                                               int64_t rowTile,
                                               int64_t columnTile) const {
  int64_t rowTiles = plan.getInstructions()[0],
          columnTiles = plan.getInstructions()[1];
  int64_t perTile = int64_t(sums.size()) / (rowTiles * columnTiles);
  return sums.slice((rowTile * columnTiles + columnTile) * perTile, perTile);
}

/// One product by an instruction, which adds it to the sums; of TF32 as everybody makes
/// it.
void MmaSyncProducts::multiplyOnce(const Rows &a, const Rows &c,
                                   MutableArrayRef<Value> sums) {
  for (int64_t step = 0; step < stepsOfSlab(); ++step)
    for (int64_t ct = 0; ct < plan.getInstructions()[1]; ++ct)
      for (int64_t rt = 0; rt < plan.getInstructions()[0]; ++rt)
        multiplyTile(ArrayRef(a).slice(rt * x.rowsPerLane, x.rowsPerLane), c,
                     rt, ct, step, sums);
}

/// One instruction, of the rows `a` of a lane.
void MmaSyncProducts::multiplyTile(ArrayRef<SmallVector<Value>> a,
                                   const Rows &c, int64_t rt, int64_t ct,
                                   int64_t step, MutableArrayRef<Value> sums) {
  MutableArrayRef<Value> own = sumsOf(sums, rt, ct);
  SmallVector<ArrayRef<Value>> rows;
  for (ArrayRef<Value> row : a)
    rows.push_back(wordsOf(row, step));
  if (x.isSplit) {
    SmallVector<Value> all;
    for (ArrayRef<Value> row : rows)
      llvm::append_range(all, row);
    llvm::copy(x.emit(b, loc, all, SmallVector<Value>(wordsOf(c[ct], step)),
                      SmallVector<Value>(own)),
               own.begin());
  } else {
    llvm::copy(x.multiply(b, loc, rows, wordsOf(c[ct], step), own),
               own.begin());
  }
}

/// big * small + small * big + big * big, added to the sums at last: the unit adds with
/// fewer digits than f32 has, so that it may add a few products only, and the
/// small ones first.
void MmaSyncProducts::multiplyParts(const Rows &a, const Rows &c,
                                    MutableArrayRef<Value> sums) {
  int64_t rowTiles = plan.getInstructions()[0],
          columnTiles = plan.getInstructions()[1];
  int64_t steps = 4 / x.wordsPerRow();
  Value round = i32(0x1000), mask = i32(int32_t(0xffffe000));
  SmallVector<SplitWords> ofRows;
  for (ArrayRef<Value> row : a)
    ofRows.push_back(splitWords(b, loc, row, form.leftIsRounded, round, mask));
  auto rowWords = [&](int64_t rt, int64_t step, bool isSmall) {
    SmallVector<Value> all;
    for (int64_t i = 0; i < x.rowsPerLane; ++i) {
      const SplitWords &row = ofRows[rt * x.rowsPerLane + i];
      llvm::append_range(all, wordsOf(isSmall ? row.small : row.big, step));
    }
    return all;
  };
  SmallVector<Value> zero = x.makeZero(b, loc);
  for (int64_t ct = 0; ct < columnTiles; ++ct) {
    SplitWords column =
        splitWords(b, loc, c[ct], form.rightIsRounded, round, mask);
    SmallVector<SmallVector<Value>> parts(rowTiles, zero);
    for (auto [isSmallRow, isSmallColumn] :
         {std::pair(true, false), {false, true}, {false, false}}) {
      // What the program rounds has no other part.
      if ((isSmallRow && form.leftIsRounded) ||
          (isSmallColumn && form.rightIsRounded))
        continue;
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t rt = 0; rt < rowTiles; ++rt)
          parts[rt] =
              x.emit(b, loc, rowWords(rt, step, isSmallRow),
                     SmallVector<Value>(wordsOf(
                         isSmallColumn ? column.small : column.big, step)),
                     parts[rt]);
    }
    for (int64_t rt = 0; rt < rowTiles; ++rt)
      for (auto [sum, part] : llvm::zip_equal(sumsOf(sums, rt, ct), parts[rt]))
        sum = arith::AddFOp::create(b, loc, sum, part);
  }
}

std::pair<Value, Value> MmaSyncProducts::placeOf(Value number) {
  Value zero = i32(0);
  // [row tile][column tile][element], as results.
  int64_t perTile = x.results.size(), columnTiles = plan.getInstructions()[1];
  Value element = arith::RemUIOp::create(b, loc, number, i32(perTile));
  Value tileNumber = arith::DivUIOp::create(b, loc, number, i32(perTile));
  Value ct = arith::RemUIOp::create(b, loc, tileNumber, i32(columnTiles));
  Value rt = arith::DivUIOp::create(b, loc, tileNumber, i32(columnTiles));
  Value rowPart = zero, rowOf = zero, columnPart = zero;
  for (auto [e, place] : llvm::enumerate(x.results)) {
    Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, element,
                                     i32(int64_t(e)));
    auto pick = [&](Value &v, int64_t value) {
      v = arith::SelectOp::create(b, loc, is, i32(value), v);
    };
    pick(rowPart, place.rowPart);
    pick(rowOf, place.row);
    pick(columnPart, place.columnPart);
  }
  Value laneIndex = asIndex(lane);
  rowPart = add(
      rowPart, asWord(MatrixFragments(emitter).partOf(x.resultRow, laneIndex)));
  columnPart =
      add(columnPart,
          asWord(MatrixFragments(emitter).partOf(x.resultColumn, laneIndex)));
  Value row =
      add(arith::MulIOp::create(b, loc, rowPart, i32(left.count)),
          add(arith::MulIOp::create(b, loc, rt, i32(x.rowsPerLane)), rowOf));
  Value column =
      add(arith::MulIOp::create(b, loc, columnPart, i32(right.count)), ct);
  return {add(left.warp, row), add(right.warp, column)};
}

void MmaSyncProducts::leaveSums(ArrayRef<Value> sums, int64_t pitch) {
  Value laneIndex = asIndex(lane);
  MatrixFragments fragments(emitter);
  auto firstOf = [&](const OperandSide &side, auto part) {
    Value own = asWord(fragments.partOf(part, laneIndex));
    return add(side.warp, arith::MulIOp::create(b, loc, own, i32(side.count)));
  };
  Value start =
      add(arith::MulIOp::create(b, loc, firstOf(left, x.resultRow), i32(pitch)),
          firstOf(right, x.resultColumn));
  // [row tile][column tile][element]: columns of tiles are a lane's neighbours.
  int64_t perTile = x.results.size(), columnTiles = plan.getInstructions()[1];
  int64_t width = columnTiles % 2 == 0 ? 2 : 1;
  for (int64_t rt = 0; rt < plan.getInstructions()[0]; ++rt)
    for (auto [e, place] : llvm::enumerate(x.results))
      for (int64_t ct = 0; ct < columnTiles; ct += width) {
        SmallVector<Value, 2> neighbours;
        for (int64_t i = 0; i < width; ++i)
          neighbours.push_back(
              sums[size_t((rt * columnTiles + ct + i) * perTile) + e]);
        int64_t row =
            place.rowPart * left.count + rt * x.rowsPerLane + place.row;
        int64_t column = place.columnPart * right.count + ct;
        storeFloats(words, add(start, i32(row * pitch + column)), neighbours);
      }
}
