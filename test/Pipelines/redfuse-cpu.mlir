// What PyTorch exported, compiled and run.
// RUN: redfuse-opt %tests/e2e/corpus/sdpa.mlir -redfuse-cpu \
// RUN:   | %python %S/Inputs/run.py %tests/e2e/corpus/sdpa.mlir | FileCheck %s --check-prefix=RAN
// RAN: sdpa.mlir: 1 results are right

// Some of the stages.
// RUN: redfuse-opt %s -redfuse-cpu="stages=check,normalize,raise,fuse,schedule,derive schedule=stream tiles=0,8" \
// RUN:   | FileCheck %s
// CHECK: redfuse.fold
// CHECK-SAME: schedule = #redfuse.schedule<stream{{.*}}tiles = [1, 8]
func.func @main(%x: tensor<4x64xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<4x64xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}
