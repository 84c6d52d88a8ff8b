// RUN: redfuse-opt %s -redfuse-persist-rounds | FileCheck %s

// Two parts of the grid have a cluster each. What a warp has is found once; a weight, which no round
// writes, is loaded once; in a round what is read comes first, what is stored last, then the barrier.
module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @loop
  // CHECK-NOT:     scf.for
  // CHECK:         gpu.launch_func @redfuse_gpu::@cell_rounds blocks in (%[[G:.*]], %{{.*}}, %{{.*}}) threads in
  // CHECK-SAME:      args(%arg0 : memref<9x64xf32>, %arg1 : memref<64xf32>)
  func.func @loop(%h: memref<9x64xf32>, %w: memref<64xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %none = arith.constant 0 : i32
    scf.for %t = %c0 to %c8 step %c1 {
      %next = arith.addi %t, %c1 : index
      %before = memref.subview %h[%t, 0] [1, 64] [1, 1] : memref<9x64xf32> to memref<64xf32, strided<[1], offset: ?>>
      %after = memref.subview %h[%next, 0] [1, 64] [1, 1] : memref<9x64xf32> to memref<64xf32, strided<[1], offset: ?>>
      gpu.launch_func @redfuse_gpu::@cell blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1)
          dynamic_shared_memory_size %none
          args(%before : memref<64xf32, strided<[1], offset: ?>>, %w : memref<64xf32>, %after : memref<64xf32, strided<[1], offset: ?>>)
    } {redfuse.persistent = #redfuse.rounds_plan<cluster = 1, warps = 1, grid_parts = 2, warp_parts = 1>}
    return
  }

  // Two buffers change places: an odd number of rounds leaves them so.
  // CHECK-LABEL: func.func @swapped
  // CHECK-SAME:    (%{{.*}}: memref<64xf32>, %[[A:.*]]: memref<64xf32>, %[[B:.*]]: memref<64xf32>)
  // CHECK:         gpu.launch_func @redfuse_gpu::@other_rounds_1
  // CHECK:         return %[[B]]
  func.func @swapped(%w: memref<64xf32>, %a: memref<64xf32>, %b: memref<64xf32>) -> memref<64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %many = arith.constant 1000000000001 : index
    %c32 = arith.constant 32 : index
    %none = arith.constant 0 : i32
    %r:2 = scf.for %t = %c0 to %many step %c1 iter_args(%x = %a, %y = %b) -> (memref<64xf32>, memref<64xf32>) {
      gpu.launch_func @redfuse_gpu::@other blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
          dynamic_shared_memory_size %none args(%x : memref<64xf32>, %w : memref<64xf32>, %y : memref<64xf32>)
      scf.yield %y, %x : memref<64xf32>, memref<64xf32>
    } {redfuse.persistent = #redfuse.rounds_plan<cluster = 1, warps = 1, grid_parts = 1, warp_parts = 1>}
    return %r#0 : memref<64xf32>
  }

  gpu.module @redfuse_gpu {
    gpu.func @other(%x: memref<64xf32>, %w: memref<64xf32>, %y: memref<64xf32>) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>, redfuse.reuse} {
      %at = gpu.thread_id x
      %v = memref.load %w[%at] : memref<64xf32>
      %u = memref.load %x[%at] : memref<64xf32>
      %p = arith.addf %u, %v : f32
      memref.store %p, %y[%at] : memref<64xf32>
      gpu.return
    }

    // CHECK:      gpu.func @cell_rounds(%[[H:.*]]: memref<9x64xf32>, %[[W:.*]]: memref<64xf32>) kernel attributes
    // CHECK-SAME:   nvvm.cluster_dim = array<i32: 1, 1, 1>
    // CHECK:        griddepcontrol.wait
    // CHECK:        %[[V:.*]] = memref.load %[[W]]
    // CHECK:        scf.for
    // CHECK:          memref.subview %[[H]]
    // CHECK:          scf.if
    // CHECK-NEXT:       memref.load
    // CHECK-NEXT:       arith.mulf
    // CHECK:            memref.store
    // CHECK:          barrier.cluster.arrive.release.aligned
    // CHECK:        griddepcontrol.launch_dependents
    gpu.func @cell(%x: memref<64xf32, strided<[1], offset: ?>>, %w: memref<64xf32>, %y: memref<64xf32, strided<[1], offset: ?>>) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>, redfuse.reuse} {
      %c32 = arith.constant 32 : index
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %start = arith.muli %block, %c32 : index
      %at = arith.addi %start, %thread : index
      llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.wait;", "~{memory}" : () -> ()
      %v = memref.load %w[%at] : memref<64xf32>
      %u = memref.load %x[%at] : memref<64xf32, strided<[1], offset: ?>>
      %p = arith.mulf %u, %v : f32
      memref.store %p, %y[%at] : memref<64xf32, strided<[1], offset: ?>>
      gpu.return
    }
  }
}
