//===- KernelGenerator.cpp - what all targets' kernels share --------------===//
#include "redfuse/Codegen/Common/KernelGenerator.h"

#include "redfuse/Analysis/MaskedReductions.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace redfuse;

/// Every tile starts on a line of its own.
static constexpr int64_t kAlignment = 64;

/// The kernel's schedule without dims in 'stream' that no op reduces any more: what
/// a fold walked that is gone is not walked.
static ScheduleAttr scheduleOf(KernelOp kernel) {
  ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!schedule || schedule.getKind() != ScheduleKind::Stream)
    return schedule;
  SmallVector<int64_t> stream, tiles(schedule.getTiles());
  llvm::SmallBitVector reduced(tiles.size());
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>())
    reduced |= getReducedDims(op);
  for (int64_t d : schedule.getStream()) {
    if (reduced.test(d))
      stream.push_back(d);
    else
      tiles[d] = 0;
  }
  if (stream.size() == schedule.getStream().size())
    return schedule;
  return ScheduleAttr::get(
      kernel.getContext(),
      stream.empty() ? ScheduleKind::Map : ScheduleKind::Stream,
      schedule.getGrid(), tiles, stream, schedule.getReason(), /*splits=*/0,
      stream.empty() ? 0 : schedule.getLazy(), schedule.getHints());
}

FailureOr<KernelSpace> redfuse::analyseSpace(KernelOp kernel) {
  KernelSpace space;
  space.schedule = scheduleOf(kernel);
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

KernelSpace redfuse::mergeSplitsOf(KernelOp kernel, const KernelSpace &space) {
  KernelSpace whole = space;
  if (mergesInLaunch(kernel))
    whole.schedule = ScheduleAttr::get(
        kernel.getContext(), ScheduleKind::Stream, whole.schedule.getGrid(),
        whole.schedule.getTiles(), whole.schedule.getStream(),
        whole.schedule.getReason(), /*splits=*/0, whole.schedule.getLazy(),
        whole.schedule.getHints());
  return whole;
}

DenseMap<Value, BlockArgument> redfuse::findDestinations(KernelOp kernel) {
  DenseMap<Value, BlockArgument> result;
  Block &body = kernel.getBody().front();
  for (BlockArgument arg : body.getArguments())
    result[arg] = arg;
  for (auto op : body.getOps<IndexProgramOpInterface>()) {
    // A fold reads and rewrites its state: that lives in tiles.
    auto fold = dyn_cast<FoldOp>(op.getOperation());
    for (auto [i, init] : llvm::enumerate(op.getProgramInits()))
      if (auto arg = dyn_cast<BlockArgument>(init);
          arg && (!fold || i >= fold.getNumStates()))
        result[op->getResult(i)] = arg;
  }
  return result;
}

LogicalResult redfuse::makeTilePrograms(KernelOp kernel, LaunchOp launch,
                                        const KernelSpace &space,
                                        const TileProgram::Options &options,
                                        KernelPrograms &programs) {
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
      return op.emitOpError("is not generated inside a kernel");
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
      for (unsigned d = 0; d < space.numDims; ++d) {
        std::optional<int64_t> stride =
            strideAlong(map, d, std::max<int64_t>(1, options.mostStride));
        if (!stride)
          continue;
        // The longest of several (d0 + d1).
        auto isLonger = [&](unsigned than) {
          return tileDims[d].capacity > tileDims[than].capacity;
        };
        if (*stride > 1) {
          if (!layout.strided || isLonger(layout.strided->first))
            layout.strided = {d, *stride};
        } else if (!layout.contiguous || isLonger(*layout.contiguous)) {
          layout.contiguous = d;
        }
      }
      return layout;
    };
    FailureOr<std::unique_ptr<TileProgram>> program =
        TileProgram::create(op, tileDims, sourceOf, options);
    if (failed(program))
      return failure();
    programs[op] = std::move(*program);
  }
  return success();
}

LogicalResult KernelGenerator::makePrograms(TileProgram::Options options) {
  options.lanes = lanes;
  return makeTilePrograms(kernel, launch, space, options, programs);
}

void KernelGenerator::makeSpace(ValueRange operands) {
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
      Value memref = operands[source.first.getArgNumber()];
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

void redfuse::startTile(OpBuilder &b, Location loc, SpaceDim &dim, Value offset,
                        int64_t length) {
  dim.offset = offset;
  Value tile = arith::ConstantIndexOp::create(b, loc, dim.tile);
  if (dim.tile == 1 ||
      (!ShapedType::isDynamic(length) && length % dim.tile == 0)) {
    dim.size = tile;
    dim.staticSize = dim.tile;
    return;
  }
  Value left = arith::SubIOp::create(b, loc, dim.extent, offset);
  dim.size = arith::MinSIOp::create(b, loc, tile, left);
  dim.staticSize = std::nullopt;
}

int64_t redfuse::bytesOf(Type element) {
  if (element.isIndex())
    return 8;
  return std::max(1u, (element.getIntOrFloatBitWidth() + 7) / 8);
}

LogicalResult KernelGenerator::emitNests(IndexProgramOpInterface op,
                                         bool isInvariant) {
  TileProgram &program = *programs[op];
  emitter->setProgram(op, program, buffers[op]);
  // Nests of one level need nothing of each other.
  std::optional<int> level;
  for (const LoopNest &nest : program.getNests()) {
    if (nest.isInvariant != isInvariant)
      continue;
    if (level && nest.level != *level)
      synchronize();
    level = nest.level;
    if (failed(emitter->emitNest(nest)))
      return failure();
  }
  // Before the next step writes over what this one reads.
  if (level)
    synchronize();
  return success();
}

/// Of streamed dim `d`, what a fold has to walk: in whole tiles, the positions that some
/// row of the block does not leave out by comparing positions, and those that no row
/// does, where masks need not be looked at.
KernelGenerator::StreamRange KernelGenerator::leaveOutMasked(FoldOp fold,
                                                             unsigned d,
                                                             Value begin,
                                                             Value end) {
  Block &body = *cast<IndexProgramOpInterface>(*fold).getProgramBody();
  StreamRange range{begin, end, {}, {}, {}};
  auto needsAll = [](Operation &inner) {
    return isa<ScanOp, cf::AssertOp>(inner);
  };
  if (fold.hasOutputs() || llvm::any_of(body, needsAll))
    return range;
  auto index = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  auto plus = [&](Value v, int64_t by) -> Value {
    return arith::AddIOp::create(b, loc, v, index(by));
  };
  auto least = [&](Value x, Value y) -> Value {
    return arith::MinSIOp::create(b, loc, x, y);
  };
  auto most = [&](Value x, Value y) -> Value {
    return arith::MaxSIOp::create(b, loc, x, y);
  };
  // Where the tile begins that has a position, or the first one from it on.
  auto tileAt = [&](Value at, bool isFirstFrom) -> Value {
    Value tile = index(dims[d].tile);
    Value ahead = arith::SubIOp::create(b, loc, at, begin);
    if (isFirstFrom)
      ahead = plus(ahead, dims[d].tile - 1);
    Value tiles = arith::DivUIOp::create(b, loc, most(ahead, index(0)), tile);
    return arith::AddIOp::create(b, loc, begin,
                                 arith::MulIOp::create(b, loc, tiles, tile));
  };
  Value wholeBegin, wholeEnd;
  for (unsigned row = 0; row < space.numDims; ++row) {
    if (row == d || dims[row].isStream)
      continue;
    Value first = dims[row].offset;
    auto behindLast = [&]() -> Value {
      return arith::AddIOp::create(b, loc, first, dims[row].size);
    };
    if (std::optional<DiagonalBand> band = findDiagonalBand(body, row, d)) {
      if (band->hasHigh())
        range.end = least(range.end, plus(behindLast(), band->high));
      if (band->hasLow())
        range.begin = most(range.begin, tileAt(plus(first, band->low), false));
    }
    for (auto [select, band] : findDiagonalMasks(body, row, d)) {
      bool keeps = !matchPattern(select.getTrueValue(), m_Constant());
      range.decided[select] =
          keeps ? select.getTrueValue() : select.getFalseValue();
      if (band.hasLow()) {
        Value at = tileAt(plus(behindLast(), band.low - 1), true);
        wholeBegin = wholeBegin ? most(wholeBegin, at) : at;
      }
      if (band.hasHigh()) {
        Value at = tileAt(plus(first, band.high + 1), false);
        wholeEnd = wholeEnd ? least(wholeEnd, at) : at;
      }
    }
  }
  if (wholeBegin)
    range.wholeBegin = least(most(wholeBegin, range.begin), range.end);
  if (wholeEnd)
    range.wholeEnd = most(least(wholeEnd, range.end),
                          wholeBegin ? range.wholeBegin : range.begin);
  return range;
}

/// Loops over the tiles of the streamed dims, outermost first.
LogicalResult KernelGenerator::overStream(IndexProgramOpInterface op,
                                          unsigned i) {
  if (i == streamDims.size())
    return emitNests(op, /*isInvariant=*/false);
  unsigned d = streamDims[i];
  SpaceDim whole = dims[d];
  Value begin = arith::ConstantIndexOp::create(b, loc, 0);
  int64_t length = whole.staticExtent;
  if (i == 0 && space.schedule.getKind() == ScheduleKind::Split) {
    if (space.schedule.getGrid().empty())
      return kernel.emitOpError(
          "has a split schedule without the dim of its splits, the last of "
          "'grid' (redfuse-split puts it there)");
    // The block's own split; the last ones may be short, or empty.
    const SpaceDim &part = dims[space.schedule.getGrid().back()];
    int64_t splits = part.staticExtent;
    Value size = arith::CeilDivUIOp::create(b, loc, whole.extent, part.extent);
    Value first = arith::MulIOp::create(b, loc, part.offset, size);
    begin = arith::MinSIOp::create(b, loc, first, whole.extent);
    Value end = arith::AddIOp::create(b, loc, begin, size);
    dims[d].extent = arith::MinSIOp::create(b, loc, end, whole.extent);
    bool isEven = !ShapedType::isDynamic(length) &&
                  !ShapedType::isDynamic(splits) && length % splits == 0;
    length = isEven ? length / splits : ShapedType::kDynamic;
  }
  Value step = arith::ConstantIndexOp::create(b, loc, dims[d].tile);
  auto walk = [&](Value from, Value to) {
    auto loop = scf::ForOp::create(b, loc, from, to, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SpaceDim own = dims[d];
    startTile(b, loc, dims[d], loop.getInductionVar(), length);
    LogicalResult result = overStream(op, i + 1);
    dims[d] = own;
    return result;
  };
  StreamRange range{begin, dims[d].extent, {}, {}, {}};
  if (auto fold = dyn_cast<FoldOp>(op.getOperation());
      fold && i == 0 && leavesOutMasked)
    range = leaveOutMasked(fold, d, begin, range.end);
  LogicalResult result = success();
  if (range.wholeBegin)
    result = walk(range.begin, range.wholeBegin);
  if (succeeded(result)) {
    emitter->decided = range.decided;
    result = walk(range.wholeBegin ? range.wholeBegin : range.begin,
                  range.wholeEnd ? range.wholeEnd : range.end);
    emitter->decided.clear();
  }
  if (succeeded(result) && range.wholeEnd)
    result = walk(range.wholeEnd, range.end);
  dims[d] = whole;
  return result;
}

LogicalResult KernelGenerator::emitProgram(IndexProgramOpInterface op) {
  if (auto fold = dyn_cast<FoldOp>(op.getOperation())) {
    for (auto [identity, result] :
         llvm::zip_first(fold.getIdentities(), fold.getResults()))
      emitter->emitFill(emitter->tiles.find(result)->second,
                        cast<TypedAttr>(identity));
    synchronize();
  }
  if (failed(emitNests(op, /*isInvariant=*/true)))
    return failure();
  if (llvm::all_of(programs[op]->getNests(),
                   [](const LoopNest &g) { return g.isInvariant; }))
    return success();
  return overStream(op, 0);
}

/// The tiles of all programs, and of what one program hands to the next.
SmallVector<KernelGenerator::TileRequest, 0> KernelGenerator::requestTiles() {
  SmallVector<TileRequest, 0> requests;
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
  return requests;
}

Value KernelGenerator::layOutTiles(ArrayRef<TileRequest> requests,
                                   SmallVectorImpl<Value> &offsets) {
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
  for (const TileRequest &request : requests) {
    offsets.push_back(getValueOrCreateConstantIndexOp(b, loc, total));
    OpFoldResult bytes = b.getIndexAttr(bytesOf(request.element));
    for (unsigned d : request.of)
      bytes = multiply(bytes, dims[d].capacity);
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
  return getValueOrCreateConstantIndexOp(b, loc, total);
}

void KernelGenerator::cutTiles(ArrayRef<TileRequest> requests,
                               ArrayRef<Value> offsets, Value bytes) {
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
    auto type =
        MemRefType::get(shape, request.element, MemRefLayoutAttrInterface(),
                        cast<MemRefType>(bytes.getType()).getMemorySpace());
    buffer.memref = memref::ViewOp::create(b, loc, type, bytes, offset, sizes);
    request.give(buffer);
  }
}

void KernelGenerator::bindOperands(ValueRange operands) {
  bindKernel(b, kernel, operands, emitter->memrefs, emitter->captured);
}

void redfuse::bindKernel(OpBuilder &b, KernelOp kernel, ValueRange operands,
                         DenseMap<Value, Value> &memrefs, IRMapping &captured) {
  Block &body = kernel.getBody().front();
  for (BlockArgument arg : body.getArguments()) {
    Value operand = operands[arg.getArgNumber()];
    if (isa<MemRefType>(operand.getType()))
      memrefs[arg] = operand;
    else
      captured.map(arg, operand);
  }
  for (auto [result, arg] : findDestinations(kernel))
    memrefs[result] = operands[arg.getArgNumber()];
  for (Operation &op : body) {
    if (isa<IndexProgramOpInterface>(op) || isa<YieldOp>(op) ||
        llvm::any_of(op.getOperandTypes(), llvm::IsaPred<TensorType>) ||
        llvm::any_of(op.getResultTypes(), llvm::IsaPred<TensorType>))
      continue;
    b.clone(op, captured);
  }
}

void KernelGenerator::placeBlock(Value block) {
  // Where a block stands in the grid: the last dim of `grid` varies fastest.
  Value rest = block;
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
    startTile(b, loc, dims[d], arith::MulIOp::create(b, loc, position, tile),
              dims[d].staticExtent);
  }
}

LogicalResult KernelGenerator::emitBlock(Value block) {
  placeBlock(block);
  streamDims.clear();
  if (space.schedule)
    for (int64_t d : space.schedule.getStream())
      streamDims.push_back(d);
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>())
    if (failed(emitProgram(op)))
      return failure();
  return success();
}

/// Whether only their operands set two launches of a kernel apart.
static bool areAlike(LaunchOp a, LaunchOp b) {
  auto attributesOf = [](LaunchOp launch) {
    NamedAttrList attributes(launch->getDiscardableAttrDictionary());
    attributes.erase(kInsteadOfAttr);
    return attributes.getDictionary(launch.getContext());
  };
  return takeAlike(a, b) && attributesOf(a) == attributesOf(b);
}

void KernelLaunch::record(StringRef name, Attribute value) {
  launch->setAttr(name, value);
  for (LaunchOp other : again)
    other->setAttr(name, value);
}

FailureOr<SmallVector<KernelLaunch>> redfuse::findLaunches(ModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<KernelLaunch> launches;
  DenseMap<KernelOp, SmallVector<unsigned, 1>> of; // places in the list
  llvm::StringSet<> names;
  auto result = module.walk([&](LaunchOp launch) -> WalkResult {
    auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
    if (!kernel)
      return launch.emitOpError("names no redfuse.kernel of the module");
    if (launch->getNumResults() != 0)
      return launch.emitOpError("works on tensors: bufferize first "
                                "(-redfuse-bufferize)");
    SmallVector<unsigned, 1> &own = of[kernel];
    for (unsigned i : own)
      if (areAlike(launches[i].launch, launch)) {
        launches[i].again.push_back(launch);
        return WalkResult::advance();
      }
    FailureOr<KernelSpace> space = analyseSpace(kernel);
    if (failed(space))
      return failure();
    std::string name = kernel.getSymName().str();
    // Not that of another function's kernel: @f_0 has one that is called f_0_1, too.
    auto isTaken = [&](StringRef other) {
      return names.contains(other) || symbols.lookup(other);
    };
    if (unsigned number = own.size())
      name = SymbolTable::generateSymbolName<64>(name, isTaken, number).str();
    names.insert(name);
    own.push_back(launches.size());
    launches.push_back(
        {launch, {}, kernel, std::move(name), std::move(*space)});
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return launches;
}

/// Whether `ops` use nothing but what they make themselves and `operands`.
static bool standAlone(ArrayRef<Operation *> ops, ArrayRef<Value> operands) {
  llvm::SmallDenseSet<Value> known(operands.begin(), operands.end());
  bool found = true;
  for (Operation *top : ops)
    top->walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (Value v : op->getOperands())
        found &= known.contains(v);
      known.insert(op->result_begin(), op->result_end());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          known.insert(block.args_begin(), block.args_end());
    });
  return found;
}

/// Puts `ops`, which do what a launch on `operands` does, in the place of another one.
static void repeatFor(LaunchOp launch, ArrayRef<Operation *> ops,
                      ArrayRef<Value> operands) {
  OpBuilder b(launch);
  IRMapping mapping;
  mapping.map(operands, launch->getOperands());
  for (Operation *op : ops)
    b.clone(*op, mapping);
  launch.erase();
}

LogicalResult redfuse::generateLaunches(
    ModuleOp module, function_ref<LogicalResult(KernelLaunch &)> generate) {
  FailureOr<SmallVector<KernelLaunch>> launches = findLaunches(module);
  if (failed(launches))
    return failure();
  bool isFailed = false;
  for (KernelLaunch &from : *launches) {
    Operation *before = from.launch->getPrevNode();
    Block *block = from.launch->getBlock();
    Operation *after = from.launch->getNextNode();
    SmallVector<Value> operands(from.launch->getOperands());
    if (failed(generate(from))) {
      isFailed = true;
      continue;
    }
    SmallVector<Operation *> ops;
    for (Operation *op = before ? before->getNextNode() : &block->front();
         op != after; op = op->getNextNode())
      ops.push_back(op);
    if (!from.again.empty() && !standAlone(ops, operands))
      return from.again.front().emitOpError(
          "cannot repeat what was generated for an equal launch");
    for (LaunchOp launch : from.again)
      repeatFor(launch, ops, operands);
  }
  return failure(isFailed);
}

void redfuse::eraseKernels(ModuleOp module) {
  for (auto kernel : llvm::make_early_inc_range(module.getOps<KernelOp>()))
    kernel.erase();
}

Value redfuse::countBlocks(OpBuilder &b, LaunchOp launch,
                           const KernelSpace &space,
                           function_ref<int64_t(unsigned)> tileOf) {
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
    int64_t size = tileOf ? tileOf(d) : space.tileOf(d);
    if (!ShapedType::isDynamic(space.staticExtents[d]))
      size = std::max<int64_t>(1, std::min(size, space.staticExtents[d]));
    Value tile = arith::ConstantIndexOp::create(b, loc, size);
    Value count = arith::CeilDivUIOp::create(b, loc, extent, tile);
    blocks = arith::MulIOp::create(b, loc, blocks, count);
  }
  return blocks;
}
