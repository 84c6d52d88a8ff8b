//===- PlanProducts.cpp - which kernels use matrix instructions, and how --===//
//
// A kernel that has no plan for matrix units may still have contractions that matrix
// instructions make faster than registers. What they need is tiles as high and wide as
// an instruction: these are chosen here, and written on the launch.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/ProductPlan.h"
#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_PLANPRODUCTS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

unsigned redfuse::chooseLanes(LaunchOp launch) {
  double most = -1;
  int64_t width = 4;
  for (Type type : launch->getOperandTypes()) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      continue;
    double size = 1;
    for (int64_t extent : memref.getShape())
      size *= getAssumedExtent(extent);
    int64_t bytes = bytesOf(memref.getElementType());
    if (size * bytes > most) {
      most = size * bytes;
      width = bytes;
    }
  }
  return std::clamp<int64_t>(16 / width, 1, 8);
}

static KernelSpace withTiles(KernelSpace space, ArrayRef<int64_t> tiles) {
  ScheduleAttr schedule = space.schedule;
  space.schedule = ScheduleAttr::get(
      schedule.getContext(), schedule.getKind(), schedule.getGrid(), tiles,
      schedule.getStream(), schedule.getReason(), schedule.getSplits(),
      schedule.getLazy(), schedule.getHints());
  return space;
}

/// The space with all tiles of the grid at least as long as an instruction's.
static KernelSpace widenTiles(const KernelSpace &space) {
  if (!space.schedule)
    return space;
  SmallVector<int64_t> tiles(space.schedule.getTiles());
  for (int64_t d : space.schedule.getGrid())
    if (tiles[d] != 0)
      tiles[d] = std::max(tiles[d], kLeastTile);
  return withTiles(space, tiles);
}

namespace {
/// What the tile programs of a kernel, in tiles as long as an instruction's, say of its
/// contractions.
struct FoundProducts {
  /// Some is high and wide enough to be worth it.
  bool isWorthwhile = false;
  /// A block keeps tiles of values between its nests.
  bool hasBuffers = false;
  /// The dims of rows and columns.
  SmallBitVector free;
  /// Points of the largest contraction, and of the largest nest that is none.
  double products = 0, others = 0;
};

/// Chooses tiles for the dims of the grid that are rows and columns of products.
class ProductTileChoice {
public:
  ProductTileChoice(const KernelSpace &space, const FoundProducts &products,
                    int64_t units);
  SmallVector<int64_t> run();
  double countTiles() const;

private:
  bool fits(unsigned d) const {
    return ShapedType::isDynamic(space.staticExtents[d]) ||
           tiles[d] < space.staticExtents[d];
  }
  bool enlarge();

  const KernelSpace &space;
  const FoundProducts &products;
  int64_t units;
  SmallVector<int64_t> tiles;
  SmallVector<unsigned> cut;
};
} // namespace

static double extentOf(const KernelSpace &space, unsigned d) {
  return getAssumedExtent(space.staticExtents[d]);
}

static FoundProducts findProducts(const KernelPrograms &programs,
                                  const KernelSpace &space) {
  FoundProducts found;
  found.free.resize(space.numDims);
  auto extentOfAll = [&](ArrayRef<unsigned> dims) {
    double extent = 1;
    for (unsigned d : dims)
      extent *= extentOf(space, d);
    return extent;
  };
  for (auto &[op, program] : programs) {
    found.hasBuffers |= !program->getBuffers().empty();
    for (const LoopNest &nest : program->getNests()) {
      SmallBitVector dims = nest.dims;
      for (unsigned d : nest.over)
        dims.set(d);
      double points = extentOfAll(llvm::to_vector(dims.set_bits()));
      if (!nest.contraction || !nest.contraction->matrix) {
        found.others = std::max(found.others, points);
        continue;
      }
      found.products = std::max(found.products, points);
      const MatrixForm &form = *nest.contraction->matrix;
      found.isWorthwhile |=
          std::min(extentOfAll(form.rows), extentOfAll(form.columns)) >=
          kRowsOfProducts;
      for (ArrayRef<unsigned> side :
           {ArrayRef(form.rows), ArrayRef(form.columns)})
        for (unsigned d : side)
          found.free.set(d);
    }
  }
  return found;
}

ProductTileChoice::ProductTileChoice(const KernelSpace &space,
                                     const FoundProducts &products,
                                     int64_t units)
    : space(space), products(products), units(units),
      tiles(space.schedule.getTiles()) {
  for (int64_t d : space.schedule.getGrid())
    if (products.free.test(d) && tiles[d] != 0)
      cut.push_back(d);
}

double ProductTileChoice::countTiles() const {
  double count = 1;
  for (int64_t d : space.schedule.getGrid())
    count *= std::ceil(extentOf(space, unsigned(d)) / double(tiles[d]));
  return count;
}

/// Twice as long tiles, one dim after the other; false if no dim can have them.
bool ProductTileChoice::enlarge() {
  bool isLarger = false;
  for (unsigned d : cut) {
    if (tiles[d] * 2 > kMostTile || !fits(d))
      continue;
    tiles[d] *= 2;
    if (countTiles() < kTilesOfUnit * double(units))
      tiles[d] /= 2;
    else
      isLarger = true;
  }
  return isLarger;
}

/// As high and wide as an instruction; where a block keeps nothing but them, larger
/// ones while there are two for each multiprocessor.
SmallVector<int64_t> ProductTileChoice::run() {
  for (unsigned d : cut)
    while (tiles[d] < kLeastTile && fits(d))
      tiles[d] *= 2;
  while (!products.hasBuffers && enlarge())
    ;
  return tiles;
}

FailureOr<std::optional<SmallVector<int64_t>>>
redfuse::planProducts(KernelOp kernel, LaunchOp launch,
                      const KernelSpace &space, int64_t units,
                      const Chip &chip) {
  TileProgram::Options options;
  options.lanes = chooseLanes(launch);
  options.chip = &chip;
  KernelPrograms programs;
  if (failed(makeTilePrograms(kernel, launch, widenTiles(space), options,
                              programs)))
    return failure();
  FoundProducts products = findProducts(programs, space);
  if (!products.isWorthwhile)
    return std::optional<SmallVector<int64_t>>();
  if (!space.schedule)
    return std::optional(SmallVector<int64_t>());
  ProductTileChoice choice(space, products, units);
  SmallVector<int64_t> tiles = choice.run();
  // Little products behind large reductions: blocks for all multiprocessors are worth more.
  if (products.others > products.products &&
      choice.countTiles() < double(units))
    return std::optional<SmallVector<int64_t>>();
  return std::optional(std::move(tiles));
}

FailureOr<KernelSpace> redfuse::takeProductTiles(LaunchOp launch,
                                                 KernelSpace space) {
  auto refuse = [&](const Twine &why) {
    return launch.emitOpError("cannot have the tiles of '")
           << kProductTilesAttr << "': " << why;
  };
  auto wanted = launch->getAttrOfType<DenseI64ArrayAttr>(kProductTilesAttr);
  if (!wanted)
    return refuse("expected array<i64: ...>");
  ArrayRef<int64_t> tiles = wanted.asArrayRef();
  ArrayRef<int64_t> own;
  if (space.schedule)
    own = space.schedule.getTiles();
  if (tiles.size() != own.size())
    return refuse("expected " + Twine(own.size()) + " of them, got " +
                  Twine(tiles.size()));
  for (auto [d, tile] : llvm::enumerate(tiles)) {
    bool isCut = own[d] != 0 && llvm::is_contained(space.schedule.getGrid(),
                                                   static_cast<int64_t>(d));
    if (!isCut && tile != own[d])
      return refuse("dim " + Twine(d) + " is not one of the grid's, and has " +
                    Twine(own[d]) + ", not " + Twine(tile));
    if (isCut && (tile < 1 || tile > kMostTile * own[d]))
      return refuse("dim " + Twine(d) + " may have 1 to " +
                    Twine(kMostTile * own[d]) + ", not " + Twine(tile));
  }
  return space.schedule ? withTiles(space, tiles) : space;
}

namespace {
struct PlanProducts : public redfuse::impl::PlanProductsBase<PlanProducts> {
  using PlanProductsBase::PlanProductsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Chip *chip = getChipOf(module);
    FailureOr<SmallVector<KernelLaunch>> launches = findLaunches(module);
    if (failed(launches))
      return signalPassFailure();
    if (!chip)
      return;
    int64_t units = getTargetOf(module).getUnits();
    for (KernelLaunch &from : *launches)
      if (failed(plan(from, units, *chip)))
        return signalPassFailure();
  }

private:
  /// What has a plan keeps it. The last of the blocks that share a fold merges in
  /// registers.
  static LogicalResult plan(KernelLaunch &from, int64_t units,
                            const Chip &chip) {
    if (from.launch->hasAttr(kPlanAttr) ||
        from.launch->hasAttr(kContractionAttr) ||
        from.launch->hasAttr(kProductTilesAttr) || mergesInLaunch(from.kernel))
      return success();
    FailureOr<std::optional<SmallVector<int64_t>>> tiles =
        planProducts(from.kernel, from.launch, from.space, units, chip);
    if (failed(tiles))
      return failure();
    if (!*tiles)
      return success();
    auto attr = DenseI64ArrayAttr::get(from.launch.getContext(), **tiles);
    from.record(kProductTilesAttr, attr);
    return success();
  }
};
} // namespace
