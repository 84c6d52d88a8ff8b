// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-shard-dims=sizes=3 > %t.after
// RUN: diff %t.before %t.after
// RUN: redfuse-opt %s -redfuse-shard-dims=dims=0,0 | FileCheck %s

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// Where no dim is asked for, a length alone changes nothing: this one gets a part if one is.
// CHECK-LABEL: func.func @public(
// CHECK-SAME:    tensor<?xf32>, %{{.*}}: index, %{{.*}}: index) -> tensor<?xf32>
func.func @public(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = redfuse.cascade {indexing_maps = [#id, #id]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    redfuse.yield %b : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A private function keeps its dims, whoever asks.
// CHECK-LABEL: func.func private @mapped(
// CHECK-SAME:    tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NOT:     sharded
// CHECK:         redfuse.cascade {{.*}} ins(%{{.*}} : tensor<8xf32>) outs(%{{.*}} : tensor<8xf32>)
func.func private @mapped(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = redfuse.cascade {indexing_maps = [#id, #id]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    redfuse.yield %b : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A private function with a reduction along the dim, which would be refused of a public one.
// CHECK-LABEL: func.func private @reduced(
// CHECK-SAME:    tensor<8xf32>) -> tensor<f32> {
// CHECK:         redfuse.reduce add
func.func private @reduced(%x: tensor<8xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  %r = redfuse.cascade {indexing_maps = [#id, #none]} ins(%x : tensor<8xf32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [0] into [] : f32
    redfuse.yield %s : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
