//===- TilePlacement.cpp - where a tile of results is ---------------------===//
#include "TilePlacement.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "mlir/Dialect/Affine/Utils.h"

using namespace mlir;
using namespace redfuse;

Value TilePlacement::countTiles(unsigned d) {
  return b.createOrFold<arith::CeilDivUIOp>(
      loc, place.extents[d], index(plan.tileOf(d) * plan.clusterOf(d)));
}

void TilePlacement::placeTile(unsigned d, Value position) {
  if (int64_t cluster = plan.clusterOf(d); cluster > 1) {
    position = arith::MulIOp::create(b, loc, position, index(cluster));
    position = arith::AddIOp::create(b, loc, position,
                                     d == plan.m ? of.block.clusterRow
                                                 : of.block.clusterColumn);
  }
  place.offsets[d] =
      b.createOrFold<arith::MulIOp>(loc, position, index(plan.tileOf(d)));
}

/// The remainder; `x` becomes the quotient. Numbers of tiles fit 32 bits, whose
/// division is short.
Value TilePlacement::divide(Value &x, Value by) {
  auto narrow = [&](Value v) {
    return b.createOrFold<arith::IndexCastUIOp>(loc, b.getI32Type(), v);
  };
  auto wide = [&](Value v) {
    return b.createOrFold<arith::IndexCastUIOp>(loc, b.getIndexType(), v);
  };
  Value quotient =
      wide(b.createOrFold<arith::DivUIOp>(loc, narrow(x), narrow(by)));
  Value taken = b.createOrFold<arith::MulIOp>(loc, quotient, by);
  Value rest = b.createOrFold<arith::SubIOp>(loc, x, taken);
  x = quotient;
  return rest;
}

/// How many tiles of the other dims, of so many, find what they stream in the L2
/// cache.
TilePlacement::TileBand TilePlacement::cutBand(Value others) {
  Value bytes = index(0);
  for (const MatrixProduct &product : plan.products) {
    Value size = index(2);
    for (unsigned d : {product.n, product.k})
      size = b.createOrFold<arith::MulIOp>(loc, size, place.extents[d]);
    for (unsigned d : product.outerSums)
      size = b.createOrFold<arith::MulIOp>(loc, size, place.extents[d]);
    bytes = b.createOrFold<arith::AddIOp>(loc, bytes, size);
  }
  Value some = b.createOrFold<arith::DivUIOp>(
      loc, index(plan.cachedBytes),
      b.createOrFold<arith::MaxUIOp>(loc, bytes, index(1)));
  Value size = b.createOrFold<arith::MinUIOp>(
      loc, b.createOrFold<arith::MaxUIOp>(loc, some, index(1)), others);
  std::optional<int64_t> count = getConstantIntValue(getAsOpFoldResult(others));
  std::optional<int64_t> most = getConstantIntValue(getAsOpFoldResult(size));
  if (!count || !most)
    return {size, /*isEven=*/false};
  // Division by a constant stays uniform in the eyes of ptxas.
  int64_t divisor = std::max<int64_t>(*most, 1);
  if (!of.masks.empty())
    divisor = std::clamp<int64_t>(of.units / kSharers, 1, divisor);
  while (*count % divisor != 0)
    --divisor;
  return {index(divisor), /*isEven=*/true};
}

/// Places the rows of the tile of that number; the number of it among the tiles of
/// the other dims. Neighbours share what is streamed while it stays in the L2 cache:
/// as many tiles of the other dims as fit are a band; inside of it the rows run from
/// the last to the first, because predicates leave most to the last ones, and long
/// tiles should not be started at the end.
Value TilePlacement::placeRows(Value number, ArrayRef<int64_t> grid) {
  Value rows = countTiles(plan.m), others = index(1);
  for (int64_t d : grid)
    others = b.createOrFold<arith::MulIOp>(loc, others, countTiles(d));
  TileBand band = cutBand(others);
  // Where tiles are unequal, the first rows of all, which should be short, come
  // last: blocks then end at about the same time.
  std::optional<int64_t> rowTiles =
      getConstantIntValue(getAsOpFoldResult(rows));
  int64_t late = band.isEven && plan.hasDynamicScheduler && rowTiles
                     ? *rowTiles / kLateRows
                     : 0;
  Value earlyRows = b.createOrFold<arith::SubIOp>(loc, rows, index(late));
  Value next = number;
  Value row =
      divide(next, b.createOrFold<arith::MulIOp>(loc, band.size, earlyRows));
  Value first = b.createOrFold<arith::MulIOp>(loc, next, band.size);
  // The last band may be smaller.
  Value size = band.size;
  if (!band.isEven)
    size = b.createOrFold<arith::MinUIOp>(
        loc, size, b.createOrFold<arith::SubIOp>(loc, others, first));
  Value other = divide(row, size);
  other = b.createOrFold<arith::AddIOp>(loc, first, other);
  if (late > 0) {
    Value early = b.createOrFold<arith::MulIOp>(loc, earlyRows, others);
    Value isLate =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, number, early);
    Value lateRow = arith::SubIOp::create(b, loc, number, early);
    Value lateOther = divide(lateRow, others);
    lateRow = arith::AddIOp::create(b, loc, lateRow, earlyRows);
    row = arith::SelectOp::create(b, loc, isLate, lateRow, row);
    other = arith::SelectOp::create(b, loc, isLate, lateOther, other);
  }
  Value last = b.createOrFold<arith::SubIOp>(loc, rows, index(1));
  placeTile(plan.m, b.createOrFold<arith::SubIOp>(loc, last, row));
  return other;
}

/// Tells the emitter where the tile of that number is in every dim.
void TilePlacement::enter(Value number, bool isConsumer) {
  SmallVector<int64_t> grid(space.schedule.getGrid());
  bool hasRows = llvm::is_contained(grid, int64_t(plan.m));
  llvm::erase(grid, int64_t(plan.m));
  Value rest = hasRows ? placeRows(number, grid) : number;
  for (auto [i, d] : llvm::enumerate(llvm::reverse(grid))) {
    Value position = rest;
    if (i + 1 < grid.size())
      position = divide(rest, countTiles(d));
    placeTile(d, position);
  }
  if (!place.offsets[plan.m])
    place.offsets[plan.m] = index(0);
  firstRow = place.offsets[plan.m];
  lastRow = arith::AddIOp::create(b, loc, firstRow, index(plan.rows() - 1));
  if (isConsumer)
    placeThread();
  if (plan.stream)
    stream.placeSplit();
}

//===----------------------------------------------------------------------===//
// Rows of threads
//===----------------------------------------------------------------------===//

Value TilePlacement::rowOfWarp() {
  Value inGroup = arith::AndIOp::create(b, loc, of.ids.warp, ptx.i32(3));
  return ptx.add(ptx.mul(of.ids.consumer, plan.consumerRows),
                 ptx.mul(inGroup, plan.consumerRows / 4));
}

/// This thread's first row: of its warp, and lane / 4. The lane is read here and
/// now, so that neither it nor what is made of it is kept in registers for long.
void TilePlacement::placeThread() {
  Value row = ptx.add(
      rowOfWarp(), arith::ShRUIOp::create(b, loc, ptx.readLane(), ptx.i32(2)));
  place.offsets[plan.m] = arith::AddIOp::create(
      b, loc, firstRow,
      arith::IndexCastUIOp::create(b, loc, b.getIndexType(), row));
}

Value TilePlacement::takeRows(FragmentLayout rows, Value first) {
  place.layout = rows;
  Value row =
      ptx.add(ptx.mul(ptx.add(of.ids.warp, -plan.target.loaderWarps()),
                      32 / rows.lanes * rows.rows),
              arith::DivUIOp::create(b, loc, place.lane, ptx.i32(rows.lanes)));
  if (first)
    row = ptx.add(row, first);
  place.offsets[plan.m] = arith::AddIOp::create(
      b, loc, firstRow,
      arith::IndexCastUIOp::create(b, loc, b.getIndexType(), row));
  return row;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

SmallVector<std::pair<unsigned, Value>>
TilePlacement::inOuterSums(ArrayRef<unsigned> outerSums, unsigned sum,
                           Value &sumTile) {
  SmallVector<std::pair<unsigned, Value>> found;
  if (outerSums.empty())
    return found;
  // The tiles along the sum's own dim run fastest, then its other dims.
  Value rest = sumTile;
  sumTile = divide(rest, b.createOrFold<arith::CeilDivUIOp>(
                             loc, place.extents[sum], index(plan.sumTile())));
  for (unsigned d : llvm::reverse(outerSums.drop_front()))
    found.push_back({d, divide(rest, place.extents[d])});
  found.push_back({outerSums.front(), rest});
  return found;
}

SmallVector<Value> TilePlacement::positionsOf(const MatrixTile &tile,
                                              Value sumTile) {
  SmallVector<Value> inOuter(space.numDims);
  if (sumTile)
    for (auto [d, at] : inOuterSums(tile.outerSums, tile.sum, sumTile))
      inOuter[d] = at;
  SmallVector<Value> positions;
  for (unsigned d = 0; d < space.numDims; ++d) {
    Value at = inOuter[d] ? inOuter[d] : place.offsets[d];
    if (d == tile.sum && sumTile)
      at = arith::MulIOp::create(
          b, loc, sumTile,
          arith::ConstantIndexOp::create(b, loc, plan.sumTile()));
    if (!at)
      at = arith::ConstantIndexOp::create(b, loc, 0);
    positions.push_back(at);
  }
  return positions;
}

SmallVector<Value> TilePlacement::coordinatesOf(const MatrixTile &tile,
                                                Value sumTile) {
  return coordinatesAt(tile, positionsOf(tile, sumTile));
}

TilePart TilePlacement::partOf(const MatrixTile &tile, Value sumTile) {
  TilePart part{coordinatesOf(tile, sumTile), Value(), Value()};
  if (tile.parts == 1)
    return part;
  bool isOfRows = tile.free == plan.m;
  Value number =
      toWord(isOfRows ? of.block.clusterColumn : of.block.clusterRow);
  part.row = ptx.mul(number, tile.rowsOfPart());
  unsigned rows = tile.isByRows ? tile.source.sum : tile.source.free;
  Value &at = part.coordinates[part.coordinates.size() - 1 - rows];
  at = ptx.add(at, part.row);
  // Blocks with the same rows are as many ranks apart as there are rows of tiles.
  int64_t mask = 0;
  for (int64_t i = 0; i < tile.parts; ++i)
    mask |= int64_t(1) << (isOfRows ? i * plan.clusterRows : i);
  Value shift = isOfRows
                    ? toWord(of.block.clusterRow)
                    : ptx.mul(toWord(of.block.clusterColumn), plan.clusterRows);
  Value bits = arith::ShLIOp::create(b, loc, ptx.i32(mask), shift);
  part.blocks = arith::TruncIOp::create(b, loc, b.getI16Type(), bits);
  return part;
}

SmallVector<Value> TilePlacement::coordinatesAt(const MatrixTile &tile,
                                                ArrayRef<Value> positions) {
  SmallVector<Value> coordinates;
  for (AffineExpr e : llvm::reverse(tile.source.map.getResults()))
    coordinates.push_back(arith::IndexCastOp::create(
        b, loc, b.getI32Type(),
        affine::expandAffineExpr(b, loc, e, positions, {})));
  return coordinates;
}
