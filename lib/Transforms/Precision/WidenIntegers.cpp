//===- WidenIntegers.cpp - redfuse-widen-integers -------------------------===//
//
// Integers of 2, 4 or 24 bits have no place in memory and no instruction of their
// own. Each becomes the next wider integer that has: its bits, with zeros above
// them. Operations that could leave other bits there clear them, and those that
// look at a sign make one first. i1, which is a byte in memory, stays.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace redfuse {
#define GEN_PASS_DEF_WIDENINTEGERS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Whether no memory holds numbers of the type as they are.
static bool isOdd(Type type) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
  return integer && integer.getWidth() > 1 && integer.getWidth() < 64 &&
         (integer.getWidth() < 8 || !llvm::isPowerOf2_32(integer.getWidth()));
}

static unsigned widthOf(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth();
}

namespace {
struct Widener : TypeConverter {
  Widener() {
    addConversion([](Type type) { return type; });
    addConversion([](IntegerType type) -> Type {
      if (!isOdd(type))
        return type;
      unsigned width = llvm::PowerOf2Ceil(std::max(8u, type.getWidth()));
      return IntegerType::get(type.getContext(), width, type.getSignedness());
    });
    addConversion([this](ShapedType type) -> Type {
      return isOdd(type) ? type.clone(convertType(type.getElementType()))
                         : type;
    });
    addConversion([this](FunctionType type) -> Type {
      SmallVector<Type> inputs, results;
      if (failed(convertTypes(type.getInputs(), inputs)) ||
          failed(convertTypes(type.getResults(), results)))
        return {};
      return FunctionType::get(type.getContext(), inputs, results);
    });
  }
};

/// A constant of the type of `like`, in all elements.
Value constantLike(OpBuilder &b, Location loc, Value like, APInt value) {
  auto element = b.getIntegerAttr(getElementTypeOrSelf(like.getType()), value);
  auto shaped = dyn_cast<ShapedType>(like.getType());
  if (shaped && !shaped.hasStaticShape()) {
    SmallVector<Value> extents;
    for (auto [d, extent] : llvm::enumerate(shaped.getShape()))
      if (ShapedType::isDynamic(extent))
        extents.push_back(tensor::DimOp::create(b, loc, like, d));
    Value one = arith::ConstantOp::create(b, loc, element);
    return tensor::SplatOp::create(b, loc, one, shaped, extents);
  }
  TypedAttr attr = shaped ? TypedAttr(DenseElementsAttr::get(shaped, element))
                          : TypedAttr(element);
  return arith::ConstantOp::create(b, loc, attr);
}

/// `v`, which stands for a `type`, without what is above its bits.
Value cleared(OpBuilder &b, Location loc, Value v, Type type) {
  if (!isOdd(type))
    return v;
  APInt mask = APInt::getLowBitsSet(widthOf(v.getType()), widthOf(type));
  return arith::AndIOp::create(b, loc, v, constantLike(b, loc, v, mask));
}

/// `v`, which stands for a `type`, with the sign of that above its bits.
Value withSign(OpBuilder &b, Location loc, Value v, Type type) {
  if (!isOdd(type))
    return v;
  unsigned width = widthOf(v.getType());
  APInt more(width, width - widthOf(type));
  Value by = constantLike(b, loc, v, more);
  return arith::ShRSIOp::create(b, loc, arith::ShLIOp::create(b, loc, v, by),
                                by);
}

/// Whether `op` looks at the sign of its operands.
bool isSigned(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    return llvm::is_contained({P::slt, P::sle, P::sgt, P::sge},
                              compare.getPredicate());
  }
  return isa<arith::DivSIOp, arith::RemSIOp, arith::MaxSIOp, arith::MinSIOp,
             arith::CeilDivSIOp, arith::FloorDivSIOp, arith::ShRSIOp,
             arith::ExtSIOp, arith::SIToFPOp, arith::IndexCastOp>(op);
}

/// Whether `op` computes in the wider type as it did, up to bits above its own.
bool computesWider(Operation *op) {
  return isSigned(op) ||
         isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp,
             arith::RemUIOp, arith::CeilDivUIOp, arith::MaxUIOp, arith::MinUIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp,
             arith::ShRUIOp, arith::CmpIOp, arith::UIToFPOp, arith::FPToSIOp,
             arith::FPToUIOp, arith::IndexCastUIOp>(op);
}

/// Whether `op` may stay the same op on wider integers.
bool isKnown(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "arith")
    return llvm::none_of(op->getOperandTypes(),
                         llvm::IsaPred<UnrankedTensorType>) &&
           (computesWider(op) || isa<arith::ConstantOp, arith::SelectOp,
                                     arith::ExtUIOp, arith::TruncIOp>(op));
  return dialect != "math" && !op->getName().stripDialect().contains("bitcast");
}

Attribute widened(const TypeConverter &converter, TypedAttr attr) {
  Type type = converter.convertType(attr.getType());
  unsigned width = widthOf(type);
  if (auto number = dyn_cast<IntegerAttr>(attr))
    return IntegerAttr::get(type, number.getValue().zext(width));
  if (auto dense = dyn_cast<DenseIntElementsAttr>(attr))
    return dense.mapValues(getElementTypeOrSelf(type),
                           [&](const APInt &v) { return v.zext(width); });
  return {};
}

struct WidenConstant : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Attribute attr = widened(*getTypeConverter(), op.getValue());
    if (!attr)
      return rewriter.notifyMatchFailure(op, "elements of another kind");
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, cast<TypedAttr>(attr));
    return success();
  }
};

/// Between two integer types, each of which may be odd.
template <typename Op>
struct WidenCast : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = this->getTypeConverter()->convertType(op.getType());
    Value v = adaptor.getIn();
    if (isSigned(op))
      v = withSign(rewriter, loc, v, op.getIn().getType());
    if (widthOf(v.getType()) > widthOf(type))
      v = arith::TruncIOp::create(rewriter, loc, type, v);
    else if (widthOf(v.getType()) < widthOf(type) && isSigned(op))
      v = arith::ExtSIOp::create(rewriter, loc, type, v);
    else if (widthOf(v.getType()) < widthOf(type))
      v = arith::ExtUIOp::create(rewriter, loc, type, v);
    rewriter.replaceOp(op, cleared(rewriter, loc, v, op.getType()));
    return success();
  }
};

/// Everything else: the same op on the wider types.
struct WidenOp : ConversionPattern {
  WidenOp(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/0,
                          context) {}
  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op->getLoc();
    SmallVector<Value> inputs(operands);
    if (isSigned(op))
      for (auto [input, old] : llvm::zip_equal(inputs, op->getOperands()))
        input = withSign(rewriter, loc, input, old.getType());
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertTypes(op->getResultTypes(), types)))
      return rewriter.notifyMatchFailure(op, "a result has no wider type");
    OperationState state(loc, op->getName(), inputs, types, op->getAttrs(),
                         op->getSuccessors());
    for (Region &region : op->getRegions()) {
      Region *moved = state.addRegion();
      rewriter.inlineRegionBefore(region, *moved, moved->end());
      if (failed(rewriter.convertRegionTypes(moved, *getTypeConverter())))
        return rewriter.notifyMatchFailure(op, "an argument has no wider type");
    }
    Operation *made = rewriter.create(state);
    SmallVector<Value> results(made->getResults());
    if (computesWider(op))
      for (auto [result, old] : llvm::zip_equal(results, op->getResults()))
        result = cleared(rewriter, loc, result, old.getType());
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct WidenIntegers : public redfuse::impl::WidenIntegersBase<WidenIntegers> {
  using WidenIntegersBase::WidenIntegersBase;

  /// Refuses by name what would count or reinterpret bits that it has not.
  LogicalResult refuseUnknown() {
    WalkResult found = getOperation()->walk([](Operation *op) {
      auto odd = llvm::find_if(op->getOperandTypes(), isOdd);
      if (odd == op->operand_type_end() || isKnown(op))
        return WalkResult::advance();
      op->emitError() << "'" << op->getName() << "' of integers of "
                      << widthOf(*odd)
                      << " bits has no lowering; compute it in 8, 16, 32 or "
                         "64 bits";
      return WalkResult::interrupt();
    });
    return failure(found.wasInterrupted());
  }

  void runOnOperation() override {
    if (failed(refuseUnknown()))
      return signalPassFailure();
    Widener converter;
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([&](Operation *op) {
      if (auto function = dyn_cast<func::FuncOp>(op))
        return converter.isSignatureLegal(function.getFunctionType()) &&
               converter.isLegal(&function.getBody());
      return converter.isLegal(op) &&
             llvm::all_of(op->getRegions(), [&](Region &region) {
               return converter.isLegal(&region);
             });
    });
    RewritePatternSet patterns(&getContext());
    patterns.add<WidenConstant, WidenCast<arith::ExtUIOp>,
                 WidenCast<arith::ExtSIOp>, WidenCast<arith::TruncIOp>>(
        converter, &getContext());
    patterns.add<WidenOp>(converter, &getContext());
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                   converter);
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
