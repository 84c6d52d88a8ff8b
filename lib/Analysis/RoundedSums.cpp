//===- RoundedSums.cpp - sums of which few digits count -------------------===//
#include "redfuse/Analysis/RoundedSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace redfuse;

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
          user->getNumRegions() != 0 || isa<ReduceOp>(user) || !isPure(user))
        return false;
      bool isRounded = isa<arith::TruncFOp>(user) && type.getWidth() <= 16;
      if (!isRounded)
        open.insert(user->getResult(0));
    }
  return true;
}
