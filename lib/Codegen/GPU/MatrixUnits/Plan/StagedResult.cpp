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
static bool isWorthStaging(const KernelSpace &space, const MatrixPlan &plan) {
  if (!plan.target.hasWgmma || !plan.stream || plan.shares() > 1)
    return false;
  return plan.isStaged.value_or(
      plan.consumers == 2 && space.staticExtents[*plan.stream] >= kLongStaged);
}

/// 16-bit floats in rows of whole 16 bytes.
static bool canBeBoxed(MemRefType type) {
  Type element = type.getElementType();
  int64_t last = type.getRank() > 0 ? type.getShape().back() : 0;
  return type.getRank() >= 2 && type.getRank() <= 5 &&
         type.getLayout().isIdentity() &&
         (element.isBF16() || element.isF16()) &&
         !ShapedType::isDynamic(last) && last % 8 == 0;
}

namespace {
/// Where a result's rows are in its index, and which dim its columns are.
struct Place {
  unsigned rows, columns;
};
} // namespace

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
  auto columns = dyn_cast<AffineDimExpr>(map.getResults().back());
  if (!rowsAt || !columns || !plan.isColumn(columns.getPosition()))
    return std::nullopt;
  unsigned d = columns.getPosition();
  if (d == plan.m || d == *plan.stream ||
      type.getDimSize(*rowsAt) != space.staticExtents[plan.m] ||
      ShapedType::isDynamic(space.staticExtents[plan.m]) ||
      type.getShape().back() != space.staticExtents[d] ||
      llvm::count_if(map.getResults(),
                     [&](AffineExpr e) { return e.isFunctionOfDim(d); }) != 1)
    return std::nullopt;
  return Place{*rowsAt, d};
}

std::optional<StagedResult> redfuse::findStagedResult(KernelOp kernel,
                                                      LaunchOp launch,
                                                      const KernelSpace &space,
                                                      const MatrixPlan &plan,
                                                      int64_t bytes) {
  if (!isWorthStaging(space, plan))
    return std::nullopt;
  FinalizeOp finalize = plan.finalize;
  auto last = cast<IndexProgramOpInterface>(finalize.getOperation());
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
    if (!type || !canBeBoxed(type))
      continue;
    AffineMap map = simplifyForExtents(all[first + i], space.staticExtents);
    std::optional<Place> place = findPlace(map, type, space, plan);
    if (!place)
      continue;
    int64_t width = plan.widths.lookup(place->columns);
    if (width % 64 != 0 && width < space.staticExtents[place->columns])
      continue;
    StagedResult staged;
    staged.number = i;
    staged.tile.source = {argument, map, place->rows, map.getNumResults() - 1};
    staged.tile.type =
        tile::SharedType::get(kernel.getContext(), kWarpRows,
                              llvm::alignTo(width, 64), type.getElementType());
    staged.tile.free = plan.m;
    staged.tile.sum = place->columns;
    if (4 * plan.consumers * staged.tile.bytes() <= bytes)
      return staged;
  }
  return std::nullopt;
}
