//===- RegisterScan.cpp - scans of tiles that are registers ---------------===//
//
// A thread scans its neighbours, a vector or a run of rows, the lanes of a warp scan
// what each has in all, and warps tell each other through shared memory. Neighbours of
// all threads side by side, the repeats of a layout, follow one another: they are the
// pieces of a row.
//
//===----------------------------------------------------------------------===//
#include "RegisterEmitter.h"
#include "Tuning.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

using Parts = SharedWords::Parts;

namespace {
/// Neighbours of a thread along the dim of a scan: a vector, or elements one after
/// another, each of several rows where vectors are along another dim.
struct Piece {
  /// Where the vector is, or each of the elements.
  SmallVector<Env, 1> at;
  /// What the first 1, 2 ... of its elements have combined.
  SmallVector<Parts> prefixes;
};
struct Row {
  Env at;
  SmallVector<Piece, 0> pieces;
};
} // namespace

/// Where `condition` holds, `yes`.
static Parts choose(OpBuilder &b, Location loc, Value condition,
                    ArrayRef<Value> yes, ArrayRef<Value> no) {
  Parts result;
  for (auto [v, w] : llvm::zip_equal(yes, no))
    result.push_back(arith::SelectOp::create(b, loc, condition, v, w));
  return result;
}

/// `startsRow`: on the left may be nothing, the identity.
Parts RegisterEmitter::combineOf(ScanOp scan, ArrayRef<Value> left,
                                 ArrayRef<Value> right, bool startsRow) {
  Parts result;
  for (size_t i = 0, width = scan.getNumOperands(); i < left.size();
       i += width) {
    ArrayRef<Value> lhs = left.slice(i, width), rhs = right.slice(i, width);
    llvm::append_range(result, scan.isDeclared()
                                   ? emitCombine(scan.getCombine(), lhs, rhs,
                                                 /*fuses=*/true,
                                                 /*isSome=*/!startsRow)
                                   : combineStates(scan, lhs, rhs));
  }
  return result;
}

/// What comes before the pieces of each row in this thread's warp, after `running`:
/// `count` of them; `running` becomes that behind the last. Every thread combines what
/// all warps have of each, in a loop where that is much: ptxas would read all of it
/// ahead.
SmallVector<SmallVector<Parts>>
RegisterEmitter::followWarps(ScanOp scan, MutableArrayRef<Parts> running,
                             size_t count, const WarpTotals &totals) {
  size_t width = scan.getNumOperands(), numRows = running.size(),
         numValues = numRows * width;
  // Of all rows: what came before this warp, and before the one that is looked at.
  auto follow = [&](size_t piece, Value warp, ValueRange state) {
    Value isOwn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        totals.own, warp);
    Parts all(state);
    ArrayRef<Value> before = ArrayRef(all).drop_front(numValues);
    Parts own = choose(b, loc, isOwn, before,
                       ArrayRef(all).take_front(numValues)),
          next;
    for (size_t row = 0; row < numRows; ++row)
      llvm::append_range(next, combineOf(scan, before.slice(row * width, width),
                                         totals.get(warp, positions.word(piece),
                                                    row * count * width, width),
                                         /*startsRow=*/true));
    llvm::append_range(own, next);
    return own;
  };
  int64_t lanesOfValue = isVector(running.front().front()) ? lanes : 1;
  bool isLoop = int64_t(numValues * count) * lanesOfValue * totals.numWarps >
                kUnrolledValues;
  Parts states;
  for (int i = 0; i < 2; ++i)
    for (const Parts &parts : running)
      llvm::append_range(states, parts);
  SmallVector<SmallVector<Parts>> result(numRows);
  for (size_t piece = 0; piece < count; ++piece) {
    if (isLoop) {
      states =
          emitFor(b, loc, constantIndex(0), constantIndex(totals.numWarps),
                  constantIndex(1), states, [&](Value i, ValueRange state) {
                    Value warp =
                        arith::IndexCastUIOp::create(b, loc, b.getI32Type(), i);
                    return follow(piece, warp, state);
                  });
      states.front().getDefiningOp()->setAttr("llvm.loop_annotation",
                                              keepsLoop(b));
    } else
      for (int64_t warp = 0; warp < totals.numWarps; ++warp)
        states = follow(piece, positions.word(warp), states);
    for (size_t row = 0; row < numRows; ++row)
      result[row].push_back(
          Parts(ArrayRef<Value>(states).slice(row * width, width)));
  }
  for (auto [row, all] : llvm::enumerate(running))
    all = Parts(ArrayRef(states).slice(numValues + row * width, width));
  return result;
}

/// The same where all lanes of a warp have elements of one row: each lane takes what
/// one warp has of one piece, and they scan that.
SmallVector<Parts>
RegisterEmitter::followWarpsByLanes(ScanOp scan, Parts &running, size_t count,
                                    size_t first, const WarpTotals &totals) {
  size_t width = scan.getNumOperands();
  int64_t all = count * totals.numWarps;
  unsigned bits = llvm::Log2_64(totals.numWarps);
  SmallVector<Parts> result;
  for (int64_t start = 0; start < all; start += layout.warp) {
    Value number = arith::AddIOp::create(b, loc, positions.getLane(),
                                         positions.word(start));
    number = arith::MinUIOp::create(b, loc, number, positions.word(all - 1));
    Value warp = arith::AndIOp::create(b, loc, number,
                                       positions.word(totals.numWarps - 1));
    Value piece = arith::ShRUIOp::create(b, loc, number, positions.word(bits));
    Parts parts = totals.get(warp, piece, first, width);
    Parts before = exchange.combineInOrder(
        parts, layout.warp - 1, [&](Parts &mine, ArrayRef<Value> other) {
          mine = combineOf(scan, mine, other);
        });
    int64_t end = std::min<int64_t>(start + layout.warp, all);
    for (int64_t at = start; at < end; at += totals.numWarps) {
      Value from =
          arith::AddIOp::create(b, loc, totals.own, positions.word(at - start));
      Parts own;
      for (Value v : before)
        own.push_back(exchange.takeFrom(v, from));
      own = combineOf(scan, running, own, /*startsRow=*/true);
      if (at == start) {
        Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                              totals.own, positions.word(0));
        own = choose(b, loc, isFirst, running, own);
      }
      result.push_back(own);
    }
    // Behind the last of them lanes have it again.
    if (int64_t taken = end - start; taken < layout.warp)
      for (auto [all, v] : llvm::zip_equal(parts, before))
        all = exchange.takeFrom(v, positions.word(taken));
    running = combineOf(scan, running, parts, /*startsRow=*/true);
  }
  return result;
}

void RegisterEmitter::emitScan() {
  Root &root = *nest->roots.front();
  auto scan = cast<ScanOp>(root.op);
  unsigned d = scan.getDim(), width = scan.getNumOperands();
  bool isAlong = nest->vectorDim == d;
  int64_t run = layout.dims[d].run;

  // Behind the end of the dim is nothing, where the total is needed.
  auto orNothing = [&](Value exists, Value v, unsigned i) {
    if (!exists)
      return v;
    Value nothing = constant(getIdentityOf(scan, i));
    return Value(arith::SelectOp::create(
        b, loc, exists, v, isVector(v) ? asVector(nothing) : nothing));
  };
  SmallVector<Row, 0> rows;
  Parts totals;
  positions.forPoints(positions.getOrigin(), intoDims, [&](Env &row) {
    emitAvailable(row);
    rows.push_back({row, {}});
    positions.forPoints(row, {d}, [&](Env &inner) {
      Value exists;
      if (root.total)
        exists = positions.maskOf(inner, {d});
      emitAvailable(inner);
      SmallVector<Parts> elements(isAlong ? lanes : 1);
      for (auto [i, operand] : llvm::enumerate(scan.getOperands())) {
        Value v = valueOf(operand, inner);
        if (nest->vectorDim)
          v = asVector(v);
        v = orNothing(exists, v, i);
        if (!isAlong)
          elements[0].push_back(v);
        else
          for (auto [lane, element] : llvm::enumerate(elements))
            element.push_back(vector::ExtractOp::create(b, loc, v, lane));
      }
      auto &pieces = rows.back().pieces;
      if (inner.local[d] % run == 0)
        pieces.emplace_back();
      Piece &piece = pieces.back();
      piece.at.push_back(inner);
      for (Parts &element : elements)
        piece.prefixes.push_back(
            piece.prefixes.empty()
                ? std::move(element)
                : combineOf(scan, piece.prefixes.back(), element));
      if (inner.local[d] % run == run - 1)
        llvm::append_range(totals, piece.prefixes.back());
    });
  });

  // What all threads of a warp have of each piece, and those before this one.
  unsigned bits = layout.dims[d].getBits(), inWarp = bits & (layout.warp - 1);
  Parts before;
  Value isFirst;
  if (inWarp != 0) {
    before = exchange.combineInOrder(totals, inWarp,
                                     [&](Parts &mine, ArrayRef<Value> other) {
                                       mine = combineOf(scan, mine, other);
                                     });
    isFirst = positions.isFirstOf(inWarp);
  }
  WarpTotals ofWarps;
  ofWarps.numWarps = int64_t(1) << llvm::popcount(bits & ~inWarp);
  if (ofWarps.numWarps > 1) {
    ofWarps.get = exchange.gatherWarps(totals, bits);
    ofWarps.own = positions.compress(positions.getThreadWord(), bits & ~inWarp);
  }
  bool isOfLanes =
      inWarp == unsigned(layout.warp - 1) && ofWarps.numWarps <= layout.warp;

  SmallVector<Parts> starts;
  for (Row &row : rows) {
    Parts &start = starts.emplace_back();
    for (unsigned i = 0; i < width; ++i) {
      Value v = getStart(root, i, row.at);
      start.push_back(nest->vectorDim && !isAlong ? asVector(v) : v);
    }
  }
  SmallVector<SmallVector<Parts>> followed;
  if (ofWarps.numWarps > 1 && !isOfLanes)
    followed = followWarps(scan, starts, rows.front().pieces.size(), ofWarps);

  size_t next = 0;
  for (auto [number, row] : llvm::enumerate(rows)) {
    // What comes before a piece; at last all of the row.
    Parts running = starts[number];
    SmallVector<Parts> bases;
    size_t count = row.pieces.size();
    if (!followed.empty()) {
      bases = followed[number];
    } else if (isOfLanes && ofWarps.numWarps > 1) {
      bases = followWarpsByLanes(scan, running, count, next, ofWarps);
    } else {
      for (size_t i = 0; i < count; ++i) {
        bases.push_back(running);
        running =
            combineOf(scan, running,
                      ArrayRef<Value>(totals).slice(next + i * width, width),
                      /*startsRow=*/true);
      }
    }
    for (auto [piece, base] : llvm::zip_equal(row.pieces, bases)) {
      if (isFirst)
        base = choose(b, loc, isFirst, base,
                      combineOf(scan, base,
                                ArrayRef<Value>(before).slice(next, width),
                                /*startsRow=*/true));
      next += width;
      SmallVector<Parts> results;
      if (scan.getExclusive())
        results.push_back(base);
      for (Parts &prefix : piece.prefixes)
        results.push_back(combineOf(scan, base, prefix, /*startsRow=*/true));
      for (auto [i, to] : llvm::enumerate(root.getResults())) {
        auto buffer = buffers.find(to);
        if (buffer == buffers.end())
          continue;
        SmallVector<Value> own;
        for (size_t n = 0; n < piece.prefixes.size(); ++n)
          own.push_back(results[n][i]);
        if (isAlong)
          own = {vector::FromElementsOp::create(
              b, loc, VectorType::get({int64_t(lanes)}, own.front().getType()),
              own)};
        for (auto [v, at] : llvm::zip_equal(own, piece.at))
          storeTile(buffer->second, v, at);
      }
    }
    for (auto [total, to] : llvm::zip(running, root.getTotals()))
      if (auto buffer = buffers.find(to); buffer != buffers.end())
        storeTile(buffer->second, total, row.at);
  }
}
