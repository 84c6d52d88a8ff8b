//===- CpuScans.cpp - scans of rows whose elements are neighbours ---------===//
//
// The lanes of a vector are scanned by as many steps as their number has digits: in
// each, a lane takes what the one 1, 2, 4 ... before it has. What comes before the
// vector is combined with all of them; only that waits for the vector before.
//
//===----------------------------------------------------------------------===//
#include "CpuEmitter.h"

using namespace mlir;
using namespace redfuse;

/// `v` moved up by `count` lanes, of which the lowest are those of `below`.
static Value moveUp(OpBuilder &b, Location loc, Value v, Value below,
                    int64_t count) {
  int64_t lanes = cast<VectorType>(v.getType()).getDimSize(0);
  SmallVector<int64_t> from;
  for (int64_t lane = 0; lane < lanes; ++lane)
    from.push_back(lane < count ? lane : lanes + lane - count);
  return vector::ShuffleOp::create(b, loc, below, v, from);
}

/// A row of the nest's scan. Behind the end of a row lanes have anything: none before
/// them knows.
void CpuEmitter::emitScanOfLanes(Env env) {
  auto scan = cast<ScanOp>(nest->roots.front()->op);
  unsigned d = scan.getDim();
  Reducer reducer = scan.getReducer();
  Value identity = asVector(constant(getIdentityOf(scan, 0)));
  auto step = [&](Env &at, Value running) {
    emitAvailable(at);
    Value prefixes = asVector(valueOf(scan.getOperand(0), at));
    for (int64_t by = 1; by < int64_t(lanes); by *= 2)
      prefixes =
          combine(reducer, moveUp(b, loc, prefixes, identity, by), prefixes);
    Value stored =
        scan.getExclusive() ? moveUp(b, loc, prefixes, identity, 1) : prefixes;
    storePrefixes(combine(reducer, running, stored), at);
    SmallVector<int64_t> last(lanes, lanes - 1);
    Value all = vector::ShuffleOp::create(b, loc, prefixes, prefixes, last);
    return combine(reducer, running, all);
  };
  const SpaceDim &elements = dims[d];
  Value by = constantIndex(lanes);
  Value size =
      elements.staticSize ? constantIndex(*elements.staticSize) : elements.size;
  Value whole = b.createOrFold<arith::MulIOp>(
      loc, b.createOrFold<arith::DivUIOp>(loc, size, by), by);
  Value running =
      emitFor(b, loc, constantIndex(0), whole, by, identity,
              [&](Value iv, ValueRange state) {
                Env inner = env;
                inner.position[d] = iv;
                return SmallVector<Value>{step(inner, state.front())};
              })
          .front();
  if (elements.staticSize && *elements.staticSize % lanes == 0)
    return;
  Value left = b.createOrFold<arith::SubIOp>(loc, size, whole);
  Value any = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt,
                                            left, constantIndex(0));
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, loc, any, /*withElse=*/false);
  b.setInsertionPoint(branch.thenYield());
  Env tail = inTail(env, d, whole, left);
  step(tail, running);
}
