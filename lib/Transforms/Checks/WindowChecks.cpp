//===- WindowChecks.cpp - indices that are more than a plain dim ----------===//
//
// An index is a sum with any signs, quotient or remainder by constants of the
// iteration dims, whose extents are numbers or values of the program. Three ways
// decide whether it is inside the operand's dim, from the cheapest on:
//
// 1. Its bounds follow from the extents, as affine expressions (WindowRange). What
//    they say is inside, for whatever extents, is inside.
// 2. Where the bounds are values that occur, what they say is outside is
//    outside: an error, or an assertion about the bounds.
// 3. Else the index repeats itself along each dim (WindowPoints), so a few points
//    have its least and its largest value. They are tried here, or by loops of
//    the program where extents are dynamic.
//
// MLIR's own verifier looks at the first and the last point of static extents.
// Presburger's integer minimum would decide what takes too many points here, but
// takes time without a bound.
//
//===----------------------------------------------------------------------===//
#include "WindowChecks.h"
#include "WindowPoints.h"
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace redfuse;
using llvm::DynamicAPInt;

using Predicate = arith::CmpIPredicate;

namespace {
/// Between which values an expression lies, in terms of extents.
struct WindowRange {
  /// The lower bound is the largest of `lows`, the upper one the least of
  /// `highs`.
  SmallVector<AffineExpr, 2> lows, highs;
  llvm::SmallBitVector dims; ///< that it depends on
  bool isDense = true;       ///< takes every value between the bounds
  bool isExact = true;       ///< takes both bounds
};

/// A dim of an operand that is indexed by more than a plain dim.
struct Window {
  unsigned number, dim;
  Value operand;
  AffineExpr index;
};

class WindowChecker {
public:
  WindowChecker(AccessChecks &checks, Operation *op, ArrayRef<AffineMap> maps);
  LogicalResult run();

private:
  void guard(const Window &window);
  LogicalResult check(const Window &window);
  LogicalResult checkStatic(const Window &window, int64_t size);
  void requireDynamic(const Window &window);
  void requireNumbers(const Window &window);
  void requirePoints(const Window &window, const WindowRange &range,
                     AffineExpr length);
  LogicalResult refuse(const Window &window, StringRef is, const Twine &what);

  WindowRange getRange(AffineExpr expr);
  WindowRange getSum(const WindowRange &a, const WindowRange &b);
  WindowRange getRemainder(WindowRange range, int64_t by);

  /// Whether no point is in the iteration space; null where there always is one.
  Value makeIsEmpty(OpBuilder &b);
  /// Whether the condition holds, or nothing is read.
  Value orEmpty(OpBuilder &b, Value condition);
  Value isAtLeastZero(OpBuilder &b, const WindowRange &range);
  Value isBelow(OpBuilder &b, const WindowRange &range, AffineExpr length);
  Value compare(OpBuilder &b, Predicate predicate, Value l, Value r) {
    return b.createOrFold<arith::CmpIOp>(op->getLoc(), predicate, l, r);
  }
  Value makeConstant(OpBuilder &b, int64_t number) {
    return arith::ConstantIndexOp::create(b, op->getLoc(), number);
  }
  Value make(OpBuilder &b, AffineExpr expr) {
    return checks.ranges.materialize(b, op->getLoc(), expr);
  }

  AccessChecks &checks;
  Operation *op;
  ArrayRef<AffineMap> maps;
  SmallVector<Window> windows;
  // By iteration dim: its extent in the type of the first operand that has it
  // (or kDynamic), its extent as an expression, its last index, and what that
  // does not exceed, as the operand has an address for every byte.
  SmallVector<int64_t> extents;
  SmallVector<AffineExpr> counts, last;
  SmallVector<DynamicAPInt> mostLast;
};
} // namespace

/// Whether the index is no affine one, or divides by what is not positive: MLIR
/// defines neither.
static bool isUndefined(AffineExpr index) {
  return !index.isPureAffine() ||
         index
             .walk([](AffineExpr part) {
               auto binary = dyn_cast<AffineBinaryOpExpr>(part);
               if (!binary || part.getKind() == AffineExprKind::Add ||
                   part.getKind() == AffineExprKind::Mul)
                 return WalkResult::advance();
               auto by = cast<AffineConstantExpr>(binary.getRHS());
               return by.getValue() < 1 ? WalkResult::interrupt()
                                        : WalkResult::advance();
             })
             .wasInterrupted();
}

WindowChecker::WindowChecker(AccessChecks &checks, Operation *op,
                             ArrayRef<AffineMap> maps)
    : checks(checks), op(op), maps(maps) {
  for (auto [number, map] : llvm::enumerate(maps))
    if (isa<RankedTensorType>(op->getOperand(number).getType()))
      for (auto [dim, expr] : llvm::enumerate(map.getResults()))
        if (!isa<AffineDimExpr>(expr))
          windows.push_back(
              {unsigned(number), unsigned(dim), op->getOperand(number), expr});
  if (windows.empty())
    return;
  unsigned numDims = maps.front().getNumDims();
  extents.assign(numDims, ShapedType::kDynamic);
  counts.resize(numDims);
  last.resize(numDims);
  mostLast.resize(numDims);
  for (auto [operand, map] : llvm::zip_equal(op->getOperands(), maps)) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    for (unsigned d = 0; type && d < map.getNumResults(); ++d) {
      auto plain = dyn_cast<AffineDimExpr>(map.getResult(d));
      if (!plain || counts[plain.getPosition()])
        continue;
      int64_t extent = type.getDimSize(d);
      // A large number as itself: only static extents need it to be one.
      AffineExpr count = ShapedType::isDynamic(extent)
                             ? checks.ranges.getExtent(operand, d)
                             : getAffineConstantExpr(extent, op->getContext());
      extents[plain.getPosition()] = extent;
      counts[plain.getPosition()] = count;
      last[plain.getPosition()] = count - 1;
      Type element = type.getElementType();
      bool isNumber =
          element.isIntOrIndexOrFloat() || isa<ComplexType>(element);
      mostLast[plain.getPosition()] = std::clamp(
          *checks.ranges.getUpperBound(count - 1), DynamicAPInt(0),
          DynamicAPInt(IndexRanges::kMostElements /
                       (isNumber ? AccessChecks::bytesOf(element) : 1)));
    }
  }
}

/// That the operand may be read outside where a dim is empty on which no index of it
/// depends.
void WindowChecker::guard(const Window &window) {
  AffineMap map = maps[window.number];
  SmallVector<std::pair<AffineExpr, AffineExpr>> spans;
  for (auto [dim, count] : llvm::enumerate(counts))
    if (count && !map.isFunctionOfDim(dim) &&
        !checks.ranges.isNonNegative(count - 1))
      spans.emplace_back(getAffineConstantExpr(0, op->getContext()), count);
  if (!spans.empty())
    checks.guard(op, spans);
}

LogicalResult WindowChecker::run() {
  // Nothing is read where a dim is empty.
  if (llvm::is_contained(extents, 0)) {
    for (const Window &window : windows)
      guard(window);
    return success();
  }
  for (const Window &window : windows)
    if (failed(check(window)))
      return failure();
  return success();
}

LogicalResult WindowChecker::refuse(const Window &window, StringRef is,
                                    const Twine &what) {
  return op->emitError() << op->getName() << ": operand " << window.number
                         << " " << is << " read outside its dim " << window.dim
                         << ": " << what;
}

static std::string textOf(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

static bool hasMoreBits(const DynamicAPInt &magnitude) {
  return magnitude > DynamicAPInt(INT64_MAX);
}

LogicalResult WindowChecker::check(const Window &window) {
  bool isKnown = !isUndefined(window.index);
  for (auto [dim, count] : llvm::enumerate(counts))
    isKnown &= count || !window.index.isFunctionOfDim(dim);
  if (!isKnown)
    return refuse(window, "may be",
                  "its index " + textOf(window.index) +
                      " is not known: expected sums, products, and quotients "
                      "and remainders by positive constants, of dims that "
                      "operands have");
  // The least that there can be: dynamic extents are 1 or more.
  SmallVector<DynamicAPInt> least;
  for (int64_t extent : extents)
    least.push_back(
        DynamicAPInt(ShapedType::isDynamic(extent) ? 0 : extent - 1));
  if (hasMoreBits(getMagnitude(window.index, least)))
    return refuse(window, "may be",
                  "its index " + textOf(window.index) +
                      " has values of more than 64 bits");
  int64_t size =
      cast<RankedTensorType>(window.operand.getType()).getDimSize(window.dim);
  bool isStatic = !ShapedType::isDynamic(size);
  for (auto [dim, extent] : llvm::enumerate(extents))
    isStatic &=
        !ShapedType::isDynamic(extent) || !window.index.isFunctionOfDim(dim);
  if (isStatic)
    return checkStatic(window, size);
  requireDynamic(window);
  return success();
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

WindowRange WindowChecker::getSum(const WindowRange &a, const WindowRange &b) {
  WindowRange made;
  made.lows = addBounds(a.lows, b.lows);
  made.highs = addBounds(a.highs, b.highs);
  bool isApart = !a.dims.anyCommon(b.dims);
  made.isDense = a.isDense && b.isDense && isApart;
  made.isExact = a.isExact && b.isExact && isApart;
  made.dims = a.dims;
  made.dims |= b.dims;
  for (auto *bounds : {&made.lows, &made.highs})
    if (bounds->size() > kMostBoundsOfWindow) {
      bounds->resize(kMostBoundsOfWindow);
      made.isDense = made.isExact = false;
    }
  return made;
}

WindowRange WindowChecker::getRemainder(WindowRange range, int64_t by) {
  MLIRContext *context = op->getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  AffineExpr most = getAffineConstantExpr(by - 1, context);
  if (!llvm::all_of(range.lows, [&](AffineExpr low) { return low == zero; })) {
    range.lows = {zero};
    range.highs = {most};
    range.isDense = range.isExact = false;
    return range;
  }
  IndexRanges &ranges = checks.ranges;
  if (llvm::any_of(range.highs, [&](AffineExpr high) {
        return ranges.isNonNegative(most - high);
      }))
    return range;
  llvm::erase_if(range.highs, [&](AffineExpr high) {
    return ranges.isNonNegative(high - most);
  });
  range.highs.push_back(most);
  range.isDense = range.isExact = range.isDense && range.isExact;
  return range;
}

WindowRange WindowChecker::getRange(AffineExpr expr) {
  WindowRange range;
  range.dims.resize(extents.size());
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    range.lows = {getAffineConstantExpr(0, op->getContext())};
    range.highs = {last[dim.getPosition()]};
    range.dims.set(dim.getPosition());
    return range;
  }
  if (isa<AffineConstantExpr>(expr)) {
    range.lows = range.highs = {expr};
    return range;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  range = getRange(binary.getLHS());
  if (expr.getKind() == AffineExprKind::Add)
    return getSum(range, getRange(binary.getRHS()));
  int64_t by = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  if (expr.getKind() == AffineExprKind::Mod)
    return getRemainder(std::move(range), by);
  for (auto *bounds : {&range.lows, &range.highs})
    for (AffineExpr &bound : *bounds)
      bound = getAffineBinaryOpExpr(expr.getKind(), bound, binary.getRHS());
  if (expr.getKind() == AffineExprKind::Mul) {
    range.isDense &= by >= -1 && by <= 1;
    if (by < 0)
      std::swap(range.lows, range.highs);
  }
  return range;
}

//===----------------------------------------------------------------------===//
// Static extents
//===----------------------------------------------------------------------===//

LogicalResult WindowChecker::checkStatic(const Window &window, int64_t size) {
  auto getNumber = [](AffineExpr bound) {
    return cast<AffineConstantExpr>(bound).getValue();
  };
  WindowRange range = getRange(window.index);
  int64_t low = INT64_MIN, high = INT64_MAX;
  for (AffineExpr bound : range.lows)
    low = std::max(low, getNumber(bound));
  for (AffineExpr bound : range.highs)
    high = std::min(high, getNumber(bound));
  if (low >= 0 && high < size)
    return success();
  if (!range.isExact) {
    auto ends = findEnds(window.index, extents);
    if (!ends)
      return refuse(
          window, "may be",
          "its index " + textOf(window.index) + " lies between " + Twine(low) +
              " and " + Twine(high) +
              ", and which of these occur takes too many points to find out: "
              "expected none but 0 to " +
              Twine(size - 1) +
              ". An index by smaller divisors would do, or a tensor.pad before "
              "the operation, after which all of them are inside");
    std::tie(low, high) = *ends;
  }
  if (low >= 0 && high < size)
    return success();
  return refuse(window, "is",
                "at index " + Twine(low < 0 ? low : high) +
                    ", expected indices below " + Twine(size) +
                    " and not below 0");
}

//===----------------------------------------------------------------------===//
// Dynamic extents
//===----------------------------------------------------------------------===//

Value WindowChecker::makeIsEmpty(OpBuilder &b) {
  Value isEmpty;
  for (AffineExpr count : counts) {
    if (!count || checks.ranges.isNonNegative(count - 1))
      continue;
    Value isNone =
        compare(b, Predicate::eq, make(b, count), makeConstant(b, 0));
    isEmpty = isEmpty
                  ? b.createOrFold<arith::OrIOp>(op->getLoc(), isEmpty, isNone)
                  : isNone;
  }
  return isEmpty;
}

Value WindowChecker::orEmpty(OpBuilder &b, Value condition) {
  Value isEmpty = makeIsEmpty(b);
  return isEmpty
             ? b.createOrFold<arith::OrIOp>(op->getLoc(), condition, isEmpty)
             : condition;
}

Value WindowChecker::isAtLeastZero(OpBuilder &b, const WindowRange &range) {
  Value holds;
  for (AffineExpr low : range.lows) {
    Value is = compare(b, Predicate::sge, make(b, low), makeConstant(b, 0));
    holds = holds ? b.createOrFold<arith::OrIOp>(op->getLoc(), holds, is) : is;
  }
  return holds;
}

Value WindowChecker::isBelow(OpBuilder &b, const WindowRange &range,
                             AffineExpr length) {
  Value holds;
  for (AffineExpr high : range.highs) {
    Value is = compare(b, Predicate::slt, make(b, high), make(b, length));
    holds = holds ? b.createOrFold<arith::OrIOp>(op->getLoc(), holds, is) : is;
  }
  return holds;
}

/// Extents are small enough for the index to have 64 bits: what the machine
/// computes would be another number.
void WindowChecker::requireNumbers(const Window &window) {
  auto hasMoreBitsUpTo = [&](const DynamicAPInt &most) {
    SmallVector<DynamicAPInt> ends;
    for (auto [end, extent] : llvm::zip_equal(mostLast, extents))
      // Bounds are made of extents, and of constants that take what these are
      // larger by: nothing on the way to a bound is larger than this.
      ends.push_back(ShapedType::isDynamic(extent) ? std::min(end, most) + 2
                                                   : DynamicAPInt(extent - 1));
    return hasMoreBits(getMagnitude(window.index, ends));
  };
  DynamicAPInt most(IndexRanges::kMostElements);
  if (!hasMoreBitsUpTo(most))
    return;
  while (most > 0 && hasMoreBitsUpTo(most))
    most = most / 2;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    if (!ShapedType::isDynamic(extent) || !window.index.isFunctionOfDim(dim) ||
        mostLast[dim] <= most)
      continue;
    checks.require(
        op,
        [&](OpBuilder &b) {
          Value end = makeConstant(b, int64fromDynamicAPInt(most));
          return orEmpty(b,
                         compare(b, Predicate::sle, make(b, last[dim]), end));
        },
        "operand " + Twine(window.number) + " may be read outside its dim " +
            Twine(window.dim) + ": its index " + textOf(window.index) +
            " may have values of more than 64 bits");
  }
}

void WindowChecker::requireDynamic(const Window &window) {
  requireNumbers(window);
  IndexRanges &ranges = checks.ranges;
  AffineExpr length = ranges.getExtent(window.operand, window.dim);
  WindowRange range = getRange(window.index);
  bool isLowKnown = llvm::any_of(
      range.lows, [&](AffineExpr low) { return ranges.isNonNegative(low); });
  bool isHighKnown = llvm::any_of(range.highs, [&](AffineExpr high) {
    return ranges.isNonNegative(length - 1 - high);
  });
  if (isLowKnown && isHighKnown)
    return;
  guard(window);
  if (!range.isExact &&
      countPoints(window.index, extents, kMostPointsInCalls)) {
    requirePoints(window, range, length);
    return;
  }
  std::string what =
      ("operand " + Twine(window.number) + (range.isExact ? " is" : " may be") +
       " read outside its dim " + Twine(window.dim))
          .str();
  if (!isLowKnown)
    checks.require(
        op, [&](OpBuilder &b) { return orEmpty(b, isAtLeastZero(b, range)); },
        what);
  if (!isHighKnown)
    checks.require(
        op, [&](OpBuilder &b) { return orEmpty(b, isBelow(b, range, length)); },
        what);
}

/// Loops over all points, none where the bounds say that they are inside. They
/// carry no value: such loops are tensors' work.
void WindowChecker::requirePoints(const Window &window,
                                  const WindowRange &range, AffineExpr length) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Value zero = makeConstant(b, 0), one = makeConstant(b, 1);
  Value end = make(b, length);
  Value isInside =
      orEmpty(b, b.createOrFold<arith::AndIOp>(loc, isAtLeastZero(b, range),
                                               isBelow(b, range, length)));
  SmallVector<std::pair<unsigned, int64_t>> periods;
  // A longer one is that of a short static extent, all of whose indices are tried.
  for (const auto &[dim, period] : getPeriods(window.index))
    periods.emplace_back(
        dim, int64fromDynamicAPInt(
                 std::min(period.length, DynamicAPInt(kMostPointsInCalls))));
  SmallVector<Value> ends, skipped;
  for (auto [dim, period] : periods) {
    Value extent = make(b, counts[dim]);
    Value both = makeConstant(b, period * 2);
    Value count = b.createOrFold<arith::MinSIOp>(loc, extent, both);
    skipped.push_back(b.createOrFold<arith::SubIOp>(loc, extent, count));
    if (ends.empty())
      count = arith::SelectOp::create(b, loc, isInside, zero, count);
    ends.push_back(count);
  }
  SmallVector<Value> zeros(ends.size(), zero), ones(ends.size(), one);
  scf::buildLoopNest(
      b, loc, zeros, ends, ones,
      [&](OpBuilder &b, Location loc, ValueRange steps) {
        SmallVector<Value> at(extents.size(), zero);
        for (auto [i, period] : llvm::enumerate(periods)) {
          Value isLate = compare(b, Predicate::sge, steps[i],
                                 makeConstant(b, period.second));
          Value shift =
              arith::SelectOp::create(b, loc, isLate, skipped[i], zero);
          at[period.first] = arith::AddIOp::create(b, loc, steps[i], shift);
        }
        Value index = affine::AffineApplyOp::create(
            b, loc, AffineMap::get(extents.size(), 0, window.index), at);
        // A negative index is a large one, too.
        Value holds = compare(b, Predicate::ult, index, end);
        cf::AssertOp::create(
            b, loc, holds,
            describeFailure(op, "operand " + Twine(window.number) +
                                    " is read outside its dim " +
                                    Twine(window.dim)));
      });
}

LogicalResult redfuse::checkWindows(AccessChecks &checks, Operation *op,
                                    ArrayRef<AffineMap> maps) {
  if (maps.size() != op->getNumOperands())
    return success();
  return WindowChecker(checks, op, maps).run();
}
