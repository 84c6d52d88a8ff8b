// RUN: redfuse-opt %s -redfuse-schedule -split-input-file -verify-diagnostics

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
// expected-error @below {{'redfuse.schedules' has 2 schedules; expected one for each of the 1 cascades}}
module attributes {redfuse.schedules = [unit, unit]} {
  func.func @one(%x: tensor<64x1000xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
    %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x1000xf32>)
        outs(%o : tensor<64xf32>) {
    ^bb0(%v: f32):
      %t = redfuse.reduce add %v over [1] into [0] : f32
      redfuse.yield %t : f32
    } -> tensor<64xf32>
    return %s : tensor<64xf32>
  }
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
module attributes {redfuse.schedules = [#redfuse.schedule<resident, grid = [0], tiles = [3]>]} {
  func.func @tiles(%x: tensor<64x1000xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
    // expected-error @below {{'redfuse.schedules': a schedule with 1 tiles; expected one for each of the 2 iteration dims}}
    %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x1000xf32>)
        outs(%o : tensor<64xf32>) {
    ^bb0(%v: f32):
      %t = redfuse.reduce add %v over [1] into [0] : f32
      redfuse.yield %t : f32
    } -> tensor<64xf32>
    return %s : tensor<64xf32>
  }
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
module attributes {redfuse.schedules = [3]} {
  func.func @number(%x: tensor<64x1000xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
    // expected-error @below {{'redfuse.schedules': expected a #redfuse.schedule or unit, got 3 : i64}}
    %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x1000xf32>)
        outs(%o : tensor<64xf32>) {
    ^bb0(%v: f32):
      %t = redfuse.reduce add %v over [1] into [0] : f32
      redfuse.yield %t : f32
    } -> tensor<64xf32>
    return %s : tensor<64xf32>
  }
}
