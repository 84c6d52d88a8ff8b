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
/// An op that becomes the same op on buffers: `Model::make` creates it with the buffers of
/// all operands (scalars as they are), and returns those of its results. Elements are read
/// again when others are written already, so no access is element by element.
template <typename Model, typename Op>
struct SameOpModel : public DstBufferizableOpInterfaceExternalModel<Model, Op> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> buffers;
    for (Value v : op->getOperands()) {
      if (!isa<TensorType>(v.getType())) {
        buffers.push_back(v);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, v, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    replaceOpWithBufferizedValues(rewriter, op,
                                  Model::make(rewriter, cast<Op>(op), buffers));
    return success();
  }
};

struct LaunchModel : public SameOpModel<LaunchModel, LaunchOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    auto launch = cast<LaunchOp>(op);
    if (!launch.isDpsInit(&operand))
      return true;
    return readsDestination(launch, operand);
  }

  static ValueRange make(OpBuilder &b, LaunchOp launch,
                         ArrayRef<Value> buffers) {
    ArrayRef<Value> inits = buffers.drop_front(launch.getInputs().size());
    LaunchOp::create(b, launch.getLoc(), TypeRange{}, launch.getKernelAttr(),
                     buffers.drop_back(inits.size()), inits);
    return inits;
  }
};

/// A row has ranks enough, or what is left of its destination is of no account.
struct SelectModel : public SameOpModel<SelectModel, SelectOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return !cast<SelectOp>(op).isDpsInit(&operand);
  }

  static ValueRange make(OpBuilder &b, SelectOp select,
                         ArrayRef<Value> buffers) {
    SelectOp::create(b, select.getLoc(), TypeRange{}, buffers[0],
                     select.getValues() ? buffers[1] : Value(),
                     select.getPositions() ? buffers.back() : Value(),
                     select.getFrom(), select.getDescending(),
                     select.getIsUnsigned());
    return buffers.drop_front();
  }
};

/// Rows without a place among the updates' are the destination's.
struct ScatterModel : public SameOpModel<ScatterModel, ScatterOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const bufferization::AnalysisState &) const {
    return true;
  }

  static ValueRange make(OpBuilder &b, ScatterOp scatter,
                         ArrayRef<Value> buffers) {
    ScatterOp::create(b, scatter.getLoc(), Type(), scatter.getReducerAttr(),
                      buffers[0], buffers[1], buffers[2]);
    return buffers.back();
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
