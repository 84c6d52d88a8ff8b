//===- FusionCost.cpp - what a fusion group costs -------------------------===//
#include "CostBuilder.h"

#include "redfuse/Algebra/Derivation.h"
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/TileProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse;

/// The target of the module around `op`; null if it says none.
static TargetAttr findTarget(Operation *op) {
  for (Operation *p = op; p; p = p->getParentOp())
    if (auto target = p->getAttrOfType<TargetAttr>(kTargetAttr))
      return target;
  return {};
}

TargetAttr redfuse::getTargetOf(Operation *op) {
  if (TargetAttr target = findTarget(op))
    return target;
  MLIRContext *context = op->getContext();
  return TargetAttr::get(context, StringAttr::get(context, "cpu"),
                         /*units=*/2, /*vector_bits=*/256, /*l1=*/32 << 10,
                         /*l2=*/1 << 20, /*flops=*/150, /*bandwidth=*/20,
                         /*launch_ns=*/2000, /*chip=*/{});
}

const Chip *redfuse::getChipOf(Operation *op) {
  TargetAttr target = findTarget(op);
  return target && target.getChip() ? findChip(target.getChip()) : nullptr;
}

FailureOr<const Chip *> redfuse::requireChip(Operation *op) {
  if (const Chip *chip = getChipOf(op))
    return chip;
  return op->emitError() << "expected '" << kTargetAttr
                         << "' on the module to name a chip (" << listChips()
                         << "): redfuse-attach-target=chip=... puts it there";
}

double redfuse::getOpCost(Operation *op) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<IndexOp, YieldOp, arith::ConstantOp, arith::IndexCastOp>(
          [](auto) { return 0.0; })
      .Case<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp,
            arith::RemSIOp, arith::RemUIOp, math::SqrtOp, math::RsqrtOp>(
          [](auto) { return kDivisionCost; })
      .Case([](CombiningOpInterface combining) {
        if (combining.getReducer() == Reducer::TopK)
          return kDivisionCost;
        double cost = combining->getNumOperands();
        for (Region &region : combining->getRegions())
          for (Operation &inner : region.getOps())
            cost += getOpCost(&inner);
        return cost;
      })
      .Case([](tensor::ExtractOp) { return kExtractCost; })
      .Default([](Operation *other) {
        if (isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
                math::CeilOp, math::RoundEvenOp, math::RoundOp, math::TruncOp,
                math::CopySignOp, math::FPowIOp>(other))
          return kPairCost;
        return isa<math::MathDialect>(other->getDialect()) ? kFunctionCost
                                                           : 1.0;
      });
}

bool redfuse::isCheapMap(CascadeOp op) {
  double cost = 0;
  // Whether a position is inside of bounds is found once for all elements there.
  llvm::DenseSet<Value> conditions;
  auto isOfPositions = [&](Value v) {
    Operation *def = v.getDefiningOp();
    return conditions.contains(v) ||
           isa_and_nonnull<IndexOp, arith::ConstantOp>(def) ||
           (!def && cast<BlockArgument>(v).getOwner() != &op.getBody().front());
  };
  for (Operation &inner : op.getBody().front()) {
    if (isRootOp(&inner) || !isMemoryEffectFree(&inner))
      return false;
    double c = getOpCost(&inner);
    if (c >= kDivisionCost)
      return false;
    if (isa<arith::CmpIOp, arith::AndIOp>(inner) &&
        llvm::all_of(inner.getOperands(), isOfPositions))
      conditions.insert(inner.getResult(0));
    else
      cost += c;
  }
  return cost <= kCheapMapCost;
}

double redfuse::getAssumedExtent(int64_t extent) {
  return ShapedType::isDynamic(extent) ? kDynamicExtent : extent;
}

double redfuse::getTensorBytes(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  double count = 1;
  for (int64_t extent : type.getShape())
    count *= getAssumedExtent(extent);
  Type element = type.getElementType();
  return count *
         (element.isIndex()
              ? 8
              : std::max<double>(1, element.getIntOrFloatBitWidth() / 8));
}

/// Whether neighbours along every dim of `expr` are apart in what it indexes, as
/// behind a window with strides or at a position from data: such a reduction has
/// no vectors.
static bool isScattered(AffineExpr expr) {
  return expr
      .walk([](AffineExpr e) {
        return e.getKind() == AffineExprKind::Mul || isa<AffineSymbolExpr>(e)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

double CostBuilder::points(const VariableSet &variables) const {
  double count = 1;
  for (unsigned v : variables)
    count *= getAssumedExtent(space.getVariable(v).extent);
  return count;
}

VariableSet CostBuilder::variablesOf(const FusionSpace::Instance &instance,
                                     const SmallBitVector &dims) const {
  SmallVector<AffineExpr> exprs;
  for (unsigned d : dims.set_bits())
    exprs.push_back(instance.dims[d]);
  return space.getVariablesOf(exprs);
}

/// Bytes of the largest tensor that one member makes for another.
double CostBuilder::getLargestInside() const {
  double largest = 0;
  for (const FusionSpace::Access &access : space.getAccesses())
    if (access.producer >= 0)
      largest = std::max(largest, getTensorBytes(access.tensor));
  return largest;
}

/// Whether a member compares positions along two dims.
bool CostBuilder::isMasked() const {
  auto isOfPositions = [](Operation *op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (!compare)
      return false;
    llvm::SmallSetVector<Operation *, 8> seen;
    llvm::SmallDenseSet<uint64_t> dims;
    seen.insert(compare);
    for (unsigned i = 0; i < seen.size(); ++i) {
      if (auto index = dyn_cast<IndexOp>(seen[i]))
        dims.insert(index.getDim());
      for (Value operand : seen[i]->getOperands())
        if (Operation *def = operand.getDefiningOp())
          seen.insert(def);
    }
    return dims.size() > 1;
  };
  return llvm::any_of(space.getInstances(),
                      [&](const FusionSpace::Instance &instance) {
                        return llvm::any_of(instance.neededOps, isOfPositions);
                      });
}

/// Windows that another reduction folds again are read element by element, each thread its
/// own.
void CostBuilder::priceWindows() {
  for (const OtherRoot &window : others)
    if (window.hasWindow && llvm::any_of(others, [&](const OtherRoot &other) {
          return !llvm::equal(other.into, window.into);
        }))
      gains[window.op] = 1 / kFoldedWindows;
}

double CostBuilder::workOf(const FusionSpace::Instance &instance,
                           const DimSets &sets) const {
  double work = 0;
  for (Operation *inner : instance.neededOps) {
    SmallBitVector dims(sets.getNumDims());
    for (Value operand : inner->getOperands())
      dims |= sets[operand];
    if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      dims |= toDimSet(reduce.getOver(), dims.size());
      // A top-k's rank is not iterated by its input.
      dims |= toDimSet(reduce.getInto(), dims.size());
    } else if (auto index = dyn_cast<IndexOp>(inner)) {
      dims.set(index.getDim());
    } else if (auto scan = dyn_cast<ScanOp>(inner)) {
      dims.set(scan.getDim());
    }
    auto priced = gains.find(inner);
    double gain = priced == gains.end() ? 1 : priced->second;
    work += getOpCost(inner) * points(variablesOf(instance, dims)) / gain;
  }
  bool isReduced = llvm::any_of(instance.neededOps, llvm::IsaPred<ReduceOp>);
  if (isReduced && llvm::any_of(instance.dims, isScattered))
    work *= std::max<double>(1, target.getVectorBits() / 32);
  return work;
}

void CostBuilder::addInstance(const FusionSpace::Instance &instance) {
  CascadeOp op = instance.op;
  FailureOr<DimSets> sets =
      DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
  if (failed(sets))
    return;
  double work = workOf(instance, *sets);
  cost.work += work;
  for (Operation *inner : instance.neededOps) {
    SmallBitVector kept, over(sets->getNumDims());
    if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      kept = toDimSet(reduce.getInto(), sets->getNumDims());
      over = toDimSet(reduce.getOver(), sets->getNumDims());
    } else if (auto scan = dyn_cast<ScanOp>(inner)) {
      kept = (*sets)[inner->getResult(0)];
      kept.reset(scan.getDim());
    } else {
      continue;
    }
    reductions.push_back(
        {variablesOf(instance, kept), variablesOf(instance, over), work});
  }
  if (isCheapMap(op))
    return;
  // How many values are made, against how many there are.
  double made = points(space.getVariablesOf(instance.dims)), there = 1;
  for (int64_t extent : getStaticExtents(op))
    there *= getAssumedExtent(extent);
  Evaluation &all = evaluations[op];
  all.times += there > 0 ? made / there : 1;
  all.work += work;
}

void CostBuilder::addRepeats() {
  double wasted = 0, most = 0;
  for (auto &[op, all] : evaluations) {
    double more = all.times > 1 ? all.work * (1 - 1 / all.times) : 0;
    wasted += more;
    if (more > most) {
      most = more;
      cost.repeated = op;
      cost.times = all.times;
    }
  }
  if (wasted > 0)
    cost.repeats = cost.work / (cost.work - wasted);
}

/// Indices that wrap around.
static double countWraps(ArrayRef<AffineExpr> index) {
  double count = 0;
  for (AffineExpr expr : index)
    expr.walk([&](AffineExpr e) {
      count += e.getKind() == AffineExprKind::Mod ||
               e.getKind() == AffineExprKind::FloorDiv;
    });
  return count;
}

/// Bytes that come from memory and go there, each once. What a GPU reads at several places
/// is in a cache, and takes instructions.
void CostBuilder::addTraffic() {
  llvm::DenseMap<Value, double> reads;
  for (const FusionSpace::Access &access : space.getAccesses()) {
    if (access.producer >= 0)
      continue;
    if (reads.contains(access.tensor) && target.getName() == "cuda")
      cost.work += (kReadAgain + kWrappedIndex * countWraps(access.index)) *
                   points(space.getVariablesOf(access.index));
    double elements = 1, bytes = getTensorBytes(access.tensor);
    for (int64_t e : cast<RankedTensorType>(access.tensor.getType()).getShape())
      elements *= getAssumedExtent(e);
    double touched = bytes / std::max<double>(1, elements) *
                     points(space.getVariablesOf(access.index));
    double &read = reads[access.tensor];
    read = std::min(bytes, read + touched);
  }
  for (auto &[tensor, bytes] : reads)
    cost.bytes += bytes;
  for (Value result : space.getOutputs())
    cost.bytes += getTensorBytes(result);
}

VariableSet CostBuilder::variablesOfOutput(unsigned number) const {
  const FusionSpace::Instance &instance =
      space.getInstances()[space.getOutputInstance(number)];
  CascadeOp op = instance.op;
  unsigned result = space.getOutputs()[number].getResultNumber();
  AffineMap map = op.getIndexingMapsArray()[op.getInputs().size() + result];
  VariableSet own;
  for (AffineExpr e : map.getResults())
    for (unsigned v : space.getVariablesOf(
             instance.dims[cast<AffineDimExpr>(e).getPosition()]))
      own.insert(v);
  return own;
}

/// The dims of every output.
std::optional<VariableSet> CostBuilder::findGrid() const {
  std::optional<VariableSet> grid;
  for (unsigned i = 0; i < space.getOutputs().size(); ++i) {
    VariableSet own = variablesOfOutput(i);
    if (!grid)
      grid = own;
    else
      grid->remove_if([&](unsigned v) { return !own.contains(v); });
  }
  return grid;
}

/// The blocks that a kernel may be cut into along a dim of every output: a reduction that
/// lacks it is repeated for its every tile, which may cost too much (1).
double CostBuilder::countCuts(unsigned variable) const {
  double extent = getAssumedExtent(space.getVariable(variable).extent),
         again = 0;
  for (const ReductionWork &reduction : reductions)
    if (!reduction.into.contains(variable))
      again += reduction.work;
  // Matrix units take tiles of a chain's rows, not one row each; what is reduced between
  // its products may be split over blocks besides.
  bool isOfTiles =
      products.size() > 1 && others.empty() &&
      llvm::any_of(products, [&](const Product &product) {
        return product.isNarrow && product.sides.contains(variable);
      });
  if (again == 0)
    return std::max(1.0, isOfTiles ? std::ceil(extent / kMatrixRows) : extent);
  // A schedule cuts what all reductions keep, and matrix units columns besides.
  if (target.getName() == "cuda" && products.empty())
    return 1;
  double cuts = std::ceil(extent / kCutTile);
  return again * (cuts - 1) > kAffordableRepeats * cost.work
             ? 1
             : std::max(1.0, cuts);
}

void CostBuilder::addParallelism() {
  std::optional<VariableSet> grid = findGrid();
  for (unsigned v : grid ? *grid : VariableSet())
    cost.parallelism *= countCuts(v);
}

/// Of an f32.
static constexpr double kBytesOfState = 4;

/// Bytes of the states of a split, where blocks can fold a split each along `dims`; else none.
/// What reductions are over beside these is whole in every block: its threads must hold it. So
/// are the states, and the last block to finish merges those of all. What is reduced of merged
/// states alone (the mean of the losses of rows) would wait for that, which no split does.
std::optional<double>
CostBuilder::findSplitBytesAlong(const VariableSet &dims) const {
  VariableSet grid = findGrid().value_or(VariableSet());
  grid.remove_if([&](unsigned v) {
    return countCuts(v) <
           getAssumedExtent(space.getVariable(v).extent) / kCutTile;
  });
  double bytes = 0;
  for (const ReductionWork &reduction : reductions) {
    double whole = 1;
    size_t numShared = 0;
    for (unsigned v : reduction.over) {
      int64_t extent = space.getVariable(v).extent;
      if (dims.contains(v))
        ++numShared;
      else
        whole *= ShapedType::isDynamic(extent) ? kHeldElements + 1 : extent;
    }
    if (whole > kHeldElements)
      return std::nullopt;
    if (numShared == 0) {
      if (!llvm::all_of(dims,
                        [&](unsigned v) { return reduction.into.contains(v); }))
        return std::nullopt;
      continue;
    }
    VariableSet states = reduction.into;
    states.remove_if([&](unsigned v) { return grid.contains(v); });
    if (numShared != dims.size() || points(states) > kSplitStates)
      return std::nullopt;
    bytes += kBytesOfState * points(states);
  }
  return bytes;
}

/// The same of what some reduction is over, or of what it is over beside the dims of another
/// one (`redfuse-nest-reductions`): the fewest bytes.
std::optional<double> CostBuilder::findSplitBytes() const {
  std::optional<double> least;
  auto consider = [&](const VariableSet &dims) {
    std::optional<double> bytes = findSplitBytesAlong(dims);
    if (bytes && (!least || *bytes < *least))
      least = bytes;
  };
  for (const ReductionWork &longer : reductions) {
    consider(longer.over);
    for (const ReductionWork &nested : reductions) {
      VariableSet rest = longer.over;
      rest.remove_if([&](unsigned v) { return nested.over.contains(v); });
      if (!rest.empty())
        consider(rest);
    }
  }
  return least;
}

void CostBuilder::addTime() {
  double units = target.getUnits();
  double moving = cost.bytes / target.getBandwidth();
  double rate = target.getFlops();
  // A GPU's blocks can fold a split each and merge in the same launch, where
  // reading the data is what takes the time.
  double merging = 0;
  if (target.getName() == "cuda" && moving > cost.work / rate &&
      cost.parallelism < units)
    if (std::optional<double> bytes = findSplitBytes()) {
      double share = target.getBandwidth() / units * kBandwidthOfOne;
      merging = units / cost.parallelism * *bytes / share;
      cost.parallelism = units;
    }
  // The share of the units that work: blocks come in rounds.
  double busy =
      cost.parallelism / (units * std::ceil(cost.parallelism / units));
  // One unit alone cannot draw the whole bandwidth, but more than its share.
  double drawn = std::min(1.0, kBandwidthOfOne * busy);
  cost.timeIfBusy = target.getLaunchNs() + std::max(cost.work / rate, moving);
  cost.time = target.getLaunchNs() +
              std::max(cost.work / (rate * busy), moving / drawn) + merging;
}

GroupCost CostBuilder::run() {
  priceProducts();
  for (const FusionSpace::Instance &instance : space.getInstances())
    addInstance(instance);
  addRepeats();
  addTraffic();
  addParallelism();
  addTime();
  return cost;
}

GroupCost redfuse::getGroupCost(const FusionSpace &space, TargetAttr target,
                                const llvm::DenseSet<Operation *> &scalar) {
  return CostBuilder(space, target, scalar).run();
}
