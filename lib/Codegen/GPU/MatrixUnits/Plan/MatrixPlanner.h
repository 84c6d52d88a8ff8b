//===- MatrixPlanner.h - how the plan of a kernel is made -------*- C++ -*-===//
//
// What a kernel is made of (MatrixPlan.cpp) decides whether matrix units can run
// it; how they do is chosen (MatrixChoices.cpp, MatrixDecisions.cpp), or was, and is
// read again (MatrixRecord.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXPLANNER_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXPLANNER_H

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/PlannedMatrix.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/SplitCost.h"

namespace redfuse {

/// The widest product.
constexpr int64_t kMaxColumns = 256;
/// The same where a thread has a register for the scale of each column.
constexpr int64_t kMaxScaledColumns = 128;

/// Completes a plan, now that shared memory is laid out: the order of tiles, what is
/// done beside other launches, the threshold of rescaling. Tiles are unequal where predicates
/// leave some of them less.
void decideRest(MatrixPlan &plan, const KernelSpace &space,
                const SharedLayout &layout, bool isUnequal);

class MatrixPlanner {
public:
  MatrixPlanner(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                const MatrixTarget &target, std::string &why)
      : kernel(kernel), launch(launch), space(space), why(why) {
    plan.target = target;
  }

  /// For so many multiprocessors.
  std::optional<PlannedMatrix> choose(int64_t units);
  std::optional<PlannedMatrix> read(MatrixPlanAttr record);

private:
  std::optional<SharedLayout> layOut() const {
    return layOutShared(kernel, launch, space, plan, why);
  }

  // What the kernel is made of ------------------------------------------------
  bool refuse(const llvm::Twine &reason) {
    why = reason.str();
    return false;
  }
  bool findOps();
  // Which dims products have as rows, columns and sums: MatrixDims.cpp.
  bool findProducts();
  std::optional<unsigned> contiguousDimOf(mlir::Value v);
  unsigned chooseSum(ReduceOp reduce, mlir::Value a, mlir::Value c);
  std::optional<unsigned> columnsOf(ReduceOp reduce, mlir::Value left,
                                    mlir::Value right);
  bool isLastOfResults(unsigned d);
  bool isScattered(Value v, unsigned rows, unsigned sum);
  int64_t mostColumnsOf(const MatrixProduct &product) const;
  bool areIntegers(mlir::Value a, mlir::Value c);
  bool areInMemory(mlir::Value a, mlir::Value c,
                   llvm::function_ref<bool(mlir::Type)> kind);
  bool areBytes(const MatrixProduct &product, mlir::Value a, mlir::Value c);
  bool canBeRows(unsigned d);
  double scoreOfRows(unsigned d);
  bool chooseRows();
  bool placeOperands(MatrixProduct &product);
  bool isOfSums(mlir::AffineExpr index) const;
  bool findSource(mlir::Value v, unsigned free, unsigned sum,
                  MatrixSource &source);
  bool findState(MatrixProduct &product);
  bool checkValues();
  bool checkResults();
  bool addRanks();
  /// The products and their operands; what follows from the tiles of their columns.
  bool matchProducts();
  bool checkBody();

  // What is chosen ------------------------------------------------------------
  bool chooseWidths();
  int64_t registersOfOthers();
  std::optional<int64_t> streamWidth(int64_t registers, int64_t ofOthers);
  void chooseThree();
  bool hasPredicates();
  bool isWorthThree(int64_t rows, int64_t length);
  bool leavesRoom();
  bool waitsBetweenTiles();
  void chooseBlocks();
  void chooseFullRounds(double cycles);
  bool canMulticast() const;
  std::pair<int64_t, int64_t> findCluster();
  int64_t countBatch() const;
  SharedSum sharedSumOf(const MatrixProduct &product) const;
  void shareFold(int64_t tiles, int64_t rows);
  void shareTiledFold(int64_t tiles, int64_t rows);
  std::optional<int64_t> extentOf(unsigned d) const {
    int64_t extent = space.staticExtents[d];
    return mlir::ShapedType::isDynamic(extent) ? std::nullopt
                                               : std::optional<int64_t>(extent);
  }

  /// How many tiles the sum of a product has, where that is known.
  std::optional<int64_t> sumTilesOf(const MatrixProduct &product) const;

  /// The fold as chooseSplits prices it, if blocks can share it.
  std::optional<SharedFold> shareable(int64_t tiles, int64_t rows);

  // What is recorded ----------------------------------------------------------
  bool takeTiles(MatrixPlanAttr record);
  bool takeOperands(MatrixPlanAttr record);
  bool takeBlocks(MatrixPlanAttr record);
  bool takeShares(MatrixPlanAttr record);
  bool takesLayout(MatrixPlanAttr record, const SharedLayout &layout);

  KernelOp kernel;
  LaunchOp launch;
  const KernelSpace &space;
  int64_t units = 1;
  std::string &why;
  MatrixPlan plan;
  std::optional<DimSets> sets;
  /// The operands of each product as they stand in the body.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> operands;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PLAN_MATRIXPLANNER_H
