// RUN: redfuse-opt %s -redfuse-raise -split-input-file | FileCheck %s

// What cannot be raised stays, with an entry that says why.

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @last_index
// CHECK-SAME:  condition = "not raised", detail = "the index of an extremum takes the last among equals"
// CHECK-SAME:  location = "{{.*}}redfuse-raise-invalid.mlir:20:{{[0-9]+}}", op = "linalg.generic"
// CHECK-SAME:  remedy = "compare strictly
// CHECK:       linalg.generic
func.func @last_index(%a: tensor<5x3xf32>) -> tensor<5xi64> {
  %ninf = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<5xf32>
  %ei = tensor.empty() : tensor<5xi64>
  %low = linalg.fill ins(%ninf : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %i0 = linalg.fill ins(%c0 : i64) outs(%ei : tensor<5xi64>) -> tensor<5xi64>
  %r:2 = linalg.generic {indexing_maps = [#v, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x3xf32>) outs(%low, %i0 : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%x: f32, %out: f32, %at: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %m = arith.maximumf %x, %out : f32
    %c = arith.cmpf oge, %x, %out : f32
    %n = arith.select %c, %k, %at : i64
    linalg.yield %m, %n : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)
  return %r#1 : tensor<5xi64>
}

// -----

#v = affine_map<(i, j, k) -> (i, j, k)>
#r = affine_map<(i, j, k) -> (i)>
#at = affine_map<()[k, j] -> (j * 6 + k)>

// (0, 6) and (1, 0) have the same position.
// CHECK-LABEL: func.func @position_twice
// CHECK-SAME:  condition = "not raised", detail = "the index of an extremum is not known to grow
// CHECK:       linalg.generic
func.func @position_twice(%a: tensor<5x2x7xf32>) -> tensor<5xi64> {
  %ninf = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<5xf32>
  %ei = tensor.empty() : tensor<5xi64>
  %low = linalg.fill ins(%ninf : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %i0 = linalg.fill ins(%c0 : i64) outs(%ei : tensor<5xi64>) -> tensor<5xi64>
  %r:2 = linalg.generic {indexing_maps = [#v, #r, #r], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%a : tensor<5x2x7xf32>) outs(%low, %i0 : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%x: f32, %out: f32, %before: i64):
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %p = affine.apply #at()[%k, %j]
    %q = arith.index_cast %p : index to i64
    %m = arith.maximumf %x, %out : f32
    %c = arith.cmpf ogt, %x, %out : f32
    %n = arith.select %c, %q, %before : i64
    linalg.yield %m, %n : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)
  return %r#1 : tensor<5xi64>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @squares
// CHECK-SAME:  condition = "unknown combiner", detail = "result 0 is not
// CHECK:       linalg.generic
func.func @squares(%a: tensor<5x3xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.generic {indexing_maps = [#v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x3xf32>) outs(%b : tensor<5xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = arith.addf %out, %x : f32
    %h = arith.mulf %s, %s : f32
    linalg.yield %h : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A NaN resets this maximum: it is none of the reducers.
// CHECK-LABEL: func.func @unordered_select
// CHECK-SAME:  condition = "unknown combiner"
// CHECK:       linalg.generic
func.func @unordered_select(%a: tensor<5x3xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.generic {indexing_maps = [#v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x3xf32>) outs(%b : tensor<5xf32>) {
  ^bb0(%x: f32, %out: f32):
    %c = arith.cmpf ugt, %x, %out : f32
    %s = arith.select %c, %x, %out : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @last_writer
// CHECK-SAME:  detail = "result 0 does not accumulate over the reduction dims"
// CHECK:       linalg.generic
func.func @last_writer(%a: tensor<5x3xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.generic {indexing_maps = [#v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x3xf32>) outs(%b : tensor<5xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func.func @regions
// CHECK-SAME:  detail = "the body contains 'scf.if', which has regions"
// CHECK:       linalg.generic
func.func @regions(%a: tensor<5x3xf32>, %c: i1) -> tensor<5x3xf32> {
  %e = tensor.empty() : tensor<5x3xf32>
  %r = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<5x3xf32>) outs(%e : tensor<5x3xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = scf.if %c -> f32 {
      %t = arith.addf %x, %x : f32
      scf.yield %t : f32
    } else {
      scf.yield %x : f32
    }
    linalg.yield %s : f32
  } -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}

// -----

// CHECK-LABEL: func.func @named
// CHECK-SAME:  detail = "'linalg.matmul' is not a linalg.generic"
// CHECK-SAME:  remedy = "run redfuse-normalize first"
// CHECK:       linalg.matmul
func.func @named(%a: tensor<5x3xf32>, %b: tensor<3x4xf32>, %c: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<5x3xf32>, tensor<3x4xf32>) outs(%c : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// -----

// CHECK-LABEL: func.func @complex
// CHECK-SAME:  condition = "not raised", detail = "an operand holds complex<f32>"
// CHECK:       linalg.generic
func.func @complex(%a: tensor<5xcomplex<f32>>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<5xcomplex<f32>>) outs(%e : tensor<5xf32>) {
  ^bb0(%x: complex<f32>, %o: f32):
    %y = complex.re %x : complex<f32>
    linalg.yield %y : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

// CHECK-LABEL: func.func @assertions_alone
// CHECK-SAME:  condition = "not raised", detail = "the op has assertions and no result"
// CHECK:       linalg.generic
func.func @assertions_alone(%a: tensor<5xi64>) {
  %c9 = arith.constant 9 : i64
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<5xi64>) {
  ^bb0(%x: i64):
    %y = arith.cmpi slt, %x, %c9 : i64
    cf.assert %y, "too large"
    linalg.yield
  }
  return
}

// -----

// Behind an assertion that fails: linalg's verifier asks nothing where an extent is open.
// CHECK-LABEL: func.func @different_extents
// CHECK-SAME:  condition = "not raised", detail = "its operands have different extents in one dim"
// CHECK:       linalg.generic
func.func @different_extents(%a: tensor<?x2xf32>, %n: index) -> tensor<?x1xf32> {
  %e = tensor.empty(%n) : tensor<?x1xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x2xf32>) outs(%e : tensor<?x1xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<?x1xf32>
  return %r : tensor<?x1xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Of nothing but NaN, what starts from NaN is NaN; the identity of the reducer is -inf.
// CHECK-LABEL: func.func @may_start_from_nan
// CHECK-SAME:  condition = "not raised", detail = "an extremum that drops NaN starts from a value that may be NaN"
// CHECK:       linalg.generic
func.func @may_start_from_nan(%a: tensor<5x3xf32>, %start: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.generic {indexing_maps = [#v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x3xf32>) outs(%start : tensor<5xf32>) {
  ^bb0(%x: f32, %out: f32):
    %m = arith.maxnumf %x, %out : f32
    linalg.yield %m : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}
