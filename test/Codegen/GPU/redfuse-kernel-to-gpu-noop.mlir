// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a > %t.before
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-kernel-to-gpu > %t.after
// RUN: diff %t.before %t.after

#id = affine_map<(i) -> (i)>

module attributes {gpu.container_module} {
  // A kernel that no launch runs: for which buffers it would be is not known.
  redfuse.kernel @k attributes {num_inputs = 1 : i64,
      schedule = #redfuse.schedule<map, grid = [0], tiles = [16]>} {
  ^bb0(%x: tensor<64xf32>, %out: tensor<64xf32>):
    %r = redfuse.cascade {indexing_maps = [#id, #id]} ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) {
    ^bb0(%a: f32):
      %e = math.exp %a : f32
      redfuse.yield %e : f32
    } -> tensor<64xf32>
    redfuse.yield %r : tensor<64xf32>
  }

  // Launches of code that is there already, which waits for no launch before it.
  func.func @launched(%x: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @redfuse_gpu::@made blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%x : memref<64xf32>)
    return
  }
  gpu.module @redfuse_gpu {
    gpu.func @made(%x: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %x[%i] : memref<64xf32>
      gpu.return
    }
  }

  // What a loop of the host does to buffers: redfuse-host-to-gpu brings that to the GPU.
  func.func @host(%x: memref<64xf32>, %y: memref<64xf32>) {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %e = math.exp %a : f32
      linalg.yield %e : f32
    }
    return
  }
}
