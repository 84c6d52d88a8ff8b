// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-kernel-to-gpu -verify-diagnostics -split-input-file

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#r = affine_map<(i, j, k) -> (i)>

func.func @another(%a: memref<64x80xf32>, %b: memref<80x44xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run as 'redfuse.contraction' says: it is not one sum of products and what is computed of it element by element}}
  redfuse.launch @another_0 ins(%a, %b : memref<64x80xf32>, memref<80x44xf32>) outs(%out : memref<64xf32>)
      {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 1], instructions = [2, 4], slabs = 1, stages = 2, splits = 1>}
  return
}
redfuse.kernel @another_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [4, 0, 0]>} {
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

#x = affine_map<(i) -> (i)>

func.func @word(%a: memref<64xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run as 'redfuse.contraction' says: expected a #redfuse.contraction_plan}}
  redfuse.launch @word_0 ins(%a : memref<64xf32>) outs(%out : memref<64xf32>) {redfuse.contraction = "large"}
  return
}
redfuse.kernel @word_0 attributes {num_inputs = 1 : i64} {
^bb0(%a: tensor<64xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%a : tensor<64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %y = math.exp %e : f32
    redfuse.yield %y : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

// expected-error @below {{'warps' has 3; expected a power of 2 up to 8}}
#plan = #redfuse.contraction_plan<mma_sync, warps = [3, 1], instructions = [2, 4], slabs = 1, stages = 2, splits = 1>

// -----

// expected-error @below {{a warpgroup is four warps along rows, with one instruction each, and reads two slabs}}
#plan = #redfuse.contraction_plan<wgmma, warps = [2, 1], instructions = [1, 8], slabs = 2, stages = 4, splits = 1>

// -----

// expected-error @below {{'boxes' are for units of warpgroups ('wgmma')}}
#plan = #redfuse.contraction_plan<mma_sync, warps = [2, 1], instructions = [1, 8], slabs = 2, stages = 4, splits = 1, boxes = true>

// -----

// expected-error @below {{the sum of a tile is shared by warps of 'mma_sync' or by blocks, and each warp adds two slabs of a stage or more}}
#plan = #redfuse.contraction_plan<mma_sync, warps = [2, 1, 4], instructions = [1, 8], slabs = 4, stages = 2, splits = 1>

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

func.func @older(%a: memref<64x80xf32>, %b: memref<80x44xf32>, %out: memref<64x44xf32>) {
  // expected-error @below {{cannot run as 'redfuse.contraction' says: the target has no units of warpgroups}}
  redfuse.launch @older_0 ins(%a, %b : memref<64x80xf32>, memref<80x44xf32>) outs(%out : memref<64x44xf32>)
      {redfuse.contraction = #redfuse.contraction_plan<wgmma, warps = [4, 1], instructions = [1, 8], slabs = 2, stages = 4, splits = 1>}
  // expected-error @below {{cannot run as 'redfuse.contraction' says: its operands are not what is in memory, so that there are two stages}}
  redfuse.launch @older_0 ins(%a, %b : memref<64x80xf32>, memref<80x44xf32>) outs(%out : memref<64x44xf32>)
      {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [2, 2], instructions = [2, 4], slabs = 2, stages = 4, splits = 1>}
  // expected-error @below {{cannot run as 'redfuse.contraction' says: a warp's tile is at most 64 x 32, or 32 x 64}}
  redfuse.launch @older_0 ins(%a, %b : memref<64x80xf32>, memref<80x44xf32>) outs(%out : memref<64x44xf32>)
      {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 1], instructions = [4, 8], slabs = 2, stages = 2, splits = 1>}
  // expected-error @below {{cannot run as 'redfuse.contraction' says: warps share the sum of a tile where they compute an operand that they alone read}}
  redfuse.launch @older_0 ins(%a, %b : memref<64x80xf32>, memref<80x44xf32>) outs(%out : memref<64x44xf32>)
      {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 1, 2], instructions = [2, 4], slabs = 4, stages = 2, splits = 1>}
  return
}
redfuse.kernel @older_0 attributes {num_inputs = 2 : i64} {
^bb0(%a: tensor<64x80xf32>, %b: tensor<80x44xf32>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xf32>, tensor<80x44xf32>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}
