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

void TileEmitter::storePrefixes(ArrayRef<Value> prefixes, Env &env) {
  for (auto [value, to] :
       llvm::zip_equal(prefixes, nest->roots.front()->getResults())) {
    auto buffer = buffers.find(to);
    if (buffer != buffers.end())
      storeTile(buffer->second, value, env);
    env.values[to] = value;
  }
  if (nest->roots.size() == 1)
    return;
  emitAvailable(env);
  emitEpilogues(env);
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
