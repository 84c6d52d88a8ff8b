//===- InlinePtx.h - instructions as text -----------------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_COMMON_INLINEPTX_H
#define REDFUSE_CODEGEN_GPU_COMMON_INLINEPTX_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace redfuse {

/// Inline PTX: `$0` and on are results, then operands. `constraints` is LLVM's
/// (`=f,r,l`). Text with effects stays where it is.
llvm::SmallVector<mlir::Value>
emitPtx(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef text,
        llvm::StringRef constraints, mlir::ValueRange operands,
        mlir::TypeRange results = {}, bool hasEffects = true);

/// `{$first, ...}`: a vector of registers.
std::string registerList(size_t first, size_t count);
/// `what` that many times.
std::string repeatConstraint(llvm::StringRef what, size_t count);
/// Results that start as the operands of the same number.
std::string tieConstraints(size_t count);
/// Those that are not empty, separated.
std::string joinConstraints(llvm::ArrayRef<std::string> parts);

/// Two f32 as one register of two 16-bit floats.
mlir::Value packPair(mlir::OpBuilder &b, mlir::Location loc, mlir::Type element,
                     mlir::Value low, mlir::Value high);
/// The thread's number in its warp, read here and now.
mlir::Value readLane(mlir::OpBuilder &b, mlir::Location loc);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_COMMON_INLINEPTX_H
