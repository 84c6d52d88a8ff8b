//===- SumOrder.cpp - numbers of the points of a sum ----------------------===//
#include "SumOrder.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

SumOrder::SumOrder(ContractionEmitter &emitter, const ContractionTiling &tiling,
                   Axes axes, const OperandSide &left, const OperandSide &right)
    : NestEmitter(emitter), emitter(emitter), tiling(tiling),
      axes(std::move(axes)), inner(tiling.form.sums.back()) {
  choose(left, right);
}

PointNumbering::Axes SumOrder::getOthers() const {
  Axes others;
  for (const Axis &axis : axes)
    if (axis.dim != inner)
      others.push_back(axis);
  return others;
}

Value SumOrder::count() {
  return tiling.isByBoxes() ? emitter.constantIndex(tiling.operands.boxSteps *
                                                    tiling.stageSums())
                            : points.countOf(axes);
}

void SumOrder::choose(const OperandSide &left, const OperandSide &right) {
  const MatrixForm &form = tiling.form;
  // What a warp adds of a stage.
  int64_t stageSums = tiling.sliceSums(), vectorSums = tiling.vectorSums();
  auto extentOf = [&](unsigned d) { return emitter.getDim(d).staticSize; };
  int64_t best = 0;
  for (unsigned d : form.sums) {
    int64_t extent = extentOf(d).value_or(0), of = stageSums;
    while (of >= vectorSums && extent % of != 0)
      of /= 2;
    if (extent == 0 || of < vectorSums)
      continue;
    int64_t score = 1;
    // Scales of groups, of which there are few, may lie another way than what they scale.
    for (const OperandSide *side : {&left, &right})
      for (Value v : side->loaded) {
        AffineMap map = emitter.getOp().getMapOfBodyArgument(
            cast<BlockArgument>(v).getArgNumber());
        for (AffineExpr expr : map.getResults())
          if (expr.isFunctionOfDim(d) && !isa<AffineDimExpr>(expr))
            score = 0;
        if (score != 0 && emitter.getProgram().getContiguous(v) == d &&
            emitter.getProgram().findMainArgument(side->factor) == v)
          score += 2;
      }
    if (score == 0 || score < best)
      continue;
    best = score;
    inner = d;
    chunk = of;
  }
  if (std::optional<unsigned> vectorSum = tiling.operands.vectorSum) {
    inner = *vectorSum;
    chunk = stageSums;
    while (extentOf(inner).value_or(0) % chunk != 0)
      chunk /= 2;
    return;
  }
  // Codes in bytes have no taps: they are read as they lie in memory, but for a byte that
  // has several, which is read for all of them in one stage.
  bool isWindow = false;
  for (const OperandSide *side : {&left, &right})
    for (Value v : side->loaded) {
      isPacked |= getElementTypeOrSelf(v.getType()).isInteger(8);
      AffineMap map = emitter.getOp().getMapOfBodyArgument(
          cast<BlockArgument>(v).getArgNumber());
      isWindow |= llvm::any_of(map.getResults(), [](AffineExpr e) {
        return isa<AffineBinaryOpExpr>(e);
      });
    }
  isPacked &= !isWindow;
  unsigned last = axes.back().dim;
  for (const OperandSide *side : {&left, &right})
    for (Value v : side->loaded)
      if (int64_t codes = extentOf(last).value_or(0);
          isPacked && getElementTypeOrSelf(v.getType()).isInteger(8) &&
          last != inner && codes > 1 &&
          !emitter.getProgram().getDimSets()[v].test(last) &&
          stageSums % codes == 0) {
        chunk = std::max(vectorSums, std::min(chunk, stageSums / codes));
        codesDim = last;
      }
  // Filters whose taps are neighbours in memory are read tap after tap: the L1 cache is
  // to have all taps of a chunk until the last one has been read.
  int64_t others = 1;
  bool isByTaps = false;
  for (unsigned d : form.sums)
    if (d != inner)
      others *= extentOf(d).value_or(1);
  for (const OperandSide *side : {&left, &right})
    for (Value v : side->loaded) {
      std::optional<unsigned> d = emitter.getProgram().getContiguous(v);
      isByTaps |=
          !isPacked && d && *d != inner && llvm::is_contained(form.sums, *d);
    }
  int64_t bytes = tiling.elementBytes() * others * kRowsOfTaps;
  while (isByTaps && chunk > vectorSums && chunk * bytes > kTapsBytes)
    chunk /= 2;
  // One dim is numbered as it is.
  int64_t several = llvm::count_if(
      axes, [&](const Axis &axis) { return extentOf(axis.dim) != 1; });
  if (several < 2 || best == 0) {
    inner = form.sums.back();
    chunk = 0;
  }
}

/// The dims of which numbers of chunks are made.
PointNumbering::Axes SumOrder::getOuter() const {
  Axes outer;
  if (!isPacked) {
    outer.push_back({inner, chunk});
    outer.append(getOthers());
    return outer;
  }
  for (const Axis &axis : axes)
    outer.push_back(axis.dim == inner ? Axis{inner, chunk} : axis);
  return outer;
}

void SumOrder::bind(Env &env, Value start, Value offset) {
  Value number =
      offset ? Value(arith::AddIOp::create(b, loc, start, offset)) : start;
  if (chunk == 0)
    return points.bind(env, axes, number);
  // All of a stage have one chunk, which every thread finds for itself.
  bool isOfStage = offset && chunk % tiling.stageSums() == 0;
  Value size = emitter.constantIndex(chunk), of = isOfStage ? start : number;
  points.bind(env, getOuter(), points.divide(of, size, /*remainder=*/false));
  Value in = points.divide(of, size, /*remainder=*/true);
  if (isOfStage)
    in = arith::AddIOp::create(b, loc, in, offset);
  env.position[inner] = arith::AddIOp::create(b, loc, env.position[inner], in);
}

void SumOrder::bindInSlab(Env &env, Value start, int64_t slab, Value vector) {
  int64_t stage = tiling.sliceSums(), size = tiling.slabSums(),
          ofVector = tiling.vectorSums();
  auto index = [&](int64_t n) { return emitter.constantIndex(n); };
  auto add = [&](Value v, Value w) -> Value {
    return arith::AddIOp::create(b, loc, v, w);
  };
  auto times = [&](Value v, int64_t n) -> Value {
    return arith::MulIOp::create(b, loc, v, index(n));
  };
  if (chunk == 0 || stage % chunk != 0 || chunk % ofVector != 0)
    return bind(env, start, add(times(vector, ofVector), index(slab * size)));
  // Of the chunks of a stage this is number `number`, and a few more within a slab.
  int64_t number = slab * size / chunk, ofStage = stage / chunk;
  Axes outer = getOuter();
  Value more, in = times(vector, ofVector);
  if (chunk < size) {
    Value ofChunk = index(chunk / ofVector);
    more = points.divide(vector, ofChunk, /*remainder=*/false);
    in = times(points.divide(vector, ofChunk, /*remainder=*/true), ofVector);
  }
  // As long as dims end where a stage does, that tells where it is in them.
  while (!more && !outer.empty() && ofStage > 1) {
    const Axis &axis = outer.back();
    std::optional<int64_t> extent = points.staticCountOf(axis);
    if (!extent || ofStage % *extent != 0)
      break;
    env.position[axis.dim] = index(number % *extent * axis.step);
    number /= *extent;
    ofStage /= *extent;
    outer.pop_back();
  }
  Value chunks =
      times(points.divide(start, index(stage), /*remainder=*/false), ofStage);
  if (ofStage > 1)
    chunks = add(chunks, index(number));
  points.bind(env, outer, more ? add(chunks, more) : chunks);
  env.position[inner] =
      add(env.position[inner], add(in, index(slab * size % chunk)));
}
