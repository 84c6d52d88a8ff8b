//===- TileMatrices.cpp - contractions for matrix instructions -------------===//
#include "redfuse/Conversion/TileProgram.h"

#include "redfuse/Algebra/Derivation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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
};
} // namespace

static std::optional<MatrixElement> elementOf(Type type) {
  for (MatrixElement element :
       {MatrixElement::BF16, MatrixElement::F16, MatrixElement::E4M3,
        MatrixElement::E5M2, MatrixElement::E4M3FNUZ, MatrixElement::E5M2FNUZ,
        MatrixElement::F64})
    if (typeOf(element, type.getContext()) == type)
      return element;
  return std::nullopt;
}

static Multiplicand analyseMultiplicand(Value v) {
  Multiplicand factor{v, true, {}};
  Operation *def = v.getDefiningOp();
  if (isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp,
                      arith::UIToFPOp>(def) &&
      def->getOperand(0).getType().isInteger(8)) {
    factor.source = def->getOperand(0);
    factor.isSigned = isa<arith::ExtSIOp, arith::SIToFPOp>(def);
    if (isa<arith::ExtSIOp, arith::ExtUIOp>(def))
      factor.exact = {factor.isSigned ? MatrixElement::S8 : MatrixElement::U8};
    else // 8 bits are what a bf16 has
      factor.exact = {MatrixElement::BF16, MatrixElement::F16};
    return factor;
  }
  if (isa_and_nonnull<arith::ExtFOp>(def))
    factor.source = def->getOperand(0);
  std::optional<MatrixElement> own = elementOf(factor.source.getType());
  if (!own)
    return factor;
  factor.exact = {*own};
  if (elementBits(*own) == 8)
    llvm::append_values(factor.exact, MatrixElement::F16, MatrixElement::BF16);
  return factor;
}

static std::string nameOf(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

std::optional<MatrixForm> TileProgram::matchMatrix(ReduceOp reduce,
                                                   std::string &why) {
  auto refuse = [&](const Twine &reason) {
    why = reason.str();
    return std::nullopt;
  };
  if (options.chip.empty() || reduce.getReducer() != Reducer::Add)
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
  if (capacityOf(left) <= 1 || capacityOf(right) <= 1)
    return std::nullopt; // a vector
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
      return refuse("a factor has the digits of " +
                    nameOf(factor.source.getType()) +
                    ", which no matrix instruction keeps");
  // The right operand of most instructions has fewer columns than the left one
  // has rows; of equals the program's own order.
  Type sum = reduce.getOperand(0).getType();
  std::optional<MatrixForm> best;
  double least = 0;
  for (bool isSwapped : {false, true}) {
    const Multiplicand &a = factors[isSwapped], &c = factors[!isSwapped];
    std::optional<MatrixInstruction> found =
        findMatrixInstruction(options.chip, a.exact, c.exact, sum);
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
    best = MatrixForm{*found, a.source, c.source, a.isSigned, c.isSigned,
                      {},     {},       {},       {}};
    for (unsigned d : into.set_bits())
      (rows.test(d)      ? best->rows
       : columns.test(d) ? best->columns
                         : best->batch)
          .push_back(d);
  }
  if (!best)
    return refuse(options.chip + " has no matrix instruction for sums in " +
                  nameOf(sum) + " of products of " +
                  nameOf(factors[0].source.getType()) + " and " +
                  nameOf(factors[1].source.getType()));
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
  return best;
}
