// RUN: redfuse-opt %s -redfuse-forward-copies -split-input-file | FileCheck %s

redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  redfuse.yield %x : tensor<4xf32>
}

// A round makes the next row from the one before; the buffer that it was made in is gone.

// CHECK-LABEL: func.func @rows
// CHECK-SAME:    (%[[N:.*]]: index)
// CHECK:         %[[ROWS:.*]] = memref.alloc() : memref<9x4xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           %[[OLD:.*]] = memref.subview %[[ROWS]][%[[I]], 0]
// CHECK:           %[[J:.*]] = arith.addi %[[I]]
// CHECK:           %[[NEW:.*]] = memref.subview %[[ROWS]][%[[J]], 0]
// CHECK:           redfuse.launch @k ins(%[[OLD]] : {{.*}}) outs(%[[NEW]] :
// CHECK-NOT:       memref.copy
// CHECK:         memref.dealloc %[[ROWS]]
func.func @rows(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  %rows = memref.alloc() : memref<9x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.subview %rows[%i, 0] [1, 4] [1, 1]
        : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    redfuse.launch @k ins(%x : memref<4xf32, strided<[1], offset: ?>>) outs(%a : memref<4xf32>)
    %j = arith.addi %i, %c1 : index
    %y = memref.subview %rows[%j, 0] [1, 4] [1, 1]
        : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    memref.copy %a, %y : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  }
  memref.dealloc %a : memref<4xf32>
  memref.dealloc %rows : memref<9x4xf32>
  return
}

// Loops that share a buffer have their own, which both lose.

// CHECK-LABEL: func.func @two_loops
// CHECK-NOT:     memref.alloc
// CHECK-COUNT-2: redfuse.launch @k ins(%{{.*}}) outs(%{{subview.*}} :
// CHECK-NOT:     memref.copy
func.func @two_loops(%rows: memref<9x4xf32>, %others: memref<9x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.subview %others[%i, 0] [1, 4] [1, 1]
        : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    redfuse.launch @k ins(%x : memref<4xf32, strided<[1], offset: ?>>) outs(%a : memref<4xf32>)
    %y = memref.subview %rows[%i, 0] [1, 4] [1, 1]
        : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    memref.copy %a, %y : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  }
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.subview %rows[%i, 0] [1, 4] [1, 1]
        : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    redfuse.launch @k ins(%x : memref<4xf32, strided<[1], offset: ?>>) outs(%a : memref<4xf32>)
    %y = memref.subview %others[%i, 0] [1, 4] [1, 1]
        : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    memref.copy %a, %y : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  }
  memref.dealloc %a : memref<4xf32>
  return
}

// A buffer that is used beside the loop as well, and written anew behind it.

// CHECK-LABEL: func.func @beside
// CHECK:         %[[A:.*]] = memref.alloc()
// CHECK:         redfuse.launch @k ins(%{{.*}}) outs(%[[A]] :
// CHECK:         memref.copy %[[A]]
// CHECK:         scf.for
// CHECK-NOT:       %[[A]]
// CHECK-NOT:       memref.copy
// CHECK:         }
// CHECK:         redfuse.launch @k ins(%{{.*}}) outs(%[[A]] :
// CHECK:         memref.copy %[[A]]
func.func @beside(%x: memref<4xf32>, %rows: memref<9x4xf32>, %y: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  redfuse.launch @k ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  memref.copy %a, %y : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    redfuse.launch @k ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
    %z = memref.subview %rows[%i, 0] [1, 4] [1, 1]
        : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    memref.copy %a, %z : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  }
  redfuse.launch @k ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  memref.copy %a, %y : memref<4xf32> to memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  return
}

// -----

redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  redfuse.yield %x : tensor<4xf32>
}

// Left: the row that is read may be the one that is written (%i and %j), or overlaps it.

// CHECK-LABEL: func.func @same_row
// CHECK-COUNT-2: memref.copy
// CHECK:         return
func.func @same_row(%rows: memref<9x4xf32>, %flat: memref<32xf32>, %i: index, %j: index) {
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<4xf32>
  %x = memref.subview %rows[%i, 0] [1, 4] [1, 1]
      : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
  redfuse.launch @k ins(%x : memref<4xf32, strided<[1], offset: ?>>) outs(%a : memref<4xf32>)
  %y = memref.subview %rows[%j, 0] [1, 4] [1, 1]
      : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
  memref.copy %a, %y : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  memref.dealloc %a : memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  %z = memref.subview %flat[%i] [4] [1] : memref<32xf32> to memref<4xf32, strided<[1], offset: ?>>
  redfuse.launch @k ins(%z : memref<4xf32, strided<[1], offset: ?>>) outs(%b : memref<4xf32>)
  %k = arith.addi %i, %c3 : index
  %w = memref.subview %flat[%k] [4] [1] : memref<32xf32> to memref<4xf32, strided<[1], offset: ?>>
  memref.copy %b, %w : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  memref.dealloc %b : memref<4xf32>
  return
}

// Left: what is made is read elsewhere, too; the place is read in between; it is no row-major box.

// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: memref.copy
// CHECK:         return
func.func @others(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>, %m: memref<4x9xf32>) {
  %a = memref.alloc() : memref<4xf32>
  redfuse.launch @k ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  memref.copy %a, %y : memref<4xf32> to memref<4xf32>
  redfuse.launch @k ins(%a : memref<4xf32>) outs(%z : memref<4xf32>)
  memref.dealloc %a : memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  redfuse.launch @k ins(%x : memref<4xf32>) outs(%b : memref<4xf32>)
  redfuse.launch @k ins(%y : memref<4xf32>) outs(%z : memref<4xf32>)
  memref.copy %b, %y : memref<4xf32> to memref<4xf32>
  memref.dealloc %b : memref<4xf32>
  %c = memref.alloc() : memref<4xf32>
  redfuse.launch @k ins(%x : memref<4xf32>) outs(%c : memref<4xf32>)
  %column = memref.subview %m[0, 2] [4, 1] [1, 1]
      : memref<4x9xf32> to memref<4xf32, strided<[9], offset: 2>>
  memref.copy %c, %column : memref<4xf32> to memref<4xf32, strided<[9], offset: 2>>
  memref.dealloc %c : memref<4xf32>
  return
}

// Left: what the last round made is read behind the loop.

// CHECK-LABEL: func.func @last
// CHECK:         %[[A:.*]] = memref.alloc()
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      redfuse.launch @k {{.*}} outs(%[[A]] :
// CHECK:         redfuse.launch @k ins(%[[A]] :
// CHECK-NEXT:    memref.dealloc %[[A]]
func.func @last(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    redfuse.launch @k ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  }
  redfuse.launch @k ins(%a : memref<4xf32>) outs(%y : memref<4xf32>)
  memref.dealloc %a : memref<4xf32>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
redfuse.kernel @sum attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  %0 = redfuse.cascade {indexing_maps = [#id, #id, #id]}
      ins(%x, %o : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    redfuse.yield %1 : f32
  } -> tensor<4xf32>
  redfuse.yield %0 : tensor<4xf32>
}

// Left: the kernel goes on from what its destination holds, so that rounds share it.

// CHECK-LABEL: func.func @goes_on
// CHECK:         scf.for
// CHECK:           redfuse.launch @sum {{.*}} outs(%alloc :
// CHECK:           memref.copy %alloc
func.func @goes_on(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    redfuse.launch @sum ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
    memref.copy %a, %y : memref<4xf32> to memref<4xf32>
  }
  memref.dealloc %a : memref<4xf32>
  return
}
