// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-forward-copies > %t.after
// RUN: diff %t.before %t.after

redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  redfuse.yield %x : tensor<4xf32>
}

// Two launches write what is copied: the second one has the last word.
func.func @written_twice(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  redfuse.launch @k ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  redfuse.launch @k ins(%y : memref<4xf32>) outs(%a : memref<4xf32>)
  memref.copy %a, %z : memref<4xf32> to memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  return
}

// The target is one of two buffers, and the launch may read just that one.
func.func @either(%c: i1, %x: memref<4xf32>, %y: memref<4xf32>) {
  %z = arith.select %c, %x, %y : memref<4xf32>
  %a = memref.alloc() : memref<4xf32>
  redfuse.launch @k ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  memref.copy %a, %z : memref<4xf32> to memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  return
}

// The copy is made on a condition, under which the launch is not.
func.func @maybe(%c: i1, %x: memref<4xf32>, %y: memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  redfuse.launch @k ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  scf.if %c {
    memref.copy %a, %y : memref<4xf32> to memref<4xf32>
  }
  memref.dealloc %a : memref<4xf32>
  return
}

// A view of the place is made behind the launch, at an index that is loaded there.
func.func @loaded(%x: memref<4xf32>, %at: memref<index>, %rows: memref<9x4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  redfuse.launch @k ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  %i = memref.load %at[] : memref<index>
  %y = memref.subview %rows[%i, 0] [1, 4] [1, 1]
      : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
  memref.copy %a, %y : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  memref.dealloc %a : memref<4xf32>
  return
}
