//===- RegisterPressure.h - registers and code of a thread ------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERPRESSURE_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERPRESSURE_H

#include "RegisterDemands.h"

namespace redfuse {

/// What a thread needs where a kernel is laid out in some way: its registers, and the
/// code that it runs.
class RegisterPressure {
public:
  RegisterPressure(const RegisterDemands &demands, const RegisterLayout &layout)
      : demands(demands), layout(layout) {}

  /// Registers of 32 bits for data: what nests of ops hand to each other, and the most
  /// that one of them has beside.
  int64_t countRegisters() const;
  /// The same of what a thread loads of a tensor.
  double registersOf(const TensorAccess &access) const {
    return double(access.bytes) / 4 * localOf(access.dims);
  }
  /// Elements that a thread has of what has these dims.
  double localOf(const llvm::SmallBitVector &dims) const;
  /// The same of what is read so; what windows share counts once.
  double localOf(mlir::AffineMap map) const;
  /// Values that are computed in all nests together.
  int64_t countCode() const;

private:
  bool isKept(mlir::BlockArgument argument) const;
  bool isLoadedLate(mlir::BlockArgument argument) const;

  const RegisterDemands &demands;
  const RegisterLayout &layout;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERPRESSURE_H
