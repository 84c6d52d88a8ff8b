// RUN: redfuse-opt %s -redfuse-expose-state -split-input-file -verify-diagnostics

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// The second reduction needs what the first one finished.
func.func @two_passes(%x: tensor<8x80xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x80xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    %l = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<8xf32>
  // expected-error @below {{needs the finished result of another one that was not fused with it}}
  %t = redfuse.cascade {indexing_maps = [#x, #r, #r]} ins(%x, %s : tensor<8x80xf32>, tensor<8xf32>)
      outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %m: f32):
    %d = arith.mulf %a, %m : f32
    %p = math.exp %d : f32
    %l = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<8xf32>
  return %t : tensor<8xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#r = affine_map<(i, j) -> (i)>

// Rows and columns of one argument.
func.func @both(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  // expected-error @below {{no state can be carried: an argument has the streamed dim in two roles}}
  %s = redfuse.cascade {indexing_maps = [#x, #t, #r]} ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>)
      outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %l = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A barrier of the algebra.
func.func @barrier(%x: tensor<8x80xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x80xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %q = arith.divf %a, %m : f32
    // expected-error @below {{no state can be carried: }}
    %n = math.roundeven %q : f32
    %l = redfuse.reduce add %n over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#w = affine_map<(i, j) -> (i + j)>
#r = affine_map<(i, j) -> (i)>

// A window.
func.func @window(%x: tensor<12xf32>, %k: tensor<5xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  // expected-error @below {{the streamed dim is read through an expression (a window, a stride or an offset)}}
  %s = redfuse.cascade {indexing_maps = [#w, affine_map<(i, j) -> (j)>, #r]}
      ins(%x, %k : tensor<12xf32>, tensor<5xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %l = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

// expected-error @below {{no state can be carried: no reduction runs over a dim of the arguments}}
func.func @none(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
