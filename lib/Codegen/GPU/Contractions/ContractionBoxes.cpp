//===- ContractionBoxes.cpp - operands that one thread copies -------------===//
#include "ContractionBoxes.h"

#include "redfuse/Codegen/GPU/Common/Ptx.h"
#include "redfuse/Codegen/GPU/Common/TensorMap.h"
#include "redfuse/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Rows that one copy has.
static int64_t rowsOfBox(int64_t rows) { return std::min<int64_t>(rows, 256); }

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

SmallVector<Value> redfuse::makeOperandMaps(OpBuilder &b, Location loc,
                                            const ContractionTiling &tiling,
                                            ArrayRef<Value> memrefs) {
  const auto &boxes = *tiling.operands.boxes;
  auto index = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, loc, n);
  };
  SmallVector<Value> all;
  for (auto [i, memref] : llvm::enumerate(memrefs)) {
    bool isLeft = i % 2 == 0;
    const OperandBox &box = isLeft ? boxes.first : boxes.second;
    int64_t rows = rowsOfBox(isLeft ? tiling.tileRows() : tiling.tileColumns());
    SmallVector<Value> description;
    auto append = [&](ArrayRef<int64_t> numbers, size_t count, int64_t filler) {
      for (size_t k = 0; k < count; ++k)
        description.push_back(index(k < numbers.size() ? numbers[k] : filler));
    };
    SmallVector<int64_t> sizes, strides;
    for (const OperandBox::Dim &dim : box.dims) {
      sizes.push_back(dim.size);
      strides.push_back(dim.stride * tiling.elementBytes());
    }
    append(sizes, 5, 1);
    append(ArrayRef(strides).drop_front(), 4, 16);
    if (box.isWindow()) {
      SmallVector<int64_t> lower, upper, steps;
      for (const OperandBox::Window &window : box.windows) {
        lower.push_back(window.lower);
        upper.push_back(window.upper);
        steps.push_back(window.step);
      }
      append(lower, 3, 0);
      append(upper, 3, 0);
      append(steps, 3, 1);
      append({rows}, 1, 1);
    } else {
      append({tiling.stageSums(), rows}, 5, 1);
    }
    all.push_back(makeTensorMap(
        b, loc,
        box.isWindow() ? "redfuse_rt_window_map" : "redfuse_rt_tensor_map",
        memref, box.offset, int64_t(box.dims.size()), description));
  }
  return all;
}

SmallVector<BlockArgument>
redfuse::getMappedOperands(const OperandTransfer &operands) {
  SmallVector<BlockArgument> sources{operands.left.source,
                                     operands.right.source};
  if (operands.haveParts())
    sources.append({operands.left.rest, operands.right.rest});
  return sources;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The barrier of a stage, which counts its bytes.
Value ContractionBoxes::fullBarrier(Value number) {
  Value at = add(places.address(), i32(tiling.barrierStart()));
  return tile::BarrierOp::create(
      b, loc, add(at, arith::MulIOp::create(b, loc, number, i32(8))));
}

void ContractionBoxes::copyBox(const OperandSide &side, const OperandBox &box,
                               const Env &at, Value stage, Value barrier,
                               ArrayRef<Value> maps) {
  int64_t rows = rowsOfBox(side.rows);
  for (int64_t from = 0; from < side.rows; from += rows) {
    OpBuilder::InsertionGuard guard(b);
    Value first = side.first;
    if (from != 0)
      first = arith::AddIOp::create(b, loc, first, constantIndex(from));
    Env env = at;
    if (box.isWindow()) {
      // Windows begin where there are some.
      if (!side.isWhole)
        first = arith::MinUIOp::create(
            b, loc, first,
            arith::SubIOp::create(b, loc, points.countOf(side.axes),
                                  constantIndex(1)));
      points.bind(env, side.axes, first);
    }
    auto sumOf = [&](ArrayRef<int64_t> factors) {
      auto [others, sums] = emitter.wordsOf(factors, env);
      return sums ? add(others, sums) : others;
    };
    SmallVector<Value> coordinates, offsets;
    for (const OperandBox::Dim &dim : box.dims)
      coordinates.push_back(dim.factors.empty() ? asWord(first)
                                                : sumOf(dim.factors));
    for (const OperandBox::Window &window : box.windows)
      offsets.push_back(arith::TruncIOp::create(b, loc, b.getI16Type(),
                                                sumOf(window.offset)));
    for (auto [i, map] : llvm::enumerate(maps))
      tile::CopyOp::create(
          b, loc, map, coordinates, offsets,
          products.sharedTile(side, rows, i32(from), stage, /*isRest=*/i == 1),
          barrier, /*row=*/Value(), /*blocks=*/Value());
  }
}

/// Starts the copies of a step, by one thread.
void ContractionBoxes::start(Value step, Value first, Value steps) {
  Value some =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, step, steps);
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        thread, constantIndex(0));
  auto branch =
      scf::IfOp::create(b, loc, arith::AndIOp::create(b, loc, some, isFirst),
                        /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  Ptx ptx(b, loc);
  Value number =
      arith::RemUIOp::create(b, loc, asWord(step), i32(plan.getStages()));
  Value barrier = fullBarrier(number);
  ptx.expect(barrier, tiling.stageBytes());
  // The places of a window one after the other, then the next part of the sum.
  Env env = tile.origin;
  Axes others = order.getOthers();
  Value all = add(step, first), count = points.countOf(others);
  points.bind(env, others, points.divide(all, count, /*remainder=*/true));
  env.position[order.getInner()] = arith::MulIOp::create(
      b, loc, points.divide(all, count, /*remainder=*/false),
      constantIndex(tiling.stageSums()));
  Value stage =
      arith::MulIOp::create(b, loc, number, i32(tiling.stageBytes() / 4));
  SmallVector<Value> ofLeft{maps[0]}, ofRight{maps[1]};
  if (tiling.operands.haveParts()) {
    ofLeft.push_back(maps[2]);
    ofRight.push_back(maps[3]);
  }
  copyBox(left, tiling.operands.boxes->first, env, stage, barrier, ofLeft);
  copyBox(right, tiling.operands.boxes->second, env, stage, barrier, ofRight);
}

//===----------------------------------------------------------------------===//
// The mainloop
//===----------------------------------------------------------------------===//

/// Products of a step run while its copies' stage of before is filled again: all
/// warpgroups have said, behind the products that they started, that those of the step
/// before are over. Of operands in parts a step's own are over then.
SmallVector<Value> ContractionBoxes::run(const SumShare &share) {
  Ptx ptx(b, loc);
  Value stageLength = constantIndex(tiling.stageSums());
  Value first = points.divide(share.begin, stageLength, /*remainder=*/false);
  Value steps =
      points.divide(arith::SubIOp::create(b, loc, share.end, share.begin),
                    stageLength, /*remainder=*/false);
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        thread, constantIndex(0));
  auto prepared = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prepared.thenYield());
    for (int64_t i = 0; i < plan.getStages(); ++i)
      ptx.initBarrier(fullBarrier(i32(i)), 1);
    ptx.fenceBarriers();
  }
  gpu::BarrierOp::create(b, loc);
  int64_t ahead = plan.getStages() - (tiling.operands.haveParts() ? 0 : 1);
  for (int64_t i = 0; i < ahead; ++i)
    start(constantIndex(i), first, steps);
  auto await = [&](Value step) {
    Value number = asWord(step), stages = i32(plan.getStages());
    Value stage = arith::RemUIOp::create(b, loc, number, stages);
    Value phase = bits(arith::DivUIOp::create(b, loc, number, stages), 0, 1, 0);
    ptx.wait(fullBarrier(stage), phase);
    return arith::MulIOp::create(b, loc, stage, i32(tiling.stageBytes() / 4))
        .getResult();
  };
  auto goOn = [&](Value step) {
    gpu::BarrierOp::create(b, loc);
    start(arith::AddIOp::create(b, loc, step, constantIndex(ahead)), first,
          steps);
  };
  return products.addSteps(steps, {await, /*isStarted=*/{}, /*isOver=*/goOn});
}
