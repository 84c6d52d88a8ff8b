//===- ContractionEpilogue.cpp - what is made of the sums of a tile -------===//
//
// The lanes of a warpgroup have sums that are not neighbours in memory as results. So they
// leave them in the stages of the mainloop, which are free then, and each thread takes
// up neighbours, of which those of a warp follow each other in memory: what the epilogue
// reads and stores are whole sectors, wherever rows of results begin.
//
//===----------------------------------------------------------------------===//
#include "ContractionEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Rows of a thread whose results are computed at once.
static constexpr int64_t kRowsAtOnce = 4;

/// Words from one row of sums to the next: lanes of eight rows write to all banks.
int64_t ContractionEmitter::sumPitch() const { return tileColumns() + 8; }

/// The place of the lane's sum of that number (i32) in the tile: of an instruction a lane
/// has two columns of one row, then of the one eight behind.
std::pair<Value, Value> ContractionEmitter::placeInTile(Value number) {
  Value row = add(bits(lane, 2, 7, 0), bits(number, 1, 1, 3));
  Value column =
      add(add(bits(lane, 0, 3, 1), bits(number, 0, 1, 0)),
          arith::MulIOp::create(b, loc, bits(number, 2, -1, 0), i32(8)));
  return {add(left.warp, row), add(right.warp, column)};
}

void ContractionEmitter::leaveSums(ArrayRef<Value> sums) {
  auto pair = VectorType::get({2}, b.getI32Type());
  auto two = VectorType::get({2}, b.getF32Type());
  // All have read the last stages.
  gpu::BarrierOp::create(b, loc);
  auto [row, column] = placeInTile(i32(0));
  Value start =
      add(arith::MulIOp::create(b, loc, row, i32(sumPitch())), column);
  for (int64_t i = 0; i < int64_t(sums.size()); i += 2) {
    int64_t offset = i / 4 * 8 + (i / 2 % 2) * 8 * sumPitch();
    Value both = vector::FromElementsOp::create(
        b, loc, two, ValueRange{sums[size_t(i)], sums[size_t(i + 1)]});
    vector::StoreOp::create(b, loc,
                            vector::BitCastOp::create(b, loc, pair, both),
                            words, ValueRange(asIndex(add(start, i32(offset)))),
                            /*nontemporal=*/false, llvm::Align(8));
  }
  gpu::BarrierOp::create(b, loc);
}

/// The dim along which results are neighbours in memory.
std::optional<unsigned> ContractionEmitter::fastResultDim() {
  AffineMap map = op.getIndexingMapsArray().back();
  if (map.getNumResults() == 0)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
  return dim ? std::optional(dim.getPosition()) : std::nullopt;
}

void ContractionEmitter::storeSums(const Env &tile, ArrayRef<Value> sums) {
  leaveSums(sums);
  // Neighbours in memory: columns, in vectors, or some rows, and the columns of each.
  std::optional<unsigned> fast = fastResultDim();
  int64_t width = 1, rowsTogether = 1;
  if (fast == right.axes.back().dim) {
    width = std::min<int64_t>(16 / resultBytes(), 8);
    while (width > 1 && !isMultiple(*fast, width))
      width /= 2;
  } else if (fast == left.axes.back().dim) {
    while (2 * rowsTogether <= 32 && isMultiple(*fast, 2 * rowsTogether))
      rowsTogether *= 2;
  }
  withVectors(width > 1 ? fast : std::nullopt, unsigned(width),
              [&] { storeVectors(tile, width, rowsTogether); });
}

/// A thread has vectors of so many columns; so many rows follow each other in memory.
void ContractionEmitter::storeVectors(const Env &tile, int64_t width,
                                      int64_t rowsTogether) {
  const Contraction &contraction = *nest->contraction;
  Value result = contraction.root->reduce.getResult(0);
  int64_t together = tileColumns() / width * rowsTogether,
          ofRound = std::min<int64_t>(together, threads),
          rounds = together / ofRound, step = int64_t(threads) / ofRound,
          blocks = tileRows() / rowsTogether / step,
          atOnce = std::min(blocks, kRowsAtOnce);
  bool isTaken = llvm::any_of(
      nest->roots, [&](Root *root) { return root != contraction.root; });
  auto log = [](int64_t n) { return int64_t(llvm::Log2_64(uint64_t(n))); };
  auto ifExists = [&](const Side &side, Value at) {
    if (side.isWhole)
      return;
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                         points.countOf(side.axes));
    auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  };
  Value number = asWord(thread);
  Value block = bits(number, log(ofRound), -1, 0);
  for (int64_t round = 0; round < rounds; ++round) {
    OpBuilder::InsertionGuard guard(b);
    Value in = add(bits(number, 0, ofRound - 1, 0), i32(round * ofRound));
    Value column = bits(in, log(rowsTogether), -1, log(width)),
          rowOf = bits(in, 0, rowsTogether - 1, 0);
    Value atColumn =
        arith::AddIOp::create(b, loc, right.first, asIndex(column));
    ifExists(right, atColumn);
    Env ofColumn = tile;
    points.bind(ofColumn, right.axes, atColumn);
    auto storeRow = [&](Value rowBlock) {
      OpBuilder::InsertionGuard guard(b);
      Value row = add(
          arith::MulIOp::create(b, loc, rowBlock, i32(rowsTogether)), rowOf);
      Value atRow = arith::AddIOp::create(b, loc, left.first, asIndex(row));
      ifExists(left, atRow);
      Value at =
          add(arith::MulIOp::create(b, loc, row, i32(sumPitch())), column);
      Value v = vector::LoadOp::create(
          b, loc, VectorType::get({width}, b.getI32Type()), words,
          ValueRange(asIndex(at)), /*nontemporal=*/false,
          llvm::Align(uint64_t(std::min<int64_t>(4 * width, 16))));
      v = vector::BitCastOp::create(
          b, loc, VectorType::get({width}, b.getF32Type()), v);
      if (width == 1)
        v = vector::ExtractOp::create(b, loc, v, 0);
      Env env = ofColumn;
      points.bind(env, left.axes, atRow);
      env.values[result] = v;
      if (isTaken) {
        emitAvailableForEpilogue(env);
        emitEpilogues(env);
      } else {
        storeTile(buffers.find(result)->second, v, env);
      }
    };
    emitFor(b, loc, constantIndex(0), constantIndex(blocks / atOnce),
            constantIndex(1), {}, [&](Value i, ValueRange) {
              Value first =
                  arith::MulIOp::create(b, loc, asWord(i), i32(atOnce * step));
              for (int64_t k = 0; k < atOnce; ++k)
                storeRow(add(add(block, first), i32(k * step)));
              return SmallVector<Value>();
            });
  }
}
