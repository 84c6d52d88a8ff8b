//===- KernelInfo.h - what a kernel was made of -----------------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_UTILS_KERNELINFO_H
#define REDFUSE_DIALECT_REDFUSE_UTILS_KERNELINFO_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "llvm/ADT/Hashing.h"

namespace redfuse {

/// The attribute on a fold that remembers the cascade that it was.
inline constexpr llvm::StringLiteral kInfoAttr = "redfuse.info";

/// The attribute on the parts of a cascade that is folded in several passes: a
/// number of the cascade in its function, and that of the pass.
inline constexpr llvm::StringLiteral kPassAttr = "redfuse.pass";

/// The attribute of an op that rounds or saturates and may be taken for the
/// identity where that gives a merge. On a linalg op it is that of all ops in it.
inline constexpr llvm::StringLiteral kApproximateAttr = "redfuse.approximate";

/// The attribute on a launch whose kernel went, because another one does the same:
/// the name of the one that went.
inline constexpr llvm::StringLiteral kInsteadOfAttr = "redfuse.instead_of";

/// Whether only their operands set two launches apart, and not their number, types, or
/// which of them are the same value: code for one of them does for the other.
bool takeAlike(LaunchOp a, LaunchOp b);

/// Attributes of a kernel but its name, and what is told of it in explanations.
mlir::DictionaryAttr describeKernel(KernelOp kernel);

/// Of what is inside a kernel, whatever it is called and wherever it was written.
llvm::hash_code hashKernel(KernelOp kernel);

/// The attribute of a rounding to a narrower float that has to be applied, because
/// something discrete is made of the rounded value (redfuse-keep-roundings).
/// Roundings without it may be left out between operations of one kernel.
inline constexpr llvm::StringLiteral kRoundsAttr = "redfuse.rounds";
/// What a float is that is rounded to 16 bits and extended again by `extend`, where the
/// rounding decides nothing; null otherwise.
mlir::Value matchFreeRounding(mlir::Operation *extend);
/// Whether `v` is a factor of a sum of products: what it is rounded to is the type in
/// which it is multiplied.
bool isFactorOfSum(mlir::Value v);
/// That of a rounding of what has no more digits than it keeps: it changes nothing.
inline constexpr llvm::StringLiteral kExactAttr = "redfuse.exact";
/// That of a sum of two arguments which are the parts of an f32: a float of TF32, and
/// what is left.
inline constexpr llvm::StringLiteral kPartsAttr = "redfuse.parts";

/// A cascade as `explain` tells of it: `source`, the first source position;
/// `locations`, all of them; `stages`, a dictionary for each reduction (reducer,
/// over, into, type, location).
mlir::DictionaryAttr describeCascade(CascadeOp cascade);

/// How often a block goes over input `input` of `op` under `schedule`.
int64_t countPasses(IndexProgramOpInterface op, unsigned input,
                    ScheduleAttr schedule);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_UTILS_KERNELINFO_H
