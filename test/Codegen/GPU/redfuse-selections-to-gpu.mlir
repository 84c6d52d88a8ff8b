// RUN: redfuse-opt %s -split-input-file -redfuse-attach-target=chip=sm_90a -redfuse-selections-to-gpu | FileCheck %s

// A warp sorts a row of 512: 16 words of a thread, exchanged by shuffles alone.
// CHECK-LABEL: func.func @warp
// CHECK: gpu.launch_func @{{.*}}::@select_0 blocks in (%{{.*}}, %{{.*}}, %{{.*}}) threads in (%{{.*}}, %{{.*}}, %{{.*}})
// CHECK: gpu.func @select_0(%{{.*}}: memref<8x512xf32>, %{{.*}}: memref<8x512xf32>) kernel
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK-COUNT-32: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK-COUNT-16: memref.store %{{.*}} : memref<8x512xf32>
func.func @warp(%x: memref<8x512xf32>, %v: memref<8x512xf32>) {
  redfuse.select ins(%x : memref<8x512xf32>) values(%v : memref<8x512xf32>)
  return
}

// -----

// 50 of a long row: a threshold, and what it lets through.
// CHECK-LABEL: func.func @found
// CHECK: gpu.launch_func @{{.*}}::@select_0
// CHECK: gpu.func @select_0
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>
// CHECK: scf.while
// CHECK: llvm.atomicrmw add
func.func @found(%x: memref<8x32000xf32>, %v: memref<8x50xf32>, %p: memref<8x50xi64>) {
  redfuse.select ins(%x : memref<8x32000xf32>) values(%v : memref<8x50xf32>)
    positions(%p : memref<8x50xi64>) {descending}
  return
}

// -----

// A row that no block holds: runs, merges in a loop of the host's, ranks.
// CHECK-LABEL: func.func @merged
// CHECK: %[[W:.+]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xi64>
// CHECK: gpu.launch_func @{{.*}}::@select_0_runs
// CHECK: scf.while
// CHECK: gpu.launch_func @{{.*}}::@select_0_merge
// CHECK: gpu.launch_func @{{.*}}::@select_0_ranks
// CHECK: memref.dealloc %[[W]]
func.func @merged(%x: memref<2x100000xf32>, %p: memref<2x100000xi64>) {
  redfuse.select ins(%x : memref<2x100000xf32>) positions(%p : memref<2x100000xi64>)
  return
}

// -----

// Nothing to select.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: gpu.launch_func
func.func @nothing(%x: memref<2x0xf32>, %p: memref<2x0xi64>) {
  redfuse.select ins(%x : memref<2x0xf32>) positions(%p : memref<2x0xi64>)
  return
}
