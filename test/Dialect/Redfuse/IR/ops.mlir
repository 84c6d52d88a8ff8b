// Every op in every form round-trips.
// RUN: redfuse-opt %s | redfuse-opt | FileCheck %s
// RUN: redfuse-opt %s -mlir-print-op-generic | redfuse-opt | FileCheck %s
// RUN: redfuse-opt %s -emit-bytecode | redfuse-opt | FileCheck %s

// CHECK-LABEL: func @cascade
func.func @cascade(%s: tensor<64x80xf32>, %v: tensor<80x32xf32>, %init: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // CHECK: redfuse.cascade
  // CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<64x80xf32>, tensor<80x32xf32>)
  // CHECK-SAME: outs(%{{.*}} : tensor<64x32xf32>)
  // CHECK: redfuse.reduce maximumf %{{.*}} over [1] into [0] : f32
  // CHECK: redfuse.reduce add %{{.*}} over [1] into [0, 2] : f32
  %o = redfuse.cascade {indexing_maps = [
         affine_map<(i, j, d) -> (i, j)>, affine_map<(i, j, d) -> (j, d)>,
         affine_map<(i, j, d) -> (i, d)>]}
       ins(%s, %v : tensor<64x80xf32>, tensor<80x32xf32>)
       outs(%init : tensor<64x32xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    %p = arith.mulf %w, %y : f32
    %r = redfuse.reduce add %p over [1] into [0, 2] : f32
    redfuse.yield %r : f32
  } -> tensor<64x32xf32>
  return %o : tensor<64x32xf32>
}

// Every reducer, an index, no inputs.
// CHECK-LABEL: func @reducers
func.func @reducers(%init: tensor<5xf32>, %pos: tensor<5xindex>, %top: tensor<5x3xf32>, %i: tensor<5xi32>)
    -> (tensor<5xf32>, tensor<5xindex>, tensor<5x3xf32>, tensor<5xi32>) {
  // CHECK: redfuse.cascade
  // CHECK-SAME: outs(
  // CHECK: redfuse.index 1
  // CHECK: redfuse.reduce argmax %{{.*}}, %{{.*}} over [1] into [0] : f32, index
  // CHECK: redfuse.reduce topk %{{.*}}, %{{.*}} over [1] into [0, 2] : f32, index
  %r:4 = redfuse.cascade {indexing_maps = [
      affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i)>,
      affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i)>]}
    outs(%init, %pos, %top, %i : tensor<5xf32>, tensor<5xindex>, tensor<5x3xf32>, tensor<5xi32>) {
    %j = redfuse.index 1
    %i0 = redfuse.index 0
    %ij = arith.muli %i0, %j : index
    %n = arith.index_cast %ij : index to i32
    %f = arith.sitofp %n : i32 to f32
    %v, %p = redfuse.reduce argmax %f, %j over [1] into [0] : f32, index
    %w, %q = redfuse.reduce argmin %f, %j over [1] into [0] : f32, index
    %t, %u = redfuse.reduce topk %f, %j over [1] into [0, 2] : f32, index
    %a0 = redfuse.reduce add %f over [1] into [0] : f32
    %a1 = redfuse.reduce mul %f over [1] into [0] : f32
    %a2 = redfuse.reduce minimumf %f over [1] into [0] : f32
    %a3 = redfuse.reduce maxnumf %f over [1] into [0] : f32
    %a4 = redfuse.reduce minnumf %f over [1] into [0] : f32
    %b0 = redfuse.reduce maxsi %n over [1] into [0] : i32
    %b1 = redfuse.reduce minsi %n over [1] into [0] : i32
    %b2 = redfuse.reduce maxui %n over [1] into [0] : i32
    %b3 = redfuse.reduce minui %n over [1] into [0] : i32
    %b4 = redfuse.reduce and %n over [1] into [0] : i32
    %b5 = redfuse.reduce or %n over [1] into [0] : i32
    %b6 = redfuse.reduce xor %n over [1] into [0] : i32
    redfuse.yield %v, %p, %t, %b6 : f32, index, f32, i32
  } -> tensor<5xf32>, tensor<5xindex>, tensor<5x3xf32>, tensor<5xi32>
  return %r#0, %r#1, %r#2, %r#3 : tensor<5xf32>, tensor<5xindex>, tensor<5x3xf32>, tensor<5xi32>
}

// Scalars and tensors from outside, an assertion, a window, a constant offset.
// CHECK-LABEL: func @captures
func.func @captures(%x: tensor<18xf32>, %w: tensor<3xf32>, %table: tensor<16xf32>, %scale: f32,
                    %init: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: redfuse.cascade
  // CHECK: tensor.extract
  // CHECK: cf.assert
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, k) -> (i + k)>,
      affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i + 2)>, affine_map<(i, k) -> (i)>]}
    ins(%x, %w, %x : tensor<18xf32>, tensor<3xf32>, tensor<18xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %i = redfuse.index 0
    %t = tensor.extract %table[%i] : tensor<16xf32>
    %ok = arith.cmpf oge, %t, %scale : f32
    cf.assert %ok, "table entry below the scale"
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    %u = arith.mulf %s, %t : f32
    %v = arith.addf %u, %c : f32
    redfuse.yield %v : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// CHECK-LABEL: func @fold
func.func @fold(%x: tensor<?x?xf32>, %m0: tensor<?xf32>, %l0: tensor<?xf32>, %init: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: redfuse.fold
  // CHECK-SAME: identities = [0xFF800000 : f32, 0.000000e+00 : f32]
  // CHECK-SAME: over = array<i64: 1>
  // CHECK: step {
  // CHECK: } merge {
  %st:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>,
            affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0xFF800000 : f32, 0.0 : f32],
            certificate = {rule = "maximum of exponents"}}
          ins(%x : tensor<?x?xf32>) outs(%m0, %l0 : tensor<?xf32>, tensor<?xf32>)
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
    %l = arith.addf %la, %lb : f32
    redfuse.yield %m, %l : f32, f32
  } -> tensor<?xf32>, tensor<?xf32>
  // CHECK: redfuse.merge
  %mg:2 = redfuse.merge {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                                          affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
          ins(%st#0, %st#1 : tensor<?xf32>, tensor<?xf32>) outs(%m0, %l0 : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%ma: f32, %la: f32, %mb: f32, %lb: f32):
    %m = arith.maximumf %ma, %mb : f32
    %l = arith.addf %la, %lb : f32
    redfuse.yield %m, %l : f32, f32
  } -> tensor<?xf32>, tensor<?xf32>
  // CHECK: redfuse.finalize
  %r = redfuse.finalize {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
       ins(%mg#0, %mg#1 : tensor<?xf32>, tensor<?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%m: f32, %l: f32):
    %log = math.log %l : f32
    %s = arith.addf %log, %m : f32
    redfuse.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: redfuse.kernel @k attributes {num_inputs = 1 : i64
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [8, 16], stream = [1]>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<64xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
       ins(%x : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  redfuse.yield %0 : tensor<64xf32>
}

// CHECK-LABEL: func @launch
func.func @launch(%x: tensor<64x80xf32>, %init: tensor<64xf32>, %y: memref<64x80xf32>, %out: memref<64xf32>) -> tensor<64xf32> {
  // CHECK: redfuse.launch @k ins(%{{.*}} : tensor<64x80xf32>) outs(%{{.*}} : tensor<64xf32>) -> tensor<64xf32>
  %0 = redfuse.launch @k ins(%x : tensor<64x80xf32>) outs(%init : tensor<64xf32>) -> tensor<64xf32>
  // CHECK: redfuse.launch @k ins(%{{.*}} : memref<64x80xf32>) outs(%{{.*}} : memref<64xf32>){{$}}
  redfuse.launch @k ins(%y : memref<64x80xf32>) outs(%out : memref<64xf32>)
  return %0 : tensor<64xf32>
}

// A declared reducer, in order and not, and scans.
// CHECK-LABEL: func @declared
func.func @declared(%x: tensor<5x7xf32>, %init: tensor<5xf32>, %all: tensor<5x7xf32>)
    -> (tensor<5xf32>, tensor<5xf32>, tensor<5x7xf32>, tensor<5x7xf32>) {
  // CHECK: redfuse.reduce declared %{{.*}}, %{{.*}} over [1] into [0] {identities = [1.000000e+00 : f32, 0.000000e+00 : f32], ordered} : f32, f32 combine {
  // CHECK-NEXT: ^bb0(%[[A0:.*]]: f32, %[[B0:.*]]: f32, %[[A1:.*]]: f32, %[[B1:.*]]: f32):
  // CHECK-NEXT: %[[A:.*]] = arith.mulf %[[A0]], %[[A1]] : f32
  // CHECK-NEXT: %[[T:.*]] = arith.mulf %[[A1]], %[[B0]] : f32
  // CHECK-NEXT: %[[B:.*]] = arith.addf %[[T]], %[[B1]] : f32
  // CHECK-NEXT: redfuse.yield %[[A]], %[[B]] : f32, f32
  // CHECK: redfuse.reduce declared %{{.*}} over [1] into [0] {identities = [0.000000e+00 : f32]} : f32 combine {
  // CHECK: redfuse.scan add %{{.*}} along 1 {exclusive} : f32
  // CHECK: redfuse.scan declared %{{.*}} along 1 {identities = [0.000000e+00 : f32]} : f32 combine {
  %r:4 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
           affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
         ins(%x : tensor<5x7xf32>)
         outs(%init, %init, %all, %all : tensor<5xf32>, tensor<5xf32>, tensor<5x7xf32>, tensor<5x7xf32>) {
  ^bb0(%a: f32):
    %p, %h = redfuse.reduce declared %a, %a over [1] into [0]
        {identities = [1.0 : f32, 0.0 : f32], ordered} : f32, f32 combine {
    ^bb0(%a0: f32, %b0: f32, %a1: f32, %b1: f32):
      %a01 = arith.mulf %a0, %a1 : f32
      %t = arith.mulf %a1, %b0 : f32
      %b01 = arith.addf %t, %b1 : f32
      redfuse.yield %a01, %b01 : f32, f32
    }
    %q = redfuse.reduce declared %a over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      redfuse.yield %s : f32
    }
    %c = redfuse.scan add %a along 1 {exclusive} : f32
    %d = redfuse.scan declared %a along 1 {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      redfuse.yield %s : f32
    }
    redfuse.yield %h, %q, %c, %d : f32, f32, f32, f32
  } -> tensor<5xf32>, tensor<5xf32>, tensor<5x7xf32>, tensor<5x7xf32>
  return %r#0, %r#1, %r#2, %r#3 : tensor<5xf32>, tensor<5xf32>, tensor<5x7xf32>, tensor<5x7xf32>
}

// A fold with an output beside its state, and lists that are merged.
// CHECK-LABEL: func @outputs
func.func @outputs(%x: tensor<5x7xf32>, %s0: tensor<5xf32>, %o0: tensor<5x7xf32>) -> (tensor<5xf32>, tensor<5x7xf32>) {
  // CHECK: redfuse.fold
  // CHECK-SAME: identities = [0.000000e+00 : f32]
  // CHECK: redfuse.scan add %{{.*}} along 1 : f32
  %r:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
           over = array<i64: 1>, identities = [0.0 : f32]}
         ins(%x : tensor<5x7xf32>) outs(%s0, %o0 : tensor<5xf32>, tensor<5x7xf32>)
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
  } -> tensor<5xf32>, tensor<5x7xf32>
  return %r#0, %r#1 : tensor<5xf32>, tensor<5x7xf32>
}

// CHECK-LABEL: func @merge_topk
func.func @merge_topk(%v: tensor<5x3xf32>, %i: tensor<5x3xindex>) -> (tensor<5x3xf32>, tensor<5x3xindex>) {
  // CHECK: redfuse.merge_topk %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} along 1 : f32, index
  %r:2 = redfuse.merge {indexing_maps = [affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (i, r)>,
           affine_map<(i, r) -> (i, r)>, affine_map<(i, r) -> (i, r)>]}
         ins(%v, %i : tensor<5x3xf32>, tensor<5x3xindex>) outs(%v, %i : tensor<5x3xf32>, tensor<5x3xindex>) {
  ^bb0(%v0: f32, %i0: index, %v1: f32, %i1: index):
    %b, %k = redfuse.merge_topk %v0, %i0, %v1, %i1 along 1 : f32, index
    redfuse.yield %b, %k : f32, index
  } -> tensor<5x3xf32>, tensor<5x3xindex>
  return %r#0, %r#1 : tensor<5x3xf32>, tensor<5x3xindex>
}

// One step of a declared reducer, in the body of a linalg.generic.
// CHECK-LABEL: func @combine
func.func @combine(%x: tensor<80xf32>, %init: tensor<f32>) -> tensor<f32> {
  // CHECK: redfuse.combine %{{.*}}, %{{.*}} {identities = [0.000000e+00 : f32], ordered} : (f32, f32) -> f32 {
  // CHECK: redfuse.yield %{{.*}} : f32
  %o = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<80xf32>) outs(%init : tensor<f32>) {
  ^bb0(%e: f32, %s: f32):
    %r = redfuse.combine %s, %e {identities = [0.0 : f32], ordered} : (f32, f32) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      redfuse.yield %c : f32
    }
    linalg.yield %r : f32
  } -> tensor<f32>
  return %o : tensor<f32>
}
