//===- SelectionOps.cpp - redfuse.select ----------------------------------===//
#include "redfuse/Dialect/Redfuse/IR/Selection.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace redfuse;

LogicalResult SelectOp::verify() {
  OperandRange inits = getOperands().drop_front();
  if (inits.empty())
    return emitOpError("selects nothing; expected destinations for values, for "
                       "positions, or for both");
  auto input = cast<ShapedType>(getInput().getType());
  if (!input.hasRank() || input.getRank() == 0 ||
      !input.getElementType().isIntOrIndexOrFloat())
    return emitOpError() << "expected rows of numbers, got " << input;
  bool isBuffer = isa<BaseMemRefType>(input);
  if (getNumResults() != (isBuffer ? 0 : inits.size()))
    return emitOpError() << "expected no results on buffers, else one for each "
                            "of the "
                         << inits.size() << " destinations; got "
                         << getNumResults();
  for (auto [i, init] : llvm::enumerate(inits)) {
    auto type = cast<ShapedType>(init.getType());
    if (isa<BaseMemRefType>(type) != isBuffer)
      return emitOpError("expected tensors alone or buffers alone");
    if (!type.hasRank() || type.getRank() != input.getRank() ||
        failed(verifyCompatibleShape(type.getShape().drop_back(),
                                     input.getShape().drop_back())))
      return emitOpError() << "destination " << i << " has type " << type
                           << "; expected the rows of " << input;
    if (!isBuffer && getResult(i).getType() != type)
      return emitOpError() << "result " << i << " has type "
                           << getResult(i).getType()
                           << ", but its destination has " << type;
  }
  if (getValues() && cast<ShapedType>(getValues().getType()).getElementType() !=
                         input.getElementType())
    return emitOpError() << "values have another type than " << input;
  if (getPositions() && !cast<ShapedType>(getPositions().getType())
                             .getElementType()
                             .isIntOrIndex())
    return emitOpError() << "positions are integers or of type index, got "
                         << getPositions().getType();
  return success();
}

LogicalResult SelectOp::reifyResultShapes(OpBuilder &b,
                                          ReifiedRankedShapedTypeDims &shapes) {
  for (OpResult result : getOperation()->getResults())
    shapes.push_back(tensor::getMixedSizes(
        b, getLoc(), getDpsInits()[result.getResultNumber()]));
  return success();
}

void SelectOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands())
    if (isa<BaseMemRefType>(operand.get().getType())) {
      if (isDpsInit(&operand))
        effects.emplace_back(MemoryEffects::Write::get(), &operand);
      else
        effects.emplace_back(MemoryEffects::Read::get(), &operand);
    }
}

#define GET_OP_CLASSES
#include "redfuse/Dialect/Redfuse/IR/RedfuseSelection.cpp.inc"
