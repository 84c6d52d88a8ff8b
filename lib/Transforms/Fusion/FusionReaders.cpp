//===- FusionReaders.cpp - maps that belong to their readers --------------===//
#include "FusionPlanner.h"

#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Analysis/Windows.h"

using namespace mlir;
using namespace redfuse;

/// Whether a cheap map makes more bytes than it reads: it pads, repeats or extends.
static bool makesMore(CascadeOp op) {
  if (!isCheapMap(op))
    return false;
  double read = 0, made = 0;
  for (Value input : op.getInputs())
    if (isa<RankedTensorType>(input.getType()))
      read += getTensorBytes(input);
  for (Value result : op.getResults())
    made += getTensorBytes(result);
  return made > read;
}

/// Whether it is a product of windows that matrix units multiply: a convolution whose channels are
/// summed, too.
static bool isWindowProduct(CascadeOp op) {
  auto reduces = llvm::to_vector(op.getBody().front().getOps<ReduceOp>());
  if (reduces.size() != 1 || !findProduct(reduces.front()))
    return false;
  SmallBitVector summed = toDimSet(reduces.front().getOver(),
                                   op.getIndexingMapsArray()[0].getNumDims());
  return llvm::any_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    bool hasTap = false, hasChannel = false;
    for (AffineExpr e : map.getResults())
      for (unsigned d : summed.set_bits()) {
        bool isPlain = isa<AffineDimExpr>(withoutOffset(e));
        hasTap |= !isPlain && e.isFunctionOfDim(d);
        hasChannel |= isPlain && e.isFunctionOfDim(d);
      }
    return hasTap && hasChannel;
  });
}

/// Whether a map is of what a product of windows makes, perhaps by way of other maps.
bool FusionPlanner::isOfWindows(CascadeOp map) {
  llvm::SmallSetVector<Operation *, 8> maps;
  maps.insert(map);
  for (unsigned i = 0; i < maps.size(); ++i)
    for (OpResult made : producersOf(cast<CascadeOp>(maps[i]))) {
      auto before = cast<CascadeOp>(made.getOwner());
      if (isWindowProduct(before))
        return true;
      if (!isReduced(before))
        maps.insert(before);
    }
  return false;
}

/// What makes more than it reads belongs to its reader, where that or what makes it are products
/// of windows: these read zeros around a tensor that are not there, and are slow at computing
/// such. Between the two kernels are then the bytes that the map reads.
void FusionPlanner::growIntoReaders() {
  for (CascadeOp consumer : cascades)
    for (OpResult edge : producersOf(consumer)) {
      auto map = cast<CascadeOp>(edge.getOwner());
      if (map->hasOneUse() && makesMore(map) &&
          (isWindowProduct(consumer) || isOfWindows(map)))
        growAlongEdge(map, consumer);
    }
}
