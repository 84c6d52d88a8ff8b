// RUN: redfuse-opt -redfuse-derive %s | FileCheck %s
// RUN: redfuse-opt -redfuse-derive=strict=true %s | FileCheck %s --check-prefix=STRICT
// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s --check-prefix=ALL

// What a resident schedule folds is reduced to the state in one piece, and finalised: a cascade
// again, with the sums around a value inside the data. Nothing is carried or merged.
// CHECK-LABEL: func.func @in_one_piece
// CHECK-NOT:     redfuse.fold
// CHECK:         redfuse.cascade {{.*}}schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>
// CHECK:         ^bb0(%[[A:.*]]: f32):
// CHECK:         %[[S:.*]] = redfuse.reduce add %[[A]] over [1] into [0]
// CHECK:         %[[MEAN:.*]] = arith.divf %[[S]]
// CHECK:         %[[P:.*]] = arith.select %{{.*}}, %[[MEAN]], %{{.*}} : f32
// CHECK:         %[[D:.*]] = arith.subf %[[A]], %[[P]]
// CHECK:         %[[T1:.*]] = redfuse.reduce add %[[D]] over [1] into [0]
// CHECK:         %[[Q:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK:         %[[T2:.*]] = redfuse.reduce add %[[Q]] over [1] into [0]
// CHECK:         arith.divf %[[T1]]
// CHECK-NOT:     redfuse.reduce
// CHECK:         redfuse.yield
// What has no merge keeps its order, and so does everything where nothing may be reassociated.
// STRICT-LABEL:  func.func @in_one_piece
// STRICT:        redfuse.cascade {{.*}}schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>
// STRICT:        arith.divf
// STRICT-NEXT:   arith.subf
// ALL:           redfuse.fold
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @in_one_piece(%x: tensor<5x37xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #r], schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0], stream = [1]>}
      ins(%x : tensor<5x37xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%a: f32):
    %n = arith.constant 37.0 : f32
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %mu = arith.divf %s, %n : f32
    %d = arith.subf %a, %mu : f32
    %q = arith.mulf %d, %d : f32
    %v = redfuse.reduce add %q over [1] into [0] : f32
    redfuse.yield %v : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// Reductions that lose nothing in the source's order keep it: infinite weights meet what they meet
// there.
// CHECK-LABEL: func.func @with_weights
// CHECK:         %[[RS:.*]] = math.rsqrt
// CHECK:         %[[Z:.*]] = arith.mulf %{{.*}}, %[[RS]] : f32
// CHECK:         %[[T:.*]] = arith.mulf %[[Z]], %{{.*}} : f32
// CHECK:         %[[Y:.*]] = redfuse.reduce add %[[T]] over [1] into [0, 2]
// CHECK-NEXT:    redfuse.yield %[[Y]]
#w = affine_map<(i, j, d) -> (j, d)>
#xd = affine_map<(i, j, d) -> (i, j)>
#o = affine_map<(i, j, d) -> (i, d)>
func.func @with_weights(%x: tensor<5x37xf32>, %w: tensor<37x3xf32>, %init: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %r = redfuse.cascade {indexing_maps = [#xd, #w, #o], schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0, 0], stream = [1]>}
      ins(%x, %w : tensor<5x37xf32>, tensor<37x3xf32>) outs(%init : tensor<5x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.constant 37.0 : f32
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %mu = arith.divf %s, %n : f32
    %d = arith.subf %a, %mu : f32
    %q = arith.mulf %d, %d : f32
    %v = redfuse.reduce add %q over [1] into [0] : f32
    %rs = math.rsqrt %v : f32
    %z = arith.mulf %d, %rs : f32
    %t = arith.mulf %z, %b : f32
    %y = redfuse.reduce add %t over [1] into [0, 2] : f32
    redfuse.yield %y : f32
  } -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}
