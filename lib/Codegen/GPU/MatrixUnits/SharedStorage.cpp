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

void SharedStorage::clearAbsentRows() {
  const ProductTiles &load = layout.products.front();
  if (!load.left || load.left->absentRows == 0)
    return;
  // In chunks of 16 bytes, of a panel's rows one behind the other.
  constexpr int64_t kChunk = 16;
  tile::SharedType type = load.left->type;
  int64_t ofPanel = load.left->absentRows * kSumBytes / kChunk,
          ofStage = ofPanel * type.getPanels();
  Value zero = ptx.i32(0);
  emitFor(b, loc, toIndex(of.ids.thread), index(layout.stages * ofStage),
          index(plan.threads()), {}, [&](Value number, ValueRange) {
            Value at = toWord(number);
            auto split = [&](int64_t by) {
              Value quotient = arith::DivUIOp::create(b, loc, at, ptx.i32(by));
              at = arith::RemUIOp::create(b, loc, at, ptx.i32(by));
              return quotient;
            };
            Value place = ptx.add(ptx.mul(split(ofStage), layout.stageBytes),
                                  load.right.bytes() +
                                      load.left->rowsOfBox() * kSumBytes);
            place =
                ptx.add(place, ptx.mul(split(ofPanel), type.getPanelBytes()));
            place = ptx.add(place, ptx.mul(at, kChunk));
            tile::StoreOp::create(b, loc, ptx.add(tiles, place), /*offset=*/0,
                                  ValueRange{zero, zero, zero, zero});
            return SmallVector<Value>();
          });
  tile::FenceCopiesOp::create(b, loc);
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
