//===- OperandSide.cpp - an operand's tile --------------------------------===//
#include "ContractionEmitter.h"

#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

using namespace mlir;
using namespace redfuse;

OperandSide redfuse::makeSide(ContractionEmitter &emitter,
                              const ContractionTiling &tiling, bool isLeft) {
  const MatrixForm &form = tiling.form;
  const MatrixInstruction &x = tiling.x;
  const OperandTransfer &operands = tiling.operands;
  OperandSide side;
  side.factor = isLeft ? form.left : form.right;
  side.element = isLeft ? x.left : x.right;
  side.isSigned = isLeft ? form.leftIsSigned : form.rightIsSigned;
  for (unsigned d : isLeft ? form.rows : form.columns)
    side.axes.push_back({d, 1});
  side.rows = isLeft ? tiling.tileRows() : tiling.tileColumns();
  side.warpRows = isLeft ? tiling.warpRows() : tiling.warpColumns();
  side.parts = isLeft ? x.leftRow.count : x.rightColumn.count;
  side.count = side.warpRows / side.parts;
  side.isDirect = isLeft ? operands.isLeftDirect : operands.isRightDirect;
  side.start = isLeft || operands.isLeftDirect
                   ? 0
                   : tiling.operandBytes(tiling.tileRows());
  side.isWhole = emitter.points.hasWholeTiles(side.axes, side.rows);
  side.cone = emitter.coneOf(side.factor);
  for (Value v : side.cone)
    if (isa<BlockArgument>(v))
      side.loaded.push_back(v);
  if (operands.isCopied) {
    side.copied = isLeft ? operands.left : operands.right;
    if (side.copied.inside)
      side.insideCone = emitter.coneOf(side.copied.inside);
  }
  return side;
}

/// The largest argument that the operand is computed from.
static BlockArgument findMain(const OperandSide &side,
                              const ContractionEmitter &emitter) {
  BlockArgument main;
  int64_t most = 0;
  for (Value v : side.loaded) {
    SmallVector<unsigned> ofDims;
    for (unsigned d : emitter.getProgram().getDimSets()[v].set_bits())
      ofDims.push_back(d);
    int64_t points = emitter.shape().capacityOf(ofDims);
    if (points > most) {
      most = points;
      main = cast<BlockArgument>(v);
    }
  }
  return main;
}

void redfuse::chooseAccess(OperandSide &side, ContractionEmitter &emitter,
                           const ContractionTiling &tiling, unsigned innerSum) {
  bool isCopied = tiling.operands.isCopied;
  int64_t slabs = tiling.plan.getSlabs(), vectorSums = tiling.vectorSums();
  auto threads = int64_t(emitter.threads);
  BlockArgument main = findMain(side, emitter);
  side.isAlongRows = true;
  if (!side.axes.empty())
    side.accessDim = side.axes.back().dim;
  if (!main)
    return;
  auto goAlongSums = [&] {
    side.isAlongRows = false;
    side.accessDim = innerSum;
  };
  if (tiling.isByWarpgroups()) {
    goAlongSums();
    side.width = vectorSums;
    return;
  }
  int64_t bytes = bytesOf(main.getType());
  auto widthAlong = [&](unsigned dim, int64_t atMost) {
    int64_t width = 1;
    while (2 * width <= atMost && 2 * width * bytes <= kAccessBytes &&
           emitter.isMultiple(dim, 2 * width))
      width *= 2;
    return width;
  };
  auto alignedAlong = [&](unsigned dim, int64_t width) -> int64_t {
    std::optional<FlatIndex> flat = emitter.flatIndexOf(main);
    return flat && flat->wrapped.empty() ? alignedWidth(*flat, dim, width) : 1;
  };
  std::optional<unsigned> contiguous = emitter.getProgram().getContiguous(main);
  AffineMap map = emitter.getOp().getMapOfBodyArgument(main.getArgNumber());
  auto isAdjacent = [&](const PointNumbering::Axis &axis) {
    return map.getNumResults() > 0 &&
           map.getResults().back().isFunctionOfDim(axis.dim);
  };
  if (contiguous && llvm::is_contained(tiling.form.sums, *contiguous)) {
    bool isLast = *contiguous == innerSum;
    bool isLong = emitter.shape().capacityOf(*contiguous) >= vectorSums;
    bool isByRows = llvm::any_of(side.axes, isAdjacent);
    if ((isLast && isLong) || !isByRows) {
      goAlongSums();
      if (isLast)
        side.width = widthAlong(*contiguous, vectorSums);
      if (isCopied)
        side.width =
            side.copied.inside ? 1 : alignedAlong(*contiguous, side.width);
      return;
    }
  }
  // All codes of a word are loaded by one access, and belong to one row.
  if (side.isDirect &&
      !emitter.getProgram().getDimSets()[main].test(innerSum) &&
      emitter.getDim(innerSum).staticSize.value_or(1) % vectorSums == 0) {
    goAlongSums();
    side.width = vectorSums;
    return;
  }
  bool isContiguous = contiguous == side.accessDim;
  if (isCopied) {
    // Where elements are adjacent along rows, those of one sum are stored together.
    side.isBySums = true;
    int64_t most = kAccessBytes / bytes;
    if (isContiguous && !side.copied.inside)
      side.width = alignedAlong(*contiguous, widthAlong(*contiguous, most));
    while (side.width > 1 && side.countUnits(slabs) < threads)
      side.width /= 2;
    return;
  }
  if (side.isDirect) {
    // A lane's rows are neighbours.
    if (isContiguous)
      side.width = widthAlong(*contiguous, side.count);
    return;
  }
  int64_t accesses = side.rows * 4 * slabs / kRowsOfAccess;
  if (isContiguous && accesses >= threads)
    side.width = widthAlong(*contiguous, kRowsOfAccess);
}

bool redfuse::isInPairs(const OperandSide &side,
                        const ContractionEmitter &emitter,
                        const ContractionTiling &tiling, unsigned codes,
                        unsigned innerSum) {
  auto argument = dyn_cast<BlockArgument>(side.factor);
  if (!argument || side.isDirect || side.isAlongRows ||
      tiling.operands.isCopied || emitter.getDim(codes).staticSize != 2 ||
      bytesOf(argument.getType()) != tiling.elementBytes() ||
      argument.getType() !=
          typeOf(side.element, argument.getType().getContext()))
    return false;
  std::optional<FlatIndex> flat = emitter.flatIndexOf(argument);
  if (!flat || !flat->wrapped.empty() || flat->factors[codes] != 1 ||
      flat->factors[innerSum] != 2)
    return false;
  int64_t others = flat->offset;
  for (auto [d, factor] : llvm::enumerate(flat->factors))
    if (d != codes && d != innerSum)
      others |= factor;
  return others % tiling.vectorSums() == 0;
}
