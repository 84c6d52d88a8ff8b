// RUN: redfuse-opt %s -redfuse-normalize-reshapes | FileCheck %s

#bmk = affine_map<(b, m, n, k) -> (b, m, k)>
#bnk = affine_map<(b, m, n, k) -> (b, n, k)>
#bmn = affine_map<(b, m, n, k) -> (b, m, n)>
#id4 = affine_map<(a, b, c, d) -> (a, b, c, d)>

// A product between a collapse and an expand, then a map: no reshape is left.
// CHECK-LABEL: func.func @between
// CHECK-SAME: %[[Q:[^:]+]]: tensor<2x3x?x8xf32>, %[[K:[^:]+]]: tensor<2x3x?x8xf32>
// CHECK-NOT: collapse_shape
// CHECK: linalg.generic
// CHECK-SAME: ["parallel", "parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME: ins(%[[Q]], %[[K]] :
// CHECK-NOT: expand_shape
// CHECK: math.exp
func.func @between(%q: tensor<2x3x?x8xf32>, %k: tensor<2x3x?x8xf32>, %m: index, %n: index) -> tensor<2x3x?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %cq = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x3x?x8xf32> into tensor<6x?x8xf32>
  %ck = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x3x?x8xf32> into tensor<6x?x8xf32>
  %e = tensor.empty(%m, %n) : tensor<6x?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x?x?xf32>) -> tensor<6x?x?xf32>
  %p = linalg.generic {indexing_maps = [#bmk, #bnk, #bmn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%cq, %ck : tensor<6x?x8xf32>, tensor<6x?x8xf32>) outs(%f : tensor<6x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %out, %x : f32
    linalg.yield %y : f32
  } -> tensor<6x?x?xf32>
  %s = tensor.expand_shape %p [[0, 1], [2], [3]] output_shape [2, 3, %m, %n] : tensor<6x?x?xf32> into tensor<2x3x?x?xf32>
  %e2 = tensor.empty(%m, %n) : tensor<2x3x?x?xf32>
  %r = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<2x3x?x?xf32>) outs(%e2 : tensor<2x3x?x?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %x = math.exp %a : f32
    linalg.yield %x : f32
  } -> tensor<2x3x?x?xf32>
  return %r : tensor<2x3x?x?xf32>
}

// Where the two sides group differently, the reshape moves to the argument.
// CHECK-LABEL: func.func @grouped
// CHECK-SAME: %[[Q:[^:]+]]: tensor<8x5xf32>, %[[K:[^:]+]]: tensor<2x5xf32>
// CHECK: %[[E:.+]] = tensor.expand_shape %[[Q]]
// CHECK-SAME: tensor<8x5xf32> into tensor<2x4x5xf32>
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[E]],
func.func @grouped(%q: tensor<8x5xf32>, %k: tensor<2x5xf32>) -> tensor<8x5xf32> {
  %e = tensor.empty() : tensor<2x4x5xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(g, h, d) -> (g, d)>, affine_map<(g, h, d) -> (g, h, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%k : tensor<2x5xf32>) outs(%e : tensor<2x4x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %x = math.exp %in : f32
    linalg.yield %x : f32
  } -> tensor<2x4x5xf32>
  %c = tensor.collapse_shape %b [[0, 1], [2]] : tensor<2x4x5xf32> into tensor<8x5xf32>
  %e2 = tensor.empty() : tensor<8x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(h, d) -> (h, d)>, affine_map<(h, d) -> (h, d)>, affine_map<(h, d) -> (h, d)>], iterator_types = ["parallel", "parallel"]}
      ins(%q, %c : tensor<8x5xf32>, tensor<8x5xf32>) outs(%e2 : tensor<8x5xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %z = arith.mulf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<8x5xf32>
  return %r : tensor<8x5xf32>
}

// Collapsed and expanded again, by extents that are known to be the same: the
// first may come from a choice whose condition says so.
// CHECK-LABEL: func.func @expand_of_collapse
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x?x?xf32>
// CHECK: %[[CHOICE:.+]] = scf.if
// CHECK-NOT: tensor.collapse_shape
// CHECK-NOT: tensor.expand_shape
// CHECK: return %[[CHOICE]]
func.func @expand_of_collapse(%x: tensor<?x?x?xf32>, %y: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %have = tensor.dim %x, %c0 : tensor<?x?x?xf32>
  %want = tensor.dim %y, %c0 : tensor<?x?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?x?xf32>
  %d2 = tensor.dim %x, %c2 : tensor<?x?x?xf32>
  %same = arith.cmpi eq, %have, %want : index
  %long = scf.if %same -> tensor<?x?x?xf32> {
    scf.yield %x : tensor<?x?x?xf32>
  } else {
    %e = tensor.empty(%want, %d1, %d2) : tensor<?x?x?xf32>
    scf.yield %e : tensor<?x?x?xf32>
  }
  %flat = tensor.collapse_shape %long [[0, 1], [2]] : tensor<?x?x?xf32> into tensor<?x?xf32>
  %back = tensor.expand_shape %flat [[0, 1], [2]] output_shape [%want, %d1, %d2] : tensor<?x?xf32> into tensor<?x?x?xf32>
  return %back : tensor<?x?x?xf32>
}
