//===- Refusal.h - why something was not fused ------------------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_UTILS_REFUSAL_H
#define REDFUSE_DIALECT_REDFUSE_UTILS_REFUSAL_H

#include "mlir/IR/Operation.h"

namespace redfuse {

/// The attribute on a function that lists its refusals: an array of
/// dictionaries of strings: op, condition, detail, remedy, location.
inline constexpr llvm::StringLiteral kRefusedAttr = "redfuse.refused";

/// Adds an entry about `op` to the function around it. `condition` names the
/// rule that failed in a word or two, `detail` says with what, `remedy` what
/// would make it work. An entry that is there already is not added again.
void addRefusal(mlir::Operation *op, llvm::StringRef condition,
                const llvm::Twine &detail, llvm::StringRef remedy);

/// Removes all entries with this condition (a pass that runs again decides
/// anew).
void clearRefusals(mlir::Operation *function, llvm::StringRef condition);

/// `file:line:col` of the first source position in a location, or its text
/// where it has none.
std::string describeLocation(mlir::Location loc);

/// What an assertion of the compiler's own says when a program runs:
/// `file:line:col: tensor.extract: what`.
std::string describeFailure(mlir::Operation *op, const llvm::Twine &what);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_UTILS_REFUSAL_H
