//===- SharedStorage.cpp - the block's shared memory ----------------------===//
#include "SharedStorage.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace redfuse;

/// The ring, what stays beside it, results or states of others, barriers.
void SharedStorage::divide() {
  auto space3 = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  Value shared = gpu::DynamicSharedMemoryOp::create(
      b, loc,
      MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                      MemRefLayoutAttrInterface(), space3));
  tiles = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, shared));
  // Where tensor maps and descriptors swizzle, they do so by the address.
  if (plan.target.hasWgmma)
    tiles = arith::AndIOp::create(b, loc, ptx.add(tiles, 1023), ptx.i32(-1024));
  received = states.isReceivedInRing()
                 ? tiles
                 : ptx.add(tiles, layout.ringBytes + layout.residentBytes);
  barriers = ptx.add(tiles, layout.tileBytes());
  receivedCount = ptx.add(barriers, layout.stages * 16 + 48);
  pipeline.create(tiles, barriers);
}

void SharedStorage::initBarriers() {
  pipeline.initBarriers();
  if (layout.residentBytes) {
    ptx.initBarrier(residentBarrier(/*isFull=*/true), 1);
    ptx.initBarrier(residentBarrier(/*isFull=*/false), 4 * plan.consumers);
  }
  if (plan.hasDynamicScheduler) {
    // Who reads an answer: the producer, and every consumer warp.
    ptx.initBarrier(schedulerBarrier(/*isFull=*/true), 1);
    ptx.initBarrier(schedulerBarrier(/*isFull=*/false), 1 + 4 * plan.consumers);
  }
  if (plan.cluster > 1)
    ptx.initBarrier(receivedBarrier(), 1);
  ptx.fenceBarriers();
  // Of every row of a state what is not padding.
  if (plan.cluster > 1)
    ptx.expect(receivedBarrier(), states.receivedBytes());
}

Value SharedStorage::residentTile(const ProductTiles &product) {
  Value address = ptx.add(tiles, layout.ringBytes + product.residentAt);
  return tile::ViewOp::create(b, loc, product.kept->type, address);
}

Value SharedStorage::stagedAddress(tile::SharedType type) {
  Value start = ptx.add(tiles, layout.ringBytes + layout.residentBytes);
  return ptx.add(start, ptx.mul(ptx.add(of.ids.warp, -4), type.getBytes()));
}

Value SharedStorage::controlWord() {
  return ptx.add(barriers, layout.stages * 16);
}

Value SharedStorage::schedulerBarrier(bool isFull) {
  return ptx.barrierAt(
      ptx.add(barriers, layout.stages * 16 + (isFull ? 16 : 24)));
}

Value SharedStorage::residentBarrier(bool isFull) {
  return ptx.barrierAt(
      ptx.add(barriers, layout.stages * 16 + (isFull ? 32 : 40)));
}

Value SharedStorage::receivedBarrier() { return ptx.barrierAt(receivedCount); }
