// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s --check-prefix=OLD

// Where few blocks should have all loads of a step under way, a word of each is compared with a
// constant before anything is computed of them (hint `await`): ptxas would load what is needed
// later only then.

// CHECK-LABEL: gpu.func @awaited_0
// CHECK: scf.for
// CHECK: vector.load
// CHECK: %[[WORDS:.+]] = vector.bitcast %{{.+}} : vector<4xf32> to vector<4xi32>
// CHECK: vector.extract %[[WORDS]][0]
// CHECK: %[[PAUSES:.+]] = arith.cmpi eq, %{{.+}}, %c2143363909_i32
// CHECK: scf.if %[[PAUSES]] {
// CHECK-NEXT: llvm.inline_asm {{.*}}"nanosleep.u32 0;"
// CHECK: arith.maximumf
// OLD-LABEL: gpu.func @awaited_0
// OLD-NOT: nanosleep
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @awaited(%x: memref<2x262144xf32>, %out: memref<2xf32>) {
  redfuse.launch @awaited_0 ins(%x : memref<2x262144xf32>) outs(%out : memref<2xf32>)
  return
}
redfuse.kernel @awaited_0 attributes {num_inputs = 1 : i64, redfuse.merges_in_launch,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [1, 4096], stream = [1], splits = 16, hints = {await = true}>} {
^bb0(%x: tensor<2x262144xf32>, %init: tensor<2xf32>):
  %m0 = tensor.empty() : tensor<2xf32>
  %st = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>,
            identities = [0xFF800000 : f32]}
          ins(%x : tensor<2x262144xf32>) outs(%m0 : tensor<2xf32>)
  step {
  ^bb0(%v: f32, %m: f32):
    %ms = redfuse.reduce maximumf %v over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    redfuse.yield %m1 : f32
  } merge {
  ^bb0(%a: f32, %c: f32):
    %m1 = arith.maximumf %a, %c : f32
    redfuse.yield %m1 : f32
  } -> tensor<2xf32>
  %0 = redfuse.finalize {indexing_maps = [#r, #r]}
       ins(%st : tensor<2xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%m: f32):
    redfuse.yield %m : f32
  } -> tensor<2xf32>
  redfuse.yield %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: gpu.func @free_0
// CHECK-NOT: nanosleep
// CHECK: gpu.return
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @free(%x: memref<2x262144xf32>, %out: memref<2xf32>) {
  redfuse.launch @free_0 ins(%x : memref<2x262144xf32>) outs(%out : memref<2xf32>)
  return
}
redfuse.kernel @free_0 attributes {num_inputs = 1 : i64, redfuse.merges_in_launch,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [1, 4096], stream = [1], splits = 16, hints = {await = false}>} {
^bb0(%x: tensor<2x262144xf32>, %init: tensor<2xf32>):
  %m0 = tensor.empty() : tensor<2xf32>
  %st = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>,
            identities = [0xFF800000 : f32]}
          ins(%x : tensor<2x262144xf32>) outs(%m0 : tensor<2xf32>)
  step {
  ^bb0(%v: f32, %m: f32):
    %ms = redfuse.reduce maximumf %v over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    redfuse.yield %m1 : f32
  } merge {
  ^bb0(%a: f32, %c: f32):
    %m1 = arith.maximumf %a, %c : f32
    redfuse.yield %m1 : f32
  } -> tensor<2xf32>
  %0 = redfuse.finalize {indexing_maps = [#r, #r]}
       ins(%st : tensor<2xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%m: f32):
    redfuse.yield %m : f32
  } -> tensor<2xf32>
  redfuse.yield %0 : tensor<2xf32>
}
