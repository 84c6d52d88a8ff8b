// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-host-to-gpu > %t.after
// RUN: diff %t.before %t.after

module attributes {gpu.container_module} {
  redfuse.kernel @k attributes {num_inputs = 1 : i64} {
  ^bb0(%x: tensor<?xf32>, %o: tensor<?xf32>):
    redfuse.yield %x : tensor<?xf32>
  }

  // Launches, allocations and extents are the host's, and so are loops and branches around them.
  func.func @launches(%x: memref<?xf32>, %n: index, %c: i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %x, %c0 : memref<?xf32>
    scf.for %i = %c0 to %n step %c1 {
      scf.if %c {
        %a = memref.alloc(%m) : memref<?xf32>
        redfuse.launch @k ins(%x : memref<?xf32>) outs(%a : memref<?xf32>)
        redfuse.launch @k ins(%a : memref<?xf32>) outs(%x : memref<?xf32>)
        memref.dealloc %a : memref<?xf32>
      }
    }
    return
  }

  // An assertion about extents: it is the host that stops.
  func.func @asserted(%x: memref<?xf32>, %y: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %m = memref.dim %x, %c0 : memref<?xf32>
    %n = memref.dim %y, %c0 : memref<?xf32>
    %same = arith.cmpi eq, %m, %n : index
    cf.assert %same, "of one length"
    redfuse.launch @k ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
    return
  }

  // A function of shapes writes extents to the host's memory, and copies them there.
  func.func @launches__shapes(%x: memref<?xf32>, %old: memref<1xindex>, %extents: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %m = memref.dim %x, %c0 : memref<?xf32>
    memref.store %m, %old[%c0] : memref<1xindex>
    memref.copy %old, %extents : memref<1xindex> to memref<1xindex>
    return
  }

  // A view of memory touches none of it, and what a kernel does to bytes is on the GPU already.
  func.func @launched(%x: memref<16x16xi8>) {
    %c1 = arith.constant 1 : index
    %row = memref.subview %x[3, 0] [1, 16] [1, 1] : memref<16x16xi8> to memref<16xi8, strided<[1], offset: 48>>
    gpu.launch_func @m::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%row : memref<16xi8, strided<[1], offset: 48>>)
    return
  }
  gpu.module @m {
    gpu.func @store(%x: memref<16xi8, strided<[1], offset: 48>>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<16xi8, strided<[1], offset: 48>>
      memref.store %v, %x[%i] : memref<16xi8, strided<[1], offset: 48>>
      gpu.return
    }
  }
}
