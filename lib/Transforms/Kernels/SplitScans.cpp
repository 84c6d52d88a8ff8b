//===- SplitScans.cpp - redfuse-split-scans -------------------------------===//
//
// A long scan of a few rows keeps few blocks at work, one after another what has to be
// done. Cut into pieces, all pieces are reduced at a time, then scanned at a time, each
// from what the pieces before it came to.
//
//===----------------------------------------------------------------------===//
#include "KeptResults.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {
#define GEN_PASS_DEF_SPLITSCANS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// A cascade of one scan, in pieces of equal length.
class ScanSplitter {
public:
  ScanSplitter(CascadeOp op, ScanOp scan, int64_t length)
      : op(op), scan(scan), dim(scan.getDim()), length(length),
        extents(getStaticExtents(op)), maps(op.getIndexingMapsArray()) {}

  void rewrite(RewriterBase &b);

private:
  AffineMap expand(AffineMap map) const;
  SmallVector<ReassociationIndices> groupsOf(AffineMap map) const;
  Value expand(RewriterBase &b, Value tensor, AffineMap map);
  CascadeOp makeStates(RewriterBase &b, ValueRange operands);
  CascadeOp makePrefixes(RewriterBase &b, CascadeOp states);
  CascadeOp makeScan(RewriterBase &b, ValueRange operands, CascadeOp prefixes);
  int64_t renumber(int64_t d) const { return d > dim ? d + 1 : d; }
  Block &begin(CascadeOp made, IRMapping &mapping);
  void cloneBody(RewriterBase &b, Block &to, IRMapping &mapping);

  CascadeOp op;
  ScanOp scan;
  /// Becomes two: the number of the piece, and behind it the position in that.
  int64_t dim;
  int64_t length;
  SmallVector<int64_t> extents;
  SmallVector<AffineMap> maps;
  /// Of the states: the dims of what is scanned, without the position in a piece.
  AffineMap stateMap;
};
} // namespace

/// The map on a tensor of which a dim became two, where it has that dim.
AffineMap ScanSplitter::expand(AffineMap map) const {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> dims, results;
  for (int64_t d = 0, n = map.getNumDims(); d < n; ++d)
    dims.push_back(getAffineDimExpr(renumber(d), context));
  for (AffineExpr e : map.getResults()) {
    results.push_back(e.replaceDims(dims));
    if (e == getAffineDimExpr(dim, context))
      results.push_back(getAffineDimExpr(dim + 1, context));
  }
  return AffineMap::get(map.getNumDims() + 1, 0, results, context);
}

/// Which dims of an expanded tensor were one each.
SmallVector<ReassociationIndices> ScanSplitter::groupsOf(AffineMap map) const {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (AffineExpr e : map.getResults()) {
    groups.emplace_back(1, next++);
    if (e == getAffineDimExpr(dim, map.getContext()))
      groups.back().push_back(next++);
  }
  return groups;
}

/// The tensor with that dim as two.
Value ScanSplitter::expand(RewriterBase &b, Value tensor, AffineMap map) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups = groupsOf(map);
  for (auto [extent, group] : llvm::zip_equal(type.getShape(), groups))
    if (group.size() == 1)
      shape.push_back(extent);
    else
      llvm::append_values(shape, extent / length, length);
  // A destination is made as such.
  if (tensor.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(b, op.getLoc(), shape,
                                   type.getElementType());
  return b.createOrFold<tensor::ExpandShapeOp>(op.getLoc(), type.clone(shape),
                                               tensor, groups);
}

/// The block of a cascade that reads what this one does.
Block &ScanSplitter::begin(CascadeOp made, IRMapping &mapping) {
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Block &block = made.getBody().emplaceBlock();
  for (BlockArgument argument :
       op.getBody().getArguments().take_front(op.getInputs().size()))
    mapping.map(argument, block.addArgument(argument.getType(), op.getLoc()));
  return block;
}

/// The ops of the body but its end, on two dims for one.
void ScanSplitter::cloneBody(RewriterBase &b, Block &to, IRMapping &mapping) {
  b.setInsertionPointToStart(&to);
  for (Operation &inner : op.getBody().front().without_terminator()) {
    Operation *made = b.clone(inner, mapping);
    if (auto reduce = dyn_cast<ReduceOp>(made)) {
      auto all = [&](ArrayRef<int64_t> of) {
        return llvm::map_to_vector(of, [&](int64_t d) { return renumber(d); });
      };
      SmallVector<int64_t> into = all(reduce.getInto());
      if (llvm::is_contained(into, dim))
        into.insert(llvm::find(into, dim) + 1, dim + 1);
      reduce.setOver(all(reduce.getOver()));
      reduce.setInto(into);
    } else if (auto of = dyn_cast<ScanOp>(made)) {
      of.setDim(dim + 1);
    } else if (auto index = dyn_cast<IndexOp>(made)) {
      index.setDim(renumber(index.getDim()));
      if (int64_t(index.getDim()) != dim)
        continue;
      // Where the piece begins, and the position in it.
      Location loc = inner.getLoc();
      Value size = arith::ConstantIndexOp::create(b, loc, length);
      Value begin = arith::MulIOp::create(b, loc, index, size);
      Value within = IndexOp::create(b, loc, b.getIndexType(),
                                     b.getI64IntegerAttr(dim + 1));
      mapping.map(inner.getResult(0),
                  arith::AddIOp::create(b, loc, begin, within).getResult());
    }
  }
}

/// What every piece comes to.
CascadeOp ScanSplitter::makeStates(RewriterBase &b, ValueRange operands) {
  Location loc = op.getLoc();
  size_t numInputs = op.getInputs().size();
  SmallVector<AffineMap> ownMaps;
  for (AffineMap map : ArrayRef(maps).take_front(numInputs))
    ownMaps.push_back(expand(map));
  ownMaps.push_back(stateMap);
  SmallVector<int64_t> shape;
  for (AffineExpr e : stateMap.getResults()) {
    int64_t d = cast<AffineDimExpr>(e).getPosition();
    shape.push_back(d == dim ? extents[dim] / length
                             : extents[d > dim ? d - 1 : d]);
  }
  Type element = scan.getOperand(0).getType();
  Value init = tensor::EmptyOp::create(b, loc, shape, element);
  auto made =
      CascadeOp::create(b, loc, init.getType(), operands.take_front(numInputs),
                        init, b.getAffineMapArrayAttr(ownMaps), nullptr);
  IRMapping mapping;
  Block &block = begin(made, mapping);
  OpBuilder::InsertionGuard guard(b);
  cloneBody(b, block, mapping);
  b.setInsertionPointToEnd(&block);
  SmallVector<int64_t> into;
  for (AffineExpr e : stateMap.getResults())
    into.push_back(cast<AffineDimExpr>(e).getPosition());
  Value state = ReduceOp::create(b, loc, scan.getReducer(),
                                 ValueRange{mapping.lookup(scan.getOperand(0))},
                                 {dim + 1}, into)
                    .getResult(0);
  YieldOp::create(b, loc, ValueRange{state});
  // What is asserted of prefixes is no business of the pieces' sums.
  llvm::DenseSet<Value> prefixes;
  for (Operation &inner : block)
    if (isa<ScanOp>(inner) || llvm::any_of(inner.getOperands(), [&](Value v) {
          return prefixes.contains(v);
        }))
      prefixes.insert_range(inner.getResults());
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&inner) ||
        (isa<cf::AssertOp>(inner) && prefixes.contains(inner.getOperand(0))))
      b.eraseOp(&inner);
  return made;
}

/// What the pieces before each come to.
CascadeOp ScanSplitter::makePrefixes(RewriterBase &b, CascadeOp states) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(states->getResult(0).getType());
  unsigned along =
      *stateMap.getResultPosition(getAffineDimExpr(dim, op.getContext()));
  AffineMap map = b.getMultiDimIdentityMap(type.getRank());
  Value init =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  auto made = CascadeOp::create(b, loc, type, states->getResult(0), init,
                                b.getAffineMapArrayAttr({map, map}), nullptr);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Block &block = made.getBody().emplaceBlock();
  Value state = block.addArgument(type.getElementType(), loc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  auto before = ScanOp::create(b, loc, TypeRange(type.getElementType()),
                               scan.getReducer(), ValueRange{state}, along,
                               /*exclusive=*/true, scan.getIdentitiesAttr(),
                               /*ordered=*/false);
  YieldOp::create(b, loc, before->getResults());
  return made;
}

/// Scans every piece, from there.
CascadeOp ScanSplitter::makeScan(RewriterBase &b, ValueRange operands,
                                 CascadeOp prefixes) {
  Location loc = op.getLoc();
  size_t numInputs = op.getInputs().size();
  SmallVector<Value> inputs(operands.take_front(numInputs));
  ValueRange inits = operands.drop_front(numInputs);
  inputs.push_back(prefixes->getResult(0));
  SmallVector<AffineMap> ownMaps =
      llvm::map_to_vector(maps, [&](AffineMap map) { return expand(map); });
  ownMaps.insert(ownMaps.begin() + numInputs, stateMap);
  auto made = CascadeOp::create(b, loc, inits.getTypes(), inputs, inits,
                                b.getAffineMapArrayAttr(ownMaps), nullptr);
  IRMapping mapping;
  Block &block = begin(made, mapping);
  Value before = block.addArgument(scan.getOperand(0).getType(), loc);
  OpBuilder::InsertionGuard guard(b);
  cloneBody(b, block, mapping);
  Operation *own = mapping.lookup(scan->getResult(0)).getDefiningOp();
  b.setInsertionPointAfter(own);
  Value all =
      createCombiner(b, loc, scan.getReducer(), before, own->getResult(0));
  b.replaceAllUsesExcept(own->getResult(0), all, all.getDefiningOp());
  mapping.map(scan->getResult(0), all);
  b.setInsertionPointToEnd(&block);
  b.clone(*op.getBody().front().getTerminator(), mapping);
  return made;
}

void ScanSplitter::rewrite(RewriterBase &b) {
  b.setInsertionPoint(op);
  auto sets = DimSets::compute(op);
  SmallVector<AffineExpr> kept;
  for (int64_t d : toDims((*sets)[scan->getResult(0)]))
    kept.push_back(b.getAffineDimExpr(renumber(d)));
  stateMap =
      AffineMap::get(maps.front().getNumDims() + 1, 0, kept, op.getContext());
  SmallVector<Value> operands;
  for (auto [operand, map] : llvm::zip_equal(op->getOperands(), maps))
    operands.push_back(expand(b, operand, map));
  CascadeOp states = makeStates(b, operands);
  CascadeOp made = makeScan(b, operands, makePrefixes(b, states));
  SmallVector<Value> results;
  for (auto [result, now, map] :
       llvm::zip_equal(op->getResults(), made->getResults(),
                       ArrayRef(maps).drop_front(op.getInputs().size())))
    results.push_back(tensor::CollapseShapeOp::create(
        b, op.getLoc(), result.getType(), now, groupsOf(map)));
  b.replaceOp(op, results);
}

/// What of the body these values need.
static llvm::SetVector<Operation *> findNeeded(Block &block,
                                               ArrayRef<Value> values) {
  llvm::SetVector<Operation *> needed;
  auto add = [&](ValueRange of) {
    for (Value v : of)
      if (Operation *def = v.getDefiningOp(); def && def->getBlock() == &block)
        needed.insert(def);
  };
  add(values);
  for (size_t i = 0; i < needed.size(); ++i)
    add(needed[i]->getOperands());
  return needed;
}

/// Positions of a piece: as many as registers of a block hold with room to spare, in
/// whole vectors where that divides the extent; 0 where nothing near it does.
static int64_t choosePiece(int64_t extent) {
  for (int64_t multiple : {4, 1})
    for (int64_t length = kPieceElements; length >= kPieceElements / 8;
         length -= multiple)
      if (extent % length == 0)
        return length;
  return 0;
}

/// Whether dim `d` occurs as it is, if at all, once a tensor, in tensors of known shapes.
static bool isPlainDim(CascadeOp op, unsigned d) {
  AffineExpr dim = getAffineDimExpr(d, op.getContext());
  for (auto [operand, map] :
       llvm::zip_equal(op->getOperands(), op.getIndexingMapsArray())) {
    auto type = cast<RankedTensorType>(operand.getType());
    int64_t count = llvm::count_if(
        map.getResults(), [&](AffineExpr e) { return e.isFunctionOfDim(d); });
    if (count != llvm::count(map.getResults(), dim) || count > 1 ||
        (count == 1 && !type.hasStaticShape()))
      return false;
  }
  return true;
}

/// Cuts the scan of a cascade, if it has one that is too long for its rows.
static void splitScan(RewriterBase &b, CascadeOp op, double units) {
  Block &block = op.getBody().front();
  auto scans = llvm::to_vector(block.getOps<ScanOp>());
  if (scans.size() != 1 || op.getScheduleAttr())
    return;
  ScanOp scan = scans.front();
  unsigned d = scan.getDim();
  SmallVector<int64_t> extents = getStaticExtents(op);
  FailureOr<DimSets> sets = DimSets::compute(op);
  if (failed(sets) || scan->getNumOperands() != 1 ||
      scan.getReducer() == Reducer::Declared || scan.getOrdered() ||
      !isPlainDim(op, d) || llvm::any_of(extents, ShapedType::isDynamic))
    return;
  double rows = 1;
  for (unsigned other : (*sets)[scan->getResult(0)].set_bits())
    if (other != d)
      rows *= double(extents[other]);
  int64_t length = choosePiece(extents[d]);
  if (length == 0 || extents[d] < kLeastPieces * length || 2 * rows > units)
    return;
  SmallVector<unsigned> scanned, others;
  SmallVector<Value> values;
  for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands())) {
    bool isScanned = findNeeded(block, {v}).contains(scan);
    (isScanned ? scanned : others).push_back(i);
    if (isScanned)
      values.push_back(v);
  }
  // Of what is reduced along the same dim every piece would need all.
  if (llvm::any_of(findNeeded(block, values), [&](Operation *inner) {
        auto reduce = dyn_cast<ReduceOp>(inner);
        return reduce && llvm::is_contained(reduce.getOver(), int64_t(d));
      }))
    return;
  llvm::erase_if(others,
                 [&](unsigned i) { return op->getResult(i).use_empty(); });
  CascadeOp rest = others.empty() ? CascadeOp() : keepResults(b, op, others);
  CascadeOp main = keepResults(b, op, scanned);
  for (auto [n, i] : llvm::enumerate(others))
    b.replaceAllUsesWith(op->getResult(i), rest->getResult(n));
  for (auto [n, i] : llvm::enumerate(scanned))
    b.replaceAllUsesWith(op->getResult(i), main->getResult(n));
  b.eraseOp(op);
  ScanSplitter(main, *main.getBody().getOps<ScanOp>().begin(), length)
      .rewrite(b);
}

namespace {
struct SplitScans : public redfuse::impl::SplitScansBase<SplitScans> {
  void runOnOperation() override {
    TargetAttr target = getTargetOf(getOperation());
    if (target.getName() != "cuda")
      return;
    SmallVector<CascadeOp> ops;
    getOperation()->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    for (CascadeOp op : ops)
      splitScan(b, op, double(target.getUnits()));
  }
};
} // namespace
