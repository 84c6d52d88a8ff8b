// RUN: redfuse-opt %s --redfuse-interchange-reductions --split-input-file | FileCheck %s

// The right operand's rows run along the sum.
// CHECK-LABEL: func @transposed
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
func.func @transposed(%a: memref<5x7xf32>, %b: memref<6x7xf32>, %c: memref<5x6xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<5x7xf32>, memref<6x7xf32>) outs(%c : memref<5x6xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// The body asks for its position.
// CHECK-LABEL: func @position
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
func.func @position(%a: memref<5x7xf32>, %b: memref<7x6xf32>, %c: memref<5x6xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<5x7xf32>, memref<7x6xf32>) outs(%c : memref<5x6xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %i = linalg.index 2 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %p = arith.mulf %x, %f : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Nothing to interchange: a row is summed, and nothing is.
// CHECK-LABEL: func @row
// CHECK: iterator_types = ["parallel", "reduction"]
// CHECK: iterator_types = ["parallel", "parallel"]
func.func @row(%a: memref<5x7xf32>, %b: memref<5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<5x7xf32>) outs(%b : memref<5xf32>) {
  ^bb0(%x: f32, %z: f32):
    %s = arith.addf %z, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(m, k) -> (m)>, affine_map<(m, k) -> (m, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<5xf32>) outs(%a : memref<5x7xf32>) {
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  }
  return
}
