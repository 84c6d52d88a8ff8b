// RUN: redfuse-opt %s -split-input-file -verify-diagnostics

func.func @nothing(%x: memref<9xf32>) {
  // expected-error @below {{selects nothing; expected destinations for values, for positions, or for both}}
  redfuse.select ins(%x : memref<9xf32>)
  return
}

// -----

func.func @rows(%x: memref<4x9xf32>, %v: memref<3x9xf32>) {
  // expected-error @below {{destination 0 has type 'memref<3x9xf32>'; expected the rows of 'memref<4x9xf32>'}}
  redfuse.select ins(%x : memref<4x9xf32>) values(%v : memref<3x9xf32>)
  return
}

// -----

func.func @results(%x: tensor<4x9xf32>, %v: tensor<4x9xf32>) {
  // expected-error @below {{expected no results on buffers, else one for each of the 1 destinations; got 0}}
  redfuse.select ins(%x : tensor<4x9xf32>) values(%v : tensor<4x9xf32>)
  return
}

// -----

func.func @type(%x: memref<4x9xf32>, %v: memref<4x9xf16>) {
  // expected-error @below {{values have another type than 'memref<4x9xf32>'}}
  redfuse.select ins(%x : memref<4x9xf32>) values(%v : memref<4x9xf16>)
  return
}

// -----

func.func @positions(%x: memref<4x9xf32>, %p: memref<4x9xf32>) {
  // expected-error @below {{positions are integers or of type index, got 'memref<4x9xf32>'}}
  redfuse.select ins(%x : memref<4x9xf32>) positions(%p : memref<4x9xf32>)
  return
}
