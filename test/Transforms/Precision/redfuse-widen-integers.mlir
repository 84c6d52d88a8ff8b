// RUN: redfuse-opt -redfuse-widen-integers %s | FileCheck %s

#m = affine_map<(i) -> (i)>

// CHECK-LABEL: @constant
// CHECK: arith.constant dense<[0, 15, 8, 7]> : tensor<4xi8>
// CHECK: ^bb0(%[[B:.*]]: i8, %{{.*}}: i32):
// CHECK: arith.extui %[[B]] : i8 to i32
func.func @constant() -> tensor<4xi32> {
  %a = arith.constant dense<[0, -1, -8, 7]> : tensor<4xi4>
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%a : tensor<4xi4>) outs(%e : tensor<4xi32>) {
  ^bb0(%b: i4, %o: i32):
    %x = arith.extui %b : i4 to i32
    linalg.yield %x : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// What is stored has zeros above its bits; what looks at a sign makes one.
// CHECK-LABEL: @arithmetic
// CHECK: %[[T:.*]] = arith.trunci %{{.*}} : i64 to i32
// CHECK: %[[A:.*]] = arith.andi %[[T]], %{{.*}} : i32
// CHECK: %[[L:.*]] = arith.shli %[[A]], %{{.*}} : i32
// CHECK: %[[S:.*]] = arith.shrsi %[[L]], %{{.*}} : i32
// CHECK: arith.maxsi %[[S]]
// CHECK: arith.andi
// CHECK: } -> tensor<4xi32>
func.func @arithmetic(%x: tensor<4xi64>) -> tensor<4xi1> {
  %e = tensor.empty() : tensor<4xi24>
  %r = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%x : tensor<4xi64>) outs(%e : tensor<4xi24>) {
  ^bb0(%b: i64, %o: i24):
    %c = arith.constant 5 : i24
    %t = arith.trunci %b : i64 to i24
    %u = arith.maxsi %t, %c : i24
    linalg.yield %u : i24
  } -> tensor<4xi24>
  %f = tensor.empty() : tensor<4xi1>
  %s = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%r : tensor<4xi24>) outs(%f : tensor<4xi1>) {
  ^bb0(%b: i24, %o: i1):
    %c = arith.constant 5 : i24
    %t = arith.cmpi ult, %b, %c : i24
    linalg.yield %t : i1
  } -> tensor<4xi1>
  return %s : tensor<4xi1>
}

// CHECK-LABEL: @loop
// CHECK: scf.for {{.*}} -> (tensor<4xi8>)
// CHECK: tensor.insert %{{.*}} : tensor<4xi8>
func.func @loop(%n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xi2>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %e) -> tensor<4xi2> {
    %v = arith.index_castui %i : index to i2
    %u = tensor.insert %v into %t[%c0] : tensor<4xi2>
    scf.yield %u : tensor<4xi2>
  }
  %x = tensor.extract %r[%c0] : tensor<4xi2>
  %y = arith.extsi %x : i2 to i32
  return %y : i32
}

// Masks have the extents of what they mask.
// CHECK-LABEL: @open
// CHECK: %[[SUM:.*]] = arith.addi {{.*}} : tensor<?x3xi8>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[SUM]]
// CHECK: %[[MASK:.*]] = tensor.splat %{{.*}}[%[[ROWS]]] : tensor<?x3xi8>
// CHECK: arith.andi %[[SUM]], %[[MASK]] : tensor<?x3xi8>
func.func @open(%a: tensor<?x3xi2>, %b: tensor<?x3xi2>) -> tensor<?x3xi2> {
  %r = arith.addi %a, %b : tensor<?x3xi2>
  return %r : tensor<?x3xi2>
}

// What memory has stays.
// CHECK-LABEL: @noop
// CHECK-SAME: tensor<4xi1>, %{{.*}}: tensor<4xi16>
func.func @noop(%a: tensor<4xi1>, %b: tensor<4xi16>) -> (tensor<4xi1>, tensor<4xi16>) {
  return %a, %b : tensor<4xi1>, tensor<4xi16>
}
