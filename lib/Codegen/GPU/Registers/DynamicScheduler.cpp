//===- DynamicScheduler.cpp - which tile a block has next -----------------===//
#include "DynamicScheduler.h"

#include "redfuse/Codegen/GPU/Common/InlinePtx.h"

using namespace mlir;
using namespace redfuse;

Value DynamicScheduler::ask(Value last) {
  Value zero = arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0);
  auto ask = scf::IfOp::create(b, loc, TypeRange{b.getI32Type()},
                               positions.isFirstThread(), /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ask.thenBlock());
  // Nothing but the number itself: an order of memory would wait for stores.
  Value at = arith::IndexCastOp::create(
      b, loc, b.getI64Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, counter)
          .getResult());
  Value most = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), last);
  Value before =
      emitPtx(b, loc, "atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r",
              {at, most}, b.getI32Type())[0];
  scf::YieldOp::create(b, loc, before);
  b.setInsertionPointToStart(ask.elseBlock());
  scf::YieldOp::create(b, loc, zero);
  return ask.getResult(0);
}

void DynamicScheduler::store(Value answer) {
  auto branch = scf::IfOp::create(b, loc, positions.isFirstThread(),
                                  /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  memref::StoreOp::create(
      b, loc, answer, mailbox,
      ValueRange{arith::ConstantIndexOp::create(b, loc, 0)});
}

Value DynamicScheduler::read() {
  return memref::LoadOp::create(
      b, loc, mailbox, ValueRange{arith::ConstantIndexOp::create(b, loc, 0)});
}
