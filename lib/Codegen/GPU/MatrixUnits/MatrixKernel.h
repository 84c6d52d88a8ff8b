//===- MatrixKernel.h - what the parts of a generator share -----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_MATRIXKERNEL_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_MATRIXKERNEL_H

#include "FragmentEmitter.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/PlannedMatrix.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/StreamMasks.h"

namespace redfuse {

/// What the function of a kernel gets from its launch.
struct KernelArguments {
  /// Tiles of the grid, and how many every block has at least.
  mlir::Value tiles, rounds;
  /// The tensor maps, as the layout numbers them.
  llvm::SmallVector<mlir::Value> maps;
  /// Memory of its own: states of clusters; counters of tiles, or of the scheduler.
  mlir::Value workspace, counters;
};

/// Which thread of the block this is (i32).
struct ThreadIds {
  mlir::Value thread, warp;
  /// The warpgroup, of those that multiply.
  mlir::Value consumer;
};

/// Where blocks share tiles: the block's tile, and which of its blocks it is; by
/// clusters: which cluster of the tile, and which of its blocks (index).
struct BlockIds {
  mlir::Value tile, rank, inGroups, inCluster;
  /// Where blocks copy for each other: the block's number in the cluster (i32), and the
  /// place of its tile along the rows and the columns of the cluster's tiles (index).
  mlir::Value rankInCluster, clusterRow, clusterColumn;
};

/// A kernel that is generated: what it is made of, how it is planned, and the values
/// that all parts of the generator use.
struct MatrixKernel {
  MatrixKernel(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
               PlannedMatrix planned, int64_t units);

  /// What the parts ask of the body; before any of them is used.
  mlir::LogicalResult analyse();

  KernelOp kernel;
  LaunchOp launch;
  const KernelSpace &space;
  MatrixPlan plan;
  SharedLayout layout;
  /// Multiprocessors.
  int64_t units;
  /// Products of inputs alone, and those that are added to states.
  llvm::SmallVector<unsigned> firstProducts, secondProducts;
  /// Which dims the values of the body, and of the finalisation, depend on.
  std::optional<DimSets> stepSets, finalSets;
  llvm::SmallVector<StreamMask> masks;

  mlir::OpBuilder b;
  mlir::Location loc;
  Ptx ptx;
  FragmentPlace place;
  FragmentMemory memory;
  FragmentEmitter emitter;

  KernelArguments arguments;
  ThreadIds ids;
  BlockIds block;
};

/// A part of the generator: short names for what all of them use.
class KernelPart {
protected:
  explicit KernelPart(MatrixKernel &of)
      : of(of), plan(of.plan), layout(of.layout), space(of.space), b(of.b),
        loc(of.loc), ptx(of.ptx), place(of.place), memory(of.memory),
        emitter(of.emitter) {}

  mlir::Value index(int64_t value);
  /// An i32 of an index, and the other way round.
  mlir::Value toWord(mlir::Value v);
  mlir::Value toIndex(mlir::Value v);
  /// What `then` makes is done where the condition holds.
  void when(mlir::Value condition, llvm::function_ref<void()> then);
  /// By one thread of the block.
  void byThread(int64_t number, llvm::function_ref<void()> body);

  MatrixKernel &of;
  MatrixPlan &plan;
  const SharedLayout &layout;
  const KernelSpace &space;
  mlir::OpBuilder &b;
  mlir::Location loc;
  Ptx &ptx;
  FragmentPlace &place;
  FragmentMemory &memory;
  FragmentEmitter &emitter;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_MATRIXKERNEL_H
