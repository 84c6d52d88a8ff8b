//===- MatrixShared.cpp - tiles of results that several blocks share -------===//
#include "MatrixGenerator.h"

#include "BlockCounters.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace redfuse;

/// Values of states that a thread may have loaded and not merged; where a block has
/// one multiplying warpgroup, and so more registers a thread.
static constexpr int64_t kLoadedValues = 96, kLoadedByFew = 160;

/// Distributes the block's rows from `first` on over all of its warps; returns the
/// thread's first one.
Value MatrixGenerator::takeRows(FragmentLayout layout, Value first) {
  emitter->layout = layout;
  Value row = ptx.add(
      ptx.mul(ptx.add(warp, -4), 32 / layout.lanes * layout.rows),
      arith::DivUIOp::create(b, loc, emitter->lane, ptx.i32(layout.lanes)));
  if (first)
    row = ptx.add(row, first);
  emitter->offsets[plan.m] = arith::AddIOp::create(
      b, loc, firstRow,
      arith::IndexCastUIOp::create(b, loc, b.getIndexType(), row));
  return row;
}

//===----------------------------------------------------------------------===//
// Sums that several blocks share
//===----------------------------------------------------------------------===//

/// Eight rows of four threads with two elements each fall on all banks once.
int64_t MatrixGenerator::partialStride(unsigned product) const {
  return plan.widths.lookup(plan.products[product].n) * 4 + 32;
}

int64_t MatrixGenerator::partialOffset(unsigned product) const {
  int64_t offset = 0;
  for (unsigned i = 0; i < product; ++i)
    offset += plan.rows() * partialStride(i);
  return offset;
}

void MatrixGenerator::storePartials() {
  // Rule 7.
  ptx.synchronize(1, 128 * plan.consumers);
  Value inGroup = arith::AndIOp::create(b, loc, warp, ptx.i32(3));
  Value t = arith::AndIOp::create(b, loc, emitter->lane, ptx.i32(3));
  Value row =
      ptx.add(ptx.add(ptx.mul(group, 64), ptx.mul(inGroup, 16)),
              arith::ShRUIOp::create(b, loc, emitter->lane, ptx.i32(2)));
  for (auto [p, product] : llvm::enumerate(plan.products)) {
    const Fragment &sum = emitter->get(product.reduce.getResult(0));
    int64_t stride = partialStride(p);
    Value at = ptx.add(ptx.add(base, ptx.mul(row, stride)), ptx.mul(t, 8));
    for (size_t i = 0; i < sum.values.size(); i += 2)
      ptx.storePair(at,
                    partialOffset(p) + sum.rowOf(i) * 8 * stride +
                        int64_t(i) / 4 * 32,
                    sum.values[i], sum.values[i + 1]);
  }
}

/// Every block of the cluster finishes a part of the rows, in a layout in which
/// all of its warps have some.
void MatrixGenerator::mergePartials() {
  FragmentLayout layout{1, unsigned(2 * plan.split)};
  emitter->values.clear();
  emitter->select(plan.step, *stepSets);
  Value own = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), rank);
  Value row = takeRows(layout, ptx.mul(own, plan.rows() / plan.split));
  Value t =
      arith::AndIOp::create(b, loc, emitter->lane, ptx.i32(layout.lanes - 1));
  for (auto [p, product] : llvm::enumerate(plan.products)) {
    Fragment sum;
    sum.kind = Fragment::Kind::Matrix;
    sum.rows = layout.rows;
    sum.dim = product.n;
    Value at =
        ptx.add(ptx.add(base, ptx.mul(row, partialStride(p))), ptx.mul(t, 8));
    SmallVector<SmallVector<Value>> parts(plan.split);
    for (int64_t s = 0; s < plan.split; ++s) {
      Value there = ptx.addressIn(at, s);
      for (size_t i = 0, n = emitter->sizeOf(sum); i < n; i += 2)
        llvm::append_range(
            parts[s], ptx.loadPair(there, partialOffset(p) +
                                              int64_t(i) * layout.lanes * 4));
    }
    // Always in the same order.
    sum.values = parts[0];
    for (ArrayRef<Value> part : ArrayRef(parts).drop_front())
      for (auto [x, y] : llvm::zip_equal(sum.values, part))
        x = arith::AddFOp::create(b, loc, x, y);
    emitter->values[product.reduce.getResult(0)] = sum;
  }
  storeResults();
}

//===----------------------------------------------------------------------===//
// Segments of the streamed dim
//===----------------------------------------------------------------------===//

/// Where the state is in a segment's part of the workspace.
int64_t MatrixGenerator::stateOffset(unsigned state) const {
  int64_t offset = 0;
  for (unsigned s = 0; s < state; ++s) {
    auto type = cast<RankedTensorType>(plan.fold->getResult(s).getType());
    offset += llvm::alignTo(
        type.getNumElements() * bytesOf(type.getElementType()), 64);
  }
  return offset;
}

/// On the host: the states of all segments and a counter for each tile, or one for
/// the queue.
void MatrixGenerator::allocateStates(Value tiles,
                                     SmallVectorImpl<Value> &arguments,
                                     SmallVectorImpl<Value> &memory) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto make = [&](Type element, Value size) {
    auto type = MemRefType::get({ShapedType::kDynamic}, element);
    return memref::AllocOp::create(b, loc, type, size, b.getI64IntegerAttr(64));
  };
  if (plan.segments > 1) {
    memory.push_back(
        make(b.getI8Type(),
             index(plan.segments * stateOffset(plan.fold.getNumStates()))));
    arguments.push_back(memory.back());
  }
  auto zeroed = make(b.getI32Type(), plan.segments > 1 ? tiles : index(1));
  zeroed->setAttr("redfuse.counters", b.getUnitAttr());
  arguments.push_back(zeroed);
}

Value MatrixGenerator::viewState(Value segment, unsigned state) {
  auto type = cast<RankedTensorType>(plan.fold->getResult(state).getType());
  auto index = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value offset = arith::AddIOp::create(
      b, loc,
      arith::MulIOp::create(b, loc, segment,
                            index(stateOffset(plan.fold.getNumStates()))),
      index(stateOffset(state)));
  return memref::ViewOp::create(
      b, loc, MemRefType::get(type.getShape(), type.getElementType()),
      workspace, offset, ValueRange());
}

/// A layout in which all warps of the block have some of the rows that exist.
FragmentLayout MatrixGenerator::layOutStates() const {
  int64_t rows = std::min(space.staticExtents[plan.m], plan.rows());
  for (int64_t lanes : {32, 16, 8, 4}) {
    if (4 * plan.consumers * 32 / lanes < rows)
      continue;
    if (llvm::all_of(plan.widths, [&](auto &entry) {
          return entry.first == plan.stream || entry.second % (2 * lanes) == 0;
        }))
      return {1, unsigned(lanes)};
  }
  return {};
}

/// Every block stores its states; the last one of a tile reads those of all, in
/// the order of their segments, merges them, and finalises.
void MatrixGenerator::mergeSegments(
    const DenseMap<unsigned, Fragment> &states) {
  FoldOp fold = plan.fold;
  unsigned count = fold.getNumStates();
  SmallVector<AffineMap> maps = llvm::map_to_vector(
      llvm::drop_begin(fold.getIndexingMapsArray(), fold.getInputs().size()),
      [&](AffineMap map) {
        return simplifyForExtents(map, space.staticExtents);
      });
  for (unsigned s = 0; s < count; ++s)
    storeValue(viewState(rank, s), maps[s], states.lookup(s));
  // What every thread has stored is there before the block counts as done.
  auto fence = [&] {
    LLVM::FenceOp::create(b, loc, LLVM::AtomicOrdering::acq_rel, "device");
  };
  fence();
  int64_t threads = 128 * plan.consumers;
  ptx.synchronize(1, threads);
  Value word = controlWord();
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        thread, ptx.i32(128));
  auto ask = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(ask.thenYield());
    ptx.storeWord(word, countBlock(b, loc, counters, tile, plan.segments));
  }
  ptx.synchronize(1, threads);
  Value isLast =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                            ptx.loadWord(word), ptx.i32(plan.segments - 1));
  auto last = scf::IfOp::create(b, loc, isLast, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(last.thenYield());
  fence();
  FragmentLayout before = emitter->layout;
  takeRows(layOutStates(), Value());
  emitter->values.clear();
  emitter->select(plan.step, *stepSets);
  auto arguments = plan.step.getProgramBody()->getArguments().drop_front(
      fold.getInputs().size());
  DenseMap<unsigned, Fragment> total;
  SmallVector<Value> list;
  for (unsigned s = 0; s < count; ++s) {
    total[s] =
        emitter->fill(arguments[s], cast<TypedAttr>(fold.getIdentities()[s]));
    llvm::append_range(list, total[s].values);
  }
  // The loads of several segments at a time.
  int64_t some = 1, most = plan.consumers == 1 ? kLoadedByFew : kLoadedValues;
  for (int64_t n : {16, 8, 6, 5, 4, 3, 2})
    if (plan.segments % n == 0 && n * int64_t(list.size()) <= most) {
      some = n;
      break;
    }
  auto index = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  auto take = [&](ValueRange values) {
    for (unsigned s = 0; s < count; ++s) {
      size_t n = total[s].values.size();
      total[s].values.assign(values.begin(), values.begin() + n);
      values = values.drop_front(n);
    }
  };
  list = emitFor(b, loc, index(0), index(plan.segments), index(some), list,
                 [&](Value segment, ValueRange carried) {
                   take(carried);
                   SmallVector<SmallVector<Fragment>> loaded(some);
                   for (int64_t k = 0; k < some; ++k)
                     for (unsigned s = 0; s < count; ++s) {
                       Value at =
                           arith::AddIOp::create(b, loc, segment, index(k));
                       loaded[k].push_back(
                           emitter->load(viewState(at, s), maps[s],
                                         emitter->shapeOf(getDimsOf(maps[s]))));
                     }
                   SmallVector<Fragment> now;
                   for (unsigned s = 0; s < count; ++s)
                     now.push_back(total[s]);
                   for (SmallVector<Fragment> &part : loaded) {
                     llvm::append_range(now, part);
                     now = emitter->evaluate(fold.getMerge().front(), now);
                   }
                   SmallVector<Value> next;
                   for (unsigned s = 0; s < count; ++s)
                     for (size_t e = 0; e < total[s].values.size(); ++e)
                       next.push_back(emitter->elementFor(now[s], total[s], e));
                   return next;
                 });
  take(list);
  finalizeStates(total);
  emitter->layout = before;
}
