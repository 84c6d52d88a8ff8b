// RUN: redfuse-opt %s -split-input-file -redfuse-check-accesses | FileCheck %s

// The largest index, 2 * (%n - 1) + 2, is looked at, unless nothing is read.
// CHECK-LABEL: func @window
// CHECK-SAME: (%{{.*}}: tensor<?xf32>, %[[W:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<?xf32>)
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[Y]]
// CHECK-DAG: %[[TWICE:.*]] = arith.muli %[[N]], %c2
// CHECK-DAG: %[[INSIDE:.*]] = arith.cmpi slt
// CHECK-DAG: %[[NONE:.*]] = arith.cmpi eq
// CHECK: %[[HOLDS:.*]] = arith.ori %[[INSIDE]], %[[NONE]] : i1
// CHECK: cf.assert %[[HOLDS]], "{{.*}}windows.mlir:[[#@LINE+4]]:8: linalg.generic: operand 0 is read outside its dim 0"
// CHECK-NOT: cf.assert
// CHECK: linalg.generic
func.func @window(%x: tensor<?xf32>, %w: tensor<3xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i * 2 + j)>, affine_map<(i, j) -> (j)>,
                     affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%x, %w : tensor<?xf32>, tensor<3xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %c : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// A named op, all of whose windows are inside.
// CHECK-LABEL: func @static
// CHECK-NOT: cf.assert
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @static(%x: tensor<1x17x17x4xf32>, %w: tensor<3x3x4x8xf32>,
                  %y: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x17x17x4xf32>, tensor<3x3x4x8xf32>)
      outs(%y : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %r : tensor<1x8x8x8xf32>
}

// -----

// The result has as many windows as there are: the extents say so themselves.
// CHECK-LABEL: func @as_many_as_fit
// CHECK-NOT: read outside
// CHECK: linalg.pooling_ncw_max
func.func @as_many_as_fit(%x: tensor<1x2x?xf32>, %w: tensor<3xf32>, %z: f32) -> tensor<1x2x?xf32> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c2 : tensor<1x2x?xf32>
  %m = affine.apply affine_map<()[s] -> (s - 2)>()[%n]
  %e = tensor.empty(%m) : tensor<1x2x?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x2x?xf32>) -> tensor<1x2x?xf32>
  %r = linalg.pooling_ncw_max {strides = dense<1> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
      ins(%x, %w : tensor<1x2x?xf32>, tensor<3xf32>)
      outs(%f : tensor<1x2x?xf32>) -> tensor<1x2x?xf32>
  return %r : tensor<1x2x?xf32>
}

// -----

// Flipped: the least index is 7 - (%n - 1).
// CHECK-LABEL: func @flip
// CHECK: arith.cmpi sge
// CHECK: cf.assert %{{.*}}, "{{.*}}operand 0 is read outside its dim 0"
// CHECK: arith.cmpi sgt, %{{.*}}, %c7
// CHECK: cf.assert %{{.*}}, "{{.*}}operand 0 is read outside its dim 0"
// CHECK: linalg.generic
func.func @flip(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i) -> (7 - i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// The largest remainder is 4, or the largest sum: the least of both is below the
// extent where either is.
// CHECK-LABEL: func @remainder
// CHECK: arith.cmpi slt
// CHECK: arith.cmpi sgt, %{{.*}}, %c4
// CHECK: arith.ori
// CHECK: cf.assert %{{.*}}, "{{.*}}operand 0 is read outside its dim 0"
// CHECK-NOT: scf.for
// CHECK: linalg.generic
func.func @remainder(%x: tensor<?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i + j) mod 5)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func @remainder_inside
// CHECK-NOT: cf.assert
// CHECK: linalg.generic
func.func @remainder_inside(%x: tensor<5xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i - j * 3) mod 5)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<5xf32>) outs(%y : tensor<?x?xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// Not every value below 7 occurs: loops try the first and the last 7 indices, in
// none of whose rounds the bounds are inside.
// CHECK-LABEL: func @points
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C14:.*]] = arith.constant 14 : index
// CHECK: arith.minsi %{{.*}}, %[[C14]]
// CHECK: %[[ROUNDS:.*]] = arith.select %{{.*}}, %[[C0]]
// CHECK: scf.for %{{.*}} = %[[C0]] to %[[ROUNDS]]
// CHECK: scf.for
// CHECK: affine.apply
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: cf.assert %[[INSIDE]], "{{.*}}operand 0 is read outside its dim 0"
// CHECK: linalg.generic
func.func @points(%x: tensor<?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i * 2 + j * 3) mod 7)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// A period that is longer than what there is to try.
// CHECK-LABEL: func @long_period
// CHECK: scf.for
// CHECK: cf.assert %{{.*}}, "{{.*}}operand 0 is read outside its dim 0"
// CHECK: linalg.generic
func.func @long_period(%x: tensor<?xf32>, %y: tensor<4x9xf32>) -> tensor<4x9xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i * 3 + j * 5 + 9) mod 9223372036854775807)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<4x9xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<4x9xf32>
  return %r : tensor<4x9xf32>
}

// -----

// Too many points for every call: what may be outside is.
// CHECK-LABEL: func @many_points
// CHECK: cf.assert %{{.*}}, "{{.*}}operand 0 may be read outside its dim 0"
// CHECK-NOT: scf.for
// CHECK: linalg.generic
func.func @many_points(%x: tensor<?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i * 3 + j * 5) mod 40037)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// Groups of rows: quotients grow with what is divided.
// CHECK-LABEL: func @quotient
// CHECK: arith.cmpi slt
// CHECK: cf.assert %{{.*}}, "{{.*}}operand 0 is read outside its dim 0"
// CHECK-NOT: scf.for
// CHECK: linalg.generic
func.func @quotient(%x: tensor<?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i + j) floordiv 3)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// An empty dim: nothing is read.
// CHECK-LABEL: func @empty
// CHECK-NOT: cf.assert
// CHECK: linalg.generic
func.func @empty(%x: tensor<?xf32>, %y: tensor<?x0xf32>) -> tensor<?x0xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i + 9)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<?x0xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?x0xf32>
  return %r : tensor<?x0xf32>
}

// -----

// Extents that make an index of more than 64 bits are none that the machine could
// compare.
// CHECK-LABEL: func @bits
// CHECK: arith.cmpi sle
// CHECK: cf.assert %{{.*}}, "{{.*}}operand 0 may be read outside its dim 0: its index d0 * 1099511627776 may have values of more than 64 bits"
// CHECK: cf.assert %{{.*}}, "{{.*}}operand 0 is read outside its dim 0"
// CHECK: linalg.generic
func.func @bits(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i * 1099511627776)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// Checks stay in the branch, or the loop, of their op.
// CHECK-LABEL: func @bodies
// CHECK: scf.if
// CHECK: cf.assert
// CHECK: linalg.generic
// CHECK: else
// CHECK: scf.for
// CHECK: cf.assert
// CHECK: linalg.generic
func.func @bodies(%x: tensor<?xf32>, %y: tensor<4xf32>, %c: i1, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.if %c -> tensor<4xf32> {
    %s = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i * 2)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%y : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  } else {
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %y) -> tensor<4xf32> {
      %u = linalg.generic {
        indexing_maps = [affine_map<(i) -> (i + 3)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]}
        ins(%x : tensor<?xf32>) outs(%t : tensor<4xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      } -> tensor<4xf32>
      scf.yield %u : tensor<4xf32>
    }
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A cascade reads its operands by maps, too.
// CHECK-LABEL: func @cascade
// CHECK: cf.assert %{{.*}}, "{{.*}}redfuse.cascade: operand 0 is read outside its dim 0"
// CHECK: redfuse.cascade
func.func @cascade(%x: tensor<?xf32>, %w: tensor<3xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = redfuse.cascade {indexing_maps = [
         affine_map<(i, j) -> (i * 2 + j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>]}
       ins(%x, %w : tensor<?xf32>, tensor<3xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %m over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
