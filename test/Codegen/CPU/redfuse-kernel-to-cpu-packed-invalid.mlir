// RUN: redfuse-opt %s -redfuse-kernel-to-cpu -verify-diagnostics -split-input-file

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#r = affine_map<(i, j, k) -> (i)>
func.func @another(%a: memref<64x80xf32>, %b: memref<80x44xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run as 'redfuse.packing' says: it is not one sum of products and what is computed of it element by element}}
  redfuse.launch @another_0 ins(%a, %b : memref<64x80xf32>, memref<80x44xf32>) outs(%out : memref<64xf32>)
      {redfuse.packing = #redfuse.packing_plan<tiles = [8, 0, 0], registers = [4, 2]>}
  return
}
redfuse.kernel @another_0 attributes {num_inputs = 2 : i64} {
^bb0(%a: tensor<64x80xf32>, %b: tensor<80x44xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #r]} ins(%a, %b : tensor<64x80xf32>, tensor<80x44xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %m = redfuse.reduce maximumf %s over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#a = affine_map<(i, j, k, l) -> (i, k, l)>
#b = affine_map<(i, j, k, l) -> (k, l, j)>
#o = affine_map<(i, j, k, l) -> (i, j)>
func.func @cuts(%a: memref<64x8x10xf32>, %b: memref<8x10x44xf32>, %out: memref<64x44xf32>) {
  // expected-error @below {{cannot run as 'redfuse.packing' says: dim 2 is cut although a dim inside of it is: its tile is to be 1}}
  redfuse.launch @cuts_0 ins(%a, %b : memref<64x8x10xf32>, memref<8x10x44xf32>) outs(%out : memref<64x44xf32>)
      {redfuse.packing = #redfuse.packing_plan<tiles = [8, 0, 4, 5], registers = [4, 2]>}
  // expected-error @below {{cannot run as 'redfuse.packing' says: 'tiles' has 3 numbers; expected one for each of 4 dims}}
  redfuse.launch @cuts_0 ins(%a, %b : memref<64x8x10xf32>, memref<8x10x44xf32>) outs(%out : memref<64x44xf32>)
      {redfuse.packing = #redfuse.packing_plan<tiles = [8, 0, 4], registers = [4, 2]>}
  // expected-error @below {{cannot run as 'redfuse.packing' says: expected a #redfuse.packing_plan}}
  redfuse.launch @cuts_0 ins(%a, %b : memref<64x8x10xf32>, memref<8x10x44xf32>) outs(%out : memref<64x44xf32>)
      {redfuse.packing = "all"}
  // expected-error @below {{cannot run as 'redfuse.packing' says: its operands do not lie as a microkernel 'inner' reads them}}
  redfuse.launch @cuts_0 ins(%a, %b : memref<64x8x10xf32>, memref<8x10x44xf32>) outs(%out : memref<64x44xf32>)
      {redfuse.packing = #redfuse.packing_plan<tiles = [8, 0, 0, 0], registers = [4, 2], microkernel = inner>}
  return
}
redfuse.kernel @cuts_0 attributes {num_inputs = 2 : i64} {
^bb0(%a: tensor<64x8x10xf32>, %b: tensor<8x10x44xf32>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x8x10xf32>, tensor<8x10x44xf32>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2, 3] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}

// -----

// expected-error @below {{'registers' has 0; expected 1 to 32}}
#plan = #redfuse.packing_plan<tiles = [8, 0, 4], registers = [0, 2]>
