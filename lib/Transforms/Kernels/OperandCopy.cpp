//===- OperandCopy.cpp - the copy of a factor -----------------------------===//
#include "OperandCopy.h"

#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/MovedBody.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace redfuse;

/// The float of TF32 next to an f32, or before it where that were infinite, and what it
/// lacks. Infinities lack nothing.
static SmallVector<Value> splitInParts(RewriterBase &b, Location loc, Value v) {
  Type type = b.getI32Type();
  auto word = [&](uint32_t bits) -> Value {
    return arith::ConstantOp::create(b, loc,
                                     b.getI32IntegerAttr(int32_t(bits)));
  };
  Value bits = arith::BitcastOp::create(b, loc, type, v);
  Value size = arith::AndIOp::create(b, loc, bits, word(0x7fffffff));
  Value up = arith::AddIOp::create(b, loc, bits, word(0x1000));
  Value isLarge = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, size,
                                        word(0x7f7ff000));
  Value big = arith::SelectOp::create(b, loc, isLarge, bits, up);
  big = arith::AndIOp::create(b, loc, big, word(0xffffe000));
  big = arith::BitcastOp::create(b, loc, v.getType(), big);
  Value isInfinite = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                           size, word(0x7f800000));
  Value rest = arith::SubFOp::create(b, loc, v, big);
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  return {big, arith::SelectOp::create(b, loc, isInfinite, zero, rest)};
}

/// Ends a copy of a dim of `extent` elements: with what the product rounds rounded, or in
/// parts, and zeros behind it.
static void yieldCopy(RewriterBase &b, Location loc, Value v,
                      const Operand &operand, int64_t extent) {
  if (operand.padded) {
    Value place = IndexOp::create(b, loc, operand.dims.size() - 1);
    Value end = arith::ConstantIndexOp::create(b, loc, extent);
    Value isThere =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, place, end);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(v.getType()));
    v = arith::SelectOp::create(b, loc, isThere, v, zero);
  }
  if (operand.isInParts) {
    YieldOp::create(b, loc, splitInParts(b, loc, v));
    return;
  }
  if (operand.narrow)
    v = arith::TruncFOp::create(b, loc, operand.narrow, v);
  if (arith::TruncFOp round = operand.round) {
    Value narrow = arith::TruncFOp::create(b, loc, round.getType(), v);
    v = arith::ExtFOp::create(b, loc, v.getType(), narrow);
  }
  YieldOp::create(b, loc, v);
}

Type redfuse::getCopiedType(const Operand &operand) {
  return operand.narrow ? Type(operand.narrow) : operand.value.getType();
}

/// A cascade without a body, of a result for each part of the operand.
static CascadeOp makeParts(RewriterBase &b, Location loc,
                           const Operand &operand, ArrayRef<int64_t> shape,
                           ValueRange inputs, SmallVector<AffineMap> maps) {
  SmallVector<Value> empty;
  for (int i = 0; i < (operand.isInParts ? 2 : 1); ++i) {
    empty.push_back(
        tensor::EmptyOp::create(b, loc, shape, getCopiedType(operand)));
    maps.push_back(b.getMultiDimIdentityMap(unsigned(shape.size())));
  }
  auto copy = CascadeOp::create(b, loc, ValueRange(empty).getTypes(), inputs,
                                empty, b.getAffineMapArrayAttr(maps), nullptr);
  copy.getBody().push_back(new Block());
  return copy;
}

/// A cascade that has an argument's elements in the order of the copy.
static CascadeOp copyArgument(RewriterBase &b, CascadeOp op,
                              const Operand &operand) {
  Location loc = op.getLoc();
  Value input = op.getInputs()[operand.argument.getArgNumber()];
  auto type = cast<RankedTensorType>(input.getType());
  unsigned rank = unsigned(type.getRank());
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> places(rank);
  for (auto [place, d] : llvm::enumerate(operand.dims)) {
    shape.push_back(type.getDimSize(d));
    places[d] = b.getAffineDimExpr(unsigned(place));
  }
  unsigned last = operand.dims.back();
  if (operand.padded) {
    shape.back() = operand.padded;
    places[last] = places[last] % type.getDimSize(last);
  }
  CascadeOp copy =
      makeParts(b, loc, operand, shape, input,
                {AffineMap::get(rank, 0, places, op.getContext())});
  Block *block = &copy.getBody().front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block);
  yieldCopy(b, loc, block->addArgument(type.getElementType(), loc), operand,
            type.getDimSize(last));
  return copy;
}

CascadeOp redfuse::makeCopy(RewriterBase &b, CascadeOp op,
                            const Operand &operand) {
  if (operand.argument)
    return copyArgument(b, op, operand);
  Location loc = op.getLoc();
  SmallVector<int64_t> extents = getStaticExtents(op), shape;
  for (unsigned d : operand.dims)
    shape.push_back(extents[d]);
  unsigned last = operand.dims.back();
  if (operand.padded)
    shape.back() = operand.padded;
  // What it is computed from, in body order.
  SetVector<Operation *> cone;
  SetVector<Value> arguments;
  SmallVector<Value> open{operand.value};
  Block &body = op.getBody().front();
  while (!open.empty()) {
    Value v = open.pop_back_val();
    Operation *def = v.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(v);
        argument && argument.getOwner() == &body)
      arguments.insert(v);
    else if (def && def->getBlock() == &body && cone.insert(def))
      llvm::append_range(open, def->getOperands());
  }
  SmallVector<AffineExpr> places(extents.size(), b.getAffineConstantExpr(0));
  for (auto [place, d] : llvm::enumerate(operand.dims))
    places[d] = b.getAffineDimExpr(unsigned(place));
  if (operand.padded)
    places[last] = places[last] % extents[last];
  unsigned rank = operand.dims.size();
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  for (Value v : arguments) {
    unsigned i = cast<BlockArgument>(v).getArgNumber();
    inputs.push_back(op.getInputs()[i]);
    maps.push_back(op.getIndexingMapsArray()[i].replaceDimsAndSymbols(
        places, {}, rank, 0));
  }
  CascadeOp copy = makeParts(b, loc, operand, shape, inputs, maps);
  Block *block = &copy.getBody().front();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block);
  IRMapping mapping;
  for (Value v : arguments)
    mapping.map(v, block->addArgument(v.getType(), loc));
  for (Operation &inner : body) {
    if (!cone.contains(&inner))
      continue;
    Operation *clone = b.clone(inner, mapping);
    if (auto index = dyn_cast<IndexOp>(clone)) {
      auto place = llvm::find(operand.dims, unsigned(index.getDim()));
      index.setDim(uint64_t(place - operand.dims.begin()));
      if (operand.padded && place + 1 == operand.dims.end()) {
        Value extent = arith::ConstantIndexOp::create(b, loc, extents[last]);
        mapping.map(inner.getResult(0),
                    arith::RemUIOp::create(b, loc, index, extent).getResult());
      }
    }
  }
  yieldCopy(b, loc, mapping.lookupOrDefault(operand.value), operand,
            extents[last]);
  return copy;
}
