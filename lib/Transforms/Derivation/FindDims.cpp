//===- FindDims.cpp - redfuse-find-dims: the dims of a program ------------===//
#include "redfuse/Analysis/MaskedReductions.h"
#include "redfuse/Analysis/StreamedDim.h"
#include "redfuse/Transforms/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_FINDDIMS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// What is along a dim: "parallel" for nothing, "reduced", "prefixes" where a scan
/// goes along it.
static StringRef kindOfDim(func::FuncOp func, const StreamedDim &dim) {
  bool isReduced = false;
  for (Operation &op : func.getBody().front())
    if (Operation *walk = dim.findWalk(&op)) {
      if (isa<ScanOp>(walk))
        return "prefixes";
      isReduced = true;
    }
  return isReduced ? "reduced" : "parallel";
}

/// Whether a body asks for positions along the dim, or a constant has it.
static bool countsPositions(func::FuncOp func, const StreamedDim &dim) {
  bool found = false;
  for (Operation &op : func.getBody().front()) {
    if (op.hasTrait<OpTrait::ConstantLike>() && dim.find(op.getResult(0)))
      found |= !op.getResult(0).use_empty();
    std::optional<unsigned> t = dim.getDimOf(&op);
    if (t)
      op.walk([&](IndexOp index) { found |= index.getDim() == *t; });
  }
  return found;
}

static Attribute describeDim(func::FuncOp func, OpBuilder &b, unsigned argument,
                             unsigned axis, const StreamedDim *dim,
                             const StreamedDim::Obstacle &why) {
  auto entry = [&](StringRef name, Attribute value) {
    return b.getNamedAttr(name, value);
  };
  if (!dim)
    return b.getDictionaryAttr(
        {entry("arguments",
               b.getArrayAttr(b.getDenseI64ArrayAttr({argument, axis, 1}))),
         entry("kind", b.getStringAttr("refused")),
         entry("reason", b.getStringAttr(why.reason))});
  SmallVector<Attribute> arguments;
  for (auto [number, at] : dim->getArguments())
    arguments.push_back(b.getDenseI64ArrayAttr(
        {number, at, dim->find(func.getArgument(number))->scale}));
  SmallVector<int64_t> results, scales;
  for (Value v : func.getBody().front().getTerminator()->getOperands()) {
    auto has = dim->find(v);
    results.push_back(has ? int64_t(has->position) : -1);
    scales.push_back(has ? has->scale : 1);
  }
  auto type = cast<RankedTensorType>(func.getArgument(argument).getType());
  return b.getDictionaryAttr(
      {entry("arguments", b.getArrayAttr(arguments)),
       entry("kind", b.getStringAttr(kindOfDim(func, *dim))),
       entry("length", b.getI64IntegerAttr(type.isDynamicDim(axis)
                                               ? -1
                                               : type.getDimSize(axis))),
       entry("positional", b.getBoolAttr(countsPositions(func, *dim))),
       entry("reason", b.getStringAttr("")),
       entry("results", b.getDenseI64ArrayAttr(results)),
       entry("scales", b.getDenseI64ArrayAttr(scales))});
}

/// What all cascades that reduce over `column` leave out by positions along `row`.
static std::optional<DiagonalBand> findBand(const StreamedDim &row,
                                            const StreamedDim &column) {
  std::optional<DiagonalBand> common;
  for (CascadeOp cascade : column.getReducing()) {
    auto r = row.getDimOf(cascade), c = column.getDimOf(cascade);
    if (!r || !c || row.getScaleIn(cascade) != 1 ||
        column.getScaleIn(cascade) != 1)
      return std::nullopt;
    auto band = findDiagonalBand(cascade.getBody().front(), *r, *c);
    if (!band)
      return std::nullopt;
    if (!common)
      common = band;
    common->low = std::min(common->low, band->low);
    common->high = std::max(common->high, band->high);
  }
  return common;
}

namespace {
struct FindDims : public redfuse::impl::FindDimsBase<FindDims> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!func.isPublic() || func.isExternal() ||
          !llvm::hasSingleElement(func.getBody()))
        continue;
      OpBuilder b(func);
      SmallVector<Attribute> all, masks;
      SmallVector<std::pair<int64_t, StreamedDim>> followed;
      DenseSet<std::pair<unsigned, unsigned>> seen;
      for (BlockArgument arg : func.getArguments()) {
        auto type = dyn_cast<RankedTensorType>(arg.getType());
        for (unsigned axis = 0; type && axis < type.getRank(); ++axis) {
          if (!seen.insert({arg.getArgNumber(), axis}).second)
            continue;
          StreamedDim::Obstacle why;
          std::pair<unsigned, unsigned> start(arg.getArgNumber(), axis);
          FailureOr<StreamedDim> dim = StreamedDim::follow(func, start, why);
          if (succeeded(dim))
            for (auto other : dim->getArguments())
              if (dim->find(func.getArgument(other.first))->scale == 1)
                seen.insert(other);
          if (succeeded(dim))
            followed.push_back({int64_t(all.size()), *dim});
          all.push_back(describeDim(func, b, start.first, axis,
                                    succeeded(dim) ? &*dim : nullptr, why));
        }
      }
      for (auto &[r, row] : followed)
        for (auto &[c, column] : followed)
          if (auto band = r == c ? std::nullopt : findBand(row, column))
            masks.push_back(
                b.getDenseI64ArrayAttr({r, c, band->low, band->high}));
      func->setAttr("redfuse.dims", b.getArrayAttr(all));
      if (!masks.empty())
        func->setAttr("redfuse.masks", b.getArrayAttr(masks));
    }
  }
};
} // namespace
