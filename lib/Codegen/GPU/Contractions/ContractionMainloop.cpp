//===- ContractionMainloop.cpp - products of what is in shared memory -----===//
#include "ContractionEmitter.h"

#include "redfuse/Codegen/GPU/Common/BlockCounters.h"
#include "redfuse/Codegen/GPU/Common/InlinePtx.h"
#include "redfuse/Codegen/GPU/Common/Ptx.h"
#include "redfuse/Codegen/GPU/Contractions/Tuning.h"
#include "redfuse/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

Value ContractionEmitter::i32(int64_t value) {
  return constant(b.getI32IntegerAttr(int32_t(value)));
}

Value ContractionEmitter::asWord(Value v) {
  return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), v);
}

Value ContractionEmitter::asIndex(Value v) {
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), v);
}

Value ContractionEmitter::add(Value v, Value w) {
  return b.createOrFold<arith::AddIOp>(loc, v, w);
}

/// (v >> shift & mask) << left.
Value ContractionEmitter::bits(Value v, int64_t shift, int64_t mask,
                               int64_t left) {
  if (shift != 0)
    v = arith::ShRUIOp::create(b, loc, v, i32(shift));
  v = arith::AndIOp::create(b, loc, v, i32(mask));
  if (left != 0)
    v = arith::ShLIOp::create(b, loc, v, i32(left));
  return v;
}

int64_t ContractionEmitter::slabSums() const {
  return 8 * kSlabBytes / elementBits(x.left);
}

int64_t ContractionEmitter::stageBytes() const {
  return (tileRows() + tileColumns()) * kSlabBytes * plan.getSlabs() *
         copiesOfOperand();
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Where a warp reads: row number j of the lane's part is 16 bytes at `place` plus a
/// constant of j, but for three bits that are xored with those of j.
void ContractionEmitter::setPlaces(Side &side, bool isLeft) {
  int64_t columns = plan.getWarps()[1];
  // The four warps of a warpgroup are neighbours along rows.
  Value number = isByWarpgroups() ? bits(warp, 2, 7, 0) : warp;
  Value of = isLeft
                 ? Value(arith::DivUIOp::create(b, loc, number, i32(columns)))
                 : Value(arith::RemUIOp::create(b, loc, number, i32(columns)));
  if (isByWarpgroups() && isLeft)
    of = add(arith::MulIOp::create(b, loc, of, i32(4)), bits(warp, 0, 3, 0));
  side.warp = arith::MulIOp::create(b, loc, of, i32(side.warpRows));
  Value t = bits(lane, 0, 3, 0), p = bits(lane, 2, 7, 0);
  Value vector = arith::XOrIOp::create(b, loc, t, bits(p, 0, 1, 1));
  side.place =
      add(add(bits(p, 1, 3, 5), bits(p, 0, 1, 4)), bits(vector, 0, 3, 2));
}

/// As readFragment, where all rows of a sum are together: neighbouring rows by one
/// access.
SmallVector<SmallVector<Value>>
ContractionEmitter::readBySums(const Side &side, Value stage, int64_t slab) {
  int64_t width = std::min<int64_t>(side.count, 4);
  auto type = VectorType::get({width}, b.getI32Type());
  Value part = bits(lane, 0, 3, 0), p = bits(lane, 2, 7, 0);
  Value row = add(side.warp, arith::MulIOp::create(b, loc, p, i32(side.count)));
  row = arith::XOrIOp::create(b, loc, row, swizzleOf(side, part));
  Value sums = arith::MulIOp::create(b, loc, part, i32(4 * side.rows));
  SmallVector<SmallVector<Value>> rows(side.count, SmallVector<Value>(4));
  for (int64_t first = 0; first < side.count; first += width)
    for (int64_t i = 0; i < 4; ++i) {
      Value at = row;
      if (first != 0)
        at = arith::XOrIOp::create(b, loc, at, i32(first));
      int64_t offset = side.start / 4 + (slab * 16 + i) * side.rows;
      at = add(add(add(stage, sums), at), i32(offset));
      Value all = vector::LoadOp::create(
          b, loc, type, words, ValueRange(asIndex(at)),
          /*nontemporal=*/false, llvm::Align(uint64_t(4 * width)));
      for (int64_t j = 0; j < width; ++j)
        rows[first + j][i] = vector::ExtractOp::create(b, loc, all, j);
    }
  return rows;
}

/// A word of f32 rounded to TF32, which the unit reads the upper bits of.
Value ContractionEmitter::roundWord(Value word) {
  if (roundsByInstruction)
    return emitPtx(b, loc, "cvt.rn.tf32.f32 $0, $1;", "=r,r", {word},
                   b.getI32Type(), /*hasEffects=*/false)
        .front();
  Type f32 = b.getF32Type();
  Value v = arith::BitcastOp::create(b, loc, f32, word);
  v = arith::TruncFOp::create(b, loc, FloatTF32Type::get(b.getContext()), v);
  v = arith::ExtFOp::create(b, loc, f32, v);
  return arith::BitcastOp::create(b, loc, b.getI32Type(), v);
}

/// The words that a lane has of each of its rows.
SmallVector<SmallVector<Value>>
ContractionEmitter::readFragment(const Side &side, Value stage, int64_t slab) {
  if (side.isBySums)
    return readBySums(side, stage, slab);
  auto type = VectorType::get({4}, b.getI32Type());
  Value start = add(stage, arith::MulIOp::create(b, loc, side.warp, i32(16)));
  SmallVector<SmallVector<Value>> rows;
  for (int64_t j = 0; j < side.count; ++j) {
    int64_t flipped =
        ((j ^ slab) & 1) * 16 + (j >> 1 & 1) * 4 + (j >> 2 & 1) * 8;
    Value at = side.place;
    if (flipped != 0)
      at = arith::XOrIOp::create(b, loc, at, i32(flipped));
    int64_t offset = side.start / 4 + slab * side.rows * kSlabBytes / 4 +
                     j * side.parts * 16;
    at = add(add(start, at), i32(offset));
    Value all =
        vector::LoadOp::create(b, loc, type, words, ValueRange(asIndex(at)),
                               /*nontemporal=*/false, llvm::Align(16));
    SmallVector<Value> own;
    for (int64_t i = 0; i < 4; ++i)
      own.push_back(vector::ExtractOp::create(b, loc, all, i));
    rows.push_back(std::move(own));
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

/// Adds the products of one slab.
void ContractionEmitter::multiplySlab(Value stage, int64_t slab,
                                      SmallVectorImpl<Value> &sums) {
  SmallVector<SmallVector<Value>> a = readFragment(left, stage, slab),
                                  c = readFragment(right, stage, slab);
  for (auto [side, fragment] : {std::pair(&left, &a), {&right, &c}})
    if (isCopied && side->copied.isRounded)
      for (SmallVector<Value> &row : *fragment)
        for (Value &word : row)
          word = roundWord(word);
  int64_t rowTiles = plan.getInstructions()[0],
          columnTiles = plan.getInstructions()[1];
  int64_t ofRow = x.wordsPerRow(), steps = 4 / ofRow,
          perTile = sums.size() / (rowTiles * columnTiles);
  auto wordsOf = [&](ArrayRef<Value> row, int64_t step) {
    return row.slice(step * ofRow, ofRow);
  };
  auto tileOf = [&](int64_t rt, int64_t ct) {
    return MutableArrayRef<Value>(sums).slice((rt * columnTiles + ct) * perTile,
                                              perTile);
  };
  if (!x.isSplit) {
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t ct = 0; ct < columnTiles; ++ct)
        for (int64_t rt = 0; rt < rowTiles; ++rt) {
          SmallVector<ArrayRef<Value>> rows;
          for (int64_t i = 0; i < x.rowsPerLane; ++i)
            rows.push_back(wordsOf(a[rt * x.rowsPerLane + i], step));
          llvm::copy(
              x.multiply(b, loc, rows, wordsOf(c[ct], step), tileOf(rt, ct)),
              tileOf(rt, ct).begin());
        }
    return;
  }
  if (isAddedByUnit) {
    // One product of TF32, as everybody makes it: the unit adds it to the sums.
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t ct = 0; ct < columnTiles; ++ct)
        for (int64_t rt = 0; rt < rowTiles; ++rt) {
          SmallVector<Value> rows;
          for (int64_t i = 0; i < x.rowsPerLane; ++i)
            llvm::append_range(rows, wordsOf(a[rt * x.rowsPerLane + i], step));
          llvm::copy(x.emit(b, loc, rows,
                            SmallVector<Value>(wordsOf(c[ct], step)),
                            SmallVector<Value>(tileOf(rt, ct))),
                     tileOf(rt, ct).begin());
        }
    return;
  }
  // big * small + small * big + big * big, added to the sums at last: the unit adds with
  // fewer digits than f32 has, so that it may add a few products only, and the
  // small ones first.
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
      for (auto [sum, part] : llvm::zip_equal(tileOf(rt, ct), parts[rt]))
        sum = arith::AddFOp::create(b, loc, sum, part);
  }
}

//===----------------------------------------------------------------------===//
// The loop over the sum
//===----------------------------------------------------------------------===//

SmallVector<Value> ContractionEmitter::emitMainloop(const Env &tile,
                                                    const Share &share) {
  if (isByBoxes())
    return runByBoxes(tile, share);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < plan.getInstructions()[0] * plan.getInstructions()[1];
       ++i)
    llvm::append_range(sums, x.makeZero(b, loc));
  SmallVector<Unit> leftUnits = makeUnits(left, tile),
                    rightUnits = makeUnits(right, tile);
  Value length = arith::SubIOp::create(b, loc, share.end, share.begin);
  Value steps =
      arith::CeilDivUIOp::create(b, loc, length, constantIndex(stageSums()));
  if (std::optional<int64_t> known = points.staticCountOf(sumAxes);
      known && plan.getSplits() == 1)
    steps = constantIndex(llvm::divideCeil(*known, stageSums()));
  Value stageWords = i32(stageBytes() / 4);
  auto stageOf = [&](Value step) {
    Value number =
        arith::RemUIOp::create(b, loc, asWord(step), i32(plan.getStages()));
    return arith::MulIOp::create(b, loc, number, stageWords).getResult();
  };
  SmallVector<Arriving> ofLeft, ofRight;
  auto start = [&](Value step) {
    Value stage = stageOf(step);
    ofLeft.clear();
    ofRight.clear();
    Value sum = arith::AddIOp::create(
        b, loc, share.begin,
        arith::MulIOp::create(b, loc, step, constantIndex(stageSums())));
    startUnits(left, leftUnits, sum, share, stage, ofLeft);
    startUnits(right, rightUnits, sum, share, stage, ofRight);
  };
  auto finish = [&](Value step) {
    Value stage = stageOf(step);
    finishUnits(left, leftUnits, ofLeft, stage);
    finishUnits(right, rightUnits, ofRight, stage);
    gpu::BarrierOp::create(b, loc);
  };
  auto multiply = [&](Value step, SmallVectorImpl<Value> &into) {
    Value stage = stageOf(step);
    for (int64_t slab = 0; slab < plan.getSlabs(); ++slab)
      multiplySlab(stage, slab, into);
  };
  if (isByWarpgroups())
    return runByWarpgroups(steps, stageOf, start);
  if (isCopied)
    return runCopied(steps, sums, start, multiply);
  auto run = [&] {
    SmallVector<Value> state(sums);
    Value one = constantIndex(1), zero = constantIndex(0);
    start(zero);
    finish(zero);
    Value last = arith::SubIOp::create(b, loc, steps, one);
    state = emitFor(b, loc, zero, last, one, state,
                    [&](Value step, ValueRange carried) {
                      SmallVector<Value> current(carried);
                      Value next = arith::AddIOp::create(b, loc, step, one);
                      start(next);
                      multiply(step, current);
                      finish(next);
                      return current;
                    });
    multiply(last, state);
    return state;
  };
  if (points.staticCountOf(sumAxes) && plan.getSplits() == 1)
    return run();
  // There may be nothing to add.
  Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, steps,
                                     constantIndex(0));
  auto branch = scf::IfOp::create(b, loc, ValueRange(sums).getTypes(), some,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, run());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, sums);
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// Copies of the next stages are on their way while one is multiplied. A step waits for
/// its stage, then for the other threads: all have read the stage before, to which the
/// next copies go.
SmallVector<Value> ContractionEmitter::runCopied(
    Value steps, SmallVector<Value> sums, function_ref<void(Value)> start,
    function_ref<void(Value, SmallVectorImpl<Value> &)> multiply) {
  int64_t ahead = plan.getStages() - 1;
  for (int64_t i = 0; i < ahead; ++i)
    startIfAny(constantIndex(i), steps, start);
  return emitFor(
      b, loc, constantIndex(0), steps, constantIndex(1), sums,
      [&](Value step, ValueRange carried) {
        tile::WaitRowsOp::create(b, loc, ahead - 1);
        gpu::BarrierOp::create(b, loc);
        startIfAny(arith::AddIOp::create(b, loc, step, constantIndex(ahead)),
                   steps, start);
        SmallVector<Value> current(carried);
        multiply(step, current);
        return current;
      });
}

void ContractionEmitter::startIfAny(Value step, Value steps,
                                    function_ref<void(Value)> start) {
  Value some =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, step, steps);
  auto branch = scf::IfOp::create(b, loc, some, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    start(step);
  }
  // A group of nothing where there is none: groups are counted.
  tile::CommitRowsOp::create(b, loc);
}

/// Starts the products of what a stage has, added to `sum` if there is one: of a
/// warpgroup, 64 rows and its columns.
Value ContractionEmitter::multiplyStage(Value stage, Value sum, bool isRestLeft,
                                        bool isRestRight) {
  int64_t columns = right.warpRows;
  auto tileOf = [&](const Side &side, int64_t rows, bool isRest) {
    Value first = arith::AndIOp::create(b, loc, side.warp, i32(-rows));
    return sharedTile(side, rows, first, stage, isRest);
  };
  Value a = tileOf(left, 64, isRestLeft),
        c = tileOf(right, columns, isRestRight);
  return Ptx(b, loc).multiply(columns, stageSums(), sum, {a}, {c});
}

/// small * big + big * small + big * big of a step, to be added to the sums behind it: the
/// unit adds with fewer digits than f32 has, so that it may add a few products only, and
/// the small ones first.
Value ContractionEmitter::multiplyParts(Value stage) {
  Value sum;
  for (auto [isSmallLeft, isSmallRight] :
       {std::pair(true, false), {false, true}, {false, false}})
    sum = multiplyStage(stage, sum, isSmallLeft, isSmallRight);
  return sum;
}

/// As runCopied, with the products of warpgroups, which run while a step goes on. Of
/// operands without parts those of the step before are over when a step has started its own. So copies go to the stage
/// of two steps before, which all threads are done with.
SmallVector<Value>
ContractionEmitter::runByWarpgroups(Value steps,
                                    function_ref<Value(Value)> stageOf,
                                    function_ref<void(Value)> start) {
  Ptx ptx(b, loc);
  int64_t columns = right.warpRows;
  // The products of parts are over when a step is.
  int64_t ahead = plan.getStages() - (haveParts() ? 1 : 2);
  for (int64_t i = 0; i < ahead; ++i)
    startIfAny(constantIndex(i), steps, start);
  Value zero = constant(b.getF32FloatAttr(0));
  SmallVector<Value> none(columns / 2, zero);
  auto await = [&] {
    tile::WaitRowsOp::create(b, loc, ahead - 1);
    // What copies of threads have written is shown to the unit.
    tile::FenceCopiesOp::create(b, loc);
    gpu::BarrierOp::create(b, loc);
  };
  if (haveParts())
    return emitFor(
        b, loc, constantIndex(0), steps, constantIndex(1), none,
        [&](Value step, ValueRange carried) {
          await();
          Value part = multiplyParts(stageOf(step));
          startIfAny(arith::AddIOp::create(b, loc, step, constantIndex(ahead)),
                     steps, start);
          SmallVector<Value> next;
          for (auto [sum, more] :
               llvm::zip_equal(carried, ptx.waitProducts(0, part)))
            next.push_back(arith::AddFOp::create(b, loc, sum, more));
          return next;
        });
  SmallVector<Value> state = emitFor(
      b, loc, constantIndex(0), steps, constantIndex(1), ptx.accumulate(none),
      [&](Value step, ValueRange carried) {
        await();
        Value sum = multiplyStage(stageOf(step), carried.front());
        startIfAny(arith::AddIOp::create(b, loc, step, constantIndex(ahead)),
                   steps, start);
        ptx.waitProducts(1, {});
        return SmallVector<Value>{sum};
      });
  return ptx.waitProducts(0, state.front());
}

//===----------------------------------------------------------------------===//
// Sums that parts of factors do not have
//===----------------------------------------------------------------------===//

/// One sum by multiply-adds of f32 of what is in memory.
Value ContractionEmitter::computeAnew(const Env &tile, const Share &share,
                                      Value row, Value column) {
  auto clamp = [&](const Side &side, Value at) -> Value {
    if (side.isWhole)
      return at;
    return arith::MinUIOp::create(
        b, loc, at,
        arith::SubIOp::create(b, loc, points.countOf(side.axes),
                              constantIndex(1)));
  };
  Env point = tile;
  points.bind(point, left.axes, clamp(left, row));
  points.bind(point, right.axes, clamp(right, column));
  Value zero = constant(b.getF32FloatAttr(0));
  return emitFor(b, loc, share.begin, share.end, constantIndex(1), zero,
                 [&](Value at, ValueRange carried) {
                   SmallVector<Value> factors;
                   for (const Side *side : {&left, &right}) {
                     Side single = *side;
                     single.width = 1;
                     Env env = point;
                     bindSums(env, at);
                     computeFactor(single, env, /*isLoad=*/false);
                     factors.push_back(
                         convertElement(b, loc, valueOf(side->factor, env),
                                        b.getF32Type(), side->isSigned));
                   }
                   return SmallVector<Value>{math::FmaOp::create(
                       b, loc, factors[0], factors[1], carried.front())};
                 })[0];
}

/// The row and column of the lane's sum of that number (i32).
std::pair<Value, Value> ContractionEmitter::placeOfSum(Value number) {
  if (isByWarpgroups()) {
    auto [row, column] = placeInTile(number);
    return {add(left.first, asIndex(row)), add(right.first, asIndex(column))};
  }
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
  rowPart = add(rowPart,
                asWord(MatrixFragments(*this).partOf(x.resultRow, laneIndex)));
  columnPart =
      add(columnPart,
          asWord(MatrixFragments(*this).partOf(x.resultColumn, laneIndex)));
  Value row =
      add(arith::MulIOp::create(b, loc, rowPart, i32(left.count)),
          add(arith::MulIOp::create(b, loc, rt, i32(x.rowsPerLane)), rowOf));
  Value column =
      add(arith::MulIOp::create(b, loc, columnPart, i32(right.count)), ct);
  row = add(left.first, asIndex(add(left.warp, row)));
  column = add(right.first, asIndex(add(right.warp, column)));
  return {row, column};
}

/// What is not finite, or so small that parts of its factors are no floats any more, is
/// computed anew: parts of infinities and of the largest floats make NaN. That is
/// rare, and takes as long as it takes.
void ContractionEmitter::repairSums(const Env &tile, const Share &share,
                                    SmallVectorImpl<Value> &sums) {
  Type word = b.getI32Type(), wide = b.getI64Type();
  Value one = i32(1), infinity = i32(int32_t(0xff000000)),
        least = i32(int32_t(27) << 24); // 2^-100
  SmallVector<Value> flags;
  Value any;
  for (Value sum : sums) {
    Value twice = arith::ShLIOp::create(
        b, loc, arith::BitcastOp::create(b, loc, word, sum), one);
    Value large = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                        twice, infinity);
    Value less =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                              arith::SubIOp::create(b, loc, twice, one), least);
    Value flag = arith::OrIOp::create(b, loc, large, less);
    flags.push_back(flag);
    any = any ? arith::OrIOp::create(b, loc, any, flag).getResult() : flag;
  }
  auto branch =
      scf::IfOp::create(b, loc, ValueRange(ArrayRef(sums)).getTypes(), any,
                        /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, sums);
  b.setInsertionPointToStart(branch.thenBlock());
  Value mask = constant(b.getI64IntegerAttr(0));
  for (auto [i, flag] : llvm::enumerate(flags))
    mask = arith::OrIOp::create(
        b, loc, mask,
        arith::ShLIOp::create(b, loc,
                              arith::ExtUIOp::create(b, loc, wide, flag),
                              constant(b.getI64IntegerAttr(int64_t(i)))));
  SmallVector<Value> repaired = emitFor(
      b, loc, constantIndex(0), constantIndex(sums.size()), constantIndex(1),
      sums, [&](Value at, ValueRange carried) {
        Value number = asWord(at);
        Value is = arith::TruncIOp::create(
            b, loc, b.getI1Type(),
            arith::ShRUIOp::create(
                b, loc, mask, arith::ExtUIOp::create(b, loc, wide, number)));
        auto single = scf::IfOp::create(b, loc, x.sum, is, /*withElse=*/true);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(single.thenBlock());
          auto [row, column] = placeOfSum(number);
          scf::YieldOp::create(b, loc, computeAnew(tile, share, row, column));
          b.setInsertionPointToStart(single.elseBlock());
          scf::YieldOp::create(b, loc, constant(b.getF32FloatAttr(0)));
        }
        SmallVector<Value> next;
        for (auto [i, old] : llvm::enumerate(carried)) {
          Value isOwn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                              number, i32(int64_t(i)));
          isOwn = arith::AndIOp::create(b, loc, isOwn, is);
          next.push_back(
              arith::SelectOp::create(b, loc, isOwn, single.getResult(0), old));
        }
        return next;
      });
  scf::YieldOp::create(b, loc, repaired);
  sums.assign(branch.getResults().begin(), branch.getResults().end());
}

//===----------------------------------------------------------------------===//
// Blocks that share a sum
//===----------------------------------------------------------------------===//

/// The part of the sum that a block of a tile adds, in whole stages.
ContractionEmitter::Share ContractionEmitter::shareOf(Value split) {
  Value total = countSums(), stage = constantIndex(stageSums());
  Value stages = arith::CeilDivUIOp::create(b, loc, total, stage);
  Value length = arith::MulIOp::create(
      b, loc,
      arith::CeilDivUIOp::create(b, loc, stages,
                                 constantIndex(plan.getSplits())),
      stage);
  Value begin = arith::MinUIOp::create(
      b, loc, arith::MulIOp::create(b, loc, split, length), total);
  Value end = arith::MinUIOp::create(
      b, loc, arith::AddIOp::create(b, loc, begin, length), total);
  return {begin, end, false};
}

/// Stores what this block has, and goes on, in the block of the tile that is last,
/// with the sums of all, added in the order of the splits.
void ContractionEmitter::mergeSplits(
    Value number, Value split, SmallVector<Value> sums,
    function_ref<void(SmallVectorImpl<Value> &)> then) {
  constexpr int64_t kWords = 4;
  Value ofTile = constantIndex(int64_t(sums.size()) * threads);
  auto place = [&](Value of, int64_t i) -> Value {
    Value at =
        arith::MulIOp::create(b, loc, number, constantIndex(plan.getSplits()));
    at = arith::MulIOp::create(b, loc, arith::AddIOp::create(b, loc, at, of),
                               ofTile);
    Value own = arith::AddIOp::create(b, loc, thread,
                                      constantIndex(i / kWords * threads));
    return arith::AddIOp::create(
        b, loc, at, arith::MulIOp::create(b, loc, own, constantIndex(kWords)));
  };
  auto type = VectorType::get({kWords}, x.sum);
  int64_t count = sums.size();
  for (int64_t i = 0; i < count; i += kWords) {
    Value some = vector::FromElementsOp::create(
        b, loc, type, ArrayRef(sums).slice(i, kWords));
    vector::StoreOp::create(b, loc, some, workspace,
                            ValueRange(place(split, i)),
                            /*nontemporal=*/false, llvm::Align(16));
  }
  gpu::BarrierOp::create(b, loc);
  Value word = constantIndex(plan.getStages() * stageBytes() / 4);
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        thread, constantIndex(0));
  auto counts = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(counts.thenYield());
    Value before = countInOrder(b, loc, counters, number, plan.getSplits());
    memref::StoreOp::create(b, loc, before, words, ValueRange(word));
  }
  gpu::BarrierOp::create(b, loc);
  Value isLast = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::eq,
      memref::LoadOp::create(b, loc, words, ValueRange(word)),
      i32(plan.getSplits() - 1));
  auto branch = scf::IfOp::create(b, loc, isLast, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  auto load = [&](Value of) {
    SmallVector<Value> parts;
    for (int64_t i = 0; i < count; i += kWords) {
      Value some = vector::LoadOp::create(
          b, loc, type, workspace, ValueRange(place(of, i)),
          /*nontemporal=*/false, llvm::Align(16));
      for (int64_t k = 0; k < kWords; ++k)
        parts.push_back(vector::ExtractOp::create(b, loc, some, k));
    }
    return parts;
  };
  sums = emitFor(b, loc, constantIndex(1), constantIndex(plan.getSplits()),
                 constantIndex(1), load(constantIndex(0)),
                 [&](Value of, ValueRange carried) {
                   SmallVector<Value> next;
                   for (auto [sum, part] : llvm::zip_equal(carried, load(of)))
                     next.push_back(
                         combineValues(b, loc, Reducer::Add, sum, part));
                   return next;
                 });
  then(sums);
}

//===----------------------------------------------------------------------===//
// A block's tile
//===----------------------------------------------------------------------===//

void ContractionEmitter::emitTile(Value block, Value sharedWords) {
  words = sharedWords;
  selectNest(found.nest());
  MatrixNest nestPlan(form, *program, shape(), plan.getInstructions()[0],
                      plan.getInstructions()[1], 1);
  nestPlan.setAxes();
  sumAxes = nestPlan.sums;
  innerSum = form.sums.back();
  lane = bits(asWord(thread), 0, 31, 0);
  warp = arith::ShRUIOp::create(b, loc, asWord(thread), i32(5));
  nestPlan.lane = asIndex(lane);
  left = makeSide(form.left, x.left, form.leftIsSigned, form.rows,
                  /*isLeft=*/true);
  right = makeSide(form.right, x.right, form.rightIsSigned, form.columns,
                   /*isLeft=*/false);
  orderSums();
  std::optional<int64_t> summed = points.staticCountOf(sumAxes);
  isAddedByUnit = form.leftIsRounded && form.rightIsRounded && summed &&
                  *summed <= kMostAddedByUnit * plan.getSplits();
  for (Side *side : {&left, &right})
    chooseAccess(*side);

  // Which tile: some rows of tiles for all columns, then the next.
  auto tilesOf = [&](const Side &side) -> Value {
    if (std::optional<int64_t> known = points.staticCountOf(side.axes))
      return constantIndex(llvm::divideCeil(*known, side.rows));
    return arith::CeilDivUIOp::create(b, loc, points.countOf(side.axes),
                                      constantIndex(side.rows));
  };
  Value split;
  if (plan.getSplits() > 1) {
    Value splits = constantIndex(plan.getSplits());
    split = points.divide(block, splits, /*remainder=*/true);
    block = points.divide(block, splits, /*remainder=*/false);
  }
  Value rowTiles = tilesOf(left), columnTiles = tilesOf(right);
  Value ofBatch = b.createOrFold<arith::MulIOp>(loc, rowTiles, columnTiles);
  Env tile;
  tile.position.assign(dims.size(), Value());
  points.bind(tile, nestPlan.batch,
              points.divide(block, ofBatch, /*remainder=*/false));
  Value number = points.divide(block, ofBatch, /*remainder=*/true);
  Value group = constantIndex(kRasterRows);
  Value ofGroup = b.createOrFold<arith::MulIOp>(loc, columnTiles, group);
  Value firstRow = arith::MulIOp::create(
      b, loc, points.divide(number, ofGroup, /*remainder=*/false), group);
  Value height = arith::MinUIOp::create(
      b, loc, arith::SubIOp::create(b, loc, rowTiles, firstRow), group);
  Value inGroup = points.divide(number, ofGroup, /*remainder=*/true);
  Value row = arith::AddIOp::create(
      b, loc, firstRow, points.divide(inGroup, height, /*remainder=*/true));
  Value column = points.divide(inGroup, height, /*remainder=*/false);
  left.first = arith::MulIOp::create(b, loc, row, constantIndex(left.rows));
  right.first =
      arith::MulIOp::create(b, loc, column, constantIndex(right.rows));
  setPlaces(left, /*isLeft=*/true);
  setPlaces(right, /*isLeft=*/false);

  Share share{constantIndex(0), points.countOf(sumAxes), false};
  if (std::optional<int64_t> known = points.staticCountOf(sumAxes))
    share.isWhole = *known % stageSums() == 0;
  auto finish = [&](SmallVectorImpl<Value> &sums) {
    // Where factors have no parts there is nothing to repair.
    if (x.isSplit && (!isByWarpgroups() || haveParts()))
      repairSums(tile, share, sums);
    if (isByWarpgroups())
      return storeSums(tile, sums);
    // A warp's tile may lie beyond the end although such tiles are whole.
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Value, 2> starts;
    for (const Side *side : {&left, &right}) {
      starts.push_back(add(side->first, asIndex(side->warp)));
      if (side->isWhole || !points.hasWholeTiles(side->axes, side->warpRows))
        continue;
      Value exists =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                starts.back(), points.countOf(side->axes));
      auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
      b.setInsertionPoint(branch.thenYield());
    }
    MatrixFragments(*this).store(nestPlan, tile, starts[0], starts[1], sums);
  };
  Share ofBlock = share;
  if (split)
    ofBlock = shareOf(split);
  else if (isByBoxes())
    ofBlock.end = countSums();
  SmallVector<Value> sums = emitMainloop(tile, ofBlock);
  if (split)
    mergeSplits(block, split, std::move(sums), finish);
  else
    finish(sums);
  nest = nullptr;
}
