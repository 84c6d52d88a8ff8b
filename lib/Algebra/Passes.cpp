//===- Passes.cpp - what folds together, and what has to wait -------------===//
#include "Deriver.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace redfuse;

/// More passes over the data than this do not pay.
static constexpr unsigned kMaxPasses = 6;

FailureOr<PassPlan> redfuse::planPasses(CascadeOp cascade,
                                        ArrayRef<int64_t> over,
                                        SmallVectorImpl<RefusalReason> &why,
                                        const DerivationOptions &options) {
  PassPlan plan;
  DerivationOptions next = options;
  while (true) {
    SmallVector<RefusalReason> reasons;
    FailureOr<PartialDerivation> part =
        deriveFirstPass(cascade, over, reasons, next);
    bool isLast = succeeded(part) && part->waiting.empty() && !part->scansWait;
    if (failed(part) || (part->folded.empty() && !isLast)) {
      // What no pass folds is the reason, not the barriers before it.
      llvm::append_range(why, reasons);
      return failure();
    }
    plan.passes.push_back(part->folded);
    plan.isMapped = part->isMapped;
    if (isLast)
      return plan;
    llvm::append_range(plan.barriers, reasons);
    llvm::append_range(next.complete, part->folded);
    if (plan.passes.size() == kMaxPasses) {
      why.push_back({cascade, "passes",
                     "the cascade needs more than " +
                         std::to_string(kMaxPasses) + " passes over the data",
                     "split the cascade"});
      return failure();
    }
  }
}

namespace {
/// Cuts one cascade.
class Cutter {
public:
  Cutter(RewriterBase &rewriter, CascadeOp cascade, const PassPlan &plan)
      : rewriter(rewriter), cascade(cascade), plan(plan),
        body(cascade.getBody().front()) {
    for (auto [i, pass] : llvm::enumerate(plan.passes))
      for (ReduceOp reduce : pass)
        passOf[reduce] = i;
  }

  SmallVector<CascadeOp> run();

private:
  /// What `values` are computed from, down to reductions of passes before
  /// `pass`; those are added to `earlier`.
  llvm::DenseSet<Operation *> sliceOf(ValueRange values, unsigned pass,
                                      llvm::SetVector<Value> &earlier);
  /// The first pass after which `assertion` can be checked.
  unsigned passOfAssertion(cf::AssertOp assertion);
  CascadeOp makePass(unsigned pass, ValueRange targets, ValueRange inits,
                     ArrayRef<AffineMap> initMaps);
  Value makeInit(Value target, AffineMap map, ArrayRef<OpFoldResult> extents);

  RewriterBase &rewriter;
  CascadeOp cascade;
  const PassPlan &plan;
  Block &body;
  DenseMap<Operation *, unsigned> passOf;
  /// Results of reductions as tensors, once their pass is made.
  llvm::MapVector<Value, std::pair<Value, AffineMap>> done;
};
} // namespace

llvm::DenseSet<Operation *> Cutter::sliceOf(ValueRange values, unsigned pass,
                                            llvm::SetVector<Value> &earlier) {
  llvm::DenseSet<Operation *> slice;
  SmallVector<Value> work(values);
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!op || op->getBlock() != &body)
      continue;
    auto it = passOf.find(op);
    if (it != passOf.end() && it->second < pass) {
      earlier.insert(v);
      continue;
    }
    if (slice.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  return slice;
}

unsigned Cutter::passOfAssertion(cf::AssertOp assertion) {
  llvm::SetVector<Value> used;
  sliceOf(assertion.getArg(), plan.passes.size(), used);
  unsigned last = 0;
  for (Value v : used)
    last = std::max(last, passOf.lookup(v.getDefiningOp()));
  return last;
}

CascadeOp Cutter::makePass(unsigned pass, ValueRange targets, ValueRange inits,
                           ArrayRef<AffineMap> initMaps) {
  Location loc = cascade.getLoc();
  SmallVector<Value> roots(targets);
  llvm::DenseSet<Operation *> assertions;
  for (auto assertion : body.getOps<cf::AssertOp>())
    if (passOfAssertion(assertion) == pass) {
      assertions.insert(assertion);
      roots.push_back(assertion.getArg());
    }
  llvm::SetVector<Value> earlier;
  llvm::DenseSet<Operation *> slice = sliceOf(roots, pass, earlier);

  SmallVector<Value> inputs(cascade.getInputs());
  SmallVector<AffineMap> maps(cascade.getIndexingMapsArray());
  maps.resize(inputs.size());
  auto block = std::make_unique<Block>();
  IRMapping mapping;
  for (BlockArgument arg : body.getArguments())
    mapping.map(arg, block->addArgument(arg.getType(), arg.getLoc()));
  for (auto &[value, tensor] : done) {
    if (!earlier.contains(value))
      continue;
    inputs.push_back(tensor.first);
    maps.push_back(tensor.second);
    mapping.map(value, block->addArgument(value.getType(), value.getLoc()));
  }
  llvm::append_range(maps, initMaps);
  OpBuilder b(cascade.getContext());
  b.setInsertionPointToEnd(block.get());
  for (Operation &op : body)
    if (slice.contains(&op) || assertions.contains(&op))
      b.clone(op, mapping);
  YieldOp::create(b, loc, llvm::map_to_vector(targets, [&](Value v) {
                    return mapping.lookupOrDefault(v);
                  }));
  auto result = CascadeOp::create(rewriter, loc, inits.getTypes(), inputs,
                                  inits, rewriter.getAffineMapArrayAttr(maps),
                                  cascade.getScheduleAttr());
  result.getBody().push_back(block.release());
  return result;
}

Value Cutter::makeInit(Value target, AffineMap map,
                       ArrayRef<OpFoldResult> extents) {
  SmallVector<OpFoldResult> sizes;
  for (AffineExpr e : map.getResults())
    sizes.push_back(extents[cast<AffineDimExpr>(e).getPosition()]);
  return tensor::EmptyOp::create(rewriter, cascade.getLoc(), sizes,
                                 target.getType());
}

SmallVector<CascadeOp> Cutter::run() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(cascade);
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<OpFoldResult> extents =
      getExtents(rewriter, cast<IndexProgramOpInterface>(*cascade));
  unsigned numDims = cascade.getNumIterationDims();
  SmallVector<CascadeOp> result;
  for (unsigned pass = 0; pass + 1 < plan.passes.size(); ++pass) {
    // What later passes and the results need of this one.
    SmallVector<Value> later(yield.getValues());
    for (unsigned p = pass + 1; p < plan.passes.size(); ++p)
      for (ReduceOp reduce : plan.passes[p])
        llvm::append_range(later, reduce.getOperands());
    for (auto assertion : body.getOps<cf::AssertOp>())
      if (passOfAssertion(assertion) > pass)
        later.push_back(assertion.getArg());
    llvm::SetVector<Value> used;
    sliceOf(later, pass + 1, used);
    SmallVector<Value> targets, inits;
    SmallVector<AffineMap> maps;
    for (ReduceOp reduce : plan.passes[pass])
      for (Value v : reduce.getResults()) {
        if (!used.contains(v))
          continue;
        SmallVector<AffineExpr> dims;
        for (int64_t d : reduce.getInto())
          dims.push_back(rewriter.getAffineDimExpr(d));
        targets.push_back(v);
        maps.push_back(AffineMap::get(numDims, 0, dims, rewriter.getContext()));
        inits.push_back(makeInit(v, maps.back(), extents));
      }
    CascadeOp made = makePass(pass, targets, inits, maps);
    for (auto [i, v] : llvm::enumerate(targets))
      done[v] = {made.getResult(i), maps[i]};
    result.push_back(made);
  }
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  result.push_back(
      makePass(plan.passes.size() - 1, yield.getValues(), cascade.getInits(),
               ArrayRef(maps).drop_front(cascade.getInputs().size())));
  return result;
}

SmallVector<CascadeOp> redfuse::cutAtBarriers(RewriterBase &rewriter,
                                              CascadeOp cascade,
                                              const PassPlan &plan) {
  if (plan.passes.size() == 1)
    return {cascade};
  return Cutter(rewriter, cascade, plan).run();
}
