// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-selections-to-cpu > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// An argmax in a kernel: the kernel's own code finds it.
redfuse.kernel @largest attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<8x512xf32>, %o: tensor<8xindex>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x512xf32>) outs(%o : tensor<8xindex>) {
  ^bb0(%a: f32):
    %j = redfuse.index 1
    %b:2 = redfuse.reduce argmax %a, %j over [1] into [0] : f32, index
    redfuse.yield %b#1 : index
  } -> tensor<8xindex>
  redfuse.yield %r : tensor<8xindex>
}
func.func @launched(%x: memref<8x512xf32>, %o: memref<8xindex>) {
  redfuse.launch @largest ins(%x : memref<8x512xf32>) outs(%o : memref<8xindex>)
  return
}

// A sort by a comparison of the program's own, which no order of integers stands for.
func.func @sorted(%x: tensor<512xf32>) -> tensor<512xf32> {
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math.absf %a : f32
    %d = math.absf %b : f32
    %o = arith.cmpf ole, %c, %d : f32
    tm_tensor.yield %o : i1
  } -> tensor<512xf32>
  return %s : tensor<512xf32>
}

// Rows that are written to computed places are not put in any order.
func.func @scattered(%u: memref<512x1xi32>, %p: memref<512xi32>, %o: memref<64x1xi32>) {
  redfuse.scatter maxsi ins(%u, %p : memref<512x1xi32>, memref<512xi32>) outs(%o : memref<64x1xi32>)
  return
}
