// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s
// RUN: redfuse-opt "-redfuse-derive=all=true strict=true" %s | FileCheck %s --check-prefix=STRICT

// The best of a value that grows with the data whatever the reduced values are
// is the best of the data; its value is computed in the finalisation.
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// CHECK-LABEL: @most_probable
// CHECK: redfuse.fold
// CHECK-SAME: "a selection is made on the data: rounding makes no ties"
// CHECK: ^bb0(%[[X:[a-z0-9]+]]: f32,
// CHECK: redfuse.reduce argmax %[[X]], %{{.*}} over [1] into [0] : f32, index
// CHECK: redfuse.reduce argmin %[[X]], %{{.*}} over [1] into [0] : f32, index
// CHECK: redfuse.finalize
// CHECK: ^bb0(%[[M:[a-z0-9]+]]: f32, %[[L:[a-z0-9]+]]: f32, %[[BEST:[a-z0-9]+]]: f32,
// CHECK: %[[C:.*]] = arith.subf %[[BEST]], %[[M]]
// CHECK: %[[E:.*]] = math.exp %[[C]]
// CHECK: arith.divf %[[E]]
// CHECK-NOT: redfuse.pass
// STRICT-LABEL: @most_probable
// STRICT-SAME: condition = "strict"
func.func @most_probable(%s: tensor<64x80xf32>, %a: tensor<64xf32>, %b: tensor<64xindex>) -> (tensor<64xf32>, tensor<64xindex>) {
  %r:2 = redfuse.cascade {indexing_maps = [#ij, #i, #i]}
      ins(%s : tensor<64x80xf32>) outs(%a, %b : tensor<64xf32>, tensor<64xindex>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    %k = redfuse.index 1
    %v, %p = redfuse.reduce argmax %w, %k over [1] into [0] : f32, index
    redfuse.yield %v, %p : f32, index
  } -> tensor<64xf32>, tensor<64xindex>
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xindex>
}

// So are the best of a list, with the rank as a dim of its own.
// CHECK-LABEL: @best_probable
// CHECK: redfuse.fold
// CHECK: redfuse.reduce topk %{{.*}} over [1] into [0, 2] : f32, index
// CHECK: redfuse.merge_topk
// CHECK: redfuse.finalize
// CHECK: redfuse.index 2
func.func @best_probable(%s: tensor<64x80xf32>, %a: tensor<64x4xf32>, %b: tensor<64x4xindex>) -> (tensor<64x4xf32>, tensor<64x4xindex>) {
  %r:2 = redfuse.cascade {indexing_maps = [affine_map<(i, j, r) -> (i, j)>, affine_map<(i, j, r) -> (i, r)>, affine_map<(i, j, r) -> (i, r)>]}
      ins(%s : tensor<64x80xf32>) outs(%a, %b : tensor<64x4xf32>, tensor<64x4xindex>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    %k = redfuse.index 1
    %v, %p = redfuse.reduce topk %w, %k over [1] into [0, 2] : f32, index
    redfuse.yield %v, %p : f32, index
  } -> tensor<64x4xf32>, tensor<64x4xindex>
  return %r#0, %r#1 : tensor<64x4xf32>, tensor<64x4xindex>
}

// A factor that may be 0 makes ties, and so does narrowing: a pass of its own.
// CHECK-LABEL: @scaled
// CHECK-SAME: condition = "selection"
// CHECK-SAME: 'arith.mulf' is not strictly increasing
// CHECK-COUNT-2: redfuse.fold
func.func @scaled(%s: tensor<64x80xf32>, %a: tensor<64xf32>, %b: tensor<64xindex>) -> (tensor<64xf32>, tensor<64xindex>) {
  %r:2 = redfuse.cascade {indexing_maps = [#ij, #i, #i]}
      ins(%s : tensor<64x80xf32>) outs(%a, %b : tensor<64xf32>, tensor<64xindex>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.mulf %x, %m : f32
    %k = redfuse.index 1
    %v, %p = redfuse.reduce argmax %c, %k over [1] into [0] : f32, index
    redfuse.yield %v, %p : f32, index
  } -> tensor<64xf32>, tensor<64xindex>
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xindex>
}

// CHECK-LABEL: @narrowed
// CHECK-SAME: the selected values are narrowed
// CHECK-COUNT-2: redfuse.fold
func.func @narrowed(%s: tensor<64x80xf32>, %a: tensor<64xbf16>, %b: tensor<64xindex>) -> (tensor<64xbf16>, tensor<64xindex>) {
  %r:2 = redfuse.cascade {indexing_maps = [#ij, #i, #i]}
      ins(%s : tensor<64x80xf32>) outs(%a, %b : tensor<64xbf16>, tensor<64xindex>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %h = arith.truncf %c : f32 to bf16
    %k = redfuse.index 1
    %v, %p = redfuse.reduce argmax %h, %k over [1] into [0] : bf16, index
    redfuse.yield %v, %p : bf16, index
  } -> tensor<64xbf16>, tensor<64xindex>
  return %r#0, %r#1 : tensor<64xbf16>, tensor<64xindex>
}
