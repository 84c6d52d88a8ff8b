//===- CpuContraction.cpp - register tiles of contractions ----------------===//
//
// A contraction keeps a tile of its result in registers: `rows` along m by
// `vectors` registers along n. At each step of the reduced dims it loads the
// vectors once, broadcasts one element a row and multiplies and adds. The tile
// is as large as the register file allows: enough independent accumulators to
// hide the latency of the multiply-adds, and few loads for each of them.
//
//===----------------------------------------------------------------------===//
#include "CpuEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace redfuse;

namespace {
struct RegisterTile {
  unsigned rows, vectors;
};
} // namespace

/// 512-bit machines have 32 registers, narrower ones 16; a type wider than 4
/// bytes takes several for one vector.
static RegisterTile chooseTile(unsigned lanes, unsigned elementBits,
                               bool hasRows) {
  unsigned perVector = std::max(1u, elementBits / 32);
  unsigned registers = lanes >= 16 ? 24 : 12;
  if (!hasRows)
    return {1, std::max(1u, 8 / perVector)};
  if (lanes >= 16)
    return {8, std::max(1u, registers / 8 / perVector)};
  return {4, std::max(1u, registers / 4 / perVector)};
}

void CpuEmitter::emitContraction() {
  Env env;
  env.position.assign(dims.size(), Value());
  const Contraction &c = *group->contraction;
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
    RegisterTile tile = chooseTile(lanes, bits, c.m.has_value());
    SpaceDim &n = dims[c.n];
    // As many registers a row as the tile of n has, evenly.
    unsigned vectors = tile.vectors;
    if (n.staticSize)
      while (vectors > 1 && *n.staticSize % (vectors * lanes) != 0 &&
             *n.staticSize < 4 * int64_t(vectors) * lanes)
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
    Env inner = at;
    inner.position[c.n] = start;
    inner.lanesLeft = left;
    inner.mask = vector::CreateMaskOp::create(
        b, loc, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
    emitContractionRows(inner, 1);
  };
  outer(0, env);
}

void CpuEmitter::emitContractionRows(Env env, unsigned vectors) {
  const Contraction &c = *group->contraction;
  if (!c.m)
    return emitRegisterTile(env, 1, vectors);
  unsigned bits = c.vectorOperand.getType().getIntOrFloatBitWidth();
  RegisterTile tile = chooseTile(lanes, bits, true);
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
    emitRegisterTile(inner, count, vectors);
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

/// `env` is bound to the first row and the first vector of the tile.
void CpuEmitter::emitRegisterTile(Env env, unsigned rows, unsigned vectors) {
  const Contraction &c = *group->contraction;
  Value result = c.root->reduce.getResult(0);
  auto type = VectorType::get({lanes}, result.getType());
  bool isFloat = isa<FloatType>(result.getType());
  Value zeroVector = constant(cast<TypedAttr>(b.getZeroAttr(type)));
  SmallVector<Value> accumulators(rows * vectors, zeroVector);
  auto shifted = [&](Env &from, unsigned dim, unsigned by) {
    Env to = from;
    if (by > 0)
      to.position[dim] =
          arith::AddIOp::create(b, loc, from.position[dim], constantIndex(by));
    return to;
  };
  // Positions of rows and vectors, outside the loops over the reduced dims.
  SmallVector<Env> rowEnvs, vectorEnvs;
  for (unsigned r = 0; r < rows; ++r)
    rowEnvs.push_back(c.m ? shifted(env, *c.m, r) : env);
  for (unsigned v = 0; v < vectors; ++v)
    vectorEnvs.push_back(shifted(env, c.n, v * lanes));

  std::function<SmallVector<Value>(unsigned, SmallVector<Value>,
                                   SmallVector<std::pair<unsigned, Value>>)>
      loops = [&](unsigned i, SmallVector<Value> state,
                  SmallVector<std::pair<unsigned, Value>> bound) {
        if (i < c.k.size()) {
          auto loop =
              scf::ForOp::create(b, loc, constantIndex(0), dims[c.k[i]].size,
                                 constantIndex(1), state);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(loop.getBody());
          bound.push_back({c.k[i], loop.getInductionVar()});
          SmallVector<Value> next =
              loops(i + 1, SmallVector<Value>(loop.getRegionIterArgs()), bound);
          scf::YieldOp::create(b, loc, next);
          return SmallVector<Value>(loop.getResults());
        }
        auto at = [&](Env &from) {
          Env to = from;
          for (auto [d, v] : bound)
            to.position[d] = v;
          return to;
        };
        SmallVector<Value> loaded;
        for (unsigned v = 0; v < vectors; ++v) {
          Env e = at(vectorEnvs[v]);
          loaded.push_back(asVector(loadValue(c.vectorOperand, e)));
        }
        for (unsigned r = 0; r < rows; ++r) {
          Env e = at(rowEnvs[r]);
          Value element = asVector(loadValue(c.scalarOperand, e));
          for (unsigned v = 0; v < vectors; ++v) {
            Value &acc = state[r * vectors + v];
            if (isFloat)
              acc = vector::FMAOp::create(b, loc, element, loaded[v], acc);
            else
              acc = arith::AddIOp::create(
                  b, loc, acc,
                  arith::MulIOp::create(b, loc, element, loaded[v]));
          }
        }
        return state;
      };
  accumulators = loops(0, accumulators, {});

  // The finished elements, while they are in registers.
  for (unsigned r = 0; r < rows; ++r) {
    Env rowEnv = env;
    rowEnv.position = rowEnvs[r].position;
    // What depends on the row alone, once for its vectors.
    Env hoisted = rowEnv;
    hoisted.position[c.n] = Value();
    emitAvailableForEpilogue(hoisted);
    for (unsigned v = 0; v < vectors; ++v) {
      Env at = hoisted;
      at.position = rowEnvs[r].position;
      at.position[c.n] = vectorEnvs[v].position[c.n];
      Value acc = accumulators[r * vectors + v];
      at.values[result] = acc;
      bool taken = false;
      for (Root *root : group->roots)
        taken |= root != c.root;
      if (!taken) {
        storeTile(buffers.find(result)->second, acc, at);
        continue;
      }
      emitAvailableForEpilogue(at);
      emitEpilogues(at);
    }
  }
}
