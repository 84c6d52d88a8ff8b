//===- ExchangeLayout.h - what blocks of a tile exchange --------*- C++ -*-===//
//
// Blocks that share a tile of results exchange partial sums (`sum_splits`) or the states
// of their splits of the streamed dim. Here is where these lie: in the memory that
// the ring had, in shared memory of its own, or in a workspace in global memory.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_EXCHANGELAYOUT_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_EXCHANGELAYOUT_H

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/FragmentLayout.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

namespace redfuse {

/// Partial sums of products, each block's in its own shared memory.
class PartialSumLayout {
public:
  explicit PartialSumLayout(const MatrixPlan &plan) : plan(plan) {}

  /// Bytes of a row of a product's sums, and where those of a product start.
  int64_t stride(unsigned product) const;
  int64_t offset(unsigned product) const;
  /// Of all products.
  int64_t bytes() const { return offset(plan.products.size()); }

private:
  const MatrixPlan &plan;
};

/// States of a fold. Every block of a cluster merges a part of the rows, and receives
/// them from all blocks; a workspace has the states of all clusters.
class StateLayout {
public:
  StateLayout(const MatrixPlan &plan, const KernelSpace &space)
      : plan(plan), space(space) {}

  /// A layout in which all warps of the block have some of that many rows.
  FragmentLayout layoutOfRows(int64_t rows) const;
  /// The same of all rows of a tile of results that exist.
  FragmentLayout layoutOfTile() const { return layoutOfRows(rowsOfTile()); }
  /// Rows of a tile of results that each block of a cluster merges, and the layout
  /// in which it does.
  int64_t rowsOfMerge() const;
  FragmentLayout layoutOfMerge() const;

  /// Bytes of a row of a state that is received.
  int64_t receivedStride(unsigned state) const;
  /// Whether a thread sends the columns of two neighbouring groups of eight at once.
  bool isSentByFours(unsigned state) const {
    return receivedStride(state) % 64 == 0;
  }
  /// Where a state of the blocks' rows starts.
  int64_t receivedOffset(unsigned state) const;
  /// Of all states; 0 where nothing is received.
  int64_t receivedBytes() const;
  /// Much of it takes the ring's memory, after all blocks are done with theirs.
  bool isReceivedInRing() const { return receivedBytes() > kMostBesideRing; }

  /// Where a state is in a cluster's part of the workspace, and the bytes of such a
  /// part.
  int64_t storedOffset(unsigned state) const;
  int64_t storedBytes() const;

private:
  int64_t rowsOfTile() const {
    return std::min(space.staticExtents[plan.m], plan.rows());
  }

  const MatrixPlan &plan;
  const KernelSpace &space;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_EXCHANGELAYOUT_H
