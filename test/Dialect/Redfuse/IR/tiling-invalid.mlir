// What cannot be cut is refused with the reason; nothing is tiled wrongly.
// Upstream's driver adds errors of its own after ours.
// RUN: not redfuse-opt %s -split-input-file -transform-interpreter 2>&1 | FileCheck %s

func.func @reduced(%x: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: error: {{.*}}cannot tile dim 1: it is reduced, and combining the parts needs a merge; derive redfuse.fold first
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
    ins(%x : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The same for a dim that another result keeps.
func.func @overlap(%x: tensor<64x80xf32>, %init: tensor<64x80xf32>, %row: tensor<64xf32>) -> (tensor<64x80xf32>, tensor<64xf32>) {
  // CHECK: error: {{.*}}cannot tile dim 1: it is reduced
  %r:2 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
    ins(%x : tensor<64x80xf32>) outs(%init, %row : tensor<64x80xf32>, tensor<64xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %a, %s : f32, f32
  } -> tensor<64x80xf32>, tensor<64xf32>
  return %r#0, %r#1 : tensor<64x80xf32>, tensor<64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A state component that lacks a parallel dim would be continued once a tile.
func.func @twice(%x: tensor<64x80xf32>, %v: tensor<80x32xf32>, %l0: tensor<64xf32>, %o0: tensor<64x32xf32>) -> (tensor<64xf32>, tensor<64x32xf32>) {
  // CHECK: error: {{.*}}cannot tile dim 2: result 0 does not have it, so that its tiles would overlap
  %st:2 = redfuse.fold {indexing_maps = [affine_map<(i, j, d) -> (i, j)>, affine_map<(i, j, d) -> (j, d)>,
            affine_map<(i, j, d) -> (i)>, affine_map<(i, j, d) -> (i, d)>],
            over = array<i64: 1>, identities = [0.0 : f32, 0.0 : f32]}
          ins(%x, %v : tensor<64x80xf32>, tensor<80x32xf32>) outs(%l0, %o0 : tensor<64xf32>, tensor<64x32xf32>)
  step {
  ^bb0(%e: f32, %y: f32, %l: f32, %o: f32):
    %ls = redfuse.reduce add %e over [1] into [0] : f32
    %l1 = arith.addf %l, %ls : f32
    %p = arith.mulf %e, %y : f32
    %os = redfuse.reduce add %p over [1] into [0, 2] : f32
    %o1 = arith.addf %o, %os : f32
    redfuse.yield %l1, %o1 : f32, f32
  } merge {
  ^bb0(%la: f32, %oa: f32, %lb: f32, %ob: f32):
    %l = arith.addf %la, %lb : f32
    %o = arith.addf %oa, %ob : f32
    redfuse.yield %l, %o : f32, f32
  } -> tensor<64xf32>, tensor<64x32xf32>
  return %st#0, %st#1 : tensor<64xf32>, tensor<64x32xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l:2 = transform.structured.tile_using_for %op tile_sizes [16, 0, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A contraction inside one step carries no state.
func.func @contraction(%q: tensor<64x8xf32>, %k: tensor<80x8xf32>, %m0: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: error: {{.*}}cannot tile dim 2: it is reduced within one step of the fold; only dims in 'over' carry state
  %st = redfuse.fold {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
            affine_map<(i, j, k) -> (i)>],
            over = array<i64: 1>, identities = [0xFF800000 : f32]}
          ins(%q, %k : tensor<64x8xf32>, tensor<80x8xf32>) outs(%m0 : tensor<64xf32>)
  step {
  ^bb0(%a: f32, %b: f32, %m: f32):
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %ms = redfuse.reduce maximumf %s over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    redfuse.yield %m1 : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    %m = arith.maximumf %ma, %mb : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %st : tensor<64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Carried state and a parallel loop exclude each other.
func.func @forall(%x: tensor<64x80xf32>, %l0: tensor<64xf32>) -> tensor<64xf32> {
  // CHECK: error: {{.*}}cannot tile dim 1 by a parallel loop: it carries state from one tile to the next; split it into partial states instead
  %st = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0.0 : f32]}
          ins(%x : tensor<64x80xf32>) outs(%l0 : tensor<64xf32>)
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
    %t, %l = transform.structured.tile_using_forall %op tile_sizes [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The rank of a topk says how many are kept.
func.func @rank(%x: tensor<8x80xf32>, %v: tensor<8x3xf32>) -> tensor<8x3xf32> {
  // CHECK: error: {{.*}}cannot tile dim 2: it is the rank of a topk
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, k)>]}
    ins(%x : tensor<8x80xf32>) outs(%v : tensor<8x3xf32>) {
  ^bb0(%a: f32):
    %j = redfuse.index 1
    %t, %p = redfuse.reduce topk %a, %j over [1] into [0, 2] : f32, index
    redfuse.yield %t : f32
  } -> tensor<8x3xf32>
  return %r : tensor<8x3xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [0, 0, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @modulo(%x: tensor<4xf32>, %init: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: error: {{.*}}cannot tile the dims of map result d0 mod 4 of operand 0: expected a sum of dims and constants
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i mod 4)>, affine_map<(i) -> (i)>]}
    ins(%x : tensor<4xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [5] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Backwards, in tiles that differ.
func.func @backwards(%x: tensor<16xf32>, %init: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: error: {{.*}}cannot tile dim 0, which map result -d0 + 15 of operand 0 runs through backwards: expected a tile of static extent
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (15 - i)>, affine_map<(i) -> (i)>]}
    ins(%x : tensor<16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [5] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A tile of a scan would need what came before it.
func.func @scanned(%x: tensor<64x80xf32>, %init: tensor<64x80xf32>) -> tensor<64x80xf32> {
  // CHECK: error: {{.*}}cannot tile dim 1: it is scanned, and the parts need what came before them; derive redfuse.fold first
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    ins(%x : tensor<64x80xf32>) outs(%init : tensor<64x80xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.scan add %a along 1 : f32
    redfuse.yield %s : f32
  } -> tensor<64x80xf32>
  return %r : tensor<64x80xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.cascade"]} in %root : (!transform.any_op) -> !transform.any_op
    %t, %l = transform.structured.tile_using_for %op tile_sizes [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Outputs need the state of all segments before their own.
func.func @outputs(%x: tensor<64x80xf32>, %s0: tensor<64xf32>, %o0: tensor<64x80xf32>) -> tensor<64x80xf32> {
  // CHECK: error: {{.*}}cannot split a fold with outputs: each needs the state of all segments before its own
  %r:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
           over = array<i64: 1>, identities = [0.0 : f32]}
         ins(%x : tensor<64x80xf32>) outs(%s0, %o0 : tensor<64xf32>, tensor<64x80xf32>)
  step {
  ^bb0(%v: f32, %s: f32):
    %t = redfuse.reduce add %v over [1] into [0] : f32
    %p = redfuse.scan add %v along 1 : f32
    %s1 = arith.addf %s, %t : f32
    %o = arith.addf %s, %p : f32
    redfuse.yield %s1, %o : f32, f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>, tensor<64x80xf32>
  return %r#1 : tensor<64x80xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["redfuse.fold"]} in %root : (!transform.any_op) -> !transform.any_op
    %f, %p, %c, %l = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
