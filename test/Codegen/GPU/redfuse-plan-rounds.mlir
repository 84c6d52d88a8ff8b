// RUN: redfuse-opt %s -redfuse-plan-rounds | FileCheck %s

#left = affine_map<(i, j, k) -> (i, k)>
#right = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>

module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">} {
  // A round reads all units of a row that the round before has written: rows are independent, units
  // are not. Each row gets a cluster, a warp of it one unit.
  // CHECK-LABEL: func.func @layer
  // CHECK:         scf.for
  // CHECK:           redfuse.launch @cell
  // CHECK-SAME:        redfuse.registers = #redfuse.register_layout<threads = 32, cluster = 1, lanes = 1, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 1, repeats = 3, threads = 32, bit = 0>]
  // CHECK:         } {redfuse.persistent = #redfuse.rounds_plan<cluster = 16, warps = 6, grid_parts = 5, warp_parts = 1>}
  // CHECK:       redfuse.kernel @cell
  // CHECK-SAME:    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [1, 1, 0]
  func.func @layer(%w: memref<96x96xf32>, %h: memref<9x5x96xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %t = %c0 to %c8 step %c1 {
      %next = arith.addi %t, %c1 : index
      %before = memref.subview %h[%t, 0, 0] [1, 5, 96] [1, 1, 1] : memref<9x5x96xf32> to memref<5x96xf32, strided<[96, 1], offset: ?>>
      %after = memref.subview %h[%next, 0, 0] [1, 5, 96] [1, 1, 1] : memref<9x5x96xf32> to memref<5x96xf32, strided<[96, 1], offset: ?>>
      redfuse.launch @cell ins(%before, %w : memref<5x96xf32, strided<[96, 1], offset: ?>>, memref<96x96xf32>)
          outs(%after : memref<5x96xf32, strided<[96, 1], offset: ?>>)
          {redfuse.registers = #redfuse.register_layout<threads = 128, cluster = 1, lanes = 1,
            dims = [<lanes = 1, repeats = 2, threads = 4, bit = 5>, <lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 1, repeats = 3, threads = 32, bit = 0>],
            blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
    }
    return
  }

  redfuse.kernel @cell attributes {num_inputs = 2 : i64,
      schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [5, 1, 0]>} {
  ^bb0(%before: tensor<5x96xf32>, %w: tensor<96x96xf32>, %init: tensor<5x96xf32>):
    %r = redfuse.cascade {indexing_maps = [#left, #right, #out]} ins(%before, %w : tensor<5x96xf32>, tensor<96x96xf32>) outs(%init : tensor<5x96xf32>) {
    ^bb0(%x: f32, %y: f32):
      %p = arith.mulf %x, %y : f32
      %s = redfuse.reduce add %p over [2] into [0, 1] : f32
      %t = math.tanh %s : f32
      redfuse.yield %t : f32
    } -> tensor<5x96xf32>
    redfuse.yield %r : tensor<5x96xf32>
  }
}
