//===- BufferizeModels.cpp - how ops of the host bufferize ----------------===//
#include "redfuse/Transforms/Bufferize/Bufferize.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "redfuse/Dialect/Redfuse/IR/Selection.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace redfuse;

bool redfuse::readsDestination(LaunchOp launch, OpOperand &operand) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
      launch, launch.getKernelAttr());
  if (!kernel)
    return true;
  BlockArgument destination =
      kernel.getBody().getArgument(operand.getOperandNumber());
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
    : public DstBufferizableOpInterfaceExternalModel<LaunchModel, LaunchOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    auto launch = cast<LaunchOp>(op);
    if (!launch.isDpsInit(&operand))
      return true;
    return readsDestination(launch, operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto launch = cast<LaunchOp>(op);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    auto buffersOf = [&](ValueRange values,
                         SmallVectorImpl<Value> &buffers) -> LogicalResult {
      for (Value v : values) {
        if (!isa<TensorType>(v.getType())) {
          buffers.push_back(v);
          continue;
        }
        FailureOr<Value> buffer = getBuffer(rewriter, v, options, state);
        if (failed(buffer))
          return failure();
        buffers.push_back(*buffer);
      }
      return success();
    };
    SmallVector<Value> inputs, inits;
    if (failed(buffersOf(launch.getInputs(), inputs)) ||
        failed(buffersOf(launch.getInits(), inits)))
      return failure();
    LaunchOp::create(rewriter, op->getLoc(), TypeRange{},
                     launch.getKernelAttr(), inputs, inits);
    replaceOpWithBufferizedValues(rewriter, op, inits);
    return success();
  }
};

/// Of all operands.
static LogicalResult getBuffers(Operation *op, RewriterBase &rewriter,
                                const BufferizationOptions &options,
                                BufferizationState &state,
                                SmallVectorImpl<Value> &buffers) {
  for (Value v : op->getOperands()) {
    FailureOr<Value> buffer = getBuffer(rewriter, v, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  return success();
}

/// A row has ranks enough, or what is left of its destination is of no account.
struct SelectModel
    : public DstBufferizableOpInterfaceExternalModel<SelectModel, SelectOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return !cast<SelectOp>(op).isDpsInit(&operand);
  }

  /// Values are read again by their positions, when others are written already.
  bool bufferizesToElementwiseAccess(Operation *,
                                     const bufferization::AnalysisState &,
                                     ArrayRef<OpOperand *>) const {
    return false;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto select = cast<SelectOp>(op);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> buffers;
    if (failed(getBuffers(op, rewriter, options, state, buffers)))
      return failure();
    bool hasValues = bool(select.getValues());
    SelectOp::create(rewriter, op->getLoc(), TypeRange{}, buffers[0],
                     hasValues ? buffers[1] : Value(),
                     select.getPositions() ? buffers.back() : Value(),
                     select.getFrom(), select.getDescending(),
                     select.getIsUnsigned());
    replaceOpWithBufferizedValues(rewriter, op, ArrayRef(buffers).drop_front());
    return success();
  }
};

/// Rows without a place among the updates' are the destination's.
struct ScatterModel
    : public DstBufferizableOpInterfaceExternalModel<ScatterModel, ScatterOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const bufferization::AnalysisState &) const {
    return true;
  }

  bool bufferizesToElementwiseAccess(Operation *,
                                     const bufferization::AnalysisState &,
                                     ArrayRef<OpOperand *>) const {
    return false;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto scatter = cast<ScatterOp>(op);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> buffers;
    if (failed(getBuffers(op, rewriter, options, state, buffers)))
      return failure();
    ScatterOp::create(rewriter, op->getLoc(), Type(), scatter.getReducerAttr(),
                      buffers[0], buffers[1], buffers[2]);
    replaceOpWithBufferizedValues(rewriter, op, buffers[2]);
    return success();
  }
};
} // namespace

void redfuse::registerBufferizableOpInterfaceModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RedfuseDialect *) {
    LaunchOp::attachInterface<LaunchModel>(*context);
    SelectOp::attachInterface<SelectModel>(*context);
    ScatterOp::attachInterface<ScatterModel>(*context);
  });
}
