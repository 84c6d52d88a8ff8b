//===- MatrixLoader.cpp - tiles, the ring, and the warp that fills it ------===//
#include "BlockCounters.h"
#include "InlinePtx.h"
#include "MatrixGenerator.h"
#include "RegisterKernel.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;

static constexpr int64_t kMaxSlots = 8;
/// So many blocks at least stream the same data at a time.
static constexpr int64_t kSharers = 4;
/// The share of the rows, the first ones, whose tiles are the last of all where tiles
/// are unequal: one in so many.
static constexpr int64_t kLateRows = 4;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

int64_t MatrixGenerator::tileOf(unsigned d) const {
  if (d == plan.m)
    return plan.rows();
  auto it = plan.widths.find(d);
  return it == plan.widths.end() ? 1 : it->second;
}

MatrixGenerator::Tile MatrixGenerator::layOutTile(const MatrixSource &source,
                                                  unsigned free, unsigned sum,
                                                  int64_t freeWidth,
                                                  int64_t sumWidth) {
  Tile tile;
  tile.source = &source;
  tile.free = free;
  tile.sum = sum;
  tile.isByRows = source.sum + 1 != source.map.getNumResults();
  int64_t rows = tile.isByRows ? sumWidth : freeWidth;
  int64_t columns = tile.isByRows ? freeWidth : sumWidth;
  auto memref = cast<ShapedType>(source.argument.getType());
  tile.type =
      tile::SharedType::get(b.getContext(), rows, llvm::alignTo(columns, 64),
                            memref.getElementType());
  return tile;
}

bool MatrixGenerator::layOut(std::string &why) {
  unsigned nextMap = 1;
  // Slots that multipliers hold at a time: all products of a step, of a tiled one
  // two. With fewer they would wait for what the loader has no place for.
  int64_t held = 0, heldTiled = 0, sharedBytes = plan.target.sharedBytes;
  for (auto [i, product] : llvm::enumerate(plan.products)) {
    Load load;
    int64_t sum = product.tiledLeft ? kSumTile : plan.widths.lookup(product.k);
    load.right = layOutTile(product.right, product.n, product.k,
                            plan.widths.lookup(product.n), sum);
    load.right.map = nextMap++;
    if (product.tiledLeft) {
      load.left =
          layOutTile(*product.tiledLeft, plan.m, product.k, plan.rows(), sum);
      load.left->map = nextMap++;
    }
    if (product.keptLeft) {
      load.kept =
          layOutTile(*product.keptLeft, plan.m, product.k, plan.rows(), sum);
      load.kept->map = nextMap++;
      load.isResident = product.isResident;
      load.residentAt = residentBytes;
      if (load.isResident)
        residentBytes += llvm::alignTo(load.kept->bytes(), 1024);
      else
        slotBytes = std::max(slotBytes, load.kept->bytes());
    }
    slotBytes = std::max<int64_t>(slotBytes, llvm::alignTo(load.bytes(), 1024));
    loads.push_back(load);
    (product.isBack ? backs : fronts).push_back(i);
    if (product.tiledLeft)
      heldTiled = 2;
    else
      held = plan.stream ? held + 1 : 1;
  }
  chooseStaged(held + heldTiled, nextMap);
  if (plan.cluster > 1 && !receivesInRing())
    stagedBytes = llvm::alignTo(receivedOffset(-1), 128);
  plan.isHalf &=
      (plan.target.halfBytes - residentBytes - stagedBytes) / slotBytes >=
      held + heldTiled;
  if (plan.isHalf)
    sharedBytes = plan.target.halfBytes;
  if (!plan.target.hasWarpgroups)
    return layOutByWarps(why);
  slots = std::min((sharedBytes - residentBytes - stagedBytes) / slotBytes,
                   kMaxSlots);
  // Clusters are placed whole, and leave multiprocessors empty; with room for two
  // blocks on one, all clusters find a place at once.
  if (plan.split > 1)
    slots = std::min(
        slots, std::max(plan.target.halfBytes / slotBytes, held + heldTiled));
  if (plan.slots)
    slots = std::min(slots, std::max(plan.slots, held + heldTiled));
  if (slots >= held + heldTiled)
    return true;
  why = llvm::formatv("its tiles take {0} slots of {1} bytes in shared memory, "
                      "which has {2} bytes",
                      held + heldTiled, slotBytes,
                      plan.target.sharedBytes - residentBytes);
  return false;
}

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

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
  Value map =
      memref::AllocaOp::create(b, loc, storage, b.getI64IntegerAttr(64));
  auto addressOf = [&](Value v) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(b, loc, v);
  };
  SmallVector<Value> operands{addressOf(map), addressOf(memref),
                              index(type.getElementType().isF16() ? 0 : 1),
                              index(rank)};
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
  unsigned rows = tile.isByRows ? tile.source->sum : tile.source->free;
  for (int64_t i = 0; i < 5; ++i) {
    int64_t at = rank - 1 - i;
    operands.push_back(index(i == 0                ? 64
                             : at == int64_t(rows) ? tile.type.getRows()
                                                   : 1));
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
  return tile::FullOp::create(b, loc, slotRing, slot);
}

Value MatrixGenerator::emptyBarrier(Value slot) {
  return tile::EmptyOp::create(b, loc, slotRing, slot);
}

Value MatrixGenerator::tileIn(Value slot, const Tile &tile, int64_t offset) {
  return tile::SlotOp::create(b, loc, tile.type, slotRing, slot, offset);
}

Value MatrixGenerator::residentTile(const Load &load) {
  Value address = ptx.add(base, ringBytes() + load.residentAt);
  return tile::ViewOp::create(b, loc, load.kept->type, address);
}

MatrixGenerator::Ring MatrixGenerator::advance(Ring ring) {
  auto next = tile::AdvanceOp::create(b, loc, slotRing, ring.slot, ring.phase);
  return {next.getNextSlot(), next.getNextPhase()};
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
    Value quotient =
        wide(b.createOrFold<arith::DivUIOp>(loc, narrow(x), narrow(by)));
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
    bool isUnequal = hasUnequalTiles();
    Value some = b.createOrFold<arith::DivUIOp>(
        loc, index(plan.cachedBytes),
        b.createOrFold<arith::MaxUIOp>(loc, bytes, index(1)));
    Value size = b.createOrFold<arith::MinUIOp>(
        loc, b.createOrFold<arith::MaxUIOp>(loc, some, index(1)), others);
    // Division by a constant stays uniform in the eyes of ptxas.
    bool isEven = false;
    if (auto count = getConstantIntValue(getAsOpFoldResult(others)))
      if (auto most = getConstantIntValue(getAsOpFoldResult(size))) {
        int64_t divisor = std::max<int64_t>(*most, 1);
        if (isUnequal)
          divisor = std::clamp<int64_t>(units / kSharers, 1, divisor);
        while (*count % divisor != 0)
          --divisor;
        size = index(divisor);
        isEven = true;
      }
    // Where tiles are unequal, the first rows of all, which should be short, come
    // last: blocks then end at about the same time.
    std::optional<int64_t> rowTiles =
        getConstantIntValue(getAsOpFoldResult(rows));
    int64_t late =
        isEven && plan.hasQueue && rowTiles ? *rowTiles / kLateRows : 0;
    Value lateRows = index(late);
    Value earlyRows = b.createOrFold<arith::SubIOp>(loc, rows, lateRows);
    Value number = block;
    Value inGroup =
        divide(number, b.createOrFold<arith::MulIOp>(loc, size, earlyRows));
    Value first = b.createOrFold<arith::MulIOp>(loc, number, size);
    // The last group may be smaller.
    Value row = inGroup, last = size;
    if (!isEven)
      last = b.createOrFold<arith::MinUIOp>(
          loc, size, b.createOrFold<arith::SubIOp>(loc, others, first));
    Value other = divide(row, last);
    rest = b.createOrFold<arith::AddIOp>(loc, first, other);
    if (late > 0) {
      Value early = b.createOrFold<arith::MulIOp>(loc, earlyRows, others);
      Value isLate = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                           block, early);
      Value lateRow = arith::SubIOp::create(b, loc, block, early);
      Value lateRest = divide(lateRow, others);
      lateRow = arith::AddIOp::create(b, loc, lateRow, earlyRows);
      row = arith::SelectOp::create(b, loc, isLate, lateRow, row);
      rest = arith::SelectOp::create(b, loc, isLate, lateRest, rest);
    }
    last = b.createOrFold<arith::SubIOp>(loc, rows, index(1));
    place(plan.m, b.createOrFold<arith::SubIOp>(loc, last, row));
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
  if (isMultiplier)
    placeThread();
  streamBegin = Value();
  if (!plan.stream)
    return;
  streamBegin = index(0);
  if (plan.segments > 1) {
    // Whole tiles of it.
    int64_t tile = tileOf(*plan.stream),
            steps = llvm::divideCeil(
                llvm::divideCeil(space.staticExtents[*plan.stream], tile),
                plan.segments);
    streamBegin = arith::MulIOp::create(b, loc, rank, index(steps * tile));
    streamEnd = arith::MinUIOp::create(
        b, loc, emitter->extents[*plan.stream],
        arith::AddIOp::create(b, loc, streamBegin, index(steps * tile)));
    return;
  }
  if (space.schedule.getKind() != ScheduleKind::Split)
    return;
  // The block's own segment; the last ones may be short, or empty.
  unsigned part = space.schedule.getGrid().back(), d = *plan.stream;
  Value size = arith::CeilDivUIOp::create(b, loc, emitter->extents[d],
                                          emitter->extents[part]);
  Value first = arith::MulIOp::create(b, loc, emitter->offsets[part], size);
  streamBegin = arith::MinSIOp::create(b, loc, first, emitter->extents[d]);
  Value end = arith::AddIOp::create(b, loc, streamBegin, size);
  emitter->ends[d] = arith::MinSIOp::create(b, loc, end, emitter->extents[d]);
}

/// This thread's first row: of its warp, and lane / 4. The lane is read here and
/// now, so that neither it nor what is made of it is kept in registers for long.
void MatrixGenerator::placeThread() {
  Value row = ptx.add(
      rowOfWarp(), arith::ShRUIOp::create(b, loc, ptx.readLane(), ptx.i32(2)));
  emitter->offsets[plan.m] = arith::AddIOp::create(
      b, loc, firstRow,
      arith::IndexCastUIOp::create(b, loc, b.getIndexType(), row));
}

void MatrixGenerator::setStep(Value step) {
  unsigned d = *plan.stream;
  if (mirror)
    step = arith::SubIOp::create(b, loc, mirror, step);
  Value at = arith::MulIOp::create(
      b, loc, step, arith::ConstantIndexOp::create(b, loc, tileOf(d)));
  emitter->offsets[d] = arith::AddIOp::create(b, loc, streamBegin, at);
}

Value MatrixGenerator::tilesOfSum(unsigned d) {
  Value count = b.createOrFold<arith::CeilDivUIOp>(
      loc, emitter->extents[d],
      arith::ConstantIndexOp::create(b, loc, kSumTile));
  if (plan.split == 1)
    return count;
  // The plan sees to it that every block of the cluster has one.
  return b.createOrFold<arith::CeilDivUIOp>(
      loc, b.createOrFold<arith::SubIOp>(loc, count, rank),
      arith::ConstantIndexOp::create(b, loc, plan.split));
}

Value MatrixGenerator::sumTileAt(Value i) {
  if (plan.split == 1)
    return i;
  // Neighbours in the cluster read neighbours in memory.
  Value by = arith::ConstantIndexOp::create(b, loc, plan.split);
  return arith::AddIOp::create(b, loc, rank,
                               arith::MulIOp::create(b, loc, i, by));
}

void MatrixGenerator::overTiles(bool isMultiplier,
                                function_ref<Ring(Value, Ring)> body) {
  if (plan.hasQueue)
    return overQueue(isMultiplier, body);
  // Round after round, every other one in reverse: who had a long tile gets a
  // short one.
  Value own = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  if (plan.shares() > 1) {
    // One tile, and no more.
    turn = ptx.i32(0);
    body(tile, {ptx.i32(0), ptx.i32(0)});
    return;
  }
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
            turn = arith::AndIOp::create(
                b, loc,
                arith::IndexCastUIOp::create(b, loc, b.getI32Type(), round),
                ptx.i32(1));
            Ring ring = body(at, {state[0], state[1]});
            return SmallVector<Value>{ring.slot, ring.phase};
          });
}

/// The block's own number is its first tile; the others are answers of the queue.
void MatrixGenerator::overQueue(bool isMultiplier,
                                function_ref<Ring(Value, Ring)> body) {
  auto cast = [&](Value v) -> Value {
    return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), v);
  };
  Value own = cast(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  Value count = cast(blocks), zero = ptx.i32(0);
  SmallVector<Value> initial{own, zero, zero, zero};
  auto types = ValueRange(initial).getTypes();
  scf::WhileOp::create(
      b, loc, types, initial,
      [&](OpBuilder &, Location, ValueRange state) {
        Value isTile = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             state[0], count);
        scf::ConditionOp::create(b, loc, isTile, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        Value at =
            arith::IndexCastUIOp::create(b, loc, b.getIndexType(), state[0]);
        turn = state[3];
        Ring ring = body(at, {state[1], state[2]});
        // Rule 10.
        ptx.wait(queueBarrier(/*isFull=*/true), state[3]);
        Value next = ptx.loadWord(controlWord());
        if (isMultiplier)
          next = ptx.first(ptx.settle(next)[0]);
        ptx.arrive(queueBarrier(/*isFull=*/false),
                   isMultiplier ? emitter->lane : zero);
        Value phase = arith::XOrIOp::create(b, loc, state[3], ptx.i32(1));
        scf::YieldOp::create(b, loc,
                             ValueRange{next, ring.slot, ring.phase, phase});
      });
}

/// Asks for tiles, a thread of its own, until there are none.
void MatrixGenerator::emitQueue() {
  auto cast = [&](Value v) -> Value {
    return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), v);
  };
  Value count = cast(blocks);
  Value width = cast(gpu::GridDimOp::create(b, loc, gpu::Dimension::x));
  SmallVector<Value> initial{ptx.i32(0), ptx.i32(1)};
  auto types = ValueRange(initial).getTypes();
  scf::WhileOp::create(
      b, loc, types, initial,
      [&](OpBuilder &, Location, ValueRange state) {
        Value answer = countOne(b, loc, counters,
                                arith::ConstantIndexOp::create(b, loc, 0),
                                ptx.add(count, -1));
        Value tile = ptx.add(answer, width);
        ptx.wait(queueBarrier(/*isFull=*/false), state[1]);
        ptx.storeWord(controlWord(), tile);
        ptx.arrive(queueBarrier(/*isFull=*/true), ptx.i32(0));
        Value isTile = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             tile, count);
        Value phase = arith::XOrIOp::create(b, loc, state[1], ptx.i32(1));
        scf::ConditionOp::create(b, loc, isTile, ValueRange{tile, phase});
      },
      [&](OpBuilder &, Location, ValueRange state) {
        scf::YieldOp::create(b, loc, state);
      });
}

//===----------------------------------------------------------------------===//
// Loader
//===----------------------------------------------------------------------===//

/// Where every dim stands at the first element of a tile.
SmallVector<Value> MatrixGenerator::positionsOf(const Tile &tile,
                                                Value sumTile) {
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
  return positions;
}

/// Where a tile starts in its tensor, the innermost dim first.
SmallVector<Value> MatrixGenerator::coordinatesOf(const Tile &tile,
                                                  Value sumTile) {
  SmallVector<Value> positions = positionsOf(tile, sumTile);
  SmallVector<Value> coordinates;
  for (AffineExpr e : llvm::reverse(tile.source->map.getResults()))
    coordinates.push_back(arith::IndexCastOp::create(
        b, loc, b.getI32Type(),
        affine::expandAffineExpr(b, loc, e, positions, {})));
  return coordinates;
}

void MatrixGenerator::loadTile(const Tile &tile, Value into, Value barrier,
                               Value sumTile) {
  tile::CopyOp::create(b, loc, maps[tile.map - 1], coordinatesOf(tile, sumTile),
                       into, barrier);
}

MatrixGenerator::Ring MatrixGenerator::loadTiles(ArrayRef<const Tile *> tiles,
                                                 Ring ring, Value sumTile) {
  Value free = arith::XOrIOp::create(b, loc, ring.phase, ptx.i32(1));
  ptx.wait(emptyBarrier(ring.slot), free);
  Value barrier = fullBarrier(ring.slot);
  int64_t bytes = 0;
  for (const Tile *tile : tiles)
    bytes += tile->bytes();
  ptx.expect(barrier, bytes);
  int64_t offset = 0;
  for (const Tile *tile : tiles) {
    loadTile(*tile, tileIn(ring.slot, *tile, offset), barrier, sumTile);
    offset += tile->bytes();
  }
  return advance(ring);
}

MatrixGenerator::Ring MatrixGenerator::loadProduct(unsigned product,
                                                   Ring ring) {
  const Load &load = loads[product];
  if (!load.left)
    return loadTiles(&load.right, ring, Value());
  SmallVector<Value> next =
      emitFor(b, loc, arith::ConstantIndexOp::create(b, loc, 0),
              tilesOfSum(plan.products[product].k),
              arith::ConstantIndexOp::create(b, loc, 1),
              {ring.slot, ring.phase}, [&](Value tile, ValueRange state) {
                Ring ring = loadTiles({&load.right, &*load.left},
                                      {state[0], state[1]}, sumTileAt(tile));
                return SmallVector<Value>{ring.slot, ring.phase};
              });
  return {next[0], next[1]};
}

/// Behind the first tiles of the stream: these have a place already while the last
/// products of the tile before still read what stays.
void MatrixGenerator::loadResidents() {
  Value free = arith::XOrIOp::create(b, loc, turn, ptx.i32(1));
  ptx.wait(residentBarrier(/*isFull=*/false), free);
  Value barrier = residentBarrier(/*isFull=*/true);
  int64_t bytes = 0;
  for (const Load &load : loads)
    if (load.isResident)
      bytes += load.kept->bytes();
  ptx.expect(barrier, bytes);
  for (const Load &load : loads)
    if (load.isResident)
      loadTile(*load.kept, residentTile(load), barrier, Value());
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
  Steps steps = stepsOfRows(firstRow, lastRow);
  for (const Load &load : loads)
    if (load.kept && !load.isResident)
      ring = loadTiles(&*load.kept, ring, Value());
  setStep(steps.begin);
  all(fronts);
  if (residentBytes)
    loadResidents();
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

/// Before the kernel waits for the one before it, the first tiles come to the
/// second-level cache.
void MatrixGenerator::fetchAhead() {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  for (Value map : maps)
    emitPtx(
        b, loc, "prefetch.tensormap [$0];", "l",
        UnrealizedConversionCastOp::create(b, loc, pointer, map).getResult(0));
  if (plan.ahead == 0)
    return;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  SmallVector<Value> offsets = emitter->offsets, ends = emitter->ends;
  placeBlock(plan.shares() > 1
                 ? tile
                 : gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
             /*isMultiplier=*/false);
  auto fetch = [&](const Tile &tile, Value sumTile) {
    tile::PrefetchOp::create(b, loc, maps[tile.map - 1],
                             coordinatesOf(tile, sumTile), tile.type);
  };
  if (!plan.stream) {
    for (auto [load, product] : llvm::zip_equal(loads, plan.products)) {
      if (!load.left) {
        fetch(load.right, Value());
        continue;
      }
      Value count = b.createOrFold<arith::MinUIOp>(loc, tilesOfSum(product.k),
                                                   index(plan.ahead));
      emitFor(b, loc, index(0), count, index(1), {}, [&](Value i, ValueRange) {
        Value at = sumTileAt(i);
        fetch(load.right, at);
        fetch(*load.left, at);
        return SmallVector<Value>();
      });
    }
    emitter->offsets = std::move(offsets);
    emitter->ends = std::move(ends);
    return;
  }
  unsigned d = *plan.stream;
  Value end = streamEnd          ? streamEnd
              : emitter->ends[d] ? emitter->ends[d]
                                 : emitter->extents[d];
  Value width = index(tileOf(d)), most = index(plan.ahead * tileOf(d));
  Value first = streamBegin;
  end = arith::MinUIOp::create(b, loc, end,
                               arith::AddIOp::create(b, loc, first, most));
  for (const Load &load : loads)
    if (load.kept)
      fetch(*load.kept, Value());
  emitFor(b, loc, first, end, width, {}, [&](Value at, ValueRange) {
    emitter->offsets[d] = at;
    for (const Load &load : loads)
      fetch(load.right, Value());
    return SmallVector<Value>();
  });
  emitter->offsets = std::move(offsets);
  emitter->ends = std::move(ends);
  streamEnd = Value();
}

void MatrixGenerator::emitLoader() {
  overTiles(/*isMultiplier=*/false, [&](Value block, Ring ring) {
    placeBlock(block, /*isMultiplier=*/false);
    return loadBlock(ring);
  });
  if (plan.startsNextLate)
    emitPtx(b, loc, "griddepcontrol.launch_dependents;", "", {});
}
