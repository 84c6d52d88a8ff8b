//===- ContractionKernel.cpp - the kernel of a sum of products ------------===//
#include "redfuse/Codegen/GPU/Contractions/ContractionKernel.h"
#include "ContractionBlock.h"
#include "ContractionBoxes.h"
#include "PackedWeights.h"

#include "redfuse/Analysis/ScheduleChoice.h"

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
  InFlightDiagnostic refuse(const Twine &why);
  LogicalResult findOperands(ContractionTiling &tiling,
                             const FoundContraction &found);
  Value countBlocks(const ContractionTiling &tiling);
  void shareSums(const ContractionTiling &tiling, Value &blocks,
                 SmallVectorImpl<Value> &arguments);
  gpu::GPUFuncOp makeFunction(gpu::GPUModuleOp device, StringRef name,
                              const ContractionTiling &tiling,
                              ValueRange arguments);

  ContractionPlanAttr plan;
  const Chip &chip;
};
} // namespace

InFlightDiagnostic ContractionGenerator::refuse(const Twine &why) {
  return launch.emitOpError("cannot run as '")
         << kContractionAttr << "' says: " << why;
}

/// Whether a factor is made of integers of 32 bits.
static bool isOfWords(Value factor) {
  SetVector<Value> open;
  open.insert(factor);
  for (size_t i = 0; i < open.size(); ++i) {
    if (Operation *def = open[i].getDefiningOp()) {
      if (def->getBlock() == factor.getParentBlock())
        open.insert_range(def->getOperands());
    } else if (open[i].getType().isInteger(32)) {
      return true;
    }
  }
  return false;
}

/// How operands come to shared memory.
LogicalResult
ContractionGenerator::findOperands(ContractionTiling &tiling,
                                   const FoundContraction &found) {
  OperandTransfer &operands = tiling.operands;
  if (!tiling.isByWarpgroups()) {
    int64_t rows = tiling.warpRows(), columns = tiling.warpColumns();
    if (rows > 64 || columns > 64 || rows * columns > 64 * 32)
      return refuse("a warp's tile is at most 64 x 32, or 32 x 64");
    if (plan.getStages() <= kStages) {
      if (tiling.elementBytes() != 2 && tiling.slices() == 1)
        return success();
      operands.isLeftDirect =
          plan.getWarps()[1] == 1 && canBeDirect(found, /*isLeft=*/true);
      operands.isRightDirect = !operands.isLeftDirect &&
                               plan.getWarps()[0] == 1 &&
                               canBeDirect(found, /*isLeft=*/false);
      if (tiling.slices() > 1 && !operands.isLeftDirect &&
          !operands.isRightDirect)
        return refuse("warps share the sum of a tile where they compute an "
                      "operand that they alone read");
      return success();
    }
    auto copied = findCopiedOperands(found, launch);
    if (!copied)
      return refuse("its operands are not what is in memory, so that there are "
                    "two stages");
    int64_t multiple = tiling.elementWords() > 1 ? 16 : 32;
    if (tiling.tileRows() % multiple != 0 ||
        tiling.tileColumns() % multiple != 0)
      return refuse("what is copied has multiples of " + Twine(multiple) +
                    " rows and columns");
    operands.isCopied = true;
    std::tie(operands.left, operands.right) = *copied;
    operands.roundsByInstruction = chip.has(TensorMaps);
    return success();
  }
  if (!chip.has(Wgmma))
    return refuse("the target has no units of warpgroups");
  std::optional<WarpgroupOperands> copied =
      findWarpgroupOperands(found, launch, space);
  if (!copied)
    return refuse("its operands are not in memory in vectors of 16 bytes "
                  "along one dim of the sum, rounded to TF32 where they are "
                  "f32");
  if (plan.getStages() < kLeastWarpgroupStages)
    return refuse("copies are on their way in one stage at least, beside two "
                  "that are multiplied");
  operands.isCopied = operands.roundsByInstruction = true;
  operands.left = copied->left;
  operands.right = copied->right;
  operands.vectorSum = copied->sum;
  if (!tiling.isByBoxes())
    return success();
  operands.boxes = findOperandBoxes(found, launch, space, *copied);
  if (!operands.boxes)
    return refuse("its operands are no boxes of tensors, and no windows "
                  "that tensor maps describe");
  operands.boxSteps = countBoxSteps(found, space, *copied);
  return success();
}

/// On the host.
Value ContractionGenerator::countBlocks(const ContractionTiling &tiling) {
  auto index = [&](int64_t n) {
    return arith::ConstantIndexOp::create(b, loc, n).getResult();
  };
  auto countOf = [&](ArrayRef<unsigned> of) {
    Value count = index(1);
    for (unsigned d : of)
      count = b.createOrFold<arith::MulIOp>(loc, count, dims[d].extent);
    return count;
  };
  const MatrixForm &form = tiling.form;
  Value blocks = b.createOrFold<arith::CeilDivUIOp>(loc, countOf(form.rows),
                                                    index(tiling.tileRows()));
  Value columns = b.createOrFold<arith::CeilDivUIOp>(
      loc, countOf(form.columns), index(tiling.tileColumns()));
  blocks = b.createOrFold<arith::MulIOp>(loc, blocks, columns);
  return b.createOrFold<arith::MulIOp>(loc, blocks, countOf(form.batch));
}

/// Memory for the parts of all blocks, and a counter for each tile; `blocks` are those of
/// tiles, then all.
void ContractionGenerator::shareSums(const ContractionTiling &tiling,
                                     Value &blocks,
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
  arguments.push_back(make(
      tiling.x.sum, times(blocks, tiling.tileRows() * tiling.tileColumns())));
  arguments.push_back(zeroed);
}

gpu::GPUFuncOp
ContractionGenerator::makeFunction(gpu::GPUModuleOp device, StringRef name,
                                   const ContractionTiling &tiling,
                                   ValueRange arguments) {
  b.setInsertionPointToEnd(device.getBody());
  auto func = gpu::GPUFuncOp::create(
      b, loc, name, b.getFunctionType(arguments.getTypes(), {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(tiling.threads()), 1, 1}));
  if (tiling.isByWarpgroups())
    // As many blocks as have room: one computes while the other one stores.
    func->setAttr("nvvm.minctasm", b.getI32IntegerAttr(int32_t(countResident(
                                       tiling.threads(), tiling.warpColumns(),
                                       tiling.sharedBytes()))));
  // Of packed weights a third block is worth more than a few registers: with 64 rows bytes
  // with scales of groups took 46 us on an H200 instead of 66, words of codes 51 instead of
  // 65. Blocks of more threads have room for as many, but for words.
  int64_t sums = tiling.tileRows() * tiling.tileColumns() / tiling.threads();
  double registers =
      double(tiling.threads()) * (64 + kRegistersOfPackedSum * double(sums));
  Value factors[2] = {tiling.form.left, tiling.form.right};
  if (3 * registers <= kRegistersOfUnit &&
      llvm::any_of(factors,
                   tiling.threads() <= 128 ? isOfPackedNumbers : isOfWords))
    func->setAttr("nvvm.minctasm", b.getI32IntegerAttr(3));
  b.setInsertionPointToStart(&func.getBody().front());
  return func;
}

LogicalResult ContractionGenerator::run(gpu::GPUModuleOp device,
                                        StringRef name) {
  std::string why;
  std::optional<FoundContraction> found =
      findContraction(kernel, launch, space, chip, why);
  if (!found)
    return refuse(why);
  ContractionTiling tiling(plan, *found);
  if (failed(findOperands(tiling, *found)))
    return failure();
  if (tiling.sharedBytes() > getBlockSharedBytes(chip))
    return refuse("its stages take " + Twine(tiling.sharedBytes()) +
                  " bytes of shared memory, of which a block has " +
                  Twine(getBlockSharedBytes(chip)));

  // On the host: the grid.
  b.setInsertionPoint(launch);
  makeSpace(launch->getOperands());
  Value blocks = countBlocks(tiling);
  SmallVector<Value> arguments(launch->getOperands());
  unsigned operands = arguments.size();
  if (plan.getSplits() > 1)
    shareSums(tiling, blocks, arguments);
  unsigned firstMap = arguments.size();
  if (tiling.isByBoxes()) {
    SmallVector<Value> mapped;
    for (BlockArgument source : getMappedOperands(tiling.operands))
      mapped.push_back(memoryInLaunch(source, found->op, launch));
    llvm::append_range(arguments, makeOperandMaps(b, loc, tiling, mapped));
  }

  // In the kernel.
  gpu::GPUFuncOp func = makeFunction(device, name, tiling, arguments);
  Block *entry = &func.getBody().front();
  ValueRange given = entry->getArguments().take_front(operands);
  makeSpace(given);
  auto own = std::make_unique<ContractionEmitter>(b, loc, dims, tiling);
  ContractionEmitter &values = *own;
  emitter = std::move(own);
  emitter->entry = entry;
  values.thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  bindOperands(given);
  ContractionBlock::Memory memory;
  llvm::append_range(memory.maps, entry->getArguments().drop_front(firstMap));
  if (plan.getSplits() > 1)
    memory.splits = {entry->getArgument(operands),
                     entry->getArgument(operands + 1)};
  Value bytes =
      gpu::DynamicSharedMemoryOp::create(b, loc, sharedMemoryOf(b.getI8Type()));
  memory.words =
      memref::ViewOp::create(b, loc, sharedMemoryOf(b.getI32Type()), bytes,
                             arith::ConstantIndexOp::create(b, loc, 0),
                             ValueRange(arith::ConstantIndexOp::create(
                                 b, loc, tiling.sharedBytes() / 4)));
  auto end = gpu::ReturnOp::create(b, loc);
  b.setInsertionPoint(end);
  emitter->setProgram(found->op, *found->programs[found->op],
                      DenseMap<Value, TileBuffer>());
  ContractionBlock(values, tiling, memory).emit(found->nest(), block);

  // The launch.
  b.setInsertionPoint(launch);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value width = arith::ConstantIndexOp::create(b, loc, tiling.threads());
  Value size = arith::ConstantIntOp::create(b, loc, b.getI32Type(),
                                            tiling.sharedBytes());
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{blocks, one, one},
                            gpu::KernelDim3{width, one, one}, size, arguments);
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
