//===- PackedWeights.cpp - few rows by weights of few bits ----------------===//
//
// Weights of 4 or 8 bits are unpacked once, however few rows they are multiplied by, and
// there is little else to do. So lanes unpack what they multiply, in registers: shared
// memory has the other operand alone. Weights are the rows of the instruction, which has 16
// of these and 8 columns.
//
// What takes time beside reading are the ends of blocks and of stages, so that a block has
// few weights' rows, all of their sums, and warps that share these (sliced-K), instead of
// blocks that wait for each other. With more columns a block reads too much of the other
// operand so: tiles have more rows then, and blocks share sums.
//
//===----------------------------------------------------------------------===//
#include "PackedWeights.h"

#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Codegen/GPU/Contractions/Tuning.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

bool redfuse::canBeDirect(const FoundContraction &found, bool isLeft) {
  const MatrixForm &form = found.form();
  Value factor = isLeft ? form.left : form.right;
  TileProgram &program = *found.programs.find(found.op)->second;
  BlockArgument codes = program.findMainArgument(factor);
  if (!codes || !isOfPackedNumbers(factor))
    return false;
  // Bytes that are neighbours along rows would be loaded one by one.
  std::optional<unsigned> contiguous = program.getContiguous(codes);
  return codes.getType().isInteger(32) ||
         (contiguous &&
          !llvm::is_contained(isLeft ? form.rows : form.columns, *contiguous));
}

std::optional<ContractionPlanAttr>
redfuse::planPackedWeights(const FoundContraction &found, double batch,
                           double rows, double columns, double sums,
                           double units) {
  const MatrixInstruction &x = found.form().instruction;
  if (elementBits(x.left) != 16 || columns > kMostPackedColumns ||
      !canBeDirect(found, /*isLeft=*/true))
    return std::nullopt;
  auto attrOf = [&](ArrayRef<int64_t> warps, int64_t instructions,
                    int64_t slabs, int64_t splits) {
    auto across = int64_t(
        llvm::PowerOf2Ceil(uint64_t(std::ceil(columns / double(x.columns)))));
    return ContractionPlanAttr::get(found.op->getContext(), MmaKind::MmaSync,
                                    warps, {instructions, across}, slabs,
                                    kStages, splits, /*boxes=*/false);
  };
  double slabs =
      std::ceil(sums * double(elementBits(x.left)) / double(8 * kSlabBytes));
  if (columns <= kMostSlicedColumns) {
    bool isLarge = batch * rows / double(2 * x.rows) >= kPackedBlocks * units;
    int64_t slices = isLarge ? 4 : 8, ofSlice = 4;
    // Two stages or more, each of whole slices.
    while (double(2 * slices * ofSlice) > slabs && slices * ofSlice > 2)
      (ofSlice > 2 ? ofSlice : slices) /= 2;
    return attrOf({1, 1, slices}, isLarge ? 2 : 1, slices * ofSlice,
                  /*splits=*/1);
  }
  constexpr int64_t warps = 4, ofStage = 4;
  double tiles = batch * std::ceil(rows / double(warps * x.rows));
  int64_t splits = 1;
  while (tiles * double(2 * splits) <= kPackedSplits * units &&
         slabs / double(2 * splits * ofStage) >= 4)
    splits *= 2;
  return attrOf({warps, 1}, /*instructions=*/1, ofStage, splits);
}
