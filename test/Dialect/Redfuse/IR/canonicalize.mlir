// RUN: redfuse-opt %s -resolve-ranked-shaped-type-result-dims -canonicalize -split-input-file -mlir-print-local-scope | FileCheck %s

// Inputs: one that the body does not use, one that is there twice; then a result
// that nothing uses.
// CHECK-LABEL: func @inputs_and_results
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6x8xf32>, %[[Y:[a-z0-9]+]]: tensor<6x8xf32>, %[[A:[a-z0-9]+]]: tensor<6xf32>, %[[B:[a-z0-9]+]]: tensor<6xf32>
// CHECK: %[[R:.*]] = redfuse.cascade {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]}
// CHECK-SAME: ins(%[[X]] : tensor<6x8xf32>) outs(%[[B]] : tensor<6xf32>)
// CHECK-NEXT: ^bb0(%[[E:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[E]], %[[E]]
// CHECK-NEXT: %[[S:.*]] = redfuse.reduce add %[[P]] over [1] into [0]
// CHECK-NEXT: redfuse.yield %[[S]] : f32
// CHECK: return %[[R]]
func.func @inputs_and_results(%x: tensor<6x8xf32>, %y: tensor<6x8xf32>, %a: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<6xf32> {
  %r:2 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]}
    ins(%x, %y, %x : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) outs(%a, %b : tensor<6xf32>, tensor<6xf32>) {
  ^bb0(%u: f32, %v: f32, %w: f32):
    %m = redfuse.reduce maximumf %u over [1] into [0] : f32
    %p = arith.mulf %u, %w : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %m, %s : f32, f32
  } -> tensor<6xf32>, tensor<6xf32>
  return %r#1 : tensor<6xf32>
}

// -----

// An input that alone says how long a dim is stays, though the body does not use
// it; so does the one of two that says it statically.
// CHECK-LABEL: func @extent
// CHECK: redfuse.cascade
// CHECK-SAME: ins(%{{.*}} : tensor<8xf32>)
func.func @extent(%x: tensor<8xf32>, %z: tensor<?xf32>, %a: tensor<6xf32>) -> tensor<6xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>]}
    ins(%x, %z : tensor<8xf32>, tensor<?xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32, %w: f32):
    %one = arith.constant 1.0 : f32
    %s = redfuse.reduce add %one over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// -----

// Equal values through different maps stay two inputs.
// CHECK-LABEL: func @transposed
// CHECK: redfuse.cascade
// CHECK-SAME: ins(%[[X:.*]], %[[X]] : tensor<8x8xf32>, tensor<8x8xf32>)
func.func @transposed(%x: tensor<8x8xf32>, %a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>]}
    ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) {
  ^bb0(%u: f32, %w: f32):
    %s = arith.addf %u, %w : f32
    redfuse.yield %s : f32
  } -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// Nothing used: gone. An assertion keeps its op.
// CHECK-LABEL: func @dead
// CHECK-NEXT: redfuse.cascade
// CHECK: cf.assert
// CHECK-NOT: redfuse.cascade
// CHECK: return
func.func @dead(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
    ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  %s = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
    ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %ok = arith.cmpf ord, %u, %u : f32
    cf.assert %ok, "nan"
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  return
}

// -----

// A launch on tensors is nothing but its results; on buffers it writes.
// CHECK-LABEL: func @launches
// CHECK-NEXT: redfuse.launch @k
// CHECK-SAME: memref<6xf32>
// CHECK-NEXT: return
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6xf32>, %init: tensor<6xf32>):
  redfuse.yield %x : tensor<6xf32>
}
func.func @launches(%x: tensor<6xf32>, %y: memref<6xf32>) {
  %0 = redfuse.launch @k ins(%x : tensor<6xf32>) outs(%x : tensor<6xf32>) -> tensor<6xf32>
  redfuse.launch @k ins(%y : memref<6xf32>) outs(%y : memref<6xf32>)
  return
}

// -----

// Casts: the op works on what is known best.
// CHECK-LABEL: func @casts
// CHECK: redfuse.cascade
// CHECK-SAME: ins(%{{.*}} : tensor<6x8xf32>) outs(%{{.*}} : tensor<6xf32>)
// CHECK: } -> tensor<6xf32>
// CHECK: tensor.cast %{{.*}} : tensor<6xf32> to tensor<?xf32>
// CHECK: redfuse.finalize
// CHECK-SAME: ins(%{{.*}} : tensor<6xf32>) outs(%{{.*}} : tensor<6xf32>)
// CHECK: redfuse.fold
// CHECK-SAME: ins(%{{.*}} : tensor<6x8xf32>) outs(%{{.*}} : tensor<6xf32>)
func.func @casts(%x: tensor<6x8xf32>, %a: tensor<6xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %y = tensor.cast %x : tensor<6x8xf32> to tensor<?x?xf32>
  %b = tensor.cast %a : tensor<6xf32> to tensor<?xf32>
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
    ins(%y : tensor<?x?xf32>) outs(%b : tensor<?xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<?xf32>
  %f = redfuse.finalize {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
    ins(%b : tensor<?xf32>) outs(%b : tensor<?xf32>) {
  ^bb0(%u: f32):
    %s = math.exp %u : f32
    redfuse.yield %s : f32
  } -> tensor<?xf32>
  %st = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0.0 : f32]}
          ins(%y : tensor<?x?xf32>) outs(%b : tensor<?xf32>)
  step {
  ^bb0(%e: f32, %l: f32):
    %ls = redfuse.reduce add %e over [1] into [0] : f32
    %l1 = arith.addf %l, %ls : f32
    redfuse.yield %l1 : f32
  } merge {
  ^bb0(%la: f32, %lb: f32):
    %l = arith.addf %la, %lb : f32
    redfuse.yield %l : f32
  } -> tensor<?xf32>
  return %r, %f, %st : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

// A fold reads each input once; all state components stay, used or not.
// CHECK-LABEL: func @fold
// CHECK: redfuse.fold
// CHECK-SAME: ins(%{{.*}} : tensor<6x8xf32>) outs(%{{.*}}, %{{.*}} : tensor<6xf32>, tensor<6xf32>)
// CHECK: ^bb0(%[[E:.*]]: f32, %[[M:.*]]: f32, %[[L:.*]]: f32):
// CHECK: arith.mulf %[[E]], %[[E]]
func.func @fold(%x: tensor<6x8xf32>, %m0: tensor<6xf32>, %l0: tensor<6xf32>) -> tensor<6xf32> {
  %st:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0.0 : f32, 0.0 : f32]}
          ins(%x, %x : tensor<6x8xf32>, tensor<6x8xf32>) outs(%m0, %l0 : tensor<6xf32>, tensor<6xf32>)
  step {
  ^bb0(%e: f32, %f: f32, %m: f32, %l: f32):
    %q = arith.mulf %e, %f : f32
    %ms = redfuse.reduce add %q over [1] into [0] : f32
    %ls = redfuse.reduce add %e over [1] into [0] : f32
    %m1 = arith.addf %m, %ms : f32
    %l1 = arith.addf %l, %ls : f32
    redfuse.yield %m1, %l1 : f32, f32
  } merge {
  ^bb0(%ma: f32, %la: f32, %mb: f32, %lb: f32):
    %m = arith.addf %ma, %mb : f32
    %l = arith.addf %la, %lb : f32
    redfuse.yield %m, %l : f32, f32
  } -> tensor<6xf32>, tensor<6xf32>
  return %st#1 : tensor<6xf32>
}

// -----

// A reduced dim of extent 1: its index is 0, nothing depends on it, a reduction
// over it alone is its operand.
// CHECK-LABEL: func @unit
// CHECK: redfuse.cascade {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0)>]}
// CHECK-NEXT: ^bb0(%[[E:.*]]: f32):
// CHECK-NEXT: %[[S:.*]] = redfuse.reduce add %[[E]] over [2] into [0] : f32
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[S]], %[[S]]
// CHECK-NEXT: redfuse.yield %[[P]]
func.func @unit(%x: tensor<6x1x8xf32>, %a: tensor<6xf32>) -> tensor<6xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, u, j) -> (i, u, j)>, affine_map<(i, u, j) -> (i)>]}
    ins(%x : tensor<6x1x8xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1, 2] into [0] : f32
    %p = arith.mulf %s, %s : f32
    %m = redfuse.reduce maximumf %p over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// -----

// A dim of extent 1 that a result has stays in the maps.
// CHECK-LABEL: func @unit_kept
// CHECK: redfuse.cascade {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]}
// CHECK: redfuse.reduce add %{{.*}} over [1] into [0]
func.func @unit_kept(%x: tensor<6x1xf32>, %a: tensor<6x1xf32>) -> tensor<6x1xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, u) -> (i, u)>, affine_map<(i, u) -> (i, u)>]}
    ins(%x : tensor<6x1xf32>) outs(%a : tensor<6x1xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    %q = arith.divf %e, %s : f32
    redfuse.yield %q : f32
  } -> tensor<6x1xf32>
  return %r : tensor<6x1xf32>
}

// -----

// Nested reductions by one reducer are one; by two they are not, nor where the
// inner one is used elsewhere.
// CHECK-LABEL: func @nested
// CHECK: %[[A:.*]] = redfuse.reduce add %{{.*}} over [1, 2] into [0] : f32
// CHECK: %[[B:.*]] = redfuse.reduce maximumf %{{.*}} over [2] into [0, 1] : f32
// CHECK: redfuse.reduce add %[[B]] over [1] into [0] : f32
// CHECK: redfuse.reduce maximumf %[[B]] over [1] into [0] : f32
func.func @nested(%x: tensor<6x7x8xf32>, %a: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %r:3 = redfuse.cascade {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>,
      affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i)>]}
    ins(%x : tensor<6x7x8xf32>) outs(%a, %a, %a : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  ^bb0(%e: f32):
    %s0 = redfuse.reduce add %e over [2] into [0, 1] : f32
    %s = redfuse.reduce add %s0 over [1] into [0] : f32
    %m0 = redfuse.reduce maximumf %e over [2] into [0, 1] : f32
    %t = redfuse.reduce add %m0 over [1] into [0] : f32
    %u = redfuse.reduce maximumf %m0 over [1] into [0] : f32
    redfuse.yield %s, %t, %u : f32, f32, f32
  } -> tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
  return %r#0, %r#1, %r#2 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// -----

// Constants stay in the body that uses them.
// CHECK-LABEL: func @constants
// CHECK: redfuse.cascade
// CHECK: arith.constant 5.000000e+00 : f32
func.func @constants(%x: tensor<6xf32>, %a: tensor<6xf32>) -> tensor<6xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
    ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%e: f32):
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %five = arith.addf %two, %three : f32
    %q = arith.addf %e, %five : f32
    redfuse.yield %q : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// -----

// The shape of a result is that of its destination.
// CHECK-LABEL: func @dim
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?xf32>, %[[A:[a-z0-9]+]]: tensor<?xf32>
// CHECK: %[[D:.*]] = tensor.dim %[[A]], %{{.*}} : tensor<?xf32>
// CHECK-NOT: redfuse
// CHECK: return %[[D]]
func.func @dim(%x: tensor<?x?xf32>, %a: tensor<?xf32>) -> index {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
    ins(%x : tensor<?x?xf32>) outs(%a : tensor<?xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<?xf32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %r, %c0 : tensor<?xf32>
  return %d : index
}
