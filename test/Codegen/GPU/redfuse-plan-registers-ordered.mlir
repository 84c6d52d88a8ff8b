// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers=strict=1 | FileCheck %s --check-prefix=STRICT

#x = affine_map<(b, t, n) -> (b, t)>
#c = affine_map<(b, t, n) -> (t, n)>
#s = affine_map<(b, t, n) -> (b, n)>

// A scan in order, of 16 states a row, whose sum is stored: too many for a thread, so that four threads have four
// of them side by side each.
// CHECK-LABEL: func.func @states
// CHECK: redfuse.launch @states_0 {{.*}} lanes = 8, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 8, repeats = 1, threads = 8, bit = 2>, <lanes = 1, repeats = 4, threads = 4, bit = 0, run = 4>],
// STRICT: redfuse.no_registers = "a scan combines its elements in their order"
func.func @states(%x: memref<8192x2048xbf16>, %d: memref<8192x2048xbf16>, %c: memref<2048x16xbf16>, %out: memref<8192x2048xbf16>) {
  redfuse.launch @states_0 ins(%x, %d, %c : memref<8192x2048xbf16>, memref<8192x2048xbf16>, memref<2048x16xbf16>) outs(%out : memref<8192x2048xbf16>)
  return
}
redfuse.kernel @states_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 256, 0], stream = [1]>} {
^bb0(%x: tensor<8192x2048xbf16>, %d: tensor<8192x2048xbf16>, %c: tensor<2048x16xbf16>, %init: tensor<8192x2048xbf16>):
  %e = tensor.empty() : tensor<8192x16xf32>
  %f:3 = redfuse.fold {indexing_maps = [#x, #x, #c, #s, #s, #x], over = array<i64: 1>, identities = [1.0 : f32, 0.0 : f32]}
      ins(%x, %d, %c : tensor<8192x2048xbf16>, tensor<8192x2048xbf16>, tensor<2048x16xbf16>)
      outs(%e, %e, %init : tensor<8192x16xf32>, tensor<8192x16xf32>, tensor<8192x2048xbf16>)
  step {
  ^bb0(%a: bf16, %dt: bf16, %w: bf16, %t0: f32, %t1: f32):
    %aw = arith.extf %a : bf16 to f32
    %dw = arith.extf %dt : bf16 to f32
    %ww = arith.extf %w : bf16 to f32
    %g0 = arith.mulf %dw, %ww : f32
    %g = math.exp %g0 : f32
    %v = arith.mulf %aw, %ww : f32
    %all:2 = redfuse.reduce declared %g, %v over [1] into [0, 2] {identities = [1.0 : f32, 0.0 : f32], ordered} : f32, f32 combine {
    ^bb0(%l0: f32, %l1: f32, %r0: f32, %r1: f32):
      %p = arith.mulf %l0, %r0 : f32
      %q = arith.mulf %r0, %l1 : f32
      %r = arith.addf %q, %r1 : f32
      redfuse.yield %p, %r : f32, f32
    }
    %n:2 = redfuse.combine %t0, %t1, %all#0, %all#1 {identities = [1.0 : f32, 0.0 : f32], ordered} : (f32, f32, f32, f32) -> (f32, f32) {
    ^bb0(%l0: f32, %l1: f32, %r0: f32, %r1: f32):
      %p = arith.mulf %l0, %r0 : f32
      %q = arith.mulf %r0, %l1 : f32
      %r = arith.addf %q, %r1 : f32
      redfuse.yield %p, %r : f32, f32
    }
    %each:2 = redfuse.scan declared %g, %v along 1 {identities = [1.0 : f32, 0.0 : f32], ordered} : f32, f32 combine {
    ^bb0(%l0: f32, %l1: f32, %r0: f32, %r1: f32):
      %p = arith.mulf %l0, %r0 : f32
      %q = arith.mulf %r0, %l1 : f32
      %r = arith.addf %q, %r1 : f32
      redfuse.yield %p, %r : f32, f32
    }
    %h:2 = redfuse.combine %t0, %t1, %each#0, %each#1 {identities = [1.0 : f32, 0.0 : f32], ordered} : (f32, f32, f32, f32) -> (f32, f32) {
    ^bb0(%l0: f32, %l1: f32, %r0: f32, %r1: f32):
      %p = arith.mulf %l0, %r0 : f32
      %q = arith.mulf %r0, %l1 : f32
      %r = arith.addf %q, %r1 : f32
      redfuse.yield %p, %r : f32, f32
    }
    %hw = arith.mulf %h#1, %ww : f32
    %y = redfuse.reduce add %hw over [2] into [0, 1] : f32
    %o = arith.truncf %y : f32 to bf16
    redfuse.yield %n#0, %n#1, %o : f32, f32, bf16
  } merge {
  ^bb0(%l0: f32, %l1: f32, %r0: f32, %r1: f32):
    %p = arith.mulf %l0, %r0 : f32
    %q = arith.mulf %r0, %l1 : f32
    %r = arith.addf %q, %r1 : f32
    redfuse.yield %p, %r : f32, f32
  } -> tensor<8192x16xf32>, tensor<8192x16xf32>, tensor<8192x2048xbf16>
  redfuse.yield %f#2 : tensor<8192x2048xbf16>
}
