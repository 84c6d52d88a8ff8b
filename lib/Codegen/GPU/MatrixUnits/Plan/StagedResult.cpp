//===- StagedResult.cpp - results that leave by copies --------------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/SharedLayout.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Rows that a warp has.
static constexpr int64_t kWarpRows = 16;

/// Of three warpgroups two multiply while one stores: direct stores are as fast then,
/// and faster where all is over soon.
static bool isWorthBoxing(const KernelSpace &space, const MatrixPlan &plan) {
  return plan.stream && plan.isStaged.value_or(
                            plan.consumers == 2 &&
                            space.staticExtents[*plan.stream] >= kLongStaged);
}

/// Floats of 16 or 32 bits in rows of a known length.
static bool canBeStaged(MemRefType type) {
  Type element = type.getElementType();
  return type.getRank() >= 1 && type.getLayout().isIdentity() &&
         (element.isBF16() || element.isF16() || element.isF32()) &&
         !ShapedType::isDynamic(type.getShape().back());
}

/// 16-bit floats in rows of whole 16 bytes.
static bool canBeBoxed(MemRefType type) {
  return !type.getElementType().isF32() && type.getRank() >= 2 &&
         type.getRank() <= 5 && type.getShape().back() % 8 == 0;
}

/// Rows in which a fragment's neighbours are no whole accesses: of 16-bit floats those that
/// are no whole 16 bytes, of 32 bits the odd ones, which threads would store one by one, if
/// a warp has work with them.
static bool areRowsRagged(MemRefType type) {
  int64_t columns = type.getShape().back();
  return type.getElementType().isF32() ? columns % 2 != 0 && columns >= 32
                                       : columns % 8 != 0;
}

namespace {
/// Where a result's rows are in its index, and which dim its columns are.
struct Place {
  unsigned rows, columns;
};
} // namespace

/// The dim that a result's columns are, which are neighbours in memory.
static std::optional<unsigned> findColumns(AffineMap map,
                                           const MatrixPlan &plan) {
  if (map.getNumResults() == 0)
    return std::nullopt;
  auto columns = dyn_cast<AffineDimExpr>(map.getResults().back());
  if (!columns || !plan.isColumn(columns.getPosition()))
    return std::nullopt;
  unsigned d = columns.getPosition();
  if (d == plan.m || plan.stream == d ||
      llvm::count_if(map.getResults(),
                     [&](AffineExpr e) { return e.isFunctionOfDim(d); }) != 1)
    return std::nullopt;
  return d;
}

/// Where what lies beyond the rows and columns of the kernel lies beyond the tensor.
static std::optional<Place> findPlace(AffineMap map, MemRefType type,
                                      const KernelSpace &space,
                                      const MatrixPlan &plan) {
  std::optional<unsigned> rowsAt;
  for (auto [at, e] : llvm::enumerate(map.getResults())) {
    if (!e.isFunctionOfDim(plan.m))
      continue;
    if (!isa<AffineDimExpr>(e) || rowsAt)
      return std::nullopt;
    rowsAt = at;
  }
  std::optional<unsigned> d = findColumns(map, plan);
  if (!rowsAt || !d ||
      type.getDimSize(*rowsAt) != space.staticExtents[plan.m] ||
      ShapedType::isDynamic(space.staticExtents[plan.m]) ||
      type.getShape().back() != space.staticExtents[*d])
    return std::nullopt;
  return Place{*rowsAt, *d};
}

/// How boxes of a tensor map write a result, a tile of all columns for each warp.
static std::optional<StagedResult> boxed(AffineMap map, BlockArgument argument,
                                         MemRefType type,
                                         const KernelSpace &space,
                                         const MatrixPlan &plan) {
  std::optional<Place> place = findPlace(map, type, space, plan);
  if (!place)
    return std::nullopt;
  int64_t width = plan.widths.lookup(place->columns);
  if (width % 64 != 0 && width < space.staticExtents[place->columns])
    return std::nullopt;
  StagedResult staged;
  staged.isBoxed = true;
  staged.tile.source = {argument, map, place->rows, map.getNumResults() - 1};
  staged.tile.type =
      tile::SharedType::get(type.getContext(), kWarpRows,
                            llvm::alignTo(width, 64), type.getElementType());
  staged.tile.free = plan.m;
  staged.tile.sum = place->columns;
  return staged;
}

/// Rows that are no whole 16 bytes are no boxes. A warp writes them by row, from a tile of
/// 128 bytes a row: fragments have 16 bytes of a row each, half a sector of memory.
static std::optional<StagedResult> byRows(AffineMap map, MemRefType type,
                                          const MatrixPlan &plan) {
  std::optional<unsigned> columns = findColumns(map, plan);
  if (!columns)
    return std::nullopt;
  StagedResult staged;
  staged.tile.type = tile::SharedType::get(type.getContext(), kWarpRows,
                                           1024 / type.getElementTypeBitWidth(),
                                           type.getElementType());
  staged.tile.free = plan.m;
  staged.tile.sum = *columns;
  return staged;
}

std::optional<StagedResult> redfuse::findStagedResult(KernelOp kernel,
                                                      LaunchOp launch,
                                                      const KernelSpace &space,
                                                      const MatrixPlan &plan,
                                                      int64_t bytes) {
  if (!plan.target.hasWgmma || plan.shares() > 1)
    return std::nullopt;
  IndexProgramOpInterface last = plan.last();
  SmallVector<AffineMap> all = last.getIndexingMapsArray();
  unsigned first = all.size() - last.getProgramInits().size();
  DenseMap<Value, BlockArgument> destinations;
  for (auto [result, arg] : findDestinations(kernel))
    destinations[result] = arg;
  for (auto [i, result] : llvm::enumerate(last->getResults())) {
    BlockArgument argument = destinations.lookup(result);
    if (!argument)
      continue;
    auto type = dyn_cast<MemRefType>(
        launch->getOperand(argument.getArgNumber()).getType());
    if (!type || !canBeStaged(type))
      continue;
    AffineMap map = simplifyForExtents(all[first + i], space.staticExtents);
    std::optional<StagedResult> staged;
    if (areRowsRagged(type) && plan.isStaged.value_or(true))
      staged = byRows(map, type, plan);
    else if (canBeBoxed(type) && isWorthBoxing(space, plan))
      staged = boxed(map, argument, type, space, plan);
    if (!staged || 4 * plan.consumers * staged->tile.bytes() > bytes)
      continue;
    staged->number = i;
    return staged;
  }
  return std::nullopt;
}
