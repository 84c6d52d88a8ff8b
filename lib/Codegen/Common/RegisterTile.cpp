//===- RegisterTile.cpp - contractions by vectors -------------------------===//
#include "redfuse/Codegen/Common/RegisterTile.h"

using namespace mlir;
using namespace redfuse;

/// `env` is bound to the first row and the first vector of the tile.
void RegisterTile::emit(Env env, unsigned rows, unsigned vectors) {
  const Contraction &c = *emitter.getNest().contraction;
  Value result = c.root->reduce.getResult(0);
  auto type = VectorType::get({emitter.getLanes()}, result.getType());
  bool isFloat = isa<FloatType>(result.getType());
  Value zeroVector = emitter.constant(cast<TypedAttr>(b.getZeroAttr(type)));
  SmallVector<Value> accumulators(rows * vectors, zeroVector);
  auto shifted = [&](Env &from, unsigned dim, unsigned by) {
    Env to = from;
    if (by > 0)
      to.position[dim] = arith::AddIOp::create(b, loc, from.position[dim],
                                               emitter.constantIndex(by));
    return to;
  };
  // Positions of rows and vectors, outside the loops over the reduced dims.
  SmallVector<Env> rowEnvs, vectorEnvs;
  for (unsigned r = 0; r < rows; ++r)
    rowEnvs.push_back(c.m ? shifted(env, *c.m, r) : env);
  for (unsigned v = 0; v < vectors; ++v)
    vectorEnvs.push_back(shifted(env, c.n, v * emitter.getLanes()));

  std::function<SmallVector<Value>(unsigned, SmallVector<Value>,
                                   SmallVector<std::pair<unsigned, Value>>)>
      loops = [&](unsigned i, SmallVector<Value> state,
                  SmallVector<std::pair<unsigned, Value>> bound) {
        if (i < c.k.size()) {
          auto loop = scf::ForOp::create(b, loc, emitter.constantIndex(0),
                                         emitter.getDim(c.k[i]).size,
                                         emitter.constantIndex(1), state);
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
          loaded.push_back(
              emitter.asVector(emitter.loadValue(c.vectorOperand, e)));
        }
        for (unsigned r = 0; r < rows; ++r) {
          Env e = at(rowEnvs[r]);
          Value element =
              emitter.asVector(emitter.loadValue(c.scalarOperand, e));
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
    emitter.emitAvailableForEpilogue(hoisted);
    for (unsigned v = 0; v < vectors; ++v) {
      Env at = hoisted;
      at.position = rowEnvs[r].position;
      at.position[c.n] = vectorEnvs[v].position[c.n];
      Value acc = accumulators[r * vectors + v];
      at.values[result] = acc;
      bool taken = false;
      for (Root *root : emitter.getNest().roots)
        taken |= root != c.root;
      if (!taken) {
        emitter.storeTile(*emitter.findBuffer(result), acc, at);
        continue;
      }
      emitter.emitAvailableForEpilogue(at);
      emitter.emitEpilogues(at);
    }
  }
}
