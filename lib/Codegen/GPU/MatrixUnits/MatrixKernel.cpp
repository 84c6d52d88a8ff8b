//===- MatrixKernel.cpp - what the parts of a generator share -------------===//
#include "MatrixKernel.h"

using namespace mlir;
using namespace redfuse;

MatrixKernel::MatrixKernel(KernelOp kernel, LaunchOp launch,
                           const KernelSpace &space, PlannedMatrix planned,
                           int64_t units)
    : kernel(kernel), launch(launch), space(space),
      plan(std::move(planned.plan)), layout(std::move(planned.layout)),
      units(units), firstProducts(plan.productsOf(/*isSecond=*/false)),
      secondProducts(plan.productsOf(/*isSecond=*/true)),
      b(kernel.getContext()), loc(kernel.getLoc()), ptx(b, loc),
      place(b, loc, plan, space), memory(b, loc, plan, place),
      emitter(b, loc, plan, space, place, memory) {
  place.layout.rows = plan.consumerRows / 32;
}

LogicalResult MatrixKernel::analyse() {
  FailureOr<DimSets> dims = DimSets::compute(plan.step);
  if (failed(dims))
    return failure();
  stepSets = *dims;
  masks = findStreamMasks(plan, *stepSets);
  if (!plan.finalize)
    return success();
  dims = DimSets::compute(
      cast<IndexProgramOpInterface>(plan.finalize.getOperation()));
  if (failed(dims))
    return failure();
  finalSets = *dims;
  return success();
}

Value KernelPart::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value KernelPart::toWord(Value v) {
  return arith::IndexCastUIOp::create(b, loc, b.getI32Type(), v);
}

Value KernelPart::toIndex(Value v) {
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), v);
}

void KernelPart::when(Value condition, function_ref<void()> then) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  then();
}

void KernelPart::byThread(int64_t number, function_ref<void()> body) {
  when(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, of.ids.thread,
                             ptx.i32(number)),
       body);
}
