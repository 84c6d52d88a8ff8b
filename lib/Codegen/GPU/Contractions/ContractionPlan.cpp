//===- ContractionPlan.cpp - how a sum of products is cut into tiles ------===//
#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"
#include "PackedWeights.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/Windows.h"
#include "redfuse/Codegen/GPU/Contractions/OperandBox.h"
#include "redfuse/Codegen/GPU/Contractions/Tuning.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace redfuse;

std::optional<FoundContraction>
redfuse::findContraction(KernelOp kernel, LaunchOp launch,
                         const KernelSpace &space, const Chip &chip,
                         std::string &why) {
  auto refuse = [&](const Twine &reason) {
    why = reason.str();
    return std::nullopt;
  };
  std::optional<FoundContraction> found =
      findSoleContraction(kernel, launch, space, &chip, why);
  if (!found)
    return std::nullopt;
  const MatrixForm &form = found->form();
  unsigned bits = elementBits(form.instruction.left);
  if (bits != elementBits(form.instruction.right))
    return refuse("no slabs of its types");
  for (ArrayRef<unsigned> dims :
       {ArrayRef(form.rows), ArrayRef(form.columns), ArrayRef(form.sums)}) {
    double points = 1;
    for (unsigned d : dims)
      if (int64_t extent = space.staticExtents[d];
          !ShapedType::isDynamic(extent))
        points *= double(extent);
    // Numbered in 32 bits, and rounded up to tiles.
    if (points < 1 || points > double(1 << 30))
      return refuse("it has no rows, columns or sums, or too many");
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Operands that are copied
//===----------------------------------------------------------------------===//

/// What an expression without divisions has of each dim, and a constant at the end.
static std::optional<SmallVector<int64_t>> factorsOf(AffineExpr expr,
                                                     unsigned dims) {
  SmallVector<int64_t> flat;
  // Divisions would be dims of their own.
  if (failed(getFlattenedAffineExpr(expr, dims, 0, &flat)) ||
      flat.size() != dims + 1)
    return std::nullopt;
  return flat;
}

std::optional<FlatIndex> redfuse::findFlatIndex(MemRefType type,
                                                AffineMap map) {
  FlatIndex index;
  SmallVector<int64_t> strides;
  if (type.getElementType().isInteger(1) || !type.hasStaticShape() ||
      map.getNumResults() == 0 ||
      failed(type.getStridesAndOffset(strides, index.offset)) ||
      ShapedType::isDynamic(index.offset) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return std::nullopt;
  unsigned dims = map.getNumDims();
  index.factors.assign(dims + 1, 0);
  for (auto [expr, stride, extent] :
       llvm::zip_equal(map.getResults(), strides, type.getShape())) {
    index.last += std::max<int64_t>(0, extent - 1) * stride;
    auto mod = dyn_cast<AffineBinaryOpExpr>(expr);
    bool isWrapped = mod && mod.getKind() == AffineExprKind::Mod;
    std::optional<SmallVector<int64_t>> own =
        factorsOf(isWrapped ? mod.getLHS() : expr, dims);
    if (!own)
      return std::nullopt;
    if (isWrapped) {
      auto modulus = dyn_cast<AffineConstantExpr>(mod.getRHS());
      if (!modulus)
        return std::nullopt;
      index.wrapped.push_back({std::move(*own), modulus.getValue(), stride});
      continue;
    }
    for (auto [factor, more] : llvm::zip_equal(index.factors, *own))
      factor += more * stride;
  }
  if (index.last > INT32_MAX)
    return std::nullopt;
  return index;
}

/// Whether a value is made of positions alone.
static bool isOfPositions(Value v, Block &body) {
  if (v.getParentBlock() != &body)
    return true;
  Operation *def = v.getDefiningOp();
  return def && !isa<ReduceOp>(def) && isPure(def) &&
         llvm::all_of(def->getOperands(),
                      [&](Value of) { return isOfPositions(of, body); });
}

Value redfuse::memoryInLaunch(BlockArgument argument,
                              IndexProgramOpInterface op, LaunchOp launch) {
  auto tensor =
      dyn_cast<BlockArgument>(op->getOperand(argument.getArgNumber()));
  if (!tensor || !isa<KernelOp>(tensor.getOwner()->getParentOp()))
    return {};
  return launch->getOperand(tensor.getArgNumber());
}

MemRefType redfuse::typeInLaunch(BlockArgument argument,
                                 IndexProgramOpInterface op, LaunchOp launch) {
  Value memory = memoryInLaunch(argument, op, launch);
  return memory ? dyn_cast<MemRefType>(memory.getType()) : MemRefType();
}

static std::optional<CopiedOperand>
findCopiedOperand(Value factor, IndexProgramOpInterface op, LaunchOp launch,
                  Type element) {
  CopiedOperand copied;
  Value v = factor;
  if (auto extend = v.getDefiningOp<arith::ExtFOp>()) {
    auto round = extend.getIn().getDefiningOp<arith::TruncFOp>();
    if (!round || !isa<FloatTF32Type>(round.getType()))
      return std::nullopt;
    copied.isRounded = true;
    copied.isExact = round->hasAttr(kExactAttr);
    v = round.getIn();
  }
  Block &body = *op.getProgramBody();
  if (auto select = v.getDefiningOp<arith::SelectOp>()) {
    if (!matchPattern(select.getFalseValue(), m_PosZeroFloat()) ||
        !isOfPositions(select.getCondition(), body))
      return std::nullopt;
    copied.inside = select.getCondition();
    v = select.getTrueValue();
  }
  if (auto sum = v.getDefiningOp<arith::AddFOp>();
      sum && sum->hasAttr(kPartsAttr)) {
    copied.rest = dyn_cast<BlockArgument>(sum.getRhs());
    v = sum.getLhs();
    if (!copied.rest)
      return std::nullopt;
  }
  copied.source = dyn_cast<BlockArgument>(v);
  auto isInMemory = [&](BlockArgument v) {
    if (!v || v.getOwner() != &body || v.getType() != element)
      return false;
    MemRefType type = typeInLaunch(v, op, launch);
    return type &&
           findFlatIndex(type, op.getMapOfBodyArgument(v.getArgNumber()));
  };
  if (!isInMemory(copied.source))
    return std::nullopt;
  // Both parts are found at the same place.
  if (copied.rest &&
      (!isInMemory(copied.rest) ||
       typeInLaunch(copied.rest, op, launch) !=
           typeInLaunch(copied.source, op, launch) ||
       op.getMapOfBodyArgument(copied.rest.getArgNumber()) !=
           op.getMapOfBodyArgument(copied.source.getArgNumber())))
    return std::nullopt;
  return copied;
}

int64_t redfuse::alignedWidth(const FlatIndex &index, unsigned dim,
                              int64_t width) {
  if (index.factors[dim] != 1)
    return 1;
  int64_t others = index.offset;
  for (auto [d, factor] : llvm::enumerate(index.factors))
    if (d != dim)
      others |= factor;
  for (const FlatIndex::Wrapped &part : index.wrapped) {
    if (part.factors[dim] != 0)
      return 1;
    others |= part.stride;
  }
  while (width > 1 && others % width != 0)
    width /= 2;
  return width;
}

/// Whether some index is no dim.
static bool isWindow(AffineMap map) {
  return llvm::any_of(map.getResults(),
                      [](AffineExpr e) { return isa<AffineBinaryOpExpr>(e); });
}

static bool hasWindow(IndexProgramOpInterface op) {
  return llvm::any_of(op.getIndexingMapsArray(), isWindow);
}

static bool readsWindow(IndexProgramOpInterface op,
                        const CopiedOperand &operand) {
  return isWindow(op.getMapOfBodyArgument(operand.source.getArgNumber()));
}

/// Whether elements of 16 bits are loaded one by one: no two neighbours in memory begin at
/// multiples of 4 bytes.
static bool areLoadedSingly(IndexProgramOpInterface op, LaunchOp launch) {
  for (BlockArgument argument : op.getProgramBody()->getArguments().take_front(
           op.getProgramInputs().size())) {
    MemRefType type = typeInLaunch(argument, op, launch);
    if (!type || type.getRank() < 2 || !type.getElementType().isIntOrFloat() ||
        type.getElementTypeBitWidth() != 16)
      continue;
    std::optional<FlatIndex> index =
        findFlatIndex(type, op.getMapOfBodyArgument(argument.getArgNumber()));
    if (!index)
      continue;
    for (unsigned d = 0; d + 1 < index->factors.size(); ++d)
      if (index->factors[d] == 1 && alignedWidth(*index, d, 2) == 1)
        return true;
  }
  return false;
}

std::optional<std::pair<CopiedOperand, CopiedOperand>>
redfuse::findCopiedOperands(const FoundContraction &found, LaunchOp launch) {
  const MatrixForm &form = found.form();
  MatrixElement kind = form.instruction.left;
  if (kind != MatrixElement::F32 && kind != MatrixElement::F64)
    return std::nullopt;
  IndexProgramOpInterface op = found.op;
  Type element = typeOf(kind, op->getContext());
  std::optional<CopiedOperand> left = findCopiedOperand(form.left, op, launch,
                                                        element),
                               right = findCopiedOperand(form.right, op, launch,
                                                         element);
  if (!left || !right || left->rest || right->rest ||
      !(kind == MatrixElement::F64 || hasWindow(op) ||
        (left->isRounded && right->isRounded)))
    return std::nullopt;
  return std::pair(*left, *right);
}

std::optional<WarpgroupOperands>
redfuse::findWarpgroupOperands(const FoundContraction &found, LaunchOp launch,
                               const KernelSpace &space) {
  const MatrixForm &form = found.form();
  MatrixElement kind = form.instruction.left;
  if (kind != form.instruction.right || !form.instruction.sum.isF32() ||
      (kind != MatrixElement::F32 && kind != MatrixElement::BF16 &&
       kind != MatrixElement::F16))
    return std::nullopt;
  IndexProgramOpInterface op = found.op;
  Type element = typeOf(kind, op->getContext());
  WarpgroupOperands operands;
  FailureOr<DimSets> sets = DimSets::compute(op);
  if (failed(sets))
    return std::nullopt;
  SmallVector<unsigned> candidates(form.sums);
  for (auto [factor, copied] :
       {std::pair(form.left, &operands.left), {form.right, &operands.right}}) {
    std::optional<CopiedOperand> own =
        findCopiedOperand(factor, op, launch, element);
    // The unit cuts off what TF32 does not have.
    if (!own || (kind == MatrixElement::F32 && !own->isExact && !own->rest))
      return std::nullopt;
    *copied = *own;
    MemRefType type = typeInLaunch(own->source, op, launch);
    std::optional<FlatIndex> index = findFlatIndex(
        type, op.getMapOfBodyArgument(own->source.getArgNumber()));
    int64_t width = 128 / elementBits(kind);
    llvm::erase_if(candidates, [&](unsigned d) {
      return alignedWidth(*index, d, width) != width ||
             space.staticExtents[d] % width != 0 ||
             (own->inside && (*sets)[own->inside].test(d));
    });
  }
  if (candidates.empty() ||
      bool(operands.left.rest) != bool(operands.right.rest))
    return std::nullopt;
  operands.sum = candidates.front();
  return operands;
}

//===----------------------------------------------------------------------===//
// Predicted times
//===----------------------------------------------------------------------===//

namespace {
/// What of a contraction the time depends on.
struct ContractionCost {
  const MatrixInstruction &x;
  /// Products of parts of f32.
  double parts = 1;
  double batch = 1, rows = 1, columns = 1, sums = 1;
  /// Bytes of operands and results.
  double bytes = 0;
  double units, cyclesOfSecond, bandwidth, productsOfCycle,
      doubleProductsOfCycle;
  /// What a stage takes beside its products.
  double stageCycles = kStageCycles;
  /// Registers of a sum; and bytes of shared memory, where what blocks copy is exposed.
  double registersOfSum = kRegistersOfSum, sharedBytes = 0;
  /// Whether sums are one slab: then a stage of one takes as few registers.
  bool isSlab() const { return sums <= sumsOfSlab(); }
  /// Of wgmma; and the parts of operands that the L1 cache does not have.
  double unitProducts, newOfRows = 1, newOfColumns = 1;
  /// Parts of each operand that are copied.
  double copiesOfStage = 1;
  /// Instructions by which threads compute an element of an operand, for each tile again.
  double ofLeft = 0, ofRight = 0;

  /// Elements that a thread loads for a stage.
  double loadedOfThread(const BlockShape &shape) const {
    double rows =
        double(shape.warpRows * shape.rows + shape.warpColumns * shape.columns);
    return rows * double(shape.slabs) * sumsOfSlab() /
           (32.0 * double(shape.warpRows * shape.warpColumns));
  }
  double tilesOf(const BlockShape &shape) const {
    return batch * std::ceil(rows / double(shape.warpRows * shape.rows)) *
           std::ceil(columns / double(shape.warpColumns * shape.columns));
  }
  double sumsOfSlab() const { return 8.0 * kSlabBytes / elementBits(x.left); }
  /// Steps of one thread's copies; 0 where there are no boxes.
  double boxSteps = 0;
  double slabCycles(const BlockShape &shape) const;
  /// Shared memory of a block that copies.
  double copiedBytesOf(const BlockShape &shape) const {
    return double(
        kCopiedStages * kSlabBytes * shape.slabs *
        (shape.warpRows * shape.rows + shape.warpColumns * shape.columns));
  }
  double cyclesOf(const BlockShape &shape, double splits) const;
  double cyclesOf(const WarpgroupShape &shape, double splits) const;
  /// Cycles in which memory moves so many bytes.
  double memoryCycles(double moved) const;
};
} // namespace

/// Cycles of a multiprocessor for one slab of a block's tile.
double ContractionCost::slabCycles(const BlockShape &shape) const {
  double warps = double(shape.warpRows * shape.warpColumns);
  double tileRows = double(shape.warpRows * shape.rows),
         tileColumns = double(shape.warpColumns * shape.columns);
  double rate =
      productsOfCycle * (x.isSplit ? kSplitRate : 16.0 / elementBits(x.left));
  if (x.left == MatrixElement::F64)
    rate = doubleProductsOfCycle;
  double products = tileRows * tileColumns * sumsOfSlab() * parts / rate;
  double read = double(shape.rows + shape.columns) * warps;
  double shared =
      (read + tileRows + tileColumns) * kSlabBytes / kSharedBytesOfCycle;
  // Splits of factors, and sums of each slab.
  double issued = warps * (read / warps / 8 + 16);
  if (x.isSplit)
    issued += read * sumsOfSlab() * parts / 32 + tileRows * tileColumns / 32;
  issued += products * rate / (double(x.rows * x.columns * x.sums));
  issued += (tileRows * ofLeft + tileColumns * ofRight) * sumsOfSlab() / 32;
  return std::max({products, shared, issued / kIssuedOfCycle});
}

double ContractionCost::cyclesOf(const BlockShape &shape, double splits) const {
  double threads = 32.0 * double(shape.warpRows * shape.warpColumns);
  double tiles = tilesOf(shape);
  double ofUnit = std::ceil(tiles * splits / units);
  double ofSum =
      isSlab() && shape.slabs == 1 ? kRegistersOfCopiedSum : registersOfSum;
  double registers =
      threads *
      (kRegistersOfThread + ofSum * double(shape.rows * shape.columns) / 32);
  double resident = std::max(1.0, std::floor(kRegistersOfUnit / registers));
  if (sharedBytes > 0)
    resident = std::clamp(std::floor(sharedBytes / copiedBytesOf(shape)), 1.0,
                          resident);
  double slabs = std::ceil(sums / sumsOfSlab() / splits);
  double stages = std::ceil(slabs / double(shape.slabs));
  // The last stage is multiplied whole.
  slabs = stages * double(shape.slabs);
  auto roundOf = [&](double together) {
    double busy = together * slabs * slabCycles(shape);
    double waiting =
        stages * stageCycles * (together > 1 ? kShownOfStage : 1.0);
    return busy + waiting + kBlockCycles + (splits > 1 ? kSplitCycles : 0);
  };
  double computed =
      std::ceil(ofUnit / resident) * roundOf(std::min(ofUnit, resident));
  // One block alone has all of the unit of f64.
  if (double rest = std::fmod(ofUnit, resident);
      x.left == MatrixElement::F64 && rest > 0)
    computed =
        std::floor(ofUnit / resident) * roundOf(resident) + roundOf(rest);
  double tileRows = double(shape.warpRows * shape.rows),
         tileColumns = double(shape.warpColumns * shape.columns);
  double moved =
      tiles * (tileRows + tileColumns) * sums * double(elementBits(x.left)) / 8;
  // Partial sums are stored and read when there is nothing else to do.
  double partial = splits > 1 ? tiles * splits * tileRows * tileColumns *
                                    x.sum.getIntOrFloatBitWidth() / 4
                              : 0;
  double memory = memoryCycles(std::max(bytes, moved / kCacheRate));
  double shown = x.left == MatrixElement::F64 ? kShownOfMemory * memory : 0;
  // A block of few stages waits for its first ones, and computes no more while it stores.
  if (sharedBytes > 0 || isSlab())
    shown = kExposedMemory * memory / resident *
            std::min(1.0, double(kCopiedStages) / stages);
  return std::max(computed, memory) + shown +
         memoryCycles(partial / kCacheRate);
}

int64_t redfuse::countResident(int64_t threads, int64_t columns,
                               int64_t bytes) {
  // A thread has half of its warpgroup's columns as sums.
  int64_t most = columns > 128   ? 1
                 : threads > 128 ? kBlocksOfTwo
                                 : kBlocksOfOne;
  return std::clamp<int64_t>((220 << 10) / bytes, 1, most);
}

double ContractionCost::cyclesOf(const WarpgroupShape &shape,
                                 double splits) const {
  double threads = 32.0 * double(shape.warpRows * shape.warpColumns);
  double tileRows = 16.0 * double(shape.warpRows),
         tileColumns = double(shape.warpColumns * shape.columns);
  double tiles =
      batch * std::ceil(rows / tileRows) * std::ceil(columns / tileColumns);
  double stageBytes = 128 * copiesOfStage * (tileRows + tileColumns);
  double resident = double(countResident(int64_t(threads), shape.columns,
                                         shape.stages * int64_t(stageBytes)));
  double stageSums = 1024.0 / elementBits(x.left);
  double products = parts * tileRows * tileColumns * stageSums *
                    (copiesOfStage > 1 ? kUnitCyclesOfParts
                     : boxSteps > 0    ? kUnitCyclesOfBoxes
                                       : kUnitCycles) /
                    (unitProducts * 16.0 / elementBits(x.left));
  double issued = stageBytes / 16 / 32 * kIssuedOfCopy / kIssuedOfCycle;
  double read = 128 * copiesOfStage *
                (newOfRows * tileRows + newOfColumns * tileColumns) /
                kCachedOfCycle;
  double steps = std::ceil(std::ceil(sums / stageSums) / splits);
  if (boxSteps > 0) {
    steps = std::ceil(boxSteps / splits);
    issued = 0;
    read = stageBytes / kCachedOfCycleByBoxes;
  }
  double ofUnit = std::ceil(tiles * splits / units);
  double together = std::min(ofUnit, resident);
  double step = std::max({products, issued, read}) * together;
  double ofResult = kResultCycles;
  if (boxSteps > 0) {
    // All stages but the one that is multiplied are on their way.
    step = std::max(step, kBoxCycles / double(shape.stages - 1));
    ofResult = kResultCyclesOfBoxes;
  } else if (together == 1) {
    step += kWarpgroupStepCycles;
  }
  double epilogue =
      kWarpgroupBlockCycles + tileRows * tileColumns * ofResult * together;
  double round = steps * step + epilogue + (splits > 1 ? kSplitCycles : 0);
  double partial = splits > 1 ? tiles * splits * tileRows * tileColumns * 8 : 0;
  double memory = memoryCycles(bytes);
  double shown = isSlab() ? kExposedMemory * memory / together : 0;
  return std::max(std::ceil(ofUnit / together) * round, memory) + shown +
         memoryCycles(partial / kCacheRate);
}

double ContractionCost::memoryCycles(double moved) const {
  return moved / bandwidth * cyclesOfSecond;
}

/// Instructions by which a thread computes an element of a factor: loads, those that find
/// where to load, and the operations; 0 of what is loaded alone.
static double countComputed(IndexProgramOpInterface op, Value factor) {
  SmallVector<Value> open{factor};
  llvm::SmallPtrSet<Value, 16> seen;
  double operations = 0, loads = 0;
  while (!open.empty()) {
    Value v = open.pop_back_val();
    if (!seen.insert(v).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(v);
        argument && argument.getOwner() == op.getProgramBody()) {
      loads +=
          isWindow(op.getMapOfBodyArgument(argument.getArgNumber())) ? 3 : 1;
      continue;
    }
    Operation *def = v.getDefiningOp();
    if (!def || def->getBlock() != op.getProgramBody())
      continue;
    if (!isa<arith::ExtFOp, arith::TruncFOp>(def) &&
        !def->hasTrait<OpTrait::ConstantLike>())
      ++operations;
    llvm::append_range(open, def->getOperands());
  }
  return operations == 0 ? 0 : operations + loads;
}

/// Whether sums are those of windows that no thread holds.
static bool areLongWindows(const FoundContraction &found) {
  IndexProgramOpInterface op = found.op;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> extents = getStaticExtents(op);
  SmallBitVector sums(maps.front().getNumDims());
  for (unsigned d : found.form().sums)
    sums.set(d);
  return hasWindow(op) && findTaps(maps, sums, [&](unsigned d) {
                            return getAssumedExtent(extents[d]);
                          }).none();
}

std::optional<ContractionPlanAttr>
redfuse::planContraction(const FoundContraction &found, LaunchOp launch,
                         const KernelSpace &space, int64_t units,
                         const Chip &chip) {
  const MatrixForm &form = found.form();
  const MatrixInstruction &x = form.instruction;
  auto extentOf = [&](ArrayRef<unsigned> dims) {
    double points = 1;
    for (unsigned d : dims)
      points *= getAssumedExtent(space.staticExtents[d]);
    return points;
  };
  ContractionCost cost{x};
  if (x.isSplit)
    cost.parts = 3.0 - double(form.leftIsRounded) - double(form.rightIsRounded);
  cost.batch = extentOf(form.batch);
  cost.rows = extentOf(form.rows);
  cost.columns = extentOf(form.columns);
  cost.sums = extentOf(form.sums);
  // Packed weights are unpacked once for all rows, however few.
  bool arePacked = elementBits(x.left) == 16 && (isOfPackedNumbers(form.left) ||
                                                 isOfPackedNumbers(form.right));
  // Those have prices of their own.
  if (!arePacked) {
    cost.ofLeft = countComputed(found.op, form.left);
    cost.ofRight = countComputed(found.op, form.right);
  }
  IndexProgramOpInterface ops = found.op;
  double leastSide = arePacked               ? kLeastPackedSide
                     : areLongWindows(found) ? kFewRowsOfWindows
                                             : kLeastSide;
  if (std::min(cost.rows, cost.columns) < leastSide ||
      cost.batch * cost.rows * cost.columns * cost.sums <
          double(kLeastProducts))
    return std::nullopt;
  for (Value operand : found.op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      continue;
    double size = double(bytesOf(type.getElementType()));
    for (int64_t extent : type.getShape())
      size *= getAssumedExtent(extent);
    cost.bytes += size;
  }
  cost.units = double(units);
  if (arePacked)
    if (auto plan = planPackedWeights(found, cost.batch, cost.rows,
                                      cost.columns, cost.sums, cost.units))
      return plan;
  // One row of what others unpack is left to threads.
  if (std::min(cost.rows, cost.columns) < 2)
    return std::nullopt;
  // A multiprocessor does 128 multiply-adds of f32 in a cycle, older ones 64.
  cost.cyclesOfSecond = std::max(kLeastClock, double(chip.flops) * 1e9 /
                                                  double(chip.units) / 256);
  cost.bandwidth = double(chip.bandwidth) * 1e9;
  // Of mma.sync, also where there is wgmma.
  cost.productsOfCycle = std::min(chip.productsOfCycle, 1024.0);
  cost.unitProducts = chip.productsOfCycle;
  cost.doubleProductsOfCycle = chip.doubleProductsOfCycle;
  bool isDouble = x.left == MatrixElement::F64;
  if (isDouble && chip.doubleProductsOfCycle < kLeastDoubleProducts)
    return std::nullopt;
  std::optional<ContractionPlanAttr> best;
  double least = 0;
  auto attrOf = [&](MmaKind kind, int64_t warpRows, int64_t warpColumns,
                    int64_t rows, int64_t columns, int64_t slabs,
                    int64_t stages, int64_t splits, bool boxes = false) {
    return ContractionPlanAttr::get(
        found.op->getContext(), kind, {warpRows, warpColumns},
        {rows / x.rows, columns / x.columns}, slabs, stages, splits, boxes);
  };
  std::optional<WarpgroupOperands> vectors;
  if (chip.has(Wgmma))
    vectors = findWarpgroupOperands(found, launch, space);
  if (vectors) {
    if (vectors->haveParts())
      cost.copiesOfStage = 2;
    if (readsWindow(ops, vectors->left))
      cost.newOfRows = kNewOfTap;
    if (readsWindow(ops, vectors->right))
      cost.newOfColumns = kNewOfTap;
    auto tryShape = [&](WarpgroupShape shape, double boxSteps) {
      cost.boxSteps = boxSteps;
      // Sums of parts are beside those of all steps before: more registers.
      if (vectors->haveParts()) {
        shape.stages = kLeastWarpgroupStages;
        int64_t rows = 16 * shape.warpRows + shape.warpColumns * shape.columns;
        if (shape.columns > 128 ||
            2 * 128 * rows * shape.stages > getBlockSharedBytes(chip))
          return;
      }
      for (int64_t splits = 1; splits <= kMostSumSplits; splits *= 2) {
        if (splits > 1 && cost.sums * double(elementBits(x.left)) / 1024 <
                              8.0 * double(splits))
          return;
        // What the unit may not add up by itself blocks share, or warps make.
        if (x.isSplit && !vectors->haveParts() &&
            cost.sums > double(kMostAddedByUnit * splits))
          continue;
        double cycles = cost.cyclesOf(shape, double(splits));
        if (best && cycles >= least)
          continue;
        least = cycles;
        best = attrOf(MmaKind::Wgmma, shape.warpRows, shape.warpColumns, x.rows,
                      shape.columns, /*slabs=*/2, shape.stages, splits,
                      /*boxes=*/boxSteps > 0);
      }
    };
    double boxSteps = double(countBoxSteps(found, space, *vectors));
    bool haveBoxes =
        chip.has(TensorMaps) &&
        boxSteps * 1024 / elementBits(x.left) <= kMostOfZeros * cost.sums &&
        findOperandBoxes(found, launch, space, *vectors);
    for (const WarpgroupShape &shape : kWarpgroupShapes) {
      if (haveBoxes)
        tryShape(shape, boxSteps);
      tryShape(shape, /*boxSteps=*/0);
    }
  }
  // Copies are in no registers; rows are stored 32 at a time.
  bool isCopied = findCopiedOperands(found, launch).has_value();
  bool areGathered =
      !isCopied && (hasWindow(ops) || areLoadedSingly(ops, launch));
  // What is copied stays where it is when rows are xored with other bits.
  int64_t multiple = isDouble ? 16 : 32;
  if (isDouble && isCopied)
    cost.stageCycles = kDoubleStageCycles;
  if (isCopied && !isDouble && cost.parts == 1) {
    cost.registersOfSum = kRegistersOfCopiedSum;
    cost.sharedBytes = double(getBlockSharedBytes(chip));
  }
  SmallVector<BlockShape> shapes;
  if (arePacked) {
    cost.stageCycles = kPackedStageCycles;
    cost.registersOfSum = kRegistersOfPackedSum;
    llvm::append_range(shapes, kPackedShapes);
  }
  // What fills a tile of more filters takes the time of loading it.
  bool areFewFilters = areGathered && hasWindow(ops) &&
                       std::min(cost.rows, cost.columns) <= 16 &&
                       cost.tilesOf(kFewFilterShapes[0]) >= 2 * cost.units;
  if (areFewFilters)
    llvm::append_range(shapes, kFewFilterShapes);
  else
    llvm::append_range(shapes, kBlockShapes);
  if (isDouble && isCopied)
    llvm::append_range(shapes, kDoubleShapes);
  if ((areGathered && !hasWindow(ops)) || cost.sums <= cost.sumsOfSlab())
    llvm::append_range(shapes, kShortShapes);
  if (double filters = std::min(cost.rows, cost.columns);
      isCopied && !isDouble && filters > kLeastSide && filters <= 32)
    llvm::append_range(shapes, kCopiedShapes);
  for (const BlockShape &shape : shapes) {
    if (isCopied && (shape.warpRows * shape.rows % multiple != 0 ||
                     shape.warpColumns * shape.columns % multiple != 0))
      continue;
    // Sums of f64 leave no registers for what is loaded and computed.
    if (isDouble && !isCopied && shape.rows * shape.columns > 32 * 32)
      continue;
    if (areGathered && cost.loadedOfThread(shape) > double(kMostGathered))
      continue;
    double slabs = std::ceil(cost.sums / cost.sumsOfSlab());
    for (int64_t splits = 1; splits <= kMostSumSplits; splits *= 2) {
      // Each has some stages.
      if (splits > 1 && (slabs / double(splits * shape.slabs) < 4))
        break;
      if (arePacked && splits > 1 &&
          cost.tilesOf(shape) * double(splits) > kMostPackedBlocks * cost.units)
        break;
      double cycles = cost.cyclesOf(shape, double(splits));
      if (best && cycles >= least)
        continue;
      least = cycles;
      best = attrOf(MmaKind::MmaSync, shape.warpRows, shape.warpColumns,
                    shape.rows, shape.columns, shape.slabs,
                    isCopied ? kCopiedStages : kStages, splits);
    }
  }
  return best;
}
