// RUN: redfuse-opt %s -redfuse-normalize-generalize | FileCheck %s

// CHECK-LABEL: func.func @named
// CHECK: linalg.fill
// CHECK-NOT: linalg.batch_matmul
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel", "reduction"]
func.func @named(%a: tensor<?x5x7xf32>, %b: tensor<?x7x3xf32>, %c: tensor<?x5x3xf32>) -> tensor<?x5x3xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%c : tensor<?x5x3xf32>) -> tensor<?x5x3xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<?x5x7xf32>, tensor<?x7x3xf32>) outs(%f : tensor<?x5x3xf32>) -> tensor<?x5x3xf32>
  return %r : tensor<?x5x3xf32>
}

// Softmax along the first axis: a max, a map, a sum and a division.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT: linalg.softmax
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
// CHECK: arith.divf
func.func @softmax(%x: tensor<11x?xf32>, %o: tensor<11x?xf32>) -> tensor<11x?xf32> {
  %r = linalg.softmax dimension(0) ins(%x : tensor<11x?xf32>) outs(%o : tensor<11x?xf32>) -> tensor<11x?xf32>
  return %r : tensor<11x?xf32>
}

// CHECK-LABEL: func.func @written_by_hand
// CHECK-NOT: linalg.{{map|reduce|transpose|broadcast}}
// CHECK-COUNT-4: linalg.generic
func.func @written_by_hand(%x: tensor<3x5xf32>, %s: tensor<5xf32>, %r: tensor<5xf32>, %t: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<3x5xf32>) outs(%r : tensor<5xf32>) dimensions = [0]
  %m = linalg.map { math.exp } ins(%sum : tensor<5xf32>) outs(%s : tensor<5xf32>)
  %b = linalg.broadcast ins(%m : tensor<5xf32>) outs(%x : tensor<3x5xf32>) dimensions = [0]
  %o = linalg.transpose ins(%b : tensor<3x5xf32>) outs(%t : tensor<5x3xf32>) permutation = [1, 0]
  return %o : tensor<5x3xf32>
}

// CHECK-LABEL: func.func @tensor_arithmetic
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT: tensor.generate
func.func @tensor_arithmetic(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %g = tensor.generate %n {
  ^bb0(%i: index):
    %c = arith.index_cast %i : index to i32
    %f = arith.sitofp %c : i32 to f32
    tensor.yield %f : f32
  } : tensor<?xf32>
  %r = arith.mulf %x, %g : tensor<?xf32>
  return %r : tensor<?xf32>
}
