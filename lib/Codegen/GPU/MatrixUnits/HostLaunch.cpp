//===- HostLaunch.cpp - how the host launches a kernel --------------------===//
#include "HostLaunch.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/ExchangeLayout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace redfuse;

ArrayRef<Value> HostLaunch::makeArguments() {
  b.setInsertionPoint(of.launch);
  Value all = countBlocks(b, of.launch, space,
                          [&](unsigned d) { return plan.tileOf(d); });
  grid = all;
  if (plan.target.hasWgmma)
    grid = arith::MinUIOp::create(b, loc, all, index(of.units));
  if (plan.shares() > 1)
    grid = arith::MulIOp::create(b, loc, all, index(plan.shares()));
  Value atLeastOne = arith::MaxUIOp::create(b, loc, grid, index(1));
  arguments = {all, arith::DivUIOp::create(b, loc, all, atLeastOne)};
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
  if (layout.staged)
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

/// A tensor map of 128 bytes, filled by the runtime on the host's stack:
/// `redfuse_rt_tensor_map(map, base, element, rank, sizes[5], strides[4] in bytes,
/// box[5])`, innermost first.
Value HostLaunch::makeTensorMap(const MatrixTile &tile) {
  static constexpr StringLiteral kName = "redfuse_rt_tensor_map";
  Value memref = of.launch->getOperand(tile.source.argument.getArgNumber());
  auto type = cast<MemRefType>(memref.getType());
  int64_t rank = type.getRank();
  auto storage = MemRefType::get({16}, b.getI64Type());
  Value map =
      memref::AllocaOp::create(b, loc, storage, b.getI64IntegerAttr(64));
  auto addressOf = [&](Value v) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(b, loc, v);
  };
  SmallVector<Value> operands{addressOf(map), addressOf(memref),
                              index(type.getElementType().isF16() ? 0 : 1),
                              index(rank)};
  SmallVector<Value> sizes, strides;
  Value stride = index(2);
  for (int64_t i = rank - 1; i >= 0; --i) {
    Value size = type.isDynamicDim(i)
                     ? Value(memref::DimOp::create(b, loc, memref, i))
                     : index(type.getDimSize(i));
    sizes.push_back(size);
    stride = arith::MulIOp::create(b, loc, stride, size);
    strides.push_back(stride);
  }
  sizes.resize(5, index(1));
  strides.resize(4, index(16));
  llvm::append_range(operands, sizes);
  llvm::append_range(operands, strides);
  unsigned rows = tile.isByRows ? tile.source.sum : tile.source.free;
  for (int64_t i = 0; i < 5; ++i) {
    int64_t at = rank - 1 - i;
    operands.push_back(index(i == 0                ? 64
                             : at == int64_t(rows) ? tile.type.getRows()
                                                   : 1));
  }
  auto module = of.launch->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(kName)) {
    auto top = OpBuilder::atBlockBegin(module.getBody());
    auto function = func::FuncOp::create(
        top, loc, kName,
        b.getFunctionType(SmallVector<Type>(operands.size(), b.getIndexType()),
                          {}));
    function.setPrivate();
  }
  func::CallOp::create(b, loc, kName, TypeRange(), operands);
  return vector::LoadOp::create(b, loc, VectorType::get({16}, b.getI64Type()),
                                map, ValueRange(index(0)));
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
    counted = b.createOrFold<arith::MulIOp>(loc, tiles, index(plan.cluster));
  auto zeroed = make(b.getI32Type(), counted);
  zeroed->setAttr(kCountersAttr, b.getUnitAttr());
  arguments.push_back(zeroed);
}
