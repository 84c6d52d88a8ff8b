// Why folds have a merge of their own: upstream's splitting looks for one combiner
// op a result, and finds none in a maximum with its position (see @argmax of
// partial-reduction.mlir, which splits).
// RUN: not redfuse-opt %s -transform-interpreter 2>&1 | FileCheck %s

// CHECK: error: {{.*}}Failed to anaysis the reduction operation
func.func @argmax(%x: tensor<6x80xf32>, %m0: tensor<6xf32>, %p0: tensor<6xi64>) -> (tensor<6xf32>, tensor<6xi64>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x80xf32>) outs(%m0, %p0 : tensor<6xf32>, tensor<6xi64>) {
  ^bb0(%e: f32, %m: f32, %p: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %max = arith.maximumf %e, %m : f32
    %gt = arith.cmpf ogt, %e, %m : f32
    %at = arith.select %gt, %j, %p : i64
    linalg.yield %max, %at : f32, i64
  } -> (tensor<6xf32>, tensor<6xi64>)
  return %r#0, %r#1 : tensor<6xf32>, tensor<6xi64>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %f:2, %p, %m, %l = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
