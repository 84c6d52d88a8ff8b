//===- ContractionKernel.cpp - the kernel of a sum of products ------------===//
#include "redfuse/Codegen/GPU/Contractions/ContractionKernel.h"
#include "ContractionEmitter.h"

#include "redfuse/Codegen/GPU/Target/MatrixTarget.h"

using namespace mlir;
using namespace redfuse;

namespace {
class ContractionGenerator : public KernelGenerator {
public:
  ContractionGenerator(KernelOp kernel, LaunchOp launch,
                       const KernelSpace &space, ContractionPlanAttr plan,
                       const Chip &chip)
      : KernelGenerator(kernel, launch, space, /*lanes=*/1), plan(plan),
        chip(chip) {}

  LogicalResult run(gpu::GPUModuleOp device, StringRef name);

private:
  Value countBlocks(const FoundContraction &found,
                    const ContractionEmitter &tile);

  void shareSums(const ContractionEmitter &tile, Type element, Value &blocks,
                 SmallVectorImpl<Value> &arguments);

  ContractionPlanAttr plan;
  const Chip &chip;
};
} // namespace

/// On the host.
Value ContractionGenerator::countBlocks(const FoundContraction &found,
                                        const ContractionEmitter &tile) {
  auto index = [&](int64_t n) {
    return arith::ConstantIndexOp::create(b, loc, n).getResult();
  };
  auto countOf = [&](ArrayRef<unsigned> of) {
    Value count = index(1);
    for (unsigned d : of)
      count = b.createOrFold<arith::MulIOp>(loc, count, dims[d].extent);
    return count;
  };
  const MatrixForm &form = found.form();
  Value blocks = b.createOrFold<arith::CeilDivUIOp>(loc, countOf(form.rows),
                                                    index(tile.tileRows()));
  Value columns = b.createOrFold<arith::CeilDivUIOp>(loc, countOf(form.columns),
                                                     index(tile.tileColumns()));
  blocks = b.createOrFold<arith::MulIOp>(loc, blocks, columns);
  return b.createOrFold<arith::MulIOp>(loc, blocks, countOf(form.batch));
}

/// Memory for the parts of all blocks, and a counter for each tile; `blocks` are those of
/// tiles, then all.
void ContractionGenerator::shareSums(const ContractionEmitter &tile,
                                     Type element, Value &blocks,
                                     SmallVectorImpl<Value> &arguments) {
  auto make = [&](Type type, Value size) {
    return memref::AllocOp::create(
        b, loc, MemRefType::get({ShapedType::kDynamic}, type), size,
        b.getI64IntegerAttr(64));
  };
  auto times = [&](Value v, int64_t by) {
    return b.createOrFold<arith::MulIOp>(
        loc, v, arith::ConstantIndexOp::create(b, loc, by));
  };
  auto zeroed = make(b.getI32Type(), blocks);
  zeroed->setAttr(kCountersAttr, b.getUnitAttr());
  blocks = times(blocks, plan.getSplits());
  arguments.push_back(
      make(element, times(blocks, tile.tileRows() * tile.tileColumns())));
  arguments.push_back(zeroed);
}

LogicalResult ContractionGenerator::run(gpu::GPUModuleOp device,
                                        StringRef name) {
  auto refuse = [&](const Twine &why) {
    return launch.emitOpError("cannot run as '")
           << kContractionAttr << "' says: " << why;
  };
  std::string why;
  std::optional<FoundContraction> found =
      findContraction(kernel, launch, space, chip, why);
  if (!found)
    return refuse(why);
  const MatrixForm &form = found->form();
  bool isByWarpgroups = plan.getKind() == MmaKind::Wgmma;
  if (!isByWarpgroups &&
      (plan.getInstructions()[0] * form.instruction.rows > 64 ||
       plan.getInstructions()[1] * form.instruction.columns > 64))
    return refuse("a warp's tile is at most 64 x 64");

  // On the host: the grid.
  b.setInsertionPoint(launch);
  makeSpace(launch->getOperands());
  auto own = std::make_unique<ContractionEmitter>(b, loc, dims, plan, *found);
  ContractionEmitter *tile = own.get();
  if (isByWarpgroups) {
    if (!chip.has(Wgmma))
      return refuse("the target has no units of warpgroups");
    std::optional<WarpgroupOperands> operands =
        findWarpgroupOperands(*found, launch, space);
    if (!operands)
      return refuse("its operands are not in memory in vectors of 16 bytes "
                    "along one dim of the sum, rounded to TF32 where they are "
                    "f32");
    if (plan.getStages() < kLeastWarpgroupStages)
      return refuse("copies are on their way in one stage at least, beside two "
                    "that are multiplied");
    tile->copyOperands(*operands);
    if (plan.getBoxes()) {
      auto boxes = findOperandBoxes(*found, launch, space, *operands);
      if (!boxes)
        return refuse("its operands are no boxes of tensors, and no windows "
                      "that tensor maps describe");
      tile->copyBoxes(std::move(*boxes),
                      countBoxSteps(*found, space, *operands));
    }
  } else if (plan.getStages() > kStages) {
    auto copied = findCopiedOperands(*found, launch);
    if (!copied)
      return refuse("its operands are not what is in memory, so that there are "
                    "two stages");
    if (tile->tileRows() % 32 != 0 || tile->tileColumns() % 32 != 0)
      return refuse("what is copied has multiples of 32 rows and columns");
    tile->copyOperands(*copied, /*hasRounding=*/chip.has(TensorMaps));
  }
  if (tile->sharedBytes() > getBlockSharedBytes(chip))
    return refuse("its stages take " + Twine(tile->sharedBytes()) +
                  " bytes of shared memory, of which a block has " +
                  Twine(getBlockSharedBytes(chip)));
  Value blocks = countBlocks(*found, *tile);
  SmallVector<Value> arguments(launch->getOperands());
  unsigned operands = arguments.size();
  if (plan.getSplits() > 1)
    shareSums(*tile, form.instruction.sum, blocks, arguments);
  unsigned firstMap = arguments.size();
  if (plan.getBoxes()) {
    SmallVector<Value> mapped;
    for (BlockArgument source : tile->getMapped())
      mapped.push_back(memoryInLaunch(source, found->op, launch));
    llvm::append_range(arguments, tile->makeMaps(mapped));
  }

  // In the kernel.
  b.setInsertionPointToEnd(device.getBody());
  SmallVector<Type> types = llvm::to_vector(ValueRange(arguments).getTypes());
  auto func =
      gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(tile->threads), 1, 1}));
  if (isByWarpgroups) {
    // As many blocks as have room: one computes while the other one stores.
    int64_t columns = plan.getInstructions()[1] * form.instruction.columns;
    func->setAttr("nvvm.minctasm",
                  b.getI32IntegerAttr(int32_t(countResident(
                      tile->threads, columns, tile->sharedBytes()))));
  }
  Block *entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  ValueRange given = entry->getArguments().take_front(operands);
  makeSpace(given);
  emitter = std::move(own);
  emitter->entry = entry;
  tile->thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  bindOperands(given);
  llvm::append_range(tile->maps, entry->getArguments().drop_front(firstMap));
  if (plan.getSplits() > 1) {
    tile->workspace = entry->getArgument(operands);
    tile->counters = entry->getArgument(operands + 1);
  }
  Value memory =
      gpu::DynamicSharedMemoryOp::create(b, loc, sharedMemoryOf(b.getI8Type()));
  Value words =
      memref::ViewOp::create(b, loc, sharedMemoryOf(b.getI32Type()), memory,
                             arith::ConstantIndexOp::create(b, loc, 0),
                             ValueRange(arith::ConstantIndexOp::create(
                                 b, loc, tile->sharedBytes() / 4)));
  auto end = gpu::ReturnOp::create(b, loc);
  b.setInsertionPoint(end);
  emitter->setProgram(found->op, *found->programs[found->op],
                      DenseMap<Value, TileBuffer>());
  tile->emitTile(block, words);

  // The launch.
  b.setInsertionPoint(launch);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value width = arith::ConstantIndexOp::create(b, loc, tile->threads);
  Value bytes =
      arith::ConstantIntOp::create(b, loc, b.getI32Type(), tile->sharedBytes());
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{blocks, one, one},
                            gpu::KernelDim3{width, one, one}, bytes, arguments);
  if (plan.getSplits() > 1)
    memref::DeallocOp::create(b, loc, arguments[operands]);
  launch.erase();
  return success();
}

LogicalResult redfuse::generateContraction(KernelOp kernel, LaunchOp launch,
                                           const KernelSpace &space,
                                           ContractionPlanAttr plan,
                                           const Chip &chip,
                                           gpu::GPUModuleOp device,
                                           StringRef name) {
  KernelSpace whole = withoutSchedule(space);
  return ContractionGenerator(kernel, launch, whole, plan, chip)
      .run(device, name);
}
