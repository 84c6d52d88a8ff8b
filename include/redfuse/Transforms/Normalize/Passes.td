//===- Passes.td - the passes of layer 1 -------------------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_NORMALIZE_PASSES_TD
#define REDFUSE_TRANSFORMS_NORMALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

// Layer 1: normalise ----------------------------------------------------------

class NormalizePass<string flag> : Pass<"redfuse-normalize-" # flag> {
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::cf::ControlFlowDialect", "mlir::linalg::LinalgDialect",
    "mlir::math::MathDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect"];
}

def NormalizeTransposes : NormalizePass<"transposes"> {
  let summary = "Make linalg.generic of linalg.transpose, pad what is packed";
  let description = [{
    First of all: upstream folds a transpose of a transpose to what was there before
    both, of whatever type that is, and asserts where extents are known of one of
    them alone; and it folds a packed constant to that constant, without its padding.

    ```mlir
    func.func @f(%x: tensor<2x3xf32>, %e: tensor<3x2xf32>) -> tensor<3x2xf32> {
      %0 = linalg.transpose ins(%x : tensor<2x3xf32>) outs(%e : tensor<3x2xf32>) permutation = [1, 0]
      return %0 : tensor<3x2xf32>
    }
    ```

    becomes

    ```mlir
    #from = affine_map<(d0, d1) -> (d1, d0)>
    #to = affine_map<(d0, d1) -> (d0, d1)>
    func.func @f(%x: tensor<2x3xf32>, %e: tensor<3x2xf32>) -> tensor<3x2xf32> {
      %0 = linalg.generic {indexing_maps = [#from, #to], iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<2x3xf32>) outs(%e : tensor<3x2xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<3x2xf32>
      return %0 : tensor<3x2xf32>
    }
    ```
  }];
}

def SplitConcats : Pass<"redfuse-split-concats"> {
  let summary = "Reduce over a long tensor and a few elements beside it by themselves";
  let description = [{
    Where what is made of a concatenation of a long tensor and at most eight elements ends
    in reductions over it, and in slices of one of its parts (or in whole parts alone), the parts go their own ways:
    the long one is reduced, and each element is added to the result. Softmax with a sink
    is then one over as many scores as there are keys. `linalg.generic` is followed, and reshapes that leave the axis.

    ```mlir
    #x = affine_map<(i, j) -> (i, j)>
    #r = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<4x64xf32>, %s: tensor<4x1xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
      %c = tensor.concat dim(1) %x, %s : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x65xf32>
      %r = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]}
          ins(%c : tensor<4x65xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %m = arith.maximumf %a, %o : f32
        linalg.yield %m : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    ```

    becomes

    ```mlir
    #x = affine_map<(i, j) -> (i, j)>
    #r = affine_map<(i, j) -> (i)>
    #i = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<4x64xf32>, %s: tensor<4x1xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
      %l = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<4x64xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %m = arith.maximumf %a, %o : f32
        linalg.yield %m : f32
      } -> tensor<4xf32>
      %s0 = tensor.extract_slice %s[0, 0] [4, 1] [1, 1] : tensor<4x1xf32> to tensor<4xf32>
      %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]}
          ins(%s0 : tensor<4xf32>) outs(%l : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %m = arith.maximumf %a, %o : f32
        linalg.yield %m : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect"];
}

def NormalizeGeneralize : NormalizePass<"generalize"> {
  let summary = "Rewrite every structured op as linalg.generic";
  let description = [{
    Later passes read one op instead of dozens. Named linalg ops (matmuls,
    convolutions, poolings, reduce, map, transpose, broadcast, ...) become
    `linalg.generic`; `linalg.softmax` and torch-mlir's `tm_tensor.attention` are
    decomposed; a concatenation is a choice by position; element-wise `arith` and
    `math` ops on tensors and `tensor.generate` become generics too. A choice of
    whole tensors of open extents becomes a branch. Only `linalg.fill` keeps its
    name: it says "a scalar".

    ```mlir
    func.func @f(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>, %c: tensor<5x3xf32>)
        -> tensor<5x3xf32> {
      %r = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x3xf32>)
                         outs(%c : tensor<5x3xf32>) -> tensor<5x3xf32>
      return %r : tensor<5x3xf32>
    }
    ```

    becomes

    ```mlir
    #a = affine_map<(i, j, k) -> (i, k)>
    #b = affine_map<(i, j, k) -> (k, j)>
    #c = affine_map<(i, j, k) -> (i, j)>
    func.func @f(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>, %c: tensor<5x3xf32>)
        -> tensor<5x3xf32> {
      %r = linalg.generic {indexing_maps = [#a, #b, #c],
                           iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : tensor<5x7xf32>, tensor<7x3xf32>) outs(%c : tensor<5x3xf32>) {
      ^bb0(%x: f32, %y: f32, %sum: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %sum, %p : f32
        linalg.yield %s : f32
      } -> tensor<5x3xf32>
      return %r : tensor<5x3xf32>
    }
    ```
  }];
}

def NormalizeDeadResults : NormalizePass<"dead-results"> {
  let summary = "Drop results, operands and bodies nobody uses";
  let description = [{
    torch-mlir computes the argmax with every max; when nobody reads the index
    the generic becomes a plain max. Duplicated and unused operands go too, and
    an `outs` whose value is not read becomes a `tensor.empty`.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>)
        -> tensor<?xf32> {
      %r:2 = linalg.generic {indexing_maps = [#id, #id, #id],
                             iterator_types = ["parallel"]}
          ins(%x : tensor<?xf32>) outs(%y, %z : tensor<?xf32>, tensor<?xf32>) {
      ^bb0(%a: f32, %u: f32, %v: f32):
        %p = arith.addf %a, %u : f32
        %q = arith.mulf %a, %v : f32
        linalg.yield %p, %q : f32, f32
      } -> (tensor<?xf32>, tensor<?xf32>)
      return %r#0 : tensor<?xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>)
        -> tensor<?xf32> {
      %r = linalg.generic {indexing_maps = [#id, #id],
                           iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) {
      ^bb0(%a: f32, %u: f32):
        %p = arith.addf %a, %u : f32
        linalg.yield %p : f32
      } -> tensor<?xf32>
      return %r : tensor<?xf32>
    }
    ```
  }];
}

def NormalizeConstants : NormalizePass<"constants"> {
  let summary = "Move constants and fills into the scalar bodies";
  let description = [{
    Splat and 0-d constant tensors and `linalg.fill`s read by a generic become
    scalars in its body; a generic or a splat constant that only writes one
    scalar becomes a `linalg.fill`; floating point casts of constants fold. A
    constant table of integers that is a sum of multiples of its own positions is computed from them.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
      %two = arith.constant dense<2.0> : tensor<8xf32>
      %r = linalg.generic {indexing_maps = [#id, #id, #id],
                           iterator_types = ["parallel"]}
          ins(%x, %two : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32, %b: f32, %out: f32):
        %p = arith.mulf %a, %b : f32
        linalg.yield %p : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
      %two = arith.constant 2.0 : f32
      %r = linalg.generic {indexing_maps = [#id, #id],
                           iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32, %out: f32):
        %p = arith.mulf %a, %two : f32
        linalg.yield %p : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    ```
  }];
}

def NormalizeUnitDims : NormalizePass<"unit-dims"> {
  let summary = "Drop loops and tensor dims of static extent one";
  let description = [{
    A dim of one element says nothing: a reduction that keeps its dim
    (`keepdim`) and one that drops it become the same generic. The tensors at
    the edges are reshaped, which redfuse-normalize-reshapes then moves away.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #kept = affine_map<(i, j) -> (i, 0)>
    func.func @f(%x: tensor<5x7xf32>, %e: tensor<5x1xf32>) -> tensor<5x1xf32> {
      %r = linalg.generic {indexing_maps = [#all, #kept],
                           iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<5x7xf32>) outs(%e : tensor<5x1xf32>) {
      ^bb0(%a: f32, %sum: f32):
        %s = arith.addf %sum, %a : f32
        linalg.yield %s : f32
      } -> tensor<5x1xf32>
      return %r : tensor<5x1xf32>
    }
    ```

    becomes

    ```mlir
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<5x7xf32>, %e: tensor<5x1xf32>) -> tensor<5x1xf32> {
      %d = tensor.collapse_shape %e [[0, 1]] : tensor<5x1xf32> into tensor<5xf32>
      %s = linalg.generic {indexing_maps = [#all, #row],
                           iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<5x7xf32>) outs(%d : tensor<5xf32>) {
      ^bb0(%a: f32, %sum: f32):
        %s = arith.addf %sum, %a : f32
        linalg.yield %s : f32
      } -> tensor<5xf32>
      %r = tensor.expand_shape %s [[0, 1]] output_shape [5, 1]
           : tensor<5xf32> into tensor<5x1xf32>
      return %r : tensor<5x1xf32>
    }
    ```
  }];
}

def NormalizeReshapes : NormalizePass<"reshapes"> {
  let summary = "Push expand_shape and collapse_shape to the function's edges";
  let description = [{
    A reshape beside a generic is folded by expanding the generic's loops (and by
    collapsing them where they cannot be expanded), until none is left between
    two computing ops, which could not be fused across it. Dims that are
    collapsed and expanded across each other are first cut into what both are made of.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<2x3xf32>, %e: tensor<6xf32>) -> tensor<2x3xf32> {
      %flat = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
      %y = linalg.generic {indexing_maps = [#id, #id],
                           iterator_types = ["parallel"]}
          ins(%flat : tensor<6xf32>) outs(%e : tensor<6xf32>) {
      ^bb0(%a: f32, %out: f32):
        %p = math.exp %a : f32
        linalg.yield %p : f32
      } -> tensor<6xf32>
      %r = tensor.expand_shape %y [[0, 1]] output_shape [2, 3]
           : tensor<6xf32> into tensor<2x3xf32>
      return %r : tensor<2x3xf32>
    }
    ```

    becomes

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    func.func @f(%x: tensor<2x3xf32>, %e: tensor<6xf32>) -> tensor<2x3xf32> {
      %d = tensor.expand_shape %e [[0, 1]] output_shape [2, 3]
           : tensor<6xf32> into tensor<2x3xf32>
      %r = linalg.generic {indexing_maps = [#all, #all],
                           iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<2x3xf32>) outs(%d : tensor<2x3xf32>) {
      ^bb0(%a: f32, %out: f32):
        %p = math.exp %a : f32
        linalg.yield %p : f32
      } -> tensor<2x3xf32>
      return %r : tensor<2x3xf32>
    }
    ```
  }];
}

def NormalizeViews : NormalizePass<"views"> {
  let summary = "Fold transposes, broadcasts, copies and slices into indexing maps";
  let description = [{
    A generic that only yields one of its inputs, and a `tensor.extract_slice`
    with static offsets and strides, disappear into the indexing maps of their
    readers. A slice reads `d + offset`; where the offset is zero but the extent
    is smaller than the operand's, the map reads `d mod extent-of-the-slice`,
    because linalg takes a plain `d` as a statement about the loop's extent.
    Unit dims that were added to what is computed here are not read at all.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    func.func @f(%x: tensor<6x9xf32>, %e: tensor<4x3xf32>) -> tensor<4x3xf32> {
      %s = tensor.extract_slice %x[0, 2] [4, 3] [1, 1]
           : tensor<6x9xf32> to tensor<4x3xf32>
      %r = linalg.generic {indexing_maps = [#all, #all],
                           iterator_types = ["parallel", "parallel"]}
          ins(%s : tensor<4x3xf32>) outs(%e : tensor<4x3xf32>) {
      ^bb0(%a: f32, %out: f32):
        %p = math.exp %a : f32
        linalg.yield %p : f32
      } -> tensor<4x3xf32>
      return %r : tensor<4x3xf32>
    }
    ```

    becomes

    ```mlir
    #slice = affine_map<(i, j) -> (i mod 4, j + 2)>
    func.func @f(%x: tensor<6x9xf32>, %e: tensor<4x3xf32>) -> tensor<4x3xf32> {
      %r = linalg.generic {indexing_maps = [#slice, #all],
                           iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<6x9xf32>) outs(%e : tensor<4x3xf32>) {
      ^bb0(%a: f32, %out: f32):
        %p = math.exp %a : f32
        linalg.yield %p : f32
      } -> tensor<4x3xf32>
      return %r : tensor<4x3xf32>
    }
    ```
  }];
}

def NormalizeSorts : NormalizePass<"sorts"> {
  let summary = "Turn sorts cut to their first k elements into top-k";
  let description = [{
    A top-k is a reduction and can be fused, a sort cannot. `tm_tensor.sort`
    whose results are read only through slices of the first k elements along the
    sorted dimension becomes `tm_tensor.topk`; positions that were sorted along are then implied.

    ```mlir
    func.func @f(%x: tensor<9xf32>, %i: tensor<9xi64>) -> tensor<3xi64> {
      %s:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<9xf32>, tensor<9xi64>) {
      ^bb0(%a: f32, %b: f32, %p: i64, %q: i64):
        %ordered = arith.cmpf oge, %a, %b : f32
        tm_tensor.yield %ordered : i1
      } -> tensor<9xf32>, tensor<9xi64>
      %r = tensor.extract_slice %s#1[0] [3] [1] : tensor<9xi64> to tensor<3xi64>
      return %r : tensor<3xi64>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<9xf32>, %i: tensor<9xi64>) -> tensor<3xi64> {
      %v = tensor.empty() : tensor<3xf32>
      %w = tensor.empty() : tensor<3xi64>
      %t:2 = tm_tensor.topk dimension(0) ins(%x, %i : tensor<9xf32>, tensor<9xi64>)
          outs(%v, %w : tensor<3xf32>, tensor<3xi64>) {
      ^bb0(%new: f32, %placed: f32):
        %before = arith.cmpf ult, %placed, %new : f32
        tm_tensor.yield %before : i1
      } -> tensor<3xf32>, tensor<3xi64>
      return %t#1 : tensor<3xi64>
    }
    ```
  }];
  let dependentDialects = ["::redfuse::tm_tensor::TMTensorDialect",
    "mlir::arith::ArithDialect", "mlir::tensor::TensorDialect"];
}

def NormalizeSelections : NormalizePass<"selections"> {
  let summary = "Turn sorts, and top-k of many ranks, into redfuse.select";
  let description = [{
    After `redfuse-normalize-sorts`. A top-k is a reduction that inserts each element in
    a list of k, which takes O(n k) and can be fused with what is around it. Where
    that takes longer than kernels of its own (`Analysis/CostConstants.h`: many ranks, or on a GPU
    some ranks of long rows), and for every `tm_tensor.sort` that is left, if its
    region is the order of numbers or its reverse, the elements are selected by
    `redfuse.select`: only of the ranks that are used, along the last dim. Another dim
    changes places with it. What is sorted along and is no position is gathered. On a GPU
    the first ranks of few long rows are selected from pieces of them, and then from what these give.

    ```mlir
    func.func @f(%x: tensor<9xf32>) -> tensor<9xf32> {
      %s = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
      ^bb0(%a: f32, %b: f32):
        %ordered = arith.cmpf oge, %a, %b : f32
        tm_tensor.yield %ordered : i1
      } -> tensor<9xf32>
      return %s : tensor<9xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<9xf32>) -> tensor<9xf32> {
      %v = tensor.empty() : tensor<9xf32>
      %s = redfuse.select ins(%x : tensor<9xf32>) values(%v : tensor<9xf32>)
          {descending} -> tensor<9xf32>
      return %s : tensor<9xf32>
    }
    ```
  }];
  let dependentDialects = ["::redfuse::RedfuseDialect", "mlir::arith::ArithDialect",
    "mlir::linalg::LinalgDialect", "mlir::tensor::TensorDialect"];
}

def NormalizeScans : NormalizePass<"scans"> {
  let summary = "Turn tm_tensor.scan into a generic with a result for every prefix";
  let description = [{
    In a generic with one reduction dim, a result whose map has that dim is
    written at every step: it holds what the accumulators are so far. An
    inclusive `tm_tensor.scan` by a known reducer becomes such a generic, whose
    other result is the last element of each row. Where every prefix is a result of
    the function, a total that the same value is yielded for is the last prefix.

    ```mlir
    func.func @f(%x: tensor<5x7xf32>, %y: tensor<5x7xf32>, %last: tensor<5xf32>)
        -> tensor<5x7xf32> {
      %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<5x7xf32>)
          outs(%y, %last : tensor<5x7xf32>, tensor<5xf32>) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        tm_tensor.yield %s : f32
      } -> tensor<5x7xf32>, tensor<5xf32>
      return %r#0 : tensor<5x7xf32>
    }
    ```

    becomes

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<5x7xf32>, %y: tensor<5x7xf32>, %last: tensor<5xf32>)
        -> tensor<5x7xf32> {
      // ... %zeros is filled with zeros, %e is empty
      %r:2 = linalg.generic {indexing_maps = [#all, #row, #all],
                             iterator_types = ["parallel", "reduction"]} ins(%x : tensor<5x7xf32>)
          outs(%zeros, %e : tensor<5xf32>, tensor<5x7xf32>) {
      ^bb0(%a: f32, %sum: f32, %out: f32):
        %s = arith.addf %sum, %a : f32
        linalg.yield %s, %s : f32, f32
      } -> (tensor<5xf32>, tensor<5x7xf32>)
      return %r#1 : tensor<5x7xf32>
    }
    ```
  }];
  let dependentDialects = ["::redfuse::tm_tensor::TMTensorDialect",
    "mlir::arith::ArithDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect"];
}

def NormalizeCombiners : NormalizePass<"combiners"> {
  let summary = "Turn declared reducers of generics into redfuse.combine";
  let description = [{
    A generic with `redfuse.combiner = {identity = [...], ordered}` has k
    identities, k inputs and k accumulators (its first k results). What its body
    yields for them, from the accumulators and the inputs alone, is the combining
    region of a declared reducer: left the accumulators, right the inputs.
    Without `ordered` it has to be commutative, too. Whatever does not fit is
    noted in `redfuse.refused`, and the generic stays an ordinary loop.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
      %r = linalg.generic {indexing_maps = [#all, #row],
                           iterator_types = ["parallel", "reduction"],
                           redfuse.combiner = {identity = [0.0 : f32], ordered}}
          ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
      ^bb0(%a: f32, %acc: f32):
        %s = arith.addf %acc, %a : f32
        linalg.yield %s : f32
      } -> tensor<5xf32>
      return %r : tensor<5xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
      %r = linalg.generic {indexing_maps = [#all, #row],
                           iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
      ^bb0(%a: f32, %acc: f32):
        %c = redfuse.combine %acc, %a {identities = [0.0 : f32], ordered}
             : (f32, f32) -> f32 {
        ^bb0(%left: f32, %right: f32):
          %s = arith.addf %left, %right : f32
          redfuse.yield %s : f32
        }
        linalg.yield %c : f32
      } -> tensor<5xf32>
      return %r : tensor<5xf32>
    }
    ```
  }];
  let dependentDialects = ["::redfuse::RedfuseDialect"];
}

def NormalizeExtents : NormalizePass<"extents"> {
  let summary = "Simplify arithmetic on extents";
  let description = [{
    What the type of a pad or of a collapsed tensor tells of its extents is told of
    its source, too: a pad of `tensor<?xf32>` by one to `tensor<6xf32>` is one of
    `tensor<5xf32>`, behind a `tensor.cast`. That the extents are so is asserted by
    `redfuse-check-accesses`.

    Extents and their products, numbers of elements, are not negative and do not
    wrap; a product divided by some of its factors is the product of the others.
    So the sizes of dynamic reshapes and the assertions about them, which ask
    for a dim of -1 wherever there could be one, become products of extents.

    ```mlir
    func.func @f(%x: tensor<?x?xf32>) -> (i1, index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
      %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
      %all = arith.muli %rows, %columns : index
      %negative = arith.cmpi slt, %all, %c0 : index
      %others = arith.divsi %all, %rows : index
      return %negative, %others : i1, index
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<?x?xf32>) -> (i1, index) {
      %c1 = arith.constant 1 : index
      %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
      %false = arith.constant false
      return %false, %columns : i1, index
    }
    ```
  }];
}

def NormalizeReshapeOps : NormalizePass<"reshape-ops"> {
  let summary = "Turn tensor.reshape into expand_shape and collapse_shape";
  let description = [{
    The shape of a `tensor.reshape` is data; that of an expand or a collapse is
    known, so that redfuse-normalize-reshapes can move it. Extents are traced to
    where they come from, so that dynamic ones can be told to be equal; what
    cannot be matched is noted in `redfuse.refused`.

    ```mlir
    func.func @f(%x: tensor<?x12xf32>) -> tensor<?x3x4xf32> {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %n = tensor.dim %x, %c0 : tensor<?x12xf32>
      %shape = tensor.from_elements %n, %c3, %c4 : tensor<3xindex>
      %r = tensor.reshape %x(%shape)
           : (tensor<?x12xf32>, tensor<3xindex>) -> tensor<?x3x4xf32>
      return %r : tensor<?x3x4xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<?x12xf32>) -> tensor<?x3x4xf32> {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?x12xf32>
      %r = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 3, 4]
           : tensor<?x12xf32> into tensor<?x3x4xf32>
      return %r : tensor<?x3x4xf32>
    }
    ```
  }];
}

def NormalizeGathers : NormalizePass<"gathers"> {
  let summary = "Compute an element of a computed tensor where it is extracted";
  let description = [{
    `tensor.extract` of a tensor that a generic computes point by point becomes
    that generic's body, evaluated at the index; the tensor itself is then often
    not needed any more. Not where elements would be computed repeatedly.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<8xf32>, %k: index, %e: tensor<8xf32>) -> f32 {
      %y = linalg.generic {indexing_maps = [#id, #id],
                           iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32, %out: f32):
        %p = arith.mulf %a, %a : f32
        linalg.yield %p : f32
      } -> tensor<8xf32>
      %r = tensor.extract %y[%k] : tensor<8xf32>
      return %r : f32
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<8xf32>, %k: index, %e: tensor<8xf32>) -> f32 {
      %a = tensor.extract %x[%k] : tensor<8xf32>
      %p = arith.mulf %a, %a : f32
      return %p : f32
    }
    ```
  }];
}

def NormalizeBroadcasts : NormalizePass<"broadcasts"> {
  let summary = "Turn tensor.extract at loop indices into an operand with a map";
  let description = [{
    `tensor.extract` in a generic's body whose indices are loop indices becomes
    an operand. torch-mlir writes a broadcast of dynamic extents as an index
    `extent == 1 ? 0 : i`: where the extent is known to be the loop's, that is
    plain `i`; where not, the broadcast is made in front, behind an `scf.if` that
    is not taken when the extents agree. What is computed for this reader alone is
    computed from broadcast operands: no condition stands between the two.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    func.func @f(%x: tensor<5x7xf32>, %b: tensor<7xf32>, %e: tensor<5x7xf32>)
        -> tensor<5x7xf32> {
      %r = linalg.generic {indexing_maps = [#all, #all],
                           iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) {
      ^bb0(%a: f32, %out: f32):
        %j = linalg.index 1 : index
        %c = tensor.extract %b[%j] : tensor<7xf32>
        %s = arith.addf %a, %c : f32
        linalg.yield %s : f32
      } -> tensor<5x7xf32>
      return %r : tensor<5x7xf32>
    }
    ```

    becomes

    ```mlir
    #column = affine_map<(i, j) -> (j)>
    func.func @f(%x: tensor<5x7xf32>, %b: tensor<7xf32>, %e: tensor<5x7xf32>)
        -> tensor<5x7xf32> {
      %r = linalg.generic {indexing_maps = [#all, #column, #all],
                           iterator_types = ["parallel", "parallel"]}
          ins(%x, %b : tensor<5x7xf32>, tensor<7xf32>) outs(%e : tensor<5x7xf32>) {
      ^bb0(%a: f32, %c: f32, %out: f32):
        %s = arith.addf %a, %c : f32
        linalg.yield %s : f32
      } -> tensor<5x7xf32>
      return %r : tensor<5x7xf32>
    }
    ```
  }];
}

def NormalizePowers : NormalizePass<"powers"> {
  let summary = "Expand powers by small whole constants into products";
  let description = [{
    `math.powf` and `math.fpowi` with a whole exponent of at most 16 (in
    magnitude) become multiplications, by repeated squaring, and for a negative
    exponent one division, instead of a call.

    ```mlir
    func.func @f(%x: f32) -> f32 {
      %three = arith.constant 3.0 : f32
      %r = math.powf %x, %three : f32
      return %r : f32
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: f32) -> f32 {
      %square = arith.mulf %x, %x : f32
      %r = arith.mulf %x, %square : f32
      return %r : f32
    }
    ```
  }];
}

def NormalizeExtensions : NormalizePass<"extensions"> {
  let summary = "Move extensions of bytes into the bodies that use them";
  let description = [{
    A generic that only extends integers of 8 bits, for one user, becomes a part of its
    body: bytes are in memory, and a product is seen as one of bytes, wherever made.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<8xi8>) -> tensor<8xi32> {
      %e = tensor.empty() : tensor<8xi32>
      %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<8xi8>) outs(%e : tensor<8xi32>) {
      ^bb0(%in: i8, %out: i32):
        %v = arith.extsi %in : i8 to i32
        linalg.yield %v : i32
      } -> tensor<8xi32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%wide : tensor<8xi32>) outs(%e : tensor<8xi32>) {
      ^bb0(%in: i32, %out: i32):
        %v = arith.muli %in, %in : i32
        linalg.yield %v : i32
      } -> tensor<8xi32>
      return %r : tensor<8xi32>
    }
    ```

    becomes

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<8xi8>) -> tensor<8xi32> {
      %e = tensor.empty() : tensor<8xi32>
      %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
          ins(%x : tensor<8xi8>) outs(%e : tensor<8xi32>) {
      ^bb0(%in: i8, %out: i32):
        %v = arith.extsi %in : i8 to i32
        %s = arith.muli %v, %v : i32
        linalg.yield %s : i32
      } -> tensor<8xi32>
      return %r : tensor<8xi32>
    }
    ```
  }];
}

def NormalizePads : NormalizePass<"pads"> {
  let summary = "Turn constant padding into a choice by position";
  let description = [{
    A `tensor.pad` of a constant, of static extents, becomes a generic that
    yields the constant outside of the source. There it reads the source, too,
    at `(d - low) mod extent`, which is always an element of it. Being
    element-wise, it can be computed where it is read, a window of a
    convolution for example, so that no padded copy is in memory.

    ```mlir
    func.func @f(%x: tensor<8xf32>) -> tensor<10xf32> {
      %zero = arith.constant 0.0 : f32
      %r = tensor.pad %x low[1] high[1] {
      ^bb0(%i: index):
        tensor.yield %zero : f32
      } : tensor<8xf32> to tensor<10xf32>
      return %r : tensor<10xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<8xf32>) -> tensor<10xf32> {
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<10xf32>
      %r = linalg.generic {
          indexing_maps = [affine_map<(d0) -> ((d0 + 7) mod 8)>,
                           affine_map<(d0) -> (d0)>],
          iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%empty : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        %c1 = arith.constant 1 : index
        %c9 = arith.constant 9 : index
        %i = linalg.index 0 : index
        %behind = arith.cmpi sge, %i, %c1 : index
        %before = arith.cmpi slt, %i, %c9 : index
        %inside = arith.andi %behind, %before : i1
        %v = arith.select %inside, %in, %zero : f32
        linalg.yield %v : f32
      } -> tensor<10xf32>
      return %r : tensor<10xf32>
    }
    ```
  }];
}

include "redfuse/Transforms/Normalize/LoopPasses.td"

#endif // REDFUSE_TRANSFORMS_NORMALIZE_PASSES_TD
