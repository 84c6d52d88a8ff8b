//===- SumSplits.cpp - blocks that share a sum ----------------------------===//
#include "SumSplits.h"

#include "redfuse/Codegen/GPU/Common/BlockCounters.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace redfuse;

SumShare SumSplits::shareOf(Value split, SumOrder &order) {
  Value total = order.count(), stage = constantIndex(tiling.stageSums());
  Value stages = arith::CeilDivUIOp::create(b, loc, total, stage);
  Value length = arith::MulIOp::create(
      b, loc,
      arith::CeilDivUIOp::create(b, loc, stages,
                                 constantIndex(plan.getSplits())),
      stage);
  Value begin = arith::MinUIOp::create(
      b, loc, arith::MulIOp::create(b, loc, split, length), total);
  Value end = arith::MinUIOp::create(
      b, loc, arith::AddIOp::create(b, loc, begin, length), total);
  // Of other operands what is known leaves sums of f32 no registers.
  std::optional<int64_t> known = order.staticCount();
  bool isWhole = known && (left.isDirect || right.isDirect) &&
                 *known % (tiling.stageSums() * plan.getSplits()) == 0;
  return {begin, end, isWhole};
}

void SumSplits::merge(Value number, Value split, SmallVector<Value> sums,
                      function_ref<void(SmallVectorImpl<Value> &)> then) {
  // By accesses of 16 bytes.
  const int64_t ofAccess = 128 / x.sum.getIntOrFloatBitWidth();
  Value ofTile = constantIndex(int64_t(sums.size()) * threads);
  auto place = [&](Value of, int64_t i) -> Value {
    Value at =
        arith::MulIOp::create(b, loc, number, constantIndex(plan.getSplits()));
    at = arith::MulIOp::create(b, loc, arith::AddIOp::create(b, loc, at, of),
                               ofTile);
    Value own = arith::AddIOp::create(b, loc, thread,
                                      constantIndex(i / ofAccess * threads));
    return arith::AddIOp::create(
        b, loc, at,
        arith::MulIOp::create(b, loc, own, constantIndex(ofAccess)));
  };
  auto type = VectorType::get({ofAccess}, x.sum);
  int64_t count = sums.size();
  for (int64_t i = 0; i < count; i += ofAccess) {
    Value some = vector::FromElementsOp::create(
        b, loc, type, ArrayRef(sums).slice(i, ofAccess));
    vector::StoreOp::create(b, loc, some, memory.workspace,
                            ValueRange(place(split, i)),
                            /*nontemporal=*/false, llvm::Align(16));
  }
  gpu::BarrierOp::create(b, loc);
  Value word = constantIndex(tiling.wordStart() / 4);
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        thread, constantIndex(0));
  auto counts = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(counts.thenYield());
    Value before =
        countInOrder(b, loc, memory.counters, number, plan.getSplits());
    memref::StoreOp::create(b, loc, before, words, ValueRange(word));
  }
  gpu::BarrierOp::create(b, loc);
  Value isLast = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::eq,
      memref::LoadOp::create(b, loc, words, ValueRange(word)),
      i32(plan.getSplits() - 1));
  auto branch = scf::IfOp::create(b, loc, isLast, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  auto load = [&](Value of) {
    SmallVector<Value> parts;
    for (int64_t i = 0; i < count; i += ofAccess) {
      Value some = vector::LoadOp::create(
          b, loc, type, memory.workspace, ValueRange(place(of, i)),
          /*nontemporal=*/false, llvm::Align(16));
      for (int64_t k = 0; k < ofAccess; ++k)
        parts.push_back(vector::ExtractOp::create(b, loc, some, k));
    }
    return parts;
  };
  sums = emitFor(b, loc, constantIndex(1), constantIndex(plan.getSplits()),
                 constantIndex(1), load(constantIndex(0)),
                 [&](Value of, ValueRange carried) {
                   SmallVector<Value> next;
                   for (auto [sum, part] : llvm::zip_equal(carried, load(of)))
                     next.push_back(
                         combineValues(b, loc, Reducer::Add, sum, part));
                   return next;
                 });
  then(sums);
}
