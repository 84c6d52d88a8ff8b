//===- ContractionBoxes.cpp - operands that one thread copies -------------===//
//
// The mainloop where tensor maps describe both operands (OperandBox.h): a thread starts
// the copies of a stage, and a barrier in shared memory counts their bytes.
//
//===----------------------------------------------------------------------===//
#include "ContractionEmitter.h"

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

SmallVector<Value> ContractionEmitter::makeMaps(ArrayRef<Value> memrefs) {
  auto index = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, loc, n);
  };
  SmallVector<Value> all;
  for (auto [i, memref] : llvm::enumerate(memrefs)) {
    bool isLeft = i % 2 == 0;
    const OperandBox &box = isLeft ? boxes->first : boxes->second;
    int64_t rows = rowsOfBox(isLeft ? tileRows() : tileColumns());
    SmallVector<Value> description;
    auto append = [&](ArrayRef<int64_t> numbers, size_t count, int64_t filler) {
      for (size_t k = 0; k < count; ++k)
        description.push_back(index(k < numbers.size() ? numbers[k] : filler));
    };
    SmallVector<int64_t> sizes, strides;
    for (const OperandBox::Dim &dim : box.dims) {
      sizes.push_back(dim.size);
      strides.push_back(dim.stride * elementBytes());
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
      append({stageSums(), rows}, 5, 1);
    }
    all.push_back(makeTensorMap(
        b, loc,
        box.isWindow() ? "redfuse_rt_window_map" : "redfuse_rt_tensor_map",
        memref, box.offset, int64_t(box.dims.size()), description));
  }
  return all;
}

SmallVector<BlockArgument> ContractionEmitter::getMapped() const {
  SmallVector<BlockArgument> sources{copiedLeft.source, copiedRight.source};
  if (haveParts())
    sources.append({copiedLeft.rest, copiedRight.rest});
  return sources;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Sums of all steps: the last of a place may have less than a stage.
Value ContractionEmitter::countSums() {
  return isByBoxes() ? constantIndex(boxSteps * stageSums())
                     : points.countOf(sumAxes);
}

/// Where a stage has so many rows of a side, from `row` on (i32).
Value ContractionEmitter::sharedTile(const Side &side, int64_t rows, Value row,
                                     Value stage, bool isRest) {
  Value shared = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, words));
  Value bytes = add(arith::MulIOp::create(b, loc, stage, i32(4)),
                    arith::MulIOp::create(b, loc, row, i32(128)));
  auto type = tile::SharedType::get(b.getContext(), rows, stageSums(),
                                    typeOf(x.left, b.getContext()));
  int64_t start = side.start + (isRest ? side.rows * 128 : 0);
  return tile::ViewOp::create(b, loc, type,
                              add(add(shared, bytes), i32(start)));
}

/// The barrier of a stage, which counts its bytes.
Value ContractionEmitter::fullBarrier(Value number) {
  Value shared = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, words));
  Value at = add(shared, i32(plan.getStages() * stageBytes() + kCountBytes));
  return tile::BarrierOp::create(
      b, loc, add(at, arith::MulIOp::create(b, loc, number, i32(8))));
}

void ContractionEmitter::copyBox(const Side &side, const OperandBox &box,
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
      auto [others, sums] = wordsOf(factors, env);
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
          sharedTile(side, rows, i32(from), stage, /*isRest=*/i == 1), barrier);
  }
}

/// Starts the copies of a step, by one thread.
void ContractionEmitter::startBoxes(const Env &tile, Value step, Value first,
                                    Value steps) {
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
  ptx.expect(barrier, stageBytes());
  // The places of a window one after the other, then the next part of the sum.
  Env env = tile;
  Axes places;
  for (const Axis &axis : sumAxes)
    if (axis.dim != innerSum)
      places.push_back(axis);
  Value all = add(step, first), count = points.countOf(places);
  points.bind(env, places, points.divide(all, count, /*remainder=*/true));
  env.position[innerSum] = arith::MulIOp::create(
      b, loc, points.divide(all, count, /*remainder=*/false),
      constantIndex(stageSums()));
  Value stage = arith::MulIOp::create(b, loc, number, i32(stageBytes() / 4));
  SmallVector<Value> ofLeft{maps[0]}, ofRight{maps[1]};
  if (haveParts()) {
    ofLeft.push_back(maps[2]);
    ofRight.push_back(maps[3]);
  }
  copyBox(left, boxes->first, env, stage, barrier, ofLeft);
  copyBox(right, boxes->second, env, stage, barrier, ofRight);
}

//===----------------------------------------------------------------------===//
// The mainloop
//===----------------------------------------------------------------------===//

/// Products of a step run while its copies' stage of before is filled again: all
/// warpgroups have said, behind the products that they started, that those of the step
/// before are over. Of operands in parts a step's own are over then.
SmallVector<Value> ContractionEmitter::runByBoxes(const Env &tile,
                                                  const Share &share) {
  Ptx ptx(b, loc);
  Value stageLength = constantIndex(stageSums());
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
  int64_t ahead = plan.getStages() - (haveParts() ? 0 : 1);
  for (int64_t i = 0; i < ahead; ++i)
    startBoxes(tile, constantIndex(i), first, steps);
  auto await = [&](Value step) {
    Value number = asWord(step), stages = i32(plan.getStages());
    Value stage = arith::RemUIOp::create(b, loc, number, stages);
    Value phase = bits(arith::DivUIOp::create(b, loc, number, stages), 0, 1, 0);
    ptx.wait(fullBarrier(stage), phase);
    return arith::MulIOp::create(b, loc, stage, i32(stageBytes() / 4))
        .getResult();
  };
  auto goOn = [&](Value step) {
    gpu::BarrierOp::create(b, loc);
    startBoxes(tile, arith::AddIOp::create(b, loc, step, constantIndex(ahead)),
               first, steps);
  };
  int64_t columns = right.warpRows;
  SmallVector<Value> none(columns / 2, constant(b.getF32FloatAttr(0)));
  Value zero = constantIndex(0), one = constantIndex(1);
  SmallVector<Value> sums;
  if (haveParts()) {
    sums = emitFor(b, loc, zero, steps, one, none,
                   [&](Value step, ValueRange carried) {
                     Value part = multiplyParts(await(step));
                     SmallVector<Value> next;
                     for (auto [sum, more] :
                          llvm::zip_equal(carried, ptx.waitProducts(0, part)))
                       next.push_back(arith::AddFOp::create(b, loc, sum, more));
                     goOn(step);
                     return next;
                   });
  } else {
    SmallVector<Value> state =
        emitFor(b, loc, zero, steps, one, ptx.accumulate(none),
                [&](Value step, ValueRange carried) {
                  Value sum = multiplyStage(await(step), carried.front());
                  ptx.waitProducts(1, {});
                  goOn(step);
                  return SmallVector<Value>{sum};
                });
    sums = ptx.waitProducts(0, state.front());
  }
  return sums;
}
