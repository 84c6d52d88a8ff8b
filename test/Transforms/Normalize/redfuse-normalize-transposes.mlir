// RUN: redfuse-opt %s -redfuse-normalize-transposes | FileCheck %s
// RUN: redfuse-opt %s -redfuse-normalize-transposes -canonicalize | FileCheck %s --check-prefix=FOLDED

// The extent of the result is known, and that of the source is not: with the named
// ops the canonicalizer would assert.
// CHECK-LABEL: func @twice
// CHECK-NOT: linalg.transpose
// CHECK-COUNT-2: linalg.generic
// FOLDED-LABEL: func @twice
// FOLDED-COUNT-2: linalg.generic
func.func @twice(%x: tensor<?x3xf32>, %n: index) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %e = tensor.empty(%n) : tensor<3x?xf32>
  %0 = linalg.transpose ins(%x : tensor<?x3xf32>) outs(%e : tensor<3x?xf32>) permutation = [1, 0]
  %f = tensor.empty(%c0) : tensor<?x3xf32>
  %1 = linalg.transpose ins(%0 : tensor<3x?xf32>) outs(%f : tensor<?x3xf32>) permutation = [1, 0]
  return %1 : tensor<?x3xf32>
}

// The padding is not 1.
// CHECK-LABEL: func @padded
// CHECK: tensor.pad
// CHECK-NOT: linalg.pack
// FOLDED-LABEL: func @padded
// FOLDED: tensor.pad
func.func @padded(%p: index) -> tensor<1x3xindex> {
  %x = arith.constant dense<1> : tensor<2xindex>
  %e = tensor.empty() : tensor<1x3xindex>
  %0 = linalg.pack %x padding_value(%p : index) inner_dims_pos = [0] inner_tiles = [3] into %e
      : tensor<2xindex> -> tensor<1x3xindex>
  return %0 : tensor<1x3xindex>
}

// The canonicalizer will find that the source has 4 rows, of which 34 tiles of 3 are
// more than a pack may have.
// CHECK-LABEL: func @more_tiles
// CHECK: %[[P:.*]] = tensor.pad
// CHECK: linalg.pack %[[P]] inner_dims_pos = [0] inner_tiles = [3]
// FOLDED-LABEL: func @more_tiles
// FOLDED: tensor.pad %{{.*}} low[0] high[98]
// FOLDED: linalg.pack %{{.*}} : tensor<102xf32> -> tensor<34x3xf32>
func.func @more_tiles(%four: tensor<4xf32>, %v: f32) -> tensor<?x3xf32> {
  %count = arith.constant 34 : index
  %x = tensor.cast %four : tensor<4xf32> to tensor<?xf32>
  %e = tensor.empty(%count) : tensor<?x3xf32>
  %0 = linalg.pack %x padding_value(%v : f32) inner_dims_pos = [0] inner_tiles = [3] into %e
      : tensor<?xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// Nothing is packed into nothing, whatever makes it nothing.
// CHECK-LABEL: func.func @pack_nothing
// CHECK:         %[[E:.*]] = tensor.empty
// CHECK-NOT:     tensor.pad
// CHECK-NOT:     linalg.pack
// CHECK:         return %[[E]]
func.func @pack_nothing(%x: tensor<?xi8>, %v: i8) -> tensor<?x2xi8> {
  %zero = arith.constant 0 : index
  %e = tensor.empty(%zero) : tensor<?x2xi8>
  %p = linalg.pack %x padding_value(%v : i8) inner_dims_pos = [0] inner_tiles = [2] into %e : tensor<?xi8> -> tensor<?x2xi8>
  return %p : tensor<?x2xi8>
}
