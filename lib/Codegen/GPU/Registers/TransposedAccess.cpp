//===- TransposedAccess.cpp - accesses across the vectors of a nest -------===//
//
// Values of a nest are vectors along one dim. Where a tensor is contiguous along
// another, a thread has a rectangle of both: it moves vectors along the tensor's
// dim, and transposes the rectangle in its registers. That takes no instruction for
// elements of 32 bits, and one for two of 16.
//
//===----------------------------------------------------------------------===//
#include "RegisterEmitter.h"

#include "redfuse/Analysis/Windows.h"

using namespace mlir;
using namespace redfuse;

/// The dim of which a thread has runs, where a tensor is contiguous along it and
/// vectors are not.
std::optional<unsigned> RegisterEmitter::runDimOf(Value memref, AffineMap map,
                                                  const Env &env) const {
  if (map.getNumResults() == 0)
    return std::nullopt;
  // A slice begins anywhere.
  auto last = dyn_cast<AffineDimExpr>(withoutOffset(map.getResults().back()));
  if (!last || layout.dims[last.getPosition()].run == 1 ||
      !env.position[last.getPosition()] ||
      llvm::any_of(map.getResults().drop_back(), [&](AffineExpr e) {
        return e.isFunctionOfDim(last.getPosition());
      }))
    return std::nullopt;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(cast<MemRefType>(memref.getType())
                 .getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return std::nullopt;
  return last.getPosition();
}

/// Calls `body` once for every row of the rectangle, with vectors along its run:
/// for every lane of a tensor that has the dim of the nest's vectors.
void RegisterEmitter::forRowsAlong(unsigned d, AffineMap map, const Env &env,
                                   function_ref<void(unsigned, Env &)> body) {
  std::optional<unsigned> vectorDim = nest->vectorDim;
  bool isCrossed = vectorDim && getDimsOf(map).test(*vectorDim);
  unsigned rows = isCrossed ? lanes : 1;
  for (unsigned row = 0; row < rows; ++row) {
    Env at = env;
    if (row != 0)
      at.position[*vectorDim] = b.createOrFold<arith::AddIOp>(
          loc, env.position[*vectorDim], constantIndex(row));
    withVectors(d, layout.dims[d].run, [&] { body(row, at); });
  }
}

/// Loads a whole run: what this load asks for, and those that follow.
bool RegisterEmitter::loadRun(Value memref, AffineMap map, const Env &env) {
  std::optional<unsigned> d = runDimOf(memref, map, env);
  if (!d)
    return false;
  int64_t run = layout.dims[*d].run;
  Env at = env;
  positions.bind(at, *d, env.local[*d] / run * run);
  SmallVector<Value> rows;
  forRowsAlong(*d, map, at, [&](unsigned, Env &row) {
    rows.push_back(GpuEmitter::loadAt(memref, map, row, /*isLocal=*/false));
  });
  for (int64_t i = 0; i < run; ++i) {
    SmallVector<Value> column = llvm::map_to_vector(rows, [&](Value row) {
      return vector::ExtractOp::create(b, loc, row, i).getResult();
    });
    Value value = column.front();
    if (column.size() > 1)
      value = vector::FromElementsOp::create(
          b, loc, VectorType::get({int64_t(column.size())}, value.getType()),
          column);
    loaded.remember(LoadedValues::keyOf(memref, map, at), value);
    ++at.local[*d];
  }
  return true;
}

/// The elements of a run that ends here, as they were handed to stores; none while
/// it has not ended.
SmallVector<Value> RegisterEmitter::takeRun(unsigned d, Value memref,
                                            AffineMap map, Value value,
                                            Env &env) {
  int64_t run = layout.dims[d].run;
  positions.bind(env, d, env.local[d] / run * run);
  LoadedValues::Key key = LoadedValues::keyOf(memref, map, env);
  SmallVector<Value> &values = unfinishedRuns[key];
  values.push_back(value);
  if (int64_t(values.size()) < run)
    return {};
  SmallVector<Value> all = std::move(values);
  unfinishedRuns.erase(key);
  return all;
}

void RegisterEmitter::storeRun(unsigned d, Value memref, AffineMap map,
                               ArrayRef<Value> run, const Env &env) {
  forRowsAlong(d, map, env, [&](unsigned lane, Env &row) {
    SmallVector<Value> elements = llvm::map_to_vector(run, [&](Value v) {
      return isVector(v) ? vector::ExtractOp::create(b, loc, v, lane) : v;
    });
    Value whole = vector::FromElementsOp::create(
        b, loc,
        VectorType::get({int64_t(elements.size())}, elements.front().getType()),
        elements);
    GpuEmitter::storeAt(memref, map, whole, row, /*isLocal=*/false);
    markMovedOnce(memref);
  });
}
