//===- TileNest.cpp - what one thread does inside a nest ------------------===//
#include "redfuse/Codegen/Common/TileEmitter.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace redfuse;

SmallVector<Value>
redfuse::emitFor(OpBuilder &b, Location loc, Value from, Value to, Value step,
                 ValueRange state,
                 function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, from, to, step, state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!next.empty() || state.empty()) {
    if (loop.getBody()->mightHaveTerminator() && state.empty())
      return {};
    scf::YieldOp::create(b, loc, next);
  }
  return SmallVector<Value>(loop.getResults());
}

/// All dims are bound: store what is kept and yielded here.
void TileEmitter::emitPoint(Env &env) {
  emitAvailable(env);
  emitEpilogues(env);
  for (Root *root : nest->roots)
    if (root->kind == Root::Kind::Assert)
      emitAssert(*root, valueOf(root->value, env), env);
}

void TileEmitter::emitAssert(const Root &root, Value condition, Env &env) {
  // One branch for all lanes; those beyond the end hold.
  if (isVector(condition)) {
    if (env.mask) {
      auto lanesOf = cast<VectorType>(condition.getType());
      Value all = arith::ConstantOp::create(
          b, loc, DenseElementsAttr::get(lanesOf, true));
      Value beyond = arith::XOrIOp::create(b, loc, asVector(env.mask), all);
      condition = arith::OrIOp::create(b, loc, condition, beyond);
    }
    condition = vector::ReductionOp::create(b, loc, vector::CombiningKind::AND,
                                            condition);
  }
  cf::AssertOp::create(b, root.assertion->getLoc(), condition,
                       cast<cf::AssertOp>(root.assertion).getMsg());
}

/// Combines the operands of all reductions at the current point into
/// `accumulators` (one for each operand of a reduction).
void TileEmitter::accumulate(Env &env, MutableArrayRef<Value> accumulators) {
  auto applies = [&](Value acc) {
    return env.mask && (isVector(acc) || !isVector(env.mask));
  };
  unsigned next = 0;
  for (Root *root : reduces) {
    ReduceOp reduce = root->reduce;
    Value &acc = accumulators[next];
    if (reduce.isDeclared()) {
      unsigned n = reduce.getNumOperands();
      MutableArrayRef<Value> own = accumulators.slice(next, n);
      next += n;
      SmallVector<Value> operands;
      for (auto [v, a] : llvm::zip_equal(reduce.getOperands(), own)) {
        Value operand = valueOf(v, env);
        operands.push_back(isVector(a) ? asVector(operand) : operand);
      }
      SmallVector<Value> combined = combineStates(reduce, own, operands);
      for (auto [a, to] : llvm::zip_equal(own, combined))
        a = applies(a) ? Value(arith::SelectOp::create(b, loc, env.mask, to, a))
                       : to;
      continue;
    }
    ++next;
    auto operandOf = [&](unsigned i) {
      Value v = valueOf(reduce.getOperand(i), env);
      return isVector(acc) ? asVector(v) : v;
    };
    if (isPair(reduce.getReducer())) {
      Value &index = accumulators[next++];
      Value value = acc, at = index;
      combinePair(reduce.getReducer(), value, at, operandOf(0), operandOf(1),
                  /*isOrdered=*/true);
      if (applies(acc)) {
        value = arith::SelectOp::create(b, loc, env.mask, value, acc);
        at = arith::SelectOp::create(b, loc, env.mask, at, index);
      }
      acc = value;
      index = at;
      continue;
    }
    Value combined = combine(reduce.getReducer(), acc, operandOf(0));
    if (applies(acc))
      combined = arith::SelectOp::create(b, loc, env.mask, combined, acc);
    acc = combined;
  }
}

/// As emitAvailable, for the roots that follow the contraction alone: the
/// operands of the contraction itself are not needed any more.
void TileEmitter::emitAvailableForEpilogue(Env &env) {
  SmallVector<Value> all;
  std::swap(all, needed);
  for (Value v : all)
    if (llvm::any_of(nest->roots, [&](Root *root) {
          return root != nest->contraction->root && root->cone.contains(v);
        }))
      needed.push_back(v);
  emitAvailable(env);
  std::swap(all, needed);
}

void TileEmitter::emitEpilogues(Env &env) {
  for (Root *root : nest->roots) {
    if (root->kind == Root::Kind::Keep)
      storeTile(buffers.find(root->value)->second, valueOf(root->value, env),
                env);
    else if (root->kind == Root::Kind::Yield)
      storeYield(*root, env);
  }
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// `env` is bound to the first row and the first vector of the tile.
void TileEmitter::emitRegisterTile(Env env, unsigned rows, unsigned vectors) {
  const Contraction &c = *nest->contraction;
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
      for (Root *root : nest->roots)
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
