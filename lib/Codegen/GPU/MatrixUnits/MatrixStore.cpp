//===- MatrixStore.cpp - results by bulk copies from shared memory ---------===//
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace redfuse;

/// Rows that a warp has.
static constexpr int64_t kWarpRows = 16;

/// Every warp puts its rows into its own part of shared memory, where the copy of
/// the tile before has been read, and starts the copy of these.
void MatrixGenerator::storeStaged(const Fragment &value) {
  const MatrixTile &staged = layout.staged->tile;
  Value lane = ptx.readLane();
  Value start = ptx.add(base, layout.ringBytes + layout.residentBytes);
  start = ptx.add(start, ptx.mul(ptx.add(warp, -4), staged.type.getBytes()));
  Value into = tile::ViewOp::create(b, loc, staged.type, start);
  // Rule 9.
  waitForCopies(lane);
  for (size_t i = 0; i < value.values.size(); i += 8) {
    SmallVector<Value> words;
    for (size_t k = i; k < i + 8; k += 2)
      words.push_back(emitter->packPair(value.values[k], value.values[k + 1]));
    tile::StoreBlockOp::create(b, loc, words[0], words[1], words[2], words[3],
                               into, ptx.i32(0), int64_t(i) * 2);
  }
  tile::FenceCopiesOp::create(b, loc);
  NVVM::SyncWarpOp::create(b, loc, ptx.i32(-1));
  Value inWarpgroup = arith::AndIOp::create(b, loc, warp, ptx.i32(3));
  Value inBlock = ptx.add(ptx.mul(group, 64), ptx.mul(inWarpgroup, kWarpRows));
  SmallVector<Value> positions;
  for (unsigned d = 0; d < space.numDims; ++d) {
    Value at = emitter->offsets[d];
    if (d == plan.m)
      at = arith::AddIOp::create(
          b, loc, firstRow,
          arith::IndexCastUIOp::create(b, loc, b.getIndexType(), inBlock));
    positions.push_back(at ? at
                           : Value(arith::ConstantIndexOp::create(b, loc, 0)));
  }
  SmallVector<Value> coordinates;
  for (AffineExpr e : llvm::reverse(staged.source.map.getResults()))
    coordinates.push_back(arith::IndexCastOp::create(
        b, loc, b.getI32Type(),
        affine::expandAffineExpr(b, loc, e, positions, {})));
  byFirstLane(lane, [&] {
    tile::CopyOutOp::create(b, loc, into, maps[staged.map], coordinates);
    tile::CommitCopiesOp::create(b, loc);
  });
}

void MatrixGenerator::byFirstLane(Value lane, function_ref<void()> body) {
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, ptx.i32(0));
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  body();
}

/// Until the warp's copies have read shared memory.
void MatrixGenerator::waitForCopies(Value lane) {
  byFirstLane(lane, [&] { tile::WaitCopiesOp::create(b, loc, 0); });
  NVVM::SyncWarpOp::create(b, loc, ptx.i32(-1));
}
