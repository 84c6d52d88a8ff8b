// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s

// What is rounded to 16 bits and computed with is rounded by pairs, also where it is
// widened again: LLVM would compute in 16 bits, and ptxas move single roundings among
// the products.

// CHECK-LABEL: gpu.func @gated
// CHECK-NOT: arith.truncf
// CHECK: cvt.rn.bf16x2.f32
// CHECK: vector.bitcast {{.*}} : vector<1xi32> to vector<2xbf16>
// CHECK: arith.extf {{.*}} : bf16 to f32
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#s = affine_map<(i, j, k) -> (j)>
#o = affine_map<(i, j, k) -> (i, j)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 2, vector_bits = 256, l1 = 32768,
    l2 = 1048576, flops = 150, bandwidth = 20, launch_ns = 2000>} {
func.func @main(%x: memref<256x512xbf16>, %w: memref<512x256xbf16>, %s: memref<256xbf16>, %out: memref<256x256xbf16>) {
  redfuse.launch @gated ins(%x, %w, %s : memref<256x512xbf16>, memref<512x256xbf16>, memref<256xbf16>)
      outs(%out : memref<256x256xbf16>)
  return
}
redfuse.kernel @gated attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [64, 64, 0]>} {
^bb0(%x: tensor<256x512xbf16>, %w: tensor<512x256xbf16>, %s: tensor<256xbf16>, %init: tensor<256x256xbf16>):
  %res = redfuse.cascade {indexing_maps = [#x, #w, #s, #o]}
      ins(%x, %w, %s : tensor<256x512xbf16>, tensor<512x256xbf16>, tensor<256xbf16>) outs(%init : tensor<256x256xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %c: bf16):
    %y = arith.extf %a : bf16 to f32
    %z = arith.extf %b : bf16 to f32
    %yz = arith.mulf %y, %z : f32
    %sum = redfuse.reduce add %yz over [2] into [0, 1] : f32
    %rounded = arith.truncf %sum : f32 to bf16
    %wide = arith.extf %rounded : bf16 to f32
    %scale = arith.extf %c : bf16 to f32
    %scaled = arith.mulf %wide, %scale : f32
    %t = arith.truncf %scaled : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x256xbf16>
  redfuse.yield %res : tensor<256x256xbf16>
}
}
