//===- EvaluatePositions.cpp - redfuse-evaluate-positions -----------------===//
//
// Programs compute where they read: the rows between which an image is interpolated are
// floats of a position, rounded, wrapped and checked. Of an extent that is known there are
// few positions, so all of it can be computed when the program is compiled.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace redfuse {
#define GEN_PASS_DEF_EVALUATEPOSITIONS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Positions of a dim up to which all are evaluated, and all evaluations of a cascade: each
/// takes about a microsecond.
static constexpr int64_t kMostPositions = 4096, kMostEvaluations = 200000;
/// Divisors, and factors, of positions that are tried.
static constexpr int64_t kMostDivisor = 16, kMostFactor = 16;

namespace {
/// A value at each position along one dim, or at all of them if it is a constant.
struct Evaluated {
  unsigned dim = 0;
  SmallVector<Attribute> values;
};

/// clamp((factor * position + offset) / divisor + least, least, most), rounded down.
struct Line {
  int64_t factor, offset, divisor, least, most;
};

class PositionEvaluator {
public:
  explicit PositionEvaluator(CascadeOp op)
      : op(op), extents(getStaticExtents(op)) {}

  void run();

private:
  void evaluate(Operation *inner);
  std::optional<Evaluated> evaluateOp(Operation *inner);
  bool isUsedElsewhere(Value v) const;
  void replace(Value v, const Evaluated &evaluated);

  CascadeOp op;
  SmallVector<int64_t> extents;
  int64_t evaluations = 0;
  llvm::MapVector<Value, Evaluated> found;
};
} // namespace

/// The line through values that are integers, if there is one.
static std::optional<Line> fitLine(ArrayRef<int64_t> values) {
  auto count = int64_t(values.size());
  int64_t least = *llvm::min_element(values), most = *llvm::max_element(values);
  // The first and the last position that no bound holds.
  int64_t first = 0, last = count - 1;
  while (first + 1 < count && values[first + 1] == values[0])
    ++first;
  while (last > first && values[last - 1] == values[count - 1])
    --last;
  if (last <= first || values[last] <= values[first])
    return std::nullopt;
  for (int64_t divisor = 1; divisor <= kMostDivisor; ++divisor)
    for (int64_t factor = 1; factor <= kMostFactor; ++factor) {
      // The smallest offset that reaches the last value where it is first reached; others
      // are larger by less than one factor.
      int64_t reached = (values[last] - least) * divisor - factor * last;
      for (int64_t offset = reached; offset < reached + factor; ++offset) {
        auto at = [&](int64_t i) {
          int64_t above = std::max<int64_t>(factor * i + offset, 0) / divisor;
          return std::min(least + above, most);
        };
        bool isLine =
            llvm::all_of(llvm::seq<int64_t>(0, count),
                         [&](int64_t i) { return at(i) == values[i]; });
        if (isLine)
          return Line{factor, offset, divisor, least, most};
      }
    }
  return std::nullopt;
}

/// Whether an op's results follow from its operands alone, one from the others.
static bool isEvaluable(Operation *inner) {
  return inner->getNumResults() == 1 && inner->getNumRegions() == 0 &&
         inner->getNumOperands() > 0 && isMemoryEffectFree(inner) &&
         inner->getResult(0).getType().isIntOrIndexOrFloat() &&
         llvm::all_of(inner->getOperandTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

std::optional<Evaluated> PositionEvaluator::evaluateOp(Operation *inner) {
  SmallVector<Attribute> constants(inner->getNumOperands());
  SmallVector<const Evaluated *> varying(inner->getNumOperands());
  std::optional<unsigned> dim;
  for (auto [i, operand] : llvm::enumerate(inner->getOperands())) {
    if (matchPattern(operand, m_Constant(&constants[i])))
      continue;
    auto known = found.find(operand);
    if (known == found.end() || (dim && *dim != known->second.dim))
      return std::nullopt;
    dim = known->second.dim;
    varying[i] = &known->second;
  }
  if (!dim)
    return std::nullopt;
  int64_t count = extents[*dim];
  evaluations += count;
  if (evaluations > kMostEvaluations)
    return std::nullopt;
  // Folding may change an op.
  Operation *copy = inner->clone();
  Evaluated result{*dim, {}};
  for (int64_t at = 0; at < count; ++at) {
    for (auto [constant, values] : llvm::zip_equal(constants, varying))
      if (values)
        constant = values->values[at];
    SmallVector<OpFoldResult> folded;
    if (failed(copy->fold(constants, folded)) || folded.size() != 1)
      break;
    Attribute value = dyn_cast<Attribute>(folded[0]);
    if (!value) // one of the operands
      for (auto [constant, operand] :
           llvm::zip_equal(constants, copy->getOperands()))
        if (operand == cast<Value>(folded[0]))
          value = constant;
    // Not what is undefined.
    if (!isa_and_nonnull<IntegerAttr, FloatAttr>(value))
      break;
    result.values.push_back(value);
  }
  copy->destroy();
  if (int64_t(result.values.size()) != count)
    return std::nullopt;
  return result;
}

void PositionEvaluator::evaluate(Operation *inner) {
  if (auto index = dyn_cast<IndexOp>(inner)) {
    auto dim = unsigned(index.getDim());
    int64_t extent = extents[dim];
    if (ShapedType::isDynamic(extent) || extent < 1 || extent > kMostPositions)
      return;
    Evaluated positions{dim, {}};
    for (int64_t at = 0; at < extent; ++at)
      positions.values.push_back(
          IntegerAttr::get(IndexType::get(op.getContext()), at));
    found[index.getResult()] = std::move(positions);
    return;
  }
  if (!isEvaluable(inner))
    return;
  if (std::optional<Evaluated> result = evaluateOp(inner))
    found[inner->getResult(0)] = std::move(*result);
}

/// Whether an op reads it that is not evaluated itself.
bool PositionEvaluator::isUsedElsewhere(Value v) const {
  return llvm::any_of(v.getUsers(), [&](Operation *user) {
    return user->getNumResults() != 1 || !found.contains(user->getResult(0));
  });
}

/// Writes a value anew if it is a constant, or integers on a line.
void PositionEvaluator::replace(Value v, const Evaluated &evaluated) {
  Operation *def = v.getDefiningOp();
  OpBuilder b(def);
  Location loc = v.getLoc();
  if (llvm::all_equal(evaluated.values)) {
    auto value = cast<TypedAttr>(evaluated.values.front());
    v.replaceAllUsesWith(arith::ConstantOp::create(b, loc, value));
    return;
  }
  bool isWhole = v.getType().isIndex() || v.getType().isInteger(64);
  if (!isWhole || isa<IndexOp>(def) || !isUsedElsewhere(v))
    return;
  SmallVector<int64_t> values;
  for (Attribute value : evaluated.values)
    values.push_back(cast<IntegerAttr>(value).getInt());
  std::optional<Line> line = fitLine(values);
  if (!line)
    return;
  Type index = b.getIndexType();
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIndexAttr(n));
  };
  // Each step only where it changes something.
  int64_t end = line->factor * (extents[evaluated.dim] - 1) + line->offset;
  Value at = IndexOp::create(b, loc, index, evaluated.dim);
  if (line->factor != 1)
    at = arith::MulIOp::create(b, loc, at, number(line->factor));
  if (line->offset != 0)
    at = arith::AddIOp::create(b, loc, at, number(line->offset));
  if (line->offset < 0)
    at = arith::MaxSIOp::create(b, loc, at, number(0));
  if (line->divisor != 1)
    at = arith::DivUIOp::create(b, loc, at, number(line->divisor));
  if (line->least != 0)
    at = arith::AddIOp::create(b, loc, at, number(line->least));
  if (line->least + end / line->divisor > line->most)
    at = arith::MinSIOp::create(b, loc, at, number(line->most));
  if (v.getType() != index)
    at = arith::IndexCastOp::create(b, loc, v.getType(), at);
  v.replaceUsesWithIf(at, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return user->getNumResults() != 1 || !found.contains(user->getResult(0));
  });
}

void PositionEvaluator::run() {
  for (Operation &inner : op.getBody().front())
    evaluate(&inner);
  for (auto &[v, evaluated] : found)
    replace(v, evaluated);
}

namespace {
struct EvaluatePositions
    : redfuse::impl::EvaluatePositionsBase<EvaluatePositions> {
  using EvaluatePositionsBase::EvaluatePositionsBase;

  void runOnOperation() override {
    getOperation()->walk([](CascadeOp op) { PositionEvaluator(op).run(); });
  }
};
} // namespace
