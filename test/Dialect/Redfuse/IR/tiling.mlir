// Upstream's drivers on redfuse ops, by the transform dialect.
// RUN: redfuse-opt %s -split-input-file -transform-interpreter -canonicalize -cse -verify-diagnostics -mlir-print-local-scope | FileCheck %s

// Parallel dims of a cascade: the reduced dim stays whole, the index keeps its
// position in the whole space.
// CHECK-LABEL: func @cascade
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x80xf32>, %[[V:[a-z0-9]+]]: tensor<80x32xf32>, %[[INIT:[a-z0-9]+]]: tensor<64x32xf32>
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[OUT:.*]] = %[[INIT]])
// CHECK: scf.for %[[D:.*]] = %{{.*}} iter_args(%[[OUT2:.*]] = %[[OUT]])
// CHECK-DAG: %[[XS:.*]] = tensor.extract_slice %[[X]][%[[I]], 0] [16, 80] [1, 1]
// CHECK-DAG: %[[VS:.*]] = tensor.extract_slice %[[V]][0, %[[D]]] [80, 8] [1, 1]
// CHECK-DAG: %[[OS:.*]] = tensor.extract_slice %[[OUT2]][%[[I]], %[[D]]] [16, 8] [1, 1]
// CHECK: %[[R:.*]] = redfuse.cascade
// CHECK-SAME: ins(%[[XS]], %[[VS]] : tensor<16x80xf32>, tensor<80x8xf32>) outs(%[[OS]] : tensor<16x8xf32>)
// CHECK: %[[L:.*]] = redfuse.index 0
// CHECK: arith.addi %[[L]], %[[I]] : index
// CHECK: tensor.insert_slice %[[R]] into %[[OUT2]][%[[I]], %[[D]]] [16, 8] [1, 1]
func.func @cascade(%s: tensor<64x80xf32>, %v: tensor<80x32xf32>, %init: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %o = redfuse.cascade {indexing_maps = [
         affine_map<(i, j, d) -> (i, j)>, affine_map<(i, j, d) -> (j, d)>,
         affine_map<(i, j, d) -> (i, d)>]}
       ins(%s, %v : tensor<64x80xf32>, tensor<80x32xf32>)
       outs(%init : tensor<64x32xf32>) {
  ^bb0(%x: f32, %y: f32):
    %i = redfuse.index 0
    %j = redfuse.index 1
    %ok = arith.cmpi ule, %j, %i : index
    %low = arith.constant 0xFF800000 : f32
    %z = arith.select %ok, %x, %low : f32
    %m = redfuse.reduce maximumf %z over [1] into [0] : f32
    %c = arith.subf %z, %m : f32
    %e = math.exp %c : f32
    %p = arith.mulf %e, %y : f32
    %r = redfuse.reduce add %p over [1] into [0, 2] : f32
    redfuse.yield %r : f32
  } -> tensor<64x32xf32>
  return %o : tensor<64x32xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l:2 = transform.structured.tile_using_for %op tile_sizes [16, 0, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A window: the slice has a halo of the window's extent less one; a constant
// offset moves into the slice; strides scale it; a reversed map starts where the
// tile's last index reads.
// CHECK-LABEL: func @window
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<33xf32>, %[[W:[a-z0-9]+]]: tensor<3xf32>
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK-DAG: %[[TWO:.*]] = affine.apply affine_map<()[s0] -> (s0 * 2)>()[%[[I]]]
// CHECK-DAG: %[[OFF:.*]] = affine.apply affine_map<()[s0] -> (s0 + 5)>()[%[[I]]]
// CHECK-DAG: %[[REV:.*]] = affine.apply affine_map<()[s0] -> (-s0 + 12)>()[%[[I]]]
// CHECK-DAG: %[[XS:.*]] = tensor.extract_slice %[[X]][%[[TWO]]] [9] [1]
// CHECK-DAG: %[[XO:.*]] = tensor.extract_slice %[[X]][%[[OFF]]] [4] [1]
// CHECK-DAG: %[[XR:.*]] = tensor.extract_slice %[[X]][%[[REV]]] [4] [1]
// CHECK: redfuse.cascade {indexing_maps = [affine_map<(d0, d1) -> (d0 * 2 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (-d0 + 3)>, affine_map<(d0, d1) -> (d0)>]}
// CHECK-SAME: ins(%[[XS]], %[[W]], %[[XO]], %[[XR]] : tensor<9xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>)
func.func @window(%x: tensor<33xf32>, %w: tensor<3xf32>, %init: tensor<16xf32>) -> tensor<16xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>,
      affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i + 5)>, affine_map<(i, k) -> (15 - i)>,
      affine_map<(i, k) -> (i)>]}
    ins(%x, %w, %x, %x : tensor<33xf32>, tensor<3xf32>, tensor<33xf32>, tensor<33xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    %u = arith.addf %s, %c : f32
    %v = arith.addf %u, %d : f32
    redfuse.yield %v : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Dynamic extents that the tile does not divide, in a parallel loop.
// CHECK-LABEL: func @parallel
// CHECK: scf.forall (%[[N:.*]]) in
// CHECK-SAME: shared_outs(%[[OUT:.*]] =
// CHECK-DAG: %[[SIZE:.*]] = affine.min
// CHECK-DAG: %[[I:.*]] = affine.apply
// CHECK: %[[XS:.*]] = tensor.extract_slice %{{.*}}[%[[I]], 0] [%[[SIZE]], %{{.*}}] [1, 1]
// CHECK: redfuse.cascade
// CHECK-SAME: ins(%[[XS]] : tensor<?x?xf32>)
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[OUT]][%[[I]]] [%[[SIZE]]] [1]
func.func @parallel(%x: tensor<?x?xf32>, %init: tensor<?xf32>) -> tensor<?xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
    ins(%x : tensor<?x?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_forall %op tile_sizes [7] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A fold carries its whole state, every component of it, through the loop over
// its segments.
// CHECK-LABEL: func @carried
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x80xf32>, %[[M0:[a-z0-9]+]]: tensor<64xf32>, %[[L0:[a-z0-9]+]]: tensor<64xf32>
// CHECK: scf.for %[[J:[a-z0-9]+]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[M:.*]] = %[[M0]], %[[L:.*]] = %[[L0]])
// CHECK: %[[XS:.*]] = tensor.extract_slice %[[X]][0, %[[J]]] [64, 16] [1, 1]
// CHECK: %[[S:.*]]:2 = redfuse.fold
// CHECK-SAME: ins(%[[XS]] : tensor<64x16xf32>) outs(%[[M]], %[[L]] : tensor<64xf32>, tensor<64xf32>)
// CHECK: redfuse.index 1
// CHECK: arith.addi %{{.*}}, %[[J]]
// CHECK: scf.yield %[[S]]#0, %[[S]]#1
func.func @carried(%x: tensor<64x80xf32>, %m0: tensor<64xf32>, %l0: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %st:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>,
            affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0xFF800000 : f32, 0.0 : f32]}
          ins(%x : tensor<64x80xf32>) outs(%m0, %l0 : tensor<64xf32>, tensor<64xf32>)
  step {
  ^bb0(%e: f32, %m: f32, %l: f32):
    %j = redfuse.index 1
    %n = arith.index_cast %j : index to i32
    %w = arith.sitofp %n : i32 to f32
    %y = arith.addf %e, %w : f32
    %ms = redfuse.reduce maximumf %y over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    %d = arith.subf %m, %m1 : f32
    %f = math.exp %d : f32
    %c = arith.subf %y, %m1 : f32
    %g = math.exp %c : f32
    %ls = redfuse.reduce add %g over [1] into [0] : f32
    %lt = arith.mulf %l, %f : f32
    %l1 = arith.addf %lt, %ls : f32
    redfuse.yield %m1, %l1 : f32, f32
  } merge {
  ^bb0(%ma: f32, %la: f32, %mb: f32, %lb: f32):
    %m = arith.maximumf %ma, %mb : f32
    %l = arith.addf %la, %lb : f32
    redfuse.yield %m, %l : f32, f32
  } -> tensor<64xf32>, tensor<64xf32>
  return %st#0, %st#1 : tensor<64xf32>, tensor<64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Upstream's tile-and-fuse would pull the state's initial value into the loop,
// which then would start anew in each tile. The fold does not offer that slice;
// a producer of its input fuses.
// CHECK-LABEL: func @fill_stays_outside
// CHECK: %[[FILL:.*]] = linalg.fill
// CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %[[FILL]])
// CHECK-NOT: linalg.fill
// CHECK: %[[Y:.*]] = redfuse.cascade
// CHECK: redfuse.fold
// CHECK-SAME: ins(%[[Y]] : tensor<64x16xf32>) outs(%[[S]] : tensor<64xf32>)
func.func @fill_stays_outside(%x: tensor<64x80xf32>, %y: tensor<64x80xf32>) -> tensor<64xf32> {
  %empty = tensor.empty() : tensor<64xf32>
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %sq = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
        ins(%x : tensor<64x80xf32>) outs(%y : tensor<64x80xf32>) {
  ^bb0(%e: f32):
    %p = arith.mulf %e, %e : f32
    redfuse.yield %p : f32
  } -> tensor<64x80xf32>
  %st = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0.0 : f32]}
          ins(%sq : tensor<64x80xf32>) outs(%fill : tensor<64xf32>)
  step {
  ^bb0(%e: f32, %l: f32):
    %ls = redfuse.reduce add %e over [1] into [0] : f32
    %l1 = arith.addf %l, %ls : f32
    redfuse.yield %l1 : f32
  } merge {
  ^bb0(%la: f32, %lb: f32):
    %l = arith.addf %la, %lb : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %st : tensor<64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.fuse %op tile_sizes [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// On parallel dims alone the initial value may be made tile by tile.
// CHECK-LABEL: func @fill_by_tile
// CHECK: scf.for
// CHECK: linalg.fill
// CHECK: redfuse.fold
func.func @fill_by_tile(%x: tensor<64x80xf32>) -> tensor<64xf32> {
  %empty = tensor.empty() : tensor<64xf32>
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %st = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0.0 : f32]}
          ins(%x : tensor<64x80xf32>) outs(%fill : tensor<64xf32>)
  step {
  ^bb0(%e: f32, %l: f32):
    %ls = redfuse.reduce add %e over [1] into [0] : f32
    %l1 = arith.addf %l, %ls : f32
    redfuse.yield %l1 : f32
  } merge {
  ^bb0(%la: f32, %lb: f32):
    %l = arith.addf %la, %lb : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %st : tensor<64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.fuse %op tile_sizes [16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Merge and finalize: element-wise. A fold fuses into the loop over its
// finalize, as its producer.
// CHECK-LABEL: func @finalize
// CHECK: scf.for
// CHECK: redfuse.fold
// CHECK-SAME: outs(%{{.*}} : tensor<16xf32>)
// CHECK: redfuse.merge
// CHECK-SAME: outs(%{{.*}} : tensor<16xf32>)
// CHECK: redfuse.finalize
// CHECK-SAME: outs(%{{.*}} : tensor<16xf32>)
func.func @finalize(%x: tensor<64x80xf32>, %l0: tensor<64xf32>, %l1: tensor<64xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %st = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0.0 : f32]}
          ins(%x : tensor<64x80xf32>) outs(%l0 : tensor<64xf32>)
  step {
  ^bb0(%e: f32, %l: f32):
    %ls = redfuse.reduce add %e over [1] into [0] : f32
    %s = arith.addf %l, %ls : f32
    redfuse.yield %s : f32
  } merge {
  ^bb0(%la: f32, %lb: f32):
    %l = arith.addf %la, %lb : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  %mg = redfuse.merge {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
        ins(%st : tensor<64xf32>) outs(%l1 : tensor<64xf32>) {
  ^bb0(%la: f32, %lb: f32):
    %l = arith.addf %la, %lb : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  %f = redfuse.finalize {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
       ins(%mg : tensor<64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%a: f32):
    %r = math.sqrt %a : f32
    redfuse.yield %r : f32
  } -> tensor<64xf32>
  return %f : tensor<64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.finalize"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.fuse %op tile_sizes [16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Tiles inside tiles: the index adds up.
// CHECK-LABEL: func @nested
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: redfuse.cascade
// CHECK: %[[L:.*]] = redfuse.index 0
// CHECK: %[[A:.*]] = arith.addi %[[L]], %[[J]]
// CHECK: arith.addi %[[A]], %[[I]]
func.func @nested(%init: tensor<64xindex>) -> tensor<64xindex> {
  %f = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>]} outs(%init : tensor<64xindex>) {
    %i = redfuse.index 0
    redfuse.yield %i : index
  } -> tensor<64xindex>
  return %f : tensor<64xindex>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %u, %m = transform.structured.tile_using_for %t tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
