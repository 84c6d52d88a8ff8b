//===- KernelNests.h - which program is emitted -----------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_KERNELNESTS_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_KERNELNESTS_H

#include "redfuse/Codegen/Common/KernelGenerator.h"

namespace redfuse {

/// The tile programs of a kernel: their nests, and which program is emitted.
class KernelNests {
public:
  using Buffers = llvm::DenseMap<mlir::Operation *,
                                 llvm::DenseMap<mlir::Value, TileBuffer>>;

  KernelNests(KernelOp kernel, KernelPrograms &programs, Buffers &buffers,
              TileEmitter &emitter)
      : kernel(kernel), programs(programs), buffers(buffers), emitter(emitter) {
  }

  auto getPrograms() {
    return kernel.getBody().front().getOps<IndexProgramOpInterface>();
  }
  bool isFirst(IndexProgramOpInterface op) {
    return op == *getPrograms().begin();
  }
  /// Whether nothing follows this nest.
  bool isLast(IndexProgramOpInterface op, const LoopNest &nest);
  IndexProgramOpInterface getLastFold();
  /// Nests that are the same for all steps of a walk, or those that are not.
  llvm::SmallVector<const LoopNest *> of(IndexProgramOpInterface op,
                                         bool isInvariant);
  llvm::ArrayRef<LoopNest> all(IndexProgramOpInterface op) {
    return programs[op]->getNests();
  }
  /// Nests that reduce, of all programs.
  unsigned countReductions();
  /// The emitter goes on with this program.
  void select(IndexProgramOpInterface op) {
    emitter.setProgram(op, *programs[op], buffers[op]);
  }

private:
  KernelOp kernel;
  KernelPrograms &programs;
  Buffers &buffers;
  TileEmitter &emitter;
};

/// Whether a nest has reductions.
bool reduces(const LoopNest &nest);

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_KERNELNESTS_H
