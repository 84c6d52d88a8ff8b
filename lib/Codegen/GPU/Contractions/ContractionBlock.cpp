//===- ContractionBlock.cpp - what a block of a contraction does ----------===//
#include "ContractionBlock.h"

#include "ContractionBoxes.h"
#include "ContractionEpilogue.h"
#include "ContractionMainloop.h"
#include "MmaSyncProducts.h"
#include "SumRepair.h"
#include "WgmmaProducts.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Where it is
//===----------------------------------------------------------------------===//

/// Sets the tile of that number: some rows of tiles for all columns, then the next, then
/// those of the next batch.
void ContractionBlock::placeTile(ContractionTile &tile, ArrayRef<Axis> batch,
                                 Value number) {
  auto constantIndex = [&](int64_t n) { return emitter.constantIndex(n); };
  auto tilesOf = [&](const OperandSide &side) -> Value {
    if (std::optional<int64_t> known = points.staticCountOf(side.axes))
      return constantIndex(llvm::divideCeil(*known, side.rows));
    return arith::CeilDivUIOp::create(b, loc, points.countOf(side.axes),
                                      constantIndex(side.rows));
  };
  Value rowTiles = tilesOf(tile.left), columnTiles = tilesOf(tile.right);
  Value ofBatch = b.createOrFold<arith::MulIOp>(loc, rowTiles, columnTiles);
  tile.origin = emitter.getOrigin();
  points.bind(tile.origin, batch,
              points.divide(number, ofBatch, /*remainder=*/false));
  Value inBatch = points.divide(number, ofBatch, /*remainder=*/true);
  Value band = constantIndex(kRasterRows);
  Value ofBand = b.createOrFold<arith::MulIOp>(loc, columnTiles, band);
  Value firstRow = arith::MulIOp::create(
      b, loc, points.divide(inBatch, ofBand, /*remainder=*/false), band);
  Value height = arith::MinUIOp::create(
      b, loc, arith::SubIOp::create(b, loc, rowTiles, firstRow), band);
  Value inBand = points.divide(inBatch, ofBand, /*remainder=*/true);
  Value row = arith::AddIOp::create(
      b, loc, firstRow, points.divide(inBand, height, /*remainder=*/true));
  Value column = points.divide(inBand, height, /*remainder=*/false);
  tile.left.first =
      arith::MulIOp::create(b, loc, row, constantIndex(tile.left.rows));
  tile.right.first =
      arith::MulIOp::create(b, loc, column, constantIndex(tile.right.rows));
}

/// Where the rows of this warp begin in the tile, and where its lanes read.
void ContractionBlock::placeWarp(ContractionTile &tile) {
  WordMath in(emitter);
  Value columns = in.i32(tiling.plan.getWarps()[1]);
  // The four warps of a warpgroup are neighbours along rows.
  bool isByWarpgroups = tiling.isByWarpgroups();
  Value number = isByWarpgroups ? in.bits(tile.warp, 2, 7, 0) : tile.warp;
  if (tiling.slices() > 1) {
    Value ofTile = in.i32(tiling.warpsOfTile());
    tile.slice = arith::DivUIOp::create(b, loc, number, ofTile);
    number = arith::RemUIOp::create(b, loc, number, ofTile);
  }
  Value row = arith::DivUIOp::create(b, loc, number, columns);
  if (isByWarpgroups)
    row = in.add(arith::MulIOp::create(b, loc, row, in.i32(4)),
                 in.bits(tile.warp, 0, 3, 0));
  tile.left.warp =
      arith::MulIOp::create(b, loc, row, in.i32(tile.left.warpRows));
  Value t = in.bits(tile.lane, 0, 3, 0), p = in.bits(tile.lane, 2, 7, 0);
  Value vector = arith::XOrIOp::create(b, loc, t, in.bits(p, 0, 1, 1));
  tile.readPlace = in.add(in.add(in.bits(p, 1, 3, 5), in.bits(p, 0, 1, 4)),
                          in.bits(vector, 0, 3, 2));
  Value column = arith::RemUIOp::create(b, loc, number, columns);
  tile.right.warp =
      arith::MulIOp::create(b, loc, column, in.i32(tile.right.warpRows));
}

//===----------------------------------------------------------------------===//
// What it does
//===----------------------------------------------------------------------===//

void ContractionBlock::emit(const LoopNest &nest, Value block) {
  emitter.emitOf(nest, [&] { emitTile(block); });
}

void ContractionBlock::emitTile(Value block) {
  const ContractionPlanAttr plan = tiling.plan;
  WordMath in(emitter);
  MatrixNest nest(tiling.form, emitter.getProgram(), emitter.shape(),
                  plan.getInstructions()[0], plan.getInstructions()[1], 1);
  nest.setAxes();
  ContractionTile tile;
  tile.words = memory.words;
  tile.lane = in.bits(in.asWord(emitter.thread), 0, 31, 0);
  tile.warp =
      arith::ShRUIOp::create(b, loc, in.asWord(emitter.thread), in.i32(5));
  nest.lane = in.asIndex(tile.lane);
  tile.left = makeSide(emitter, tiling, /*isLeft=*/true);
  tile.right = makeSide(emitter, tiling, /*isLeft=*/false);
  SumOrder order(emitter, tiling, nest.sums, tile.left, tile.right);
  for (OperandSide *side : {&tile.left, &tile.right})
    chooseAccess(*side, emitter, tiling, order.getInner());
  bool isWhole =
      order.staticCount() &&
      *order.staticCount() % (tiling.stageSums() * tiling.plan.getSplits()) ==
          0;
  for (OperandSide *side : {&tile.left, &tile.right})
    side->isPaired =
        isWhole && order.getCodes() &&
        isInPairs(*side, emitter, tiling, *order.getCodes(), order.getInner());
  Value split;
  if (plan.getSplits() > 1) {
    Value splits = emitter.constantIndex(plan.getSplits());
    split = points.divide(block, splits, /*remainder=*/true);
    block = points.divide(block, splits, /*remainder=*/false);
  }
  placeTile(tile, nest.batch, block);
  placeWarp(tile);

  SumShare whole{emitter.constantIndex(0), points.countOf(nest.sums), false};
  if (std::optional<int64_t> known = order.staticCount())
    whole.isWhole = *known % tiling.stageSums() == 0;
  SumSplits splits(emitter, tiling, tile, memory.splits);
  SumShare share = whole;
  if (split)
    share = splits.shareOf(split, order);
  else if (tiling.isByBoxes())
    share.end = order.count();
  auto goOn = [&](SmallVector<Value> sums,
                  function_ref<void(SmallVectorImpl<Value> &)> finish) {
    if (split)
      splits.merge(block, split, std::move(sums), finish);
    else
      finish(sums);
  };
  auto repair = [&](SmallVectorImpl<Value> &sums, SumRepair::PlaceOf placeOf) {
    SumRepair(emitter, tiling, tile, order).repair(whole, placeOf, sums);
  };
  if (tiling.isByWarpgroups()) {
    WgmmaProducts products(emitter, tiling, tile);
    SmallVector<Value> sums;
    if (tiling.isByBoxes())
      sums =
          ContractionBoxes(emitter, tiling, tile, order, memory.maps, products)
              .run(share);
    else
      sums = ContractionMainloop(emitter, tiling, tile, order, share)
                 .run(products);
    return goOn(std::move(sums), [&](SmallVectorImpl<Value> &all) {
      if (tiling.operands.haveParts())
        repair(all, [&](Value number) { return products.placeOf(number); });
      ContractionEpilogue(emitter, tiling, tile).store([&](int64_t pitch) {
        products.leaveSums(all, pitch);
      });
    });
  }
  MmaSyncProducts products(emitter, tiling, tile, order.staticCount());
  SmallVector<Value> sums =
      ContractionMainloop(emitter, tiling, tile, order, share).run(products);
  if (tiling.slices() > 1) {
    Value isFirst = addSlices(tile, sums);
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    return storeFragments(nest, tile, sums);
  }
  goOn(std::move(sums), [&](SmallVectorImpl<Value> &all) {
    // Where factors have no parts there is nothing to repair.
    if (tiling.x.isSplit)
      repair(all, [&](Value number) { return products.placeOf(number); });
    ContractionEpilogue epilogue(emitter, tiling, tile);
    if (epilogue.isForWarps(all))
      epilogue.store([&](int64_t pitch) { products.leaveSums(all, pitch); });
    else
      storeFragments(nest, tile, all);
  });
}

/// Adds what the slices of a tile have, in their order, to what the first one has; returns
/// whether this is that one.
Value ContractionBlock::addSlices(const ContractionTile &tile,
                                  SmallVectorImpl<Value> &sums) {
  WordMath in(emitter);
  int64_t ofSlice = 32 * tiling.warpsOfTile(), count = sums.size();
  auto type = VectorType::get({4}, sums.front().getType());
  // Four sums of a lane are together, and those of all lanes follow each other.
  Value lane = arith::RemUIOp::create(b, loc, in.asWord(emitter.thread),
                                      in.i32(ofSlice));
  lane = arith::MulIOp::create(b, loc, lane, in.i32(4));
  auto placeOf = [&](int64_t number) {
    return in.asIndex(in.add(lane, in.i32(number * 4 * ofSlice)));
  };
  auto compare = [&](arith::CmpIPredicate predicate) {
    return arith::CmpIOp::create(b, loc, predicate, tile.slice, in.i32(0));
  };
  gpu::BarrierOp::create(b, loc); // All have read the last stages.
  auto leaves = scf::IfOp::create(b, loc, compare(arith::CmpIPredicate::ne),
                                  /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(leaves.thenYield());
    Value before = arith::MulIOp::create(
        b, loc, arith::SubIOp::create(b, loc, tile.slice, in.i32(1)),
        in.i32(count * ofSlice));
    for (int64_t i = 0; i < count; i += 4) {
      Value some = vector::FromElementsOp::create(b, loc, type,
                                                  ArrayRef(sums).slice(i, 4));
      some = vector::BitCastOp::create(
          b, loc, VectorType::get({4}, b.getI32Type()), some);
      Value at =
          arith::AddIOp::create(b, loc, placeOf(i / 4), in.asIndex(before));
      vector::StoreOp::create(b, loc, some, memory.words, ValueRange(at),
                              /*nontemporal=*/false, llvm::Align(16));
    }
  }
  gpu::BarrierOp::create(b, loc);
  Value isFirst = compare(arith::CmpIPredicate::eq);
  auto adds = scf::IfOp::create(b, loc, ValueRange(sums).getTypes(), isFirst,
                                /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(adds.elseBlock());
  scf::YieldOp::create(b, loc, sums);
  b.setInsertionPointToStart(adds.thenBlock());
  for (int64_t slice = 1; slice < tiling.slices(); ++slice)
    for (int64_t i = 0; i < count; i += 4) {
      Value some = vector::LoadOp::create(
          b, loc, VectorType::get({4}, b.getI32Type()), memory.words,
          ValueRange(placeOf(((slice - 1) * count + i) / 4)),
          /*nontemporal=*/false, llvm::Align(16));
      some = vector::BitCastOp::create(b, loc, type, some);
      for (int64_t k = 0; k < 4; ++k)
        sums[size_t(i + k)] =
            combineValues(b, loc, Reducer::Add, sums[size_t(i + k)],
                          vector::ExtractOp::create(b, loc, some, k));
    }
  scf::YieldOp::create(b, loc, sums);
  sums.assign(adds.getResults().begin(), adds.getResults().end());
  return isFirst;
}

/// Goes on with what the lanes of a warp have, where they have it.
void ContractionBlock::storeFragments(const MatrixNest &nest,
                                      const ContractionTile &tile,
                                      ArrayRef<Value> sums) {
  WordMath in(emitter);
  // A warp's tile may lie beyond the end although such tiles are whole.
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Value, 2> starts;
  for (const OperandSide *side : {&tile.left, &tile.right}) {
    starts.push_back(in.add(side->first, in.asIndex(side->warp)));
    if (side->isWhole || !points.hasWholeTiles(side->axes, side->warpRows))
      continue;
    Value exists =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, starts.back(),
                              points.countOf(side->axes));
    auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  }
  MatrixFragments(emitter).store(nest, tile.origin, starts[0], starts[1], sums);
}
