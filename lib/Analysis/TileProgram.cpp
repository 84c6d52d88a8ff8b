//===- TileProgram.cpp - a body as statements over tiles ------------------===//
//
// Which values of a body are statements of their own: reductions, results, and
// what is worth keeping. How these are grouped into loop nests is TileNests.cpp.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace redfuse;

bool redfuse::isExpensive(Operation *op) {
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp,
          arith::RemSIOp, arith::RemUIOp, tensor::ExtractOp>(op))
    return true;
  if (!isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return false;
  return !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
              math::CeilOp, math::RoundEvenOp, math::TruncOp, math::CopySignOp>(
      op);
}

bool redfuse::isRootOp(Operation *op) {
  return isa_and_nonnull<ReduceOp, ScanOp, MergeTopkOp>(op);
}

FailureOr<std::unique_ptr<TileProgram>>
TileProgram::create(IndexProgramOpInterface op, ArrayRef<TileDim> dims,
                    function_ref<SourceLayout(unsigned)> sourceOf,
                    Options options) {
  FailureOr<DimSets> sets = DimSets::compute(op);
  if (failed(sets))
    return failure();
  std::unique_ptr<TileProgram> program(new TileProgram(op, std::move(*sets)));
  program->dims.assign(dims.begin(), dims.end());
  program->options = options;
  for (BlockArgument arg : program->body->getArguments())
    program->sources.push_back(sourceOf(arg.getArgNumber()));
  program->findRoots();
  program->computeCones();
  if (options.hasContractions)
    program->findContractions();
  program->computeCones();
  program->keepSharedValues();
  program->addKeepRoots();
  program->computeCones();
  program->formEpilogues();
  if (failed(program->formNests()))
    return failure();
  program->chooseVectorDims();
  program->layOutBuffers();
  return program;
}

double TileProgram::capacityOf(const SmallBitVector &set) const {
  double product = 1;
  for (unsigned d : set.set_bits())
    product *= std::max(1.0, getAssumedExtent(dims[d].capacity));
  return product;
}

bool TileProgram::isStateArgument(Value v) const {
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  auto arg = dyn_cast<BlockArgument>(v);
  return fold && arg && arg.getOwner() == body &&
         arg.getArgNumber() >= fold.getInputs().size();
}

Value TileProgram::getStateOf(const Root &root) const {
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  if (!fold || root.kind != Root::Kind::Yield ||
      root.yieldIndex >= fold.getNumStates())
    return {};
  return body->getArgument(fold.getInputs().size() + root.yieldIndex);
}

//===----------------------------------------------------------------------===//
// Roots and their cones
//===----------------------------------------------------------------------===//

/// What combines a state in front of a reduction or scan in order, whose results
/// nothing else needs: it starts from the state.
CombineOp TileProgram::findContinued(Operation *op, SmallBitVector dims) const {
  auto combining = dyn_cast_or_null<CombiningOpInterface>(op);
  if (!combining || !combining.isDeclared() || !combining.getOrdered() ||
      op->getResult(0).use_empty())
    return {};
  auto combine = dyn_cast<CombineOp>(*op->getResult(0).user_begin());
  if (!combine || !llvm::equal(combine.getRight(), op->getResults()) ||
      combine.getIdentities() != combining.getIdentitiesAttr() ||
      !OperationEquivalence::isRegionEquivalentTo(
          &combine.getCombine(), &combining.getCombine(),
          OperationEquivalence::IgnoreLocations))
    return {};
  // Known before the first element of the row.
  if (auto reduce = dyn_cast<ReduceOp>(op))
    dims.reset(toDimSet(reduce.getOver(), dims.size()));
  else
    dims.reset(cast<ScanOp>(op).getDim());
  for (Value v : combine.getLeft())
    if (!isSubset(dimSets[v], dims))
      return {};
  for (Value v : op->getResults())
    if (!v.hasOneUse())
      return {};
  return combine;
}

/// The reduction in order of what a scan scans, from the same state on.
ReduceOp TileProgram::findTotal(ScanOp scan) const {
  if (!scan.isDeclared() || !scan.getOrdered() || scan.getExclusive())
    return {};
  CombineOp continued = findContinued(scan, dimSets[scan.getResult(0)]);
  for (auto reduce : body->getOps<ReduceOp>()) {
    if (!reduce.isDeclared() || !reduce.getOrdered() ||
        !llvm::equal(reduce.getOver(),
                     ArrayRef<int64_t>{int64_t(scan.getDim())}) ||
        !llvm::equal(reduce.getOperands(), scan.getOperands()) ||
        reduce.getIdentitiesAttr() != scan.getIdentitiesAttr() ||
        !OperationEquivalence::isRegionEquivalentTo(
            &reduce.getCombine(), &scan.getCombine(),
            OperationEquivalence::IgnoreLocations))
      continue;
    CombineOp other = findContinued(reduce, dimSets[scan.getResult(0)]);
    if (bool(other) == bool(continued) &&
        (!other || llvm::equal(other.getLeft(), continued.getLeft())))
      return reduce;
  }
  return {};
}

Root &TileProgram::addRoot(Root::Kind kind, Value value) {
  auto root = std::make_unique<Root>();
  root->kind = kind;
  root->number = roots.size();
  root->value = value;
  if (value)
    root->dims = dimSets[value];
  roots.push_back(std::move(root));
  return *roots.back();
}

void TileProgram::addProducer(Root &root) {
  if (root.kind == Root::Kind::Keep)
    producers.try_emplace(root.value, &root);
  else if (root.op)
    for (ValueRange made : {ValueRange(root.getResults()), root.getTotals()})
      for (Value result : made)
        producers.try_emplace(result, &root);
}

void TileProgram::findReduceRoots() {
  unsigned numDims = dimSets.getNumDims();
  llvm::DenseSet<Operation *> ofScans;
  for (auto scan : body->getOps<ScanOp>())
    ofScans.insert(findTotal(scan));
  for (auto reduce : body->getOps<ReduceOp>()) {
    if (ofScans.contains(reduce))
      continue;
    Root &root = addRoot(Root::Kind::Reduce, {});
    root.op = root.reduce = reduce;
    root.dims = toDimSet(reduce.getOver(), numDims);
    SmallBitVector into = toDimSet(reduce.getInto(), numDims);
    if (reduce.getReducer() == Reducer::TopK) {
      // The rank is made by the reduction; the nest does not walk it.
      into.reset();
      for (Value operand : reduce.getOperands())
        into |= dimSets[operand];
    }
    root.dims |= into;
    root.continued = findContinued(reduce, root.dims);
    for (Value result : root.getResults())
      if (!reduce.isDeclared() || !result.use_empty())
        kept.insert(result);
  }
}

void TileProgram::findOtherRoots() {
  for (Operation &inner : *body) {
    auto scan = dyn_cast<ScanOp>(inner);
    auto merge = dyn_cast<MergeTopkOp>(inner);
    if (!scan && !merge)
      continue;
    Root &root = addRoot(scan ? Root::Kind::Scan : Root::Kind::MergeTopk, {});
    root.op = &inner;
    root.dims = dimSets[inner.getResult(0)];
    // Lists are read at positions that depend on their elements: the nest does
    // not walk the rank, and the lists are in memory.
    if (merge) {
      root.dims.reset(merge.getDim());
      for (Value operand : inner.getOperands())
        if (operand.getParentBlock() == body && !isa<BlockArgument>(operand))
          kept.insert(operand);
    }
    root.continued = findContinued(root.op, root.dims);
    if (scan && (root.total = findTotal(scan)))
      root.totalContinued = findContinued(root.total, root.dims);
    for (Value result : root.getResults())
      if (merge || !result.use_empty())
        kept.insert(result);
    for (Value result : root.getTotals())
      if (!result.use_empty())
        kept.insert(result);
  }
}

void TileProgram::findRoots() {
  findReduceRoots();
  findOtherRoots();
  for (auto assertion : body->getOps<cf::AssertOp>())
    addRoot(Root::Kind::Assert, assertion.getArg()).assertion = assertion;
  auto yield = cast<YieldOp>(body->getTerminator());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned firstInit = maps.size() - op.getProgramInits().size();
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    Root &root = addRoot(Root::Kind::Yield, value);
    root.yieldIndex = i;
    root.dims = getDimsOf(maps[firstInit + i]);
  }
  for (auto &root : roots)
    addProducer(*root);
}

/// Adds what `v` is computed from, down to kept values and arguments, in body
/// order.
static void addToCone(Value v, Block *body, const llvm::SetVector<Value> &kept,
                      llvm::SmallSetVector<Value, 8> &cone) {
  if (cone.contains(v))
    return;
  if (v.getParentBlock() != body)
    return; // from outside: a constant or a scalar
  if (!kept.contains(v))
    if (Operation *def = v.getDefiningOp())
      for (Value operand : def->getOperands())
        addToCone(operand, body, kept, cone);
  cone.insert(v);
}

void TileProgram::computeCone(Root &root) {
  root.cone.clear();
  if (root.op) {
    for (Value operand : root.op->getOperands())
      addToCone(operand, body, kept, root.cone);
    if (root.continued)
      for (Value v : root.continued.getLeft())
        addToCone(v, body, kept, root.cone);
  } else if (root.kind == Root::Kind::Keep) {
    // Its own value is what it makes: look through it.
    if (Operation *def = root.value.getDefiningOp())
      for (Value operand : def->getOperands())
        addToCone(operand, body, kept, root.cone);
    root.cone.insert(root.value);
  } else {
    addToCone(root.value, body, kept, root.cone);
  }
}

void TileProgram::computeCones() {
  for (auto &root : roots)
    computeCone(*root);
  needs.assign(roots.size(), std::nullopt);
}

Root *TileProgram::producerOf(Value v) const { return producers.lookup(v); }

const llvm::BitVector &TileProgram::getNeeds(const Root &root) {
  if (needs[root.number])
    return *needs[root.number];
  llvm::BitVector found(roots.size());
  for (Value v : root.cone) {
    Root *producer = producerOf(v);
    if (!producer || producer == &root || found.test(producer->number))
      continue;
    found |= getNeeds(*producer);
    found.set(producer->number);
  }
  return needs[root.number].emplace(std::move(found));
}

std::optional<int64_t> redfuse::strideAlong(AffineMap map, unsigned dim,
                                            int64_t most) {
  if (map.getNumResults() == 0)
    return std::nullopt;
  for (AffineExpr e : map.getResults().drop_back())
    if (e.isFunctionOfDim(dim))
      return std::nullopt;
  AffineExpr last = map.getResults().back();
  AffineExpr d = getAffineDimExpr(dim, map.getContext());
  if (last.isFunctionOfDim(dim))
    for (int64_t stride = 1; stride <= most; ++stride)
      if (!simplifyAffineExpr(last - d * stride, map.getNumDims(), 0)
               .isFunctionOfDim(dim))
        return stride;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

std::optional<Contraction> TileProgram::matchContraction(Root &root) {
  ReduceOp reduce = root.reduce;
  if (reduce.getReducer() != Reducer::Add)
    return std::nullopt;
  Operation *product = reduce.getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product) ||
      product->getBlock() != body)
    return std::nullopt;
  Type type = reduce.getOperand(0).getType();
  if (type.isIndex() || type.isInteger(1))
    return std::nullopt;
  Value lhs = product->getOperand(0), rhs = product->getOperand(1);
  SmallBitVector over = toDimSet(reduce.getOver(), dimSets.getNumDims());
  SmallBitVector into = toDimSet(reduce.getInto(), dimSets.getNumDims());
  double work = capacityOf(root.dims);

  // Every dim of the result that one operand alone depends on could be the one
  // whose elements share a register; take the one that needs least packing.
  std::optional<Contraction> best;
  double bestCost = 0;
  for (auto [vectorOperand, scalarOperand] :
       {std::pair(lhs, rhs), {rhs, lhs}}) {
    if (vectorOperand.getParentBlock() != body ||
        scalarOperand.getParentBlock() != body)
      return std::nullopt;
    for (unsigned n : into.set_bits()) {
      if (!dimSets[vectorOperand].test(n) || dimSets[scalarOperand].test(n))
        continue;
      SmallBitVector one(dimSets.getNumDims());
      one.set(n);
      double capacity = capacityOf(one);
      if (capacity * 2 < options.lanes)
        continue;
      auto fixed = innermost.find(vectorOperand);
      if (fixed != innermost.end() && fixed->second != n)
        continue;
      Contraction c;
      c.root = &root;
      c.vectorOperand = vectorOperand;
      c.scalarOperand = scalarOperand;
      c.n = n;
      double mCapacity = 1;
      for (unsigned d : into.set_bits()) {
        one.reset();
        one.set(d);
        if (d != n && dimSets[scalarOperand].test(d) &&
            !dimSets[vectorOperand].test(d) && capacityOf(one) > mCapacity) {
          mCapacity = capacityOf(one);
          c.m = d;
        }
      }
      if (!c.m && !options.hasVectorProducts)
        continue;
      for (unsigned d : into.set_bits())
        if (d != n && (!c.m || d != *c.m))
          c.outer.push_back(d);
      for (int64_t d : reduce.getOver())
        c.k.push_back(d);
      auto arg = dyn_cast<BlockArgument>(vectorOperand);
      bool isPlain = arg && sources[arg.getArgNumber()].contiguous == n;
      bool isComputed = !arg;
      if (!isPlain && !isComputed && !c.m)
        continue; // packing for one row costs more than it gains
      // Lanes that a ragged register leaves idle.
      double registers = std::ceil(capacity / options.lanes);
      double waste = registers * options.lanes / capacity;
      SmallBitVector vectorDims = dimSets[vectorOperand];
      bool isStreamed = llvm::any_of(
          vectorDims.set_bits(), [&](unsigned d) { return dims[d].isStream; });
      double packing =
          isPlain || isComputed
              ? 0
              : capacityOf(vectorDims) * (isStreamed ? 1 : kPackedOnce);
      double cost = work * waste / options.lanes + packing * kPackedElement;
      if (!c.m)
        cost *= 2; // one load for each multiply-add
      if (!best || cost < bestCost) {
        best = c;
        bestCost = cost;
      }
    }
  }
  return best;
}

void TileProgram::findStagedContractions() {
  for (auto &root : roots) {
    std::string why;
    std::optional<MatrixForm> form;
    if (root->kind == Root::Kind::Reduce)
      form = matchMatrix(root->reduce, why);
    if (!form) {
      if (!why.empty())
        scalarProducts.push_back({root->reduce, why});
      continue;
    }
    Contraction c;
    c.root = root.get();
    c.n = (form->columns.empty() ? form->rows : form->columns).back();
    c.matrix = std::move(form);
    contractions[root.get()] = std::move(c);
  }
}

void TileProgram::findContractions() {
  if (options.isStaged)
    return findStagedContractions();
  for (auto &root : roots) {
    if (root->kind != Root::Kind::Reduce)
      continue;
    std::string why;
    if (std::optional<MatrixForm> form = matchMatrix(root->reduce, why)) {
      Contraction c;
      c.root = root.get();
      for (Value operand : {form->left, form->right})
        if (!isa<BlockArgument>(operand)) {
          kept.insert(operand);
          innermost.try_emplace(operand, form->sums.back());
        }
      c.n = form->columns.back();
      innermost.try_emplace(root->reduce.getResult(0), c.n);
      c.matrix = std::move(form);
      contractions[root.get()] = std::move(c);
      continue;
    }
    if (!why.empty())
      scalarProducts.push_back({root->reduce, why});
    std::optional<Contraction> c = matchContraction(*root);
    if (!c)
      continue;
    for (Value operand : {c->vectorOperand, c->scalarOperand}) {
      auto arg = dyn_cast<BlockArgument>(operand);
      bool isVector = operand == c->vectorOperand;
      bool isPlain =
          arg && (!isVector || sources[arg.getArgNumber()].contiguous == c->n);
      if (!isPlain)
        kept.insert(operand);
      if (isVector && !isPlain)
        innermost[operand] = c->n;
    }
    innermost[root->reduce.getResult(0)] = c->n;
    contractions[root.get()] = *c;
  }
}

//===----------------------------------------------------------------------===//
// Values worth keeping
//===----------------------------------------------------------------------===//

bool TileProgram::areApart(const Root &a, const Root &b) {
  return a.dims != b.dims || contractions.contains(&a) ||
         contractions.contains(&b) || reaches(a, b) || reaches(b, a);
}

/// Keeps what is expensive and needed by users that cannot share one nest; those
/// that can share the value in registers.
void TileProgram::keepIfShared(Operation &inner, const Readers &readers) {
  if (inner.getNumResults() != 1 || isRootOp(&inner))
    return;
  Value v = inner.getResult(0);
  if (kept.contains(v) || dimSets[v].none() || !isExpensive(&inner))
    return;
  SmallVector<Root *> users;
  if (auto it = readers.find(v); it != readers.end())
    for (Root *root : it->second)
      if (root->cone.contains(v))
        users.push_back(root);
  bool apart = false;
  for (auto [i, a] : llvm::enumerate(users))
    for (Root *b : ArrayRef(users).drop_front(i + 1))
      apart = apart || areApart(*a, *b);
  if (!apart)
    return;
  kept.insert(v);
  for (Root *root : users)
    computeCone(*root);
  needs.assign(roots.size(), std::nullopt);
}

/// A new state that is computed from *other* components of the old state must be
/// complete before any component is overwritten.
void TileProgram::keepNewStates() {
  for (auto &root : roots) {
    Value state = getStateOf(*root);
    if (!state || kept.contains(root->value))
      continue;
    for (Value v : root->cone)
      if (isStateArgument(v) && v != state) {
        kept.insert(root->value);
        break;
      }
  }
}

void TileProgram::keepSharedValues() {
  // Cones only lose values while more is kept.
  Readers readers;
  for (auto &root : roots)
    for (Value v : root->cone)
      readers[v].push_back(root.get());
  for (Operation &inner : *body)
    keepIfShared(inner, readers);
  if (isa<FoldOp>(op.getOperation()))
    keepNewStates();
}

void TileProgram::addKeepRoots() {
  for (Value v : kept)
    if (!producerOf(v))
      addProducer(addRoot(Root::Kind::Keep, v));
}
