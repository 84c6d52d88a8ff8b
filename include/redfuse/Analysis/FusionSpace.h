//===- FusionSpace.h - one iteration space for many cascades ----*- C++ -*-===//
//
// A set of cascades that feed each other can become one whose body is the whole
// program in index notation. This says over which iteration dims: it starts from
// the results that are used outside, follows every read to the cascade that makes
// the value, and lets two stages share a dim where they read the same tensor at
// the same place. Nothing is built; the planner asks many such questions.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_ANALYSIS_FUSIONSPACE_H
#define REDFUSE_ANALYSIS_FUSIONSPACE_H

#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {

/// Why something cannot be fused, for `redfuse.refused`.
struct FusionRefusal {
  mlir::Operation *op = nullptr;
  std::string condition, detail, remedy;
};

/// The iteration space of a set of cascades.
///
/// Index expressions are affine over the *variables* of the space (as dims) and
/// over values computed at run time (as symbols: the index of a gather).
class FusionSpace {
public:
  /// One evaluation of a cascade inside the program: every iteration dim of the
  /// op has an index expression. Two instances of one op mean that it is
  /// evaluated at two different places.
  struct Instance {
    CascadeOp op;
    llvm::SmallVector<mlir::AffineExpr> dims;
    /// What of its body is needed.
    llvm::DenseSet<mlir::Operation *> neededOps;
    llvm::SmallBitVector neededArguments;
    llvm::SmallBitVector neededResults;
  };

  /// A read by an instance: through an input (`reader` is the block argument) or
  /// by a tensor.extract (`reader` is its result).
  struct Access {
    unsigned instance;
    mlir::Value reader;
    mlir::Value tensor;
    llvm::SmallVector<mlir::AffineExpr> index;
    /// The instance that makes the value, or -1 for a tensor from outside.
    int producer = -1;
    /// The plain variables of `index` have the extents of the tensor.
    bool exact = true;
  };

  struct Variable {
    int64_t extent;
    /// The cascade and the dim of it that this variable was made for.
    CascadeOp op;
    unsigned dim;
  };

  /// What is found.
  struct Solution {
    llvm::SmallVector<Instance> instances;
    llvm::SmallVector<Access> accesses;
    llvm::SmallVector<Variable> variables;
    llvm::SmallVector<unsigned> live;
    llvm::SmallVector<mlir::OpResult> outputs;
    llvm::SmallVector<unsigned> outputInstances;
    llvm::SmallVector<std::pair<unsigned, mlir::Value>> symbols;
    llvm::DenseMap<std::pair<unsigned, mlir::Value>, unsigned> accessOf;
  };
  explicit FusionSpace(Solution solution) : solution(std::move(solution)) {}

  /// Solves for `ops`, given in the order of the block. Fails with a reason where
  /// one of the edges between them cannot be inlined.
  static mlir::FailureOr<FusionSpace> solve(llvm::ArrayRef<CascadeOp> ops,
                                            FusionRefusal &why);

  llvm::ArrayRef<Instance> getInstances() const { return solution.instances; }
  llvm::ArrayRef<Access> getAccesses() const { return solution.accesses; }
  /// The results that are used outside, in order.
  llvm::ArrayRef<mlir::OpResult> getOutputs() const { return solution.outputs; }
  /// The instance that makes output `i`.
  unsigned getOutputInstance(unsigned i) const {
    return solution.outputInstances[i];
  }
  /// The variables in the order in which they were found: those of the first
  /// output, outermost first.
  llvm::ArrayRef<unsigned> getVariables() const { return solution.live; }
  const Variable &getVariable(unsigned v) const {
    return solution.variables[v];
  }
  /// The access by which instance `i` reads `reader`.
  const Access *findAccess(unsigned instance, mlir::Value reader) const;
  /// The value behind symbol `s` of an index: the instance and its body value.
  std::pair<unsigned, mlir::Value> getSymbol(unsigned s) const {
    return solution.symbols[s];
  }
  /// The variables in `exprs`.
  llvm::SmallSetVector<unsigned, 8>
  getVariablesOf(llvm::ArrayRef<mlir::AffineExpr> exprs) const;

private:
  Solution solution;
};

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_FUSIONSPACE_H
