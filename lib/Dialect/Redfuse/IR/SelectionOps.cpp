//===- SelectionOps.cpp - redfuse.select and redfuse.scatter --------------===//
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

LogicalResult SelectOp::requireBuffers() {
  if (hasPureBufferSemantics())
    return success();
  return emitOpError("works on tensors: bufferize first (-redfuse-bufferize)");
}

LogicalResult SelectOp::reifyResultShapes(OpBuilder &b,
                                          ReifiedRankedShapedTypeDims &shapes) {
  for (OpResult result : getOperation()->getResults())
    shapes.push_back(tensor::getMixedSizes(
        b, getLoc(), getDpsInits()[result.getResultNumber()]));
  return success();
}

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Of destinations and of what is read; `readsInits`: of what was there before, too.
static void addEffects(DestinationStyleOpInterface op, bool readsInits,
                       Effects &effects) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<BaseMemRefType>(operand.get().getType())) {
      if (op.isDpsInit(&operand))
        effects.emplace_back(MemoryEffects::Write::get(), &operand);
      if (!op.isDpsInit(&operand) || readsInits)
        effects.emplace_back(MemoryEffects::Read::get(), &operand);
    }
}

void SelectOp::getEffects(Effects &effects) {
  addEffects(*this, /*readsInits=*/false, effects);
}

std::optional<arith::AtomicRMWKind> ScatterOp::getAtomic(Reducer reducer) {
  switch (reducer) {
  case Reducer::Add:
    return arith::AtomicRMWKind::addi;
  case Reducer::MaxSI:
    return arith::AtomicRMWKind::maxs;
  case Reducer::MinSI:
    return arith::AtomicRMWKind::mins;
  case Reducer::MaxUI:
    return arith::AtomicRMWKind::maxu;
  case Reducer::MinUI:
    return arith::AtomicRMWKind::minu;
  case Reducer::And:
    return arith::AtomicRMWKind::andi;
  case Reducer::Or:
    return arith::AtomicRMWKind::ori;
  default:
    return std::nullopt;
  }
}

LogicalResult ScatterOp::verify() {
  auto updates = cast<ShapedType>(getUpdates().getType());
  auto places = cast<ShapedType>(getPlaces().getType());
  auto destination = cast<ShapedType>(getDestination().getType());
  bool isBuffer = isa<BaseMemRefType>(destination);
  for (ShapedType type : {updates, places})
    if (isa<BaseMemRefType>(type) != isBuffer)
      return emitOpError("expected tensors alone or buffers alone");
  if (!updates.hasRank() || updates.getRank() != 2 || !destination.hasRank() ||
      destination.getRank() != 2 ||
      updates.getElementType() != destination.getElementType() ||
      failed(verifyCompatibleShape(updates.getShape().drop_front(),
                                   destination.getShape().drop_front())))
    return emitOpError() << "expected updates that are rows of the "
                            "destination, got "
                         << updates << " and " << destination;
  if (!places.hasRank() || places.getRank() != 1 ||
      !places.getElementType().isIntOrIndex() ||
      failed(verifyCompatibleShape(places.getShape(),
                                   updates.getShape().take_front())))
    return emitOpError() << "expected an integer for each of " << updates
                         << ", got " << places;
  if (getNumResults() != (isBuffer ? 0 : 1))
    return emitOpError("expected no result on buffers, else one");
  if (!isBuffer && getResult().getType() != destination)
    return emitOpError() << "the result has type " << getResult().getType()
                         << ", but its destination has " << destination;
  if (!getReducer())
    return success();
  Type element = destination.getElementType();
  if (!getAtomic(*getReducer()) ||
      (!element.isInteger(32) && !element.isInteger(64)))
    return emitOpError() << stringifyReducer(*getReducer()) << " of " << element
                         << " depends on the order, or is no atomic; expected "
                            "add, maxsi, minsi, maxui, minui, and, or of i32 "
                            "or i64";
  return success();
}

LogicalResult
ScatterOp::reifyResultShapes(OpBuilder &b,
                             ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(tensor::getMixedSizes(b, getLoc(), getDestination()));
  return success();
}

void ScatterOp::getEffects(Effects &effects) {
  addEffects(*this, /*readsInits=*/true, effects);
}

#define GET_OP_CLASSES
#include "redfuse/Dialect/Redfuse/IR/RedfuseSelection.cpp.inc"
