//===- MatrixShared.cpp - tiles of results that several blocks share -------===//
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"

#include "redfuse/Codegen/GPU/Common/BlockCounters.h"
#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Common/CommonPivot.h"

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
      ptx.mul(ptx.add(warp, -plan.target.loaderWarps()),
              32 / layout.lanes * layout.rows),
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

void MatrixGenerator::storePartials() {
  // Rule 7.
  ptx.synchronize(1, 128 * plan.consumers);
  Value t = arith::AndIOp::create(b, loc, emitter->lane, ptx.i32(3));
  Value row = ptx.add(
      rowOfWarp(), arith::ShRUIOp::create(b, loc, emitter->lane, ptx.i32(2)));
  for (auto [p, product] : llvm::enumerate(plan.products)) {
    const Fragment &sum = emitter->get(product.reduce.getResult(0));
    int64_t stride = partials.stride(p);
    Value at = ptx.add(ptx.add(base, ptx.mul(row, stride)), ptx.mul(t, 8));
    for (size_t i = 0; i < sum.values.size(); i += 2)
      ptx.storePair(at,
                    partials.offset(p) + sum.rowOf(i) * 8 * stride +
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
  SmallVector<Value> read;
  for (auto [p, product] : llvm::enumerate(plan.products)) {
    Fragment sum;
    sum.kind = Fragment::Kind::Matrix;
    sum.rows = layout.rows;
    sum.dim = product.n;
    Value at =
        ptx.add(ptx.add(base, ptx.mul(row, partials.stride(p))), ptx.mul(t, 8));
    SmallVector<SmallVector<Value>> parts(plan.split);
    SmallVector<Value> there;
    for (int64_t s = 0; s < plan.split; ++s)
      there.push_back(ptx.addressIn(at, b.getI64IntegerAttr(s)));
    // Of all blocks in turn, so that they do not all wait for one.
    for (size_t i = 0, n = emitter->sizeOf(sum); i < n; i += 2) {
      int64_t offset = partials.offset(p) + int64_t(i) * layout.lanes * 4;
      for (int64_t s = 0; s < plan.split; ++s)
        llvm::append_range(parts[s], ptx.loadPair(there[s], offset));
    }
    // Always in the same order.
    sum.values = parts[0];
    for (ArrayRef<Value> part : ArrayRef(parts).drop_front())
      for (auto [x, y] : llvm::zip_equal(sum.values, part))
        x = arith::AddFOp::create(b, loc, x, y);
    llvm::append_range(read, sum.values);
    emitter->values[product.reduce.getResult(0)] = sum;
  }
  // Sums are there when all is read.
  ptx.finishReads(read);
  ptx.startLeaving();
  storeResults();
}

//===----------------------------------------------------------------------===//
// Segments of the streamed dim
//===----------------------------------------------------------------------===//

/// On the host: the states of all segments and a counter for each tile, or one for
/// the queue.
void MatrixGenerator::allocateStates(Value tiles,
                                     SmallVectorImpl<Value> &arguments,
                                     SmallVectorImpl<Value> &memory) {
  auto make = [&](Type element, Value size) {
    auto type = MemRefType::get({ShapedType::kDynamic}, element);
    return memref::AllocOp::create(b, loc, type, size, b.getI64IntegerAttr(64));
  };
  if (plan.groups() > 1) {
    memory.push_back(
        make(b.getI8Type(), index(plan.groups() * stateLayout.storedBytes())));
    arguments.push_back(memory.back());
  }
  Value counted = index(1);
  if (plan.groups() > 1)
    counted = b.createOrFold<arith::MulIOp>(loc, tiles, index(plan.cluster));
  auto zeroed = make(b.getI32Type(), counted);
  zeroed->setAttr("redfuse.counters", b.getUnitAttr());
  arguments.push_back(zeroed);
}

Value MatrixGenerator::viewState(Value segment, unsigned state) {
  auto type = cast<RankedTensorType>(plan.fold->getResult(state).getType());
  Value offset = arith::AddIOp::create(
      b, loc,
      arith::MulIOp::create(b, loc, segment, index(stateLayout.storedBytes())),
      index(stateLayout.storedOffset(state)));
  return memref::ViewOp::create(
      b, loc, MemRefType::get(type.getShape(), type.getElementType()),
      workspace, offset, ValueRange());
}

Fragment MatrixGenerator::shapeOfState(unsigned state) const {
  FoldOp fold = plan.fold;
  AffineMap map = fold.getIndexingMapsArray()[fold.getInputs().size() + state];
  return emitter->shapeOf(
      getDimsOf(simplifyForExtents(map, space.staticExtents)));
}

/// Neighbours first, so that none waits for all before it.
template <typename T>
static T combineInOrder(SmallVector<T> parts, function_ref<T(T &, T &)> merge) {
  while (parts.size() > 1) {
    SmallVector<T> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      next.push_back(merge(parts[i], parts[i + 1]));
    if (parts.size() % 2 != 0)
      next.push_back(std::move(parts.back()));
    parts = std::move(next);
  }
  return std::move(parts.front());
}

/// All agree on the pivot, and each moves to it: the chain of one merge, not of one
/// for each level.
MatrixGenerator::States MatrixGenerator::mergeAtPivot(const CommonPivot &how,
                                                      ArrayRef<States> parts) {
  FoldOp fold = plan.fold;
  Block &merge = fold.getMerge().front();
  auto merged = cast<YieldOp>(merge.getTerminator()).getValues();
  unsigned n = merged.size();
  auto agreedOf = [&](const States &part) {
    return llvm::map_to_vector(how.agreed, [&](unsigned i) { return part[i]; });
  };
  SmallVector<Value> wanted = llvm::map_to_vector(
      how.agreed, [&](unsigned i) -> Value { return merged[i]; });
  States agreed = combineInOrder<States>(
      llvm::map_to_vector(parts, agreedOf), [&](States &left, States &right) {
        DenseMap<Value, Fragment> known;
        for (auto [k, i] : llvm::enumerate(how.agreed)) {
          known[merge.getArgument(i)] = left[k];
          known[merge.getArgument(n + i)] = right[k];
        }
        return emitter->evaluate(merge, std::move(known), wanted);
      });
  wanted.clear();
  for (const CommonPivot::Moved &moved : how.moved)
    wanted.push_back(moved.contribution);
  SmallVector<States> contributions;
  for (const States &part : parts) {
    DenseMap<Value, Fragment> known;
    for (unsigned i = 0; i < n; ++i)
      known[merge.getArgument(n + i)] = part[i];
    for (auto [k, i] : llvm::enumerate(how.agreed))
      known[merged[i]] = agreed[k];
    contributions.push_back(emitter->evaluate(merge, std::move(known), wanted));
  }
  States sums = combineInOrder<States>(
      std::move(contributions), [&](States &left, States &right) {
        States both;
        for (auto [k, moved] : llvm::enumerate(how.moved))
          both.push_back(emitter->apply(moved.combine, {left[k], right[k]}));
        return both;
      });
  States result(n);
  for (auto [k, i] : llvm::enumerate(how.agreed))
    result[i] = std::move(agreed[k]);
  for (auto [k, moved] : llvm::enumerate(how.moved))
    result[moved.number] = std::move(sums[k]);
  return result;
}

/// One state of parts that follow each other, in their order.
MatrixGenerator::States MatrixGenerator::mergeAll(SmallVector<States> parts) {
  States shapes = parts.front();
  std::optional<CommonPivot> pivot = findCommonPivot(plan.fold);
  States merged =
      pivot && pivot->isSymmetric && parts.size() > 2
          ? mergeAtPivot(*pivot, parts)
          : combineInOrder<States>(
                std::move(parts), [&](States &left, States &right) {
                  States both = std::move(left);
                  llvm::append_range(both, right);
                  return emitter->evaluate(plan.fold.getMerge().front(), both);
                });
  for (auto [state, shape] : llvm::zip_equal(merged, shapes)) {
    Fragment whole = shape;
    for (size_t e = 0; e < whole.values.size(); ++e)
      whole.values[e] = emitter->elementFor(state, shape, e);
    state = std::move(whole);
  }
  return merged;
}

//===----------------------------------------------------------------------===//
// States in shared memory
//===----------------------------------------------------------------------===//

/// Every row to the block that merges it, by the threads that have it: rule 7.
void MatrixGenerator::sendStates(const DenseMap<unsigned, Fragment> &states) {
  if (stateLayout.isReceivedInRing()) {
    ptx.synchronize(1, 128 * plan.consumers);
    ptx.synchronizeCluster();
  } else {
    emitClusterWait(b, loc);
  }
  int64_t rows = stateLayout.rowsOfMerge();
  Value inGroup = arith::AndIOp::create(b, loc, warp, ptx.i32(3));
  Value t = arith::AndIOp::create(b, loc, emitter->lane, ptx.i32(3));
  Value row =
      ptx.add(ptx.add(ptx.mul(group, 64), ptx.mul(inGroup, 16)),
              arith::ShRUIOp::create(b, loc, emitter->lane, ptx.i32(2)));
  Value own = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), inCluster);
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, t, ptx.i32(0));
  auto when = [&](Value condition, function_ref<void()> then) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    then();
  };
  for (unsigned half : {0, 1}) {
    if (8 * half >= plan.cluster * rows)
      continue;
    Value at = ptx.add(row, 8 * half);
    Value isSent = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                         ptx.i32(plan.cluster * rows));
    when(isSent, [&] {
      Value block = arith::DivUIOp::create(b, loc, at, ptx.i32(rows));
      Value there = ptx.add(ptx.mul(own, rows),
                            arith::RemUIOp::create(b, loc, at, ptx.i32(rows)));
      Value memory = ptx.addressIn(received, block);
      Value barrier = ptx.addressIn(receivedCount, block);
      for (unsigned s = 0; s < plan.fold.getNumStates(); ++s) {
        const Fragment state = states.lookup(s);
        Value to =
            ptx.add(memory, ptx.mul(there, stateLayout.receivedStride(s)));
        if (state.kind == Fragment::Kind::Row) {
          when(isFirst, [&] {
            ptx.send(to, stateLayout.receivedOffset(s), barrier,
                     {state.values[half], state.values[half]});
          });
          continue;
        }
        // A thread has two columns in each eight.
        size_t words = stateLayout.isSentByFours(s) ? 4 : 2;
        to = ptx.add(to, ptx.mul(t, 4 * words));
        for (size_t i = 2 * half; i < state.values.size(); i += 2 * words) {
          SmallVector<Value> sent;
          for (size_t j = i; j < i + 2 * words; j += 4)
            llvm::append_range(sent, ArrayRef(state.values).slice(j, 2));
          ptx.send(to, stateLayout.receivedOffset(s) + int64_t(i) / 4 * 32,
                   barrier, sent);
        }
      }
    });
  }
}

/// What a block of the cluster has sent, in the current layout.
MatrixGenerator::States MatrixGenerator::loadReceived(Value row,
                                                      int64_t block) {
  int64_t lanes = emitter->layout.lanes;
  Value t = arith::AndIOp::create(b, loc, emitter->lane, ptx.i32(lanes - 1));
  Value there = ptx.add(row, block * stateLayout.rowsOfMerge());
  States states;
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s) {
    Fragment state = shapeOfState(s);
    Value at = ptx.add(received, ptx.mul(there, stateLayout.receivedStride(s)));
    if (state.kind == Fragment::Kind::Row) {
      state.values.push_back(
          ptx.loadPair(at, stateLayout.receivedOffset(s), /*isOwn=*/true)[0]);
    } else {
      bool byFours = stateLayout.isSentByFours(s);
      // The pair is in a group of eight, two of which lie between each other.
      if (byFours && lanes > 4) {
        auto bits = [&](int64_t mask) -> Value {
          return arith::AndIOp::create(b, loc, t, ptx.i32(mask));
        };
        at = ptx.add(at, ptx.mul(bits(~7), 8));
        at = ptx.add(at, ptx.mul(bits(3), 16));
        at = ptx.add(at, ptx.mul(bits(4), 2));
      } else {
        at = ptx.add(at, ptx.mul(t, byFours ? 16 : 8));
      }
      for (int64_t i = 0, n = emitter->sizeOf(state); i < n; i += 2) {
        int64_t offset =
            byFours && lanes == 4 ? i / 4 * 64 + i / 2 % 2 * 8 : i * lanes * 4;
        llvm::append_range(state.values,
                           ptx.loadPair(at,
                                        stateLayout.receivedOffset(s) + offset,
                                        /*isOwn=*/true));
      }
    }
    states.push_back(std::move(state));
  }
  return states;
}

//===----------------------------------------------------------------------===//
// States in global memory
//===----------------------------------------------------------------------===//

void MatrixGenerator::storeStates(const DenseMap<unsigned, Fragment> &states) {
  SmallVector<AffineMap> maps = plan.fold.getIndexingMapsArray();
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s)
    storeValue(viewState(inGroups, s), maps[plan.fold.getInputs().size() + s],
               states.lookup(s));
}

/// Counts what the block has stored; whether all others have stored theirs, which can
/// be read then. One thread orders memory for those that meet it at barriers.
Value MatrixGenerator::countSegment() {
  int64_t threads = 128 * plan.consumers;
  ptx.synchronize(1, threads);
  Value word = controlWord();
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, thread,
                            ptx.i32(32 * plan.target.loaderWarps()));
  auto ask = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(ask.thenYield());
    Value number = arith::MulIOp::create(
        b, loc, tile, arith::ConstantIndexOp::create(b, loc, plan.cluster));
    number = arith::AddIOp::create(b, loc, number, inCluster);
    Value before = countInOrder(b, loc, counters, number, plan.groups());
    ptx.storeWord(word, before);
  }
  ptx.synchronize(1, threads);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                               ptx.loadWord(word), ptx.i32(plan.groups() - 1));
}

/// The states of all groups, in the current layout.
DenseMap<unsigned, Fragment> MatrixGenerator::mergeStored() {
  FoldOp fold = plan.fold;
  unsigned count = fold.getNumStates();
  int64_t groups = plan.groups(), held = 0;
  for (unsigned s = 0; s < count; ++s)
    held += emitter->sizeOf(shapeOfState(s));
  // The loads of several segments at a time.
  int64_t some = 1, most = plan.consumers == 1 ? kLoadedByFew : kLoadedValues;
  for (int64_t n : {16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2})
    if (groups % n == 0 && n * held <= most) {
      some = n;
      break;
    }
  SmallVector<AffineMap> maps = fold.getIndexingMapsArray();
  auto loadSome = [&](Value first) {
    SmallVector<States> parts(some);
    for (int64_t k = 0; k < some; ++k)
      for (unsigned s = 0; s < count; ++s) {
        AffineMap map = simplifyForExtents(maps[fold.getInputs().size() + s],
                                           space.staticExtents);
        Value at = arith::AddIOp::create(b, loc, first, index(k));
        parts[k].push_back(
            emitter->load(viewState(at, s), map, shapeOfState(s)));
      }
    return parts;
  };
  States total = mergeAll(loadSome(index(0)));
  SmallVector<Value> list;
  for (Fragment &state : total)
    llvm::append_range(list, state.values);
  auto take = [&](ValueRange values) {
    for (Fragment &state : total) {
      size_t n = state.values.size();
      state.values.assign(values.begin(), values.begin() + n);
      values = values.drop_front(n);
    }
  };
  if (some < groups)
    take(emitFor(b, loc, index(some), index(groups), index(some), list,
                 [&](Value segment, ValueRange carried) {
                   take(carried);
                   SmallVector<States> parts = loadSome(segment);
                   States next = mergeAll({total, mergeAll(std::move(parts))});
                   SmallVector<Value> values;
                   for (Fragment &state : next)
                     llvm::append_range(values, state.values);
                   return values;
                 }));
  DenseMap<unsigned, Fragment> result;
  for (auto [s, state] : llvm::enumerate(total))
    result[s] = std::move(state);
  return result;
}

/// The blocks of a cluster merge their states through shared memory, a part of the
/// rows each; where there are several clusters, or none, every block stores what it
/// has, and the last one reads that of all, in the order of segments, and merges it.
void MatrixGenerator::mergeSegments(
    const DenseMap<unsigned, Fragment> &states) {
  auto select = [&] {
    emitter->values.clear();
    emitter->select(plan.step, *stepSets);
  };
  FragmentLayout before = emitter->layout;
  auto inBranch = [&](Value condition, function_ref<void()> body) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    select();
    body();
  };
  if (plan.cluster == 1) {
    storeStates(states);
    inBranch(countSegment(), [&] {
      takeRows(stateLayout.layoutOfTile(), Value());
      finalizeStates(mergeStored());
    });
    emitter->layout = before;
    return;
  }
  sendStates(states);
  int64_t rows = stateLayout.rowsOfMerge();
  FragmentLayout layout = stateLayout.layoutOfMerge();
  int64_t ofWarp = 32 / layout.lanes;
  Value own = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), inCluster);
  select();
  Value row = takeRows(layout, Value());
  // Other warps have no rows.
  Value hasRows = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, warp,
                                        ptx.i32(4 + rows / ofWarp));
  takeRows(layout, ptx.mul(own, rows));
  bool isAll = plan.groups() == 1;
  inBranch(hasRows, [&] {
    ptx.wait(receivedBarrier(), ptx.i32(0));
    SmallVector<States> parts;
    for (int64_t i = 0; i < plan.cluster; ++i)
      parts.push_back(loadReceived(row, i));
    DenseMap<unsigned, Fragment> merged;
    for (auto [s, state] : llvm::enumerate(mergeAll(std::move(parts))))
      merged[s] = state;
    if (isAll)
      finalizeStates(merged);
    else
      storeStates(merged);
  });
  if (!isAll)
    inBranch(countSegment(), [&] {
      inBranch(hasRows, [&] { finalizeStates(mergeStored()); });
    });
  emitter->layout = before;
}
