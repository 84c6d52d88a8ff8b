//===- CpuContraction.cpp - register tiles of contractions ----------------===//
//
// A contraction keeps a tile of its result in registers: `rows` along m by
// `vectors` registers along n. At each step of the reduced dims it loads the
// vectors once, broadcasts one element a row and multiplies and adds. The tile
// is as large as the register file allows: enough independent accumulators to
// hide the latency of the multiply-adds, and few loads for each of them.
//
//===----------------------------------------------------------------------===//
#include "Tuning.h"

#include "CpuEmitter.h"

#include "redfuse/Codegen/Common/RegisterTile.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace redfuse;

namespace {
struct TileSize {
  unsigned rows, vectors;
};
} // namespace

/// A type wider than 4 bytes takes several registers for one vector.
static TileSize chooseTile(unsigned lanes, unsigned elementBits, bool hasRows) {
  unsigned perVector = std::max(1u, elementBits / 32);
  if (!hasRows)
    return {1, std::max(1u, kRegistersOfOneRow / perVector)};
  AccumulatorTile tile = lanes >= kWideLanes ? kWideTile : kNarrowTile;
  return {tile.rows, std::max(1u, tile.registers / tile.rows / perVector)};
}

void CpuEmitter::emitContraction() {
  Env env;
  env.position.assign(dims.size(), Value());
  const Contraction &c = *nest->contraction;
  std::function<void(unsigned, Env)> outer = [&](unsigned i, Env at) {
    if (i < c.outer.size()) {
      auto loop = scf::ForOp::create(b, loc, constantIndex(0),
                                     dims[c.outer[i]].size, constantIndex(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      at.position[c.outer[i]] = loop.getInductionVar();
      outer(i + 1, at);
      return;
    }
    unsigned bits = c.vectorOperand.getType().getIntOrFloatBitWidth();
    TileSize tile = chooseTile(lanes, bits, c.m.has_value());
    SpaceDim &n = dims[c.n];
    // As many registers a row as the tile of n has, evenly.
    unsigned vectors = tile.vectors;
    if (n.staticSize)
      while (vectors > 1 && *n.staticSize % (vectors * lanes) != 0 &&
             *n.staticSize < kEvenTiles * int64_t(vectors) * lanes)
        --vectors;
    Value zero = constantIndex(0), position = zero;
    auto columns = [&](Value from, Value to, unsigned count) {
      auto loop =
          scf::ForOp::create(b, loc, from, to, constantIndex(count * lanes));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Env inner = at;
      inner.position[c.n] = loop.getInductionVar();
      emitContractionRows(inner, count);
    };
    auto whole = [&](int64_t by) -> Value {
      if (n.staticSize)
        return constantIndex(*n.staticSize / by * by);
      Value step = constantIndex(by);
      return arith::MulIOp::create(
          b, loc, arith::DivUIOp::create(b, loc, n.size, step), step);
    };
    if (!n.staticSize || *n.staticSize >= vectors * lanes) {
      Value end = whole(vectors * lanes);
      columns(position, end, vectors);
      position = end;
    }
    if (vectors > 1 &&
        !(n.staticSize && *n.staticSize % (vectors * lanes) < lanes)) {
      Value end = whole(lanes);
      columns(position, end, 1);
      position = end;
    }
    if (n.staticSize && *n.staticSize % lanes == 0)
      return;
    OpBuilder::InsertionGuard guard(b);
    Value start = whole(lanes);
    Value left = arith::SubIOp::create(b, loc, n.size, start);
    Value any =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, left, zero);
    auto branch = scf::IfOp::create(b, loc, any, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
    emitContractionRows(inTail(at, c.n, start, left), 1);
  };
  outer(0, env);
}

void CpuEmitter::emitContractionRows(Env env, unsigned vectors) {
  const Contraction &c = *nest->contraction;
  if (!c.m)
    return RegisterTile(*this).emit(env, 1, vectors);
  unsigned bits = c.vectorOperand.getType().getIntOrFloatBitWidth();
  TileSize tile = chooseTile(lanes, bits, true);
  // Fewer vectors a row leave registers for more rows.
  unsigned rows = tile.rows;
  SpaceDim &m = dims[*c.m];
  while (m.staticSize && rows > 1 && *m.staticSize < rows)
    rows /= 2;
  auto loopOver = [&](Value from, Value to, unsigned count) {
    auto loop = scf::ForOp::create(b, loc, from, to, constantIndex(count));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Env inner = env;
    inner.position[*c.m] = loop.getInductionVar();
    RegisterTile(*this).emit(inner, count, vectors);
  };
  Value end;
  if (m.staticSize) {
    end = constantIndex(*m.staticSize / rows * rows);
  } else {
    Value step = constantIndex(rows);
    end = arith::MulIOp::create(
        b, loc, arith::DivUIOp::create(b, loc, m.size, step), step);
  }
  loopOver(constantIndex(0), end, rows);
  if (!(m.staticSize && *m.staticSize % rows == 0) && rows > 1)
    loopOver(end, m.size, 1);
}
