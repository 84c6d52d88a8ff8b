//===- FragmentMemory.cpp - fragments in global memory --------------------===//
#include "FragmentMemory.h"

#include "redfuse/Codegen/Common/TileEmitter.h"

#include "mlir/Dialect/Affine/Utils.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace redfuse;

using Kind = Fragment::Kind;

/// The widest access; memory of tensors is aligned to it.
static constexpr int64_t kStoreBytes = 16;

/// What two neighbours in memory are known to be aligned to.
static llvm::MaybeAlign alignmentOfPairs(MemRefType type) {
  int64_t bytes = 2 * bytesOf(type.getElementType());
  return llvm::MaybeAlign(std::min<int64_t>(bytes, kStoreBytes));
}

/// Whether elements of neighbouring columns are neighbours, at even places.
static bool hasPairs(AffineMap map, unsigned column, MemRefType type) {
  if (map.getNumResults() == 0 || !type.getLayout().isIdentity() ||
      type.getElementType().isInteger(1) || type.getElementType().isIndex())
    return false;
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  if (!last || last.getPosition() != column)
    return false;
  for (AffineExpr e : map.getResults().drop_back())
    if (e.isFunctionOfDim(column))
      return false;
  int64_t extent = type.getShape().back();
  return !ShapedType::isDynamic(extent) && extent % 2 == 0;
}

static SmallVector<Value> indicesOf(OpBuilder &b, Location loc, AffineMap map,
                                    ArrayRef<Value> positions) {
  SmallVector<Value> indices;
  for (AffineExpr e : map.getResults())
    indices.push_back(affine::expandAffineExpr(b, loc, e, positions, {}));
  return indices;
}

Fragment FragmentMemory::load(Value memref, AffineMap map, Fragment result) {
  auto type = cast<MemRefType>(memref.getType());
  size_t size = place.sizeOf(result);
  bool hasColumns = result.kind == Kind::Column || result.kind == Kind::Matrix;
  // An odd start of a split would separate neighbours.
  if (hasColumns && hasPairs(map, result.dim, type) &&
      !place.ends[result.dim]) {
    auto pair = VectorType::get({2}, type.getElementType());
    for (size_t i = 0; i < size; i += 2) {
      SmallVector<Value> positions =
          place.positionsAt(result, i, /*isClamped=*/false);
      Value &column = positions[result.dim];
      // The last pair of the memory, whose rows may be longer than the dim by one.
      if (place.isRagged(result.dim))
        column = arith::MinSIOp::create(
            b, loc, column, place.index(type.getShape().back() - 2));
      if (place.isRagged(plan.m) && result.kind == Kind::Matrix)
        positions[plan.m] = place.positionsAt(result, i, true)[plan.m];
      Value both = vector::LoadOp::create(
          b, loc, pair, memref, indicesOf(b, loc, map, positions),
          /*nontemporal=*/false, alignmentOfPairs(type));
      for (int64_t e : {0, 1})
        result.values.push_back(
            vector::ExtractOp::create(b, loc, both, ArrayRef<int64_t>{e}));
    }
    return result;
  }
  Value bytes = asBytes(b, loc, memref);
  for (size_t i = 0; i < size; ++i) {
    Value element = memref::LoadOp::create(
        b, loc, bytes,
        indicesOf(b, loc, map,
                  place.positionsAt(result, i, /*isClamped=*/true)));
    if (bytes != memref)
      element = arith::CmpIOp::create(
          b, loc, arith::CmpIPredicate::ne, element,
          place.constant(b.getZeroAttr(element.getType())));
    result.values.push_back(element);
  }
  return result;
}

/// Pieces that are exchanged before the first of them is stored: 32 registers. Estimated.
static constexpr size_t kPiecesAtOnce = 8;

/// Stores elements of 16 bits as pieces of 16 bytes, as far as they come in fours
/// of pairs; returns how many pairs of a row that are. Four neighbouring threads,
/// which have two columns each of the same eight, transpose: the first one gets
/// all columns of the first pair, and so on.
size_t FragmentMemory::storePieces(Value memref, AffineMap map,
                                   const Fragment &value) {
  auto type = cast<MemRefType>(memref.getType());
  size_t pairs = value.values.size() / (2 * place.layout.rows);
  if (bytesOf(type.getElementType()) != 2 || type.getShape().back() % 8 != 0 ||
      !isa<FloatType>(type.getElementType()))
    return 0;
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, loc, condition, x, y);
  };
  Value here = ptx.readLane();
  auto bitOf = [&](int64_t mask) -> Value {
    Value bit = arith::AndIOp::create(b, loc, here, ptx.i32(mask));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit,
                                 ptx.i32(0));
  };
  Value isOdd = bitOf(1), isHigh = bitOf(2);
  // Where the thread's piece starts: of the pair that is its number in the four,
  // the columns of all four.
  Value inFour = arith::AndIOp::create(b, loc, here, ptx.i32(3));
  Value inRow =
      arith::AndIOp::create(b, loc, here, ptx.i32(place.layout.lanes - 1));
  Value start =
      ptx.add(ptx.mul(inFour, 2 * place.layout.lanes),
              ptx.mul(arith::SubIOp::create(b, loc, inRow, inFour), 2));
  Value column = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), start);
  if (place.offsets[value.dim])
    column = arith::AddIOp::create(b, loc, column, place.offsets[value.dim]);
  auto i32 = b.getI32Type();
  // Where pieces exist or not, several are exchanged before the first is stored: behind a
  // branch nothing of the next one would begin. (Tiles of 52 rows by 256 columns, which are
  // stored for most of their time, take 0.96 of it so on an H200.)
  struct Piece {
    SmallVector<Value> words, positions;
  };
  llvm::MapVector<Value, SmallVector<Piece>> exchanged;
  size_t count = 0;
  auto storeAll = [&] {
    for (auto &[exists, pieces] : exchanged) {
      OpBuilder::InsertionGuard guard(b);
      if (exists) {
        auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
        b.setInsertionPoint(branch.thenYield());
      }
      for (Piece &piece : pieces) {
        Value stored = vector::FromElementsOp::create(
            b, loc, VectorType::get({4}, i32), piece.words);
        stored = vector::BitCastOp::create(
            b, loc, VectorType::get({8}, type.getElementType()), stored);
        vector::StoreOp::create(
            b, loc, stored, memref, indicesOf(b, loc, map, piece.positions),
            /*nontemporal=*/false, llvm::MaybeAlign(kStoreBytes));
      }
    }
    exchanged.clear();
    count = 0;
  };
  SmallVector<Value> rowExists(place.layout.rows);
  if (place.isRagged(plan.m))
    for (auto [row, exists] : llvm::enumerate(rowExists))
      exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                     place.rowAt(row), place.extents[plan.m]);
  size_t p = 0;
  for (; p + 4 <= pairs; p += 4) {
    for (size_t row = 0; row < place.layout.rows; ++row) {
      SmallVector<Value> words;
      for (size_t k = 0; k < 4; ++k) {
        size_t i = ((p + k) * place.layout.rows + row) * 2;
        words.push_back(packPair(value.values[i], value.values[i + 1]));
      }
      auto exchange = [&](size_t x, size_t y, Value isUpper, int64_t mask) {
        Value other = ptx.shuffleXor(select(isUpper, words[x], words[y]), mask);
        words[x] = select(isUpper, other, words[x]);
        words[y] = select(isUpper, words[y], other);
      };
      exchange(0, 1, isOdd, 1);
      exchange(2, 3, isOdd, 1);
      exchange(0, 2, isHigh, 2);
      exchange(1, 3, isHigh, 2);
      Value at = arith::AddIOp::create(
          b, loc, column, place.index(int64_t(p) * 2 * place.layout.lanes));
      SmallVector<Value> positions =
          place.positionsAt(value, row * 2, /*isClamped=*/false);
      positions[value.dim] = at;
      Value exists = rowExists[row];
      if (place.isRagged(value.dim)) {
        Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                             at, place.extents[value.dim]);
        exists = exists ? Value(arith::AndIOp::create(b, loc, exists, inside))
                        : inside;
      }
      exchanged[exists].push_back({words, positions});
      if (!exists || ++count == kPiecesAtOnce)
        storeAll();
    }
  }
  storeAll();
  return p;
}

/// The vector of which two values are both elements, in their order; null if none.
static Value getCommonPair(Value low, Value high) {
  auto first = low.getDefiningOp<vector::ExtractOp>(),
       second = high.getDefiningOp<vector::ExtractOp>();
  if (!first || !second || first.getSource() != second.getSource() ||
      first.getSourceVectorType().getShape() != ArrayRef<int64_t>{2} ||
      first.getStaticPosition() != ArrayRef<int64_t>{0} ||
      second.getStaticPosition() != ArrayRef<int64_t>{1})
    return {};
  return first.getSource();
}

Value FragmentMemory::packPair(Value low, Value high) {
  auto first = low.getDefiningOp<arith::TruncFOp>(),
       second = high.getDefiningOp<arith::TruncFOp>();
  if (first && second && first.getIn().getType().isF32() &&
      second.getIn().getType().isF32())
    return ptx.pack(low.getType(), first.getIn(), second.getIn());
  Value pair = getCommonPair(low, high);
  if (!pair)
    pair = vector::FromElementsOp::create(
        b, loc, VectorType::get({2}, low.getType()), ValueRange{low, high});
  pair = vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getI32Type()),
                                   pair);
  return vector::ExtractOp::create(b, loc, pair, ArrayRef<int64_t>{0});
}

/// Neighbours that were rounded one by one, rounded by pairs (see roundPairs).
static void roundByPairs(OpBuilder &b, Location loc, FragmentMemory &memory,
                         MutableArrayRef<Value> values) {
  for (; values.size() >= 2; values = values.drop_front(2)) {
    auto low = values[0].getDefiningOp<arith::TruncFOp>();
    if (!low || !values[1].getDefiningOp<arith::TruncFOp>() ||
        !low.getIn().getType().isF32() ||
        low.getType().getIntOrFloatBitWidth() != 16)
      continue;
    Value pair = memory.packPair(values[0], values[1]);
    pair = vector::FromElementsOp::create(
        b, loc, VectorType::get({1}, b.getI32Type()), pair);
    pair = vector::BitCastOp::create(b, loc,
                                     VectorType::get({2}, low.getType()), pair);
    for (int64_t k : {0, 1})
      values[k] = vector::ExtractOp::create(b, loc, pair, k);
  }
}

void FragmentMemory::store(Value memref, AffineMap map, const Fragment &given) {
  Fragment value = given;
  auto type = cast<MemRefType>(memref.getType());
  Value bytes = asBytes(b, loc, memref);
  auto inMemory = [&](Value v) -> Value {
    return bytes == memref
               ? v
               : Value(arith::ExtUIOp::create(b, loc, b.getI8Type(), v));
  };
  bool isMatrix = value.kind == Kind::Matrix;
  bool pairs =
      isMatrix && hasPairs(map, value.dim, type) && !place.ends[value.dim];
  size_t stored =
      pairs ? storePieces(memref, map, value) * 2 * place.layout.rows : 0;
  if (isMatrix && stored == value.values.size())
    return;
  if (isMatrix && !pairs)
    roundByPairs(b, loc, *this, value.values);
  // One value for all rows (a count) is stored once, whatever rows exist.
  bool isUniform = value.kind == Kind::Uniform;
  for (size_t half = 0; half < (isUniform ? 1 : place.layout.rows); ++half) {
    OpBuilder::InsertionGuard guard(b);
    Value exists;
    auto both = [&](Value condition) {
      exists = exists ? Value(arith::AndIOp::create(b, loc, exists, condition))
                      : condition;
    };
    if (place.isRagged(plan.m) && !isUniform)
      both(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                 place.rowAt(half), place.extents[plan.m]));
    if (!isMatrix) {
      Value t = arith::AndIOp::create(b, loc, place.lane,
                                      ptx.i32(place.layout.lanes - 1));
      both(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, t,
                                 ptx.i32(0)));
    }
    if (exists) {
      auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
      b.setInsertionPoint(branch.thenYield());
    }
    if (!isMatrix) {
      memref::StoreOp::create(
          b, loc, inMemory(value.values[half]), bytes,
          indicesOf(b, loc, map, place.positionsAt(value, half, false)));
      continue;
    }
    Value left = place.columnsLeft(value.dim);
    for (size_t i = stored + 2 * half; i < value.values.size();
         i += 2 * place.layout.rows) {
      OpBuilder::InsertionGuard inner(b);
      if (pairs) {
        if (left) {
          auto branch = scf::IfOp::create(
              b, loc, place.isInside(left, value.columnOf(i)), false);
          b.setInsertionPoint(branch.thenYield());
        }
        Value two = vector::FromElementsOp::create(
            b, loc, VectorType::get({2}, type.getElementType()),
            ValueRange{value.values[i], value.values[i + 1]});
        vector::StoreOp::create(
            b, loc, two, memref,
            indicesOf(b, loc, map, place.positionsAt(value, i, false)),
            /*nontemporal=*/false, alignmentOfPairs(type));
        continue;
      }
      for (size_t e = i; e < i + 2; ++e) {
        OpBuilder::InsertionGuard innermost(b);
        if (left) {
          auto branch = scf::IfOp::create(
              b, loc, place.isInside(left, value.columnOf(e)), false);
          b.setInsertionPoint(branch.thenYield());
        }
        memref::StoreOp::create(
            b, loc, inMemory(value.values[e]), bytes,
            indicesOf(b, loc, map, place.positionsAt(value, e, false)));
      }
    }
  }
}
