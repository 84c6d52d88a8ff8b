// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-normalize-extensions | diff %t.before -

#id = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>

// Two users of what is extended, an extension from 16 bits, and one with more in its body.
func.func @others(%x: tensor<8xi8>, %y: tensor<8xi16>, %i: tensor<i32>) -> (tensor<8xi32>, tensor<i32>, tensor<i32>, tensor<i32>) {
  %e = tensor.empty() : tensor<8xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi8>) outs(%e : tensor<8xi32>) {
  ^bb0(%in: i8, %out: i32):
    %v = arith.extsi %in : i8 to i32
    linalg.yield %v : i32
  } -> tensor<8xi32>
  %1 = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction"]} ins(%0 : tensor<8xi32>) outs(%i : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %v = arith.addi %in, %out : i32
    linalg.yield %v : i32
  } -> tensor<i32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<8xi16>) outs(%e : tensor<8xi32>) {
  ^bb0(%in: i16, %out: i32):
    %v = arith.extsi %in : i16 to i32
    linalg.yield %v : i32
  } -> tensor<8xi32>
  %3 = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction"]} ins(%2 : tensor<8xi32>) outs(%i : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %v = arith.addi %in, %out : i32
    linalg.yield %v : i32
  } -> tensor<i32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi8>) outs(%e : tensor<8xi32>) {
  ^bb0(%in: i8, %out: i32):
    %v = arith.extsi %in : i8 to i32
    %w = arith.addi %v, %v : i32
    linalg.yield %w : i32
  } -> tensor<8xi32>
  %5 = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction"]} ins(%4 : tensor<8xi32>) outs(%i : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %v = arith.addi %in, %out : i32
    linalg.yield %v : i32
  } -> tensor<i32>
  return %0, %1, %3, %5 : tensor<8xi32>, tensor<i32>, tensor<i32>, tensor<i32>
}
