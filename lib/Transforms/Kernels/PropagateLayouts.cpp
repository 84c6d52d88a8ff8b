//===- PropagateLayouts.cpp - redfuse-propagate-layouts -------------------===//
//
// Products read copies in which neighbours lie along their sum. Where a kernel makes what is
// copied, it stores it in that order instead, and what else reads it reads it so: from one
// convolution to the next channels stay neighbours. Orders are found from the last cascade
// to the first, as what a kernel reads follows what it stores.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Dialect/Redfuse/Utils/MovedBody.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"

namespace redfuse {
#define GEN_PASS_DEF_PROPAGATELAYOUTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// How often orders are chosen anew without those that made a kernel read across what it
/// stores, before all stay as they are. Estimated: networks settle in two or three.
static constexpr unsigned kMostRoundsOfOrders = 16;

namespace {
/// Dims of a tensor in another order: the one at place `i` is the one that was at `order[i]`.
using Order = SmallVector<int64_t>;

/// A cascade that reads a tensor, perhaps with some dims as several.
struct Reader {
  CascadeOp op;
  OpOperand *use;
  tensor::ExpandShapeOp expand;

  AffineMap getMap() {
    return op.getIndexingMapsArray()[use->getOperandNumber()];
  }
};

/// In which order a reader would have a tensor.
struct Wish {
  enum Kind {
    /// Any: it sums along the tensor, or multiplies it.
    Any,
    /// As it is.
    Same,
    /// Another one, as its own results are in that.
    Other,
    /// Another one, to which it only copies.
    Copied
  } kind;
  Order order = {};
};

/// The tensors of a block that are stored in another order.
class Layouts {
public:
  Layouts(Block &block) : block(block) {}
  void find();
  void apply(RewriterBase &b);

private:
  /// Those that only cascades read; `areAll`: whether nothing else uses it.
  SmallVector<Reader> findReaders(Value tensor, bool &areAll) const;
  bool canReorder(OpResult result) const;
  bool isFree(Reader reader) const;
  Wish getWish(Reader reader) const;
  void choose(OpResult result);
  bool follows(CascadeOp maker) const;
  void readCopies(RewriterBase &b, CascadeOp op);
  CascadeOp reorder(RewriterBase &b, CascadeOp maker);

  Block &block;
  llvm::MapVector<Value, Order> orders;
  DenseSet<Value> refused;
};
} // namespace

static bool isIdentity(ArrayRef<int64_t> order) {
  return llvm::all_of(llvm::enumerate(order), [](auto it) {
    return int64_t(it.index()) == it.value();
  });
}

/// Whether something of a cascade is reduced, scanned or selected.
static bool hasReduction(CascadeOp op) {
  return llvm::any_of(op.getBody().front(), [](Operation &inner) {
    return isRootOp(&inner) && !isa<YieldOp>(inner);
  });
}

/// Whether a cascade only has the elements of its one input, perhaps at other places.
static bool yieldsInput(CascadeOp op) {
  Block &body = op.getBody().front();
  return op.getInputs().size() == 1 && op->getNumResults() == 1 &&
         op.getIndexingMapsArray().back().isIdentity() &&
         body.getTerminator()->getOperand(0) == body.getArgument(0);
}

static bool isCopyInPlace(CascadeOp op) {
  return yieldsInput(op) && op.getIndexingMapsArray().front().isIdentity() &&
         op.getInputs()[0].getType() == op->getResult(0).getType();
}

SmallVector<Reader> Layouts::findReaders(Value tensor, bool &areAll) const {
  SmallVector<Reader> readers;
  areAll = true;
  auto add = [&](Value v, tensor::ExpandShapeOp expand) {
    for (OpOperand &use : v.getUses()) {
      auto op = dyn_cast<CascadeOp>(use.getOwner());
      if (op && op->getBlock() == &block &&
          use.getOperandNumber() < op.getInputs().size())
        readers.push_back({op, &use, expand});
      else if (auto next = dyn_cast<tensor::ExpandShapeOp>(use.getOwner());
               !next || expand)
        areAll = false;
    }
  };
  add(tensor, {});
  for (Operation *user : tensor.getUsers())
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(user))
      add(expand.getResult(), expand);
  return readers;
}

/// Whether a tensor may be stored in any order as fast: that of a map, of a window, or of one
/// product with what follows it.
bool Layouts::canReorder(OpResult result) const {
  auto maker = dyn_cast<CascadeOp>(result.getOwner());
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!maker || maker->getBlock() != &block || !type ||
      !type.hasStaticShape() || type.getRank() < 2 ||
      !maker.getInits()[result.getResultNumber()]
           .getDefiningOp<tensor::EmptyOp>())
    return false;
  ReduceOp reduce;
  for (Operation &inner : maker.getBody().front()) {
    if (!isRootOp(&inner) || isa<YieldOp>(inner))
      continue;
    if (reduce || !isa<ReduceOp>(inner))
      return false;
    reduce = cast<ReduceOp>(inner);
  }
  AffineMap map = maker.getIndexingMapsArray()[maker.getInputs().size() +
                                               result.getResultNumber()];
  return map.isProjectedPermutation() &&
         (!reduce || findProduct(reduce) ||
          reduce.getInto().size() == size_t(type.getRank()));
}

/// The places of a result's dims, as it is stored.
static DenseMap<unsigned, int64_t>
getPlaces(AffineMap map, const llvm::MapVector<Value, Order> &orders,
          Value result) {
  DenseMap<unsigned, int64_t> places;
  auto it = orders.find(result);
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    int64_t place = int64_t(i);
    if (it != orders.end())
      place = llvm::find(it->second, place) - it->second.begin();
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      places[dim.getPosition()] = place;
  }
  return places;
}

/// The order of dims that become several; none where these do not stay together.
static std::optional<Order> collapseOrder(ArrayRef<int64_t> order,
                                          tensor::ExpandShapeOp expand) {
  Order found;
  SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
  for (size_t i = 0; i < order.size();) {
    auto group = llvm::find_if(groups, [&](const ReassociationIndices &g) {
      return g.front() == order[i];
    });
    if (group == groups.end() ||
        order.slice(i).take_front(group->size()) != ArrayRef<int64_t>(*group))
      return std::nullopt;
    found.push_back(group - groups.begin());
    i += group->size();
  }
  return found;
}

Wish Layouts::getWish(Reader reader) const {
  CascadeOp op = reader.op;
  unsigned result = 0;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  ArrayRef<AffineMap> results =
      ArrayRef(maps).drop_front(op.getInputs().size());
  for (unsigned i = 1; i < results.size(); ++i)
    if (results[i].getNumResults() > results[result].getNumResults())
      result = i;
  DenseMap<unsigned, int64_t> places =
      getPlaces(results[result], orders, op->getResult(result));
  AffineMap map = reader.getMap();
  SmallVector<std::pair<int64_t, int64_t>> keys;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    SmallVector<int64_t> own;
    bool isConstant = true;
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      if (expr.isFunctionOfDim(d)) {
        isConstant = false;
        if (auto it = places.find(d); it != places.end())
          own.push_back(it->second);
      }
    if (isConstant)
      own.push_back(-1);
    if (own.empty())
      return {Wish::Any};
    if (own.size() > 1 || llvm::any_of(keys, [&](auto &key) {
          return key.first == own[0] && !isConstant;
        }))
      return {Wish::Same};
    keys.push_back({own[0], int64_t(i)});
  }
  llvm::stable_sort(keys, llvm::less_first());
  Order order = llvm::to_vector(llvm::make_second_range(keys));
  if (reader.expand) {
    std::optional<Order> collapsed = collapseOrder(order, reader.expand);
    if (!collapsed)
      return {Wish::Same};
    order = *collapsed;
  }
  if (isIdentity(order))
    return {Wish::Same};
  return {yieldsInput(op) ? Wish::Copied : Wish::Other, order};
}

/// Whether the result of a reader may take the order of what is read: all its own readers take
/// any.
bool Layouts::isFree(Reader reader) const {
  if (reader.op->getNumResults() != 1 || reader.expand)
    return false;
  OpResult result = reader.op->getResult(0);
  bool areAll;
  SmallVector<Reader> readers = findReaders(result, areAll);
  return areAll && !readers.empty() && canReorder(result) &&
         !orders.contains(result) && !refused.contains(result) &&
         llvm::all_of(readers, [&](const Reader &next) {
           return getWish(next).kind == Wish::Any;
         });
}

/// What is copied to an order is stored in it; what else reads it as it was has a copy for
/// that, one instead of the other. Without copies, what all readers would have.
void Layouts::choose(OpResult result) {
  if (refused.contains(result) || !canReorder(result))
    return;
  bool areAll;
  SmallVector<Reader> readers = findReaders(result, areAll);
  std::optional<Order> found;
  bool isCopied = false;
  for (const Reader &reader : readers) {
    Wish wish = getWish(reader);
    if (wish.kind == Wish::Copied && !isCopied) {
      isCopied = true;
      found = wish.order;
    } else if (wish.kind == Wish::Other && !isCopied) {
      areAll &= !found || *found == wish.order;
      found = wish.order;
    } else if (wish.kind == Wish::Same) {
      areAll &= isFree(reader);
    }
  }
  if (!found || (!isCopied && !areAll))
    return;
  orders[result] = *found;
  for (Reader &reader : readers) {
    if (getWish(reader).kind != Wish::Same || !isFree(reader))
      continue;
    SmallVector<AffineMap> maps = reader.op.getIndexingMapsArray();
    DenseMap<unsigned, int64_t> places =
        getPlaces(maps.back(), orders, reader.op->getResult(0));
    Order own;
    for (int64_t i : *found)
      if (auto dim =
              dyn_cast<AffineDimExpr>(reader.getMap().getResult(unsigned(i))))
        if (auto it = places.find(dim.getPosition()); it != places.end())
          own.push_back(it->second);
    if (own.size() == maps.back().getNumResults() && isPermutationVector(own))
      orders[reader.op->getResult(0)] = own;
  }
}

/// A copy of a tensor in some order that is there before `reader` anyway.
static CascadeOp findCopy(Value tensor, ArrayRef<int64_t> order,
                          CascadeOp reader) {
  for (Operation *user : tensor.getUsers()) {
    auto copy = dyn_cast<CascadeOp>(user);
    if (!copy || !yieldsInput(copy) || copy->getBlock() != reader->getBlock() ||
        !copy->isBeforeInBlock(reader))
      continue;
    AffineMap map = copy.getIndexingMapsArray().front();
    if (map.isPermutation() &&
        inversePermutation(map) ==
            AffineMap::getPermutationMap(order, map.getContext()))
      return copy;
  }
  return {};
}

/// Whether a kernel reads in the order that it stores, but for maps, which move rectangles.
bool Layouts::follows(CascadeOp maker) const {
  if (!hasReduction(maker))
    return true;
  double made = getTensorBytes(maker->getResult(0));
  for (OpOperand &use :
       maker->getOpOperands().take_front(maker.getInputs().size())) {
    auto type = dyn_cast<RankedTensorType>(use.get().getType());
    // What is small is in a cache.
    if (!type || type.getRank() < 2 || getTensorBytes(use.get()) < made / 4)
      continue;
    auto expand = use.get().getDefiningOp<tensor::ExpandShapeOp>();
    Wish wish = getWish({maker, &use, expand});
    if (wish.kind == Wish::Any)
      continue;
    auto it = orders.find(expand ? expand.getSrc() : use.get());
    bool isSame = it == orders.end();
    if (isSame ? wish.kind != Wish::Same &&
                     (expand || !findCopy(use.get(), wish.order, maker))
               : wish.kind == Wish::Same || it->second != wish.order)
      return false;
  }
  return true;
}

void Layouts::find() {
  bool isSettled = false;
  for (unsigned round = 0; !isSettled; ++round) {
    isSettled = true;
    orders.clear();
    if (round == kMostRoundsOfOrders)
      return;
    for (Operation &op : llvm::reverse(block))
      if (auto cascade = dyn_cast<CascadeOp>(op))
        for (OpResult result : cascade->getResults())
          choose(result);
    for (auto &[result, order] : orders)
      if (!follows(result.getDefiningOp<CascadeOp>())) {
        refused.insert(result);
        isSettled = false;
      }
  }
}

static AffineMap permute(AffineMap map, ArrayRef<int64_t> order) {
  SmallVector<AffineExpr> exprs;
  for (int64_t i : order)
    exprs.push_back(map.getResult(unsigned(i)));
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

static RankedTensorType permute(RankedTensorType type,
                                ArrayRef<int64_t> order) {
  return type.clone(applyPermutation(type.getShape(), order));
}

/// The same dims as several, of a tensor whose dims are in another order; `inner` becomes the
/// order of these.
static Value expandReordered(OpBuilder &b, tensor::ExpandShapeOp expand,
                             Value reordered, ArrayRef<int64_t> order,
                             Order &inner) {
  SmallVector<ReassociationIndices> groups,
      old = expand.getReassociationIndices();
  for (int64_t g : order) {
    groups.emplace_back();
    for (int64_t d : old[size_t(g)]) {
      groups.back().push_back(int64_t(inner.size()));
      inner.push_back(d);
    }
  }
  b.setInsertionPointAfter(expand);
  return tensor::ExpandShapeOp::create(b, expand.getLoc(),
                                       permute(expand.getResultType(), inner),
                                       reordered, groups);
}

/// A cascade that has a tensor's dims in the order that they had before.
static Value copyBack(RewriterBase &b, Location loc, Value reordered,
                      RankedTensorType type, ArrayRef<int64_t> order) {
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  AffineMap identity = b.getMultiDimIdentityMap(unsigned(type.getRank()));
  auto copy = CascadeOp::create(
      b, loc, TypeRange(type), ValueRange(reordered), ValueRange(empty),
      b.getAffineMapArrayAttr({permute(identity, order), identity}), nullptr);
  Block &body = copy.getBody().emplaceBlock();
  b.setInsertionPointToStart(&body);
  YieldOp::create(b, loc, body.addArgument(type.getElementType(), loc));
  return copy->getResult(0);
}

/// Has a kernel read what lies across its order from copies that are there.
void Layouts::readCopies(RewriterBase &b, CascadeOp op) {
  for (OpOperand &use : op->getOpOperands().take_front(op.getInputs().size())) {
    if (!isa<RankedTensorType>(use.get().getType()) || !hasReduction(op))
      continue;
    Wish wish = getWish({op, &use, {}});
    if (wish.kind != Wish::Other)
      continue;
    CascadeOp copy = findCopy(use.get(), wish.order, op);
    if (!copy)
      continue;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    AffineMap &map = maps[use.getOperandNumber()];
    map = permute(map, wish.order);
    b.modifyOpInPlace(op, [&] {
      use.set(copy->getResult(0));
      op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
    });
  }
}

/// Has a kernel store its results in their orders, and readers read them so.
CascadeOp Layouts::reorder(RewriterBase &b, CascadeOp maker) {
  SmallVector<Value> inits(maker.getInits());
  SmallVector<AffineMap> maps = maker.getIndexingMapsArray();
  unsigned numInputs = maker.getInputs().size();
  for (OpResult result : maker->getResults()) {
    auto it = orders.find(result);
    if (it == orders.end())
      continue;
    unsigned i = result.getResultNumber();
    auto type = permute(cast<RankedTensorType>(result.getType()), it->second);
    b.setInsertionPoint(maker);
    inits[i] = tensor::EmptyOp::create(b, maker.getLoc(), type.getShape(),
                                       type.getElementType());
    maps[numInputs + i] = permute(maps[numInputs + i], it->second);
  }
  b.setInsertionPoint(maker);
  CascadeOp made =
      moveBody(b, maker, SmallVector<Value>(maker.getInputs()), inits, maps);
  for (OpResult result : maker->getResults()) {
    Value reordered = made->getResult(result.getResultNumber());
    auto it = orders.find(result);
    if (it == orders.end()) {
      b.replaceAllUsesWith(result, reordered);
      continue;
    }
    Order order = it->second;
    bool areAll;
    for (Reader reader : findReaders(result, areAll)) {
      if (getWish(reader).kind == Wish::Same)
        continue;
      Order inner = order;
      Value read = reordered;
      if (reader.expand) {
        inner.clear();
        read = expandReordered(b, reader.expand, reordered, order, inner);
      }
      SmallVector<AffineMap> own = reader.op.getIndexingMapsArray();
      unsigned i = reader.use->getOperandNumber();
      own[i] = permute(own[i], inner);
      b.modifyOpInPlace(reader.op, [&] {
        reader.use->set(read);
        reader.op.setIndexingMapsAttr(b.getAffineMapArrayAttr(own));
      });
      if (isCopyInPlace(reader.op))
        b.replaceOp(reader.op, read);
      else if (reader.expand && reader.expand->use_empty())
        b.eraseOp(reader.expand);
    }
    llvm::SmallSetVector<Operation *, 4> users;
    users.insert(result.user_begin(), result.user_end());
    for (Operation *user : users)
      if (isOpTriviallyDead(user))
        b.eraseOp(user);
    if (result.use_empty())
      continue;
    b.setInsertionPointAfter(made);
    b.replaceAllUsesWith(
        result, copyBack(b, made.getLoc(), reordered,
                         cast<RankedTensorType>(result.getType()), order));
  }
  b.eraseOp(maker);
  readCopies(b, made);
  return made;
}

/// The map that alone reads a result, element by element where it is; null if there is none.
static CascadeOp findMapInPlace(OpResult result) {
  if (!result.hasOneUse())
    return {};
  auto map = dyn_cast<CascadeOp>(*result.user_begin());
  if (!map || map->getBlock() != result.getOwner()->getBlock() ||
      hasReduction(map) || map.getInputs().size() != 1 ||
      !llvm::all_of(map.getIndexingMapsArray(),
                    [](AffineMap m) { return m.isIdentity(); }) ||
      !map.getBody().getOps<IndexOp>().empty())
    return {};
  return map;
}

/// A kernel with what a copy of its result computed (roundings, parts) in the result's place.
static void inlineMap(RewriterBase &b, CascadeOp maker, OpResult result,
                      CascadeOp map) {
  unsigned place = result.getResultNumber();
  SmallVector<Value> inits, replaced;
  SmallVector<AffineMap> maps = maker.getIndexingMapsArray();
  AffineMap own = maps[maker.getInputs().size() + place];
  maps.erase(maps.begin() + maker.getInputs().size() + place);
  b.setInsertionPoint(maker);
  for (OpResult other : maker->getResults())
    if (other != result) {
      inits.push_back(maker.getInits()[other.getResultNumber()]);
      replaced.push_back(other);
    }
  for (Value made : map->getResults()) {
    auto type = cast<RankedTensorType>(made.getType());
    inits.push_back(tensor::EmptyOp::create(b, maker.getLoc(), type.getShape(),
                                            type.getElementType()));
    replaced.push_back(made);
    maps.push_back(own);
  }
  CascadeOp made =
      moveBody(b, maker, SmallVector<Value>(maker.getInputs()), inits, maps);
  Operation *yield = made.getBody().front().getTerminator();
  SmallVector<Value> yielded(yield->getOperands());
  IRMapping mapping;
  mapping.map(map.getBody().getArgument(0), yielded[place]);
  yielded.erase(yielded.begin() + place);
  b.setInsertionPoint(yield);
  for (Operation &inner : map.getBody().front().without_terminator())
    b.clone(inner, mapping);
  for (Value v : map.getBody().front().getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(v));
  b.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
  for (auto [from, to] : llvm::zip_equal(replaced, made->getResults()))
    b.replaceAllUsesWith(from, to);
  b.eraseOp(map);
  b.eraseOp(maker);
}

void Layouts::apply(RewriterBase &b) {
  SmallVector<CascadeOp> makers;
  for (auto cascade : block.getOps<CascadeOp>())
    if (llvm::any_of(cascade->getResults(),
                     [&](OpResult result) { return orders.contains(result); }))
      makers.push_back(cascade);
  for (CascadeOp maker : makers) {
    CascadeOp made = reorder(b, maker);
    for (OpResult result : made->getResults())
      if (CascadeOp map = findMapInPlace(result)) {
        inlineMap(b, made, result, map);
        break;
      }
  }
}

namespace {
struct PropagateLayouts
    : public redfuse::impl::PropagateLayoutsBase<PropagateLayouts> {
  void runOnOperation() override {
    if (getTargetOf(getOperation()).getName() != "cuda")
      return;
    llvm::SmallSetVector<Block *, 4> blocks;
    getOperation()->walk([&](CascadeOp op) {
      if (!op->getParentOfType<KernelOp>())
        blocks.insert(op->getBlock());
    });
    IRRewriter b(&getContext());
    for (Block *block : blocks) {
      Layouts layouts(*block);
      layouts.find();
      layouts.apply(b);
    }
  }
};
} // namespace
