//===- LowerDeallocs.cpp - buffers that several values may own ------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERDEALLOCS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

/// Which buffers a value may be: allocations, and (as no value) arguments of
/// functions, which may be one buffer.
class BufferOrigins {
public:
  explicit BufferOrigins(Operation *op) : flow(op) {}

  /// None if it may be others, too.
  std::optional<DenseSet<Value>> of(Value memref) const {
    while (auto parts =
               memref.getDefiningOp<memref::ExtractStridedMetadataOp>())
      memref = parts.getSource();
    DenseSet<Value> origins;
    for (Value from : flow.resolveReverse(memref)) {
      if (!flow.mayBeTerminalBuffer(from))
        continue;
      auto argument = dyn_cast<BlockArgument>(from);
      if (!from.getDefiningOp<memref::AllocOp>() &&
          !(argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
            argument.getOwner()->isEntryBlock()))
        return std::nullopt;
      origins.insert(argument ? Value() : from);
    }
    return origins;
  }

private:
  BufferViewFlowAnalysis flow;
};

/// For each buffer of a list, those in front of it that may be the same.
class Rivals {
public:
  /// The places of those that `memref` may be, in order; it is the next of the list.
  SmallVector<size_t> add(const BufferOrigins &origins, Value memref) {
    size_t place = count++;
    std::optional<DenseSet<Value>> own = origins.of(memref);
    SmallVector<size_t> found;
    if (!own) {
      llvm::append_range(found, llvm::seq<size_t>(0, place));
      unknown.push_back(place);
      return found;
    }
    found = unknown;
    for (Value origin : *own) {
      llvm::append_range(found, byOrigin[origin]);
      byOrigin[origin].push_back(place);
    }
    llvm::sort(found);
    found.erase(llvm::unique(found), found.end());
    return found;
  }

private:
  size_t count = 0;
  DenseMap<Value, SmallVector<size_t>> byOrigin;
  SmallVector<size_t> unknown;
};

struct CompareAndFree : OpRewritePattern<bufferization::DeallocOp> {
  CompareAndFree(MLIRContext *context, const BufferOrigins &origins)
      : OpRewritePattern(context), origins(origins) {}

  const BufferOrigins &origins;

  LogicalResult matchAndRewrite(bufferization::DeallocOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getMemrefs().size() < 2)
      return rewriter.notifyMatchFailure(
          op, "upstream's lowering takes one buffer as well");
    if (!llvm::all_of(ValueRange(op->getOperands()).getTypes(), [](Type type) {
          return isa<MemRefType>(type) || type.isInteger(1);
        }))
      return rewriter.notifyMatchFailure(op, "a buffer has no rank");
    Location loc = op.getLoc();
    auto pointers = [&](ValueRange memrefs) {
      return llvm::map_to_vector(memrefs, [&](Value memref) -> Value {
        return memref::ExtractAlignedPointerAsIndexOp::create(rewriter, loc,
                                                              memref);
      });
    };
    auto compare = [&](arith::CmpIPredicate how, Value x, Value y) -> Value {
      return arith::CmpIOp::create(rewriter, loc, how, x, y);
    };
    using P = arith::CmpIPredicate;
    SmallVector<Value> freed = pointers(op.getMemrefs()),
                       retained = pointers(op.getRetained());
    // Of owners of one buffer the first frees it, and none where it is retained.
    SmallVector<Value> frees;
    Rivals rivals;
    for (auto [i, owns] : llvm::enumerate(op.getConditions())) {
      Value isFreed = owns;
      for (Value kept : retained)
        isFreed = arith::AndIOp::create(rewriter, loc, isFreed,
                                        compare(P::ne, freed[i], kept));
      for (size_t before : rivals.add(origins, op.getMemrefs()[i])) {
        Value isOther = compare(P::ne, freed[i], freed[before]);
        Value wasKept =
            arith::XOrIOp::create(rewriter, loc, frees[before],
                                  arith::ConstantIntOp::create(
                                      rewriter, loc, rewriter.getI1Type(), 1));
        isFreed = arith::AndIOp::create(
            rewriter, loc, isFreed,
            arith::OrIOp::create(rewriter, loc, isOther, wasKept));
      }
      frees.push_back(isFreed);
    }
    // What is retained is owned by whoever owned one of its names.
    SmallVector<Value> owned;
    for (Value kept : retained) {
      Value isOwned;
      for (auto [pointer, owns] : llvm::zip_equal(freed, op.getConditions())) {
        Value isThis = arith::AndIOp::create(rewriter, loc, owns,
                                             compare(P::eq, pointer, kept));
        isOwned = isOwned ? arith::OrIOp::create(rewriter, loc, isOwned, isThis)
                                .getResult()
                          : isThis;
      }
      owned.push_back(isOwned);
    }
    for (auto [memref, isFreed] : llvm::zip_equal(op.getMemrefs(), frees))
      scf::IfOp::create(rewriter, loc, isFreed,
                        [memref = memref](OpBuilder &b, Location loc) {
                          memref::DeallocOp::create(b, loc, memref);
                          scf::YieldOp::create(b, loc);
                        });
    rewriter.replaceOp(op, owned);
    return success();
  }
};

struct LowerDeallocs : redfuse::impl::LowerDeallocsBase<LowerDeallocs> {
  void runOnOperation() override {
    BufferOrigins origins(getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<CompareAndFree>(&getContext(), origins);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
