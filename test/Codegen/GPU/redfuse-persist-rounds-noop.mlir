// RUN: redfuse-opt %s -redfuse-persist-rounds -verify-diagnostics | FileCheck %s

// A kernel whose warps wait for each other stays one of each round.
module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @loop
  // CHECK:         scf.for
  // CHECK:           gpu.launch_func @redfuse_gpu::@cell
  func.func @loop(%h: memref<64xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %none = arith.constant 0 : i32
    scf.for %t = %c0 to %c8 step %c1 {
      gpu.launch_func @redfuse_gpu::@cell blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
          dynamic_shared_memory_size %none args(%h : memref<64xf32>)
    } {redfuse.persistent = #redfuse.rounds_plan<cluster = 1, warps = 2, grid_parts = 1, warp_parts = 1>}
    return
  }

  gpu.module @redfuse_gpu {
    gpu.func @cell(%x: memref<64xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %thread = gpu.thread_id x
      %v = memref.load %x[%thread] : memref<64xf32>
      // expected-remark @below {{each round stays a launch: a warp does not do this for itself}}
      gpu.barrier
      memref.store %v, %x[%thread] : memref<64xf32>
      gpu.return
    }
  }
}
