//===- CpuEmitter.cpp - values of a tile program: loads, stores, ops -------===//
#include "CpuEmitter.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

AffineMap redfuse::simplifyForExtents(AffineMap map,
                                      ArrayRef<int64_t> extents) {
  SmallVector<std::pair<AffineExpr, AffineExpr>> known;
  map.walkExprs([&](AffineExpr e) {
    if (e.getKind() != AffineExprKind::Mod)
      return;
    auto binary = cast<AffineBinaryOpExpr>(e);
    auto d = dyn_cast<AffineDimExpr>(binary.getLHS());
    auto n = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (d && n && !ShapedType::isDynamic(extents[d.getPosition()]) &&
        extents[d.getPosition()] <= n.getValue())
      known.push_back({e, d});
  });
  for (auto [from, to] : known)
    map = map.replace(from, to, map.getNumDims(), 0);
  return map;
}

void CpuEmitter::setProgram(IndexProgramOpInterface newOp,
                            TileProgram &newProgram,
                            DenseMap<Value, TileBuffer> newBuffers) {
  op = newOp;
  program = &newProgram;
  buffers = std::move(newBuffers);
}

Value CpuEmitter::constant(TypedAttr attr) {
  // Constants stand at the top of the function; the folder merges them.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return arith::ConstantOp::create(b, loc, attr);
}

Value CpuEmitter::constantIndex(int64_t value) {
  return constant(b.getIndexAttr(value));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

SmallVector<Value> CpuEmitter::globalPositions(Env &env) {
  SmallVector<Value> result;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    Value local = env.position[d];
    if (!local)
      result.push_back(constantIndex(0));
    else if (isConstantIntValue(getAsOpFoldResult(dim.offset), 0))
      result.push_back(local);
    else
      result.push_back(b.createOrFold<arith::AddIOp>(loc, dim.offset, local));
  }
  return result;
}

SmallVector<Value> CpuEmitter::indicesOf(AffineMap map, ValueRange dimValues) {
  SmallVector<Value> indices;
  for (AffineExpr expr : map.getResults()) {
    if (auto d = dyn_cast<AffineDimExpr>(expr))
      indices.push_back(dimValues[d.getPosition()]);
    else
      indices.push_back(affine::expandAffineExpr(b, loc, expr, dimValues, {}));
  }
  return indices;
}

/// The position in `map` at which `dim` occurs with neighbours adjacent: the last
/// one only, as a plain term.
static bool isContiguousIn(AffineMap map, unsigned dim, MemRefType type) {
  if (map.getNumResults() == 0)
    return false;
  for (AffineExpr e : map.getResults().drop_back())
    if (e.isFunctionOfDim(dim))
      return false;
  // d and d + (anything without d) are adjacent for adjacent d.
  AffineExpr last = map.getResults().back();
  AffineExpr rest = last - getAffineDimExpr(dim, map.getContext());
  rest = simplifyAffineExpr(rest, map.getNumDims(), 0);
  if (rest.isFunctionOfDim(dim))
    return false;
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// i1 elements take a byte in memory; vectors of i1 are packed bits. Both are
/// accessed as bytes.
static Value asBytes(OpBuilder &b, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.getElementType().isInteger(1))
    return memref;
  auto bytes = MemRefType::get(type.getShape(), b.getI8Type(), type.getLayout(),
                               type.getMemorySpace());
  return UnrealizedConversionCastOp::create(b, loc, bytes, memref).getResult(0);
}

Value CpuEmitter::loadAt(Value memref, AffineMap map, Env &env, bool isLocal) {
  bool isBool =
      cast<MemRefType>(memref.getType()).getElementType().isInteger(1);
  memref = asBytes(b, loc, memref);
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> at =
      isLocal ? SmallVector<Value>(env.position) : globalPositions(env);
  Value result;
  bool hasVector = group->vectorDim && env.position[*group->vectorDim] &&
                   getDimsOf(map).test(*group->vectorDim);
  if (!hasVector) {
    result = memref::LoadOp::create(b, loc, memref, indicesOf(map, at));
  } else {
    auto vectorType = VectorType::get({lanes}, type.getElementType());
    if (isContiguousIn(map, *group->vectorDim, type)) {
      SmallVector<Value> indices = indicesOf(map, at);
      if (env.mask) {
        Value zero = constant(b.getZeroAttr(vectorType));
        result = vector::MaskedLoadOp::create(b, loc, vectorType, memref,
                                              indices, env.mask, zero);
      } else {
        result = vector::LoadOp::create(b, loc, vectorType, memref, indices);
      }
    } else {
      // Element by element. A lane that does not exist reads the last one.
      result = constant(b.getZeroAttr(vectorType));
      Value base = at[*group->vectorDim];
      for (unsigned lane = 0; lane < lanes; ++lane) {
        Value step = constantIndex(lane);
        if (env.lanesLeft) {
          Value last =
              arith::SubIOp::create(b, loc, env.lanesLeft, constantIndex(1));
          step = arith::MinSIOp::create(b, loc, step, last);
        }
        at[*group->vectorDim] = arith::AddIOp::create(b, loc, base, step);
        Value element =
            memref::LoadOp::create(b, loc, memref, indicesOf(map, at));
        result = vector::InsertOp::create(b, loc, element, result,
                                          ArrayRef<int64_t>{lane});
      }
    }
  }
  if (isBool) {
    Value zero = constant(b.getZeroAttr(result.getType()));
    result =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, result, zero);
  }
  return result;
}

void CpuEmitter::storeAt(Value memref, AffineMap map, Value value, Env &env,
                         bool isLocal) {
  memref = asBytes(b, loc, memref);
  auto type = cast<MemRefType>(memref.getType());
  if (getElementTypeOrSelf(value.getType()).isInteger(1)) {
    Type bytes = b.getI8Type();
    if (auto v = dyn_cast<VectorType>(value.getType()))
      bytes = VectorType::get(v.getShape(), bytes);
    value = arith::ExtUIOp::create(b, loc, bytes, value);
  }
  SmallVector<Value> at =
      isLocal ? SmallVector<Value>(env.position) : globalPositions(env);
  bool hasVector = group->vectorDim && env.position[*group->vectorDim] &&
                   getDimsOf(map).test(*group->vectorDim);
  if (!hasVector) {
    memref::StoreOp::create(b, loc, value, memref, indicesOf(map, at));
    return;
  }
  value = asVector(value);
  if (isContiguousIn(map, *group->vectorDim, type)) {
    SmallVector<Value> indices = indicesOf(map, at);
    if (env.mask)
      vector::MaskedStoreOp::create(b, loc, memref, indices, env.mask, value);
    else
      vector::StoreOp::create(b, loc, value, memref, indices);
    return;
  }
  Value base = at[*group->vectorDim];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    OpBuilder::InsertionGuard guard(b);
    Value step = constantIndex(lane);
    if (env.lanesLeft) {
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           step, env.lanesLeft);
      auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
      b.setInsertionPoint(branch.thenYield());
    }
    at[*group->vectorDim] = arith::AddIOp::create(b, loc, base, step);
    Value element =
        vector::ExtractOp::create(b, loc, value, ArrayRef<int64_t>{lane});
    memref::StoreOp::create(b, loc, element, memref, indicesOf(map, at));
  }
}

/// The map from kernel dims to the shape of a tile buffer.
static AffineMap mapOf(const TileBuffer &buffer, unsigned numDims,
                       MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (unsigned d : buffer.dims)
    exprs.push_back(getAffineDimExpr(d, context));
  return AffineMap::get(numDims, 0, exprs, context);
}

Value CpuEmitter::loadTile(const TileBuffer &buffer, Env &env) {
  return loadAt(buffer.memref, mapOf(buffer, dims.size(), b.getContext()), env,
                /*isLocal=*/true);
}

void CpuEmitter::storeTile(const TileBuffer &buffer, Value value, Env &env) {
  storeAt(buffer.memref, mapOf(buffer, dims.size(), b.getContext()), value, env,
          /*isLocal=*/true);
}

Value CpuEmitter::loadArgument(BlockArgument arg, Env &env) {
  SmallVector<int64_t> extents;
  for (const SpaceDim &dim : dims)
    extents.push_back(dim.staticExtent);
  AffineMap map =
      simplifyForExtents(op.getMapOfBodyArgument(arg.getArgNumber()), extents);
  // The arguments of every program are its operands in order, but a merge's
  // (left state first), which never reaches this emitter.
  Value tensor = op->getOperand(arg.getArgNumber());
  // The state of a fold is read where its results are written: in place.
  if (auto fold = dyn_cast<FoldOp>(op.getOperation()))
    if (arg.getArgNumber() >= fold.getInputs().size())
      tensor = fold.getResult(arg.getArgNumber() - fold.getInputs().size());
  auto tile = tiles.find(tensor);
  if (tile != tiles.end())
    return loadTile(tile->second, env);
  return loadAt(memrefs.lookup(tensor), map, env, /*isLocal=*/false);
}

void CpuEmitter::storeYield(const Root &root, Env &env) {
  Value value = valueOf(root.value, env);
  Value result = op->getResult(root.yieldIndex);
  auto tile = tiles.find(result);
  if (tile != tiles.end())
    return storeTile(tile->second, value, env);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap map =
      maps[maps.size() - op.getProgramInits().size() + root.yieldIndex];
  storeAt(memrefs.lookup(result), map, value, env, /*isLocal=*/false);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool CpuEmitter::isVector(Value v) const {
  return isa<VectorType>(v.getType());
}

Value CpuEmitter::asVector(Value v) {
  if (isVector(v))
    return v;
  return vector::BroadcastOp::create(b, loc,
                                     VectorType::get({lanes}, v.getType()), v);
}

bool CpuEmitter::isBound(Value v, Env &env) const {
  for (unsigned d : program->getDimSets()[v].set_bits())
    if (!env.position[d])
      return false;
  return true;
}

bool CpuEmitter::isMadeHere(Value v) const {
  return llvm::any_of(group->roots, [&](Root *root) {
    return root->kind == Root::Kind::Keep && root->value == v;
  });
}

Value CpuEmitter::valueOf(Value v, Env &env) {
  auto it = env.values.find(v);
  if (it != env.values.end())
    return it->second;
  if (Operation *def = v.getDefiningOp())
    if (def->hasTrait<OpTrait::ConstantLike>()) {
      auto attr = cast<TypedAttr>(def->getAttr("value"));
      return constant(attr);
    }
  // From outside the body: a scalar argument of the kernel.
  return captured.lookup(v);
}

Value CpuEmitter::loadValue(Value v, Env &env) {
  auto it = env.values.find(v);
  if (it != env.values.end())
    return it->second;
  auto buffer = buffers.find(v);
  if (buffer != buffers.end() && !isMadeHere(v))
    return loadTile(buffer->second, env);
  return loadArgument(cast<BlockArgument>(v), env);
}

/// Computes every needed value whose dims are bound and that is not there yet.
/// Called at each loop, so that a value stands at the outermost one it can.
void CpuEmitter::emitAvailable(Env &env) {
  for (Value v : needed) {
    if (env.values.contains(v) || !isBound(v, env))
      continue;
    auto buffer = buffers.find(v);
    bool isLoaded = buffer != buffers.end() && !isMadeHere(v);
    if (isLoaded || isa<BlockArgument>(v)) {
      // Not before the whole address is known: a kept value of a reduction in
      // this very nest is not there yet.
      if (auto reduce = v.getDefiningOp<ReduceOp>())
        if (llvm::any_of(reduces, [&](Root *r) { return r->reduce == reduce; }))
          continue;
      env.values[v] = loadValue(v, env);
      continue;
    }
    Operation *def = v.getDefiningOp();
    if (isa<ReduceOp>(def))
      continue; // an accumulator: set by whoever finishes it
    bool ready = llvm::all_of(def->getOperands(), [&](Value operand) {
      return operand.getParentBlock() != &program->getBody() ||
             env.values.contains(operand) ||
             (operand.getDefiningOp() &&
              operand.getDefiningOp()->hasTrait<OpTrait::ConstantLike>());
    });
    if (ready)
      env.values[v] = emitOp(def, env);
  }
}

Value CpuEmitter::emitOp(Operation *def, Env &env) {
  if (auto index = dyn_cast<IndexOp>(def)) {
    unsigned d = index.getDim();
    Value position = globalPositions(env)[d];
    if (group->vectorDim != d)
      return position;
    Value base = asVector(position);
    Value step = vector::StepOp::create(
        b, loc, VectorType::get({lanes}, b.getIndexType()));
    return arith::AddIOp::create(b, loc, base, step);
  }
  SmallVector<Value> operands;
  bool anyVector = false;
  for (Value operand : def->getOperands()) {
    // A captured tensor is read in memory.
    if (isa<TensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    operands.push_back(valueOf(operand, env));
    anyVector |= isVector(operands.back());
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(def)) {
    // An index from data: stay inside the tensor whatever it is; the program's
    // own assertion, if it has one, reports it.
    Value memref = memrefs.lookup(extract.getTensor());
    Value bytes = asBytes(b, loc, memref);
    SmallVector<Value> indices;
    for (auto [i, index] : llvm::enumerate(ArrayRef(operands).drop_front())) {
      Value size = memref::DimOp::create(b, loc, memref, i);
      Value last = arith::SubIOp::create(b, loc, size, constantIndex(1));
      Value low = arith::MaxSIOp::create(b, loc, index, constantIndex(0));
      indices.push_back(arith::MinSIOp::create(b, loc, low, last));
    }
    Value v = memref::LoadOp::create(b, loc, bytes, indices);
    if (bytes != memref)
      v = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v,
                                constant(b.getZeroAttr(v.getType())));
    return v;
  }
  if (!anyVector) {
    IRMapping mapping;
    for (auto [from, to] : llvm::zip_equal(def->getOperands(), operands))
      mapping.map(from, to);
    Operation *clone = b.clone(*def, mapping);
    return clone->getNumResults() == 0 ? Value() : clone->getResult(0);
  }
  for (Value &operand : operands)
    operand = asVector(operand);
  OperationState state(def->getLoc(), def->getName());
  state.addOperands(operands);
  for (Type type : def->getResultTypes())
    state.addTypes(VectorType::get({lanes}, type));
  state.addAttributes(def->getAttrs());
  return b.create(state)->getResult(0);
}

void CpuEmitter::emitFill(const TileBuffer &buffer, TypedAttr value) {
  Group fill;
  fill.dims = SmallBitVector(dims.size());
  for (unsigned d : buffer.dims)
    fill.dims.set(d);
  if (!buffer.dims.empty())
    fill.vectorDim = buffer.dims.back();
  group = &fill;
  needed.clear();
  Env env;
  env.position.assign(dims.size(), Value());
  Value scalar = constant(value);
  std::function<void(unsigned, Env &)> loops = [&](unsigned i, Env &outer) {
    if (i == buffer.dims.size())
      return storeTile(buffer, scalar, outer);
    unsigned d = buffer.dims[i];
    if (fill.vectorDim == d)
      return emitVectorLoop(d, outer, [&](Env &inner) { loops(i + 1, inner); });
    auto loop = scf::ForOp::create(b, loc, constantIndex(0), dims[d].size,
                                   constantIndex(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Env inner = outer;
    inner.position[d] = loop.getInductionVar();
    loops(i + 1, inner);
  };
  loops(0, env);
  group = nullptr;
}
