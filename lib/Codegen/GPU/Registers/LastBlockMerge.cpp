//===- LastBlockMerge.cpp - one block merges the states of all ------------===//
#include "LastBlockMerge.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "redfuse/Codegen/GPU/Common/BlockCounters.h"

using namespace mlir;
using namespace redfuse;

/// The dims whose threads can share the merging of other blocks' states: they have no
/// elements of these of their own, but all have the same.
SmallVector<int64_t> LastBlockMerge::findSharingDims(FoldOp fold) const {
  unsigned bits = 0;
  SmallVector<AffineMap> maps = fold.getIndexingMapsArray();
  for (AffineMap map : ArrayRef(maps).drop_front(fold.getInputs().size()))
    for (unsigned d : getDimsOf(map).set_bits())
      bits |= layout.dims[d].getBits();
  SmallVector<int64_t> sharing;
  for (unsigned d = 0; d < space.numDims; ++d)
    if (!(layout.dims[d].getBits() & bits))
      sharing.push_back(d);
  return sharing;
}

/// Counts this block; whether all others of the tile have been counted.
Value LastBlockMerge::isLastOfTile(int64_t splits) {
  auto ask = scf::IfOp::create(b, loc, TypeRange{b.getI32Type()},
                               positions.isFirstThread(), /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ask.thenBlock());
    Value before = countBlock(b, loc, place.counters, place.tile, splits);
    scf::YieldOp::create(b, loc, before);
    b.setInsertionPointToStart(ask.elseBlock());
    scf::YieldOp::create(
        b, loc,
        arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0).getResult());
  }
  Value before = exchange.shareWord(ask.getResult(0));
  return arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::eq, before,
      arith::ConstantIntOp::create(b, loc, b.getI32Type(), splits - 1)
          .getResult());
}

void LastBlockMerge::merge(FoldOp fold, bool isForFirst) {
  int64_t splits = space.schedule.getSplits();
  int64_t words = states.countWords(fold);
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value first = arith::MulIOp::create(b, loc, place.tile, constant(splits));
  auto placeOf = [&](Value number) -> Value {
    Value at = arith::AddIOp::create(b, loc, first, number);
    return arith::MulIOp::create(b, loc, at, constant(words));
  };
  states.store(fold, place.workspace, placeOf(place.split));
  // What every thread has stored is there before the block counts as done.
  auto fence = [&] {
    LLVM::FenceOp::create(b, loc, LLVM::AtomicOrdering::acq_rel, "device");
  };
  fence();
  exchange.barrier();
  auto last =
      scf::IfOp::create(b, loc, isLastOfTile(splits), /*withElse=*/false);
  // All that follows is the last block's.
  b.setInsertionPoint(last.thenYield());
  fence();
  states.fill(fold);
  positions.setPrivate(findSharingDims(fold));
  int64_t strangers = int64_t(1) << llvm::popcount(positions.getPrivateBits());
  auto loop =
      scf::ForOp::create(b, loc, positions.getPrivateNumber(), constant(splits),
                         constant(strangers), states.take(fold));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    states.set(fold, SmallVector<Value>(loop.getRegionIterArgs()));
    states.mergeWith(fold, states.load(fold, place.workspace,
                                       placeOf(loop.getInductionVar())));
    scf::YieldOp::create(b, loc, states.take(fold));
  }
  states.set(fold, SmallVector<Value>(loop.getResults()));
  states.merge(fold, isForFirst);
}
