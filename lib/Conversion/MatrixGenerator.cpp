//===- MatrixGenerator.cpp - kernels on the matrix units of sm_90a ---------===//
#include "MatrixGenerator.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace redfuse;

/// Shared memory of a block, for slots.
static constexpr int64_t kSharedBytes = 220 * 1024, kMaxSlots = 8;
/// Elements of a sum that a tile has where it is cut.
static constexpr int64_t kSumTile = 64;
static constexpr int64_t kLoaderThreads = 128;
/// Bytes that the tiles of a group stream: they should stay in the L2, which also
/// has to take what is written.
static constexpr int64_t kCachedBytes = 32 << 20;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

int64_t MatrixGenerator::tileOf(unsigned d) const {
  if (d == plan.m)
    return plan.rows();
  auto it = plan.widths.find(d);
  return it == plan.widths.end() ? 1 : it->second;
}

MatrixGenerator::Tile
MatrixGenerator::layOutTile(const MatrixSource &source, unsigned free,
                            unsigned sum, int64_t freeWidth,
                            int64_t sumWidth) {
  Tile tile;
  tile.source = &source;
  tile.free = free;
  tile.sum = sum;
  bool isSumContiguous = source.sum + 1 == source.map.getNumResults();
  tile.layout.isSumContiguous = isSumContiguous;
  tile.layout.rows = isSumContiguous ? freeWidth : sumWidth;
  tile.panels = llvm::divideCeil(isSumContiguous ? sumWidth : freeWidth, 64);
  return tile;
}

void MatrixGenerator::layOut() {
  unsigned nextMap = 1;
  for (auto [i, product] : llvm::enumerate(plan.products)) {
    Load load;
    int64_t sum =
        product.tiledLeft ? kSumTile : plan.widths.lookup(product.k);
    load.right = layOutTile(product.right, product.n, product.k,
                            plan.widths.lookup(product.n), sum);
    load.right.map = nextMap++;
    if (product.tiledLeft) {
      load.left = layOutTile(*product.tiledLeft, plan.m, product.k,
                             plan.rows(), sum);
      load.left->map = nextMap++;
    }
    if (product.keptLeft) {
      load.kept = layOutTile(*product.keptLeft, plan.m, product.k, plan.rows(),
                             sum);
      load.kept->map = nextMap++;
      slotBytes = std::max(slotBytes, load.kept->bytes());
    }
    slotBytes = std::max<int64_t>(slotBytes, llvm::alignTo(load.bytes(), 1024));
    loads.push_back(load);
    (product.isBack ? backs : fronts).push_back(i);
  }
  slots = std::clamp<int64_t>(kSharedBytes / slotBytes, 2, kMaxSlots);
}

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

Value MatrixGenerator::countBlocks() {
  Value count = arith::ConstantIndexOp::create(b, loc, 1);
  for (int64_t d : space.schedule.getGrid()) {
    Value extent;
    if (ShapedType::isDynamic(space.staticExtents[d])) {
      ExtentSource source = *space.sources[d];
      extent = memref::DimOp::create(
          b, loc, launch->getOperand(source.first.getArgNumber()),
          source.second);
    } else {
      extent = arith::ConstantIndexOp::create(b, loc, space.staticExtents[d]);
    }
    Value tile = arith::ConstantIndexOp::create(b, loc, tileOf(d));
    count = arith::MulIOp::create(
        b, loc, count, arith::CeilDivUIOp::create(b, loc, extent, tile));
  }
  return count;
}

/// A tensor map of 128 bytes, filled by the runtime on the host's stack:
/// `redfuse_rt_tensor_map(map, base, element, rank, sizes[5], strides[4] in bytes,
/// box[5])`, innermost first.
Value MatrixGenerator::makeTensorMap(const Tile &tile) {
  static constexpr StringLiteral kName = "redfuse_rt_tensor_map";
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value memref = launch->getOperand(tile.source->argument.getArgNumber());
  auto type = cast<MemRefType>(memref.getType());
  int64_t rank = type.getRank();
  auto storage = MemRefType::get({16}, b.getI64Type());
  Value map = memref::AllocaOp::create(b, loc, storage,
                                       b.getI64IntegerAttr(64));
  auto addressOf = [&](Value v) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(b, loc, v);
  };
  SmallVector<Value> operands{
      addressOf(map), addressOf(memref),
      index(type.getElementType().isF16() ? 0 : 1), index(rank)};
  SmallVector<Value> sizes, strides;
  Value stride = index(2);
  for (int64_t i = rank - 1; i >= 0; --i) {
    Value size = type.isDynamicDim(i)
                     ? Value(memref::DimOp::create(b, loc, memref, i))
                     : index(type.getDimSize(i));
    sizes.push_back(size);
    stride = arith::MulIOp::create(b, loc, stride, size);
    strides.push_back(stride);
  }
  sizes.resize(5, index(1));
  strides.resize(4, index(16));
  llvm::append_range(operands, sizes);
  llvm::append_range(operands, strides);
  unsigned rows = tile.layout.isSumContiguous ? tile.source->free
                                              : tile.source->sum;
  for (int64_t i = 0; i < 5; ++i) {
    int64_t at = rank - 1 - i;
    operands.push_back(
        index(i == 0 ? 64 : at == int64_t(rows) ? tile.layout.rows : 1));
  }
  auto module = launch->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(kName)) {
    auto top = OpBuilder::atBlockBegin(module.getBody());
    auto function = func::FuncOp::create(
        top, loc, kName,
        b.getFunctionType(SmallVector<Type>(operands.size(), b.getIndexType()),
                          {}));
    function.setPrivate();
  }
  func::CallOp::create(b, loc, kName, TypeRange(), operands);
  return vector::LoadOp::create(b, loc, VectorType::get({16}, b.getI64Type()),
                                map, ValueRange(index(0)));
}

//===----------------------------------------------------------------------===//
// Ring
//===----------------------------------------------------------------------===//

Value MatrixGenerator::fullBarrier(Value slot) {
  return ptx.add(barriers, ptx.mul(slot, 16));
}

Value MatrixGenerator::emptyBarrier(Value slot) {
  return ptx.add(fullBarrier(slot), 8);
}

Value MatrixGenerator::addressOf(Value slot) {
  return ptx.add(base, ptx.mul(slot, slotBytes));
}

MatrixGenerator::Ring MatrixGenerator::advance(Ring ring) {
  Value next = ptx.add(ring.slot, 1);
  Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next,
                                      ptx.i32(slots));
  Value flip = arith::ExtUIOp::create(b, loc, b.getI32Type(), wraps);
  return {arith::SelectOp::create(b, loc, wraps, ptx.i32(0), next),
          arith::XOrIOp::create(b, loc, ring.phase, flip)};
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

/// Tells the emitter where the block's tile is in every dim. Neighbours share
/// what is streamed while it stays in the L2 cache: as many tiles of the other
/// dims as fit are a group; inside of it the rows run from the last to the first,
/// because predicates leave most to the last ones, and long tiles should not be
/// started at the end.
void MatrixGenerator::placeBlock(Value block, bool isMultiplier) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto countOf = [&](unsigned d) -> Value {
    return b.createOrFold<arith::CeilDivUIOp>(loc, emitter->extents[d],
                                              index(tileOf(d)));
  };
  auto place = [&](unsigned d, Value position) {
    emitter->offsets[d] =
        b.createOrFold<arith::MulIOp>(loc, position, index(tileOf(d)));
  };
  // Numbers of tiles fit 32 bits, whose division is short.
  auto divide = [&](Value &x, Value by) {
    auto narrow = [&](Value v) {
      return b.createOrFold<arith::IndexCastUIOp>(loc, b.getI32Type(), v);
    };
    auto wide = [&](Value v) {
      return b.createOrFold<arith::IndexCastUIOp>(loc, b.getIndexType(), v);
    };
    Value quotient = wide(
        b.createOrFold<arith::DivUIOp>(loc, narrow(x), narrow(by)));
    Value taken = b.createOrFold<arith::MulIOp>(loc, quotient, by);
    Value rest = b.createOrFold<arith::SubIOp>(loc, x, taken);
    x = quotient;
    return rest;
  };
  SmallVector<int64_t> grid(space.schedule.getGrid());
  llvm::erase(grid, int64_t(plan.m));
  Value rest = block;
  if (llvm::is_contained(space.schedule.getGrid(), int64_t(plan.m))) {
    Value rows = countOf(plan.m), others = index(1), bytes = index(0);
    for (int64_t d : grid)
      others = b.createOrFold<arith::MulIOp>(loc, others, countOf(d));
    for (const MatrixProduct &product : plan.products) {
      Value size = index(2);
      for (unsigned d : {product.n, product.k})
        size = b.createOrFold<arith::MulIOp>(loc, size, emitter->extents[d]);
      bytes = b.createOrFold<arith::AddIOp>(loc, bytes, size);
    }
    Value some = b.createOrFold<arith::DivUIOp>(
        loc, index(kCachedBytes),
        b.createOrFold<arith::MaxUIOp>(loc, bytes, index(1)));
    Value size = b.createOrFold<arith::MinUIOp>(
        loc, b.createOrFold<arith::MaxUIOp>(loc, some, index(1)), others);
    // Division by a constant stays uniform in the eyes of ptxas.
    bool isEven = false;
    if (auto count = getConstantIntValue(getAsOpFoldResult(others)))
      if (auto most = getConstantIntValue(getAsOpFoldResult(size))) {
        int64_t divisor = std::max<int64_t>(*most, 1);
        while (*count % divisor != 0)
          --divisor;
        size = index(divisor);
        isEven = true;
      }
    Value number = block;
    Value inGroup =
        divide(number, b.createOrFold<arith::MulIOp>(loc, size, rows));
    Value first = b.createOrFold<arith::MulIOp>(loc, number, size);
    // The last group may be smaller.
    Value row = inGroup, last = size;
    if (!isEven)
      last = b.createOrFold<arith::MinUIOp>(
          loc, size, b.createOrFold<arith::SubIOp>(loc, others, first));
    Value other = divide(row, last);
    last = b.createOrFold<arith::SubIOp>(loc, rows, index(1));
    place(plan.m, b.createOrFold<arith::SubIOp>(loc, last, row));
    rest = b.createOrFold<arith::AddIOp>(loc, first, other);
  }
  for (auto [i, d] : llvm::enumerate(llvm::reverse(grid))) {
    Value position = rest;
    if (i + 1 < grid.size())
      position = divide(rest, countOf(d));
    place(d, position);
  }
  if (!emitter->offsets[plan.m])
    emitter->offsets[plan.m] = index(0);
  firstRow = emitter->offsets[plan.m];
  lastRow = arith::AddIOp::create(b, loc, firstRow, index(plan.rows() - 1));
  if (isMultiplier) {
    // This thread's first row: of its warpgroup, warp, and lane / 4.
    Value inGroup = arith::AndIOp::create(b, loc, warp, ptx.i32(3));
    Value row = ptx.add(
        ptx.add(ptx.mul(group, 64), ptx.mul(inGroup, 16)),
        arith::ShRUIOp::create(b, loc, emitter->lane, ptx.i32(2)));
    emitter->offsets[plan.m] = arith::AddIOp::create(
        b, loc, emitter->offsets[plan.m],
        arith::IndexCastUIOp::create(b, loc, b.getIndexType(), row));
  }
  streamBegin = Value();
  if (!plan.stream)
    return;
  streamBegin = index(0);
  if (space.schedule.getKind() != ScheduleKind::Split)
    return;
  // The block's own segment; the last ones may be short, or empty.
  unsigned part = space.schedule.getGrid().back(), d = *plan.stream;
  Value size = arith::CeilDivUIOp::create(b, loc, emitter->extents[d],
                                          emitter->extents[part]);
  Value first = arith::MulIOp::create(b, loc, emitter->offsets[part], size);
  streamBegin =
      arith::MinSIOp::create(b, loc, first, emitter->extents[d]);
  Value end = arith::AddIOp::create(b, loc, streamBegin, size);
  emitter->ends[d] =
      arith::MinSIOp::create(b, loc, end, emitter->extents[d]);
}

/// One tile at least, of which no element need exist.
MatrixGenerator::Steps MatrixGenerator::stepsOf() {
  unsigned d = *plan.stream;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto least = [&](Value x, Value y) {
    return b.createOrFold<arith::MinSIOp>(loc, x, y);
  };
  auto most = [&](Value x, Value y) {
    return b.createOrFold<arith::MaxSIOp>(loc, x, y);
  };
  Value tile = index(tileOf(d)), zero = index(0), one = index(1);
  auto inTiles = [&](Value at, bool up) -> Value {
    // Not below the start, where division would round the wrong way.
    Value from = most(
        b.createOrFold<arith::SubIOp>(loc, at, streamBegin), zero);
    if (up)
      return b.createOrFold<arith::CeilDivUIOp>(loc, from, tile);
    return b.createOrFold<arith::DivUIOp>(loc, from, tile);
  };
  emitter->select(plan.step, *stepSets);
  MatrixMasks masks(b, loc, plan, *stepSets, *emitter);
  MatrixMasks::Range possible = masks.possible(firstRow, lastRow);
  MatrixMasks::Range certain = masks.certain(firstRow, lastRow);
  emitter->decided = masks.getDecided();
  Value end = emitter->ends[d] ? emitter->ends[d] : emitter->extents[d];
  Value all = most(inTiles(end, /*up=*/true), one);
  Steps steps;
  steps.begin = least(inTiles(possible.begin, /*up=*/false),
                      b.createOrFold<arith::SubIOp>(loc, all, one));
  steps.end = most(least(inTiles(possible.end, /*up=*/true), all),
                   b.createOrFold<arith::AddIOp>(loc, steps.begin, one));
  steps.wholeBegin = inTiles(certain.begin, /*up=*/true);
  steps.wholeEnd = inTiles(certain.end, /*up=*/false);
  // The first tile is walked apart from the others, with its predicates.
  Value second = b.createOrFold<arith::AddIOp>(loc, steps.begin, one);
  steps.noneBefore =
      isConstantIntValue(getAsOpFoldResult(certain.begin), 0) &&
      isConstantIntValue(getAsOpFoldResult(streamBegin), 0);
  steps.wholeBegin = least(most(steps.wholeBegin, second), steps.end);
  steps.wholeEnd = most(least(steps.wholeEnd, steps.end), steps.wholeBegin);
  steps.noneBehind = masks.getDecided().empty() && !emitter->isRagged(d);
  return steps;
}

void MatrixGenerator::setStep(Value step) {
  unsigned d = *plan.stream;
  Value at = arith::MulIOp::create(
      b, loc, step, arith::ConstantIndexOp::create(b, loc, tileOf(d)));
  emitter->offsets[d] = arith::AddIOp::create(b, loc, streamBegin, at);
}

Value MatrixGenerator::tilesOfSum(unsigned d) {
  return arith::CeilDivUIOp::create(
      b, loc, emitter->extents[d],
      arith::ConstantIndexOp::create(b, loc, kSumTile));
}

void MatrixGenerator::overTiles(function_ref<Ring(Value, Ring)> body) {
  // Round after round, every other one in reverse: who had a long tile gets a
  // short one.
  Value own = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  Value width = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto placeIn = [&](Value round) -> Value {
    Value isOdd = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, loc, round, index(1)), index(0));
    Value last = arith::SubIOp::create(b, loc, width, index(1));
    return arith::SelectOp::create(
        b, loc, isOdd, arith::SubIOp::create(b, loc, last, own), own);
  };
  Value full = rounds;
  Value done = arith::MulIOp::create(b, loc, full, width);
  Value left = arith::SubIOp::create(b, loc, blocks, done);
  Value hasOneMore = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                           placeIn(full), left);
  Value end = arith::AddIOp::create(
      b, loc, full,
      arith::IndexCastUIOp::create(b, loc, b.getIndexType(), hasOneMore));
  emitFor(b, loc, index(0), end, index(1), {ptx.i32(0), ptx.i32(0)},
          [&](Value round, ValueRange state) {
            Value first = arith::MulIOp::create(b, loc, round, width);
            Value at = arith::AddIOp::create(b, loc, first, placeIn(round));
            Ring ring = body(at, {state[0], state[1]});
            return SmallVector<Value>{ring.slot, ring.phase};
          });
}

//===----------------------------------------------------------------------===//
// Loader
//===----------------------------------------------------------------------===//

void MatrixGenerator::loadTile(const Tile &tile, Value address, Value barrier,
                               Value sumTile) {
  // Where every dim stands.
  SmallVector<Value> positions;
  for (unsigned d = 0; d < space.numDims; ++d) {
    Value at = emitter->offsets[d];
    if (d == tile.sum && sumTile)
      at = arith::MulIOp::create(
          b, loc, sumTile, arith::ConstantIndexOp::create(b, loc, kSumTile));
    if (!at)
      at = arith::ConstantIndexOp::create(b, loc, 0);
    positions.push_back(at);
  }
  SmallVector<Value> coordinates;
  for (AffineExpr e : llvm::reverse(tile.source->map.getResults()))
    coordinates.push_back(arith::IndexCastOp::create(
        b, loc, b.getI32Type(),
        affine::expandAffineExpr(b, loc, e, positions, {})));
  Value first = coordinates[0];
  for (int64_t p = 0; p < tile.panels; ++p) {
    coordinates[0] = ptx.add(first, 64 * p);
    ptx.loadTile(ptx.add(address, p * tile.layout.panelBytes()),
                 maps[tile.map - 1], coordinates, barrier);
  }
}

MatrixGenerator::Ring MatrixGenerator::loadTiles(ArrayRef<const Tile *> tiles,
                                                 Ring ring, Value sumTile) {
  Value free = arith::XOrIOp::create(b, loc, ring.phase, ptx.i32(1));
  ptx.wait(emptyBarrier(ring.slot), free);
  Value barrier = fullBarrier(ring.slot), address = addressOf(ring.slot);
  int64_t bytes = 0;
  for (const Tile *tile : tiles)
    bytes += tile->bytes();
  ptx.expect(barrier, bytes);
  for (const Tile *tile : tiles) {
    loadTile(*tile, address, barrier, sumTile);
    address = ptx.add(address, tile->bytes());
  }
  return advance(ring);
}

MatrixGenerator::Ring MatrixGenerator::loadProduct(unsigned product,
                                                   Ring ring) {
  const Load &load = loads[product];
  if (!load.left)
    return loadTiles(&load.right, ring, Value());
  SmallVector<Value> next = emitFor(
      b, loc, arith::ConstantIndexOp::create(b, loc, 0),
      tilesOfSum(plan.products[product].k),
      arith::ConstantIndexOp::create(b, loc, 1), {ring.slot, ring.phase},
      [&](Value tile, ValueRange state) {
        Ring ring = loadTiles({&load.right, &*load.left},
                              {state[0], state[1]}, tile);
        return SmallVector<Value>{ring.slot, ring.phase};
      });
  return {next[0], next[1]};
}

MatrixGenerator::Ring MatrixGenerator::loadBlock(Ring ring) {
  if (!plan.stream) {
    for (size_t i = 0; i < plan.products.size(); ++i)
      ring = loadProduct(i, ring);
    return ring;
  }
  auto all = [&](ArrayRef<unsigned> products) {
    for (unsigned i : products)
      ring = loadProduct(i, ring);
  };
  // The order of emitStep: what is added to the states runs a step behind.
  bool tiled = llvm::any_of(loads, [](const Load &l) { return l.left; });
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  emitter->values.clear();
  Steps steps = stepsOf();
  for (const Load &load : loads)
    if (load.kept)
      ring = loadTiles(&*load.kept, ring, Value());
  setStep(steps.begin);
  all(fronts);
  SmallVector<Value> next = emitFor(
      b, loc, arith::AddIOp::create(b, loc, steps.begin, one), steps.end, one,
      {ring.slot, ring.phase}, [&](Value step, ValueRange state) {
        ring = {state[0], state[1]};
        Value before = arith::SubIOp::create(b, loc, step, one);
        if (tiled) {
          setStep(before);
          all(backs);
        }
        setStep(step);
        all(fronts);
        if (!tiled) {
          setStep(before);
          all(backs);
        }
        return SmallVector<Value>{ring.slot, ring.phase};
      });
  ring = {next[0], next[1]};
  setStep(arith::SubIOp::create(b, loc, steps.end, one));
  all(backs);
  return ring;
}

void MatrixGenerator::emitLoader() {
  overTiles([&](Value block, Ring ring) {
    placeBlock(block, /*isMultiplier=*/false);
    return loadBlock(ring);
  });
}

//===----------------------------------------------------------------------===//
// Multipliers
//===----------------------------------------------------------------------===//

SmallVector<Value> MatrixGenerator::start(unsigned i, Value slot,
                                          ValueRange accumulators,
                                          ValueRange left) {
  const MatrixProduct &product = plan.products[i];
  ProductShape shape{plan.widths.lookup(product.n),
                     plan.widths.lookup(product.k) / 16, product.element};
  const TileLayout &layout = loads[i].right.layout;
  return ptx.multiply(shape, accumulators, left,
                      ptx.descriptor(addressOf(slot), layout), layout);
}

SmallVector<Value>
MatrixGenerator::multiplyTiled(unsigned i, Ring &ring,
                               SmallVectorImpl<Value> &running) {
  const MatrixProduct &product = plan.products[i];
  const Load &load = loads[i];
  ProductShape shape{plan.widths.lookup(product.n), kSumTile / 16,
                     product.element};
  const TileLayout &left = load.left->layout, &right = load.right.layout;
  auto step = [&](Ring at, ValueRange accumulators) {
    ptx.wait(fullBarrier(at.slot), at.phase);
    Value address = addressOf(at.slot);
    Value rows = ptx.add(ptx.add(address, load.right.bytes()),
                         ptx.mul(group, left.isSumContiguous
                                            ? 64 * 128
                                            : left.panelBytes()));
    return ptx.multiply(shape, accumulators, ptx.descriptor(rows, left), left,
                        ptx.descriptor(address, right), right);
  };
  SmallVector<Value> state = step(ring, {});
  // What ran before is over before the loader comes to its slot again.
  if (!running.empty())
    ptx.waitProducts(1, {});
  for (Value slot : running)
    ptx.arrive(emptyBarrier(slot), emitter->lane);
  running.clear();
  size_t n = state.size();
  state.push_back(ring.slot);
  ring = advance(ring);
  state.push_back(ring.slot);
  state.push_back(ring.phase);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  state = emitFor(b, loc, one, tilesOfSum(product.k), one, state,
                  [&](Value, ValueRange carried) {
                    Ring at{carried[n + 1], carried[n + 2]};
                    SmallVector<Value> next = step(at, carried.take_front(n));
                    ptx.waitProducts(1, {});
                    ptx.arrive(emptyBarrier(carried[n]), emitter->lane);
                    next.push_back(at.slot);
                    at = advance(at);
                    next.append({at.slot, at.phase});
                    return next;
                  });
  ring = {state[n + 1], state[n + 2]};
  SmallVector<Value> result =
      ptx.waitProducts(0, ArrayRef<Value>(state).take_front(n));
  ptx.arrive(emptyBarrier(state[n]), emitter->lane);
  return result;
}

/// The rows of a warp as left operands.
SmallVector<Value> MatrixGenerator::readKept(const Tile &tile, Value slot,
                                             int64_t steps) {
  auto and7 = [&](Value v, int64_t mask) -> Value {
    return arith::AndIOp::create(b, loc, v, ptx.i32(mask));
  };
  // Lane l has row l % 16 of the block and its chunk l / 16 of 16 bytes; chunks
  // are swizzled by the row.
  Value lane = emitter->lane;
  Value row = ptx.add(ptx.add(ptx.mul(group, 64), ptx.mul(and7(warp, 3), 16)),
                      and7(lane, 15));
  Value half = arith::ShRUIOp::create(b, loc, lane, ptx.i32(4));
  Value start = ptx.add(addressOf(slot), ptx.mul(row, 128));
  SmallVector<Value> result;
  for (int64_t k = 0; k < steps; ++k) {
    Value chunk = arith::XOrIOp::create(
        b, loc, ptx.add(half, k % 4 * 2), and7(lane, 7));
    Value address = ptx.add(ptx.add(start, k / 4 * tile.layout.panelBytes()),
                            ptx.mul(chunk, 16));
    llvm::append_range(result, ptx.loadBlock(address));
  }
  return result;
}

/// Values that are the same in every step.
MatrixGenerator::Ring MatrixGenerator::emitInvariants(Ring ring) {
  Block *body = plan.step.getProgramBody();
  llvm::DenseSet<Value> changes;
  if (plan.fold)
    for (BlockArgument arg :
         body->getArguments().drop_front(plan.fold.getInputs().size()))
      changes.insert(arg);
  auto isInvariant = [&](Value v) {
    return !changes.contains(v) && !(*stepSets)[v].test(*plan.stream);
  };
  llvm::DenseSet<Value> inShared;
  for (MatrixProduct &product : plan.products)
    inShared.insert(product.right.argument);
  for (Operation &inner : body->without_terminator()) {
    bool same = !isa<ReduceOp>(inner) &&
                llvm::all_of(inner.getOperands(), [&](Value v) {
                  return v.getParentBlock() != body || isInvariant(v);
                });
    for (Value v : inner.getResults())
      if (!same || !isInvariant(v))
        changes.insert(v);
  }
  for (unsigned i : fronts) {
    const MatrixProduct &product = plan.products[i];
    if (loads[i].kept) {
      ptx.wait(fullBarrier(ring.slot), ring.phase);
      leftRegisters[i] =
          readKept(*loads[i].kept, ring.slot,
                   plan.widths.lookup(product.k) / 16);
      // Rule 6.
      leftRegisters[i] = ptx.settle(leftRegisters[i]);
      ptx.arrive(emptyBarrier(ring.slot), emitter->lane);
      ring = advance(ring);
    } else if (!product.tiledLeft) {
      leftRegisters[i] = emitter->packLeft(product);
    }
  }
  // Of the rest, what is cheap to keep: scalars and rows.
  for (Operation &inner : body->without_terminator())
    for (Value v : inner.getResults()) {
      Fragment shape = emitter->shapeOf((*stepSets)[v]);
      bool isSmall = shape.kind == Fragment::Kind::Uniform ||
                     shape.kind == Fragment::Kind::Row;
      if (!changes.contains(v) && isSmall)
        emitter->get(v);
    }
  return ring;
}

MatrixGenerator::Carried MatrixGenerator::emitStep(Carried before,
                                                   bool isFirst) {
  Block *body = plan.step.getProgramBody();
  auto states =
      body->getArguments().drop_front(plan.fold.getInputs().size());
  auto yield = cast<YieldOp>(body->getTerminator());
  DenseMap<Value, Fragment> invariants = emitter->values;
  Carried after;
  Ring ring = before.ring;
  bool tiled = llvm::any_of(loads, [](const Load &l) { return l.left; });

  // Products of this step, and those of the last one onto the states.
  SmallVector<Value> frontSlots, backSlots;
  DenseMap<unsigned, SmallVector<Value>> made;
  DenseMap<unsigned, SmallVector<Value>> sums;
  auto startFronts = [&]() {
    for (unsigned i : fronts) {
      if (loads[i].left) {
        made[i] = multiplyTiled(i, ring, backSlots);
        continue;
      }
      ptx.wait(fullBarrier(ring.slot), ring.phase);
      made[i] = start(i, ring.slot, {}, leftRegisters[i]);
      frontSlots.push_back(ring.slot);
      ring = advance(ring);
    }
  };
  auto startBacks = [&]() {
    if (isFirst)
      return;
    for (auto [at, i] : llvm::enumerate(backs)) {
      ptx.wait(fullBarrier(ring.slot), ring.phase);
      sums[i] = start(i, ring.slot,
                      before.states[plan.products[i].state].values,
                      before.packed[at]);
      backSlots.push_back(ring.slot);
      ring = advance(ring);
    }
  };
  if (tiled) {
    startBacks();
    startFronts();
  } else {
    startFronts();
    startBacks();
  }
  after.ring = ring;
  auto waitFor = [&](ArrayRef<unsigned> products,
                     DenseMap<unsigned, SmallVector<Value>> &results,
                     int64_t pending, ArrayRef<Value> alive) {
    SmallVector<Value> all;
    for (unsigned i : products)
      llvm::append_range(all, results[i]);
    all = ptx.waitProducts(pending, all, alive);
    ArrayRef<Value> rest = all;
    for (unsigned i : products) {
      size_t n = results[i].size();
      results[i].assign(rest.begin(), rest.begin() + n);
      rest = rest.drop_front(n);
    }
  };
  if (!frontSlots.empty()) {
    waitFor(fronts, made, isFirst ? 0 : backs.size(), {});
    for (Value slot : frontSlots)
      ptx.arrive(emptyBarrier(slot), emitter->lane);
  }
  for (unsigned i : fronts) {
    Fragment fragment;
    fragment.kind = Fragment::Kind::Matrix;
    fragment.dim = plan.products[i].n;
    fragment.values = made[i];
    emitter->values[plan.products[i].reduce.getResult(0)] = fragment;
  }
  for (auto [s, arg] : llvm::enumerate(states)) {
    bool isWide = llvm::any_of(
        backs, [&](unsigned i) { return plan.products[i].state == s; });
    if (!isWide)
      emitter->values[arg] = before.states[s];
  }
  // What the states are scaled by, while the products still run.
  for (unsigned i : backs) {
    Value wide = states[plan.products[i].state];
    SmallVector<Value> work{plan.products[i].carried};
    llvm::DenseSet<Value> seen, needsWide;
    // Body order: a value after its operands.
    for (Operation &inner : body->without_terminator())
      for (Value operand : inner.getOperands())
        if (operand == wide || needsWide.contains(operand))
          needsWide.insert(inner.getResult(0));
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (!seen.insert(v).second || v == wide ||
          v.getParentBlock() != body)
        continue;
      if (!needsWide.contains(v))
        emitter->get(v);
      else
        llvm::append_range(work, v.getDefiningOp()->getOperands());
    }
  }
  if (!isFirst) {
    SmallVector<Value> alive;
    for (const SmallVector<Value> &packed : before.packed)
      llvm::append_range(alive, packed);
    waitFor(backs, sums, 0, alive);
    for (Value slot : backSlots)
      ptx.arrive(emptyBarrier(slot), emitter->lane);
  }
  for (unsigned i : backs) {
    const MatrixProduct &product = plan.products[i];
    unsigned s = product.state;
    if (isFirst) {
      // Transport takes the identity to itself.
      after.states[s] = before.states[s];
      continue;
    }
    Fragment sum = before.states[s];
    sum.values = sums[i];
    emitter->values[states[s]] = sum;
    Fragment carried = emitter->get(product.carried);
    Fragment scaled = sum;
    for (size_t e = 0; e < sum.values.size(); ++e)
      scaled.values[e] = carried.at(e);
    after.states[s] = scaled;
  }
  for (unsigned i : backs)
    after.packed.push_back(emitter->packLeft(plan.products[i]));
  for (auto [s, v] : llvm::enumerate(yield.getValues())) {
    if (after.states.contains(s))
      continue;
    Fragment value = emitter->get(v), shape = before.states[s];
    for (size_t e = 0; e < shape.values.size(); ++e)
      shape.values[e] = shape.kind == Fragment::Kind::Matrix
                            ? value.at(e)
                        : value.values.size() == 1 ? value.values[0]
                                                   : value.values[e];
    after.states[s] = shape;
  }
  emitter->values = std::move(invariants);
  return after;
}

/// States as a list of values, and back.
static void flatten(const DenseMap<unsigned, Fragment> &states, unsigned count,
                    ArrayRef<SmallVector<Value>> packed,
                    SmallVectorImpl<Value> &list) {
  for (unsigned s = 0; s < count; ++s)
    llvm::append_range(list, states.lookup(s).values);
  for (const SmallVector<Value> &p : packed)
    llvm::append_range(list, p);
}

static void unflatten(ValueRange list, unsigned count,
                      DenseMap<unsigned, Fragment> &states,
                      MutableArrayRef<SmallVector<Value>> packed) {
  size_t next = 0;
  for (unsigned s = 0; s < count; ++s)
    for (Value &v : states[s].values)
      v = list[next++];
  for (SmallVector<Value> &p : packed)
    for (Value &v : p)
      v = list[next++];
}

MatrixGenerator::Ring MatrixGenerator::multiplyBlock(Ring ring) {
  Block *body = plan.step.getProgramBody();
  emitter->values.clear();
  emitter->select(plan.step, *stepSets);
  leftRegisters.clear();
  ring = emitInvariants(ring);
  unsigned count = plan.fold.getNumStates();
  auto arguments =
      body->getArguments().drop_front(plan.fold.getInputs().size());
  Carried carried;
  carried.ring = ring;
  for (unsigned s = 0; s < count; ++s)
    carried.states[s] = emitter->fill(
        arguments[s], cast<TypedAttr>(plan.fold.getIdentities()[s]));
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Steps steps = stepsOf();
  setStep(steps.begin);
  carried = emitStep(carried, /*isFirst=*/true);
  SmallVector<Value> list;
  flatten(carried.states, count, carried.packed, list);
  list.append({carried.ring.slot, carried.ring.phase});
  auto walk = [&](Value from, Value to, bool isWhole) {
    emitter->isWholeTile = isWhole;
    list = emitFor(b, loc, from, to, one, list,
                   [&](Value step, ValueRange state) {
                     Carried now = carried;
                     unflatten(state, count, now.states, now.packed);
                     now.ring = {state[state.size() - 2], state.back()};
                     setStep(step);
                     now = emitStep(now, /*isFirst=*/false);
                     SmallVector<Value> next;
                     flatten(now.states, count, now.packed, next);
                     next.append({now.ring.slot, now.ring.phase});
                     return next;
                   });
    emitter->isWholeTile = false;
  };
  if (!steps.noneBefore)
    walk(arith::AddIOp::create(b, loc, steps.begin, one), steps.wholeBegin,
         false);
  walk(steps.wholeBegin, steps.wholeEnd, true);
  if (!steps.noneBehind)
    walk(steps.wholeEnd, steps.end, false);
  unflatten(list, count, carried.states, carried.packed);
  ring = {list[list.size() - 2], list.back()};
  // What is left to add.
  for (auto [at, i] : llvm::enumerate(backs)) {
    unsigned s = plan.products[i].state;
    ptx.wait(fullBarrier(ring.slot), ring.phase);
    SmallVector<Value> sum =
        start(i, ring.slot, carried.states[s].values, carried.packed[at]);
    carried.states[s].values = llvm::to_vector<8>(
        ptx.waitProducts(0, sum, carried.packed[at]));
    ptx.arrive(emptyBarrier(ring.slot), emitter->lane);
    ring = advance(ring);
  }
  // The finalisation sees states, and tensors of its own.
  emitter->values.clear();
  auto finalize =
      cast<IndexProgramOpInterface>(plan.finalize.getOperation());
  emitter->select(finalize, *finalSets);
  for (auto [i, input] : llvm::enumerate(plan.finalize.getInputs()))
    if (input.getDefiningOp() == plan.fold)
      emitter->values[finalize.getProgramBody()->getArgument(i)] =
          carried.states[cast<OpResult>(input).getResultNumber()];
  storeResults();
  return ring;
}

MatrixGenerator::Ring MatrixGenerator::multiplyCascade(Ring ring) {
  emitter->values.clear();
  emitter->select(plan.step, *stepSets);
  for (auto [i, product] : llvm::enumerate(plan.products)) {
    Fragment fragment;
    fragment.kind = Fragment::Kind::Matrix;
    fragment.dim = product.n;
    if (product.tiledLeft) {
      SmallVector<Value> none;
      fragment.values = multiplyTiled(i, ring, none);
    } else {
      SmallVector<Value> left = emitter->packLeft(product);
      ptx.wait(fullBarrier(ring.slot), ring.phase);
      fragment.values =
          ptx.waitProducts(0, start(i, ring.slot, {}, left), left);
      ptx.arrive(emptyBarrier(ring.slot), emitter->lane);
      ring = advance(ring);
    }
    emitter->values[product.reduce.getResult(0)] = fragment;
  }
  storeResults();
  return ring;
}

void MatrixGenerator::storeResults() {
  IndexProgramOpInterface last =
      plan.finalize ? cast<IndexProgramOpInterface>(plan.finalize.getOperation())
                    : plan.step;
  SmallVector<AffineMap> all = last.getIndexingMapsArray();
  unsigned first = all.size() - last.getProgramInits().size();
  auto yield = cast<YieldOp>(last.getProgramBody()->getTerminator());
  for (auto [i, v] : llvm::enumerate(yield.getValues())) {
    AffineMap map = simplifyForExtents(all[first + i], space.staticExtents);
    Fragment value = emitter->get(v);
    Fragment shape = emitter->shapeOf(getDimsOf(map));
    Fragment whole = shape;
    for (size_t e = 0, n = emitter->sizeOf(shape); e < n; ++e)
      whole.values.push_back(shape.kind == Fragment::Kind::Matrix ? value.at(e)
                             : value.values.size() == 1 ? value.values[0]
                                                        : value.values[e]);
    emitter->store(emitter->memrefs.lookup(last->getResult(i)), map, whole);
  }
}

void MatrixGenerator::emitMultipliers() {
  overTiles([&](Value block, Ring ring) {
    placeBlock(block, /*isMultiplier=*/true);
    return plan.stream ? multiplyBlock(ring) : multiplyCascade(ring);
  });
}

//===----------------------------------------------------------------------===//
// The function and its launch
//===----------------------------------------------------------------------===//

LogicalResult MatrixGenerator::run(gpu::GPUModuleOp module, StringRef name) {
  FailureOr<DimSets> dims = DimSets::compute(plan.step);
  if (failed(dims))
    return failure();
  stepSets = *dims;
  if (plan.finalize) {
    dims = DimSets::compute(
        cast<IndexProgramOpInterface>(plan.finalize.getOperation()));
    if (failed(dims))
      return failure();
    finalSets = *dims;
  }
  layOut();
  b.setInsertionPoint(launch);
  Value all = countBlocks();
  Value grid = arith::MinUIOp::create(
      b, loc, all, arith::ConstantIndexOp::create(b, loc, units));
  Value atLeastOne = arith::MaxUIOp::create(
      b, loc, grid, arith::ConstantIndexOp::create(b, loc, 1));
  SmallVector<Value> arguments{
      all, arith::DivUIOp::create(b, loc, all, atLeastOne)};
  for (Load &load : loads) {
    arguments.push_back(makeTensorMap(load.right));
    if (load.left)
      arguments.push_back(makeTensorMap(*load.left));
    if (load.kept)
      arguments.push_back(makeTensorMap(*load.kept));
  }
  unsigned firstOperand = arguments.size();
  llvm::append_range(arguments, launch->getOperands());

  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types = llvm::to_vector(ValueRange(arguments).getTypes());
  auto func =
      gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  int64_t threads = kLoaderThreads + 128 * plan.consumers;
  func.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  // Registers: a thread of the loader gives some to those that multiply.
  if (plan.consumers == 2)
    func->setAttr("nvvm.maxnreg", b.getI32IntegerAttr(168));
  func->setAttr("nvvm.minctasm", b.getI32IntegerAttr(1));
  entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  auto end = gpu::ReturnOp::create(b, loc);
  b.setInsertionPoint(end);

  // Operands of the launch.
  emitter = std::make_unique<FragmentEmitter>(b, loc, plan, space);
  emitter->entry = entry;
  ValueRange operands = entry->getArguments().drop_front(firstOperand);
  blocks = entry->getArgument(0);
  rounds = entry->getArgument(1);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  for (Value map : entry->getArguments().slice(2, firstOperand - 2))
    maps.push_back(UnrealizedConversionCastOp::create(b, loc, pointer, map)
                       .getResult(0));
  for (BlockArgument arg : kernel.getBody().front().getArguments()) {
    Value operand = operands[arg.getArgNumber()];
    if (isa<MemRefType>(operand.getType()))
      emitter->memrefs[arg] = operand;
    else
      emitter->captured.map(arg, operand);
  }
  for (auto [result, arg] : findDestinations(kernel))
    emitter->memrefs[result] = operands[arg.getArgNumber()];
  for (Operation &op : kernel.getBody().front()) {
    if (isa<IndexProgramOpInterface, YieldOp>(op) ||
        llvm::any_of(op.getOperandTypes(), llvm::IsaPred<TensorType>) ||
        llvm::any_of(op.getResultTypes(), llvm::IsaPred<TensorType>))
      continue;
    b.clone(op, emitter->captured);
  }
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (ShapedType::isDynamic(space.staticExtents[d])) {
      ExtentSource source = *space.sources[d];
      emitter->extents[d] = memref::DimOp::create(
          b, loc, operands[source.first.getArgNumber()], source.second);
    } else {
      emitter->extents[d] =
          arith::ConstantIndexOp::create(b, loc, space.staticExtents[d]);
    }
  }

  // Shared memory, barriers, roles.
  auto space3 = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  Value shared = gpu::DynamicSharedMemoryOp::create(
      b, loc,
      MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                      MemRefLayoutAttrInterface(), space3));
  Value raw = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, shared));
  base = arith::AndIOp::create(b, loc, ptx.add(raw, 1023), ptx.i32(-1024));
  barriers = ptx.add(base, slots * slotBytes);
  thread = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
  emitter->lane = arith::AndIOp::create(b, loc, thread, ptx.i32(31));
  warp = NVVM::ShflOp::create(
      b, loc, b.getI32Type(), ptx.i32(-1),
      arith::ShRUIOp::create(b, loc, thread, ptx.i32(5)), ptx.i32(0),
      ptx.i32(31), NVVM::ShflKind::idx, UnitAttr());
  group = ptx.add(arith::ShRUIOp::create(b, loc, warp, ptx.i32(2)), -1);
  auto isEqual = [&](Value v, int64_t to) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, v,
                                 ptx.i32(to));
  };
  auto branchOn = [&](Value condition, function_ref<void()> then,
                      function_ref<void()> otherwise = {}) {
    auto branch =
        scf::IfOp::create(b, loc, condition, /*withElse=*/bool(otherwise));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    then();
    if (otherwise) {
      b.setInsertionPoint(branch.elseYield());
      otherwise();
    }
  };
  branchOn(isEqual(thread, 0), [&] {
    for (int64_t s = 0; s < slots; ++s) {
      ptx.initBarrier(fullBarrier(ptx.i32(s)), 1);
      ptx.initBarrier(emptyBarrier(ptx.i32(s)), 4 * plan.consumers);
    }
    ptx.fenceBarriers();
  });
  gpu::BarrierOp::create(b, loc);
  Value isLoader = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                         warp, ptx.i32(4));
  branchOn(
      isLoader,
      [&] {
        if (plan.consumers == 2)
          ptx.setRegisters(40, /*more=*/false);
        branchOn(isEqual(thread, 0), [&] { emitLoader(); });
      },
      [&] {
        if (plan.consumers == 2)
          ptx.setRegisters(232, /*more=*/true);
        emitMultipliers();
      });

  b.setInsertionPoint(launch);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value width = arith::ConstantIndexOp::create(b, loc, threads);
  Value bytes = arith::ConstantIntOp::create(
      b, loc, b.getI32Type(), 1024 + slots * (slotBytes + 16));
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{grid, one, one},
                            gpu::KernelDim3{width, one, one}, bytes, arguments);
  launch.erase();
  return success();
}
