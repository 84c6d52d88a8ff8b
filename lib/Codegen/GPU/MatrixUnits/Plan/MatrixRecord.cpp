//===- MatrixRecord.cpp - plans as attributes -----------------------------===//
#include "MatrixPlanner.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

static OperandPlace placeOf(const MatrixProduct &product) {
  return product.tiledLeft    ? OperandPlace::Tiled
         : product.isResident ? OperandPlace::Resident
         : product.keptLeft   ? OperandPlace::Kept
                              : OperandPlace::Packed;
}

MatrixPlanAttr redfuse::recordPlan(const MatrixPlan &plan,
                                   const KernelSpace &space, LaunchOp launch) {
  SmallVector<int64_t> tiles(space.numDims, 0);
  for (auto [d, width] : plan.widths)
    tiles[d] = width;
  tiles[plan.m] = plan.rows();
  SmallVector<OperandPlace> left;
  for (const MatrixProduct &product : plan.products)
    left.push_back(placeOf(product));
  SmallVector<int64_t> cluster;
  if (plan.multicast() > 1)
    cluster = {plan.clusterRows, plan.clusterColumns};
  auto fail = [&] { return launch.emitOpError("cannot be planned: "); };
  auto kind = plan.target.hasWgmma ? MmaKind::Wgmma : MmaKind::MmaSync;
  // Types are those declared: others choose a template that needs the storage.
  return MatrixPlanAttr::getChecked(
      function_ref<InFlightDiagnostic()>(fail), launch.getContext(), kind,
      int64_t(plan.m), ArrayRef<int64_t>(tiles), plan.consumers,
      plan.consumerRows, ArrayRef<OperandPlace>(left), plan.sumSplits,
      plan.splits, plan.cluster, int64_t(plan.isHalf ? 2 : 1), plan.stages,
      plan.isStaged.value_or(false),
      plan.hasDynamicScheduler ? TileScheduling::Dynamic
                               : TileScheduling::Static,
      int64_t(plan.cachedBytes >> 20), plan.ahead, plan.startsNextLate,
      plan.threshold, ArrayRef<int64_t>(cluster));
}

//===----------------------------------------------------------------------===//
// What is recorded, as far as it fits the kernel
//===----------------------------------------------------------------------===//

bool MatrixPlanner::takeTiles(MatrixPlanAttr record) {
  bool isWgmma = record.getKind() == MmaKind::Wgmma;
  if (isWgmma != plan.target.hasWgmma)
    return refuse(llvm::formatv("it is for {0}, and the chip's products "
                                "are with {1}",
                                isWgmma ? "wgmma" : "mma_sync",
                                isWgmma ? "mma_sync" : "wgmma"));
  if (record.getTiles().size() != space.numDims)
    return refuse(llvm::formatv("'tiles' has {0} entries, the kernel {1} dims",
                                record.getTiles().size(), space.numDims));
  if (record.getRowDim() != int64_t(plan.m))
    return refuse(llvm::formatv("the rows of its products are dim {0}, not {1}",
                                plan.m, record.getRowDim()));
  plan.consumers = record.getConsumers();
  plan.consumerRows = record.getConsumerRows();
  if (plan.rows() != record.getTiles()[plan.m])
    return refuse("the tile of the rows is not that of all consumers");
  if (isWgmma && plan.consumerRows != 64)
    return refuse("a warpgroup has 64 rows");
  SmallBitVector isReduced(space.numDims);
  for (auto reduce : plan.step.getProgramBody()->getOps<ReduceOp>())
    for (int64_t d : reduce.getOver())
      isReduced.set(d);
  for (MatrixProduct &product : plan.products)
    for (unsigned d : {product.n, product.k}) {
      if (d == product.k && product.tiledLeft)
        continue;
      int64_t width = record.getTiles()[d];
      std::optional<int64_t> extent = extentOf(d);
      bool isCut =
          d == plan.stream || (space.schedule && !isReduced.test(d) &&
                               llvm::is_contained(space.schedule.getGrid(), d));
      if (width <= 0 || width > kMaxColumns || width % 16 != 0)
        return refuse(llvm::formatv("the tile of dim {0} is {1}; expected a "
                                    "multiple of 16, {2} at most",
                                    d, width, kMaxColumns));
      if (!isCut && (!extent || width < *extent))
        return refuse(
            llvm::formatv("dim {0} is not whole in its tile of {1}", d, width));
      plan.widths[d] = width;
    }
  return true;
}

bool MatrixPlanner::takeOperands(MatrixPlanAttr record) {
  if (record.getLeft().size() != plan.products.size())
    return refuse(llvm::formatv("'left' has {0} entries, the kernel {1} "
                                "products",
                                record.getLeft().size(), plan.products.size()));
  for (auto [i, product] : llvm::enumerate(plan.products)) {
    OperandPlace place = record.getLeft()[i];
    bool mayBeEither = product.keptLeft && (place == OperandPlace::Kept ||
                                            place == OperandPlace::Resident);
    if (place != placeOf(product) && !mayBeEither)
      return refuse(llvm::formatv("the left operand of product {0} can be {1}, "
                                  "not {2}",
                                  i, stringifyOperandPlace(placeOf(product)),
                                  stringifyOperandPlace(place)));
    if (!plan.target.hasWgmma && place == OperandPlace::Kept)
      return refuse("kernels with mma_sync have what is kept in "
                    "shared memory");
    product.isResident = place == OperandPlace::Resident;
  }
  return true;
}

bool MatrixPlanner::takeBlocks(MatrixPlanAttr record) {
  // Ranks, too.
  for (auto &[d, width] : plan.widths) {
    int64_t tile = record.getTiles()[d];
    if (tile < width || tile > kMaxColumns || tile % 8 != 0)
      return refuse(llvm::formatv("the tile of dim {0} is {1}; expected a "
                                  "multiple of 8 from {2} to {3}",
                                  d, tile, width, kMaxColumns));
    width = tile;
  }
  for (auto [d, tile] : llvm::enumerate(record.getTiles()))
    if (tile != 0 && d != plan.m && !plan.isColumn(d))
      return refuse(
          llvm::formatv("the tile of dim {0} is {1}; expected 0, as it "
                        "is neither rows nor columns",
                        d, tile));
  plan.isHalf = record.getBlocks() == 2;
  plan.stages = record.getStages();
  plan.isStaged = record.getStaged();
  plan.hasDynamicScheduler = record.getScheduler() == TileScheduling::Dynamic;
  plan.cachedBytes = record.getCached() << 20;
  plan.ahead = record.getAhead();
  plan.startsNextLate = record.getLate();
  plan.threshold = record.getThreshold();
  if (plan.hasDynamicScheduler &&
      (!plan.stream || !plan.target.hasWgmma || record.getSplits() > 1))
    return refuse(
        "a dynamic scheduler is for folds with wgmma that one block makes");
  if (plan.ahead > 0 && plan.stream && plan.hasTiledSums())
    return refuse("steps with a long sum of their own are not asked for ahead");
  if (!plan.target.hasWgmma) {
    if (plan.ahead > 0 || plan.startsNextLate || *plan.isStaged)
      return refuse("'ahead', 'late' and 'staged' are for warpgroups");
    return true;
  }
  if (plan.isHalf && plan.consumers != 1)
    return refuse("a multiprocessor has two blocks of one warpgroup at most");
  if (plan.consumers < 3)
    return true;
  if (record.getSplits() > 1 || record.getSumSplits() > 1)
    return refuse(
        "three warpgroups are for folds and sums that one block makes");
  if (!plan.stream)
    return true;
  for (const MatrixProduct &product : plan.products)
    if (!product.isSecond && !product.isResident)
      return refuse("three warpgroups have left operands in shared memory");
  return true;
}

bool MatrixPlanner::takeShares(MatrixPlanAttr record) {
  plan.sumSplits = record.getSumSplits();
  plan.splits = record.getSplits();
  plan.cluster = record.getCluster();
  if (ArrayRef<int64_t> shape = record.getClusterShape(); !shape.empty()) {
    plan.clusterRows = shape[0];
    plan.clusterColumns = shape[1];
  }
  if (plan.multicast() > 1 && !canMulticast())
    return refuse(
        "blocks of a cluster copy for each other where all products have "
        "tiled sums and the same columns, of known extents");
  if (plan.sumSplits > 1) {
    if (plan.stream || !plan.target.hasWgmma)
      return refuse("blocks share the sums of a cascade on warpgroups alone");
    for (const MatrixProduct &product : plan.products) {
      std::optional<int64_t> count = sumTilesOf(product);
      if (!product.tiledLeft || !count || *count < plan.sumSplits)
        return refuse("a sum is too short for so many blocks");
    }
    for (auto [d, width] : plan.widths)
      if (width % (4 * plan.sumSplits) != 0)
        return refuse(llvm::formatv("the tile of dim {0} is {1}; expected a "
                                    "multiple of {2}, for so many blocks",
                                    d, width, 4 * plan.sumSplits));
  }
  if (plan.splits == 1)
    return true;
  std::optional<SharedFold> fold =
      plan.stream ? shareable(/*tiles=*/1, plan.rows()) : std::nullopt;
  if (!fold)
    return refuse("blocks cannot share what is no fold, of dynamic extents, or "
                  "of other states than words");
  int64_t each = llvm::divideCeil(fold->steps, plan.splits);
  if (llvm::divideCeil(fold->steps, each) != uint64_t(plan.splits))
    return refuse(llvm::formatv("{0} steps are not {1} splits that all have "
                                "one",
                                fold->steps, plan.splits));
  if (plan.cluster > 1 && (!fold->isForClusters || !plan.target.hasWgmma))
    return refuse("the blocks of a cluster cannot send each other its states");
  return true;
}

/// Whether memory has room for what the record says.
bool MatrixPlanner::takesLayout(MatrixPlanAttr record,
                                const SharedLayout &layout) {
  if (layout.stages != record.getStages())
    return refuse(llvm::formatv("its ring has {0} stages, not {1}",
                                layout.stages, record.getStages()));
  if (layout.staged.has_value() != record.getStaged())
    return refuse("its results do not go through shared memory");
  if (layout.isHalf != plan.isHalf)
    return refuse("a multiprocessor has no room for two blocks");
  return true;
}

std::optional<PlannedMatrix> MatrixPlanner::read(MatrixPlanAttr record) {
  if (!matchProducts() || !takeTiles(record) || !takeOperands(record) ||
      !checkBody() || !takeBlocks(record) || !takeShares(record))
    return std::nullopt;
  std::optional<SharedLayout> layout = layOut();
  if (!layout || !takesLayout(record, *layout))
    return std::nullopt;
  return PlannedMatrix{plan, *layout};
}
