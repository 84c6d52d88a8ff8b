//===- CpuEmitter.h - tile programs as vector code --------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_CPUEMITTER_H
#define REDFUSE_LIB_CONVERSION_CPUEMITTER_H

#include "redfuse/Codegen/Common/TileEmitter.h"

namespace redfuse {

/// Emits the nests of one tile program as loops of one thread.
class CpuEmitter : public TileEmitter {
public:
  using TileEmitter::TileEmitter;

  mlir::LogicalResult emitNest(const LoopNest &nest) override;
  void emitFill(const TileBuffer &buffer, mlir::TypedAttr value) override;

protected:
  /// Lanes that are a few elements apart are picked from whole vectors.
  mlir::Value loadLanes(mlir::Value memref, mlir::AffineMap map,
                        llvm::SmallVector<mlir::Value> at, Env &env) override;
  /// Loops over the positions of a tile of `dim`, a vector at a time.
  void emitVectorLoop(unsigned dim, Env &env,
                      llvm::function_ref<void(Env &)> body);
  Env inTail(Env env, unsigned dim, mlir::Value position, mlir::Value left);

private:
  using Accumulators = llvm::SmallVector<mlir::Value>;
  void emitLoops();
  void emitInto(unsigned loop, Env env);
  void emitReduction(Env &env);
  Accumulators emitOver(unsigned loop, Env env, Accumulators accumulators,
                        unsigned copies);
  /// A loop's range: positions, the extent where it is known, and what is added to a
  /// position at a time.
  struct Steps {
    mlir::Value begin, end;
    std::optional<int64_t> size;
    int64_t step;
  };
  int64_t stepsInside(unsigned loop, unsigned copies);
  Accumulators emitSummed(
      const Steps &range, int64_t inside, Env &env, Accumulators accumulators,
      llvm::function_ref<Accumulators(mlir::Value, mlir::ValueRange)> body);
  void finishReduction(Env &env, llvm::ArrayRef<mlir::Value> accumulators,
                       unsigned copies);
  void emitEach(llvm::function_ref<void(Env &)> body);

  // Rows together (CpuRows.cpp) -------------------------------------------------
  bool foldsColumns() const;
  void emitColumns(Env &env);
  void emitColumnsOver(unsigned loop, Env env,
                       llvm::ArrayRef<TileBuffer> partial);
  void foldRows(unsigned dim, Env &env, mlir::Value first, int64_t count,
                llvm::ArrayRef<TileBuffer> into);
  std::optional<unsigned> rowsTogether() const;
  void emitRowsTogether(unsigned dim, Env &env, unsigned rows);

  // Scans (CpuScans.cpp) --------------------------------------------------------
  void emitScanOfLanes(Env env);

  // Contractions --------------------------------------------------------------
  void emitContraction();
  void emitContractionRows(Env env, unsigned vectors);
};

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_CPUEMITTER_H
