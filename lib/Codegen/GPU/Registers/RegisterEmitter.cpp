//===- RegisterEmitter.cpp - tile programs held in registers --------------===//
#include "RegisterEmitter.h"
#include "Tuning.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace redfuse;

Value RegisterEmitter::loadTile(const TileBuffer &buffer, Env &env) {
  return registers.load(buffer, env);
}

void RegisterEmitter::storeTile(const TileBuffer &buffer, Value value,
                                Env &env) {
  registers.store(buffer, value, env);
}

static SmallVector<unsigned> bitsOf(const SmallBitVector &set) {
  SmallVector<unsigned> result;
  for (unsigned d : set.set_bits())
    result.push_back(d);
  return result;
}

Value RegisterEmitter::existsAt(const Env &env, const SmallBitVector &ofDims) {
  return positions.maskOf(env, bitsOf(ofDims));
}

LogicalResult RegisterEmitter::emitNest(const LoopNest &whole, bool isLast,
                                        std::function<void()> before) {
  isReadingLast = isLast;
  beforeExchange = std::move(before);
  if (layout.staysPacked)
    forgetExtended();
  LoopNest adapted = whole;
  SmallVector<unsigned> all = bitsOf(whole.dims);
  adapted.contraction.reset();
  adapted.vectorDim = positions.laneDimOf(all);
  selectNest(adapted);
  if (whole.roots.front()->kind == Root::Kind::Scan) {
    emitScan();
  } else if (!reduces.empty()) {
    emitReduction();
  } else {
    positions.forPoints(positions.getOrigin(), all,
                        [&](Env &at) { emitPoint(at); });
  }
  nest = nullptr;
  return success();
}

void RegisterEmitter::prefetch(ArrayRef<const LoopNest *> nests,
                               const Prefetch &which) {
  Whose whose =
      which.whose.value_or(layout.loadsSharedLate ? Whose::Own : Whose::All);
  pinsLoads = which.isPinned;
  for (const LoopNest *whole : nests) {
    LoopNest adapted = *whole;
    adapted.contraction.reset();
    adapted.vectorDim = positions.laneDimOf(bitsOf(whole->dims));
    selectNest(adapted);
    for (Value v : needed) {
      auto arg = dyn_cast<BlockArgument>(v);
      if (!arg || buffers.contains(v))
        continue;
      unsigned i = arg.getArgNumber();
      if (auto fold = dyn_cast<FoldOp>(op.getOperation());
          fold && i >= fold.getInputs().size())
        continue;
      if (tiles.contains(op->getOperand(i)))
        continue;
      SmallBitVector ofMap = getDimsOf(op.getMapOfBodyArgument(i));
      if (ofMap.anyCommon(which.walked) != which.isWalked)
        continue;
      bool isOwn = llvm::any_of(ofMap.set_bits(),
                                [&](unsigned d) { return dims[d].isGrid; });
      if (whose != Whose::All && isOwn != (whose == Whose::Own))
        continue;
      SmallVector<unsigned> all = bitsOf(ofMap);
      if (positions.countElements(all) > which.most)
        continue;
      positions.forPoints(positions.getOrigin(), all,
                          [&](Env &at) { loadArgument(arg, at); });
    }
    nest = nullptr;
  }
  pinsLoads = false;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Sums of a constant at every point need nothing of other threads, nor of a walk:
/// they are no reductions from here on. Returns whether the nest is nothing else.
bool RegisterEmitter::emitCounts() {
  IntegerAttr each;
  auto counts = [&](Root *root) {
    return root->reduce.getReducer() == Reducer::Add &&
           root->reduce.getNumOperands() == 1 &&
           matchPattern(root->reduce.getOperand(0), m_Constant(&each));
  };
  SmallVector<Root *> found;
  llvm::copy_if(reduces, std::back_inserter(found), counts);
  bool isAll = found.size() == nest->roots.size();
  if (found.empty() ||
      positions.getCombinedBits(nest->over) != positions.getBits(nest->over) ||
      (found.size() == reduces.size() && !isAll))
    return false;
  Value points = constantIndex(1);
  for (unsigned d : nest->over)
    points = b.createOrFold<arith::MulIOp>(loc, points, dims[d].size);
  positions.forPoints(positions.getOrigin(), intoDims, [&](Env &at) {
    for (Root *root : found) {
      auto buffer = buffers.find(root->reduce.getResult(0));
      if (buffer == buffers.end())
        continue;
      (void)matchPattern(root->reduce.getOperand(0), m_Constant(&each));
      Value sum = points;
      if (!each.getType().isIndex())
        sum = b.createOrFold<arith::IndexCastOp>(loc, each.getType(), sum);
      storeTile(buffer->second,
                b.createOrFold<arith::MulIOp>(loc, sum, constant(each)), at);
    }
  });
  llvm::erase_if(reduces, counts);
  return isAll;
}

/// A sum that has just been added to: the first summand as it is, and a further
/// product by one instruction, with one rounding. Sums alone: other values may be
/// computed twice, and have to be the same both times.
static Value fuseSum(OpBuilder &b, Value sum) {
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (!add || !add->use_empty())
    return sum;
  Value before = add.getLhs(), more = add.getRhs(), start = before;
  if (auto spread = start.getDefiningOp<vector::BroadcastOp>())
    start = spread.getSource();
  auto product = more.getDefiningOp<arith::MulFOp>();
  if (matchPattern(start, m_PosZeroFloat()))
    sum = more;
  else if (product && more.hasOneUse())
    sum = math::FmaOp::create(b, add.getLoc(), product.getLhs(),
                              product.getRhs(), before);
  else
    return sum;
  add.erase();
  return sum;
}

void RegisterEmitter::emitReduction() {
  if (emitCounts())
    return;
  SmallVector<Env> points;
  Parts all;
  unsigned width = 0;
  for (Root *root : reduces)
    width += root->reduce.getNumOperands();
  // For many sums ptxas then takes more registers: fewer blocks run at a time.
  unsigned sums = 0;
  for (const LoopNest &each : program->getNests())
    sums += llvm::count_if(each.roots, [](Root *root) {
      return root->kind == Root::Kind::Reduce;
    });
  bool fuses = sums <= kFusedSums || layout.loadsStepsAhead;
  positions.forPoints(positions.getOrigin(), intoDims, [&](Env &at) {
    emitAvailable(at);
    Parts accumulators;
    for (Root *root : reduces) {
      ReduceOp reduce = root->reduce;
      for (auto [i, operand] : llvm::enumerate(reduce.getOperands())) {
        Type type = operand.getType();
        Value v = reduce.isDeclared() ? TileEmitter::getStart(*root, i, at)
                  : i == 0 ? constant(getIdentityOf(reduce, 0))
                           : constant(cast<TypedAttr>(b.getZeroAttr(type)));
        accumulators.push_back(nest->vectorDim ? asVector(v) : v);
      }
    }
    positions.forPoints(at, nest->over, [&](Env &inner) {
      inner.mask = positions.maskOf(inner, nest->over);
      emitAvailable(inner);
      accumulate(inner, accumulators);
      unsigned next = 0;
      for (Root *root : reduces) {
        if (fuses && root->reduce.getReducer() == Reducer::Add)
          accumulators[next] = fuseSum(b, accumulators[next]);
        next += root->reduce.getNumOperands();
      }
      inner.mask = Value();
      emitPoint(inner);
      loadBehind(accumulators.front());
    });
    bool lanesAreReduced =
        nest->vectorDim && llvm::is_contained(nest->over, *nest->vectorDim);
    unsigned next = 0;
    for (Root *root : reduces) {
      unsigned n = root->reduce.getNumOperands();
      Parts parts(ArrayRef<Value>(accumulators).slice(next, n));
      next += n;
      if (lanesAreReduced)
        foldLanes(root->reduce, parts);
      llvm::append_range(all, parts);
    }
    points.push_back(at);
  });

  if (beforeExchange) {
    const LoopNest *mine = nest;
    std::exchange(beforeExchange, nullptr)();
    selectNest(*mine);
  }
  exchange.combineAcross(all, positions.getCombinedBits(nest->over),
                         [&](Parts &mine, ArrayRef<Value> other) {
                           unsigned next = 0;
                           for (size_t p = 0; p < points.size(); ++p)
                             for (Root *root : reduces) {
                               unsigned n = root->reduce.getNumOperands();
                               Parts own(ArrayRef<Value>(mine).slice(next, n));
                               combineParts(root->reduce, own,
                                            other.slice(next, n));
                               llvm::copy(own, mine.begin() + next);
                               next += n;
                             }
                         });

  loadBehind(all.front());
  for (auto [p, at] : llvm::enumerate(points)) {
    unsigned next = p * width;
    for (Root *root : reduces)
      for (Value to : root->getResults()) {
        auto buffer = buffers.find(to);
        if (buffer != buffers.end())
          storeTile(buffer->second, all[next], at);
        ++next;
      }
  }
}
