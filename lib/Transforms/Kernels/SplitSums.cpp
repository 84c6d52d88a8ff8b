//===- SplitSums.cpp - redfuse-split-sums ---------------------------------===//
//
// A product of few rows and columns with a long sum has few tiles of results, and the
// blocks that may share a tile's sum are too few to keep memory busy. Cut into splits, the
// sum is a product for each split, all at a time, whose results are added up.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/TensorPart.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

namespace redfuse {
#define GEN_PASS_DEF_SPLITSUMS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// A cascade that is one sum of products with what is done with the sums.
class LongSum {
public:
  LongSum(CascadeOp op, const Chip &chip)
      : op(op), chip(chip), extents(getStaticExtents(op)),
        maps(op.getIndexingMapsArray()) {
    for (AffineMap map : maps)
      places.push_back(simplifyForExtents(map, extents));
  }

  /// Whether it can be cut.
  bool find();
  /// Splits that make it faster, 0 if none do.
  int64_t chooseSplits();
  void split(RewriterBase &b, int64_t splits);

private:
  bool isApart(Operation &inner) const;
  llvm::SetVector<Operation *> findNeeded(ArrayRef<Operation *> of) const;
  CascadeOp makePart(RewriterBase &b, int64_t begin, int64_t splits,
                     int64_t length);
  Value slice(RewriterBase &b, Value tensor, AffineMap map, int64_t begin,
              int64_t splits, int64_t length);

  CascadeOp op;
  const Chip &chip;
  SmallVector<int64_t> extents;
  /// As they are, and without `d mod n` that changes nothing: parts read slices.
  SmallVector<AffineMap> maps, places;
  ReduceOp reduce;
  std::optional<DimSets> sets;
  SmallBitVector summed;
  /// What the products are made of, in the order of the body.
  llvm::SetVector<Operation *> cone;
  /// The dim that is cut.
  unsigned dim = 0;
};
} // namespace

/// Whether an op needs no dim of the sum, but for what the sum is made of.
bool LongSum::isApart(Operation &inner) const {
  return llvm::all_of(inner.getOperands(), [&](Value v) {
    return v.getParentBlock() != inner.getBlock() ||
           !(*sets)[v].anyCommon(summed);
  });
}

/// What of the body these ops need, but the sum and what that needs.
llvm::SetVector<Operation *>
LongSum::findNeeded(ArrayRef<Operation *> of) const {
  llvm::SetVector<Operation *> needed;
  auto add = [&](Operation *user) {
    for (Value v : user->getOperands())
      if (Operation *def = v.getDefiningOp();
          def && def != reduce && def->getBlock() == user->getBlock())
        needed.insert(def);
  };
  for (Operation *user : of)
    add(user);
  for (size_t i = 0; i < needed.size(); ++i)
    add(needed[i]);
  return needed;
}

bool LongSum::find() {
  Block &body = op.getBody().front();
  auto reduces = llvm::to_vector(body.getOps<ReduceOp>());
  if (op.getScheduleAttr() || reduces.size() != 1 ||
      llvm::any_of(extents, ShapedType::isDynamic) ||
      !body.getOps<ScanOp>().empty())
    return false;
  reduce = reduces.front();
  FailureOr<DimSets> found =
      DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
  if (failed(found) || reduce.getReducer() != Reducer::Add ||
      reduce->getNumOperands() != 1)
    return false;
  sets = std::move(*found);
  Type type = reduce.getOperand(0).getType();
  if (findBlockScale(reduce) ||
      !isMatrixProduct(reduce, *sets,
                       [&](unsigned d) { return double(extents[d]); }) ||
      !type.isIntOrFloat() || type.getIntOrFloatBitWidth() < 32 ||
      reduce.getOver().size() + reduce.getInto().size() != extents.size())
    return false;
  summed = toDimSet(reduce.getOver(), unsigned(extents.size()));
  dim =
      unsigned(*llvm::max_element(reduce.getOver(), [&](int64_t a, int64_t b) {
        return extents[a] < extents[b];
      }));
  llvm::SetVector<Operation *> needed = findNeeded(reduce.getOperation());
  for (Operation &inner : body) {
    if (needed.contains(&inner))
      cone.insert(&inner);
    else if (&inner != reduce && !isApart(inner))
      return false;
    if (inner.getNumRegions() != 0 && &inner != reduce)
      return false;
  }
  // Tensors that are read at places which are data would have to be read whole.
  return llvm::all_of(cone, [](Operation *inner) { return isPure(inner); }) &&
         llvm::all_of(llvm::enumerate(op.getInputs()), [&](auto input) {
           AffineMap map = places[input.index()];
           if (!getDimsOf(map).anyCommon(summed))
             return true;
           auto type = cast<RankedTensorType>(input.value().getType());
           return map.isProjectedPermutation() && type.hasStaticShape() &&
                  type.getElementType().isIntOrFloat();
         });
}

int64_t LongSum::chooseSplits() {
  Operation *mul = reduce.getOperand(0).getDefiningOp();
  double tiles = 1, products = 1, bytes = 0, results = 1, sums = 1;
  double rows[2] = {1, 1};
  for (unsigned d = 0; d < extents.size(); ++d) {
    products *= double(extents[d]);
    if (summed.test(d)) {
      sums *= double(extents[d]);
      continue;
    }
    results *= double(extents[d]);
    bool isIn[2] = {(*sets)[mul->getOperand(0)].test(d),
                    (*sets)[mul->getOperand(1)].test(d)};
    if (isIn[0] != isIn[1])
      rows[isIn[0] ? 0 : 1] *= double(extents[d]);
    else
      tiles *= double(extents[d]);
  }
  bool isAligned = true, isShort = true;
  for (auto [input, map] : llvm::zip(op.getInputs(), maps)) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || !type.hasStaticShape() || !getDimsOf(map).anyCommon(summed))
      continue;
    int64_t bits = type.getElementType().getIntOrFloatBitWidth();
    bytes += double(type.getNumElements()) * double(bits) / 8;
    isShort &= bits == 16;
    isAligned &= type.getShape().back() * bits % 128 == 0;
  }
  bool areStaged = isAligned && isShort && chip.has(Wgmma);
  // Rows and columns of a tile.
  std::sort(rows, rows + 2);
  double side[2] = {
      std::min(rows[0], areStaged ? kSideOfStaged : kSideOfTile),
      std::min(rows[1], areStaged ? 2 * kSideOfStaged : kSideOfTile)};
  tiles *= std::ceil(rows[0] / side[0]) * std::ceil(rows[1] / side[1]);
  double read = side[0] + side[1];
  double least =
      std::max(bytes / (double(chip.bandwidth) * 1e9),
               products / (areStaged ? kUnitPlain16 : kWarpRagged16));
  // Blocks of stages are as many as have room beside each other.
  double atOnce =
      areStaged ? std::clamp(std::floor(kRowsAtOnce / read), 1.0, kBlocksAtOnce)
                : kBlocksAtOnce;
  double most = atOnce * double(chip.units);
  auto secondsOf = [&](double splits) {
    double rate = std::min(tiles * splits, most) *
                  (areStaged ? kStagedOfRow * read : kGatheredOfBlock);
    return std::max(least, tiles * read * sums / rate);
  };
  auto splits =
      int64_t(std::min(most / tiles, double(extents[dim]) / kLeastOfSplit));
  if (splits < 2)
    return 0;
  // Splits of whole stages that leave no rest, if there are about as many.
  for (int64_t even = splits; 2 * even > splits; --even)
    if (extents[dim] % (even * kStreamedProducts) == 0) {
      splits = even;
      break;
    }
  double merged = 8.0 * double(splits) * results /
                      (kCacheRateOfSums * double(chip.bandwidth) * 1e9) +
                  2e-9 * double(chip.launchNs);
  double now = secondsOf(areStaged ? kSharedOfStaged : kSharedOfGathered);
  return kLeastGain * (secondsOf(double(splits)) + merged) < now ? splits : 0;
}

/// What some splits, or one without a dim of their own (0), read of a tensor that has the
/// extents of the map's dims, or more.
Value LongSum::slice(RewriterBase &b, Value tensor, AffineMap map,
                     int64_t begin, int64_t splits, int64_t length) {
  Location loc = op.getLoc();
  std::optional<unsigned> along =
      map.getResultPosition(b.getAffineDimExpr(dim));
  if (!along)
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> read;
  for (AffineExpr e : map.getResults())
    read.push_back(extents[cast<AffineDimExpr>(e).getPosition()]);
  for (auto [d, extent] : llvm::enumerate(read))
    if (d != *along)
      tensor = extractPart(b, loc, tensor, unsigned(d), 0, extent);
  tensor = extractPart(b, loc, tensor, *along, begin,
                       std::max<int64_t>(splits, 1) * length);
  if (splits == 0)
    return tensor;
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    groups.emplace_back(1, int64_t(shape.size()));
    if (d == int64_t(*along)) {
      groups.back().push_back(int64_t(shape.size()) + 1);
      llvm::append_values(shape, splits, length);
    } else {
      shape.push_back(read[d]);
    }
  }
  return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), tensor,
                                       groups);
}

/// The sums of splits, whose number is the first dim, or of one split, without (0).
CascadeOp LongSum::makePart(RewriterBase &b, int64_t begin, int64_t splits,
                            int64_t length) {
  Location loc = op.getLoc();
  int64_t shift = splits > 0 ? 1 : 0;
  unsigned numDims = unsigned(extents.size()) + unsigned(shift);
  SmallVector<AffineExpr> dims;
  for (unsigned d = 0; d < extents.size(); ++d)
    dims.push_back(b.getAffineDimExpr(d + unsigned(shift)));
  SmallVector<Value> inputs;
  SmallVector<AffineMap> ownMaps;
  SmallVector<BlockArgument> arguments;
  for (BlockArgument argument :
       op.getBody().getArguments().take_front(op.getInputs().size())) {
    if (llvm::none_of(argument.getUsers(),
                      [&](Operation *user) { return cone.contains(user); }))
      continue;
    unsigned i = argument.getArgNumber();
    inputs.push_back(
        slice(b, op.getInputs()[i], places[i], begin, splits, length));
    SmallVector<AffineExpr> own;
    for (AffineExpr e : places[i].getResults()) {
      if (splits > 0 && e == b.getAffineDimExpr(dim))
        own.push_back(b.getAffineDimExpr(0));
      own.push_back(e.replaceDims(dims));
    }
    ownMaps.push_back(AffineMap::get(numDims, 0, own, op.getContext()));
    arguments.push_back(argument);
  }
  SmallVector<int64_t> shape, over, into;
  SmallVector<AffineExpr> results;
  if (splits > 0) {
    shape.push_back(splits);
    results.push_back(b.getAffineDimExpr(0));
    into.push_back(0);
  }
  for (int64_t d : reduce.getInto()) {
    shape.push_back(extents[d]);
    results.push_back(dims[d]);
    into.push_back(d + shift);
  }
  for (int64_t d : reduce.getOver())
    over.push_back(d + shift);
  ownMaps.push_back(AffineMap::get(numDims, 0, results, op.getContext()));
  Value init =
      tensor::EmptyOp::create(b, loc, shape, reduce.getOperand(0).getType());
  auto made = CascadeOp::create(b, loc, init.getType(), inputs, init,
                                b.getAffineMapArrayAttr(ownMaps), nullptr);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Block &block = made.getBody().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument argument : arguments)
    mapping.map(argument, block.addArgument(argument.getType(), loc));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  for (Operation *inner : cone) {
    Operation *clone = b.clone(*inner, mapping);
    auto index = dyn_cast<IndexOp>(clone);
    if (!index)
      continue;
    bool isCut = index.getDim() == dim;
    index.setDim(index.getDim() + uint64_t(shift));
    if (!isCut)
      continue;
    Value place = index;
    if (splits > 0) {
      Value which =
          IndexOp::create(b, loc, b.getIndexType(), b.getI64IntegerAttr(0));
      place = arith::AddIOp::create(
          b, loc, place,
          arith::MulIOp::create(
              b, loc, which, arith::ConstantIndexOp::create(b, loc, length)));
    }
    if (begin > 0)
      place = arith::AddIOp::create(
          b, loc, place, arith::ConstantIndexOp::create(b, loc, begin));
    mapping.map(inner->getResult(0), place);
  }
  Value sum = ReduceOp::create(b, reduce.getLoc(), Reducer::Add,
                               {mapping.lookupOrDefault(reduce.getOperand(0))},
                               over, into)
                  .getResult(0);
  YieldOp::create(b, loc, ValueRange{sum});
  return made;
}

void LongSum::split(RewriterBase &b, int64_t splits) {
  Location loc = op.getLoc();
  b.setInsertionPoint(op);
  // Whole stages of matrix units.
  int64_t extent = extents[dim], length = extent / splits;
  if (length >= kStreamedProducts)
    length = length / kStreamedProducts * kStreamedProducts;
  splits = extent / length;
  SmallVector<CascadeOp, 2> parts{makePart(b, 0, splits, length)};
  if (int64_t done = splits * length; done < extent)
    parts.push_back(makePart(b, done, 0, extent - done));
  // The splits' dim, then those of the results.
  unsigned numDims = unsigned(reduce.getInto().size()) + 1;
  SmallVector<AffineExpr> dims(extents.size(), b.getAffineConstantExpr(0)),
      ofResult;
  for (auto [place, d] : llvm::enumerate(reduce.getInto())) {
    dims[d] = b.getAffineDimExpr(unsigned(place) + 1);
    ofResult.push_back(dims[d]);
  }
  auto renumbered = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(dims, {}, numDims, 0);
  };
  SmallVector<Value> inputs{parts.front()->getResult(0)};
  SmallVector<AffineMap> ownMaps{b.getMultiDimIdentityMap(numDims)};
  if (parts.size() > 1) {
    inputs.push_back(parts.back()->getResult(0));
    ownMaps.push_back(AffineMap::get(numDims, 0, ofResult, op.getContext()));
  }
  // What is done with the sum, and beside it.
  SmallVector<Operation *> ends;
  for (Operation &inner : op.getBody().front())
    if (!cone.contains(&inner) && (isa<YieldOp>(inner) || !isPure(&inner)))
      ends.push_back(&inner);
  llvm::SetVector<Operation *> rest = findNeeded(ends);
  rest.insert_range(ends);
  rest.remove(reduce);
  SmallVector<BlockArgument> arguments;
  for (BlockArgument argument :
       op.getBody().getArguments().take_front(op.getInputs().size())) {
    unsigned i = argument.getArgNumber();
    if (llvm::none_of(argument.getUsers(),
                      [&](Operation *user) { return rest.contains(user); }))
      continue;
    inputs.push_back(op.getInputs()[i]);
    ownMaps.push_back(renumbered(maps[i]));
    arguments.push_back(argument);
  }
  for (AffineMap map : ArrayRef(maps).drop_front(op.getInputs().size()))
    ownMaps.push_back(renumbered(map));
  auto made =
      CascadeOp::create(b, loc, op->getResultTypes(), inputs, op.getInits(),
                        b.getAffineMapArrayAttr(ownMaps), nullptr);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Block &block = made.getBody().emplaceBlock();
  IRMapping mapping;
  SmallVector<Value> sums;
  for ([[maybe_unused]] CascadeOp part : parts)
    sums.push_back(block.addArgument(reduce.getOperand(0).getType(), loc));
  for (BlockArgument argument : arguments)
    mapping.map(argument, block.addArgument(argument.getType(), loc));
  b.setInsertionPointToStart(&block);
  auto into = llvm::to_vector(llvm::seq<int64_t>(1, numDims));
  Value sum = ReduceOp::create(b, reduce.getLoc(), Reducer::Add, {sums.front()},
                               {0}, into)
                  .getResult(0);
  if (sums.size() > 1)
    sum = createCombiner(b, loc, Reducer::Add, sum, sums.back());
  mapping.map(reduce->getResult(0), sum);
  for (Operation &inner : op.getBody().front()) {
    if (!rest.contains(&inner))
      continue;
    Operation *clone = b.clone(inner, mapping);
    if (auto index = dyn_cast<IndexOp>(clone))
      index.setDim(cast<AffineDimExpr>(dims[index.getDim()]).getPosition());
  }
  b.replaceOp(op, made);
}

namespace {
struct SplitSums : public redfuse::impl::SplitSumsBase<SplitSums> {
  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip || !chip->has(AsyncCopies))
      return;
    SmallVector<CascadeOp> ops;
    getOperation()->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    for (CascadeOp op : ops) {
      LongSum sum(op, *chip);
      if (!sum.find())
        continue;
      if (int64_t splits = sum.chooseSplits())
        sum.split(b, splits);
    }
  }
};
} // namespace
