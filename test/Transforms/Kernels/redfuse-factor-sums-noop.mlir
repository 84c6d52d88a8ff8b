// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -o %t.before
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-factor-sums -o %t.after
// RUN: diff %t.before %t.after

#ik = affine_map<(i, j, k) -> (i, k)>
#jk = affine_map<(i, j, k) -> (j, k)>
#k = affine_map<(i, j, k) -> (k)>
#i = affine_map<(i, j, k) -> (i)>
#ij = affine_map<(i, j, k) -> (i, j)>

// Numbers of 8 bits without scales.
func.func @plain(%x: tensor<64x256xi8>, %w: tensor<96x256xi8>, %e: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]} ins(%x, %w : tensor<64x256xi8>, tensor<96x256xi8>) outs(%e : tensor<64x96xf32>) {
  ^bb0(%x0: i8, %w0: i8):
    %x1 = arith.sitofp %x0 : i8 to f32
    %w1 = arith.sitofp %w0 : i8 to f32
    %p = arith.mulf %x1, %w1 : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x96xf32>
  return %r : tensor<64x96xf32>
}

// Floats of 16 bits may be as large as a scale is small.
func.func @halves(%x: tensor<64x256xbf16>, %a: tensor<64xf32>, %w: tensor<96x256xbf16>, %e: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %r = redfuse.cascade {indexing_maps = [#ik, #i, #jk, #ij]} ins(%x, %a, %w : tensor<64x256xbf16>, tensor<64xf32>, tensor<96x256xbf16>) outs(%e : tensor<64x96xf32>) {
  ^bb0(%x0: bf16, %a0: f32, %w0: bf16):
    %x1 = arith.extf %x0 : bf16 to f32
    %u = arith.mulf %x1, %a0 : f32
    %w1 = arith.extf %w0 : bf16 to f32
    %p = arith.mulf %u, %w1 : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x96xf32>
  return %r : tensor<64x96xf32>
}

// A scale of each element of the sum.
func.func @along(%x: tensor<64x256xi8>, %a: tensor<256xf32>, %w: tensor<96x256xi8>, %e: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %r = redfuse.cascade {indexing_maps = [#ik, #k, #jk, #ij]} ins(%x, %a, %w : tensor<64x256xi8>, tensor<256xf32>, tensor<96x256xi8>) outs(%e : tensor<64x96xf32>) {
  ^bb0(%x0: i8, %a0: f32, %w0: i8):
    %x1 = arith.sitofp %x0 : i8 to f32
    %u = arith.mulf %x1, %a0 : f32
    %w1 = arith.sitofp %w0 : i8 to f32
    %p = arith.mulf %u, %w1 : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x96xf32>
  return %r : tensor<64x96xf32>
}

// Sums that are no product of matrices.
func.func @rows(%x: tensor<64x256xi8>, %a: tensor<64xf32>, %e: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %r = redfuse.cascade {indexing_maps = [#ik, #i, #ij]} ins(%x, %a : tensor<64x256xi8>, tensor<64xf32>) outs(%e : tensor<64x96xf32>) {
  ^bb0(%x0: i8, %a0: f32):
    %x1 = arith.sitofp %x0 : i8 to f32
    %u = arith.mulf %x1, %a0 : f32
    %p = arith.mulf %u, %x1 : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x96xf32>
  return %r : tensor<64x96xf32>
}
