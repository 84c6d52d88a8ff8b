//===- ContractionTiling.h - tiles and stages of a contraction --*- C++ -*-===//
//
// How large the tiles of blocks are, and the stages in shared memory that have a part of
// the sum each. There are two stages where operands are computed: while warps multiply
// what one has, their threads load the next part into registers, compute its operands,
// and store them to the other. There are more where operands are what is in memory:
// copies of later parts are on their way (cp.async, or tensor maps), and nobody waits
// for them. One barrier a step.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONTILING_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONTILING_H

#include "redfuse/Codegen/GPU/Contractions/OperandBox.h"
#include "redfuse/Codegen/GPU/Contractions/Tuning.h"

namespace redfuse {

/// How operands come to shared memory: threads compute them, unless they are copied as
/// they are in memory.
struct OperandTransfer {
  bool isCopied = false;
  CopiedOperand left, right;
  /// Lanes compute what they multiply of one operand, which no other warp reads: it is not
  /// in shared memory.
  bool isLeftDirect = false, isRightDirect = false;
  /// Rounding to TF32 is one instruction.
  bool roundsByInstruction = false;
  /// The dim whose elements warpgroups read in vectors.
  std::optional<unsigned> vectorSum;
  /// What tensor maps copy, and steps of the mainloop.
  std::optional<std::pair<OperandBox, OperandBox>> boxes;
  int64_t boxSteps = 0;

  /// Operands are in two parts each, the large ones first.
  bool haveParts() const { return bool(left.rest); }
};

/// A contraction as its plan cuts it into tiles, and a tile's sum into stages.
class ContractionTiling {
public:
  ContractionTiling(ContractionPlanAttr plan, const FoundContraction &found)
      : plan(plan), form(found.form()), x(form.instruction) {}

  ContractionPlanAttr plan;
  const MatrixForm &form;
  const MatrixInstruction &x;
  OperandTransfer operands;

  bool isByBoxes() const { return plan.getBoxes(); }
  bool isByWarpgroups() const { return plan.getKind() == MmaKind::Wgmma; }
  unsigned threads() const { return unsigned(32 * warpsOfTile() * slices()); }
  /// Warps beside each other, of which so many share the sum of their results.
  int64_t warpsOfTile() const {
    return plan.getWarps()[0] * plan.getWarps()[1];
  }
  int64_t slices() const {
    return plan.getWarps().size() > 2 ? plan.getWarps()[2] : 1;
  }

  /// The tile of a block, and of a warp (of a warpgroup its columns).
  int64_t tileRows() const { return plan.getWarps()[0] * warpRows(); }
  int64_t tileColumns() const { return plan.getWarps()[1] * warpColumns(); }
  int64_t warpRows() const { return plan.getInstructions()[0] * x.rows; }
  int64_t warpColumns() const { return plan.getInstructions()[1] * x.columns; }

  /// Elements of the sum of which a stage has 64 bytes, all, or 16 bytes.
  int64_t slabSums() const { return 8 * kSlabBytes / elementBits(x.left); }
  int64_t stageSums() const { return plan.getSlabs() * slabSums(); }
  int64_t vectorSums() const { return slabSums() / 4; }
  /// Slabs of a stage that a warp adds, and their sums.
  int64_t sliceSlabs() const { return plan.getSlabs() / slices(); }
  int64_t sliceSums() const { return sliceSlabs() * slabSums(); }
  int64_t elementBytes() const { return elementBits(x.left) / 8; }
  /// Words of 32 bits of an element; of short ones the part of a word is one.
  int64_t elementWords() const {
    return std::max<int64_t>(1, elementBytes() / 4);
  }

  /// Of a stage, what so many rows of an operand take, and all.
  int64_t operandBytes(int64_t rows) const {
    return rows * kSlabBytes * plan.getSlabs() * (operands.haveParts() ? 2 : 1);
  }
  int64_t stageBytes() const {
    return operandBytes((operands.isLeftDirect ? 0 : tileRows()) +
                        (operands.isRightDirect ? 0 : tileColumns()));
  }
  /// Behind the stages are a word that one thread tells the others, then barriers.
  int64_t wordStart() const { return plan.getStages() * stageBytes(); }
  int64_t barrierStart() const { return wordStart() + kWordBytes; }
  /// What sums take that warps leave for each other, in rows that begin so many words apart
  /// at most; and what there is for them: the stages, and a little more where nothing lies
  /// behind those.
  int64_t sumsBytes() const {
    return 4 * tileRows() * (tileColumns() + kMostSkew);
  }
  int64_t roomForSums() const {
    bool isAlone = plan.getSplits() == 1 && !isByBoxes() && x.sum.isF32();
    return isAlone && sumsBytes() <= wordStart() + wordStart() / 4
               ? std::max(wordStart(), sumsBytes())
               : wordStart();
  }
  /// What the slices of a tile but the first leave for it, in the stages.
  int64_t slicesBytes() const {
    return (slices() - 1) * tileRows() * tileColumns() *
           (x.sum.getIntOrFloatBitWidth() / 8);
  }
  int64_t sharedBytes() const {
    if (isByBoxes())
      return barrierStart() + 8 * plan.getStages();
    if (slices() > 1)
      return std::max(wordStart(), slicesBytes());
    return plan.getSplits() > 1 ? barrierStart() : roomForSums();
  }

  /// Words that rows of sums are apart beside their columns, at most.
  static constexpr int64_t kMostSkew = 10;

private:
  static constexpr int64_t kWordBytes = 16;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONTILING_H
