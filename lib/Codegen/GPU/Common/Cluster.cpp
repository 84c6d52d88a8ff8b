//===- Cluster.cpp - blocks that run together -----------------------------===//
#include "redfuse/Codegen/GPU/Common/Cluster.h"

#include "redfuse/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

static void emitOrder(OpBuilder &b, Location loc, StringRef text,
                      StringRef constraints, ValueRange operands) {
  LLVM::InlineAsmOp::create(
      b, loc, TypeRange(), operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
}

void redfuse::emitClusterArrive(OpBuilder &b, Location loc) {
  emitOrder(b, loc, "barrier.cluster.arrive.relaxed.aligned;", "~{memory}", {});
}

void redfuse::emitClusterWait(OpBuilder &b, Location loc) {
  // A warp waits once, for all of its threads.
  emitOrder(b, loc, "bar.warp.sync -1;\nbarrier.cluster.wait.acquire.aligned;",
            "~{memory}", {});
}

void redfuse::emitClusterBarrier(OpBuilder &b, Location loc) {
  emitOrder(b, loc,
            "bar.warp.sync -1;\nbarrier.cluster.arrive.release.aligned;\n"
            "barrier.cluster.wait.acquire.aligned;",
            "~{memory}", {});
}

void redfuse::emitStoreInCluster(OpBuilder &b, Location loc, Value address,
                                 Value block, Value word) {
  Value there = redfuse::tile::AddressInOp::create(b, loc, address, block);
  emitOrder(b, loc, "st.shared::cluster.b32 [$0], $1;", "r,r,~{memory}",
            {there, word});
}

void redfuse::emitLaunchWait(OpBuilder &b, Location loc) {
  emitOrder(b, loc, "griddepcontrol.wait;", "~{memory}", {});
}

void redfuse::emitPause(OpBuilder &b, Location loc) {
  emitOrder(b, loc, "nanosleep.u32 0;", "", {});
}

void redfuse::emitPrefetch(OpBuilder &b, Location loc, Value pointer,
                           Value bytes) {
  emitOrder(b, loc, "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r",
            {pointer, bytes});
}

void redfuse::emitLaunchStart(OpBuilder &b, Location loc) {
  emitOrder(b, loc, "griddepcontrol.launch_dependents;", "~{memory}", {});
}
