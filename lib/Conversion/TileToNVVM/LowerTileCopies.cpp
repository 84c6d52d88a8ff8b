//===- LowerTileCopies.cpp - copies and words of shared memory ------------===//
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

static PtxCall callStore(StoreOp op, StoreOp::Adaptor adaptor, OpBuilder &) {
  ValueRange words = adaptor.getWords();
  char letter;
  std::string kind = kindOfWords(words.getTypes(), letter);
  SmallVector<Value> operands{adaptor.getAddress()};
  llvm::append_range(operands, words);
  return {"st.shared" + kind + " " + placeAt(0, op.getOffset()) + ", " +
              listWords(1, words.size()) + ";",
          "r," + repeatConstraint(StringRef(&letter, 1), words.size()),
          operands};
}

static PtxCall callLoad(LoadOp op, LoadOp::Adaptor adaptor, OpBuilder &) {
  size_t count = op.getWords().size();
  char letter;
  std::string kind = kindOfWords(op.getWords().getTypes(), letter);
  return {"ld.shared" + std::string(op.getCluster() ? "::cluster" : "") + kind +
              " " + listWords(0, count) + ", " +
              placeAt(count, op.getOffset()) + ";",
          repeatConstraint(std::string("=") + letter, count) + ",r",
          {adaptor.getAddress()}};
}

static PtxCall callAddressIn(AddressInOp op, AddressInOp::Adaptor adaptor,
                             OpBuilder &b) {
  Value block = adaptor.getBlock();
  if (!block)
    block = constantI32(b, op.getLoc(), *op.getNumber());
  return {"mapa.shared::cluster.u32 $0, $1, $2;",
          "=r,r,r",
          {adaptor.getAddress(), block}};
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {

/// The address of a tensor map (see redfuse-tensor-map-parameters).
static Value addressOfMap(OpBuilder &b, Location loc, Value map) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  return UnrealizedConversionCastOp::create(b, loc, pointer, map).getResult(0);
}

/// Emits `text` for each panel of a tile: its address, the tensor map, `more`
/// operands, and the panel's coordinates.
template <typename OpTy>
static void copyPanels(OpBuilder &b, OpTy op, typename OpTy::Adaptor adaptor,
                       StringRef text, ValueRange more, Value row = {}) {
  Location loc = op.getLoc();
  SharedType type = op.getTile().getType();
  Value tile = adaptor.getTile();
  if (row)
    tile = addI32(b, loc, tile, mulI32(b, loc, row, 128));
  ValueRange coordinates = adaptor.getCoordinates();
  Value map = addressOfMap(b, loc, adaptor.getMap());
  std::string constraints = "r,l";
  for (Value v : more)
    constraints += v.getType().isInteger(16) ? ",h" : ",r";
  constraints += "," + repeatConstraint("r", coordinates.size());
  SmallVector<Value> at(coordinates);
  for (int64_t p = 0; p < type.getPanels(); ++p) {
    at[0] = addI32(b, loc, coordinates[0], p * type.getPanelColumns());
    SmallVector<Value> operands{addI32(b, loc, tile, p * type.getPanelBytes()),
                                map};
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
    ValueRange offsets = adaptor.getOffsets();
    SmallVector<Value> more{adaptor.getBarrier()};
    llvm::append_range(more, offsets);
    std::string window;
    if (!offsets.empty())
      window = ", " + registerList(3, offsets.size());
    StringRef multicast;
    if (Value blocks = adaptor.getBlocks()) {
      multicast = ".multicast::cluster";
      window += ", $" + std::to_string(2 + more.size());
      more.push_back(blocks);
    }
    std::string text = llvm::formatv(
        "cp.async.bulk.tensor.{0}d.shared::cluster.global.{1}."
        "mbarrier::complete_tx::bytes{2} [$0], [$1, {3}], [$2]{4};",
        rank, offsets.empty() ? "tile" : "im2col", multicast,
        registerList(2 + more.size(), rank), window);
    copyPanels(b, op, adaptor, text, more, adaptor.getRow());
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

} // namespace

void tile::populateCopyPatterns(const TypeConverter &types,
                                RewritePatternSet &patterns) {
  patterns.add<LowerCopy, LowerPrefetch, LowerCopyOut, LowerStoreBlock>(
      types, patterns.getContext());
  addPtxPattern<StoreOp>(types, patterns, callStore);
  addPtxPattern<LoadOp>(types, patterns, callLoad);
  addPtxPattern<AddressInOp>(types, patterns, callAddressIn);
  addPtxPattern<FenceCopiesOp>(types, patterns,
                               "fence.proxy.async.shared::cta;");
  addPtxPattern<CommitCopiesOp>(types, patterns, "cp.async.bulk.commit_group;");
  addPtxPattern<WaitCopiesOp>(
      types, patterns,
      [](WaitCopiesOp op, WaitCopiesOp::Adaptor, OpBuilder &) -> PtxCall {
        return {llvm::formatv("cp.async.bulk.wait_group.read {0};",
                              op.getPending()),
                "",
                {}};
      });
}
