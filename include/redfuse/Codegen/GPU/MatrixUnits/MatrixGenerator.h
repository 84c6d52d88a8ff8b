//===- MatrixGenerator.h - kernels on matrix units --------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_MATRIXGENERATOR_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_MATRIXGENERATOR_H

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/PlannedMatrix.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace redfuse {

/// Generates the function of one kernel as it is planned, and puts its launch in the
/// place of `launch`.
///
/// Where there are warpgroups (sm_90a), one warp, the producer, loads tiles of all
/// matrices into one ring of stages in shared memory, in the order in which they are
/// used; warpgroups of 64 rows each, the consumers, multiply. A block takes one tile of
/// the grid after another. Elsewhere all warps do both, for one tile of the grid
/// (WarpCopies.h has the rules).
///
/// What keeps this free of races; redfuse-lower-tiles checks it as far as it can follow
/// stages:
/// 1. The rules of the ring (TilePipeline.h).
/// 2. Accumulators and packed operands are touched after a wait for the products
///    that have them; such a wait takes and gives them.
/// 3. All four warps of a warpgroup reach every product: nothing that differs
///    between threads decides about one.
/// 4. What blocks of a cluster exchange has its own rules (SumMerge.h,
///    ClusterExchange.h).
/// 5. What stays in shared memory for a tile of results has a pair of barriers like
///    a stage, whose phase is over once a tile; its place is free after the last
///    product that reads it.
/// 6. A warp writes its part of shared memory for results after its last copy from
///    there has been read, and ends after its last one, too (Epilogue.h).
/// 7. Where tiles are taken from a dynamic scheduler, one thread asks for the next while this
///    one is in work; producer and consumer warps read every answer once, before
///    it is overwritten, the last one (no tile) too. A launch asks as often as it
///    has tiles, so that the counter is zero again at its end.
/// 8. A warpgroup that begins with a later step waits for the stages before to be
///    full, too, and gives them back: an arrival before would count for the phase
///    before.
/// 9. Where two warpgroups take turns both have the same steps, and every turn that
///    is passed is taken, the last one after all tiles (PingPong.h).
mlir::LogicalResult generateOnMatrixUnits(KernelOp kernel, LaunchOp launch,
                                          const KernelSpace &space,
                                          PlannedMatrix planned, int64_t units,
                                          mlir::gpu::GPUModuleOp module,
                                          llvm::StringRef name);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_MATRIXGENERATOR_H
