// RUN: redfuse-opt %s -redfuse-schedule | FileCheck %s

// A module says which schedule its cascades have; of the second, the model chooses.
// CHECK-NOT:   redfuse.schedules
// CHECK:       redfuse.cascade
// CHECK-SAME:    schedule = #redfuse.schedule<stream, grid = [0], tiles = [3, 48], stream = [1]
// CHECK:       redfuse.cascade
// CHECK-SAME:    schedule = #redfuse.schedule<resident, grid = [0]
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
module attributes {redfuse.schedules = [
    #redfuse.schedule<stream, grid = [0], tiles = [3, 48], stream = [1]>, unit]} {
  func.func @two(%x: tensor<64x1000xf32>, %o: tensor<64xf32>)
      -> (tensor<64xf32>, tensor<64xf32>) {
    %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x1000xf32>)
        outs(%o : tensor<64xf32>) {
    ^bb0(%v: f32):
      %t = redfuse.reduce add %v over [1] into [0] : f32
      redfuse.yield %t : f32
    } -> tensor<64xf32>
    %m = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x1000xf32>)
        outs(%o : tensor<64xf32>) {
    ^bb0(%v: f32):
      %t = redfuse.reduce maximumf %v over [1] into [0] : f32
      redfuse.yield %t : f32
    } -> tensor<64xf32>
    return %s, %m : tensor<64xf32>, tensor<64xf32>
  }
}
