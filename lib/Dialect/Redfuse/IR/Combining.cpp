//===- Combining.cpp - ops that combine by a reducer ----------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace redfuse;

static bool hasPairs(Reducer reducer) {
  return llvm::is_contained({Reducer::ArgMax, Reducer::ArgMin, Reducer::TopK},
                            reducer);
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

TypedAttr redfuse::getIdentityOf(CombiningOpInterface op, unsigned i) {
  if (op.isDeclared())
    return cast<TypedAttr>(op.getIdentitiesAttr()[i]);
  Type type = op->getOperand(i).getType();
  if (i == 0)
    return getReducerIdentity(op.getReducer(), type);
  // Among equals the lowest index wins, so that the identity is the highest; a
  // slot of a list that nothing has filled has none.
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Builder b(type.getContext());
  if (op.getReducer() == Reducer::TopK)
    return b.getIntegerAttr(type, APInt::getAllOnes(width));
  return b.getIntegerAttr(type, APInt::getSignedMaxValue(width));
}

SmallVector<Value> redfuse::inlineCombiner(OpBuilder &b, Region &combine,
                                           ValueRange lhs, ValueRange rhs) {
  Block &block = combine.front();
  IRMapping mapping;
  unsigned k = lhs.size();
  for (unsigned i = 0; i < k; ++i) {
    mapping.map(block.getArgument(i), lhs[i]);
    mapping.map(block.getArgument(k + i), rhs[i]);
  }
  for (Operation &op : block.without_terminator())
    b.clone(op, mapping);
  return llvm::map_to_vector(cast<YieldOp>(block.getTerminator()).getValues(),
                             [&](Value v) { return mapping.lookup(v); });
}

SmallVector<Value> redfuse::combineStates(OpBuilder &b, Location loc,
                                          CombiningOpInterface op,
                                          ValueRange lhs, ValueRange rhs) {
  if (op.isDeclared())
    return inlineCombiner(b, op.getCombine(), lhs, rhs);
  return {createCombiner(b, loc, op.getReducer(), lhs[0], rhs[0])};
}

ReduceOp redfuse::createReduce(OpBuilder &b, Location loc,
                               CombiningOpInterface op, ValueRange operands,
                               ArrayRef<int64_t> over, ArrayRef<int64_t> into) {
  auto reduce = ReduceOp::create(b, loc, op.getReducer(), operands, over, into);
  if (op.isDeclared()) {
    reduce.setIdentitiesAttr(op.getIdentitiesAttr());
    reduce.setOrdered(op.getOrdered());
    IRMapping mapping;
    op.getCombine().cloneInto(&reduce.getCombine(), mapping);
  }
  return reduce;
}

bool redfuse::haveSameReducer(CombiningOpInterface a, CombiningOpInterface b) {
  return a.getReducer() == b.getReducer() &&
         a.getIdentitiesAttr() == b.getIdentitiesAttr() &&
         a.getOrdered() == b.getOrdered() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getCombine(), &b.getCombine(),
             OperationEquivalence::IgnoreLocations);
}

//===----------------------------------------------------------------------===//
// Construction and verification
//===----------------------------------------------------------------------===//

void ReduceOp::build(OpBuilder &, OperationState &state, Reducer reducer,
                     ValueRange operands, ArrayRef<int64_t> over,
                     ArrayRef<int64_t> into) {
  MLIRContext *context = state.getContext();
  state.addOperands(operands);
  state.addTypes(operands.getTypes());
  auto &properties = state.getOrAddProperties<Properties>();
  properties.reducer = ReducerAttr::get(context, reducer);
  properties.over = DenseI64ArrayAttr::get(context, over);
  properties.into = DenseI64ArrayAttr::get(context, into);
  state.addRegion();
}

static LogicalResult inferFromOperands(ValueRange operands,
                                       SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         ValueRange operands, DictionaryAttr,
                                         OpaqueProperties, RegionRange,
                                         SmallVectorImpl<Type> &types) {
  return inferFromOperands(operands, types);
}

LogicalResult ScanOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  return inferFromOperands(operands, types);
}

/// What declares a reducer of states of `types`.
static LogicalResult verifyDeclaration(Operation *op, TypeRange types,
                                       ArrayAttr identities, Region &combine) {
  unsigned n = types.size();
  if (n == 0)
    return op->emitOpError("a declared reducer takes at least one operand");
  if (!identities || identities.size() != n)
    return op->emitOpError()
           << "expected " << n << " 'identities', one for each operand, got "
           << (identities ? identities.size() : 0);
  for (auto [i, attr] : llvm::enumerate(identities)) {
    auto typed = dyn_cast<TypedAttr>(attr);
    if (!typed || typed.getType() != types[i])
      return op->emitOpError()
             << "identity " << i << " must be a constant of type " << types[i]
             << ", got " << attr;
  }
  if (combine.empty())
    return op->emitOpError("a declared reducer needs a combining region");
  return success();
}

/// The combining region of a reducer of states of `types`.
static LogicalResult verifyRegion(Operation *op, TypeRange types,
                                  Region &combine) {
  Block &block = combine.front();
  unsigned n = types.size();
  if (block.getNumArguments() != 2 * n)
    return op->emitOpError() << "the combining region takes " << 2 * n
                             << " arguments, a left and a right state, got "
                             << block.getNumArguments();
  for (unsigned i = 0; i < 2 * n; ++i)
    if (block.getArgument(i).getType() != types[i % n])
      return op->emitOpError()
             << "argument " << i << " of the combining region has type "
             << block.getArgument(i).getType() << ", expected " << types[i % n];
  auto yield = dyn_cast_or_null<YieldOp>(
      block.mightHaveTerminator() ? block.getTerminator() : nullptr);
  if (!yield)
    return op->emitOpError(
        "expected the combining region to end with redfuse.yield");
  if (yield.getValues().getTypes() != types)
    return yield.emitOpError()
           << "expected one value for each operand, of its type";
  for (Operation &inner : block.without_terminator()) {
    if (inner.getNumRegions() != 0 || !isMemoryEffectFree(&inner) ||
        isa<IndexOp, MergeTopkOp>(inner))
      return inner.emitOpError("cannot stand in a combining region, which is "
                               "made of pure scalar ops");
    for (Type type : inner.getResultTypes())
      if (!type.isIntOrIndexOrFloat())
        return inner.emitOpError() << "makes a value of type " << type
                                   << "; a combining region works on scalars";
  }
  return success();
}

static LogicalResult verifyCombiningRegion(CombiningOpInterface op) {
  if (!op.isDeclared())
    return success();
  return verifyRegion(op, op->getOperandTypes(), op.getCombine());
}

/// What reductions and scans have in common.
static LogicalResult verifyCombining(CombiningOpInterface op) {
  Reducer reducer = op.getReducer();
  StringRef name = stringifyReducer(reducer);
  if (!isa<IndexProgramOpInterface>(op->getParentOp()))
    return op->emitOpError("must stand in the body of a redfuse op");
  if (op->getResultTypes() != op->getOperandTypes())
    return op->emitOpError("expected the results to have the operands' types");
  unsigned n = op->getNumOperands();
  if (!op.isDeclared()) {
    unsigned expected = hasPairs(reducer) ? 2 : 1;
    if (n != expected)
      return op->emitOpError() << name << " takes " << expected << " operand"
                               << (expected == 1 ? "" : "s") << ", got " << n;
    if (op.getIdentitiesAttr() || op.getOrdered() || !op.getCombine().empty())
      return op->emitOpError()
             << "only a declared reducer has 'identities', 'ordered' and a "
                "combining region, got "
             << name;
    if (!getReducerIdentity(reducer, op->getOperand(0).getType()))
      return op->emitOpError() << name << " does not reduce values of type "
                               << op->getOperand(0).getType();
    return success();
  }
  return verifyDeclaration(op, op->getOperandTypes(), op.getIdentitiesAttr(),
                           op.getCombine());
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyCombining(*this)))
    return failure();
  if (getOver().empty())
    return emitOpError("'over' must name at least one dim");
  if (hasPairs(getReducer()) && !getOperand(1).getType().isIntOrIndex())
    return emitOpError() << "the second operand of "
                         << stringifyReducer(getReducer())
                         << " is an index, got " << getOperand(1).getType();
  return success();
}

LogicalResult ReduceOp::verifyRegions() { return verifyCombiningRegion(*this); }

LogicalResult ScanOp::verify() {
  if (hasPairs(getReducer()))
    return emitOpError() << "does not take " << stringifyReducer(getReducer());
  return verifyCombining(*this);
}

LogicalResult ScanOp::verifyRegions() { return verifyCombiningRegion(*this); }

LogicalResult CombineOp::verify() {
  SmallVector<Type> both(getResultTypes());
  llvm::append_range(both, getResultTypes());
  if (TypeRange(both) != TypeRange(getOperandTypes()))
    return emitOpError("expected a left and a right state of the types of the "
                       "results as operands");
  return verifyDeclaration(*this, getResultTypes(), getIdentities(),
                           getCombine());
}

LogicalResult CombineOp::verifyRegions() {
  return verifyRegion(*this, getResultTypes(), getCombine());
}

LogicalResult MergeTopkOp::verify() {
  if (!isa<IndexProgramOpInterface>((*this)->getParentOp()))
    return emitOpError("must stand in the body of a redfuse op");
  return success();
}
