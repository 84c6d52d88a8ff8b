//===- RegisterMainloop.h - steps along a tile ------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERMAINLOOP_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERMAINLOOP_H

#include "FoldStates.h"
#include "LoadedValues.h"

#include "redfuse/Codegen/Common/KernelGenerator.h"

namespace redfuse {

/// How long the walks along the streamed dims of a tile are, as far as it is known.
class StreamWalk {
public:
  StreamWalk(const KernelSpace &space, const RegisterLayout &layout)
      : space(space), layout(layout) {}

  llvm::ArrayRef<int64_t> getDims() const {
    return space.schedule ? space.schedule.getStream()
                          : llvm::ArrayRef<int64_t>();
  }
  bool isSplit() const {
    return space.schedule && space.schedule.getKind() == ScheduleKind::Split;
  }
  /// Whether every streamed dim is walked in one step.
  bool isOneStep() const;
  /// What a block walks along the i-th streamed dim, if that is known.
  int64_t lengthOf(unsigned i) const;
  /// Splits of a split dim hold a multiple of this.
  int64_t unitOf(unsigned d) const;

private:
  const KernelSpace &space;
  const RegisterLayout &layout;
};

/// The mainloop: walks the streamed dims of a tile, outermost first, in whole steps, then
/// what is left.
class RegisterMainloop {
public:
  RegisterMainloop(mlir::OpBuilder &b, mlir::Location loc,
                   const KernelSpace &space, const RegisterLayout &layout,
                   llvm::MutableArrayRef<SpaceDim> dims, FoldStates &states,
                   LoadedValues &loaded, ThreadExchange &exchange)
      : b(b), loc(loc), space(space), layout(layout), steps(space, layout),
        dims(dims), states(states), loaded(loaded), exchange(exchange) {}

  /// What is done in every step.
  struct Step {
    /// Emits it, where the dims stand.
    llvm::function_ref<mlir::LogicalResult()> emit;
    /// Loads what it reads. With this, whole steps are loaded before the one before
    /// them is computed, where the layout says so.
    llvm::function_ref<void()> load = {};
    /// The fold whose states go from one step to the next; null: none do.
    FoldOp fold = FoldOp();
  };
  mlir::LogicalResult run(const Step &step) { return runFrom(step, 0); }

  /// Blocks fold splits of the first streamed dim, this one the split of that number.
  void setSplit(mlir::Value number) { split = number; }

private:
  mlir::LogicalResult runFrom(const Step &step, unsigned i);
  /// Positions of a block along the first streamed dim.
  std::pair<mlir::Value, mlir::Value> boundsOfSplit(unsigned d);
  /// A loop over steps that start at `from`, and every `by` from there on; `place`
  /// sets the dims to one. With `isAhead` there is one at least, and the loads of the
  /// next are under way while one is computed.
  mlir::LogicalResult loop(const Step &step, unsigned i, mlir::Value from,
                           mlir::Value to, mlir::Value by,
                           llvm::function_ref<void(mlir::Value)> place,
                           bool isAhead);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const KernelSpace &space;
  const RegisterLayout &layout;
  StreamWalk steps;
  llvm::MutableArrayRef<SpaceDim> dims;
  FoldStates &states;
  LoadedValues &loaded;
  ThreadExchange &exchange;
  mlir::Value split;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERMAINLOOP_H
