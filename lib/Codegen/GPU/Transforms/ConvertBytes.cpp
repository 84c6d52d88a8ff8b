//===- ConvertBytes.cpp - numbers of few bits as floats, by words ---------===//
//
// Weights of 4 or 8 bits become floats on their way to matrix units. One conversion an
// element is slow: that unit does a sixteenth of what others do, and LLVM takes bytes out
// of words one by one. Here a word of four bytes stays one:
//
// - The bits of a small number below those of 2^m, where a float's last bit is worth 1, are
//   that number plus 2^m: bytes are put there two at a time (a permutation of bytes), and
//   2^m is subtracted from both.
// - What is computed with whole numbers in f32 and rounded to 16 bits is computed in 16 bits
//   where these have all numbers on the way. A product of a whole number and a 16-bit float
//   is exact in f32, so that rounding it is what the product in 16 bits is.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace redfuse {
#define GEN_PASS_DEF_CONVERTBYTES
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

//===----------------------------------------------------------------------===//
// Whole numbers
//===----------------------------------------------------------------------===//

namespace {
/// Whole numbers from the first to the second.
struct WholeRange {
  int64_t least, most;

  bool isIn(int64_t from, int64_t to) const {
    return from <= least && most <= to;
  }
};
} // namespace

/// The type with other elements.
static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

static std::optional<int64_t> getWhole(Value v) {
  APInt number;
  if (matchPattern(v, m_ConstantInt(&number)) && number.getBitWidth() <= 32)
    return number.getZExtValue();
  APFloat real(0.0f);
  // Of whole numbers there is one zero.
  if (!matchPattern(v, m_ConstantFloat(&real)) || !real.isInteger() ||
      real.isNegZero())
    return std::nullopt;
  bool isExact = false;
  real.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &isExact);
  double number64 = real.convertToDouble();
  if (std::abs(number64) > 65536)
    return std::nullopt;
  return int64_t(number64);
}

static std::optional<WholeRange> findWhole(Value v);

/// Of an integer that is read as one with or without a sign.
static std::optional<WholeRange> findWholeInteger(Value v, bool isSigned) {
  unsigned bits = getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth();
  if (std::optional<WholeRange> known = findWhole(v)) {
    // It has the sign that it is read with.
    int64_t end = int64_t(1) << (isSigned ? bits - 1 : bits);
    if (known->isIn(isSigned ? -end : 0, end - 1))
      return known;
    return std::nullopt;
  }
  if (bits > 16)
    return std::nullopt;
  int64_t end = int64_t(1) << bits;
  return isSigned ? WholeRange{-end / 2, end / 2 - 1} : WholeRange{0, end - 1};
}

/// The whole numbers that a value is one of; integers are read as what they were computed
/// as, so that no operation wraps.
static std::optional<WholeRange> findWhole(Value v) {
  if (std::optional<int64_t> whole = getWhole(v))
    return WholeRange{*whole, *whole};
  Operation *def = v.getDefiningOp();
  if (!def)
    return std::nullopt;
  auto ofOperand = [&](unsigned i) { return findWhole(def->getOperand(i)); };
  if (isa<arith::UIToFPOp, arith::ExtUIOp>(def))
    return findWholeInteger(def->getOperand(0), /*isSigned=*/false);
  if (isa<arith::SIToFPOp, arith::ExtSIOp>(def))
    return findWholeInteger(def->getOperand(0), /*isSigned=*/true);
  if (isa<arith::ExtFOp, vector::BroadcastOp>(def))
    return ofOperand(0);
  if (isa<arith::AndIOp>(def)) {
    std::optional<int64_t> mask = getWhole(def->getOperand(1));
    if (mask && *mask < (int64_t(1) << 16))
      return WholeRange{0, *mask};
    return std::nullopt;
  }
  if (isa<arith::ShRUIOp>(def)) {
    std::optional<int64_t> by = getWhole(def->getOperand(1));
    int64_t bits = getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth();
    if (by && *by < bits && bits - *by <= 16)
      return WholeRange{0, (int64_t(1) << (bits - *by)) - 1};
    return std::nullopt;
  }
  if (isa<arith::SelectOp>(def)) {
    std::optional<WholeRange> a = ofOperand(1), c = ofOperand(2);
    if (!a || !c)
      return std::nullopt;
    return WholeRange{std::min(a->least, c->least), std::max(a->most, c->most)};
  }
  bool isSum = isa<arith::AddFOp, arith::AddIOp>(def);
  if (!isSum && !isa<arith::SubFOp, arith::SubIOp>(def))
    return std::nullopt;
  std::optional<WholeRange> a = ofOperand(0), c = ofOperand(1);
  if (!a || !c)
    return std::nullopt;
  WholeRange made = isSum ? WholeRange{a->least + c->least, a->most + c->most}
                          : WholeRange{a->least - c->most, a->most - c->least};
  Type element = getElementTypeOrSelf(v.getType());
  int64_t end = element.isBF16()  ? 256
                : element.isF16() ? 2048
                                  : int64_t(1) << 20;
  if (auto integer = dyn_cast<IntegerType>(element))
    end = std::min(end, (int64_t(1) << (integer.getWidth() - 1)) - 1);
  if (!made.isIn(-end, end))
    return std::nullopt;
  return made;
}

//===----------------------------------------------------------------------===//
// Computing in 16 bits
//===----------------------------------------------------------------------===//

/// Whether all whole numbers of the value are floats of the type.
static bool isWholeIn(Value v, Type element) {
  int64_t end = element.isBF16() ? 256 : 2048;
  std::optional<WholeRange> range = findWhole(v);
  return range && range->isIn(-end, end);
}

/// Whether `makeNarrow` has a value for this one, the same number in that type.
static bool isNarrow(Value v, Type element) {
  if (getElementTypeOrSelf(v.getType()) == element)
    return true;
  Operation *def = v.getDefiningOp();
  if (!def)
    return false;
  if (isa<arith::ExtFOp, vector::BroadcastOp>(def))
    return isNarrow(def->getOperand(0), element);
  if (!isWholeIn(v, element))
    return false;
  if (isa<arith::UIToFPOp, arith::SIToFPOp, arith::ConstantOp>(def))
    return true;
  return isa<arith::AddFOp, arith::SubFOp>(def) &&
         isNarrow(def->getOperand(0), element) &&
         isNarrow(def->getOperand(1), element);
}

static Value makeNarrow(OpBuilder &b, Location loc, Value v, Type element) {
  if (getElementTypeOrSelf(v.getType()) == element)
    return v;
  Operation *def = v.getDefiningOp();
  Type type = withElement(v.getType(), element);
  auto operand = [&](unsigned i) {
    return makeNarrow(b, loc, def->getOperand(i), element);
  };
  if (isa<arith::ExtFOp>(def))
    return operand(0);
  if (isa<vector::BroadcastOp>(def))
    return vector::BroadcastOp::create(b, loc, type, operand(0));
  if (isa<arith::ConstantOp>(def)) {
    TypedAttr one = b.getFloatAttr(element, double(*getWhole(v)));
    if (auto vector = dyn_cast<VectorType>(type))
      one = DenseElementsAttr::get(vector, Attribute(one));
    return arith::ConstantOp::create(b, loc, type, one);
  }
  if (isa<arith::UIToFPOp>(def))
    return arith::UIToFPOp::create(b, loc, type, def->getOperand(0));
  if (isa<arith::SIToFPOp>(def))
    return arith::SIToFPOp::create(b, loc, type, def->getOperand(0));
  Value left = operand(0), right = operand(1);
  if (isa<arith::AddFOp>(def))
    return arith::AddFOp::create(b, loc, left, right);
  return arith::SubFOp::create(b, loc, left, right);
}

namespace {
/// What is computed in f32 and rounded, in 16 bits, where that is the same.
struct ComputeNarrow : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    Value v = op.getIn();
    if (!getElementTypeOrSelf(v.getType()).isF32() ||
        !(element.isBF16() || element.isF16()))
      return failure();
    Location loc = op.getLoc();
    if (isWholeIn(v, element) && isNarrow(v, element)) {
      rewriter.replaceOp(op, makeNarrow(rewriter, loc, v, element));
      return success();
    }
    auto mul = v.getDefiningOp<arith::MulFOp>();
    if (!mul || !isNarrow(mul.getLhs(), element) ||
        !isNarrow(mul.getRhs(), element) ||
        !(isWholeIn(mul.getLhs(), element) || isWholeIn(mul.getRhs(), element)))
      return failure();
    Value left = makeNarrow(rewriter, loc, mul.getLhs(), element),
          right = makeNarrow(rewriter, loc, mul.getRhs(), element);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, left, right);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Bytes by words
//===----------------------------------------------------------------------===//

/// The vector of words that a vector of bytes is; none for others.
static VectorType getWords(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.getRank() != 1 || vector.isScalable() ||
      !vector.getElementType().isInteger(8) || vector.getNumElements() % 4 != 0)
    return {};
  return VectorType::get({vector.getNumElements() / 4},
                         IntegerType::get(type.getContext(), 32));
}

static Value makeSplat(OpBuilder &b, Location loc, VectorType words,
                       uint32_t word) {
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(words, APInt(32, word)));
}

/// A byte in all places of a word.
static uint32_t repeatByte(int64_t byte) {
  return uint32_t(byte & 0xff) * 0x01010101u;
}

namespace {
/// Bytes that are masked, joined, shifted and chosen all at once.
template <typename OpTy>
struct BytesByWords : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    VectorType words = getWords(op.getType());
    if (!words)
      return failure();
    Location loc = op.getLoc();
    auto asWords = [&](Value v) -> Value {
      return vector::BitCastOp::create(rewriter, loc, words, v);
    };
    Value made;
    if constexpr (std::is_same_v<OpTy, arith::SelectOp>) {
      Value condition = op.getCondition();
      if (auto broadcast = condition.getDefiningOp<vector::BroadcastOp>())
        condition = broadcast.getSource();
      if (!condition.getType().isInteger(1))
        return failure();
      made = arith::SelectOp::create(rewriter, loc, condition,
                                     asWords(op.getTrueValue()),
                                     asWords(op.getFalseValue()));
    } else if constexpr (std::is_same_v<OpTy, arith::ShRUIOp>) {
      std::optional<int64_t> by = getWhole(op.getRhs());
      if (!by || *by >= 8)
        return failure();
      made = arith::ShRUIOp::create(
          rewriter, loc, asWords(op.getLhs()),
          makeSplat(rewriter, loc, words, uint32_t(*by)));
      made = arith::AndIOp::create(
          rewriter, loc, made,
          makeSplat(rewriter, loc, words, repeatByte(0xff >> *by)));
    } else {
      made = OpTy::create(rewriter, loc, asWords(op.getLhs()),
                          asWords(op.getRhs()));
    }
    rewriter.replaceOpWithNewOp<vector::BitCastOp>(op, op.getType(), made);
    return success();
  }
};

/// Bytes as floats.
template <typename OpTy>
struct BytesAsFloats : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    constexpr bool isSigned = std::is_same_v<OpTy, arith::SIToFPOp>;
    VectorType words = getWords(op.getIn().getType());
    Type element = getElementTypeOrSelf(op.getType());
    std::optional<WholeRange> range;
    if (words)
      range = findWholeInteger(op.getIn(), isSigned);
    if (!range)
      return failure();
    bool isSmall = range->isIn(0, 127);
    if (!element.isF16() && !(element.isBF16() && (isSmall || isSigned)))
      return failure();
    Location loc = op.getLoc();
    Value bytes = vector::BitCastOp::create(rewriter, loc, words, op.getIn());
    // In f16 what has a sign is a number without one, and 128 less.
    bool isFlipped = element.isF16() && isSigned && !isSmall;
    if (isFlipped)
      bytes = arith::XOrIOp::create(
          rewriter, loc, bytes,
          makeSplat(rewriter, loc, words, repeatByte(0x80)));
    // The upper byte of 1024 in f16, and of 128 in bf16.
    uint32_t upper = element.isF16() ? 0x64 : 0x43;
    Value uppers = arith::ConstantOp::create(
        rewriter, loc, rewriter.getI32IntegerAttr(int32_t(repeatByte(upper))));
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < words.getNumElements(); ++i) {
      Value word = vector::ExtractOp::create(rewriter, loc, bytes, i);
      // Byte 0 or 2, an upper one, byte 1 or 3, an upper one; the lowest first.
      for (int32_t selected : {0x4140, 0x4342})
        pairs.push_back(NVVM::PermuteOp::create(
            rewriter, loc, word.getType(), word, uppers,
            arith::ConstantOp::create(rewriter, loc,
                                      rewriter.getI32IntegerAttr(selected)),
            NVVM::PermuteMode::DEFAULT));
    }
    auto ofPairs =
        VectorType::get({int64_t(pairs.size())}, words.getElementType());
    Value all = vector::FromElementsOp::create(rewriter, loc, ofPairs, pairs);
    auto asFloats = [&](Value v) -> Value {
      return vector::BitCastOp::create(rewriter, loc, op.getType(), v);
    };
    auto masked = [&](uint32_t mask) {
      return asFloats(arith::AndIOp::create(
          rewriter, loc, all, makeSplat(rewriter, loc, ofPairs, mask)));
    };
    if (element.isBF16() && !isSmall) {
      // 128 and the lower seven bits, less 128, or less 256 where the sign is set.
      rewriter.replaceOpWithNewOp<arith::SubFOp>(op, masked(0xff7fff7f),
                                                 masked(0xff80ff80));
      return success();
    }
    int64_t more = element.isF16() ? (isFlipped ? 1024 + 128 : 1024) : 128;
    // What is subtracted behind it is subtracted at once: all are whole numbers.
    Operation *replaced = op;
    arith::SubFOp sub;
    if (op->hasOneUse())
      sub = dyn_cast<arith::SubFOp>(*op->user_begin());
    if (sub && sub.getLhs() == op.getResult())
      if (std::optional<int64_t> offset = getWhole(sub.getRhs());
          offset && *offset >= 0 && *offset <= 64) {
        more += *offset;
        replaced = sub;
      }
    Value above = arith::ConstantOp::create(
        rewriter, loc,
        DenseElementsAttr::get(
            cast<VectorType>(op.getType()),
            Attribute(rewriter.getFloatAttr(element, double(more)))));
    rewriter.setInsertionPoint(replaced);
    rewriter.replaceOpWithNewOp<arith::SubFOp>(replaced, asFloats(all), above);
    return success();
  }
};

/// The whole numbers of a vector that is known, one by one.
static std::optional<SmallVector<int64_t>> getWholes(Value v) {
  auto type = dyn_cast<VectorType>(v.getType());
  if (!type || type.getRank() != 1)
    return std::nullopt;
  int64_t count = type.getNumElements();
  DenseIntElementsAttr known;
  if (matchPattern(v, m_Constant(&known)))
    return llvm::map_to_vector(known.getValues<APInt>(), [](const APInt &one) {
      return one.getSExtValue();
    });
  Operation *def = v.getDefiningOp();
  if (!def)
    return std::nullopt;
  if (isa<vector::StepOp>(def))
    return llvm::to_vector(llvm::seq<int64_t>(0, count));
  if (isa<vector::BroadcastOp>(def)) {
    APInt one;
    if (!matchPattern(def->getOperand(0), m_ConstantInt(&one)))
      return std::nullopt;
    return SmallVector<int64_t>(size_t(count), one.getSExtValue());
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp,
          arith::ExtSIOp, arith::ExtUIOp>(def))
    return getWholes(def->getOperand(0));
  if (!isa<arith::AddIOp, arith::MulIOp>(def))
    return std::nullopt;
  auto a = getWholes(def->getOperand(0)), c = getWholes(def->getOperand(1));
  if (!a || !c)
    return std::nullopt;
  for (auto [one, other] : llvm::zip_equal(*a, *c))
    one = isa<arith::AddIOp>(def) ? one + other : one * other;
  for (int64_t one : *a)
    if (one < 0 || one > 32)
      return std::nullopt;
  return a;
}

/// Codes of few bits that are those of one word from bit `shifts[i]` on.
struct WordCodes {
  Value word;
  SmallVector<int64_t> shifts;
  int64_t mask;
};

static std::optional<WordCodes> findCodes(Value v) {
  // Conversions between integers of 8 bits and more keep the lower seven.
  auto isWide = [](Value of) {
    return getElementTypeOrSelf(of.getType()).getIntOrFloatBitWidth() >= 8;
  };
  auto skip = [&] {
    while (Operation *def = v.getDefiningOp()) {
      if (!isa<arith::TruncIOp, arith::ExtUIOp, arith::ExtSIOp>(def) ||
          !isWide(v) || !isWide(def->getOperand(0)))
        return;
      v = def->getOperand(0);
    }
  };
  skip();
  auto masked = v.getDefiningOp<arith::AndIOp>();
  std::optional<int64_t> mask;
  if (masked)
    mask = getWhole(masked.getRhs());
  if (!mask || *mask < 1 || *mask > 127 || !isWide(v))
    return std::nullopt;
  v = masked.getLhs();
  skip();
  Operation *shift = v.getDefiningOp();
  if (!isa_and_nonnull<arith::ShRUIOp, arith::ShRSIOp>(shift))
    return std::nullopt;
  auto word = shift->getOperand(0).getDefiningOp<vector::BroadcastOp>();
  auto shifts = getWholes(shift->getOperand(1));
  if (!word || !word.getSource().getType().isInteger(32) || !shifts)
    return std::nullopt;
  // Signs come in from above where a code is not whole.
  int64_t most = isa<arith::ShRSIOp>(shift)
                     ? 31 - int64_t(llvm::Log2_64(uint64_t(*mask)))
                     : 31;
  for (int64_t by : *shifts)
    if (by < 0 || by > most)
      return std::nullopt;
  return WordCodes{word.getSource(), std::move(*shifts), *mask};
}

/// Codes of one word as floats: the word, shifted to where some codes begin at bytes, has
/// these bytes put below the bits of a float whose last bit is worth 1; that float is
/// subtracted, with what the program subtracts from all codes.
template <typename OpTy>
struct CodesAsFloats : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    Type element = getElementTypeOrSelf(op.getType());
    if (!type || type.getRank() != 1 || type.getNumElements() % 2 != 0 ||
        !(element.isF16() || element.isBF16()))
      return rewriter.notifyMatchFailure(op, "not pairs of 16-bit floats");
    Value codes = op.getIn(), offset;
    auto sub = codes.getDefiningOp<arith::SubIOp>();
    if (sub && std::is_same_v<OpTy, arith::SIToFPOp>) {
      auto all = sub.getRhs().template getDefiningOp<vector::BroadcastOp>();
      std::optional<WholeRange> range = findWhole(sub.getRhs());
      if (all && range && range->isIn(0, 127) &&
          isa<IntegerType>(all.getSource().getType())) {
        codes = sub.getLhs();
        offset = all.getSource();
      }
    }
    std::optional<WordCodes> found = findCodes(codes);
    if (!found)
      return rewriter.notifyMatchFailure(op, "no codes of one word");
    Location loc = op.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(
          rewriter, loc, rewriter.getI32IntegerAttr(int32_t(value)));
    };
    // 1024 in f16, and 128 in bf16.
    int64_t bits = element.isF16() ? 0x6400 : 0x4300,
            above = element.isF16() ? 1024 : 128;
    Value mask = constant(found->mask * 0x10001),
          upper = constant(bits * 0x10001);
    DenseMap<int64_t, Value> shifted;
    auto shiftBy = [&](int64_t by) {
      Value &v = shifted[by];
      if (!v)
        v = by == 0 ? found->word
                    : arith::ShRUIOp::create(rewriter, loc, found->word,
                                             constant(by))
                          .getResult();
      return v;
    };
    SmallVector<Value> pairs;
    for (size_t i = 0; i < found->shifts.size(); i += 2) {
      int64_t first = found->shifts[i], second = found->shifts[i + 1];
      int64_t low = first / 8, high = 4 + second / 8;
      Value bytes = NVVM::PermuteOp::create(
          rewriter, loc, rewriter.getI32Type(), shiftBy(first % 8),
          shiftBy(second % 8),
          constant(low | low << 4 | high << 8 | high << 12),
          NVVM::PermuteMode::DEFAULT);
      bytes = arith::AndIOp::create(rewriter, loc, bytes, mask);
      pairs.push_back(arith::OrIOp::create(rewriter, loc, bytes, upper));
    }
    Value floats = vector::BitCastOp::create(
        rewriter, loc, type,
        vector::FromElementsOp::create(
            rewriter, loc,
            VectorType::get({int64_t(pairs.size())}, rewriter.getI32Type()),
            pairs));
    Value less;
    if (offset) {
      Value number = offset;
      unsigned width = number.getType().getIntOrFloatBitWidth();
      if (width < 32)
        number = arith::ExtUIOp::create(rewriter, loc, rewriter.getI32Type(),
                                        number);
      else if (width > 32)
        number = arith::TruncIOp::create(rewriter, loc, rewriter.getI32Type(),
                                         number);
      number = arith::AddIOp::create(rewriter, loc, number, constant(above));
      less = vector::BroadcastOp::create(
          rewriter, loc, type,
          arith::SIToFPOp::create(rewriter, loc, element, number));
    } else {
      less = arith::ConstantOp::create(
          rewriter, loc,
          DenseElementsAttr::get(
              type, Attribute(rewriter.getFloatAttr(element, double(above)))));
    }
    rewriter.replaceOpWithNewOp<arith::SubFOp>(op, floats, less);
    return success();
  }
};

/// Pairs of small numbers of 32 bits, with or without signs, as floats: each is added to the
/// bits of a float in the middle of those whose last bit is worth 1.
struct WordsAsFloats : OpRewritePattern<arith::SIToFPOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SIToFPOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getIn().getType());
    Type element = getElementTypeOrSelf(op.getType());
    if (!type || type.getRank() != 1 || type.getNumElements() % 2 != 0 ||
        !type.getElementType().isInteger(32) ||
        !(element.isF16() || element.isBF16()))
      return failure();
    // 1536 in f16, and 192 in bf16.
    int64_t middle = element.isF16() ? 1536 : 192,
            bits = element.isF16() ? 0x6600 : 0x4340, end = middle / 3 - 1;
    std::optional<WholeRange> range = findWhole(op.getIn());
    if (!range || !range->isIn(-end, end))
      return failure();
    Location loc = op.getLoc();
    auto splat = [&](VectorType of, Attribute one) -> Value {
      return arith::ConstantOp::create(rewriter, loc,
                                       DenseElementsAttr::get(of, one));
    };
    Value moved = arith::AddIOp::create(
        rewriter, loc, op.getIn(),
        splat(type, rewriter.getI32IntegerAttr(int32_t(bits))));
    Value halves = arith::ConstantOp::create(
        rewriter, loc, rewriter.getI32IntegerAttr(0x5410));
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < type.getNumElements(); i += 2)
      pairs.push_back(NVVM::PermuteOp::create(
          rewriter, loc, rewriter.getI32Type(),
          vector::ExtractOp::create(rewriter, loc, moved, i),
          vector::ExtractOp::create(rewriter, loc, moved, i + 1), halves,
          NVVM::PermuteMode::DEFAULT));
    Value all = vector::FromElementsOp::create(
        rewriter, loc,
        VectorType::get({int64_t(pairs.size())}, rewriter.getI32Type()), pairs);
    Value floats = vector::BitCastOp::create(rewriter, loc, op.getType(), all);
    rewriter.replaceOpWithNewOp<arith::SubFOp>(
        op, floats,
        splat(cast<VectorType>(op.getType()),
              rewriter.getFloatAttr(element, double(middle))));
    return success();
  }
};

struct ConvertBytes : redfuse::impl::ConvertBytesBase<ConvertBytes> {
  void runOnOperation() override {
    RewritePatternSet narrow(&getContext()), bytes(&getContext());
    narrow.add<ComputeNarrow>(&getContext());
    bytes.add<BytesByWords<arith::AndIOp>, BytesByWords<arith::OrIOp>,
              BytesByWords<arith::XOrIOp>, BytesByWords<arith::ShRUIOp>,
              BytesByWords<arith::SelectOp>, BytesAsFloats<arith::UIToFPOp>,
              BytesAsFloats<arith::SIToFPOp>, WordsAsFloats>(&getContext());
    bytes.add<CodesAsFloats<arith::SIToFPOp>, CodesAsFloats<arith::UIToFPOp>>(
        &getContext(), /*benefit=*/2);
    vector::BitCastOp::getCanonicalizationPatterns(bytes, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(narrow))) ||
        failed(applyPatternsGreedily(getOperation(), std::move(bytes))))
      signalPassFailure();
  }
};
} // namespace
