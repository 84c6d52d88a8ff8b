//===- RegisterKernel.cpp - kernels whose tiles are registers --------------===//
//
// A block runs the programs of a kernel one after another, as for any target,
// but the tiles are registers (RegisterEmitter), so that a streamed dim is walked
// by a loop that carries the states of a fold as values. Steps that are whole
// have no masks; what is left at the end is one step with masks.
//
//===----------------------------------------------------------------------===//
#include "RegisterKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace redfuse;

bool redfuse::isOrdered(FoldOp fold) {
  auto certificate = fold->getAttrOfType<DictionaryAttr>("certificate");
  return certificate && certificate.contains("ordered");
}

namespace {
class RegisterKernelGenerator : public KernelGenerator {
public:
  using KernelGenerator::KernelGenerator;

  FailureOr<bool> run(gpu::GPUModuleOp module, StringRef name);

private:
  LogicalResult emitProgram(IndexProgramOpInterface op) override;
  LogicalResult walkStream(IndexProgramOpInterface op, unsigned i);
  LogicalResult emitStep(IndexProgramOpInterface op, unsigned i);
  SmallVector<const Group *> groupsOf(IndexProgramOpInterface op,
                                      bool isInvariant);
  void giveTiles();
  /// A loop or branch that carries the states of the op, if it is a fold.
  LogicalResult carry(IndexProgramOpInterface op, Value from, Value to,
                      Value step, function_ref<LogicalResult(Value)> body);

  RegisterLayout layout;
  RegisterEmitter *own = nullptr;
  SmallBitVector streamed;
};
} // namespace

/// Every tile is a number.
void RegisterKernelGenerator::giveTiles() {
  unsigned next = 0;
  for (TileRequest &request : requestTiles()) {
    TileBuffer buffer;
    buffer.dims = request.of;
    buffer.id = next++;
    request.give(buffer);
  }
}

SmallVector<const Group *>
RegisterKernelGenerator::groupsOf(IndexProgramOpInterface op,
                                  bool isInvariant) {
  SmallVector<const Group *> result;
  for (const Group &group : programs[op]->getGroups())
    if (group.isInvariant == isInvariant)
      result.push_back(&group);
  return result;
}

LogicalResult
RegisterKernelGenerator::carry(IndexProgramOpInterface op, Value from, Value to,
                               Value step,
                               function_ref<LogicalResult(Value)> body) {
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  SmallVector<Value> states;
  if (fold)
    states = own->takeStates(fold);
  auto loop = scf::ForOp::create(b, loc, from, to, step, states);
  {
    OpBuilder::InsertionGuard guard(b);
    if (states.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(loop.getBody());
    if (fold)
      own->setStates(fold,
                     SmallVector<Value>(loop.getRegionIterArgs()));
    own->pushScope();
    LogicalResult result = body(loop.getInductionVar());
    own->popScope();
    if (failed(result))
      return failure();
    // The next step writes where this one reads.
    if (own->takeExchanged())
      own->synchronize();
    if (!states.empty())
      scf::YieldOp::create(b, loc, own->takeStates(fold));
  }
  if (fold)
    own->setStates(fold, SmallVector<Value>(loop.getResults()));
  return success();
}

LogicalResult RegisterKernelGenerator::emitStep(IndexProgramOpInterface op,
                                                unsigned i) {
  if (i + 1 < streamDims.size())
    return walkStream(op, i + 1);
  own->prefetch(groupsOf(op, /*isInvariant=*/false), streamed,
                /*streams=*/true);
  for (const Group *group : groupsOf(op, /*isInvariant=*/false))
    if (failed(own->emitGroup(*group)))
      return failure();
  return success();
}

/// Walks the i-th streamed dim: whole steps, then what is left.
LogicalResult RegisterKernelGenerator::walkStream(IndexProgramOpInterface op,
                                                  unsigned i) {
  unsigned d = streamDims[i];
  SpaceDim whole = dims[d];
  const DimShare &share = layout.dims[d];
  int64_t span = share.getSpan();
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value begin = constant(0), end = whole.extent;
  int64_t length = whole.staticExtent;
  if (i == 0 && space.schedule.getKind() == ScheduleKind::Split) {
    // The block's own segment, of whole vectors; the last ones may be short, or
    // empty.
    const SpaceDim &part = dims[space.schedule.getGrid().back()];
    int64_t parts = part.staticExtent, unit = share.lanes;
    if (ShapedType::isDynamic(length) || length >= parts * span)
      unit = span;
    bool isKnown =
        !ShapedType::isDynamic(length) && !ShapedType::isDynamic(parts);
    Value size = arith::CeilDivUIOp::create(b, loc, whole.extent, part.extent);
    size = arith::CeilDivUIOp::create(b, loc, size, constant(unit));
    size = arith::MulIOp::create(b, loc, size, constant(unit));
    begin = arith::MulIOp::create(b, loc, part.offset, size);
    begin = arith::MinSIOp::create(b, loc, begin, whole.extent);
    end = arith::AddIOp::create(b, loc, begin, size);
    end = arith::MinSIOp::create(b, loc, end, whole.extent);
    length = isKnown && length % (parts * unit) == 0 ? length / parts
                                                     : ShapedType::kDynamic;
  }
  Value middle;
  bool hasRest = true;
  if (!ShapedType::isDynamic(length)) {
    hasRest = length % span != 0;
    middle = b.createOrFold<arith::AddIOp>(loc, begin,
                                           constant(length / span * span));
  } else {
    Value all = arith::SubIOp::create(b, loc, end, begin);
    Value steps = arith::DivUIOp::create(b, loc, all, constant(span));
    Value walked = arith::MulIOp::create(b, loc, steps, constant(span));
    middle = arith::AddIOp::create(b, loc, begin, walked);
  }
  LogicalResult result = success();
  if (ShapedType::isDynamic(length) || length >= span)
    result = carry(op, begin, middle, constant(span), [&](Value at) {
      dims[d].offset = at;
      dims[d].size = constant(span);
      dims[d].staticSize = span;
      return emitStep(op, i);
    });
  if (hasRest && succeeded(result))
    result = carry(op, middle, end, constant(span), [&](Value at) {
      dims[d].offset = at;
      dims[d].size = arith::SubIOp::create(b, loc, end, at);
      dims[d].staticSize = std::nullopt;
      if (!ShapedType::isDynamic(length)) {
        dims[d].staticSize = length % span;
        dims[d].size = constant(length % span);
      }
      return emitStep(op, i);
    });
  dims[d] = whole;
  return result;
}

LogicalResult RegisterKernelGenerator::emitProgram(IndexProgramOpInterface op) {
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  if (fold) {
    for (auto [identity, result] :
         llvm::zip_first(fold.getIdentities(), fold.getResults()))
      own->emitFill(emitter->tiles.find(result)->second,
                    cast<TypedAttr>(identity));
    own->privateBits = 0;
    for (int64_t d : fold.getOver())
      own->privateBits |= layout.dims[d].getBits();
  }
  emitter->setProgram(op, *programs[op], buffers[op]);
  SmallVector<const Group *> varying = groupsOf(op, /*isInvariant=*/false);
  SmallVector<const Group *> fixed = groupsOf(op, /*isInvariant=*/true);
  own->prefetch(varying.empty() ? ArrayRef(fixed).take_front(1) : fixed,
                streamed, /*streams=*/false);
  for (const Group *group : fixed)
    if (failed(own->emitGroup(*group)))
      return failure();
  if (!varying.empty()) {
    own->prefetch(varying, streamed, /*streams=*/false);
    if (failed(streamDims.empty() ? emitStep(op, 0) : walkStream(op, 0)))
      return failure();
  }
  if (fold) {
    own->mergeStates(fold);
    own->privateBits = 0;
  }
  return success();
}

FailureOr<bool> RegisterKernelGenerator::run(gpu::GPUModuleOp module,
                                             StringRef name) {
  if (failed(makePrograms(/*hasContractions=*/false)))
    return failure();
  std::optional<RegisterLayout> found =
      planRegisters(kernel, launch, space, programs);
  if (!found)
    return false;
  layout = std::move(*found);
  streamed.resize(space.numDims);
  if (space.schedule)
    for (int64_t d : space.schedule.getStream())
      streamed.set(d);

  b.setInsertionPoint(launch);
  Value blocks = countBlocks(b, launch, space);
  SmallVector<Value> arguments(launch->getOperands());

  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types = llvm::to_vector(ValueRange(arguments).getTypes());
  auto func =
      gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(layout.threads), 1, 1}));
  Block *entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  makeSpace(entry->getArguments());
  auto emitting = std::make_unique<RegisterEmitter>(b, loc, layout, dims);
  own = emitting.get();
  emitter = std::move(emitting);
  emitter->entry = entry;
  own->thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  bindOperands(entry->getArguments());
  giveTiles();
  auto space3 = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto bytesType = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                                   MemRefLayoutAttrInterface(), space3);
  Value sharedMemory = gpu::DynamicSharedMemoryOp::create(b, loc, bytesType);
  Value words = arith::ConstantIndexOp::create(b, loc, 16 * 1024);
  own->shared = memref::ViewOp::create(
      b, loc,
      MemRefType::get({ShapedType::kDynamic}, b.getI32Type(),
                      MemRefLayoutAttrInterface(), space3),
      sharedMemory, arith::ConstantIndexOp::create(b, loc, 0), words);
  auto end = gpu::ReturnOp::create(b, loc);
  b.setInsertionPoint(end);
  if (failed(emitBlock(block)))
    return failure();

  b.setInsertionPoint(launch);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value width = arith::ConstantIndexOp::create(b, loc, layout.threads);
  Value bytes = arith::ConstantIntOp::create(b, loc, b.getI32Type(),
                                             own->exchangeBytes);
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{blocks, one, one},
                            gpu::KernelDim3{width, one, one}, bytes, arguments);
  launch.erase();
  return true;
}

FailureOr<bool> redfuse::generateInRegisters(KernelOp kernel, LaunchOp launch,
                                             const KernelSpace &space,
                                             unsigned lanes,
                                             gpu::GPUModuleOp module,
                                             StringRef name) {
  return RegisterKernelGenerator(kernel, launch, space, lanes)
      .run(module, name);
}
