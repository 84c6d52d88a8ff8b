// RUN: redfuse-opt %s -redfuse-lower-device-launches -verify-diagnostics

// The runtime launches blocks and threads of one dim.
module attributes {gpu.container_module} {
  func.func @main(%x: memref<8xf32>) {
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    // expected-error @below {{is launched by the runtime with one dimension of blocks and threads; expected 1 for y and z}}
    gpu.launch_func @m::@k blocks in (%one, %two, %one) threads in (%one, %one, %one)
      args(%x : memref<8xf32>)
    return
  }
  gpu.module @m {
    gpu.func @k(%x: memref<8xf32>) kernel {
      gpu.return
    }
  }
}
