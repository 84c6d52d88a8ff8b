// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx942 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx1100 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s --check-prefixes=CHECK,NARROW

// A row of 1024 elements has 64 threads: where waves are of 64 lanes all of it is one
// wave's, which agrees by six shuffles and waits for nobody; of 32, two waves exchange
// through shared memory.

// CHECK-LABEL: gpu.func @maximum_0
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// WIDE-NOT: gpu.barrier
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c1_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c2_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c4_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c8_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c16_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c32_i32{{.*}}, %c64_i32
// WIDE-NOT: gpu.barrier
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c1_i32{{.*}}, %c32_i32
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c2_i32{{.*}}, %c32_i32
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c4_i32{{.*}}, %c32_i32
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c8_i32{{.*}}, %c32_i32
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c16_i32{{.*}}, %c32_i32
// NARROW: gpu.barrier
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c1_i32{{.*}}, %c32_i32
// NARROW-NOT: gpu.shuffle
// CHECK: gpu.return
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @maximum(%x: memref<30x1024xf32>, %out: memref<30xf32>) {
  redfuse.launch @maximum_0 ins(%x : memref<30x1024xf32>) outs(%out : memref<30xf32>)
  return
}
redfuse.kernel @maximum_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<30x1024xf32>, %init: tensor<30xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<30x1024xf32>) outs(%init : tensor<30xf32>) {
  ^bb0(%v: f32):
    %m = redfuse.reduce maximumf %v over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<30xf32>
  redfuse.yield %0 : tensor<30xf32>
}

// -----

// With extents that are not known, tiles are in memory; a team is a wave.

// CHECK-LABEL: gpu.func @dynamic_0
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c32_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c16_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c8_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c4_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c2_i32{{.*}}, %c64_i32
// WIDE: gpu.shuffle xor %{{[0-9]+}}, %c1_i32{{.*}}, %c64_i32
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c16_i32{{.*}}, %c32_i32
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c8_i32{{.*}}, %c32_i32
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c4_i32{{.*}}, %c32_i32
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c2_i32{{.*}}, %c32_i32
// NARROW: gpu.shuffle xor %{{[0-9]+}}, %c1_i32{{.*}}, %c32_i32
// CHECK-NOT: gpu.shuffle xor
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @dynamic(%x: memref<?x?xf32>, %out: memref<?xf32>) {
  redfuse.launch @dynamic_0 ins(%x : memref<?x?xf32>) outs(%out : memref<?xf32>)
  return
}
redfuse.kernel @dynamic_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [16, 0]>} {
^bb0(%x: tensor<?x?xf32>, %init: tensor<?xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<?x?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%v: f32):
    %m = redfuse.reduce add %v over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<?xf32>
  redfuse.yield %0 : tensor<?xf32>
}
