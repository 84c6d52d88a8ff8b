//===- LowerTileBarriers.cpp - barriers and rings in shared memory --------===//
//
// Inline PTX rather than nvvm.mbarrier ops: those take pointers, and addresses of
// 64 bits cost the registers of the threads that load.
//
//===----------------------------------------------------------------------===//
#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace redfuse;
using namespace redfuse::tile;

/// Bytes of the two barriers of a stage.
static constexpr int64_t kBarrierBytes = 8;

namespace {

/// A barrier or a tile is its address.
template <typename OpTy>
struct LowerAddress : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getAddress());
    return success();
  }
};

struct LowerRing : OpConversionPattern<RingOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(RingOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts{adaptor.getTiles(), adaptor.getBarriers()};
    rewriter.replaceOpWithMultiple(op, ArrayRef{ValueRange(parts)});
    return success();
  }
};

/// `full` and `empty`.
template <typename OpTy>
struct LowerRingBarrier : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;
  using OneToN = typename OpConversionPattern<OpTy>::OneToNOpAdaptor;
  LogicalResult matchAndRewrite(OpTy op, OneToN adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value stage = adaptor.getStage().front(), base = adaptor.getRing()[1];
    Value full = addI32(b, loc, base, mulI32(b, loc, stage, 2 * kBarrierBytes));
    b.replaceOp(op, std::is_same_v<OpTy, FullOp>
                        ? full
                        : addI32(b, loc, full, kBarrierBytes));
    return success();
  }
};

struct LowerStage : OpConversionPattern<StageOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StageOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value start = addI32(b, loc, adaptor.getRing()[0],
                         mulI32(b, loc, adaptor.getStage().front(),
                                op.getRing().getType().getBytes()));
    b.replaceOp(op, addI32(b, loc, start, op.getOffset()));
    return success();
  }
};

struct LowerAdvance : OpConversionPattern<AdvanceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(AdvanceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value next = addI32(b, loc, adaptor.getStage().front(), 1);
    Value wraps = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::eq, next,
        constantI32(b, loc, op.getRing().getType().getStages()));
    Value flip = arith::ExtUIOp::create(b, loc, b.getI32Type(), wraps);
    Value stage =
        arith::SelectOp::create(b, loc, wraps, constantI32(b, loc, 0), next);
    Value phase =
        arith::XOrIOp::create(b, loc, adaptor.getPhase().front(), flip);
    b.replaceOp(op, {stage, phase});
    return success();
  }
};

} // namespace

void tile::populateBarrierPatterns(const TypeConverter &types,
                                   RewritePatternSet &patterns) {
  patterns.add<LowerAddress<BarrierOp>, LowerAddress<ViewOp>, LowerRing,
               LowerRingBarrier<FullOp>, LowerRingBarrier<EmptyOp>, LowerStage,
               LowerAdvance>(types, patterns.getContext());
  auto call = [](StringRef text, Value barrier, Value other) -> PtxCall {
    return {text.str(), "r,r", {barrier, other}};
  };
  addPtxPattern<InitBarrierOp>(
      types, patterns,
      [=](InitBarrierOp op, InitBarrierOp::Adaptor adaptor, OpBuilder &b) {
        return call("mbarrier.init.shared::cta.b64 [$0], $1;",
                    adaptor.getBarrier(),
                    constantI32(b, op.getLoc(), op.getArrivals()));
      });
  addPtxPattern<FenceBarriersOp>(types, patterns,
                                 "fence.mbarrier_init.release.cluster;");
  addPtxPattern<WaitBarrierOp>(
      types, patterns,
      [=](WaitBarrierOp, WaitBarrierOp::Adaptor adaptor, OpBuilder &) {
        return call("{\n.reg .pred p;\nL_WAIT:\n"
                    "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n"
                    "@p bra L_DONE;\nbra L_WAIT;\nL_DONE:\n}",
                    adaptor.getBarrier(), adaptor.getParity());
      });
  addPtxPattern<ArriveOp>(
      types, patterns,
      [=](ArriveOp op, ArriveOp::Adaptor adaptor, OpBuilder &b) -> PtxCall {
        if (Value rank = adaptor.getRank())
          return {"{\n.reg .pred p;\n.reg .b32 block, there;\n"
                  "setp.lt.u32 p, $1, $3;\n"
                  "xor.b32 block, $1, $2;\n"
                  "@p mapa.shared::cluster.u32 there, $0, block;\n"
                  "@p mbarrier.arrive.shared::cluster.b64 _, "
                  "[there];\n}",
                  "r,r,r,r",
                  {adaptor.getBarrier(), adaptor.getLane(), rank,
                   constantI32(b, op.getLoc(), op.getBlocks())}};
        return call("{\n.reg .pred p;\nsetp.eq.u32 p, $1, 0;\n"
                    "@p mbarrier.arrive.shared::cta.b64 _, [$0];\n}",
                    adaptor.getBarrier(), adaptor.getLane());
      });
  addPtxPattern<ExpectOp>(
      types, patterns,
      [=](ExpectOp op, ExpectOp::Adaptor adaptor, OpBuilder &b) {
        return call("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
                    adaptor.getBarrier(),
                    constantI32(b, op.getLoc(), op.getBytes()));
      });
}
