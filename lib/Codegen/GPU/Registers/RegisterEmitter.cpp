//===- RegisterEmitter.cpp - tile programs held in registers ---------------===//
#include "Tuning.h"

#include "redfuse/Codegen/GPU/Registers/RegisterEmitter.h"

#include "redfuse/Codegen/GPU/Common/Cluster.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

std::optional<unsigned>
RegisterEmitter::laneDimOf(ArrayRef<unsigned> ofDims) const {
  for (unsigned d : ofDims)
    if (layout.dims[d].lanes > 1)
      return d;
  return std::nullopt;
}

unsigned RegisterEmitter::getBits(ArrayRef<unsigned> ofDims) const {
  unsigned bits = 0;
  for (unsigned d : ofDims)
    bits |= layout.dims[d].getBits();
  return bits;
}

unsigned RegisterEmitter::getCombinedBits() const {
  unsigned bits = 0;
  for (unsigned d : group->over)
    if (!llvm::is_contained(privateDims, d))
      bits |= layout.dims[d].getBits();
  return bits;
}

void RegisterEmitter::setPrivate(ArrayRef<int64_t> ofDims) {
  privateDims.assign(ofDims.begin(), ofDims.end());
  privateBits = getBits(privateDims);
}

int64_t RegisterEmitter::countElements(ArrayRef<unsigned> ofDims) const {
  int64_t count = 1;
  for (unsigned d : ofDims)
    count *= layout.dims[d].repeats;
  return count;
}

int64_t RegisterEmitter::indexOf(ArrayRef<unsigned> ofDims,
                                 ArrayRef<int64_t> local) const {
  int64_t index = 0;
  for (unsigned d : ofDims)
    index = index * layout.dims[d].repeats + local[d];
  return index;
}

Value RegisterEmitter::word(int64_t value) {
  return constant(b.getI32IntegerAttr(value));
}

Value RegisterEmitter::getThreadWord() {
  if (!threadWord) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(thread);
    threadWord = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), thread);
  }
  return threadWord;
}

/// The first position of this thread along a dim.
Value RegisterEmitter::getStart(unsigned d) {
  Value &start = starts[d];
  if (start)
    return start;
  const DimShare &share = layout.dims[d];
  if (share.threads == 1)
    return start = constantIndex(0);
  Value number = compress(getThreadWord(), share.getBits());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(number);
  if (share.lanes != 1)
    number = arith::MulIOp::create(b, loc, number, word(share.lanes));
  return start = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), number);
}

/// Whether the thread is the first of those that differ in `bits`.
Value RegisterEmitter::isFirstOf(unsigned bits) {
  Value &first = firsts[bits];
  if (first)
    return first;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(getThreadWord());
  Value own = arith::AndIOp::create(b, loc, threadWord, word(bits));
  return first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, own,
                                       word(0));
}

Value RegisterEmitter::moveBits(Value v, unsigned mask, bool isCompressed) {
  Value result;
  unsigned packed = 0;
  for (unsigned bit = 0; bit < 32;) {
    if (!(mask >> bit & 1)) {
      ++bit;
      continue;
    }
    unsigned length = llvm::countr_one(mask >> bit);
    unsigned from = isCompressed ? packed : bit;
    unsigned to = isCompressed ? bit : packed;
    Value part = v;
    if (from != 0)
      part = arith::ShRUIOp::create(b, loc, part, word(from));
    part = arith::AndIOp::create(
        b, loc, part, word(llvm::maskTrailingOnes<uint32_t>(length)));
    if (to != 0)
      part = arith::ShLIOp::create(b, loc, part, word(to));
    result = result ? Value(arith::OrIOp::create(b, loc, result, part)) : part;
    packed += length;
    bit += length;
  }
  return result ? result : word(0);
}

/// The bits of `v` that `mask` has, side by side.
Value RegisterEmitter::compress(Value v, unsigned mask) {
  OpBuilder::InsertionGuard guard(b);
  if (v == threadWord)
    b.setInsertionPointAfterValue(v);
  return moveBits(v, mask, /*isCompressed=*/false);
}

/// The reverse: the low bits of `v` at the places of `mask`.
Value RegisterEmitter::deposit(Value v, unsigned mask) {
  return moveBits(v, mask, /*isCompressed=*/true);
}

/// Whether some thread's `repeat`-th vector may lie beyond the end of the tile.
bool RegisterEmitter::isBeyond(unsigned d, int64_t repeat) const {
  const DimShare &share = layout.dims[d];
  return !dims[d].staticSize ||
         (repeat + 1) * share.threads * share.lanes > *dims[d].staticSize;
}

Value RegisterEmitter::maskOf(unsigned d, int64_t repeat) {
  const DimShare &share = layout.dims[d];
  Value at = b.createOrFold<arith::AddIOp>(
      loc, getStart(d), constantIndex(repeat * share.threads * share.lanes));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at,
                               dims[d].size);
}

/// Whether the point exists, as far as it depends on `ofDims`; null if it does.
Value RegisterEmitter::maskOf(const Env &env, ArrayRef<unsigned> ofDims) {
  Value mask;
  for (unsigned d : ofDims) {
    if (!isBeyond(d, env.local[d]))
      continue;
    Value own = maskOf(d, env.local[d]);
    mask = mask ? Value(arith::AndIOp::create(b, loc, mask, own)) : own;
  }
  return mask;
}

void RegisterEmitter::bind(Env &env, unsigned d, int64_t repeat) {
  const DimShare &share = layout.dims[d];
  Value at = b.createOrFold<arith::AddIOp>(
      loc, getStart(d), constantIndex(repeat * share.threads * share.lanes));
  if (isBeyond(d, repeat)) {
    Value last = b.createOrFold<arith::SubIOp>(loc, dims[d].size,
                                               constantIndex(share.lanes));
    at = arith::MinSIOp::create(b, loc, at, last);
  }
  env.position[d] = at;
  env.local[d] = repeat;
}

/// Runs `body` at all points of `ofDims` that this thread has.
void RegisterEmitter::forPoints(const Env &from, ArrayRef<unsigned> ofDims,
                                function_ref<void(Env &)> body) {
  int64_t count = countElements(ofDims);
  for (int64_t i = 0; i < count; ++i) {
    Env env = from;
    int64_t rest = i;
    for (unsigned d : llvm::reverse(ofDims)) {
      bind(env, d, rest % layout.dims[d].repeats);
      rest /= layout.dims[d].repeats;
    }
    body(env);
  }
}

//===----------------------------------------------------------------------===//
// Tiles and memory
//===----------------------------------------------------------------------===//

Value RegisterEmitter::elementOf(const Array &array, ArrayRef<int64_t> local) {
  return array.elements[indexOf(array.dims, local)];
}

Value RegisterEmitter::loadTile(const TileBuffer &buffer, Env &env) {
  return elementOf(arrays.find(buffer.id)->second, env.local);
}

void RegisterEmitter::storeTile(const TileBuffer &buffer, Value value,
                                Env &env) {
  Array &array = arrays[buffer.id];
  if (array.elements.empty()) {
    array.dims = buffer.dims;
    array.elements.resize(countElements(buffer.dims));
  }
  if (laneDimOf(buffer.dims))
    value = asVector(value);
  array.elements[indexOf(buffer.dims, env.local)] = value;
}

void RegisterEmitter::emitFill(const TileBuffer &buffer, TypedAttr value) {
  Value scalar = constant(value);
  if (laneDimOf(buffer.dims))
    scalar = asVector(scalar);
  setTile(buffer, SmallVector<Value>(countElements(buffer.dims), scalar));
}

SmallVector<Value> RegisterEmitter::takeTile(const TileBuffer &buffer) {
  return arrays.find(buffer.id)->second.elements;
}

void RegisterEmitter::setTile(const TileBuffer &buffer,
                              ArrayRef<Value> elements) {
  arrays[buffer.id] = {buffer.dims, SmallVector<Value>(elements)};
}

RegisterEmitter::LoadKey RegisterEmitter::keyOf(Value memref, AffineMap map,
                                                const Env &env) const {
  std::vector<int64_t> at;
  SmallBitVector ofMap = getDimsOf(map);
  for (auto [d, position] : llvm::enumerate(env.position))
    at.push_back(ofMap.test(d) && position ? env.local[d] : -1);
  return {memref.getAsOpaquePointer(), map.getAsOpaquePointer(), at};
}

Value *RegisterEmitter::findLoaded(Value memref, AffineMap map,
                                   const Env &env) {
  LoadKey key = keyOf(memref, map, env);
  for (Scope &scope : llvm::reverse(loaded)) {
    auto it = scope.values.find(key);
    if (it != scope.values.end())
      return &it->second;
  }
  return nullptr;
}

SmallVector<Value> RegisterEmitter::takeLoaded() {
  SmallVector<Value> values;
  for (const LoadKey &key : loaded.back().order)
    values.push_back(loaded.back().values.at(key));
  return values;
}

void RegisterEmitter::setLoaded(ArrayRef<Value> values) {
  for (auto [key, value] : llvm::zip_equal(loaded.back().order, values))
    loaded.back().values[key] = value;
}

/// Rows of a few elements side by side, all of which this thread has, for a
/// vector of rows: read as they lie, and sorted in registers.
bool RegisterEmitter::loadInterleaved(Value memref, AffineMap map, Env &env) {
  auto type = cast<MemRefType>(memref.getType());
  if (!group->vectorDim || map.getNumResults() < 2 ||
      !type.getLayout().isIdentity() || type.getElementType().isInteger(1))
    return false;
  unsigned rank = type.getRank();
  auto inner = dyn_cast<AffineDimExpr>(map.getResult(rank - 1));
  auto rows = dyn_cast<AffineDimExpr>(map.getResult(rank - 2));
  if (!inner || !rows || rows.getPosition() != *group->vectorDim)
    return false;
  unsigned c = inner.getPosition();
  const DimShare &share = layout.dims[c];
  int64_t width = type.getDimSize(rank - 1);
  if (ShapedType::isDynamic(width) || share.repeats != width || width > 8 ||
      share.getSpan() != width || !env.position[c])
    return false;
  for (AffineExpr e : map.getResults().drop_back(2))
    if (e.isFunctionOfDim(c) || e.isFunctionOfDim(*group->vectorDim))
      return false;
  for (int64_t extent : type.getShape().drop_front())
    if (ShapedType::isDynamic(extent))
      return false;
  int64_t bytes = lanes * (type.getElementTypeBitWidth() / 8);
  if (type.getShape()[rank - 2] * width % lanes != 0)
    return false;
  Value &flat = flattened[memref];
  if (!flat) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(memref);
    SmallVector<ReassociationIndices> groups;
    for (unsigned d = 0; d + 2 < rank; ++d)
      groups.push_back({d});
    groups.push_back({rank - 2, rank - 1});
    flat = memref::CollapseShapeOp::create(b, loc, memref, groups);
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
    remember(keyOf(memref, map, at),
             vector::FromElementsOp::create(b, loc, vectorType, own));
  }
  return true;
}

Value RegisterEmitter::loadAt(Value memref, AffineMap map, Env &env,
                              bool isLocal) {
  if (Value *known = findLoaded(memref, map, env))
    return *known;
  Env plain = env;
  plain.mask = Value();
  for (const KeptTile &kept : keptTiles)
    if (kept.memref == memref && kept.map == map) {
      plain.position = positionsInKept(kept, env);
      Value v = GpuEmitter::loadAt(kept.tile, map, plain, /*isLocal=*/true);
      remember(keyOf(memref, map, env), v);
      return v;
    }
  if (loadInterleaved(memref, map, env))
    return *findLoaded(memref, map, env);
  Value v = GpuEmitter::loadAt(memref, map, plain, isLocal);
  if (auto load = v.getDefiningOp<vector::LoadOp>()) {
    if (movedOnce.contains(memref))
      load.setNontemporal(true);
    if (layout.readsAgain)
      v = loadByPolicy(load, map);
  }
  if (auto load = v.getDefiningOp<memref::LoadOp>(); load && pinsLoads)
    load.setNontemporal(true);
  remember(keyOf(memref, map, env), v);
  return v;
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
  Value condition = maskOf(env, ofMap);
  if (unsigned copies = (layout.threads - 1) & ~getBits(ofMap)) {
    Value first = isFirstOf(copies);
    condition = condition
                    ? Value(arith::AndIOp::create(b, loc, condition, first))
                    : first;
  }
  Env plain = env;
  plain.mask = Value();
  OpBuilder::InsertionGuard guard(b);
  if (condition) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  }
  GpuEmitter::storeAt(memref, map, value, plain, isLocal);
  auto at = b.getInsertionPoint();
  if (at == b.getInsertionBlock()->begin() || !movedOnce.contains(memref))
    return;
  if (auto store = dyn_cast<vector::StoreOp>(*std::prev(at)))
    store.setNontemporal(true);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static SmallVector<unsigned> bitsOf(const SmallBitVector &set) {
  SmallVector<unsigned> result;
  for (unsigned d : set.set_bits())
    result.push_back(d);
  return result;
}

Value RegisterEmitter::existsAt(const Env &env, const SmallBitVector &ofDims) {
  return maskOf(env, bitsOf(ofDims));
}

/// What was computed of loaded vectors of short floats is not known to be the same
/// when it is computed again.
void RegisterEmitter::forgetExtended() {
  for (Scope &scope : loaded)
    for (const LoadKey &key : scope.order) { // not by their addresses
      auto it = scope.values.find(key);
      if (it == scope.values.end())
        continue;
      Value &value = it->second;
      auto type = dyn_cast<VectorType>(value.getType());
      if (!type || type.getElementTypeBitWidth() >= 32)
        continue;
      int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
      if (bits % 32 != 0)
        continue;
      auto words = VectorType::get({bits / 32}, b.getI32Type());
      Value whole = vector::BitCastOp::create(b, loc, words, value);
      SmallVector<Value> same;
      for (int64_t i = 0; i < bits / 32; ++i)
        same.push_back(LLVM::InlineAsmOp::create(
                           b, loc, b.getI32Type(),
                           Value(vector::ExtractOp::create(b, loc, whole, i)),
                           "", "=r,0",
                           /*has_side_effects=*/true, /*is_align_stack=*/false,
                           LLVM::TailCallKind::None,
                           LLVM::AsmDialectAttr::get(b.getContext(),
                                                     LLVM::AsmDialect::AD_ATT),
                           ArrayAttr())
                           ->getResult(0));
      value = vector::BitCastOp::create(
          b, loc, type,
          vector::FromElementsOp::create(b, loc, words, same).getResult());
    }
}

LogicalResult RegisterEmitter::emitGroup(const Group &whole) {
  if (layout.staysPacked)
    forgetExtended();
  Group adapted = whole;
  SmallVector<unsigned> all = bitsOf(whole.dims);
  adapted.contraction.reset();
  adapted.vectorDim = laneDimOf(all);
  selectGroup(adapted);
  if (!reduces.empty()) {
    emitReduction();
  } else {
    Env env;
    env.position.assign(dims.size(), Value());
    env.local.assign(dims.size(), 0);
    forPoints(env, all, [&](Env &at) { emitPoint(at); });
  }
  group = nullptr;
  return success();
}

void RegisterEmitter::prefetch(ArrayRef<const Group *> groups,
                               const SmallBitVector &streamed, bool streams,
                               int64_t most) {
  for (const Group *whole : groups) {
    Group adapted = *whole;
    adapted.contraction.reset();
    adapted.vectorDim = laneDimOf(bitsOf(whole->dims));
    selectGroup(adapted);
    for (Value v : needed) {
      auto arg = dyn_cast<BlockArgument>(v);
      if (!arg || buffers.contains(v))
        continue;
      unsigned i = arg.getArgNumber();
      if (auto fold = dyn_cast<FoldOp>(op.getOperation());
          fold && i >= fold.getInputs().size())
        continue;
      if (tiles.contains(op->getOperand(i)))
        continue;
      SmallBitVector ofMap = getDimsOf(op.getMapOfBodyArgument(i));
      if (ofMap.anyCommon(streamed) != streams)
        continue;
      bool isOwn = llvm::any_of(ofMap.set_bits(),
                                [&](unsigned d) { return dims[d].isGrid; });
      if (whose != Whose::All && isOwn != (whose == Whose::Own))
        continue;
      SmallVector<unsigned> all = bitsOf(ofMap);
      if (countElements(all) > most)
        continue;
      Env env;
      env.position.assign(dims.size(), Value());
      env.local.assign(dims.size(), 0);
      forPoints(env, all, [&](Env &at) { loadArgument(arg, at); });
    }
    group = nullptr;
  }
}

/// Sums of a constant at every point need nothing of other threads, nor of a walk:
/// they are no reductions from here on. Returns whether the group is nothing else.
bool RegisterEmitter::emitCounts() {
  IntegerAttr each;
  auto counts = [&](Root *root) {
    return root->reduce.getReducer() == Reducer::Add &&
           root->reduce.getNumOperands() == 1 &&
           matchPattern(root->reduce.getOperand(0), m_Constant(&each));
  };
  SmallVector<Root *> found;
  llvm::copy_if(reduces, std::back_inserter(found), counts);
  bool isAll = found.size() == group->roots.size();
  if (found.empty() || getCombinedBits() != getBits(group->over) ||
      (found.size() == reduces.size() && !isAll))
    return false;
  Value points = constantIndex(1);
  for (unsigned d : group->over)
    points = b.createOrFold<arith::MulIOp>(loc, points, dims[d].size);
  Env env;
  env.position.assign(dims.size(), Value());
  env.local.assign(dims.size(), 0);
  forPoints(env, intoDims, [&](Env &at) {
    for (Root *root : found) {
      auto buffer = buffers.find(root->reduce.getResult(0));
      if (buffer == buffers.end())
        continue;
      (void)matchPattern(root->reduce.getOperand(0), m_Constant(&each));
      Value sum = points;
      if (!each.getType().isIndex())
        sum = b.createOrFold<arith::IndexCastOp>(loc, each.getType(), sum);
      storeTile(buffer->second,
                b.createOrFold<arith::MulIOp>(loc, sum, constant(each)), at);
    }
  });
  llvm::erase_if(reduces, counts);
  return isAll;
}

/// A sum that has just been added to: the first summand as it is, and a further
/// product by one instruction, with one rounding. Sums alone: other values may be
/// computed twice, and have to be the same both times.
static Value fuseSum(OpBuilder &b, Value sum) {
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (!add || !add->use_empty())
    return sum;
  Value before = add.getLhs(), more = add.getRhs(), start = before;
  if (auto spread = start.getDefiningOp<vector::BroadcastOp>())
    start = spread.getSource();
  auto product = more.getDefiningOp<arith::MulFOp>();
  if (matchPattern(start, m_PosZeroFloat()))
    sum = more;
  else if (product && more.hasOneUse())
    sum = math::FmaOp::create(b, add.getLoc(), product.getLhs(),
                              product.getRhs(), before);
  else
    return sum;
  add.erase();
  return sum;
}

void RegisterEmitter::emitReduction() {
  if (emitCounts())
    return;
  Env env;
  env.position.assign(dims.size(), Value());
  env.local.assign(dims.size(), 0);
  SmallVector<Env> points;
  Parts all;
  unsigned width = 0;
  for (Root *root : reduces)
    width += root->reduce.getNumOperands();
  // For many sums ptxas then takes more registers: fewer blocks run at a time.
  unsigned sums = 0;
  for (const Group &each : program->getGroups())
    sums += llvm::count_if(each.roots, [](Root *root) {
      return root->kind == Root::Kind::Reduce;
    });
  bool fuses = sums <= kFusedSums || layout.loadsStepsAhead;
  forPoints(env, intoDims, [&](Env &at) {
    emitAvailable(at);
    Parts accumulators;
    for (Root *root : reduces) {
      ReduceOp reduce = root->reduce;
      for (auto [i, operand] : llvm::enumerate(reduce.getOperands())) {
        Type type = operand.getType();
        Value v = reduce.isDeclared() ? TileEmitter::getStart(*root, i, at)
                  : i == 0 ? constant(getIdentityOf(reduce, 0))
                           : constant(cast<TypedAttr>(b.getZeroAttr(type)));
        accumulators.push_back(group->vectorDim ? asVector(v) : v);
      }
    }
    forPoints(at, group->over, [&](Env &inner) {
      inner.mask = maskOf(inner, group->over);
      emitAvailable(inner);
      accumulate(inner, accumulators);
      unsigned next = 0;
      for (Root *root : reduces) {
        if (fuses && root->reduce.getReducer() == Reducer::Add)
          accumulators[next] = fuseSum(b, accumulators[next]);
        next += root->reduce.getNumOperands();
      }
      inner.mask = Value();
      emitPoint(inner);
      loadBehind(accumulators.front());
    });
    bool lanesAreReduced =
        group->vectorDim && llvm::is_contained(group->over, *group->vectorDim);
    unsigned next = 0;
    for (Root *root : reduces) {
      unsigned n = root->reduce.getNumOperands();
      Parts parts(ArrayRef<Value>(accumulators).slice(next, n));
      next += n;
      if (lanesAreReduced)
        foldLanes(root->reduce, parts);
      llvm::append_range(all, parts);
    }
    points.push_back(at);
  });

  if (beforeExchange) {
    const Group *mine = group;
    std::exchange(beforeExchange, nullptr)();
    selectGroup(*mine);
  }
  combineAcross(all, getCombinedBits(),
                [&](Parts &mine, ArrayRef<Value> other) {
                  unsigned next = 0;
                  for (size_t p = 0; p < points.size(); ++p)
                    for (Root *root : reduces) {
                      unsigned n = root->reduce.getNumOperands();
                      Parts own(ArrayRef<Value>(mine).slice(next, n));
                      combineParts(root->reduce, own, other.slice(next, n));
                      llvm::copy(own, mine.begin() + next);
                      next += n;
                    }
                });

  loadBehind(all.front());
  for (auto [p, at] : llvm::enumerate(points)) {
    unsigned next = p * width;
    for (Root *root : reduces)
      for (Value to : root->getResults()) {
        auto buffer = buffers.find(to);
        if (buffer != buffers.end())
          storeTile(buffer->second, all[next], at);
        ++next;
      }
  }
}
