//===- Derive.cpp - cascades become folds with carried state --------------===//
#include "redfuse/Algebra/Derivation.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <chrono>

namespace redfuse {
#define GEN_PASS_DEF_DERIVE
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Microseconds that the derivation of all cascades of an op took.
static constexpr StringRef kDeriveTimeAttr = "redfuse.derive_us";

/// The dims that can be folded at once: those that every outermost reduction
/// runs over. A reduction whose result feeds another one through data alone (an
/// inner contraction) is not outermost.
static SmallVector<int64_t> getReducedDims(CascadeOp cascade) {
  FailureOr<DimSets> sets =
      DimSets::compute(cast<IndexProgramOpInterface>(*cascade));
  if (failed(sets))
    return {};
  SmallBitVector all(cascade.getNumIterationDims());
  SmallVector<SmallBitVector> candidates;
  for (auto reduce : cascade.getBody().front().getOps<ReduceOp>())
    candidates.push_back(toDimSet(reduce.getOver(), all.size()));
  for (auto scan : cascade.getBody().front().getOps<ScanOp>())
    candidates.push_back(toDimSet({int64_t(scan.getDim())}, all.size()));
  // The last reduction is outermost: take its dims.
  return candidates.empty() ? SmallVector<int64_t>{}
                            : toDims(candidates.back());
}

/// Gives every dim of `dims`, and every other one that needs it, an input that has it:
/// a fold has no results of the cascade's shape, and data read at computed
/// positions has no shape of its own.
static void giveExtents(CascadeOp cascade, ArrayRef<int64_t> dims) {
  llvm::SmallSetVector<int64_t, 4> needed(dims.begin(), dims.end());
  for (auto reduce : cascade.getBody().front().getOps<ReduceOp>())
    needed.insert(reduce.getOver().begin(), reduce.getOver().end());
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  // And what inputs have inside expressions alone, where no state has it either: a
  // state has the dims that its operands depend on, none for a constant's sum.
  auto program = cast<IndexProgramOpInterface>(*cascade);
  FailureOr<DimSets> sets = DimSets::compute(program);
  for (AffineMap map : ArrayRef(maps).take_front(cascade.getInputs().size())) {
    SmallBitVector used = getDimsOf(map);
    for (unsigned d : used.set_bits())
      if (llvm::none_of(cascade.getBody().front().getOps<ReduceOp>(),
                        [&](ReduceOp reduce) {
                          return llvm::is_contained(reduce.getInto(), d) &&
                                 succeeded(sets) &&
                                 (*sets)[reduce.getOperand(0)].test(d);
                        }))
        needed.insert(d);
  }
  OpBuilder b(cascade);
  for (int64_t d : needed) {
    unsigned n = cascade.getInputs().size();
    AffineExpr dim = getAffineDimExpr(d, b.getContext());
    auto hasDim = [&](AffineMap map) {
      return llvm::is_contained(map.getResults(), dim);
    };
    if (llvm::any_of(ArrayRef(maps).take_front(n), hasDim))
      continue;
    OpFoldResult extent = getExtents(b, program)[d];
    if (!extent)
      continue;
    Value empty =
        tensor::EmptyOp::create(b, cascade.getLoc(), {extent}, b.getI1Type());
    cascade.getInputsMutable().append(empty);
    cascade.getBody().front().insertArgument(n, b.getI1Type(),
                                             cascade.getLoc());
    maps.insert(maps.begin() + n,
                AffineMap::get(maps[0].getNumDims(), 0, dim, b.getContext()));
    cascade.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  }
}

/// Folds have given up the order of the program's roundings. Those of sums to 16 bits,
/// which are only extended again, go with it: in all bodies, since what is folded and
/// what is finalised are the same values. Those that are written as well stay, and
/// those that decide something (redfuse-keep-roundings).
static void dropRoundings(ArrayRef<Block *> bodies) {
  SmallVector<arith::TruncFOp> dropped, written;
  for (Block *body : bodies)
    for (auto narrow : body->getOps<arith::TruncFOp>()) {
      auto sum = narrow.getIn().getDefiningOp<ReduceOp>();
      if (!sum || sum.getReducer() != Reducer::Add ||
          narrow.getType().getIntOrFloatBitWidth() != 16)
        continue;
      bool isExtended = llvm::all_of(narrow->getUsers(), [&](Operation *user) {
        return isa<arith::ExtFOp>(user) &&
               user->getResult(0).getType() == sum.getResult(0).getType();
      });
      bool mayDrop = isExtended && !narrow->hasAttr(kRoundsAttr);
      (mayDrop ? dropped : written).push_back(narrow);
    }
  auto sumOf = [](arith::TruncFOp narrow) {
    return narrow.getIn().getDefiningOp<ReduceOp>();
  };
  for (arith::TruncFOp narrow : dropped) {
    ReduceOp sum = sumOf(narrow);
    if (llvm::any_of(written, [&](arith::TruncFOp other) {
          return sumOf(other).getOver() == sum.getOver() &&
                 sumOf(other).getInto() == sum.getInto();
        }))
      continue;
    for (Operation *extend : llvm::make_early_inc_range(narrow->getUsers())) {
      extend->getResult(0).replaceAllUsesWith(narrow.getIn());
      extend->erase();
    }
    narrow.erase();
  }
}

namespace {
struct DerivePass : redfuse::impl::DeriveBase<DerivePass> {
  using DeriveBase::DeriveBase;

  void runOnOperation() override {
    if (lazy < 0 || lazy > kMaxLazy) {
      getOperation()->emitError() << "option 'lazy': expected 0 to " << kMaxLazy
                                  << " powers of 2, got " << lazy.getValue();
      return signalPassFailure();
    }
    SmallVector<CascadeOp> cascades;
    getOperation()->walk([&](CascadeOp op) { cascades.push_back(op); });
    numGroups = 0;
    auto start = std::chrono::steady_clock::now();
    for (CascadeOp cascade : cascades) {
      SmallVector<int64_t> dims;
      ScheduleAttr schedule = cascade.getScheduleAttr();
      if (schedule)
        dims.assign(schedule.getStream().begin(), schedule.getStream().end());
      if (!schedule && !over.empty())
        llvm::append_range(dims, over);
      if (dims.empty() && all)
        dims = getReducedDims(cascade);
      if (dims.empty())
        continue;
      llvm::sort(dims); // A schedule names the outermost loop first.
      if (!all && schedule && schedule.getKind() == ScheduleKind::Resident &&
          !schedule.getStream().empty()) {
        foldWhole(cascade, dims);
        continue;
      }
      giveExtents(cascade, dims);
      runOnCascade(cascade, dims);
    }
    if (!timed)
      return;
    auto taken = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - start);
    getOperation()->setAttr(
        kDeriveTimeAttr,
        Builder(&getContext()).getI64IntegerAttr(taken.count()));
  }

  /// Reduces to the state of the fold in one piece: nothing is carried.
  void foldWhole(CascadeOp cascade, ArrayRef<int64_t> dims) {
    IRRewriter rewriter(&getContext());
    SmallVector<RefusalReason> why;
    FailureOr<Derivation> derivation =
        derive(cascade, dims, why, optionsFor(cascade));
    if (succeeded(derivation) && derivation->scans.empty())
      cascade = rewriteWhole(rewriter, cascade, *derivation);
    keepWhole(cascade);
  }

  DerivationOptions optionsFor(CascadeOp cascade) {
    DerivationOptions options;
    options.strict = strict;
    options.approximate = approximate;
    ScheduleAttr schedule = cascade.getScheduleAttr();
    options.lazy = schedule && schedule.getLazy() ? schedule.getLazy() : lazy;
    return options;
  }

  void runOnCascade(CascadeOp cascade, ArrayRef<int64_t> dims) {
    IRRewriter rewriter(&getContext());
    DerivationOptions options = optionsFor(cascade);
    SmallVector<RefusalReason> why;
    FailureOr<PassPlan> plan = planPasses(cascade, dims, why, options);
    if (succeeded(plan))
      why = plan->barriers;
    for (const RefusalReason &reason : why)
      addRefusal(reason.op, reason.condition, reason.detail, reason.remedy);
    if (failed(plan) || !foldPasses(rewriter, cascade, dims, *plan, options))
      keepWhole(cascade);
  }

  /// Cuts the cascade and folds every part; false where a part has no merge on
  /// its own, and then nothing is changed.
  bool foldPasses(IRRewriter &rewriter, CascadeOp cascade,
                  ArrayRef<int64_t> dims, const PassPlan &plan,
                  const DerivationOptions &options) {
    DictionaryAttr info = describeCascade(cascade);
    SmallVector<CascadeOp> passes = cutAtBarriers(rewriter, cascade, plan);
    std::vector<Derivation> derivations;
    SmallVector<RefusalReason> why;
    for (CascadeOp pass : passes) {
      FailureOr<Derivation> derivation = derive(pass, dims, why, options);
      if (failed(derivation))
        break;
      derivations.push_back(std::move(*derivation));
    }
    bool isCut = passes.front() != cascade;
    if (derivations.size() != passes.size()) {
      addRefusal(cascade, "passes", why.front().detail, why.front().remedy);
      if (isCut)
        for (CascadeOp pass : llvm::reverse(passes))
          rewriter.eraseOp(pass);
      return false;
    }
    if (isCut)
      rewriter.replaceOp(cascade, passes.back().getResults());
    int64_t group = numGroups++;
    SmallVector<Block *> bodies;
    bool isOrdered = false;
    for (auto [i, pass] : llvm::enumerate(passes)) {
      auto [fold, finalize] = rewrite(rewriter, pass, derivations[i]);
      fold->setAttr(kInfoAttr, info);
      isOrdered |= fold.isOrdered();
      bodies.push_back(fold.getProgramBody());
      if (finalize)
        bodies.push_back(finalize.getProgramBody());
      if (!isCut)
        continue;
      auto tag = rewriter.getDenseI64ArrayAttr({group, int64_t(i)});
      fold->setAttr(kPassAttr, tag);
      if (finalize) // None where every result is written segment by segment.
        finalize->setAttr(kPassAttr, tag);
    }
    if (!strict && !isOrdered)
      dropRoundings(bodies);
    return true;
  }

  /// What has no merge, or needs none, is not streamed.
  void keepWhole(CascadeOp cascade) {
    ScheduleAttr schedule = cascade.getScheduleAttr();
    if (!schedule)
      return;
    SmallVector<int64_t> tiles(schedule.getTiles());
    for (int64_t d : schedule.getStream())
      tiles[d] = 0;
    cascade.setScheduleAttr(ScheduleAttr::get(
        &getContext(), ScheduleKind::Resident, schedule.getGrid(), tiles,
        ArrayRef<int64_t>(), schedule.getReason(), /*splits=*/0, /*lazy=*/0,
        schedule.getHints()));
  }

  int64_t numGroups = 0;
};
} // namespace
