//===- SumOrder.h - numbers of the points of a sum --------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_SUMORDER_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_SUMORDER_H

#include "ContractionEmitter.h"

namespace redfuse {

/// How the points of the sum are numbered: stages have them in this order.
class SumOrder : NestEmitter {
public:
  /// A dim that is part of no window (channels) is the innermost, a chunk of a stage at
  /// a time, then the others (taps), then chunks: so the elements of an access have the
  /// same place in the window, and the taps of a chunk find it in the L1 cache. Of operands
  /// made of bytes chunks come where their dim is: in the order of memory.
  SumOrder(ContractionEmitter &emitter, const ContractionTiling &tiling,
           Axes axes, const OperandSide &left, const OperandSide &right);

  /// Binds the sum's dims at a number: a stage's `start` and an `offset` in the stage.
  void bind(Env &env, mlir::Value start, mlir::Value offset = {});
  /// The same at a vector of a slab of that stage: what the slab's number tells is
  /// constant.
  void bindInSlab(Env &env, mlir::Value start, int64_t slab,
                  mlir::Value vector);

  /// Sums of all steps: of boxes the last of a place may have less than a stage.
  mlir::Value count();
  std::optional<int64_t> staticCount() const {
    return points.staticCountOf(axes);
  }
  /// The innermost dim, and the others.
  unsigned getInner() const { return inner; }
  Axes getOthers() const;
  /// That many neighbours along the innermost dim come first: they differ in that dim
  /// alone. 0: the dims are numbered as they are.
  int64_t getChunk() const { return chunk; }
  /// The dim of the codes of a byte, of which a warp adds all: a chunk of the first ones,
  /// then of the second ones, and so on.
  std::optional<unsigned> getCodes() const { return codesDim; }

private:
  void choose(const OperandSide &left, const OperandSide &right);
  Axes getOuter() const;

  ContractionEmitter &emitter;
  const ContractionTiling &tiling;
  Axes axes;
  unsigned inner;
  int64_t chunk = 0;
  /// Some operand is made of bytes.
  bool isPacked = false;
  std::optional<unsigned> codesDim;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_SUMORDER_H
