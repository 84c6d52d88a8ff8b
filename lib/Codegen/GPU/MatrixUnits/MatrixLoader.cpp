//===- MatrixLoader.cpp - tiles, the ring, and the warp that fills it ------===//
#include "redfuse/Codegen/GPU/Common/InlinePtx.h"
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"
#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

/// A tensor map of 128 bytes, filled by the runtime on the host's stack:
/// `redfuse_rt_tensor_map(map, base, element, rank, sizes[5], strides[4] in bytes,
/// box[5])`, innermost first.
Value MatrixGenerator::makeTensorMap(const MatrixTile &tile) {
  static constexpr StringLiteral kName = "redfuse_rt_tensor_map";
  Value memref = launch->getOperand(tile.source.argument.getArgNumber());
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
  unsigned rows = tile.isByRows ? tile.source.sum : tile.source.free;
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

Value MatrixGenerator::tileIn(Value slot, const MatrixTile &tile,
                              int64_t offset) {
  return tile::SlotOp::create(b, loc, tile.type, slotRing, slot, offset);
}

Value MatrixGenerator::residentTile(const ProductTiles &load) {
  Value address = ptx.add(base, layout.ringBytes + load.residentAt);
  return tile::ViewOp::create(b, loc, load.kept->type, address);
}

MatrixGenerator::Ring MatrixGenerator::advance(Ring ring) {
  auto next = tile::AdvanceOp::create(b, loc, slotRing, ring.slot, ring.phase);
  return {next.getNextSlot(), next.getNextPhase()};
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

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
      b, loc, step, arith::ConstantIndexOp::create(b, loc, plan.tileOf(d)));
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

//===----------------------------------------------------------------------===//
// Loader
//===----------------------------------------------------------------------===//

/// Where every dim stands at the first element of a tile.
SmallVector<Value> MatrixGenerator::positionsOf(const MatrixTile &tile,
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
SmallVector<Value> MatrixGenerator::coordinatesOf(const MatrixTile &tile,
                                                  Value sumTile) {
  SmallVector<Value> positions = positionsOf(tile, sumTile);
  SmallVector<Value> coordinates;
  for (AffineExpr e : llvm::reverse(tile.source.map.getResults()))
    coordinates.push_back(arith::IndexCastOp::create(
        b, loc, b.getI32Type(),
        affine::expandAffineExpr(b, loc, e, positions, {})));
  return coordinates;
}

void MatrixGenerator::loadTile(const MatrixTile &tile, Value into,
                               Value barrier, Value sumTile) {
  tile::CopyOp::create(b, loc, maps[tile.map], coordinatesOf(tile, sumTile),
                       into, barrier);
}

MatrixGenerator::Ring
MatrixGenerator::loadTiles(ArrayRef<const MatrixTile *> tiles, Ring ring,
                           Value sumTile) {
  Value free = arith::XOrIOp::create(b, loc, ring.phase, ptx.i32(1));
  ptx.wait(emptyBarrier(ring.slot), free);
  Value barrier = fullBarrier(ring.slot);
  int64_t bytes = 0;
  for (const MatrixTile *tile : tiles)
    bytes += tile->bytes();
  ptx.expect(barrier, bytes);
  int64_t offset = 0;
  for (const MatrixTile *tile : tiles) {
    loadTile(*tile, tileIn(ring.slot, *tile, offset), barrier, sumTile);
    offset += tile->bytes();
  }
  return advance(ring);
}

MatrixGenerator::Ring MatrixGenerator::loadProduct(unsigned product,
                                                   Ring ring) {
  const ProductTiles &load = layout.products[product];
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
  for (const ProductTiles &load : layout.products)
    if (load.isResident)
      bytes += load.kept->bytes();
  ptx.expect(barrier, bytes);
  for (const ProductTiles &load : layout.products)
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
  bool tiled = llvm::any_of(layout.products,
                            [](const ProductTiles &l) { return l.left; });
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  emitter->values.clear();
  Steps steps = stepsOfRows(firstRow, lastRow);
  for (const ProductTiles &load : layout.products)
    if (load.kept && !load.isResident)
      ring = loadTiles(&*load.kept, ring, Value());
  setStep(steps.begin);
  all(fronts);
  if (layout.residentBytes)
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
  SmallVector<Value> offsets = emitter->offsets, ends = emitter->ends;
  placeBlock(plan.shares() > 1
                 ? tile
                 : gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
             /*isMultiplier=*/false);
  auto fetch = [&](const MatrixTile &tile, Value sumTile) {
    tile::PrefetchOp::create(b, loc, maps[tile.map],
                             coordinatesOf(tile, sumTile), tile.type);
  };
  if (!plan.stream) {
    for (auto [load, product] :
         llvm::zip_equal(layout.products, plan.products)) {
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
  Value width = index(plan.tileOf(d)),
        most = index(plan.ahead * plan.tileOf(d));
  Value first = streamBegin;
  end = arith::MinUIOp::create(b, loc, end,
                               arith::AddIOp::create(b, loc, first, most));
  for (const ProductTiles &load : layout.products)
    if (load.kept)
      fetch(*load.kept, Value());
  emitFor(b, loc, first, end, width, {}, [&](Value at, ValueRange) {
    emitter->offsets[d] = at;
    for (const ProductTiles &load : layout.products)
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
