//===- LowerTileProducts.cpp - products of a warpgroup --------------------===//
//
// nvvm.wgmma ops take both operands from shared memory only, and make one
// instruction of each step; copies of registers between steps would make ptxas
// serialise them. So a product is one piece of inline PTX.
//
//===----------------------------------------------------------------------===//
#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;
using namespace redfuse::tile;

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

namespace {
/// How a product reads a tile in shared memory.
struct SharedOperand {
  SharedType tile;
  /// The sum runs along rows, not columns.
  bool isByRows;

  /// What is added to the descriptor (units of 16 bytes) for step `k` of the sum: 32
  /// bytes of a row, four steps a panel; or 16 rows.
  int64_t stepOffset(int64_t k) const {
    int64_t bytes =
        isByRows ? k * 16 * 128 : k / 4 * tile.getPanelBytes() + k % 4 * 32;
    return bytes >> 4;
  }

  /// Where rows from 64 times `part` on start.
  int64_t partBytes() const {
    return isByRows ? tile.getPanelBytes() : 64 * 128;
  }

  /// Leading and stride byte offsets, 128-byte swizzle. The leading offset steps
  /// from panel to panel where the sum runs along rows.
  uint64_t descriptorBits() const {
    uint64_t leading = isByRows ? tile.getPanelBytes() : 16, stride = 8 * 128;
    return uint64_t(1) << 62 | (stride >> 4) << 32 | (leading >> 4) << 16;
  }
};
} // namespace

/// Descriptors have 18 bits of an address; in a cluster there are more, which say
/// which block it is.
static Value makeDescriptor(OpBuilder &b, Location loc, Value address,
                            const SharedOperand &operand, bool isInCluster) {
  if (isInCluster)
    address = arith::AndIOp::create(b, loc, address,
                                    constantI32(b, loc, (1 << 18) - 1));
  Value units = arith::ShRUIOp::create(b, loc, address, constantI32(b, loc, 4));
  Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), units);
  Value bits = arith::ConstantIntOp::create(b, loc, b.getI64Type(),
                                            operand.descriptorBits());
  return arith::OrIOp::create(b, loc, wide, bits);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {

struct LowerAccumulators : OpConversionPattern<AccumulatorsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AccumulatorsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    b.replaceOpWithMultiple(op, ArrayRef{adaptor.getValues()});
    return success();
  }
};

struct LowerPack : OpConversionPattern<PackOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(PackOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    SmallVector<Value> packed;
    ValueRange values = adaptor.getValues();
    for (size_t i = 0; i < values.size(); i += 2)
      packed.push_back(packPair(b, op.getLoc(), op.getType().getElement(),
                                values[i], values[i + 1]));
    b.replaceOpWithMultiple(op, ArrayRef{ValueRange(packed)});
    return success();
  }
};

struct LowerReadOperand : OpConversionPattern<ReadOperandOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(ReadOperandOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    // Lane l has row l % 16 of the block and its chunk l / 16 of 16 bytes; chunks
    // are swizzled by the row. The lane is read here and now: what is made of it
    // is not kept in registers from before.
    Value lane = readLane(b, loc);
    auto masked = [&](int64_t mask) -> Value {
      return arith::AndIOp::create(b, loc, lane, constantI32(b, loc, mask));
    };
    Value row = addI32(b, loc, adaptor.getRow(), masked(15));
    Value half = arith::ShRUIOp::create(b, loc, lane, constantI32(b, loc, 4));
    Value start = addI32(b, loc, adaptor.getTile(), mulI32(b, loc, row, 128));
    SmallVector<Value> read;
    for (int64_t k = 0; k < op.getType().getColumns() / 16; ++k) {
      Value chunk = arith::XOrIOp::create(
          b, loc, addI32(b, loc, half, k % 4 * 2), masked(7));
      Value panel =
          addI32(b, loc, start, k / 4 * op.getTile().getType().getPanelBytes());
      Value address = addI32(b, loc, panel, mulI32(b, loc, chunk, 16));
      llvm::append_range(read,
                         emitPtx(b, loc,
                                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                                 "{$0, $1, $2, $3}, [$4];",
                                 "=r,=r,=r,=r,r", address,
                                 SmallVector<Type>(4, b.getI32Type())));
    }
    b.replaceOpWithMultiple(op, ArrayRef{ValueRange(read)});
    return success();
  }
};

struct LowerSettle : OpConversionPattern<SettleOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(SettleOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    SmallVector<Value> values;
    for (ValueRange part : adaptor.getValues())
      llvm::append_range(values, part);
    // The conditional use makes the instruction depend on the values.
    std::string text = "{\n.reg .b32 t;\n.reg .pred p;\nmov.b32 t, $0;\n";
    for (size_t i = 1; i < values.size(); ++i)
      text += "xor.b32 t, t, $" + std::to_string(i) + ";\n";
    text += "setp.eq.u32 p, t, 0x7fc1fabc;\n@p bar.warp.sync -1;\n"
            "bar.warp.sync -1;\n}";
    std::string constraints = joinConstraints(
        {repeatConstraint("=r", values.size()), tieConstraints(values.size())});
    SmallVector<Value> settled =
        emitPtx(b, op.getLoc(), text, constraints, values,
                llvm::to_vector(ValueRange(values).getTypes()));
    SmallVector<ValueRange> parts;
    ValueRange rest = settled;
    for (ValueRange part : adaptor.getValues()) {
      parts.push_back(rest.take_front(part.size()));
      rest = rest.drop_front(part.size());
    }
    b.replaceOpWithMultiple(op, parts);
    return success();
  }
};

/// What instructions call the elements of an operand.
StringRef kindOf(Type element) {
  return element.isF32()                ? "tf32"
         : element.isF16()              ? "f16"
         : element.isBF16()             ? "bf16"
         : element.isSignedInteger()    ? "s8"
         : element.isUnsignedInteger()  ? "u8"
         : isa<Float8E5M2Type>(element) ? "e5m2"
                                        : "e4m3";
}

/// The kind of register of a sum, in a constraint.
std::string registerOf(Type sum) { return sum.isF32() ? "f" : "r"; }

struct LowerMultiply : OpConversionPattern<MultiplyOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(MultiplyOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto function = op->getParentOfType<FunctionOpInterface>();
    bool isInCluster = function && function->hasAttr("nvvm.cluster_dim");
    auto shared = dyn_cast<SharedType>(op.getLeft().getType());
    SharedOperand right{op.getRight().getType(), op.getRightRows()};
    SharedOperand left{shared, op.getLeftRows()};
    SmallVector<Value> a(adaptor.getLeft());
    if (shared) {
      if (op.getPart())
        a[0] =
            addI32(b, loc, a[0],
                   mulI32(b, loc, adaptor.getPart().front(), left.partBytes()));
      a[0] = makeDescriptor(b, loc, a[0], left, isInCluster);
    }
    Value c =
        makeDescriptor(b, loc, adaptor.getRight().front(), right, isInCluster);
    ValueRange accumulators = adaptor.getAccumulators();
    int64_t columns = op.getType().getColumns();
    // One piece of text for all steps: ptxas then sees no copies between them.
    size_t n = op.getType().getSize(), first = accumulators.empty() ? n : 2 * n;
    size_t last = first + a.size();
    std::string text = "{\n.reg .pred p, q;\n.reg .b64 da, db;\n"
                       "setp.ne.b32 p, 1, 0;\nsetp.ne.b32 q, 0, 0;\n"
                       "wgmma.fence.sync.aligned;\n";
    Type element = op.getRight().getType().getElement();
    StringRef rightKind = kindOf(element),
              leftKind = shared ? kindOf(shared.getElement()) : rightKind;
    Type sum = op.getType().getElement();
    bool ofIntegers = sum.isInteger();
    // Of other types no operand is transposed.
    bool canBeByRows = element.getIntOrFloatBitWidth() == 16;
    int64_t stepSums = 32 * 8 / element.getIntOrFloatBitWidth();
    for (int64_t k = 0; k < int64_t(op.getSum()) / stepSums; ++k) {
      auto at = [&](const SharedOperand &shared, size_t operand,
                    StringRef name) {
        std::string base = "$" + std::to_string(operand);
        int64_t offset = shared.stepOffset(k);
        if (offset == 0)
          return base;
        text += llvm::formatv("add.s64 {0}, {1}, {2};\n", name, base, offset);
        return name.str();
      };
      std::string db = at(right, last, "db");
      std::string da =
          shared ? at(left, first, "da") : registerList(first + 4 * k, 4);
      text += llvm::formatv(
          "wgmma.mma_async.sync.aligned.m64n{0}k{1}.{2}.{3}.{4} ", columns,
          stepSums, ofIntegers ? "s32" : "f32", leftKind, rightKind);
      text += registerList(0, n) + ", " + da + ", " + db + ", " +
              (k == 0 && accumulators.empty() ? "q" : "p");
      if (!ofIntegers)
        text += ", 1, 1";
      if (shared && canBeByRows)
        text += left.isByRows ? ", 1" : ", 0";
      if (canBeByRows)
        text += right.isByRows ? ", 1" : ", 0";
      text += ";\n";
    }
    text += "wgmma.commit_group.sync.aligned;\n}";
    // Without accumulators the results are written before the last operand is
    // read.
    std::string constraints = joinConstraints(
        {repeatConstraint((accumulators.empty() ? "=&" : "=") + registerOf(sum),
                          n),
         tieConstraints(accumulators.size()),
         repeatConstraint(shared ? "l" : "r", a.size()), "l"});
    SmallVector<Value> operands(accumulators);
    llvm::append_range(operands, a);
    operands.push_back(c);
    SmallVector<Value> sums =
        emitPtx(b, loc, text, constraints, operands, SmallVector<Type>(n, sum));
    b.replaceOpWithMultiple(op, ArrayRef{ValueRange(sums)});
    return success();
  }
};

/// The accumulators are operands and results: nothing that uses them can be moved
/// above the wait.
struct LowerWaitProducts : OpConversionPattern<WaitProductsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(WaitProductsOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    SmallVector<Value> values, alive;
    for (ValueRange part : adaptor.getAccumulators())
      llvm::append_range(values, part);
    for (ValueRange part : adaptor.getAlive())
      llvm::append_range(alive, part);
    SmallVector<std::string> each;
    for (Value v : values)
      each.push_back("=" + registerOf(v.getType()));
    std::string constraints =
        joinConstraints({llvm::join(each, ","), tieConstraints(values.size()),
                         repeatConstraint("r", alive.size())});
    SmallVector<Type> types = llvm::to_vector(ValueRange(values).getTypes());
    llvm::append_range(values, alive);
    b.replaceOp(op, emitPtx(b, op.getLoc(),
                            llvm::formatv("wgmma.wait_group.sync.aligned {0};",
                                          int64_t(op.getPending()))
                                .str(),
                            constraints, values, types));
    return success();
  }
};

} // namespace

void tile::populateOperandPatterns(const TypeConverter &types,
                                   RewritePatternSet &patterns) {
  patterns.add<LowerAccumulators, LowerPack, LowerReadOperand, LowerSettle>(
      types, patterns.getContext());
}

void tile::populateProductPatterns(const TypeConverter &types,
                                   RewritePatternSet &patterns) {
  patterns.add<LowerMultiply, LowerWaitProducts>(types, patterns.getContext());
}
