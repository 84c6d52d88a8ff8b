//===- MatrixDims.cpp - rows, columns and sums of products ----------------===//
//
// A contraction of index notation has any number of dims as rows, columns and sums.
// Tiles lie along one of each; of the other rows and columns a block has one index
// each, by the grid, and of the other sums a tile of the sum has one index each.
//
//===----------------------------------------------------------------------===//
#include "MatrixPlanner.h"

#include "redfuse/Analysis/RoundedSums.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace redfuse;

/// The score of what cannot be rows.
static constexpr double kNoRows = -std::numeric_limits<double>::infinity();

/// What is taken for the length of a sum that nobody knows: longer than fits integers.
static constexpr int64_t kOpenSum = int64_t(1) << 40;

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

/// What of a tile's elements exist, where it is cut as blocks cut rows or columns.
static double filledOf(int64_t extent, int64_t least, int64_t most) {
  int64_t tile =
      extent <= most ? llvm::alignTo(std::max<int64_t>(extent, 1), least) : 128;
  return double(extent) / llvm::alignTo(std::max<int64_t>(extent, 1), tile);
}

/// Narrow tiles multiply less for each element that is loaded.
static double widthOf(int64_t extent) {
  return std::min<int64_t>(extent, 128) / 128.0;
}

/// The dim along which a value lies in memory, if it is an input.
std::optional<unsigned> MatrixPlanner::contiguousDimOf(Value v) {
  auto arg = dyn_cast<BlockArgument>(factorOf(v));
  if (!arg || arg.getArgNumber() >= plan.step->getNumOperands())
    return std::nullopt;
  AffineMap map = simplifyForExtents(
      plan.step.getMapOfBodyArgument(arg.getArgNumber()), space.staticExtents);
  if (map.getNumResults() == 0)
    return std::nullopt;
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  return last ? std::optional<unsigned>(last.getPosition()) : std::nullopt;
}

/// Of several dims of a sum that along which tiles lie: one that is contiguous in
/// memory, as either rows or sums of an operand have to be, or else the longest one.
unsigned MatrixPlanner::chooseSum(ReduceOp reduce, Value a, Value c) {
  unsigned best = reduce.getOver()[0];
  double most = -1;
  for (int64_t d : reduce.getOver()) {
    double score = filledOf(extentOf(d).value_or(kOpenRows), 64, 64);
    for (Value v : {a, c})
      score += contiguousDimOf(v) == d ? 2 : 0;
    if (score > most) {
      most = score;
      best = d;
    }
  }
  return best;
}

/// Sums of products of two values with 16-bit floats on one side at least.
bool MatrixPlanner::findProducts() {
  for (auto reduce : plan.step.getProgramBody()->getOps<ReduceOp>()) {
    Type type = reduce.getOperand(0).getType();
    if (!type.isF32() && !type.isInteger(32))
      continue;
    Operation *mul = findProduct(reduce);
    if (!mul)
      continue;
    Value scale = findBlockScale(reduce);
    Value a = mul->getOperand(0), c = mul->getOperand(1);
    if (type.isInteger(32) && !areIntegers(a, c))
      continue;
    const SmallBitVector &inA = (*sets)[a], &inC = (*sets)[c];
    if (!llvm::all_of(reduce.getOver(),
                      [&](int64_t d) { return inA.test(d) && inC.test(d); }))
      continue;
    // What is added to states is a sum over the streamed dim alone.
    if (reduce.getOver().size() > 1 && plan.stream &&
        llvm::is_contained(reduce.getOver(), int64_t(*plan.stream)))
      continue;
    bool hasRows = false, hasColumns = false;
    for (int64_t d : reduce.getInto()) {
      hasRows |= inA.test(d) && !inC.test(d);
      hasColumns |= inC.test(d) && !inA.test(d);
    }
    if (!hasRows || !hasColumns)
      continue;
    MatrixProduct product;
    product.reduce = reduce;
    product.scale = scale;
    product.k = chooseSum(reduce, a, c);
    if (scale && (*sets)[scale].test(product.k))
      continue;
    for (int64_t d : reduce.getOver())
      if (d != int64_t(product.k))
        product.outerSums.push_back(d);
    plan.products.push_back(product);
    operands.push_back({a, c});
  }
  if (plan.products.empty())
    return refuse("it has no sum of products of matrices");
  return true;
}

/// The dim of a product's columns. Those that are summed or streamed have to be it;
/// of others the one that fills tiles best, and lies in memory as results do.
std::optional<unsigned> MatrixPlanner::columnsOf(ReduceOp reduce, Value left,
                                                 Value right) {
  SmallBitVector isReduced(space.numDims);
  for (auto other : plan.step.getProgramBody()->getOps<ReduceOp>())
    for (int64_t d : other.getOver())
      isReduced.set(d);
  if (plan.stream)
    isReduced.set(*plan.stream);
  std::optional<unsigned> contiguous = contiguousDimOf(right), best;
  bool isAlongSum =
      contiguous && llvm::is_contained(reduce.getOver(), int64_t(*contiguous));
  double most = -1;
  for (int64_t d : reduce.getInto()) {
    if ((*sets)[left].test(d) || !(*sets)[right].test(d))
      continue;
    int64_t extent = extentOf(d).value_or(kOpenRows);
    double score = filledOf(extent, 16, kMaxColumns) * widthOf(extent);
    score += isReduced.test(d) ? 8 : 0;
    score += !isAlongSum && contiguous == d ? 4 : 0;
    score += isLastOfResults(d) ? .125 : 0;
    if (score > most) {
      most = score;
      best = d;
    }
  }
  return best;
}

/// Whether results lie along a dim in memory.
bool MatrixPlanner::isLastOfResults(unsigned d) {
  IndexProgramOpInterface last = plan.last();
  SmallVector<AffineMap> maps = last.getIndexingMapsArray();
  return llvm::all_of(ArrayRef(maps).take_back(last.getProgramInits().size()),
                      [&](AffineMap map) {
                        return map.getNumResults() != 0 &&
                               map.getResults().back().isFunctionOfDim(d);
                      });
}

/// Whether both factors are of 8 bits in memory: integers, or floats whose sums may be added up
/// with the digits that the unit has for these.
bool MatrixPlanner::areBytes(const MatrixProduct &product, Value a, Value c) {
  if (areIntegers(a, c)) {
    double products = 1;
    ReduceOp reduce = product.reduce;
    for (int64_t d : reduce.getOver())
      products *= double(extentOf(unsigned(d)).value_or(kOpenSum));
    return fitsI32(reduce, {a, c}, products);
  }
  return areInMemory(a, c, llvm::IsaPred<Float8E4M3FNType, Float8E5M2Type>) &&
         isRoundedBehind(product.reduce);
}

/// Whether both factors are integers of 8 bits in memory, which the unit multiplies.
bool MatrixPlanner::areIntegers(Value a, Value c) {
  return areInMemory(a, c, [](Type type) { return type.isInteger(8); });
}

/// Whether both factors are of that kind in memory, which is 8 bits: those of warpgroups, where
/// nothing is folded.
bool MatrixPlanner::areInMemory(Value a, Value c,
                                function_ref<bool(Type)> kind) {
  return plan.target.hasWgmma && !plan.stream &&
         llvm::all_of(ArrayRef{factorOf(a), factorOf(c)}, [&](Value v) {
           return isa<BlockArgument>(v) && kind(v.getType());
         });
}

/// Whether a dim is rows of all products: in one operand of each, of which the other
/// one is in memory as it is.
bool MatrixPlanner::canBeRows(unsigned d) {
  return llvm::all_of(
      llvm::zip_equal(plan.products, operands), [&](const auto &entry) {
        const auto &[product, pair] = entry;
        bool inA = (*sets)[pair.first].test(d),
             inC = (*sets)[pair.second].test(d);
        Value other = factorOf(inA ? pair.second : pair.first);
        return inA != inC && llvm::is_contained(product.reduce.getInto(), d) &&
               isa<BlockArgument>(other) &&
               (isHalf(other.getType()) ||
                areBytes(product, pair.first, pair.second));
      });
}

/// Whether a factor, or what it is computed of, lies in memory along neither the rows nor the
/// sum: every element of a tile is in a line of its own.
bool MatrixPlanner::isScattered(Value v, unsigned rows, unsigned sum) {
  SetVector<Value> cone;
  cone.insert(factorOf(v));
  for (size_t i = 0; i < cone.size(); ++i) {
    if (Operation *def = cone[i].getDefiningOp();
        def && def->getBlock() == plan.step.getProgramBody())
      cone.insert_range(def->getOperands());
    std::optional<unsigned> along = contiguousDimOf(cone[i]);
    if (along && *along != rows && *along != sum &&
        (*sets)[cone[i]].test(rows) && extentOf(*along).value_or(kOpenRows) > 1)
      return true;
  }
  return false;
}

/// How well a dim serves as the rows. A fold takes the longest one. Where nothing is
/// folded, rows and columns may change places: both should fill tiles, and results
/// should be stored along columns, of which threads have neighbours. What tiles leave empty
/// counts as much as the units limit the time, how results are stored as much as memory does.
double MatrixPlanner::scoreOfRows(unsigned d) {
  int64_t extent = extentOf(d).value_or(kOpenRows);
  bool isFirstLeft = llvm::all_of(
      operands, [&](auto &pair) { return (*sets)[pair.first].test(d); });
  double length = double(extent) + (isFirstLeft ? .5 : 0);
  if (plan.stream)
    return length;
  double filled = 1;
  // Beside storing a result.
  double sum = 0;
  bool areScattered = false, areAlongColumns = true;
  for (auto [product, pair] : llvm::zip_equal(plan.products, operands)) {
    bool inA = (*sets)[pair.first].test(d);
    areScattered |= isScattered(inA ? pair.first : pair.second, d, product.k);
    std::optional<unsigned> n =
        columnsOf(product.reduce, inA ? pair.first : pair.second,
                  inA ? pair.second : pair.first);
    if (!n)
      return kNoRows;
    // A scale of each column takes a register of each.
    areScattered |= product.scale && (*sets)[product.scale].test(*n);
    areAlongColumns &= isLastOfResults(*n);
    areScattered |= !isLastOfResults(d) && !isLastOfResults(*n);
    double points = 1;
    ReduceOp reduce = product.reduce;
    for (int64_t over : reduce.getOver())
      points *= double(extentOf(unsigned(over)).value_or(kOpenRows));
    sum += points / kSumOfStore;
    int64_t columns = extentOf(*n).value_or(kOpenRows);
    filled = std::min(filled, filledOf(extent, 64, 128) * widthOf(extent) *
                                  filledOf(columns, 16, kMaxColumns) *
                                  widthOf(columns));
  }
  double order = std::min(length / (1 << 21), .5);
  // By quarters of a power of 2: less is worth the better order of results.
  auto quarters = [](double of) { return std::round(std::log2(of) * 4); };
  double empty = quarters((sum / filled + 1) / (sum + 1));
  double ordered = std::max(1.0, quarters((sum + 2) / (sum + 1)));
  return (areAlongColumns ? ordered : 0) - empty + order -
         (areScattered ? kScatteredRows : 0);
}

/// The dim that all products have as rows, and that nothing reduces.
bool MatrixPlanner::chooseRows() {
  SmallBitVector reduced(space.numDims);
  for (auto reduce : plan.step.getProgramBody()->getOps<ReduceOp>())
    for (int64_t d : reduce.getOver())
      reduced.set(d);
  if (plan.stream)
    reduced.set(*plan.stream);
  double best = kNoRows;
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (reduced.test(d) || !canBeRows(d))
      continue;
    if (double score = scoreOfRows(d); score > best) {
      best = score;
      plan.m = d;
    }
  }
  if (best == kNoRows)
    return refuse("no dim is the rows of every product, with 16-bit floats in "
                  "memory on the other side");
  for (auto [product, pair] : llvm::zip_equal(plan.products, operands))
    if (!(*sets)[pair.first].test(plan.m))
      std::swap(pair.first, pair.second);
  return true;
}
