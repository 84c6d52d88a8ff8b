//===- FragmentEmitter.cpp - values of a body as matrix fragments ---------===//
#include "FragmentEmitter.h"

#include "redfuse/Codegen/GPU/Common/GpuAssertions.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"

#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace redfuse;

using Kind = Fragment::Kind;

const Fragment &FragmentEmitter::get(Value v) {
  auto it = values.find(v);
  if (it == values.end()) {
    Fragment made = make(v);
    it = values.try_emplace(v, std::move(made)).first;
  }
  return it->second;
}

Fragment FragmentEmitter::fill(Value v, TypedAttr value) {
  Fragment result = place.shapeOf((*sets)[v]);
  result.values.assign(place.sizeOf(result), place.constant(value));
  return result;
}

/// A constant, or a scalar from outside the body.
Fragment FragmentEmitter::makeUniform(Value v) {
  Operation *def = v.getDefiningOp();
  Fragment result;
  if (def && def->hasTrait<OpTrait::ConstantLike>())
    result.values = {place.constant(cast<TypedAttr>(def->getAttr("value")))};
  else
    result.values = {captured.lookup(v)};
  return result;
}

Fragment FragmentEmitter::make(Value v) {
  if (auto arg = dyn_cast<BlockArgument>(v);
      arg && arg.getOwner() == op.getProgramBody()) {
    AffineMap map = simplifyForExtents(
        op.getMapOfBodyArgument(arg.getArgNumber()), space.staticExtents);
    return memory.load(memrefs.lookup(op->getOperand(arg.getArgNumber())), map,
                       place.shapeOf((*sets)[arg]));
  }
  Operation *def = v.getDefiningOp();
  if (!def || def->getBlock() != op.getProgramBody() ||
      def->hasTrait<OpTrait::ConstantLike>())
    return makeUniform(v);
  if (auto at = dyn_cast<IndexOp>(def))
    return place.indexOf(at.getDim());
  if (auto reduction = dyn_cast<ReduceOp>(def)) {
    for (auto [result, made] :
         llvm::zip_equal(reduction->getResults(), reducer.reduce(reduction)))
      values[result] = made;
    return values.lookup(v);
  }
  if (Value same = simplify(def))
    return get(same);
  if (def->hasAttr(kPivotAttr))
    return exponentialOfPivot(def, [&](Value v) { return get(v); });
  if (auto cmp = dyn_cast<arith::CmpIOp>(def))
    if (std::optional<Fragment> made = place.compare(cmp))
      return *made;
  // Operands first: `values` may grow while they are made.
  SmallVector<Fragment> operands;
  for (Value operand : def->getOperands())
    operands.push_back(get(operand));
  if (auto div = dyn_cast<arith::DivFOp>(def))
    if (std::optional<Fragment> made = divideRows(div, operands))
      return *made;
  return math.apply(def, operands);
}

void FragmentEmitter::emitAssertions() {
  for (auto assertion : op.getProgramBody()->getOps<cf::AssertOp>()) {
    Fragment holds = get(assertion.getArg());
    for (auto [row, condition] : llvm::enumerate(holds.values)) {
      Value failed = arith::XOrIOp::create(b, loc, condition,
                                           place.constant(b.getBoolAttr(true)));
      if (holds.kind == Kind::Row && place.isRagged(plan.m)) {
        Value exists =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                  place.rowAt(row), place.extents[plan.m]);
        failed = arith::AndIOp::create(b, loc, failed, exists);
      }
      reportFailure(b, assertion.getLoc(), failed, assertion.getMsg());
    }
  }
}

/// What is left of a fold, x * f / y, where y and f (if there is one) are rows: a
/// multiple of x.
std::optional<Fragment>
FragmentEmitter::divideRows(arith::DivFOp div, ArrayRef<Fragment> operands) {
  Fragment x = operands[0], y = operands[1];
  if (!isa<FinalizeOp>(op.getOperation()) || !div.getType().isF32() ||
      place.join(x, y).kind != Kind::Matrix || y.kind != Kind::Row)
    return std::nullopt;
  std::optional<Fragment> factor;
  if (auto mul = div.getLhs().getDefiningOp<arith::MulFOp>())
    for (unsigned i : {0, 1}) {
      Fragment wide = get(mul->getOperand(i)),
               row = get(mul->getOperand(1 - i));
      if (factor || wide.kind != Kind::Matrix || row.kind != Kind::Row)
        continue;
      x = wide;
      factor = row;
    }
  return math.divideRows(x, factor, y);
}

SmallVector<Fragment> FragmentEmitter::evaluate(Block &block,
                                                ArrayRef<Fragment> arguments) {
  DenseMap<Value, Fragment> known;
  for (auto [arg, fragment] : llvm::zip_equal(block.getArguments(), arguments))
    known[arg] = fragment;
  return evaluate(block, std::move(known),
                  block.getTerminator()->getOperands());
}

SmallVector<Fragment> FragmentEmitter::evaluate(Block &block,
                                                DenseMap<Value, Fragment> known,
                                                ValueRange wanted) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> open(wanted);
  while (!open.empty()) {
    Value v = open.pop_back_val();
    Operation *def = known.contains(v) ? nullptr : v.getDefiningOp();
    if (def && needed.insert(def).second)
      llvm::append_range(open, def->getOperands());
  }
  // A block may use what is outside of it.
  auto get = [&](Value v) {
    auto it = known.find(v);
    return it == known.end() ? makeUniform(v) : it->second;
  };
  for (Operation &inner : block.without_terminator()) {
    if (!needed.contains(&inner) || inner.hasTrait<OpTrait::ConstantLike>())
      continue;
    known[inner.getResult(0)] =
        inner.hasAttr(kPivotAttr)
            ? exponentialOfPivot(&inner, get)
            : math.apply(&inner, llvm::map_to_vector(inner.getOperands(), get));
  }
  return llvm::map_to_vector(wanted, get);
}

Fragment FragmentEmitter::exponentialOfPivot(Operation *def,
                                             function_ref<Fragment(Value)> of) {
  arith::SubFOp sub = FragmentMath::getDistance(def).second;
  Fragment x = of(sub.getLhs());
  auto known = exponentials.find(def);
  ExponentialScale scale = known != exponentials.end()
                               ? known->second
                               : math.scaleOfExponential(def, of(sub.getRhs()));
  return math.exponential(x, scale);
}

/// The value that `def` is in this tile: of a decided select what it takes, of a
/// rounding between a product and a reduction of a fold what is rounded.
Value FragmentEmitter::simplify(Operation *def) {
  if (place.isWholeTile)
    if (Value taken = decided.lookup(def))
      return taken;
  return plan.fold ? matchFreeRounding(def) : Value();
}

Value FragmentEmitter::packLeft(const MatrixProduct &product) {
  // Two roundings to the same type are one.
  Value v = stripExtension(product.left);
  if (auto narrow = v.getDefiningOp<arith::TruncFOp>();
      narrow && narrow.getIn().getType().isF32() &&
      v.getType() == product.element)
    v = narrow.getIn();
  Fragment fragment = get(v), shape;
  shape.kind = Kind::Matrix;
  shape.dim = product.k;
  shape.rows = place.layout.rows;
  size_t size = place.sizeOf(shape);
  SmallVector<Value> elements;
  Value left = place.columnsLeft(product.k);
  for (size_t i = 0; i < size; ++i) {
    Value element = place.elementFor(fragment, shape, i);
    if (left)
      element = arith::SelectOp::create(
          b, loc, place.isInside(left, shape.columnOf(i)), element,
          place.constant(b.getZeroAttr(element.getType())));
    if (!element.getType().isF32())
      element = arith::ExtFOp::create(b, loc, b.getF32Type(), element);
    elements.push_back(element);
  }
  auto type =
      tile::OperandType::get(b.getContext(), plan.consumerRows,
                             plan.widths.lookup(product.k), product.element);
  return tile::PackOp::create(b, loc, type, elements);
}
