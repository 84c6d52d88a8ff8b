// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-bufferize-host > %t.after
// RUN: diff %t.before %t.after

#id = affine_map<(i) -> (i)>
#at = affine_map<() -> ()>

// The body of a kernel keeps its tensors, with what they are made of.
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  %e = tensor.empty() : tensor<4xf32>
  %r = redfuse.cascade {indexing_maps = [#id, #id]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<4xf32>
  redfuse.yield %r : tensor<4xf32>
}

// A function on buffers whose loop carries a buffer and a number: no round has to copy anything.
func.func @buffers(%x: memref<4xf32>, %y: memref<4xf32>, %n: index, %v: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y, %f = %v)
      -> (memref<4xf32>, memref<4xf32>, f32) {
    redfuse.launch @k ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
    %g = arith.addf %f, %f : f32
    scf.yield %b, %a, %g : memref<4xf32>, memref<4xf32>, f32
  }
  return %r#2 : f32
}

// A structured op of no loops that has an operand: its body is not what happens at that place.
func.func @point(%x: memref<i1>) {
  linalg.generic {indexing_maps = [#at], iterator_types = []} outs(%x : memref<i1>) {
  ^bb0(%c: i1):
    cf.assert %c, "wrong"
    linalg.yield %c : i1
  }
  return
}
