//===- CommonPivot.h - merges of many states at once ------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_COMMON_COMMONPIVOT_H
#define REDFUSE_CODEGEN_GPU_COMMON_COMMONPIVOT_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

namespace redfuse {

/// A merge in two parts. Some components of a state (pivots, and what says how heavy
/// they are) are merged from those of both sides alone. Of each other component both
/// states have a contribution that depends on its own state and on the merged ones of
/// the first kind, and one op combines the two. So many states are merged at once:
/// all agree on the pivot, each moves to it, once, and what is left are plain
/// sums.
struct CommonPivot {
  /// Numbers of the components that are agreed on.
  llvm::SmallVector<unsigned> agreed;
  /// Another one: what combines two contributions, and that of the right state.
  struct Moved {
    unsigned number;
    mlir::Operation *combine;
    mlir::Value contribution;
  };
  llvm::SmallVector<Moved> moved;
  /// Whether the order of two states makes no difference to what they agree on.
  bool isSymmetric = true;
  /// Ops that move a state.
  unsigned cost = 0;
};

/// The parts of a fold's merge, if it has them.
std::optional<CommonPivot> findCommonPivot(FoldOp fold);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_COMMON_COMMONPIVOT_H
