// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-share-kernels > %t.after
// RUN: diff %t.before %t.after

// A kernel that several launches run is not compared: each of those may take it in another way.
func.func @several(%x: memref<8xf32>, %y: memref<8xf32>, %out: memref<8xf32>) {
  redfuse.launch @twice ins(%x : memref<8xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @twice ins(%y : memref<8xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @once ins(%x : memref<8xf32>) outs(%out : memref<8xf32>)
  return
}
redfuse.kernel @twice attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
  redfuse.yield %x : tensor<8xf32>
}
redfuse.kernel @once attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
  redfuse.yield %x : tensor<8xf32>
}

// A kernel that no launch runs: nobody knows for which buffers.
redfuse.kernel @unused attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
  redfuse.yield %x : tensor<8xf32>
}

// What one kernel writes is what it reads, and that of the other is another buffer.
func.func @in_place(%x: memref<8xi32>, %y: memref<8xi32>) {
  redfuse.launch @apart ins(%x : memref<8xi32>) outs(%y : memref<8xi32>)
  redfuse.launch @same ins(%y : memref<8xi32>) outs(%y : memref<8xi32>)
  return
}
redfuse.kernel @apart attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<8xi32>, %o: tensor<8xi32>):
  redfuse.yield %x : tensor<8xi32>
}
redfuse.kernel @same attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<8xi32>, %o: tensor<8xi32>):
  redfuse.yield %x : tensor<8xi32>
}

// Kernels that differ in a constant alone.
#x = affine_map<(i) -> (i)>
func.func @constants(%x: memref<4xf32>, %out: memref<4xf32>) {
  redfuse.launch @doubled ins(%x : memref<4xf32>) outs(%out : memref<4xf32>)
  redfuse.launch @halved ins(%x : memref<4xf32>) outs(%out : memref<4xf32>)
  return
}
redfuse.kernel @doubled attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<4xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: f32):
    %c = arith.constant 2.0 : f32
    %b = arith.mulf %a, %c : f32
    redfuse.yield %b : f32
  } -> tensor<4xf32>
  redfuse.yield %r : tensor<4xf32>
}
redfuse.kernel @halved attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<4xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: f32):
    %c = arith.constant 0.5 : f32
    %b = arith.mulf %a, %c : f32
    redfuse.yield %b : f32
  } -> tensor<4xf32>
  redfuse.yield %r : tensor<4xf32>
}
