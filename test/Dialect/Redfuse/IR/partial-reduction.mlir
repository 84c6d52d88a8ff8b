// Upstream's splitting of reductions, on a fold: partial states, and the fold's
// own merge of them in the order of their indices, from the given state on.
// RUN: redfuse-opt %s -split-input-file -transform-interpreter -canonicalize -cse -mlir-print-local-scope | FileCheck %s

// Lanes: each of 16 columns keeps a state of its own; the fold in the loop ranges
// over a dim of extent 1, which leaves no reduction in its step.
// CHECK-LABEL: func @lanes
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x80xf32>, %[[M0:[a-z0-9]+]]: tensor<64xf32>, %[[L0:[a-z0-9]+]]: tensor<64xf32>
// CHECK-DAG: %[[ID0:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[ID1:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[PM0:.*]] = linalg.fill ins(%[[ID0]] : f32) outs(%{{.*}} : tensor<64x16xf32>)
// CHECK-DAG: %[[PL0:.*]] = linalg.fill ins(%[[ID1]] : f32) outs(%{{.*}} : tensor<64x16xf32>)
// CHECK: %[[P:.*]]:2 = scf.for %[[J:[a-z0-9]+]] = {{.*}} iter_args(%[[PM:.*]] = %[[PM0]], %[[PL:.*]] = %[[PL0]])
// CHECK: %[[XS:.*]] = tensor.extract_slice %[[X]][0, %[[J]]] [64, 16] [1, 1]
// CHECK: redfuse.fold
// CHECK-SAME: indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME: over = array<i64: 2>
// CHECK-SAME: ins(%[[XS]] : tensor<64x16xf32>) outs(%[[PM]], %[[PL]] : tensor<64x16xf32>, tensor<64x16xf32>)
// CHECK-NOT: redfuse.reduce
// CHECK: arith.maximumf
// CHECK: } merge {
// CHECK: scf.for %[[K:[a-z0-9]+]] = {{.*}} iter_args(%[[M:.*]] = %[[M0]], %[[L:.*]] = %[[L0]])
// CHECK-DAG: %[[RM:.*]] = tensor.extract_slice %[[P]]#0[0, %[[K]]] [64, 1] [1, 1] : tensor<64x16xf32> to tensor<64xf32>
// CHECK-DAG: %[[RL:.*]] = tensor.extract_slice %[[P]]#1[0, %[[K]]] [64, 1] [1, 1] : tensor<64x16xf32> to tensor<64xf32>
// CHECK: %[[S:.*]]:2 = redfuse.merge
// CHECK-SAME: ins(%[[RM]], %[[RL]] : tensor<64xf32>, tensor<64xf32>) outs(%[[M]], %[[L]] : tensor<64xf32>, tensor<64xf32>)
// CHECK: scf.yield %[[S]]#0, %[[S]]#1
func.func @lanes(%x: tensor<64x80xf32>, %m0: tensor<64xf32>, %l0: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %st:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>,
            affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0xFF800000 : f32, 0.0 : f32]}
          ins(%x : tensor<64x80xf32>) outs(%m0, %l0 : tensor<64xf32>, tensor<64xf32>)
  step {
  ^bb0(%e: f32, %m: f32, %l: f32):
    %ms = redfuse.reduce maximumf %e over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    %d = arith.subf %m, %m1 : f32
    %f = math.exp %d : f32
    %c = arith.subf %e, %m1 : f32
    %g = math.exp %c : f32
    %ls = redfuse.reduce add %g over [1] into [0] : f32
    %lt = arith.mulf %l, %f : f32
    %l1 = arith.addf %lt, %ls : f32
    redfuse.yield %m1, %l1 : f32, f32
  } merge {
  ^bb0(%ma: f32, %la: f32, %mb: f32, %lb: f32):
    %m = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %m : f32
    %db = arith.subf %mb, %m : f32
    %sa = math.exp %da : f32
    %sb = math.exp %db : f32
    %a = arith.mulf %la, %sa : f32
    %b = arith.mulf %lb, %sb : f32
    %l = arith.addf %a, %b : f32
    redfuse.yield %m, %l : f32, f32
  } -> tensor<64xf32>, tensor<64xf32>
  return %st#0, %st#1 : tensor<64xf32>, tensor<64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %f:2, %p, %m, %l = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Parts: five threads fold a segment each, of an extent that 5 does not divide,
// dynamic, from the identities.
// CHECK-LABEL: func @parts
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?xf32>, %[[L0:[a-z0-9]+]]: tensor<?xf32>
// CHECK: %[[P0:.*]] = linalg.fill
// CHECK-SAME: tensor<?x5xf32>
// CHECK: %[[P:.*]] = scf.forall (%[[T:.*]]) in (5) shared_outs(%[[OUT:.*]] = %[[P0]])
// CHECK: %[[PS:.*]] = tensor.extract_slice %[[OUT]][0, %[[T]]] [%{{.*}}, 1] [1, 1] : tensor<?x5xf32> to tensor<?xf32>
// CHECK: %[[S:.*]] = redfuse.fold
// CHECK-SAME: over = array<i64: 1>
// CHECK-SAME: outs(%[[PS]] : tensor<?xf32>)
// CHECK: redfuse.index 1
// CHECK: arith.addi
// CHECK: redfuse.reduce add %{{.*}} over [1] into [0]
// CHECK: tensor.parallel_insert_slice %[[S]] into %[[OUT]][0, %[[T]]] [%{{.*}}, 1] [1, 1]
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[L:.*]] = %[[L0]])
// CHECK: %[[R:.*]] = tensor.extract_slice %[[P]][0, %[[K]]] [%{{.*}}, 1] [1, 1] : tensor<?x5xf32> to tensor<?xf32>
// CHECK: redfuse.merge
// CHECK-SAME: ins(%[[R]] : tensor<?xf32>) outs(%[[L]] : tensor<?xf32>)
func.func @parts(%x: tensor<?x?xf32>, %l0: tensor<?xf32>) -> tensor<?xf32> {
  %st = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0.0 : f32], certificate = {ordered}}
          ins(%x : tensor<?x?xf32>) outs(%l0 : tensor<?xf32>)
  step {
  ^bb0(%e: f32, %l: f32):
    %j = redfuse.index 1
    %n = arith.index_cast %j : index to i32
    %w = arith.sitofp %n : i32 to f32
    %p = arith.mulf %e, %w : f32
    %ls = redfuse.reduce add %p over [1] into [0] : f32
    %l1 = arith.addf %l, %ls : f32
    redfuse.yield %l1 : f32
  } merge {
  ^bb0(%la: f32, %lb: f32):
    %l = arith.addf %la, %lb : f32
    redfuse.yield %l : f32
  } -> tensor<?xf32>
  return %st : tensor<?xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %f, %p, %m, %l = transform.structured.tile_reduction_using_forall %op by num_threads = [0, 5]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Two dims at once; a contraction within the step keeps its lanes apart.
// CHECK-LABEL: func @two
// CHECK: scf.for
// CHECK: scf.for
// CHECK: redfuse.fold
// CHECK-SAME: affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>]
// CHECK-SAME: over = array<i64: 4>
// CHECK: redfuse.reduce add %{{.*}} over [3] into [0, 1, 2] : f32
// CHECK-NOT: redfuse.reduce
// CHECK: } merge {
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[A:.*]] = %{{.*}})
// CHECK: scf.for %[[N:.*]] = {{.*}} iter_args(%{{.*}} = %[[A]])
// CHECK: tensor.extract_slice %{{.*}}[0, %[[K]], %[[N]]] [6, 1, 1] [1, 1, 1] : tensor<6x4x5xf32> to tensor<6xf32>
// CHECK: redfuse.merge
func.func @two(%q: tensor<6x9xf32>, %k: tensor<8x10x9xf32>, %m0: tensor<6xf32>) -> tensor<6xf32> {
  %st = redfuse.fold {indexing_maps = [affine_map<(i, j, l, k) -> (i, k)>, affine_map<(i, j, l, k) -> (j, l, k)>,
            affine_map<(i, j, l, k) -> (i)>],
            over = array<i64: 1, 2>, identities = [0xFF800000 : f32]}
          ins(%q, %k : tensor<6x9xf32>, tensor<8x10x9xf32>) outs(%m0 : tensor<6xf32>)
  step {
  ^bb0(%a: f32, %b: f32, %m: f32):
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [3] into [0, 1, 2] : f32
    %ms = redfuse.reduce maximumf %s over [1, 2] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    redfuse.yield %m1 : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    %m = arith.maximumf %ma, %mb : f32
    redfuse.yield %m : f32
  } -> tensor<6xf32>
  return %st : tensor<6xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %f, %p, %m, %l = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 4, 5]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The maximum with its position, which upstream cannot split: two state
// components that are merged together.
// CHECK-LABEL: func @argmax
// CHECK: scf.for
// CHECK: redfuse.fold
// CHECK-NOT: redfuse.reduce
// CHECK: scf.for
// CHECK: redfuse.merge
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<6xf32>, tensor<6xindex>)
func.func @argmax(%x: tensor<6x80xf32>, %m0: tensor<6xf32>, %p0: tensor<6xindex>) -> (tensor<6xf32>, tensor<6xindex>) {
  %st:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0xFF800000 : f32, 9223372036854775807 : index]}
          ins(%x : tensor<6x80xf32>) outs(%m0, %p0 : tensor<6xf32>, tensor<6xindex>)
  step {
  ^bb0(%e: f32, %m: f32, %p: index):
    %j = redfuse.index 1
    %ms, %ps = redfuse.reduce argmax %e, %j over [1] into [0] : f32, index
    %gt = arith.cmpf ogt, %ms, %m : f32
    %m1 = arith.select %gt, %ms, %m : f32
    %p1 = arith.select %gt, %ps, %p : index
    redfuse.yield %m1, %p1 : f32, index
  } merge {
  ^bb0(%ma: f32, %pa: index, %mb: f32, %pb: index):
    %gt = arith.cmpf ogt, %mb, %ma : f32
    %eq = arith.cmpf oeq, %mb, %ma : f32
    %lt = arith.cmpi ult, %pb, %pa : index
    %tie = arith.andi %eq, %lt : i1
    %take = arith.ori %gt, %tie : i1
    %m1 = arith.select %take, %mb, %ma : f32
    %p1 = arith.select %take, %pb, %pa : index
    redfuse.yield %m1, %p1 : f32, index
  } -> tensor<6xf32>, tensor<6xindex>
  return %st#0, %st#1 : tensor<6xf32>, tensor<6xindex>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %f:2, %p, %m, %l = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
