//===- CostBuilder.h - what a fusion group costs, summed up -----*- C++ -*-===//
#ifndef REDFUSE_LIB_ANALYSIS_COSTBUILDER_H
#define REDFUSE_LIB_ANALYSIS_COSTBUILDER_H

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"

#include "llvm/ADT/MapVector.h"

namespace redfuse {
using VariableSet = llvm::SmallSetVector<unsigned, 8>;

/// Adds up what a group costs.
class CostBuilder {
public:
  CostBuilder(const FusionSpace &space, TargetAttr target,
              const llvm::DenseSet<mlir::Operation *> &scalar)
      : space(space), target(target), scalar(scalar) {}

  GroupCost run();

private:
  /// The work of one reduction with what is computed only for it, where its
  /// result lives, and what it reduces (nothing for a scan).
  struct ReductionWork {
    VariableSet into, over;
    double work;
  };
  /// How often the values of a cascade are made, and at what price.
  struct Evaluation {
    double times = 0, work = 0;
  };
  /// A sum of products.
  struct Product {
    ReduceOp reduce;
    /// On matrix units, as far as types say; of floats that instructions multiply.
    bool isNarrow, isFloat;
    /// Not a window.
    bool isPlain;
    /// One kernel may have it and other products.
    bool isChained;
    /// Both factors are in memory, as they are or padded with a constant.
    bool isCopied;
    /// One of narrow factors is computed, and too large to be copied first.
    bool isComputed;
    /// Multiply-adds; a core packs the operands where it is alone.
    double work;
    bool isPacked;
    /// What one factor alone has of the result: rows, or columns; and those of each.
    VariableSet sides, left, right;
  };

  double points(const VariableSet &variables) const;
  VariableSet variablesOf(const FusionSpace::Instance &instance,
                          const llvm::SmallBitVector &dims) const;
  void priceProducts();
  void priceProductsOfCores();
  double getLargestInside() const;
  bool isMasked() const;
  void priceWindows();
  bool isFoldOfProduct() const;
  bool isFoldedAlong(const VariableSet &columns) const;
  bool mayBeChained(const FusionSpace::Instance &instance, ReduceOp reduce,
                    const DimSets &sets) const;
  bool isFromMemory(unsigned instance, mlir::Value v, bool isPlain) const;
  bool isPacked(unsigned instance, mlir::Value v,
                const VariableSet &others) const;
  bool isPackedAlone(const FusionSpace::Instance &instance, ReduceOp reduce,
                     const DimSets &sets) const;
  bool isNarrow(unsigned instance, mlir::Value v) const;
  bool isByte(unsigned instance, mlir::Value v) const;
  void addProducts(unsigned number);
  double workOf(const FusionSpace::Instance &instance,
                const DimSets &sets) const;
  void addInstance(const FusionSpace::Instance &instance);
  void addRepeats();
  void addTraffic();
  /// The dims of the output of this number.
  VariableSet variablesOfOutput(unsigned number) const;
  std::optional<VariableSet> findGrid() const;
  double countCuts(unsigned variable) const;
  void addParallelism();
  std::optional<double> findSplitBytesAlong(const VariableSet &dims) const;
  std::optional<double> findSplitBytes() const;
  void addTime();

  const FusionSpace &space;
  TargetAttr target;
  /// Cascades whose products are done by threads, if not alone.
  const llvm::DenseSet<mlir::Operation *> &scalar;
  GroupCost cost;
  llvm::SmallVector<ReductionWork> reductions;
  llvm::SmallVector<Product, 0> products;
  /// A reduction or scan that is no product, and the variables that it keeps.
  struct OtherRoot {
    mlir::Operation *op;
    VariableSet into;
    bool hasWindow;
  };
  llvm::SmallVector<OtherRoot> others;
  /// How much faster than other units do products and their multiplications go.
  llvm::DenseMap<mlir::Operation *, double> gains;
  llvm::MapVector<mlir::Operation *, Evaluation> evaluations;
};

} // namespace redfuse

#endif // REDFUSE_LIB_ANALYSIS_COSTBUILDER_H
