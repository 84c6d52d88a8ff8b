//===- MatrixTiling.cpp - how matrix instructions share a contraction -----===//
#include "redfuse/Codegen/GPU/SharedMemory/MatrixTiling.h"
#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

#include "redfuse/Analysis/FusionCost.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Tiles of a block
//===----------------------------------------------------------------------===//

bool TileShape::isMultiple(unsigned d, int64_t by) const {
  const SpaceDim &dim = dims[d];
  if (by == 1)
    return true;
  // The splits of a split dim start and end anywhere.
  if (isSplit && dim.isStream)
    return false;
  return !ShapedType::isDynamic(dim.staticExtent) &&
         dim.staticExtent % by == 0 && dim.tile % by == 0;
}

int64_t TileShape::capacityOf(unsigned d) const {
  int64_t size = dims[d].tile != 0 ? dims[d].tile : dims[d].staticExtent;
  return int64_t(getAssumedExtent(size));
}

int64_t TileShape::capacityOf(ArrayRef<unsigned> ofDims) const {
  int64_t count = 1;
  for (unsigned d : ofDims)
    count = std::min<int64_t>(count * std::max<int64_t>(1, capacityOf(d)),
                              int64_t(1) << 32);
  return count;
}

//===----------------------------------------------------------------------===//
// Tiles of a warp
//===----------------------------------------------------------------------===//

MatrixTiling::MatrixTiling(const MatrixForm &form, const TileProgram &program,
                           const TileShape &shape, int64_t warps)
    : form(form), x(form.instruction), program(program), shape(shape) {
  chooseTile(warps);
  // 16 bytes of the sum.
  int64_t sums = shape.capacityOf(form.sums);
  while (2 * laneSums() * elementBits(x.left) <= 8 * kOperandBytes &&
         step() < sums)
    sumTiles *= 2;
  while (countAccesses() > kMatrixAccesses && halve())
    ;
}

/// The time of instructions, and of the loads of what they multiply.
void MatrixTiling::chooseTile(int64_t warps) {
  int64_t rows = shape.capacityOf(form.rows),
          columns = shape.capacityOf(form.columns),
          batch = shape.capacityOf(form.batch);
  double least = 0;
  for (int64_t r = 1; r <= 4; r *= 2)
    for (int64_t c = 1; c <= 8; c *= 2) {
      if (r * c * int64_t(x.results.size()) > kMatrixSums ||
          (r > 1 && r / 2 * x.rows >= rows) ||
          (c > 1 && c / 2 * x.columns >= columns))
        continue;
      double tiles = double(batch) * llvm::divideCeil(rows, r * x.rows) *
                     llvm::divideCeil(columns, c * x.columns);
      double work = double(x.rows * x.columns) / kResultsOfStep;
      double cost = std::ceil(tiles / warps) *
                    (r * c * work + kLoadSteps * (r * x.rowsPerLane + c));
      if (least == 0 || cost < least) {
        least = cost;
        rowTiles = r;
        columnTiles = c;
      }
    }
}

std::pair<int64_t, bool> MatrixTiling::accessOf(Value source, unsigned along,
                                                int64_t count) const {
  int64_t bytes = std::max(
      1u, getElementTypeOrSelf(source.getType()).getIntOrFloatBitWidth() / 8);
  auto widthAlong = [&](unsigned dim, int64_t most) {
    int64_t width = 1;
    while (2 * width <= most && 2 * width * bytes <= kOperandBytes &&
           most % (2 * width) == 0 && shape.isMultiple(dim, 2 * width))
      width *= 2;
    return width;
  };
  std::optional<unsigned> contiguous = program.getContiguous(source);
  if (contiguous == form.sums.back())
    return {widthAlong(*contiguous, laneSums()), false};
  if (contiguous != along)
    return {1, false};
  int64_t width = widthAlong(*contiguous, count);
  return {width, width > 1};
}

/// Accesses of a lane for one step.
int64_t MatrixTiling::countAccesses() const {
  auto count = [&](Value source, unsigned along, int64_t neighbours) {
    return neighbours * laneSums() / accessOf(source, along, neighbours).first;
  };
  return count(form.left, form.rows.back(), laneRows()) +
         count(form.right, form.columns.back(), columnTiles);
}

/// Fewer instructions for a step, or for a tile; false if there is one.
bool MatrixTiling::halve() {
  int64_t &most = sumTiles > 1               ? sumTiles
                  : laneRows() > columnTiles ? rowTiles
                                             : columnTiles;
  int64_t &halved = most > 1 ? most : rowTiles;
  if (halved == 1)
    return false;
  halved /= 2;
  return true;
}
