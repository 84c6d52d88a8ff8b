//===- CpuNest.cpp - loop nests of maps and reductions --------------------===//
#include "Tuning.h"

#include "CpuEmitter.h"

#include "redfuse/Codegen/Common/OrderedRows.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

LogicalResult CpuEmitter::emitNest(const LoopNest &newNest) {
  selectNest(newNest);
  if (nest->contraction)
    emitContraction();
  else if (nest->isAlone && !reduces.empty())
    emitEach([&](Env &env) { OrderedRows(*this).emitTopK(env); });
  else if (nest->roots.front()->kind == Root::Kind::MergeTopk)
    emitEach([&](Env &env) { OrderedRows(*this).emitTopKMerge(env); });
  else
    emitLoops();
  nest = nullptr;
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// `size` rounded down to a multiple of `by`.
static Value roundDown(OpBuilder &b, Location loc, Value size,
                       std::optional<int64_t> staticSize, int64_t by,
                       function_ref<Value(int64_t)> constant) {
  if (staticSize)
    return constant(*staticSize / by * by);
  Value step = constant(by);
  Value count = arith::DivUIOp::create(b, loc, size, step);
  return arith::MulIOp::create(b, loc, count, step);
}

/// `env` at the ragged end of a dim, where only some lanes exist.
Env CpuEmitter::inTail(Env env, unsigned d, Value position, Value left) {
  env.position[d] = position;
  env.lanesLeft = left;
  env.mask = vector::CreateMaskOp::create(
      b, loc, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
  return env;
}

Value CpuEmitter::loadLanes(Value memref, AffineMap map, SmallVector<Value> at,
                            Env &env) {
  auto type = cast<MemRefType>(memref.getType());
  std::optional<int64_t> stride =
      strideAlong(map, *nest->vectorDim, kMostStride);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!stride || failed(type.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return TileEmitter::loadLanes(memref, map, std::move(at), env);
  // All of these are read but what lies behind the last lane.
  auto vectorType = VectorType::get({lanes}, type.getElementType());
  Value needed = constantIndex(*stride * (lanes - 1) + 1);
  if (env.lanesLeft) {
    Value before =
        arith::SubIOp::create(b, loc, env.lanesLeft, constantIndex(1));
    needed = arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, before, constantIndex(*stride)),
        constantIndex(1));
  }
  SmallVector<Value> indices = indicesOf(map, at);
  Value first = indices.back(), none = constant(b.getZeroAttr(vectorType)),
        result;
  for (int64_t i = 0; i < *stride; ++i) {
    indices.back() =
        arith::AddIOp::create(b, loc, first, constantIndex(i * lanes));
    Value loaded;
    if (!env.lanesLeft && i + 1 < *stride) {
      loaded = vector::LoadOp::create(b, loc, vectorType, memref, indices);
    } else {
      Value left =
          arith::SubIOp::create(b, loc, needed, constantIndex(i * lanes));
      Value mask = vector::CreateMaskOp::create(
          b, loc, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
      loaded = vector::MaskedLoadOp::create(b, loc, vectorType, memref, indices,
                                            mask, none);
    }
    if (!result) {
      result = loaded;
      continue;
    }
    // Of lanes whose elements are in the vectors before this one, and in it.
    SmallVector<int64_t> from;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t element = lane * *stride, of = element / lanes;
      from.push_back(of == i  ? lanes + element % lanes
                     : i == 1 ? (of == 0 ? element : 0)
                              : lane);
    }
    result = vector::ShuffleOp::create(b, loc, result, loaded, from);
  }
  return result;
}

void CpuEmitter::emitVectorLoop(unsigned d, Env &env,
                                function_ref<void(Env &)> body) {
  SpaceDim &dim = dims[d];
  auto constantOf = [&](int64_t v) { return constantIndex(v); };
  Value whole = roundDown(b, loc, dim.size, dim.staticSize, lanes, constantOf);
  if (!dim.staticSize || *dim.staticSize >= lanes)
    emitFor(b, loc, constantIndex(0), whole, constantIndex(lanes), {},
            [&](Value iv, ValueRange) {
              Env inner = env;
              inner.position[d] = iv;
              body(inner);
              return SmallVector<Value>();
            });
  if (dim.staticSize && *dim.staticSize % lanes == 0)
    return;
  OpBuilder::InsertionGuard guard(b);
  Value left = arith::SubIOp::create(b, loc, dim.size, whole);
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, left,
                                    constantIndex(0));
  auto branch = scf::IfOp::create(b, loc, any, /*withElse=*/false);
  b.setInsertionPoint(branch.thenYield());
  Env inner = inTail(env, d, whole, left);
  body(inner);
}

void CpuEmitter::emitLoops() {
  // The vector dim innermost, so that what does not depend on it is hoisted.
  if (nest->vectorDim)
    llvm::stable_sort(intoDims, [&](unsigned a, unsigned c) {
      return (a == *nest->vectorDim) < (c == *nest->vectorDim);
    });
  Env env;
  env.position.assign(dims.size(), Value());
  emitAvailable(env);
  emitInto(0, env);
}

void CpuEmitter::emitInto(unsigned i, Env env) {
  if (i == intoDims.size()) {
    if (nest->over.empty())
      emitPoint(env);
    else if (nest->vectorDim == nest->over.front() && reduces.empty())
      emitScanOfLanes(env);
    else if (reduces.empty())
      OrderedRows(*this).emitScan(env);
    else
      emitReduction(env);
    return;
  }
  unsigned d = intoDims[i];
  bool isLast = i + 1 == intoDims.size();
  if (isLast && nest->vectorDim == d && foldsColumns())
    return emitColumns(env);
  if (isLast && rowsTogether() == d)
    return emitRowsTogether(d, env, kRowsTogether);
  if (nest->vectorDim == d)
    return emitVectorLoop(d, env, [&](Env &inner) {
      emitAvailable(inner);
      emitInto(i + 1, inner);
    });
  emitFor(b, loc, constantIndex(0), dims[d].size, constantIndex(1), {},
          [&](Value iv, ValueRange) {
            Env inner = env;
            inner.position[d] = iv;
            emitAvailable(inner);
            emitInto(i + 1, inner);
            return SmallVector<Value>();
          });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void CpuEmitter::emitReduction(Env &env) {
  emitAvailable(env);
  // Several accumulators where the innermost loop is long enough to use them.
  unsigned last = nest->over.back();
  int64_t step = nest->vectorDim == last ? lanes : 1;
  bool isShort =
      dims[last].staticSize && *dims[last].staticSize < 2 * kCopies * step;
  unsigned copies = isShort || nest->isOrdered ? 1 : kCopies;
  // Lanes are accumulated where the vector dim is reduced or is one of the
  // result's; a result without it is a scalar.
  SmallVector<Value> init;
  for (unsigned c = 0; c < copies; ++c)
    llvm::append_range(init, startReductions(env));
  SmallVector<Value> accumulators = emitOver(0, env, init, copies);
  finishReduction(env, accumulators, copies);
}

/// Steps that one accumulator takes inside loop `i` of the reduced dims, 1 for those
/// of open extents; the innermost loop takes vectors, and `copies` of them at a time.
int64_t CpuEmitter::stepsInside(unsigned i, unsigned copies) {
  int64_t steps = 1;
  for (unsigned d : ArrayRef(nest->over).drop_front(i + 1)) {
    int64_t size = dims[d].staticSize.value_or(1);
    int64_t each = nest->vectorDim == d ? lanes : 1;
    if (d == nest->over.back())
      each *= copies;
    steps *= std::max<int64_t>(1, size / each);
    if (steps >= kAddends)
      return kAddends;
  }
  return steps;
}

/// A loop over `range` that folds into `accumulators`, `inside` steps at a time. A sum
/// of floats loses a digit for each that its number of addends has, since every
/// addition is rounded to the digits of what came before. So long loops are cut: of
/// every kAddends addends a sum of their own is made, and these are added. All else
/// goes through, and the order of a fold whose prefixes are results stays.
CpuEmitter::Accumulators
CpuEmitter::emitSummed(const Steps &range, int64_t inside, Env &env,
                       Accumulators accumulators,
                       function_ref<Accumulators(Value, ValueRange)> body) {
  Value step = constantIndex(range.step);
  int64_t length = std::max<int64_t>(1, kAddends / inside);
  SmallVector<unsigned> sums;
  unsigned next = 0;
  for (Root *root : reduces) {
    ReduceOp reduce = root->reduce;
    if (!reduce.isDeclared() && reduce.getReducer() == Reducer::Add &&
        isa<FloatType>(reduce.getOperand(0).getType()))
      sums.push_back(next);
    next += reduce.getNumOperands();
  }
  if (sums.empty() || nest->isOrdered ||
      (range.size && *range.size <= length * range.step))
    return emitFor(b, loc, range.begin, range.end, step, accumulators, body);

  unsigned perCopy = next;
  int64_t stride = length * range.step;
  return emitFor(
      b, loc, range.begin, range.end, constantIndex(stride), accumulators,
      [&](Value begin, ValueRange state) {
        SmallVector<Value> own(state);
        SmallVector<Value> empty = startReductions(env);
        for (unsigned first = 0; first < own.size(); first += perCopy)
          for (unsigned i : sums)
            own[first + i] = empty[i];
        Value end = arith::AddIOp::create(b, loc, begin, constantIndex(stride));
        end = arith::MinSIOp::create(b, loc, end, range.end);
        own = length == 1 ? body(begin, own)
                          : emitFor(b, loc, begin, end, step, own, body);
        for (unsigned first = 0; first < own.size(); first += perCopy)
          for (unsigned i : sums)
            own[first + i] =
                combine(Reducer::Add, state[first + i], own[first + i]);
        return own;
      });
}

CpuEmitter::Accumulators CpuEmitter::emitOver(unsigned i, Env env,
                                              Accumulators accumulators,
                                              unsigned copies) {
  unsigned d = nest->over[i];
  SpaceDim &dim = dims[d];
  if (i + 1 < nest->over.size() && nest->vectorDim != d)
    return emitSummed(
        {constantIndex(0), dim.size, dim.staticSize, 1}, stepsInside(i, copies),
        env, accumulators, [&](Value iv, ValueRange state) {
          Env inner = env;
          inner.position[d] = iv;
          emitAvailable(inner);
          return emitOver(i + 1, inner, SmallVector<Value>(state), copies);
        });

  unsigned perCopy = accumulators.size() / copies;
  bool isLast = i + 1 == nest->over.size();
  auto point = [&](Env &inner, MutableArrayRef<Value> own) {
    emitAvailable(inner);
    if (isLast) {
      accumulate(inner, own);
      emitPoint(inner);
      return;
    }
    // A vector dim that is not the innermost of the reduced ones.
    SmallVector<Value> result =
        emitOver(i + 1, inner, SmallVector<Value>(own), 1);
    llvm::copy(result, own.begin());
  };
  int64_t step = nest->vectorDim == d ? lanes : 1;
  auto constantOf = [&](int64_t v) { return constantIndex(v); };
  Value zero = constantIndex(0), position = zero;
  if (copies > 1 && isLast) {
    Value end =
        roundDown(b, loc, dim.size, dim.staticSize, step * copies, constantOf);
    accumulators = emitSummed(
        {zero, end, dim.staticSize, step * copies}, 1, env, accumulators,
        [&](Value iv, ValueRange state) {
          SmallVector<Value> next(state);
          for (unsigned c = 0; c < copies; ++c) {
            Env inner = env;
            inner.position[d] =
                c == 0 ? iv
                       : Value(arith::AddIOp::create(b, loc, iv,
                                                     constantIndex(c * step)));
            point(inner, MutableArrayRef(next).slice(c * perCopy, perCopy));
          }
          return next;
        });
    position = end;
  }
  if (!(dim.staticSize && copies > 1 && isLast &&
        *dim.staticSize % (step * copies) == 0)) {
    Value end = roundDown(b, loc, dim.size, dim.staticSize, step, constantOf);
    // Behind the loop of several copies this is their remainder: short.
    std::optional<int64_t> size = dim.staticSize;
    if (copies > 1 && isLast)
      size = 1;
    SmallVector<Value> first = emitSummed(
        {position, end, size, step}, isLast ? 1 : stepsInside(i, 1), env,
        SmallVector<Value>(ArrayRef(accumulators).take_front(perCopy)),
        [&](Value iv, ValueRange state) {
          SmallVector<Value> next(state);
          Env inner = env;
          inner.position[d] = iv;
          point(inner, next);
          return next;
        });
    llvm::copy(first, accumulators.begin());
    position = end;
  }
  if (step == 1 || (dim.staticSize && *dim.staticSize % step == 0))
    return accumulators;
  // The ragged tail: only some lanes exist.
  OpBuilder::InsertionGuard guard(b);
  Value left = arith::SubIOp::create(b, loc, dim.size, position);
  Value any =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, left, zero);
  SmallVector<Type> types;
  for (Value v : ArrayRef(accumulators).take_front(perCopy))
    types.push_back(v.getType());
  auto branch = scf::IfOp::create(b, loc, types, any, /*withElse=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, ValueRange(accumulators).take_front(perCopy));
  b.setInsertionPointToStart(branch.thenBlock());
  Env inner = inTail(env, d, position, left);
  SmallVector<Value> own(accumulators.begin(), accumulators.begin() + perCopy);
  point(inner, own);
  scf::YieldOp::create(b, loc, own);
  llvm::copy(branch.getResults(), accumulators.begin());
  return accumulators;
}

static vector::CombiningKind kindOf(Reducer reducer) {
  switch (reducer) {
  case Reducer::Add:
    return vector::CombiningKind::ADD;
  case Reducer::Mul:
    return vector::CombiningKind::MUL;
  case Reducer::MaximumF:
    return vector::CombiningKind::MAXIMUMF;
  case Reducer::MinimumF:
    return vector::CombiningKind::MINIMUMF;
  case Reducer::MaxNumF:
    return vector::CombiningKind::MAXNUMF;
  case Reducer::MinNumF:
    return vector::CombiningKind::MINNUMF;
  case Reducer::MaxSI:
    return vector::CombiningKind::MAXSI;
  case Reducer::MinSI:
    return vector::CombiningKind::MINSI;
  case Reducer::MaxUI:
    return vector::CombiningKind::MAXUI;
  case Reducer::MinUI:
    return vector::CombiningKind::MINUI;
  case Reducer::And:
    return vector::CombiningKind::AND;
  case Reducer::Or:
    return vector::CombiningKind::OR;
  case Reducer::Xor:
    return vector::CombiningKind::XOR;
  case Reducer::ArgMax:
  case Reducer::ArgMin:
  case Reducer::TopK:
  case Reducer::Declared:
    break;
  }
  llvm_unreachable("this reducer has no kind");
}

/// Folds copies and lanes, and stores the results.
void CpuEmitter::finishReduction(Env &env, ArrayRef<Value> accumulators,
                                 unsigned copies) {
  unsigned perCopy = accumulators.size() / copies;
  bool foldLanes =
      nest->vectorDim && llvm::is_contained(nest->over, *nest->vectorDim);
  // The result stands at a point without the vector dim where that is reduced.
  auto reassociate = arith::FastMathFlags::reassoc;
  unsigned next = 0;
  for (Root *root : reduces) {
    ReduceOp reduce = root->reduce;
    Reducer reducer = reduce.getReducer();
    unsigned first = next;
    next += reduce.getNumOperands();
    SmallVector<Value> result(accumulators.slice(first, next - first));
    for (unsigned c = 1; c < copies; ++c) {
      ArrayRef<Value> other =
          accumulators.slice(c * perCopy + first, next - first);
      if (isPair(reducer))
        combinePair(reducer, result[0], result[1], other[0], other[1],
                    /*isOrdered=*/false);
      else
        result = combineStates(reduce, result, other);
    }
    if (foldLanes && reduce.isDeclared()) {
      SmallVector<Value> wide = result;
      for (unsigned lane = 0; lane < lanes; ++lane) {
        SmallVector<Value> one = llvm::map_to_vector(wide, [&](Value v) {
          return Value(
              vector::ExtractOp::create(b, loc, v, ArrayRef<int64_t>{lane}));
        });
        result = lane == 0 ? one : combineStates(reduce, result, one);
      }
    } else if (foldLanes && isPair(reducer)) {
      bool isFloat = isa<FloatType>(reduce.getOperand(0).getType());
      bool isMax = reducer == Reducer::ArgMax;
      Reducer extreme = isFloat
                            ? (isMax ? Reducer::MaximumF : Reducer::MinimumF)
                            : (isMax ? Reducer::MaxSI : Reducer::MinSI);
      Value best = vector::ReductionOp::create(b, loc, kindOf(extreme),
                                               result[0], reassociate);
      Value wide = asVector(best);
      Value isBest =
          isFloat
              ? Value(arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                            result[0], wide))
              : Value(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            result[0], wide));
      Type indexType = reduce.getOperand(1).getType();
      unsigned width =
          indexType.isIndex() ? 64 : indexType.getIntOrFloatBitWidth();
      Value none = asVector(constant(
          b.getIntegerAttr(indexType, APInt::getSignedMaxValue(width))));
      Value candidates =
          arith::SelectOp::create(b, loc, isBest, result[1], none);
      Value lowest = vector::ReductionOp::create(
          b, loc, vector::CombiningKind::MINSI, candidates);
      // No lane is NaN: the best is one of them.
      result[0] = best;
      result[1] = lowest;
    } else if (foldLanes) {
      result[0] = vector::ReductionOp::create(b, loc, kindOf(reducer),
                                              result[0], reassociate);
    }
    Env at = env;
    for (auto [value, to] : llvm::zip_equal(result, root->getResults())) {
      auto buffer = buffers.find(to);
      if (buffer != buffers.end())
        storeTile(buffer->second, value, at);
    }
  }
}

//===----------------------------------------------------------------------===//
// Sorted lists
//===----------------------------------------------------------------------===//

/// One point of the kept dims after another.
void CpuEmitter::emitEach(function_ref<void(Env &)> body) {
  std::function<void(unsigned, Env)> into = [&](unsigned i, Env env) {
    if (i == intoDims.size())
      return body(env);
    unsigned d = intoDims[i];
    emitFor(b, loc, constantIndex(0), dims[d].size, constantIndex(1), {},
            [&](Value iv, ValueRange) {
              Env inner = env;
              inner.position[d] = iv;
              into(i + 1, inner);
              return SmallVector<Value>();
            });
  };
  Env env;
  env.position.assign(dims.size(), Value());
  into(0, env);
}

//===----------------------------------------------------------------------===//
// Fills
//===----------------------------------------------------------------------===//

void CpuEmitter::emitFill(const TileBuffer &buffer, TypedAttr value) {
  LoopNest fill;
  fill.dims = SmallBitVector(dims.size());
  for (unsigned d : buffer.dims)
    fill.dims.set(d);
  if (!buffer.dims.empty())
    fill.vectorDim = buffer.dims.back();
  nest = &fill;
  needed.clear();
  Env env;
  env.position.assign(dims.size(), Value());
  Value scalar = constant(value);
  std::function<void(unsigned, Env &)> loops = [&](unsigned i, Env &outer) {
    if (i == buffer.dims.size())
      return storeTile(buffer, scalar, outer);
    unsigned d = buffer.dims[i];
    if (fill.vectorDim == d)
      return emitVectorLoop(d, outer, [&](Env &inner) { loops(i + 1, inner); });
    auto loop = scf::ForOp::create(b, loc, constantIndex(0), dims[d].size,
                                   constantIndex(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Env inner = outer;
    inner.position[d] = loop.getInductionVar();
    loops(i + 1, inner);
  };
  loops(0, env);
  nest = nullptr;
}
