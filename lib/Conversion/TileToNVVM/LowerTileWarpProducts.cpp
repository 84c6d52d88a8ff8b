//===- LowerTileWarpProducts.cpp - products of a warpgroup, warp by warp --===//
//
// Where no product runs while its warps go on, each of the four warps multiplies
// its own rows: operands come from shared memory by ldmatrix, four 8 x 8 matrices
// at a time, and the product is a chain of mma.sync. A product is over when its
// op is.
//
//===----------------------------------------------------------------------===//
#include "TileLowering.h"

#include "redfuse/Analysis/MatrixInstruction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace redfuse;
using namespace redfuse::tile;

namespace {

/// Bytes of a chunk of a row of a panel; chunks of a row.
constexpr int64_t kChunkBytes = 16, kChunks = 8;
/// Rows of an instruction's result.
constexpr int64_t kRows = 16;

/// Reads blocks of 16 x 16 elements of a tile as four matrices of 8 x 8, in one
/// order of their rows (lanes give the addresses: eight lanes a matrix).
class BlockReader {
public:
  /// Matrices follow each other along the rows of the tile first, or along its
  /// columns; `transposed`: a lane gets two neighbours of a column.
  BlockReader(OpBuilder &b, Location loc, SharedType type, Value address,
              bool isRowsFirst, bool isTransposed)
      : b(b), loc(loc), type(type), isTransposed(isTransposed) {
    Value lane = emitPtx(b, loc, "mov.u32 $0, %laneid;", "=r", {},
                         b.getI32Type(), /*hasEffects=*/false)[0];
    Value inRow = bits(lane, 0, 7);
    Value first = bits(lane, 3, 1), second = bits(lane, 4, 1);
    if (!isRowsFirst)
      std::swap(first, second);
    Value row = addI32(b, loc, inRow, mulI32(b, loc, first, 8));
    Value place = arith::XOrIOp::create(b, loc, inRow, second);
    // What is the lane's own is added last: it is the same for all tiles.
    Value own = addI32(b, loc, mulI32(b, loc, row, kRowBytes),
                       mulI32(b, loc, place, kChunkBytes));
    start = addI32(b, loc, address, own);
  }

  /// The block from a row on, and from a chunk of 8 columns on: an even one.
  SmallVector<Value> read(int64_t row, int64_t at) {
    return emit(placeOf(at % kChunks),
                row * kRowBytes + at / kChunks * type.getPanelBytes());
  }

  /// The same of rows from `base` bytes on, a multiple of those of a row.
  void moveBy(Value base) { start = addI32(b, loc, start, base); }

  /// The block whose first chunk is `at` of its panel, which is only known when
  /// the kernel runs.
  SmallVector<Value> read(int64_t row, Value at) {
    Value swizzled = mulI32(b, loc, at, kChunkBytes);
    return emit(arith::XOrIOp::create(b, loc, start, swizzled),
                row * kRowBytes);
  }

private:
  Value bits(Value v, int64_t shift, int64_t mask) {
    if (shift)
      v = arith::ShRUIOp::create(b, loc, v, constantI32(b, loc, shift));
    return arith::AndIOp::create(b, loc, v, constantI32(b, loc, mask));
  }

  /// Chunks are swizzled by the row, and rows start at multiples of their bytes: an
  /// even chunk is one exclusive or away.
  Value placeOf(int64_t at) {
    return at ? Value(arith::XOrIOp::create(
                    b, loc, start, constantI32(b, loc, at * kChunkBytes)))
              : start;
  }

  SmallVector<Value> emit(Value address, int64_t offset) {
    std::string text = "ldmatrix.sync.aligned.m8n8.x4";
    text += isTransposed ? ".trans" : "";
    text += ".shared.b16 {$0, $1, $2, $3}, [$4";
    text += offset ? "+" + std::to_string(offset) + "];" : "];";
    return emitPtx(b, loc, text, "=r,=r,=r,=r,r", address,
                   SmallVector<Type>(4, b.getI32Type()));
  }

  OpBuilder &b;
  Location loc;
  SharedType type;
  bool isTransposed;
  Value start;
};

/// The left operand: registers, or a tile of which a warp reads its own rows, 16
/// or 32 of them. Registers are those of `tile.operand`.
class LeftReader {
public:
  LeftReader(OpBuilder &b, Location loc, MultiplyOp op, ValueRange left,
             Value part)
      : count(op.getType().getRows() / 64), registers(left) {
    auto shared = dyn_cast<SharedType>(op.getLeft().getType());
    if (!shared)
      return;
    isByRows = op.getLeftRows();
    // Matrices in the order of the instruction's operand: rows first.
    reader.emplace(b, loc, shared, left.front(), /*isRowsFirst=*/!isByRows,
                   /*isTransposed=*/isByRows);
    Value warp = readWarp(b, loc);
    Value row = mulI32(b, loc, warp, count * kRows);
    if (part)
      row = addI32(b, loc, row, mulI32(b, loc, part, op.getType().getRows()));
    if (!isByRows) {
      reader->moveBy(mulI32(b, loc, row, kRowBytes));
      return;
    }
    // Rows of the operand are columns of the tile.
    Value panel = arith::ShRUIOp::create(b, loc, row, constantI32(b, loc, 6));
    reader->moveBy(mulI32(b, loc, panel, shared.getPanelBytes()));
    Value inPanel = arith::AndIOp::create(b, loc, row, constantI32(b, loc, 63));
    Value chunk =
        arith::ShRUIOp::create(b, loc, inPanel, constantI32(b, loc, 3));
    for (int64_t i = 0; i < count; ++i)
      chunks.push_back(addI32(b, loc, chunk, 2 * i));
  }

  /// Of 16 summed elements, an operand of each 16 rows: the words of the lane's
  /// first row, then of its second one.
  SmallVector<SmallVector<Value>> read(int64_t k) {
    SmallVector<SmallVector<Value>> all;
    for (int64_t i = 0; i < count; ++i) {
      if (!reader) {
        // Of each eight columns, all rows.
        SmallVector<Value> words;
        for (int64_t r = 0; r < 2; ++r)
          for (int64_t half = 0; half < 2; ++half)
            words.push_back(registers[((2 * k + half) * count + i) * 2 + r]);
        all.push_back(words);
        continue;
      }
      SmallVector<Value> words = isByRows ? reader->read(k * 16, chunks[i])
                                          : reader->read(i * kRows, 2 * k);
      std::swap(words[1], words[2]);
      all.push_back(words);
    }
    return all;
  }

private:
  static Value readWarp(OpBuilder &b, Location loc) {
    // Of the four; warps are 32 neighbouring threads.
    Value thread = emitPtx(b, loc, "mov.u32 $0, %tid.x;", "=r", {},
                           b.getI32Type(), /*hasEffects=*/false)[0];
    Value warp = arith::ShRUIOp::create(b, loc, thread, constantI32(b, loc, 5));
    return arith::AndIOp::create(b, loc, warp, constantI32(b, loc, 3));
  }

  int64_t count;
  SmallVector<Value> registers;
  bool isByRows = false;
  std::optional<BlockReader> reader;
  SmallVector<Value> chunks;
};

struct LowerWarpMultiply : OpConversionPattern<MultiplyOp> {
  LowerWarpMultiply(const TypeConverter &types, MLIRContext *context,
                    const Chip &chip)
      : OpConversionPattern(types, context), chip(chip) {}

  LogicalResult matchAndRewrite(MultiplyOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Type element = op.getRight().getType().getElement();
    std::optional<MatrixElement> kind = findMatrixElement(element);
    auto instruction =
        kind ? findMatrixInstruction(chip, *kind, *kind, b.getF32Type())
             : std::nullopt;
    if (!instruction)
      return b.notifyMatchFailure(op, "the target has no such instruction");
    int64_t count = op.getType().getRows() / 64;
    int64_t pairs = op.getType().getColumns() / 16;
    LeftReader left(b, loc, op, adaptor.getLeft(),
                    op.getPart() ? adaptor.getPart().front() : Value());
    bool isByRows = op.getRightRows();
    // A lane has two neighbours of the sum: matrices along the sum first.
    BlockReader right(b, loc, op.getRight().getType(),
                      adaptor.getRight().front(), /*isRowsFirst=*/isByRows,
                      /*isTransposed=*/isByRows);
    // Elements of eight columns, 16 rows after 16 rows.
    SmallVector<Value> sums(adaptor.getAccumulators());
    if (sums.empty())
      sums.assign(op.getType().getSize(),
                  arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)));
    for (int64_t k = 0; k < int64_t(op.getSum()) / 16; ++k) {
      SmallVector<SmallVector<Value>> rows = left.read(k);
      for (int64_t pair = 0; pair < pairs; ++pair) {
        SmallVector<Value> words = isByRows ? right.read(k * 16, pair * 2)
                                            : right.read(pair * 16, k * 2);
        for (int64_t half = 0; half < 2; ++half)
          for (int64_t i = 0; i < count; ++i) {
            auto *at = &sums[((pair * 2 + half) * count + i) * 4];
            SmallVector<Value> made = instruction->emit(
                b, loc, rows[i], ArrayRef(words).slice(2 * half, 2),
                ArrayRef(at, 4));
            llvm::copy(made, at);
          }
      }
    }
    b.replaceOpWithMultiple(op, ArrayRef{ValueRange(sums)});
    return success();
  }
  const Chip &chip;
};

/// Nothing runs: elements are there.
struct LowerWarpWait : OpConversionPattern<WaitProductsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(WaitProductsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    SmallVector<Value> elements;
    for (ValueRange part : adaptor.getAccumulators())
      llvm::append_range(elements, part);
    b.replaceOp(op, elements);
    return success();
  }
};

} // namespace

LogicalResult tile::checkWarpProduct(MultiplyOp op) {
  if (op.getRight().getType().getElement().isF32())
    return op.emitOpError("multiplies f32, which products of warps do not");
  int64_t columns = op.getType().getColumns();
  if (columns % 16 != 0)
    return op.emitOpError()
           << "has " << columns
           << " columns; products of warps have a multiple of 16";
  return success();
}

void tile::populateWarpProductPatterns(const TypeConverter &types,
                                       RewritePatternSet &patterns,
                                       const Chip &chip) {
  patterns.add<LowerWarpMultiply>(types, patterns.getContext(), chip);
  patterns.add<LowerWarpWait>(types, patterns.getContext());
}
