//===- GpuEmitter.cpp - points of a tile program over threads -------------===//
#include "TeamReduction.h"
#include "WarpProduct.h"
#include "WarpTopK.h"

#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

#include "redfuse/Codegen/Common/KernelGenerator.h"
#include "redfuse/Codegen/Common/OrderedRows.h"
#include "redfuse/Codegen/Common/RegisterTile.h"
#include "redfuse/Codegen/GPU/Common/GpuAssertions.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Numberings
//===----------------------------------------------------------------------===//

GpuEmitter::Axes GpuEmitter::axesOf(ArrayRef<unsigned> ofDims) const {
  Axes axes;
  for (unsigned d : ofDims)
    axes.push_back({d, nest->vectorDim == d ? int64_t(lanes) : 1});
  llvm::stable_sort(axes, [&](const Axis &a, const Axis &c) {
    return (fastDim == a.dim) < (fastDim == c.dim);
  });
  return axes;
}

Value GpuEmitter::stepsOf(Axis axis) {
  const SpaceDim &dim = dims[axis.dim];
  if (dim.staticSize)
    return constantIndex(*dim.staticSize / axis.step);
  if (axis.step == 1)
    return dim.size;
  return arith::DivUIOp::create(b, loc, dim.size, constantIndex(axis.step));
}

std::optional<int64_t> GpuEmitter::staticCountOf(ArrayRef<Axis> axes) const {
  int64_t count = 1;
  for (const Axis &axis : axes) {
    if (!dims[axis.dim].staticSize)
      return std::nullopt;
    count *= *dims[axis.dim].staticSize / axis.step;
  }
  return count;
}

Value GpuEmitter::countOf(ArrayRef<Axis> axes) {
  if (std::optional<int64_t> known = staticCountOf(axes))
    return constantIndex(*known);
  Value count;
  for (const Axis &axis : axes) {
    Value steps = stepsOf(axis);
    count = count ? Value(arith::MulIOp::create(b, loc, count, steps)) : steps;
  }
  return count;
}

/// The count as far as it is known at compile time; what is not counts as long.
int64_t GpuEmitter::capacityOf(ArrayRef<Axis> axes) const {
  int64_t count = 1;
  for (const Axis &axis : axes) {
    count *= std::max<int64_t>(1, shape().capacityOf(axis.dim) / axis.step);
    count = std::min<int64_t>(count, int64_t(1) << 32);
  }
  return count;
}

/// Points of a tile are few: 32 bits, in which division is several times faster.
Value GpuEmitter::divide(Value number, Value by, bool remainder) {
  Type i32 = b.getI32Type(), index = b.getIndexType();
  Value n = arith::IndexCastUIOp::create(b, loc, i32, number);
  Value d = arith::IndexCastUIOp::create(b, loc, i32, by);
  Value q = remainder ? Value(arith::RemUIOp::create(b, loc, n, d))
                      : Value(arith::DivUIOp::create(b, loc, n, d));
  return arith::IndexCastUIOp::create(b, loc, index, q);
}

/// Binds the dims of `axes` to point `number`; the last axis runs fastest.
void GpuEmitter::bindAxes(Env &env, ArrayRef<Axis> axes, Value number) {
  Value rest = number;
  unsigned left = axes.size();
  for (const Axis &axis : llvm::reverse(axes)) {
    --left;
    Value at = rest;
    const SpaceDim &dim = dims[axis.dim];
    if (dim.staticSize && *dim.staticSize == axis.step) {
      env.position[axis.dim] = constantIndex(0);
      continue;
    }
    bool isLast = true;
    for (const Axis &outer : axes.take_front(left))
      isLast &= dims[outer.dim].staticSize &&
                *dims[outer.dim].staticSize == outer.step;
    if (!isLast) {
      Value steps = stepsOf(axis);
      at = divide(rest, steps, /*remainder=*/true);
      rest = divide(rest, steps, /*remainder=*/false);
    }
    if (axis.step != 1)
      at = arith::MulIOp::create(b, loc, at, constantIndex(axis.step));
    env.position[axis.dim] = at;
  }
}

/// The points `first`, `first + step`, ... below `limit`, where `first` is below
/// `step`. If there is a known `count` of points and all threads have the same
/// few, one after another without a loop: what one nest has in registers is
/// there for the next (ReuseValues).
SmallVector<Value> GpuEmitter::emitStridedLoop(
    Value first, Value limit, std::optional<int64_t> count, int64_t step,
    int64_t unrolled, ValueRange state,
    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  if (!count || *count % step != 0 || *count / step > unrolled)
    return emitFor(b, loc, first, limit, constantIndex(step), state, body);
  SmallVector<Value> current(state);
  for (int64_t start = 0; start < *count; start += step) {
    Value point = first;
    if (start != 0)
      point = arith::AddIOp::create(b, loc, first, constantIndex(start));
    current = body(point, current);
  }
  return current;
}

/// Runs `body` at every point of `axes`, each in one thread.
void GpuEmitter::spread(ArrayRef<Axis> axes, function_ref<void(Env &)> body,
                        int64_t unrolled) {
  Env env;
  env.position.assign(dims.size(), Value());
  emitStridedLoop(thread, countOf(axes), staticCountOf(axes), threads, unrolled,
                  {}, [&](Value number, ValueRange) {
                    Env inner = env;
                    bindAxes(inner, axes, number);
                    body(inner);
                    return SmallVector<Value>();
                  });
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

LogicalResult GpuEmitter::emitNest(const LoopNest &whole) {
  LoopNest adapted = whole;
  fastDim = adapted.vectorDim;
  // Vectors only where every one is whole: no masks. Threads still take
  // neighbouring elements.
  lanes = wideLanes;
  while (adapted.vectorDim && lanes > 1 &&
         !isMultiple(*adapted.vectorDim, lanes))
    lanes /= 2;
  if (!adapted.vectorDim)
    lanes = 1;
  if (lanes == 1 && !adapted.contraction)
    adapted.vectorDim.reset();
  selectNest(adapted);
  if (nest->contraction && nest->contraction->matrix)
    WarpProduct(*this).emit();
  else if (nest->contraction)
    emitContraction();
  else if (nest->isAlone && !reduces.empty() && WarpTopK(*this).canEmit())
    WarpTopK(*this).emit();
  else if (nest->isAlone && !reduces.empty())
    spread(
        axesOf(intoDims),
        [&](Env &env) {
          emitAvailable(env);
          OrderedRows(*this).emitTopK(env);
        },
        /*unrolled=*/1);
  else if (nest->roots.front()->kind == Root::Kind::MergeTopk)
    spread(
        axesOf(intoDims),
        [&](Env &env) { OrderedRows(*this).emitTopKMerge(env); },
        /*unrolled=*/1);
  else if (!nest->over.empty() && reduces.empty())
    spread(
        axesOf(intoDims), [&](Env &env) { OrderedRows(*this).emitScan(env); },
        /*unrolled=*/1);
  else if (!nest->over.empty())
    TeamReduction(*this).emit();
  else
    spread(axesOf(intoDims), [&](Env &env) { emitPoint(env); });
  nest = nullptr;
  lanes = wideLanes;
  return success();
}

void GpuEmitter::emitFill(const TileBuffer &buffer, TypedAttr value) {
  LoopNest fill;
  fill.dims = SmallBitVector(dims.size());
  for (unsigned d : buffer.dims)
    fill.dims.set(d);
  fastDim = std::nullopt;
  if (!buffer.dims.empty()) {
    fastDim = buffer.dims.back();
    lanes = wideLanes;
    while (lanes > 1 && !isMultiple(*fastDim, lanes))
      lanes /= 2;
    if (lanes > 1)
      fill.vectorDim = fastDim;
  }
  nest = &fill;
  needed.clear();
  Value scalar = constant(value);
  spread(axesOf(buffer.dims),
         [&](Env &env) { storeTile(buffer, scalar, env); });
  nest = nullptr;
  lanes = wideLanes;
}

/// Every thread has whole register tiles of the result.
void GpuEmitter::emitContraction() {
  const Contraction &c = *nest->contraction;
  Axes axes;
  for (unsigned d : c.outer)
    axes.push_back({d, 1});
  if (c.m)
    axes.push_back({*c.m, 1});
  axes.push_back({c.n, int64_t(lanes)});
  unsigned rows = 1;
  if (c.m) {
    // Taller tiles while all threads have one.
    Axis &m = axes[axes.size() - 2];
    while (rows < 8 && isMultiple(*c.m, rows * 2) &&
           capacityOf(axes) >= 2 * int64_t(threads)) {
      rows *= 2;
      m.step = rows;
    }
  }
  spread(
      axes, [&](Env &env) { RegisterTile(*this).emit(env, rows, 1); },
      /*unrolled=*/1);
}

/// Vectors start at multiples of `lanes`; so do they in memory if every stride
/// is one. Buffers and arguments start at multiples of 16 bytes.
llvm::MaybeAlign GpuEmitter::alignmentOf(MemRefType type, AffineMap map) {
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!last || last.getPosition() != *nest->vectorDim ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) || offset % lanes != 0)
    return std::nullopt;
  for (int64_t stride : ArrayRef(strides).drop_back())
    if (ShapedType::isDynamic(stride) || stride % lanes != 0)
      return std::nullopt;
  int64_t bytes = bytesOf(type.getElementType()) * int64_t(lanes);
  return llvm::Align(std::min(bytes, kAccessBytes));
}

void GpuEmitter::emitAssert(const Root &root, Value condition, Env &env) {
  auto any = [&](Value flags) {
    return isa<VectorType>(flags.getType())
               ? vector::ReductionOp::create(b, loc, vector::CombiningKind::OR,
                                             flags)
                     .getResult()
               : flags;
  };
  TypedAttr allTrue = b.getBoolAttr(true);
  if (auto lanes = dyn_cast<VectorType>(condition.getType()))
    allTrue = DenseElementsAttr::get(lanes, true);
  Value yes = arith::ConstantOp::create(b, loc, allTrue);
  Value failed = arith::XOrIOp::create(b, loc, condition, yes);
  if (Value exists = existsAt(env, root.dims)) {
    if (exists.getType() != failed.getType()) {
      exists = any(exists);
      failed = any(failed);
    }
    failed = arith::AndIOp::create(b, loc, failed, exists);
  }
  reportFailure(b, loc, any(failed),
                cast<cf::AssertOp>(root.assertion).getMsg());
}

//===----------------------------------------------------------------------===//
// What threads combine
//===----------------------------------------------------------------------===//

void GpuEmitter::barrier() { gpu::BarrierOp::create(b, loc); }

void GpuEmitter::combineParts(ReduceOp reduce, Parts &parts,
                              ArrayRef<Value> other) {
  if (isPair(reduce.getReducer()))
    combinePair(reduce.getReducer(), parts[0], parts[1], other[0], other[1],
                /*isOrdered=*/false);
  else
    parts = combineStates(reduce, parts, other);
}

/// A scalar of the lanes of one vector, as a tree.
void GpuEmitter::foldLanes(ReduceOp reduce, Parts &parts) {
  SmallVector<Parts> lanesOf(
      cast<VectorType>(parts[0].getType()).getNumElements());
  for (Value part : parts)
    for (auto [i, element] : llvm::enumerate(scalarsOf(b, loc, part)))
      lanesOf[i].push_back(element);
  while (lanesOf.size() > 1) {
    unsigned half = lanesOf.size() / 2;
    for (unsigned i = 0; i < half; ++i)
      combineParts(reduce, lanesOf[i], lanesOf[i + half]);
    lanesOf.resize(half);
  }
  parts = lanesOf.front();
}
