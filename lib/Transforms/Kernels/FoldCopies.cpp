//===- FoldCopies.cpp - redfuse-fold-copies -------------------------------===//
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"

namespace redfuse {
#define GEN_PASS_DEF_FOLDCOPIES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// The bits of a value at neighbouring positions. Of a float of TF32: those of the f32.
using Words = SmallVector<uint64_t>;

/// Bytes of an element in memory; 0 where attributes have them otherwise.
static unsigned getBytes(Type type) {
  if (!isa<FloatType>(type) && !type.isInteger(8) && !type.isInteger(16) &&
      !type.isInteger(32) && !type.isInteger(64))
    return 0;
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits <= 64 && bits % 8 == 0 && llvm::isPowerOf2_32(bits) ? bits / 8
                                                                  : 0;
}

/// The bytes of a tensor that is a constant, perhaps with other dims; none if it is not.
static ArrayRef<char> getConstantBytes(Value tensor) {
  while (isa_and_present<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
      tensor.getDefiningOp()))
    tensor = tensor.getDefiningOp()->getOperand(0);
  ElementsAttr elements;
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || !type.hasStaticShape() ||
      !matchPattern(tensor, m_Constant(&elements)))
    return {};
  ArrayRef<char> bytes;
  if (auto dense = dyn_cast<DenseElementsAttr>(elements))
    bytes = dense.isSplat() ? ArrayRef<char>() : dense.getRawData();
  else if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes = blob->getData();
  size_t expected =
      size_t(type.getNumElements()) * getBytes(type.getElementType());
  return bytes.size() == expected ? bytes : ArrayRef<char>();
}

namespace {
/// A map of one constant, of which each dim's position says on its own where an element is.
class ConstantMap {
public:
  explicit ConstantMap(CascadeOp op) : op(op), extents(getStaticExtents(op)) {}
  /// Whether it is one.
  bool find();
  /// Its results.
  SmallVector<Attribute> compute();

private:
  bool findOffsets();
  void computeRow(ArrayRef<int64_t> at, const char *source);
  FailureOr<Words> evaluate(Operation &inner, ArrayRef<int64_t> at);

  CascadeOp op;
  SmallVector<int64_t> extents;
  ArrayRef<char> bytes;
  unsigned inputBytes = 0;
  /// For each dim, what its positions add to an element's place.
  SmallVector<SmallVector<int64_t>> offsets;
  DenseMap<Value, Words> words;
};
} // namespace

/// Whether the compiler computes an op as a kernel would.
static bool isKnown(Operation &inner) {
  if (isa<IndexOp, arith::BitcastOp, arith::AndIOp, arith::AddIOp,
          arith::CmpIOp, arith::SelectOp, arith::RemUIOp, YieldOp>(inner))
    return true;
  if (auto constant = dyn_cast<arith::ConstantOp>(inner))
    return isa<IntegerAttr, FloatAttr>(constant.getValue());
  if (isa<arith::SubFOp>(inner))
    return inner.getResult(0).getType().isF32();
  if (auto round = dyn_cast<arith::TruncFOp>(inner))
    return round.getIn().getType().isF32() &&
           isa<FloatTF32Type>(round.getType()) && !round.getRoundingmode();
  if (auto extend = dyn_cast<arith::ExtFOp>(inner))
    return isa<FloatTF32Type>(extend.getIn().getType()) &&
           extend.getType().isF32();
  return false;
}

bool ConstantMap::find() {
  if (op.getInputs().size() != 1 || op->getNumResults() == 0 ||
      extents.empty() || llvm::any_of(extents, ShapedType::isDynamic) ||
      !llvm::all_of(op.getBody().front(), isKnown))
    return false;
  int64_t points = 1;
  for (int64_t extent : extents)
    points *= extent;
  if (points > kMostFoldedElements || points == 0)
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (AffineMap map : ArrayRef(maps).drop_front())
    if (!map.isIdentity())
      return false;
  for (Value result : op->getResults())
    if (!getBytes(cast<RankedTensorType>(result.getType()).getElementType()))
      return false;
  bytes = getConstantBytes(op.getInputs()[0]);
  return !bytes.empty() && findOffsets();
}

bool ConstantMap::findOffsets() {
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  inputBytes = getBytes(type.getElementType());
  AffineMap map = op.getIndexingMapsArray().front();
  for (int64_t extent : extents)
    offsets.emplace_back(extent, 0);
  int64_t stride = inputBytes;
  Builder b(op.getContext());
  for (int64_t i = int64_t(map.getNumResults()) - 1; i >= 0; --i) {
    AffineExpr expr = map.getResult(unsigned(i));
    SmallVector<unsigned> own;
    for (unsigned d = 0; d < extents.size(); ++d)
      if (expr.isFunctionOfDim(d))
        own.push_back(d);
    if (own.size() != 1)
      return false;
    AffineMap one = AffineMap::get(map.getNumDims(), 0, expr);
    SmallVector<int64_t> at(extents.size(), 0);
    for (int64_t p = 0; p < extents[own[0]]; ++p) {
      at[own[0]] = p;
      int64_t place = one.compose(at)[0];
      if (place < 0 || place >= type.getDimSize(unsigned(i)))
        return false;
      offsets[own[0]][size_t(p)] += stride * place;
    }
    stride *= type.getDimSize(unsigned(i));
  }
  return true;
}

/// To the nearest float of TF32, the even one of two.
static uint64_t roundToTF32(uint64_t bits) {
  if ((bits & 0x7f800000) == 0x7f800000) // infinite, or no number
    return (bits & 0x7fffff) ? (bits | 0x400000) & 0xffffe000 : bits;
  return (bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000;
}

static bool compare(arith::CmpIPredicate predicate, uint64_t a, uint64_t b,
                    unsigned width) {
  return arith::applyCmpPredicate(predicate, APInt(width, a), APInt(width, b));
}

/// The bits of a number.
static uint64_t getWord(Attribute number) {
  if (auto integer = dyn_cast<IntegerAttr>(number))
    return integer.getValue().getZExtValue();
  return cast<FloatAttr>(number).getValue().bitcastToAPInt().getZExtValue();
}

/// An op at neighbouring positions, the first at `at`.
FailureOr<Words> ConstantMap::evaluate(Operation &inner, ArrayRef<int64_t> at) {
  size_t count = size_t(extents.back());
  Words made(count);
  auto widthOf = [](Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  };
  auto each = [&](auto function) {
    for (size_t i = 0; i < count; ++i)
      made[i] = function(i);
    return made;
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(inner))
    return Words(count, getWord(constant.getValue()));
  if (auto index = dyn_cast<IndexOp>(inner)) {
    size_t d = size_t(index.getDim());
    bool isAlong = d + 1 == extents.size();
    return each([&](size_t i) { return uint64_t(at[d]) + (isAlong ? i : 0); });
  }
  unsigned width = widthOf(inner.getResult(0).getType());
  uint64_t mask = width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  // Numbers that stand in front of the cascade.
  for (Value operand : inner.getOperands())
    if (auto constant = operand.getDefiningOp<arith::ConstantOp>();
        constant && !words.contains(operand))
      words[operand] = Words(count, getWord(constant.getValue()));
  SmallVector<const Words *, 3> of;
  for (Value operand : inner.getOperands()) {
    auto it = words.find(operand);
    if (it == words.end())
      return failure();
    of.push_back(&it->second);
  }
  auto a = [&](size_t i) { return (*of[0])[i]; };
  auto b = [&](size_t i) { return (*of[1])[i]; };
  return TypeSwitch<Operation *, FailureOr<Words>>(&inner)
      .Case<arith::BitcastOp, arith::ExtFOp>([&](auto) { return *of[0]; })
      .Case([&](arith::AndIOp) {
        return each([&](size_t i) { return a(i) & b(i); });
      })
      .Case([&](arith::AddIOp) {
        return each([&](size_t i) { return (a(i) + b(i)) & mask; });
      })
      .Case([&](arith::RemUIOp) {
        return each([&](size_t i) { return b(i) ? a(i) % b(i) : 0; });
      })
      .Case([&](arith::CmpIOp op) {
        unsigned wide = widthOf(op.getLhs().getType());
        return each([&](size_t i) {
          return uint64_t(compare(op.getPredicate(), a(i), b(i), wide));
        });
      })
      .Case([&](arith::SelectOp) {
        return each([&](size_t i) { return a(i) ? b(i) : (*of[2])[i]; });
      })
      .Case([&](arith::SubFOp) {
        return each([&](size_t i) {
          float difference = llvm::bit_cast<float>(uint32_t(a(i))) -
                             llvm::bit_cast<float>(uint32_t(b(i)));
          return uint64_t(llvm::bit_cast<uint32_t>(difference));
        });
      })
      .Case([&](arith::TruncFOp) {
        return each([&](size_t i) { return roundToTF32(a(i)); });
      })
      .Default([](Operation *) { return failure(); });
}

/// The values of a body along the last dim.
void ConstantMap::computeRow(ArrayRef<int64_t> at, const char *source) {
  words.clear();
  Block &body = op.getBody().front();
  Words read(size_t(extents.back()));
  for (size_t i = 0; i < read.size(); ++i)
    std::memcpy(&read[i], source + offsets.back()[i], inputBytes);
  words[body.getArgument(0)] = std::move(read);
  for (Operation &inner : body.without_terminator())
    if (FailureOr<Words> made = evaluate(inner, at); succeeded(made))
      words[inner.getResult(0)] = std::move(*made);
}

SmallVector<Attribute> ConstantMap::compute() {
  SmallVector<std::vector<char>> results;
  SmallVector<unsigned> sizes;
  int64_t points = 1;
  for (int64_t extent : extents)
    points *= extent;
  for (Value result : op->getResults()) {
    sizes.push_back(
        getBytes(cast<RankedTensorType>(result.getType()).getElementType()));
    results.emplace_back(size_t(points) * sizes.back());
  }
  Operation *yield = op.getBody().front().getTerminator();
  SmallVector<int64_t> at(extents.size(), 0);
  int64_t row = extents.back();
  for (int64_t place = 0; place < points; place += row) {
    const char *source = bytes.data();
    int64_t rest = place / row;
    for (int64_t d = int64_t(extents.size()) - 2; d >= 0; --d) {
      at[size_t(d)] = rest % extents[size_t(d)];
      rest /= extents[size_t(d)];
      source += offsets[size_t(d)][size_t(at[size_t(d)])];
    }
    computeRow(at, source);
    for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
      auto it = words.find(value);
      if (it == words.end())
        return {};
      char *to = results[i].data() + size_t(place) * sizes[i];
      for (uint64_t word : it->second) {
        std::memcpy(to, &word, sizes[i]);
        to += sizes[i];
      }
    }
  }
  SmallVector<Attribute> made;
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    made.push_back(DenseResourceElementsAttr::get(
        cast<RankedTensorType>(result.getType()), "copy",
        HeapAsmResourceBlob::allocateAndCopyWithAlign(results[i], 64)));
  return made;
}

namespace {
struct FoldCopies : public redfuse::impl::FoldCopiesBase<FoldCopies> {
  void runOnOperation() override {
    SmallVector<CascadeOp> ops;
    getOperation()->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    for (CascadeOp op : ops) {
      ConstantMap map(op);
      if (!map.find())
        continue;
      SmallVector<Attribute> made = map.compute();
      if (made.empty())
        continue;
      b.setInsertionPoint(op);
      SmallVector<Value> constants;
      for (auto [result, value] : llvm::zip_equal(op->getResults(), made))
        constants.push_back(arith::ConstantOp::create(
            b, op.getLoc(), cast<RankedTensorType>(result.getType()),
            cast<TypedAttr>(value)));
      b.replaceOp(op, constants);
    }
  }
};
} // namespace
