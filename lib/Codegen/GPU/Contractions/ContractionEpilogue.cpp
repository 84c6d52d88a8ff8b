//===- ContractionEpilogue.cpp - what is made of the sums of a tile -------===//
//
// The lanes of a warpgroup have sums that are not neighbours in memory as results, and
// those of a warp often so: rows of odd length have no vectors. So they leave them in
// the stages of the mainloop, which are free then, and each thread takes up neighbours, of
// which those of a warp follow each other in memory: what the epilogue reads and stores
// are whole sectors, wherever rows of results begin.
//
//===----------------------------------------------------------------------===//
#include "ContractionEpilogue.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Words from one row of sums to the next. Lanes write eight rows to all banks, or to half
/// of them where lanes then read one row each.
int64_t ContractionEpilogue::sumPitch() const {
  return tiling.tileColumns() +
         (order.readsByRows ? ContractionTiling::kMostSkew : 8);
}

bool ContractionEpilogue::isForWarps(ArrayRef<Value> sums) const {
  return order.width <= 2 && sums.front().getType().isF32() &&
         llvm::isPowerOf2_64(uint64_t(tiling.tileRows())) &&
         llvm::isPowerOf2_64(uint64_t(tiling.tileColumns())) &&
         4 * tiling.tileRows() * sumPitch() <= tiling.roomForSums();
}

/// How results follow each other in memory: neighbours along the last dim of one side, in
/// vectors, then along the other side, then the rest of the first. Where the next dim is
/// of the same side, all of this side comes first.
void ContractionEpilogue::orderResults() {
  order = ResultOrder();
  order.ofFast = tiling.tileColumns();
  AffineMap map = emitter.getOp().getIndexingMapsArray().back();
  SmallVector<unsigned> fastest;
  for (AffineExpr expr : llvm::reverse(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && emitter.getDim(dim.getPosition()).staticSize != 1)
      fastest.push_back(dim.getPosition());
  if (fastest.empty())
    return;
  unsigned fast = fastest.front();
  auto has = [&](const OperandSide &side, unsigned d) {
    return llvm::any_of(side.axes,
                        [&](const Axis &axis) { return axis.dim == d; });
  };
  order.isByRows = has(left, fast);
  const OperandSide &side = order.isByRows ? left : right;
  bool isLast = side.axes.back().dim == fast;
  order.ofFast = side.rows;
  if (isLast && fastest.size() > 1 && !has(side, fastest[1]) &&
      emitter.shape().capacityOf(fast) < kManyNeighbours) {
    order.ofFast = 1;
    while (2 * order.ofFast <= side.rows &&
           emitter.isMultiple(fast, 2 * order.ofFast))
      order.ofFast *= 2;
  }
  // Vectors of sums are those of a row.
  if (!order.isByRows && isLast) {
    order.width = std::min<int64_t>(16 / emitter.resultBytes(), 8);
    while (order.width > 1 && (!emitter.isMultiple(fast, order.width) ||
                               order.width > order.ofFast))
      order.width /= 2;
  }
  order.readsByRows =
      order.width <= 2 &&
      (order.isByRows ? order.ofFast >= 32 : order.ofFast / order.width < 32);
}

void ContractionEpilogue::store(LeaveSums leave) {
  gpu::BarrierOp::create(b, loc); // All have read the last stages.
  leave(sumPitch());
  gpu::BarrierOp::create(b, loc);
  std::optional<unsigned> fast;
  if (order.width > 1)
    fast = right.axes.back().dim;
  emitter.withVectors(fast, unsigned(order.width), [&] { storeVectors(); });
}

/// The array that a view shows.
static Value arrayOf(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

/// Whether everything is a load, a store, or changes nothing; notes what is stored to.
static bool loadsAndStores(Block &block, llvm::SmallDenseSet<Value> &stored) {
  return llvm::all_of(block.without_terminator(), [&](Operation &op) {
    if (isa<memref::StoreOp, vector::StoreOp>(op)) {
      stored.insert(arrayOf(op.getOperand(1)));
      return true;
    }
    return isa<memref::LoadOp, vector::LoadOp>(op) || isMemoryEffectFree(&op);
  });
}

/// What these branches load and compute is done before any of them stores, so that the
/// loads of all are on their way at once; nothing moves where an array is loaded from and
/// stored to. Two arguments may share memory: a load then wants what was there before.
static void loadAhead(ArrayRef<scf::IfOp> branches) {
  llvm::SmallDenseSet<Value> stored;
  for (scf::IfOp branch : branches)
    if (!loadsAndStores(*branch.thenBlock(), stored))
      return;
  auto isOfStored = [&](Operation &op) {
    return isa<memref::LoadOp, vector::LoadOp>(op) &&
           stored.contains(arrayOf(op.getOperand(0)));
  };
  for (scf::IfOp branch : branches)
    if (llvm::any_of(*branch.thenBlock(), isOfStored))
      return;
  for (scf::IfOp branch : branches)
    for (Operation &op :
         llvm::make_early_inc_range(branch.thenBlock()->without_terminator()))
      if (!isa<memref::StoreOp, vector::StoreOp>(op))
        op.moveBefore(branches.front());
}

/// The threads of a block take positions one behind the other in that order.
void ContractionEpilogue::storeVectors() {
  const OperandSide &first = order.isByRows ? left : right,
                    &second = order.isByRows ? right : left;
  int64_t all = threads, near = order.ofFast / order.width, other = second.rows,
          far = first.rows / order.ofFast;
  // Of each of the three: what the threads have at once, and how often.
  int64_t nearThreads = std::min(near, all);
  int64_t otherThreads = std::min(other, all / nearThreads);
  int64_t farThreads = all / nearThreads / otherThreads;
  int64_t nearSteps = near / nearThreads, otherSteps = other / otherThreads,
          farSteps = far / farThreads;
  int64_t count = nearSteps * otherSteps * farSteps,
          atOnce = std::min(count, resultsAtOnce());
  auto log = [](int64_t n) { return int64_t(llvm::Log2_64(uint64_t(n))); };
  Value number = asWord(thread);
  Value ownNear = bits(number, 0, nearThreads - 1, 0),
        ownOther = bits(number, log(nearThreads), otherThreads - 1, 0),
        ownFar = bits(number, log(nearThreads * otherThreads), -1, 0);
  /// own + (step >> shift & mask) * threads.
  auto at = [&](Value own, Value step, int64_t shift, int64_t steps,
                int64_t threads) {
    if (steps == 1)
      return own;
    return add(own, bits(step, shift, steps - 1, log(threads)));
  };
  emitFor(b, loc, constantIndex(0), constantIndex(count / atOnce),
          constantIndex(1), {}, [&](Value i, ValueRange) {
            Value begin = arith::MulIOp::create(b, loc, asWord(i), i32(atOnce));
            SmallVector<ResultPlace> places;
            for (int64_t k = 0; k < atOnce; ++k) {
              Value step = add(begin, i32(k));
              Value inOther = at(ownOther, step, 0, otherSteps, otherThreads);
              Value inNear =
                  at(ownNear, step, log(otherSteps), nearSteps, nearThreads);
              Value inFar = at(ownFar, step, log(otherSteps * nearSteps),
                               farSteps, farThreads);
              Value inFirst =
                  add(arith::MulIOp::create(b, loc, inFar, i32(order.ofFast)),
                      arith::MulIOp::create(b, loc, inNear, i32(order.width)));
              places.push_back(order.isByRows ? placeAt(inFirst, inOther)
                                              : placeAt(inOther, inFirst));
            }
            SmallVector<scf::IfOp> branches;
            for (ResultPlace &place : places)
              branches.push_back(storeAt(place));
            loadAhead(branches);
            return SmallVector<Value>();
          });
}

/// As many as have kBytesAtOnce, within bounds.
int64_t ContractionEpilogue::resultsAtOnce() const {
  return std::clamp(kBytesAtOnce / (order.width * emitter.resultBytes()),
                    kResultsAtOnce, kMostResultsAtOnce);
}

/// The results from a row and column of the tile on (i32). Where there is none, the place
/// is that of the tile's first, which exists, and may be read.
ContractionEpilogue::ResultPlace ContractionEpilogue::placeAt(Value row,
                                                              Value column) {
  ResultPlace result{
      add(arith::MulIOp::create(b, loc, row, i32(sumPitch())), column), nullptr,
      tile.origin};
  for (auto [side, place] : {std::pair(&left, row), {&right, column}}) {
    Value at = arith::AddIOp::create(b, loc, side->first, asIndex(place));
    if (!side->isWhole) {
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                           at, points.countOf(side->axes));
      at = arith::SelectOp::create(b, loc, exists, at, side->first);
      result.exists =
          result.exists
              ? Value(arith::AndIOp::create(b, loc, result.exists, exists))
              : exists;
    }
    points.bind(result.env, side->axes, at);
  }
  if (!result.exists)
    result.exists = constant(b.getBoolAttr(true));
  return result;
}

/// What comes of the sums at a place, if it exists.
scf::IfOp ContractionEpilogue::storeAt(ResultPlace &place) {
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, loc, place.exists, /*withElse=*/false);
  b.setInsertionPoint(branch.thenYield());
  const Contraction &contraction = *emitter.getNest().contraction;
  Value result = contraction.root->reduce.getResult(0);
  int64_t width = order.width;
  Value v = vector::LoadOp::create(
      b, loc, VectorType::get({width}, b.getI32Type()), words,
      ValueRange(asIndex(place.sums)), /*nontemporal=*/false,
      llvm::Align(uint64_t(std::min<int64_t>(4 * width, 16))));
  v = vector::BitCastOp::create(b, loc,
                                VectorType::get({width}, b.getF32Type()), v);
  place.env.values[result] =
      width == 1 ? Value(vector::ExtractOp::create(b, loc, v, 0)) : v;
  bool isTaken = llvm::any_of(emitter.getNest().roots, [&](Root *root) {
    return root != contraction.root;
  });
  if (isTaken) {
    emitter.emitAvailableForEpilogue(place.env);
    emitter.emitEpilogues(place.env);
  } else {
    emitter.storeTile(*emitter.findBuffer(result), place.env.values[result],
                      place.env);
  }
  return branch;
}
