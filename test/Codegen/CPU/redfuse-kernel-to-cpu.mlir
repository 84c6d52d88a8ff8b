// RUN: redfuse-opt %s -redfuse-kernel-to-cpu=vector-bits=512 -canonicalize -cse -split-input-file | FileCheck %s

// A resident cascade: stages one after another over rows in scratch; ragged ends
// of the vector dim are masked; what the row alone decides stands outside the
// loop over its elements.

#xy = affine_map<(i, j) -> (i, j)>
redfuse.kernel @rows attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [4, 0]>} {
^bb0(%x: tensor<24x1000xf32>, %o: tensor<24x1000xf32>):
  %r = redfuse.cascade {indexing_maps = [#xy, #xy]} ins(%x : tensor<24x1000xf32>)
      outs(%o : tensor<24x1000xf32>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %c = arith.subf %a, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    redfuse.yield %w : f32
  } -> tensor<24x1000xf32>
  redfuse.yield %r : tensor<24x1000xf32>
}
func.func @main(%x: memref<24x1000xf32>, %o: memref<24x1000xf32>) {
  redfuse.launch @rows ins(%x : memref<24x1000xf32>) outs(%o : memref<24x1000xf32>)
  return
}
// CHECK-LABEL: func.func @main
// CHECK:         %[[BLOCKS:.*]] = arith.constant 6 : index
// CHECK:         call @rows(%{{.*}}, %[[BLOCKS]], %{{.*}}, %{{.*}}) {redfuse.parallel}
// CHECK-LABEL: func.func private @rows
// CHECK-SAME:    redfuse.kernel_body
// CHECK:         call @redfuse_rt_scratch_view
// CHECK:         scf.for
// One exponential an element, kept for the division.
// CHECK:           arith.maximumf {{.*}} : vector<16xf32>
// CHECK:           vector.maskedload
// CHECK:           vector.reduction <maximumf>
// CHECK:           math.exp {{.*}} : vector<16xf32>
// CHECK:           vector.store
// CHECK:           vector.reduction <add>
// CHECK-NOT:       math.exp
// CHECK:           arith.divf {{.*}} : vector<16xf32>

// -----

// A contraction: a register tile of 8 rows by 3 vectors, an element broadcast a
// row, an epilogue on the accumulators before they are stored.

#ma = affine_map<(i, j, k) -> (i, k)>
#mb = affine_map<(i, j, k) -> (k, j)>
#mr = affine_map<(i, j, k) -> (j)>
#mo = affine_map<(i, j, k) -> (i, j)>
redfuse.kernel @product attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [8, 0, 0]>} {
^bb0(%a: tensor<64x128xf32>, %b: tensor<128x48xf32>, %bias: tensor<48xf32>, %o: tensor<64x48xf32>):
  %r = redfuse.cascade {indexing_maps = [#ma, #mb, #mr, #mo]}
      ins(%a, %b, %bias : tensor<64x128xf32>, tensor<128x48xf32>, tensor<48xf32>)
      outs(%o : tensor<64x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %t = arith.addf %s, %z : f32
    redfuse.yield %t : f32
  } -> tensor<64x48xf32>
  redfuse.yield %r : tensor<64x48xf32>
}
func.func @main(%a: memref<64x128xf32>, %b: memref<128x48xf32>, %bias: memref<48xf32>, %o: memref<64x48xf32>) {
  redfuse.launch @product ins(%a, %b, %bias : memref<64x128xf32>, memref<128x48xf32>, memref<48xf32>)
      outs(%o : memref<64x48xf32>)
  return
}
// CHECK-LABEL: func.func private @product
// Nothing is kept: no scratch.
// CHECK-NOT:     redfuse_rt_scratch_view
// CHECK:         scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>
// CHECK-COUNT-3:   vector.load %{{.*}} : memref<128x48xf32>, vector<16xf32>
// CHECK-COUNT-24:  vector.fma
// CHECK:           scf.yield
// CHECK:         vector.load %{{.*}} : memref<48xf32>
// CHECK:         arith.addf
// CHECK:         vector.store %{{.*}} : memref<64x48xf32>

// -----

// A fold: the state is filled with its identities, then carried over the tiles of
// the streamed dim; the last tile is shorter.

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
redfuse.kernel @fold attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [2, 300], stream = [1]>} {
^bb0(%x: tensor<6x1000xf32>, %o: tensor<6xf32>):
  %e = tensor.empty() : tensor<6xf32>
  %s = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<6x1000xf32>) outs(%e : tensor<6xf32>) step {
  ^bb0(%a: f32, %l: f32):
    %p = redfuse.reduce add %a over [1] into [0] : f32
    %n = arith.addf %l, %p : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<6xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%s : tensor<6xf32>) outs(%o : tensor<6xf32>) {
  ^bb0(%a: f32):
    %n = math.sqrt %a : f32
    redfuse.yield %n : f32
  } -> tensor<6xf32>
  redfuse.yield %r : tensor<6xf32>
}
func.func @main(%x: memref<6x1000xf32>, %o: memref<6xf32>) {
  redfuse.launch @fold ins(%x : memref<6x1000xf32>) outs(%o : memref<6xf32>)
  return
}
// CHECK-LABEL: func.func private @fold
// CHECK:         %[[TILE:.*]] = arith.constant 300 : index
// CHECK:         scf.for
// CHECK:           scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %[[TILE]]
// CHECK:             arith.minsi
// CHECK:             vector.reduction <add>
// CHECK:           math.sqrt

// -----

// Extents that are not static are read from the operands, on both sides.

#d = affine_map<(i, j) -> (i, j)>
#dr = affine_map<(i, j) -> (i)>
redfuse.kernel @dynamic attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [4, 0]>} {
^bb0(%x: tensor<?x?xf32>, %o: tensor<?xf32>):
  %r = redfuse.cascade {indexing_maps = [#d, #dr]} ins(%x : tensor<?x?xf32>) outs(%o : tensor<?xf32>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<?xf32>
  redfuse.yield %r : tensor<?xf32>
}
func.func @main(%x: memref<?x?xf32>, %o: memref<?xf32>) {
  redfuse.launch @dynamic ins(%x : memref<?x?xf32>) outs(%o : memref<?xf32>)
  return
}
// CHECK-LABEL: func.func @main
// CHECK:         memref.dim
// CHECK:         arith.ceildivui
// CHECK-LABEL: func.func private @dynamic
// CHECK:         memref.dim
// CHECK:         vector.create_mask

// -----

// What a fold walked that is gone is not walked: dim 1 is in 'stream', and nothing
// reduces it.
// CHECK-LABEL: func.func @unreduced
// CHECK: redfuse.kernel_body
// CHECK-NOT: scf.for {{.*}} step %c4
#m = affine_map<(i, j) -> (i)>
func.func @unreduced(%x: memref<6xf32>, %out: memref<6xf32>) {
  redfuse.launch @unreduced_0 ins(%x : memref<6xf32>) outs(%out : memref<6xf32>)
  return
}
redfuse.kernel @unreduced_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, tiles = [0, 4], stream = [1]>} {
^bb0(%x: tensor<6xf32>, %init: tensor<6xf32>):
  %0 = redfuse.finalize {indexing_maps = [#m, #m]} ins(%x : tensor<6xf32>) outs(%init : tensor<6xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<6xf32>
  redfuse.yield %0 : tensor<6xf32>
}
