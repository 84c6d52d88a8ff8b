//===- RoundedSums.cpp - sums of which few digits count -------------------===//
#include "redfuse/Analysis/RoundedSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;
using namespace redfuse;

/// Whether an error of `of` is, in what `op` makes of it, no larger beside the factors and
/// terms than before: not that of an exponential, or of a quotient by `of`.
static bool keepsErrors(Operation *op, Value of) {
  if (auto quotient = dyn_cast<arith::DivFOp>(op))
    return quotient.getRhs() != of;
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp,
             math::AbsFOp, math::ErfOp, math::FmaOp, math::TanhOp>(op);
}

bool redfuse::isRoundedBehind(ReduceOp sum) {
  SetVector<Value> open;
  open.insert(sum.getResult(0));
  for (size_t i = 0; i < open.size(); ++i)
    for (Operation *user : open[i].getUsers()) {
      auto type = user->getNumResults() == 1
                      ? dyn_cast<FloatType>(user->getResult(0).getType())
                      : FloatType();
      // What is not a float is made of a comparison, or counts.
      if (!type || user->getBlock() != sum->getBlock() ||
          !keepsErrors(user, open[i]))
        return false;
      bool isRounded = isa<arith::TruncFOp>(user) && type.getWidth() <= 16;
      if (!isRounded)
        open.insert(user->getResult(0));
    }
  return true;
}

bool redfuse::fitsI32(ReduceOp sum, ValueRange factors, double products) {
  if (sum.getOperand(0).getType().isInteger(32))
    return true;
  double most = products;
  for (Value factor : factors)
    most *= factor.getDefiningOp<arith::SIToFPOp>() ? 128 : 255;
  return most <= double(std::numeric_limits<int32_t>::max());
}
