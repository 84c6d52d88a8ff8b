//===- AccessChecks.cpp - what must hold before memory is touched ---------===//
#include "AccessChecks.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace redfuse;
using llvm::DynamicAPInt;

using Predicate = arith::CmpIPredicate;

static Value compare(OpBuilder &b, Location loc, Predicate predicate, Value l,
                     Value r) {
  return b.createOrFold<arith::CmpIOp>(loc, predicate, l, r);
}

void AccessChecks::emit(OpBuilder &b, Operation *op, Value condition,
                        const Twine &what) {
  if (!matchPattern(condition, m_One()))
    cf::AssertOp::create(b, op->getLoc(), condition, describeFailure(op, what));
}

/// Where checks of `op` stand: in front of it, and of what says where the results
/// of a parallel loop go, which holds no other ops.
static Operation *placeOf(Operation *op) {
  Operation *parent = op->getParentOp();
  return isa<scf::InParallelOp>(parent) ? parent : op;
}

void AccessChecks::require(Operation *op,
                           function_ref<Value(OpBuilder &)> makeCondition,
                           const Twine &what) {
  OpBuilder b(placeOf(op));
  emit(b, op, makeCondition(b), what);
}

/// Whether `first` has been executed where `op` is.
static bool isBefore(Operation *first, Operation *op) {
  Operation *ancestor = first->getBlock()->findAncestorOpInBlock(*op);
  return ancestor && ancestor != first && first->isBeforeInBlock(ancestor);
}

//===----------------------------------------------------------------------===//
// What the program says itself
//===----------------------------------------------------------------------===//

/// Whether `cast` has the number that it is given.
static bool keepsNumber(Operation *cast) {
  if (!isa<arith::IndexCastOp, arith::ExtSIOp>(cast))
    return false;
  auto bits = [](Type type) {
    return type.isIndex() ? 64u : type.getIntOrFloatBitWidth();
  };
  Type from = cast->getOperand(0).getType(), to = cast->getResult(0).getType();
  return from.isIntOrIndex() && to.isIntOrIndex() && bits(from) <= bits(to);
}

/// The value and all that are the same number.
static SmallVector<Value> aliasesOf(Value number) {
  while (Operation *def = number.getDefiningOp()) {
    if (!keepsNumber(def))
      break;
    number = def->getOperand(0);
  }
  SmallVector<Value> aliases{number};
  for (unsigned i = 0; i < aliases.size(); ++i)
    for (Operation *user : aliases[i].getUsers())
      if (keepsNumber(user))
        aliases.push_back(user->getResult(0));
  return aliases;
}

/// Whether `op` is only reached where `condition` holds: behind an assertion, or
/// in a branch.
static bool holdsAt(Value condition, Operation *op, unsigned depth = 0) {
  for (Operation *user : condition.getUsers()) {
    if (isa<cf::AssertOp>(user) && isBefore(user, op))
      return true;
    auto branch = dyn_cast<scf::IfOp>(user);
    if (branch && branch.getCondition() == condition &&
        branch.getThenRegion().isAncestor(op->getParentRegion()))
      return true;
    if (isa<arith::AndIOp>(user) && depth < 4 &&
        holdsAt(user->getResult(0), op, depth + 1))
      return true;
  }
  return false;
}

static Predicate mirroredPredicate(Predicate predicate) {
  switch (predicate) {
  case Predicate::slt:
    return Predicate::sgt;
  case Predicate::sle:
    return Predicate::sge;
  case Predicate::sgt:
    return Predicate::slt;
  case Predicate::sge:
    return Predicate::sle;
  case Predicate::ult:
    return Predicate::ugt;
  case Predicate::ugt:
    return Predicate::ult;
  default:
    return predicate;
  }
}

bool AccessChecks::isAsserted(Operation *op, Value index, AffineExpr extent,
                              bool isLowKnown, bool isHighKnown) {
  auto anyOf = [&](ArrayRef<AffineExpr> bounds, auto isKnown) {
    return llvm::any_of(
        bounds, [&](AffineExpr e) { return ranges.isNonNegative(isKnown(e)); });
  };
  for (Value alias : aliasesOf(index))
    for (Operation *user : alias.getUsers()) {
      auto cmp = dyn_cast<arith::CmpIOp>(user);
      if (!cmp || cmp.getLhs() == cmp.getRhs())
        continue;
      bool isLeft = cmp.getLhs() == alias;
      Predicate predicate =
          isLeft ? cmp.getPredicate() : mirroredPredicate(cmp.getPredicate());
      std::optional<IndexRange> other =
          ranges.getRange(isLeft ? cmp.getRhs() : cmp.getLhs());
      if (!other || !holdsAt(cmp.getResult(), op))
        continue;
      bool isSize = anyOf(other->lows, [](AffineExpr e) { return e; });
      bool isUnsigned = predicate == Predicate::ult && isSize;
      isLowKnown |= isUnsigned || (predicate == Predicate::sge && isSize) ||
                    (predicate == Predicate::sgt &&
                     anyOf(other->lows, [](AffineExpr e) { return e + 1; }));
      if (predicate == Predicate::slt || isUnsigned)
        isHighKnown |=
            anyOf(other->highs, [&](AffineExpr e) { return extent - e; });
      if (predicate == Predicate::sle)
        isHighKnown |=
            anyOf(other->highs, [&](AffineExpr e) { return extent - 1 - e; });
    }
  return isLowKnown && isHighKnown;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// The ops around `op` whose bodies are executed for each of their positions,
/// `op` with them, from the innermost on.
static SmallVector<Operation *> loopsAround(Operation *op) {
  SmallVector<Operation *> loops;
  for (Operation *parent = op->getParentOp();
       parent && IndexRanges::getPositions(parent);
       parent = parent->getParentOp())
    loops.push_back(parent);
  return loops;
}

/// What `index` is where `extent` is not 1, if it is 0 there: a broadcast.
static Value indexUnlessOne(Value index, const Extent &extent) {
  auto select = index.getDefiningOp<arith::SelectOp>();
  auto isOne = select ? select.getCondition().getDefiningOp<arith::CmpIOp>()
                      : arith::CmpIOp();
  if (!isOne || isOne.getPredicate() != Predicate::eq ||
      !matchPattern(isOne.getRhs(), m_One()) ||
      !matchPattern(select.getTrueValue(), m_Zero()) ||
      getExtentOf(isOne.getLhs()) != extent)
    return {};
  return select.getFalseValue();
}

bool AccessChecks::requireInFront(Operation *op, Value index,
                                  const Extent &extent, const Twine &what,
                                  bool orOne) {
  SmallVector<Operation *> loops = loopsAround(op);
  for (size_t outer = loops.size(); outer-- > 0;) {
    Operation *around = loops[outer];
    std::optional<IndexRange> range = ranges.getRange(index, around);
    if (!range || !range->isExact)
      continue;
    AffineExpr low = range->lows.front(), high = range->highs.front();
    auto length = ranges.getExpr(extent, around);
    // Numbers between two that are inside are inside, unless they wrap around.
    auto width = ranges.getUpperBound(high - low);
    if (!length || !width || *width > DynamicAPInt(INT64_MAX))
      continue;
    SmallVector<std::pair<AffineExpr, AffineExpr>> counts;
    bool areKnown = true;
    for (Operation *loop : ArrayRef(loops).take_front(outer + 1)) {
      auto positions = IndexRanges::getPositions(loop);
      for (const PositionBounds &bounds : *positions) {
        auto from = ranges.getExpr(bounds.lower, around);
        auto to = ranges.getExpr(bounds.uppers.front(), around);
        areKnown &= from && to;
        if (areKnown && !ranges.isNonNegative(*to - *from - 1))
          counts.emplace_back(*from, *to);
      }
    }
    if (!areKnown)
      continue;
    OpBuilder b(around);
    Location loc = op->getLoc();
    Value end = ranges.materialize(b, loc, *length);
    auto isInside = [&](AffineExpr at) {
      return compare(b, loc, Predicate::ult, ranges.materialize(b, loc, at),
                     end);
    };
    Value holds = isInside(low);
    if (high != low)
      holds = b.createOrFold<arith::AndIOp>(loc, holds, isInside(high));
    for (auto [from, to] : counts) {
      Value isEmpty =
          compare(b, loc, Predicate::sge, ranges.materialize(b, loc, from),
                  ranges.materialize(b, loc, to));
      holds = b.createOrFold<arith::OrIOp>(loc, holds, isEmpty);
    }
    if (orOne) {
      Value isOne = compare(b, loc, Predicate::eq, end,
                            arith::ConstantIndexOp::create(b, loc, 1));
      holds = b.createOrFold<arith::OrIOp>(loc, holds, isOne);
    }
    emit(b, op, holds, what);
    if (isa<tensor::ExtractOp>(op) && !counts.empty())
      guardBodies(op, ArrayRef(loops).take_front(outer + 1));
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

using Spans = ArrayRef<std::pair<AffineExpr, AffineExpr>>;

void AccessChecks::guard(Operation *op, Spans spans) {
  auto &noted = guards[op];
  for (auto span : spans)
    if (!llvm::is_contained(noted, span))
      noted.push_back(span);
}

void AccessChecks::guardBodies(Operation *op, ArrayRef<Operation *> loops) {
  SmallVector<std::pair<Operation *, unsigned>> positions;
  auto extract = cast<tensor::ExtractOp>(op);
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    Value otherwise = indexUnlessOne(index, extentOf(extract.getTensor(), dim));
    if (auto range = ranges.getRange(otherwise ? otherwise : index))
      llvm::append_range(positions, range->positions);
  }
  for (Operation *loop : loops) {
    // What leaves other loops is looked at when it does (NormalizeInvariants).
    if (!isa<DestinationStyleOpInterface, tensor::GenerateOp>(loop))
      continue;
    SmallVector<std::pair<AffineExpr, AffineExpr>> spans;
    auto bounds = IndexRanges::getPositions(loop);
    for (auto [number, position] : llvm::enumerate(*bounds)) {
      if (llvm::is_contained(positions, std::make_pair(loop, unsigned(number))))
        continue;
      AffineExpr from = *ranges.getExpr(position.lower),
                 to = *ranges.getExpr(position.uppers.front());
      if (!ranges.isNonNegative(to - from - 1))
        spans.emplace_back(from, to);
    }
    if (!spans.empty())
      guard(loop, spans);
  }
}

/// Puts `op` into a branch. Where it is not taken, results are what they begin as.
static void putIntoBranch(Operation *op, Value condition) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  auto branch = scf::IfOp::create(b, loc, op->getResultTypes(), condition,
                                  /*withElseRegion=*/true);
  op->replaceAllUsesWith(branch);
  op->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, loc, op->getResults());
  b.setInsertionPointToEnd(branch.elseBlock());
  SmallVector<Value> results;
  if (auto generate = dyn_cast<tensor::GenerateOp>(op))
    results.push_back(tensor::EmptyOp::create(b, loc, generate.getType(),
                                              generate.getDynamicExtents()));
  else
    llvm::append_range(results,
                       cast<DestinationStyleOpInterface>(op).getDpsInits());
  scf::YieldOp::create(b, loc, results);
}

void AccessChecks::makeGuards() {
  // All conditions first: they may be about results of ops that go into branches.
  SmallVector<std::pair<Operation *, Value>> branches;
  for (auto &[op, spans] : guards) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value condition;
    for (auto [from, to] : spans) {
      Value is =
          compare(b, loc, Predicate::slt, ranges.materialize(b, loc, from),
                  ranges.materialize(b, loc, to));
      condition =
          condition ? b.createOrFold<arith::AndIOp>(loc, condition, is) : is;
    }
    branches.emplace_back(op, condition);
  }
  for (auto [op, condition] : branches)
    putIntoBranch(op, condition);
}

/// Where scalars that do not depend on positions of bodies around `op` are made.
static Operation *outOfBodies(Operation *op) {
  while (Operation *parent = op->getParentOp()) {
    if (!isa<linalg::LinalgOp, tensor::GenerateOp, tensor::PadOp>(parent))
      break;
    op = parent;
  }
  return op;
}

void AccessChecks::requireInside(Operation *op, Value index, Value tensor,
                                 int64_t dim, const Twine &what) {
  Extent extent = extentOf(tensor, dim);
  AffineExpr length = ranges.getExtent(tensor, dim);
  IndexRange range = *ranges.getRange(index);
  bool isLowKnown = llvm::any_of(
      range.lows, [&](AffineExpr e) { return ranges.isNonNegative(e); });
  bool isHighKnown = llvm::any_of(range.highs, [&](AffineExpr e) {
    return ranges.isNonNegative(length - 1 - e);
  });
  if ((isLowKnown && isHighKnown) ||
      isAsserted(op, index, length, isLowKnown, isHighKnown) ||
      requireInFront(op, index, extent, what))
    return;
  if (Value otherwise = indexUnlessOne(index, extent))
    if (requireInFront(op, otherwise, extent, what, /*orOne=*/true))
      return;
  OpBuilder b(op);
  Operation *outside = outOfBodies(op);
  OpBuilder out(
      extent.value &&
              outside->isAncestor(extent.value.getParentBlock()->getParentOp())
          ? op
          : outside);
  Value end = redfuse::materialize(out, op->getLoc(), extent);
  emit(b, op, compare(b, op->getLoc(), Predicate::ult, index, end), what);
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

bool AccessChecks::isRepeated(Operation *op, ArrayRef<Extent> numbers,
                              int64_t kind) {
  for (const Done &before : done)
    if (before.kind == kind && ArrayRef(before.numbers) == numbers &&
        isBefore(before.op, op))
      return true;
  done.push_back({llvm::to_vector(numbers), kind, op});
  return false;
}

void AccessChecks::requireEqual(Operation *op, const Extent &a, const Extent &b,
                                const Twine &what) {
  if (a == b)
    return;
  AffineExpr left = *ranges.getExpr(a), right = *ranges.getExpr(b);
  if (ranges.isNonNegative(left - right) && ranges.isNonNegative(right - left))
    return;
  if (getExtentProduct(a) == getExtentProduct(b) &&
      getExtentProduct(a).isSize())
    return;
  if (isRepeated(op, {a, b}, 0))
    return;
  require(
      op,
      [&](OpBuilder &builder) {
        Location loc = op->getLoc();
        return compare(builder, loc, Predicate::eq,
                       redfuse::materialize(builder, loc, a),
                       redfuse::materialize(builder, loc, b));
      },
      what);
}

void AccessChecks::requireAtLeast(Operation *op, const Extent &number,
                                  int64_t least, const Twine &what) {
  if (ranges.isNonNegative(*ranges.getExpr(number) - least) ||
      isRepeated(op, number, 1 + least))
    return;
  require(
      op,
      [&](OpBuilder &b) {
        Location loc = op->getLoc();
        return compare(b, loc, Predicate::sge,
                       redfuse::materialize(b, loc, number),
                       arith::ConstantIndexOp::create(b, loc, least));
      },
      what);
}

void AccessChecks::requireAtMost(Operation *op, const Extent &a,
                                 const Extent &b, const Twine &what) {
  if (ranges.isNonNegative(*ranges.getExpr(b) - *ranges.getExpr(a)) ||
      isRepeated(op, {a, b}, -1))
    return;
  require(
      op,
      [&](OpBuilder &builder) {
        Location loc = op->getLoc();
        return compare(builder, loc, Predicate::ule,
                       redfuse::materialize(builder, loc, a),
                       redfuse::materialize(builder, loc, b));
      },
      what);
}

int64_t AccessChecks::bytesOf(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * bytesOf(complex.getElementType());
  return element.isIndex()
             ? 8
             : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// Whether a tensor of these extents has few enough elements for what they are:
/// those of one argument have, together, no more than that has bytes.
bool AccessChecks::isSmall(ArrayRef<Extent> extents, Type element) {
  DynamicAPInt most(bytesOf(element));
  SmallVector<Extent> given;
  for (const Extent &extent : extents) {
    std::optional<DynamicAPInt> bound =
        ranges.getUpperBound(*ranges.getExpr(extent));
    auto argument = extent.dim >= 0 ? dyn_cast<BlockArgument>(extent.value)
                                    : BlockArgument();
    if (argument && !llvm::is_contained(given, extent)) {
      bool isCounted = llvm::any_of(given, [&](const Extent &other) {
        return other.value == extent.value;
      });
      given.push_back(extent);
      if (isCounted && *bound == IndexRanges::kMostOfArgument)
        continue;
    }
    most *= std::max(*bound, DynamicAPInt(1));
  }
  return most <= IndexRanges::kMostElements;
}

void AccessChecks::requireSize(Operation *op, ArrayRef<Extent> extents,
                               Type element) {
  for (const Extent &extent : extents)
    requireAtLeast(op, extent, 0, "negative extent");
  if (!element.isIntOrIndexOrFloat() && !isa<ComplexType>(element))
    return;
  if (isSmall(extents, element) || isRepeated(op, extents, INT64_MIN))
    return;
  require(
      op,
      [&](OpBuilder &b) {
        return fitsInMemory(b, op->getLoc(), extents, bytesOf(element));
      },
      "a tensor of more bytes than memory has addresses");
}

Value AccessChecks::makeProduct(OpBuilder &b, Location loc,
                                ArrayRef<Extent> extents) {
  Value product = arith::ConstantIndexOp::create(b, loc, 1);
  for (const Extent &extent : extents)
    product = b.createOrFold<arith::MulIOp>(
        loc, product, redfuse::materialize(b, loc, extent));
  return product;
}

Value AccessChecks::fitsInMemory(OpBuilder &b, Location loc,
                                 ArrayRef<Extent> extents, int64_t bytes) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(b, loc, number);
  };
  // What is left for the others, each of which has to divide it.
  int64_t most = IndexRanges::kMostElements / bytes;
  SmallVector<Value> factors;
  for (const Extent &extent : extents) {
    if (extent.isConstant())
      most /= std::max<int64_t>(extent.constant, 1);
    else
      factors.push_back(b.createOrFold<arith::MaxSIOp>(
          loc, redfuse::materialize(b, loc, extent), constant(1)));
  }
  Value holds = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  if (factors.empty())
    return most > 0 ? holds
                    : arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  // Rounded down, quotients say the same as products that do not wrap.
  Value left = constant(most);
  for (Value factor : ArrayRef(factors).drop_back())
    left = b.createOrFold<arith::DivUIOp>(loc, left, factor);
  return compare(b, loc, Predicate::ule, factors.back(), left);
}
