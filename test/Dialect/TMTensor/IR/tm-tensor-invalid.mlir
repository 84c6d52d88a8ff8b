// RUN: redfuse-opt %s -split-input-file -verify-diagnostics

func.func @dimension(%x: tensor<5xf32>) {
  // expected-error@+1 {{dimension 1 is out of range for a tensor of rank 1}}
  %s = tm_tensor.sort dimension(1) outs(%x : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<5xf32>
  return
}

// -----

func.func @shapes(%x: tensor<5xf32>, %y: tensor<6xf32>) {
  // expected-error@+1 {{outputs must have the same shape, got 'tensor<5xf32>' and 'tensor<6xf32>'}}
  %s:2 = tm_tensor.sort dimension(0) outs(%x, %y : tensor<5xf32>, tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %o = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<5xf32>, tensor<6xf32>
  return
}

// -----

func.func @region(%x: tensor<5xf32>) {
  // expected-error@+1 {{region must take arguments of the types ('f32', 'f32')}}
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<5xf32>) {
  ^bb0(%a: f32):
    %o = arith.cmpf ole, %a, %a : f32
    tm_tensor.yield %o : i1
  } -> tensor<5xf32>
  return
}

// -----

func.func @yields(%x: tensor<5xf32>) {
  // expected-error@+1 {{region must yield one 'i1'}}
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<5xf32>
  return
}

// -----

func.func @topk_shape(%x: tensor<4x5xf32>, %v: tensor<3x2xf32>, %i: tensor<3x2xi64>) {
  // expected-error@+1 {{outputs must have the shape of the inputs but for dimension 1}}
  %t:2 = tm_tensor.topk dimension(1) ins(%x : tensor<4x5xf32>) outs(%v, %i : tensor<3x2xf32>, tensor<3x2xi64>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<3x2xf32>, tensor<3x2xi64>
  return
}

// -----

func.func @topk_index(%x: tensor<5xf32>, %v: tensor<2xf32>, %i: tensor<2xf32>) {
  // expected-error@+1 {{indices must be integers, got 'tensor<2xf32>'}}
  %t:2 = tm_tensor.topk dimension(0) ins(%x : tensor<5xf32>) outs(%v, %i : tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @scan_last(%x: tensor<4x5xf32>, %l: tensor<5xf32>) {
  // expected-error@+1 {{output 1 must have the input's shape without dimension 1}}
  %t:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<4x5xf32>) outs(%x, %l : tensor<4x5xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.addf %a, %b : f32
    tm_tensor.yield %o : f32
  } -> tensor<4x5xf32>, tensor<5xf32>
  return
}

// -----

func.func @scatter_positions(%u: tensor<5x8xf32>, %i: tensor<5xi64>, %o: tensor<4x8xf32>) {
  // expected-error@+1 {{positions must be integers of rank 2 (updates x depth), got 'tensor<5xi64>'}}
  %s = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<5x8xf32>, tensor<5xi64>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_updates(%u: tensor<5x4x8x2xf32>, %i: tensor<5x1xi64>, %o: tensor<4x8xf32>) {
  // expected-error@+1 {{updates must have 1 to 3 dims for 'tensor<4x8xf32>', got 'tensor<5x4x8x2xf32>'}}
  %s = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<5x4x8x2xf32>, tensor<5x1xi64>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_count(%u: tensor<5x8xf32>, %i: tensor<6x1xi64>, %o: tensor<4x8xf32>) {
  // expected-error@+1 {{expected a position for each update, got 'tensor<6x1xi64>' for 'tensor<5x8xf32>'}}
  %s = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<5x8xf32>, tensor<6x1xi64>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_depth(%u: tensor<5x8xf32>, %i: tensor<5x2xi64>, %o: tensor<4x8xf32>) {
  // expected-error@+1 {{dimension_map must name 2 dims, one for each number of a position, got 1}}
  %s = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<5x8xf32>, tensor<5x2xi64>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_dims(%u: tensor<5x8xf32>, %i: tensor<5x2xi64>, %o: tensor<4x8xf32>) {
  // expected-error@+1 {{dimension_map must name different dims of 'tensor<4x8xf32>', got 0}}
  %s = tm_tensor.scatter {dimension_map = array<i64: 0, 0>} unique_indices(true) ins(%u, %i : tensor<5x8xf32>, tensor<5x2xi64>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_no_index(%u: tensor<5x8xf32>, %i: tensor<5x1xi64>, %o: tensor<4x8xf32>) {
  // expected-error@+1 {{dim 0 of the output is in no slice and not in dimension_map}}
  %s = tm_tensor.scatter {dimension_map = array<i64: 1>} unique_indices(true) ins(%u, %i : tensor<5x8xf32>, tensor<5x1xi64>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_fit(%u: tensor<5x9xf32>, %i: tensor<5x1xi64>, %o: tensor<4x8xf32>) {
  // expected-error@+1 {{slices of 'tensor<5x9xf32>' do not fit into dim 1 of 'tensor<4x8xf32>'}}
  %s = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<5x9xf32>, tensor<5x1xi64>) outs(%o : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    tm_tensor.yield %a : f32
  } -> tensor<4x8xf32>
  return
}

// -----

func.func @attention_inputs(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %o: tensor<2x5x6xf32>) {
  // expected-error@+1 {{expected three or four inputs (rows, keys, values, mask) and one output, got 2 and 1}}
  %r = tm_tensor.attention ins(%q, %k : tensor<2x5x8xf32>, tensor<2x7x8xf32>) outs(%o : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return
}

// -----

func.func @attention_rank(%q: tensor<2x5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<2x7x6xf32>, %o: tensor<2x5x6xf32>) {
  // expected-error@+1 {{must be floats of one rank of at least 2, got 'tensor<7x8xf32>'}}
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<2x5x8xf32>, tensor<7x8xf32>, tensor<2x7x6xf32>) outs(%o : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return
}

// -----

func.func @attention_keys(%q: tensor<2x5x8xf32>, %k: tensor<2x7x9xf32>, %v: tensor<2x7x6xf32>, %o: tensor<2x5x6xf32>) {
  // expected-error@+1 {{keys must have the rows' batch and width, got 'tensor<2x7x9xf32>'}}
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<2x5x8xf32>, tensor<2x7x9xf32>, tensor<2x7x6xf32>) outs(%o : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return
}

// -----

func.func @attention_values(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x8x6xf32>, %o: tensor<2x5x6xf32>) {
  // expected-error@+1 {{expected a value for each key, got 'tensor<2x8x6xf32>'}}
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<2x5x8xf32>, tensor<2x7x8xf32>, tensor<2x8x6xf32>) outs(%o : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return
}

// -----

func.func @attention_output(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x7x6xf32>, %o: tensor<2x5x8xf32>) {
  // expected-error@+1 {{the output must have the rows' shape and the values' width, got 'tensor<2x5x8xf32>'}}
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<2x5x8xf32>, tensor<2x7x8xf32>, tensor<2x7x6xf32>) outs(%o : tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return
}

// -----

func.func @attention_mask(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x7x6xf32>, %m: tensor<2x5x7xi64>, %o: tensor<2x5x6xf32>) {
  // expected-error@+1 {{the mask must hold a float or i1 for each row and key, got 'tensor<2x5x7xi64>'}}
  %r = tm_tensor.attention ins(%q, %k, %v, %m : tensor<2x5x8xf32>, tensor<2x7x8xf32>, tensor<2x7x6xf32>, tensor<2x5x7xi64>) outs(%o : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return
}
