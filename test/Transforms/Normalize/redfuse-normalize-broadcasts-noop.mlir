// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-normalize-broadcasts > %t.after
// RUN: diff %t.before %t.after

#id = affine_map<(i) -> (i)>

// An index is the double of the loop's: a part that is read in steps is no operand.
func.func @steps(%x: tensor<9xf32>) -> tensor<4xf32> {
  %c2 = arith.constant 2 : index
  %empty = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %at = arith.muli %i, %c2 : index
    %v = tensor.extract %x[%at] : tensor<9xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The last round reads one element too far.
func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  %empty = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %at = arith.addi %i, %c1 : index
    %v = tensor.extract %x[%at] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// There may be no element at 0.
func.func @none(%x: tensor<?xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %empty = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<4xf32>) {
  ^bb0(%o: f32):
    %v = tensor.extract %x[%c0] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The index is 0 where another tensor has one element, not the one that is read.
func.func @others(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %y, %c0 : tensor<?xf32>
  %single = arith.cmpi eq, %d, %c1 : index
  %empty = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %at = arith.select %single, %c0, %i : index
    %v = tensor.extract %x[%at] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
