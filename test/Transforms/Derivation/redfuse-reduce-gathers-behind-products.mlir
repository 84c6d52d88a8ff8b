// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-reduce-gathers=behind-products -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-reduce-gathers=behind-products -split-input-file | FileCheck %s --check-prefix=OLDER

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
#r = affine_map<(m, n) -> (m)>
#i = affine_map<(m) -> (m)>

// Columns of the product are reduced, and one of each row is read: by a reduction, too.
// CHECK-LABEL: func.func @reduced(
// CHECK: arith.cmpi eq
// CHECK: redfuse.reduce add %{{.*}} over [1] into [0] : f32
// CHECK-NOT: tensor.extract
// CHECK: return
// OLDER-LABEL: func.func @reduced(
// OLDER: tensor.extract
func.func @reduced(%a: tensor<512x1024xbf16>, %b: tensor<1000x1024xbf16>, %at: tensor<512xindex>) -> (tensor<512xf32>, tensor<512xf32>) {
  %ce = tensor.empty() : tensor<512x1000xf32>
  %re = tensor.empty() : tensor<512xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #c]} ins(%a, %b : tensor<512x1024xbf16>, tensor<1000x1024xbf16>) outs(%ce : tensor<512x1000xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %w = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %w over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<512x1000xf32>
  %m = redfuse.cascade {indexing_maps = [#e, #r]} ins(%p : tensor<512x1000xf32>) outs(%re : tensor<512xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<512xf32>
  %l = redfuse.cascade {indexing_maps = [#i, #i]} ins(%at : tensor<512xindex>) outs(%re : tensor<512xf32>) {
  ^bb0(%j: index):
    %row = redfuse.index 0
    %v = tensor.extract %p[%row, %j] : tensor<512x1000xf32>
    redfuse.yield %v : f32
  } -> tensor<512xf32>
  return %m, %l : tensor<512xf32>, tensor<512xf32>
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#i = affine_map<(m) -> (m)>

// A product that is a result is there to be read from; one of few rows takes little memory.
// CHECK-LABEL: func.func @stored(
// CHECK: tensor.extract
// CHECK-LABEL: func.func @few(
// CHECK: tensor.extract
func.func @stored(%a: tensor<512x1024xbf16>, %b: tensor<1000x1024xbf16>, %at: tensor<512xindex>) -> (tensor<512x1000xf32>, tensor<512xf32>) {
  %ce = tensor.empty() : tensor<512x1000xf32>
  %re = tensor.empty() : tensor<512xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #c]} ins(%a, %b : tensor<512x1024xbf16>, tensor<1000x1024xbf16>) outs(%ce : tensor<512x1000xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %w = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %w over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<512x1000xf32>
  %l = redfuse.cascade {indexing_maps = [#i, #i]} ins(%at : tensor<512xindex>) outs(%re : tensor<512xf32>) {
  ^bb0(%j: index):
    %row = redfuse.index 0
    %v = tensor.extract %p[%row, %j] : tensor<512x1000xf32>
    redfuse.yield %v : f32
  } -> tensor<512xf32>
  return %p, %l : tensor<512x1000xf32>, tensor<512xf32>
}
func.func @few(%a: tensor<16x1024xbf16>, %b: tensor<1000x1024xbf16>, %at: tensor<16xindex>) -> tensor<16xf32> {
  %ce = tensor.empty() : tensor<16x1000xf32>
  %re = tensor.empty() : tensor<16xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #c]} ins(%a, %b : tensor<16x1024xbf16>, tensor<1000x1024xbf16>) outs(%ce : tensor<16x1000xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %w = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %w over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<16x1000xf32>
  %l = redfuse.cascade {indexing_maps = [#i, #i]} ins(%at : tensor<16xindex>) outs(%re : tensor<16xf32>) {
  ^bb0(%j: index):
    %row = redfuse.index 0
    %v = tensor.extract %p[%row, %j] : tensor<16x1000xf32>
    redfuse.yield %v : f32
  } -> tensor<16xf32>
  return %l : tensor<16xf32>
}
