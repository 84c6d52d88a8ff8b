//===- PingPong.cpp - two warpgroups in turns -----------------------------===//
#include "PingPong.h"

#include "redfuse/Codegen/GPU/Common/InlinePtx.h"

using namespace mlir;
using namespace redfuse;

/// A turn is passed when the products of inputs are made: where there are none, there
/// are no turns.
bool PingPong::isUsed() const {
  return plan.stream && plan.consumers == 2 && !plan.hasTiledSums() &&
         plan.target.hasWgmma && !of.firstProducts.empty();
}

void PingPong::takeTurn() {
  emitPtx(b, loc, "bar.sync $0, 256;", "r",
          ptx.add(of.ids.consumer, kFirstTurn));
}

void PingPong::passTurn() {
  Value other = arith::XOrIOp::create(b, loc, of.ids.consumer, ptx.i32(1));
  emitPtx(b, loc, "bar.arrive $0, 256;", "r", ptx.add(other, kFirstTurn));
}

void PingPong::around(function_ref<void()> body) {
  if (!isUsed())
    return body();
  auto byGroup = [&](int64_t number, function_ref<void()> then) {
    when(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                               of.ids.consumer, ptx.i32(number)),
         then);
  };
  byGroup(1, [&] { passTurn(); });
  body();
  byGroup(0, [&] { takeTurn(); });
}
