//===- CpuEmitter.h - tile programs as vector code -----------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_CPUEMITTER_H
#define REDFUSE_LIB_CONVERSION_CPUEMITTER_H

#include "TileEmitter.h"

namespace redfuse {

/// Emits a loop over [from, to) and `body` in it; carries `state`.
llvm::SmallVector<mlir::Value>
emitFor(mlir::OpBuilder &b, mlir::Location loc, mlir::Value from,
        mlir::Value to, mlir::Value step, mlir::ValueRange state,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                          mlir::ValueRange)>
            body);

/// Emits the groups of one tile program as loops of one thread.
class CpuEmitter : public TileEmitter {
public:
  using TileEmitter::TileEmitter;

  mlir::LogicalResult emitGroup(const Group &group) override;
  void emitFill(const TileBuffer &buffer, mlir::TypedAttr value) override;

private:
  using Accumulators = llvm::SmallVector<mlir::Value>;
  void emitNest();
  void emitInto(unsigned loop, Env env);
  void emitReduction(Env &env);
  Accumulators emitOver(unsigned loop, Env env, Accumulators accumulators,
                        unsigned copies);
  void finishReduction(Env &env, llvm::ArrayRef<mlir::Value> accumulators,
                       unsigned copies);
  void emitVectorLoop(unsigned dim, Env &env,
                      llvm::function_ref<void(Env &)> body);
  void emitTopK();
  void emitMergeTopk();
  void emitScan(Env &env);
  /// Whether values of the type of `operand` compare as in a top-k: NaN is the
  /// largest, and two of them are equal.
  mlir::Value isLarger(mlir::Value lhs, mlir::Value rhs);
  /// A slot of a list that nothing has filled.
  mlir::Value isEmptySlot(mlir::Value index);

  // Contractions --------------------------------------------------------------
  void emitContraction();
  void emitContractionRows(Env env, unsigned vectors);
  void emitRegisterTile(Env env, unsigned rows, unsigned vectors);
};

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_CPUEMITTER_H
