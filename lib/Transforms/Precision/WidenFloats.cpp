//===- WidenFloats.cpp - a program in f64 ---------------------------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace redfuse {
#define GEN_PASS_DEF_WIDENFLOATS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Floats of 8 bits stay: who rounds to them means it, as with integers.
static bool isWidened(Type type) {
  auto kind = dyn_cast<FloatType>(type);
  return kind && kind.getWidth() != 8 && !kind.isF64();
}

static double valueOf(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

/// What is stored otherwise than as one value has another form for every type.
static bool isOfSeveral(Attribute attribute) {
  auto elements = dyn_cast<ElementsAttr>(attribute);
  if (!elements || !isWidened(elements.getElementType()))
    return false;
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  return !dense || !dense.isSplat();
}

/// A change of type does not go with these.
static bool readsBits(Operation *op) {
  return isa<arith::BitcastOp, tensor::BitcastOp, vector::BitCastOp,
             arith::ScalingExtFOp, arith::ScalingTruncFOp>(op);
}

namespace {
struct WidenFloats : public redfuse::impl::WidenFloatsBase<WidenFloats> {
  void runOnOperation() override {
    addReplacements();
    WalkResult done = getOperation()->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { return WalkResult(widen(op)); });
    if (done.wasInterrupted())
      return signalPassFailure();
    getOperation()->walk([](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op) &&
          op->getResult(0).getType() == op->getOperand(0).getType()) {
        op->getResult(0).replaceAllUsesWith(op->getOperand(0));
        op->erase();
      }
    });
  }

private:
  /// What comes last is asked first.
  void addReplacements() {
    Type wide = Float64Type::get(&getContext());
    replacer.addReplacement([wide](FloatType type) -> std::optional<Type> {
      return isWidened(type) ? wide : Type(type);
    });
    replacer.addReplacement(
        [wide](FloatAttr value) -> std::optional<Attribute> {
          if (!isWidened(value.getType()))
            return Attribute(value);
          return Attribute(FloatAttr::get(wide, valueOf(value.getValue())));
        });
    replacer.addReplacement(
        [wide](DenseElementsAttr values)
            -> std::optional<std::pair<Attribute, WalkResult>> {
          if (!isWidened(values.getElementType()) || !values.isSplat())
            return std::nullopt;
          double value = valueOf(values.getSplatValue<APFloat>());
          auto made = DenseElementsAttr::get(
              cast<ShapedType>(values.getType().clone(wide)), value);
          return std::pair(Attribute(made), WalkResult::skip());
        });
  }

  LogicalResult widen(Operation *op) {
    if (readsBits(op))
      return op->emitError()
             << op->getName()
             << " reads the bits of a float, so there is no fp64 form of this "
                "program to compare with; give expected outputs (out0..) in "
                "the npz instead";
    if (auto constant = dyn_cast<arith::ConstantOp>(op);
        constant && isOfSeveral(constant.getValue()))
      return castBehind(constant);
    Attribute stored;
    op->getAttrDictionary().walk([&](Attribute attribute) {
      if (isOfSeveral(attribute))
        stored = attribute;
    });
    if (stored)
      return op->emitError()
             << "a constant of " << cast<TypedAttr>(stored).getType()
             << " that " << op->getName()
             << " holds has no fp64 form here; expected an arith.constant";
    replacer.replaceElementsIn(op, /*replaceAttrs=*/true,
                               /*replaceLocs=*/false, /*replaceTypes=*/true);
    return success();
  }

  /// It folds, exactly, for every type.
  LogicalResult castBehind(arith::ConstantOp constant) {
    OpBuilder b(constant->getContext());
    b.setInsertionPointAfter(constant);
    auto cast = arith::ExtFOp::create(b, constant.getLoc(),
                                      replacer.replace(constant.getType()),
                                      constant.getResult());
    constant.getResult().replaceAllUsesExcept(cast.getResult(), cast);
    return success();
  }

  AttrTypeReplacer replacer;
};
} // namespace
