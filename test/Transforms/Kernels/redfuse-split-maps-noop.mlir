// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a > %t.before
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-split-maps > %t.after
// RUN: diff %t.before %t.after

#a = affine_map<(i, j) -> (i mod 64, j)>
#b = affine_map<(i, j) -> (i mod 4096, j)>
#r = affine_map<(i, j) -> (i)>
#id = affine_map<(i, j) -> (i, j)>

// What is small, zeros around a tensor, and what is reduced.
func.func @whole(%x: tensor<64x64xf32>, %y: tensor<4096x4096xf32>, %e: tensor<128x64xf32>, %f: tensor<4100x4096xf32>, %g: tensor<8192xf32>) -> (tensor<128x64xf32>, tensor<4100x4096xf32>, tensor<8192xf32>) {
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant 0.0 : f32
  %0 = redfuse.cascade {indexing_maps = [#a, #a, #id]} ins(%x, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = redfuse.index 0
    %front = arith.cmpi slt, %i, %c64 : index
    %n = arith.negf %b : f32
    %v = arith.select %front, %a, %n : f32
    redfuse.yield %v : f32
  } -> tensor<128x64xf32>
  %1 = redfuse.cascade {indexing_maps = [#b, #id]} ins(%y : tensor<4096x4096xf32>) outs(%f : tensor<4100x4096xf32>) {
  ^bb0(%a: f32):
    %i = redfuse.index 0
    %front = arith.cmpi slt, %i, %c4096 : index
    %v = arith.select %front, %a, %zero : f32
    redfuse.yield %v : f32
  } -> tensor<4100x4096xf32>
  %2 = redfuse.cascade {indexing_maps = [#b, #b, #r]} ins(%y, %y : tensor<4096x4096xf32>, tensor<4096x4096xf32>) outs(%g : tensor<8192xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = redfuse.index 0
    %front = arith.cmpi slt, %i, %c4096 : index
    %n = arith.negf %b : f32
    %v = arith.select %front, %a, %n : f32
    %s = redfuse.reduce add %v over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<8192xf32>
  return %0, %1, %2 : tensor<128x64xf32>, tensor<4100x4096xf32>, tensor<8192xf32>
}

// Few elements beside whole vectors: a launch takes longer than it gains.
#line = affine_map<(i) -> (i)>
func.func @short(%x: tensor<100003xf32>, %e: tensor<100003xf32>) -> tensor<100003xf32> {
  %r = redfuse.cascade {indexing_maps = [#line, #line]} ins(%x : tensor<100003xf32>) outs(%e : tensor<100003xf32>) {
  ^bb0(%a: f32):
    %s = arith.negf %a : f32
    redfuse.yield %s : f32
  } -> tensor<100003xf32>
  return %r : tensor<100003xf32>
}
