//===- Passes.td - from linalg to cascades -----------------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_RAISE_PASSES_TD
#define REDFUSE_TRANSFORMS_RAISE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Raise : Pass<"redfuse-raise"> {
  let summary = "Raise every linalg.generic to a redfuse.cascade";
  let description = [{
    One to one: the inputs with their maps, the body cloned, `linalg.index` as
    `redfuse.index`, and each accumulation `yield(combine(out, f))` as a
    `redfuse.reduce` of f. A value and its index that are selected together
    become one argmax or argmin. Initial values that are not the identity of the
    reducer are combined after the reduction; the destinations of the cascade are
    never read. What cannot be raised stays and is listed in `redfuse.refused`.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
      %r = linalg.generic {indexing_maps = [#all, #row],
                           iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
      ^bb0(%a: f32, %sum: f32):
        %p = arith.mulf %a, %a : f32
        %s = arith.addf %sum, %p : f32
        linalg.yield %s : f32
      } -> tensor<5xf32>
      return %r : tensor<5xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
      %e = tensor.empty() : tensor<5xf32>
      %r = redfuse.cascade {indexing_maps = [#all, #row, #row]}
          ins(%x, %init : tensor<5x7xf32>, tensor<5xf32>)
          outs(%e : tensor<5xf32>) {
      ^bb0(%a: f32, %first: f32):
        %p = arith.mulf %a, %a : f32
        %sum = redfuse.reduce add %p over [1] into [0] : f32
        %s = arith.addf %first, %sum : f32
        redfuse.yield %s : f32
      } -> tensor<5xf32>
      return %r : tensor<5xf32>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
}

#endif // REDFUSE_TRANSFORMS_RAISE_PASSES_TD
