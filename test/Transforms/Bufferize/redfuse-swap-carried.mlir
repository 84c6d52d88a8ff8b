// RUN: redfuse-opt %s -redfuse-swap-carried -split-input-file | FileCheck %s

redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  redfuse.yield %x : tensor<4xf32>
}

// The state of a round is read by the next one, from one of two buffers.

// CHECK-LABEL: func.func @state
// CHECK-SAME:    (%[[X:.*]]: memref<4xf32>, %[[N:.*]]: index)
// CHECK:         %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK:         %[[B:.*]] = memref.alloc() : memref<4xf32>
// CHECK:         memref.copy %[[X]], %[[A]]
// CHECK:         %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[S:.*]] = %[[A]], %[[T:.*]] = %[[B]])
// CHECK-NEXT:      redfuse.launch @k ins(%[[S]] : memref<4xf32>) outs(%[[T]] : memref<4xf32>)
// CHECK-NEXT:      scf.yield %[[T]], %[[S]]
// CHECK:         memref.copy %[[R]]#0, %[[X]]
// CHECK-DAG:     memref.dealloc %[[A]]
// CHECK-DAG:     memref.dealloc %[[B]]
func.func @state(%x: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc() : memref<4xf32>
    redfuse.launch @k ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
    memref.copy %b, %a : memref<4xf32> to memref<4xf32>
    memref.dealloc %b : memref<4xf32>
  }
  memref.copy %a, %x : memref<4xf32> to memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  return
}

// Extents that are known when the program runs, and what the loop carries besides.

// CHECK-LABEL: func.func @open
// CHECK-SAME:    (%{{.*}}, %[[N:.*]]: index, %[[V:.*]]: f32) -> f32
// CHECK:         memref.alloc(%[[N]])
// CHECK:         memref.alloc(%[[N]])
// CHECK:         %[[R:.*]]:3 = scf.for {{.*}} iter_args(%[[F:.*]] = %[[V]], %[[S:.*]] = %{{.*}}, %[[T:.*]] = %{{.*}})
// CHECK-NOT:       memref.copy
// CHECK:           scf.yield %{{.*}}, %[[T]], %[[S]]
// CHECK:         return %[[R]]#0
redfuse.kernel @open_k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<?xf32>, %o: tensor<?xf32>):
  redfuse.yield %x : tensor<?xf32>
}
func.func @open(%x: memref<?xf32>, %n: index, %v: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc(%n) : memref<?xf32>
  memref.copy %x, %a : memref<?xf32> to memref<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%f = %v) -> f32 {
    %b = memref.alloc(%n) : memref<?xf32>
    redfuse.launch @open_k ins(%a : memref<?xf32>) outs(%b : memref<?xf32>)
    memref.copy %b, %a : memref<?xf32> to memref<?xf32>
    memref.dealloc %b : memref<?xf32>
    %g = arith.addf %f, %f : f32
    scf.yield %g : f32
  }
  memref.copy %a, %x : memref<?xf32> to memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return %r : f32
}

// A buffer of a round is allocated once.

// CHECK-LABEL: func.func @scratch
// CHECK:         %[[B:.*]] = memref.alloc()
// CHECK-NEXT:    scf.for
// CHECK-NOT:       memref.alloc
// CHECK:         }
// CHECK-NEXT:    memref.dealloc %[[B]]
func.func @scratch(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc() : memref<4xf32>
    redfuse.launch @k ins(%x : memref<4xf32>) outs(%b : memref<4xf32>)
    redfuse.launch @k ins(%b : memref<4xf32>) outs(%y : memref<4xf32>)
    memref.dealloc %b : memref<4xf32>
  }
  return
}

// Left: the state is read behind the copy; it is the caller's; a view of it goes around the loop.

// CHECK-LABEL: func.func @left
// CHECK-COUNT-3: memref.copy
// CHECK:         return
func.func @left(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  %c = memref.alloc() : memref<4xf32>
  %view = memref.expand_shape %c [[0, 1]] output_shape [2, 2]
      : memref<4xf32> into memref<2x2xf32>
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc() : memref<4xf32>
    redfuse.launch @k ins(%x : memref<4xf32>) outs(%b : memref<4xf32>)
    memref.copy %b, %a : memref<4xf32> to memref<4xf32>
    redfuse.launch @k ins(%a : memref<4xf32>) outs(%y : memref<4xf32>)
    memref.dealloc %b : memref<4xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc() : memref<4xf32>
    redfuse.launch @k ins(%x : memref<4xf32>) outs(%b : memref<4xf32>)
    memref.copy %b, %x : memref<4xf32> to memref<4xf32>
    memref.dealloc %b : memref<4xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc() : memref<4xf32>
    redfuse.launch @k ins(%c : memref<4xf32>) outs(%b : memref<4xf32>)
    memref.copy %b, %c : memref<4xf32> to memref<4xf32>
    memref.dealloc %b : memref<4xf32>
  }
  %z = memref.load %view[%c0, %c1] : memref<2x2xf32>
  memref.store %z, %y[%c0] : memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  memref.dealloc %c : memref<4xf32>
  return
}

// -----

// Of an open extent, it has no elements where the loop has no rounds: the extent may be any then.
// CHECK-LABEL: func.func @open_extent
// CHECK-SAME: %[[N:[^:]+]]: index, %[[M:[^:]+]]: index
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %{{.*}}, %[[N]] : index
// CHECK: %[[SIZE:.*]] = arith.select %[[RUNS]], %[[M]], %{{.*}} : index
// CHECK: memref.alloc(%[[SIZE]])
// CHECK: scf.for
redfuse.kernel @k attributes {num_inputs = 0 : i64} {
^bb0(%o: tensor<?xf32>):
  redfuse.yield %o : tensor<?xf32>
}
func.func @open_extent(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc(%m) : memref<?xf32>
    redfuse.launch @k outs(%b : memref<?xf32>)
    memref.dealloc %b : memref<?xf32>
  }
  return
}

// -----

// A round that may stop before it allocates does so itself.
// CHECK-LABEL: func.func @stops
// CHECK: scf.for
// CHECK: cf.assert
// CHECK: memref.alloc
redfuse.kernel @k attributes {num_inputs = 0 : i64} {
^bb0(%o: tensor<?xf32>):
  redfuse.yield %o : tensor<?xf32>
}
func.func @stops(%n: index, %m: index, %valid: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    cf.assert %valid, "negative extent"
    %b = memref.alloc(%m) : memref<?xf32>
    redfuse.launch @k outs(%b : memref<?xf32>)
    memref.dealloc %b : memref<?xf32>
  }
  return
}

// -----

// Bounds without a sign are compared as the loop compares them.
// CHECK-LABEL: func.func @unsigned
// CHECK: %[[RUNS:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : index
// CHECK: arith.select %[[RUNS]]
// CHECK: memref.alloc(
// CHECK: scf.for unsigned
redfuse.kernel @k attributes {num_inputs = 0 : i64} {
^bb0(%o: tensor<?xf32>):
  redfuse.yield %o : tensor<?xf32>
}
func.func @unsigned(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for unsigned %i = %c0 to %n step %c1 {
    %b = memref.alloc(%m) : memref<?xf32>
    redfuse.launch @k outs(%b : memref<?xf32>)
    memref.dealloc %b : memref<?xf32>
  }
  return
}
