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
