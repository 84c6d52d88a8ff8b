//===- AlignRows.cpp - redfuse-align-rows ---------------------------------===//
//
// Threads walk the rows of a scan, or of windows, by vectors. A tensor that lies across
// them, whose neighbours are elements of other rows, takes a sector of memory for each
// element. What the scan or the windows need of it is read from a copy that lies as the
// rows do; what is computed with it behind them, or stored across, becomes a map behind
// the kernel. Maps move rectangles.
//
//===----------------------------------------------------------------------===//
#include "Canonicalized.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Analysis/Windows.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace redfuse {
#define GEN_PASS_DEF_ALIGNROWS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// The dim along which neighbours of a tensor lie side by side.
static std::optional<unsigned> findContiguous(AffineMap map) {
  if (map.getNumResults() == 0)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(withoutOffset(map.getResults().back()));
  if (!dim || llvm::any_of(map.getResults().drop_back(), [&](AffineExpr e) {
        return e.isFunctionOfDim(dim.getPosition());
      }))
    return std::nullopt;
  return dim.getPosition();
}

namespace {
/// The rows that a cascade walks.
struct WalkedRows {
  CascadeOp op;
  /// As extents say, which may make dims of remainders.
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> extents;
  unsigned numResults, along = 0;

  static std::optional<WalkedRows> find(CascadeOp op);
  ArrayRef<AffineMap> getInputMaps() const {
    return ArrayRef(maps).drop_back(numResults);
  }
  ArrayRef<AffineMap> getResultMaps() const {
    return ArrayRef(maps).take_back(numResults);
  }
  double elementsOf(const SmallBitVector &dims) const;
  bool isAcross(AffineMap map) const;

private:
  bool findAlong();
};
} // namespace

/// The dim that all scans go along; or windows, which results have in rows.
bool WalkedRows::findAlong() {
  Block &body = op.getBody().front();
  auto scans = llvm::to_vector(body.getOps<ScanOp>());
  if (!scans.empty()) {
    along = scans.front().getDim();
    return llvm::all_of(scans,
                        [&](ScanOp scan) { return scan.getDim() == along; }) &&
           llvm::any_of(getInputMaps(), [&](AffineMap map) {
             return findContiguous(map) == along && map.getNumResults() > 1;
           });
  }
  std::optional<unsigned> dim = findContiguous(getResultMaps().front());
  if (!dim || body.getOps<ReduceOp>().empty())
    return false;
  along = *dim;
  return llvm::any_of(getInputMaps(), [&](AffineMap map) {
    return llvm::any_of(map.getResults(), [&](AffineExpr e) {
      return e.isFunctionOfDim(along) &&
             getDimsOf(AffineMap::get(map.getNumDims(), 0, e)).count() > 1;
    });
  });
}

std::optional<WalkedRows> WalkedRows::find(CascadeOp op) {
  WalkedRows rows{op, op.getIndexingMapsArray(), getStaticExtents(op),
                  op->getNumResults()};
  for (AffineMap &map : rows.maps)
    map = simplifyForExtents(map, rows.extents);
  ArrayRef<AffineMap> ofResults = rows.getResultMaps();
  // Products are copied by boxes, which lie as they like.
  if (op.getScheduleAttr() ||
      llvm::any_of(rows.extents, ShapedType::isDynamic) ||
      hasMatrixProduct(cast<IndexProgramOpInterface>(op.getOperation())) ||
      llvm::any_of(ofResults,
                   [&](AffineMap map) {
                     return !map.isProjectedPermutation() ||
                            getDimsOf(map) != getDimsOf(ofResults.front());
                   }) ||
      !rows.findAlong())
    return std::nullopt;
  return rows;
}

double WalkedRows::elementsOf(const SmallBitVector &dims) const {
  double n = 1;
  for (unsigned d : dims.set_bits())
    n *= double(extents[d]);
  return n;
}

/// Whether it has the rows' dim, and neighbours of another one that results have: each row
/// then takes one of them.
bool WalkedRows::isAcross(AffineMap map) const {
  std::optional<unsigned> dim = findContiguous(map);
  return dim && *dim != along && extents[*dim] > 1 &&
         map.isFunctionOfDim(along) &&
         getResultMaps().front().isFunctionOfDim(*dim);
}

//===----------------------------------------------------------------------===//
// What is read across
//===----------------------------------------------------------------------===//

/// The part of a tensor that a map reads along plain dims; `exprs`, which read the tensor,
/// read it there.
static Value takePart(RewriterBase &b, Location loc, Value tensor,
                      const WalkedRows &rows, AffineMap map,
                      MutableArrayRef<AffineExpr> exprs) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> offsets, sizes,
      strides(type.getRank(), b.getIndexAttr(1));
  bool isWhole = true;
  for (auto [i, e] : llvm::enumerate(map.getResults())) {
    int64_t offset = 0, size = type.getDimSize(i);
    AffineExpr dim = e;
    if (auto sum = dyn_cast<AffineBinaryOpExpr>(e);
        sum && sum.getKind() == AffineExprKind::Add)
      if (auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
        offset = constant.getValue();
        dim = sum.getLHS();
      }
    auto plain = dyn_cast<AffineDimExpr>(dim);
    int64_t extent = plain ? rows.extents[plain.getPosition()] : size;
    if (plain && offset >= 0 && offset + extent <= size) {
      size = extent;
      exprs[i] = dim;
    } else {
      offset = 0;
    }
    isWhole &= size == type.getDimSize(i);
    offsets.push_back(b.getIndexAttr(offset));
    sizes.push_back(b.getIndexAttr(size));
  }
  if (isWhole)
    return tensor;
  return tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes,
                                        strides);
}

/// A tensor with one of its dims as the last.
static Value copyWithLast(RewriterBase &b, Location loc, Value tensor,
                          unsigned last) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto rank = unsigned(type.getRank());
  SmallVector<AffineExpr> order;
  SmallVector<int64_t> shape;
  for (unsigned i = 0; i <= rank; ++i)
    if (unsigned d = i == rank ? last : i; i == rank || i != last) {
      order.push_back(b.getAffineDimExpr(d));
      shape.push_back(type.getDimSize(d));
    }
  Value empty = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  SmallVector<AffineMap> maps{b.getMultiDimIdentityMap(rank),
                              AffineMap::get(rank, 0, order, b.getContext())};
  auto copy = CascadeOp::create(b, loc, empty.getType(), tensor, empty,
                                b.getAffineMapArrayAttr(maps), nullptr);
  OpBuilder::InsertionGuard guard(b);
  Block &block = copy.getBody().emplaceBlock();
  b.setInsertionPointToStart(&block);
  YieldOp::create(b, loc, block.addArgument(type.getElementType(), loc));
  return copy->getResult(0);
}

/// Whether a reduction or scan needs an input.
static bool isReduced(BlockArgument input) {
  SmallVector<Value> open{input};
  DenseSet<Value> found(open.begin(), open.end());
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (user->getBlock() != input.getOwner() || isRootOp(user) ||
          user->getNumRegions() != 0 || !isPure(user))
        return true;
      for (Value v : user->getResults())
        if (found.insert(v).second)
          open.push_back(v);
    }
  return false;
}

/// What the rows need of tensors that lie across is read from copies, where these cost less.
static void alignInputs(RewriterBase &b, const WalkedRows &rows,
                        const Chip &chip) {
  CascadeOp op = rows.op;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    AffineMap map = rows.maps[i];
    if (!type || !type.hasStaticShape() ||
        !type.getElementType().isIntOrFloat() || !rows.isAcross(map) ||
        !isReduced(op.getBody().getArgument(i)))
      continue;
    std::optional<unsigned> last;
    for (auto [place, e] : llvm::enumerate(map.getResults()))
      if (e.isFunctionOfDim(rows.along))
        last = place;
    double elements = std::min(double(type.getNumElements()),
                               rows.elementsOf(getDimsOf(map)));
    double bytes =
        2 * elements * std::max(1.0, type.getElementTypeBitWidth() / 8.0);
    if (elements * kBytesAcross <=
        bytes + double(chip.bandwidth) * double(chip.launchNs))
      continue;
    b.setInsertionPoint(op);
    SmallVector<AffineExpr> order(maps[i].getResults());
    Value part = takePart(b, op.getLoc(), input, rows, map, order);
    Value copy = copyWithLast(b, op.getLoc(), part, *last);
    std::rotate(order.begin() + *last, order.begin() + *last + 1, order.end());
    maps[i] = AffineMap::get(map.getNumDims(), 0, order, op.getContext());
    b.modifyOpInPlace(op, [&] { op->setOperand(i, copy); });
  }
  b.modifyOpInPlace(
      op, [&] { op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps)); });
}

//===----------------------------------------------------------------------===//
// What is computed or stored across
//===----------------------------------------------------------------------===//

namespace {
/// What of a cascade becomes a map behind it.
class Epilogue {
public:
  /// None if nothing crosses the rows of a scan, or little does.
  static std::optional<Epilogue> find(const WalkedRows &rows, const Chip &chip);
  /// The cascade without it, and the map.
  std::array<CascadeOp, 2> cut(RewriterBase &b);

private:
  Epilogue(WalkedRows rows, DimSets sets)
      : op(rows.op), body(op.getBody().front()), rows(std::move(rows)),
        maps(op.getIndexingMapsArray()), extents(this->rows.extents),
        along(this->rows.along), sets(std::move(sets)),
        inputs(op.getInputs().size()), results(op->getNumResults()) {}

  void findMoved();
  bool findHandedOn();
  bool handOn(Value v);
  bool isBehindRoots(Value v) const;
  bool isYieldMoved(unsigned i);
  double gain(const Chip &chip);
  SmallVector<int64_t> orderOf(Value v) const;
  CascadeOp makeFirst(RewriterBase &b);
  CascadeOp makeMap(RewriterBase &b, CascadeOp first);
  void clone(RewriterBase &b, Value v, IRMapping &mapping, CascadeOp map,
             ArrayRef<unsigned> numbers);

  CascadeOp op;
  Block &body;
  WalkedRows rows;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> extents;
  unsigned along;
  DimSets sets;
  /// Inputs and results that lie across.
  SmallBitVector inputs, results;
  /// What is computed of inputs that lie across, and what that needs of the rest.
  DenseSet<Value> moved;
  llvm::SetVector<Value> handedOn;
};
} // namespace

/// What follows from inputs that lie across, where that is no reduction.
void Epilogue::findMoved() {
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    BlockArgument input = body.getArgument(i);
    if (!rows.isAcross(rows.maps[i]) || isReduced(input))
      continue;
    inputs.set(i);
    SmallVector<Value> open{input};
    moved.insert(input);
    while (!open.empty())
      for (Operation *user : open.pop_back_val().getUsers())
        for (Value v : user->getResults())
          if (moved.insert(v).second)
            open.push_back(v);
  }
}

bool Epilogue::isBehindRoots(Value v) const {
  SmallVector<Value> open{v};
  DenseSet<Value> seen;
  while (!open.empty()) {
    Operation *def = open.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != &body)
      continue;
    if (isRootOp(def) || def->getNumRegions() != 0 || !isPure(def))
      return true;
    for (Value of : def->getOperands())
      if (seen.insert(of).second)
        open.push_back(of);
  }
  return false;
}

/// Notes that the map needs a value: what a reduction or scan made, as narrow as it is, is
/// stored; all else it computes again.
bool Epilogue::handOn(Value v) {
  if (moved.contains(v) || v.getParentBlock() != &body || isa<BlockArgument>(v))
    return true;
  Operation *def = v.getDefiningOp();
  if (!isBehindRoots(v))
    return llvm::all_of(def->getOperands(),
                        [&](Value of) { return handOn(of); });
  if (isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(def))
    return handOn(def->getOperand(0));
  // A map has the dims of the results.
  SmallBitVector dims = getDimsOf(maps.back());
  if (!isSubset(sets[v], dims) || !sets[v].test(along) ||
      !v.getType().isIntOrFloat())
    return false;
  handedOn.insert(v);
  return true;
}

bool Epilogue::isYieldMoved(unsigned i) {
  return results.test(i) || moved.contains(body.getTerminator()->getOperand(i));
}

bool Epilogue::findHandedOn() {
  for (Operation &inner : body)
    if (llvm::any_of(inner.getResults(),
                     [&](Value v) { return moved.contains(v); }))
      for (Value v : inner.getOperands())
        if (!handOn(v))
          return false;
  auto yielded = cast<YieldOp>(body.getTerminator()).getValues();
  for (auto [i, v] : llvm::enumerate(yielded))
    if (isYieldMoved(i) && !handOn(v))
      return false;
  return !handedOn.empty();
}

/// Bytes that are saved: sectors for single elements, less what is handed on and the launch.
double Epilogue::gain(const Chip &chip) {
  double saved = -double(chip.bandwidth) * double(chip.launchNs);
  size_t numInputs = op.getInputs().size();
  for (auto [i, map] : llvm::enumerate(maps))
    if (i < numInputs ? inputs.test(i) : results.test(i - numInputs))
      saved += rows.elementsOf(getDimsOf(map)) * kBytesAcross;
  for (Value v : handedOn)
    saved -= 2 * rows.elementsOf(sets[v]) *
             std::max(1.0, v.getType().getIntOrFloatBitWidth() / 8.0);
  return saved;
}

std::optional<Epilogue> Epilogue::find(const WalkedRows &rows,
                                       const Chip &chip) {
  CascadeOp op = rows.op;
  FailureOr<DimSets> sets =
      DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
  if (failed(sets))
    return std::nullopt;
  Epilogue epilogue(rows, std::move(*sets));
  for (auto [i, map] : llvm::enumerate(rows.getResultMaps()))
    if (rows.isAcross(map))
      epilogue.results.set(i);
  epilogue.findMoved();
  if ((epilogue.inputs.none() && epilogue.results.none()) ||
      !epilogue.findHandedOn() || epilogue.gain(chip) <= 0)
    return std::nullopt;
  return epilogue;
}

/// The dims of a tensor that is handed on: rows last.
SmallVector<int64_t> Epilogue::orderOf(Value v) const {
  SmallBitVector others = sets[v];
  others.reset(along);
  SmallVector<int64_t> order = toDims(others);
  order.push_back(along);
  return order;
}

/// A map to dims, of `count` of them.
static AffineMap mapTo(ArrayRef<int64_t> dims, unsigned count,
                       MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (int64_t d : dims)
    exprs.push_back(getAffineDimExpr(unsigned(d), context));
  return AffineMap::get(count, 0, exprs, context);
}

static void eraseDead(RewriterBase &b, Block &block) {
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&inner))
      b.eraseOp(&inner);
}

/// What stays, and what is handed on.
CascadeOp Epilogue::makeFirst(RewriterBase &b) {
  Location loc = op.getLoc();
  size_t numInputs = op.getInputs().size();
  SmallVector<AffineMap> own(maps.begin(), maps.begin() + numInputs);
  SmallVector<Value> inits, yielded;
  Operation *end = body.getTerminator();
  for (auto [i, init] : llvm::enumerate(op.getInits()))
    if (!isYieldMoved(i)) {
      own.push_back(maps[numInputs + i]);
      inits.push_back(init);
      yielded.push_back(end->getOperand(i));
    }
  for (Value v : handedOn) {
    SmallVector<int64_t> order = orderOf(v), shape;
    for (int64_t d : order)
      shape.push_back(extents[d]);
    own.push_back(mapTo(order, unsigned(extents.size()), op.getContext()));
    inits.push_back(tensor::EmptyOp::create(b, loc, shape, v.getType()));
    yielded.push_back(v);
  }
  auto first =
      CascadeOp::create(b, loc, ValueRange(inits).getTypes(), op.getInputs(),
                        inits, b.getAffineMapArrayAttr(own), nullptr);
  first->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping mapping;
  op.getBody().cloneInto(&first.getBody(), mapping);
  Block &block = first.getBody().front();
  block.getTerminator()->setOperands(
      llvm::map_to_vector(yielded, [&](Value v) { return mapping.lookup(v); }));
  eraseDead(b, block);
  return first;
}

/// Makes a value of the epilogue, with all that it is computed of there.
void Epilogue::clone(RewriterBase &b, Value v, IRMapping &mapping,
                     CascadeOp map, ArrayRef<unsigned> numbers) {
  if (mapping.contains(v) || v.getParentBlock() != &body)
    return;
  Operation *def = v.getDefiningOp();
  for (Value of : def->getOperands())
    clone(b, of, mapping, map, numbers);
  Operation *made = b.clone(*def, mapping);
  if (auto index = dyn_cast<IndexOp>(made))
    index.setDim(numbers[index.getDim()]);
}

CascadeOp Epilogue::makeMap(RewriterBase &b, CascadeOp first) {
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  size_t numInputs = op.getInputs().size();
  // The dims that results have, numbered anew.
  SmallBitVector dims = getDimsOf(maps.back());
  SmallVector<unsigned> numbers(extents.size(), 0);
  SmallVector<AffineExpr> exprs(extents.size(), b.getAffineConstantExpr(0));
  for (auto [i, d] : llvm::enumerate(dims.set_bits())) {
    numbers[d] = i;
    exprs[d] = b.getAffineDimExpr(i);
  }
  auto renumber = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(exprs, {}, dims.count(), 0);
  };
  SmallVector<Value> ins, inits;
  SmallVector<AffineMap> own;
  SmallVector<unsigned> taken;
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    if (isSubset(getDimsOf(maps[i]), dims)) {
      ins.push_back(input);
      own.push_back(renumber(maps[i]));
      taken.push_back(i);
    }
  unsigned kept = first->getNumResults() - handedOn.size();
  for (auto [i, v] : llvm::enumerate(handedOn)) {
    ins.push_back(first->getResult(kept + i));
    own.push_back(
        renumber(mapTo(orderOf(v), unsigned(extents.size()), context)));
  }
  SmallVector<Value> yielded;
  for (auto [i, init] : llvm::enumerate(op.getInits()))
    if (isYieldMoved(i)) {
      inits.push_back(init);
      own.push_back(renumber(maps[numInputs + i]));
      yielded.push_back(body.getTerminator()->getOperand(i));
    }
  auto map = CascadeOp::create(b, loc, ValueRange(inits).getTypes(), ins, inits,
                               b.getAffineMapArrayAttr(own), nullptr);
  OpBuilder::InsertionGuard guard(b);
  Block &block = map.getBody().emplaceBlock();
  b.setInsertionPointToStart(&block);
  IRMapping mapping;
  for (unsigned i : taken) {
    Value argument = body.getArgument(i);
    mapping.map(argument, block.addArgument(argument.getType(), loc));
  }
  for (Value v : handedOn)
    mapping.map(v, block.addArgument(v.getType(), loc));
  for (Value v : yielded)
    clone(b, v, mapping, map, numbers);
  YieldOp::create(b, loc, llvm::map_to_vector(yielded, [&](Value v) {
                    return mapping.lookupOrDefault(v);
                  }));
  return map;
}

std::array<CascadeOp, 2> Epilogue::cut(RewriterBase &b) {
  b.setInsertionPoint(op);
  CascadeOp first = makeFirst(b), map = makeMap(b, first);
  SmallVector<Value> made;
  unsigned ofFirst = 0, ofMap = 0;
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    made.push_back(isYieldMoved(i) ? map->getResult(ofMap++)
                                   : first->getResult(ofFirst++));
  b.replaceOp(op, made);
  return {first, map};
}

namespace {
struct AlignRows : public redfuse::impl::AlignRowsBase<AlignRows> {
  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip)
      return;
    SmallVector<CascadeOp> ops;
    getOperation()->walk([&](CascadeOp op) { ops.push_back(op); });
    IRRewriter b(&getContext());
    SmallVector<Operation *> made;
    for (CascadeOp op : ops) {
      std::optional<WalkedRows> rows = WalkedRows::find(op);
      if (!rows)
        continue;
      alignInputs(b, *rows, *chip);
      rows = WalkedRows::find(op);
      if (!rows)
        continue;
      if (std::optional<Epilogue> epilogue = Epilogue::find(*rows, *chip))
        for (CascadeOp part : epilogue->cut(b))
          made.push_back(part);
    }
    if (!canonicalizeCascades(&getContext(), made))
      signalPassFailure();
  }
};
} // namespace
