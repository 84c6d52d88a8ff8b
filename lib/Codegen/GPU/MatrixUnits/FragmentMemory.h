//===- FragmentMemory.h - fragments in global memory ------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTMEMORY_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTMEMORY_H

#include "FragmentPlace.h"

namespace redfuse {

/// Reads and writes what a thread has of tensors.
class FragmentMemory {
public:
  FragmentMemory(mlir::OpBuilder &b, mlir::Location loc, const MatrixPlan &plan,
                 FragmentPlace &place)
      : b(b), loc(loc), plan(plan), place(place), ptx(b, loc) {}

  /// Reads the elements that a value of that shape has of a tensor.
  Fragment load(mlir::Value memref, mlir::AffineMap map, Fragment shape);
  /// Writes elements that exist.
  void store(mlir::Value memref, mlir::AffineMap map, const Fragment &value);
  /// Two 16-bit floats as one register.
  mlir::Value packPair(mlir::Value low, mlir::Value high);

private:
  size_t storePieces(mlir::Value memref, mlir::AffineMap map,
                     const Fragment &value);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const MatrixPlan &plan;
  FragmentPlace &place;
  Ptx ptx;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTMEMORY_H
