//===- ContractionMainloop.h - the loop over the sum ------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONMAINLOOP_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONMAINLOOP_H

#include "MmaSyncProducts.h"
#include "OperandLoads.h"
#include "WgmmaProducts.h"

namespace redfuse {

/// The loop over the sum of a tile where all threads bring operands to shared memory.
class ContractionMainloop : ContractionPart {
public:
  ContractionMainloop(ContractionEmitter &emitter,
                      const ContractionTiling &tiling,
                      const ContractionTile &tile, SumOrder &order,
                      const SumShare &share);

  /// The sums of a lane by instructions of warps, or of warpgroups.
  llvm::SmallVector<mlir::Value> run(MmaSyncProducts &products);
  llvm::SmallVector<mlir::Value> run(WgmmaProducts &products);

private:
  mlir::Value sumOf(mlir::Value step);
  void start(mlir::Value step, mlir::Value stage);
  void finish(mlir::Value step);
  void startIfAny(mlir::Value step, mlir::Value stage = {});
  void startAhead(mlir::Value step, int64_t ahead);
  bool isKnown() const;
  bool readsAhead() const;
  llvm::SmallVector<mlir::Value> runCopied(MmaSyncProducts &products,
                                           mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> runReadAhead(MmaSyncProducts &products,
                                              mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> runComputed(MmaSyncProducts &products,
                                             mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> runDirect(MmaSyncProducts &products,
                                           mlir::ValueRange sums);

  SumOrder &order;
  const SumShare &share;
  StagePlaces places;
  OperandLoads ofLeft, ofRight;
  /// Steps of the loop.
  mlir::Value steps;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONMAINLOOP_H
