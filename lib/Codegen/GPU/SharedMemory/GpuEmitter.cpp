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

PointNumbering::Axes GpuEmitter::axesOf(ArrayRef<unsigned> ofDims) const {
  Axes axes;
  for (unsigned d : ofDims)
    axes.push_back({d, nest->vectorDim == d ? int64_t(lanes) : 1});
  llvm::stable_sort(axes, [&](const Axis &a, const Axis &c) {
    return (fastDim == a.dim) < (fastDim == c.dim);
  });
  return axes;
}

int64_t GpuEmitter::capacityOf(ArrayRef<Axis> axes) const {
  int64_t count = 1;
  for (const Axis &axis : axes) {
    count *= std::max<int64_t>(1, shape().capacityOf(axis.dim) / axis.step);
    count = std::min<int64_t>(count, int64_t(1) << 32);
  }
  return count;
}

void GpuEmitter::spread(ArrayRef<Axis> axes, function_ref<void(Env &)> body,
                        int64_t unrolled) {
  Env env = getOrigin();
  points.emitStridedLoop(thread, points.countOf(axes),
                         points.staticCountOf(axes), threads, unrolled, {},
                         [&](Value number, ValueRange) {
                           Env inner = env;
                           points.bind(inner, axes, number);
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

/// Vectors start at multiples of `lanes`; so do they in memory if every stride
/// is one. Buffers and arguments start at multiples of 16 bytes.
llvm::MaybeAlign GpuEmitter::alignmentOf(MemRefType type, AffineMap map) {
  AffineExpr index = map.getResults().back();
  int64_t first = 0;
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(index);
      sum && sum.getKind() == AffineExprKind::Add)
    if (auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
      index = sum.getLHS();
      first = constant.getValue();
    }
  auto last = dyn_cast<AffineDimExpr>(index);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!last || first % lanes != 0 || last.getPosition() != *nest->vectorDim ||
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
