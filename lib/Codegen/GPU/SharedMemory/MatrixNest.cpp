//===- MatrixNest.cpp - results of matrix instructions --------------------===//
#include "redfuse/Codegen/GPU/SharedMemory/MatrixNest.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

Value MatrixFragments::partOf(LaneField field, Value lane) {
  Value part = lane;
  if (field.count == 1)
    return emitter.constantIndex(0);
  if (field.by != 1)
    part = points.divide(part, emitter.constantIndex(field.by),
                         /*remainder=*/false);
  part = points.divide(part, emitter.constantIndex(field.count),
                       /*remainder=*/true);
  if (field.scale != 1)
    part =
        arith::MulIOp::create(b, loc, part, emitter.constantIndex(field.scale));
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

/// Goes on with what a lane has of a tile from `row` and `column` on.
void MatrixFragments::store(const MatrixNest &plan, const Env &tile, Value row,
                            Value column, ArrayRef<Value> accumulators) {
  unsigned fast = 0;
  int64_t width = 1;
  if (!plan.columns.empty()) {
    fast = plan.columns.back().dim;
    width = plan.columnTiles;
  }
  while (width > 1 && !emitter.isMultiple(fast, width))
    width /= 2;
  std::optional<unsigned> vectorDim;
  if (width > 1)
    vectorDim = fast;
  emitter.withVectors(vectorDim, width, [&] {
    storeVectors(plan, tile, row, column, accumulators, width);
  });
}

/// The same, in vectors of so many neighbouring columns.
void MatrixFragments::storeVectors(const MatrixNest &plan, const Env &tile,
                                   Value row, Value column,
                                   ArrayRef<Value> accumulators,
                                   int64_t width) {
  const MatrixInstruction &x = plan.x;
  const Contraction &c = *emitter.getNest().contraction;
  Value result = c.root->reduce.getResult(0);
  // [row tile][column tile][element]
  int64_t perTile = accumulators.size() / (plan.rowTiles * plan.columnTiles);
  SmallVector<SmallVector<Value>> elements;
  for (int64_t i = 0; i < plan.rowTiles * plan.columnTiles; ++i)
    elements.push_back(
        x.getElements(b, loc, accumulators.slice(i * perTile, perTile)));
  Value rowPart = partOf(x.resultRow, plan.lane);
  Value columnPart = partOf(x.resultColumn, plan.lane);
  bool rowsAreWhole = points.hasWholeTiles(plan.rows, plan.tileRows()),
       columnsAreWhole = points.hasWholeTiles(plan.columns, plan.tileColumns());
  auto positionOf = [&](Value first, Value part, int64_t add, int64_t count,
                        int64_t i) {
    Value at = part;
    if (add != 0)
      at = arith::AddIOp::create(b, loc, at, emitter.constantIndex(add));
    at = arith::MulIOp::create(b, loc, at, emitter.constantIndex(count));
    at = arith::AddIOp::create(b, loc, at, first);
    return i == 0 ? at
                  : Value(arith::AddIOp::create(b, loc, at,
                                                emitter.constantIndex(i)));
  };
  bool isTaken = llvm::any_of(emitter.getNest().roots,
                              [&](Root *root) { return root != c.root; });
  for (int64_t rt = 0; rt < plan.rowTiles; ++rt)
    for (auto [e, place] : llvm::enumerate(x.results)) {
      OpBuilder::InsertionGuard guard(b);
      Value r = positionOf(row, rowPart, place.rowPart, plan.laneRows(),
                           rt * x.rowsPerLane + place.row);
      if (!rowsAreWhole) {
        Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             r, points.countOf(plan.rows));
        auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
        b.setInsertionPoint(branch.thenYield());
      }
      Env rowEnv = tile;
      points.bind(rowEnv, plan.rows, r);
      for (int64_t ct = 0; ct < plan.columnTiles; ct += width) {
        OpBuilder::InsertionGuard guard(b);
        Value at = positionOf(column, columnPart, place.columnPart,
                              plan.columnTiles, ct);
        if (!columnsAreWhole) {
          Value exists =
              arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                    points.countOf(plan.columns));
          auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
          b.setInsertionPoint(branch.thenYield());
        }
        Env env = rowEnv;
        points.bind(env, plan.columns, at);
        SmallVector<Value> own;
        for (int64_t i = 0; i < width; ++i)
          own.push_back(elements[rt * plan.columnTiles + ct + i][e]);
        Value v = own.front();
        if (width > 1)
          v = vector::FromElementsOp::create(
              b, loc, VectorType::get({width}, v.getType()), own);
        env.values[result] = v;
        if (isTaken) {
          emitter.emitAvailableForEpilogue(env);
          emitter.emitEpilogues(env);
        } else {
          emitter.storeTile(*emitter.findBuffer(result), v, env);
        }
      }
    }
}

void MatrixNest::setAxes() {
  for (auto [axes, ofDims] : {std::pair(&batch, &form.batch),
                              {&rows, &form.rows},
                              {&columns, &form.columns},
                              {&sums, &form.sums}})
    for (unsigned d : *ofDims)
      axes->push_back({d, 1});
}
