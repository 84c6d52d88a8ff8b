// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-reuse-values > %t.after
// RUN: diff %t.before %t.after

#shared = #gpu.address_space<workgroup>
gpu.module @m {
  // Not marked: the two buffers may be one, so that an element may be another one after the store.
  gpu.func @unmarked(%x: memref<64xf32>, %y: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %a = memref.load %x[%i] : memref<64xf32>
    memref.store %a, %y[%i] : memref<64xf32>
    %b = memref.load %x[%i] : memref<64xf32>
    memref.store %b, %y[%i] : memref<64xf32>
    gpu.return
  }

  // A buffer that the kernel writes as well; a vector that begins at an element; loads of which
  // either one comes to pass.
  gpu.func @others(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>, %c: i1) kernel
      attributes {redfuse.reuse} {
    %i = gpu.thread_id x
    %a = memref.load %y[%i] : memref<64xf32>
    memref.store %a, %y[%i] : memref<64xf32>
    %b = memref.load %y[%i] : memref<64xf32>
    %v = vector.load %x[%i] : memref<64xf32>, vector<1xf32>
    vector.store %v, %y[%i] : memref<64xf32>, vector<1xf32>
    %d = memref.load %x[%i] : memref<64xf32>
    memref.store %d, %y[%i] : memref<64xf32>
    scf.if %c {
      %e = memref.load %z[%i] : memref<64xf32>
      memref.store %e, %y[%i] : memref<64xf32>
    } else {
      %e = memref.load %z[%i] : memref<64xf32>
      %f = arith.addf %e, %b : f32
      memref.store %f, %y[%i] : memref<64xf32>
    }
    gpu.return
  }

  // A tile that a loop writes again, at places that are not known behind it.
  gpu.func @rewritten(%y: memref<64xf32>, %v: f32, %n: index) kernel attributes {redfuse.reuse} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i = gpu.thread_id x
    %bytes = gpu.dynamic_shared_memory : memref<?xi8, #shared>
    %tile = memref.view %bytes[%c0][] : memref<?xi8, #shared> to memref<64xf32, #shared>
    memref.store %v, %tile[%i] : memref<64xf32, #shared>
    scf.for %j = %c0 to %n step %c1 {
      %w = memref.load %y[%j] : memref<64xf32>
      memref.store %w, %tile[%j] : memref<64xf32, #shared>
    }
    %a = memref.load %tile[%i] : memref<64xf32, #shared>
    memref.store %a, %y[%i] : memref<64xf32>
    gpu.return
  }

  // A tile that nobody reads here, in memory that the kernel was given: other blocks may read it.
  gpu.func @workspace(%bytes: memref<?xi8>, %v: f32) kernel attributes {redfuse.reuse} {
    %c0 = arith.constant 0 : index
    %i = gpu.thread_id x
    %tile = memref.view %bytes[%c0][] : memref<?xi8> to memref<64xf32>
    memref.store %v, %tile[%i] : memref<64xf32>
    gpu.return
  }
}
