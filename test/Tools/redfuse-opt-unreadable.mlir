// What MLIR's parser asserts something of ends in an error, not in the end of the program; in each part of a file.
// RUN: not redfuse-opt %s -split-input-file 2>&1 | FileCheck %s
// RUN: cat %s | not redfuse-opt -split-input-file 2>&1 | FileCheck %s

// CHECK:     error: MLIR's parser does not survive this program: Assertion `!permutation.empty()
// CHECK-NOT: Stack dump
func.func @readable(%a: f32) -> f32 {
  return %a : f32
}

// -----

func.func @transpose_of_one(%a: tensor<f32>) -> tensor<f32> {
  %t = linalg.transpose ins(%a : tensor<f32>) outs(%a : tensor<f32>) permutation = []
  return %t : tensor<f32>
}
