//===- LowerTileRows.cpp - copies of rows by many threads -----------------===//
//
// Eight threads copy the 128 bytes of a row of a panel, the next eight the next
// row, and so on: places in shared memory differ from pass to pass by a constant,
// as the swizzle repeats every eight rows.
//
//===----------------------------------------------------------------------===//
#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;
using namespace redfuse::tile;

namespace {

/// Bytes of what a thread copies; threads of a row.
constexpr int64_t kPieceBytes = 16, kThreadsOfRow = 8;

class RowCopier {
public:
  RowCopier(OpBuilder &b, CopyRowsOp op, Value tile, Value thread)
      : b(b), loc(op.getLoc()), op(op), type(op.getTile().getType()),
        source(cast<MemRefType>(op.getSource().getType())),
        along(op.getAlong()), last(source.getRank() - 1), thread(thread) {
    row = shift(thread, 3);
    inRow = mask(thread, 7);
    // Row r has its chunk c at place c xor r mod 8. What is the thread's own is
    // added last: it is the same for all tiles.
    Value place = arith::XOrIOp::create(b, loc, mask(row, 7), inRow);
    Value own = addI32(b, loc, mulI32(b, loc, row, kRowBytes),
                       mulI32(b, loc, place, kPieceBytes));
    to = addI32(b, loc, tile, own);
  }

  void run() {
    Value from = findStart();
    int64_t step = op.getThreads() / kThreadsOfRow;
    for (int64_t p = 0; p < type.getPanels(); ++p) {
      // The rows that this thread finds something in.
      Value rowsLeft;
      if (!op.getInside())
        rowsLeft = countRows(p);
      Value now = from;
      for (int64_t i = 0; i < type.getRows(); i += step) {
        int64_t offset = p * kRowBytes;
        if (stride.isStatic())
          offset += i * stride.constant;
        else if (i > 0)
          now = arith::AddIOp::create(b, loc, now, stepOf(step));
        copy(now, offset, p * type.getPanelBytes() + i * kRowBytes, i, rowsLeft,
             type.getRows() - i < step);
      }
    }
  }

private:
  /// Bytes from a row to the next.
  struct Stride {
    int64_t constant = 0;
    Value value;
    bool isStatic() const { return !value; }
  };

  int64_t elementBytes() const { return source.getElementTypeBitWidth() / 8; }
  int64_t pieceColumns() const { return kPieceBytes / elementBytes(); }
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }
  Value asIndex(Value v) {
    return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), v);
  }
  Value shift(Value v, int64_t by) {
    return arith::ShRUIOp::create(b, loc, v, constantI32(b, loc, by));
  }
  Value mask(Value v, int64_t bits) {
    return arith::AndIOp::create(b, loc, v, constantI32(b, loc, bits));
  }
  Value extent(int64_t d) {
    return source.isDynamicDim(d)
               ? Value(memref::DimOp::create(b, loc, op.getSource(), d))
               : index(source.getDimSize(d));
  }

  /// The address of the thread's first piece (i64), and the stride of rows.
  Value findStart() {
    Value pitch = index(1), offset = op.getIndices().back();
    bool isKnown = true;
    int64_t size = 1;
    for (int64_t d = last; d >= 0; --d) {
      if (d == along) {
        stride.constant = size * elementBytes();
        if (!isKnown)
          stride.value =
              arith::MulIOp::create(b, loc, pitch, index(elementBytes()));
      }
      if (d != last) {
        Value at =
            b.createOrFold<arith::MulIOp>(loc, op.getIndices()[d], pitch);
        offset = b.createOrFold<arith::AddIOp>(loc, offset, at);
      }
      pitch = b.createOrFold<arith::MulIOp>(loc, pitch, extent(d));
      isKnown &= !source.isDynamicDim(d);
      if (isKnown)
        size *= source.getDimSize(d);
    }
    Value start =
        memref::ExtractAlignedPointerAsIndexOp::create(b, loc, op.getSource());
    offset = arith::MulIOp::create(b, loc, offset, index(elementBytes()));
    start = arith::AddIOp::create(b, loc, start, offset);
    // The thread's own part, in 32 bits where rows are short enough.
    Value own = mulI32(b, loc, inRow, kPieceBytes);
    if (stride.isStatic() && stride.constant < (1 << 20)) {
      own = asIndex(addI32(b, loc, mulI32(b, loc, row, stride.constant), own));
    } else {
      Value by = stride.isStatic() ? index(stride.constant) : stride.value;
      own = arith::AddIOp::create(
          b, loc, arith::MulIOp::create(b, loc, asIndex(row), by),
          asIndex(own));
    }
    start = arith::AddIOp::create(b, loc, start, own);
    return arith::IndexCastUIOp::create(b, loc, b.getI64Type(), start);
  }

  Value stepOf(int64_t rows) {
    Value bytes = arith::MulIOp::create(b, loc, stride.value, index(rows));
    return arith::IndexCastUIOp::create(b, loc, b.getI64Type(), bytes);
  }

  /// How many rows from the thread's own on exist, none if the column of the panel
  /// does not (i32; may be negative).
  Value countRows(int64_t panel) {
    Value here = b.createOrFold<arith::AddIOp>(loc, op.getIndices()[along],
                                               asIndex(row));
    Value left = arith::SubIOp::create(b, loc, extent(along), here);
    Value column =
        arith::MulIOp::create(b, loc, asIndex(inRow), index(pieceColumns()));
    column = arith::AddIOp::create(b, loc, column, op.getIndices().back());
    Value columnHere = arith::AddIOp::create(
        b, loc, column, index(panel * type.getPanelColumns()));
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         columnHere, extent(last));
    left = arith::SelectOp::create(b, loc, exists, left, index(0));
    return arith::IndexCastOp::create(b, loc, b.getI32Type(), left);
  }

  /// A piece `offset` bytes behind `from`, of row `i` behind the thread's first
  /// one: zeros, and nothing read, where there are no more than `i` rows left.
  void copy(Value from, int64_t offset, int64_t place, int64_t i,
            Value rowsLeft, bool isLast) {
    auto at = [](StringRef operand, int64_t bytes) {
      return bytes ? llvm::formatv("[{0}+{1}]", operand, bytes).str()
                   : llvm::formatv("[{0}]", operand).str();
    };
    SmallVector<Value> operands{to, from};
    std::string text, guard, constraints = "r,l";
    std::string piece = "cp.async.cg.shared.global " + at("$0", place) + ", " +
                        at("$1", offset) + ", 16";
    if (rowsLeft) {
      text += llvm::formatv("setp.gt.s32 p, $2, {0};\n"
                            "selp.b32 t, 16, 0, p;\n",
                            i);
      operands.push_back(rowsLeft);
      constraints += ",r";
      piece += ", t";
    }
    if (isLast) {
      // Not all threads have a row of the last ones.
      text += llvm::formatv("setp.lt.s32 q, ${0}, {1};\n", operands.size(),
                            type.getRows() - i);
      operands.push_back(row);
      constraints += ",r";
      guard = "@q ";
    }
    text += guard + piece + ";";
    if (rowsLeft || isLast)
      text = "{\n.reg .pred p, q;\n.reg .b32 t;\n" + text + "\n}";
    emitPtx(b, loc, text, constraints, operands);
  }

  OpBuilder &b;
  Location loc;
  CopyRowsOp op;
  SharedType type;
  MemRefType source;
  int64_t along, last;
  Value thread, row, inRow, to;
  Stride stride;
};

struct LowerCopyRows : OpConversionPattern<CopyRowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CopyRowsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    RowCopier(b, op, adaptor.getTile(), adaptor.getThread()).run();
    b.eraseOp(op);
    return success();
  }
};

} // namespace

void tile::populateRowPatterns(const TypeConverter &types,
                               RewritePatternSet &patterns) {
  patterns.add<LowerCopyRows>(types, patterns.getContext());
  addPtxPattern<CommitRowsOp>(types, patterns, "cp.async.commit_group;");
  addPtxPattern<WaitRowsOp>(
      types, patterns,
      [](WaitRowsOp op, WaitRowsOp::Adaptor, OpBuilder &) -> PtxCall {
        return {
            llvm::formatv("cp.async.wait_group {0};", op.getPending()), "", {}};
      });
}
