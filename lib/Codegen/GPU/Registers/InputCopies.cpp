//===- InputCopies.cpp - inputs that come ahead of their use --------------===//
#include "InputCopies.h"
#include "Tuning.h"

#include "redfuse/Codegen/GPU/Common/Cluster.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

Value redfuse::addressOf(OpBuilder &b, Location loc, TileEmitter &emitter,
                         Value memref, ValueRange indices, unsigned space) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  Value at = emitter.constantIndex(offset);
  for (auto [index, stride] : llvm::zip_equal(indices, strides))
    at = b.createOrFold<arith::AddIOp>(
        loc, at,
        b.createOrFold<arith::MulIOp>(loc, index,
                                      emitter.constantIndex(stride)));
  at = b.createOrFold<arith::MulIOp>(
      loc, at, emitter.constantIndex(type.getElementTypeBitWidth() / 8));
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  Value address = arith::IndexCastOp::create(
      b, loc, b.getI64Type(),
      arith::AddIOp::create(b, loc, start, at).getResult());
  return LLVM::IntToPtrOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), space), address);
}

/// A kept tile is whole along what is streamed.
SmallVector<Value> InputCopies::positionsInKept(const KeptTile &kept,
                                                const Env &env) {
  SmallVector<Value> position(env.position);
  for (int64_t d : toDims(getDimsOf(kept.map)))
    if (dims[d].isStream && position[d])
      position[d] =
          b.createOrFold<arith::AddIOp>(loc, dims[d].offset, position[d]);
  return position;
}

void InputCopies::keep(Value memref, AffineMap map, Value tile) {
  SmallBitVector ofMap = getDimsOf(map);
  bool isShared = llvm::none_of(ofMap.set_bits(),
                                [&](unsigned d) { return dims[d].isGrid; });
  keptTiles.push_back({memref, map, tile, isShared});
}

Value InputCopies::findKept(Value memref, AffineMap map, Env &env) {
  for (const KeptTile &kept : keptTiles)
    if (kept.memref == memref && kept.map == map) {
      env.position = positionsInKept(kept, env);
      return kept.tile;
    }
  return {};
}

void InputCopies::fetchKept(Whose which) {
  for (const KeptTile &kept : keptTiles) {
    if (which != Whose::All && kept.isShared != (which == Whose::Shared))
      continue;
    SmallVector<unsigned> all;
    for (int64_t d : toDims(getDimsOf(kept.map)))
      all.push_back(d);
    unsigned bytes =
        layout.lanes *
        (cast<MemRefType>(kept.memref.getType()).getElementTypeBitWidth() / 8);
    positions.forPoints(positions.getOrigin(), all, [&](Env &at) {
      Value from = addressOf(
          b, loc, emitter, kept.memref,
          emitter.indicesOf(kept.map, emitter.globalPositions(at)), 1);
      Value to =
          addressOf(b, loc, emitter, kept.tile,
                    emitter.indicesOf(kept.map, positionsInKept(kept, at)), 3);
      // Past the first-level cache where that is possible.
      NVVM::CpAsyncOp::create(b, loc, to, from, bytes,
                              bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                          : NVVM::LoadCacheModifierKind::CA,
                              Value());
    });
  }
}

void InputCopies::commit() { NVVM::CpAsyncCommitGroupOp::create(b, loc); }

void InputCopies::await() { NVVM::CpAsyncWaitGroupOp::create(b, loc, 0); }

/// Threads read what they copy themselves; but those beyond the end of a dim copy its
/// last elements, too, which are another's.
void InputCopies::finishReads() {
  bool hasBeyond = llvm::any_of(keptTiles, [&](const KeptTile &kept) {
    return !kept.isShared &&
           llvm::any_of(getDimsOf(kept.map).set_bits(),
                        [&](unsigned d) { return positions.hasBeyond(d); });
  });
  if (hasBeyond)
    exchange.barrier();
  else
    NVVM::SyncWarpOp::create(b, loc, positions.word(-1));
}

//===----------------------------------------------------------------------===//
// The second-level cache
//===----------------------------------------------------------------------===//

void InputCopies::fetchAhead(Value memref, AffineMap map, int64_t bytes) {
  // A piece for each of the first threads.
  int64_t pieces = llvm::divideCeil(bytes, kPieceBytes);
  pieces = std::min<int64_t>(pieces, layout.threads);
  int64_t piece = llvm::alignTo(llvm::divideCeil(bytes, pieces), 16);
  pieces = bytes / piece;
  OpBuilder::InsertionGuard guard(b);
  Value own =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                            positions.getThreadWord(), positions.word(pieces));
  auto branch = scf::IfOp::create(b, loc, own, /*withElse=*/false);
  b.setInsertionPoint(branch.thenYield());
  Env env;
  env.position.assign(dims.size(), emitter.constantIndex(0));
  Value first =
      addressOf(b, loc, emitter, memref,
                emitter.indicesOf(map, emitter.globalPositions(env)), 1);
  Value offset = arith::ExtUIOp::create(
      b, loc, b.getI64Type(),
      arith::MulIOp::create(b, loc, positions.getThreadWord(),
                            positions.word(piece)));
  emitPrefetch(b, loc,
               LLVM::GEPOp::create(b, loc, first.getType(), b.getI8Type(),
                                   first, ValueRange{offset}),
               positions.word(piece));
}
