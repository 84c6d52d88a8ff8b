//===- OperandLoads.h - operands on their way to shared memory --*- C++ -*-===//
//
// The threads of a block share what a stage has of an operand in units of 16 bytes of a
// row, or of some neighbouring rows. Where elements are adjacent along the sum a thread
// loads such a unit by one access, if all extents and strides allow that. Where they are
// adjacent along rows, neighbouring threads have neighbouring rows.
//
// Rows beyond the end read the last ones: nobody stores what comes of them. Sums beyond
// the end are zeros on both sides: what else is there may be infinite.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_OPERANDLOADS_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_OPERANDLOADS_H

#include "StagePlaces.h"
#include "SumOrder.h"

namespace redfuse {

/// Brings what stages have of one operand to shared memory, by all threads.
class OperandLoads : ContractionPart {
public:
  OperandLoads(ContractionEmitter &emitter, const ContractionTiling &tiling,
               const ContractionTile &tile, const OperandSide &side,
               SumOrder &order);

  /// Starts to load, or to copy, the elements of a stage whose sums are those from `sum`
  /// on.
  void start(mlir::Value sum, const SumShare &share, mlir::Value stage);
  /// Computes the operand of what has been loaded last, and stores it.
  void finish(mlir::Value stage);

private:
  /// What a thread brings to shared memory: 16 bytes of `width` rows, or of one.
  struct Unit {
    mlir::Value row, vector;
    /// Where the row is in memory.
    Env at;
  };
  /// A unit while it is on its way.
  struct Arriving {
    llvm::SmallVector<Env> accesses;
    llvm::SmallVector<mlir::Value> exists;
  };
  void makeUnits();
  void skipWithoutUnits();
  void startCopy(const Unit &unit, int64_t sum, Env &env, mlir::Value exists,
                 mlir::Value stage);
  mlir::Value wordsOfVector(llvm::ArrayRef<mlir::Value> elements);
  int64_t countUnits() const { return side.countUnits(plan.getSlabs()); }

  const OperandSide &side;
  SumOrder &order;
  StagePlaces places;
  llvm::SmallVector<Unit> units;
  llvm::SmallVector<Arriving> arriving;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_OPERANDLOADS_H
