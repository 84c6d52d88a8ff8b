// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-registers | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// What has another plan keeps it alone, a layout stays, and so does the reason why there is none.
// CHECK-LABEL: func.func @programs
// CHECK: redfuse.launch @product_0 {{.*}} {redfuse.product_tiles = array<i64: 16, 16, 0>}
// CHECK-NEXT: redfuse.launch @own_0 {{.*}} {redfuse.registers = #redfuse.register_layout<threads = 64,
// CHECK-NEXT: redfuse.launch @open_0 {{.*}} {redfuse.no_registers = "a reason"}
func.func @programs(%a: memref<64x80xbf16>, %b: memref<80x44xbf16>, %out: memref<64x44xf32>, %x: memref<64x256xf32>, %sums: memref<64xf32>, %z: memref<64x?xf32>) {
  redfuse.launch @product_0 ins(%a, %b : memref<64x80xbf16>, memref<80x44xbf16>) outs(%out : memref<64x44xf32>) {redfuse.product_tiles = array<i64: 16, 16, 0>}
  redfuse.launch @own_0 ins(%x : memref<64x256xf32>) outs(%sums : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  redfuse.launch @open_0 ins(%z : memref<64x?xf32>) outs(%sums : memref<64xf32>) {redfuse.no_registers = "a reason"}
  return
}
redfuse.kernel @product_0 attributes {num_inputs = 2 : i64,
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
redfuse.kernel @own_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}
redfuse.kernel @open_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x?xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x?xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}
