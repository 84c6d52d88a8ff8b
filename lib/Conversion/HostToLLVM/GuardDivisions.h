//===- GuardDivisions.h - divisions that cannot trap ------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_GUARDDIVISIONS_H
#define REDFUSE_LIB_CONVERSION_GUARDDIVISIONS_H

namespace mlir {
class Operation;
} // namespace mlir

namespace redfuse {

/// Integer divisions of data whose result is undefined (by zero, and the least
/// number by -1) divide by 1: a processor would end the process.
void guardDivisions(mlir::Operation *function);

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_GUARDDIVISIONS_H
