//===- RegisterMemory.cpp - loads and stores of register tiles ------------===//
#include "RegisterEmitter.h"

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Common/InlinePtx.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Of an extent that is no multiple of them, vectors begin anywhere.
llvm::MaybeAlign RegisterEmitter::alignmentOf(MemRefType type, AffineMap map) {
  if (dims[*nest->vectorDim].staticExtent % lanes != 0)
    return std::nullopt;
  return GpuEmitter::alignmentOf(type, map);
}

/// Rows of a few elements side by side, all of which this thread has, for a
/// vector of rows: read as they lie, and sorted in registers.
bool RegisterEmitter::loadInterleaved(Value memref, AffineMap map, Env &env) {
  auto type = cast<MemRefType>(memref.getType());
  if (!nest->vectorDim || map.getNumResults() < 2 ||
      !type.getLayout().isIdentity() || type.getElementType().isInteger(1))
    return false;
  unsigned rank = type.getRank();
  auto inner = dyn_cast<AffineDimExpr>(map.getResult(rank - 1));
  auto rows = dyn_cast<AffineDimExpr>(map.getResult(rank - 2));
  if (!inner || !rows || rows.getPosition() != *nest->vectorDim)
    return false;
  unsigned c = inner.getPosition();
  const DimShare &share = layout.dims[c];
  int64_t width = type.getDimSize(rank - 1);
  if (ShapedType::isDynamic(width) || share.repeats != width || width > 8 ||
      share.getSpan() != width || !env.position[c])
    return false;
  for (AffineExpr e : map.getResults().drop_back(2))
    if (e.isFunctionOfDim(c) || e.isFunctionOfDim(*nest->vectorDim))
      return false;
  for (int64_t extent : type.getShape().drop_front())
    if (ShapedType::isDynamic(extent))
      return false;
  int64_t bytes = lanes * (type.getElementTypeBitWidth() / 8);
  if (type.getShape()[rank - 2] * width % lanes != 0 ||
      dims[*nest->vectorDim].staticExtent % lanes != 0)
    return false;
  Value &flat = flattened[memref];
  if (!flat) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(memref);
    SmallVector<ReassociationIndices> nests;
    for (unsigned d = 0; d + 2 < rank; ++d)
      nests.push_back({d});
    nests.push_back({rank - 2, rank - 1});
    flat = memref::CollapseShapeOp::create(b, loc, memref, nests);
  }
  SmallVector<Value> indices = indicesOf(map, globalPositions(env));
  indices.pop_back();
  indices.back() =
      arith::MulIOp::create(b, loc, indices.back(), constantIndex(width));
  auto vectorType = VectorType::get({lanes}, type.getElementType());
  SmallVector<Value> elements;
  Value first = indices.back();
  for (int64_t k = 0; k < width; ++k) {
    indices.back() = b.createOrFold<arith::AddIOp>(
        loc, first, constantIndex(k * int64_t(lanes)));
    Value v = vector::LoadOp::create(
        b, loc, vectorType, flat, indices, /*nontemporal=*/false,
        llvm::MaybeAlign(llvm::Align(std::min<int64_t>(bytes, 16))));
    for (unsigned lane = 0; lane < lanes; ++lane)
      elements.push_back(vector::ExtractOp::create(b, loc, v, lane));
  }
  Env at = env;
  for (int64_t k = 0; k < width; ++k) {
    SmallVector<Value> own;
    for (unsigned lane = 0; lane < lanes; ++lane)
      own.push_back(elements[lane * width + k]);
    at.local[c] = k;
    loaded.remember(LoadedValues::keyOf(memref, map, at),
                    vector::FromElementsOp::create(b, loc, vectorType, own));
  }
  return true;
}

Value RegisterEmitter::loadAt(Value memref, AffineMap map, Env &env,
                              bool isLocal) {
  LoadedValues::Key key = LoadedValues::keyOf(memref, map, env);
  if (Value *known = loaded.find(key))
    return *known;
  Env plain = env;
  plain.mask = Value();
  if (Value kept = copies.findKept(memref, map, plain)) {
    Value v = GpuEmitter::loadAt(kept, map, plain, /*isLocal=*/true);
    loaded.remember(std::move(key), v);
    return v;
  }
  if (loadInterleaved(memref, map, env) ||
      (!isLocal && loadRun(memref, map, plain)))
    return *loaded.find(key);
  Value v = GpuEmitter::loadAt(memref, map, plain, isLocal);
  if (auto load = v.getDefiningOp<vector::LoadOp>()) {
    if (movedOnce.contains(memref))
      load.setNontemporal(true);
    if (layout.readsAgain)
      v = loadByPolicy(load, map);
  }
  if (auto load = v.getDefiningOp<memref::LoadOp>(); load && pinsLoads)
    load.setNontemporal(true);
  loaded.remember(std::move(key), v);
  return v;
}

/// What was computed of loaded vectors of short floats is not known to be the same
/// when it is computed again.
void RegisterEmitter::forgetExtended() {
  const Chip *chip = getChipOf(b.getInsertionBlock()->getParentOp());
  std::string inPlace = ("=" + getWordConstraint(chip) + ",0").str();
  loaded.forEach([&](Value &value) {
    auto type = dyn_cast<VectorType>(value.getType());
    if (!type || type.getElementTypeBitWidth() >= 32)
      return;
    int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
    if (bits % 32 != 0)
      return;
    auto words = VectorType::get({bits / 32}, b.getI32Type());
    Value whole = vector::BitCastOp::create(b, loc, words, value);
    SmallVector<Value> same;
    for (int64_t i = 0; i < bits / 32; ++i)
      same.push_back(LLVM::InlineAsmOp::create(
                         b, loc, b.getI32Type(),
                         Value(vector::ExtractOp::create(b, loc, whole, i)), "",
                         inPlace,
                         /*has_side_effects=*/true, /*is_align_stack=*/false,
                         LLVM::TailCallKind::None,
                         LLVM::AsmDialectAttr::get(b.getContext(),
                                                   LLVM::AsmDialect::AD_ATT),
                         ArrayAttr())
                         ->getResult(0));
    value = vector::BitCastOp::create(
        b, loc, type,
        vector::FromElementsOp::create(b, loc, words, same).getResult());
  });
}

/// Somebody has to need a word of each load: a comparison with a constant, on which
/// only a pause of no length depends.
void RegisterEmitter::awaitLoaded() {
  Value all;
  for (Value v : loaded.take()) {
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
                                       positions.word(0x7fc12345));
  auto branch = scf::IfOp::create(b, loc, pauses, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  emitPause(b, loc);
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
  Value from = addressOf(b, loc, *this, load.getBase(), indices, 1);
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

/// Where tiles are read again, further loads wait for `v`: else ptxas loads all
/// first, and what is added up has no registers beside them. Their address depends
/// on it by nothing, which no compiler knows: the grid has one row of blocks.
void RegisterEmitter::loadBehind(Value v) {
  if (!layout.readsAgain || !nest->vectorDim)
    return;
  if (isa<VectorType>(v.getType()))
    v = vector::ExtractOp::create(b, loc, v, 0);
  if (!v.getType().isF32())
    return;
  Type i32 = b.getI32Type();
  Value start = positions.getStart(*nest->vectorDim);
  Value rows = arith::IndexCastUIOp::create(
      b, loc, i32,
      gpu::GridDimOp::create(b, loc, gpu::Dimension::y).getResult());
  Value nothing = arith::AndIOp::create(
      b, loc, arith::BitcastOp::create(b, loc, i32, v).getResult(),
      arith::SubIOp::create(b, loc, rows, positions.word(1)).getResult());
  Value same = arith::AddIOp::create(
      b, loc, arith::IndexCastUIOp::create(b, loc, i32, start).getResult(),
      nothing);
  positions.setStart(*nest->vectorDim, arith::IndexCastUIOp::create(
                                           b, loc, b.getIndexType(), same));
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// One thread stores what several have; what does not exist is not stored.
void RegisterEmitter::storeAt(Value memref, AffineMap map, Value value,
                              Env &env, bool isLocal) {
  SmallVector<unsigned> ofMap;
  for (int64_t d : toDims(getDimsOf(map)))
    ofMap.push_back(d);
  Env plain = env;
  plain.mask = Value();
  SmallVector<Value> run;
  std::optional<unsigned> runDim;
  if (!isLocal && (runDim = runDimOf(memref, map, env))) {
    run = takeRun(*runDim, memref, map, value, plain);
    if (run.empty())
      return;
  }
  Value condition = positions.maskOf(env, ofMap);
  if (unsigned copies = (layout.threads - 1) & ~positions.getBits(ofMap)) {
    Value first = positions.isFirstOf(copies);
    condition = condition
                    ? Value(arith::AndIOp::create(b, loc, condition, first))
                    : first;
  }
  OpBuilder::InsertionGuard guard(b);
  if (condition) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  }
  if (runDim)
    return storeRun(*runDim, memref, map, run, plain);
  GpuEmitter::storeAt(memref, map, value, plain, isLocal);
  markMovedOnce(memref);
}

/// Of the store that was emitted last.
void RegisterEmitter::markMovedOnce(Value memref) {
  auto at = b.getInsertionPoint();
  if (at == b.getInsertionBlock()->begin() || !movedOnce.contains(memref))
    return;
  if (auto store = dyn_cast<vector::StoreOp>(*std::prev(at)))
    store.setNontemporal(true);
}
