//===- Passes.td - the types that values are computed in ---*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_PRECISION_PASSES_TD
#define REDFUSE_TRANSFORMS_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def WidenFloats : Pass<"redfuse-widen-floats", "mlir::ModuleOp"> {
  let summary = "Compute a program in f64, to compare others with it";
  let description = [{
    All floats become f64, but those of 8 bits: who rounds to these means it. Constants
    keep their exact values, casts between floats become nothing. A constant of several
    values stays, with a cast behind it, which folds for every type. What reads or makes
    the bits of a float is an error: there is no f64 form of the program.

    ```mlir
    func.func @f(%x: bf16, %y: tensor<4xf32>) -> f32 {
      %c = arith.constant 0.5 : f32
      %a = arith.extf %x : bf16 to f32
      %r = arith.addf %a, %c : f32
      return %r : f32
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: f64, %y: tensor<4xf64>) -> f64 {
      %c = arith.constant 0.5 : f64
      %r = arith.addf %x, %c : f64
      return %r : f64
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def WidenIntegers : Pass<"redfuse-widen-integers"> {
  let summary = "Hold integers of 2 to 63 bits in the next wider one that memory has";
  let description = [{
    i2, i4, i24 and the like become i8, i16, i32 or i64 everywhere: in constants,
    tensors, bodies and arithmetic. A number keeps its bits, with zeros above them,
    which operations that could leave others there clear. i1 stays, and so does what
    memory has. An operation for which this is not known is an error that names it.

    ```mlir
    func.func @f(%x: tensor<4xi4>, %k: index) -> i32 {
      %a = tensor.extract %x[%k] : tensor<4xi4>
      %r = arith.extsi %a : i4 to i32
      return %r : i32
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<4xi8>, %k: index) -> i32 {
      %a = tensor.extract %x[%k] : tensor<4xi8>
      %four = arith.constant 4 : i8
      %high = arith.shli %a, %four : i8
      %signed = arith.shrsi %high, %four : i8
      %r = arith.extsi %signed : i8 to i32
      return %r : i32
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
}

def WidenAccumulators : Pass<"redfuse-widen-accumulators"> {
  let summary = "Accumulate sums and products of 16-bit floats in f32";
  let description = [{
    `redfuse.reduce add` (or `mul`) of f16, bf16 or narrower values becomes a
    reduction in f32 whose result is rounded once; products that are summed are
    taken in f32 as well. A 16-bit sum stagnates after some hundred terms.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<4x8xbf16>, %e: tensor<4xbf16>) -> tensor<4xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4xbf16>) {
      ^bb0(%a: bf16):
        %p = arith.mulf %a, %a : bf16
        %s = redfuse.reduce add %p over [1] into [0] : bf16
        redfuse.yield %s : bf16
      } -> tensor<4xbf16>
      return %r : tensor<4xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %e: tensor<4xbf16>) -> tensor<4xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4xbf16>) {
      ^bb0(%a: bf16):
        %w = arith.extf %a : bf16 to f32
        %p = arith.mulf %w, %w : f32
        %s = redfuse.reduce add %p over [1] into [0] : f32
        %t = arith.truncf %s : f32 to bf16
        redfuse.yield %t : bf16
      } -> tensor<4xbf16>
      return %r : tensor<4xbf16>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect"];
}

def NarrowDoubles : Pass<"redfuse-narrow-doubles"> {
  let summary = "Compute in f32 what only 16-bit floats go into and come out of";
  let description = [{
    Where every tensor of a cascade has elements of at most 16 bits, arithmetic
    in f64 between them becomes arithmetic in f32: the results are rounded to
    fewer digits than either has. Sums that were taken in both types are one
    then. What compares or selects by an f64 value, or uses one from outside,
    stays. Squares and sums beyond the range of f32 are infinite.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<4x8xbf16>, %e: tensor<4xbf16>) -> tensor<4xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4xbf16>) {
      ^bb0(%a: bf16):
        %d = arith.extf %a : bf16 to f64
        %s = redfuse.reduce add %d over [1] into [0] : f64
        %t = arith.truncf %s : f64 to bf16
        redfuse.yield %t : bf16
      } -> tensor<4xbf16>
      return %r : tensor<4xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %e: tensor<4xbf16>) -> tensor<4xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4xbf16>) {
      ^bb0(%a: bf16):
        %w = arith.extf %a : bf16 to f32
        %s = redfuse.reduce add %w over [1] into [0] : f32
        %t = arith.truncf %s : f32 to bf16
        redfuse.yield %t : bf16
      } -> tensor<4xbf16>
      return %r : tensor<4xbf16>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect"];
}

def NarrowResults : Pass<"redfuse-narrow-results"> {
  let summary = "Store what is extended later, and extend it where it is read";
  let description = [{
    A cascade that yields an extension of a shorter number (a float of 8 bits as an f32,
    say), to be read by other cascades alone, stores the shorter number, and each reader
    extends it: the same values, of fewer bytes in memory. i1 and what is shorter than a
    byte stay as they are, and so does what extends elements as they lie in memory: the
    shorter number would be a copy of an operand, and a cascade of that alone is there
    because its readers want longer ones (16 bits, for matrix units).

    ```mlir
    #all = affine_map<(i) -> (i)>
    #none = affine_map<(i) -> ()>
    func.func @f(%x: tensor<8xf32>, %e: tensor<f32>) -> tensor<f32> {
      %w = tensor.empty() : tensor<8xf32>
      %q = redfuse.cascade {indexing_maps = [#all, #all]}
          ins(%x : tensor<8xf32>) outs(%w : tensor<8xf32>) {
      ^bb0(%a: f32):
        %h = arith.truncf %a : f32 to bf16
        %f = arith.extf %h : bf16 to f32
        redfuse.yield %f : f32
      } -> tensor<8xf32>
      %r = redfuse.cascade {indexing_maps = [#all, #none]}
          ins(%q : tensor<8xf32>) outs(%e : tensor<f32>) {
      ^bb0(%a: f32):
        %s = redfuse.reduce add %a over [0] into [] : f32
        redfuse.yield %s : f32
      } -> tensor<f32>
      return %r : tensor<f32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<8xf32>, %e: tensor<f32>) -> tensor<f32> {
      %w = tensor.empty() : tensor<8xbf16>
      %q = redfuse.cascade {indexing_maps = [#all, #all]}
          ins(%x : tensor<8xf32>) outs(%w : tensor<8xbf16>) {
      ^bb0(%a: f32):
        %h = arith.truncf %a : f32 to bf16
        redfuse.yield %h : bf16
      } -> tensor<8xbf16>
      %r = redfuse.cascade {indexing_maps = [#all, #none]}
          ins(%q : tensor<8xbf16>) outs(%e : tensor<f32>) {
      ^bb0(%a: bf16):
        %f = arith.extf %a : bf16 to f32
        %s = redfuse.reduce add %f over [0] into [] : f32
        redfuse.yield %s : f32
      } -> tensor<f32>
      return %r : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["mlir::tensor::TensorDialect"];
}

def KeepRoundings : Pass<"redfuse-keep-roundings"> {
  let summary = "Mark the roundings that decide something";
  let description = [{
    A rounding to 16 bits (or of f64 to f32) between two operations that meet in one
    kernel may be left out by later passes. This one follows each to what is made of
    its result, through bodies and from one cascade to the next, and gives those the
    attribute `redfuse.rounds` whose result, element by element, comes to

    - the key of an argmax, an argmin or a top-k, or an op that is not known (a sort);
    - a quantisation: a float of 8 bits, an integer, a whole number, bits;
    - a comparison. One that makes a clamp does not count, nor one with an infinity
      where the rounding is to bf16, which has the range of f32;
    - a result of the function, through nothing but extrema, clamps and signs.

    It is not followed into a sum, a product or a declared reducer: their results
    have a rounding of their own.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<6x80xf32>, %e: tensor<6xindex>) -> tensor<6xindex> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<6x80xf32>) outs(%e : tensor<6xindex>) {
      ^bb0(%a: f32):
        %h = arith.truncf %a : f32 to bf16
        %w = arith.extf %h : bf16 to f32
        %j = redfuse.index 1
        %b:2 = redfuse.reduce argmax %w, %j over [1] into [0] : f32, index
        redfuse.yield %b#1 : index
      } -> tensor<6xindex>
      return %r : tensor<6xindex>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<6x80xf32>, %e: tensor<6xindex>) -> tensor<6xindex> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<6x80xf32>) outs(%e : tensor<6xindex>) {
      ^bb0(%a: f32):
        %h = arith.truncf %a {redfuse.rounds} : f32 to bf16
        %w = arith.extf %h : bf16 to f32
        %j = redfuse.index 1
        %b:2 = redfuse.reduce argmax %w, %j over [1] into [0] : f32, index
        redfuse.yield %b#1 : index
      } -> tensor<6xindex>
      return %r : tensor<6xindex>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def DropRoundings : Pass<"redfuse-drop-roundings"> {
  let summary = "Leave out the roundings between operations that decide nothing";
  let description = [{
    What is rounded to 16 bits and extended again in one body is taken as it was
    before: fewer instructions, and a result that is closer to the exact one. A rounding
    stays where `redfuse-keep-roundings` has marked it, where its result is stored (what
    is computed further is not of the stored value), and where it is the factor of a sum
    of products, which multiplies in that type.

    ```mlir
    #all = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<80xbf16>, %e: tensor<80xbf16>) -> tensor<80xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #all]}
          ins(%x : tensor<80xbf16>) outs(%e : tensor<80xbf16>) {
      ^bb0(%a: bf16):
        %0 = arith.extf %a : bf16 to f32
        %1 = math.exp %0 : f32
        %2 = arith.truncf %1 : f32 to bf16
        %3 = arith.extf %2 : bf16 to f32
        %4 = math.tanh %3 : f32
        %5 = arith.truncf %4 : f32 to bf16
        redfuse.yield %5 : bf16
      } -> tensor<80xbf16>
      return %r : tensor<80xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<80xbf16>, %e: tensor<80xbf16>) -> tensor<80xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #all]}
          ins(%x : tensor<80xbf16>) outs(%e : tensor<80xbf16>) {
      ^bb0(%a: bf16):
        %0 = arith.extf %a : bf16 to f32
        %1 = math.exp %0 : f32
        %2 = math.tanh %1 : f32
        %3 = arith.truncf %2 : f32 to bf16
        redfuse.yield %3 : bf16
      } -> tensor<80xbf16>
      return %r : tensor<80xbf16>
    }
    ```
  }];
}

#endif // REDFUSE_TRANSFORMS_PRECISION_PASSES_TD
