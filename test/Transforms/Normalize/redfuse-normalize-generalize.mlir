// RUN: redfuse-opt %s -redfuse-normalize-generalize | FileCheck %s

// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0, d1) -> (d0, d1 mod 37)>
// CHECK-DAG: #[[NEXT:.*]] = affine_map<(d0, d1) -> (d0, (d1 + 3) mod 8)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1) -> (d0, 0)>

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
// The maximum starts from the least number, not from NaN.
// CHECK: %[[LEAST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: linalg.fill ins(%[[LEAST]]
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

// A concatenation selects by the position; each part is read within its bounds.
// CHECK-LABEL: func.func @concat
// CHECK-NOT: tensor.concat
// CHECK: linalg.generic {indexing_maps = [#[[FIRST]], #[[NEXT]], #[[LAST]], #{{.*}}]
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: %[[L:.*]] = arith.cmpi slt, %[[J]], %c45
// CHECK: %[[S:.*]] = arith.select %[[L]], %in_{{.*}}, %in_
// CHECK: %[[F:.*]] = arith.cmpi slt, %[[J]], %c37
// CHECK: arith.select %[[F]], %in, %[[S]]
func.func @concat(%a: tensor<?x37xf32>, %b: tensor<?x8xf32>, %c: tensor<?x1xf32>) -> tensor<?x46xf32> {
  %r = tensor.concat dim(1) %a, %b, %c : (tensor<?x37xf32>, tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x46xf32>
  return %r : tensor<?x46xf32>
}

// The same, written as insertions that fill an empty tensor.
// CHECK-LABEL: func.func @insertions
// CHECK-NOT: tensor.insert_slice
// CHECK: linalg.generic
// CHECK: arith.select
func.func @insertions(%a: tensor<3x5xf32>, %b: tensor<3x2xf32>) -> tensor<3x7xf32> {
  %e = tensor.empty() : tensor<3x7xf32>
  %0 = tensor.insert_slice %b into %e[0, 5] [3, 2] [1, 1] : tensor<3x2xf32> into tensor<3x7xf32>
  %1 = tensor.insert_slice %a into %0[0, 0] [3, 5] [1, 1] : tensor<3x5xf32> into tensor<3x7xf32>
  return %1 : tensor<3x7xf32>
}

// A gap keeps what was there; parts of unknown extents are copied.
// CHECK-LABEL: func.func @left_alone
// CHECK: tensor.insert_slice
// CHECK: tensor.concat
func.func @left_alone(%a: tensor<3x5xf32>, %b: tensor<3x?xf32>, %e: tensor<3x7xf32>) -> (tensor<3x7xf32>, tensor<3x?xf32>) {
  %1 = tensor.insert_slice %a into %e[0, 0] [3, 5] [1, 1] : tensor<3x5xf32> into tensor<3x7xf32>
  %2 = tensor.concat dim(1) %a, %b : (tensor<3x5xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>
  return %1, %2 : tensor<3x7xf32>, tensor<3x?xf32>
}

// CHECK-LABEL: func @gather
// CHECK: linalg.generic {{.*}} ins(%arg1 : tensor<3x1xi32>)
// CHECK: %[[AT:.*]] = arith.index_cast
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]]
// CHECK: cf.assert %[[INSIDE]]
// CHECK: tensor.extract %arg0[%[[AT]], %{{.*}}]
func.func @gather(%x: tensor<6x7xf32>, %i: tensor<3x1xi32>) -> tensor<3x7xf32> {
  %r = tensor.gather %x[%i] gather_dims([0]) : (tensor<6x7xf32>, tensor<3x1xi32>) -> tensor<3x7xf32>
  return %r : tensor<3x7xf32>
}

// CHECK-LABEL: func @pack
// CHECK-NOT: linalg.pack
// CHECK: tensor.pad
// CHECK: tensor.expand_shape
// CHECK-NOT: linalg.unpack
// CHECK: tensor.collapse_shape
// CHECK: tensor.extract_slice
func.func @pack(%x: tensor<7x9xf32>) -> tensor<7x9xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x4x4xf32>
  %p = linalg.pack %x padding_value(%zero : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %e : tensor<7x9xf32> -> tensor<2x3x4x4xf32>
  %f = tensor.empty() : tensor<7x9xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %f : tensor<2x3x4x4xf32> -> tensor<7x9xf32>
  return %u : tensor<7x9xf32>
}

// A table that may change stays.
// CHECK-LABEL: func @tables
// CHECK: arith.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: ml_program.global_load @changes
ml_program.global private @table(dense<[1.0, 2.0]> : tensor<2xf32>) : tensor<2xf32>
ml_program.global private mutable @changes(dense<[1.0, 2.0]> : tensor<2xf32>) : tensor<2xf32>
func.func @tables() -> (tensor<2xf32>, tensor<2xf32>) {
  %a = ml_program.global_load_const @table : tensor<2xf32>
  %b = ml_program.global_load @changes : tensor<2xf32>
  return %a, %b : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func @extent_in_a_body
// CHECK: %[[EXTENT:.*]] = tensor.dim %arg0
// CHECK: linalg.generic
// CHECK: arith.index_cast %[[EXTENT]]
func.func @extent_in_a_body(%x: tensor<?xf32>, %y: tensor<3xi64>) -> tensor<3xi64> {
  %c0 = arith.constant 0 : index
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%y : tensor<3xi64>) {
  ^bb0(%o: i64):
    %n = tensor.dim %x, %c0 : tensor<?xf32>
    %m = arith.index_cast %n : index to i64
    %s = arith.addi %m, %o : i64
    linalg.yield %s : i64
  } -> tensor<3xi64>
  return %r : tensor<3xi64>
}

// The weighted sums of torch-mlir: a product in f32, scaled and masked, a softmax, weights in the type
// of the values, and a product. Extents that the types leave open are compared.
// CHECK-LABEL: func.func @weighted_sum
// CHECK-NOT: tm_tensor
// CHECK-COUNT-2: cf.assert {{.*}}"the extents of rows, keys, values and mask differ"
// CHECK: iterator_types = ["parallel", "parallel", "parallel", "reduction"]{{.*}}tensor<3x?x16xbf16>, tensor<3x7x16xbf16>
// CHECK: arith.mulf %{{.*}}, %[[SCALE:.*]] : f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: math.exp
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK: iterator_types = ["parallel", "parallel", "parallel", "reduction"]{{.*}}tensor<3x?x7xbf16>, tensor<3x7x5xbf16>
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @weighted_sum(%q: tensor<3x?x16xbf16>, %k: tensor<3x7x16xbf16>, %v: tensor<3x7x5xbf16>, %m: tensor<?x?x7xi1>, %o: tensor<3x?x5xbf16>) -> tensor<3x?x5xbf16> {
  %r = tm_tensor.attention ins(%q, %k, %v, %m : tensor<3x?x16xbf16>, tensor<3x7x16xbf16>, tensor<3x7x5xbf16>, tensor<?x?x7xi1>) outs(%o : tensor<3x?x5xbf16>) -> tensor<3x?x5xbf16>
  return %r : tensor<3x?x5xbf16>
}

// A stack: parts joined and cut into the parts again are chosen by a dim of their own.
// CHECK-LABEL: func.func @stack
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]{{\]}} output_shape [3, 1, 5]
// CHECK: linalg.generic {{.*}}tensor<3x1x5xf32>, tensor<3x1x5xf32>) outs(%{{.*}} : tensor<3x2x5xf32>)
// CHECK: linalg.index 1
func.func @stack(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>) -> tensor<3x2x5xf32> {
  %c = tensor.concat dim(1) %a, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x10xf32>
  %e = tensor.expand_shape %c [[0], [1, 2]] output_shape [3, 2, 5] : tensor<3x10xf32> into tensor<3x2x5xf32>
  return %e : tensor<3x2x5xf32>
}

// -----

// Along a dim of one element there is no step.
// CHECK-LABEL: func @unit_strides
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [1, 2] [1, 2]
func.func @unit_strides(%x: tensor<2x4xf32>) -> tensor<2xf32> {
  %s = tensor.extract_slice %x[0, 0] [1, 2] [2, 2] : tensor<2x4xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

// What is not chosen may be of another extent. By element, or of one shape, it is arithmetic.
// CHECK-LABEL: func @chosen
// CHECK-SAME: %[[C:[^:]*]]: i1, %[[CS:[^:]*]]: tensor<?xi1>, %[[X:[^:]*]]: tensor<?xf32>, %[[Y:[^:]*]]: tensor<?xf32>
// CHECK: scf.if %[[C]] -> (tensor<?xf32>) {
// CHECK-NEXT: scf.yield %[[X]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[Y]]
// CHECK-COUNT-2: linalg.generic
func.func @chosen(%c: i1, %cs: tensor<?xi1>, %x: tensor<?xf32>, %y: tensor<?xf32>, %a: tensor<3xf32>,
                  %b: tensor<3xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<3xf32>) {
  %0 = arith.select %c, %x, %y : tensor<?xf32>
  %1 = arith.select %cs, %x, %y : tensor<?xi1>, tensor<?xf32>
  %2 = arith.select %c, %a, %b : tensor<3xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<3xf32>
}

// -----

// Classes of floats are ranges of magnitudes, in the type that is asked about.
// CHECK-LABEL: func @classes
// CHECK-DAG: %[[LEAST:.*]] = arith.constant 6.103520e-05 : f16
// CHECK-DAG: %[[INF:.*]] = arith.constant 0x7C00 : f16
// CHECK: %[[SIZE:.*]] = math.absf %{{.*}} : f16
// CHECK: arith.cmpf oeq, %[[SIZE]], %[[INF]] : f16
// CHECK: %[[OTHER:.*]] = math.absf %{{.*}} : f16
// CHECK-DAG: arith.cmpf oge, %[[OTHER]], %[[LEAST]] : f16
// CHECK-DAG: arith.cmpf olt, %[[OTHER]], %[[INF]] : f16
// CHECK: arith.andi
#id = affine_map<(d0) -> (d0)>
func.func @classes(%x: tensor<5xf16>) -> (tensor<5xi1>, tensor<5xi1>) {
  %e = tensor.empty() : tensor<5xi1>
  %i, %n = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<5xf16>) outs(%e, %e : tensor<5xi1>, tensor<5xi1>) {
  ^bb0(%a: f16, %o: i1, %p: i1):
    %infinite = math.isinf %a : f16
    %normal = math.isnormal %a : f16
    linalg.yield %infinite, %normal : i1, i1
  } -> (tensor<5xi1>, tensor<5xi1>)
  return %i, %n : tensor<5xi1>, tensor<5xi1>
}

// -----

// There is no infinity among these.
// CHECK-LABEL: func @no_infinity
// CHECK-DAG: arith.constant false
// CHECK-NOT: math.isinf
func.func @no_infinity(%x: f8E4M3FN) -> i1 {
  %i = math.isinf %x : f8E4M3FN
  return %i : i1
}

// What is declared of a named op's body stays.
// CHECK-LABEL: func.func @declared
// CHECK: linalg.generic
// CHECK-SAME: redfuse.combiner = {identity = [0.000000e+00 : f32]}
func.func @declared(%x: tensor<8x5xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.reduce ins(%x : tensor<8x5xf32>) outs(%o : tensor<8xf32>) dimensions = [1] {redfuse.combiner = {identity = [0.0 : f32]}}
    (%a: f32, %b: f32) {
      %m = arith.maximumf %a, %b : f32
      linalg.yield %m : f32
    }
  return %r : tensor<8xf32>
}
