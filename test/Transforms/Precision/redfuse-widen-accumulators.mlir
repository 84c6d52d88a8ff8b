// RUN: redfuse-opt %s -redfuse-widen-accumulators | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// The product is taken, and the sum accumulated, in f32; one rounding at the end.
// CHECK-LABEL: func.func @sum
// CHECK-DAG:     %[[A:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK-DAG:     %[[B:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK:         %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK:         %[[S:.*]] = redfuse.reduce add %[[P]] over [1] into [0] : f32
// CHECK:         %[[N:.*]] = arith.truncf %[[S]] : f32 to bf16
// CHECK:         redfuse.yield %[[N]]
func.func @sum(%x: tensor<4x8xbf16>, %o: tensor<4xbf16>) -> tensor<4xbf16> {
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<4x8xbf16>) outs(%o : tensor<4xbf16>) {
  ^bb0(%a: bf16):
    %p = arith.mulf %a, %a : bf16
    %s = redfuse.reduce add %p over [1] into [0] : bf16
    redfuse.yield %s : bf16
  } -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// A maximum loses nothing.
// CHECK-LABEL: func.func @max
// CHECK:         redfuse.reduce maximumf %{{.*}} over [1] into [0] : bf16
func.func @max(%x: tensor<4x8xbf16>, %o: tensor<4xbf16>) -> tensor<4xbf16> {
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<4x8xbf16>) outs(%o : tensor<4xbf16>) {
  ^bb0(%a: bf16):
    %s = redfuse.reduce maximumf %a over [1] into [0] : bf16
    redfuse.yield %s : bf16
  } -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}
