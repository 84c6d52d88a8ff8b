// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a > %t.before
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-split-sums > %t.after
// RUN: diff %t.before %t.after
// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-split-sums > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j, k) -> (i, k)>
#y = affine_map<(i, j, k) -> (j, k)>
#z = affine_map<(i, j, k) -> (i, j)>
#w = affine_map<(i, j, k) -> (i, j, k)>

// Tiles for all multiprocessors; a short sum; a result that has the dim of the sum.
func.func @whole(%a: tensor<4096x4096xbf16>, %b: tensor<32x512xbf16>, %c: tensor<32x131072xf32>, %e: tensor<4096x4096xf32>, %f: tensor<32x32xf32>, %g: tensor<32x32x131072xf32>)
    -> (tensor<4096x4096xf32>, tensor<32x32xf32>, tensor<32x32x131072xf32>) {
  %0 = redfuse.cascade {indexing_maps = [#x, #y, #z]} ins(%a, %a : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%u: bf16, %v: bf16):
    %p = arith.extf %u : bf16 to f32
    %q = arith.extf %v : bf16 to f32
    %m = arith.mulf %p, %q : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  %1 = redfuse.cascade {indexing_maps = [#x, #y, #z]} ins(%b, %b : tensor<32x512xbf16>, tensor<32x512xbf16>) outs(%f : tensor<32x32xf32>) {
  ^bb0(%u: bf16, %v: bf16):
    %p = arith.extf %u : bf16 to f32
    %q = arith.extf %v : bf16 to f32
    %m = arith.mulf %p, %q : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<32x32xf32>
  %2 = redfuse.cascade {indexing_maps = [#x, #y, #w]} ins(%c, %c : tensor<32x131072xf32>, tensor<32x131072xf32>) outs(%g : tensor<32x32x131072xf32>) {
  ^bb0(%u: f32, %v: f32):
    %m = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    %d = arith.divf %m, %s : f32
    redfuse.yield %d : f32
  } -> tensor<32x32x131072xf32>
  return %0, %1, %2 : tensor<4096x4096xf32>, tensor<32x32xf32>, tensor<32x32x131072xf32>
}

// Sums of index type.
func.func @places(%a: tensor<32x131072xindex>, %e: tensor<32x32xindex>) -> tensor<32x32xindex> {
  %0 = redfuse.cascade {indexing_maps = [#x, #y, #z]} ins(%a, %a : tensor<32x131072xindex>, tensor<32x131072xindex>) outs(%e : tensor<32x32xindex>) {
  ^bb0(%u: index, %v: index):
    %m = arith.muli %u, %v : index
    %s = redfuse.reduce add %m over [2] into [0, 1] : index
    redfuse.yield %s : index
  } -> tensor<32x32xindex>
  return %0 : tensor<32x32xindex>
}
