//===- SharedLayout.h - what lies where in shared memory --------*- C++ -*-===//
//
// Shared memory of a block has, one behind the other: the ring of stages through which
// tiles pass, left operands that stay (`resident`), results on their way out (`staged`)
// or states that other blocks send, and barriers.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_SHAREDLAYOUT_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_SHAREDLAYOUT_H

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"

namespace redfuse {

/// A tile of a matrix: a box of a tensor map, in panels.
struct MatrixTile {
  MatrixSource source;
  tile::SharedType type;
  /// The sum runs along its rows.
  bool isByRows = false;
  /// The dims of its rows or columns, and of the sum.
  unsigned free = 0, sum = 0;
  /// More dims of the sum, of which a tile has one index each.
  llvm::SmallVector<unsigned, 2> outerSums;
  /// Which of the kernel's tensor maps describes it.
  unsigned map = 0;
  /// So many blocks of a cluster read it, and copy as many of its rows each.
  int64_t parts = 1;
  /// Rows that the tensor does not have, which copies leave out: they are zeros from the
  /// start on. (Copies fill them more slowly than rows from memory: with 8 of 64 rows, a step
  /// took twice as long.)
  int64_t absentRows = 0;

  int64_t bytes() const { return type.getBytes(); }
  int64_t rowsOfPart() const { return type.getRows() / parts; }
  /// Rows of the boxes that are copied, and bytes of all of them.
  int64_t rowsOfBox() const { return rowsOfPart() - absentRows; }
  int64_t copiedBytes() const {
    return bytes() / type.getRows() * (type.getRows() - absentRows);
  }
};

/// The tiles of a product that are loaded together.
struct ProductTiles {
  MatrixTile right;
  std::optional<MatrixTile> left;
  /// Loaded once for a tile of results: to registers, or into shared memory of
  /// its own, `residentAt` bytes from its start.
  std::optional<MatrixTile> kept;
  bool isResident = false;
  int64_t residentAt = 0;

  int64_t bytes() const { return right.bytes() + (left ? left->bytes() : 0); }
};

/// A result that leaves by way of shared memory, which has a tile for each warp.
struct StagedResult {
  MatrixTile tile;
  /// Copies of boxes write it; otherwise the warp does, some columns after the other.
  bool isBoxed = false;
  /// Which of the kernel's results it is.
  unsigned number = 0;
};

/// The first result that boxes of a tensor map can write, or whose rows no boxes can, of
/// which `bytes` have room for the tiles of all warps.
std::optional<StagedResult> findStagedResult(KernelOp kernel, LaunchOp launch,
                                             const KernelSpace &space,
                                             const MatrixPlan &plan,
                                             int64_t bytes);

struct SharedLayout {
  /// Of each product, in order.
  llvm::SmallVector<ProductTiles, 2> products;
  std::optional<StagedResult> staged;
  int64_t stages = 0, stageBytes = 0;
  /// The ring, or what takes its memory later: that may be more.
  int64_t ringBytes = 0;
  int64_t residentBytes = 0;
  /// What results are stored from, or what other blocks send.
  int64_t stagedBytes = 0;
  /// The plan's two blocks a multiprocessor find room.
  bool isHalf = false;

  /// Behind the ring's barriers: a word, barriers of the scheduler, of what stays and of
  /// what is received.
  static constexpr int64_t kControlBytes = 64;

  int64_t tileBytes() const { return ringBytes + residentBytes + stagedBytes; }
  /// With barriers, and what aligning the tiles may take.
  int64_t allBytes(const MatrixTarget &target) const {
    return tileBytes() + stages * 16 + kControlBytes +
           (target.hasWgmma ? 1024 : 0);
  }
};

/// Cuts shared memory into what the plan needs: as many stages as it asks for, or as
/// there is room for. None, and why, where there is too little.
std::optional<SharedLayout> layOutShared(KernelOp kernel, LaunchOp launch,
                                         const KernelSpace &space,
                                         const MatrixPlan &plan,
                                         std::string &why);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_SHAREDLAYOUT_H
