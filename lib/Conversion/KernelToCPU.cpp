//===- KernelToCPU.cpp - redfuse.kernel to a function over blocks ----------===//
//
// A kernel becomes `func @kernel(%begin, %end, operands...)`, which runs the
// blocks [begin, end) of its grid one after another; its launch becomes a call
// with `redfuse.parallel` over all blocks, which the runtime spreads over its
// threads. Within a block every tensor that the kernel makes for itself is a
// tile in the thread's scratch memory.
//
//===----------------------------------------------------------------------===//
#include "CpuEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Transforms/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_KERNELTOCPU
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {

constexpr int64_t kAlignment = 64;

/// Where the extent of a kernel dim can be read: an argument of the kernel and a
/// position in its shape.
using ExtentSource = std::pair<BlockArgument, unsigned>;

struct KernelSpace {
  unsigned numDims = 0;
  SmallVector<int64_t> staticExtents;
  SmallVector<std::optional<ExtentSource>> sources;
  ScheduleAttr schedule;

  int64_t tileOf(unsigned d) const {
    return schedule ? schedule.getTiles()[d] : 0;
  }
};

FailureOr<KernelSpace> analyseSpace(KernelOp kernel) {
  KernelSpace space;
  space.schedule = kernel.getScheduleAttr();
  Block &body = kernel.getBody().front();
  bool first = true;
  for (auto op : body.getOps<IndexProgramOpInterface>()) {
    if (first) {
      space.numDims = op.getNumIterationDims();
      space.staticExtents.assign(space.numDims, ShapedType::kDynamic);
      space.sources.resize(space.numDims);
      first = false;
    }
    SmallVector<int64_t> extents = getStaticExtents(op);
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    for (unsigned d = 0; d < space.numDims; ++d)
      if (findExtent(op, d) && !ShapedType::isDynamic(extents[d]))
        space.staticExtents[d] = extents[d];
    for (auto [i, map] : llvm::enumerate(maps)) {
      auto arg = dyn_cast<BlockArgument>(op->getOperand(i));
      if (!arg)
        continue;
      for (auto [position, expr] : llvm::enumerate(map.getResults()))
        if (auto d = dyn_cast<AffineDimExpr>(expr))
          if (!space.sources[d.getPosition()])
            space.sources[d.getPosition()] = ExtentSource(arg, position);
    }
  }
  if (first) {
    kernel.emitOpError("has no cascade, fold or finalize to generate code for");
    return failure();
  }
  for (unsigned d = 0; d < space.numDims; ++d)
    if (ShapedType::isDynamic(space.staticExtents[d]) && !space.sources[d]) {
      // A dim that nothing has is never walked.
      bool isUsed = false;
      for (auto op : body.getOps<IndexProgramOpInterface>())
        for (AffineMap map : op.getIndexingMapsArray())
          isUsed |= getDimsOf(map).test(d);
      if (isUsed) {
        kernel.emitOpError()
            << "the extent of dim " << d
            << " is dynamic and no argument of the kernel has it";
        return failure();
      }
      space.staticExtents[d] = 1;
    }
  return space;
}

/// Generates the function of one kernel.
class KernelGenerator {
public:
  KernelGenerator(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                  unsigned lanes)
      : kernel(kernel), launch(launch), space(space), lanes(lanes),
        b(kernel.getContext()), loc(kernel.getLoc()) {}

  FailureOr<func::FuncOp> run();

private:
  LogicalResult makePrograms();
  void makeSpace(func::FuncOp func);
  LogicalResult makeBuffers();
  LogicalResult emitProgram(IndexProgramOpInterface op);
  LogicalResult emitGroups(IndexProgramOpInterface op, bool isInvariant);
  LogicalResult overStream(IndexProgramOpInterface op, unsigned i);
  void setTile(unsigned d, Value offset);

  KernelOp kernel;
  LaunchOp launch;
  const KernelSpace &space;
  unsigned lanes;
  OpBuilder b;
  Location loc;
  SmallVector<SpaceDim> dims;
  std::unique_ptr<CpuEmitter> emitter;
  DenseMap<Operation *, std::unique_ptr<TileProgram>> programs;
  DenseMap<Operation *, DenseMap<Value, TileBuffer>> buffers;
  SmallVector<unsigned> streamDims;
};

} // namespace

/// The tensors that a kernel argument reaches: itself, and results written to it.
static DenseMap<Value, BlockArgument> findDestinations(KernelOp kernel) {
  DenseMap<Value, BlockArgument> result;
  Block &body = kernel.getBody().front();
  for (BlockArgument arg : body.getArguments())
    result[arg] = arg;
  for (auto op : body.getOps<IndexProgramOpInterface>()) {
    // A fold reads and rewrites its state: that lives in tiles.
    if (isa<FoldOp>(op.getOperation()))
      continue;
    for (auto [i, init] : llvm::enumerate(op.getProgramInits()))
      if (auto arg = dyn_cast<BlockArgument>(init))
        result[op->getResult(i)] = arg;
  }
  return result;
}

LogicalResult KernelGenerator::makePrograms() {
  SmallVector<TileDim> tileDims(space.numDims);
  ScheduleAttr schedule = space.schedule;
  for (unsigned d = 0; d < space.numDims; ++d) {
    int64_t tile = space.tileOf(d), extent = space.staticExtents[d];
    tileDims[d].capacity =
        tile == 0
            ? extent
            : (ShapedType::isDynamic(extent) ? tile : std::min(tile, extent));
    tileDims[d].isStream =
        schedule && llvm::is_contained(schedule.getStream(), d);
  }
  DenseMap<Value, BlockArgument> destinations = findDestinations(kernel);
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    if (isa<MergeOp>(op.getOperation()))
      return op.emitOpError("is not generated for the CPU inside a kernel");
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    auto sourceOf = [&](unsigned i) {
      SourceLayout layout;
      Value tensor = op->getOperand(i);
      AffineMap map = simplifyForExtents(maps[i], space.staticExtents);
      auto it = destinations.find(tensor);
      layout.isInternal = it == destinations.end();
      if (map.getNumResults() == 0)
        return layout;
      // Adjacent along the one dim of the last index that no other index uses,
      // if the innermost stride is 1.
      if (!layout.isInternal) {
        auto type = dyn_cast<MemRefType>(
            launch->getOperand(it->second.getArgNumber()).getType());
        SmallVector<int64_t> strides;
        int64_t offset;
        if (!type || failed(type.getStridesAndOffset(strides, offset)) ||
            strides.back() != 1)
          return layout;
        if (type.getElementType() != op->getRegion(0).getArgument(i).getType())
          return layout;
      }
      AffineExpr last = map.getResults().back();
      for (unsigned d = 0; d < space.numDims; ++d) {
        AffineExpr rest = simplifyAffineExpr(
            last - getAffineDimExpr(d, map.getContext()), map.getNumDims(), 0);
        if (!last.isFunctionOfDim(d) || rest.isFunctionOfDim(d))
          continue;
        if (llvm::any_of(map.getResults().drop_back(),
                         [&](AffineExpr e) { return e.isFunctionOfDim(d); }))
          continue;
        // The longest of several (d0 + d1).
        if (!layout.contiguous ||
            tileDims[d].capacity > tileDims[*layout.contiguous].capacity)
          layout.contiguous = d;
      }
      return layout;
    };
    TileProgram::Options options;
    options.lanes = lanes;
    FailureOr<std::unique_ptr<TileProgram>> program =
        TileProgram::create(op, tileDims, sourceOf, options);
    if (failed(program))
      return failure();
    programs[op] = std::move(*program);
  }
  return success();
}

void KernelGenerator::makeSpace(func::FuncOp func) {
  Block *entry = &func.getBody().front();
  dims.resize(space.numDims);
  for (unsigned d = 0; d < space.numDims; ++d) {
    SpaceDim &dim = dims[d];
    dim.staticExtent = space.staticExtents[d];
    dim.tile = space.tileOf(d);
    if (dim.tile != 0 && !ShapedType::isDynamic(dim.staticExtent))
      dim.tile = std::max<int64_t>(1, std::min(dim.tile, dim.staticExtent));
    if (space.schedule) {
      dim.isGrid = llvm::is_contained(space.schedule.getGrid(), d);
      dim.isStream = llvm::is_contained(space.schedule.getStream(), d);
      // A tile of a dim that no loop walks is the whole dim.
      if (!dim.isGrid && !dim.isStream)
        dim.tile = 0;
    }
    if (ShapedType::isDynamic(dim.staticExtent)) {
      ExtentSource source = *space.sources[d];
      Value memref = entry->getArgument(2 + source.first.getArgNumber());
      dim.extent = memref::DimOp::create(b, loc, memref, source.second);
    } else {
      dim.extent = arith::ConstantIndexOp::create(b, loc, dim.staticExtent);
    }
    dim.capacity = dim.tile != 0 ? OpFoldResult(b.getIndexAttr(dim.tile))
                                 : getAsOpFoldResult(dim.extent);
    dim.offset = arith::ConstantIndexOp::create(b, loc, 0);
    dim.size = dim.extent;
    if (!ShapedType::isDynamic(dim.staticExtent))
      dim.staticSize = dim.staticExtent;
  }
}

/// Starts a tile of dim d at `offset`.
void KernelGenerator::setTile(unsigned d, Value offset) {
  SpaceDim &dim = dims[d];
  dim.offset = offset;
  Value tile = arith::ConstantIndexOp::create(b, loc, dim.tile);
  if (dim.tile == 1 || (!ShapedType::isDynamic(dim.staticExtent) &&
                        dim.staticExtent % dim.tile == 0)) {
    dim.size = tile;
    dim.staticSize = dim.tile;
    return;
  }
  Value left = arith::SubIOp::create(b, loc, dim.extent, offset);
  dim.size = arith::MinSIOp::create(b, loc, tile, left);
  dim.staticSize = std::nullopt;
}

static int64_t bytesOf(Type element) {
  if (element.isIndex())
    return 8;
  return std::max(1u, (element.getIntOrFloatBitWidth() + 7) / 8);
}

/// Reserves scratch for every tile of the kernel and cuts it.
LogicalResult KernelGenerator::makeBuffers() {
  struct Request {
    Type element;
    SmallVector<unsigned> of;
    std::function<void(TileBuffer)> give;
  };
  SmallVector<Request, 0> requests;
  Block &body = kernel.getBody().front();
  DenseMap<Value, BlockArgument> destinations = findDestinations(kernel);
  for (auto op : body.getOps<IndexProgramOpInterface>()) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    unsigned firstInit = maps.size() - op.getProgramInits().size();
    for (Value result : op->getResults()) {
      if (destinations.contains(result))
        continue;
      SmallVector<unsigned> of;
      AffineMap map =
          maps[firstInit + cast<OpResult>(result).getResultNumber()];
      for (AffineExpr e : map.getResults())
        of.push_back(cast<AffineDimExpr>(e).getPosition());
      requests.push_back(
          {cast<RankedTensorType>(result.getType()).getElementType(), of,
           [this, result](TileBuffer t) { emitter->tiles[result] = t; }});
    }
    for (auto &[value, of] : programs[op]->getBuffers())
      requests.push_back(
          {value.getType(), of, [this, op, value = value](TileBuffer t) {
             buffers[op][value] = t;
           }});
  }
  if (requests.empty())
    return success();

  SmallVector<Value> offsets;
  OpFoldResult total = b.getIndexAttr(0);
  auto add = [&](OpFoldResult x, OpFoldResult y) -> OpFoldResult {
    auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
    if (cx && cy)
      return b.getIndexAttr(*cx + *cy);
    return arith::AddIOp::create(b, loc,
                                 getValueOrCreateConstantIndexOp(b, loc, x),
                                 getValueOrCreateConstantIndexOp(b, loc, y))
        .getResult();
  };
  auto multiply = [&](OpFoldResult x, OpFoldResult y) -> OpFoldResult {
    auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
    if (cx && cy)
      return b.getIndexAttr(*cx * *cy);
    return arith::MulIOp::create(b, loc,
                                 getValueOrCreateConstantIndexOp(b, loc, x),
                                 getValueOrCreateConstantIndexOp(b, loc, y))
        .getResult();
  };
  for (Request &request : requests) {
    offsets.push_back(getValueOrCreateConstantIndexOp(b, loc, total));
    OpFoldResult bytes = b.getIndexAttr(bytesOf(request.element));
    for (unsigned d : request.of)
      bytes = multiply(bytes, dims[d].capacity);
    // Every tile starts on a line of its own.
    if (auto known = getConstantIntValue(bytes)) {
      bytes =
          b.getIndexAttr((*known + kAlignment - 1) / kAlignment * kAlignment);
    } else {
      Value line = arith::ConstantIndexOp::create(b, loc, kAlignment);
      Value lines =
          arith::CeilDivUIOp::create(b, loc, cast<Value>(bytes), line);
      bytes = arith::MulIOp::create(b, loc, lines, line).getResult();
    }
    total = add(total, bytes);
  }
  auto module = kernel->getParentOfType<ModuleOp>();
  auto scratchType = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  StringRef scratchName = "redfuse_rt_scratch_view";
  if (!module.lookupSymbol(scratchName)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto declaration = func::FuncOp::create(
        b, loc, scratchName,
        b.getFunctionType({b.getIndexType()}, {scratchType}));
    declaration.setPrivate();
  }
  Value scratch =
      func::CallOp::create(
          b, loc, scratchName, TypeRange{scratchType},
          ValueRange{getValueOrCreateConstantIndexOp(b, loc, total)})
          .getResult(0);
  for (auto [request, offset] : llvm::zip_equal(requests, offsets)) {
    TileBuffer buffer;
    buffer.dims = request.of;
    SmallVector<int64_t> shape;
    SmallVector<Value> sizes;
    for (unsigned d : request.of) {
      std::optional<int64_t> fixed = getConstantIntValue(dims[d].capacity);
      shape.push_back(fixed ? *fixed : ShapedType::kDynamic);
      if (!fixed)
        sizes.push_back(cast<Value>(dims[d].capacity));
    }
    buffer.memref =
        memref::ViewOp::create(b, loc, MemRefType::get(shape, request.element),
                               scratch, offset, sizes);
    request.give(buffer);
  }
  return success();
}

LogicalResult KernelGenerator::emitGroups(IndexProgramOpInterface op,
                                          bool isInvariant) {
  TileProgram &program = *programs[op];
  emitter->setProgram(op, program, buffers[op]);
  for (const Group &group : program.getGroups())
    if (group.isInvariant == isInvariant)
      if (failed(emitter->emitGroup(group)))
        return failure();
  return success();
}

/// Loops over the tiles of the streamed dims, outermost first.
LogicalResult KernelGenerator::overStream(IndexProgramOpInterface op,
                                          unsigned i) {
  if (i == streamDims.size())
    return emitGroups(op, /*isInvariant=*/false);
  unsigned d = streamDims[i];
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value step = arith::ConstantIndexOp::create(b, loc, dims[d].tile);
  auto loop = scf::ForOp::create(b, loc, zero, dims[d].extent, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SpaceDim whole = dims[d];
  setTile(d, loop.getInductionVar());
  LogicalResult result = overStream(op, i + 1);
  dims[d] = whole;
  return result;
}

LogicalResult KernelGenerator::emitProgram(IndexProgramOpInterface op) {
  if (auto fold = dyn_cast<FoldOp>(op.getOperation()))
    for (auto [result, identity] :
         llvm::zip_equal(fold.getResults(), fold.getIdentities()))
      emitter->emitFill(emitter->tiles.find(result)->second,
                        cast<TypedAttr>(identity));
  if (failed(emitGroups(op, /*isInvariant=*/true)))
    return failure();
  if (llvm::all_of(programs[op]->getGroups(),
                   [](const Group &g) { return g.isInvariant; }))
    return success();
  return overStream(op, 0);
}

FailureOr<func::FuncOp> KernelGenerator::run() {
  if (failed(makePrograms()))
    return failure();
  auto module = kernel->getParentOfType<ModuleOp>();
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types(2, b.getIndexType());
  llvm::append_range(types, launch->getOperandTypes());
  // The kernel's own symbol goes away with it.
  auto func = func::FuncOp::create(b, loc, kernel.getSymName(),
                                   b.getFunctionType(types, {}));
  func.setPrivate();
  func->setAttr("redfuse.kernel_body", b.getUnitAttr());
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  makeSpace(func);
  emitter = std::make_unique<CpuEmitter>(b, loc, lanes, dims);
  emitter->entry = entry;
  Block &body = kernel.getBody().front();
  for (BlockArgument arg : body.getArguments()) {
    Value operand = entry->getArgument(2 + arg.getArgNumber());
    if (isa<MemRefType>(operand.getType()))
      emitter->memrefs[arg] = operand;
    else
      emitter->captured.map(arg, operand);
  }
  for (auto [result, arg] : findDestinations(kernel))
    emitter->memrefs[result] = entry->getArgument(2 + arg.getArgNumber());
  // Scalar code of the kernel (extents, constants) runs once.
  for (Operation &op : body) {
    if (isa<IndexProgramOpInterface>(op) || isa<YieldOp>(op) ||
        llvm::any_of(op.getOperandTypes(), llvm::IsaPred<TensorType>) ||
        llvm::any_of(op.getResultTypes(), llvm::IsaPred<TensorType>))
      continue;
    b.clone(op, emitter->captured);
  }
  if (failed(makeBuffers()))
    return failure();

  auto loop =
      scf::ForOp::create(b, loc, entry->getArgument(0), entry->getArgument(1),
                         arith::ConstantIndexOp::create(b, loc, 1));
  func::ReturnOp::create(b, loc);
  b.setInsertionPointToStart(loop.getBody());
  // Where a block stands in the grid: the last dim of `grid` varies fastest.
  Value rest = loop.getInductionVar();
  ArrayRef<int64_t> grid =
      space.schedule ? space.schedule.getGrid() : ArrayRef<int64_t>();
  for (auto [i, d] : llvm::enumerate(llvm::reverse(grid))) {
    Value tile = arith::ConstantIndexOp::create(b, loc, dims[d].tile);
    Value position = rest;
    if (i + 1 < grid.size()) {
      Value count = arith::CeilDivUIOp::create(b, loc, dims[d].extent, tile);
      position = arith::RemUIOp::create(b, loc, rest, count);
      rest = arith::DivUIOp::create(b, loc, rest, count);
    }
    setTile(d, arith::MulIOp::create(b, loc, position, tile));
  }
  if (space.schedule)
    for (int64_t d : space.schedule.getStream())
      streamDims.push_back(d);
  for (auto op : body.getOps<IndexProgramOpInterface>())
    if (failed(emitProgram(op)))
      return failure();
  return func;
}

/// The number of blocks, computed by the host at the launch.
static Value countBlocks(OpBuilder &b, LaunchOp launch,
                         const KernelSpace &space) {
  Location loc = launch.getLoc();
  Value blocks = arith::ConstantIndexOp::create(b, loc, 1);
  if (!space.schedule)
    return blocks;
  for (int64_t d : space.schedule.getGrid()) {
    Value extent;
    if (ShapedType::isDynamic(space.staticExtents[d])) {
      ExtentSource source = *space.sources[d];
      extent = memref::DimOp::create(
          b, loc, launch->getOperand(source.first.getArgNumber()),
          source.second);
    } else {
      extent = arith::ConstantIndexOp::create(b, loc, space.staticExtents[d]);
    }
    int64_t size = space.tileOf(d);
    if (!ShapedType::isDynamic(space.staticExtents[d]))
      size = std::max<int64_t>(1, std::min(size, space.staticExtents[d]));
    Value tile = arith::ConstantIndexOp::create(b, loc, size);
    Value count = arith::CeilDivUIOp::create(b, loc, extent, tile);
    blocks = arith::MulIOp::create(b, loc, blocks, count);
  }
  return blocks;
}

namespace {
struct KernelToCPU : public redfuse::impl::KernelToCPUBase<KernelToCPU> {
  using KernelToCPUBase::KernelToCPUBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<LaunchOp> launches;
    module.walk([&](LaunchOp launch) { launches.push_back(launch); });
    DenseMap<KernelOp, unsigned> uses;
    int64_t bits =
        vectorBits > 0 ? vectorBits : getTargetOf(module).getVectorBits();
    for (LaunchOp launch : launches) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      if (!kernel) {
        launch.emitOpError("names no redfuse.kernel of the module");
        return signalPassFailure();
      }
      if (launch->getNumResults() != 0) {
        launch.emitOpError("works on tensors: bufferize first "
                           "(-redfuse-bufferize)");
        return signalPassFailure();
      }
      FailureOr<KernelSpace> space = analyseSpace(kernel);
      if (failed(space))
        return signalPassFailure();
      KernelGenerator generator(kernel, launch, *space,
                                std::max<int64_t>(1, bits / 32));
      FailureOr<func::FuncOp> func = generator.run();
      if (failed(func))
        return signalPassFailure();
      // A kernel launched on buffers of several layouts has a function for
      // each.
      unsigned use = uses[kernel]++;
      std::string name = kernel.getSymName().str();
      if (use > 0)
        name += "_" + std::to_string(use);
      (*func).setSymName(name);

      OpBuilder b(launch);
      Value zero = arith::ConstantIndexOp::create(b, launch.getLoc(), 0);
      SmallVector<Value> operands{zero, countBlocks(b, launch, *space)};
      llvm::append_range(operands, launch->getOperands());
      auto call = func::CallOp::create(b, launch.getLoc(), *func, operands);
      call->setAttr("redfuse.parallel", b.getUnitAttr());
      launch.erase();
    }
    for (auto kernel : llvm::make_early_inc_range(module.getOps<KernelOp>()))
      kernel.erase();
  }
};
} // namespace
