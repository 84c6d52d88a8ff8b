//===- HostLaunch.cpp - how the host launches a kernel --------------------===//
#include "HostLaunch.h"

#include "redfuse/Codegen/GPU/Common/TensorMap.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/ExchangeLayout.h"

using namespace mlir;
using namespace redfuse;

ArrayRef<Value> HostLaunch::makeArguments() {
  b.setInsertionPoint(of.launch);
  // Where blocks of a cluster copy for each other, these count clusters.
  Value all = countBlocks(b, of.launch, space, [&](unsigned d) {
    return plan.tileOf(d) * plan.clusterOf(d);
  });
  grid = all;
  if (plan.target.hasWgmma) {
    // Where blocks share a tile, the second one is another launch's.
    int64_t blocks =
        plan.isHalf && plan.shares() == 1 ? 2 * of.units : of.units;
    grid =
        arith::MinUIOp::create(b, loc, all, index(blocks / plan.multicast()));
  }
  if (plan.shares() > 1)
    grid = arith::MulIOp::create(b, loc, all, index(plan.shares()));
  Value atLeastOne = arith::MaxUIOp::create(b, loc, grid, index(1));
  arguments = {all, arith::DivUIOp::create(b, loc, all, atLeastOne)};
  if (plan.multicast() > 1)
    grid = arith::MulIOp::create(b, loc, grid, index(plan.multicast()));
  auto addMap = [&](const std::optional<MatrixTile> &tile) {
    if (tile)
      arguments.push_back(makeTensorMap(*tile));
  };
  if (plan.target.hasWgmma)
    for (const ProductTiles &load : layout.products) {
      addMap(load.right);
      addMap(load.left);
      addMap(load.kept);
    }
  if (layout.staged && layout.staged->isBoxed)
    addMap(layout.staged->tile);
  firstOperand = arguments.size();
  llvm::append_range(arguments, of.launch->getOperands());
  if (plan.clusters() > 1 || plan.hasDynamicScheduler)
    allocateStates(all);
  return arguments;
}

void HostLaunch::bindArguments(Block *entry) {
  place.entry = entry;
  ValueRange operands =
      entry->getArguments().slice(firstOperand, of.launch->getNumOperands());
  if (plan.clusters() > 1)
    of.arguments.workspace = entry->getArguments().drop_back().back();
  if (plan.clusters() > 1 || plan.hasDynamicScheduler)
    of.arguments.counters = entry->getArguments().back();
  of.arguments.tiles = entry->getArgument(0);
  of.arguments.rounds = entry->getArgument(1);
  of.arguments.maps = llvm::to_vector_of<Value>(
      entry->getArguments().slice(2, firstOperand - 2));
  bindKernel(b, of.kernel, operands, emitter.memrefs, emitter.captured);
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (ShapedType::isDynamic(space.staticExtents[d])) {
      ExtentSource source = *space.sources[d];
      place.extents[d] = memref::DimOp::create(
          b, loc, operands[source.first.getArgNumber()], source.second);
    } else {
      place.extents[d] = index(space.staticExtents[d]);
    }
  }
}

void HostLaunch::emit(gpu::GPUFuncOp func) {
  b.setInsertionPoint(of.launch);
  Value one = index(1), width = index(plan.threads());
  Value bytes = arith::ConstantIntOp::create(b, loc, b.getI32Type(),
                                             layout.allBytes(plan.target));
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{grid, one, one},
                            gpu::KernelDim3{width, one, one}, bytes, arguments);
  for (Value v : memory)
    memref::DeallocOp::create(b, loc, v);
  of.launch.erase();
}

/// How many elements of a dim the kernel has of a tensor that has more of them, where that
/// is known: copies put zeros behind those.
static std::optional<int64_t> findEnd(const MatrixTile &tile, int64_t at,
                                      ArrayRef<int64_t> extents) {
  unsigned d = at == int64_t(tile.source.sum) ? tile.sum : tile.free;
  if (at != int64_t(tile.source.sum) && at != int64_t(tile.source.free))
    return std::nullopt;
  AffineExpr place =
      simplifyForExtents(tile.source.map, extents).getResult(unsigned(at));
  if (place != getAffineDimExpr(d, place.getContext()) ||
      ShapedType::isDynamic(extents[d]))
    return std::nullopt;
  return extents[d];
}

/// Of boxes with as many rows as the tile has in memory, and 128 bytes of each.
Value HostLaunch::makeTensorMap(const MatrixTile &tile) {
  Value memref = of.launch->getOperand(tile.source.argument.getArgNumber());
  auto type = cast<MemRefType>(memref.getType());
  int64_t rank = type.getRank();
  // Of a part of another tensor the strides are known.
  bool isPart = !type.getLayout().isIdentity();
  SmallVector<int64_t> known;
  int64_t offset = 0;
  if (isPart && failed(type.getStridesAndOffset(known, offset)))
    llvm_unreachable("the plan takes parts whose strides are known");
  // Sizes, strides in bytes, boxes; innermost first.
  SmallVector<Value> sizes, strides;
  int64_t bytes = bytesOf(type.getElementType());
  Value stride = index(bytes);
  for (int64_t i = rank - 1; i >= 0; --i) {
    Value size = type.isDynamicDim(i)
                     ? Value(memref::DimOp::create(b, loc, memref, i))
                     : index(type.getDimSize(i));
    stride = arith::MulIOp::create(b, loc, stride, size);
    strides.push_back(isPart && i > 0 ? index(bytes * known[i - 1]) : stride);
    if (std::optional<int64_t> end = findEnd(tile, i, space.staticExtents);
        end && !type.isDynamicDim(i) && *end < type.getDimSize(i))
      size = index(*end);
    sizes.push_back(size);
  }
  sizes.resize(5, index(1));
  strides.resize(4, index(16));
  SmallVector<Value> description(sizes);
  llvm::append_range(description, strides);
  unsigned rows = tile.isByRows ? tile.source.sum : tile.source.free;
  for (int64_t i = 0; i < 5; ++i) {
    int64_t at = rank - 1 - i;
    description.push_back(index(i == 0                ? kSumBytes / bytes
                                : at == int64_t(rows) ? tile.rowsOfBox()
                                                      : 1));
  }
  return redfuse::makeTensorMap(b, loc, "redfuse_rt_tensor_map", memref, offset,
                                rank, description);
}

/// On the host: the states of all splits and a counter for each tile, or one for
/// the scheduler.
void HostLaunch::allocateStates(Value tiles) {
  auto make = [&](Type element, Value size) {
    auto type = MemRefType::get({ShapedType::kDynamic}, element);
    return memref::AllocOp::create(b, loc, type, size, b.getI64IntegerAttr(64));
  };
  if (plan.clusters() > 1) {
    memory.push_back(
        make(b.getI8Type(),
             index(plan.clusters() * StateLayout(plan, space).storedBytes())));
    arguments.push_back(memory.back());
  }
  Value counted = index(1);
  if (plan.clusters() > 1)
    counted = b.createOrFold<arith::MulIOp>(
        loc, tiles, index(plan.cluster * plan.multicast()));
  auto zeroed = make(b.getI32Type(), counted);
  zeroed->setAttr(kCountersAttr, b.getUnitAttr());
  arguments.push_back(zeroed);
}
