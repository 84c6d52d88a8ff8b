//===- NarrowDoubles.cpp - redfuse-narrow-doubles -------------------------===//
//
// Libraries take variances in f64 whatever the tensors hold. Between tensors of
// 16-bit floats that buys no digit, and takes conversions and arithmetic of which
// GPUs have few.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

namespace redfuse {
#define GEN_PASS_DEF_NARROWDOUBLES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

static bool isShort(Type type) {
  Type element = getElementTypeOrSelf(type);
  return !isa<FloatType>(element) || element.getIntOrFloatBitWidth() <= 16;
}

/// Whether `v` is a number from outside that f32 has in its range.
static bool isNarrowConstant(Value v) {
  FloatAttr attr;
  if (!matchPattern(v, m_Constant(&attr)))
    return false;
  APFloat value = attr.getValue();
  bool losesInfo;
  value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return attr.getValue().isFinite() && value.isFinite() &&
         value.isZero() == attr.getValue().isZero();
}

/// Whether all that is done in f64 may be done in f32, if there is anything.
static bool canNarrow(CascadeOp cascade) {
  for (Value v : cascade->getOperands())
    if (isa<ShapedType>(v.getType()) && !isShort(v.getType()))
      return false;
  Block &body = cascade.getBody().front();
  bool hasDoubles = false;
  for (Operation &op : body) {
    auto isDouble = [](Value v) { return v.getType().isF64(); };
    if (llvm::none_of(op.getOperands(), isDouble) &&
        llvm::none_of(op.getResults(), isDouble))
      continue;
    hasDoubles = true;
    for (Value v : op.getOperands())
      if (isDouble(v) && v.getParentBlock() != &body && !isNarrowConstant(v))
        return false;
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (!isNarrowConstant(constant.getResult()))
        return false;
      continue;
    }
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (reduce.getNumOperands() != 1 || reduce.isDeclared())
        return false;
      continue;
    }
    if (!isa<arith::ExtFOp, arith::TruncFOp, arith::AddFOp, arith::SubFOp,
             arith::MulFOp, arith::DivFOp, arith::NegFOp, arith::MaximumFOp,
             arith::MinimumFOp, math::SqrtOp, math::RsqrtOp>(op))
      return false;
  }
  return hasDoubles;
}

static void narrow(CascadeOp cascade) {
  Block &body = cascade.getBody().front();
  OpBuilder b(cascade);
  Type single = b.getF32Type();
  DenseMap<Value, Value> constants;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    for (OpOperand &operand : op.getOpOperands()) {
      Value v = operand.get();
      FloatAttr attr;
      if (!v.getType().isF64() || !matchPattern(v, m_Constant(&attr)))
        continue;
      Value &constant = constants[v];
      if (!constant) {
        b.setInsertionPoint(cascade);
        constant = arith::ConstantOp::create(
            b, v.getLoc(),
            b.getFloatAttr(single, attr.getValue().convertToDouble()));
      }
      operand.set(constant);
    }
    // A conversion between f64 and f32 is none any more.
    bool isConversion = isa<arith::ExtFOp, arith::TruncFOp>(op);
    if (isConversion && op.getOperand(0).getType().isF32() &&
        (op.getResult(0).getType().isF64() ||
         op.getResult(0).getType().isF32())) {
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
      continue;
    }
    if (isa<arith::ConstantOp>(op)) {
      if (op.getResult(0).getType().isF64() && op.use_empty())
        op.erase();
      continue;
    }
    for (Value result : op.getResults())
      if (result.getType().isF64())
        result.setType(single);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isa<arith::ConstantOp>(op) && op.use_empty())
      op.erase();
}

namespace {
struct NarrowDoubles : public redfuse::impl::NarrowDoublesBase<NarrowDoubles> {
  using NarrowDoublesBase::NarrowDoublesBase;

  void runOnOperation() override {
    getOperation()->walk([](CascadeOp cascade) {
      if (canNarrow(cascade))
        narrow(cascade);
    });
  }
};
} // namespace
