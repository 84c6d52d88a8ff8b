// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -canonicalize | FileCheck %s

// 127 elements of rows that have 128 in memory (redfuse-pitch-operands) are loaded by pairs, of which the last begins
// at 126: one that began at 125 would be at no multiple of four bytes, and be the elements before.
// CHECK-LABEL: gpu.func @longer_0
// CHECK-DAG: %[[LAST:.+]] = arith.constant 126 : index
// CHECK: %[[K:.+]] = arith.minsi %{{.+}}, %[[LAST]] : index
// CHECK: vector.load %{{.+}}[%{{.+}}, %[[K]]] {alignment = 4 : i64} : memref<150x128xbf16>, vector<2xbf16>
#x = affine_map<(m, n, k) -> (m, k mod 127)>
#w = affine_map<(m, n, k) -> (k, n)>
#o = affine_map<(m, n, k) -> (m, n)>
func.func @longer(%x: memref<150x128xbf16>, %w: memref<127x64xbf16>, %o: memref<150x64xbf16>) {
  redfuse.launch @longer_0 ins(%x, %w : memref<150x128xbf16>, memref<127x64xbf16>) outs(%o : memref<150x64xbf16>)
  return
}
redfuse.kernel @longer_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0, 1], tiles = [16, 64, 127], stream = [2]>} {
^bb0(%x: tensor<150x128xbf16>, %w: tensor<127x64xbf16>, %o: tensor<150x64xbf16>):
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<150x64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<150x64xf32>) -> tensor<150x64xf32>
  %s = redfuse.fold {indexing_maps = [#x, #w, #o], over = array<i64: 2>, identities = [0.0 : f32]}
      ins(%x, %w : tensor<150x128xbf16>, tensor<127x64xbf16>) outs(%i : tensor<150x64xf32>)
  step {
  ^bb0(%a: bf16, %c: bf16, %acc: f32):
    %aw = arith.extf %a : bf16 to f32
    %cw = arith.extf %c : bf16 to f32
    %p = arith.mulf %aw, %cw : f32
    %t = redfuse.reduce add %p over [2] into [0, 1] : f32
    %n = arith.addf %acc, %t : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %c: f32):
    %n = arith.addf %a, %c : f32
    redfuse.yield %n : f32
  } -> tensor<150x64xf32>
  %y = redfuse.finalize {indexing_maps = [#o, #o]} ins(%s : tensor<150x64xf32>) outs(%o : tensor<150x64xbf16>) {
  ^bb0(%a: f32):
    %t = arith.truncf %a : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<150x64xbf16>
  redfuse.yield %y : tensor<150x64xbf16>
}
