//===- FragmentReducer.h - reductions of fragments --------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTREDUCER_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTREDUCER_H

#include "FragmentPlace.h"

namespace redfuse {

class FragmentEmitter;

/// Emits reductions: what a thread has, then, by shuffles, what the threads of a row
/// have.
class FragmentReducer {
public:
  FragmentReducer(mlir::OpBuilder &b, mlir::Location loc, FragmentPlace &place,
                  FragmentEmitter &emitter)
      : b(b), loc(loc), place(place), emitter(emitter), ptx(b, loc) {}

  /// All results of a reduction.
  llvm::SmallVector<Fragment> reduce(ReduceOp op);
  /// From here on a reduction to rows ends in the thread: each of the threads of a row
  /// has what it makes of its own columns.
  void endInThread(ReduceOp op) { inThread.insert(op); }
  /// Completes a reduction that ended in the thread.
  Fragment acrossLanes(ReduceOp op, Fragment partial);
  /// What the thread of a warp has whose number differs in the bits of `mask`.
  mlir::Value shuffle(mlir::Value v, int64_t mask);
  /// Whether some value that a maximum is of is above its row's limit, or no number; if
  /// perhaps too often (i1, the same in a warp).
  mlir::Value isAnyAbove(ReduceOp max, const Fragment &limit);

private:
  llvm::SmallVector<Fragment> reducedValues(ReduceOp op, mlir::Value &scale);
  mlir::Value reducedAt(ReduceOp op, unsigned k, const Fragment &operand,
                        const Fragment &shape, size_t i, mlir::Value left);
  using State = llvm::SmallVector<mlir::Value, 2>;
  State reduceRow(ReduceOp op, llvm::ArrayRef<Fragment> operands,
                  const Fragment &shape, size_t row);
  State combine(ReduceOp op, const State &x, const State &y);
  State combineLanes(ReduceOp op, State total);
  /// FragmentTopk.cpp.
  llvm::SmallVector<Fragment> selectLargest(ReduceOp op);

  mlir::OpBuilder &b;
  mlir::Location loc;
  FragmentPlace &place;
  FragmentEmitter &emitter;
  Ptx ptx;
  llvm::DenseSet<mlir::Operation *> inThread;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTREDUCER_H
