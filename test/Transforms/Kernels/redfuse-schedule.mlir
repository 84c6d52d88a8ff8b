// RUN: redfuse-opt %s -redfuse-schedule | FileCheck %s
// RUN: redfuse-opt %s -redfuse-schedule=kind=stream | FileCheck %s --check-prefix=STREAM
// RUN: redfuse-opt %s "-redfuse-schedule=kind=stream tiles=0,48" | FileCheck %s --check-prefix=TILES
// RUN: redfuse-opt %s "-redfuse-schedule=kind=stream lazy=8" -redfuse-derive | FileCheck %s --check-prefix=LAZY

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Rows that fit the cache of a core stay there. The rows are the grid: the other dim is reduced.
// CHECK-LABEL: func.func @rows
// CHECK:         schedule = #redfuse.schedule<resident, grid = [0], tiles = [{{[0-9]+}}, 0]
// STREAM-LABEL: func.func @rows
// STREAM:        schedule = #redfuse.schedule<stream, grid = [0], tiles = [{{.*}}], stream = [1]
// TILES:         tiles = [{{[0-9]+}}, 48], stream = [1]
// What is streamed may say how far a pivot lags; the fold then has one.
// LAZY-LABEL:    func.func @rows
// LAZY:          redfuse.fold
// LAZY-SAME:     stream = [1], lazy = 8, reason = "asked for"
// LAZY:          arith.constant 5.545{{[0-9]*}} : f32
func.func @rows(%x: tensor<64x1000xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x1000xf32>) outs(%o : tensor<64xf32>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %d = arith.subf %a, %m : f32
    %e = math.exp %d : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// Scores of a million keys do not fit: the keys are streamed.
#q = affine_map<(i, d, j, k) -> (i, k)>
#k = affine_map<(i, d, j, k) -> (j, k)>
#v = affine_map<(i, d, j, k) -> (j, d)>
#o = affine_map<(i, d, j, k) -> (i, d)>
// CHECK-LABEL: func.func @long
// CHECK:         #redfuse.schedule<stream, grid = [0], tiles = [{{[0-9]+}}, 0, {{[0-9]+}}, 0], stream = [2]
func.func @long(%q: tensor<64x64xf32>, %k: tensor<1048576x64xf32>, %v: tensor<1048576x64xf32>,
                %o: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = redfuse.cascade {indexing_maps = [#q, #k, #v, #o]}
      ins(%q, %k, %v : tensor<64x64xf32>, tensor<1048576x64xf32>, tensor<1048576x64xf32>)
      outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [3] into [0, 2] : f32
    %m = redfuse.reduce maximumf %s over [2] into [0] : f32
    %d = arith.subf %s, %m : f32
    %e = math.exp %d : f32
    %l = redfuse.reduce add %e over [2] into [0] : f32
    %w = arith.divf %e, %l : f32
    %t = arith.mulf %w, %c : f32
    %u = redfuse.reduce add %t over [2] into [0, 1] : f32
    redfuse.yield %u : f32
  } -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// Rounding by the scale of a row is a barrier: rows that do not fit are streamed twice.
// CHECK-LABEL: func.func @scaled
// CHECK-SAME:    condition = "quantisation"
// CHECK:         schedule = #redfuse.schedule<multipass, grid = [0], tiles = [{{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}], stream = [1], reason = "2 passes: keeping
#xs = affine_map<(i, j, d) -> (i, j)>
#ws = affine_map<(i, j, d) -> (j, d)>
#os = affine_map<(i, j, d) -> (i, d)>
func.func @scaled(%x: tensor<64x1048576xf32>, %w: tensor<1048576x64xf32>, %o: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = redfuse.cascade {indexing_maps = [#xs, #ws, #os]}
      ins(%x, %w : tensor<64x1048576xf32>, tensor<1048576x64xf32>) outs(%o : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = math.absf %a : f32
    %m = redfuse.reduce maximumf %t over [1] into [0] : f32
    %q = arith.divf %a, %m : f32
    %n = math.roundeven %q : f32
    %e = math.exp %n : f32
    %p = arith.mulf %e, %b : f32
    %s = redfuse.reduce add %p over [1] into [0, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// No reduction: a map. A schedule that is there is kept.
// CHECK-LABEL: func.func @map
// CHECK:         #redfuse.schedule<map, grid = [0, 1]
// CHECK:         #redfuse.schedule<map, grid = [0], tiles = [7, 0]>
func.func @map(%x: tensor<64x1000xf32>, %o: tensor<64x1000xf32>) -> tensor<64x1000xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<64x1000xf32>) outs(%o : tensor<64x1000xf32>) {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    redfuse.yield %b : f32
  } -> tensor<64x1000xf32>
  %s = redfuse.cascade {indexing_maps = [#x, #x], schedule = #redfuse.schedule<map, grid = [0], tiles = [7, 0]>}
      ins(%r : tensor<64x1000xf32>) outs(%o : tensor<64x1000xf32>) {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    redfuse.yield %b : f32
  } -> tensor<64x1000xf32>
  return %s : tensor<64x1000xf32>
}

// Lists are merged as wholes: no tile cuts their ranks.
// CHECK-LABEL: func.func @merged_lists
// CHECK: redfuse.schedule<map, {{.*}}tiles = [{{[0-9]+}}, {{[0-9]+}}, 0]
func.func @merged_lists(%v: tensor<2x64x40xf32>, %i: tensor<2x64x40xi64>,
                        %a: tensor<40x64xf32>, %b: tensor<40x64xi64>)
    -> (tensor<40x64xf32>, tensor<40x64xi64>) {
  %0:2 = redfuse.cascade {indexing_maps = [
      affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, d1, d2)>,
      affine_map<(d0, d1, d2) -> (1, d1, d2)>, affine_map<(d0, d1, d2) -> (1, d1, d2)>,
      affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d2, d1)>]}
      ins(%v, %i, %v, %i : tensor<2x64x40xf32>, tensor<2x64x40xi64>,
                           tensor<2x64x40xf32>, tensor<2x64x40xi64>)
      outs(%a, %b : tensor<40x64xf32>, tensor<40x64xi64>) {
  ^bb0(%v0: f32, %i0: i64, %v1: f32, %i1: i64):
    %w, %j = redfuse.merge_topk %v0, %i0, %v1, %i1 along 2 : f32, i64
    redfuse.yield %w, %j : f32, i64
  } -> tensor<40x64xf32>, tensor<40x64xi64>
  return %0#0, %0#1 : tensor<40x64xf32>, tensor<40x64xi64>
}

// What a core would keep is streamed all the same where a mask leaves out whole tiles, which are not
// walked.
// CHECK-LABEL: func.func @causal
// CHECK:         #redfuse.schedule<stream, grid = [0], tiles = [{{[0-9]+}}, 0, 64, 0], stream = [2], reason = "tiles of which a mask leaves out all are not walked">
func.func @causal(%q: tensor<256x64xf32>, %k: tensor<256x64xf32>, %v: tensor<256x64xf32>, %o: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %none = arith.constant 0xFF800000 : f32
  %r = redfuse.cascade {indexing_maps = [#q, #k, #v, #o]}
      ins(%q, %k, %v : tensor<256x64xf32>, tensor<256x64xf32>, tensor<256x64xf32>) outs(%o : tensor<256x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %i = redfuse.index 0
    %j = redfuse.index 2
    %keeps = arith.cmpi sle, %j, %i : index
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [3] into [0, 2] : f32
    %w = arith.select %keeps, %s, %none : f32
    %m = redfuse.reduce maximumf %w over [2] into [0] : f32
    %d = arith.subf %w, %m : f32
    %e = math.exp %d : f32
    %l = redfuse.reduce add %e over [2] into [0] : f32
    %x = arith.divf %e, %l : f32
    %t = arith.mulf %x, %c : f32
    %u = redfuse.reduce add %t over [2] into [0, 1] : f32
    redfuse.yield %u : f32
  } -> tensor<256x64xf32>
  return %r : tensor<256x64xf32>
}

// What is soon reduced is reduced again by every block, where what is made of it is much more and has
// none of its dims: merged first, one block would be left with all of that.
// CHECK-LABEL: func.func @clipped
// CHECK:         #redfuse.schedule<resident, grid = [0, 1], tiles = [{{[0-9]+, [0-9]+}}, 0]
func.func @clipped(%x: tensor<2048x1000xf32>, %p: tensor<1500xf32>, %o: tensor<2048x1000xf32>) -> tensor<2048x1000xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]}
      ins(%x, %p : tensor<2048x1000xf32>, tensor<1500xf32>) outs(%o : tensor<2048x1000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = redfuse.reduce add %b over [2] into [] : f32
    %d = arith.divf %a, %n : f32
    redfuse.yield %d : f32
  } -> tensor<2048x1000xf32>
  return %r : tensor<2048x1000xf32>
}

// Not where nobody knows how much there is to reduce.
// CHECK-LABEL: func.func @clipped_by_any
// CHECK-NOT:     grid = [0, 1]
// CHECK:         return
func.func @clipped_by_any(%x: tensor<2048x1000xf32>, %p: tensor<?xf32>, %o: tensor<2048x1000xf32>) -> tensor<2048x1000xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]}
      ins(%x, %p : tensor<2048x1000xf32>, tensor<?xf32>) outs(%o : tensor<2048x1000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = redfuse.reduce add %b over [2] into [] : f32
    %d = arith.divf %a, %n : f32
    redfuse.yield %d : f32
  } -> tensor<2048x1000xf32>
  return %r : tensor<2048x1000xf32>
}
