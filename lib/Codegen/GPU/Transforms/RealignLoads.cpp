//===- RealignLoads.cpp - vectors that begin anywhere ---------------------===//
//
// A load of 16 bytes asks for an address that is a multiple of 16; LLVM reads any
// other vector element by element. Its bytes lie in two neighbouring pieces that are
// aligned: both are loaded, and the vector is shifted out of them in registers.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace redfuse {
#define GEN_PASS_DEF_REALIGNLOADS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Bytes of a piece, and of a word.
static constexpr int64_t kPiece = 16, kWord = 4;

namespace {
/// Emits integers of 32 bits.
struct Words {
  OpBuilder &b;
  Location loc;

  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                    b.getI32IntegerAttr(value));
  }
  Value mask(Value v, int64_t bits) {
    return LLVM::AndOp::create(b, loc, v, constant(bits));
  }
  /// The four words of an aligned piece.
  void load(Value address, SmallVectorImpl<Value> &words) {
    Value piece = LLVM::LoadOp::create(
        b, loc, VectorType::get({kPiece / kWord}, b.getI32Type()), address,
        /*alignment=*/kPiece);
    for (int64_t i = 0; i < kPiece / kWord; ++i)
      words.push_back(
          LLVM::ExtractElementOp::create(b, loc, piece, constant(i)));
  }
  /// Of `words`, those from the `by`-th on where the offset has that bit; `count` of
  /// them are needed.
  void skip(SmallVectorImpl<Value> &words, Value offset, int64_t by,
            int64_t count) {
    Value skips = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne,
                                       mask(offset, by * kWord), constant(0));
    for (int64_t i = 0; i < count; ++i)
      words[i] = LLVM::SelectOp::create(b, loc, skips, words[i + by], words[i]);
    words.resize(count);
  }
};
} // namespace

static void realign(LLVM::LoadOp load) {
  auto type = dyn_cast<VectorType>(load.getType());
  auto pointer = cast<LLVM::LLVMPointerType>(load.getAddr().getType());
  int64_t align = load.getAlignment().value_or(kPiece);
  if (!type || type.getRank() != 1 || !type.getElementType().isIntOrFloat() ||
      type.getNumElements() * type.getElementTypeBitWidth() != 8 * kPiece ||
      align >= kPiece || pointer.getAddressSpace() > 1 || load.getVolatile_() ||
      load.getOrdering() != LLVM::AtomicOrdering::not_atomic)
    return;
  OpBuilder b(load);
  Location loc = load.getLoc();
  Words emit{b, loc};
  Value from = load.getAddr();
  Value number = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), from);
  Value offset = emit.mask(
      LLVM::TruncOp::create(b, loc, b.getI32Type(), number), kPiece - 1);
  Value back = LLVM::SubOp::create(b, loc, emit.constant(0), offset);
  auto pieceAt = [&](Value bytes) -> Value {
    Value distance = LLVM::SExtOp::create(b, loc, b.getI64Type(), bytes);
    return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), from,
                               ValueRange(distance));
  };
  SmallVector<Value> words;
  emit.load(pieceAt(back), words);
  // Where the vector is aligned, the same piece again: nothing behind it is read.
  emit.load(pieceAt(emit.mask(back, kPiece - 1)), words);
  int64_t count = kPiece / kWord;
  bool hasParts = align < kWord;
  emit.skip(words, offset, 2, count + hasParts + (align <= kWord));
  if (align <= kWord)
    emit.skip(words, offset, 1, count + hasParts);
  if (hasParts) {
    Value bits = LLVM::ShlOp::create(b, loc, emit.mask(offset, kWord - 1),
                                     emit.constant(3));
    for (int64_t i = 0; i < count; ++i)
      words[i] = LLVM::FshrOp::create(b, loc, words[i + 1], words[i], bits);
  }
  auto wordsType = VectorType::get({count}, b.getI32Type());
  Value whole = LLVM::PoisonOp::create(b, loc, wordsType);
  for (int64_t i = 0; i < count; ++i)
    whole = LLVM::InsertElementOp::create(b, loc, whole, words[i],
                                          emit.constant(i));
  load.replaceAllUsesWith(
      LLVM::BitcastOp::create(b, loc, type, whole).getResult());
  load.erase();
}

namespace {
struct RealignLoads : redfuse::impl::RealignLoadsBase<RealignLoads> {
  void runOnOperation() override {
    SmallVector<LLVM::LoadOp> loads;
    getOperation()->walk([&](LLVM::LoadOp load) { loads.push_back(load); });
    llvm::for_each(loads, realign);
  }
};
} // namespace
