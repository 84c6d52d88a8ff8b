// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s --check-prefix=OLD

// A kernel waits for the one before it before it reads anything; what it will read first it asks the
// second-level cache for before that (hint `ahead`). With its loads under way it lets the next one start.

// CHECK-LABEL: gpu.func @sum_0
// CHECK-NOT: load
// CHECK: llvm.inline_asm {{.*}} "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.wait;", "~{memory}"
// CHECK: vector.load
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.launch_dependents;", "~{memory}"
// CHECK: gpu.shuffle
// OLD-NOT: griddepcontrol

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 2, vector_bits = 256, l1 = 32768,
    l2 = 1048576, flops = 150, bandwidth = 20, launch_ns = 2000>} {
func.func @sum(%x: memref<64x1024xf32>, %out: memref<64xf32>) {
  redfuse.launch @sum_0 ins(%x : memref<64x1024xf32>) outs(%out : memref<64xf32>)
  return
}
redfuse.kernel @sum_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0], hints = {prefetch = 24}>} {
^bb0(%x: tensor<64x1024xf32>, %init: tensor<64xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<64x1024xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32):
    %s = redfuse.reduce add %v over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %0 : tensor<64xf32>
}
}

// -----

// More rows than run at a time: those of the first blocks alone, whose place in the multiprocessors
// is that of the last blocks of the kernel before.

// CHECK-LABEL: gpu.func @rows_0
// CHECK-NOT: load
// CHECK: %[[FIRST:.+]] = arith.constant 8 : index
// CHECK: %[[IS:.+]] = arith.cmpi ult, %{{.+}}, %[[FIRST]]
// CHECK: scf.if %[[IS]] {
// CHECK: llvm.inline_asm {{.*}} "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.wait;", "~{memory}"
// CHECK: vector.load
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.launch_dependents;", "~{memory}"
// CHECK: gpu.shuffle
// OLD-NOT: griddepcontrol

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 2, vector_bits = 256, l1 = 32768,
    l2 = 1048576, flops = 150, bandwidth = 20, launch_ns = 2000>} {
func.func @rows(%x: memref<6400x8192xbf16>, %out: memref<6400xf32>) {
  redfuse.launch @rows_0 ins(%x : memref<6400x8192xbf16>) outs(%out : memref<6400xf32>)
  return
}
redfuse.kernel @rows_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0], hints = {prefetch = 24}>} {
^bb0(%x: tensor<6400x8192xbf16>, %init: tensor<6400xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<6400x8192xbf16>) outs(%init : tensor<6400xf32>) {
  ^bb0(%h: bf16):
    %v = arith.extf %h : bf16 to f32
    %s = redfuse.reduce add %v over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6400xf32>
  redfuse.yield %0 : tensor<6400xf32>
}
}

// -----

// By itself a kernel that reads much asks for 4 MB, while the one before it ends.

// CHECK-LABEL: gpu.func @many_0
// CHECK-NOT: load
// CHECK: %[[FIRST:.+]] = arith.constant 8 : index
// CHECK: %[[IS:.+]] = arith.cmpi ult, %{{.+}}, %[[FIRST]]
// CHECK: scf.if %[[IS]] {
// CHECK: llvm.inline_asm {{.*}} "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r"
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.wait;", "~{memory}"
// CHECK: vector.load
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.launch_dependents;", "~{memory}"
// CHECK: gpu.shuffle
// OLD-NOT: griddepcontrol

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 2, vector_bits = 256, l1 = 32768,
    l2 = 1048576, flops = 150, bandwidth = 20, launch_ns = 2000>} {
func.func @many(%x: memref<6400x8192xbf16>, %out: memref<6400xf32>) {
  redfuse.launch @many_0 ins(%x : memref<6400x8192xbf16>) outs(%out : memref<6400xf32>)
  return
}
redfuse.kernel @many_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<6400x8192xbf16>, %init: tensor<6400xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<6400x8192xbf16>) outs(%init : tensor<6400xf32>) {
  ^bb0(%h: bf16):
    %v = arith.extf %h : bf16 to f32
    %s = redfuse.reduce add %v over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6400xf32>
  redfuse.yield %0 : tensor<6400xf32>
}
}
