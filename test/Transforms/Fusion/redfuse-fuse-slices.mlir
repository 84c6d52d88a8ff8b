// RUN: redfuse-opt %s -redfuse-fuse | FileCheck %s

#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
#head = affine_map<(i, j) -> (i, j mod 8)>
#p = affine_map<(i, e, j) -> (i, j)>
#v = affine_map<(i, e, j) -> (j, e)>
#o = affine_map<(i, e, j) -> (i, e)>

// Weights of 9 elements, of which 8 are rounded and multiply rows: the rounding is made of all 9,
// the sum is over 9 with nothing from the last, and all of it is one cascade.
// CHECK-DAG: #[[V:.+]] = affine_map<(d0, d1, d2) -> (d2 mod 8, d1)>
// CHECK-LABEL: func.func @narrow_weights
// CHECK: redfuse.cascade
// CHECK: redfuse.reduce maximumf
// CHECK: %[[H:.+]] = arith.truncf
// CHECK: %[[W:.+]] = arith.extf %[[H]]
// CHECK: %[[PV:.+]] = arith.mulf %[[W]],
// CHECK: %[[IN:.+]] = arith.select %{{.+}}, %[[PV]],
// CHECK: redfuse.reduce add %[[IN]]
// CHECK-NOT: redfuse.cascade
// CHECK: return
func.func @narrow_weights(%x: tensor<16x9xf32>, %v: tensor<8x4xf32>, %a: tensor<16x9xf32>, %b: tensor<16x8xbf16>, %c: tensor<16x4xf32>)
    -> tensor<16x4xf32> {
  %y = redfuse.cascade {indexing_maps = [#all, #all]} ins(%x : tensor<16x9xf32>) outs(%a : tensor<16x9xf32>) {
  ^bb0(%s: f32):
    %m = redfuse.reduce maximumf %s over [1] into [0] : f32
    %d = arith.subf %s, %m : f32
    %e = math.exp %d : f32
    redfuse.yield %e : f32
  } -> tensor<16x9xf32>
  %h = redfuse.cascade {indexing_maps = [#head, #all]} ins(%y : tensor<16x9xf32>) outs(%b : tensor<16x8xbf16>) {
  ^bb0(%s: f32):
    %t = arith.truncf %s : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<16x8xbf16>
  %r = redfuse.cascade {indexing_maps = [#p, #v, #o]} ins(%h, %v : tensor<16x8xbf16>, tensor<8x4xf32>) outs(%c : tensor<16x4xf32>) {
  ^bb0(%s: bf16, %t: f32):
    %w = arith.extf %s : bf16 to f32
    %wt = arith.mulf %w, %t : f32
    %sum = redfuse.reduce add %wt over [2] into [0, 1] : f32
    redfuse.yield %sum : f32
  } -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// What is returned is not made wider.
// CHECK-LABEL: func.func @returned
// CHECK: redfuse.yield %{{.+}} : f32
// CHECK: -> tensor<16x9xf32>
// CHECK: redfuse.cascade
// CHECK: -> tensor<16x8xbf16>
func.func @returned(%x: tensor<16x9xf32>, %a: tensor<16x9xf32>, %b: tensor<16x8xbf16>) -> (tensor<16x9xf32>, tensor<16x8xbf16>) {
  %y = redfuse.cascade {indexing_maps = [#all, #all]} ins(%x : tensor<16x9xf32>) outs(%a : tensor<16x9xf32>) {
  ^bb0(%s: f32):
    %m = redfuse.reduce maximumf %s over [1] into [0] : f32
    %d = arith.subf %s, %m : f32
    redfuse.yield %d : f32
  } -> tensor<16x9xf32>
  %h = redfuse.cascade {indexing_maps = [#head, #all]} ins(%y : tensor<16x9xf32>) outs(%b : tensor<16x8xbf16>) {
  ^bb0(%s: f32):
    %t = arith.truncf %s : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<16x8xbf16>
  return %y, %h : tensor<16x9xf32>, tensor<16x8xbf16>
}

// Of a running sum the prefixes are read, and nobody needs the total: what multiplies all of them
// but the first has nothing to share with it, and stays a sum over 8.
// CHECK-LABEL: func.func @prefixes
// CHECK: redfuse.scan add
// CHECK: redfuse.reduce add %{{.+}} over [2] into [0, 1]
// CHECK-NOT: arith.select
// CHECK: return
#shifted = affine_map<(i, e, j) -> (i, j + 1)>
func.func @prefixes(%x: tensor<16x9xf32>, %v: tensor<8x4xf32>, %a: tensor<16x9xf32>, %n: tensor<16xf32>, %c: tensor<16x4xf32>)
    -> tensor<16x4xf32> {
  %s:2 = redfuse.cascade {indexing_maps = [#all, #all, #row]} ins(%x : tensor<16x9xf32>) outs(%a, %n : tensor<16x9xf32>, tensor<16xf32>) {
  ^bb0(%t: f32):
    %prefix = redfuse.scan add %t along 1 : f32
    %total = redfuse.reduce add %t over [1] into [0] : f32
    redfuse.yield %prefix, %total : f32, f32
  } -> tensor<16x9xf32>, tensor<16xf32>
  %r = redfuse.cascade {indexing_maps = [#shifted, #v, #o]} ins(%s#0, %v : tensor<16x9xf32>, tensor<8x4xf32>) outs(%c : tensor<16x4xf32>) {
  ^bb0(%w: f32, %t: f32):
    %wt = arith.mulf %w, %t : f32
    %sum = redfuse.reduce add %wt over [2] into [0, 1] : f32
    redfuse.yield %sum : f32
  } -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}
