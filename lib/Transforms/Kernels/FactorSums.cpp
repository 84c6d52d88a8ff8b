//===- FactorSums.cpp - redfuse-factor-sums -------------------------------===//
//
// What is stored in 8 bits has scales. Where a program multiplies by them before a product,
// factors of the product are floats of 32 bits; behind it, they are the numbers of 8 bits that
// memory has, of which matrix units multiply most at a time. A sum of multiples is the multiple
// of the sum.
//
// The maps that multiply by them are taken in before: what follows a quantisation belongs to
// the product, not to the kernel that quantises.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/RoundedSums.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
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
static constexpr int64_t kLeastSide = 2;

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

/// Whether what a cascade makes is rounded to 16 bits by whoever reads it, and nothing else: it
/// will be so where it is made.
static bool isRoundedNext(CascadeOp op) {
  return llvm::all_of(op->getUses(), [](OpOperand &use) {
    auto reader = dyn_cast<CascadeOp>(use.getOwner());
    if (!reader || use.getOperandNumber() >= reader.getInputs().size())
      return false;
    BlockArgument read =
        reader.getBody().front().getArgument(use.getOperandNumber());
    return llvm::all_of(read.getUsers(), [](Operation *user) {
      return isa<arith::TruncFOp>(user) &&
             user->getResult(0).getType().getIntOrFloatBitWidth() == 16;
    });
  });
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
         (areIntegers ||
          (areFloats && (isRoundedBehind(reduce) || isRoundedNext(op))));
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
  // One after the other: the product of two large scales may be infinite, and the sum zero.
  b.setInsertionPointAfter(reduce);
  Value sum = reduce.getResult(0);
  auto first = arith::MulFOp::create(b, loc, sum, outer.front());
  Value scaled = multiply(first, ArrayRef(outer).drop_front());
  b.replaceAllUsesExcept(sum, scaled, first);
}

//===----------------------------------------------------------------------===//
// Maps in front
//===----------------------------------------------------------------------===//

/// Maps that are taken in, one behind the other.
static constexpr int kMostMaps = 8;

/// The cascade that makes an input, if all it does is to widen numbers, to round them to 16
/// bits and to multiply them.
static CascadeOp findScaling(Value input) {
  auto op = input.getDefiningOp<CascadeOp>();
  if (!op || op->getNumResults() != 1 || op.getScheduleAttr())
    return {};
  AffineMap result = op.getIndexingMapsArray().back();
  bool isScaling = llvm::all_of(
      op.getBody().front().without_terminator(), [](Operation &inner) {
        return isa<arith::MulFOp, arith::ExtFOp, arith::SIToFPOp,
                   arith::UIToFPOp>(inner) ||
               (isa<arith::TruncFOp>(inner) &&
                inner.getResult(0).getType().getIntOrFloatBitWidth() == 16);
      });
  return isScaling && result.isPermutation() ? op : CascadeOp();
}

/// A copy of the cascade in which the map that makes one of its inputs is taken in; null if
/// none can be.
static CascadeOp takeIn(RewriterBase &b, CascadeOp op) {
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    CascadeOp map = findScaling(input);
    if (!map)
      continue;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray(),
                           own = map.getIndexingMapsArray();
    // Where each dim of the map stands in this cascade.
    SmallVector<AffineExpr> at(own.back().getNumDims());
    for (auto [expr, read] :
         llvm::zip_equal(own.back().getResults(), maps[i].getResults()))
      at[cast<AffineDimExpr>(expr).getPosition()] = read;
    SmallVector<Value> inputs(op.getInputs());
    SmallVector<AffineMap> read;
    for (AffineMap of : ArrayRef(own).drop_back())
      read.push_back(of.replaceDimsAndSymbols(at, {}, maps[i].getNumDims(), 0));
    unsigned first = unsigned(i), count = unsigned(read.size());
    inputs.erase(inputs.begin() + first);
    inputs.insert(inputs.begin() + first, map.getInputs().begin(),
                  map.getInputs().end());
    maps.erase(maps.begin() + first);
    maps.insert(maps.begin() + first, read.begin(), read.end());

    b.setInsertionPoint(op);
    auto made = cast<CascadeOp>(b.clone(*op.getOperation()));
    made.getInputsMutable().assign(inputs);
    made.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
    Block &body = made.getBody().front(), &of = map.getBody().front();
    b.setInsertionPointToStart(&body);
    IRMapping mapping;
    for (unsigned k = 0; k < count; ++k) {
      BlockArgument argument = of.getArgument(k);
      mapping.map(argument, body.insertArgument(first + k, argument.getType(),
                                                op.getLoc()));
    }
    for (Operation &inner : of.without_terminator())
      b.clone(inner, mapping);
    BlockArgument old = body.getArgument(first + count);
    old.replaceAllUsesWith(
        mapping.lookupOrDefault(of.getTerminator()->getOperand(0)));
    body.eraseArgument(first + count);
    return made;
  }
  return {};
}

/// Rewrites what sums of a cascade it can; whether there are any.
static bool factor(RewriterBase &b, CascadeOp op) {
  FailureOr<DimSets> sets =
      DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
  if (failed(sets))
    return false;
  Block &body = op.getBody().front();
  bool isFactored = false;
  for (auto reduce : llvm::make_early_inc_range(body.getOps<ReduceOp>())) {
    ScaledSum sum(op, reduce, *sets);
    if (!sum.find())
      continue;
    sum.rewrite(b);
    isFactored = true;
  }
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&inner))
      b.eraseOp(&inner);
  return isFactored;
}

/// The same with maps in front taken in, or as it is if that is of no use.
static void factorWithMaps(RewriterBase &b, CascadeOp op) {
  CascadeOp last = op;
  for (int i = 0; i < kMostMaps; ++i) {
    CascadeOp made = takeIn(b, last);
    if (!made)
      break;
    if (last != op)
      b.eraseOp(last);
    last = made;
  }
  if (last != op) {
    // What follows a cascade says what may be done in it.
    b.replaceAllUsesWith(op->getResults(), last->getResults());
    if (factor(b, last)) {
      b.eraseOp(op);
      return;
    }
    b.replaceAllUsesWith(last->getResults(), op->getResults());
    b.eraseOp(last);
  }
  factor(b, op);
}

namespace {
struct FactorSums : public redfuse::impl::FactorSumsBase<FactorSums> {
  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip || !chip->has(Wgmma))
      return;
    IRRewriter b(&getContext());
    SmallVector<CascadeOp> products;
    getOperation()->walk([&](CascadeOp op) {
      if (!op.getBody().front().getOps<ReduceOp>().empty())
        products.push_back(op);
    });
    for (CascadeOp op : products)
      factorWithMaps(b, op);
  }
};
} // namespace
