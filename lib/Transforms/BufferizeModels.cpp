//===- BufferizeModels.cpp - how redfuse.launch bufferizes -----------------===//
#include "redfuse/Transforms/Bufferize.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "redfuse/Dialect/Redfuse.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace redfuse;

namespace {
struct LaunchModel
    : public DstBufferizableOpInterfaceExternalModel<LaunchModel, LaunchOp> {
  // A kernel writes all of its destinations and reads none.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
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
} // namespace

void redfuse::registerBufferizableOpInterfaceModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RedfuseDialect *) {
    LaunchOp::attachInterface<LaunchModel>(*context);
  });
}
