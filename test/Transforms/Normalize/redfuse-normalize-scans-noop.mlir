// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-normalize-scans > %t.after
// RUN: diff %t.before %t.after

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A prefix here is without its own element; that of a generic is with it.
func.func @exclusive(%x: tensor<5x7xf32>, %o: tensor<5x7xf32>, %last: tensor<5xf32>) -> tensor<5x7xf32> {
  %r:2 = tm_tensor.scan dimension(1) inclusive(false) ins(%x : tensor<5x7xf32>)
      outs(%o, %last : tensor<5x7xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tm_tensor.yield %s : f32
  } -> tensor<5x7xf32>, tensor<5xf32>
  return %r#0 : tensor<5x7xf32>
}

// A row may have no elements: its last prefix, which is read, is then what the destination holds.
func.func @last(%x: tensor<5x?xf32>, %o: tensor<5x?xf32>, %last: tensor<5xf32>) -> tensor<5xf32> {
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<5x?xf32>)
      outs(%o, %last : tensor<5x?xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tm_tensor.yield %s : f32
  } -> tensor<5x?xf32>, tensor<5xf32>
  return %r#1 : tensor<5xf32>
}

// The region is no known reducer's, and none is declared.
func.func @other(%x: tensor<5x7xf32>, %o: tensor<5x7xf32>, %last: tensor<5xf32>) -> tensor<5x7xf32> {
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<5x7xf32>)
      outs(%o, %last : tensor<5x7xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    %s = math.absf %m : f32
    tm_tensor.yield %s : f32
  } -> tensor<5x7xf32>, tensor<5xf32>
  return %r#0 : tensor<5x7xf32>
}

// Integers have the same sum in any order: their total need not be read from the prefixes to agree with them.
func.func @integers(%x: tensor<5x7xi32>, %init: tensor<5xi32>, %o: tensor<5x7xi32>)
    -> (tensor<5x7xi32>, tensor<5xi32>) {
  %r:2 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x7xi32>) outs(%init, %o : tensor<5xi32>, tensor<5x7xi32>) {
  ^bb0(%a: i32, %sum: i32, %u: i32):
    %s = arith.addi %sum, %a : i32
    linalg.yield %s, %s : i32, i32
  } -> (tensor<5xi32>, tensor<5x7xi32>)
  return %r#1, %r#0 : tensor<5x7xi32>, tensor<5xi32>
}
