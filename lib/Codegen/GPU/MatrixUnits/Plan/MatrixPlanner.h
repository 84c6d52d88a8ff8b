//===- MatrixPlanner.h - how the plan of a kernel is made --------*- C++ -*-===//
//
// What a kernel is made of (MatrixPlan.cpp) decides whether matrix units can run
// it; how they do is chosen (MatrixChoices.cpp), or was, and is read again
// (MatrixRecord.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CONVERSION_MATRIXPLANNER_H
#define REDFUSE_LIB_CONVERSION_MATRIXPLANNER_H

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"

namespace redfuse {

/// The widest product.
constexpr int64_t kMaxColumns = 256;

class MatrixPlanner {
public:
  MatrixPlanner(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                const MatrixTarget &target, int64_t units, std::string &why)
      : kernel(kernel), launch(launch), space(space), units(units), why(why) {
    plan.target = target;
  }

  /// What is not in `record` is chosen.
  std::optional<MatrixPlan> run(MatrixPlanAttr record);

private:
  bool refuse(const llvm::Twine &reason) {
    why = reason.str();
    return false;
  }
  bool findOps();
  bool findProducts();
  bool chooseRows();
  bool placeOperands(MatrixProduct &product);
  bool findSource(mlir::Value v, unsigned free, unsigned sum,
                  MatrixSource &source);
  bool findState(MatrixProduct &product);
  bool checkValues();
  bool checkResults();
  bool chooseWidths();
  int64_t registersOfOthers();
  std::optional<int64_t> streamWidth(int64_t registers, int64_t ofOthers);
  void chooseThree();
  bool hasPredicates();
  bool isWorthThree(int64_t rows, int64_t length);
  bool leavesRoom();
  bool addRanks();
  void chooseBlocks();
  void shareFold(int64_t tiles, int64_t rows);
  std::optional<int64_t> extentOf(unsigned d) const {
    int64_t extent = space.staticExtents[d];
    return mlir::ShapedType::isDynamic(extent) ? std::nullopt
                                               : std::optional<int64_t>(extent);
  }

  /// The fold as chooseSegments prices it, if blocks can share it.
  std::optional<SharedFold> shareable(int64_t tiles, int64_t rows);
  bool takeTiles(MatrixPlanAttr record);
  bool takeOperands(MatrixPlanAttr record);
  bool takeBlocks(MatrixPlanAttr record);
  bool takeShares(MatrixPlanAttr record);

  KernelOp kernel;
  LaunchOp launch;
  const KernelSpace &space;
  int64_t units;
  std::string &why;
  MatrixPlan plan;
  std::optional<DimSets> sets;
  /// The operands of each product as they stand in the body.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> operands;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_MATRIXPLANNER_H
