// RUN: redfuse-opt %s -redfuse-slice-operands=least-alike=2 | FileCheck %s
// RUN: redfuse-opt %s -redfuse-slice-operands=least-alike=2 -redfuse-share-kernels \
// RUN:   | FileCheck %s --check-prefix=ONE

// Two kernels that differ by the position that they read take what is there; of the third kind
// there is one.

// CHECK-LABEL: func.func @steps
// CHECK-SAME:    %[[X:.*]]: memref<4x8x16xf32>
// CHECK:         %[[C0:.*]] = arith.constant 0 : index
// CHECK:         %[[S0:.*]] = memref.subview %[[X]][%[[C0]], 0, 0] [1, 8, 16] [1, 1, 1]
// CHECK-SAME:      to memref<8x16xf32, strided<[16, 1], offset: ?>>
// CHECK:         redfuse.launch @first ins(%[[S0]]
// CHECK:         %[[C2:.*]] = arith.constant 2 : index
// CHECK:         %[[S2:.*]] = memref.subview %[[X]][%[[C2]], 0, 0]
// CHECK:         redfuse.launch @second ins(%[[S2]]
// CHECK:         redfuse.launch @least ins(%[[X]]
// CHECK-LABEL: redfuse.kernel @first
// CHECK:         tensor<8x16xf32>, %{{.*}}: tensor<8xf32>
// CHECK:         indexing_maps = [#map, #map1]
// ONE:         redfuse.launch @first
// ONE:         redfuse.launch @first
// ONE-SAME:      redfuse.instead_of = "second"
// ONE:         redfuse.launch @least
#r = affine_map<(i, j) -> (i)>
func.func @steps(%x: memref<4x8x16xf32>, %out: memref<8xf32>) {
  redfuse.launch @first ins(%x : memref<4x8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @second ins(%x : memref<4x8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @least ins(%x : memref<4x8x16xf32>) outs(%out : memref<8xf32>)
  return
}
redfuse.kernel @first attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<4x8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (0, i, j)>, #r]}
       ins(%x : tensor<4x8x16xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @second attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<4x8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (2, i, j)>, #r]}
       ins(%x : tensor<4x8x16xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @least attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<4x8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (1, i, j)>, #r]}
       ins(%x : tensor<4x8x16xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce minimumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
