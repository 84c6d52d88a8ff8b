// RUN: redfuse-opt %s -redfuse-shard-dims=dims=0,0 -canonicalize | FileCheck %s
// RUN: redfuse-opt %s -redfuse-shard-dims="dims=0,0 sizes=3" -canonicalize | FileCheck %s --check-prefix=FIXED

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#v = affine_map<(i, j) -> (j)>

// Rows below the diagonal, of the whole matrix; the weights of columns are whole.
// CHECK-LABEL: func.func @causal(
// CHECK-SAME:      %[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<8xf32>, %[[AT:.*]]: index, %[[ALL:.*]]: index) -> (tensor<?xf32>, index)
// CHECK-SAME:      redfuse.sharded = [{arguments = [array<i64: 0, 0, 1>], length = 6 : i64, positional = true, results = array<i64: 0, -1>}]
// CHECK:         %[[N:.*]] = tensor.dim %[[X]]
// CHECK:         tensor.empty(%[[N]]) : tensor<?xf32>
// CHECK:         redfuse.cascade
// CHECK:           %[[I:.*]] = redfuse.index 0
// CHECK:           %[[HERE:.*]] = arith.addi %[[I]], %[[AT]] : index
// CHECK:           %[[J:.*]] = redfuse.index 1
// CHECK:           arith.cmpi ule, %[[J]], %[[HERE]] : index
// CHECK:         return %{{.*}}, %[[ALL]] : tensor<?xf32>, index
// FIXED-LABEL: func.func @causal(
// FIXED-SAME:      %{{.*}}: tensor<3x8xf32>, %{{.*}}: tensor<8xf32>, %{{.*}}: index, %{{.*}}: index) -> (tensor<3xf32>, index)
func.func @causal(%x: tensor<6x8xf32>, %w: tensor<8xf32>) -> (tensor<6xf32>, index) {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<6xf32>
  %n = tensor.dim %x, %c0 : tensor<6x8xf32>
  %r = redfuse.cascade {indexing_maps = [#x, #v, #r]}
      ins(%x, %w : tensor<6x8xf32>, tensor<8xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 0.0 : f32
    %i = redfuse.index 0
    %j = redfuse.index 1
    %is = arith.cmpi ule, %j, %i : index
    %p = arith.mulf %a, %b : f32
    %y = arith.select %is, %p, %zero : f32
    %s = redfuse.reduce add %y over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return %r, %n : tensor<6xf32>, index
}
