//===- KernelNests.cpp - which program is emitted -------------------------===//
#include "KernelNests.h"

using namespace mlir;
using namespace redfuse;

bool redfuse::reduces(const LoopNest &nest) {
  return llvm::any_of(nest.roots, [](const Root *root) {
    return root->kind == Root::Kind::Reduce;
  });
}

SmallVector<const LoopNest *> KernelNests::of(IndexProgramOpInterface op,
                                              bool isInvariant) {
  SmallVector<const LoopNest *> result;
  for (const LoopNest &nest : programs[op]->getNests())
    if (nest.isInvariant == isInvariant)
      result.push_back(&nest);
  return result;
}

IndexProgramOpInterface KernelNests::getLastFold() {
  IndexProgramOpInterface last;
  for (auto fold : kernel.getBody().front().getOps<FoldOp>())
    last = cast<IndexProgramOpInterface>(*fold);
  return last;
}

bool KernelNests::isLast(IndexProgramOpInterface op, const LoopNest &nest) {
  return op.getOperation()->getNextNode()->hasTrait<OpTrait::IsTerminator>() &&
         &nest == &programs[op]->getNests().back();
}

unsigned KernelNests::countReductions() {
  unsigned count = 0;
  for (IndexProgramOpInterface op : getPrograms())
    count += llvm::count_if(programs[op]->getNests(), reduces);
  return count;
}
