//===- SharedLayout.cpp - what lies where in shared memory ----------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/SharedLayout.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/ExchangeLayout.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

static MatrixTile layOutTile(const MatrixSource &source, unsigned free,
                             unsigned sum, int64_t freeWidth,
                             int64_t sumWidth) {
  MatrixTile tile;
  tile.source = source;
  tile.free = free;
  tile.sum = sum;
  tile.isByRows = source.sum + 1 != source.map.getNumResults();
  int64_t rows = tile.isByRows ? sumWidth : freeWidth;
  int64_t columns = tile.isByRows ? freeWidth : sumWidth;
  Type element =
      source.element
          ? source.element
          : cast<ShapedType>(source.argument.getType()).getElementType();
  tile.type = tile::SharedType::get(
      element.getContext(), rows,
      llvm::alignTo(columns, kSumBytes * 8 / element.getIntOrFloatBitWidth()),
      element);
  return tile;
}

/// Stages that consumers hold at a time: all products of a step, of a tiled one two.
/// With fewer they would wait for what the producer has no place for.
static int64_t countHeld(const MatrixPlan &plan) {
  int64_t held = 0, heldTiled = 0;
  for (const MatrixProduct &product : plan.products)
    if (product.tiledLeft)
      heldTiled = 2;
    else
      held = plan.stream ? held + 1 : 1;
  return held + heldTiled;
}

/// Rows of a tile of left operands that the tensor does not have, in eights, as rows are
/// swizzled. They stay zeros where nothing else comes to their place in the ring.
static int64_t countAbsentRows(const MatrixPlan &plan, const KernelSpace &space,
                               const MatrixTile &tile) {
  int64_t extent = space.staticExtents[tile.free];
  bool isAlone = plan.products.size() == 1 && plan.sumSplits == 1 &&
                 plan.cluster == 1 && tile.parts == 1;
  if (!plan.target.hasWgmma || !isAlone || tile.isByRows ||
      ShapedType::isDynamic(extent))
    return 0;
  return std::max<int64_t>(0, tile.type.getRows() - llvm::alignTo(extent, 8));
}

/// The tiles of all products, numbered as their tensor maps are.
static void layOutTiles(const MatrixPlan &plan, const KernelSpace &space,
                        SharedLayout &layout) {
  unsigned nextMap = 0;
  auto layOut = [&](const MatrixProduct &product, const MatrixSource &source,
                    unsigned free, int64_t freeWidth) {
    int64_t sum =
        product.tiledLeft ? plan.sumTile() : plan.widths.lookup(product.k);
    MatrixTile tile = layOutTile(source, free, product.k, freeWidth, sum);
    tile.outerSums = product.outerSums;
    tile.map = nextMap++;
    return tile;
  };
  for (const MatrixProduct &product : plan.products) {
    ProductTiles tiles;
    tiles.right = layOut(product, product.right, product.n,
                         plan.widths.lookup(product.n));
    tiles.right.parts = plan.clusterRows;
    if (product.tiledLeft) {
      tiles.left = layOut(product, *product.tiledLeft, plan.m, plan.rows());
      tiles.left->parts = plan.clusterColumns;
      tiles.left->absentRows = countAbsentRows(plan, space, *tiles.left);
    }
    if (product.keptLeft) {
      tiles.kept = layOut(product, *product.keptLeft, plan.m, plan.rows());
      tiles.isResident = product.isResident;
      tiles.residentAt = layout.residentBytes;
      if (tiles.isResident)
        layout.residentBytes += llvm::alignTo(tiles.kept->bytes(), 1024);
      else
        layout.stageBytes = std::max(layout.stageBytes, tiles.kept->bytes());
    }
    layout.stageBytes = std::max<int64_t>(layout.stageBytes,
                                          llvm::alignTo(tiles.bytes(), 1024));
    layout.products.push_back(tiles);
  }
}

/// Where results are staged, twice as many stages as consumers hold should be left.
static void layOutStaged(KernelOp kernel, LaunchOp launch,
                         const KernelSpace &space, const MatrixPlan &plan,
                         SharedLayout &layout) {
  int64_t room = plan.target.sharedBytes - layout.residentBytes -
                 2 * countHeld(plan) * layout.stageBytes;
  layout.staged = findStagedResult(kernel, launch, space, plan, room);
  if (!layout.staged)
    return;
  const ProductTiles &last = layout.products.back();
  layout.staged->tile.map = 1 + (last.kept   ? last.kept->map
                                 : last.left ? last.left->map
                                             : last.right.map);
  layout.stagedBytes = 4 * plan.consumers * layout.staged->tile.bytes();
}

/// Stages as two blocks a multiprocessor have room for, two at least.
static bool layOutRingOfMmaSync(const MatrixPlan &plan, SharedLayout &layout,
                                std::string &why) {
  for (int64_t bytes : {plan.target.halfBytes, plan.target.sharedBytes}) {
    layout.stages = std::min((bytes - layout.residentBytes) / layout.stageBytes,
                             kMaxStagesOfMmaSync);
    if (plan.stages)
      layout.stages =
          std::min(layout.stages, std::max<int64_t>(plan.stages, 2));
    if (layout.stages >= 2)
      return true;
  }
  why = llvm::formatv("its tiles take 2 stages of {0} bytes in shared memory, "
                      "which has {1} bytes",
                      layout.stageBytes,
                      plan.target.sharedBytes - layout.residentBytes);
  return false;
}

static bool layOutRing(const MatrixPlan &plan, SharedLayout &layout,
                       std::string &why) {
  if (!plan.target.hasWgmma)
    return layOutRingOfMmaSync(plan, layout, why);
  int64_t held = countHeld(plan);
  int64_t sharedBytes =
      layout.isHalf ? plan.target.halfBytes : plan.target.sharedBytes;
  layout.stages =
      std::min((sharedBytes - layout.residentBytes - layout.stagedBytes) /
                   layout.stageBytes,
               kMaxStages);
  // Clusters are placed whole, and leave multiprocessors empty; with room for two
  // blocks on one, all clusters find a place at once.
  if (plan.sumSplits > 1)
    layout.stages =
        std::min(layout.stages,
                 std::max(plan.target.halfBytes / layout.stageBytes, held));
  if (plan.stages)
    layout.stages = std::min(layout.stages, std::max(plan.stages, held));
  if (layout.stages >= held)
    return true;
  why = llvm::formatv(
      "its tiles take {0} stages of {1} bytes in shared memory, "
      "which has {2} bytes",
      held, layout.stageBytes, plan.target.sharedBytes - layout.residentBytes);
  return false;
}

std::optional<SharedLayout> redfuse::layOutShared(KernelOp kernel,
                                                  LaunchOp launch,
                                                  const KernelSpace &space,
                                                  const MatrixPlan &plan,
                                                  std::string &why) {
  SharedLayout layout;
  layOutTiles(plan, space, layout);
  layOutStaged(kernel, launch, space, plan, layout);
  StateLayout states(plan, space);
  bool isInRing = plan.cluster > 1 && states.isReceivedInRing();
  if (plan.cluster > 1 && !isInRing)
    layout.stagedBytes = llvm::alignTo(states.receivedBytes(), 128);
  layout.isHalf = plan.isHalf && (plan.target.halfBytes - layout.residentBytes -
                                  layout.stagedBytes) /
                                         layout.stageBytes >=
                                     countHeld(plan);
  if (!layOutRing(plan, layout, why))
    return std::nullopt;
  layout.ringBytes = layout.stages * layout.stageBytes;
  if (plan.sumSplits > 1)
    layout.ringBytes =
        std::max(layout.ringBytes, PartialSumLayout(plan).bytes());
  if (isInRing)
    layout.ringBytes = std::max(layout.ringBytes, states.receivedBytes());
  // What blocks send each other may take more than the ring.
  if (!plan.target.hasWgmma || layout.tileBytes() <= plan.target.sharedBytes)
    return layout;
  why = llvm::formatv("it takes {0} bytes of shared memory, which has {1}",
                      layout.tileBytes(), plan.target.sharedBytes);
  return std::nullopt;
}
