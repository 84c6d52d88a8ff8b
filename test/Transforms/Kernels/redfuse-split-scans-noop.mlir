// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a > %t.before
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-split-scans > %t.after
// RUN: diff %t.before %t.after
// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-split-scans > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#i = affine_map<(i) -> (i)>
#back = affine_map<(i) -> (1048575 - i)>

// Rows for all multiprocessors, short ones, of a prime extent, results that need the sum of all, and
// what is read from the end.
func.func @whole(%x: tensor<512x1048576xf32>, %y: tensor<2x32768xf32>, %z: tensor<1048583xf32>, %w: tensor<2x1048576xf32>, %v: tensor<1048576xf32>)
    -> (tensor<512x1048576xf32>, tensor<2x32768xf32>, tensor<1048583xf32>, tensor<2x1048576xf32>, tensor<1048576xf32>) {
  %0 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<512x1048576xf32>) outs(%x : tensor<512x1048576xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.scan add %a along 1 : f32
    redfuse.yield %s : f32
  } -> tensor<512x1048576xf32>
  %1 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%y : tensor<2x32768xf32>) outs(%y : tensor<2x32768xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.scan add %a along 1 : f32
    redfuse.yield %s : f32
  } -> tensor<2x32768xf32>
  %2 = redfuse.cascade {indexing_maps = [#i, #i]} ins(%z : tensor<1048583xf32>) outs(%z : tensor<1048583xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.scan add %a along 0 : f32
    redfuse.yield %s : f32
  } -> tensor<1048583xf32>
  %3 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%w : tensor<2x1048576xf32>) outs(%w : tensor<2x1048576xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [1] into [0] : f32
    %s = redfuse.scan add %a along 1 : f32
    %q = arith.divf %s, %t : f32
    redfuse.yield %q : f32
  } -> tensor<2x1048576xf32>
  %4 = redfuse.cascade {indexing_maps = [#back, #i]} ins(%v : tensor<1048576xf32>) outs(%v : tensor<1048576xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.scan add %a along 0 : f32
    redfuse.yield %s : f32
  } -> tensor<1048576xf32>
  return %0, %1, %2, %3, %4 : tensor<512x1048576xf32>, tensor<2x32768xf32>, tensor<1048583xf32>, tensor<2x1048576xf32>, tensor<1048576xf32>
}
