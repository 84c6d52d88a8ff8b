//===- ClusterExchange.cpp - states sent within a cluster -----------------===//
#include "ClusterExchange.h"

#include "redfuse/Codegen/GPU/Common/Cluster.h"

using namespace mlir;
using namespace redfuse;

void ClusterExchange::send(const DenseMap<unsigned, Fragment> &sent) {
  if (states.isReceivedInRing()) {
    ptx.synchronize(1, 128 * plan.consumers);
    ptx.synchronizeCluster();
  } else {
    emitClusterWait(b, loc);
  }
  Value inGroup = arith::AndIOp::create(b, loc, of.ids.warp, ptx.i32(3));
  Value t = arith::AndIOp::create(b, loc, place.lane, ptx.i32(3));
  Value row =
      ptx.add(ptx.add(ptx.mul(of.ids.consumer, 64), ptx.mul(inGroup, 16)),
              arith::ShRUIOp::create(b, loc, place.lane, ptx.i32(2)));
  Value own = toWord(of.block.inCluster);
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, t, ptx.i32(0));
  int64_t all = plan.cluster * states.rowsOfMerge();
  for (unsigned half : {0, 1}) {
    if (8 * half >= all)
      continue;
    Value at = ptx.add(row, 8 * half);
    Value isSent = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                         ptx.i32(all));
    when(isSent, [&] { sendRow(sent, half, {own, at, t, isFirst}); });
  }
}

/// One of the two rows that a thread has.
void ClusterExchange::sendRow(const DenseMap<unsigned, Fragment> &sent,
                              unsigned half, const SentRow &row) {
  int64_t rows = states.rowsOfMerge();
  Value block = arith::DivUIOp::create(b, loc, row.at, ptx.i32(rows));
  Value there = ptx.add(ptx.mul(row.own, rows),
                        arith::RemUIOp::create(b, loc, row.at, ptx.i32(rows)));
  Value memory = ptx.addressIn(storage.getReceived(), block);
  Value barrier = ptx.addressIn(storage.getReceivedCount(), block);
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s) {
    const Fragment state = sent.lookup(s);
    Value to = ptx.add(memory, ptx.mul(there, states.receivedStride(s)));
    if (state.kind == Fragment::Kind::Row) {
      when(row.isFirst, [&] {
        ptx.send(to, states.receivedOffset(s), barrier,
                 {state.values[half], state.values[half]});
      });
      continue;
    }
    // A thread has two columns in each eight.
    size_t words = states.isSentByFours(s) ? 4 : 2;
    to = ptx.add(to, ptx.mul(row.t, 4 * words));
    for (size_t i = 2 * half; i < state.values.size(); i += 2 * words) {
      SmallVector<Value> part;
      for (size_t j = i; j < i + 2 * words; j += 4)
        llvm::append_range(part, ArrayRef(state.values).slice(j, 2));
      ptx.send(to, states.receivedOffset(s) + int64_t(i) / 4 * 32, barrier,
               part);
    }
  }
}

StateMerge::States ClusterExchange::load(Value row, int64_t block) {
  int64_t lanes = place.layout.lanes;
  Value t = arith::AndIOp::create(b, loc, place.lane, ptx.i32(lanes - 1));
  Value there = ptx.add(row, block * states.rowsOfMerge());
  StateMerge::States loaded;
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s) {
    Fragment state = merge.shapeOf(s);
    Value at = ptx.add(storage.getReceived(),
                       ptx.mul(there, states.receivedStride(s)));
    if (state.kind == Fragment::Kind::Row) {
      state.values.push_back(
          ptx.loadPair(at, states.receivedOffset(s), /*isOwn=*/true)[0]);
    } else {
      bool byFours = states.isSentByFours(s);
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
      for (int64_t i = 0, n = place.sizeOf(state); i < n; i += 2) {
        int64_t offset =
            byFours && lanes == 4 ? i / 4 * 64 + i / 2 % 2 * 8 : i * lanes * 4;
        llvm::append_range(state.values,
                           ptx.loadPair(at, states.receivedOffset(s) + offset,
                                        /*isOwn=*/true));
      }
    }
    loaded.push_back(std::move(state));
  }
  return loaded;
}
