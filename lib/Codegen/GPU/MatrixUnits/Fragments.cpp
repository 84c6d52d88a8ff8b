//===- Fragments.cpp - values of a body as matrix fragments ---------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Fragments.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"

#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace redfuse;

using Kind = Fragment::Kind;

//===----------------------------------------------------------------------===//
// Shapes and positions
//===----------------------------------------------------------------------===//

Value FragmentEmitter::constant(TypedAttr attr) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return arith::ConstantOp::create(b, loc, attr);
}

Fragment FragmentEmitter::shapeOf(const SmallBitVector &dims) const {
  Fragment shape;
  shape.rows = layout.rows;
  bool hasRows = dims.test(plan.m), hasColumns = false;
  for (unsigned d : dims.set_bits())
    if (d != plan.m && plan.isColumn(d)) {
      shape.dim = d;
      hasColumns = true;
    }
  shape.kind = hasRows ? (hasColumns ? Kind::Matrix : Kind::Row)
                       : (hasColumns ? Kind::Column : Kind::Uniform);
  return shape;
}

size_t FragmentEmitter::sizeOf(const Fragment &shape) const {
  switch (shape.kind) {
  case Kind::Uniform:
    return 1;
  case Kind::Row:
    return layout.rows;
  case Kind::Column:
    return plan.widths.lookup(shape.dim) / layout.lanes;
  case Kind::Matrix:
    return layout.rows * plan.widths.lookup(shape.dim) / layout.lanes;
  }
  llvm_unreachable("unknown kind");
}

Fragment FragmentEmitter::join(const Fragment &x, const Fragment &y) const {
  bool hasRows = x.kind == Kind::Row || x.kind == Kind::Matrix ||
                 y.kind == Kind::Row || y.kind == Kind::Matrix;
  Fragment result;
  result.rows = layout.rows;
  bool hasColumns = false;
  for (const Fragment *f : {&x, &y})
    if (f->kind == Kind::Column || f->kind == Kind::Matrix) {
      hasColumns = true;
      result.dim = f->dim;
    }
  result.kind = hasRows ? (hasColumns ? Kind::Matrix : Kind::Row)
                        : (hasColumns ? Kind::Column : Kind::Uniform);
  return result;
}

Value FragmentEmitter::elementFor(const Fragment &f, const Fragment &shape,
                                  size_t i) {
  switch (shape.kind) {
  case Kind::Uniform:
    return f.values[0];
  case Kind::Row:
    return f.kind == Kind::Row ? f.values[i] : f.values[0];
  case Kind::Column:
    return f.kind == Kind::Column ? f.values[i] : f.values[0];
  case Kind::Matrix:
    return f.at(i);
  }
  llvm_unreachable("unknown kind");
}

Value FragmentEmitter::rowAt(size_t half) {
  Value row = offsets[plan.m];
  return half == 0 ? row
                   : Value(arith::AddIOp::create(
                         b, loc, row, index(half * (32 / layout.lanes))));
}

/// How far behind the thread's first column another one is.
int64_t FragmentEmitter::stepOf(size_t column) const {
  return int64_t(column) / 2 * 2 * layout.lanes + column % 2;
}

/// `column` counts what a thread has.
Value FragmentEmitter::columnAt(unsigned d, size_t column) {
  Value t = arith::AndIOp::create(b, loc, lane, ptx.i32(layout.lanes - 1));
  Value twice = arith::AddIOp::create(b, loc, t, t);
  Value own = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), twice);
  Value base =
      offsets[d] ? Value(arith::AddIOp::create(b, loc, offsets[d], own)) : own;
  int64_t step = stepOf(column);
  return step == 0 ? base
                   : Value(arith::AddIOp::create(b, loc, base, index(step)));
}

bool FragmentEmitter::isRagged(unsigned d) const {
  if (isWholeTile && d == plan.stream)
    return false;
  int64_t extent = space.staticExtents[d];
  if (ends[d] || ShapedType::isDynamic(extent))
    return true;
  int64_t tile = d == plan.m ? plan.rows() : plan.widths.lookup(d);
  return extent % tile != 0;
}

Value FragmentEmitter::columnsLeft(unsigned d) {
  if (!isRagged(d))
    return {};
  Value left = arith::SubIOp::create(b, loc, endOf(d), columnAt(d, 0));
  // No more than fits a word; a tile has fewer columns.
  left = arith::MinSIOp::create(b, loc, left, index(1 << 20));
  left = arith::MaxSIOp::create(b, loc, left, index(0));
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), left);
}

Value FragmentEmitter::isInside(Value left, size_t column) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                               ptx.i32(stepOf(column)), left);
}

/// The index of element `i` in every dim. Clamped: inside the tensor, whether the
/// element exists or not.
SmallVector<Value> FragmentEmitter::positionsAt(const Fragment &shape, size_t i,
                                                bool isClamped) {
  SmallVector<Value> positions;
  auto clamp = [&](unsigned d, Value at) -> Value {
    if (!isClamped || !isRagged(d))
      return at;
    Value last = arith::SubIOp::create(b, loc, extents[d], index(1));
    return arith::MinSIOp::create(b, loc, at, last);
  };
  bool hasRows = shape.kind == Kind::Row || shape.kind == Kind::Matrix;
  bool hasColumns = shape.kind == Kind::Column || shape.kind == Kind::Matrix;
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (d == plan.m && hasRows)
      positions.push_back(
          clamp(d, rowAt(shape.kind == Kind::Row ? i : shape.rowOf(i))));
    else if (hasColumns && d == shape.dim)
      positions.push_back(clamp(
          d, columnAt(d, shape.kind == Kind::Column ? i : shape.columnOf(i))));
    else
      positions.push_back(offsets[d] ? offsets[d] : index(0));
  }
  return positions;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const Fragment &FragmentEmitter::get(Value v) {
  auto it = values.find(v);
  if (it == values.end()) {
    Fragment made = make(v);
    it = values.try_emplace(v, std::move(made)).first;
  }
  return it->second;
}

Fragment FragmentEmitter::fill(Value v, TypedAttr value) {
  Fragment result = shapeOf((*sets)[v]);
  result.values.assign(sizeOf(result), constant(value));
  return result;
}

/// A constant, or a scalar from outside the body.
Fragment FragmentEmitter::makeUniform(Value v) {
  Operation *def = v.getDefiningOp();
  Fragment result;
  if (def && def->hasTrait<OpTrait::ConstantLike>())
    result.values = {constant(cast<TypedAttr>(def->getAttr("value")))};
  else
    result.values = {captured.lookup(v)};
  return result;
}

Fragment FragmentEmitter::make(Value v) {
  if (auto arg = dyn_cast<BlockArgument>(v);
      arg && arg.getOwner() == op.getProgramBody()) {
    AffineMap map = simplifyForExtents(
        op.getMapOfBodyArgument(arg.getArgNumber()), space.staticExtents);
    return load(memrefs.lookup(op->getOperand(arg.getArgNumber())), map,
                shapeOf((*sets)[arg]));
  }
  Operation *def = v.getDefiningOp();
  if (!def || def->getBlock() != op.getProgramBody() ||
      def->hasTrait<OpTrait::ConstantLike>())
    return makeUniform(v);
  if (auto at = dyn_cast<IndexOp>(def))
    return indexOf(at.getDim());
  if (auto reduction = dyn_cast<ReduceOp>(def)) {
    reduce(reduction);
    return values.lookup(v);
  }
  if (Value same = simplify(def))
    return get(same);
  if (def->hasAttr(kPivotAttr))
    return exponentialOfPivot(def, [&](Value v) { return get(v); });
  if (auto cmp = dyn_cast<arith::CmpIOp>(def))
    if (std::optional<Fragment> made = comparePositions(cmp))
      return *made;
  // Operands first: `values` may grow while they are made.
  SmallVector<Fragment> operands;
  for (Value operand : def->getOperands())
    operands.push_back(get(operand));
  return apply(def, operands);
}

/// What an integer made of indices cannot exceed in magnitude.
double FragmentEmitter::boundOf(Value v) const {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  Operation *def = v.getDefiningOp();
  if (auto at = dyn_cast_or_null<IndexOp>(def)) {
    // Tiles reach beyond the end.
    int64_t extent = space.staticExtents[at.getDim()];
    return ShapedType::isDynamic(extent) ? kUnknown : double(extent) + 4096;
  }
  if (auto value = getConstantIntValue(getAsOpFoldResult(v)))
    return std::abs(double(*value));
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(def))
    return boundOf(def->getOperand(0));
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(def))
    return boundOf(def->getOperand(0)) + boundOf(def->getOperand(1));
  return kUnknown;
}

namespace {
/// What is linear in positions.
struct LinearPosition {
  SmallVector<int64_t> factors;
  int64_t constant = 0;

  /// Adds `v` so many times; false if it is not linear.
  bool add(Value v, int64_t times) {
    Operation *def = v.getDefiningOp();
    if (auto at = dyn_cast_or_null<IndexOp>(def)) {
      factors[at.getDim()] += times;
      return true;
    }
    if (auto value = getConstantIntValue(getAsOpFoldResult(v))) {
      constant += times * *value;
      return true;
    }
    if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(def))
      return add(def->getOperand(0), times);
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(def))
      return add(def->getOperand(0), times) &&
             add(def->getOperand(1), isa<arith::SubIOp>(def) ? -times : times);
    return false;
  }
};
} // namespace

/// A comparison of sums of positions, one of them a column's: where the thread's first
/// column is is subtracted once, and what is left is compared with a constant for each
/// of its columns. (Sums for each would also be so many induction variables to LLVM.)
std::optional<Fragment> FragmentEmitter::comparePositions(arith::CmpIOp cmp) {
  using P = arith::CmpIPredicate;
  P predicate = cmp.getPredicate();
  Type type = cmp.getLhs().getType();
  if (!llvm::is_contained({P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge},
                          predicate) ||
      (!type.isIndex() && !type.isInteger(64)) ||
      !(boundOf(cmp.getLhs()) + boundOf(cmp.getRhs()) < double(1 << 30)))
    return std::nullopt;
  LinearPosition difference;
  difference.factors.assign(space.numDims, 0);
  if (!difference.add(cmp.getLhs(), 1) || !difference.add(cmp.getRhs(), -1))
    return std::nullopt;
  SmallBitVector dims(space.numDims);
  unsigned columns = 0;
  for (unsigned d = 0; d < space.numDims; ++d)
    if (difference.factors[d]) {
      dims.set(d);
      columns += d != plan.m && plan.isColumn(d);
    }
  if (columns != 1)
    return std::nullopt;
  Fragment result = shapeOf(dims);
  Fragment first;
  first.rows = layout.rows;
  first.kind = result.kind == Kind::Matrix ? Kind::Row : Kind::Uniform;
  for (size_t half = 0, n = sizeOf(first); half < n; ++half) {
    Value sum = ptx.i32(difference.constant);
    for (unsigned d : dims.set_bits()) {
      Value at = d == plan.m       ? rowAt(half)
                 : d == result.dim ? columnAt(d, 0)
                 : offsets[d]      ? offsets[d]
                                   : index(0);
      at = arith::IndexCastOp::create(b, loc, b.getI32Type(), at);
      int64_t factor = difference.factors[d];
      if (std::abs(factor) != 1)
        at = arith::MulIOp::create(b, loc, at, ptx.i32(std::abs(factor)));
      sum = factor > 0 ? Value(arith::AddIOp::create(b, loc, sum, at))
                       : Value(arith::SubIOp::create(b, loc, sum, at));
    }
    first.values.push_back(sum);
  }
  for (size_t i = 0, n = sizeOf(result); i < n; ++i) {
    int64_t step = stepOf(result.kind == Kind::Column ? i : result.columnOf(i));
    result.values.push_back(
        arith::CmpIOp::create(b, loc, predicate, elementFor(first, result, i),
                              ptx.i32(-step * difference.factors[result.dim])));
  }
  return result;
}

/// Comparisons of positions take half the instructions in 32 bits.
void FragmentEmitter::narrowPositions(arith::CmpIOp cmp,
                                      MutableArrayRef<Fragment> operands) {
  Type type = cmp.getLhs().getType(), i32 = b.getI32Type();
  if (!type.isIndex() && !type.isInteger(64))
    return;
  for (Value v : cmp.getOperands())
    if (!(boundOf(v) < double(1 << 30)))
      return;
  for (Fragment &operand : operands)
    for (Value &v : operand.values)
      v = type.isIndex() ? Value(arith::IndexCastOp::create(b, loc, i32, v))
                         : Value(arith::TruncIOp::create(b, loc, i32, v));
}

/// Whether an op rounds f32 to 16 bits, in which the body computes on.
static bool isRoundedToCompute(Operation *def) {
  auto narrow = dyn_cast<arith::TruncFOp>(def);
  return narrow && narrow.getIn().getType().isF32() &&
         narrow.getType().getIntOrFloatBitWidth() == 16 &&
         llvm::any_of(def->getUsers(), [](Operation *user) {
           return !isa<YieldOp, arith::ExtFOp, ReduceOp>(user);
         });
}

/// Two values are rounded by one instruction. (Single ones ptxas may move among
/// running products, which it then serialises: where arithmetic in 16 bits follows,
/// or stores of single elements.)
Fragment FragmentEmitter::roundPairs(Type element, const Fragment &x) {
  Fragment result = x;
  for (size_t i = 0; i + 1 < x.values.size(); i += 2) {
    Value pair = ptx.pack(element, x.values[i], x.values[i + 1]);
    pair = vector::FromElementsOp::create(
        b, loc, VectorType::get({1}, b.getI32Type()), pair);
    pair =
        vector::BitCastOp::create(b, loc, VectorType::get({2}, element), pair);
    for (int64_t k : {0, 1})
      result.values[i + k] = vector::ExtractOp::create(b, loc, pair, k);
  }
  return result;
}

Fragment FragmentEmitter::apply(Operation *def, ArrayRef<Fragment> given) {
  SmallVector<Fragment> operands(given);
  if (isRoundedToCompute(def) && given[0].values.size() % 2 == 0)
    return roundPairs(def->getResult(0).getType(), given[0]);
  if (auto cmp = dyn_cast<arith::CmpIOp>(def))
    narrowPositions(cmp, operands);
  bool isF32 = def->getResult(0).getType().isF32();
  if (isa<math::ExpOp, math::Exp2Op>(def) && isF32)
    return exponential(def, operands[0]);
  if (auto div = dyn_cast<arith::DivFOp>(def); div && isF32)
    return divide(div, operands[0], operands[1]);
  Fragment result;
  for (const Fragment &operand : operands)
    result = join(result, operand);
  size_t size = sizeOf(result);
  for (size_t i = 0; i < size; ++i) {
    SmallVector<Value> elements;
    for (const Fragment &operand : operands)
      elements.push_back(elementFor(operand, result, i));
    result.values.push_back(emitElement(def, elements));
  }
  return result;
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
            : apply(&inner, llvm::map_to_vector(inner.getOperands(), get));
  }
  return llvm::map_to_vector(wanted, get);
}

Value FragmentEmitter::emitElement(Operation *def, ArrayRef<Value> operands) {
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(def->getOperands(), operands))
    mapping.map(from, to);
  Operation *made = b.clone(*def, mapping);
  // A product and a sum may be one instruction: one rounding less. Not so a
  // difference: a product less its own maximum would not be 0 at the maximum, but
  // the rounding error of that, whose exponential can overflow.
  bool isDifference = llvm::any_of(def->getOperands(), [](Value v) {
    return v.getDefiningOp<arith::NegFOp>();
  });
  if (isa<arith::MulFOp, arith::AddFOp>(made) && !isDifference)
    made->setAttr("fastmath",
                  arith::FastMathFlagsAttr::get(
                      b.getContext(), arith::FastMathFlags::contract));
  return made->getResult(0);
}

/// exp(x) is 2 to the power of x * log2(e), of the exponential unit.
Fragment FragmentEmitter::exponential(Operation *def, const Fragment &x) {
  Fragment result = x;
  result.values.clear();
  Value scale = constant(b.getF32FloatAttr(1.44269504088896340736f));
  for (Value element : x.values) {
    if (isa<math::ExpOp>(def))
      element = arith::MulFOp::create(b, loc, element, scale);
    result.values.push_back(ptx.exp2(element));
  }
  return result;
}

/// The constant by which a distance from a pivot is multiplied, and the distance.
static std::pair<float, arith::SubFOp> getDistance(Operation *exponential) {
  float k = isa<math::ExpOp>(exponential) ? 1.44269504088896340736f : 1.0f;
  Value exponent = exponential->getOperand(0);
  if (auto scaled = matchScaled(exponent)) {
    k = float(double(k) * scaled->by);
    exponent = scaled->value;
  }
  return {k, exponent.getDefiningOp<arith::SubFOp>()};
}

Value redfuse::getPivotOfExponential(Operation *exponential) {
  return getDistance(exponential).second.getRhs();
}

/// exp(c * (x - p)) is 2 to the power of x * k - p * k, k = c * log2(e), with one
/// rounding. So it is relative to p * k as rounded, in every tile alike, which is
/// as good a pivot as p. It would not be where the rounding error of p * k is a
/// large exponent itself: there k is a power of 2, and p * k exact. Neighbours
/// among the values of x are so far apart then that their exponentials are 0.
ExponentialScale FragmentEmitter::scaleOfExponential(Operation *def,
                                                     const Fragment &pivot) {
  constexpr float kExact = 1 << 29;
  float k = getDistance(def).first;
  ExponentialScale result{pivot, pivot};
  result.by.values.clear();
  result.from.values.clear();
  Value exact = constant(b.getF32FloatAttr(k));
  Value power =
      constant(b.getF32FloatAttr(std::exp2(std::floor(std::log2(k)))));
  Value limit = constant(b.getF32FloatAttr(kExact));
  for (Value v : pivot.values) {
    Value most =
        math::AbsFOp::create(b, loc, arith::MulFOp::create(b, loc, v, exact));
    Value isNear =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, most, limit);
    Value by = arith::SelectOp::create(b, loc, isNear, exact, power);
    result.by.values.push_back(by);
    result.from.values.push_back(
        arith::NegFOp::create(b, loc, arith::MulFOp::create(b, loc, v, by)));
  }
  return result;
}

Fragment FragmentEmitter::exponentialOfPivot(Operation *def,
                                             function_ref<Fragment(Value)> of) {
  arith::SubFOp sub = getDistance(def).second;
  Fragment x = of(sub.getLhs());
  auto known = exponentials.find(def);
  ExponentialScale scale = known != exponentials.end()
                               ? known->second
                               : scaleOfExponential(def, of(sub.getRhs()));
  Fragment result = join(x, scale.from);
  for (size_t i = 0, size = sizeOf(result); i < size; ++i) {
    Value by = elementFor(scale.by, result, i),
          from = elementFor(scale.from, result, i);
    Value of = elementFor(x, result, i);
    // Rows are pivots before: rounded as they were then.
    Value y = result.kind == Fragment::Kind::Matrix
                  ? Value(math::FmaOp::create(b, loc, of, by, from))
                  : Value(arith::AddFOp::create(
                        b, loc, arith::MulFOp::create(b, loc, of, by), from));
    result.values.push_back(ptx.exp2(y));
  }
  return result;
}

Value FragmentEmitter::isAbove(const Fragment &value, const Fragment &limit) {
  Value result;
  for (size_t i = 0; i < value.values.size(); ++i) {
    Value one =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT,
                              value.values[i], elementFor(limit, value, i));
    result = result ? Value(arith::OrIOp::create(b, loc, result, one)) : one;
  }
  return ptx.isAny(result);
}

/// The value that `def` is in this tile: of a decided select what it takes, of a
/// rounding between a product and a reduction of a fold what is rounded.
Value FragmentEmitter::simplify(Operation *def) {
  if (isWholeTile)
    if (Value taken = decided.lookup(def))
      return taken;
  return plan.fold ? matchFreeRounding(def) : Value();
}

/// The constant that a value is, if its reciprocal is a normal number.
static std::optional<float> getDivisor(Value v) {
  auto constant = v.getDefiningOp<arith::ConstantOp>();
  auto attr = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  if (!attr || !attr.getType().isF32())
    return std::nullopt;
  float value = attr.getValue().convertToFloat();
  if (!std::isnormal(value) || !std::isnormal(1.0f / value))
    return std::nullopt;
  return value;
}

/// Division of a whole matrix: by a constant it is a product with the reciprocal
/// (rounded once more), and by what a row shares it becomes one
/// (redfuse-expand-math); else the division that is exact to two units.
Fragment FragmentEmitter::divide(arith::DivFOp div, const Fragment &x,
                                 const Fragment &y) {
  Fragment result = join(x, y);
  if (isa<FinalizeOp>(op.getOperation()) &&
      div->getBlock() == op.getProgramBody() && result.kind == Kind::Matrix &&
      y.kind == Kind::Row && div.getType().isF32())
    return divideRows(div, x, y);
  std::optional<float> divisor;
  if (plan.fold)
    divisor = getDivisor(div.getRhs());
  Value reciprocal;
  if (divisor)
    reciprocal = constant(b.getF32FloatAttr(float(1.0 / double(*divisor))));
  for (size_t i = 0, size = sizeOf(result); i < size; ++i) {
    Value top = elementFor(x, result, i), bottom = elementFor(y, result, i);
    if (divisor)
      result.values.push_back(product(top, reciprocal));
    else if (result.kind == Kind::Matrix && y.kind != Kind::Row &&
             y.kind != Kind::Uniform)
      result.values.push_back(ptx.divide(top, bottom));
    else
      result.values.push_back(arith::DivFOp::create(b, loc, top, bottom));
  }
  return result;
}

/// What is left of a fold, x * f / y, where y and f (if there is one) are rows: a
/// multiple of x, by f times the reciprocal of y. Where the reciprocal would overflow
/// or be subnormal, y is scaled by a power of two first, and x with it.
Fragment FragmentEmitter::divideRows(arith::DivFOp div, Fragment x,
                                     const Fragment &y) {
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
  auto f32 = [&](float v) { return constant(b.getF32FloatAttr(v)); };
  auto compare = [&](arith::CmpFPredicate how, Value v, float limit) -> Value {
    return arith::CmpFOp::create(b, loc, how, v, f32(limit));
  };
  SmallVector<Value> scales, multiples;
  Value isScaled;
  for (auto [row, v] : llvm::enumerate(y.values)) {
    Value size = math::AbsFOp::create(b, loc, v);
    Value isSmall = compare(arith::CmpFPredicate::OLT, size, 0x1p-64f);
    Value isLarge = compare(arith::CmpFPredicate::OGT, size, 0x1p64f);
    Value scale =
        arith::SelectOp::create(b, loc, isLarge, f32(0x1p-64f), f32(1));
    scale = arith::SelectOp::create(b, loc, isSmall, f32(0x1p64f), scale);
    Value inverse = ptx.divide(f32(1), product(v, scale));
    scales.push_back(scale);
    multiples.push_back(factor ? product(inverse, factor->values[row])
                               : inverse);
    Value one = arith::OrIOp::create(b, loc, isSmall, isLarge);
    isScaled =
        isScaled ? Value(arith::OrIOp::create(b, loc, isScaled, one)) : one;
  }
  // In most warps no row is scaled.
  auto branch = scf::IfOp::create(b, loc, ValueRange(x.values).getTypes(),
                                  ptx.isAny(isScaled), /*withElse=*/true);
  auto yield = [&](Block *block, bool isScaled) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> values;
    for (auto [i, v] : llvm::enumerate(x.values)) {
      size_t row = x.rowOf(i);
      Value top = isScaled ? product(v, scales[row]) : v;
      values.push_back(product(top, multiples[row]));
    }
    scf::YieldOp::create(b, loc, values);
  };
  yield(branch.thenBlock(), true);
  yield(branch.elseBlock(), false);
  x.values.assign(branch.getResults().begin(), branch.getResults().end());
  return x;
}

Value FragmentEmitter::product(Value x, Value y) {
  return arith::MulFOp::create(
      b, loc, x, y,
      arith::FastMathFlagsAttr::get(b.getContext(),
                                    arith::FastMathFlags::contract));
}

/// What a value is a positive multiple of, and by how much.
std::pair<Value, Value> FragmentEmitter::scaleOf(Value v) {
  auto positive = [&](Value c) -> Value {
    auto constantOp = c.getDefiningOp<arith::ConstantOp>();
    auto attr =
        constantOp ? dyn_cast<FloatAttr>(constantOp.getValue()) : FloatAttr();
    if (!attr || !attr.getType().isF32() ||
        !(attr.getValue().convertToFloat() > 0) || !attr.getValue().isNormal())
      return {};
    return constant(attr);
  };
  Operation *def = v.getDefiningOp();
  if (auto mul = dyn_cast_or_null<arith::MulFOp>(def)) {
    if (Value scale = positive(mul.getRhs()))
      return {mul.getLhs(), scale};
    if (Value scale = positive(mul.getLhs()))
      return {mul.getRhs(), scale};
  }
  if (auto div = dyn_cast_or_null<arith::DivFOp>(def); div && plan.fold)
    if (std::optional<float> divisor = getDivisor(div.getRhs());
        divisor && *divisor > 0)
      return {div.getLhs(),
              constant(b.getF32FloatAttr(float(1.0 / double(*divisor))))};
  return {};
}

Fragment FragmentEmitter::indexOf(unsigned d) {
  SmallBitVector dims(space.numDims);
  dims.set(d);
  Fragment result = shapeOf(dims);
  size_t size = sizeOf(result);
  for (size_t i = 0; i < size; ++i)
    result.values.push_back(positionsAt(result, i, /*isClamped=*/false)[d]);
  return result;
}
