# The headers of upstream dialects, compiled once: reading them is two thirds of the
# time that a file of lib/ takes. None of redfuse's own is among them, so an edit
# never makes this stale; files include what they use all the same.
option(REDFUSE_PRECOMPILED "compile the headers of MLIR once" ON)

function(redfuse_precompile target)
  if(NOT REDFUSE_PRECOMPILED)
    return()
  endif()
  get_property(first GLOBAL PROPERTY REDFUSE_PRECOMPILED_BY)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  set_property(GLOBAL PROPERTY REDFUSE_PRECOMPILED_BY ${target})
  target_precompile_headers(${target} PRIVATE
    <mlir/Dialect/Affine/IR/AffineOps.h>
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/GPU/IR/GPUDialect.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h>
    <mlir/Dialect/LLVMIR/NVVMDialect.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/ImplicitLocOpBuilder.h>
    <mlir/IR/Matchers.h>
    <mlir/IR/PatternMatch.h>
    <mlir/Pass/PassManager.h>
    <mlir/Transforms/GreedyPatternRewriteDriver.h>
    <llvm/ADT/SetVector.h>
    <llvm/ADT/TypeSwitch.h>
    <llvm/Support/FormatVariadic.h>)
endfunction()
