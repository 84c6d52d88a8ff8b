// RUN: redfuse-opt %s -split-input-file -verify-diagnostics -redfuse-widen-floats

func.func @bits(%x: f32) -> i32 {
  // expected-error@+1 {{arith.bitcast reads the bits of a float, so there is no fp64 form of this program}}
  %b = arith.bitcast %x : f32 to i32
  return %b : i32
}

// -----

// expected-error@+1 {{a constant of 'tensor<2xf32>' that func.func holds has no fp64 form here; expected an arith.constant}}
func.func @stored() attributes {values = dense<[1.0, 2.0]> : tensor<2xf32>} {
  return
}
