//===- PatternRegistry.cpp - named sets of rewrite patterns ---------------===//
#include "redfuse/Transforms/Normalize/PatternRegistry.h"

#include "mlir/IR/Operation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <map>

using namespace mlir;
using namespace redfuse;

// Ordered, so that users see the names sorted; a function-local static, because
// sets register themselves from static objects of other files.
static std::map<std::string, PatternSetInfo> &registry() {
  static std::map<std::string, PatternSetInfo> sets;
  return sets;
}

void redfuse::registerPatternSet(StringRef name, StringRef summary,
                                 PopulatePatterns populate) {
  bool added =
      registry()
          .try_emplace(name.str(), PatternSetInfo{name.str(), summary.str(),
                                                  std::move(populate)})
          .second;
  if (!added)
    llvm::report_fatal_error("two pattern sets have the name " + name);
}

std::vector<const PatternSetInfo *> redfuse::registeredPatternSets() {
  std::vector<const PatternSetInfo *> result;
  for (const auto &entry : registry())
    result.push_back(&entry.second);
  return result;
}

const PatternSetInfo *redfuse::findPatternSet(StringRef name) {
  auto it = registry().find(name.str());
  return it == registry().end() ? nullptr : &it->second;
}

namespace {
/// Notes each pattern that succeeds. The root is described before the pattern
/// runs, because it may be gone afterwards. Patterns can nest.
struct TraceListener : RewriterBase::Listener {
  explicit TraceListener(std::vector<FiredPattern> &trace) : trace(trace) {}

  void notifyPatternBegin(const Pattern &pattern, Operation *op) override {
    open.push_back({pattern.getDebugName().str(),
                    op->getName().getStringRef().str(), op->getLoc()});
  }

  void notifyPatternEnd(const Pattern &, LogicalResult status) override {
    if (open.empty())
      return;
    if (succeeded(status))
      trace.push_back(std::move(open.back()));
    open.pop_back();
  }

  std::vector<FiredPattern> &trace;
  std::vector<FiredPattern> open;
};
} // namespace

LogicalResult redfuse::applyPatternSets(Operation *op,
                                        ArrayRef<StringRef> names,
                                        int64_t maxIterations,
                                        std::vector<FiredPattern> &trace) {
  RewritePatternSet patterns(op->getContext());
  for (StringRef name : names) {
    const PatternSetInfo *set = findPatternSet(name);
    if (!set) {
      std::vector<std::string> known;
      for (const PatternSetInfo *info : registeredPatternSets())
        known.push_back(info->name);
      return op->emitError("unknown pattern set '")
             << name << "'; registered are: "
             << (known.empty() ? "none" : llvm::join(known, ", "));
    }
    set->populate(patterns);
  }
  TraceListener listener(trace);
  GreedyRewriteConfig config;
  config.setListener(&listener);
  config.setMaxIterations(maxIterations > 0 ? maxIterations
                                            : GreedyRewriteConfig::kNoLimit);
  if (failed(applyPatternsGreedily(op, std::move(patterns), config)))
    return op->emitError("the patterns did not reach a fixed point within ")
           << maxIterations << " iterations";
  return success();
}
