//===- MatrixStore.cpp - results by bulk copies from shared memory ---------===//
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace redfuse;

/// Rows that a warp has.
static constexpr int64_t kWarpRows = 16;
/// Streamed dims from which on results are staged.
static constexpr int64_t kLongStaged = 512;

/// The first result that boxes of a tensor map can write, 16-bit floats of the rows
/// and of columns that are contiguous. `held` slots of the ring are in use at a
/// time; twice as many should be left. Of three warpgroups two multiply while one
/// stores: direct stores are as fast then, and faster where all is over soon.
void MatrixGenerator::chooseStaged(int64_t held, unsigned &nextMap) {
  if (!plan.target.hasWarpgroups || !plan.stream || plan.shares() > 1 ||
      !plan.isStaged.value_or(plan.consumers == 2 &&
                              space.staticExtents[*plan.stream] >= kLongStaged))
    return;
  auto last = cast<IndexProgramOpInterface>(plan.finalize.getOperation());
  SmallVector<AffineMap> all = last.getIndexingMapsArray();
  unsigned first = all.size() - last.getProgramInits().size();
  DenseMap<Value, BlockArgument> destinations;
  for (auto [result, arg] : findDestinations(kernel))
    destinations[result] = arg;
  for (auto [i, result] : llvm::enumerate(last->getResults())) {
    AffineMap map = simplifyForExtents(all[first + i], space.staticExtents);
    BlockArgument argument = destinations.lookup(result);
    auto type = argument
                    ? dyn_cast<MemRefType>(
                          launch->getOperand(argument.getArgNumber()).getType())
                    : MemRefType();
    if (!type || type.getRank() < 2 || type.getRank() > 5 ||
        !type.getLayout().isIdentity() ||
        (!type.getElementType().isBF16() && !type.getElementType().isF16()) ||
        ShapedType::isDynamic(type.getShape().back()) ||
        type.getShape().back() % 8 != 0)
      continue;
    // What lies beyond the rows and columns must lie beyond the tensor.
    std::optional<unsigned> rowsAt;
    bool isPlain = true;
    auto columns = dyn_cast<AffineDimExpr>(map.getResults().back());
    for (auto [at, e] : llvm::enumerate(map.getResults())) {
      if (!e.isFunctionOfDim(plan.m))
        continue;
      isPlain &= isa<AffineDimExpr>(e) && !rowsAt;
      rowsAt = at;
    }
    if (!rowsAt || !isPlain || !columns ||
        !plan.isColumn(columns.getPosition()))
      continue;
    unsigned d = columns.getPosition();
    if (d == plan.m || d == *plan.stream ||
        type.getDimSize(*rowsAt) != space.staticExtents[plan.m] ||
        ShapedType::isDynamic(space.staticExtents[plan.m]) ||
        type.getShape().back() != space.staticExtents[d] ||
        llvm::count_if(map.getResults(),
                       [&](AffineExpr e) { return e.isFunctionOfDim(d); }) != 1)
      continue;
    int64_t width = plan.widths.lookup(d);
    if (width % 64 != 0 && width < space.staticExtents[d])
      continue;
    auto tileType =
        tile::SharedType::get(b.getContext(), kWarpRows,
                              llvm::alignTo(width, 64), type.getElementType());
    int64_t bytes = 4 * plan.consumers * tileType.getBytes();
    if (residentBytes + bytes + 2 * held * slotBytes > plan.target.sharedBytes)
      continue;
    stagedSource = {argument, map, *rowsAt, unsigned(map.getNumResults() - 1)};
    staged.emplace();
    staged->source = &stagedSource;
    staged->type = tileType;
    staged->free = plan.m;
    staged->sum = d;
    staged->map = nextMap++;
    stagedBytes = bytes;
    stagedResult = i;
    return;
  }
}

/// Every warp puts its rows into its own part of shared memory, where the copy of
/// the tile before has been read, and starts the copy of these.
void MatrixGenerator::storeStaged(const Fragment &value) {
  Value lane = ptx.readLane();
  Value start = ptx.add(base, ringBytes() + residentBytes);
  start = ptx.add(start, ptx.mul(ptx.add(warp, -4), staged->type.getBytes()));
  Value into = tile::ViewOp::create(b, loc, staged->type, start);
  // Rule 9.
  waitForCopies(lane);
  for (size_t i = 0; i < value.values.size(); i += 8) {
    SmallVector<Value> words;
    for (size_t k = i; k < i + 8; k += 2)
      words.push_back(emitter->packPair(value.values[k], value.values[k + 1]));
    tile::StoreBlockOp::create(b, loc, words[0], words[1], words[2], words[3],
                               into, ptx.i32(0), int64_t(i) * 2);
  }
  tile::FenceCopiesOp::create(b, loc);
  NVVM::SyncWarpOp::create(b, loc, ptx.i32(-1));
  Value inWarpgroup = arith::AndIOp::create(b, loc, warp, ptx.i32(3));
  Value inBlock = ptx.add(ptx.mul(group, 64), ptx.mul(inWarpgroup, kWarpRows));
  SmallVector<Value> positions;
  for (unsigned d = 0; d < space.numDims; ++d) {
    Value at = emitter->offsets[d];
    if (d == plan.m)
      at = arith::AddIOp::create(
          b, loc, firstRow,
          arith::IndexCastUIOp::create(b, loc, b.getIndexType(), inBlock));
    positions.push_back(at ? at
                           : Value(arith::ConstantIndexOp::create(b, loc, 0)));
  }
  SmallVector<Value> coordinates;
  for (AffineExpr e : llvm::reverse(staged->source->map.getResults()))
    coordinates.push_back(arith::IndexCastOp::create(
        b, loc, b.getI32Type(),
        affine::expandAffineExpr(b, loc, e, positions, {})));
  byFirstLane(lane, [&] {
    tile::CopyOutOp::create(b, loc, into, maps[staged->map - 1], coordinates);
    tile::CommitCopiesOp::create(b, loc);
  });
}

void MatrixGenerator::byFirstLane(Value lane, function_ref<void()> body) {
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, ptx.i32(0));
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  body();
}

/// Until the warp's copies have read shared memory.
void MatrixGenerator::waitForCopies(Value lane) {
  byFirstLane(lane, [&] { tile::WaitCopiesOp::create(b, loc, 0); });
  NVVM::SyncWarpOp::create(b, loc, ptx.i32(-1));
}
