//===- InputLoads.cpp - loads before their use ----------------------------===//
#include "InputLoads.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace redfuse;

Value InputLoads::memrefOf(const KeptInput &input) {
  return emitter.memrefs.lookup(
      kernel.getBody().front().getArgument(input.argument));
}

int64_t InputLoads::placeKept(Value sharedMemory) {
  int64_t bytes = 0;
  for (const KeptInput &kept : layout.kept) {
    Value memref = memrefOf(kept);
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<int64_t> shape;
    for (AffineExpr e : kept.map.getResults()) {
      const SpaceDim &dim = dims[cast<AffineDimExpr>(e).getPosition()];
      shape.push_back(dim.isGrid ? dim.tile : dim.staticExtent);
    }
    Value tile = memref::ViewOp::create(
        b, loc,
        MemRefType::get(
            shape, type.getElementType(), MemRefLayoutAttrInterface(),
            cast<MemRefType>(sharedMemory.getType()).getMemorySpace()),
        sharedMemory, arith::ConstantIndexOp::create(b, loc, bytes),
        ValueRange());
    emitter.copies.keep(memref, kept.map, tile);
    bytes += kept.bytes;
  }
  return bytes;
}

/// The kernel before may still write to it: what the cache has by then follows.
void InputLoads::askAhead() {
  if (layout.ahead.empty())
    return;
  OpBuilder::InsertionGuard guard(b);
  if (layout.aheadTiles != 0) {
    Value isFirst =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                              gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
                              arith::ConstantIndexOp::create(
                                  b, loc, layout.aheadTiles * layout.cluster));
    b.setInsertionPoint(
        scf::IfOp::create(b, loc, isFirst, /*withElse=*/false).thenYield());
  }
  askFor(layout.ahead);
}

void InputLoads::askFor(ArrayRef<KeptInput> inputs) {
  for (const KeptInput &input : inputs)
    emitter.copies.fetchAhead(memrefOf(input), input.map, input.bytes);
}

void InputLoads::loadPrograms(const Prefetch &which) {
  for (IndexProgramOpInterface op : nests.getPrograms()) {
    nests.select(op);
    for (bool isInvariant : {true, false})
      emitter.prefetch(nests.of(op, isInvariant), which);
  }
}

void InputLoads::loadInvariant(const SmallBitVector &walked, int64_t most,
                               bool isPinned) {
  Prefetch which{walked};
  which.most = most;
  which.isPinned = isPinned;
  loadPrograms(which);
}

void InputLoads::loadTile(Whose whose, bool isPinned) {
  Prefetch which{SmallBitVector(dims.size())};
  which.whose = whose;
  which.isPinned = isPinned;
  loadPrograms(which);
}

void InputLoads::loadStep(ArrayRef<const LoopNest *> of,
                          const SmallBitVector &walked) {
  Prefetch which{walked};
  which.isWalked = true;
  emitter.prefetch(of, which);
}

void InputLoads::loadBeside(ArrayRef<const LoopNest *> of,
                            const SmallBitVector &walked) {
  emitter.prefetch(of, Prefetch{walked});
}
