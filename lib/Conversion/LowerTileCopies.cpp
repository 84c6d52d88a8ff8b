//===- LowerTileCopies.cpp - copies and words of shared memory -------------===//
#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;
using namespace redfuse::tile;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// `.v2.f32`, and the letter of the constraint.
static std::string kindOfWords(TypeRange types, char &letter) {
  bool isFloat = types.front().isF32();
  letter = isFloat ? 'f' : 'r';
  std::string kind =
      types.size() == 1 ? "" : ".v" + std::to_string(types.size());
  return kind + (isFloat ? ".f32" : ".u32");
}

/// `[$i+offset]`.
static std::string placeAt(size_t operand, int64_t offset) {
  std::string place = "[$" + std::to_string(operand);
  if (offset != 0)
    place += "+" + std::to_string(offset);
  return place + "]";
}

static std::string listWords(size_t first, size_t count) {
  return count == 1 ? "$" + std::to_string(first) : registerList(first, count);
}

namespace {

struct LowerStore : OpConversionPattern<StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    ValueRange words = adaptor.getWords();
    char letter;
    std::string kind = kindOfWords(words.getTypes(), letter);
    SmallVector<Value> operands{adaptor.getAddress()};
    llvm::append_range(operands, words);
    emitPtx(b, op.getLoc(),
            "st.shared" + kind + " " + placeAt(0, op.getOffset()) + ", " +
                listWords(1, words.size()) + ";",
            "r," + repeatConstraint(StringRef(&letter, 1), words.size()),
            operands);
    b.eraseOp(op);
    return success();
  }
};

struct LowerLoad : OpConversionPattern<LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    TypeRange types = op.getWords().getTypes();
    size_t count = types.size();
    char letter;
    std::string kind = kindOfWords(types, letter);
    std::string result = std::string("=") + letter;
    b.replaceOp(op,
                emitPtx(b, op.getLoc(),
                        "ld.shared" +
                            std::string(op.getCluster() ? "::cluster" : "") +
                            kind + " " + listWords(0, count) + ", " +
                            placeAt(count, op.getOffset()) + ";",
                        repeatConstraint(result, count) + ",r",
                        adaptor.getAddress(), types));
    return success();
  }
};

struct LowerAddressIn : OpConversionPattern<AddressInOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AddressInOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    b.replaceOp(op, emitPtx(b, op.getLoc(),
                            "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r",
                            {adaptor.getAddress(),
                             constantI32(b, op.getLoc(), op.getBlock())},
                            b.getI32Type(), /*hasEffects=*/false));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The address of a tensor map (see redfuse-tensor-map-parameters).
static Value addressOfMap(OpBuilder &b, Location loc, Value map) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  return UnrealizedConversionCastOp::create(b, loc, pointer, map).getResult(0);
}

/// Emits `text` for each panel of a tile: its address, the tensor map, `more`
/// operands, and the panel's coordinates.
template <typename OpTy>
static void copyPanels(OpBuilder &b, OpTy op, typename OpTy::Adaptor adaptor,
                       StringRef text, ValueRange more) {
  Location loc = op.getLoc();
  SharedType type = op.getTile().getType();
  ValueRange coordinates = adaptor.getCoordinates();
  Value map = addressOfMap(b, loc, adaptor.getMap());
  std::string constraints =
      "r,l," + repeatConstraint("r", more.size() + coordinates.size());
  SmallVector<Value> at(coordinates);
  for (int64_t p = 0; p < type.getPanels(); ++p) {
    at[0] = addI32(b, loc, coordinates[0], p * type.getPanelColumns());
    SmallVector<Value> operands{
        addI32(b, loc, adaptor.getTile(), p * type.getPanelBytes()), map};
    llvm::append_range(operands, more);
    llvm::append_range(operands, at);
    emitPtx(b, loc, text, constraints, operands);
  }
}

struct LowerCopy : OpConversionPattern<CopyOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CopyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    size_t rank = adaptor.getCoordinates().size();
    std::string text =
        llvm::formatv("cp.async.bulk.tensor.{0}d.shared::cluster.global.tile."
                      "mbarrier::complete_tx::bytes [$0], [$1, {1}], [$2];",
                      rank, registerList(3, rank));
    copyPanels(b, op, adaptor, text, adaptor.getBarrier());
    b.eraseOp(op);
    return success();
  }
};

/// By panels, too: that is how large the map's boxes are.
struct LowerPrefetch : OpConversionPattern<PrefetchOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(PrefetchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto type = cast<SharedType>(op.getTile());
    SmallVector<Value> at(adaptor.getCoordinates());
    std::string text = llvm::formatv(
        "cp.async.bulk.prefetch.tensor.{0}d.L2.global.tile [$0, {1}];",
        at.size(), registerList(1, at.size()));
    Value map = addressOfMap(b, loc, adaptor.getMap()), first = at[0];
    for (int64_t p = 0; p < type.getPanels(); ++p) {
      at[0] = addI32(b, loc, first, p * type.getPanelColumns());
      SmallVector<Value> operands{map};
      llvm::append_range(operands, at);
      emitPtx(b, loc, text, "l," + repeatConstraint("r", at.size()), operands);
    }
    b.eraseOp(op);
    return success();
  }
};

struct LowerCopyOut : OpConversionPattern<CopyOutOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(CopyOutOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    size_t rank = adaptor.getCoordinates().size();
    std::string text =
        llvm::formatv("cp.async.bulk.tensor.{0}d.global.shared::cta.tile."
                      "bulk_group [$1, {1}], [$0];",
                      rank, registerList(2, rank));
    copyPanels(b, op, adaptor, text, {});
    b.eraseOp(op);
    return success();
  }
};

/// Chunk c of 16 bytes of row r is at place c xor r mod 8 of its panel's row.
struct LowerStoreBlock : OpConversionPattern<StoreBlockOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StoreBlockOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    SharedType type = op.getTile().getType();
    // Lane l gives the address of row l % 16 of columns l / 16 * 8.
    Value lane = readLane(b, loc);
    auto masked = [&](Value v, int64_t mask) -> Value {
      return arith::AndIOp::create(b, loc, v, constantI32(b, loc, mask));
    };
    Value row = addI32(b, loc, adaptor.getRow(), masked(lane, 15));
    Value half = arith::ShRUIOp::create(b, loc, lane, constantI32(b, loc, 4));
    int64_t panel = op.getColumn() / type.getPanelColumns(),
            chunk = op.getColumn() % type.getPanelColumns() / 8;
    Value place = arith::XOrIOp::create(b, loc, addI32(b, loc, half, chunk),
                                        masked(row, 7));
    Value address =
        addI32(b, loc, adaptor.getTile(), panel * type.getPanelBytes());
    address = addI32(b, loc, address, mulI32(b, loc, row, 128));
    address = addI32(b, loc, address, mulI32(b, loc, place, 16));
    emitPtx(b, loc,
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], "
            "{$1, $2, $3, $4};",
            "r,r,r,r,r",
            {address, adaptor.getR0(), adaptor.getR1(), adaptor.getR2(),
             adaptor.getR3()});
    b.eraseOp(op);
    return success();
  }
};

/// Ops without operands and results.
template <typename OpTy>
struct LowerToText : OpConversionPattern<OpTy> {
  LowerToText(const TypeConverter &types, MLIRContext *context, StringRef text)
      : OpConversionPattern<OpTy>(types, context), text(text) {}
  LogicalResult matchAndRewrite(OpTy op, typename OpTy::Adaptor,
                                ConversionPatternRewriter &b) const override {
    emitPtx(b, op.getLoc(), text, "", {});
    b.eraseOp(op);
    return success();
  }
  StringRef text;
};

struct LowerWaitCopies : OpConversionPattern<WaitCopiesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(WaitCopiesOp op, OpAdaptor,
                                ConversionPatternRewriter &b) const override {
    emitPtx(b, op.getLoc(),
            llvm::formatv("cp.async.bulk.wait_group.read {0};",
                          int64_t(op.getPending()))
                .str(),
            "", {});
    b.eraseOp(op);
    return success();
  }
};

} // namespace

void tile::populateCopyPatterns(const TypeConverter &types,
                                RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerStore, LowerLoad, LowerAddressIn, LowerCopy, LowerPrefetch,
               LowerCopyOut, LowerStoreBlock, LowerWaitCopies>(types, context);
  patterns.add<LowerToText<FenceCopiesOp>>(types, context,
                                           "fence.proxy.async.shared::cta;");
  patterns.add<LowerToText<CommitCopiesOp>>(types, context,
                                            "cp.async.bulk.commit_group;");
}
