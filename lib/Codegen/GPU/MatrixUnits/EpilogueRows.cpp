//===- EpilogueRows.cpp - results whose rows no box can have --------------===//
#include "Epilogue.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace redfuse;

/// Some columns of the rows of a warp, in its part of shared memory at `start`, and where in
/// the result the current row of them begins.
struct Epilogue::RowPiece {
  Value start, lane;
  int64_t columns = 0;
  Value memref;
  SmallVector<Value> indices;
  /// How many columns exist (i32); null where all do.
  Value left;
};

/// Whether the first column is in the middle of four bytes (i32): 0, or 1. None where rows
/// of an even length say that it never is.
static Value readOddity(OpBuilder &b, Location loc, Ptx &ptx, MemRefType type,
                        ValueRange indices) {
  if (type.getShape().back() % 2 == 0)
    return {};
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    llvm_unreachable("results that are staged have an identity layout");
  // The column itself is even: widths of tiles are.
  Value sum = ptx.i32(0);
  for (auto [index, stride] : llvm::drop_end(llvm::zip_equal(indices, strides)))
    if (stride % 2 != 0)
      sum = ptx.add(sum,
                    arith::IndexCastOp::create(b, loc, b.getI32Type(), index));
  return arith::AndIOp::create(b, loc, sum, ptx.i32(1));
}

/// A lane has two neighbours of a row, at a multiple of four bytes. Of a row that starts in
/// the middle of four bytes these are the last element of the lane before and the first one
/// of its own; lane 0 has the two elements at the ends then.
void Epilogue::storeRow(const RowPiece &piece, Value row) {
  auto type = cast<MemRefType>(piece.memref.getType());
  auto isTrue = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  };
  auto both = [&](Value x, Value y) -> Value {
    return y ? Value(arith::AndIOp::create(b, loc, x, y)) : x;
  };
  auto pick = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, loc, condition, x, y);
  };
  auto isBelow = [&](Value x, Value y) {
    return isTrue(arith::CmpIPredicate::slt, x, y);
  };
  auto isLeft = [&](Value column) {
    return piece.left ? isBelow(column, piece.left) : Value();
  };
  // Chunks of 16 bytes are swizzled by the row (tile::SharedType).
  Value swizzle = ptx.mul(arith::AndIOp::create(b, loc, row, ptx.i32(7)), 16);
  Value rowStart = ptx.add(piece.start, ptx.mul(row, 128));
  auto loadWord = [&](Value word) {
    Value at = arith::XOrIOp::create(b, loc, ptx.mul(word, 4), swizzle);
    return ptx.loadWord(ptx.add(rowStart, at));
  };
  auto at = [&](Value column) {
    SmallVector<Value> indices = piece.indices;
    indices.back() =
        arith::AddIOp::create(b, loc, indices.back(), toIndex(column));
    return indices;
  };
  auto unpack = [&](Value word) -> Value {
    Value one = vector::FromElementsOp::create(
        b, loc, VectorType::get({1}, b.getI32Type()), word);
    return vector::BitCastOp::create(
        b, loc, VectorType::get({2}, type.getElementType()), one);
  };
  auto storeBoth = [&](Value pair, Value column) {
    vector::StoreOp::create(b, loc, pair, piece.memref, at(column),
                            /*nontemporal=*/false, llvm::MaybeAlign(4));
  };

  // Lanes behind the columns read what the last one has.
  Value reader = piece.lane;
  if (piece.columns < 64)
    reader =
        arith::MinUIOp::create(b, loc, reader, ptx.i32(piece.columns / 2 - 1));
  Value word = loadWord(reader), column = ptx.mul(piece.lane, 2);
  Value exists = isBelow(piece.lane, ptx.i32(piece.columns / 2));
  Value odd = readOddity(b, loc, ptx, type, piece.indices);
  if (!odd) {
    when(both(exists, isLeft(column)),
         [&] { storeBoth(unpack(word), column); });
    return;
  }
  Value isOdd = isTrue(arith::CmpIPredicate::ne, odd, ptx.i32(0));
  Value isEnds =
      both(isOdd, isTrue(arith::CmpIPredicate::eq, piece.lane, ptx.i32(0)));
  Value before = loadWord(pick(isEnds, ptx.i32(piece.columns / 2 - 1),
                               arith::SubIOp::create(b, loc, reader, odd)));
  Value across = arith::OrIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, before, ptx.i32(16)),
      arith::ShLIOp::create(b, loc, word, ptx.i32(16)));
  Value pair = unpack(pick(isOdd, across, word));
  Value low = pick(isEnds, ptx.i32(piece.columns - 1),
                   arith::SubIOp::create(b, loc, column, odd));
  Value high = pick(isEnds, ptx.i32(0), ptx.add(low, 1));
  Value isPair =
      both(arith::XOrIOp::create(b, loc, isEnds,
                                 arith::ConstantIntOp::create(b, loc, 1, 1)),
           isLeft(high));
  when(exists, [&] {
    auto branch = scf::IfOp::create(b, loc, isPair, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    storeBoth(pair, low);
    b.setInsertionPoint(branch.elseYield());
    for (auto [k, place] : {std::pair(0, low), std::pair(1, high)}) {
      auto storeOne = [&, k = k, place = place] {
        Value one = vector::ExtractOp::create(b, loc, pair, int64_t(k));
        memref::StoreOp::create(b, loc, one, piece.memref, at(place));
      };
      if (Value inside = isLeft(place))
        when(inside, storeOne);
      else
        storeOne();
    }
  });
}

/// A lane has one element of 32 bits.
void Epilogue::storeRowOfWords(const RowPiece &piece, Value row) {
  // Lanes behind the columns read what the last one has.
  Value reader = piece.lane;
  if (piece.columns < 32)
    reader = arith::MinUIOp::create(b, loc, reader, ptx.i32(piece.columns - 1));
  Value swizzle = ptx.mul(arith::AndIOp::create(b, loc, row, ptx.i32(7)), 16),
        rowStart = ptx.add(piece.start, ptx.mul(row, 128)),
        at = arith::XOrIOp::create(b, loc, ptx.mul(reader, 4), swizzle);
  Value word = ptx.loadWord(ptx.add(rowStart, at));
  Value element = arith::BitcastOp::create(
      b, loc, cast<MemRefType>(piece.memref.getType()).getElementType(), word);
  Value last = piece.left ? piece.left : ptx.i32(piece.columns);
  if (piece.left)
    last = arith::MinSIOp::create(b, loc, last, ptx.i32(piece.columns));
  SmallVector<Value> indices = piece.indices;
  indices.back() =
      arith::AddIOp::create(b, loc, indices.back(), toIndex(piece.lane));
  when(
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, piece.lane,
                            last),
      [&] { memref::StoreOp::create(b, loc, element, piece.memref, indices); });
}

/// Puts columns of 32 bits into the warp's part, where a lane has two neighbours of each of
/// two rows, eight after eight.
void Epilogue::stageWords(ArrayRef<Value> values, const RowPiece &piece) {
  Value row = arith::ShRUIOp::create(b, loc, piece.lane, ptx.i32(2)),
        pair = arith::AndIOp::create(b, loc, piece.lane, ptx.i32(3)),
        rowStart = ptx.add(piece.start, ptx.mul(row, 128)),
        swizzled =
            arith::XOrIOp::create(b, loc, ptx.mul(pair, 8), ptx.mul(row, 16));
  for (size_t i = 0; i < values.size(); i += 4) {
    Value at =
        ptx.add(rowStart, Value(arith::XOrIOp::create(
                              b, loc, swizzled, ptx.i32(int64_t(i) * 8))));
    ptx.storePair(at, 0, values[i], values[i + 1]);
    ptx.storePair(at, 8 * 128, values[i + 2], values[i + 3]);
  }
}

/// As many columns as a tile of the warp has go through shared memory at a time.
void Epilogue::storeByRows(const Fragment &value, Value memref, AffineMap map) {
  const MatrixTile &staged = layout.staged->tile;
  Value start = storage.stagedAddress(staged.type);
  bool areWords = staged.type.getElement().isF32();
  Value into =
      areWords ? Value() : tile::ViewOp::create(b, loc, staged.type, start);
  map = simplifyForExtents(map, space.staticExtents);
  SmallVector<Value> positions(place.offsets);
  for (Value &at : positions)
    if (!at)
      at = index(0);
  Value firstRow = firstRowOfWarp(), firstColumn = positions[staged.sum];
  int64_t columns = 2 * value.values.size(), width = staged.type.getColumns();
  RowPiece piece;
  piece.start = start;
  piece.lane = ptx.readLane();
  piece.memref = memref;
  for (int64_t from = 0; from < columns; from += width) {
    piece.columns = std::min(width, columns - from);
    positions[staged.sum] =
        arith::AddIOp::create(b, loc, firstColumn, index(from));
    if (place.isRagged(staged.sum)) {
      Value left = arith::SubIOp::create(b, loc, place.extents[staged.sum],
                                         positions[staged.sum]);
      piece.left = toWord(arith::MinSIOp::create(b, loc, left, index(width)));
    }
    NVVM::SyncWarpOp::create(b, loc, ptx.i32(-1));
    ArrayRef<Value> values =
        ArrayRef(value.values).slice(from / 2, piece.columns / 2);
    if (areWords)
      stageWords(values, piece);
    else
      stage(values, into);
    NVVM::SyncWarpOp::create(b, loc, ptx.i32(-1));
    auto loop = scf::ForOp::create(b, loc, index(0), index(kWarpRows),
                                   index(kRowsOfStore));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    for (int64_t k = 0; k < kRowsOfStore; ++k) {
      Value row =
          arith::AddIOp::create(b, loc, loop.getInductionVar(), index(k));
      positions[plan.m] = arith::AddIOp::create(b, loc, firstRow, row);
      auto store = [&] {
        piece.indices.clear();
        for (AffineExpr e : map.getResults())
          piece.indices.push_back(
              affine::expandAffineExpr(b, loc, e, positions, {}));
        if (areWords)
          storeRowOfWords(piece, toWord(row));
        else
          storeRow(piece, toWord(row));
      };
      if (place.isRagged(plan.m))
        when(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                   positions[plan.m], place.extents[plan.m]),
             store);
      else
        store();
    }
  }
}
