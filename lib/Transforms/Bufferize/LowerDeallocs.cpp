//===- LowerDeallocs.cpp - buffers that several values may own -------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERDEALLOCS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

struct CompareAndFree : OpRewritePattern<bufferization::DeallocOp> {
  using OpRewritePattern::OpRewritePattern;

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
    for (auto [i, owns] : llvm::enumerate(op.getConditions())) {
      Value isFreed = owns;
      for (Value kept : retained)
        isFreed = arith::AndIOp::create(rewriter, loc, isFreed,
                                        compare(P::ne, freed[i], kept));
      for (size_t before = 0; before < i; ++before) {
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
    RewritePatternSet patterns(&getContext());
    patterns.add<CompareAndFree>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
