// Reducers of several components, prefixes and lists.
// RUN: redfuse-opt %s -redfuse-derive | FileCheck %s

// CHECK-LABEL: func @affine
func.func @affine(%a: tensor<5x70xf32>, %b: tensor<5x70xf32>, %e: tensor<5xf32>) -> tensor<5xf32> {
  // The product of all a is state, too: a merge needs it.
  // CHECK: redfuse.fold
  // CHECK-SAME: basis = [{names = ["t0", "t1"], operands = [#redfuse.formula<"x0">, #redfuse.formula<"x1">], over = array<i64: 1>, reducer = "f0"}]
  // CHECK-SAME: combiners = [{identities = [#redfuse.formula<"1">, #redfuse.formula<"0">], name = "f0", ordered = true, results = [#redfuse.formula<"l0*r0">, #redfuse.formula<"r0*l1 + r1">]}]
  // CHECK-SAME: ordered = ["t0"]
  // CHECK-SAME: source = [{names = ["d0", "d1"], operands = [#redfuse.formula<"x0">, #redfuse.formula<"x1">], over = array<i64: 1>, reducer = "f0"}]
  // CHECK: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK: %[[S:.*]]:2 = redfuse.reduce declared %[[X]], %[[Y]] over [1] into [0]
  // CHECK: %[[N:.*]]:2 = redfuse.combine %[[A]], %[[B]], %[[S]]#0, %[[S]]#1 {identities = [1.000000e+00 : f32, 0.000000e+00 : f32], ordered} : (f32, f32, f32, f32) -> (f32, f32) {
  // CHECK: }
  // CHECK: redfuse.yield %[[N]]#0, %[[N]]#1 : f32, f32
  // CHECK: } merge {
  // CHECK: ^bb0(%[[LA:.*]]: f32, %[[LB:.*]]: f32, %[[RA:.*]]: f32, %[[RB:.*]]: f32):
  // CHECK: %[[MA:.*]] = arith.mulf %[[LA]], %[[RA]] : f32
  // CHECK: %[[MT:.*]] = arith.mulf %[[RA]], %[[LB]] : f32
  // CHECK: %[[MB:.*]] = arith.addf %[[MT]], %[[RB]] : f32
  // CHECK: redfuse.yield %[[MA]], %[[MB]] : f32, f32
  %o = redfuse.cascade {schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 8], stream = [1]>,
         indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
         ins(%a, %b : tensor<5x70xf32>, tensor<5x70xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p, %h = redfuse.reduce declared %x, %y over [1] into [0]
        {identities = [1.0 : f32, 0.0 : f32], ordered} : f32, f32 combine {
    ^bb0(%a0: f32, %b0: f32, %a1: f32, %b1: f32):
      %a01 = arith.mulf %a0, %a1 : f32
      %t = arith.mulf %a1, %b0 : f32
      %b01 = arith.addf %t, %b1 : f32
      redfuse.yield %a01, %b01 : f32, f32
    }
    redfuse.yield %h : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// CHECK-LABEL: func @mixed
func.func @mixed(%x: tensor<5x70xf32>, %e: tensor<5xf32>) -> tensor<5xf32> {
  // CHECK-SAME: condition = "declared combiner"
  // Two passes: the maximum first.
  // CHECK: redfuse.fold
  // CHECK: redfuse.reduce maximumf
  // CHECK: redfuse.finalize
  // CHECK: redfuse.fold
  // CHECK: redfuse.reduce declared
  %o = redfuse.cascade {schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 8], stream = [1]>,
         indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
         ins(%x : tensor<5x70xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%u: f32):
    %m = redfuse.reduce maximumf %u over [1] into [0] : f32
    %d = arith.subf %u, %m : f32
    %s = redfuse.reduce declared %d over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r: f32):
      %t = arith.addf %l, %r : f32
      redfuse.yield %t : f32
    }
    redfuse.yield %s : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// CHECK-LABEL: func @running
func.func @running(%x: tensor<5x70xf32>, %e: tensor<5x70xf32>) -> tensor<5x70xf32> {
  // CHECK-SAME: condition = "running value", detail = "the scan is over prefixes of another scan
  // CHECK-NOT: redfuse.fold
  %o = redfuse.cascade {schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 8], stream = [1]>,
         indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
         ins(%x : tensor<5x70xf32>) outs(%e : tensor<5x70xf32>) {
  ^bb0(%u: f32):
    %c = redfuse.scan add %u along 1 : f32
    %d = redfuse.scan add %c along 1 : f32
    redfuse.yield %d : f32
  } -> tensor<5x70xf32>
  return %o : tensor<5x70xf32>
}

// CHECK-LABEL: func @both
func.func @both(%x: tensor<5x70xf32>, %e: tensor<5x70xf32>) -> tensor<5x70xf32> {
  // CHECK-SAME: condition = "running value", detail = "a result needs both
  // Two passes: the reduction first.
  // CHECK: redfuse.fold
  // CHECK-NOT: redfuse.scan
  // CHECK: redfuse.finalize
  // CHECK: redfuse.fold
  // CHECK: redfuse.scan add
  %o = redfuse.cascade {schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 8], stream = [1]>,
         indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
         ins(%x : tensor<5x70xf32>) outs(%e : tensor<5x70xf32>) {
  ^bb0(%u: f32):
    %c = redfuse.scan add %u along 1 : f32
    %s = redfuse.reduce add %u over [1] into [0] : f32
    %d = arith.divf %c, %s : f32
    redfuse.yield %d : f32
  } -> tensor<5x70xf32>
  return %o : tensor<5x70xf32>
}

// CHECK-LABEL: func @prefix
func.func @prefix(%x: tensor<5x70xf32>, %e: tensor<5x70xf32>, %l: tensor<5xf32>) -> (tensor<5x70xf32>, tensor<5xf32>) {
  // What is computed from prefixes is written segment by segment.
  // CHECK: redfuse.fold
  // CHECK-SAME: outputs = [{names = ["d1"], reducer = "maximumf", state = ["t0"]}]
  // CHECK-SAME: identities = [0xFF800000 : f32]
  // CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<5xf32>, tensor<5x70xf32>)
  // CHECK: ^bb0(%[[U:.*]]: f32, %[[M:.*]]: f32):
  // CHECK: %[[S:.*]] = redfuse.reduce maximumf %[[U]] over [1] into [0] : f32
  // CHECK: %[[M1:.*]] = arith.maximumf %[[M]], %[[S]] : f32
  // CHECK: %[[P:.*]] = redfuse.scan maximumf %[[U]] along 1 : f32
  // CHECK: %[[R:.*]] = arith.maximumf %[[M]], %[[P]] : f32
  // CHECK: %[[D:.*]] = arith.subf %[[U]], %[[R]] : f32
  // CHECK: redfuse.yield %[[M1]], %[[D]] : f32, f32
  // CHECK: merge {
  // CHECK: redfuse.finalize
  %o:2 = redfuse.cascade {schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 8], stream = [1]>,
         indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
         ins(%x : tensor<5x70xf32>) outs(%e, %l : tensor<5x70xf32>, tensor<5xf32>) {
  ^bb0(%u: f32):
    %c = redfuse.scan maximumf %u along 1 : f32
    %d = arith.subf %u, %c : f32
    %s = redfuse.reduce maximumf %u over [1] into [0] : f32
    redfuse.yield %d, %s : f32, f32
  } -> tensor<5x70xf32>, tensor<5xf32>
  return %o#0, %o#1 : tensor<5x70xf32>, tensor<5xf32>
}

// CHECK-LABEL: func @lists
func.func @lists(%x: tensor<5x70xf32>, %e: tensor<5x4xf32>, %f: tensor<5x4xindex>) -> (tensor<5x4xf32>, tensor<5x4xindex>) {
  // CHECK: redfuse.fold
  // CHECK-SAME: identities = [0xFF800000 : f32, -1 : index]
  // CHECK: ^bb0(%{{.*}}: f32, %[[V:.*]]: f32, %[[I:.*]]: index):
  // CHECK: %[[S:.*]]:2 = redfuse.reduce topk
  // CHECK: redfuse.merge_topk %[[V]], %[[I]], %[[S]]#0, %[[S]]#1 along 2 : f32, index
  // CHECK: } merge {
  // CHECK: redfuse.merge_topk
  %o:2 = redfuse.cascade {schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 8, 0], stream = [1]>,
         indexing_maps = [affine_map<(i, j, r) -> (i, j)>, affine_map<(i, j, r) -> (i, r)>, affine_map<(i, j, r) -> (i, r)>]}
         ins(%x : tensor<5x70xf32>) outs(%e, %f : tensor<5x4xf32>, tensor<5x4xindex>) {
  ^bb0(%u: f32):
    %j = redfuse.index 1
    %p, %q = redfuse.reduce topk %u, %j over [1] into [0, 2] : f32, index
    redfuse.yield %p, %q : f32, index
  } -> tensor<5x4xf32>, tensor<5x4xindex>
  return %o#0, %o#1 : tensor<5x4xf32>, tensor<5x4xindex>
}

// What the first fold writes out is reduced where the second one is finalised,
// over a dim of its own that has the number of the one that the first folded.
// CHECK-LABEL: func @other_fold
func.func @other_fold(%x: tensor<5x33xf32>, %y: tensor<5x31xf32>, %e: tensor<5x33xf32>, %f: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  // CHECK: %[[A:.*]]:2 = redfuse.fold
  // CHECK: %[[B:.*]] = redfuse.fold {{.*}} ins(%[[A]]#1, %{{.*}}
  // CHECK: redfuse.finalize {{.*}} ins(%[[A]]#1, %[[B]] :
  // CHECK: redfuse.reduce add %{{.*}} over [1] into [0]
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 8], stream = [1]>} ins(%x : tensor<5x33xf32>) outs(%e : tensor<5x33xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.scan add %u along 1 : f32
    redfuse.yield %s : f32
  } -> tensor<5x33xf32>
  %1:2 = redfuse.cascade {indexing_maps = [affine_map<(i, k, j) -> (i, k)>, affine_map<(i, k, j) -> (i, j)>, affine_map<(i, k, j) -> (i)>, affine_map<(i, k, j) -> (i)>], schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 0, 8], stream = [2]>} ins(%0, %y : tensor<5x33xf32>, tensor<5x31xf32>) outs(%f, %f : tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    %p = arith.mulf %s, %v : f32
    %t = redfuse.reduce add %p over [2] into [0] : f32
    redfuse.yield %s, %t : f32, f32
  } -> tensor<5xf32>, tensor<5xf32>
  return %1#0, %1#1 : tensor<5xf32>, tensor<5xf32>
}
