// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-normalize-sorts > %t.after
// RUN: diff %t.before %t.after

// The first three elements are read, and so are all.
func.func @whole(%x: tensor<9xf32>) -> (tensor<3xf32>, tensor<9xf32>) {
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>
  %r = tensor.extract_slice %s[0] [3] [1] : tensor<9xf32> to tensor<3xf32>
  return %r, %s : tensor<3xf32>, tensor<9xf32>
}

// Three of the values and two of what is sorted along are read: a top-k has one k.
func.func @lengths(%x: tensor<9xf32>, %i: tensor<9xi64>) -> (tensor<3xf32>, tensor<2xi64>) {
  %s:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<9xf32>, tensor<9xi64>) {
  ^bb0(%a: f32, %b: f32, %p: i64, %q: i64):
    %o = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>, tensor<9xi64>
  %v = tensor.extract_slice %s#0[0] [3] [1] : tensor<9xf32> to tensor<3xf32>
  %w = tensor.extract_slice %s#1[0] [2] [1] : tensor<9xi64> to tensor<2xi64>
  return %v, %w : tensor<3xf32>, tensor<2xi64>
}

// What is sorted along are no integers, which the second result of a top-k has.
func.func @along(%x: tensor<9xf32>, %y: tensor<9xf16>) -> tensor<3xf16> {
  %s:2 = tm_tensor.sort dimension(0) outs(%x, %y : tensor<9xf32>, tensor<9xf16>) {
  ^bb0(%a: f32, %b: f32, %p: f16, %q: f16):
    %o = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>, tensor<9xf16>
  %r = tensor.extract_slice %s#1[0] [3] [1] : tensor<9xf16> to tensor<3xf16>
  return %r : tensor<3xf16>
}

// The slice takes some rows only: a top-k has all.
func.func @rows(%x: tensor<4x9xf32>) -> tensor<2x3xf32> {
  %s = tm_tensor.sort dimension(1) outs(%x : tensor<4x9xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<4x9xf32>
  %r = tensor.extract_slice %s[0, 0] [2, 3] [1, 1] : tensor<4x9xf32> to tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
