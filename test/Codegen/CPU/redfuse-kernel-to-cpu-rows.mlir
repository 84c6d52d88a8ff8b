// RUN: redfuse-opt %s -redfuse-kernel-to-cpu=vector-bits=256 | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>

// Columns: the sums of a block's piece of a row are in memory, and eight rows are added to
// them at a time.
// CHECK-LABEL: func.func private @columns(
// CHECK: %[[SUMS:.*]] = memref.view {{.*}} : memref<?xi8> to memref<32xf32>
// CHECK: vector.store %{{.*}}, %[[SUMS]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-8: vector.load %{{.*}} : memref<24x64xf32>, vector<8xf32>
// CHECK-COUNT-7: arith.addf
// CHECK: vector.load %[[SUMS]]
// CHECK: arith.addf
// CHECK: vector.store %{{.*}}, %[[SUMS]]
func.func @of_columns(%x: memref<24x64xf32>, %o: memref<64xf32>) {
  redfuse.launch @columns ins(%x : memref<24x64xf32>) outs(%o : memref<64xf32>)
  return
}
redfuse.kernel @columns attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [1], tiles = [0, 32]>} {
^bb0(%x: tensor<24x64xf32>, %o: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #j]} ins(%x : tensor<24x64xf32>) outs(%o : tensor<64xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [0] into [1] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// Rows: four at a time, then what is left of them one by one.
// CHECK-LABEL: func.func private @rows(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-4: vector.load %{{.*}} : memref<24x64xf32>, vector<8xf32>
// CHECK-COUNT-4: vector.reduction <add>
func.func @of_rows(%x: memref<24x64xf32>, %o: memref<24xf32>) {
  redfuse.launch @rows ins(%x : memref<24x64xf32>) outs(%o : memref<24xf32>)
  return
}
redfuse.kernel @rows attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [6, 0]>} {
^bb0(%x: tensor<24x64xf32>, %o: tensor<24xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #i]} ins(%x : tensor<24x64xf32>) outs(%o : tensor<24xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<24xf32>
  redfuse.yield %r : tensor<24xf32>
}

// One vector of columns, or a part of one: sums are in registers.
// CHECK-LABEL: func.func private @few_columns(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-4: vector.maskedload %{{.*}} : memref<240x3xf32>
// CHECK: vector.maskedstore
func.func @of_few_columns(%x: memref<240x3xf32>, %o: memref<3xf32>) {
  redfuse.launch @few_columns ins(%x : memref<240x3xf32>) outs(%o : memref<3xf32>)
  return
}
redfuse.kernel @few_columns attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, tiles = [0, 0]>} {
^bb0(%x: tensor<240x3xf32>, %o: tensor<3xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #j]} ins(%x : tensor<240x3xf32>) outs(%o : tensor<3xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [0] into [1] : f32
    redfuse.yield %s : f32
  } -> tensor<3xf32>
  redfuse.yield %r : tensor<3xf32>
}
