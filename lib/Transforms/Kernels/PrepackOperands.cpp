//===- PrepackOperands.cpp - redfuse-prepack-operands ---------------------===//
#include "CopiedOperands.h"
#include "OperandCopy.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/RoundedSums.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Analysis/Windows.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Dialect/Redfuse/Utils/MovedBody.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {
#define GEN_PASS_DEF_PREPACKOPERANDS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// A factor without its conversions, and without the zeros around a window.
struct ConvertedFactor {
  Value value;
  arith::TruncFOp round;
};

/// A sum of products, and its operands that are worth a copy.
class Product {
public:
  Product(CascadeOp op, const Chip &chip)
      : op(op), chip(chip), extents(getStaticExtents(op)),
        maps(op.getIndexingMapsArray()) {}

  SmallVector<Operand> findOperands();

private:
  bool findProduct();
  std::optional<SmallVector<Operand>> findVectors(ValueRange factors);
  std::optional<SmallVector<Operand>> findBytes(ValueRange factors);
  std::optional<SmallVector<Operand>> findShort(ValueRange factors);
  std::optional<Operand> describeShort(Value factor, FloatType type,
                                       double &bytes);
  std::optional<SmallVector<Operand>>
  findVectors(ArrayRef<ConvertedFactor> factors, unsigned sum, double &seconds);
  std::optional<Operand> describeVectors(ConvertedFactor factor, unsigned sum,
                                         double &bytes);
  bool isRagged(ConvertedFactor factor, int64_t bytes) const;
  bool isSliceOfRagged(BlockArgument factor, unsigned sum, int64_t width) const;
  bool isOfBatch(AffineExpr place);
  bool isApart(Value factor);
  int64_t vectorOf(Type element, unsigned sum) const;
  std::optional<Operand> findRowsOfPacked(ValueRange factors);
  std::optional<Operand> describe(Value factor);
  bool readsTaps(AffineMap map) const;
  bool isOnItsWay(Value v, bool &isComputed);
  int64_t points(const SmallBitVector &of) const;
  double growthOfTiles();

  CascadeOp op;
  const Chip &chip;
  SmallVector<int64_t> extents;
  SmallVector<AffineMap> maps;
  ReduceOp reduce;
  std::optional<DimSets> sets;
  /// Dims of windows that are summed: taps.
  SmallBitVector taps;
  /// Multiply-adds.
  double products = 0;
};
} // namespace

int64_t Product::points(const SmallBitVector &of) const {
  int64_t count = 1;
  for (unsigned d : of.set_bits())
    count *= extents[d];
  return count;
}

/// What tiles of results have beside those of a convolution: the filters, of which there
/// are fewer than places, fill tiles of as many as that in part.
double Product::growthOfTiles() {
  Operation *mul = reduce.getOperand(0).getDefiningOp();
  SmallBitVector results = toDimSet(reduce.getInto(), extents.size());
  int64_t filters = std::numeric_limits<int64_t>::max();
  for (unsigned i : {0, 1}) {
    SmallBitVector own = results;
    own &= (*sets)[mul->getOperand(i)];
    own.reset((*sets)[mul->getOperand(1 - i)]);
    filters = std::min(filters, points(own));
  }
  if (taps.none() || filters < kFiltersOfTile / 2)
    return 1;
  return double(llvm::alignTo(uint64_t(filters), uint64_t(kFiltersOfTile))) /
         double(filters);
}

/// Whether it is one sum of products of floats or integers, with taps, of known extents.
bool Product::findProduct() {
  if (llvm::any_of(extents, ShapedType::isDynamic))
    return false;
  for (Operation &inner : op.getBody().front()) {
    if (!isRootOp(&inner) || isa<YieldOp>(inner))
      continue;
    if (reduce || !isa<ReduceOp>(inner))
      return false;
    reduce = cast<ReduceOp>(inner);
  }
  if (!reduce)
    return false;
  FailureOr<DimSets> found =
      DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
  if (failed(found))
    return false;
  sets = std::move(*found);
  if (findBlockScale(reduce) || !redfuse::findProduct(reduce) ||
      (!isa<FloatType>(reduce.getOperand(0).getType()) &&
       !reduce.getOperand(0).getType().isInteger(32)))
    return false;
  SmallBitVector summed = toDimSet(reduce.getOver(), extents.size());
  taps.resize(extents.size());
  for (AffineMap map : maps)
    for (AffineExpr e : map.getResults())
      for (unsigned d : summed.set_bits())
        if (!isa<AffineDimExpr>(withoutOffset(e)) && e.isFunctionOfDim(d))
          taps.set(d);
  products = double(points(summed)) *
             double(points(toDimSet(reduce.getInto(), extents.size())));
  return true;
}

/// Whether a place is made of several dims of which one is summed.
bool Product::readsTaps(AffineMap map) const {
  return llvm::any_of(taps.set_bits(), [&](unsigned d) {
    return llvm::any_of(map.getResults(), [&](AffineExpr e) {
      return !isa<AffineDimExpr>(e) && e.isFunctionOfDim(d);
    });
  });
}

/// Whether elements are read at places that differ from one to the next, one for each
/// point, and computed of nothing but those: `isComputed` where they are computed, or
/// read at positions that are.
bool Product::isOnItsWay(Value v, bool &isComputed) {
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    AffineMap map = maps[argument.getArgNumber()];
    // A window is no such read; one of rows that are moved against the results' is.
    if (!simplifyForExtents(map, extents).isProjectedPermutation()) {
      isComputed = true;
      auto type = dyn_cast<RankedTensorType>(
          op.getInputs()[argument.getArgNumber()].getType());
      return type && type.hasStaticShape() && !readsTaps(map) &&
             points((*sets)[v]) <= kMostOfCopy * type.getNumElements();
    }
    // Neighbours in memory are taps, or sums that are not the innermost here.
    auto last = map.getNumResults() == 0
                    ? nullptr
                    : dyn_cast<AffineDimExpr>(map.getResults().back());
    isComputed |= last && taps.test(last.getPosition());
    return true;
  }
  Operation *def = v.getDefiningOp();
  if (!def || def->getBlock() != &op.getBody().front())
    return true;
  if (def == reduce)
    return false;
  if (auto extract = dyn_cast<tensor::ExtractOp>(def)) {
    isComputed = true;
    auto type = cast<RankedTensorType>(extract.getTensor().getType());
    // Not many times what is there.
    return type.hasStaticShape() &&
           points((*sets)[v]) <= kMostOfCopy * type.getNumElements();
  }
  return isPure(def) && llvm::all_of(def->getOperands(), [&](Value of) {
           return isOnItsWay(of, isComputed);
         });
}

/// Roundings and extensions stay where they are: the product is known by them.
static ConvertedFactor withoutConversions(Value factor) {
  ConvertedFactor found{factor, {}};
  if (auto extend = factor.getDefiningOp<arith::ExtFOp>()) {
    found.value = extend.getIn();
    found.round = found.value.getDefiningOp<arith::TruncFOp>();
    if (found.round && isa<FloatTF32Type>(found.value.getType()))
      found.value = found.round.getIn();
    else
      found.round = {};
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Vectors along a sum
//===----------------------------------------------------------------------===//

/// Whether a factor is read from memory whose rows do not begin at multiples of so many
/// bytes.
bool Product::isRagged(ConvertedFactor factor, int64_t bytes) const {
  auto argument = dyn_cast<BlockArgument>(factor.value);
  if (!argument)
    return false;
  auto type = dyn_cast<RankedTensorType>(
      op->getOperand(argument.getArgNumber()).getType());
  int64_t bits = factor.value.getType().getIntOrFloatBitWidth();
  return type && type.hasStaticShape() && type.getRank() > 1 &&
         type.getShape().back() * bits % (8 * bytes) != 0;
}

/// Whether a place is along dims that both factors and the result have.
bool Product::isOfBatch(AffineExpr place) {
  Operation *mul = reduce.getOperand(0).getDefiningOp();
  SmallBitVector batch = toDimSet(reduce.getInto(), extents.size());
  batch &= (*sets)[mul->getOperand(0)];
  batch &= (*sets)[mul->getOperand(1)];
  SmallBitVector own(extents.size());
  for (unsigned d = 0; d < extents.size(); ++d)
    if (place.isFunctionOfDim(d))
      own.set(d);
  return own.any() && isSubset(own, batch);
}

/// Whether a factor is read from memory in which neighbours are of different matrices: a
/// product of each channel of images whose channels lie side by side.
bool Product::isApart(Value factor) {
  auto argument = dyn_cast<BlockArgument>(factor);
  if (!argument ||
      !isa<RankedTensorType>(op->getOperand(argument.getArgNumber()).getType()))
    return false;
  AffineMap map = maps[argument.getArgNumber()];
  return map.getNumResults() > 1 && isOfBatch(map.getResults().back());
}

/// Elements of a sum that copies have multiples of: 16 bytes, or a line of memory where the
/// product is plain and reads lines of 16-bit floats.
int64_t Product::vectorOf(Type element, unsigned sum) const {
  int64_t bits = element.getIntOrFloatBitWidth();
  bool areLines = bits == 16 && taps.none() && extents[sum] >= kLeastOfLines;
  return (areLines ? 8 * kGpuLineBytes : 128) / bits;
}

/// Whether a factor is a part of a tensor along the dim `sum`, of whose elements the whole
/// has no multiple of `width`: the part alone is copied.
bool Product::isSliceOfRagged(BlockArgument factor, unsigned sum,
                              int64_t width) const {
  auto type = dyn_cast<RankedTensorType>(
      op->getOperand(factor.getArgNumber()).getType());
  if (!type || !type.hasStaticShape())
    return false;
  for (auto [extent, expr] : llvm::zip_equal(
           type.getShape(), maps[factor.getArgNumber()].getResults()))
    if (expr.isFunctionOfDim(sum))
      return extents[sum] < extent && extent % width != 0 &&
             extents[sum] % width == 0;
  return false;
}

/// The copy that has 16 bytes of a factor along the dim `sum` together, without dims if
/// it lies so already; `bytes` are those that it moves. Zeros around a window are made
/// where it is read. Of a sum of another length zeros are put behind both factors, which
/// change no sum: those of infinities and zeros meet zeros there, too.
std::optional<Operand> Product::describeVectors(ConvertedFactor factor,
                                                unsigned sum, double &bytes) {
  bytes = 0;
  Value v = factor.value;
  if (auto select = v.getDefiningOp<arith::SelectOp>();
      select && isa<BlockArgument>(select.getTrueValue()) &&
      matchPattern(select.getFalseValue(), m_PosZeroFloat()) &&
      !(*sets)[select.getCondition()].test(sum))
    v = select.getTrueValue();
  bool isInParts = v.getType().isF32() && !factor.round;
  unsigned bits = v.getType().getIntOrFloatBitWidth();
  int64_t width = vectorOf(v.getType(), sum), extent = extents[sum];
  bool isPadded = extent % width != 0;
  // What matrix units without copies read as it is: rows along another dim.
  if (!isPadded && bits == 16 && taps.none() && isa<BlockArgument>(v) &&
      !isRagged({v, {}}, kGpuLineBytes) && !isApart(v))
    return Operand{v, {}};
  // Others may want it as it is.
  if (v.getType().isF32() && !(v.hasOneUse() && factor.value.hasOneUse()))
    return std::nullopt;
  double moved = (isInParts ? 3.0 : 2.0) * double(bits) / 8;
  Operand operand{v, {}, {}, factor.round, isInParts};
  if (isPadded)
    operand.padded = int64_t(llvm::alignTo(uint64_t(extent), uint64_t(width)));
  auto argument = dyn_cast<BlockArgument>(v);
  if (argument && !isSliceOfRagged(argument, sum, width)) {
    unsigned i = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(op->getOperand(i).getType());
    if (!type || !type.hasStaticShape())
      return std::nullopt;
    std::optional<unsigned> along;
    for (auto [d, expr] : llvm::enumerate(maps[i].getResults())) {
      if (!expr.isFunctionOfDim(sum))
        continue;
      // One dim, of which neighbours are neighbours along the sum.
      AffineExpr rest = expr - getAffineDimExpr(sum, op.getContext());
      if (along ||
          simplifyAffineExpr(rest, extents.size(), 0).isFunctionOfDim(sum))
        return std::nullopt;
      along = unsigned(d);
    }
    if (!along)
      return std::nullopt;
    // Zeros are put behind the whole of a dim.
    if (isPadded ? type.getDimSize(*along) != extent ||
                       !isa<AffineDimExpr>(maps[i].getResult(*along))
                 : type.getDimSize(*along) % width != 0)
      return std::nullopt;
    unsigned rank = unsigned(type.getRank());
    if (*along + 1 == rank && bits == 16 && !isPadded)
      return operand;
    operand.argument = argument;
    // Each matrix is for itself.
    for (bool isOuter : {true, false})
      for (unsigned d = 0; d < rank; ++d)
        if (d != *along &&
            (isApart(v) && isOfBatch(maps[i].getResult(d))) == isOuter)
          operand.dims.push_back(d);
    operand.dims.push_back(*along);
    bytes = moved * double(type.getNumElements());
    return operand;
  }
  // What is computed, or a part of a tensor, is copied element by element of the product's
  // dims: not several times what is there.
  bool isComputed = false;
  if (v != factor.value || !isOnItsWay(v, isComputed))
    return std::nullopt;
  const SmallBitVector &own = (*sets)[v];
  for (unsigned d : own.set_bits())
    if (d != sum)
      operand.dims.push_back(d);
  operand.dims.push_back(sum);
  bytes = moved * double(points(own));
  return operand;
}

/// Seconds by which windows of f32 take warps longer than their rate says, however few products
/// there are: of each product of a sum, and at most. Elements come one by one, a stage of 32 takes
/// 3.4 us, and blocks that share sums wait for the last one. 64, 256 and 512 channels (3 x 3 taps,
/// 46 x 52, 12 x 13 and 6 x 7, two images) took 39, 57 and 66 us on an H200 for 2e8 products each.
static constexpr double kWindowsOfWarps32 = 50e-9,
                        kMostWindowsOfWarps32 = 30e-6;

/// The length of a sum with zeros behind it beside its own, at most: three channels of 16-bit
/// floats become eight. The units multiply the zeros, too. Estimated.
static constexpr int64_t kMostPadded = 3;

/// Copies by which warpgroups can multiply, where they and what they take cost less time
/// than the products of warps.
std::optional<SmallVector<Operand>> Product::findVectors(ValueRange factors) {
  if (!chip.has(Wgmma) || !reduce.getOperand(0).getType().isF32())
    return std::nullopt;
  SmallVector<ConvertedFactor, 2> found;
  for (Value factor : factors)
    found.push_back(withoutConversions(factor));
  Type element = found[0].value.getType();
  bool isShort = element.isBF16() || element.isF16();
  for (const ConvertedFactor &factor : found)
    if (factor.value.getType() != element || (!isShort && !element.isF32()) ||
        bool(factor.round) != bool(found[0].round))
      return std::nullopt;
  // Products without windows have generators of their own for 16-bit floats, of rows that
  // begin at multiples of 16 bytes. Where both are in memory, redfuse-pitch-operands has
  // seen to that.
  bool isPlain = isShort && taps.none();
  bool areApart =
      taps.none() && llvm::any_of(found, [&](const ConvertedFactor &factor) {
        return isApart(factor.value);
      });
  if (isPlain && !areApart &&
      llvm::all_of(found, [&](const ConvertedFactor &factor) {
        auto argument = dyn_cast<BlockArgument>(factor.value);
        return argument &&
               simplifyForExtents(maps[argument.getArgNumber()], extents)
                   .isProjectedPermutation();
      }))
    return std::nullopt;
  auto areRagged = [&](int64_t bytes) {
    return llvm::any_of(found, [&](const ConvertedFactor &factor) {
      return isRagged(factor, bytes);
    });
  };
  bool isRaggedForMaps = isPlain && areRagged(16);
  if (isPlain && !areApart && !isRaggedForMaps && !areRagged(kGpuLineBytes))
    return std::nullopt;
  double ofWarps = areApart          ? (isShort ? kWarpApart16 : kWarpApart32)
                   : isRaggedForMaps ? kWarpRagged16
                   : isPlain         ? kUnitSkewed16
                   : isShort         ? kWarpProducts16
                   : found[0].round  ? kWarpProducts32
                                     : kWarpProductsOfParts;
  double ofUnit = isPlain          ? kUnitPlain16
                  : isShort        ? kUnitProducts16
                  : found[0].round ? kUnitProducts32
                                   : kUnitProductsOfParts;
  double sums = double(points(toDimSet(reduce.getOver(), extents.size())));
  // Sums of whole vectors before those that zeros are put behind, of which most are not.
  for (bool isPadded : {false, true})
    for (unsigned sum : reduce.getOver()) {
      int64_t extent = extents[sum], width = vectorOf(element, sum);
      auto padded = int64_t(llvm::alignTo(uint64_t(extent), uint64_t(width)));
      if (taps.test(sum) || (padded != extent) != isPadded ||
          padded > kMostPadded * extent)
        continue;
      double seconds = 0;
      std::optional<SmallVector<Operand>> operands =
          findVectors(found, sum, seconds);
      double grows = double(padded) / double(extent);
      double all = products * growthOfTiles();
      double byWarps = all / ofWarps;
      if (taps.any() && element.isF32())
        byWarps += std::min(kWindowsOfWarps32 * sums, kMostWindowsOfWarps32);
      if (operands && seconds < byWarps - all * grows / ofUnit)
        return operands;
    }
  return std::nullopt;
}

/// The copies of both factors along a sum, and the seconds that they take.
std::optional<SmallVector<Operand>>
Product::findVectors(ArrayRef<ConvertedFactor> factors, unsigned sum,
                     double &seconds) {
  SmallVector<Operand> operands;
  for (const ConvertedFactor &factor : factors) {
    double bytes;
    std::optional<Operand> operand = describeVectors(factor, sum, bytes);
    if (!operand)
      return std::nullopt;
    if (operand->dims.empty())
      continue;
    operands.push_back(*operand);
    // Filters that are known are copied when the program is compiled (redfuse-fold-copies).
    if (taps.any() && operand->argument &&
        matchPattern(op->getOperand(operand->argument.getArgNumber()),
                     m_Constant()))
      continue;
    seconds += bytes / kCopiedBytesOfSecond + kLaunchOfCopy;
  }
  return operands;
}

//===----------------------------------------------------------------------===//
// Numbers that are 16-bit floats
//===----------------------------------------------------------------------===//

/// The number that a factor is a wider float of, of which every one is a bfloat and a half:
/// a float of 8 bits, or an integer of as many; null if there is none.
static Value findByte(Value factor) {
  Operation *def = factor.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp,
                       arith::ExtSIOp, arith::ExtUIOp>(def))
    return {};
  Value v = def->getOperand(0);
  Type type = v.getType();
  return isa<Float8E4M3FNType, Float8E5M2Type>(type) || type.isInteger(8)
             ? v
             : Value();
}

/// Copies of what is 8 bits and computed, or does not lie along the sum, where the unit of
/// warpgroups may multiply these: none of what does.
std::optional<SmallVector<Operand>> Product::findBytes(ValueRange factors) {
  if (!chip.has(Wgmma) || taps.any() || reduce.getOver().size() != 1)
    return std::nullopt;
  unsigned sum = unsigned(reduce.getOver()[0]);
  auto isInteger = [](Value factor) {
    Value v = findByte(factor);
    return v && v.getType().isInteger(8);
  };
  bool areIntegers = llvm::all_of(factors, isInteger);
  if (extents[sum] % 16 != 0 ||
      !(areIntegers ? fitsI32(reduce, factors, double(extents[sum]))
                    : isRoundedBehind(reduce)))
    return std::nullopt;
  SmallVector<Operand> operands;
  double seconds = 0;
  for (Value factor : factors) {
    Value v = findByte(factor);
    bool isComputed = false;
    if (!v || isInteger(factor) != areIntegers || !isOnItsWay(v, isComputed))
      return std::nullopt;
    auto argument = dyn_cast<BlockArgument>(v);
    if (argument && !isComputed &&
        maps[argument.getArgNumber()].getResults().back() ==
            getAffineDimExpr(sum, op.getContext()))
      continue;
    Operand operand{v, {}};
    const SmallBitVector &own = (*sets)[v];
    for (unsigned d : own.set_bits())
      if (d != sum)
        operand.dims.push_back(d);
    operand.dims.push_back(sum);
    operands.push_back(operand);
    seconds += 2.0 * double(points(own)) / kCopiedBytesOfSecond + kLaunchOfCopy;
  }
  double saved = products / kWarpComputed16 - products / (2 * kUnitPlain16);
  if (seconds >= saved)
    return std::nullopt;
  return operands;
}

/// The copy of a factor as 16-bit floats of `type`, without dims if memory has these.
std::optional<Operand> Product::describeShort(Value factor, FloatType type,
                                              double &bytes) {
  bytes = 0;
  Value v = findByte(factor) ? factor : withoutConversions(factor).value;
  bool isComputed = false;
  if (isa<BlockArgument>(v))
    return Operand{v, {}};
  if (!isOnItsWay(v, isComputed))
    return std::nullopt;
  Operand operand{v, {}};
  if (v == factor)
    operand.narrow = type;
  const SmallBitVector &own = (*sets)[v];
  SmallBitVector summed = toDimSet(reduce.getOver(), own.size());
  for (bool isSummed : {false, true})
    for (unsigned d : own.set_bits())
      if (summed.test(d) == isSummed)
        operand.dims.push_back(d);
  int64_t width = 128 / int64_t(type.getWidth());
  if (operand.dims.empty() || extents[operand.dims.back()] % width != 0)
    return std::nullopt;
  bytes = 2.0 * double(type.getWidth()) / 8 * double(points(own));
  return operand;
}

/// Copies of factors that are computed for each tile of results again, or that are stored
/// in 8 bits, where warpgroups multiply the copies sooner than warps what there is.
std::optional<SmallVector<Operand>> Product::findShort(ValueRange factors) {
  if (!chip.has(Wgmma) || taps.any() || !reduce.getOperand(0).getType().isF32())
    return std::nullopt;
  FloatType type;
  for (Value factor : factors) {
    if (findByte(factor))
      continue;
    auto own = dyn_cast<FloatType>(withoutConversions(factor).value.getType());
    if (!own || own.getWidth() != 16 || (type && own != type))
      return std::nullopt;
    type = own;
  }
  if (!type)
    type = BFloat16Type::get(op.getContext());
  SmallVector<Operand> operands;
  double seconds = 0;
  for (Value factor : factors) {
    double bytes;
    std::optional<Operand> operand = describeShort(factor, type, bytes);
    if (!operand)
      return std::nullopt;
    if (operand->dims.empty())
      continue;
    seconds += bytes / kCopiedBytesOfSecond + kLaunchOfCopy;
    operands.push_back(*operand);
  }
  double saved = products / kWarpComputed16 - products / kUnitPlain16;
  if (operands.empty() || seconds >= saved)
    return std::nullopt;
  return operands;
}

/// Packed numbers for one of the rows that are computed beside them, at least: so the copy
/// is small beside what is read. Estimated.
static constexpr int64_t kLeastPackedOfRows = 8;

/// The copy of rows that are computed (a gate by what it opens) beside packed weights, of
/// which there are many more: matrix units unpack these for rows that are read from memory,
/// however few.
std::optional<Operand> Product::findRowsOfPacked(ValueRange factors) {
  if (!chip.has(Wgmma))
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    Value rows = withoutConversions(factors[i]).value,
          packed = withoutConversions(factors[1 - i]).value;
    if (isa<BlockArgument>(rows) || isa<BlockArgument>(packed) ||
        isOfPackedNumbers(rows) || !isOfPackedNumbers(packed))
      continue;
    const SmallBitVector &own = (*sets)[rows];
    if (rows.getType().getIntOrFloatBitWidth() != 16 ||
        points(own) * kLeastPackedOfRows > points((*sets)[packed]))
      continue;
    Operand operand{rows, {}};
    SmallBitVector summed = toDimSet(reduce.getOver(), own.size());
    for (bool isSummed : {false, true})
      for (unsigned d : own.set_bits())
        if (summed.test(d) == isSummed)
          operand.dims.push_back(d);
    if (!operand.dims.empty())
      return operand;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

std::optional<Operand> Product::describe(Value factor) {
  Value v = withoutConversions(factor).value;
  unsigned bits =
      isa<FloatType>(v.getType()) ? v.getType().getIntOrFloatBitWidth() : 0;
  if (bits != 16 && bits != 32)
    return std::nullopt;
  const SmallBitVector &own = (*sets)[v];
  SmallBitVector all(own.size(), true);
  bool isComputed = false;
  if (!isSubset(taps, own) || points(all) / points(own) < kLeastUsesOfCopy ||
      !isOnItsWay(v, isComputed) || !isComputed)
    return std::nullopt;
  Operation *mul = reduce.getOperand(0).getDefiningOp();
  Value other = mul->getOperand(mul->getOperand(0) == factor ? 1 : 0);
  SmallBitVector summed = toDimSet(reduce.getOver(), own.size());
  // What both have and no sum goes along, taps, other sums, and what it alone has.
  SmallVector<SmallBitVector> parts(4, SmallBitVector(own.size()));
  for (unsigned d : own.set_bits())
    parts[taps.test(d)             ? 1
          : summed.test(d)         ? 2
          : (*sets)[other].test(d) ? 0
                                   : 3]
        .set(d);
  if (parts[3].none())
    return std::nullopt;
  Operand operand{v, {}};
  for (const SmallBitVector &part : parts)
    for (unsigned d : part.set_bits())
      operand.dims.push_back(d);
  return operand;
}

SmallVector<Operand> Product::findOperands() {
  SmallVector<Operand> found;
  if (!findProduct())
    return found;
  Operation *mul = reduce.getOperand(0).getDefiningOp();
  if (std::optional<Operand> rows = findRowsOfPacked(mul->getOperands()))
    return {*rows};
  if (!isMatrixProduct(reduce, *sets,
                       [&](unsigned d) { return double(extents[d]); }))
    return found;
  if (std::optional<SmallVector<Operand>> bytes = findBytes(mul->getOperands()))
    return *bytes;
  if (std::optional<SmallVector<Operand>> narrow =
          findShort(mul->getOperands()))
    return *narrow;
  if (std::optional<SmallVector<Operand>> vectors =
          findVectors(mul->getOperands()))
    return *vectors;
  if (taps.none() || products < kLeastProductsOfCopy)
    return found;
  for (Value factor : mul->getOperands())
    if (std::optional<Operand> operand = describe(factor))
      found.push_back(*operand);
  return found;
}

/// Without what its body does not read: its extents are other ones than those of copies.
static CascadeOp dropUnusedInputs(RewriterBase &b, CascadeOp op) {
  Block &body = op.getBody().front();
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  llvm::BitVector unused(body.getNumArguments());
  for (auto [input, map, argument] : llvm::zip(
           op.getInputs(), op.getIndexingMapsArray(), body.getArguments())) {
    if (argument.use_empty()) {
      unused.set(argument.getArgNumber());
      continue;
    }
    inputs.push_back(input);
    maps.push_back(map);
  }
  llvm::append_range(
      maps,
      ArrayRef(op.getIndexingMapsArray()).drop_front(op.getInputs().size()));
  b.setInsertionPoint(op);
  body.eraseArguments(unused);
  CascadeOp made = moveBody(b, op, inputs, op.getInits(), maps);
  b.replaceOp(op, made);
  return made;
}

/// Reads the operand from its copy.
static CascadeOp readCopy(RewriterBase &b, CascadeOp op, const Operand &operand,
                          ValueRange copies) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<AffineExpr> exprs;
  for (unsigned d : operand.dims)
    exprs.push_back(operand.argument
                        ? maps[operand.argument.getArgNumber()].getResult(d)
                        : b.getAffineDimExpr(d));
  unsigned first = unsigned(inputs.size());
  maps.insert(
      maps.begin() + int64_t(first), copies.size(),
      AffineMap::get(maps.front().getNumDims(), 0, exprs, op.getContext()));
  llvm::append_range(inputs, copies);
  CascadeOp made = moveBody(b, op, inputs, op.getInits(), maps);
  Block &body = made.getBody().front();
  SmallVector<Value, 2> parts;
  for (unsigned i = 0; i < copies.size(); ++i)
    parts.push_back(
        body.insertArgument(first + i, getCopiedType(operand), op.getLoc()));
  Value read = parts.front();
  if (operand.narrow) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&body);
    read = arith::ExtFOp::create(b, op.getLoc(), operand.value.getType(), read);
  }
  if (operand.isInParts) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&body);
    auto sum = arith::AddFOp::create(b, op.getLoc(), parts[0], parts[1]);
    sum->setAttr(kPartsAttr, b.getUnitAttr());
    read = sum;
  }
  b.replaceAllUsesWith(operand.value, read);
  if (operand.round)
    operand.round->setAttr(kExactAttr, b.getUnitAttr());
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&inner))
      b.eraseOp(&inner);
  b.replaceOp(op, made);
  return operand.padded ? dropUnusedInputs(b, made) : made;
}

namespace {
struct PrepackOperands
    : public redfuse::impl::PrepackOperandsBase<PrepackOperands> {
  void runOnOperation() override {
    Operation *root = getOperation();
    const Chip *chip = getChipOf(root);
    if (!chip || !chip->has(AsyncCopies))
      return;
    SmallVector<CascadeOp> ops;
    root->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    SmallVector<Operation *> made;
    for (CascadeOp op : ops) {
      SmallVector<Operand> operands = Product(op, *chip).findOperands();
      // Copies that are longer than their sum belong together.
      SmallVector<CascadeOp> copies;
      b.setInsertionPoint(op);
      for (const Operand &operand : operands)
        copies.push_back(makeCopy(b, op, operand));
      llvm::append_range(made, copies);
      for (auto [operand, copy] : llvm::zip_equal(operands, copies)) {
        b.setInsertionPoint(op);
        op = readCopy(b, op, operand, copy.getResults());
      }
      if (!operands.empty())
        made.push_back(op);
    }
    if (!shareCopies(root, made))
      signalPassFailure();
  }
};
} // namespace
