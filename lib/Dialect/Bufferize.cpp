//===- Bufferize.cpp - redfuse.launch on buffers --------------------------===//
//
// A launch is bufferized in place: its results are its destinations. Kernels
// are not: what they hold in tensors becomes vectors and scratch, never
// buffers, when code is generated for them.
//
//===----------------------------------------------------------------------===//
#include "Bufferize.h"

#include "redfuse/Dialect/Redfuse.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace redfuse;

/// Whether the kernel may use what is in a destination before it writes it.
static bool readsDestination(KernelOp kernel, BlockArgument destination) {
  return llvm::any_of(destination.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tensor::DimOp>(user))
      return false;
    auto program = dyn_cast<IndexProgramOpInterface>(user);
    return !program || isa<FoldOp, MergeOp>(user) ||
           use.getOperandNumber() < program.getProgramInputs().size();
  });
}

namespace {
struct LaunchModel
    : DstBufferizableOpInterfaceExternalModel<LaunchModel, LaunchOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto launch = cast<LaunchOp>(op);
    if (!launch.isDpsInit(&operand))
      return true;
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
        op, launch.getKernelAttr());
    return !kernel ||
           readsDestination(kernel, kernel.getBody().front().getArgument(
                                        operand.getOperandNumber()));
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto launch = cast<LaunchOp>(op);
    if (!launch.hasPureTensorSemantics())
      return success();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType())) {
        operands.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
    }
    ValueRange all(operands);
    ValueRange inits = all.take_back(launch.getInits().size());
    auto made = LaunchOp::create(rewriter, op->getLoc(), TypeRange(),
                                 launch.getKernelAttr(),
                                 all.drop_back(inits.size()), inits);
    made->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
    replaceOpWithBufferizedValues(rewriter, op, inits);
    return success();
  }
};
} // namespace

void redfuse::attachBufferization(MLIRContext *context) {
  LaunchOp::attachInterface<LaunchModel>(*context);
}
