//===- KernelOps.cpp - redfuse.kernel and redfuse.launch ------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

LogicalResult KernelOp::verifyRegions() {
  Block &body = getBody().front();
  int64_t numArgs = body.getNumArguments();
  int64_t numInputs = getNumInputs();
  if (numInputs < 0 || numInputs >= numArgs)
    return emitOpError() << "num_inputs is " << numInputs
                         << ", expected at least 0 and less than the "
                         << numArgs << " arguments (the rest are destinations)";
  for (int64_t i = numInputs; i < numArgs; ++i)
    if (!isa<RankedTensorType>(body.getArgument(i).getType()))
      return emitOpError() << "argument " << i
                           << " is a destination and must be a ranked tensor, "
                              "got "
                           << body.getArgument(i).getType();
  auto yield = cast<YieldOp>(body.getTerminator());
  if (static_cast<int64_t>(yield.getValues().size()) != numArgs - numInputs)
    return yield.emitOpError() << "expected " << numArgs - numInputs
                               << " values, one for each destination, got "
                               << yield.getValues().size();
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (value.getType() != body.getArgument(numInputs + i).getType())
      return yield.emitOpError()
             << "value " << i << " has type " << value.getType()
             << ", but its destination has "
             << body.getArgument(numInputs + i).getType();
  // One iteration space for all: the code generator tiles a dim once.
  SmallVector<int64_t> extents;
  for (auto op : body.getOps<IndexProgramOpInterface>()) {
    SmallVector<int64_t> own = getStaticExtents(op);
    if (extents.empty())
      extents.assign(own.size(), ShapedType::kDynamic);
    if (own.size() != extents.size())
      return op.emitOpError()
             << "has " << own.size()
             << " iteration dims, but the kernel's other ops have "
             << extents.size();
    for (auto [d, extent] : llvm::enumerate(own)) {
      if (!findExtent(op, d) || ShapedType::isDynamic(extent))
        continue;
      if (!ShapedType::isDynamic(extents[d]) && extents[d] != extent)
        return op.emitOpError()
               << "dim " << d << " has extent " << extent
               << ", but another op of the kernel has " << extents[d];
      extents[d] = extent;
    }
  }
  auto schedule = getScheduleAttr();
  if (!schedule || extents.empty())
    return success();
  if (failed(verifySchedule(*this, schedule, extents.size())))
    return failure();
  // No op may reduce a dim in 'stream' any more: a fold that nobody needs is erased.
  for (auto op : body.getOps<IndexProgramOpInterface>())
    if (failed(verifyScheduledDims(op, schedule)))
      return failure();
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getNumResults() != 0 && getNumResults() != getInits().size())
    return emitOpError() << "expected no results (on buffers) or one for each "
                            "of the "
                         << getInits().size() << " inits, got "
                         << getNumResults();
  if (getInits().empty())
    return emitOpError("expected at least one init");
  for (auto [i, init] : llvm::enumerate(getInits())) {
    bool isBuffer = isa<BaseMemRefType>(init.getType());
    if (!isBuffer && !isa<RankedTensorType>(init.getType()))
      return emitOpError() << "init " << i
                           << " must be a ranked tensor or a memref, got "
                           << init.getType();
    if (isBuffer == (getNumResults() != 0))
      return emitOpError() << "init " << i << " has type " << init.getType()
                           << ", expected "
                           << (isBuffer ? "tensors where there are results"
                                        : "buffers where there are no results");
  }
  for (auto [i, result] : llvm::enumerate(getResults()))
    if (result.getType() != getInits()[i].getType())
      return emitOpError() << "result " << i << " has type " << result.getType()
                           << ", but its init has " << getInits()[i].getType();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "'" << getKernel()
                         << "' does not name a redfuse.kernel";
  Block &body = kernel.getBody().front();
  if (getNumOperands() != body.getNumArguments() ||
      getInputs().size() != kernel.getNumInputs())
    return emitOpError() << "passes " << getInputs().size() << " inputs and "
                         << getInits().size() << " inits, but '" << getKernel()
                         << "' takes " << kernel.getNumInputs() << " and "
                         << body.getNumArguments() - kernel.getNumInputs();
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    Type expected = body.getArgument(i).getType(), got = operand.getType();
    auto shaped = dyn_cast<ShapedType>(got);
    auto expectedShaped = dyn_cast<ShapedType>(expected);
    bool same =
        shaped && expectedShaped
            ? shaped.getElementType() == expectedShaped.getElementType() &&
                  succeeded(mlir::verifyCompatibleShape(
                      shaped.getShape(), expectedShaped.getShape()))
            : got == expected;
    if (!same)
      return emitOpError() << "operand " << i << " has type " << got
                           << ", but '" << getKernel() << "' takes "
                           << expected;
  }
  return success();
}

void LaunchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
  // As cf.assert has it: nobody drops the launch.
  if ((*this)->hasAttr(kAssertsAttr))
    effects.emplace_back(MemoryEffects::Write::get());
}
