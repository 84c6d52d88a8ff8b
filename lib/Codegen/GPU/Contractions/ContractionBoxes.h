//===- ContractionBoxes.h - operands that one thread copies -----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONBOXES_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONBOXES_H

#include "ContractionTile.h"
#include "SumOrder.h"
#include "WgmmaProducts.h"

namespace redfuse {

/// What tensor maps describe: the left operand, the right one, then their small parts.
llvm::SmallVector<mlir::BlockArgument>
getMappedOperands(const OperandTransfer &operands);
/// On the host: the maps of what has been mapped.
llvm::SmallVector<mlir::Value>
makeOperandMaps(mlir::OpBuilder &b, mlir::Location loc,
                const ContractionTiling &tiling,
                llvm::ArrayRef<mlir::Value> memrefs);

/// The mainloop where tensor maps describe both operands (OperandBox.h): a thread starts
/// the copies of a stage, and a barrier in shared memory counts their bytes.
class ContractionBoxes : ContractionPart {
public:
  ContractionBoxes(ContractionEmitter &emitter, const ContractionTiling &tiling,
                   const ContractionTile &tile, SumOrder &order,
                   llvm::ArrayRef<mlir::Value> maps, WgmmaProducts &products)
      : ContractionPart(emitter, tiling, tile), order(order), maps(maps),
        products(products), places(emitter, tiling, tile) {}

  llvm::SmallVector<mlir::Value> run(const SumShare &share);

private:
  mlir::Value fullBarrier(mlir::Value number);
  void copyBox(const OperandSide &side, const OperandBox &box, const Env &at,
               mlir::Value stage, mlir::Value barrier,
               llvm::ArrayRef<mlir::Value> maps);
  void start(mlir::Value step, mlir::Value first, mlir::Value steps);

  SumOrder &order;
  llvm::ArrayRef<mlir::Value> maps;
  WgmmaProducts &products;
  StagePlaces places;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONBOXES_H
