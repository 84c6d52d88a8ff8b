//===- KeepRoundings.cpp - redfuse-keep-roundings -------------------------===//
//
// A rounding between two operations that meet in one kernel may be left out: what
// comes of it is closer to the exact result. Not so where something discrete is
// made of the rounded value: an index, a count, a quantised number, a choice. This
// pass follows each rounding to what is made of it, through the whole function,
// and marks those that have to be applied.
//
// So with divisions that are quantised: the product with a reciprocal is not the same
// number where the quotient lies between two codes.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

namespace redfuse {
#define GEN_PASS_DEF_KEEPROUNDINGS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Whether `op` makes something of a float that jumps where the float moves a
/// little.
static bool isQuantiser(Operation *op) {
  if (auto narrow = dyn_cast<arith::TruncFOp>(op))
    return getElementTypeOrSelf(narrow.getType()).getIntOrFloatBitWidth() < 16;
  return isa<arith::FPToSIOp, arith::FPToUIOp, arith::RemFOp, arith::BitcastOp,
             tensor::BitcastOp, math::RoundOp, math::RoundEvenOp, math::FloorOp,
             math::CeilOp, math::TruncOp, math::IsInfOp, math::IsFiniteOp,
             math::IsNormalOp>(op);
}

/// Whether `op` yields one of its operands, or what rounds as the operand does: the
/// rounding of its result is the result of rounded operands.
static bool isMonotone(Operation *op) {
  return isa<arith::ExtFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::NegFOp, math::AbsFOp,
             arith::SelectOp>(op);
}

/// select(x < c, c, x) and its spellings: a clamp, which commutes with rounding.
static bool isClamp(arith::CmpFOp compare) {
  return llvm::all_of(compare->getUsers(), [&](Operation *user) {
    auto select = dyn_cast<arith::SelectOp>(user);
    if (!select || select.getCondition() != compare.getResult())
      return false;
    Value yes = select.getTrueValue(), no = select.getFalseValue();
    return (yes == compare.getLhs() && no == compare.getRhs()) ||
           (yes == compare.getRhs() && no == compare.getLhs());
  });
}

/// A reducer that adds up or composes what it is of: its own roundings are not
/// those of any order, and what is made of the result is of its own rounding.
static bool isSum(Reducer reducer) {
  return llvm::is_contained({Reducer::Add, Reducer::Mul, Reducer::Declared},
                            reducer);
}

static bool isSelection(Reducer reducer) {
  return llvm::is_contained({Reducer::ArgMax, Reducer::ArgMin, Reducer::TopK},
                            reducer);
}

namespace {
/// Follows one rounding to what is made of it.
class RoundingUses {
public:
  explicit RoundingUses(Operation *rounding)
      : type(getElementTypeOrSelf(rounding->getResult(0).getType())),
        isDivision(isa<arith::DivFOp>(rounding)) {
    follow(rounding->getResult(0), /*isSame=*/false);
  }

  /// Whether the rounding has to be applied.
  bool matter() {
    while (!work.empty()) {
      auto [value, isSame] = work.pop_back_val();
      for (OpOperand &use : value.getUses())
        if (matters(use, isSame))
          return true;
    }
    return false;
  }

private:
  void follow(Value value, bool isSame) {
    if (seen[isSame].insert(value).second)
      work.push_back({value, isSame});
  }
  bool matters(OpOperand &use, bool isSame);
  bool mattersTo(arith::CmpFOp compare);
  bool mattersTo(CombiningOpInterface combining, unsigned operand, bool isSame);
  bool intoRegion(Operation *op, OpOperand &use, bool isSame);

  Type type;
  /// Of a quotient, which only a quantisation tells from one that is rounded twice:
  /// multiples of one number are in the order of what they are multiples of.
  bool isDivision;
  /// What to follow: a value made of the rounded one, and whether it is one of the
  /// rounded values itself, in a wider type.
  SmallVector<std::pair<Value, bool>> work;
  llvm::DenseSet<Value> seen[2];
};
} // namespace

bool RoundingUses::mattersTo(arith::CmpFOp compare) {
  using P = arith::CmpFPredicate;
  // No rounding makes a NaN of a number.
  if (llvm::is_contained({P::ORD, P::UNO, P::AlwaysTrue, P::AlwaysFalse},
                         compare.getPredicate()))
    return false;
  // bf16 has the range of f32; f16 rounds numbers of use to infinity.
  auto isInfinite = [](Value v) {
    return matchPattern(v, m_PosInfFloat()) || matchPattern(v, m_NegInfFloat());
  };
  if (type.isBF16() &&
      (isInfinite(compare.getLhs()) || isInfinite(compare.getRhs())))
    return false;
  return !isClamp(compare);
}

bool RoundingUses::mattersTo(CombiningOpInterface combining, unsigned operand,
                             bool isSame) {
  Reducer reducer = combining.getReducer();
  if (isSelection(reducer))
    return !isDivision && operand == 0;
  if (isSum(reducer)) {
    return combining.getCombine()
        .walk([&](Operation *inner) {
          auto compare = dyn_cast<arith::CmpFOp>(inner);
          return isQuantiser(inner) || (compare && mattersTo(compare))
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }
  for (Value result : combining->getResults())
    follow(result, isSame);
  return false;
}

/// Into a body that reads the tensor, or out of one.
bool RoundingUses::intoRegion(Operation *op, OpOperand &use, bool isSame) {
  if (auto cascade = dyn_cast<CascadeOp>(op)) {
    unsigned i = use.getOperandNumber();
    if (i < cascade.getInputs().size())
      follow(cascade.getBody().front().getArgument(i), isSame);
    return false;
  }
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    follow(structured.getMatchingBlockArgument(&use), isSame);
    return false;
  }
  if (isa<YieldOp, linalg::YieldOp>(op) &&
      isa<CascadeOp, linalg::LinalgOp>(op->getParentOp())) {
    follow(op->getParentOp()->getResult(use.getOperandNumber()), isSame);
    return false;
  }
  // Loops and branches of the host, and what is not known.
  return !isDivision;
}

bool RoundingUses::matters(OpOperand &use, bool isSame) {
  Operation *op = use.getOwner();
  if (isQuantiser(op))
    return true;
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return !isDivision && mattersTo(compare);
  if (auto combining = dyn_cast<CombiningOpInterface>(op))
    return mattersTo(combining, use.getOperandNumber(), isSame);
  if (isa<func::ReturnOp>(op))
    return !isDivision && isSame;
  if (isa<tensor::EmptyOp, tensor::DimOp>(op))
    return false;
  bool isView = isa<TensorType>(use.get().getType()) &&
                op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
                isa<tensor::TensorDialect>(op->getDialect());
  bool isScalar = op->getNumRegions() == 0 &&
                  isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
  if (!isView && !isScalar)
    return intoRegion(op, use, isSame);
  // A value counts as a rounded one from where it is wider than its rounding on: up
  // to there it cannot be anything else.
  bool staysSame =
      isView ? isSame : isa<arith::ExtFOp>(op) || (isSame && isMonotone(op));
  for (Value result : op->getResults())
    follow(result, staysSame);
  return false;
}

/// Roundings of one value, which is rounded once.
static bool isSameRounding(arith::TruncFOp a, arith::TruncFOp b) {
  return a.getIn() == b.getIn() && a.getType() == b.getType();
}

namespace {
struct KeepRoundings : public redfuse::impl::KeepRoundingsBase<KeepRoundings> {
  using KeepRoundingsBase::KeepRoundingsBase;

  void runOnOperation() override {
    SmallVector<arith::TruncFOp> narrows;
    getOperation()->walk([&](arith::TruncFOp narrow) {
      if (isa<CascadeOp>(narrow->getParentOp()) && !isQuantiser(narrow))
        narrows.push_back(narrow);
    });
    auto rounds = UnitAttr::get(&getContext());
    getOperation()->walk([&](arith::DivFOp division) {
      if (isa<CascadeOp>(division->getParentOp()) &&
          RoundingUses(division).matter())
        division->setAttr(kRoundsAttr, rounds);
    });
    for (arith::TruncFOp narrow : narrows) {
      if (!RoundingUses(narrow).matter())
        continue;
      for (Operation *other : narrow.getIn().getUsers())
        if (auto same = dyn_cast<arith::TruncFOp>(other);
            same && isSameRounding(same, narrow))
          same->setAttr(kRoundsAttr, rounds);
    }
  }
};
} // namespace
