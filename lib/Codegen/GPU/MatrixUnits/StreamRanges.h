//===- StreamRanges.h - which tiles of the stream count ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_STREAMRANGES_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_STREAMRANGES_H

#include "MatrixKernel.h"

#include "MatrixMasks.h"

namespace redfuse {

/// The tiles of the streamed dim that a block walks, or steps to them: from begin
/// to end, those from wholeBegin to wholeEnd without predicates.
struct StreamSteps {
  mlir::Value begin, end, wholeBegin, wholeEnd;
  /// Known to be empty: the tiles before and behind the whole ones.
  bool noneBefore = false, noneBehind = false;
};

/// Which tiles of the streamed dim a block walks, and in which direction. Predicates
/// bound them, and say which of them need none.
class StreamRanges : KernelPart {
public:
  explicit StreamRanges(MatrixKernel &of) : KernelPart(of) {}

  /// Where the streamed dim starts and ends for the block.
  void placeSplit();
  void clear();
  mlir::Value getBegin() const { return begin; }
  mlir::Value getEnd() const;

  /// Of a block with these rows. Sets the direction: as the predicates say, or as it
  /// is asked.
  StreamSteps stepsOfRows(mlir::Value first, mlir::Value last,
                          std::optional<bool> isMirrored = std::nullopt);
  /// The same, and loops that are empty in all tiles of rows are known to be.
  StreamSteps stepsOfBlock(mlir::Value first, mlir::Value last);
  /// The steps of a warpgroup's own rows, which may begin later than the block's where
  /// tiles are walked from the last to the first.
  StreamSteps stepsOfConsumer(const StreamSteps &all, mlir::Value firstRow);
  bool isMirrored() const { return bool(mirror); }

  /// Tells the emitter where that step is.
  void setStep(mlir::Value step);

private:
  /// Where the dim ends, if before the emitter's end.
  mlir::Value begin, end;
  /// Where tiles are walked from the last to the first: the sum of a step and its
  /// tile.
  mlir::Value mirror;
};

/// The tiles of a product's sum that the block adds up.
class SumRanges : KernelPart {
public:
  explicit SumRanges(MatrixKernel &of) : KernelPart(of) {}

  mlir::Value count(const MatrixProduct &product);
  /// The number of the i-th of them among all.
  mlir::Value at(mlir::Value i);
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_STREAMRANGES_H
