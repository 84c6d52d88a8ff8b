//===- MatrixProduct.cpp - sums of products with rows and columns ---------===//
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/TileProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace redfuse;

/// Sums of so few products (of coordinates of points) are no work for matrix units, which would
/// round what threads add exactly as f32: a fifth of the units' sum, or less. Estimated.
static constexpr double kFewSums = 4;

/// Whether a value is a number of 8 bits of a tensor, as a float.
static bool isOfBytes(Value v) {
  Operation *def = v.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp>(def))
    return false;
  Value narrow = def->getOperand(0);
  return isa<BlockArgument>(narrow) && narrow.getType().isIntOrFloat() &&
         narrow.getType().getIntOrFloatBitWidth() == 8;
}

Value redfuse::findBlockScale(ReduceOp reduce) {
  auto mul = reduce.getOperand(0).getDefiningOp<arith::MulFOp>();
  if (!mul || reduce.getReducer() != Reducer::Add)
    return {};
  const Chip *chip = getChipOf(reduce);
  if (!chip || !chip->has(Wgmma))
    return {};
  for (unsigned i : {0, 1})
    if (auto product = mul->getOperand(i).getDefiningOp<arith::MulFOp>();
        product && llvm::all_of(product->getOperands(), isOfBytes))
      return mul->getOperand(1 - i);
  return {};
}

Operation *redfuse::findProduct(ReduceOp reduce) {
  Operation *mul = reduce.getOperand(0).getDefiningOp();
  if (reduce.getReducer() != Reducer::Add ||
      !isa_and_nonnull<arith::MulFOp, arith::MulIOp>(mul))
    return nullptr;
  if (Value scale = findBlockScale(reduce))
    return mul->getOperand(mul->getOperand(0) == scale ? 1 : 0).getDefiningOp();
  return mul;
}

bool redfuse::isMatrixProduct(ReduceOp reduce, const DimSets &sets,
                              function_ref<double(unsigned)> extentOf,
                              double longestOfVector) {
  Operation *mul = findProduct(reduce);
  if (!mul)
    return false;
  double sums = 1;
  for (int64_t d : reduce.getOver())
    sums *= extentOf(d);
  if (sums <= kFewSums)
    return false;
  SmallBitVector a = sets[mul->getOperand(0)];
  SmallBitVector c = sets[mul->getOperand(1)];
  bool wide = false, tall = false;
  for (int64_t d : reduce.getInto()) {
    wide |= a.test(d) && !c.test(d) && extentOf(d) > longestOfVector;
    tall |= c.test(d) && !a.test(d) && extentOf(d) > longestOfVector;
  }
  return wide && tall;
}

bool redfuse::hasMatrixProduct(IndexProgramOpInterface op) {
  FailureOr<DimSets> sets = DimSets::compute(op);
  if (failed(sets))
    return false;
  SmallVector<int64_t> extents = getStaticExtents(op);
  for (auto reduce : op.getProgramBody()->getOps<ReduceOp>())
    if (isMatrixProduct(reduce, *sets, [&](unsigned d) {
          return getAssumedExtent(extents[d]);
        }))
      return true;
  return false;
}

bool redfuse::isOfPackedNumbers(Value factor) {
  SetVector<Value> open;
  open.insert(factor);
  bool hasCodes = false;
  for (size_t i = 0; i < open.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(open[i])) {
      Type type = argument.getType();
      if (type.isInteger(32)) {
        hasCodes = true;
        continue;
      }
      if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() > 16)
        return false;
      hasCodes |= type.getIntOrFloatBitWidth() == 8;
      continue;
    }
    Operation *def = open[i].getDefiningOp();
    if (!isPure(def) || def->getNumRegions() != 0)
      return false;
    if (def->getBlock() == factor.getDefiningOp()->getBlock())
      open.insert_range(def->getOperands());
  }
  return hasCodes;
}
