//===- InputLoads.h - loads before their use --------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_INPUTLOADS_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_INPUTLOADS_H

#include "KernelNests.h"
#include "RegisterEmitter.h"

namespace redfuse {

/// What the programs of a kernel read, loaded or asked for before they need it.
class InputLoads {
public:
  InputLoads(mlir::OpBuilder &b, mlir::Location loc, KernelOp kernel,
             const RegisterLayout &layout, llvm::MutableArrayRef<SpaceDim> dims,
             KernelNests &nests, RegisterEmitter &emitter)
      : b(b), loc(loc), kernel(kernel), layout(layout), dims(dims),
        nests(nests), emitter(emitter) {}

  /// Gives tiles of shared memory, one after another, to the inputs that are kept;
  /// returns the bytes that they take.
  int64_t placeKept(mlir::Value sharedMemory);
  /// Asks the cache for what the block reads first.
  void askAhead();
  /// Asks it for these inputs of the current tile.
  void askFor(llvm::ArrayRef<KeptInput> inputs);

  /// What all programs need of up to so many elements beside what is walked.
  void loadInvariant(const llvm::SmallBitVector &walked, int64_t most,
                     bool isPinned);
  /// All that a tile needs, where registers hold all that is walked.
  void loadTile(Whose whose, bool isPinned);
  /// What these nests of the program that is emitted read in a step, or beside it.
  void loadStep(llvm::ArrayRef<const LoopNest *> of,
                const llvm::SmallBitVector &walked);
  void loadBeside(llvm::ArrayRef<const LoopNest *> of,
                  const llvm::SmallBitVector &walked);

private:
  void loadPrograms(const Prefetch &which);
  mlir::Value memrefOf(const KeptInput &input);

  mlir::OpBuilder &b;
  mlir::Location loc;
  KernelOp kernel;
  const RegisterLayout &layout;
  llvm::MutableArrayRef<SpaceDim> dims;
  KernelNests &nests;
  RegisterEmitter &emitter;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_INPUTLOADS_H
