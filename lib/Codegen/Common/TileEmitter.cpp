//===- TileEmitter.cpp - values of a tile program: loads, stores, ops -----===//
#include "redfuse/Codegen/Common/TileEmitter.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

void TileEmitter::setProgram(IndexProgramOpInterface newOp,
                             TileProgram &newProgram,
                             DenseMap<Value, TileBuffer> newBuffers) {
  op = newOp;
  program = &newProgram;
  buffers = std::move(newBuffers);
}

Value TileEmitter::constant(TypedAttr attr) {
  // Constants stand at the top of the function; the folder merges them.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return arith::ConstantOp::create(b, loc, attr);
}

Value TileEmitter::constantIndex(int64_t value) {
  return constant(b.getIndexAttr(value));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

SmallVector<Value> TileEmitter::globalPositions(Env &env) {
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

SmallVector<Value> TileEmitter::indicesOf(AffineMap map, ValueRange dimValues) {
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

Value redfuse::asBytes(OpBuilder &b, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.getElementType().isInteger(1))
    return memref;
  auto bytes = MemRefType::get(type.getShape(), b.getI8Type(), type.getLayout(),
                               type.getMemorySpace());
  return UnrealizedConversionCastOp::create(b, loc, bytes, memref).getResult(0);
}

Value redfuse::flatView(OpBuilder &b, Location loc, Value memref,
                        int64_t size) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  auto flat =
      MemRefType::get({size}, type.getElementType(),
                      StridedLayoutAttr::get(b.getContext(), offset, {1}),
                      type.getMemorySpace());
  return memref::ReinterpretCastOp::create(b, loc, flat, memref, offset,
                                           ArrayRef<int64_t>{size},
                                           ArrayRef<int64_t>{1});
}

Value TileEmitter::loadContiguous(Value memref, AffineMap map,
                                  ArrayRef<Value> indices, Env &env) {
  auto type = cast<MemRefType>(memref.getType());
  auto vectorType = VectorType::get({lanes}, type.getElementType());
  if (env.mask)
    return vector::MaskedLoadOp::create(b, loc, vectorType, memref, indices,
                                        env.mask,
                                        constant(b.getZeroAttr(vectorType)));
  return vector::LoadOp::create(b, loc, vectorType, memref, indices,
                                /*nontemporal=*/false, alignmentOf(type, map));
}

/// Element by element. A lane that does not exist reads the last one.
Value TileEmitter::loadLanes(Value memref, AffineMap map, SmallVector<Value> at,
                             Env &env) {
  auto type = cast<MemRefType>(memref.getType());
  auto vectorType = VectorType::get({lanes}, type.getElementType());
  Value result = constant(b.getZeroAttr(vectorType));
  Value base = at[*nest->vectorDim];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value step = constantIndex(lane);
    if (env.lanesLeft) {
      Value last =
          arith::SubIOp::create(b, loc, env.lanesLeft, constantIndex(1));
      step = arith::MinSIOp::create(b, loc, step, last);
    }
    at[*nest->vectorDim] = arith::AddIOp::create(b, loc, base, step);
    Value element = memref::LoadOp::create(b, loc, memref, indicesOf(map, at));
    result = vector::InsertOp::create(b, loc, element, result,
                                      ArrayRef<int64_t>{lane});
  }
  return result;
}

/// Where the last index is (vector dim + anything) mod n, whether the lanes go
/// past n; nothing where neighbours are never adjacent.
Value TileEmitter::wrapsAround(AffineMap map, ArrayRef<Value> at,
                               MemRefType type) {
  unsigned dim = *nest->vectorDim;
  if (map.getNumResults() == 0)
    return {};
  auto last = dyn_cast<AffineBinaryOpExpr>(map.getResults().back());
  if (!last || last.getKind() != AffineExprKind::Mod)
    return {};
  auto n = dyn_cast<AffineConstantExpr>(last.getRHS());
  SmallVector<AffineExpr> exprs(map.getResults());
  exprs.back() = last.getLHS();
  AffineMap inner = AffineMap::get(map.getNumDims(), 0, exprs, b.getContext());
  if (!n || n.getValue() < 2 * int64_t(lanes) ||
      !isContiguousIn(inner, dim, type))
    return {};
  Value start = affine::expandAffineExpr(b, loc, last, at, {});
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, start,
                               constantIndex(n.getValue() - lanes));
}

Value TileEmitter::loadAt(Value memref, AffineMap map, Env &env, bool isLocal) {
  bool isBool =
      cast<MemRefType>(memref.getType()).getElementType().isInteger(1);
  memref = asBytes(b, loc, memref);
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> at =
      isLocal ? SmallVector<Value>(env.position) : globalPositions(env);
  Value result;
  bool hasVector = nest->vectorDim && env.position[*nest->vectorDim] &&
                   getDimsOf(map).test(*nest->vectorDim);
  if (!hasVector) {
    result = memref::LoadOp::create(b, loc, memref, indicesOf(map, at));
  } else {
    auto vectorType = VectorType::get({lanes}, type.getElementType());
    if (isContiguousIn(map, *nest->vectorDim, type)) {
      result = loadContiguous(memref, map, indicesOf(map, at), env);
    } else if (Value wraps = wrapsAround(map, at, type)) {
      // Adjacent lanes are adjacent in memory but where the index starts anew.
      auto branch = scf::IfOp::create(b, loc, vectorType, wraps,
                                      /*withElse=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc, loadLanes(memref, map, at, env));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(
          b, loc, loadContiguous(memref, map, indicesOf(map, at), env));
      result = branch.getResult(0);
    } else {
      result = loadLanes(memref, map, at, env);
    }
  }
  if (isBool) {
    Value zero = constant(b.getZeroAttr(result.getType()));
    result =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, result, zero);
  }
  return result;
}

void TileEmitter::storeAt(Value memref, AffineMap map, Value value, Env &env,
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
  bool hasVector = nest->vectorDim && env.position[*nest->vectorDim] &&
                   getDimsOf(map).test(*nest->vectorDim);
  if (!hasVector) {
    memref::StoreOp::create(b, loc, value, memref, indicesOf(map, at));
    return;
  }
  value = asVector(value);
  if (isContiguousIn(map, *nest->vectorDim, type)) {
    SmallVector<Value> indices = indicesOf(map, at);
    if (env.mask)
      vector::MaskedStoreOp::create(b, loc, memref, indices, env.mask, value);
    else
      vector::StoreOp::create(b, loc, value, memref, indices,
                              /*nontemporal=*/false, alignmentOf(type, map));
    return;
  }
  Value base = at[*nest->vectorDim];
  for (unsigned lane = 0; lane < lanes; ++lane) {
    OpBuilder::InsertionGuard guard(b);
    Value step = constantIndex(lane);
    if (env.lanesLeft) {
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           step, env.lanesLeft);
      auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
      b.setInsertionPoint(branch.thenYield());
    }
    at[*nest->vectorDim] = arith::AddIOp::create(b, loc, base, step);
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

Value TileEmitter::loadTile(const TileBuffer &buffer, Env &env) {
  return loadAt(buffer.memref, mapOf(buffer, dims.size(), b.getContext()), env,
                /*isLocal=*/true);
}

void TileEmitter::storeTile(const TileBuffer &buffer, Value value, Env &env) {
  storeAt(buffer.memref, mapOf(buffer, dims.size(), b.getContext()), value, env,
          /*isLocal=*/true);
}

Value TileEmitter::loadArgument(BlockArgument arg, Env &env) {
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

void TileEmitter::storeYield(const Root &root, Env &env) {
  Value value = valueOf(root.value, env);
  Value result = op->getResult(root.yieldIndex);
  auto tile = tiles.find(result);
  if (tile != tiles.end())
    return storeTile(tile->second, value, env);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap map =
      maps[maps.size() - op.getProgramInits().size() + root.yieldIndex];
  // Along a grid dim that the result lacks, all blocks have the same value: the
  // first one writes it.
  Value isFirst;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    if (!dim.isGrid || map.isFunctionOfDim(d))
      continue;
    Value here = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       dim.offset, constantIndex(0));
    if (isFirst)
      here = arith::AndIOp::create(b, loc, isFirst, here);
    isFirst = here;
  }
  OpBuilder::InsertionGuard guard(b);
  if (isFirst) {
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  storeAt(memrefs.lookup(result), map, value, env, /*isLocal=*/false);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool TileEmitter::isVector(Value v) const {
  return isa<VectorType>(v.getType());
}

Value TileEmitter::asVector(Value v) {
  if (isVector(v))
    return v;
  return vector::BroadcastOp::create(b, loc,
                                     VectorType::get({lanes}, v.getType()), v);
}

SmallVector<Value> TileEmitter::coneOf(Value of) const {
  Block &body = program->getBody();
  llvm::SmallDenseSet<Value> all;
  SmallVector<Value> open{of};
  while (!open.empty()) {
    Value v = open.pop_back_val();
    if (v.getParentBlock() != &body || !all.insert(v).second)
      continue;
    if (Operation *def = v.getDefiningOp())
      llvm::append_range(open, def->getOperands());
  }
  SmallVector<Value> cone;
  for (BlockArgument arg : body.getArguments())
    if (all.contains(arg))
      cone.push_back(arg);
  for (Operation &inner : body)
    for (Value v : inner.getResults())
      if (all.contains(v))
        cone.push_back(v);
  return cone;
}

bool TileEmitter::isBound(Value v, Env &env) const {
  for (unsigned d : program->getDimSets()[v].set_bits())
    if (!env.position[d])
      return false;
  return true;
}

bool TileEmitter::isMadeHere(Value v) const {
  return llvm::any_of(nest->roots, [&](Root *root) {
    return root->kind == Root::Kind::Keep && root->value == v;
  });
}

Value TileEmitter::valueOf(Value v, Env &env) {
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

Value TileEmitter::loadValue(Value v, Env &env) {
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
void TileEmitter::emitAvailable(Env &env) {
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
    if (isRootOp(def))
      continue; // an accumulator: set by whoever finishes it
    bool ready = llvm::all_of(def->getOperands(), [&](Value operand) {
      return operand.getParentBlock() != &program->getBody() ||
             env.values.contains(operand) ||
             (operand.getDefiningOp() &&
              operand.getDefiningOp()->hasTrait<OpTrait::ConstantLike>());
    });
    if (!ready)
      continue;
    if (auto combine = dyn_cast<CombineOp>(def)) {
      auto values = [&](ValueRange range) {
        return llvm::map_to_vector(range,
                                   [&](Value o) { return valueOf(o, env); });
      };
      SmallVector<Value> made =
          emitCombine(combine.getCombine(), values(combine.getLeft()),
                      values(combine.getRight()));
      for (auto [from, to] : llvm::zip_equal(combine.getResults(), made))
        env.values[from] = to;
      continue;
    }
    if (Value taken = decided.lookup(def))
      env.values[v] = valueOf(taken, env);
    else
      env.values[v] = emitOp(def, env);
  }
}

Value TileEmitter::emitOp(Operation *def, Env &env) {
  if (auto index = dyn_cast<IndexOp>(def)) {
    unsigned d = index.getDim();
    Value position = globalPositions(env)[d];
    if (nest->vectorDim != d)
      return position;
    Value base = asVector(position);
    Value step = vector::StepOp::create(
        b, loc, VectorType::get({lanes}, b.getIndexType()));
    return arith::AddIOp::create(b, loc, base, step);
  }
  SmallVector<Value> operands;
  for (Value operand : def->getOperands()) {
    // A captured tensor is read in memory.
    if (isa<TensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    operands.push_back(valueOf(operand, env));
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(def))
    return emitExtract(extract, operands);
  SmallVector<Value> results = emitOpOn(def, operands);
  return results.empty() ? Value() : results.front();
}

/// Whether a tensor has elements; nothing where its type says that it has.
static Value hasElements(OpBuilder &b, Location loc, Value memref) {
  Value has, zero;
  auto type = cast<MemRefType>(memref.getType());
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (type.getDimSize(d) > 0)
      continue;
    if (!zero)
      zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value size = memref::DimOp::create(b, loc, memref, d);
    Value some =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, size, zero);
    has = has ? arith::AndIOp::create(b, loc, has, some).getResult() : some;
  }
  return has;
}

/// An index from data: stay inside the tensor whatever it is, and read nothing of
/// one that has no elements; the program's own assertion reports it.
Value TileEmitter::emitExtract(tensor::ExtractOp extract,
                               ArrayRef<Value> operands) {
  Value memref = memrefs.lookup(extract.getTensor());
  auto readAt = [&](ArrayRef<Value> at) -> Value {
    Value bytes = asBytes(b, loc, memref);
    SmallVector<Value> indices;
    for (auto [i, index] : llvm::enumerate(at)) {
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
  };
  bool isLanes =
      llvm::any_of(operands.drop_front(), [&](Value v) { return isVector(v); });
  Type type = extract.getType();
  if (isLanes)
    type = VectorType::get({lanes}, type);
  auto read = [&]() -> Value {
    if (!isLanes)
      return readAt(operands.drop_front());
    SmallVector<Value> elements;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      SmallVector<Value> own(operands.drop_front());
      for (Value &v : own)
        if (isVector(v))
          v = vector::ExtractOp::create(b, loc, v, ArrayRef<int64_t>{lane});
      elements.push_back(readAt(own));
    }
    return vector::FromElementsOp::create(b, loc, type, elements);
  };
  Value has = hasElements(b, loc, memref);
  if (!has)
    return read();
  auto branch = scf::IfOp::create(b, loc, type, has, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, read());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, constant(b.getZeroAttr(type)));
  return branch.getResult(0);
}

SmallVector<Value> TileEmitter::emitOpOn(Operation *def,
                                         SmallVector<Value> operands) {
  if (llvm::none_of(operands, [&](Value v) { return isVector(v); })) {
    IRMapping mapping;
    for (auto [from, to] : llvm::zip_equal(def->getOperands(), operands))
      mapping.map(from, to);
    return llvm::to_vector_of<Value>(b.clone(*def, mapping)->getResults());
  }
  if (!def->hasTrait<OpTrait::Vectorizable>())
    return emitByLane(def, operands);
  for (Value &operand : operands)
    operand = asVector(operand);
  OperationState state(def->getLoc(), def->getName());
  state.addOperands(operands);
  for (Type type : def->getResultTypes())
    state.addTypes(VectorType::get({lanes}, type));
  state.addAttributes(def->getAttrs());
  return llvm::to_vector_of<Value>(b.create(state)->getResults());
}

/// An op that has no vector form, lane after lane.
SmallVector<Value> TileEmitter::emitByLane(Operation *def,
                                           ArrayRef<Value> operands) {
  SmallVector<SmallVector<Value>> elements(def->getNumResults());
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SmallVector<Value> own;
    for (Value v : operands)
      own.push_back(isVector(v) ? Value(vector::ExtractOp::create(
                                      b, loc, v, ArrayRef<int64_t>{lane}))
                                : v);
    for (auto [all, v] : llvm::zip_equal(elements, emitOpOn(def, own)))
      all.push_back(v);
  }
  SmallVector<Value> results;
  for (auto [all, type] : llvm::zip_equal(elements, def->getResultTypes()))
    results.push_back(vector::FromElementsOp::create(
        b, loc, VectorType::get({lanes}, type), all));
  return results;
}

Env TileEmitter::getOrigin() const {
  Env env;
  env.position.assign(dims.size(), Value());
  return env;
}

const TileBuffer *TileEmitter::findBuffer(Value v) const {
  auto found = buffers.find(v);
  return found == buffers.end() ? nullptr : &found->second;
}

void TileEmitter::withVectors(std::optional<unsigned> dim, unsigned count,
                              function_ref<void()> body) {
  LoopNest adapted = *nest;
  adapted.vectorDim = dim;
  const LoopNest *whole = std::exchange(nest, &adapted);
  unsigned before = std::exchange(lanes, count);
  body();
  nest = whole;
  lanes = before;
}

//===----------------------------------------------------------------------===//
// Nests and reducers
//===----------------------------------------------------------------------===//

void TileEmitter::selectNest(const LoopNest &newNest) {
  nest = &newNest;
  needed.clear();
  reduces.clear();
  intoDims.clear();
  llvm::SmallSetVector<Value, 16> all;
  for (Root *root : nest->roots) {
    for (Value v : root->cone)
      all.insert(v);
    if (root->kind == Root::Kind::Reduce)
      reduces.push_back(root);
  }
  // In body order, arguments first.
  for (BlockArgument arg : program->getBody().getArguments())
    if (all.contains(arg))
      needed.push_back(arg);
  for (Operation &inner : program->getBody())
    for (Value v : inner.getResults())
      if (all.contains(v))
        needed.push_back(v);
  for (unsigned d : nest->dims.set_bits())
    if (!llvm::is_contained(nest->over, d))
      intoDims.push_back(d);
}

bool redfuse::isPair(Reducer reducer) {
  return reducer == Reducer::ArgMax || reducer == Reducer::ArgMin;
}

Value redfuse::combineValues(OpBuilder &b, Location loc, Reducer reducer,
                             Value lhs, Value rhs) {
  Value result = createCombiner(b, loc, reducer, lhs, rhs);
  // The sign of a zero maximum is the only thing that this gives up, and it
  // halves the instructions of a maximum.
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(result.getDefiningOp()))
    result.getDefiningOp()->setAttr(
        "fastmath", arith::FastMathFlagsAttr::get(b.getContext(),
                                                  arith::FastMathFlags::nsz));
  return result;
}

SmallVector<Value> TileEmitter::combineStates(CombiningOpInterface combining,
                                              ArrayRef<Value> lhs,
                                              ArrayRef<Value> rhs,
                                              bool isSome) {
  if (!combining.isDeclared())
    return {combine(combining.getReducer(), lhs[0], rhs[0])};
  return emitCombine(combining.getCombine(), lhs, rhs, /*fuses=*/false, isSome);
}

Value TileEmitter::getStart(const Root &root, unsigned i, Env &env) {
  if (root.continued)
    return valueOf(CombineOp(root.continued).getLeft()[i], env);
  return constant(getIdentityOf(cast<CombiningOpInterface>(root.op), i));
}

SmallVector<Value> TileEmitter::startReductions(Env &env) {
  SmallVector<Value> starts;
  for (Root *root : reduces) {
    ReduceOp reduce = root->reduce;
    for (auto [i, operand] : llvm::enumerate(reduce.getOperands())) {
      Value v;
      if (reduce.isDeclared())
        v = getStart(*root, i, env);
      else if (i == 0)
        v = constant(getIdentityOf(reduce, 0));
      else // The index of an argmax.
        v = constant(cast<TypedAttr>(b.getZeroAttr(operand.getType())));
      starts.push_back(nest->vectorDim ? asVector(v) : v);
    }
  }
  return starts;
}

/// The factors and the other summand of a sum with a product that nothing else needs.
static std::optional<std::array<Value, 3>> matchMultiplyAdd(Operation &op) {
  if (!isa<arith::AddFOp>(op) ||
      getElementTypeOrSelf(op.getResult(0)).getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  for (unsigned i : {0, 1})
    if (auto product = op.getOperand(i).getDefiningOp<arith::MulFOp>();
        product && product->hasOneUse() && op.getBlock() == product->getBlock())
      return std::array<Value, 3>{product.getLhs(), product.getRhs(),
                                  op.getOperand(1 - i)};
  return std::nullopt;
}

SmallVector<Value> TileEmitter::emitCombine(Region &region, ArrayRef<Value> lhs,
                                            ArrayRef<Value> rhs, bool fuses,
                                            bool isSome) {
  bool anyVector = llvm::any_of(lhs, [&](Value v) { return isVector(v); }) ||
                   llvm::any_of(rhs, [&](Value v) { return isVector(v); });
  Block &block = region.front();
  IRMapping mapping;
  mapping.map(block.getArguments().take_front(lhs.size()), lhs);
  mapping.map(block.getArguments().drop_front(lhs.size()), rhs);
  for (Operation &inner : block.without_terminator()) {
    if (inner.hasTrait<OpTrait::ConstantLike>()) {
      mapping.map(inner.getResult(0),
                  constant(cast<TypedAttr>(inner.getAttr("value"))));
      continue;
    }
    if (auto choice = dyn_cast<arith::SelectOp>(inner);
        choice && isSome && inner.hasAttr(kIdentityAttr)) {
      mapping.map(choice.getResult(), mapping.lookup(choice.getFalseValue()));
      continue;
    }
    if (std::optional<std::array<Value, 3>> parts = matchMultiplyAdd(inner);
        parts && fuses) {
      SmallVector<Value> operands = llvm::map_to_vector(
          *parts, [&](Value v) { return mapping.lookup(v); });
      if (llvm::any_of(operands, [&](Value v) { return isVector(v); }))
        for (Value &v : operands)
          v = asVector(v);
      mapping.map(inner.getResult(0),
                  math::FmaOp::create(b, inner.getLoc(), operands[0],
                                      operands[1], operands[2]));
      continue;
    }
    SmallVector<Value> operands = llvm::map_to_vector(
        inner.getOperands(), [&](Value v) { return mapping.lookup(v); });
    mapping.map(inner.getResults(), emitOpOn(&inner, operands));
  }
  return llvm::map_to_vector(cast<YieldOp>(block.getTerminator()).getValues(),
                             [&](Value v) {
                               Value result = mapping.lookup(v);
                               // A constant, or computed from constants alone.
                               return anyVector ? asVector(result) : result;
                             });
}

void redfuse::combinePair(OpBuilder &b, Location loc, Reducer reducer,
                          Value &value, Value &index, Value otherValue,
                          Value otherIndex, bool isOrdered) {
  bool isMax = reducer == Reducer::ArgMax;
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(value.getType()));
  // A NaN among the elements is never better; the values so far are none.
  Value better, equal;
  if (isFloat) {
    better = arith::CmpFOp::create(
        b, loc, isMax ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT,
        otherValue, value);
    if (!isOrdered)
      equal = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                    otherValue, value);
  } else {
    better = arith::CmpIOp::create(
        b, loc, isMax ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt,
        otherValue, value);
    if (!isOrdered)
      equal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                    otherValue, value);
  }
  Value take = better;
  if (!isOrdered) {
    Value lower = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                        otherIndex, index);
    Value tie = arith::AndIOp::create(b, loc, equal, lower);
    take = arith::OrIOp::create(b, loc, better, tie);
  }
  index = arith::SelectOp::create(b, loc, take, otherIndex, index);
  value = arith::SelectOp::create(b, loc, take, otherValue, value);
}
