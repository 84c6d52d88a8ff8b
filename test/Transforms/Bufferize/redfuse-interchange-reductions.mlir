// RUN: redfuse-opt %s --redfuse-interchange-reductions --split-input-file | FileCheck %s

// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: func @matmul
// CHECK: linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[C]]]
// CHECK-SAME: iterator_types = ["parallel", "reduction", "parallel"]
func.func @matmul(%a: memref<5x7xf32>, %b: memref<7x6xf32>, %c: memref<5x6xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<5x7xf32>, memref<7x6xf32>) outs(%c : memref<5x6xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Both dims of a window's sum stay in front of the image's rows.
// CHECK-LABEL: func @window
// CHECK: iterator_types = ["parallel", "parallel", "reduction", "reduction", "parallel"]
func.func @window(%x: memref<2x9x9xf32>, %w: memref<3x3xf32>, %o: memref<2x7x7xf32>) {
  linalg.generic {indexing_maps = [affine_map<(b, i, j, p, q) -> (b, i + p, j + q)>,
      affine_map<(b, i, j, p, q) -> (p, q)>, affine_map<(b, i, j, p, q) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<2x9x9xf32>, memref<3x3xf32>) outs(%o : memref<2x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %z: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  }
  return
}
