//===- TeamReduction.h - reductions by teams of threads ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_TEAMREDUCTION_H
#define REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_TEAMREDUCTION_H

#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"

namespace redfuse {

/// Emits a nest that reduces: the threads of a team share the reduced points of one
/// result, and combine what they have.
class TeamReduction : NestEmitter {
public:
  using NestEmitter::NestEmitter;

  void emit();

private:
  /// The threads that make one result together.
  struct Team {
    unsigned size = 1;
    /// Neighbouring threads are one team; else every `slots`-th thread.
    bool isContiguous = true;
    mlir::Value lane, slot;
  };
  Team chooseTeam(llvm::ArrayRef<Axis> into, llvm::ArrayRef<Axis> over) const;
  void emitRound(const Team &team, llvm::ArrayRef<Axis> into,
                 llvm::ArrayRef<Axis> over, mlir::Value base);
  void foldTeam(ReduceOp reduce, const Team &team, Parts &parts);
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_TEAMREDUCTION_H
