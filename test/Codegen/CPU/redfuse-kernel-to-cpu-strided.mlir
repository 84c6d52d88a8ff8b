// RUN: redfuse-opt %s -redfuse-kernel-to-cpu=vector-bits=256 | FileCheck %s

// Every other element: two vectors are read, of the second one no more than there is, and
// the lanes are picked from both.
// CHECK-LABEL: func.func private @pool(
// CHECK: %[[LOW:.*]] = vector.load %{{.*}} : memref<4x63xf32>, vector<8xf32>
// CHECK: %[[MASK:.*]] = vector.create_mask %{{.*}} : vector<8xi1>
// CHECK: %[[HIGH:.*]] = vector.maskedload %{{.*}}, %[[MASK]], {{.*}} : memref<4x63xf32>
// CHECK: vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK: arith.maximumf
#x = affine_map<(i, j, k) -> (i, j * 2 + k)>
#o = affine_map<(i, j, k) -> (i, j)>
#k = affine_map<(i, j, k) -> (k)>
func.func @f(%x: memref<4x63xf32>, %w: memref<2xf32>, %o: memref<4x31xf32>) {
  redfuse.launch @pool ins(%x, %w : memref<4x63xf32>, memref<2xf32>) outs(%o : memref<4x31xf32>)
  return
}
redfuse.kernel @pool attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0, 0]>} {
^bb0(%x: tensor<4x63xf32>, %w: tensor<2xf32>, %o: tensor<4x31xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #k, #o]} ins(%x, %w : tensor<4x63xf32>, tensor<2xf32>) outs(%o : tensor<4x31xf32>) {
  ^bb0(%a: f32, %c: f32):
    %m = redfuse.reduce maximumf %a over [2] into [0, 1] : f32
    redfuse.yield %m : f32
  } -> tensor<4x31xf32>
  redfuse.yield %r : tensor<4x31xf32>
}
