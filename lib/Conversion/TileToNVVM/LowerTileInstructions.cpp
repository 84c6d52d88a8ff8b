//===- LowerTileInstructions.cpp - products of a warp ---------------------===//
#include "TileLowering.h"

#include "mlir/IR/TypeUtilities.h"
#include "redfuse/Analysis/MatrixInstruction.h"

using namespace mlir;
using namespace redfuse;
using namespace redfuse::tile;

static std::optional<MatrixInstruction> findInstruction(MmaOp op,
                                                        const Chip &chip) {
  std::optional<MatrixElement> left = findMatrixElement(op.getLeftElement());
  std::optional<MatrixElement> right = findMatrixElement(op.getRightElement());
  if (!left || !right)
    return std::nullopt;
  return findMatrixInstruction(
      chip, *left, *right,
      getElementTypeOrSelf(op.getSums().front().getType()));
}

LogicalResult tile::checkInstruction(MmaOp op, const Chip &chip) {
  std::optional<MatrixInstruction> instruction = findInstruction(op, chip);
  if (!instruction)
    return op.emitOpError()
           << "multiplies " << op.getLeftElement() << " by "
           << op.getRightElement() << " into "
           << getElementTypeOrSelf(op.getSums().front().getType())
           << ", for which '" << chip.name << "' has no instruction";
  size_t words = instruction->wordsPerRow();
  size_t all = instruction->rowsPerLane * words;
  Type sum = instruction->sum;
  int64_t count = instruction->results.size();
  bool hasVector = instruction->hasVectors();
  if (hasVector) {
    sum = VectorType::get({count}, sum);
    count = 1;
  }
  if (op.getLeft().size() != all || op.getRight().size() != words)
    return op.emitOpError()
           << "has " << op.getLeft().size() << " words of rows and "
           << op.getRight().size() << " of a column; on '" << chip.name
           << "' a lane has " << all << " and " << words;
  if (int64_t(op.getSums().size()) != count ||
      !llvm::all_of(op.getSums().getTypes(),
                    [&](Type type) { return type == sum; }))
    return op.emitOpError()
           << "has " << op.getSums().size() << " sums; on '" << chip.name
           << "' a lane has " << count << " of " << sum;
  return success();
}

namespace {

/// After checkInstruction.
struct LowerMma : OpConversionPattern<MmaOp> {
  LowerMma(const TypeConverter &types, MLIRContext *context, const Chip &chip)
      : OpConversionPattern(types, context), chip(chip) {}

  LogicalResult matchAndRewrite(MmaOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    std::optional<MatrixInstruction> instruction = findInstruction(op, chip);
    if (!instruction)
      return b.notifyMatchFailure(op, "the target has no such instruction");
    b.replaceOp(op, instruction->emit(b, op.getLoc(), adaptor.getLeft(),
                                      adaptor.getRight(), adaptor.getSums()));
    return success();
  }
  const Chip &chip;
};

} // namespace

void tile::populateInstructionPatterns(const TypeConverter &types,
                                       RewritePatternSet &patterns,
                                       const Chip &chip) {
  patterns.add<LowerMma>(types, patterns.getContext(), chip);
}
