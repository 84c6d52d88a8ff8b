//===- IndexRanges.cpp - between which values an index lies ---------------===//
#include "redfuse/Analysis/IndexRanges.h"
#include "redfuse/Analysis/CostConstants.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse;
using llvm::DynamicAPInt;

/// Constants from here on are symbols: sums and products of smaller ones do not
/// leave 64 bits in the steps that are taken here.
static constexpr int64_t kLargeConstant = int64_t(1) << 40;
static constexpr int64_t kLargeFactor = int64_t(1) << 30;

static DynamicAPInt least64() {
  return DynamicAPInt(std::numeric_limits<int64_t>::min());
}
static DynamicAPInt most64() {
  return DynamicAPInt(std::numeric_limits<int64_t>::max());
}

/// An index, or an integer of as many bits.
static bool isWide(Type type) { return type.isIndex() || type.isInteger(64); }

static bool isDefinedIn(Value v, Operation *op) {
  return op->isAncestor(v.getParentBlock()->getParentOp());
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

/// The tensor that `tensor` has the shape of: what a loop carries and does not
/// change the shape of, from before the loop.
static Value lookThroughLoops(Value tensor, int64_t dim) {
  auto loop = dyn_cast_or_null<LoopLikeOpInterface>(
      isa<BlockArgument>(tensor)
          ? cast<BlockArgument>(tensor).getOwner()->getParentOp()
          : tensor.getDefiningOp());
  if (!loop || isa<scf::WhileOp>(loop.getOperation()))
    return {};
  if (auto forall = dyn_cast<scf::ForallOp>(loop.getOperation())) {
    if (auto result = dyn_cast<OpResult>(tensor))
      return forall.getOutputs()[result.getResultNumber()];
    OpOperand *init = forall.getTiedOpOperand(cast<BlockArgument>(tensor));
    return init ? init->get() : Value();
  }
  unsigned number = 0;
  if (auto result = dyn_cast<OpResult>(tensor)) {
    number = result.getResultNumber();
  } else {
    auto arguments = loop.getRegionIterArgs();
    auto found = llvm::find(arguments, tensor);
    if (found == arguments.end())
      return {};
    number = found - arguments.begin();
  }
  auto yielded = loop.getYieldedValuesMutable();
  if (!yielded || number >= yielded->size())
    return {};
  Value argument = loop.getRegionIterArgs()[number];
  Extent after = getExtentOf((*yielded)[number].get(), dim);
  if (after != Extent{ShapedType::kDynamic, argument, dim} &&
      after != getExtentOf(loop.getInits()[number], dim)) {
    // A loop within may carry it on: only one within, or loops that hand each
    // other's tensors on would be followed for ever.
    Operation *within = after.dim >= 0 ? after.value.getDefiningOp() : nullptr;
    Value inner = within && loop->isProperAncestor(within)
                      ? lookThroughLoops(after.value, after.dim)
                      : Value();
    if (inner != argument)
      return {};
  }
  return loop.getInits()[number];
}

Extent IndexRanges::traceExtent(Value tensor, int64_t dim) {
  Extent extent = getExtentOf(tensor, dim);
  while (extent.dim >= 0) {
    Value before = lookThroughLoops(extent.value, extent.dim);
    if (!before)
      break;
    extent = getExtentOf(before, extent.dim);
  }
  return extent;
}

IndexRanges::Interval IndexRanges::intervalOf(Value scalar) {
  if (!isSolved) {
    isSolved = true;
    solver.load<dataflow::DeadCodeAnalysis>();
    solver.load<dataflow::SparseConstantPropagation>();
    solver.load<dataflow::IntegerRangeAnalysis>();
    (void)solver.initializeAndRun(root);
  }
  auto *state = solver.lookupState<dataflow::IntegerValueRangeLattice>(scalar);
  if (state && !state->getValue().isUninitialized()) {
    const ConstantIntRanges &range = state->getValue().getValue();
    if (range.smin().getBitWidth() > 0)
      return {DynamicAPInt(range.smin()), DynamicAPInt(range.smax())};
  }
  return {least64(), most64()};
}

IndexRanges::Interval IndexRanges::intervalOf(const Extent &extent) {
  if (extent.isConstant())
    return {DynamicAPInt(extent.constant), DynamicAPInt(extent.constant)};
  if (extent.dim < 0)
    return intervalOf(extent.value);
  auto argument = dyn_cast<BlockArgument>(extent.value);
  bool isGiven =
      argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return {DynamicAPInt(0),
          DynamicAPInt(isGiven ? kMostOfArgument : kMostElements)};
}

AffineExpr IndexRanges::getSymbol(const Extent &extent) {
  MLIRContext *context = root->getContext();
  if (extent.isConstant() && std::abs(extent.constant) < kLargeConstant)
    return getAffineConstantExpr(extent.constant, context);
  auto *found = llvm::find(symbols, extent);
  if (found == symbols.end()) {
    Interval interval = intervalOf(extent);
    symbols.push_back(extent);
    symbolIntervals.push_back(interval);
    found = symbols.end() - 1;
  }
  return getAffineSymbolExpr(found - symbols.begin(), context);
}

AffineExpr IndexRanges::getExtent(Value tensor, int64_t dim) {
  return *getExpr(traceExtent(tensor, dim));
}

std::optional<AffineExpr> IndexRanges::getExpr(const Extent &extent,
                                               Operation *around) {
  std::optional<IndexRange> range = ofExtent(extent, around, 0);
  if (range && range->positions.empty() &&
      range->lows.front() == range->highs.front())
    return range->lows.front();
  if (around && extent.value && isDefinedIn(extent.value, around))
    return std::nullopt;
  return getSymbol(extent);
}

IndexRanges::Interval IndexRanges::intervalOf(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {DynamicAPInt(constant.getValue()),
            DynamicAPInt(constant.getValue())};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbolIntervals[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto [low, high] = intervalOf(binary.getLHS());
  auto [otherLow, otherHigh] = intervalOf(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return {low + otherLow, high + otherHigh};
  case AffineExprKind::Mul: {
    std::array<DynamicAPInt, 4> ends = {low * otherLow, low * otherHigh,
                                        high * otherLow, high * otherHigh};
    return {*llvm::min_element(ends), *llvm::max_element(ends)};
  }
  case AffineExprKind::FloorDiv:
    return {floorDiv(low, otherLow), floorDiv(high, otherLow)};
  case AffineExprKind::CeilDiv:
    return {ceilDiv(low, otherLow), ceilDiv(high, otherLow)};
  default:
    assert(expr.getKind() == AffineExprKind::Mod);
    return {DynamicAPInt(0), otherLow - 1};
  }
}

bool IndexRanges::isNonNegative(AffineExpr expr) {
  return intervalOf(simplifyAffineExpr(expr, 0, symbols.size())).first >= 0;
}

bool IndexRanges::fits(AffineExpr expr) {
  auto [low, high] = intervalOf(simplifyAffineExpr(expr, 0, symbols.size()));
  return low >= least64() && high <= most64();
}

std::optional<DynamicAPInt> IndexRanges::getUpperBound(AffineExpr expr) {
  return intervalOf(simplifyAffineExpr(expr, 0, symbols.size())).second;
}

bool IndexRanges::isInside(const IndexRange &range, AffineExpr extent) {
  return llvm::any_of(range.lows,
                      [&](AffineExpr low) { return isNonNegative(low); }) &&
         llvm::any_of(range.highs, [&](AffineExpr high) {
           return isNonNegative(extent - 1 - high);
         });
}

Value IndexRanges::materialize(OpBuilder &b, Location loc, AffineExpr expr) {
  expr = simplifyAffineExpr(expr, 0, symbols.size());
  SmallVector<Value> values(symbols.size());
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part)) {
      Value &value = values[symbol.getPosition()];
      if (!value)
        value = redfuse::materialize(b, loc, symbols[symbol.getPosition()]);
    }
  });
  return affine::expandAffineExpr(b, loc, expr, {}, values);
}

bool IndexRanges::isKnownBefore(AffineExpr expr, Operation *around) {
  bool isKnown = true;
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      if (Value v = symbols[symbol.getPosition()].value)
        isKnown &= !isDefinedIn(v, around);
  });
  return isKnown;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

IndexRange IndexRanges::makeSingle(AffineExpr expr, bool isExact) {
  IndexRange range;
  range.lows = range.highs = {expr};
  range.isExact = isExact;
  return range;
}

IndexRange IndexRanges::makeConstant(int64_t number) {
  // The least one stands for an extent that is not known.
  number = std::max(number, ShapedType::kDynamic + 1);
  return makeSingle(getSymbol({number, Value(), -1}), true);
}

IndexRange IndexRanges::makeOpaque(Value value) {
  return makeSingle(getSymbol({ShapedType::kDynamic, value, -1}), true);
}

std::optional<IndexRange>
IndexRanges::asNumber(std::optional<IndexRange> range) {
  if (!range)
    return std::nullopt;
  auto isAbove = [&](AffineExpr e) {
    return intervalOf(simplifyAffineExpr(e, 0, symbols.size())).first >=
           least64();
  };
  auto isBelow = [&](AffineExpr e) {
    return intervalOf(simplifyAffineExpr(e, 0, symbols.size())).second <=
           most64();
  };
  if (llvm::any_of(range->lows, isAbove) && llvm::any_of(range->highs, isBelow))
    return range;
  return std::nullopt;
}

SmallVector<AffineExpr, 2> redfuse::addBounds(ArrayRef<AffineExpr> a,
                                              ArrayRef<AffineExpr> b) {
  SmallVector<AffineExpr, 2> made;
  for (AffineExpr left : a)
    for (AffineExpr right : b)
      made.push_back(left + right);
  return made;
}

static void keepFew(SmallVectorImpl<AffineExpr> &bounds) {
  if (bounds.size() > kMostBounds)
    bounds.resize(kMostBounds);
}

/// Whether some of `other`'s are those of `range` already.
static bool addPositions(IndexRange &range, const IndexRange &other) {
  bool areShared = false;
  for (auto position : other.positions) {
    if (llvm::is_contained(range.positions, position))
      areShared = true;
    else
      range.positions.push_back(position);
  }
  return areShared;
}

IndexRange IndexRanges::sum(const IndexRange &a, const IndexRange &b) {
  IndexRange made;
  made.lows = addBounds(a.lows, b.lows);
  made.highs = addBounds(a.highs, b.highs);
  keepFew(made.lows);
  keepFew(made.highs);
  made.positions = a.positions;
  made.isExact = a.isExact && b.isExact;
  made.isExact &= !addPositions(made, b);
  return made;
}

IndexRange IndexRanges::scaled(const IndexRange &range, int64_t by) {
  IndexRange made = range;
  for (AffineExpr &low : made.lows)
    low = low * by;
  for (AffineExpr &high : made.highs)
    high = high * by;
  if (by < 0)
    std::swap(made.lows, made.highs);
  return made;
}

/// Rounded down, or up: it grows with what is divided.
std::optional<IndexRange> IndexRanges::quotient(const IndexRange &range,
                                                int64_t by, bool up) {
  IndexRange made = range;
  auto divide = [&](AffineExpr &e) { e = up ? e.ceilDiv(by) : e.floorDiv(by); };
  llvm::for_each(made.lows, divide);
  llvm::for_each(made.highs, divide);
  return made;
}

/// Of what is not negative.
IndexRange IndexRanges::remainder(const IndexRange &range, int64_t by) {
  if (isInside(range, getAffineConstantExpr(by, root->getContext())))
    return range;
  IndexRange made = range;
  made.isExact = false;
  made.lows = {getAffineConstantExpr(0, root->getContext())};
  made.highs.push_back(getAffineConstantExpr(by - 1, root->getContext()));
  keepFew(made.highs);
  return made;
}

/// Adds the number that none of both ends passes, if it is a small one: for ends
/// that cannot be compared.
void IndexRanges::addNumber(SmallVectorImpl<AffineExpr> &ends,
                            ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b,
                            bool isHigh) {
  auto numberOf = [&](AffineExpr e) {
    Interval interval = intervalOf(simplifyAffineExpr(e, 0, symbols.size()));
    return isHigh ? interval.second : interval.first;
  };
  DynamicAPInt left = numberOf(a.front()), right = numberOf(b.front());
  DynamicAPInt end = isHigh ? std::max(left, right) : std::min(left, right);
  if (end > -kLargeConstant && end < kLargeConstant)
    ends.push_back(
        getAffineConstantExpr(int64fromDynamicAPInt(end), root->getContext()));
}

std::optional<IndexRange>
IndexRanges::extremum(const IndexRange &a, const IndexRange &b, bool isMax) {
  IndexRange made;
  made.positions = a.positions;
  addPositions(made, b);
  // Of a maximum: not less than either, and not more than the larger one's.
  auto &either = isMax ? made.lows : made.highs;
  auto &both = isMax ? made.highs : made.lows;
  either = isMax ? a.lows : a.highs;
  llvm::append_range(either, isMax ? b.lows : b.highs);
  keepFew(either);
  for (AffineExpr left : isMax ? a.highs : a.lows)
    for (AffineExpr right : isMax ? b.highs : b.lows) {
      if (isMax ? isAtMost(left, right) : isAtMost(right, left))
        both.push_back(right);
      else if (isMax ? isAtMost(right, left) : isAtMost(left, right))
        both.push_back(left);
    }
  if (both.empty())
    addNumber(both, isMax ? a.highs : a.lows, isMax ? b.highs : b.lows, isMax);
  keepFew(both);
  return both.empty() ? std::nullopt : std::optional(made);
}

/// What contains both.
std::optional<IndexRange> IndexRanges::either(const IndexRange &a,
                                              const IndexRange &b) {
  IndexRange made;
  made.positions = a.positions;
  addPositions(made, b);
  for (AffineExpr left : a.lows)
    for (AffineExpr right : b.lows) {
      if (isAtMost(left, right))
        made.lows.push_back(left);
      else if (isAtMost(right, left))
        made.lows.push_back(right);
    }
  for (AffineExpr left : a.highs)
    for (AffineExpr right : b.highs) {
      if (isAtMost(left, right))
        made.highs.push_back(right);
      else if (isAtMost(right, left))
        made.highs.push_back(left);
    }
  if (made.lows.empty())
    addNumber(made.lows, a.lows, b.lows, /*isHigh=*/false);
  if (made.highs.empty())
    addNumber(made.highs, a.highs, b.highs, /*isHigh=*/true);
  keepFew(made.lows);
  keepFew(made.highs);
  if (made.lows.empty() || made.highs.empty())
    return std::nullopt;
  return made;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static SmallVector<PositionBounds, 2> boundsOfLoops(linalg::LinalgOp op) {
  SmallVector<PositionBounds, 2> positions(op.getNumLoops());
  Builder b(op.getContext());
  for (PositionBounds &position : positions) {
    position.lower = {0, Value(), -1};
    position.step = b.getIndexAttr(1);
  }
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto plain = dyn_cast<AffineDimExpr>(expr)) {
        Extent extent = IndexRanges::traceExtent(operand.get(), dim);
        auto &uppers = positions[plain.getPosition()].uppers;
        if (!llvm::is_contained(uppers, extent))
          uppers.push_back(extent);
      }
  }
  return positions;
}

std::optional<SmallVector<PositionBounds, 2>>
IndexRanges::getPositions(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    SmallVector<PositionBounds, 2> positions = boundsOfLoops(structured);
    if (llvm::any_of(positions, [](auto &p) { return p.uppers.empty(); }))
      return std::nullopt;
    return positions;
  }
  SmallVector<PositionBounds, 2> positions;
  Builder b(op->getContext());
  if (auto generate = dyn_cast<tensor::GenerateOp>(op)) {
    for (int64_t d = 0; d < generate.getType().getRank(); ++d)
      positions.push_back({{0, Value(), -1},
                           {traceExtent(generate.getResult(), d)},
                           b.getIndexAttr(1)});
    auto sizes = generate.getDynamicExtents().begin();
    for (auto [d, position] : llvm::enumerate(positions))
      if (generate.getType().isDynamicDim(d))
        position.uppers = {getExtentOf(*sizes++)};
    return positions;
  }
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  if (!loop || isa<scf::WhileOp>(op))
    return std::nullopt;
  if (auto counted = dyn_cast<scf::ForOp>(op))
    if (counted.getUnsignedCmp())
      return std::nullopt;
  auto lowers = loop.getLoopLowerBounds(), uppers = loop.getLoopUpperBounds(),
       steps = loop.getLoopSteps();
  if (!lowers || !uppers || !steps)
    return std::nullopt;
  for (auto [lower, upper, step] : llvm::zip_equal(*lowers, *uppers, *steps))
    positions.push_back({getExtentOf(lower), {getExtentOf(upper)}, step});
  return positions;
}

/// The op whose position `index` is, and its number.
static std::pair<Operation *, unsigned> positionOf(Value index) {
  if (auto linalgIndex = index.getDefiningOp<linalg::IndexOp>())
    return {linalgIndex->getParentOfType<linalg::LinalgOp>(),
            linalgIndex.getDim()};
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument)
    return {};
  Operation *op = argument.getOwner()->getParentOp();
  if (isa<tensor::GenerateOp>(op))
    return {op, argument.getArgNumber()};
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  auto variables = loop ? loop.getLoopInductionVars() : std::nullopt;
  if (!variables)
    return {};
  auto *found = llvm::find(*variables, index);
  if (found == variables->end())
    return {};
  return {op, unsigned(found - variables->begin())};
}

std::optional<IndexRange>
IndexRanges::ofExtent(const Extent &extent, Operation *around, unsigned depth) {
  if (extent.isConstant())
    return makeConstant(extent.constant);
  if (around && isDefinedIn(extent.value, around))
    return std::nullopt;
  if (extent.dim >= 0)
    return makeSingle(getSymbol(extent), true);
  // In front of `around` it is one value; for a proof more may be known.
  if (around || !isWide(extent.value.getType()))
    return makeOpaque(extent.value);
  if (auto range = asNumber(getRange(extent.value, around, depth + 1)))
    return range;
  return makeOpaque(extent.value);
}

std::optional<IndexRange> IndexRanges::ofBounds(const PositionBounds &bounds,
                                                Operation *around,
                                                unsigned depth) {
  std::optional<IndexRange> lower = ofExtent(bounds.lower, around, depth);
  if (!lower)
    return std::nullopt;
  std::optional<int64_t> step = getConstantIntValue(bounds.step);
  IndexRange made;
  made.lows = lower->lows;
  made.isExact = lower->positions.empty();
  for (const Extent &extent : bounds.uppers) {
    std::optional<IndexRange> upper = ofExtent(extent, around, depth);
    if (!upper)
      continue;
    made.isExact &= upper->positions.empty();
    for (AffineExpr high : upper->highs)
      made.highs.push_back(high - 1);
  }
  keepFew(made.highs);
  if (made.highs.empty())
    return std::nullopt;
  if (step == 1)
    return made;
  if (!step || *step < 1 || *step > kLargeFactor || !made.isExact)
    made.isExact = false;
  else
    made.highs.front() =
        made.lows.front() +
        (made.highs.front() - made.lows.front()).floorDiv(*step) * *step;
  return made;
}

std::optional<IndexRange>
IndexRanges::ofPosition(Value index, Operation *around, unsigned depth) {
  auto [op, number] = positionOf(index);
  if (!op)
    return std::nullopt;
  auto positions = getPositions(op);
  if (!positions || number >= positions->size())
    return std::nullopt;
  std::optional<IndexRange> range =
      ofBounds((*positions)[number], around, depth);
  if (range)
    range->positions.emplace_back(op, number);
  return range;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

std::optional<IndexRange> IndexRanges::ofExpr(AffineExpr expr,
                                              ArrayRef<IndexRange> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return makeConstant(constant.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<IndexRange> left = ofExpr(binary.getLHS(), dims);
  std::optional<IndexRange> right = ofExpr(binary.getRHS(), dims);
  if (!left || !right)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return sum(*left, *right);
  auto factor = dyn_cast<AffineConstantExpr>(right->lows.front());
  if (!factor || !right->positions.empty() ||
      std::abs(factor.getValue()) >= kLargeFactor)
    return std::nullopt;
  int64_t by = factor.getValue();
  if (expr.getKind() == AffineExprKind::Mul)
    return scaled(*left, by);
  left = asNumber(left);
  if (!left || by < 1)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mod)
    return remainder(*left, by);
  return quotient(*left, by, expr.getKind() == AffineExprKind::CeilDiv);
}

std::optional<IndexRange> IndexRanges::ofResult(Operation *def, Value index,
                                                Operation *around,
                                                unsigned depth) {
  SmallVector<IndexRange> operands;
  if (isa<tensor::DimOp>(def)) {
    Extent extent = getExtentOf(index);
    if (extent.dim >= 0)
      extent = traceExtent(extent.value, extent.dim);
    return extent.value == index ? std::nullopt
                                 : ofExtent(extent, around, depth);
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp,
           arith::MaxSIOp, arith::MinSIOp, arith::SelectOp, arith::DivSIOp,
           arith::DivUIOp, arith::FloorDivSIOp, arith::RemSIOp, arith::RemUIOp,
           affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(
          def))
    return std::nullopt;
  for (Value operand : def->getOperands()) {
    if (operand.getType().isInteger(1) && isa<arith::SelectOp>(def)) {
      operands.push_back(makeConstant(0));
      continue;
    }
    if (!isWide(operand.getType()))
      return std::nullopt;
    std::optional<IndexRange> range = getRange(operand, around, depth + 1);
    if (!range)
      return std::nullopt;
    operands.push_back(std::move(*range));
  }
  auto constant = [&](unsigned i) -> std::optional<int64_t> {
    std::optional<int64_t> number = getConstantIntValue(def->getOperand(i));
    return number && std::abs(*number) < kLargeFactor ? number : std::nullopt;
  };
  auto numbers = [&] {
    for (IndexRange &operand : operands)
      if (!asNumber(operand))
        return false;
    return true;
  };
  return llvm::TypeSwitch<Operation *, std::optional<IndexRange>>(def)
      .Case([&](arith::AddIOp) { return sum(operands[0], operands[1]); })
      .Case([&](arith::SubIOp) {
        return sum(operands[0], scaled(operands[1], -1));
      })
      .Case([&](arith::IndexCastOp) { return operands[0]; })
      .Case([&](arith::MulIOp) -> std::optional<IndexRange> {
        if (std::optional<int64_t> by = constant(1))
          return scaled(operands[0], *by);
        if (std::optional<int64_t> by = constant(0))
          return scaled(operands[1], *by);
        return std::nullopt;
      })
      .Case<arith::MaxSIOp, arith::MinSIOp>(
          [&](auto op) -> std::optional<IndexRange> {
            if (!numbers())
              return std::nullopt;
            return extremum(operands[0], operands[1],
                            isa<arith::MaxSIOp>(op.getOperation()));
          })
      .Case([&](arith::SelectOp) -> std::optional<IndexRange> {
        if (!numbers())
          return std::nullopt;
        return either(operands[1], operands[2]);
      })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
            arith::RemUIOp>([&](auto op) -> std::optional<IndexRange> {
        std::optional<int64_t> by = constant(1);
        if (!by || *by < 1 || !numbers() ||
            llvm::none_of(
                operands[0].lows,
                [&](AffineExpr low) { return isNonNegative(low); }))
          return std::nullopt;
        if (isa<arith::RemSIOp, arith::RemUIOp>(op.getOperation()))
          return remainder(operands[0], *by);
        return quotient(operands[0], *by, /*up=*/false);
      })
      .Case([&](affine::AffineApplyOp op) {
        AffineMap map = op.getAffineMap();
        AffineExpr expr = map.getResult(0).shiftSymbols(0, 0);
        SmallVector<AffineExpr> dims;
        for (unsigned s = 0; s < map.getNumSymbols(); ++s)
          dims.push_back(
              getAffineDimExpr(map.getNumDims() + s, root->getContext()));
        return ofExpr(expr.replaceSymbols(dims), operands);
      })
      .Case<affine::AffineMinOp, affine::AffineMaxOp>(
          [&](auto op) -> std::optional<IndexRange> {
            AffineMap map = op.getMap();
            std::optional<IndexRange> made;
            SmallVector<AffineExpr> dims;
            for (unsigned s = 0; s < map.getNumSymbols(); ++s)
              dims.push_back(
                  getAffineDimExpr(map.getNumDims() + s, root->getContext()));
            for (AffineExpr expr : map.getResults()) {
              auto next = asNumber(ofExpr(expr.replaceSymbols(dims), operands));
              if (!next)
                return std::nullopt;
              made = made
                         ? extremum(*made, *next,
                                    isa<affine::AffineMaxOp>(op.getOperation()))
                         : next;
              if (!made)
                return std::nullopt;
            }
            return made;
          })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<IndexRange> IndexRanges::compute(Value index, Operation *around,
                                               unsigned depth) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return makeConstant(*constant);
  if (around && !isDefinedIn(index, around))
    return makeOpaque(index);
  if (depth < kMostSteps && isWide(index.getType())) {
    if (auto range = ofPosition(index, around, depth + 1))
      return range;
    if (Operation *def = index.getDefiningOp())
      if (auto range = ofResult(def, index, around, depth + 1))
        return range;
  }
  if (around)
    return std::nullopt;
  return makeOpaque(index);
}

std::optional<IndexRange> IndexRanges::getRange(Value index, Operation *around,
                                                unsigned depth) {
  auto found = known.find({index, around});
  if (found != known.end())
    return found->second;
  std::optional<IndexRange> range = compute(index, around, depth);
  known[{index, around}] = range;
  return range;
}
