//===- FactorSums.cpp - redfuse-factor-sums -------------------------------===//
//
// What is stored in 8 bits has scales. Where a program multiplies by them before a product,
// factors of the product are floats of 32 bits; behind it, they are the numbers of 8 bits that
// memory has, of which matrix units multiply most at a time. A sum of multiples is the multiple
// of the sum.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/RoundedSums.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

namespace redfuse {
#define GEN_PASS_DEF_FACTORSUMS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Elements of a sum for which a unit of warpgroups has one scale: a tile of its own.
static constexpr int64_t kSumsOfScale = 128;
/// Rows and columns from which on units multiply.
static constexpr int64_t kLeastSide = 8;

namespace {
/// A sum of products of two numbers of 8 bits and of what they are multiplied by.
class ScaledSum {
public:
  ScaledSum(CascadeOp op, ReduceOp reduce, const DimSets &sets)
      : op(op), reduce(reduce), sets(sets), extents(getStaticExtents(op)),
        summed(toDimSet(reduce.getOver(), unsigned(extents.size()))) {}

  /// Whether units multiply the numbers once the other factors are out of the way.
  bool find();
  void rewrite(RewriterBase &b);

private:
  bool collect(Value v);
  bool areSides();
  bool findBlocks();

  CascadeOp op;
  ReduceOp reduce;
  const DimSets &sets;
  SmallVector<int64_t> extents;
  SmallBitVector summed;
  /// The numbers of 8 bits as floats, and other factors: those that no dim of the sum
  /// changes, and those that change from block to block of it.
  SmallVector<Value> codes, outer, ofBlocks;
};
} // namespace

/// The number of 8 bits that a float is; null if it is none.
static Value findCode(Value v) {
  Operation *def = v.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp>(def))
    return {};
  Type type = def->getOperand(0).getType();
  return isa<Float8E4M3FNType, Float8E5M2Type>(type) || type.isInteger(8)
             ? def->getOperand(0)
             : Value();
}

/// The factors of a product, without roundings between them that decide nothing.
bool ScaledSum::collect(Value v) {
  if (auto mul = v.getDefiningOp<arith::MulFOp>())
    return collect(mul.getLhs()) && collect(mul.getRhs());
  if (Value wide = matchFreeRounding(v.getDefiningOp());
      wide && v.getType().isF32())
    return collect(wide);
  if (findCode(v))
    codes.push_back(v);
  else
    (sets[v].anyCommon(summed) ? ofBlocks : outer).push_back(v);
  return v.getType().isF32();
}

/// Whether both numbers have dims that the other one lacks, and all that are summed.
bool ScaledSum::areSides() {
  auto points = [&](Value of, Value without) {
    int64_t count = 1;
    for (int64_t d : reduce.getInto())
      if (sets[of].test(unsigned(d)) && !sets[without].test(unsigned(d)))
        count *= ShapedType::isDynamic(extents[d]) ? kLeastSide : extents[d];
    return count;
  };
  return points(codes[0], codes[1]) >= kLeastSide &&
         points(codes[1], codes[0]) >= kLeastSide &&
         llvm::all_of(codes, [&](Value code) {
           return llvm::all_of(summed.set_bits(),
                               [&](unsigned d) { return sets[code].test(d); });
         });
}

/// Whether a tile of the sum has one factor of each kind: both numbers lie along one dim of it,
/// which changes none of these, and tiles are whole.
bool ScaledSum::findBlocks() {
  std::optional<unsigned> along;
  for (Value code : codes) {
    auto argument = dyn_cast<BlockArgument>(findCode(code));
    if (!argument || argument.getArgNumber() >= op.getInputs().size())
      return false;
    AffineMap map = op.getIndexingMapsArray()[argument.getArgNumber()];
    if (map.getNumResults() == 0 || !map.isProjectedPermutation())
      return false;
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (!last || (along && *along != last.getPosition()))
      return false;
    along = last.getPosition();
  }
  return summed.test(*along) && llvm::none_of(extents, ShapedType::isDynamic) &&
         extents[*along] % kSumsOfScale == 0 &&
         llvm::none_of(ofBlocks, [&](Value v) { return sets[v].test(*along); });
}

bool ScaledSum::find() {
  if (reduce.getReducer() != Reducer::Add || reduce->getNumOperands() != 1 ||
      !reduce.getOperand(0).getType().isF32() ||
      !collect(reduce.getOperand(0)) || codes.size() != 2 ||
      outer.size() + ofBlocks.size() == 0 || !areSides())
    return false;
  if (ofBlocks.empty())
    return true;
  bool areIntegers = llvm::all_of(
      codes, [](Value code) { return findCode(code).getType().isInteger(8); });
  bool areFloats = llvm::none_of(
      codes, [](Value code) { return findCode(code).getType().isInteger(8); });
  return findBlocks() &&
         (areIntegers || (areFloats && isRoundedBehind(reduce)));
}

void ScaledSum::rewrite(RewriterBase &b) {
  Location loc = reduce.getLoc();
  auto multiply = [&](Value v, ArrayRef<Value> factors) {
    for (Value factor : factors)
      v = v ? arith::MulFOp::create(b, loc, v, factor).getResult() : factor;
    return v;
  };
  b.setInsertionPoint(reduce);
  Value product = multiply(codes[0], codes[1]);
  if (!ofBlocks.empty())
    product = multiply(product, multiply(Value(), ofBlocks));
  b.modifyOpInPlace(reduce, [&] { reduce->setOperand(0, product); });
  if (outer.empty())
    return;
  b.setInsertionPointAfter(reduce);
  Value factor = multiply(Value(), outer), sum = reduce.getResult(0);
  auto scaled = arith::MulFOp::create(b, loc, sum, factor);
  b.replaceAllUsesExcept(sum, scaled, scaled);
}

namespace {
struct FactorSums : public redfuse::impl::FactorSumsBase<FactorSums> {
  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip || !chip->has(Wgmma))
      return;
    IRRewriter b(&getContext());
    getOperation()->walk([&](CascadeOp op) {
      FailureOr<DimSets> sets =
          DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
      if (failed(sets))
        return;
      Block &body = op.getBody().front();
      for (auto reduce : llvm::make_early_inc_range(body.getOps<ReduceOp>())) {
        ScaledSum sum(op, reduce, *sets);
        if (sum.find())
          sum.rewrite(b);
      }
      for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(body)))
        if (isOpTriviallyDead(&inner))
          b.eraseOp(&inner);
    });
  }
};
} // namespace
