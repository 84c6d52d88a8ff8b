//===- RegisterMainloop.cpp - steps along a tile --------------------------===//
#include "RegisterMainloop.h"

#include "RegisterEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace redfuse;

int64_t StreamWalk::unitOf(unsigned d) const {
  const DimShare &share = layout.dims[d];
  int64_t length = space.staticExtents[d], span = share.getSpan();
  bool isLong = ShapedType::isDynamic(length) ||
                length >= space.schedule.getSplits() * span;
  return isLong ? span : share.lanes;
}

int64_t StreamWalk::lengthOf(unsigned i) const {
  unsigned d = getDims()[i];
  int64_t length = space.staticExtents[d];
  if (i != 0 || !isSplit() || ShapedType::isDynamic(length))
    return length;
  int64_t splits = space.schedule.getSplits();
  return length % (splits * unitOf(d)) == 0 ? length / splits
                                            : ShapedType::kDynamic;
}

bool StreamWalk::isOneStep() const {
  for (unsigned i = 0; i < getDims().size(); ++i)
    if (int64_t length = lengthOf(i);
        ShapedType::isDynamic(length) ||
        length > layout.dims[getDims()[i]].getSpan())
      return false;
  return true;
}

Attribute redfuse::keepsLoop(OpBuilder &b) {
  MLIRContext *context = b.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(context, b.getBoolAttr(true), {}, {},
                                          {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {});
}

LogicalResult RegisterMainloop::loop(const Step &step, unsigned i, Value from,
                                     Value to, Value by,
                                     function_ref<void(Value)> place,
                                     bool isAhead) {
  SmallVector<Value> carriedIn;
  if (step.fold)
    carriedIn = states.take(step.fold);
  exchange.awaitCluster();
  size_t numStates = carriedIn.size();
  if (isAhead) {
    loaded.pushScope();
    place(from);
    step.load();
    llvm::append_range(carriedIn, loaded.take());
    loaded.popScope();
  }
  auto loop = scf::ForOp::create(b, loc, from, to, by, carriedIn);
  if (isAhead)
    loop->setAttr("llvm.loop_annotation", keepsLoop(b));
  {
    OpBuilder::InsertionGuard guard(b);
    if (carriedIn.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs()), following;
    if (step.fold)
      states.set(step.fold, ArrayRef(carried).take_front(numStates));
    loaded.pushScope();
    if (isAhead) {
      Value next = arith::AddIOp::create(b, loc, loop.getInductionVar(), by);
      Value last = arith::SubIOp::create(b, loc, to, by);
      place(arith::MinUIOp::create(b, loc, next, last));
      step.load();
      following = loaded.take();
      loaded.set(ArrayRef(carried).drop_front(numStates));
    }
    place(loop.getInductionVar());
    LogicalResult result = runFrom(step, i + 1);
    loaded.popScope();
    if (failed(result))
      return failure();
    // The next step writes where this one reads.
    if (exchange.takeExchanged())
      exchange.barrier();
    if (!carriedIn.empty()) {
      SmallVector<Value> yielded;
      if (step.fold)
        yielded = states.take(step.fold);
      llvm::append_range(yielded, following);
      scf::YieldOp::create(b, loc, yielded);
    }
  }
  if (step.fold)
    states.set(step.fold,
               SmallVector<Value>(loop.getResults().take_front(numStates)));
  return success();
}

/// The block's own split, of whole vectors; the last ones may be short, or empty.
std::pair<Value, Value> RegisterMainloop::boundsOfSplit(unsigned d) {
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value extent = dims[d].extent;
  int64_t splits = space.schedule.getSplits(), unit = steps.unitOf(d);
  Value size = arith::CeilDivUIOp::create(b, loc, extent, constant(splits));
  size = arith::CeilDivUIOp::create(b, loc, size, constant(unit));
  size = arith::MulIOp::create(b, loc, size, constant(unit));
  Value number = split ? split : dims[space.schedule.getGrid().back()].offset;
  Value begin = arith::MulIOp::create(b, loc, number, size);
  begin = arith::MinSIOp::create(b, loc, begin, extent);
  Value end = arith::AddIOp::create(b, loc, begin, size);
  end = arith::MinSIOp::create(b, loc, end, extent);
  return {begin, end};
}

LogicalResult RegisterMainloop::runFrom(const Step &step, unsigned i) {
  ArrayRef<int64_t> streamDims = steps.getDims();
  if (i >= streamDims.size())
    return step.emit();
  unsigned d = streamDims[i];
  SpaceDim whole = dims[d];
  int64_t span = layout.dims[d].getSpan();
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value begin = constant(0), end = whole.extent;
  int64_t length = steps.lengthOf(i);
  if (i == 0 && steps.isSplit())
    std::tie(begin, end) = boundsOfSplit(d);
  if (!ShapedType::isDynamic(length) && length <= span) {
    // One step: what it loads is there for whoever walks the dim again.
    dims[d].offset = begin;
    dims[d].size = constant(length);
    dims[d].staticSize = length;
    LogicalResult result = runFrom(step, i + 1);
    dims[d] = whole;
    return result;
  }
  Value middle;
  bool hasRest = true;
  if (!ShapedType::isDynamic(length)) {
    hasRest = length % span != 0;
    middle = b.createOrFold<arith::AddIOp>(loc, begin,
                                           constant(length / span * span));
  } else {
    Value all = arith::SubIOp::create(b, loc, end, begin);
    Value count = arith::DivUIOp::create(b, loc, all, constant(span));
    Value walked = arith::MulIOp::create(b, loc, count, constant(span));
    middle = arith::AddIOp::create(b, loc, begin, walked);
  }
  LogicalResult result = success();
  bool loadsAhead = layout.loadsStepsAhead && step.load &&
                    i + 1 == streamDims.size() &&
                    !ShapedType::isDynamic(length);
  if (ShapedType::isDynamic(length) || length >= span)
    result = loop(
        step, i, begin, middle, constant(span),
        [&](Value at) {
          dims[d].offset = at;
          dims[d].size = constant(span);
          dims[d].staticSize = span;
        },
        loadsAhead);
  if (hasRest && succeeded(result))
    result = loop(
        step, i, middle, end, constant(span),
        [&](Value at) {
          dims[d].offset = at;
          dims[d].size = arith::SubIOp::create(b, loc, end, at);
          dims[d].staticSize = std::nullopt;
          if (!ShapedType::isDynamic(length)) {
            dims[d].staticSize = length % span;
            dims[d].size = constant(length % span);
          }
        },
        /*isAhead=*/false);
  dims[d] = whole;
  return result;
}
