//===- Differences.cpp - powers of differences and their pivots -----------===//
#include "Deriver.h"

using namespace mlir;
using namespace redfuse;

bool Deriver::addDifferences(ReduceOp reduce, const Term &term, Component &c,
                             StageTerm &out, SmallBitVector &dims) {
  return refuse(reduce, "difference",
                "a sum of differences from a reduced value", "");
}
