//===- Selection.cpp - which way to select, and its kernels ---------------===//
#include "redfuse/Codegen/GPU/Selection/Selection.h"
#include "redfuse/Codegen/GPU/Common/DeviceModule.h"

#include "Tuning.h"
#include "Ways.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

static std::optional<int64_t> lengthOf(SelectOp op) {
  auto type = cast<MemRefType>(op.getInput().getType());
  int64_t length = type.getShape().back();
  return ShapedType::isDynamic(length) ? std::nullopt
                                       : std::optional<int64_t>(length);
}

static OrderedWords wordsOf(SelectOp op) {
  Type element = cast<MemRefType>(op.getInput().getType()).getElementType();
  return OrderedWords(element, op.getDescending(), op.getIsUnsigned(),
                      lengthOf(op));
}

/// What a network takes that sorts so many words: comparisons of a word.
static double priceSort(int64_t words) {
  double phases = llvm::Log2_64_Ceil(std::max<int64_t>(words, 2));
  return double(words) * phases * (phases + 1) / 2;
}

SelectionWay redfuse::chooseWay(SelectOp op, const SelectionLimits &limits) {
  OrderedWords words = wordsOf(op);
  std::optional<int64_t> length = lengthOf(op);
  std::optional<double> sorting, finding;
  if (length) {
    SortShape shape = shapeSort(*length, words.getBytes(), limits.warp);
    if (shape.words <= kMostSorted && shape.team <= kSelectionThreads &&
        shape.sharedBytes(words.getBytes()) <= limits.sharedBytes)
      sorting = kWordPrice * shape.words + priceSort(shape.words);
  }
  int64_t stored =
      cast<MemRefType>(op.getDpsInits()[0].getType()).getShape().back();
  if (!ShapedType::isDynamic(stored) && stored > 0 &&
      op.getFrom() + stored <= kMostFound) {
    FindShape shape = shapeFind(op.getFrom() + stored, length);
    if (shape.sharedBytes(words.getBytes()) <= limits.sharedBytes)
      finding = 2 * kWordPrice * double(length.value_or(0)) +
                priceSort(shape.kept * shape.threads) + priceSort(shape.room);
  }
  if (sorting && (!finding || *sorting <= *finding))
    return SelectionWay::SortRows;
  return finding ? SelectionWay::FindBest : SelectionWay::MergeRuns;
}

void redfuse::generateSelection(SelectOp op, const SelectionLimits &limits,
                                gpu::GPUModuleOp device, size_t number) {
  OrderedWords words = wordsOf(op);
  std::string name = makeKernelName(device, "select_" + std::to_string(number));
  auto generate = [&](StringRef way, auto generator) {
    Builder b(op.getContext());
    op->setAttr(kSelectionAttr,
                b.getDictionaryAttr(
                    {b.getNamedAttr("number", b.getI64IntegerAttr(number)),
                     b.getNamedAttr("way", b.getStringAttr(way))}));
    generator(op, words, limits, device, name);
  };
  switch (chooseWay(op, limits)) {
  case SelectionWay::SortRows:
    generate("sort_rows", generateSortRows);
    break;
  case SelectionWay::FindBest:
    generate("find_best", generateFindBest);
    break;
  case SelectionWay::MergeRuns:
    generate("merge_runs", generateMergeRuns);
    break;
  }
  op.erase();
}
