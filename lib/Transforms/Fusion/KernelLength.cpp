//===- KernelLength.cpp - where a kernel ends -----------------------------===//
#include "KernelLength.h"

#include "redfuse/Analysis/CostConstants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;

KernelLength::KernelLength(const FusionSpace &space, ArrayRef<CascadeOp> ops) {
  for (CascadeOp op : ops)
    for (Operation &inner : op.getBody().front().without_terminator()) {
      reductions += isa<ReduceOp, ScanOp, MergeTopkOp>(inner);
      operations += !isa<arith::ConstantOp, IndexOp>(inner);
    }
  llvm::SmallDenseSet<Value> tensors;
  for (const FusionSpace::Access &access : space.getAccesses())
    if (access.producer < 0)
      tensors.insert(access.tensor);
  inputs = tensors.size();
}

static bool refuse(CascadeOp op, std::string detail, FusionRefusal &why) {
  why = {op, "size", std::move(detail),
         "none: the value in memory between two kernels of this length costs "
         "little beside them"};
  return false;
}

bool redfuse::isShortEnough(KernelLength a, KernelLength b, CascadeOp op,
                            FusionRefusal &why) {
  unsigned reductions = a.reductions + b.reductions;
  unsigned operations = a.operations + b.operations;
  if (reductions <= kMostReductions && operations <= kMostOperations)
    return true;
  return refuse(op,
                llvm::formatv("one kernel would have {0} reductions and {1} "
                              "operations; it ends at {2} and {3}",
                              reductions, operations, kMostReductions,
                              kMostOperations)
                    .str(),
                why);
}

bool redfuse::hasFewInputs(KernelLength fused, KernelLength a, KernelLength b,
                           CascadeOp op, FusionRefusal &why) {
  if (fused.inputs <= std::max({kMostInputs, a.inputs, b.inputs}))
    return true;
  return refuse(
      op,
      llvm::formatv("one kernel would read {0} tensors; it ends at {1}",
                    fused.inputs, kMostInputs)
          .str(),
      why);
}
