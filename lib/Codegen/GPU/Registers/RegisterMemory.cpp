//===- RegisterMemory.cpp - copies, requests and policies of loads ---------===//
#include "Tuning.h"

#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Common/InlinePtx.h"
#include "redfuse/Codegen/GPU/Registers/RegisterEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Inputs kept in shared memory
//===----------------------------------------------------------------------===//

/// A kept tile is whole along what is streamed.
SmallVector<Value> RegisterEmitter::positionsInKept(const KeptTile &kept,
                                                    const Env &env) {
  SmallVector<Value> position(env.position);
  for (int64_t d : toDims(getDimsOf(kept.map)))
    if (dims[d].isStream && position[d])
      position[d] =
          b.createOrFold<arith::AddIOp>(loc, dims[d].offset, position[d]);
  return position;
}

/// A pointer to an element.
Value RegisterEmitter::addressOf(Value memref, ValueRange indices,
                                 unsigned space) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  Value at = constantIndex(offset);
  for (auto [index, stride] : llvm::zip_equal(indices, strides))
    at = b.createOrFold<arith::AddIOp>(
        loc, at,
        b.createOrFold<arith::MulIOp>(loc, index, constantIndex(stride)));
  at = b.createOrFold<arith::MulIOp>(
      loc, at, constantIndex(type.getElementTypeBitWidth() / 8));
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  Value address = arith::IndexCastOp::create(
      b, loc, b.getI64Type(),
      arith::AddIOp::create(b, loc, start, at).getResult());
  return LLVM::IntToPtrOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), space), address);
}

void RegisterEmitter::keep(Value memref, AffineMap map, Value tile) {
  SmallBitVector ofMap = getDimsOf(map);
  bool isShared = llvm::none_of(ofMap.set_bits(),
                                [&](unsigned d) { return dims[d].isGrid; });
  keptTiles.push_back({memref, map, tile, isShared});
}

void RegisterEmitter::fetchKept(Whose which) {
  for (const KeptTile &kept : keptTiles) {
    if (which != Whose::All && kept.isShared != (which == Whose::Shared))
      continue;
    SmallVector<unsigned> all;
    for (int64_t d : toDims(getDimsOf(kept.map)))
      all.push_back(d);
    Env env;
    env.position.assign(dims.size(), Value());
    env.local.assign(dims.size(), 0);
    unsigned bytes =
        lanes *
        (cast<MemRefType>(kept.memref.getType()).getElementTypeBitWidth() / 8);
    forPoints(env, all, [&](Env &at) {
      Value from =
          addressOf(kept.memref, indicesOf(kept.map, globalPositions(at)), 1);
      Value to = addressOf(kept.tile,
                           indicesOf(kept.map, positionsInKept(kept, at)), 3);
      // Past the first-level cache where that is possible.
      NVVM::CpAsyncOp::create(b, loc, to, from, bytes,
                              bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                          : NVVM::LoadCacheModifierKind::CA,
                              Value());
    });
  }
}

void RegisterEmitter::fetchAhead(Value memref, AffineMap map, int64_t bytes) {
  // A piece for each of the first threads.
  int64_t pieces = llvm::divideCeil(bytes, kPieceBytes);
  pieces = std::min<int64_t>(pieces, layout.threads);
  int64_t piece = llvm::alignTo(llvm::divideCeil(bytes, pieces), 16);
  pieces = bytes / piece;
  OpBuilder::InsertionGuard guard(b);
  Value own = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                    getThreadWord(), word(pieces));
  auto branch = scf::IfOp::create(b, loc, own, /*withElse=*/false);
  b.setInsertionPoint(branch.thenYield());
  Env env;
  env.position.assign(dims.size(), constantIndex(0));
  Value first = addressOf(memref, indicesOf(map, globalPositions(env)), 1);
  Value offset = arith::ExtUIOp::create(
      b, loc, b.getI64Type(),
      arith::MulIOp::create(b, loc, getThreadWord(), word(piece)));
  emitPrefetch(b, loc,
               LLVM::GEPOp::create(b, loc, first.getType(), b.getI8Type(),
                                   first, ValueRange{offset}),
               word(piece));
}

/// Somebody has to need a word of each load: a comparison with a constant, on which
/// only a pause of no length depends.
void RegisterEmitter::awaitLoaded() {
  Value all;
  for (const LoadKey &key : loaded.back().order) {
    Value v = loaded.back().values[key];
    auto type = dyn_cast<VectorType>(v.getType());
    if (!type || type.getRank() != 1 || !type.getElementType().isIntOrFloat() ||
        type.getNumElements() * type.getElementTypeBitWidth() % 32 != 0)
      continue;
    int64_t words = type.getNumElements() * type.getElementTypeBitWidth() / 32;
    v = vector::BitCastOp::create(b, loc,
                                  VectorType::get({words}, b.getI32Type()), v);
    v = vector::ExtractOp::create(b, loc, v, ArrayRef<int64_t>{0});
    all = all ? Value(arith::XOrIOp::create(b, loc, all, v)) : v;
  }
  if (!all)
    return;
  Value pauses = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, all,
                                       word(0x7fc12345));
  auto branch = scf::IfOp::create(b, loc, pauses, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  emitPause(b, loc);
}

void RegisterEmitter::commitKept() {
  NVVM::CpAsyncCommitGroupOp::create(b, loc);
}

void RegisterEmitter::awaitKept() {
  NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
}

/// Before tiles are copied over others. Threads read what they copy themselves;
/// but those beyond the end of a dim copy its last elements, too, which are
/// another's.
void RegisterEmitter::finishReads() {
  bool hasBeyond = llvm::any_of(keptTiles, [&](const KeptTile &kept) {
    return !kept.isShared &&
           llvm::any_of(getDimsOf(kept.map).set_bits(), [&](unsigned d) {
             return llvm::any_of(
                 llvm::seq<int64_t>(0, layout.dims[d].repeats),
                 [&](int64_t repeat) { return isBeyond(d, repeat); });
           });
  });
  if (hasBeyond)
    synchronize();
  else
    NVVM::SyncWarpOp::create(b, loc, word(-1));
}

//===----------------------------------------------------------------------===//
// Tiles that are read again
//===----------------------------------------------------------------------===//

/// A load of 16 bytes, with a word to both caches: what is read again should stay, and
/// go when it is read for the last time.
Value RegisterEmitter::loadByPolicy(vector::LoadOp load, AffineMap map) {
  VectorType type = load.getVectorType();
  if (!layout.hasPolicies || load.getAlignment().value_or(1) < 16 ||
      type.getNumElements() * type.getElementTypeBitWidth() != 128)
    return load;
  bool isShared = llvm::none_of(getDimsOf(map).set_bits(),
                                [&](unsigned d) { return dims[d].isGrid; });
  StringRef how = isReadingLast && !isShared ? "evict_first" : "evict_last";
  SmallVector<Value> indices(load.getIndices());
  // Addresses that differ by a constant share a register.
  int64_t bytes = 0;
  if (auto add = indices.back().getDefiningOp<arith::AddIOp>())
    if (std::optional<int64_t> number = getConstantIntValue(add.getRhs())) {
      bytes = *number * (type.getElementTypeBitWidth() / 8);
      indices.back() = add.getLhs();
    }
  Value from = addressOf(load.getBase(), indices, 1);
  Type i32 = b.getI32Type();
  Value policy = emitPtx(
      b, loc, ("createpolicy.fractional.L2::" + how + ".b64 $0, 1.0;").str(),
      "=l", {}, b.getI64Type(), /*hasEffects=*/false)[0];
  SmallVector<Value> words =
      emitPtx(b, loc,
              ("ld.global.L1::" + how +
               ".L2::cache_hint.v4.b32 {$0, $1, $2, $3}, [$4+" + Twine(bytes) +
               "], $5;")
                  .str(),
              "=r,=r,=r,=r,l,l", {from, policy}, SmallVector<Type>(4, i32));
  load.erase();
  return vector::BitCastOp::create(
      b, loc, type,
      vector::FromElementsOp::create(b, loc, VectorType::get({4}, i32), words));
}

void RegisterEmitter::forgetVectors() {
  for (Scope &scope : loaded)
    for (auto it = scope.values.begin(); it != scope.values.end();)
      it = isa<VectorType>(it->second.getType()) ? scope.values.erase(it)
                                                 : std::next(it);
}

/// Where tiles are read again, further loads wait for `v`: else ptxas loads all
/// first, and what is added up has no registers beside them. Their address depends
/// on it by nothing, which no compiler knows: the grid has one row of blocks.
void RegisterEmitter::loadBehind(Value v) {
  if (!layout.readsAgain || !group->vectorDim)
    return;
  if (isa<VectorType>(v.getType()))
    v = vector::ExtractOp::create(b, loc, v, 0);
  if (!v.getType().isF32())
    return;
  Type i32 = b.getI32Type();
  Value &start = starts[*group->vectorDim];
  Value rows = arith::IndexCastUIOp::create(
      b, loc, i32,
      gpu::GridDimOp::create(b, loc, gpu::Dimension::y).getResult());
  Value nothing = arith::AndIOp::create(
      b, loc, arith::BitcastOp::create(b, loc, i32, v).getResult(),
      arith::SubIOp::create(b, loc, rows, word(1)).getResult());
  Value same = arith::AddIOp::create(
      b, loc, arith::IndexCastUIOp::create(b, loc, i32, start).getResult(),
      nothing);
  start = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), same);
}
