//===- RegisterScan.cpp - scans of tiles that are registers ---------------===//
//
// A thread scans its vectors, the lanes of a warp scan what each has in all, and
// warps tell each other through shared memory. Vectors of all threads side by side,
// the repeats of a layout, follow one another: they are the pieces of a row.
//
//===----------------------------------------------------------------------===//
#include "RegisterEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

using Parts = SharedWords::Parts;

namespace {
/// One of a thread's vectors along the dim of a scan, or elements of several rows.
struct Piece {
  Env at;
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

Parts RegisterEmitter::combineOf(ScanOp scan, ArrayRef<Value> left,
                                 ArrayRef<Value> right) {
  Parts result;
  for (size_t i = 0, width = scan.getNumOperands(); i < left.size(); i += width)
    llvm::append_range(result, combineStates(scan, left.slice(i, width),
                                             right.slice(i, width)));
  return result;
}

/// What comes before the pieces of a row in this thread's warp, after `running`:
/// `count` of them, of parts from `first` on. Every thread combines what all warps
/// have of each.
SmallVector<Parts> RegisterEmitter::followWarps(ScanOp scan, Parts running,
                                                size_t count, size_t first,
                                                const WarpTotals &totals) {
  size_t width = scan.getNumOperands();
  SmallVector<Parts> result;
  for (size_t piece = 0; piece < count; ++piece) {
    Parts own = running;
    for (int64_t warp = 0; warp < totals.numWarps; ++warp) {
      if (warp != 0) {
        Value isOwn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            totals.own, positions.word(warp));
        own = choose(b, loc, isOwn, running, own);
      }
      running = combineOf(scan, running,
                          totals.get(positions.word(warp),
                                     positions.word(piece), first, width));
    }
    result.push_back(own);
  }
  return result;
}

/// The same where all lanes of a warp have elements of one row: each lane takes what
/// one warp has of one piece, and they scan that.
SmallVector<Parts>
RegisterEmitter::followWarpsByLanes(ScanOp scan, Parts running, size_t count,
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
      own = combineOf(scan, running, own);
      if (at == start) {
        Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                              totals.own, positions.word(0));
        own = choose(b, loc, isFirst, running, own);
      }
      result.push_back(own);
    }
    running = combineOf(scan, running, parts);
  }
  return result;
}

void RegisterEmitter::emitScan() {
  Root &root = *nest->roots.front();
  auto scan = cast<ScanOp>(root.op);
  unsigned d = scan.getDim(), width = scan.getNumOperands();
  bool isAlong = nest->vectorDim == d;

  SmallVector<Row, 0> rows;
  Parts totals;
  positions.forPoints(positions.getOrigin(), intoDims, [&](Env &row) {
    emitAvailable(row);
    rows.push_back({row, {}});
    positions.forPoints(row, {d}, [&](Env &inner) {
      emitAvailable(inner);
      SmallVector<Parts> elements(isAlong ? lanes : 1);
      for (Value operand : scan.getOperands()) {
        Value v = valueOf(operand, inner);
        if (nest->vectorDim)
          v = asVector(v);
        if (!isAlong)
          elements[0].push_back(v);
        else
          for (auto [lane, element] : llvm::enumerate(elements))
            element.push_back(vector::ExtractOp::create(b, loc, v, lane));
      }
      for (unsigned i = 1; i < elements.size(); ++i)
        elements[i] = combineOf(scan, elements[i - 1], elements[i]);
      llvm::append_range(totals, elements.back());
      rows.back().pieces.push_back({inner, std::move(elements)});
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

  size_t next = 0;
  for (Row &row : rows) {
    Parts running;
    for (unsigned i = 0; i < width; ++i) {
      Value v = getStart(root, i, row.at);
      running.push_back(nest->vectorDim && !isAlong ? asVector(v) : v);
    }
    SmallVector<Parts> bases;
    size_t count = row.pieces.size();
    if (ofWarps.numWarps > 1) {
      bases = isOfLanes
                  ? followWarpsByLanes(scan, running, count, next, ofWarps)
                  : followWarps(scan, running, count, next, ofWarps);
    } else {
      for (size_t i = 0; i < count; ++i) {
        bases.push_back(running);
        running =
            combineOf(scan, running,
                      ArrayRef<Value>(totals).slice(next + i * width, width));
      }
    }
    for (auto [piece, base] : llvm::zip_equal(row.pieces, bases)) {
      if (isFirst)
        base = choose(
            b, loc, isFirst, base,
            combineOf(scan, base, ArrayRef<Value>(before).slice(next, width)));
      next += width;
      SmallVector<Parts> results;
      if (scan.getExclusive())
        results.push_back(base);
      for (Parts &prefix : piece.prefixes)
        results.push_back(combineOf(scan, base, prefix));
      for (auto [i, to] : llvm::enumerate(root.getResults())) {
        auto buffer = buffers.find(to);
        if (buffer == buffers.end())
          continue;
        SmallVector<Value> own;
        for (size_t n = 0; n < piece.prefixes.size(); ++n)
          own.push_back(results[n][i]);
        Value v = own.front();
        if (isAlong)
          v = vector::FromElementsOp::create(
              b, loc, VectorType::get({int64_t(lanes)}, v.getType()), own);
        storeTile(buffer->second, v, piece.at);
      }
    }
  }
}
