//===- ContractionEmitter.h - values of a contraction -----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEMITTER_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEMITTER_H

#include "OperandSide.h"

namespace redfuse {

/// Emits the values of a contraction's program: of its operands, by addresses of 32 bits
/// of which the part that changes with the sum is the same for all rows. What is copied
/// to shared memory is found in the same way, and not loaded.
class ContractionEmitter : public GpuEmitter {
public:
  ContractionEmitter(mlir::OpBuilder &b, mlir::Location loc,
                     llvm::MutableArrayRef<SpaceDim> dims,
                     const ContractionTiling &tiling)
      : GpuEmitter(b, loc, /*lanes=*/1, dims, /*warpSize=*/32,
                   tiling.threads()),
        tiling(tiling) {}

  /// Emits what `body` asks for of a nest.
  void emitOf(const LoopNest &nest, llvm::function_ref<void()> body);
  using GpuEmitter::coneOf;
  IndexProgramOpInterface getOp() const { return op; }

  /// Emits what of `values` can be, in vectors of the side's width: of the factor's
  /// cone, of what is loaded alone, or of something else.
  void compute(const OperandSide &side, Env &env,
               llvm::ArrayRef<mlir::Value> values);
  /// Starts a copy of the elements of an argument to an address of shared memory (i32).
  /// Where so many `bytes` are given that is how many; the rest is zeros.
  void copy(const OperandSide &side, Env &env, mlir::Value argument,
            mlir::Value to, mlir::Value bytes);

  /// Loads so many elements that are neighbours in memory (16 bytes, aligned), the first
  /// at the place that is bound.
  mlir::Value loadNeighbours(mlir::BlockArgument argument, const Env &env,
                             int64_t count, int64_t from);
  /// Where the elements of an argument of the program are.
  std::optional<FlatIndex> flatIndexOf(mlir::BlockArgument argument) const;
  /// Bytes of an element of the smallest result.
  int64_t resultBytes() const;

  /// The value of multiples of dims and a constant in two parts (i32): of the constant
  /// and of dims that do not change in the loop over the sum, and, if there are any, of
  /// those that do.
  std::pair<mlir::Value, mlir::Value> wordsOf(llvm::ArrayRef<int64_t> factors,
                                              const Env &env);

protected:
  mlir::Value loadAt(mlir::Value memref, mlir::AffineMap map, Env &env,
                     bool isLocal) override;

private:
  /// Where elements are copied to, and how many bytes if not all.
  struct Copy {
    mlir::Value to, bytes;
  };
  std::optional<int64_t> mostOf(llvm::ArrayRef<int64_t> factors) const;
  mlir::Value wrap(mlir::Value v, std::optional<int64_t> most, int64_t modulus);
  mlir::Value wideIndexOf(const FlatIndex &flat, const Env &env);
  mlir::Value zeroOf(mlir::Type element, bool isVector);
  void copyElements(mlir::Value memref, int64_t offset, mlir::Value at,
                    int64_t count);

  const ContractionTiling &tiling;
  /// The copy that a load starts instead.
  std::optional<Copy> started;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEMITTER_H
