// RUN: redfuse-opt %s -redfuse-normalize-sorts | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @values_and_positions
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x7xf32>
// CHECK-NOT: tm_tensor.sort
// CHECK: %[[T:.+]]:2 = tm_tensor.topk dimension(1) ins(%[[X]] : tensor<?x7xf32>)
// CHECK-SAME: outs({{.*}} : tensor<?x3xf32>, tensor<?x3xi64>)
// CHECK: ^bb0(%[[NEW:.+]]: f32, %[[PLACED:.+]]: f32):
// CHECK: %[[BEFORE:.+]] = arith.cmpf ult, %[[PLACED]], %[[NEW]]
// CHECK: tm_tensor.yield %[[BEFORE]]
// CHECK-NOT: extract_slice
// CHECK: return %[[T]]#0, %[[T]]#1
func.func @values_and_positions(%x: tensor<?x7xf32>) -> (tensor<?x3xf32>, tensor<?x3xi64>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x7xf32>
  %e = tensor.empty(%n) : tensor<?x7xi64>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x7xi64>) {
  ^bb0(%out: i64):
    %p = linalg.index 1 : index
    %q = arith.index_cast %p : index to i64
    linalg.yield %q : i64
  } -> tensor<?x7xi64>
  %s:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<?x7xf32>, tensor<?x7xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %o = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<?x7xf32>, tensor<?x7xi64>
  %v = tensor.extract_slice %s#0[0, 0] [%n, 3] [1, 1] : tensor<?x7xf32> to tensor<?x3xf32>
  %w = tensor.extract_slice %s#1[0, 0] [%n, 3] [1, 1] : tensor<?x7xi64> to tensor<?x3xi64>
  return %v, %w : tensor<?x3xf32>, tensor<?x3xi64>
}

// Indices that are not positions are carried along.
// CHECK-LABEL: func.func @carried
// CHECK-SAME: %[[X:[^:]+]]: tensor<9xi32>, %[[I:[^:]+]]: tensor<9xi32>
// CHECK: tm_tensor.topk dimension(0) ins(%[[X]], %[[I]] :
// CHECK-SAME: outs({{.*}} : tensor<2xi32>, tensor<2xi32>)
// CHECK: arith.cmpi sge
func.func @carried(%x: tensor<9xi32>, %i: tensor<9xi32>) -> tensor<2xi32> {
  %s:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<9xi32>, tensor<9xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %o = arith.cmpi slt, %a, %b : i32
    tm_tensor.yield %o : i1
  } -> tensor<9xi32>, tensor<9xi32>
  %w = tensor.extract_slice %s#1[0] [2] [1] : tensor<9xi32> to tensor<2xi32>
  return %w : tensor<2xi32>
}

// An open number of them may be all: it stays a sort.
// CHECK-LABEL: func.func @opened
// CHECK: tm_tensor.sort
func.func @opened(%x: tensor<9xi32>, %i: tensor<9xi32>, %k: index) -> tensor<?xi32> {
  %s:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<9xi32>, tensor<9xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %o = arith.cmpi slt, %a, %b : i32
    tm_tensor.yield %o : i1
  } -> tensor<9xi32>, tensor<9xi32>
  %w = tensor.extract_slice %s#1[0] [%k] [1] : tensor<9xi32> to tensor<?xi32>
  return %w : tensor<?xi32>
}

// Used as a whole, cut elsewhere, or ordered by the second operand: still a sort.
// CHECK-LABEL: func.func @sorts
// CHECK-COUNT-3: tm_tensor.sort
func.func @sorts(%x: tensor<9xf32>, %i: tensor<9xi32>) -> (tensor<9xf32>, tensor<3xf32>, tensor<3xf32>) {
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>
  %t = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>
  %u:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<9xf32>, tensor<9xi32>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    %o = arith.cmpi sle, %c, %d : i32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>, tensor<9xi32>
  %v = tensor.extract_slice %t[2] [3] [1] : tensor<9xf32> to tensor<3xf32>
  %w = tensor.extract_slice %u#0[0] [3] [1] : tensor<9xf32> to tensor<3xf32>
  return %s, %v, %w : tensor<9xf32>, tensor<3xf32>, tensor<3xf32>
}

// The selection is where the sort was: what is taken of it may be in several blocks, or in a loop.
// CHECK-LABEL: func.func @blocks
// CHECK: tm_tensor.topk
// CHECK: scf.if
// CHECK-NOT: tensor.extract_slice
func.func @blocks(%x: tensor<9xf32>, %c: i1) -> tensor<3xf32> {
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>
  %r = scf.if %c -> tensor<3xf32> {
    %u = tensor.extract_slice %s[0] [3] [1] : tensor<9xf32> to tensor<3xf32>
    scf.yield %u : tensor<3xf32>
  } else {
    %u = tensor.extract_slice %s[0] [3] [1] : tensor<9xf32> to tensor<3xf32>
    %n = math.exp %u : tensor<3xf32>
    scf.yield %n : tensor<3xf32>
  }
  return %r : tensor<3xf32>
}
