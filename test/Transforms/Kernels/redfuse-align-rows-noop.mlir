// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a > %t.before
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-align-rows > %t.after
// RUN: diff %t.before %t.after

#row = affine_map<(i, t) -> (i, t)>
#column = affine_map<(i, t) -> (t, i)>
#left = affine_map<(i, j, k) -> (k, i)>
#right = affine_map<(i, j, k) -> (j, k)>
#product = affine_map<(i, j, k) -> (i, j)>

// What is small, what lies as the rows do, rows of a middle dim, whose threads have vectors of its neighbours, open extents,
// and products.
func.func @whole(%x: tensor<64x32xf32>, %g: tensor<32x64xf32>, %e: tensor<32x64xf32>, %y: tensor<6144x2048xf32>, %f: tensor<6144x2048xf32>, %z: tensor<?x2048xf32>, %h: tensor<2048x?xf32>, %a: tensor<4096x4096xbf16>, %o: tensor<4096x4096xf32>) -> (tensor<32x64xf32>, tensor<6144x2048xf32>, tensor<6144x2048xf32>, tensor<2048x?xf32>, tensor<4096x4096xf32>) {
  %0 = redfuse.cascade {indexing_maps = [#row, #column, #column]} ins(%x, %g : tensor<64x32xf32>, tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) {
  ^bb0(%v: f32, %w: f32):
    %p = redfuse.scan add %v along 1 : f32
    %m = arith.mulf %p, %w : f32
    redfuse.yield %m : f32
  } -> tensor<32x64xf32>
  %1 = redfuse.cascade {indexing_maps = [#row, #row, #row]} ins(%y, %y : tensor<6144x2048xf32>, tensor<6144x2048xf32>) outs(%f : tensor<6144x2048xf32>) {
  ^bb0(%v: f32, %w: f32):
    %p = redfuse.scan add %v along 1 : f32
    %m = arith.mulf %p, %w : f32
    redfuse.yield %m : f32
  } -> tensor<6144x2048xf32>
  %2 = redfuse.cascade {indexing_maps = [#row, #row]} ins(%y : tensor<6144x2048xf32>) outs(%f : tensor<6144x2048xf32>) {
  ^bb0(%v: f32):
    %p = redfuse.scan add %v along 0 : f32
    redfuse.yield %p : f32
  } -> tensor<6144x2048xf32>
  %3 = redfuse.cascade {indexing_maps = [#row, #column]} ins(%z : tensor<?x2048xf32>) outs(%h : tensor<2048x?xf32>) {
  ^bb0(%v: f32):
    %p = redfuse.scan add %v along 1 : f32
    redfuse.yield %p : f32
  } -> tensor<2048x?xf32>
  %4 = redfuse.cascade {indexing_maps = [#left, #right, #product]} ins(%a, %a : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%o : tensor<4096x4096xf32>) {
  ^bb0(%v: bf16, %w: bf16):
    %vw = arith.extf %v : bf16 to f32
    %ww = arith.extf %w : bf16 to f32
    %m = arith.mulf %vw, %ww : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %0, %1, %2, %3, %4 : tensor<32x64xf32>, tensor<6144x2048xf32>, tensor<6144x2048xf32>, tensor<2048x?xf32>, tensor<4096x4096xf32>
}
