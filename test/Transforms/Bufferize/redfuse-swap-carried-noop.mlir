// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-swap-carried > %t.after
// RUN: diff %t.before %t.after

redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  redfuse.yield %x : tensor<4xf32>
}
redfuse.kernel @open attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<?xf32>, %o: tensor<?xf32>):
  redfuse.yield %x : tensor<?xf32>
}

// The state is copied in some rounds only: in the others the old one has to stay where it is.
func.func @maybe(%x: memref<4xf32>, %n: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc() : memref<4xf32>
    redfuse.launch @k ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
    scf.if %c {
      memref.copy %b, %a : memref<4xf32> to memref<4xf32>
      memref.dealloc %b : memref<4xf32>
    } else {
      memref.dealloc %b : memref<4xf32>
    }
  }
  memref.copy %a, %x : memref<4xf32> to memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  return
}

// The other buffer is not a round's own: what the last round made is read from it behind the loop.
func.func @beside(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    redfuse.launch @k ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
    memref.copy %b, %a : memref<4xf32> to memref<4xf32>
  }
  memref.copy %b, %y : memref<4xf32> to memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  memref.dealloc %b : memref<4xf32>
  return
}

// A round's buffer is as long as the number of the round: it cannot be allocated once.
func.func @grows(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc(%i) : memref<?xf32>
    %y = memref.subview %x[0] [%i] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
    redfuse.launch @open ins(%y : memref<?xf32, strided<[1]>>) outs(%b : memref<?xf32>)
    memref.copy %b, %y : memref<?xf32> to memref<?xf32, strided<[1]>>
    memref.dealloc %b : memref<?xf32>
  }
  return
}
