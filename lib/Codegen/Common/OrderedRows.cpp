//===- OrderedRows.cpp - scans and sorted lists ---------------------------===//
#include "redfuse/Codegen/Common/OrderedRows.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// One row of a scan, element after element; with a vector dim, a row a lane.
void OrderedRows::emitScan(Env &env) {
  auto scan = cast<ScanOp>(emitter.getNest().roots.front()->op);
  emitter.emitAvailable(env);
  SmallVector<Value> start;
  for (unsigned i = 0, e = scan.getNumOperands(); i < e; ++i) {
    Value v = scan.isDeclared()
                  ? emitter.getStart(*emitter.getNest().roots.front(), i, env)
                  : emitter.constant(getIdentityOf(scan, i));
    start.push_back(emitter.getNest().vectorDim ? emitter.asVector(v) : v);
  }
  const Root &root = *emitter.getNest().roots.front();
  unsigned d = scan.getDim();
  auto emitSteps = [&](Value begin, Value end, SmallVector<Value> state,
                       bool isSome) {
    return emitFor(
        b, loc, begin, end, emitter.constantIndex(1), state,
        [&](Value iv, ValueRange running) {
          Env inner = env;
          inner.position[d] = iv;
          emitter.emitAvailable(inner);
          SmallVector<Value> operands;
          for (Value operand : scan.getOperands()) {
            Value v = emitter.valueOf(operand, inner);
            operands.push_back(emitter.getNest().vectorDim ? emitter.asVector(v)
                                                           : v);
          }
          SmallVector<Value> before(running);
          SmallVector<Value> after =
              emitter.combineStates(scan, before, operands, isSome);
          emitter.storePrefixes(scan.getExclusive() ? before : after, inner);
          return after;
        });
  };
  const SpaceDim &steps = emitter.getDim(d);
  SmallVector<Value> last = start;
  Value begin = emitter.constantIndex(0);
  bool asksForIdentity =
      scan.isDeclared() &&
      llvm::any_of(scan.getCombine().front(), [](Operation &inner) {
        return inner.hasAttr(kIdentityAttr);
      });
  // Behind the first step the state is one of elements: what the reducer does for its
  // identity is left out, which would be on the path from step to step.
  if (asksForIdentity) {
    Value behindFirst = emitter.constantIndex(1);
    if (!steps.staticSize || *steps.staticSize < 1)
      behindFirst = arith::MinSIOp::create(b, loc, behindFirst, steps.size);
    last = emitSteps(begin, behindFirst, last, /*isSome=*/false);
    begin = behindFirst;
  }
  last = emitSteps(begin, steps.size, last, /*isSome=*/asksForIdentity);
  for (auto [value, to] : llvm::zip(last, root.getTotals()))
    if (const TileBuffer *buffer = emitter.findBuffer(to))
      emitter.storeTile(*buffer, value, env);
}

//===----------------------------------------------------------------------===//
// Top-k
//===----------------------------------------------------------------------===//

Value redfuse::isLarger(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  if (!isa<FloatType>(lhs.getType()))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, lhs, rhs);
  Value larger =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT, lhs, rhs);
  Value isNumber =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, rhs, rhs);
  return arith::AndIOp::create(b, loc, larger, isNumber);
}

/// Scalar insertion into a sorted list of k: the list is short, and most elements
/// fail the first comparison.
void OrderedRows::emitTopK(Env &point) {
  Root *root = emitter.getReduces().front();
  ReduceOp reduce = root->reduce;
  const TileBuffer &values = *emitter.findBuffer(reduce.getResult(0));
  const TileBuffer &indices = *emitter.findBuffer(reduce.getResult(1));
  unsigned rank = values.dims.back();
  Value zero = emitter.constantIndex(0), one = emitter.constantIndex(1);
  Value k = emitter.getDim(rank).size;
  Type valueType = reduce.getOperand(0).getType();
  Type indexType = reduce.getOperand(1).getType();
  auto at = [&](Env &env, Value position) {
    Env e = env;
    e.position[rank] = position;
    return e;
  };
  auto insert = [&](Env &env) {
    emitter.emitAvailable(env);
    Value value = emitter.valueOf(reduce.getOperand(0), env);
    Value index = emitter.valueOf(reduce.getOperand(1), env);
    Value lastSlot = arith::SubIOp::create(b, loc, k, one);
    Env lastAt = at(env, lastSlot);
    // A slot that nothing has filled holds index -1 and yields to anything.
    auto beats = [&](Env &slot) -> Value {
      Value there = emitter.loadTile(values, slot),
            thereIndex = emitter.loadTile(indices, slot);
      return arith::OrIOp::create(b, loc, isEmptySlot(thereIndex),
                                  isLarger(b, loc, value, there));
    };
    Value enters = beats(lastAt);
    auto branch = scf::IfOp::create(b, loc, enters, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    // Move smaller elements down until the new one fits.
    auto loop = scf::WhileOp::create(b, loc, TypeRange{b.getIndexType()},
                                     ValueRange{lastSlot});
    Block *before = b.createBlock(&loop.getBefore(), {}, b.getIndexType(), loc);
    b.setInsertionPointToStart(before);
    Value slot = before->getArgument(0);
    Value positive =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, slot, zero);
    Value previous = arith::SubIOp::create(b, loc, slot, one);
    Value clamped = arith::MaxSIOp::create(b, loc, previous, zero);
    Env previousAt = at(env, clamped);
    Value goesOn = arith::AndIOp::create(b, loc, positive, beats(previousAt));
    scf::ConditionOp::create(b, loc, goesOn, ValueRange{slot});
    Block *after = b.createBlock(&loop.getAfter(), {}, b.getIndexType(), loc);
    b.setInsertionPointToStart(after);
    Value here = after->getArgument(0);
    Value up = arith::SubIOp::create(b, loc, here, one);
    Env from = at(env, up), to = at(env, here);
    emitter.storeTile(values, emitter.loadTile(values, from), to);
    emitter.storeTile(indices, emitter.loadTile(indices, from), to);
    scf::YieldOp::create(b, loc, ValueRange{up});
    b.setInsertionPointAfter(loop);
    Env final = at(env, loop.getResult(0));
    emitter.storeTile(values, value, final);
    emitter.storeTile(indices, index, final);
  };
  std::function<void(unsigned, Env)> over = [&](unsigned i, Env env) {
    if (i == emitter.getNest().over.size())
      return insert(env);
    unsigned d = emitter.getNest().over[i];
    emitFor(b, loc, zero, emitter.getDim(d).size, one, {},
            [&](Value iv, ValueRange) {
              Env inner = env;
              inner.position[d] = iv;
              emitter.emitAvailable(inner);
              over(i + 1, inner);
              return SmallVector<Value>();
            });
  };
  emitFor(b, loc, zero, k, one, {}, [&](Value iv, ValueRange) {
    Env slot = at(point, iv);
    emitter.storeTile(
        values, emitter.constant(getReducerIdentity(Reducer::TopK, valueType)),
        slot);
    emitter.storeTile(indices,
                      emitter.constant(b.getIntegerAttr(indexType, -1)), slot);
    return SmallVector<Value>();
  });
  over(0, point);
}

Value OrderedRows::isEmptySlot(Value index) {
  return arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::slt, index,
      emitter.constant(cast<TypedAttr>(b.getZeroAttr(index.getType()))));
}

/// Two sorted lists are walked by a position each; the better head goes next.
void OrderedRows::emitTopKMerge(Env &env) {
  auto merge = cast<MergeTopkOp>(emitter.getNest().roots.front()->op);
  unsigned rank = merge.getDim();
  const TileBuffer &values = *emitter.findBuffer(merge.getBestValues());
  const TileBuffer &indices = *emitter.findBuffer(merge.getBestIndices());
  Value zero = emitter.constantIndex(0), one = emitter.constantIndex(1);
  emitFor(b, loc, zero, emitter.getDim(rank).size, one, {zero, zero},
          [&](Value iv, ValueRange heads) {
            auto load = [&](Value list, Value position) {
              Env at = env;
              at.position[rank] = position;
              return emitter.loadValue(list, at);
            };
            // Both positions stay below iv, so inside the lists.
            Value v = load(merge.getValues(), heads[0]);
            Value j = load(merge.getIndices(), heads[0]);
            Value w = load(merge.getOtherValues(), heads[1]);
            Value k = load(merge.getOtherIndices(), heads[1]);
            Value yes = emitter.constant(b.getBoolAttr(true));
            // Lists of any elements: among equals the lowest index is first.
            Value isBehind =
                arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, k, j);
            Value isSmaller = isLarger(b, loc, v, w);
            Value isAhead = arith::AndIOp::create(
                b, loc, isBehind,
                arith::XOrIOp::create(b, loc, isSmaller, yes));
            Value wins = arith::OrIOp::create(
                b, loc, isEmptySlot(j),
                arith::OrIOp::create(b, loc, isLarger(b, loc, w, v), isAhead));
            Value exists = arith::XOrIOp::create(b, loc, isEmptySlot(k), yes);
            Value takesOther = arith::AndIOp::create(b, loc, wins, exists);
            Env at = env;
            at.position[rank] = iv;
            emitter.storeTile(
                values, arith::SelectOp::create(b, loc, takesOther, w, v), at);
            emitter.storeTile(
                indices, arith::SelectOp::create(b, loc, takesOther, k, j), at);
            auto advance = [&](Value head, Value isTaken) -> Value {
              Value next = arith::AddIOp::create(b, loc, head, one);
              return arith::SelectOp::create(b, loc, isTaken, next, head);
            };
            Value takesThis = arith::XOrIOp::create(b, loc, takesOther, yes);
            return SmallVector<Value>{advance(heads[0], takesThis),
                                      advance(heads[1], takesOther)};
          });
}
