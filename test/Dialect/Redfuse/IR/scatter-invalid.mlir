// RUN: redfuse-opt %s -split-input-file -verify-diagnostics

func.func @mixed(%u: memref<9x4xf32>, %p: tensor<9xi32>, %d: memref<5x4xf32>) {
  // expected-error @below {{expected tensors alone or buffers alone}}
  redfuse.scatter ins(%u, %p : memref<9x4xf32>, tensor<9xi32>) outs(%d : memref<5x4xf32>)
  return
}

// -----

func.func @rows(%u: memref<9x4xf32>, %p: memref<9xi32>, %d: memref<5x3xf32>) {
  // expected-error @below {{expected updates that are rows of the destination, got 'memref<9x4xf32>' and 'memref<5x3xf32>'}}
  redfuse.scatter ins(%u, %p : memref<9x4xf32>, memref<9xi32>) outs(%d : memref<5x3xf32>)
  return
}

// -----

func.func @places(%u: memref<9x4xf32>, %p: memref<8xi32>, %d: memref<5x4xf32>) {
  // expected-error @below {{expected an integer for each of 'memref<9x4xf32>', got 'memref<8xi32>'}}
  redfuse.scatter ins(%u, %p : memref<9x4xf32>, memref<8xi32>) outs(%d : memref<5x4xf32>)
  return
}

// -----

func.func @order(%u: memref<9x4xf32>, %p: memref<9xi32>, %d: memref<5x4xf32>) {
  // expected-error @below {{add of 'f32' depends on the order, or is no atomic; expected add, maxsi, minsi, maxui, minui, and, or of i32 or i64}}
  redfuse.scatter add ins(%u, %p : memref<9x4xf32>, memref<9xi32>) outs(%d : memref<5x4xf32>)
  return
}

// -----

func.func @result(%u: tensor<9x4xf32>, %p: tensor<9xi32>, %d: tensor<5x4xf32>) {
  // expected-error @below {{expected no result on buffers, else one}}
  redfuse.scatter ins(%u, %p : tensor<9x4xf32>, tensor<9xi32>) outs(%d : tensor<5x4xf32>)
  return
}
