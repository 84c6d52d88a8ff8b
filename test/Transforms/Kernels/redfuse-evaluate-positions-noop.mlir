// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-evaluate-positions > %t.after
// RUN: diff %t.before %t.after

#id = affine_map<(i) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>

// Of two positions, of what is read, of extents that are open or many, and what differs from place to place.
func.func @apart(%x: tensor<6x8xf32>, %t: tensor<8xindex>, %o: tensor<?xindex>, %l: tensor<5000xindex>) -> (tensor<6x8xi1>, tensor<8xi1>, tensor<?xi1>, tensor<5000xi1>, tensor<8xi1>) {
  %c4 = arith.constant 4 : index
  %c100 = arith.constant 10000 : index
  %c0 = arith.constant 0 : index
  %n = tensor.dim %o, %c0 : tensor<?xindex>
  %e0 = tensor.empty() : tensor<6x8xi1>
  %e1 = tensor.empty() : tensor<8xi1>
  %e2 = tensor.empty(%n) : tensor<?xi1>
  %e3 = tensor.empty() : tensor<5000xi1>
  %0 = redfuse.cascade {indexing_maps = [#ij]} outs(%e0 : tensor<6x8xi1>) {
    %i = redfuse.index 0
    %j = redfuse.index 1
    %s = arith.addi %i, %j : index
    %b = arith.cmpi ult, %s, %c100 : index
    redfuse.yield %b : i1
  } -> tensor<6x8xi1>
  %1 = redfuse.cascade {indexing_maps = [#id, #id]} ins(%t : tensor<8xindex>) outs(%e1 : tensor<8xi1>) {
  ^bb0(%a: index):
    %b = arith.cmpi ult, %a, %c4 : index
    redfuse.yield %b : i1
  } -> tensor<8xi1>
  %2 = redfuse.cascade {indexing_maps = [#id, #id]} ins(%o : tensor<?xindex>) outs(%e2 : tensor<?xi1>) {
  ^bb0(%a: index):
    %i = redfuse.index 0
    %b = arith.cmpi ult, %i, %c100 : index
    redfuse.yield %b : i1
  } -> tensor<?xi1>
  %3 = redfuse.cascade {indexing_maps = [#id]} outs(%e3 : tensor<5000xi1>) {
    %i = redfuse.index 0
    %b = arith.cmpi ult, %i, %c100 : index
    redfuse.yield %b : i1
  } -> tensor<5000xi1>
  %4 = redfuse.cascade {indexing_maps = [#id]} outs(%e1 : tensor<8xi1>) {
    %i = redfuse.index 0
    %b = arith.cmpi ult, %i, %c4 : index
    redfuse.yield %b : i1
  } -> tensor<8xi1>
  return %0, %1, %2, %3, %4 : tensor<6x8xi1>, tensor<8xi1>, tensor<?xi1>, tensor<5000xi1>, tensor<8xi1>
}

// There is no position.
func.func @empty() -> tensor<0xi1> {
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<0xi1>
  %r = redfuse.cascade {indexing_maps = [#id]} outs(%e : tensor<0xi1>) {
    %i = redfuse.index 0
    %b = arith.cmpi ult, %i, %c4 : index
    redfuse.yield %b : i1
  } -> tensor<0xi1>
  return %r : tensor<0xi1>
}
