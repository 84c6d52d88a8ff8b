// RUN: redfuse-opt %s -redfuse-kernel-to-cpu=vector-bits=256 | FileCheck %s

// Blocks of 16 x 24, of the sum 40 at a time; panels of 4 rows and of 16 columns. Rows are
// adjacent along the sum: squares of 8 x 8 are transposed. Columns are adjacent themselves.
// CHECK-LABEL: func.func private @k_0(
// CHECK: %[[SCRATCH:.*]] = {{.*}}call @redfuse_rt_scratch_view
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<4x48x4xf32>
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<2x48x16xf32>
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<16x40xf32>
// CHECK: scf.for
// The sum.
// CHECK: scf.for
// CHECK: vector.load %{{.*}} : memref<40x80xf32>{{.*}}, vector<8xf32>
// CHECK: vector.shuffle
// CHECK: vector.store %{{.*}} : memref<4x48x4xf32>, vector<4xf32>
// CHECK: vector.load %{{.*}} : memref<80x44xf32>{{.*}}, vector<8xf32>
// CHECK: vector.store %{{.*}} : memref<2x48x16xf32>, vector<8xf32>
// The microkernel.
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-2: vector.load %{{.*}} : memref<2x48x16xf32>, vector<8xf32>
// CHECK: memref.load %{{.*}} : memref<4x48x4xf32>
// CHECK-COUNT-2: vector.fma
// CHECK: memref.load
// The epilogue, of what was added up.
// CHECK: vector.load %{{.*}} : memref<16x40xf32>, vector<8xf32>
// CHECK: arith.maximumf
// CHECK: vector.store %{{.*}} : memref<40x44xf32>

// Columns that are not packed: microkernels load them where they lie; of the last ones some lanes.
// CHECK-LABEL: func.func private @k_0_
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<4x48x4xf32>
// CHECK-NEXT: memref.view %{{.*}} : memref<?xi8> to memref<16x56xf32>
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-2: vector.load %arg3[{{.*}}] : memref<80x44xf32>, vector<8xf32>
// CHECK: memref.load %{{.*}} : memref<4x48x4xf32>
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK: vector.load %arg3[{{.*}}] : memref<80x44xf32>, vector<8xf32>
// CHECK: vector.maskedload %arg3

// Nothing is packed: of rows elements are loaded, three and then one that is left.
// CHECK-LABEL: func.func private @k_0_
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<{{[0-9]+}}x56xf32>
// CHECK-NOT: memref.view
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-2: vector.load %arg3[{{.*}}] : memref<80x44xf32>, vector<8xf32>
// CHECK-COUNT-3: memref.load %arg2[{{.*}}] : memref<40x80xf32>
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-2: vector.load %arg3[{{.*}}] : memref<80x44xf32>, vector<8xf32>
// CHECK: memref.load %arg2[{{.*}}] : memref<40x80xf32>

// Vectors along the sum, of rows and of columns. Their lanes are added: two sums share a vector
// until each is one lane.
// CHECK-LABEL: func.func private @t_0(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-2: vector.load %arg2[{{.*}}] : memref<40x80xf32>, vector<8xf32>
// CHECK: vector.load %arg3[{{.*}}] : memref<44x80xf32>, vector<8xf32>
// CHECK-COUNT-2: vector.fma
// CHECK: vector.load %arg3[{{.*}}] : memref<44x80xf32>, vector<8xf32>
// CHECK-COUNT-2: vector.fma
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 8, 9, 10, 11]
// CHECK-NEXT: vector.shuffle {{.*}} [4, 5, 6, 7, 12, 13, 14, 15]
// CHECK-NEXT: arith.addf
// CHECK-NEXT: vector.shuffle {{.*}} [0, 1, 4, 5]
// CHECK-NEXT: vector.shuffle {{.*}} [2, 3, 6, 7]
// CHECK-NEXT: arith.addf
// CHECK-NEXT: vector.shuffle {{.*}} [0, 2]
// CHECK-NEXT: vector.shuffle {{.*}} [1, 3]
// CHECK-NEXT: arith.addf
// CHECK: vector.store %{{.*}} : memref<{{[0-9]+}}x{{[0-9]+}}xf32>, vector<2xf32>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (j, k)>
#o = affine_map<(i, j, k) -> (i, j)>
func.func @f(%a: memref<40x80xf32>, %b: memref<80x44xf32>, %c: memref<44x80xf32>, %out: memref<40x44xf32>) {
  redfuse.launch @k_0 ins(%a, %b : memref<40x80xf32>, memref<80x44xf32>) outs(%out : memref<40x44xf32>)
      {redfuse.packing = #redfuse.packing_plan<tiles = [16, 24, 40], registers = [4, 2]>}
  redfuse.launch @k_0 ins(%a, %b : memref<40x80xf32>, memref<80x44xf32>) outs(%out : memref<40x44xf32>)
      {redfuse.packing = #redfuse.packing_plan<tiles = [16, 0, 40], registers = [4, 2], microkernel = packed_rows>}
  redfuse.launch @k_0 ins(%a, %b : memref<40x80xf32>, memref<80x44xf32>) outs(%out : memref<40x44xf32>)
      {redfuse.packing = #redfuse.packing_plan<tiles = [0, 0, 40], registers = [3, 2], microkernel = outer>}
  redfuse.launch @t_0 ins(%a, %c : memref<40x80xf32>, memref<44x80xf32>) outs(%out : memref<40x44xf32>)
      {redfuse.packing = #redfuse.packing_plan<tiles = [0, 22, 0], registers = [2, 2], microkernel = inner>}
  return
}
redfuse.kernel @t_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [4, 16, 0]>} {
^bb0(%a: tensor<40x80xf32>, %c: tensor<44x80xf32>, %init: tensor<40x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #c, #o]} ins(%a, %c : tensor<40x80xf32>, tensor<44x80xf32>) outs(%init : tensor<40x44xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<40x44xf32>
  redfuse.yield %r : tensor<40x44xf32>
}
redfuse.kernel @k_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [4, 16, 0]>} {
^bb0(%a: tensor<40x80xf32>, %b: tensor<80x44xf32>, %init: tensor<40x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<40x80xf32>, tensor<80x44xf32>) outs(%init : tensor<40x44xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %zero = arith.constant 0.0 : f32
    %m = arith.maximumf %s, %zero : f32
    redfuse.yield %m : f32
  } -> tensor<40x44xf32>
  redfuse.yield %r : tensor<40x44xf32>
}
