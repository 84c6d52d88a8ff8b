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

  /// The elements that have been loaded last, to be carried to the next step ...
  llvm::SmallVector<mlir::Value> getLoaded() const;
  /// ... and what is there again as if they had been loaded last, of the stage whose sums
  /// are those from `sum` on.
  void resume(mlir::Value sum, const SumShare &share, mlir::ValueRange loaded);
  /// Of a direct operand: the words of the lane's row of that number in a slab.
  llvm::SmallVector<mlir::Value> wordsOf(int64_t slab, int64_t number);

private:
  /// What a thread brings to shared memory, or multiplies itself: 16 bytes of `width`
  /// rows, or of one.
  struct Unit {
    mlir::Value row, vector;
    /// Of a direct operand the slab; `vector` is the part of it then.
    std::optional<int64_t> slab;
    /// Where the row is in memory.
    Env at;
  };
  /// A unit while it is on its way.
  struct Arriving {
    llvm::SmallVector<Env> accesses;
    llvm::SmallVector<mlir::Value> exists;
  };
  void makeUnits();
  void makeDirectUnits();
  mlir::Value firstOfPair(mlir::Value number);
  void loadPair(const Unit &unit, mlir::Value sum);
  void bindRow(Unit &unit, int64_t neighbours);
  void place(
      mlir::Value sum, const SumShare &share,
      llvm::function_ref<void(const Unit &, int64_t, Env &, mlir::Value)> then);
  llvm::SmallVector<mlir::Value> makeElements(const Arriving &arrived);
  llvm::SmallVector<mlir::Value> elementsOf(llvm::ArrayRef<mlir::Value> made,
                                            int64_t row);
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
