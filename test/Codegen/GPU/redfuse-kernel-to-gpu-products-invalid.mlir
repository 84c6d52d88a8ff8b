// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file -verify-diagnostics

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
func.func @f(%a: memref<64x80xbf16>, %b: memref<80x44xbf16>, %out: memref<64x44xf32>) {
  // expected-error @below {{cannot have the tiles of 'redfuse.product_tiles': expected array<i64: ...>}}
  redfuse.launch @k ins(%a, %b : memref<64x80xbf16>, memref<80x44xbf16>) outs(%out : memref<64x44xf32>) {redfuse.product_tiles = "16, 16"}
  return
}
redfuse.kernel @k attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xbf16>, %b: tensor<80x44xbf16>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xbf16>, tensor<80x44xbf16>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
func.func @f(%a: memref<64x80xbf16>, %b: memref<80x44xbf16>, %out: memref<64x44xf32>) {
  // expected-error @below {{cannot have the tiles of 'redfuse.product_tiles': expected 3 of them, got 2}}
  redfuse.launch @k ins(%a, %b : memref<64x80xbf16>, memref<80x44xbf16>) outs(%out : memref<64x44xf32>) {redfuse.product_tiles = array<i64: 16, 16>}
  return
}
redfuse.kernel @k attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xbf16>, %b: tensor<80x44xbf16>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xbf16>, tensor<80x44xbf16>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
func.func @f(%a: memref<64x80xbf16>, %b: memref<80x44xbf16>, %out: memref<64x44xf32>) {
  // expected-error @below {{cannot have the tiles of 'redfuse.product_tiles': dim 2 is not one of the grid's, and has 0, not 4}}
  redfuse.launch @k ins(%a, %b : memref<64x80xbf16>, memref<80x44xbf16>) outs(%out : memref<64x44xf32>) {redfuse.product_tiles = array<i64: 16, 16, 4>}
  return
}
redfuse.kernel @k attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xbf16>, %b: tensor<80x44xbf16>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xbf16>, tensor<80x44xbf16>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
func.func @f(%a: memref<64x80xbf16>, %b: memref<80x44xbf16>, %out: memref<64x44xf32>) {
  // expected-error @below {{cannot have the tiles of 'redfuse.product_tiles': dim 0 may have 1 to 2048, not 0}}
  redfuse.launch @k ins(%a, %b : memref<64x80xbf16>, memref<80x44xbf16>) outs(%out : memref<64x44xf32>) {redfuse.product_tiles = array<i64: 0, 16, 0>}
  return
}
redfuse.kernel @k attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xbf16>, %b: tensor<80x44xbf16>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xbf16>, tensor<80x44xbf16>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
func.func @f(%a: memref<64x80xbf16>, %b: memref<80x44xbf16>, %out: memref<64x44xf32>) {
  // expected-error @below {{cannot have the tiles of 'redfuse.product_tiles': dim 1 may have 1 to 2048, not 1099511627776}}
  redfuse.launch @k ins(%a, %b : memref<64x80xbf16>, memref<80x44xbf16>) outs(%out : memref<64x44xf32>) {redfuse.product_tiles = array<i64: 16, 1099511627776, 0>}
  return
}
redfuse.kernel @k attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xbf16>, %b: tensor<80x44xbf16>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xbf16>, tensor<80x44xbf16>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}
