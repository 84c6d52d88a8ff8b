//===- RegisterEmitter.h - tile programs held in registers ------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTEREMITTER_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTEREMITTER_H

#include "FoldStates.h"
#include "InputCopies.h"
#include "LoadedValues.h"

#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"

namespace redfuse {

/// Which inputs are loaded before their use.
struct Prefetch {
  /// Dims that are walked step by step; whether inputs that have some of them are meant,
  /// or those that have none.
  llvm::SmallBitVector walked;
  bool isWalked = false;
  /// Elements that a thread has of an input, at most.
  int64_t most = INT64_MAX;
  /// Whose part of the inputs; none: as the layout says.
  std::optional<Whose> whose = std::nullopt;
  /// Loads of single elements stay where they are emitted.
  bool isPinned = false;
};

/// Of a loop without steps one after another: ptxas moves loads behind the step
/// before theirs where that frees registers, or in front of all steps where it has none.
mlir::Attribute keepsLoop(mlir::OpBuilder &b);

/// Emits tile programs whose tiles are registers of the threads.
///
/// All that is kept between nests is in registers, laid out by one
/// RegisterLayout; nothing but what threads exchange to combine results goes
/// through shared memory. A reduction combines what a thread has, then what the
/// threads along the reduced dims have; all of them get the result. Along a
/// *private* dim (one that a fold walks) every thread has a state of its own,
/// and reductions stop at the thread: the states are merged once, at the end.
///
/// Barriers and shuffles stand in code that all threads of the block reach. What
/// lies beyond the end of a dim is masked: reductions skip it, stores leave it
/// out, and loads read the last position instead.
class RegisterEmitter : public GpuEmitter {
public:
  RegisterEmitter(mlir::OpBuilder &b, mlir::Location loc,
                  const RegisterLayout &layout,
                  llvm::MutableArrayRef<SpaceDim> dims)
      : GpuEmitter(b, loc, layout.lanes, dims, layout.warp, layout.threads),
        positions(b, loc, layout, dims, *this), registers(positions, *this),
        exchange(b, loc, layout, positions, words, *this),
        copies(b, loc, layout, dims, positions, exchange, *this),
        states(b, loc, layout, positions, registers, exchange, words, *this),
        layout(layout) {}

  mlir::LogicalResult emitNest(const LoopNest &nest) override {
    return emitNest(nest, /*isLast=*/false, {});
  }
  /// `isLast`: nothing is read again behind the nest. `beforeExchange` is called once,
  /// when a reduction has combined what each thread has.
  mlir::LogicalResult emitNest(const LoopNest &nest, bool isLast,
                               std::function<void()> beforeExchange);
  void emitFill(const TileBuffer &buffer, mlir::TypedAttr value) override {
    registers.fill(buffer, value);
  }

  /// Loads what the nests need and is not loaded yet.
  void prefetch(llvm::ArrayRef<const LoopNest *> nests, const Prefetch &which);
  /// Nothing behind this starts before all that was loaded in this scope is there.
  void awaitLoaded();

  /// Every element of this memref is moved once: it needs no place in a cache that
  /// others use.
  void moveOnce(mlir::Value memref) { movedOnce.insert(memref); }

  ThreadPositions positions;
  LoadedValues loaded;
  TileRegisters registers;
  ThreadExchange exchange;
  InputCopies copies;
  FoldStates states;

private:
  mlir::Value loadTile(const TileBuffer &buffer, Env &env) override;
  void storeTile(const TileBuffer &buffer, mlir::Value value,
                 Env &env) override;
  mlir::Value loadAt(mlir::Value memref, mlir::AffineMap map, Env &env,
                     bool isLocal) override;
  void storeAt(mlir::Value memref, mlir::AffineMap map, mlir::Value value,
               Env &env, bool isLocal) override;
  mlir::Value existsAt(const Env &env,
                       const llvm::SmallBitVector &ofDims) override;
  llvm::MaybeAlign alignmentOf(mlir::MemRefType type,
                               mlir::AffineMap map) override;
  bool loadInterleaved(mlir::Value memref, mlir::AffineMap map, Env &env);
  std::optional<unsigned> runDimOf(mlir::Value memref, mlir::AffineMap map,
                                   const Env &env) const;
  void forRowsAlong(unsigned d, mlir::AffineMap map, const Env &env,
                    llvm::function_ref<void(unsigned, Env &)> body);
  bool loadRun(mlir::Value memref, mlir::AffineMap map, const Env &env);
  llvm::SmallVector<mlir::Value> takeRun(unsigned d, mlir::Value memref,
                                         mlir::AffineMap map, mlir::Value value,
                                         Env &env);
  void storeRun(unsigned d, mlir::Value memref, mlir::AffineMap map,
                llvm::ArrayRef<mlir::Value> run, const Env &env);
  void markMovedOnce(mlir::Value memref);
  mlir::Value loadByPolicy(mlir::vector::LoadOp load, mlir::AffineMap map);
  void forgetExtended();
  void loadBehind(mlir::Value v);
  void emitReduction();
  bool emitCounts();
  void emitScan();
  /// What warps along the dim of a scan have in all, and which of them this one is.
  struct WarpTotals {
    ThreadExchange::PartsOfWarp get;
    int64_t numWarps = 1;
    mlir::Value own;
  };
  SharedWords::Parts combineOf(ScanOp scan, llvm::ArrayRef<mlir::Value> left,
                               llvm::ArrayRef<mlir::Value> right,
                               bool startsRow = false);
  llvm::SmallVector<llvm::SmallVector<SharedWords::Parts>>
  followWarps(ScanOp scan, llvm::MutableArrayRef<SharedWords::Parts> running,
              size_t count, const WarpTotals &totals);
  llvm::SmallVector<SharedWords::Parts>
  followWarpsByLanes(ScanOp scan, SharedWords::Parts &running, size_t count,
                     size_t first, const WarpTotals &totals);

  const RegisterLayout &layout;
  llvm::DenseSet<mlir::Value> movedOnce;
  bool pinsLoads = false, isReadingLast = false;
  std::function<void()> beforeExchange;
  llvm::DenseMap<mlir::Value, mlir::Value> flattened;
  /// Elements that wait for the rest of their run to be stored.
  std::map<LoadedValues::Key, llvm::SmallVector<mlir::Value>> unfinishedRuns;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTEREMITTER_H
