// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-normalize-selections > %t.after
// RUN: diff %t.before %t.after

// The order of magnitudes is not that of numbers.
func.func @magnitudes(%x: tensor<9xf32>) -> tensor<9xf32> {
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    %u = math.absf %a : f32
    %v = math.absf %b : f32
    %o = arith.cmpf ole, %u, %v : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>
  return %s : tensor<9xf32>
}

// Positions of two types are wanted: one selection has those of one.
func.func @types(%x: tensor<9xf32>) -> (tensor<9xi32>, tensor<9xi64>) {
  %short = tensor.empty() : tensor<9xi32>
  %long = tensor.empty() : tensor<9xi64>
  %p = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%short : tensor<9xi32>) {
  ^bb0(%o: i32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    linalg.yield %n : i32
  } -> tensor<9xi32>
  %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%long : tensor<9xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    linalg.yield %n : i64
  } -> tensor<9xi64>
  %s:3 = tm_tensor.sort dimension(0) outs(%x, %p, %q : tensor<9xf32>, tensor<9xi32>, tensor<9xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32, %e: i64, %f: i64):
    %o = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>, tensor<9xi32>, tensor<9xi64>
  return %s#1, %s#2 : tensor<9xi32>, tensor<9xi64>
}

// Sixteen ranks are few enough to insert each element in their list.
func.func @few(%x: tensor<4x3000xf32>) -> tensor<4x16xf32> {
  %v = tensor.empty() : tensor<4x16xf32>
  %w = tensor.empty() : tensor<4x16xi64>
  %t:2 = tm_tensor.topk dimension(1) ins(%x : tensor<4x3000xf32>) outs(%v, %w : tensor<4x16xf32>, tensor<4x16xi64>) {
  ^bb0(%new: f32, %placed: f32):
    %o = arith.cmpf ogt, %new, %placed : f32
    tm_tensor.yield %o : i1
  } -> tensor<4x16xf32>, tensor<4x16xi64>
  return %t#0 : tensor<4x16xf32>
}

// Rows may have fewer elements than there are ranks, and the destination holds what the other ranks keep.
func.func @short(%x: tensor<4x?xf32>, %v: tensor<4x100xf32>) -> tensor<4x100xf32> {
  %w = tensor.empty() : tensor<4x100xi64>
  %t:2 = tm_tensor.topk dimension(1) ins(%x : tensor<4x?xf32>) outs(%v, %w : tensor<4x100xf32>, tensor<4x100xi64>) {
  ^bb0(%new: f32, %placed: f32):
    %o = arith.cmpf ogt, %new, %placed : f32
    tm_tensor.yield %o : i1
  } -> tensor<4x100xf32>, tensor<4x100xi64>
  return %t#0 : tensor<4x100xf32>
}
