//===- NormalizeLoops.cpp - loops that reduce or map elements -------------===//
//
// A nest of scf.for over elements is read as statements in index notation: the
// loops that carry tensors and insert one element at each point are parallel
// dims, the loops inside that carry scalars are reductions. Every reduction
// becomes a generic of its own (its result a tensor over the parallel dims
// around it), the stores become the last generic. Scalar code between them is
// put into every body that uses it. A loop that carries both is a recurrence of
// which every value is stored: one generic, in which the stored results have the
// reduction dim in their maps.
//
//===----------------------------------------------------------------------===//
#include "NormalizeCommon.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"
#include "redfuse/Transforms/Raise/RaiseAffine.h"

#include "mlir/IR/Matchers.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZELOOPS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using redfuse::Extent;

static constexpr llvm::StringLiteral kNotGeneric =
    "a loop cannot be read as a linalg.generic";

namespace {

bool isScalar(Type type) { return type.isIntOrIndexOrFloat(); }

bool carriesScalars(scf::ForOp loop) {
  return loop.getNumResults() && llvm::all_of(loop.getResultTypes(), isScalar);
}

bool carriesTensors(scf::ForOp loop) {
  return loop.getNumResults() &&
         llvm::all_of(loop.getResultTypes(),
                      [](Type type) { return isa<RankedTensorType>(type); });
}

/// Scalars that run and tensors in which they are stored.
bool carriesBoth(scf::ForOp loop) {
  return !carriesScalars(loop) && !carriesTensors(loop) &&
         llvm::all_of(loop.getResultTypes(), [](Type type) {
           return isScalar(type) || isa<RankedTensorType>(type);
         });
}

/// The values of `loop`'s body that depend on the scalars it carries.
llvm::DenseSet<Value> getDependent(scf::ForOp loop) {
  llvm::DenseSet<Value> dependent;
  for (Value argument : loop.getRegionIterArgs())
    if (isScalar(argument.getType()))
      dependent.insert(argument);
  for (Operation &op : loop.getBody()->without_terminator()) {
    bool uses = false;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        uses |= dependent.contains(operand);
    });
    if (uses)
      dependent.insert_range(op.getResults());
  }
  return dependent;
}

/// Those of `values` that are tensors.
SmallVector<Value> getTensors(ValueRange values) {
  return llvm::filter_to_vector(
      values, [](Value v) { return isa<RankedTensorType>(v.getType()); });
}

/// The only loop in `loop` that runs and stores in all tensors of `loop`.
scf::ForOp getRunning(scf::ForOp loop) {
  for (scf::ForOp inner : loop.getBody()->getOps<scf::ForOp>())
    if (carriesBoth(inner) &&
        llvm::equal(getTensors(inner.getInitArgs()),
                    loop.getRegionIterArgs()) &&
        llvm::equal(getTensors(inner.getResults()), loop.getYieldedValues()))
      return inner;
  return {};
}

/// The only loop in `loop` that takes all its carried values and yields them.
scf::ForOp getPerfectlyNested(scf::ForOp loop) {
  for (scf::ForOp inner : loop.getBody()->getOps<scf::ForOp>())
    if (llvm::equal(inner.getInitArgs(), loop.getRegionIterArgs()) &&
        llvm::equal(inner.getResults(), loop.getYieldedValues()))
      return inner;
  return {};
}

/// Does `value` accumulate into `accumulator` in a way that a reduction may?
bool accumulates(Value value, Value accumulator, bool outermost = true) {
  if (value == accumulator)
    return !outermost;
  Operation *op = value.getDefiningOp();
  if (!op || !accumulator.hasOneUse()) {
    // max and min written as compare and select use the accumulator twice.
    auto select = dyn_cast_or_null<arith::SelectOp>(op);
    return select && (select.getTrueValue() == accumulator ||
                      select.getFalseValue() == accumulator);
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return select.getTrueValue() == accumulator ||
           select.getFalseValue() == accumulator;
  if (isa<arith::SubFOp, arith::SubIOp>(op))
    return accumulates(op->getOperand(0), accumulator, false);
  if (auto fma = dyn_cast<math::FmaOp>(op))
    return accumulates(fma.getC(), accumulator, false);
  if (!isa<arith::AddFOp, arith::AddIOp, arith::MulFOp, arith::MulIOp,
           arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
           arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
           arith::MinUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    if (operand == accumulator)
      return true;
    // A longer chain of one kind: (a + x) + y.
    Operation *inner = operand.getDefiningOp();
    return inner && inner->getName() == op->getName() &&
           accumulates(operand, accumulator, false);
  });
}

/// Checks a nest and then builds the generics that replace it.
class Nest {
public:
  Nest(scf::ForOp root, PatternRewriter &rewriter)
      : root(root), b(rewriter), loc(root.getLoc()) {}

  /// Why the nest cannot be converted; empty if it can.
  std::string check() {
    if (carriesScalars(root))
      checkReduction(root);
    else if (carriesTensors(root))
      checkParallel(root);
    else if (root.getNumResults() && carriesBoth(root))
      checkRunning(root);
    else
      fail("it carries neither tensors nor scalars");
    return why;
  }

  void convert() {
    b.setInsertionPoint(root);
    SmallVector<Value> results;
    if (carriesScalars(root)) {
      emitReduction(root, {});
      for (Value tensor : tensors[root])
        results.push_back(
            tensor::ExtractOp::create(b, loc, tensor, ValueRange()));
    } else if (running) {
      results = emitRunning();
    } else {
      results = emitParallel();
    }
    b.replaceOp(root, results);
  }

private:
  void fail(const Twine &reason) {
    if (why.empty())
      why = reason.str();
  }
  bool isOutside(Value value) const {
    return !root->isAncestor(value.getParentBlock()->getParentOp());
  }

  void checkBounds(scf::ForOp loop) {
    if (!matchPattern(loop.getLowerBound(), m_Zero()) ||
        !matchPattern(loop.getStep(), m_One()))
      fail("it does not count from 0 by 1");
    if (!isOutside(loop.getUpperBound()))
      fail("its bound is computed in the nest");
    if (!loop.getInductionVar().getType().isIndex())
      fail("it does not count in index");
  }

  /// Scalar code that may be evaluated anywhere in the nest.
  void checkScalar(Operation *op) {
    if (isa<cf::AssertOp>(op))
      return;
    if (op->getNumRegions() || !isMemoryEffectFree(op) ||
        !llvm::all_of(op->getResultTypes(), isScalar))
      return fail("it contains " + op->getName().getStringRef());
    for (Value operand : op->getOperands())
      if (!isScalar(operand.getType()) && !isOutside(operand) &&
          !isReadOfCarried(op, operand))
        return fail("it uses a tensor that it makes");
  }

  /// An element of a carried tensor may be read where it will be written: it
  /// still holds what it held before the nest.
  bool isReadOfCarried(Operation *op, Value operand) {
    auto read = dyn_cast<tensor::ExtractOp>(op);
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!read || !argument || read->getParentOp() != innermost)
      return false;
    for (tensor::InsertOp store : stores)
      if (store.getDest() == operand)
        return llvm::equal(store.getIndices(), read.getIndices());
    return false;
  }

  void checkReduction(scf::ForOp loop) {
    checkBounds(loop);
    if (!carriesScalars(loop))
      return fail("a loop inside carries no scalars");
    scf::ForOp inner = getPerfectlyNested(loop);
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (auto nested = dyn_cast<scf::ForOp>(op))
        checkReduction(nested);
      else
        checkScalar(&op);
      if (inner && &op != inner.getOperation())
        for (Value operand : op.getOperands())
          if (llvm::is_contained(loop.getRegionIterArgs(), operand))
            fail("what it carries is used beside the inner loop");
    }
    if (inner)
      return;
    checkAccumulators(loop);
  }

  void checkAccumulators(scf::ForOp loop) {
    llvm::DenseSet<Value> dependent = getDependent(loop);
    for (auto [argument, yielded] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
      if (isScalar(argument.getType()) && !accumulates(yielded, argument) &&
          (!dependent.contains(yielded) ||
           !redfuse::isAffineIn(yielded, argument, dependent)))
        fail(
            "what it carries is no sum, product, maximum, affine recurrence or "
            "the like");
  }

  /// Scalars that run along the innermost of `parallel`, and stores at the point
  /// of all loops.
  void checkRunning(scf::ForOp loop) {
    checkBounds(loop);
    parallel.push_back(loop);
    running = loop;
    llvm::DenseSet<Value> dependent = getDependent(loop);
    SmallVector<Value> arguments = getTensors(loop.getRegionIterArgs());
    for (auto [number, yielded] :
         llvm::enumerate(getTensors(loop.getYieldedValues())))
      checkRunningStore(yielded, arguments[number], number);
    if (!why.empty())
      return;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (auto nested = dyn_cast<scf::ForOp>(op)) {
        checkReduction(nested);
        for (Value result : nested.getResults())
          if (dependent.contains(result))
            fail("a loop inside needs the running value");
      } else if (!llvm::is_contained(stores, &op)) {
        checkScalar(&op);
      }
    }
    checkAccumulators(loop);
    for (Value result : loop.getResults())
      if (loop != root && isScalar(result.getType()) && !result.use_empty())
        fail("the last value of a recurrence is used in the nest");
  }

  void checkRunningStore(Value yielded, Value carried, unsigned number) {
    auto store = yielded.getDefiningOp<tensor::InsertOp>();
    if (!store || store.getDest() != carried || !yielded.hasOneUse())
      return fail("it does not insert one element into each tensor it carries");
    stores.push_back(store);
    Value tensor = getTensors(root.getInitArgs())[number];
    SmallVector<AffineExpr> exprs;
    llvm::SmallDenseSet<unsigned> seen;
    for (auto [dim, index] : llvm::enumerate(store.getIndices())) {
      auto *at = llvm::find_if(parallel, [&](scf::ForOp loop) {
        return loop.getInductionVar() == index;
      });
      if (at == parallel.end())
        return fail("an index of an insertion is computed");
      unsigned position = at - parallel.begin();
      if (!seen.insert(position).second)
        return fail("two indices of an insertion are the same");
      if (redfuse::getExtentOf(tensor, dim) !=
          redfuse::getExtentOf((*at).getUpperBound()))
        return fail("it may not run over all of a tensor it writes");
      exprs.push_back(b.getAffineDimExpr(position));
    }
    if (seen.size() != parallel.size())
      return fail("it overwrites an element again and again");
    written.push_back(
        AffineMap::get(parallel.size(), 0, exprs, b.getContext()));
  }

  void checkParallel(scf::ForOp loop) {
    checkBounds(loop);
    parallel.push_back(loop);
    if (scf::ForOp inner = getPerfectlyNested(loop)) {
      for (Operation &op : loop.getBody()->without_terminator())
        if (auto nested = dyn_cast<scf::ForOp>(op); nested && nested != inner)
          checkReduction(nested);
        else if (nested != inner)
          checkScalar(&op);
      return checkParallel(inner);
    }
    if (scf::ForOp inner = getRunning(loop)) {
      for (Operation &op : loop.getBody()->without_terminator())
        if (auto nested = dyn_cast<scf::ForOp>(op); nested && nested != inner)
          checkReduction(nested);
        else if (nested != inner)
          checkScalar(&op);
      return checkRunning(inner);
    }
    innermost = loop;
    for (auto [number, yielded] : llvm::enumerate(loop.getYieldedValues()))
      checkStore(yielded, number);
    if (!why.empty())
      return;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (auto nested = dyn_cast<scf::ForOp>(op))
        checkReduction(nested);
      else if (!llvm::is_contained(stores, &op))
        checkScalar(&op);
    }
    if (reduced.empty())
      return;
    for (scf::ForOp outer : parallel)
      for (scf::ForOp nested : outer.getBody()->getOps<scf::ForOp>())
        if (!llvm::is_contained(parallel, nested))
          fail("it reduces at more than one place");
  }

  /// A yielded tensor must be the carried one with the element at the loops'
  /// point replaced, and the loops must run over all its elements. A loop whose
  /// index is not in the point is a reduction, if the element accumulates.
  void checkStore(Value yielded, unsigned number) {
    BlockArgument carried = innermost.getRegionIterArg(number);
    auto store = yielded.getDefiningOp<tensor::InsertOp>();
    if (!store || store.getDest() != carried || !yielded.hasOneUse())
      return fail("it does not insert one element into each tensor it carries");
    stores.push_back(store);
    SmallVector<scf::ForOp> point;
    for (auto [dim, index] : llvm::enumerate(store.getIndices())) {
      auto *at = llvm::find_if(parallel, [&](scf::ForOp loop) {
        return loop.getInductionVar() == index;
      });
      if (at == parallel.end())
        return fail("an index of an insertion is computed");
      if (llvm::is_contained(point, *at))
        return fail("two indices of an insertion are the same");
      if (redfuse::getExtentOf(root.getInitArgs()[number], dim) !=
          redfuse::getExtentOf((*at).getUpperBound()))
        return fail("it may not run over all of a tensor it writes");
      point.push_back(*at);
    }
    SmallVector<scf::ForOp> inOrder, rest;
    for (scf::ForOp loop : parallel)
      (llvm::is_contained(point, loop) ? inOrder : rest).push_back(loop);
    if (number == 0) {
      mapped = inOrder;
      reduced = rest;
    } else if (mapped != inOrder) {
      return fail("it inserts at points of different loops");
    }
    SmallVector<AffineExpr> exprs;
    for (scf::ForOp loop : point)
      exprs.push_back(
          b.getAffineDimExpr(llvm::find(mapped, loop) - mapped.begin()));
    written.push_back(
        AffineMap::get(parallel.size(), 0, exprs, b.getContext()));
    if (reduced.empty())
      return;
    Value read;
    for (Operation *user : carried.getUsers())
      if (auto extract = dyn_cast<tensor::ExtractOp>(user))
        if (!read && llvm::equal(extract.getIndices(), store.getIndices()))
          read = extract.getResult();
    if (!read || !accumulates(store.getScalar(), read))
      return fail("it overwrites an element again and again");
    accumulators.push_back(read);
  }

  /// The reductions inside `values`' definitions that were emitted before.
  void collect(ValueRange values, llvm::SetVector<Operation *> &reductions,
               llvm::DenseSet<Value> &seen) {
    for (Value value : values) {
      Operation *op = value.getDefiningOp();
      if (!op || isOutside(value) || !seen.insert(value).second)
        continue;
      if (tensors.contains(op))
        reductions.insert(op);
      else
        collect(op->getOperands(), reductions, seen);
    }
  }

  /// Clones the assertions of `block`, up to `end` if there is one, which are not
  /// in the body yet.
  void emitAssertions(OpBuilder &inner, IRMapping &mapping, Block &block,
                      Operation *end) {
    for (auto assertion : block.getOps<cf::AssertOp>()) {
      if (end && !assertion->isBeforeInBlock(end))
        return;
      if (!asserted.insert(assertion).second)
        continue;
      Value holds = evaluate(inner, mapping, assertion.getArg());
      cf::AssertOp::create(inner, assertion.getLoc(), holds,
                           assertion.getMsg());
    }
  }

  /// Clones what computes `value` to the builder's position; in front of a read
  /// stands what the loop asserts in front of it.
  Value evaluate(OpBuilder &inner, IRMapping &mapping, Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (isOutside(value))
      return value;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      mapping.map(operand, evaluate(inner, mapping, operand));
    if (isa<tensor::ExtractOp>(op))
      emitAssertions(inner, mapping, *op->getBlock(), op);
    inner.clone(*op, mapping);
    return mapping.lookup(value);
  }

  /// A generic over `context` (parallel) and `chain` (reduction) whose body
  /// yields `values`; `carried` are the values that its outs stand for.
  linalg::GenericOp emit(ArrayRef<scf::ForOp> context,
                         ArrayRef<scf::ForOp> chain, ValueRange outs,
                         ArrayRef<AffineMap> outMaps, ValueRange carried,
                         ValueRange values) {
    llvm::SetVector<Operation *> used;
    llvm::DenseSet<Value> seen;
    collect(values, used, seen);
    unsigned dims = context.size() + chain.size();
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    SmallVector<Value> stands;
    for (Operation *reduction : used)
      for (auto [result, tensor] :
           llvm::zip_equal(reduction->getResults(), tensors[reduction])) {
        inputs.push_back(tensor);
        stands.push_back(result);
        int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
        maps.push_back(getFirstDims(dims, rank));
      }
    if (!chain.empty()) {
      // Nothing may be left that tells how far the reduction runs: this does.
      SmallVector<AffineExpr> exprs;
      for (unsigned d = context.size(); d < dims; ++d)
        exprs.push_back(b.getAffineDimExpr(d));
      inputs.push_back(makeEmpty(chain, b.getI1Type()));
      maps.push_back(AffineMap::get(dims, 0, exprs, b.getContext()));
    }
    llvm::append_range(maps, outMaps);
    SmallVector<utils::IteratorType> iterators(context.size(),
                                               utils::IteratorType::parallel);
    iterators.append(chain.size(), utils::IteratorType::reduction);
    return linalg::GenericOp::create(
        b, loc, outs.getTypes(), inputs, outs, maps, iterators,
        [&](OpBuilder &inner, Location bodyLoc, ValueRange arguments) {
          IRMapping mapping;
          unsigned dim = 0;
          for (ArrayRef<scf::ForOp> loops : {context, chain})
            for (scf::ForOp loop : loops)
              mapping.map(loop.getInductionVar(),
                          linalg::IndexOp::create(inner, bodyLoc, dim++));
          for (auto [value, argument] : llvm::zip(stands, arguments))
            mapping.map(value, argument);
          for (auto [value, argument] :
               llvm::zip(carried, arguments.take_back(outs.size())))
            mapping.map(value, argument);
          // What a carried tensor held before the nest.
          if (innermost)
            for (auto [init, argument] : llvm::zip_equal(
                     root.getInitArgs(), innermost.getRegionIterArgs()))
              mapping.map(argument, init);
          SmallVector<Value> yields;
          asserted.clear();
          for (Value value : values)
            yields.push_back(evaluate(inner, mapping, value));
          // Of loops that are reduced here, or all of whose points these are.
          for (scf::ForOp loop : chain)
            emitAssertions(inner, mapping, *loop.getBody(), nullptr);
          if (context.size() + chain.size() == parallel.size())
            for (scf::ForOp loop : context)
              emitAssertions(inner, mapping, *loop.getBody(), nullptr);
          linalg::YieldOp::create(inner, bodyLoc, yields);
        });
  }

  /// `(d0, d1, ...) -> (d0, ..., d<count - 1>)`.
  AffineMap getFirstDims(unsigned dims, unsigned count) {
    SmallVector<AffineExpr> exprs;
    for (unsigned d = 0; d < count; ++d)
      exprs.push_back(b.getAffineDimExpr(d));
    return AffineMap::get(dims, 0, exprs, b.getContext());
  }

  Value makeEmpty(ArrayRef<scf::ForOp> loops, Type element) {
    SmallVector<OpFoldResult> sizes;
    for (scf::ForOp loop : loops)
      sizes.push_back(getAsOpFoldResult(loop.getUpperBound()));
    return tensor::EmptyOp::create(b, loc, sizes, element);
  }

  /// Emits the reductions directly in `loop`'s body (but for `except`).
  void emitReductionsIn(scf::ForOp loop, ArrayRef<scf::ForOp> context,
                        scf::ForOp except) {
    for (scf::ForOp nested : loop.getBody()->getOps<scf::ForOp>())
      if (nested != except)
        emitReduction(nested, context);
  }

  /// What a scalar is before a reduction, at every point of `context`.
  Value emitInit(Value init, ArrayRef<scf::ForOp> context) {
    Value empty = makeEmpty(context, init.getType());
    if (isOutside(init))
      return linalg::FillOp::create(b, loc, init, empty).getResult(0);
    AffineMap id = getFirstDims(context.size(), context.size());
    return emit(context, {}, empty, id, {}, init).getResult(0);
  }

  SmallVector<Value> emitRunning() {
    SmallVector<scf::ForOp> context, around;
    for (auto [i, loop] : llvm::enumerate(parallel)) {
      around.push_back(loop);
      emitReductionsIn(loop, around,
                       loop == running ? scf::ForOp() : parallel[i + 1]);
      if (loop != running)
        context.push_back(loop);
    }
    SmallVector<Value> outs, carried, values;
    SmallVector<AffineMap> maps;
    for (auto [init, argument, yielded] :
         llvm::zip_equal(running.getInitArgs(), running.getRegionIterArgs(),
                         running.getYieldedValues())) {
      if (!isScalar(init.getType()))
        continue;
      outs.push_back(emitInit(init, context));
      maps.push_back(getFirstDims(parallel.size(), context.size()));
      carried.push_back(argument);
      values.push_back(yielded);
    }
    llvm::append_range(outs, getTensors(root.getInitArgs()));
    llvm::append_range(maps, written);
    for (tensor::InsertOp store : stores)
      values.push_back(store.getScalar());
    linalg::GenericOp generic =
        emit(context, {running}, outs, maps, carried, values);
    SmallVector<Value> results;
    unsigned scalar = 0, tensor = carried.size();
    for (Value result : root.getResults()) {
      if (isScalar(result.getType()))
        results.push_back(tensor::ExtractOp::create(
            b, loc, generic.getResult(scalar++), ValueRange()));
      else
        results.push_back(generic.getResult(tensor++));
    }
    return results;
  }

  void emitReduction(scf::ForOp loop, ArrayRef<scf::ForOp> context) {
    SmallVector<scf::ForOp> chain, around(context);
    for (scf::ForOp at = loop; at; at = getPerfectlyNested(at)) {
      chain.push_back(at);
      around.push_back(at);
      emitReductionsIn(at, around, getPerfectlyNested(at));
    }
    unsigned dims = around.size();
    AffineMap map = getFirstDims(dims, context.size());
    SmallVector<Value> outs;
    for (Value init : loop.getInitArgs())
      outs.push_back(emitInit(init, context));
    scf::ForOp last = chain.back();
    SmallVector<AffineMap> maps(outs.size(), map);
    linalg::GenericOp generic =
        emit(context, chain, outs, maps, last.getRegionIterArgs(),
             last.getYieldedValues());
    llvm::append_range(tensors[loop], generic.getResults());
  }

  SmallVector<Value> emitParallel() {
    SmallVector<Value> elements;
    for (tensor::InsertOp store : stores)
      elements.push_back(store.getScalar());
    if (!reduced.empty())
      return llvm::to_vector_of<Value>(emit(mapped, reduced, root.getInitArgs(),
                                            written, accumulators, elements)
                                           .getResults());
    SmallVector<scf::ForOp> context;
    for (scf::ForOp loop : parallel) {
      context.push_back(loop);
      emitReductionsIn(loop, context, getPerfectlyNested(loop));
    }
    return llvm::to_vector_of<Value>(
        emit(context, {}, root.getInitArgs(), written, {}, elements)
            .getResults());
  }

  scf::ForOp root;
  PatternRewriter &b;
  Location loc;
  std::string why;
  SmallVector<scf::ForOp> parallel;
  scf::ForOp innermost, running;
  SmallVector<tensor::InsertOp> stores;
  SmallVector<AffineMap> written;
  /// The loops whose index is in the stores' point, and the others.
  SmallVector<scf::ForOp> mapped, reduced;
  SmallVector<Value> accumulators;
  llvm::DenseMap<Operation *, SmallVector<Value>> tensors;
  /// What the body that is made asserts already.
  llvm::SmallPtrSet<Operation *, 4> asserted;
};

struct LoopToGeneric : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::ForOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getParentOfType<linalg::LinalgOp>())
      return rewriter.notifyMatchFailure(op, "in the body of a linalg op");
    for (auto around = op->getParentOfType<scf::ForOp>(); around;
         around = around->getParentOfType<scf::ForOp>())
      if (Nest(around, rewriter).check().empty())
        return rewriter.notifyMatchFailure(op,
                                           "part of a nest that is a whole");
    Nest nest(op, rewriter);
    std::string why = nest.check();
    if (!why.empty())
      return rewriter.notifyMatchFailure(op, why);
    nest.convert();
    return success();
  }
};

struct NormalizeLoops : redfuse::impl::NormalizeLoopsBase<NormalizeLoops> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeLoopsPatterns))
      return signalPassFailure();
    getOperation()->walk([&](scf::ForOp op) {
      PatternRewriter at(op.getContext());
      std::string why = Nest(op, at).check();
      redfuse::addRefusal(op, kNotGeneric, why,
                          "write it as linalg.generic, or as loops that insert "
                          "one element, carry one reduction, or both");
    });
  }
};

} // namespace

void redfuse::populateNormalizeLoopsPatterns(RewritePatternSet &patterns) {
  patterns.add<LoopToGeneric>(patterns.getContext());
}
