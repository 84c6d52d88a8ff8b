//===- ContractionPlan.h - a sum of products in tiles -----------*- C++ -*-===//
//
// A kernel that is one sum of products and what is computed of it element by element
// is generated with tiles of both operands in shared memory. The plan says how large the
// tiles are; nothing else depends on the processor.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONPLAN_H
#define REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONPLAN_H

#include "redfuse/Codegen/Common/SoleContraction.h"

namespace redfuse {

/// On a launch, by redfuse-plan-contractions: a #redfuse.contraction_plan.
inline constexpr llvm::StringLiteral kContractionAttr = "redfuse.contraction";

/// Finds the contraction of a kernel, in a space without a schedule. Nothing, and why,
/// where the kernel is something else or no instruction makes it.
std::optional<FoundContraction>
findContraction(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                const Chip &chip, std::string &why);

/// The memory that a launch gives for an argument of the kernel's one op; nothing where
/// it is no argument of the kernel.
mlir::Value memoryInLaunch(mlir::BlockArgument argument,
                           IndexProgramOpInterface op, LaunchOp launch);
mlir::MemRefType typeInLaunch(mlir::BlockArgument argument,
                              IndexProgramOpInterface op, LaunchOp launch);

/// An operand that is what is in memory: elements of an argument, or zero where
/// `inside`, which depends on positions alone, does not hold (padding).
struct CopiedOperand {
  mlir::BlockArgument source;
  /// Where `source` is the large part of an f32: the small one.
  mlir::BlockArgument rest = {};
  mlir::Value inside;
  /// It is rounded to TF32 when it is multiplied, or has been before.
  bool isRounded = false, isExact = false;
};

/// Both operands, if threads may start copies of all their elements: floats of 32 bits
/// of known places, of a window or rounded to TF32. (Plain products in f32 take three
/// instructions where these take one, and do not wait.)
std::optional<std::pair<CopiedOperand, CopiedOperand>>
findCopiedOperands(const FoundContraction &found, LaunchOp launch);

/// Both operands, if a unit of warpgroups reads them as they are: in vectors of 16 bytes
/// along a dim of the sum, and of TF32, or parts of TF32, where they are f32.
struct WarpgroupOperands {
  CopiedOperand left, right;
  unsigned sum;
  bool haveParts() const { return bool(left.rest); }
};
std::optional<WarpgroupOperands>
findWarpgroupOperands(const FoundContraction &found, LaunchOp launch,
                      const KernelSpace &space);

/// The index of an argument in 32 bits as a sum of multiples of dims, of which some are
/// taken modulo a number before. Nothing where it is something else, or may not fit.
struct FlatIndex {
  struct Wrapped {
    llvm::SmallVector<int64_t> factors;
    int64_t modulus, stride;
  };
  /// Of each dim, and a constant.
  llvm::SmallVector<int64_t> factors;
  llvm::SmallVector<Wrapped> wrapped;
  int64_t offset = 0, last = 0;
};
std::optional<FlatIndex> findFlatIndex(mlir::MemRefType type,
                                       mlir::AffineMap map);

/// Elements along a dim that lie at a multiple of their size, at most `width`.
int64_t alignedWidth(const FlatIndex &index, unsigned dim, int64_t width);

/// Blocks of warpgroups that run at a time on a multiprocessor: `columns` are those of a
/// warpgroup, `bytes` of shared memory a block's.
int64_t countResident(int64_t threads, int64_t columns, int64_t bytes);

/// The tiles that take the least time of so many multiprocessors; nothing where others
/// are better.
std::optional<ContractionPlanAttr>
planContraction(const FoundContraction &found, LaunchOp launch,
                const KernelSpace &space, int64_t units, const Chip &chip);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONPLAN_H
