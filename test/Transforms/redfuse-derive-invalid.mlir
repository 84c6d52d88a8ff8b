// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s

// What has no merge stays, and the function says why.
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// CHECK-LABEL: @rounded
// CHECK-SAME: condition = "quantisation"
// CHECK-SAME: location = "{{.*}}redfuse-derive-invalid.mlir:[[@LINE+10]]
// CHECK-SAME: op = "math.roundeven"
// CHECK-NOT: redfuse.fold
func.func @rounded(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %a = math.absf %x : f32
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %q = arith.divf %x, %m : f32
    %r = math.roundeven %q : f32
    %l = redfuse.reduce add %r over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// CHECK-LABEL: @compared
// CHECK-SAME: condition = "comparison"
func.func @compared(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce add %x over [1] into [0] : f32
    %r = arith.maximumf %x, %m : f32
    %l = redfuse.reduce add %r over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// CHECK-LABEL: @scaled_exponent
// CHECK-SAME: condition = "exponent"
func.func @scaled_exponent(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce add %x over [1] into [0] : f32
    %r = arith.mulf %x, %m : f32
    %e = math.exp %r : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// CHECK-LABEL: @divided_by_mixture
// CHECK-SAME: condition = "quotient"
func.func @divided_by_mixture(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce add %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %r = arith.divf %x, %c : f32
    %l = redfuse.reduce add %r over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}
