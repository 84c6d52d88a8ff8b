// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-collapse-dims > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#r = affine_map<(i, j) -> (i)>

// Dims in another order, one of them alone, of an open extent, asked for by number, or reduced.
func.func @apart(%x: tensor<6x20xf32>, %y: tensor<20x6xf32>, %z: tensor<?x20xf32>, %v: tensor<6xf32>) -> (tensor<6x20xf32>, tensor<6x20xf32>, tensor<?x20xf32>, tensor<6x20xindex>, tensor<6xf32>) {
  %e = tensor.empty() : tensor<6x20xf32>
  %0 = redfuse.cascade {indexing_maps = [#x, #t, #x]} ins(%x, %y : tensor<6x20xf32>, tensor<20x6xf32>) outs(%e : tensor<6x20xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    redfuse.yield %s : f32
  } -> tensor<6x20xf32>
  %1 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%x, %v : tensor<6x20xf32>, tensor<6xf32>) outs(%e : tensor<6x20xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    redfuse.yield %s : f32
  } -> tensor<6x20xf32>
  %2 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%z : tensor<?x20xf32>) outs(%z : tensor<?x20xf32>) {
  ^bb0(%a: f32):
    %s = arith.negf %a : f32
    redfuse.yield %s : f32
  } -> tensor<?x20xf32>
  %f = tensor.empty() : tensor<6x20xindex>
  %3 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<6x20xf32>) outs(%f : tensor<6x20xindex>) {
  ^bb0(%a: f32):
    %s = redfuse.index 1
    redfuse.yield %s : index
  } -> tensor<6x20xindex>
  %g = tensor.empty() : tensor<6xf32>
  %4 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<6x20xf32>) outs(%g : tensor<6xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return %0, %1, %2, %3, %4 : tensor<6x20xf32>, tensor<6x20xf32>, tensor<?x20xf32>, tensor<6x20xindex>, tensor<6xf32>
}

#six = affine_map<(n, c, h, p, w, q) -> (n, c, h, p, w, q)>
#mixed = affine_map<(n, c, h, p, w, q) -> (n, h, w)>

// Each neighbour is folded, and stays.
func.func @mixed(%x: tensor<2x3x4x2x5x3xf32>) -> tensor<2x4x5xf32> {
  %e = tensor.empty() : tensor<2x4x5xf32>
  %r = redfuse.cascade {indexing_maps = [#six, #mixed]} ins(%x : tensor<2x3x4x2x5x3xf32>) outs(%e : tensor<2x4x5xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [1, 3, 5] into [0, 2, 4] : f32
    redfuse.yield %s : f32
  } -> tensor<2x4x5xf32>
  return %r : tensor<2x4x5xf32>
}

#some = affine_map<(i, j, k, l) -> (i)>

// Dims that no tensor has lie beside none.
func.func @of_no_tensor(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %0 = redfuse.cascade {indexing_maps = [#some, #some]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
