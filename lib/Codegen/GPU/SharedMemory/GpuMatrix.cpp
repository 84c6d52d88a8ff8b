//===- GpuMatrix.cpp - results of matrix instructions ---------------------===//
#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

Value GpuEmitter::partOf(LaneField field, Value lane) {
  Value part = lane;
  if (field.count == 1)
    return constantIndex(0);
  if (field.by != 1)
    part = divide(part, constantIndex(field.by), /*remainder=*/false);
  part = divide(part, constantIndex(field.count), /*remainder=*/true);
  if (field.scale != 1)
    part = arith::MulIOp::create(b, loc, part, constantIndex(field.scale));
  return part;
}

Value redfuse::convertElement(OpBuilder &b, Location loc, Value v, Type to,
                              bool isSigned) {
  Type from = getElementTypeOrSelf(v.getType());
  if (from == to)
    return v;
  Type type = to;
  if (auto vector = dyn_cast<VectorType>(v.getType()))
    type = VectorType::get(vector.getShape(), to);
  if (from.isInteger())
    return isSigned ? Value(arith::SIToFPOp::create(b, loc, type, v))
                    : Value(arith::UIToFPOp::create(b, loc, type, v));
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, loc, type, v);
  return arith::TruncFOp::create(b, loc, type, v);
}

/// The place of column number `ct` of a lane's part, which is `add` after an even one.
Value GpuEmitter::columnOfRun(const MatrixNest &plan, Value first, Value part,
                              int64_t add, int64_t ct) {
  int64_t run = plan.columnRun;
  Value ofLane = arith::ShRUIOp::create(
      b, loc, arith::MulIOp::create(b, loc, part, constantIndex(run)),
      constantIndex(1));
  int64_t offset = ct / run * 8 * run + add * 4 * run + ct % run;
  return arith::AddIOp::create(b, loc,
                               arith::AddIOp::create(b, loc, first, ofLane),
                               constantIndex(offset));
}

/// Goes on with what a lane has of a tile from `row` and `column` on.
void GpuEmitter::storeFragments(const MatrixNest &plan, const Env &tile,
                                Value row, Value column,
                                ArrayRef<Value> accumulators) {
  const MatrixInstruction &x = plan.x;
  const Contraction &c = *nest->contraction;
  Value result = c.root->reduce.getResult(0);
  unsigned fast = plan.columns.back().dim;
  int64_t width = plan.columnRun ? plan.columnRun : plan.columnTiles;
  while (width > 1 && !isMultiple(fast, width))
    width /= 2;
  LoopNest adapted = *nest;
  const LoopNest *whole = nest;
  adapted.vectorDim.reset();
  if (width > 1)
    adapted.vectorDim = fast;
  nest = &adapted;
  lanes = width;

  // [row tile][column tile][element]
  int64_t perTile = accumulators.size() / (plan.rowTiles * plan.columnTiles);
  SmallVector<SmallVector<Value>> elements;
  for (int64_t i = 0; i < plan.rowTiles * plan.columnTiles; ++i)
    elements.push_back(
        x.getElements(b, loc, accumulators.slice(i * perTile, perTile)));
  Value rowPart = partOf(x.resultRow, plan.lane);
  Value columnPart = partOf(x.resultColumn, plan.lane);
  bool rowsAreWhole = hasWholeTiles(plan.rows, plan.tileRows()),
       columnsAreWhole = hasWholeTiles(plan.columns, plan.tileColumns());
  auto positionOf = [&](Value first, Value part, int64_t add, int64_t count,
                        int64_t i) {
    Value at = part;
    if (add != 0)
      at = arith::AddIOp::create(b, loc, at, constantIndex(add));
    at = arith::MulIOp::create(b, loc, at, constantIndex(count));
    at = arith::AddIOp::create(b, loc, at, first);
    return i == 0 ? at
                  : Value(arith::AddIOp::create(b, loc, at, constantIndex(i)));
  };
  bool isTaken =
      llvm::any_of(nest->roots, [&](Root *root) { return root != c.root; });
  for (int64_t rt = 0; rt < plan.rowTiles; ++rt)
    for (auto [e, place] : llvm::enumerate(x.results)) {
      OpBuilder::InsertionGuard guard(b);
      Value r = positionOf(row, rowPart, place.rowPart, plan.laneRows(),
                           rt * x.rowsPerLane + place.row);
      if (!rowsAreWhole) {
        Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             r, countOf(plan.rows));
        auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
        b.setInsertionPoint(branch.thenYield());
      }
      Env rowEnv = tile;
      bindAxes(rowEnv, plan.rows, r);
      for (int64_t ct = 0; ct < plan.columnTiles; ct += width) {
        OpBuilder::InsertionGuard guard(b);
        Value at =
            plan.columnRun
                ? columnOfRun(plan, column, columnPart, place.columnPart, ct)
                : positionOf(column, columnPart, place.columnPart,
                             plan.columnTiles, ct);
        if (!columnsAreWhole) {
          Value exists = arith::CmpIOp::create(
              b, loc, arith::CmpIPredicate::ult, at, countOf(plan.columns));
          auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
          b.setInsertionPoint(branch.thenYield());
        }
        Env env = rowEnv;
        bindAxes(env, plan.columns, at);
        SmallVector<Value> own;
        for (int64_t i = 0; i < width; ++i)
          own.push_back(elements[rt * plan.columnTiles + ct + i][e]);
        Value v = own.front();
        if (width > 1)
          v = vector::FromElementsOp::create(
              b, loc, VectorType::get({width}, v.getType()), own);
        env.values[result] = v;
        if (isTaken) {
          emitAvailableForEpilogue(env);
          emitEpilogues(env);
        } else {
          storeTile(buffers.find(result)->second, v, env);
        }
      }
    }
  nest = whole;
  lanes = wideLanes;
}

int64_t GpuEmitter::threadsOf(const LoopNest &ofNest) const {
  const MatrixForm &form = *ofNest.contraction->matrix;
  auto count = [&](ArrayRef<unsigned> ofDims) {
    Axes axes;
    for (unsigned d : ofDims)
      axes.push_back({d, 1});
    return capacityOf(axes);
  };
  int64_t tiles =
      count(form.batch) *
      llvm::divideCeil(count(form.rows), form.instruction.rows) *
      llvm::divideCeil(count(form.columns), form.instruction.columns);
  return std::min<int64_t>(tiles, 1024) * form.instruction.lanes;
}

void GpuEmitter::setAxes(MatrixNest &plan) const {
  for (auto [axes, ofDims] : {std::pair(&plan.batch, &plan.form.batch),
                              {&plan.rows, &plan.form.rows},
                              {&plan.columns, &plan.form.columns},
                              {&plan.sums, &plan.form.sums}})
    for (unsigned d : *ofDims)
      axes->push_back({d, 1});
}

/// Whether tiles of so many end where the axes do.
bool GpuEmitter::hasWholeTiles(ArrayRef<Axis> axes, int64_t by) {
  std::optional<int64_t> count = staticCountOf(axes);
  return count && *count % by == 0;
}
