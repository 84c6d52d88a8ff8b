//===- CutCarried.cpp - redfuse-cut-carried: long chains of loops ---------===//
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace redfuse {
#define GEN_PASS_DEF_CUTCARRIED
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// What an op adds to the chain of those that may have one buffer.
static int64_t weightOf(Operation *op) {
  if (isa<RegionBranchOpInterface, scf::ForallOp>(op))
    return kStepsOfRegions;
  return isa<DestinationStyleOpInterface, tensor::InsertOp>(op) ? kStepsOfWrites
                                                                : 0;
}

namespace {
struct CutCarried : public redfuse::impl::CutCarriedBase<CutCarried> {
  using CutCarriedBase::CutCarriedBase;

  void runOnOperation() override {
    if (limit < 1) {
      getOperation().emitError() << "redfuse-cut-carried: limit is "
                                 << int64_t(limit) << "; expected at least 1";
      return signalPassFailure();
    }
    divideEmpty();
    cutChains();
  }

private:
  /// New tensors that CSE made one of many become several again.
  void divideEmpty() {
    SmallVector<tensor::EmptyOp> shared;
    getOperation().walk([&](tensor::EmptyOp op) {
      if (op.getResult().hasNUsesOrMore(unsigned(limit) + 1))
        shared.push_back(op);
    });
    for (tensor::EmptyOp op : shared) {
      // Uses are listed from the last one that was made.
      SmallVector<OpOperand *> uses =
          llvm::to_vector(llvm::make_pointer_range(op.getResult().getUses()));
      Operation *own = op;
      OpBuilder b(op);
      for (auto [i, use] : llvm::enumerate(llvm::reverse(uses))) {
        if (i != 0 && i % uint64_t(limit) == 0)
          own = b.clone(*op);
        use->set(own->getResult(0));
      }
    }
  }

  void cutChains() {
    func::FuncOp func = getOperation();
    // Results are visited behind all that they are made of, but for what a loop
    // carries, which counts within the loop as a chain that begins.
    DenseMap<Value, int64_t> lengths;
    SmallVector<Value> cuts;
    func.walk([&](Operation *op) {
      int64_t weight = weightOf(op);
      for (OpResult result : op->getResults()) {
        if (!isa<RankedTensorType>(result.getType()))
          continue;
        int64_t length = lengthOf(result, lengths) + weight;
        if (length >= limit && weight != 0) {
          cuts.push_back(result);
          length = 0;
        }
        if (length > 0)
          lengths[result] = length;
      }
    });
    for (Value value : cuts) {
      OpBuilder b(&getContext());
      b.setInsertionPointAfterValue(value);
      auto copy = bufferization::AllocTensorOp::create(
          b, value.getLoc(), cast<RankedTensorType>(value.getType()),
          /*dynamic_sizes=*/ValueRange(), /*copy=*/value,
          /*memory_space=*/IntegerAttr());
      value.replaceAllUsesExcept(copy.getResult(), copy);
    }
  }

  /// The longest chain among the values whose buffer `result` may have.
  static int64_t lengthOf(OpResult result,
                          const DenseMap<Value, int64_t> &lengths) {
    Operation *op = result.getOwner();
    int64_t longest = 0;
    auto meet = [&](ValueRange values) {
      for (Value value : values)
        longest = std::max(longest, lengths.lookup(value));
    };
    if (auto written = dyn_cast<DestinationStyleOpInterface>(op)) {
      if (OpOperand *init = written.getTiedOpOperand(result))
        meet(init->get());
      return longest;
    }
    meet(op->getOperands());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator())
          meet(block.getTerminator()->getOperands());
    return longest;
  }
};
} // namespace
