// RUN: redfuse-opt %s -redfuse-plan-packing | FileCheck %s

module attributes {redfuse.target = #redfuse.target<"cpu", units = 2, vector_bits = 512, l1 = 49152, l2 = 2097152, flops = 256, bandwidth = 40, launch_ns = 2000>} {

// Each core has half of the blocks or more; panels of both operands fit the caches.
// CHECK-LABEL: func.func @product
// CHECK: redfuse.launch @product_0 {{.*}} {redfuse.packing = #redfuse.packing_plan<tiles = [{{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}], registers = [{{[0-9]+}}, {{[0-9]+}}]>}
func.func @product(%a: memref<1024x1024xf32>, %b: memref<1024x1024xf32>, %out: memref<1024x1024xf32>) {
  redfuse.launch @product_0 ins(%a, %b : memref<1024x1024xf32>, memref<1024x1024xf32>) outs(%out : memref<1024x1024xf32>)
  return
}
redfuse.kernel @product_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [32, 32, 0]>} {
^bb0(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %init: tensor<1024x1024xf32>):
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]} ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%init : tensor<1024x1024xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<1024x1024xf32>
  redfuse.yield %r : tensor<1024x1024xf32>
}

// Few rows: both operands are read where they lie, as to pack them takes longer than to
// multiply; columns along themselves, or, as those of nn.Linear lie, along the sum.
// CHECK-LABEL: func.func @few_rows
// CHECK: redfuse.launch @few_rows_0 {{.*}} {redfuse.packing = #redfuse.packing_plan<tiles = [0, {{[0-9]+}}, 32], registers = [{{[0-9], [0-9]}}], microkernel = outer>}
// CHECK: redfuse.launch @linear_0 {{.*}} {redfuse.packing = #redfuse.packing_plan<tiles = [0, {{[0-9]+, [0-9]+}}], registers = [{{[0-9], [0-9]}}], microkernel = inner>}
func.func @few_rows(%a: memref<8x1024xf32>, %b: memref<1024x1024xf32>, %out: memref<8x1024xf32>) {
  redfuse.launch @few_rows_0 ins(%a, %b : memref<8x1024xf32>, memref<1024x1024xf32>) outs(%out : memref<8x1024xf32>)
  redfuse.launch @linear_0 ins(%a, %b : memref<8x1024xf32>, memref<1024x1024xf32>) outs(%out : memref<8x1024xf32>)
  return
}
redfuse.kernel @linear_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [8, 32, 0]>} {
^bb0(%a: tensor<8x1024xf32>, %b: tensor<1024x1024xf32>, %init: tensor<8x1024xf32>):
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]} ins(%a, %b : tensor<8x1024xf32>, tensor<1024x1024xf32>) outs(%init : tensor<8x1024xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<8x1024xf32>
  redfuse.yield %r : tensor<8x1024xf32>
}
redfuse.kernel @few_rows_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [8, 32, 0]>} {
^bb0(%a: tensor<8x1024xf32>, %b: tensor<1024x1024xf32>, %init: tensor<8x1024xf32>):
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]} ins(%a, %b : tensor<8x1024xf32>, tensor<1024x1024xf32>) outs(%init : tensor<8x1024xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<8x1024xf32>
  redfuse.yield %r : tensor<8x1024xf32>
}

// A window of an image: rows are channels of the result, columns its positions, and the sum goes
// over channels and taps, of which the inner ones are whole. A batch has blocks of its own.
// CHECK-LABEL: func.func @window
// CHECK: redfuse.launch @window_0 {{.*}} {redfuse.packing = #redfuse.packing_plan<tiles = [{{[0-9]+, [0-9]+, [0-9]+, 0, [0-9]+, 0, 0}}], registers
func.func @window(%x: memref<2x64x58x58xf32>, %w: memref<64x64x3x3xf32>, %out: memref<2x64x56x56xf32>) {
  redfuse.launch @window_0 ins(%x, %w : memref<2x64x58x58xf32>, memref<64x64x3x3xf32>) outs(%out : memref<2x64x56x56xf32>)
  return
}
redfuse.kernel @window_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [1, 1, 0, 0, 0, 0, 0]>} {
^bb0(%x: tensor<2x64x58x58xf32>, %w: tensor<64x64x3x3xf32>, %init: tensor<2x64x56x56xf32>):
  %r = redfuse.cascade {indexing_maps = [affine_map<(n, o, h, w, c, r, s) -> (n, c, h + r, w + s)>, affine_map<(n, o, h, w, c, r, s) -> (o, c, r, s)>, affine_map<(n, o, h, w, c, r, s) -> (n, o, h, w)>]} ins(%x, %w : tensor<2x64x58x58xf32>, tensor<64x64x3x3xf32>) outs(%init : tensor<2x64x56x56xf32>) {
  ^bb0(%e: f32, %f: f32):
    %p = arith.mulf %e, %f : f32
    %s = redfuse.reduce add %p over [4, 5, 6] into [0, 1, 2, 3] : f32
    %zero = arith.constant 0.0 : f32
    %y = arith.maximumf %s, %zero : f32
    redfuse.yield %y : f32
  } -> tensor<2x64x56x56xf32>
  redfuse.yield %r : tensor<2x64x56x56xf32>
}
}
