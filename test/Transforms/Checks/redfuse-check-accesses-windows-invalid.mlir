// RUN: redfuse-opt %s -split-input-file -redfuse-check-accesses -verify-diagnostics

// MLIR's verifier looks at the first and the last point alone.
func.func @flip(%x: tensor<5xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@below {{linalg.generic: operand 0 is read outside its dim 0: at index -2, expected indices below 5 and not below 0}}
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i - j + 1)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<5xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// Some points are enough.
func.func @remainders(%x: tensor<8xf32>, %y: tensor<1000003x1000xf32>) -> tensor<1000003x1000xf32> {
  // expected-error@below {{linalg.generic: operand 0 is read outside its dim 0: at index 8, expected indices below 8 and not below 0}}
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i * 2) mod 8 + j mod 3)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8xf32>) outs(%y : tensor<1000003x1000xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<1000003x1000xf32>
  return %r : tensor<1000003x1000xf32>
}

// -----

func.func @difference(%x: tensor<10xf32>, %y: tensor<123456x1000xf32>) -> tensor<123456x1000xf32> {
  // expected-error@below {{linalg.generic: operand 0 is read outside its dim 0: at index -1, expected}}
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i mod 7 - j mod 5 + 3)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<10xf32>) outs(%y : tensor<123456x1000xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<123456x1000xf32>
  return %r : tensor<123456x1000xf32>
}

// -----

func.func @quotients(%x: tensor<5xf32>, %y: tensor<6x9xf32>) -> tensor<6x9xf32> {
  // expected-error@below {{linalg.generic: operand 0 is read outside its dim 0: at index -2, expected}}
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i floordiv 2 - j ceildiv 3 + 1)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<5xf32>) outs(%y : tensor<6x9xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<6x9xf32>
  return %r : tensor<6x9xf32>
}

// -----

// Or too many would be needed.
func.func @many_points(%x: tensor<4000000xf32>, %y: tensor<5000000x4xf32>) -> tensor<5000000x4xf32> {
  // expected-error@below {{linalg.generic: operand 0 may be read outside its dim 0: its index (d0 * 3 + d1 * 5) mod 4000037 lies between 0 and 4000036, and which of these occur takes too many points to find out: expected none but 0 to 3999999. An index by smaller divisors would do, or a tensor.pad before the operation, after which all of them are inside}}
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> ((i * 3 + j * 5) mod 4000037)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4000000xf32>) outs(%y : tensor<5000000x4xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<5000000x4xf32>
  return %r : tensor<5000000x4xf32>
}

// -----

func.func @bits(%x: tensor<1152921504606846976xf32>, %y: tensor<1073741824x1073741824xf32>) -> tensor<1073741824x1073741824xf32> {
  // expected-error@below {{linalg.generic: operand 0 may be read outside its dim 0: its index d0 * 1099511627776 - d1 * 1099511627776 has values of more than 64 bits}}
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i * 1099511627776 - j * 1099511627776)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<1152921504606846976xf32>) outs(%y : tensor<1073741824x1073741824xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<1073741824x1073741824xf32>
  return %r : tensor<1073741824x1073741824xf32>
}

// -----

// Neither has a value that MLIR says.
func.func @divisor(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@below {{linalg.generic: operand 0 may be read outside its dim 0: its index d0 floordiv -2 is not known: expected sums, products, and quotients and remainders by positive constants, of dims that operands have}}
  %r = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i floordiv -2)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

func.func @remainder_by_zero(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@below {{linalg.generic: operand 0 may be read outside its dim 0: its index d0 mod 0 is not known}}
  %r = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i mod 0)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}
    ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// A body that may never be executed is no exception.
func.func @branch(%x: tensor<5xf32>, %y: tensor<4x4xf32>, %c: i1) -> tensor<4x4xf32> {
  %r = scf.if %c -> tensor<4x4xf32> {
    // expected-error@below {{linalg.generic: operand 0 is read outside its dim 0: at index -2}}
    %s = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i - j + 1)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<5xf32>) outs(%y : tensor<4x4xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<4x4xf32>
    scf.yield %s : tensor<4x4xf32>
  } else {
    scf.yield %y : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
