// RUN: redfuse-opt %s -redfuse-plan-rounds | FileCheck %s
// CHECK-NOT: redfuse.persistent

#x = affine_map<(i) -> (i)>
#layout = #redfuse.register_layout<threads = 32, cluster = 1, lanes = 1,
    dims = [<lanes = 1, repeats = 3, threads = 32, bit = 0>], blocks = 0, shared_bytes = 0,
    looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>

module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">} {
  // Three rounds; a number of rounds that is known when it runs; two launches a round.
  func.func @few(%a: memref<96xf32>, %b: memref<96xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c9 = arith.constant 9 : index
    scf.for %t = %c0 to %c3 step %c1 {
      redfuse.launch @k ins(%a : memref<96xf32>) outs(%b : memref<96xf32>) {redfuse.registers = #layout}
    }
    scf.for %t = %c0 to %n step %c1 {
      redfuse.launch @k ins(%a : memref<96xf32>) outs(%b : memref<96xf32>) {redfuse.registers = #layout}
    }
    scf.for %t = %c0 to %c9 step %c1 {
      redfuse.launch @k ins(%a : memref<96xf32>) outs(%b : memref<96xf32>) {redfuse.registers = #layout}
      redfuse.launch @k ins(%b : memref<96xf32>) outs(%a : memref<96xf32>) {redfuse.registers = #layout}
    }
    return
  }

  redfuse.kernel @k attributes {num_inputs = 1 : i64, schedule = #redfuse.schedule<map, grid = [0], tiles = [96]>} {
  ^bb0(%x: tensor<96xf32>, %init: tensor<96xf32>):
    %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<96xf32>) outs(%init : tensor<96xf32>) {
    ^bb0(%v: f32):
      %t = math.tanh %v : f32
      redfuse.yield %t : f32
    } -> tensor<96xf32>
    redfuse.yield %r : tensor<96xf32>
  }
}
