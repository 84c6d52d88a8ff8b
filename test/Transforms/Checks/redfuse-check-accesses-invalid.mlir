// RUN: redfuse-opt %s -split-input-file -redfuse-check-accesses -verify-diagnostics

func.func @memory(%x: tensor<4xf32>, %i: index) -> f32 {
  // expected-error@below {{accesses to 'memref<4xf32>' cannot be checked; expected operations on tensors of known ranks}}
  %m = memref.alloc() : memref<4xf32>
  %v = memref.load %m[%i] : memref<4xf32>
  return %v : f32
}

// -----

func.func @ranks(%x: tensor<4xf32>) -> tensor<?x?xf32> {
  // expected-error@below {{accesses to 'tensor<*xf32>' cannot be checked}}
  %y = tensor.cast %x : tensor<4xf32> to tensor<*xf32>
  %z = tensor.cast %y : tensor<*xf32> to tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// -----

func.func @vectors(%x: tensor<?xf32>, %i: index, %z: f32) -> vector<4xf32> {
  // expected-error@below {{accesses to 'tensor<?xf32>' cannot be checked}}
  %v = vector.transfer_read %x[%i], %z {in_bounds = [true]} : tensor<?xf32>, vector<4xf32>
  return %v : vector<4xf32>
}

// -----

// expected-error@below {{has a value of type 'tensor<4294967296x4294967296xf32>', which is larger than any memory; expected fewer than 2^63 bytes}}
func.func @larger_than_memory(%x: tensor<4294967296x4294967296xf32>) -> index {
  %c0 = arith.constant 0 : index
  return %c0 : index
}

// -----

func.func @calls(%x: f32) -> f32 {
  // expected-error@below {{calls calls @outside, which cannot be inlined (recursive, or without a body); expected a program that is complete in itself}}
  %y = call @outside(%x) : (f32) -> f32
  return %y : f32
}
func.func private @outside(f32) -> f32
