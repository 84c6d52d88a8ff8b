// RUN: redfuse-opt %s -split-input-file -redfuse-check-source -verify-diagnostics

func.func @main(%x: f32) -> f32 {
  call @barrier() : () -> ()
  return %x : f32
}
func.func private @barrier() {
  // expected-error@below {{gpu.barrier cannot be compiled; expected linalg, tensor, arith, math, scf and cf; lower other operations to these first}}
  gpu.barrier
  return
}

// -----

// expected-error@below {{func.func has a value of type 'tensor<4xi65>': there is no code for 'i65'; expected integers of up to 64 bits, index, and floats of 16, 32 or 64 bits or fp8}}
func.func @wide(%x: tensor<4xi65>) -> index {
  %c = arith.constant 0 : index
  return %c : index
}

// -----

func.func @tf32(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{arith.truncf has a value of type 'tensor<4xtf32>': there is no code for 'tf32'}}
  %a = arith.truncf %x : tensor<4xf32> to tensor<4xtf32>
  %r = arith.extf %a : tensor<4xtf32> to tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @shapes(%x: tensor<4xf32>) -> index {
  // expected-error@below {{shape.shape_of has a value of type '!shape.shape', which has no form in memory}}
  %s = shape.shape_of %x : tensor<4xf32> -> !shape.shape
  %c = arith.constant 0 : index
  return %c : index
}

// -----

// expected-error@below {{func.func has a value of type 'tensor<4xcomplex<f128>>': there is no code for 'complex<f128>'}}
func.func @complex(%x: tensor<4xf32>, %e: tensor<4xcomplex<f128>>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
