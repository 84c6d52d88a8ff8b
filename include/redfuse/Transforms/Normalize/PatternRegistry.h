//===- PatternRegistry.h - named sets of rewrite patterns -------*- C++ -*-===//
//-*-===//
//
// Rewrites that users can pick by name (`redfuse.rewrite(module,
// patterns=[...])`). A file that defines patterns registers them under a name
// when the library is loaded:
//
//   static redfuse::RegisterPatternSet reg(
//       "fold-reshapes", "fold reshapes into the maps of cascades",
//       populateFoldReshapePatterns);
//
//===-----------------------------------------------------------------------===//
#ifndef REDFUSE_TRANSFORMS_NORMALIZE_PATTERNREGISTRY_H
#define REDFUSE_TRANSFORMS_NORMALIZE_PATTERNREGISTRY_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Support/LLVM.h"

#include <functional>
#include <string>
#include <vector>

namespace redfuse {

using PopulatePatterns = std::function<void(mlir::RewritePatternSet &)>;

struct PatternSetInfo {
  std::string name;
  std::string summary;
  PopulatePatterns populate;
};

/// Registers a set of patterns under a name, which must be free.
void registerPatternSet(llvm::StringRef name, llvm::StringRef summary,
                        PopulatePatterns populate);

/// All registered sets, sorted by name.
std::vector<const PatternSetInfo *> registeredPatternSets();

/// The set of that name, or null.
const PatternSetInfo *findPatternSet(llvm::StringRef name);

/// One application of a pattern that changed the program.
struct FiredPattern {
  std::string pattern;
  std::string op;
  mlir::Location loc;
};

/// Applies the named sets greedily to `op` until nothing changes, or
/// `maxIterations` are done (0 or less: no limit). Appends what fired, in
/// order, to `trace`. Fails with a diagnostic if a name is unknown or the
/// limit was reached before a fixed point.
mlir::LogicalResult applyPatternSets(mlir::Operation *op,
                                     llvm::ArrayRef<llvm::StringRef> names,
                                     int64_t maxIterations,
                                     std::vector<FiredPattern> &trace);

/// Registers a set from a static object.
struct RegisterPatternSet {
  RegisterPatternSet(llvm::StringRef name, llvm::StringRef summary,
                     PopulatePatterns populate) {
    registerPatternSet(name, summary, std::move(populate));
  }
};

} // namespace redfuse

#endif // REDFUSE_TRANSFORMS_NORMALIZE_PATTERNREGISTRY_H
