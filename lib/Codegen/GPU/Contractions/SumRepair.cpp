//===- SumRepair.cpp - sums that parts of factors do not have -------------===//
#include "SumRepair.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace redfuse;

/// One sum by multiply-adds of f32 of what is in memory.
Value SumRepair::computeAnew(const SumShare &share, Value row, Value column) {
  auto clamp = [&](const OperandSide &side, Value at) -> Value {
    if (side.isWhole)
      return at;
    return arith::MinUIOp::create(
        b, loc, at,
        arith::SubIOp::create(b, loc, points.countOf(side.axes),
                              constantIndex(1)));
  };
  Env point = tile.origin;
  points.bind(point, left.axes, clamp(left, row));
  points.bind(point, right.axes, clamp(right, column));
  Value zero = constant(b.getF32FloatAttr(0));
  return emitFor(b, loc, share.begin, share.end, constantIndex(1), zero,
                 [&](Value at, ValueRange carried) {
                   SmallVector<Value> factors;
                   for (const OperandSide *side : {&left, &right}) {
                     OperandSide single = *side;
                     single.width = 1;
                     Env env = point;
                     order.bind(env, at);
                     emitter.compute(single, env, single.cone);
                     factors.push_back(convertElement(
                         b, loc, emitter.valueOf(side->factor, env),
                         b.getF32Type(), side->isSigned));
                   }
                   return SmallVector<Value>{math::FmaOp::create(
                       b, loc, factors[0], factors[1], carried.front())};
                 })[0];
}

void SumRepair::repair(const SumShare &share, PlaceOf placeOf,
                       SmallVectorImpl<Value> &sums) {
  Type word = b.getI32Type(), wide = b.getI64Type();
  Value one = i32(1), infinity = i32(int32_t(0xff000000)),
        least = i32(int32_t(27) << 24); // 2^-100
  SmallVector<Value> flags;
  Value any;
  for (Value sum : sums) {
    Value twice = arith::ShLIOp::create(
        b, loc, arith::BitcastOp::create(b, loc, word, sum), one);
    Value large = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                        twice, infinity);
    Value less =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                              arith::SubIOp::create(b, loc, twice, one), least);
    Value flag = arith::OrIOp::create(b, loc, large, less);
    flags.push_back(flag);
    any = any ? arith::OrIOp::create(b, loc, any, flag).getResult() : flag;
  }
  auto branch =
      scf::IfOp::create(b, loc, ValueRange(ArrayRef(sums)).getTypes(), any,
                        /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, sums);
  b.setInsertionPointToStart(branch.thenBlock());
  Value mask = constant(b.getI64IntegerAttr(0));
  for (auto [i, flag] : llvm::enumerate(flags))
    mask = arith::OrIOp::create(
        b, loc, mask,
        arith::ShLIOp::create(b, loc,
                              arith::ExtUIOp::create(b, loc, wide, flag),
                              constant(b.getI64IntegerAttr(int64_t(i)))));
  SmallVector<Value> repaired = emitFor(
      b, loc, constantIndex(0), constantIndex(sums.size()), constantIndex(1),
      sums, [&](Value at, ValueRange carried) {
        Value number = asWord(at);
        Value is = arith::TruncIOp::create(
            b, loc, b.getI1Type(),
            arith::ShRUIOp::create(
                b, loc, mask, arith::ExtUIOp::create(b, loc, wide, number)));
        auto single = scf::IfOp::create(b, loc, x.sum, is, /*withElse=*/true);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(single.thenBlock());
          auto [row, column] = placeOf(number);
          row = add(left.first, asIndex(row));
          column = add(right.first, asIndex(column));
          scf::YieldOp::create(b, loc, computeAnew(share, row, column));
          b.setInsertionPointToStart(single.elseBlock());
          scf::YieldOp::create(b, loc, constant(b.getF32FloatAttr(0)));
        }
        SmallVector<Value> next;
        for (auto [i, old] : llvm::enumerate(carried)) {
          Value isOwn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                              number, i32(int64_t(i)));
          isOwn = arith::AndIOp::create(b, loc, isOwn, is);
          next.push_back(
              arith::SelectOp::create(b, loc, isOwn, single.getResult(0), old));
        }
        return next;
      });
  scf::YieldOp::create(b, loc, repaired);
  sums.assign(branch.getResults().begin(), branch.getResults().end());
}
