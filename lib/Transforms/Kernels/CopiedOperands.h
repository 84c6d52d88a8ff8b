//===- CopiedOperands.h - products that read copies -------------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_KERNELS_COPIEDOPERANDS_H
#define REDFUSE_LIB_TRANSFORMS_KERNELS_COPIEDOPERANDS_H

#include "Canonicalized.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

namespace redfuse {

/// Ends a pass that has made these cascades in `root`, copies and their readers: simplifies
/// them, and products that share an operand share its copy. False if they do not settle.
inline bool shareCopies(mlir::Operation *root,
                        llvm::ArrayRef<mlir::Operation *> made) {
  if (made.empty())
    return true;
  if (!canonicalizeCascades(root->getContext(), made))
    return false;
  mlir::IRRewriter b(root->getContext());
  mlir::DominanceInfo dominance(root);
  mlir::eliminateCommonSubExpressions(b, dominance, root);
  return true;
}

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_KERNELS_COPIEDOPERANDS_H
