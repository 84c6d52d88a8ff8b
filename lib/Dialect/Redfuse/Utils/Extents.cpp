//===- Extents.cpp - which extents are the same ---------------------------===//
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using redfuse::Extent;
using redfuse::ExtentProduct;

/// The smallest integer stands for an extent that is not known: a program's own
/// constant of that value is as negative one above it, and no extent either.
static Extent constantExtent(int64_t extent) {
  return {std::max(extent, ShapedType::kDynamic + 1), Value(), -1};
}

Extent redfuse::getExtentOf(Value scalar) {
  while (true) {
    if (std::optional<int64_t> constant = getConstantIntValue(scalar))
      return constantExtent(*constant);
    // An index is 64 bits wide here, so only casts to fewer bits lose
    // something.
    Operation *op = scalar.getDefiningOp();
    if (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
      Type from = op->getOperand(0).getType(), to = scalar.getType();
      auto isWide = [](Type type) {
        return type.isIndex() || type.getIntOrFloatBitWidth() >= 64;
      };
      if (!from.isIntOrIndex() || !isWide(from) || !isWide(to))
        return {ShapedType::kDynamic, scalar, -1};
      scalar = op->getOperand(0);
      continue;
    }
    if (auto dim = dyn_cast_or_null<tensor::DimOp>(op))
      if (std::optional<int64_t> index = dim.getConstantIndex())
        if (auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
            type && *index >= 0 && *index < type.getRank())
          return getExtentOf(dim.getSource(), *index);
    return {ShapedType::kDynamic, scalar, -1};
  }
}

Extent redfuse::getExtentOf(OpFoldResult size) {
  if (auto value = dyn_cast<Value>(size))
    return getExtentOf(value);
  return constantExtent(*getConstantIntValue(size));
}

/// The extent of what an scf.if yields: that of both its branches, or that of
/// the other branch where the condition of the first is that it is the same.
static std::optional<Extent> getExtentOfChoice(scf::IfOp choice,
                                               OpResult result, int64_t dim) {
  auto extentIn = [&](Block *block) {
    Operation *yield = block->getTerminator();
    return redfuse::getExtentOf(yield->getOperand(result.getResultNumber()),
                                dim);
  };
  Extent first = extentIn(choice.thenBlock());
  Extent other = extentIn(choice.elseBlock());
  if (first == other)
    return other;
  auto compare = choice.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return std::nullopt;
  Extent left = redfuse::getExtentOf(compare.getLhs());
  Extent right = redfuse::getExtentOf(compare.getRhs());
  bool same =
      (left == first && right == other) || (left == other && right == first);
  return same ? std::optional(other) : std::nullopt;
}

Extent redfuse::getExtentOf(Value tensor, int64_t dim) {
  while (true) {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    if (type && !type.isDynamicDim(dim))
      return constantExtent(type.getDimSize(dim));
    Extent unknown{ShapedType::kDynamic, tensor, dim};
    Operation *op = tensor.getDefiningOp();
    if (!op || !type)
      return unknown;
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return getExtentOf(empty.getMixedSizes()[dim]);
    if (auto cast = dyn_cast<tensor::CastOp>(op)) {
      if (!isa<RankedTensorType>(cast.getSource().getType()))
        return unknown;
      tensor = cast.getSource();
      continue;
    }
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return getExtentOf(expand.getMixedOutputShape()[dim]);
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
      // The extent of a group is that of its only dim that is not 1.
      int64_t only = -1;
      ReassociationIndices group = collapse.getReassociationIndices()[dim];
      for (int64_t source : group) {
        if (collapse.getSrcType().getDimSize(source) == 1)
          continue;
        if (only >= 0)
          return unknown;
        only = source;
      }
      if (only < 0)
        return constantExtent(1);
      tensor = collapse.getSrc();
      dim = only;
      continue;
    }
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
      for (unsigned source = 0, kept = 0; source < sizes.size(); ++source)
        if (!dropped.test(source) && static_cast<int64_t>(kept++) == dim)
          return getExtentOf(sizes[source]);
      return unknown;
    }
    if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
      if (auto shape =
              reshape.getShape().getDefiningOp<tensor::FromElementsOp>())
        return getExtentOf(shape.getElements()[dim]);
      return unknown;
    }
    if (auto choice = dyn_cast<scf::IfOp>(op))
      return getExtentOfChoice(choice, cast<OpResult>(tensor), dim)
          .value_or(unknown);
    if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
      OpOperand *init = destination.getTiedOpOperand(cast<OpResult>(tensor));
      tensor = init->get();
      continue;
    }
    return unknown;
  }
}

bool ExtentProduct::isSize() const {
  return constant >= 0 && llvm::all_of(factors, [](const Extent &factor) {
           return factor.dim >= 0;
         });
}

bool ExtentProduct::operator==(const ExtentProduct &other) const {
  return constant == other.constant && factors.size() == other.factors.size() &&
         redfuse::divide({1, factors}, {1, other.factors});
}

std::optional<ExtentProduct> redfuse::divide(ExtentProduct product,
                                             const ExtentProduct &divisor) {
  if (divisor.constant <= 0 || product.constant % divisor.constant != 0)
    return std::nullopt;
  product.constant /= divisor.constant;
  for (const Extent &factor : divisor.factors) {
    auto *found = llvm::find(product.factors, factor);
    if (found == product.factors.end())
      return std::nullopt;
    product.factors.erase(found);
  }
  return product;
}

/// Appends the factors of an affine.apply that only multiplies, as upstream
/// writes the extent of collapsed dims.
static bool appendFactors(affine::AffineApplyOp apply,
                          SmallVectorImpl<Extent> &factors) {
  AffineMap map = apply.getAffineMap();
  SmallVector<Extent> found;
  SmallVector<AffineExpr> left{map.getResult(0)};
  while (!left.empty()) {
    AffineExpr expr = left.pop_back_val();
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
        binary && expr.getKind() == AffineExprKind::Mul) {
      left.push_back(binary.getLHS());
      left.push_back(binary.getRHS());
    } else if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      found.push_back(constantExtent(constant.getValue()));
    } else if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      found.push_back(
          redfuse::getExtentOf(apply.getMapOperands()[dim.getPosition()]));
    } else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
      found.push_back(redfuse::getExtentOf(
          apply.getMapOperands()[map.getNumDims() + symbol.getPosition()]));
    } else {
      return false;
    }
  }
  llvm::append_range(factors, found);
  return true;
}

ExtentProduct redfuse::getExtentProduct(const Extent &extent) {
  ExtentProduct product;
  SmallVector<Extent> left{extent};
  while (!left.empty()) {
    Extent factor = left.pop_back_val();
    Operation *op = factor.value ? factor.value.getDefiningOp() : nullptr;
    if (auto multiply = dyn_cast_or_null<arith::MulIOp>(op)) {
      left.push_back(getExtentOf(multiply.getLhs()));
      left.push_back(getExtentOf(multiply.getRhs()));
    } else if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
      ReassociationIndices group =
          collapse.getReassociationIndices()[factor.dim];
      for (int64_t dim : group)
        left.push_back(getExtentOf(collapse.getSrc(), dim));
    } else if (auto apply = dyn_cast_or_null<affine::AffineApplyOp>(op);
               apply && appendFactors(apply, left)) {
      continue;
    } else {
      product.multiply(factor);
    }
  }
  return product;
}

Value redfuse::materialize(OpBuilder &b, Location loc, const Extent &extent) {
  if (extent.isConstant())
    return arith::ConstantIndexOp::create(b, loc, extent.constant);
  if (extent.dim >= 0)
    return tensor::DimOp::create(b, loc, extent.value, extent.dim);
  if (extent.value.getType().isIndex())
    return extent.value;
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), extent.value);
}

std::optional<Extent> redfuse::getLoopExtent(linalg::LinalgOp op,
                                             unsigned loop) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto plain = dyn_cast<AffineDimExpr>(expr);
          plain && plain.getPosition() == loop)
        return getExtentOf(operand.get(), dim);
  }
  return std::nullopt;
}

static bool fitsInMemory(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank())
    return true;
  Type element = shaped.getElementType();
  int64_t bytes = 1;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    element = complex.getElementType();
    bytes = 2;
  }
  bytes *= element.isIntOrFloat()
               ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
               : 8;
  // None of no elements either: its strides are products, too.
  for (int64_t extent : shaped.getShape())
    if (extent > 0 && llvm::MulOverflow(bytes, extent, bytes))
      return false;
  return true;
}

LogicalResult redfuse::checkFitsInMemory(Operation *root) {
  DenseSet<Type> known;
  auto check = [&](Operation *op, TypeRange types) -> WalkResult {
    for (Type type : types)
      if (known.insert(type).second && !fitsInMemory(type))
        return op->emitOpError("has a value of type ")
               << type << ", which is larger than any memory; expected fewer "
               << "than 2^63 bytes";
    return WalkResult::advance();
  };
  WalkResult result = root->walk([&](Operation *op) {
    WalkResult own = check(op, op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (!own.wasInterrupted())
          own = check(op, block.getArgumentTypes());
    return own;
  });
  return failure(result.wasInterrupted());
}

AffineMap redfuse::simplifyForExtents(AffineMap map,
                                      ArrayRef<int64_t> extents) {
  SmallVector<std::pair<AffineExpr, AffineExpr>> known;
  map.walkExprs([&](AffineExpr e) {
    if (e.getKind() != AffineExprKind::Mod)
      return;
    auto binary = cast<AffineBinaryOpExpr>(e);
    auto d = dyn_cast<AffineDimExpr>(binary.getLHS());
    auto n = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (d && n && !ShapedType::isDynamic(extents[d.getPosition()]) &&
        extents[d.getPosition()] <= n.getValue())
      known.push_back({e, d});
  });
  for (auto [from, to] : known)
    map = map.replace(from, to, map.getNumDims(), 0);
  return map;
}
