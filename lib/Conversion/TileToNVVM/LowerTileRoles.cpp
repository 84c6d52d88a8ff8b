//===- LowerTileRoles.cpp - roles of warps, and who waits for whom --------===//
#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;
using namespace redfuse::tile;

namespace {

/// A chain of conditions on the warp's number, the last role without one.
struct LowerRoles : OpConversionPattern<RolesOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(RolesOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    size_t count = op.getBodies().size();
    int64_t end = 0;
    // Puts role `i` before the insertion point.
    auto place = [&](size_t i) {
      if (auto budgets = op.getBudgets()) {
        int64_t budget = (*budgets)[i], had = *op.getRegisters();
        if (budget != had)
          emitPtx(b, loc,
                  llvm::formatv("setmaxnreg.{0}.sync.aligned.u32 {1};",
                                budget > had ? "inc" : "dec", budget)
                      .str(),
                  "", {});
      }
      Block *body = &op.getBodies()[i].front();
      b.inlineBlockBefore(body, b.getInsertionBlock(), b.getInsertionPoint());
    };
    OpBuilder::InsertionGuard guard(b);
    for (size_t i = 0; i + 1 < count; ++i) {
      end += op.getWarps()[i];
      Value isOurs =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                adaptor.getWarp(), constantI32(b, loc, end));
      auto branch = scf::IfOp::create(b, loc, isOurs, /*withElse=*/true);
      b.setInsertionPoint(branch.thenYield());
      place(i);
      b.setInsertionPoint(branch.elseYield());
    }
    place(count - 1);
    b.eraseOp(op);
    return success();
  }
};

} // namespace

/// Named barriers: their number and their threads are constants.
template <typename OpTy>
static void addNamedBarrier(const TypeConverter &types,
                            RewritePatternSet &patterns, const char *text) {
  addPtxPattern<OpTy>(
      types, patterns,
      [text](OpTy op, typename OpTy::Adaptor, OpBuilder &b) -> PtxCall {
        return {text,
                "n,n",
                {constantI32(b, op.getLoc(), op.getBarrier()),
                 constantI32(b, op.getLoc(), op.getThreads())}};
      });
}

void tile::populateRolePatterns(const TypeConverter &types,
                                RewritePatternSet &patterns) {
  patterns.add<LowerRoles>(types, patterns.getContext());
  // A warp arrives once: a thread that comes later must not arrive again.
  addPtxPattern<SynchronizeClusterOp>(
      types, patterns,
      "bar.warp.sync -1;\nbarrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;");
  addNamedBarrier<SynchronizeOp>(types, patterns, "bar.sync $0, $1;");
  addNamedBarrier<NotifyOp>(types, patterns, "bar.arrive $0, $1;");
}
