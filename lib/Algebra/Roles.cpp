//===- Roles.cpp - what the values of a body are to a fold ----------------===//
#include "redfuse/Algebra/Roles.h"

#include "redfuse/Dialect/Redfuse/Utils/Extents.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse;

/// How deep the reasoning about signs follows definitions.
static constexpr unsigned kMaxSignDepth = 12;

namespace {
/// Ops by what they compute: a hash of name, attributes and canonical operands.
class Numbering {
public:
  explicit Numbering(llvm::DenseMap<Value, Value> &firsts) : firsts(firsts) {}

  Value canonical(Value v) const {
    auto it = firsts.find(v);
    return it == firsts.end() ? v : it->second;
  }

  /// The first op that computes the same as `op`, or `op` itself.
  Operation *number(Operation *op) {
    if (!isMemoryEffectFree(op) ||
        (op->getNumRegions() != 0 && !isa<CombiningOpInterface>(op)))
      return op;
    auto hash = static_cast<unsigned>(OperationEquivalence::computeHash(
        op,
        /*hashOperands=*/
        [&](Value v) { return mlir::hash_value(canonical(v)); },
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations));
    for (Operation *other : table[hash]) {
      auto same = [&](Value a, Value b) {
        return success(canonical(a) == canonical(b));
      };
      if (isSameOp(op, other, same)) {
        for (auto [mine, its] :
             llvm::zip(op->getResults(), other->getResults()))
          firsts[mine] = its;
        return other;
      }
    }
    table[hash].push_back(op);
    return op;
  }

private:
  /// A combining region is compared by itself: it uses nothing from outside.
  static bool isSameOp(Operation *a, Operation *b,
                       function_ref<LogicalResult(Value, Value)> same) {
    auto combining = dyn_cast<CombiningOpInterface>(a);
    if (!combining)
      return OperationEquivalence::isEquivalentTo(
          a, b, same, /*markEquivalent=*/nullptr,
          OperationEquivalence::IgnoreLocations);
    return a->getName() == b->getName() &&
           a->getAttrDictionary() == b->getAttrDictionary() &&
           a->getResultTypes() == b->getResultTypes() &&
           llvm::all_of(llvm::zip_equal(a->getOperands(), b->getOperands()),
                        [&](auto pair) {
                          auto [x, y] = pair;
                          return succeeded(same(x, y));
                        }) &&
           haveSameReducer(combining, cast<CombiningOpInterface>(b));
  }

  llvm::DenseMap<Value, Value> &firsts;
  llvm::DenseMap<unsigned, SmallVector<Operation *, 1>> table;
};
} // namespace

void redfuse::simplifyBody(Block &body) {
  llvm::DenseMap<Value, Value> firsts;
  Numbering numbering(firsts);
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    Operation *first = numbering.number(&op);
    if (first != &op) {
      op.replaceAllUsesWith(first->getResults());
      op.erase();
    }
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && isOpTriviallyDead(&op))
      op.erase();
}

std::optional<double> redfuse::getConstant(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    FloatAttr f;
    IntegerAttr i;
    if (matchPattern(value, m_Constant(&f)))
      return f.getValueAsDouble();
    if (matchPattern(value, m_Constant(&i)))
      return i.getValue().getBitWidth() > 64
                 ? std::nullopt
                 : std::optional<double>(
                       static_cast<double>(i.getValue().getSExtValue()));
    if (!isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp>(def))
      return std::nullopt;
    value = def->getOperand(0);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

FailureOr<Roles> Roles::compute(IndexProgramOpInterface op,
                                ArrayRef<int64_t> foldedDims,
                                ArrayRef<ReduceOp> complete) {
  FailureOr<DimSets> sets = DimSets::compute(op);
  if (failed(sets))
    return failure();
  Roles result;
  result.dims = std::move(*sets);
  result.over = toDimSet(foldedDims, op.getNumIterationDims());

  result.program = op;
  result.extents = getStaticExtents(op);
  for (ReduceOp reduce : complete)
    result.complete.insert(reduce);

  Block &body = *op.getProgramBody();
  Numbering numbering(result.firsts);
  llvm::DenseSet<Value> afterStage;
  auto assign = [&](Value v, bool isAfter) {
    bool usesOver = result.dims[v].anyCommon(result.over);
    if (isAfter)
      afterStage.insert(v);
    result.roles[v] = isAfter ? (usesOver ? Role::Mixed : Role::Done)
                              : (usesOver ? Role::Data : Role::Free);
  };
  for (BlockArgument arg : body.getArguments())
    assign(arg, false);
  for (Operation &inner : body) {
    if (inner.hasTrait<OpTrait::IsTerminator>())
      continue;
    numbering.number(&inner);
    bool isAfter = llvm::any_of(
        inner.getOperands(), [&](Value v) { return afterStage.contains(v); });
    if (auto reduce = dyn_cast<ReduceOp>(inner))
      isAfter |= result.isStage(reduce);
    auto scan = dyn_cast<ScanOp>(inner);
    bool isRunning = (scan && result.isRunning(scan)) ||
                     llvm::any_of(inner.getOperands(), [&](Value v) {
                       return result.running.contains(v);
                     });
    isAfter |= isRunning;
    if (isRunning)
      result.running.insert_range(inner.getResults());
    for (Value v : inner.getResults())
      assign(v, isAfter);
  }
  return result;
}

Role Roles::operator[](Value value) const {
  auto it = roles.find(value);
  return it == roles.end() ? Role::Free : it->second;
}

bool Roles::isCount(Value scalar, ArrayRef<int64_t> folded) const {
  while (Operation *def = scalar.getDefiningOp()) {
    if (!isa<arith::SIToFPOp, arith::UIToFPOp, arith::ExtFOp, arith::TruncFOp>(
            def))
      break;
    scalar = def->getOperand(0);
  }
  if (folded.size() != 1 || !scalar.getType().isIntOrIndex())
    return false;
  Extent wanted = getExtentOf(scalar);
  for (auto [i, map] : llvm::enumerate(program.getIndexingMapsArray())) {
    auto position = map.getResultPosition(
        getAffineDimExpr(folded.front(), map.getContext()));
    if (position && getExtentOf(program->getOperand(i), *position) == wanted)
      return true;
  }
  return false;
}

std::optional<int64_t> Roles::getCount(ArrayRef<int64_t> folded) const {
  int64_t points = 1;
  for (int64_t d : folded) {
    if (ShapedType::isDynamic(extents[d]))
      return std::nullopt;
    points *= extents[d];
  }
  return points;
}

Value Roles::canonical(Value value) const {
  auto it = firsts.find(value);
  return it == firsts.end() ? value : it->second;
}

bool Roles::isStage(ReduceOp reduce) const {
  return !complete.contains(reduce) &&
         llvm::any_of(reduce.getOver(),
                      [&](int64_t d) { return over.test(d); });
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

bool Roles::isNonNegative(Value value, unsigned depth) const {
  if (std::optional<double> c = getConstant(value))
    return *c >= 0;
  Operation *def = value.getDefiningOp();
  if (!def || depth > kMaxSignDepth)
    return false;
  auto both = [&](Value a, Value b) {
    return isNonNegative(a, depth + 1) && isNonNegative(b, depth + 1);
  };
  return llvm::TypeSwitch<Operation *, bool>(def)
      .Case<math::ExpOp, math::Exp2Op, math::AbsFOp, math::SqrtOp,
            math::RsqrtOp, arith::UIToFPOp>([](auto) { return true; })
      .Case<arith::AddFOp, arith::DivFOp>(
          [&](auto op) { return both(op.getLhs(), op.getRhs()); })
      .Case([&](arith::MulFOp op) {
        return canonical(op.getLhs()) == canonical(op.getRhs()) ||
               both(op.getLhs(), op.getRhs());
      })
      .Case([&](math::FPowIOp op) {
        std::optional<double> n = getConstant(op.getRhs());
        return (n && static_cast<int64_t>(*n) % 2 == 0) ||
               isNonNegative(op.getLhs(), depth + 1);
      })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto op) { return isNonNegative(op.getIn(), depth + 1); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto op) {
        return isNonNegative(op.getLhs(), depth + 1) ||
               isNonNegative(op.getRhs(), depth + 1);
      })
      .Case([&](arith::SelectOp op) {
        return both(op.getTrueValue(), op.getFalseValue());
      })
      .Case([&](ReduceOp op) {
        return !complete.contains(op) &&
               llvm::is_contained({Reducer::Add, Reducer::Mul,
                                   Reducer::MaximumF, Reducer::MinimumF},
                                  op.getReducer()) &&
               isNonNegative(op.getOperands()[0], depth + 1);
      })
      .Default([](Operation *) { return false; });
}

bool Roles::isNonZero(Value value, unsigned depth) const {
  if (std::optional<double> c = getConstant(value))
    return *c != 0;
  Operation *def = value.getDefiningOp();
  if (!def || depth > kMaxSignDepth)
    return false;
  auto isPositiveConstant = [](Value v) {
    std::optional<double> c = getConstant(v);
    return c && *c > 0;
  };
  // Something that is not negative and something positive.
  auto isShifted = [&](Value a, Value b) {
    return isNonNegative(a, depth + 1) && isNonNegative(b, depth + 1) &&
           isNonZero(b, depth + 1);
  };
  return llvm::TypeSwitch<Operation *, bool>(def)
      .Case([&](arith::AddFOp op) {
        return isShifted(op.getLhs(), op.getRhs()) ||
               isShifted(op.getRhs(), op.getLhs());
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto op) {
        return isPositiveConstant(op.getLhs()) ||
               isPositiveConstant(op.getRhs());
      })
      .Case<math::SqrtOp, arith::ExtFOp, arith::NegFOp, math::AbsFOp>(
          [&](auto op) { return isNonZero(op->getOperand(0), depth + 1); })
      .Case([&](math::RsqrtOp op) {
        return isBounded(op.getOperand(), depth + 1);
      })
      .Case([&](arith::MulFOp op) {
        return isNonZero(op.getLhs(), depth + 1) &&
               isNonZero(op.getRhs(), depth + 1);
      })
      .Case([&](arith::DivFOp op) {
        return isNonZero(op.getLhs(), depth + 1) &&
               isBounded(op.getRhs(), depth + 1);
      })
      .Case([&](arith::SelectOp op) {
        // select(v < c, c, v): a clamp from below.
        auto cmp = op.getCondition().getDefiningOp<arith::CmpFOp>();
        if (cmp && isPositiveConstant(op.getTrueValue()) &&
            cmp.getLhs() == op.getFalseValue() &&
            getConstant(cmp.getRhs()) == getConstant(op.getTrueValue()) &&
            llvm::is_contained(
                {arith::CmpFPredicate::ULT, arith::CmpFPredicate::OLT,
                 arith::CmpFPredicate::ULE, arith::CmpFPredicate::OLE},
                cmp.getPredicate()))
          return true;
        return isNonZero(op.getTrueValue(), depth + 1) &&
               isNonZero(op.getFalseValue(), depth + 1);
      })
      .Case([&](ReduceOp op) { return isNormaliser(op); })
      .Default([](Operation *) { return false; });
}

bool Roles::isBounded(Value value, unsigned depth) const {
  if (std::optional<double> c = getConstant(value))
    return std::isfinite(*c);
  Operation *def = value.getDefiningOp();
  if (!def || depth > kMaxSignDepth)
    return false;
  auto both = [&](Value a, Value b) {
    return isBounded(a, depth + 1) && isBounded(b, depth + 1);
  };
  return llvm::TypeSwitch<Operation *, bool>(def)
      .Case<math::TanhOp, arith::SIToFPOp, arith::UIToFPOp>(
          [](auto) { return true; })
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp>(
          [&](auto op) { return both(op.getLhs(), op.getRhs()); })
      .Case([&](arith::DivFOp op) {
        return isBounded(op.getLhs(), depth + 1) &&
               isNonZero(op.getRhs(), depth + 1);
      })
      .Case([&](math::RsqrtOp op) {
        return isNonZero(op.getOperand(), depth + 1);
      })
      .Case<math::SqrtOp, arith::ExtFOp, arith::TruncFOp, arith::NegFOp,
            math::AbsFOp>(
          [&](auto op) { return isBounded(op->getOperand(0), depth + 1); })
      .Case([&](arith::SelectOp op) {
        return both(op.getTrueValue(), op.getFalseValue());
      })
      .Case([&](ReduceOp op) { return isNormaliser(op); })
      .Default([](Operation *) { return false; });
}

bool Roles::isNormaliser(ReduceOp reduce) const {
  // In a pass of its own nothing is known of what came before.
  if (reduce.getReducer() != Reducer::Add || complete.contains(reduce))
    return false;
  Value e = reduce.getOperands()[0];
  while (auto ext = e.getDefiningOp<arith::ExtFOp>())
    e = ext.getIn();
  Operation *exp = e.getDefiningOp();
  if (!exp || !isa<math::ExpOp, math::Exp2Op>(exp))
    return false;
  auto sub = exp->getOperand(0).getDefiningOp<arith::SubFOp>();
  if (!sub)
    return false;
  auto maximum = sub.getRhs().getDefiningOp<ReduceOp>();
  return maximum &&
         llvm::is_contained({Reducer::MaximumF, Reducer::MaxNumF},
                            maximum.getReducer()) &&
         canonical(maximum.getOperands()[0]) == canonical(sub.getLhs()) &&
         toDimSet(maximum.getInto(), over.size()) ==
             toDimSet(reduce.getInto(), over.size());
}
