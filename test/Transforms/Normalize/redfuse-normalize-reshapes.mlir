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

// Dims that are grouped anew are cut first: nothing is left between the argument and its reader.
// CHECK-LABEL: func.func @regrouped
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x12x7xf32>
// CHECK: %[[FINE:.+]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2], [3]{{\]}} output_shape [2, 3, 4, 7]
// CHECK-NOT: tensor.collapse_shape
// CHECK: linalg.generic {{.*}} ins(%[[FINE]] : tensor<2x3x4x7xf32>)
func.func @regrouped(%x: tensor<2x12x7xf32>) -> tensor<2x3xf32> {
  %zero = arith.constant 0.0 : f32
  %flat = tensor.collapse_shape %x [[0], [1, 2]] : tensor<2x12x7xf32> into tensor<2x84xf32>
  %groups = tensor.expand_shape %flat [[0], [1, 2]] output_shape [2, 3, 28] : tensor<2x84xf32> into tensor<2x3x28xf32>
  %e = tensor.empty() : tensor<2x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%groups : tensor<2x3x28xf32>) outs(%f : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// Dims that are cut across what was collapsed stay.
// CHECK-LABEL: func.func @cut_across
// CHECK: tensor.collapse_shape
// CHECK: tensor.expand_shape
func.func @cut_across(%x: tensor<4x9xf32>) -> tensor<6x6xf32> {
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<4x9xf32> into tensor<36xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [6, 6] : tensor<36xf32> into tensor<6x6xf32>
  return %r : tensor<6x6xf32>
}

// A choice by position along one dim, of dims that were collapsed elsewhere: the loop is cut, its
// index is made of the parts'.
// CHECK-LABEL: func.func @choice_of_collapsed
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x3x5xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[X]], %{{.*}} : tensor<2x3x5xf32>, tensor<2x3xf32>)
// CHECK-DAG: %[[I:.+]] = linalg.index 0
// CHECK-DAG: %[[J:.+]] = linalg.index 1
// CHECK: arith.muli %[[I]]
// CHECK: linalg.index 2
// CHECK: tensor.collapse_shape {{.*}} : tensor<2x3x6xindex> into tensor<6x6xindex>
func.func @choice_of_collapsed(%x: tensor<2x3x5xf32>, %y: tensor<6xf32>) -> tensor<6x6xindex> {
  %c5 = arith.constant 5 : index
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x5xf32> into tensor<6x5xf32>
  %e = tensor.empty() : tensor<6x6xindex>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1 mod 5)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%rows, %y : tensor<6x5xf32>, tensor<6xf32>) outs(%e : tensor<6x6xindex>) {
  ^bb0(%a: f32, %b: f32, %out: index):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %p = arith.cmpi slt, %j, %c5 : index
    %g = arith.cmpf ogt, %a, %b : f32
    %h = arith.andi %p, %g : i1
    %v = arith.select %h, %i, %j : index
    linalg.yield %v : index
  } -> tensor<6x6xindex>
  return %r : tensor<6x6xindex>
}

// A slice of one dim stands behind the expansion of another.
// CHECK-LABEL: func.func @expand_before_slice
// CHECK: %[[E:.+]] = tensor.expand_shape %{{.*}} output_shape [2, 3, 9]
// CHECK: tensor.extract_slice %[[E]][0, 0, 1] [2, 3, 5] [1, 1, 1]
func.func @expand_before_slice(%x: tensor<6x9xf32>) -> tensor<2x3x5xf32> {
  %s = tensor.extract_slice %x[0, 1] [6, 5] [1, 1] : tensor<6x9xf32> to tensor<6x5xf32>
  %r = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 3, 5] : tensor<6x5xf32> into tensor<2x3x5xf32>
  return %r : tensor<2x3x5xf32>
}

// A copy of a part is a slice again, where it is expanded.
// CHECK-LABEL: func.func @expanded_part
// CHECK-SAME: %[[X:[^:]+]]: tensor<3x16xf32>
// CHECK: %[[E:.+]] = tensor.expand_shape %[[X]]
// CHECK: %[[R:.+]] = tensor.extract_slice %[[E]][0, 4, 0] [3, 4, 2] [1, 1, 1]
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]
func.func @expanded_part(%x: tensor<3x16xf32>) -> tensor<3x4x2xf32> {
  %e = tensor.empty() : tensor<3x8xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1 + 8)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x16xf32>) outs(%e : tensor<3x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x8xf32>
  %r = tensor.expand_shape %c [[0], [1, 2]] output_shape [3, 4, 2] : tensor<3x8xf32> into tensor<3x4x2xf32>
  return %r : tensor<3x4x2xf32>
}

// Rolled rows that another loop reads expanded are read by loops of the parts.
// CHECK-LABEL: func.func @expand_rolled
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {indexing_maps = [#[[ROLLED:.*]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK-SAME: outs(%{{.*}} : tensor<4x2x3xf32>)
func.func @expand_rolled(%x: tensor<8x3xf32>) -> tensor<2x4x3xf32> {
  %e = tensor.empty() : tensor<8x3xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ((d0 + 3) mod 8, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x3xf32>) outs(%e : tensor<8x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x3xf32>
  %s = tensor.expand_shape %c [[0, 1], [2]] output_shape [4, 2, 3] : tensor<8x3xf32> into tensor<4x2x3xf32>
  %f = tensor.empty() : tensor<2x4x3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<4x2x3xf32>) outs(%f : tensor<2x4x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<2x4x3xf32>
  return %r : tensor<2x4x3xf32>
}

// So is one of whole pieces of the dim that is cut (heads of queries among those of keys).
// CHECK-LABEL: func.func @expand_before_slice_of_pieces
// CHECK: %[[E:.+]] = tensor.expand_shape %{{.*}} output_shape [2, 9, 4]
// CHECK: tensor.extract_slice %[[E]][0, 3, 0] [2, 3, 4] [1, 1, 1]
func.func @expand_before_slice_of_pieces(%x: tensor<2x36xf32>) -> tensor<2x3x4xf32> {
  %s = tensor.extract_slice %x[0, 12] [2, 12] [1, 1] : tensor<2x36xf32> to tensor<2x12xf32>
  %r = tensor.expand_shape %s [[0], [1, 2]] output_shape [2, 3, 4] : tensor<2x12xf32> into tensor<2x3x4xf32>
  return %r : tensor<2x3x4xf32>
}

// One that begins within a piece stays.
// CHECK-LABEL: func.func @slice_within_a_piece
// CHECK: %[[S:.+]] = tensor.extract_slice %{{.*}}[0, 10] [2, 12] [1, 1]
// CHECK: tensor.expand_shape %[[S]]
func.func @slice_within_a_piece(%x: tensor<2x36xf32>) -> tensor<2x3x4xf32> {
  %s = tensor.extract_slice %x[0, 10] [2, 12] [1, 1] : tensor<2x36xf32> to tensor<2x12xf32>
  %r = tensor.expand_shape %s [[0], [1, 2]] output_shape [2, 3, 4] : tensor<2x12xf32> into tensor<2x3x4xf32>
  return %r : tensor<2x3x4xf32>
}

// Reshapes that end where they began: the elements are in the same order.
// CHECK-LABEL: func.func @circle
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x8x3x5xf32>
// CHECK-NEXT: return %[[X]]
func.func @circle(%x: tensor<4x8x3x5xf32>) -> tensor<4x8x3x5xf32> {
  %a = tensor.expand_shape %x [[0], [1], [2, 3], [4]] output_shape [4, 8, 3, 1, 5] : tensor<4x8x3x5xf32> into tensor<4x8x3x1x5xf32>
  %b = tensor.collapse_shape %a [[0, 1], [2], [3, 4]] : tensor<4x8x3x1x5xf32> into tensor<32x3x5xf32>
  %c = tensor.expand_shape %b [[0, 1], [2], [3, 4]] output_shape [4, 8, 3, 5, 1] : tensor<32x3x5xf32> into tensor<4x8x3x5x1xf32>
  %d = tensor.collapse_shape %c [[0], [1], [2], [3, 4]] : tensor<4x8x3x5x1xf32> into tensor<4x8x3x5xf32>
  return %d : tensor<4x8x3x5xf32>
}
