//===- CheckAccesses.cpp - redfuse-check-accesses -------------------------===//
//
// What an operation on tensors leaves undefined (an index outside, extents that
// disagree, a slice that does not fit) would be an access to foreign memory once
// the tensors are buffers. Here, before anything else, each becomes a cf.assert
// with the operation's place; all later passes may take the program for right.
//
//===----------------------------------------------------------------------===//
#include "AccessChecks.h"
#include "WindowChecks.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/IR/Selection.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/TMTensor/IR/TMTensor.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace redfuse {
#define GEN_PASS_DEF_CHECKACCESSES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

static RankedTensorType typeOfTensor(Value v) {
  return cast<RankedTensorType>(v.getType());
}

static SmallVector<Extent> extentsFrom(ArrayRef<OpFoldResult> sizes) {
  return llvm::map_to_vector(
      sizes, [](OpFoldResult size) { return getExtentOf(size); });
}

/// The extents of a new tensor, of which `dynamic` are those that its type does
/// not say.
static SmallVector<Extent> extentsOfNew(RankedTensorType type,
                                        ValueRange dynamic) {
  SmallVector<Extent> extents;
  for (int64_t size : type.getShape()) {
    if (!ShapedType::isDynamic(size)) {
      extents.push_back(AccessChecks::constant(size));
      continue;
    }
    extents.push_back(getExtentOf(dynamic.front()));
    dynamic = dynamic.drop_front();
  }
  return extents;
}

namespace {
class Checker {
public:
  explicit Checker(func::FuncOp func) : func(func), checks(func) {}
  LogicalResult run();

private:
  LogicalResult check(Operation *op);
  void checkIndices(Operation *op, Value tensor, ValueRange indices);
  void checkLoopSteps(LoopLikeOpInterface op);
  void check(tensor::CastOp op);
  void check(tensor::ConcatOp op);
  void check(tensor::ReshapeOp op);
  void check(tensor::ExpandShapeOp op);
  void check(tensor::PadOp op);
  void check(linalg::PackOp op);
  void check(linalg::UnPackOp op);
  void check(bufferization::MaterializeInDestinationOp op);
  void check(tm_tensor::ScatterOp op);
  void check(SelectOp op);
  void check(redfuse::ScatterOp op);
  void replaceNegative(Operation *op, unsigned operand);
  void checkSlice(OffsetSizeAndStrideOpInterface op, Value whole);
  void checkStep(Operation *op, const Extent &whole, const Extent &offset,
                 const Extent &size, const Extent &stride, unsigned dim);
  void checkInserted(OffsetSizeAndStrideOpInterface op, Value slice,
                     Value whole);
  /// Dims of operands that are the same one of `maps` are equally long.
  void checkDims(Operation *op, ValueRange operands, ArrayRef<AffineMap> maps);
  void checkSameShape(Operation *op, ValueRange operands);
  /// All that `op` reads and writes, by the maps of its operands.
  LogicalResult checkMaps(Operation *op, ArrayRef<AffineMap> maps);

  func::FuncOp func;
  AccessChecks checks;
};
} // namespace

void Checker::checkIndices(Operation *op, Value tensor, ValueRange indices) {
  for (auto [dim, index] : llvm::enumerate(indices))
    checks.requireInside(op, index, tensor, dim,
                         "index " + Twine(dim) + " is outside the tensor");
}

void Checker::checkLoopSteps(LoopLikeOpInterface op) {
  auto steps = op.getLoopSteps();
  if (!steps)
    return;
  for (OpFoldResult step : *steps)
    checks.requireAtLeast(op, getExtentOf(step), 1, "a step is not positive");
}

void Checker::check(tensor::CastOp op) {
  auto from = dyn_cast<RankedTensorType>(op.getSource().getType());
  auto to = dyn_cast<RankedTensorType>(op.getType());
  if (!from || !to)
    return;
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (from.isDynamicDim(d) && !to.isDynamicDim(d))
      checks.requireEqual(op, AccessChecks::extentOf(op.getSource(), d),
                          AccessChecks::constant(to.getDimSize(d)),
                          "extent " + Twine(d) + " is not " +
                              Twine(to.getDimSize(d)));
}

void Checker::check(tensor::ConcatOp op) {
  Value first = op.getInputs().front();
  for (auto [number, other] : llvm::enumerate(op.getInputs()))
    for (int64_t d = 0; d < op.getResultType().getRank(); ++d)
      if (number != 0 && d != int64_t(op.getDim()))
        checks.requireEqual(op, AccessChecks::extentOf(first, d),
                            AccessChecks::extentOf(other, d),
                            "extent " + Twine(d) + " of operand " +
                                Twine(number) +
                                " differs from the first operand's");
}

/// Both lists of extents have the same product.
static void requireSameProduct(AccessChecks &checks, Operation *op,
                               ArrayRef<Extent> from, ArrayRef<Extent> to,
                               const Twine &what) {
  ExtentProduct left, right;
  for (auto [list, product] :
       {std::make_pair(from, &left), std::make_pair(to, &right)})
    for (const Extent &extent : list) {
      ExtentProduct factors = getExtentProduct(extent);
      product->constant *= factors.constant;
      llvm::append_range(product->factors, factors.factors);
    }
  if (left == right && left.isSize())
    return;
  checks.require(
      op,
      [&](OpBuilder &b) {
        Location loc = op->getLoc();
        // The tensor that there is has few enough elements.
        Value fits = checks.fitsInMemory(b, loc, to, 1);
        Value same = b.createOrFold<arith::CmpIOp>(
            loc, arith::CmpIPredicate::eq, checks.makeProduct(b, loc, from),
            checks.makeProduct(b, loc, to));
        return b.createOrFold<arith::AndIOp>(loc, same, fits);
      },
      what);
}

void Checker::check(tensor::ReshapeOp op) {
  auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
  auto result = dyn_cast<RankedTensorType>(op.getType());
  if (!source || !result)
    return;
  SmallVector<Extent> from, to;
  for (int64_t d = 0; d < source.getRank(); ++d)
    from.push_back(AccessChecks::extentOf(op.getSource(), d));
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto listed = op.getShape().getDefiningOp<tensor::FromElementsOp>();
  for (int64_t d = 0; d < result.getRank(); ++d) {
    Value at = listed ? Value() : arith::ConstantIndexOp::create(b, loc, d);
    Value number =
        listed
            ? listed.getElements()[d]
            : tensor::ExtractOp::create(b, loc, op.getShape(), at).getResult();
    to.push_back(getExtentOf(number));
    if (!result.isDynamicDim(d))
      checks.requireEqual(
          op, to.back(), AccessChecks::constant(result.getDimSize(d)),
          "extent " + Twine(d) + " is not " + Twine(result.getDimSize(d)));
    checks.requireAtLeast(op, to.back(), 0, "negative extent");
  }
  requireSameProduct(checks, op, from, to,
                     "the result has another number of elements");
}

void Checker::check(tensor::ExpandShapeOp op) {
  SmallVector<Extent> sizes = extentsFrom(op.getMixedOutputShape());
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    SmallVector<Extent> parts;
    for (int64_t part : group) {
      parts.push_back(sizes[part]);
      if (!sizes[part].isConstant())
        checks.requireAtLeast(op, sizes[part], 0, "negative extent");
    }
    requireSameProduct(checks, op, AccessChecks::extentOf(op.getSrc(), dim),
                       parts,
                       "the extents made of dim " + Twine(dim) +
                           " have another product than it");
  }
  for (OpOperand &operand : op.getOutputShapeMutable())
    replaceNegative(op, operand.getOperandNumber());
}

void Checker::check(tensor::PadOp op) {
  SmallVector<OpFoldResult> lows = op.getMixedLowPad(),
                            highs = op.getMixedHighPad();
  SmallVector<Extent> extents;
  Location loc = op.getLoc();
  bool isNew = false;
  for (auto [d, low, high] : llvm::enumerate(lows, highs)) {
    for (OpFoldResult side : {low, high}) {
      Extent number = getExtentOf(side);
      checks.requireAtLeast(op, number, 0, "negative padding");
      if (!number.isConstant())
        checks.requireAtMost(
            op, number, AccessChecks::constant(IndexRanges::kMostElements / 4),
            "padding without bounds");
    }
    if (!op.getResultType().isDynamicDim(d)) {
      extents.push_back(
          AccessChecks::constant(op.getResultType().getDimSize(d)));
      continue;
    }
    isNew = true;
    OpBuilder b(op);
    Value sum =
        redfuse::materialize(b, loc, AccessChecks::extentOf(op.getSource(), d));
    for (OpFoldResult side : {low, high})
      sum = b.createOrFold<arith::AddIOp>(
          loc, sum, redfuse::materialize(b, loc, getExtentOf(side)));
    extents.push_back(getExtentOf(sum));
  }
  if (isNew)
    checks.requireSize(op, extents, op.getResultType().getElementType());
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Elements offset, offset + stride, ... are inside; none is taken of size 0.
void Checker::checkStep(Operation *op, const Extent &whole,
                        const Extent &offset, const Extent &size,
                        const Extent &stride, unsigned dim) {
  IndexRanges &ranges = checks.ranges;
  AffineExpr from = *ranges.getExpr(offset), count = *ranges.getExpr(size),
             length = *ranges.getExpr(whole);
  checks.requireAtLeast(op, size, 0,
                        "dim " + Twine(dim) + " reaches outside the tensor");
  bool isUnit = stride.isConstant() && stride.constant == 1;
  if (stride.isConstant() && stride.constant >= 0 &&
      stride.constant < (1 << 30) && ranges.isNonNegative(from) &&
      ranges.isNonNegative(length - 1 - from - (count - 1) * stride.constant))
    return;
  checks.require(
      op,
      [&](OpBuilder &b) -> Value {
        Location loc = op->getLoc();
        using P = arith::CmpIPredicate;
        auto make = [&](const Extent &e) {
          return redfuse::materialize(b, loc, e);
        };
        auto compare = [&](P p, Value l, Value r) {
          return b.createOrFold<arith::CmpIOp>(loc, p, l, r);
        };
        Value zero = arith::ConstantIndexOp::create(b, loc, 0);
        Value one = arith::ConstantIndexOp::create(b, loc, 1);
        Value first = make(offset), n = make(size), extent = make(whole);
        Value behind = b.createOrFold<arith::SubIOp>(loc, extent, first);
        Value isEmpty = compare(P::eq, n, zero);
        Value starts = compare(P::ult, first, extent), reaches;
        if (isUnit) {
          reaches = compare(P::sle, n, behind);
        } else {
          // Steps that there is room for, on the side to which they go.
          Value step = make(stride);
          Value up = compare(P::sgt, step, zero),
                none = compare(P::eq, step, zero);
          Value back = b.createOrFold<arith::SubIOp>(loc, zero, step);
          Value width = b.createOrFold<arith::SelectOp>(loc, up, step, back);
          width = b.createOrFold<arith::SelectOp>(loc, none, one, width);
          Value last = b.createOrFold<arith::SubIOp>(loc, behind, one);
          Value room = b.createOrFold<arith::SelectOp>(loc, up, last, first);
          Value steps = b.createOrFold<arith::DivUIOp>(loc, room, width);
          Value needed = b.createOrFold<arith::SubIOp>(loc, n, one);
          reaches = b.createOrFold<arith::OrIOp>(
              loc, none, compare(P::sle, needed, steps));
        }
        return b.createOrFold<arith::OrIOp>(
            loc, isEmpty, b.createOrFold<arith::AndIOp>(loc, starts, reaches));
      },
      "dim " + Twine(dim) + " reaches outside the tensor");
}

/// An offset or extent that is always negative is never reached (the check in front of it
/// fails), or is where a slice of nothing begins. Later passes would make it an extent of
/// a type or a static offset, which may not be.
void Checker::replaceNegative(Operation *op, unsigned operand) {
  Extent number = getExtentOf(OpFoldResult(op->getOperand(operand)));
  if (!checks.ranges.isNonNegative(-1 - *checks.ranges.getExpr(number)))
    return;
  OpBuilder b(op);
  op->setOperand(operand, arith::ConstantIndexOp::create(b, op->getLoc(), 0));
}

void Checker::checkSlice(OffsetSizeAndStrideOpInterface op, Value whole) {
  SmallVector<OpFoldResult> offsets = op.getMixedOffsets(),
                            sizes = op.getMixedSizes(),
                            strides = op.getMixedStrides();
  for (unsigned d = 0; d < offsets.size(); ++d)
    checkStep(op, AccessChecks::extentOf(whole, d), getExtentOf(offsets[d]),
              getExtentOf(sizes[d]), getExtentOf(strides[d]), d);
  for (unsigned d = 0; d < sizes.size(); ++d) {
    if (isa<Value>(offsets[d]))
      replaceNegative(op, op.getIndexOfDynamicOffset(d));
    if (isa<Value>(sizes[d]))
      replaceNegative(op, op.getIndexOfDynamicSize(d));
  }
}

void Checker::checkInserted(OffsetSizeAndStrideOpInterface op, Value slice,
                            Value whole) {
  checkSlice(op, whole);
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  RankedTensorType type = typeOfTensor(slice);
  // Dims of extent 1 are dropped, from the front on: MLIR compares the rest.
  unsigned next = 0, spare = sizes.size() - type.getRank();
  for (auto [d, size] : llvm::enumerate(sizes)) {
    Extent extent = getExtentOf(size);
    bool isOne = extent.isConstant() && extent.constant == 1;
    if (spare && isOne &&
        (int64_t(next) == type.getRank() || type.getDimSize(next) != 1)) {
      --spare;
      continue;
    }
    if (int64_t(next) == type.getRank())
      return;
    checks.requireEqual(op, AccessChecks::extentOf(slice, next), extent,
                        "extent " + Twine(next) +
                            " of the slice is not the size of its place");
    ++next;
  }
}

//===----------------------------------------------------------------------===//
// Packs
//===----------------------------------------------------------------------===//

/// Outer extents times tiles against the extents that are packed.
template <typename Op>
static void checkTiles(AccessChecks &checks, Op op, Value plain, Value packed,
                       bool isExact) {
  int64_t rank = typeOfTensor(plain).getRank();
  SmallVector<int64_t> place(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  for (auto [to, from] : llvm::enumerate(op.getOuterDimsPerm()))
    place[from] = to;
  SmallVector<OpFoldResult> tiles = op.getMixedTiles();
  SmallVector<Extent> tileOf(rank, AccessChecks::constant(1));
  for (auto [k, d] : llvm::enumerate(op.getInnerDimsPos())) {
    tileOf[d] = getExtentOf(tiles[k]);
    checks.requireAtLeast(op, tileOf[d], 1, "a tile is not positive");
    checks.requireEqual(op, AccessChecks::extentOf(packed, rank + k), tileOf[d],
                        "extent " + Twine(rank + k) +
                            " of the packed tensor is not that of its tile");
  }
  for (int64_t d = 0; d < rank; ++d) {
    Extent whole = AccessChecks::extentOf(plain, d);
    Extent outer = AccessChecks::extentOf(packed, place[d]);
    std::string what = "extent " + std::to_string(place[d]) +
                       " of the packed tensor does not fit dim " +
                       std::to_string(d) + " of the other";
    if (tileOf[d] == AccessChecks::constant(1)) {
      checks.requireEqual(op, outer, whole, what);
      continue;
    }
    AffineExpr length = *checks.ranges.getExpr(whole);
    auto count = *checks.ranges.getExpr(outer);
    if (tileOf[d].isConstant() && tileOf[d].constant < (1 << 30)) {
      AffineExpr room = count * tileOf[d].constant - length;
      if (checks.ranges.isNonNegative(room) &&
          (!isExact || checks.ranges.isNonNegative(-room)))
        continue;
    }
    checks.require(
        op,
        [&](OpBuilder &b) -> Value {
          Location loc = op->getLoc();
          using P = arith::CmpIPredicate;
          auto make = [&](const Extent &e) {
            return redfuse::materialize(b, loc, e);
          };
          Value n = make(whole), tile = make(tileOf[d]), parts = make(outer);
          Value needed = b.createOrFold<arith::CeilDivUIOp>(loc, n, tile);
          Value fits = b.createOrFold<arith::CmpIOp>(
              loc, isExact ? P::eq : P::ule, needed, parts);
          if (!isExact)
            return fits;
          Value rest = b.createOrFold<arith::RemUIOp>(loc, n, tile);
          Value zero = arith::ConstantIndexOp::create(b, loc, 0);
          return b.createOrFold<arith::AndIOp>(
              loc, fits, b.createOrFold<arith::CmpIOp>(loc, P::eq, rest, zero));
        },
        what);
  }
}

void Checker::check(linalg::PackOp op) {
  checkTiles(checks, op, op.getSource(), op.getDest(),
             /*isExact=*/!op.getPaddingValue());
}

void Checker::check(linalg::UnPackOp op) {
  checkTiles(checks, op, op.getDest(), op.getSource(), /*isExact=*/false);
}

//===----------------------------------------------------------------------===//
// Iteration dims
//===----------------------------------------------------------------------===//

void Checker::checkDims(Operation *op, ValueRange operands,
                        ArrayRef<AffineMap> maps) {
  llvm::SmallDenseMap<unsigned, std::pair<Value, unsigned>> first;
  for (auto [number, operand, map] : llvm::enumerate(operands, maps)) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    for (auto [d, expr] : llvm::enumerate(map.getResults())) {
      auto plain = dyn_cast<AffineDimExpr>(expr);
      if (!plain)
        continue;
      auto [it, isNew] =
          first.try_emplace(plain.getPosition(), operand, unsigned(d));
      if (isNew)
        continue;
      auto [other, otherDim] = it->second;
      checks.requireEqual(op, AccessChecks::extentOf(other, otherDim),
                          AccessChecks::extentOf(operand, d),
                          "extent " + Twine(d) + " of operand " +
                              Twine(number) +
                              " differs from another operand's in the same "
                              "iteration dim");
    }
  }
}

LogicalResult Checker::checkMaps(Operation *op, ArrayRef<AffineMap> maps) {
  if (failed(checkWindows(checks, op, maps)))
    return failure();
  checkDims(op, op->getOperands(), maps);
  return success();
}

void Checker::checkSameShape(Operation *op, ValueRange operands) {
  SmallVector<AffineMap> maps(
      operands.size(),
      AffineMap::getMultiDimIdentityMap(
          typeOfTensor(operands.front()).getRank(), op->getContext()));
  checkDims(op, operands, maps);
}

void Checker::check(bufferization::MaterializeInDestinationOp op) {
  if (isa<RankedTensorType>(op.getDest().getType()))
    checkSameShape(op, {op.getSource(), op.getDest()});
}

/// Slices fit into the dims of the output that no position speaks of.
void Checker::check(SelectOp op) {
  for (Value destination : op.getDpsInits())
    for (int64_t d = 0; d + 1 < typeOfTensor(destination).getRank(); ++d)
      checks.requireEqual(op, AccessChecks::extentOf(destination, d),
                          AccessChecks::extentOf(op.getInput(), d),
                          "dim " + Twine(d) + " is not that of the input");
}

void Checker::check(redfuse::ScatterOp op) {
  checks.requireEqual(op, AccessChecks::extentOf(op.getPlaces(), 0),
                      AccessChecks::extentOf(op.getUpdates(), 0),
                      "expected a place for each update");
  checks.requireEqual(op, AccessChecks::extentOf(op.getDestination(), 1),
                      AccessChecks::extentOf(op.getUpdates(), 1),
                      "updates are no rows of the destination");
}

void Checker::check(tm_tensor::ScatterOp op) {
  Value updates = op.getInputs()[0], positions = op.getInputs()[1];
  Value output = op.getOutputs()[0];
  checks.requireEqual(op, AccessChecks::extentOf(positions, 0),
                      AccessChecks::extentOf(updates, 0),
                      "expected a position for each update");
  checks.requireEqual(
      op, AccessChecks::extentOf(positions, 1),
      AccessChecks::constant(op.getDimensionMap().size()),
      "positions have another number of dims than dimension_map");
  int64_t first = op.getFirstSliceDim();
  for (int64_t d = first; d < typeOfTensor(output).getRank(); ++d)
    if (!llvm::is_contained(op.getDimensionMap(), d))
      checks.requireAtMost(op, AccessChecks::extentOf(updates, 1 + d - first),
                           AccessChecks::extentOf(output, d),
                           "slices do not fit into dim " + Twine(d) +
                               " of the output");
}

/// What the operands of `op` are indexed by, where it is one of torch-mlir's.
static SmallVector<AffineMap> mapsOfTMTensor(Operation *op) {
  MLIRContext *context = op->getContext();
  auto identity = [&](Value v, int64_t except, int64_t instead) {
    int64_t rank = typeOfTensor(v).getRank();
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d < rank; ++d)
      exprs.push_back(getAffineDimExpr(d == except ? instead : d, context));
    return AffineMap::get(rank + 1, 0, exprs, context);
  };
  if (auto topk = dyn_cast<tm_tensor::TopkOp>(op)) {
    SmallVector<AffineMap> maps;
    int64_t rank = typeOfTensor(topk.getInputs()[0]).getRank();
    for (Value v : topk.getInputs())
      maps.push_back(identity(v, -1, -1));
    for (Value v : topk.getOutputs())
      maps.push_back(identity(v, topk.getDimension(), rank));
    return maps;
  }
  if (auto scan = dyn_cast<tm_tensor::ScanOp>(op)) {
    AffineMap all = identity(scan.getInputs()[0], -1, -1);
    return {all, all, all.dropResult(scan.getDimension())};
  }
  if (auto sum = dyn_cast<tm_tensor::WeightedSumOp>(op)) {
    int64_t batch = typeOfTensor(sum.getInputs()[0]).getRank() - 2;
    auto withLast = [&](int64_t one, int64_t other) {
      SmallVector<AffineExpr> exprs;
      for (int64_t d : llvm::seq<int64_t>(0, batch))
        exprs.push_back(getAffineDimExpr(d, context));
      exprs.push_back(getAffineDimExpr(batch + one, context));
      exprs.push_back(getAffineDimExpr(batch + other, context));
      return AffineMap::get(batch + 4, 0, exprs, context);
    };
    // Rows, keys, width, width of values.
    SmallVector<AffineMap> maps{withLast(0, 2), withLast(1, 2), withLast(1, 3)};
    if (sum.getInputs().size() == 4)
      maps.push_back(withLast(0, 1));
    maps.push_back(withLast(0, 3));
    return maps;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// What is outside of tensors cannot be checked: memory itself, tensors whose
/// rank is not known, and vectors of a tensor's elements.
static LogicalResult refuseUnchecked(Operation *op) {
  auto isUnknown = [&](Type type) {
    return isa<BaseMemRefType, UnrankedTensorType>(type) ||
           (isa<RankedTensorType>(type) &&
            isa<vector::VectorDialect>(op->getDialect()));
  };
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                llvm::to_vector(op->getResultTypes())))
    if (op->getDialect() && isUnknown(type))
      return op->emitOpError("accesses to ")
             << type << " cannot be checked; expected operations on tensors "
             << "of known ranks";
  return success();
}

/// What a call would do is not known here: those that could be inlined are.
static LogicalResult refuseCall(Operation *op) {
  if (!isa<func::CallOp, func::CallIndirectOp>(op))
    return success();
  InFlightDiagnostic error = op->emitError();
  error << op->getParentOfType<func::FuncOp>().getName() << " calls ";
  if (auto call = dyn_cast<func::CallOp>(op))
    error << call.getCalleeAttr();
  else
    error << "a function value";
  return error << ", which cannot be inlined (recursive, or without a body); "
               << "expected a program that is complete in itself";
}

LogicalResult Checker::check(Operation *op) {
  if (failed(refuseUnchecked(op)) || failed(refuseCall(op)))
    return failure();
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    checkLoopSteps(loop);
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return checkMaps(op, structured.getIndexingMapsArray());
  if (auto program = dyn_cast<IndexProgramOpInterface>(op))
    return checkMaps(op, program.getIndexingMapsArray());
  if (auto maps = mapsOfTMTensor(op); !maps.empty()) {
    checkDims(op, op->getOperands(), maps);
    return success();
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tensor::ExtractOp op) {
        checkIndices(op, op.getTensor(), op.getIndices());
      })
      .Case([&](tensor::InsertOp op) {
        checkIndices(op, op.getDest(), op.getIndices());
      })
      .Case([&](tensor::DimOp op) {
        checks.requireAtLeast(op, getExtentOf(op.getIndex()), 0,
                              "there is no such dim");
        checks.requireAtMost(
            op, getExtentOf(op.getIndex()),
            AccessChecks::constant(typeOfTensor(op.getSource()).getRank() - 1),
            "there is no such dim");
        // What is never reached: later passes take constants for dims.
        std::optional<int64_t> dim = op.getConstantIndex();
        OpBuilder b(op);
        if (dim && (*dim < 0 || *dim >= typeOfTensor(op.getSource()).getRank()))
          op.getIndexMutable().assign(
              arith::ConstantIndexOp::create(b, op.getLoc(), 0));
      })
      .Case<tensor::EmptyOp, tensor::SplatOp, tensor::GenerateOp,
            bufferization::AllocTensorOp>([&](auto op) {
        auto type = cast<RankedTensorType>(op->getResult(0).getType());
        ValueRange sizes = op->getOperands();
        if constexpr (std::is_same_v<decltype(op), tensor::SplatOp>)
          sizes = op.getDynamicSizes();
        if constexpr (std::is_same_v<decltype(op),
                                     bufferization::AllocTensorOp>)
          sizes = op.getDynamicSizes();
        if (!sizes.empty() && sizes.size() == size_t(type.getNumDynamicDims()))
          checks.requireSize(op, extentsOfNew(type, sizes),
                             type.getElementType());
      })
      .Case([&](tensor::ExtractSliceOp op) { checkSlice(op, op.getSource()); })
      .Case<tensor::InsertSliceOp, tensor::ParallelInsertSliceOp>(
          [&](auto op) { checkInserted(op, op.getSource(), op.getDest()); })
      .Case<tensor::CastOp, tensor::ConcatOp, tensor::ReshapeOp,
            tensor::ExpandShapeOp, tensor::PadOp, linalg::PackOp,
            linalg::UnPackOp, bufferization::MaterializeInDestinationOp,
            tm_tensor::ScatterOp, SelectOp, redfuse::ScatterOp>(
          [&](auto op) { check(op); })
      .Case([&](linalg::SoftmaxOp op) {
        checkSameShape(op, {op.getInput(), op.getOutput()});
      })
      .Case([&](tm_tensor::SortOp op) { checkSameShape(op, op.getOutputs()); });
  return success();
}

/// More elements than any memory has: what asks for them has failed its check.
static constexpr int64_t kImpossible = int64_t(1) << 47;

/// Whether it is an element of a tensor, which may be any number, and no extent or
/// place.
static bool isElement(OpOperand &operand) {
  Operation *op = operand.getOwner();
  unsigned number = operand.getOperandNumber();
  if (auto pack = dyn_cast<linalg::PackOp>(op))
    return pack.getPaddingValue() && number == 2;
  if (isa<tensor::InsertOp, tensor::SplatOp>(op))
    return number == 0;
  return isa<tensor::FromElementsOp, tensor::YieldOp, linalg::LinalgOp,
             linalg::YieldOp>(op);
}

/// Constants that a check has refused are never used, but passes fold them into types
/// whose sizes overflow, or take the least one for an extent that is not known. What
/// is never reached may as well ask for nothing.
static void dropImpossible(AccessChecks &checks, Operation *op) {
  if (!isa_and_nonnull<tensor::TensorDialect, linalg::LinalgDialect,
                       bufferization::BufferizationDialect>(op->getDialect()))
    return;
  unsigned firstStride = op->getNumOperands(), endOfStrides = firstStride;
  if (auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op)) {
    endOfStrides = slice.getOffsetSizeAndStrideStartOperandIndex() +
                   slice.getOffsets().size() + slice.getSizes().size() +
                   slice.getStrides().size();
    firstStride = endOfStrides - slice.getStrides().size();
  }
  SmallVector<OpOperand *> constants;
  __int128 product = 1;
  bool isImpossible = false;
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<int64_t> value;
    if (operand.get().getType().isIndex() && !isElement(operand))
      value = getConstantIntValue(operand.get());
    if (!value)
      continue;
    constants.push_back(&operand);
    __int128 size = *value < 0 ? -__int128(*value) : __int128(*value);
    isImpossible |=
        size > kImpossible || (isa<tensor::ExpandShapeOp>(op) && *value < 0);
    product =
        std::min(product, __int128(kImpossible)) * std::max<__int128>(size, 1);
  }
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (int64_t extent : tensor.getShape())
        if (!ShapedType::isDynamic(extent))
          product = std::min(product, __int128(kImpossible)) *
                    std::max<int64_t>(extent, 1);
  bool isNew = isa<tensor::EmptyOp, tensor::SplatOp, tensor::GenerateOp,
                   tensor::ExtractSliceOp, bufferization::AllocTensorOp>(op);
  if (!isImpossible && !(isNew && product > kImpossible))
    return;
  OpBuilder b(op);
  if (!op->getParentOfType<linalg::LinalgOp>())
    checks.require(
        op,
        [&](OpBuilder &before) -> Value {
          return arith::ConstantOp::create(before, op->getLoc(),
                                           before.getBoolAttr(false));
        },
        "no memory has what is asked for");
  for (OpOperand *operand : constants) {
    unsigned number = operand->getOperandNumber();
    bool isStride = number >= firstStride && number < endOfStrides;
    operand->set(
        arith::ConstantIndexOp::create(b, op->getLoc(), isStride ? 1 : 0));
  }
}

LogicalResult Checker::run() {
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != func)
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (failed(check(op)))
      return failure();
  checks.makeGuards();
  func.walk([&](Operation *op) { dropImpossible(checks, op); });
  return success();
}

/// A pad is pure to upstream, whatever its body asserts, and is dropped where nobody
/// needs it, or for a constant that the body yields. So one that asserts something is
/// a tensor.generate, into which the source goes.
static void keepAssertions(tensor::PadOp op) {
  if (op.getRegion().getOps<cf::AssertOp>().empty())
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  RankedTensorType type = op.getResultType();
  SmallVector<OpFoldResult> lows = op.getMixedLowPad(),
                            highs = op.getMixedHighPad(),
                            sizes =
                                tensor::getMixedSizes(b, loc, op.getSource());
  auto valueOf = [&](OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(b, loc, number);
  };
  SmallVector<Value> extents;
  for (auto [d, low, size, high] : llvm::enumerate(lows, sizes, highs)) {
    if (!type.isDynamicDim(d))
      continue;
    Value sum = b.createOrFold<arith::AddIOp>(loc, valueOf(low), valueOf(size));
    extents.push_back(b.createOrFold<arith::AddIOp>(loc, sum, valueOf(high)));
  }
  auto made = tensor::GenerateOp::create(b, loc, type, extents);
  made.getBody().takeBody(op.getRegion());
  Value result = made;
  if (!llvm::is_contained(op.getSourceType().getShape(), 0)) {
    SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
    result = tensor::InsertSliceOp::create(b, loc, op.getSource(), made, lows,
                                           sizes, ones);
  }
  op.replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct CheckAccesses : redfuse::impl::CheckAccessesBase<CheckAccesses> {
  void runOnOperation() override {
    if (failed(checkFitsInMemory(getOperation())))
      return signalPassFailure();
    getOperation()->walk([&](func::FuncOp func) {
      if (func.isExternal())
        return;
      foldIntegers(func);
      if (failed(Checker(func).run()))
        return signalPassFailure();
      func.walk(keepAssertions);
      liftAssertions(func);
      dropUnreached(func);
    });
  }
};
} // namespace
