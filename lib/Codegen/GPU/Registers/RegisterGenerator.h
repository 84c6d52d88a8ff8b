//===- RegisterGenerator.h - from a kernel to registers ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERGENERATOR_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERGENERATOR_H

#include "RegisterEmitter.h"

#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

namespace redfuse {

class RegisterKernelGenerator : public KernelGenerator {
public:
  RegisterKernelGenerator(KernelOp kernel, LaunchOp launch,
                          const KernelSpace &space, unsigned lanes,
                          const DeviceLimits &limits)
      : KernelGenerator(kernel, launch, space, lanes), limits(limits) {}

  mlir::LogicalResult run(RegisterLayoutAttr record,
                          mlir::gpu::GPUModuleOp module, llvm::StringRef name);

private:
  mlir::LogicalResult emitProgram(IndexProgramOpInterface op) override;
  /// What a launch is given: its blocks and arguments, and, where splits merge, the
  /// memory for states and how many words of it a block has.
  struct Started {
    mlir::Value blocks, states, words;
    llvm::SmallVector<mlir::Value> arguments;
  };
  Started prepare();
  mlir::gpu::GPUFuncOp makeFunction(mlir::gpu::GPUModuleOp module,
                                    llvm::StringRef name,
                                    mlir::TypeRange types);
  mlir::Value placeThread();
  void layOutShared();
  mlir::LogicalResult emitBody(mlir::gpu::GPUFuncOp func, bool merges);
  int64_t unitOf(unsigned d) const;
  int64_t lengthOf(unsigned i) const;
  bool isOneStep() const;
  bool isFirst(IndexProgramOpInterface op) {
    return op ==
           *kernel.getBody().front().getOps<IndexProgramOpInterface>().begin();
  }
  bool isHeld();
  mlir::LogicalResult walkStream(IndexProgramOpInterface op, unsigned i);
  /// Asks the cache for what the block reads first.
  void fetchAhead();
  /// Copies what is kept into shared memory.
  mlir::LogicalResult fetchKept(IndexProgramOpInterface op);
  void askFor(llvm::ArrayRef<KeptInput> inputs);
  void placeKept(mlir::Value sharedMemory);
  void prefetch(const llvm::SmallBitVector &walked, int64_t most);
  /// Tile after tile of the grid, from `block` on: what a block has of the next is
  /// under way while it computes this one.
  mlir::LogicalResult emitRounds(mlir::Value block, mlir::Value tiles);
  /// The same, by way of shared memory.
  mlir::LogicalResult emitStagedRounds(mlir::Value block, mlir::Value tiles,
                                       mlir::Value last, mlir::Value step);
  mlir::LogicalResult emitRound(mlir::Value block);
  /// Whether blocks ask a scheduler for tiles.
  bool hasDynamicScheduler() const {
    return layout.loopingBlocks != 0 && !layout.kept.empty();
  }
  mlir::Value askScheduler(mlir::Value last);
  void storeAnswer(mlir::Value answer);
  mlir::Value readAnswer();
  void placeTile(mlir::Value block);
  void loadAhead(Whose whose);
  /// Emits a nest; the last one that reduces has what all blocks read loaded.
  mlir::LogicalResult emitNest(IndexProgramOpInterface op,
                               const LoopNest &nest);
  /// Stores the states of this block; the last of the blocks of a tile goes on,
  /// with the states of all.
  llvm::SmallVector<int64_t> findSharingDims(FoldOp fold) const;
  void mergeBlocks(FoldOp fold);
  bool isForFirst(IndexProgramOpInterface op);
  IndexProgramOpInterface getLastFold();
  mlir::LogicalResult emitStep(IndexProgramOpInterface op, unsigned i);
  llvm::SmallVector<const LoopNest *> nestsOf(IndexProgramOpInterface op,
                                              bool isInvariant);
  void giveTiles();
  /// A loop or branch that carries the states of the op, if it is a fold.
  /// With `ahead`, which sets the step that starts somewhere, steps are whole and
  /// there is one at least: what a step reads is loaded before the one before it is
  /// computed.
  mlir::LogicalResult
  carry(IndexProgramOpInterface op, mlir::Value from, mlir::Value to,
        mlir::Value step,
        llvm::function_ref<mlir::LogicalResult(mlir::Value)> body,
        llvm::function_ref<void(mlir::Value)> ahead = {});
  void loadStep(IndexProgramOpInterface op);
  /// Lets the next kernel of the stream start: once, behind the first loads where
  /// they stand in no loop.
  void startNext();

  RegisterLayout layout;
  RegisterEmitter *own = nullptr;
  llvm::SmallBitVector streamed;
  /// Bytes of shared memory for inputs that are kept; whether steps are walked to
  /// copy them.
  int64_t keptBytes = 0;
  bool isFetching = false;
  DeviceLimits limits;
  bool startsNext = false;
  /// Nests that reduce, not yet emitted.
  unsigned reductionsLeft = 0;
  /// Where blocks fold a split each and merge in this launch: the number of
  /// the split and of the tile, and the kernel's workspace and counters.
  mlir::Value split, tile, workspace, counters;
  /// Where tiles come from a dynamic scheduler: the word in shared memory that has the number of
  /// the block's next one.
  mlir::Value mailbox;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERGENERATOR_H
