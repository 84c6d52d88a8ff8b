//===- TileMatrices.cpp - contractions for matrix instructions ------------===//
#include "redfuse/Analysis/TileProgram.h"

#include "redfuse/Algebra/Derivation.h"
#include "redfuse/Analysis/ScheduleChoice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace redfuse;

using Elements = SmallVector<MatrixElement, 4>;

namespace {
/// A factor of a product: what it is made of, and what an instruction may take for
/// it without losing digits, best first.
struct Multiplicand {
  Value source;
  bool isSigned = true;
  Elements exact;
  /// An f32 that the program rounds to TF32.
  bool isRounded = false;
};
} // namespace

static std::optional<MatrixElement> elementOf(Type type) {
  for (MatrixElement element :
       {MatrixElement::BF16, MatrixElement::F16, MatrixElement::E4M3,
        MatrixElement::E5M2, MatrixElement::E4M3FNUZ, MatrixElement::E5M2FNUZ,
        MatrixElement::F32, MatrixElement::F64})
    if (typeOf(element, type.getContext()) == type)
      return element;
  return std::nullopt;
}

namespace {
/// What is known of a float.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool isInteger = false;
};
} // namespace

static Bounds rangeOf(Value v, unsigned depth = 0);

/// `bounds` of `v` where a comparison is true, or false: then it is at most, or at
/// least, what `v` is compared with, or NaN.
static Bounds refine(Bounds bounds, Value v, arith::CmpFOp cmp, bool isTrue) {
  if (!cmp || (cmp.getLhs() != v && cmp.getRhs() != v))
    return bounds;
  using Predicate = arith::CmpFPredicate;
  bool isLess;
  switch (cmp.getPredicate()) {
  case Predicate::OLT:
  case Predicate::OLE:
  case Predicate::ULT:
  case Predicate::ULE:
    isLess = true;
    break;
  case Predicate::OGT:
  case Predicate::OGE:
  case Predicate::UGT:
  case Predicate::UGE:
    isLess = false;
    break;
  default:
    return bounds;
  }
  bool isLeft = cmp.getLhs() == v;
  Bounds bound = rangeOf(isLeft ? cmp.getRhs() : cmp.getLhs(), 8);
  if ((isLess == isLeft) == isTrue)
    bounds.high = std::min(bounds.high, bound.high);
  else
    bounds.low = std::max(bounds.low, bound.low);
  return bounds;
}

static Bounds rangeOf(Value v, unsigned depth) {
  Bounds none;
  FloatAttr constant;
  if (matchPattern(v, m_Constant(&constant))) {
    double x = constant.getValueAsDouble();
    return {x, x, x == std::floor(x)};
  }
  Operation *def = v.getDefiningOp();
  if (!def || depth > 8)
    return none;
  auto of = [&](unsigned i) { return rangeOf(def->getOperand(i), depth + 1); };
  if (isa<math::RoundEvenOp, math::FloorOp, math::CeilOp, math::TruncOp,
          math::RoundOp>(def)) {
    Bounds x = of(0);
    return {std::floor(x.low), std::ceil(x.high), true};
  }
  if (isa<arith::ExtFOp>(def))
    return of(0);
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(def)) {
    Bounds x = of(0), y = of(1);
    return {std::max(x.low, y.low), std::max(x.high, y.high),
            x.isInteger && y.isInteger};
  }
  if (isa<arith::MinimumFOp, arith::MinNumFOp>(def)) {
    Bounds x = of(0), y = of(1);
    return {std::min(x.low, y.low), std::min(x.high, y.high),
            x.isInteger && y.isInteger};
  }
  if (auto select = dyn_cast<arith::SelectOp>(def)) {
    auto cmp = select.getCondition().getDefiningOp<arith::CmpFOp>();
    Value onTrue = select.getTrueValue(), onFalse = select.getFalseValue();
    Bounds x = refine(rangeOf(onTrue, depth + 1), onTrue, cmp, true),
           y = refine(rangeOf(onFalse, depth + 1), onFalse, cmp, false);
    return {std::min(x.low, y.low), std::max(x.high, y.high),
            x.isInteger && y.isInteger};
  }
  return none;
}

static Multiplicand analyseMultiplicand(Value v) {
  using Element = MatrixElement;
  Multiplicand result{v, true, {}};
  Operation *def = v.getDefiningOp();
  if (isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp,
                      arith::UIToFPOp>(def) &&
      def->getOperand(0).getType().isInteger(8)) {
    result.source = def->getOperand(0);
    result.isSigned = isa<arith::ExtSIOp, arith::SIToFPOp>(def);
    if (isa<arith::ExtSIOp, arith::ExtUIOp>(def))
      result.exact = {result.isSigned ? Element::S8 : Element::U8};
    else // a bf16 has 8 bits
      result.exact = {Element::BF16, Element::F16, Element::F32};
    return result;
  }
  if (isa_and_nonnull<arith::ExtFOp>(def))
    result.source = def->getOperand(0);
  if (isa<FloatTF32Type>(result.source.getType()) && v.getType().isF32()) {
    result.source = v;
    result.exact = {Element::F32};
    result.isRounded = true;
    return result;
  }
  std::optional<Element> own = elementOf(result.source.getType());
  if (!own)
    return result;
  Bounds bounds = rangeOf(result.source);
  if (*own == Element::F32 && bounds.isInteger && bounds.low >= -256 &&
      bounds.high <= 256)
    result.exact = {Element::BF16, Element::F16};
  else
    result.exact = {*own};
  if (elementBits(*own) == 8)
    llvm::append_values(result.exact, Element::F16, Element::BF16);
  if (*own != Element::F64 && result.exact.back() != Element::F32)
    result.exact.push_back(Element::F32);
  return result;
}

static std::string spellingOf(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// The dim along which neighbouring elements of the first result that has all of the
/// sum's dims are adjacent, as far as its index says.
unsigned TileProgram::findResultDim(ReduceOp reduce) {
  SmallBitVector into = toDimSet(reduce.getInto(), dimSets.getNumDims());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (AffineMap map : ArrayRef(maps).take_back(op.getProgramInits().size())) {
    if (getDimsOf(map) != into)
      continue;
    if (auto last = dyn_cast<AffineDimExpr>(map.getResults().back()))
      return last.getPosition();
  }
  return reduce.getInto().back();
}

BlockArgument TileProgram::findMainArgument(Value v) const {
  BlockArgument main;
  SmallVector<Value> open{v};
  llvm::SmallDenseSet<Value> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (next.getParentBlock() != body || !seen.insert(next).second)
      continue;
    auto arg = dyn_cast<BlockArgument>(next);
    if (arg && (!main || dimSets[main].count() < dimSets[arg].count()))
      main = arg;
    if (Operation *def = next.getDefiningOp(); def && !isRootOp(def))
      llvm::append_range(open, def->getOperands());
  }
  return main;
}

/// Of whatever is multiplied, by no instruction: `left` and `right` are what one factor
/// alone has. Columns are what the result's last dim belongs to.
MatrixForm TileProgram::makePlainForm(ReduceOp reduce, Value lhs, Value rhs,
                                      const SmallBitVector &left,
                                      const SmallBitVector &right) {
  unsigned last = findResultDim(reduce);
  bool isSwapped = left.test(last);
  MatrixForm form{};
  form.left = isSwapped ? rhs : lhs;
  form.right = isSwapped ? lhs : rhs;
  const SmallBitVector &rows = isSwapped ? right : left;
  const SmallBitVector &columns = isSwapped ? left : right;
  for (int64_t d : reduce.getInto())
    (rows.test(d)      ? form.rows
     : columns.test(d) ? form.columns
                       : form.batch)
        .push_back(d);
  for (int64_t d : reduce.getOver())
    form.sums.push_back(d);
  auto moveLast = [](SmallVector<unsigned> &of, unsigned d) {
    llvm::stable_sort(
        of, [&](unsigned x, unsigned y) { return (x == d) < (y == d); });
  };
  for (auto [of, v] : {std::pair(&form.sums, form.left),
                       {&form.sums, form.right},
                       {&form.rows, form.left},
                       {&form.columns, form.right}})
    if (BlockArgument arg = findMainArgument(v))
      if (auto d = sources[arg.getArgNumber()].contiguous)
        moveLast(*of, *d);
  moveLast(form.columns, last);
  return form;
}

std::optional<MatrixForm> TileProgram::matchMatrix(ReduceOp reduce,
                                                   std::string &why) {
  auto refuse = [&](const Twine &reason) {
    why = reason.str();
    return std::nullopt;
  };
  if ((!options.chip && !options.isStaged) ||
      reduce.getReducer() != Reducer::Add)
    return std::nullopt;
  Operation *product = reduce.getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product) ||
      product->getBlock() != body)
    return std::nullopt;
  Value lhs = product->getOperand(0), rhs = product->getOperand(1);
  if (lhs.getParentBlock() != body || rhs.getParentBlock() != body)
    return std::nullopt;
  SmallBitVector over = toDimSet(reduce.getOver(), dimSets.getNumDims());
  SmallBitVector into = toDimSet(reduce.getInto(), dimSets.getNumDims());
  SmallBitVector both = dimSets[lhs];
  both &= dimSets[rhs];
  if (!isSubset(over, both) || over.none())
    return std::nullopt; // a factor could leave the sum

  // Rows and columns: what one factor alone has.
  SmallBitVector left = dimSets[lhs], right = dimSets[rhs];
  left &= into;
  left.reset(both);
  right &= into;
  right.reset(both);
  // A vector by packed weights is a row of matrices: unpacking takes longer than reading.
  bool arePacked = options.chip && options.isStaged &&
                   ((isOfPackedNumbers(lhs) && capacityOf(left) > 1) ||
                    (isOfPackedNumbers(rhs) && capacityOf(right) > 1));
  if (!arePacked && (capacityOf(left) <= 1 || capacityOf(right) <= 1))
    return std::nullopt; // a vector
  if (!options.chip)
    return makePlainForm(reduce, lhs, rhs, left, right);
  Multiplicand factors[] = {analyseMultiplicand(lhs), analyseMultiplicand(rhs)};
  // The program rounds one of them, where the derivation has not yet done so.
  if (auto narrowed = reduce->getAttrOfType<TypeAttr>(kNarrowedAttr))
    if (std::optional<MatrixElement> element = elementOf(narrowed.getValue()))
      for (auto [factor, other] : {std::pair(&factors[0], &factors[1]),
                                   std::pair(&factors[1], &factors[0])})
        if (factor->exact.empty() && llvm::is_contained(other->exact, *element))
          factor->exact = {*element};
  for (const Multiplicand &factor : factors)
    if (factor.exact.empty())
      return refuse("no matrix instruction takes factors of " +
                    spellingOf(factor.source.getType()));
  // The right operand of most instructions has fewer columns than the left one
  // has rows; of equals the program's own order.
  Type sum = reduce.getOperand(0).getType();
  std::optional<MatrixForm> best;
  double least = 0;
  bool isFirst = options.isStaged && left.test(findResultDim(reduce));
  // Packed numbers are rows beside few others: of those the instruction has 16, and fewer
  // columns. So lanes unpack them, if bytes are neighbours along the sum.
  auto areAlongSum = [&](Value packed) {
    BlockArgument codes = findMainArgument(packed);
    if (!codes)
      return false;
    std::optional<unsigned> contiguous =
        sources[codes.getArgNumber()].contiguous;
    return codes.getType().isInteger(32) ||
           (contiguous && over.test(*contiguous));
  };
  for (auto [packed, other, others, isSwapped] :
       {std::tuple(lhs, rhs, &right, false), {rhs, lhs, &left, true}})
    if (options.isStaged && isOfPackedNumbers(packed) &&
        !isOfPackedNumbers(other) && areAlongSum(packed) &&
        capacityOf(*others) <= kFewOthers)
      isFirst = isSwapped;
  for (bool isSwapped : {isFirst, !isFirst}) {
    if (best && options.isStaged)
      break;
    const Multiplicand &a = factors[isSwapped], &c = factors[!isSwapped];
    std::optional<MatrixInstruction> found =
        findMatrixInstruction(*options.chip, a.exact, c.exact, sum);
    if (!found && options.isStaged &&
        llvm::is_contained(a.exact, MatrixElement::F32) &&
        llvm::is_contained(c.exact, MatrixElement::F32))
      found = findSplitInstruction(*options.chip, sum);
    if (!found)
      continue;
    const SmallBitVector &rows = isSwapped ? right : left;
    const SmallBitVector &columns = isSwapped ? left : right;
    double padded = std::ceil(capacityOf(rows) / found->rows) * found->rows *
                    std::ceil(capacityOf(columns) / found->columns) *
                    found->columns;
    if (best && padded >= least)
      continue;
    least = padded;
    best = MatrixForm{*found,     a.source,    c.source,    a.isSigned,
                      c.isSigned, a.isRounded, c.isRounded, {},
                      {},         {},          {}};
    for (unsigned d : into.set_bits())
      (rows.test(d)      ? best->rows
       : columns.test(d) ? best->columns
                         : best->batch)
          .push_back(d);
  }
  if (!best)
    return refuse(options.chip->name +
                  " has no matrix instruction for sums in " + spellingOf(sum) +
                  " of products of " + spellingOf(factors[0].source.getType()) +
                  " and " + spellingOf(factors[1].source.getType()));
  // What is adjacent in memory runs fastest.
  auto order = [&](SmallVector<unsigned> &dimsOf, Value v) {
    auto arg = dyn_cast<BlockArgument>(v);
    if (!arg || !sources[arg.getArgNumber()].contiguous)
      return;
    unsigned last = *sources[arg.getArgNumber()].contiguous;
    llvm::stable_sort(dimsOf, [&](unsigned x, unsigned y) {
      return (x == last) < (y == last);
    });
  };
  for (int64_t d : reduce.getOver())
    best->sums.push_back(d);
  order(best->sums, best->left);
  order(best->sums, best->right);
  order(best->rows, best->left);
  order(best->columns, best->right);
  if (options.isStaged) {
    unsigned last = findResultDim(reduce);
    for (SmallVector<unsigned> *side : {&best->rows, &best->columns})
      llvm::stable_sort(*side, [&](unsigned x, unsigned y) {
        return (x == last) < (y == last);
      });
  }
  return best;
}
